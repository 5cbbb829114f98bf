//! The commands, with the access to files, ledgers, secrets, the service and the process that they share.

mod actions;
pub mod args;
pub mod artifacts;
mod command_context;
mod commands;
pub mod dispatch;
mod files;
mod forge;
mod ledger;
pub mod planning;
pub mod process;
mod secrets;
mod service;
mod stack;
mod testing;
