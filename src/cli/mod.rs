//! The commands: each wires the floors below and prints.

pub mod args;
mod backend;
mod books;
mod commands;
mod connect;
pub mod consent;
mod delivery;
pub mod entry;
pub mod exit;
mod failure;
mod files;
mod interrupt;
mod local;
mod origin;
mod project;
mod questions;
mod reading;
mod rescue;
pub mod scaffold;
mod session;
pub mod settings;
mod telling;
pub mod term;
mod ui;
mod waterline;
mod who;
