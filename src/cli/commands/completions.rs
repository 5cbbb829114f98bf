//! `stead completions`: a script for the shell.

use clap::CommandFactory;

use crate::cli::args::{Cli, Completions};
use crate::cli::exit::Exit;
use crate::cli::session::Session;

/// Prints the script.
pub(in crate::cli) fn run(session: &Session, args: &Completions) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "stead", &mut script);
    session.ui.out(&String::from_utf8_lossy(&script));
    Exit::Done
}
