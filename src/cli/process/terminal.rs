//! Detects the properties of the terminal, and reads the environment. No other module queries them.

#![allow(clippy::disallowed_methods, reason = "terminal and environment are looked at here, once")]

use std::io::{self, IsTerminal};

use super::env::EnvVariables;
use crate::cli::args::ColorChoice;
use crate::report::text::style::TextStyle;

/// Width in columns if it is unknown.
const DEFAULT_WIDTH: usize = 100;

/// Height in rows if it is unknown.
const DEFAULT_ROWS: usize = 24;

/// Properties of the process's standard streams, and its environment variables. Not `Debug`, because the variables
/// contain the API key.
#[derive(Clone)]
pub struct Terminal {
    /// Whether standard input is a terminal.
    pub input: bool,
    /// Whether standard output is a terminal.
    pub output: bool,
    /// Whether standard error is a terminal.
    pub error: bool,
    /// Columns and rows of the terminal; `None` if they are not known.
    pub size: Option<(usize, usize)>,
    /// All environment variables whose names and values are valid UTF-8; others are ignored.
    pub variables: EnvVariables,
}

impl Terminal {
    /// Queries the process's standard streams and environment.
    #[must_use]
    pub fn from_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            input: io::stdin().is_terminal(),
            output: io::stdout().is_terminal(),
            error: io::stderr().is_terminal(),
            size: screen_size(),
            variables: std::env::vars_os().filter_map(text).collect(),
        }
    }

    /// Returns the text style for standard output; `choice` is the color setting.
    #[must_use]
    pub fn output_style(&self, choice: ColorChoice) -> TextStyle {
        self.style(self.output, choice)
    }

    /// Returns the text style for standard error; `choice` is the color setting.
    #[must_use]
    pub fn error_style(&self, choice: ColorChoice) -> TextStyle {
        self.style(self.error, choice)
    }

    /// Returns whether lines of standard error may be redrawn: on a terminal that can, and not in CI.
    #[must_use]
    pub fn is_live(&self, ci: bool) -> bool {
        self.error && !ci && !self.is_dumb()
    }

    /// Returns the height of the terminal in rows, a usual one if it is not known.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.size.map_or(DEFAULT_ROWS, |(_, rows)| rows)
    }

    fn style(&self, is_terminal: bool, choice: ColorChoice) -> TextStyle {
        let colour = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && !self.is_dumb() && !self.has_variable("NO_COLOR"),
        };
        let width = match self.size {
            Some((columns, _)) if is_terminal => columns,
            _ => self.number_variable("COLUMNS").unwrap_or(DEFAULT_WIDTH),
        };
        TextStyle {
            colour,
            width: width.clamp(TextStyle::MIN_WIDTH, 1000),
            unicode: self.is_unicode(),
            whole_rows: !is_terminal,
        }
    }

    fn is_dumb(&self) -> bool {
        self.variables.get("TERM").is_some_and(|term| term == "dumb")
    }

    /// Returns whether the locale uses UTF-8. The first of its variables that is set decides; without any, the
    /// system does not use locales.
    fn is_unicode(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| self.variables.get(*name).filter(|v| !v.is_empty()));
        match locale {
            Some(locale) => {
                let locale = locale.to_lowercase();
                locale.contains("utf-8") || locale.contains("utf8")
            }
            None => !self.is_dumb(),
        }
    }

    fn has_variable(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|value| !value.is_empty())
    }

    fn number_variable(&self, name: &str) -> Option<usize> {
        self.variables.get(name)?.parse().ok()
    }
}

fn screen_size() -> Option<(usize, usize)> {
    let (columns, rows) = terminal_size::terminal_size()?;
    Some((columns.0.into(), rows.0.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(is: bool, given: &[(&str, &str)]) -> Terminal {
        Terminal {
            input: is,
            output: is,
            error: is,
            size: is.then_some((132, 50)),
            variables: given
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn color_is_used_only_where_it_is_supported() {
        let table = [
            (true, ColorChoice::Auto, vec![], true),
            (false, ColorChoice::Auto, vec![], false),
            (true, ColorChoice::Auto, vec![("NO_COLOR", "1")], false),
            (true, ColorChoice::Auto, vec![("NO_COLOR", "")], true),
            (true, ColorChoice::Auto, vec![("TERM", "dumb")], false),
            (true, ColorChoice::Never, vec![], false),
            (false, ColorChoice::Always, vec![("NO_COLOR", "1")], true),
        ];
        for (is, choice, given, colour) in table {
            assert_eq!(
                terminal(is, &given).output_style(choice).colour,
                colour,
                "{is} {choice:?} {given:?}"
            );
        }
    }

    #[test]
    fn width_and_symbols_follow_the_terminal() {
        assert_eq!(terminal(true, &[]).output_style(ColorChoice::Auto).width, 132);
        assert_eq!(terminal(false, &[]).output_style(ColorChoice::Auto).width, 100);
        assert_eq!(terminal(false, &[("COLUMNS", "72")]).output_style(ColorChoice::Auto).width, 72);
        let unicode =
            |given: &[(&str, &str)]| terminal(true, given).output_style(ColorChoice::Auto).unicode;
        assert!(unicode(&[]) && unicode(&[("LANG", "en_US.UTF-8")]));
        assert!(!unicode(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]) && !unicode(&[("TERM", "dumb")]));
    }

    #[test]
    fn only_a_terminal_wraps_the_rows_of_a_table() {
        assert!(terminal(false, &[("COLUMNS", "80")]).output_style(ColorChoice::Auto).whole_rows);
        assert!(!terminal(true, &[]).output_style(ColorChoice::Auto).whole_rows);
    }

    #[test]
    fn progress_is_not_animated_in_ci_or_a_pipe() {
        assert!(terminal(true, &[]).is_live(false));
        assert!(!terminal(true, &[]).is_live(true) && !terminal(false, &[]).is_live(false));
        assert!(!terminal(true, &[("TERM", "dumb")]).is_live(false));
    }
}
