//! The inputs of an apply besides the plan: the client, the ledger, the secrets, the source directories, and the timing
//! bounds of the crash-safe protocol.

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
use crate::model::values::secret::Secret;

/// The inputs of an apply besides the plan.
pub struct ExecutionContext<'a, C, K, R, S> {
    /// The client of the service, with its clock and randomness.
    pub client: &'a Client<C, K, R>,
    /// The ledger, locked for writing.
    pub journal: &'a Journal<S>,
    /// The actor, as `user@host`.
    pub who: &'a str,
    /// The origin of the plan, recorded in the ledger's history.
    pub origin: &'a RunOrigin,
    /// Strict mode: no timing bound is assumed, so an ambiguous intent is always left to the user to resolve.
    pub strict: bool,
    /// Returns the configured expression of a whole attribute; `None` if the configuration does not set it. The
    /// plan has only fingerprints of its secrets. For `outputs.NAME` it is that of an output, whatever the attribute.
    pub secrets: &'a dyn Fn(&Address, &str) -> Option<Expression>,
    /// Packs source directories for uploads.
    pub sources: &'a dyn ArchivePacker,
    /// Delivers the secret that the service shows once to the resource's secret sink; durable on return. For a resource
    /// without a `deliver_secret` it drops the secret and returns `Ok`.
    pub deliver: &'a dyn Fn(&Address, &str, &Secret) -> Result<(), DeliveryError>,
    /// Returns the record to commit before a delivery begins; `None` for a sink that is not a file. Content
    /// that the ledger has no record of would block the next delivery.
    pub delivers: &'a dyn Fn(&Address, &Secret) -> Option<Record>,
    /// Returns whether a resource's shown-once secret is delivered to a sink or kept.
    pub wants_secret: &'a dyn Fn(&Address) -> bool,
    /// Returns the secret of an object (by address and id) that was kept because its sink did not take it;
    /// `None` if none was kept.
    pub kept: &'a dyn Fn(&Address, &str) -> Option<Secret>,
    /// Returns the record that keeps a shown-once secret in the ledger, encrypted; `None` where
    /// the ledger keeps no secrets.
    pub keep: &'a dyn Fn(&Address, &str, &Secret) -> Option<Record>,
    /// Writes facts that the ledger did not take to the recovery file; the next run replays them.
    pub rescue: &'a dyn Fn(&[Record]),
    /// Receives each event of the apply, with secrets redacted.
    pub tell: &'a dyn Fn(ApplyEvent),
    /// Set by the caller to stop the apply: no new step starts, and running steps are finished.
    pub stop: &'a Cell<bool>,
    /// The largest number of steps that run at the same time; 0 counts as 1.
    pub parallel: usize,
    /// Timing bounds of the crash-safe protocol.
    pub bounds: TimingBounds,
}

/// Packs the source directories of a configuration.
pub trait ArchivePacker {
    /// Packs the directory of an attribute, chunk by chunk, so that other steps can run in between. The
    /// iterator ends in an error if the directory's digest is not `digest`.
    fn pack(&self, address: &Address, attribute: &str, digest: &str) -> ArchiveChunks<'_>;
}

/// The chunks of an archive, in order. A chunk may be empty.
pub type ArchiveChunks<'a> = Box<dyn Iterator<Item = Result<Bytes, PackError>> + 'a>;

/// Why a directory was not packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackError {
    /// The directory changed after the plan was made: the reason, as a sentence.
    DigestChanged(String),
    /// The directory cannot be packed: the reason, as a sentence.
    Failed(String),
}

/// Why a secret did not reach its sink. Neither field ever contains the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryError {
    /// The reason, as one clause.
    pub reason: String,
    /// Where the secret is kept instead; `None` if it is lost.
    pub kept: Option<String>,
}

/// The default limit on concurrent steps. Most steps wait for their objects to become ready: so many keep the standard
/// tier's rate limiter busy through the longest usual creation.
pub const DEFAULT_CONCURRENCY: usize = 1_024;

/// Timing assumptions of the crash-safe protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimingBounds {
    /// A request takes effect within this time after its last byte left, or never (D).
    pub effect: Duration,
    /// An accepted object is listed within this time (L).
    pub listing: Duration,
    /// A request leaves within this time after its intent was recorded, or is not sent at all. This is enforced, not
    /// assumed: a later run can compute from the intent's own time.
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
