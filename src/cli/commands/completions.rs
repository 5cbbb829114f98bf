//! `stead completions`: prints the completion script for a shell. Bash, Zsh and fish run `stead __complete` for
//! every word, so their scripts need no update when commands change.

use clap::Args;
use clap_complete::Shell;

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;

/// Command-line arguments of `stead completions`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead completions bash > ~/.local/share/bash-completion/completions/stead\n  stead completions zsh > ~/.zfunc/_stead\n  stead completions fish > ~/.config/fish/completions/stead.fish\n\nbash, zsh and fish also complete what the stack has: addresses, environments, actions and codes."
)]
pub struct CompletionsArgs {
    /// Shell to write the script for
    pub shell: Shell,
}

/// Script for Bash; it runs `stead __complete` for every word.
const BASH: &str = include_str!("completions/stead.bash");
/// Script for Zsh; it runs `stead __complete` for every word.
const ZSH: &str = include_str!("completions/stead.zsh");
/// Script for fish; it runs `stead __complete` for every word.
const FISH: &str = include_str!("completions/stead.fish");

/// Prints the script. Scripts for other shells complete only the declared command line, not the stack's names.
pub(in crate::cli) fn run(
    session: &CommandContext,
    args: &CompletionsArgs,
    mut program: clap::Command,
) -> Exit {
    let asking = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut program, "stead", &mut script);
            session.ui.write_result(&String::from_utf8_lossy(&script));
            return Exit::Done;
        }
    };
    session.ui.write_result(asking);
    Exit::Done
}
