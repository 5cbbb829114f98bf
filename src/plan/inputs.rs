//! What a plan is made from: tables, stack, ledger, snapshot, catalogs and the options of the command line.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use crate::config::stack::model::Stack;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::origins::CurrentOrigin;
use crate::model::address::{Address, Name};
use crate::model::catalog::Catalog;
use crate::model::schema::Registry;
use crate::model::secret::FingerprintKey;
use crate::model::snapshot::{ObjectKey, Snapshot};

/// Everything that a plan is made from.
#[derive(Clone, Copy)]
pub struct PlanInputs<'a> {
    /// The tables.
    pub registry: Registry,
    /// What is wanted.
    pub stack: &'a Stack,
    /// What is remembered.
    pub ledger: &'a Ledger,
    /// What is live.
    pub snapshot: &'a Snapshot,
    /// Names and prices as read today.
    pub catalog: &'a Catalog,
    /// Names and prices as pinned in `stead.lock`.
    pub pinned: Option<&'a Catalog>,
    /// What was asked for on the command line.
    pub options: &'a PlanningOptions,
    /// When the plan is made.
    pub now: Timestamp,
    /// Makes the plan applicable once.
    pub nonce: Uuid,
}

/// What was asked for on the command line.
#[derive(Debug, Clone, Default)]
pub struct PlanningOptions {
    /// Remove everything that is not protected.
    pub destroy: bool,
    /// The deletion budget does not count.
    pub allow_deletes: bool,
    /// Only these and what they need; empty for all.
    pub targets: BTreeSet<Address>,
    /// Not these, nor what needs them.
    pub excluded: BTreeSet<Address>,
    /// Objects that hold data and may be replaced all the same.
    pub replace: BTreeSet<Address>,
    /// Resources that no block declares any more and that may go with the data that they hold.
    pub delete_data: BTreeSet<Address>,
    /// A destroy also deletes what came of the stack's objects.
    pub with_leftovers: bool,
    /// Volumes that claims in clusters made, with the clusters.
    pub claimed: BTreeMap<ObjectKey, ObjectKey>,
    /// The stack runs on a cloud that is thrown away: no data is worth a consent.
    pub is_rehearsal: bool,
    /// Live objects to adopt, by id.
    pub adopt: BTreeMap<Address, Name>,
    /// Resources, or modules, whose objects were let go of and are to be taken back: the ledger knows which.
    pub taken_back: BTreeSet<Address>,
    /// Objects that another ledger owns, and whose: nobody takes them over.
    pub foreign: BTreeMap<ObjectKey, Name>,
    /// Policies whose no does not count.
    pub overrides: BTreeSet<Name>,
    /// Resources whose secrets did not reach their sinks, and are kept: nothing has to be made anew.
    pub undelivered: BTreeSet<Address>,
    /// Secrets whose sinks may hold anything.
    pub overwrite_secrets: BTreeSet<Name>,
    /// Sinks that hold content of somebody else, by the addresses of their secrets, and why they are left alone.
    pub occupied_sinks: BTreeMap<Name, String>,
    /// It is made on a CI runner, whose files are gone when its job ends.
    pub on_runner: bool,
    /// Generated variables whose value nobody has: their sinks and the ledger lost it.
    pub lost_secrets: BTreeSet<Name>,
    /// Addresses of secrets that the ledger keeps, and that no identity here opens.
    pub locked_secrets: BTreeSet<Name>,
    /// The only recipients that the user's settings allow.
    pub allowed_recipients: Option<BTreeSet<Name>>,
    /// The project of project-scoped resources of a stack without a `project` block: a name or id.
    pub project: Option<Name>,
    /// Where the stack is planned from; `None` where its ledger is not on a shared backend.
    pub directory: Option<CurrentOrigin>,
    /// Nothing is to be applied: what is looked up elsewhere may be missing.
    pub only_looks: bool,
    /// Key of the before-images in a plan that is saved before its ledger exists: the file's own.
    pub image_key: Option<FingerprintKey>,
}
