//! The language server, pure: messages in, messages out. Standard streams belong to `cli`.
//!
//! `server` reads the messages and answers each with one file of `features`; `workspace` holds the open texts, their
//! symbols and their diagnostics; `cursor` finds what a position is about, even when the text cannot be parsed.

mod cursor;
mod features;
mod lines;
mod protocol;
mod server;
mod text_change;
mod workspace;

pub use server::LanguageServer;
pub use workspace::files::{PolicyChecker, WorkspaceDisk};

#[cfg(test)]
mod tests;
