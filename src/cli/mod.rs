//! The commands: each wires the floors below and prints.

pub mod args;
mod books;
mod commands;
mod connect;
pub mod consent;
mod credentials;
mod delivery;
pub mod entry;
pub mod exit;
mod failure;
mod files;
pub mod hush;
mod interrupt;
mod key_command;
mod keys;
mod local;
pub mod profile;
mod project;
mod reading;
pub mod scaffold;
mod session;
pub mod settings;
mod telling;
pub mod term;
mod ui;
mod who;
