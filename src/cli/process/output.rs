//! `Ui`: results to standard output, everything else to standard error, questions on a terminal.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use super::failure::CliFailure;
use crate::report::json;
use crate::report::text::style::TextStyle;

/// How this process talks.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Ui {
    /// How results look.
    pub(in crate::cli) style: TextStyle,
    /// How messages look.
    pub(in crate::cli) message_style: TextStyle,
    /// One JSON document.
    pub(in crate::cli) json: bool,
    /// One JSON event a line.
    pub(in crate::cli) ndjson: bool,
    /// Every document is folded to one line.
    pub(in crate::cli) one_line: bool,
    /// No hints, no progress.
    pub(in crate::cli) quiet: bool,
    /// More than most want.
    pub(in crate::cli) verbose: bool,
    /// Everything.
    pub(in crate::cli) very_verbose: bool,
    /// Questions can be asked.
    pub(in crate::cli) interactive: bool,
    /// Progress may redraw lines.
    pub(in crate::cli) live: bool,
    /// Results go to a terminal.
    pub(in crate::cli) shows: bool,
}

impl Ui {
    /// Writes a result. A reader that went away (`| head`) is no error.
    pub(in crate::cli) fn write_result(&self, text: &str) {
        let folded = if self.one_line { json::fold_lines(text) } else { Cow::Borrowed(text) };
        let _ = io::stdout().lock().write_all(folded.as_bytes());
    }

    /// Says what a command that prints nothing else has done: a message to people, a document to programs.
    pub(in crate::cli) fn report_done(&self, text: &str) {
        if self.json || self.ndjson {
            self.write_result(&json::result_document(text));
        } else {
            self.write_message(text);
        }
    }

    /// Writes a message: what was done, found or left out. Hints and progress go by `hint`.
    #[expect(clippy::unused_self, reason = "messages go through the same door as hints")]
    pub(in crate::cli) fn write_message(&self, text: &str) {
        Self::write_error(text);
    }

    /// Writes what can be missed, a hint or how things go, unless the user wants none of it.
    pub(in crate::cli) fn hint(&self, text: &str) {
        if !self.quiet {
            Self::write_error(text);
        }
    }

    /// Writes a message that must be seen.
    pub(in crate::cli) fn write_error(text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Says what to do next, to people at a terminal.
    pub(in crate::cli) fn next(&self, text: &str) {
        if !self.json && !self.ndjson {
            self.hint(&format!("next: {text}"));
        }
    }

    /// Asks for consent: yes, or a word that must be typed. Enter alone is a no, and so is nobody.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(in crate::cli) async fn ask_approval(
        self,
        question: &str,
        typed: Option<&str>,
    ) -> Result<bool, CliFailure> {
        let question = match typed {
            Some(word) => format!("Type {word} to go on: "),
            None => format!("{question} [y/N] "),
        };
        let answer = self.ask_question(question).await?;
        Ok(match typed {
            Some(word) => answer == word,
            None => matches!(answer.as_str(), "y" | "Y" | "yes"),
        })
    }

    /// Asks a question while everything else goes on: locks are kept, signals are heard.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(in crate::cli) async fn ask_question(self, question: String) -> Result<String, CliFailure> {
        let answer = tokio::task::spawn_blocking(move || self.read_answer(&question)).await;
        Ok(answer.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?)
    }

    /// Lets a person choose; the first, where nobody is there or the answer is none of them.
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
