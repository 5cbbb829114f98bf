//! The commands, with the access to files, ledgers, secrets, the service and the process that they share. `dispatch`
//! runs a command of `commands`; the other folders serve these. Only this module of the program reads files, the
//! environment and the terminal of the user.

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
mod workspace;
