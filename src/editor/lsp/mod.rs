//! The language server, pure: messages in, messages out. Standard streams are `cli`'s.
//!
//! `server` takes messages apart, `workspace` holds the open texts, `check` makes diagnostics, `outlook` those of all environments. `cursor` says
//! where in a text a keystroke falls, even when the text cannot be parsed; `place` says what the schema has
//! there; `names` knows what is declared and who refers to it. The rest is one file an answer.

mod actions;
mod change;
mod check;
mod complete;
mod cursor;
mod cursor_kdl;
mod cursor_yaml;
mod describe;
mod hover;
mod lines;
mod names;
mod navigate;
mod outlook;
mod overlay;
mod place;
mod protocol;
mod references;
mod rename;
mod server;
mod workspace;

pub use server::Server;
pub use workspace::{Disk, Judge};

#[cfg(test)]
mod tests;
