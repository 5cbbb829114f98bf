//! Flags of commands that can work on all stacks of a repository.

use clap::Args;

use super::global_flags::quote_shell_word;
use crate::workspace::selection::UnitPattern;

/// Selects the units of a repository: its stacks, each in one environment.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Many stacks")]
pub struct UnitArgs {
    /// Cover all stacks of the repository, each in all its environments or in that of -e
    #[arg(long)]
    pub all: bool,
    /// With --all, only stacks like this: shop/prod, */prod, shop or ./teams/**; repeatable
    #[arg(long = "stacks", value_name = "GLOB", requires = "all", value_parser = parse_pattern)]
    pub patterns: Vec<UnitPattern>,
    /// With --all, only stacks whose files differ from BASE, the target of the request in CI, else the default branch
    #[arg(long, value_name = "BASE", num_args = 0..=1, require_equals = true, requires = "all")]
    #[expect(clippy::option_option, reason = "the flag may be absent, without a value, or have one")]
    pub changed: Option<Option<String>>,
    /// With --all, also the stacks that read outputs of the selected ones
    #[arg(long, requires = "all")]
    pub with_dependents: bool,
}

impl UnitArgs {
    /// Returns the flags as the user would type them, quoted for a shell; empty without `--all`.
    pub(in crate::cli) fn format_flags(&self) -> String {
        if !self.all {
            return String::new();
        }
        let stacks = self.patterns.iter();
        let stacks = stacks.map(|pattern| format!(" --stacks {}", quote_shell_word(pattern.text())));
        let changed = match &self.changed {
            None => String::new(),
            Some(None) => " --changed".to_owned(),
            Some(Some(base)) => format!(" --changed={}", quote_shell_word(base)),
        };
        let dependents = if self.with_dependents { " --with-dependents" } else { "" };
        format!(" --all{}{changed}{dependents}", stacks.collect::<String>())
    }
}

/// Parses a pattern for units.
pub(in crate::cli) fn parse_pattern(text: &str) -> Result<UnitPattern, String> {
    UnitPattern::parse(text).map_err(|error| error.to_string())
}
