//! `stead completions`: a script for the shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::args::{Cli, CompletionsArgs};
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;

/// Asks `stead __complete` for every word.
const BASH: &str = include_str!("completions/stead.bash");
/// Likewise.
const ZSH: &str = include_str!("completions/stead.zsh");
/// Likewise.
const FISH: &str = include_str!("completions/stead.fish");

/// Prints the script. Those of other shells know what the command line declares, and nothing of the stack.
pub(in crate::cli) fn run(session: &CommandContext, args: &CompletionsArgs) -> Exit {
    let asking = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "stead", &mut script);
            session.ui.write_result(&String::from_utf8_lossy(&script));
            return Exit::Done;
        }
    };
    session.ui.write_result(asking);
    Exit::Done
}
