//! Objects whose one-time secret is lost, in ledgers of earlier versions, which recorded no ambiguous intent for
//! them. In: the ledger and the stack. Out: a prompt for each, and the record of its resolution. Invariant: an
//! object with an ambiguous intent of its own, or with a copy of the secret, is not included.

use super::secret_sinks;
use crate::cli::ledger::ambiguous_intents::ResolveAction;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::kinds::REGISTRY;
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::{Entry, OwnedObject};
use crate::ledger::state::kept_secrets::RotationStep;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};

/// An object whose secret the service showed once, and of which no copy exists.
pub(in crate::cli) struct LostSecret<'l> {
    pub(in crate::cli) address: &'l Address,
    entry: &'l Entry,
    object: &'l OwnedObject,
}

/// Returns the objects whose secrets are needed and lost, ordered by address.
pub(in crate::cli) fn find_lost_secrets<'l>(
    project: &LoadedStack,
    ledger: &'l Ledger,
) -> Vec<LostSecret<'l>> {
    let undelivered = secret_sinks::undelivered_resources(project, ledger);
    let has_question =
        |address: &Address| ledger.questions.values().any(|one| one.intent.address == *address);
    let is_lost = |address: &Address, entry: &Entry| {
        let kind = REGISTRY.kind(&entry.kind);
        let is_shown_once = kind.is_some_and(|kind| kind.shown_once.is_some() && kind.reveal().is_none());
        let is_answered = ledger.secrets.rotating.contains(address.as_str());
        entry.secret_lost
            && is_shown_once
            && !is_answered
            && secret_sinks::is_wanted(project, address)
            && !undelivered.contains(address)
            && !has_question(address)
    };
    let lost = ledger.entries.iter().filter(|(address, entry)| is_lost(address, entry));
    lost.filter_map(|(address, entry)| Some(LostSecret { address, entry, object: entry.current.as_ref()? }))
        .collect()
}

// The answers are those of an ambiguous intent, so that `stead resolve` handles both.
impl<'l> LostSecret<'l> {
    /// Returns the kind of the object.
    pub(in crate::cli) fn kind(&self) -> &'l Name {
        &self.entry.kind
    }

    /// Returns the id of the object.
    pub(in crate::cli) fn id(&self) -> &'l Name {
        &self.object.id
    }

    /// Returns the message of the prompt, not escaped.
    pub(in crate::cli) fn text(&self) -> String {
        format!("{}: the secret of {} was shown once and is lost", self.address, self.object.id)
    }

    /// Returns the possible resolutions, as arguments after `stead resolve ADDRESS`.
    pub(in crate::cli) fn answers(&self) -> Vec<String> {
        vec![format!("surplus {}", self.object.id), format!("adopt {}", self.object.id)]
    }

    /// Returns the record of a resolution: the object is replaced (`surplus`), or it is kept
    /// without its secret (`adopt`).
    ///
    /// # Errors
    /// When the resolution is neither of the two, or names another object.
    pub(in crate::cli) fn answer_record(&self, answer: &ResolveAction) -> Result<Record, CliFailure> {
        match answer {
            ResolveAction::Surplus { id } if *id == self.object.id => Ok(Record::SecretRotation {
                address: Name::new(self.address.as_str()),
                step: RotationStep::Begin,
            }),
            ResolveAction::Adopt { id } if *id == self.object.id => Ok(Record::Applied {
                address: self.address.clone(),
                entry: Box::new(Entry {
                    current: None,
                    deposed: Vec::new(),
                    secret_lost: false,
                    secret_origin: None,
                    ..self.entry.clone()
                }),
            }),
            _ => Err(CliFailure::new(Exit::Failed, format!("that is not an answer for {}", self.address))
                .help(format!("Its answers are: {}.", self.answers().join(", ")))),
        }
    }
}
