//! `Ui`: results to standard output, everything else to standard error, questions on a terminal.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use super::failure::Failure;
use crate::report::json;
use crate::report::text::style::Style;

/// How this process talks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ui {
    /// How results look.
    pub(super) style: Style,
    /// How messages look.
    pub(super) message_style: Style,
    /// One JSON document.
    pub(super) json: bool,
    /// One JSON event a line.
    pub(super) ndjson: bool,
    /// Every document is folded to one line.
    pub(super) one_line: bool,
    /// No hints, no progress.
    pub(super) quiet: bool,
    /// More than most want.
    pub(super) verbose: bool,
    /// Everything.
    pub(super) very_verbose: bool,
    /// Questions can be asked.
    pub(super) interactive: bool,
    /// Progress may redraw lines.
    pub(super) live: bool,
    /// Results go to a terminal.
    pub(super) shows: bool,
}

impl Ui {
    /// Writes a result. A reader that went away (`| head`) is no error.
    pub(super) fn out(&self, text: &str) {
        let folded = if self.one_line { json::folded(text) } else { Cow::Borrowed(text) };
        let _ = io::stdout().lock().write_all(folded.as_bytes());
    }

    /// Says what a command that prints nothing else has done: a message to people, a document to programs.
    pub(super) fn done(&self, text: &str) {
        if self.json || self.ndjson {
            self.out(&json::result(text));
        } else {
            self.say(text);
        }
    }

    /// Writes a message: what was done, found or left out. Hints and progress go by `hint`.
    #[expect(clippy::unused_self, reason = "messages go through the same door as hints")]
    pub(super) fn say(&self, text: &str) {
        Self::complain(text);
    }

    /// Writes what can be missed, a hint or how things go, unless the user wants none of it.
    pub(super) fn hint(&self, text: &str) {
        if !self.quiet {
            Self::complain(text);
        }
    }

    /// Writes a message that must be seen.
    pub(super) fn complain(text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Says what to do next, to people at a terminal.
    pub(super) fn next(&self, text: &str) {
        if !self.json && !self.ndjson {
            self.hint(&format!("next: {text}"));
        }
    }

    /// Asks for consent: yes, or a word that must be typed. Enter alone is a no, and so is nobody.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(super) async fn agrees(self, question: &str, typed: Option<&str>) -> Result<bool, Failure> {
        let question = match typed {
            Some(word) => format!("Type {word} to go on: "),
            None => format!("{question} [y/N] "),
        };
        let answer = self.asked(question).await?;
        Ok(match typed {
            Some(word) => answer == word,
            None => matches!(answer.as_str(), "y" | "Y" | "yes"),
        })
    }

    /// Asks a question while everything else goes on: locks are kept, signals are heard.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(super) async fn asked(self, question: String) -> Result<String, Failure> {
        let answer = tokio::task::spawn_blocking(move || self.answer(&question)).await;
        Ok(answer.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?)
    }

    /// Lets a person choose; the first, where nobody is there or the answer is none of them.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(super) fn choose(self, question: &str, choices: &[&str]) -> io::Result<usize> {
        let answer = self.answer(&format!("{question} [{}] ", choices.join("/")))?;
        Ok(choices.iter().position(|choice| *choice == answer).unwrap_or(0))
    }

    fn answer(self, question: &str) -> io::Result<String> {
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
