//! Access to the process: exit codes, failures, settings, signals, output and the terminal. `terminal` and
//! `output` are the only modules that touch the standard streams of a command; the settings are pure functions
//! of flags and variables.

pub(super) mod actor;
pub mod env;
pub mod exit_code;
pub(super) mod failure;
pub(super) mod helper_program;
pub(super) mod identity_source;
pub(super) mod ledger_settings;
pub(super) mod no_echo;
pub(super) mod output;
pub mod panic_hook;
pub mod profile;
pub mod settings;
pub mod settings_error;
pub(super) mod signals;
pub mod terminal;
