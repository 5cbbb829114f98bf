//! Output of a command: results to standard output, messages to standard error, prompts on a terminal. Strings of a
//! file or the service are escaped by the caller before they are written here.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use super::failure::CliFailure;
use crate::report::json;
use crate::report::text::style::TextStyle;

/// Output settings of this process.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Ui {
    /// Style of results, on standard output.
    pub(in crate::cli) style: TextStyle,
    /// Style of messages, on standard error.
    pub(in crate::cli) message_style: TextStyle,
    /// Whether the result is one JSON document; never set together with `ndjson`.
    pub(in crate::cli) json: bool,
    /// Whether the result is one JSON event per line.
    pub(in crate::cli) ndjson: bool,
    /// Whether each JSON document is written on a single line.
    pub(in crate::cli) one_line: bool,
    /// Whether hints and progress are suppressed (`--quiet`).
    pub(in crate::cli) quiet: bool,
    /// Whether details are printed (`-v`).
    pub(in crate::cli) verbose: bool,
    /// Whether all details are printed (`-vv`).
    pub(in crate::cli) very_verbose: bool,
    /// Whether prompts are possible: standard input and error are terminals, and prompts are not disabled.
    pub(in crate::cli) interactive: bool,
    /// Whether progress may redraw lines on standard error.
    pub(in crate::cli) live: bool,
    /// Whether standard output is a terminal.
    pub(in crate::cli) shows: bool,
}

impl Ui {
    /// Writes a result as it is, without adding a line end. A closed pipe (`| head`) is not an error.
    pub(in crate::cli) fn write_result(&self, text: &str) {
        let folded = if self.one_line { json::fold_lines(text) } else { Cow::Borrowed(text) };
        let _ = io::stdout().lock().write_all(folded.as_bytes());
    }

    /// Reports what a command without other output has done: as a message, or as a JSON document.
    pub(in crate::cli) fn report_done(&self, text: &str) {
        if self.json || self.ndjson {
            self.write_result(&json::result_document(text));
        } else {
            self.write_message(text);
        }
    }

    /// Writes a message: what was done, found or left out. `--quiet` does not suppress it; hints
    /// and progress use `hint`.
    #[expect(clippy::unused_self, reason = "messages go through the same door as hints")]
    pub(in crate::cli) fn write_message(&self, text: &str) {
        Self::write_error(text);
    }

    /// Writes a hint or progress, unless the user suppressed them.
    pub(in crate::cli) fn hint(&self, text: &str) {
        if !self.quiet {
            Self::write_error(text);
        }
    }

    /// Writes a message where no output settings exist, such as before they are read.
    pub(in crate::cli) fn write_error(text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints the suggested next step as a hint; not with JSON output.
    pub(in crate::cli) fn next(&self, text: &str) {
        if !self.json && !self.ndjson {
            self.hint(&format!("next: {text}"));
        }
    }

    /// Asks for confirmation, unless `yes` is set; returns false if the user declines.
    ///
    /// # Errors
    /// When there is no terminal to ask on, or it cannot be read.
    pub(in crate::cli) async fn confirm_action(
        &self,
        yes: bool,
        question: &str,
    ) -> Result<bool, CliFailure> {
        if yes {
            return Ok(true);
        }
        if !self.interactive {
            return Err(CliFailure::confirmation_required().help("Pass --yes. Nothing was changed."));
        }
        let agreed = self.ask_approval(question, None).await?;
        if !agreed {
            self.write_message("Nothing was changed.");
        }
        Ok(agreed)
    }

    /// Asks for confirmation: yes, or a word that must be typed (`typed`). Enter alone means no, and so does the
    /// absence of a terminal.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(in crate::cli) async fn ask_approval(
        self,
        question: &str,
        typed: Option<&str>,
    ) -> Result<bool, CliFailure> {
        let question = match typed {
            Some(word) => format!("Type {word} to continue: "),
            None => format!("{question} [y/N] "),
        };
        let answer = self.ask_question(question).await?;
        Ok(match typed {
            Some(word) => answer == word,
            None => matches!(answer.as_str(), "y" | "Y" | "yes"),
        })
    }

    /// Prompts without blocking other tasks: the lock is renewed, and signals are handled. Returns the trimmed
    /// answer, empty without a terminal.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(in crate::cli) async fn ask_question(self, question: String) -> Result<String, CliFailure> {
        let answer = tokio::task::spawn_blocking(move || self.read_answer(&question)).await;
        Ok(answer.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?)
    }

    /// Prompts for one of several choices; returns its index, 0 without a terminal or after an invalid answer.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(in crate::cli) fn choose(self, question: &str, choices: &[&str]) -> io::Result<usize> {
        let answer = self.read_answer(&format!("{question} [{}] ", choices.join("/")))?;
        Ok(choices.iter().position(|choice| *choice == answer).unwrap_or(0))
    }

    fn read_answer(self, question: &str) -> io::Result<String> {
        if !self.interactive {
            return Ok(String::new());
        }
        let mut terminal = io::stderr().lock();
        terminal.write_all(question.as_bytes())?;
        terminal.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}
