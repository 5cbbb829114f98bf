//! The error of a command: its exit code, its message, and the advice for the user. Errors of other modules are
//! converted to it here, so that each has one exit code and one advice.

use super::exit_code::Exit;
use super::settings::Settings;
use crate::apply::event::StepError;
use crate::cloud::error::{ApiError, ReadError};
use crate::cloud::http::send::has_sent_changes;
use crate::config::load::LoadFailure;
use crate::ledger::journal::error::{MacError, StoreError, WRITTEN_BY_NEWER};
use crate::plan::artifact::review_difference::UnitDifference;
use crate::report::views::apply_outcome::{self, FailureContext};

/// Error that ends a command.
#[derive(Debug, Clone)]
pub(in crate::cli) struct CliFailure {
    /// Exit code of the process.
    pub(in crate::cli) exit: Exit,
    /// What happened and why, as a phrase without a period; not escaped.
    pub(in crate::cli) message: String,
    /// Advice for the user, one hint each; an empty one is not printed.
    pub(in crate::cli) help: Vec<String>,
    /// New location of a ledger that was moved; `None` if that is not the cause.
    pub(in crate::cli) moved: Option<String>,
    /// Errors of the configuration; `None` if they are not the cause.
    pub(in crate::cli) rejected: Option<Box<LoadFailure>>,
    /// How plans differ from those that were reviewed; empty if that is not the cause.
    pub(in crate::cli) differences: Vec<UnitDifference>,
}

impl CliFailure {
    /// Returns a failure without advice.
    pub(in crate::cli) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            help: Vec::new(),
            moved: None,
            rejected: None,
            differences: Vec::new(),
        }
    }

    /// Returns the usage error of a command that would have to prompt, but has no terminal.
    pub(in crate::cli) fn confirmation_required() -> Self {
        Self::new(Exit::Usage, "confirmation is required, but this is not a terminal")
    }

    /// Returns the failure for an output file that exists already.
    pub(in crate::cli) fn existing_file(shown: &str) -> Self {
        Self::new(Exit::Failed, format!("{shown} exists already; nothing was written"))
    }

    /// Returns the failure for an action that the service refused; `untouched` is a sentence that says
    /// what was not changed.
    pub(in crate::cli) fn refused_action(what: &str, refusal: &ApiError, untouched: &str) -> Self {
        let words = apply_outcome::describe_refusal(refusal, FailureContext::Action);
        Self::new(Exit::of_refusal(refusal), format!("{what}: {}", words.what))
            .help(words.means)
            .help(format!("{untouched} {}", words.next))
    }

    /// Returns the failure for an action whose request was not sent.
    pub(in crate::cli) fn unsent_action(what: &str, reason: &str) -> Self {
        Self::new(Exit::Failed, format!("{what}: {reason}"))
            .help("It was not sent. Check the network and --api-url, and try again.")
    }

    /// Completes the commands of the advice to those for the stack of `settings`.
    pub(in crate::cli) fn for_stack(mut self, settings: &Settings) -> Self {
        self.help.iter_mut().for_each(|help| *help = settings.with_global_flags(help));
        self
    }

    /// Adds how plans differ from those that were reviewed.
    pub(in crate::cli) fn with_differences(
        mut self,
        differences: impl IntoIterator<Item = UnitDifference>,
    ) -> Self {
        self.differences.extend(differences);
        self
    }

    /// Adds a hint for the user.
    pub(in crate::cli) fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }
}

/// Returns the exit code of a command, or of a part of one, whether it ran or not.
pub(in crate::cli) const fn exit_of_result(result: &Result<Exit, CliFailure>) -> Exit {
    match result {
        Ok(exit) => *exit,
        Err(failure) => failure.exit,
    }
}

impl From<Box<LoadFailure>> for CliFailure {
    fn from(rejected: Box<LoadFailure>) -> Self {
        Self { rejected: Some(rejected), ..Self::new(Exit::Failed, "the configuration has problems") }
    }
}

impl From<anyhow::Error> for CliFailure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Exit::Failed, format!("{error:#}"))
    }
}

impl From<StoreError> for CliFailure {
    fn from(error: StoreError) -> Self {
        let exit = Exit::of_store(&error);
        let (undone, help, moved) =
            (undone_action(&error).map(describe_undone), store_remedies(&error), moved_destination(&error));
        let failure = Self::new(exit, format!("{:#}", anyhow::Error::from(error)));
        Self { help: undone.iter().chain(help).map(|text| (*text).to_owned()).collect(), moved, ..failure }
    }
}

/// Returns the consequence of a store error for a run that has sent no request yet; `None` if the remedy states it.
const fn undone_action(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Lax { .. } | StoreError::Shared { .. } | StoreError::Io { .. } => {
            Some("Nothing was sent.")
        }
        StoreError::Corrupt { .. } | StoreError::Sealed(MacError::MissingMacs) => {
            Some("Nothing in it was used, and nothing was sent.")
        }
        StoreError::Sealed(MacError::WrongKey { .. } | MacError::MissingKey) => {
            Some("Nothing was written or sent.")
        }
        _ => None,
    }
}

/// Returns this consequence, or the one for a run that has sent changes before.
fn describe_undone(undone: &'static str) -> &'static str {
    undone_unless_sent(has_sent_changes(), undone)
}

const fn undone_unless_sent(has_sent: bool, undone: &'static str) -> &'static str {
    if has_sent { REQUESTS_SENT_NOTICE } else { undone }
}

/// Consequence for a run that ends after it has sent requests.
const REQUESTS_SENT_NOTICE: &str =
    "Requests were sent before: their effects are recorded, or the next run determines them.";

/// Returns the advice for a store error; empty if the message says all.
fn store_remedies(error: &StoreError) -> &'static [&'static str] {
    match error {
        StoreError::Locked { .. } => &[
            "Wait for it to end; the lock of a process that died on this machine is broken automatically.",
            "stead lock status shows the holder. If it can no longer release the lock: stead lock break --reason TEXT",
        ],
        StoreError::Displaced { .. } => {
            &["Requests in progress are recorded as open intents: the next apply resolves them, or asks."]
        }
        StoreError::Lax { .. } => &[
            "Two processes could write the ledger there at the same time.",
            "Use a location that enforces write conditions: PostgreSQL, an S3 store with conditional writes, or a directory.",
        ],
        StoreError::Shared { .. } => &["Check STEAD_BACKEND, its credentials, and the network."],
        StoreError::Moved { .. } => &[
            "Set STEAD_BACKEND (or --backend) to the new location; for file:, to the directory above the one that has the stack's name.",
        ],
        StoreError::Corrupt { reason, .. } if reason.contains(WRITTEN_BY_NEWER) => {
            &["Upgrade stead on this machine. Do not repair the ledger: that would drop the newer records."]
        }
        StoreError::Corrupt { .. } => &[
            "stead state verify shows all damage, stead state repair restores what can be restored.",
            "All ways back to a ledger: `stead docs recover-a-lost-ledger`",
        ],
        StoreError::Foreign { .. } => &[
            "If the stack was renamed, move its ledger: guide page how-to/move-a-ledger.",
            "Otherwise check -C and -e: a copied directory contains the ledger of its original.",
        ],
        StoreError::Illegal(_) => &["Nothing was written."],
        StoreError::Sealed(MacError::MissingMacs) => &[
            "If it had MACs before, somebody removed them: restore a copy that has them.",
            "Why, and what a MAC proves: `stead docs share-a-ledger`",
            "If it never had any: save a copy first (stead state pull -o ledger-backup.json), check what it owns, then: \
             stead state seal",
        ],
        StoreError::Sealed(MacError::WrongKey { .. }) => &[
            "STEAD_LEDGER_KEY, or ledger_key in a profile, names the file of the key.",
            "To replace the key by this one: stead state seal --previous-key FILE",
        ],
        StoreError::Sealed(MacError::MissingKey) => {
            &["STEAD_LEDGER_KEY, or ledger_key in a profile, names the file of the key."]
        }
        StoreError::Io { .. } => &[],
        StoreError::Poisoned => &["The next run determines the outcome of the requests that were sent."],
    }
}

fn moved_destination(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Moved { to } => Some(to.clone()),
        _ => None,
    }
}

impl From<ReadError> for CliFailure {
    fn from(error: ReadError) -> Self {
        let exit = Exit::of_read(&error);
        let failure = Self::new(exit, error.to_string());
        match &error {
            ReadError::Refused { refusal, .. } | ReadError::ServerError { refusal, .. } => {
                let words = apply_outcome::describe_refusal(refusal, FailureContext::Read);
                failure.help(words.means).help(words.next)
            }
            ReadError::Untrusted { .. } => failure
                .help(describe_undone("Nothing was sent."))
                .help("Check the service's address, and this machine's clock.")
                .help(
                    "If a private CA or a proxy signs the certificates: --ca-file FILE, or STEAD_CA_FILE.",
                ),
            ReadError::Failed { .. } => failure
                .help(describe_undone("Nothing was changed."))
                .help("Check the service's address, and try again."),
            ReadError::ListChanging { .. } => failure
                .help(describe_undone("Nothing was changed."))
                .help("Another client creates or deletes many objects: try again when it is done."),
        }
    }
}

impl From<StepError> for CliFailure {
    fn from(error: StepError) -> Self {
        let words = apply_outcome::in_words(&error);
        Self::new(Exit::of_step(&error), words.what).help(words.means).help(words.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reports_nothing_was_sent_only_if_no_request_was_sent() {
        let full = std::io::Error::other("no room");
        let error = StoreError::Io { action: "write", place: "x".to_owned(), source: full };
        let undone = undone_action(&error).unwrap();
        assert_eq!(undone_unless_sent(false, undone), "Nothing was sent.");
        assert!(undone_unless_sent(true, undone).contains("Requests were sent before"));
        // The rest of the advice says nothing of it.
        let errors = [
            error,
            StoreError::Sealed(MacError::MissingMacs),
            StoreError::Sealed(MacError::MissingKey),
            StoreError::Shared { action: "use", place: "x".to_owned(), reason: "r".to_owned() },
        ];
        for error in errors {
            let rest = store_remedies(&error).join(" ");
            assert!(!rest.contains("othing was") && !rest.contains("or sent"), "{rest}");
        }
    }
}
