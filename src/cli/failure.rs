//! `Failure`: why a command ends badly: the exit code, what to say, and what to do about it.

use super::exit::Exit;
use crate::apply::event::StepError;
use crate::cloud::client::ReadError;
use crate::config::load::Rejected;
use crate::ledger::store::StoreError;
use crate::report::outcome;

/// Why a command ends badly.
#[derive(Debug)]
pub(super) struct Failure {
    /// How the process ends.
    pub(super) exit: Exit,
    /// What and why, in sentences.
    pub(super) message: String,
    /// What to do about it.
    pub(super) help: Vec<String>,
    /// The configuration's problems, when that is the reason.
    pub(super) rejected: Option<Box<Rejected>>,
}

impl Failure {
    /// Returns a failure with an exit code and a message.
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: Vec::new(), rejected: None }
    }

    /// Adds what to do about it.
    pub(super) fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }
}

impl From<Box<Rejected>> for Failure {
    fn from(rejected: Box<Rejected>) -> Self {
        Self { rejected: Some(rejected), ..Self::new(Exit::Failed, "the configuration has problems") }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Exit::Failed, format!("{error:#}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = Exit::of_store(&error);
        let help = match &error {
            StoreError::Locked { .. } => "Wait for it to end. A process that died holds no lock.",
            StoreError::Corrupt { .. } => {
                "Nothing in it was acted on and nothing was sent. Put back a copy of the ledger's directory."
            }
            StoreError::Foreign { .. } => "Check -C and -e: a copied directory brings its ledger along.",
            StoreError::Displaced { .. } => {
                "Whoever has it looks up what was under way. Plan again afterwards."
            }
            _ => "Nothing was sent.",
        };
        Self::new(exit, format!("{:#}", anyhow::Error::from(error))).help(help)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let exit = Exit::of_read(&error);
        let failure = Self::new(exit, error.to_string());
        match &error {
            ReadError::Refused { refusal, .. } => {
                let words = outcome::refused(
                    refusal.status,
                    &refusal.error,
                    &refusal.message,
                    refusal.reason.as_deref(),
                );
                failure.help(words.means).help(words.next)
            }
            ReadError::Failed { .. } => {
                failure.help("Nothing was changed. Check the service's address, and try again.")
            }
        }
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        let words = outcome::in_words(&error);
        Self::new(Exit::of_step(&error), words.what).help(words.means).help(words.next)
    }
}
