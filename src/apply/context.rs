//! What an apply needs besides the plan: the client, the ledger, the secrets, the sources, and the bounds of the
//! crash-safe protocol.

use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;

use super::event::ApplyEvent;
use crate::cloud::client::Client;
use crate::ledger::journal::handle::Journal;
use crate::ledger::journal::record::Record;
use crate::ledger::state::run_history::RunOrigin;
use crate::model::address::Address;
use crate::model::expression::Expression;
use crate::model::secret::Secret;

/// What an apply needs besides the plan.
pub struct ExecutionContext<'a, C, K, R, S> {
    /// The service.
    pub client: &'a Client<C, K, R>,
    /// The ledger, locked for writing.
    pub journal: &'a Journal<S>,
    /// Who applies, as `user@host`.
    pub who: &'a str,
    /// What the plan was made from, for the history.
    pub origin: &'a RunOrigin,
    /// What became of a lost request is always asked: no bound on time is assumed.
    pub strict: bool,
    /// The plan's sealed secrets, from the configuration: the whole attribute's expression.
    pub secrets: &'a dyn Fn(&Address, &str) -> Option<Expression>,
    /// Packs directories of sources.
    pub sources: &'a dyn ArchivePacker,
    /// Takes the secret of an object, which is shown once; durable on return. For a resource without a
    /// `deliver_secret` it drops the secret and says yes.
    pub deliver: &'a dyn Fn(&Address, &str, &Secret) -> Result<(), DeliveryError>,
    /// Returns the record of a delivery that is about to begin; `None` for a sink that is no file.
    pub delivers: &'a dyn Fn(&Address, &Secret) -> Option<Record>,
    /// Tells whether the secret of a resource, which is shown once, is delivered or kept anywhere.
    pub wants_secret: &'a dyn Fn(&Address) -> bool,
    /// Returns the secret of an object that its sink did not take and that was kept instead.
    pub kept: &'a dyn Fn(&Address, &str) -> Option<Secret>,
    /// Returns the record that keeps the secret of an object, encrypted, which is shown once; `None` where the ledger
    /// keeps no secrets.
    pub keep: &'a dyn Fn(&Address, &str, &Secret) -> Option<Record>,
    /// Keeps facts that the ledger does not take, somewhere else: the next run puts them in.
    pub rescue: &'a dyn Fn(&[Record]),
    /// Told what happens.
    pub tell: &'a dyn Fn(ApplyEvent),
    /// Set from outside to stop: no new step starts, what runs is finished.
    pub stop: &'a Cell<bool>,
    /// Steps at the same time, at most.
    pub parallel: usize,
    /// Bounds of the crash-safe protocol.
    pub bounds: TimingBounds,
}

/// Who has the directories of a configuration at hand.
pub trait ArchivePacker {
    /// Packs the directory of an attribute, piece by piece; ends in an error unless its digest is this
    /// one.
    fn pack(&self, address: &Address, attribute: &str, digest: &str) -> ArchiveChunks<'_>;
}

/// An archive, piece by piece. A piece may be empty.
pub type ArchiveChunks<'a> = Box<dyn Iterator<Item = Result<Bytes, PackError>> + 'a>;

/// Why a directory was not packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackError {
    /// It is not what the plan was made with.
    DigestChanged(String),
    /// It cannot be packed.
    Failed(String),
}

/// Why a secret did not reach its sink. Neither text ever holds the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryError {
    /// Why.
    pub reason: String,
    /// Where it is kept instead; `None`: it is lost.
    pub kept: Option<String>,
}

/// Steps at the same time unless someone says otherwise. Most of them wait for their objects to
/// settle: so many keep the standard tier's limiter busy through the longest usual creation.
pub const DEFAULT_CONCURRENCY: usize = 1_024;

/// Timing assumptions of the crash-safe protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimingBounds {
    /// A request takes effect within this of its last byte leaving, or never (D).
    pub effect: Duration,
    /// An accepted object is listed within this (L).
    pub listing: Duration,
    /// A request whose intent is recorded has left within this, or does not leave any more. Not an
    /// assumption: it is kept to. It lets a later run reckon from the intent's own time.
    pub sending: Duration,
}

impl Default for TimingBounds {
    fn default() -> Self {
        Self {
            effect: Duration::from_mins(1),
            listing: Duration::from_secs(10),
            sending: Duration::from_mins(2),
        }
    }
}
