//! Inputs of a plan: tables, stack, ledger, snapshot, catalogs and the options of the command line. The caller
//! has read everything: planning reads no file, no clock and no service.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use uuid::Uuid;

use crate::config::stack::model::Stack;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::origins::CurrentOrigin;
use crate::model::address::{Address, Name};
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::{ObjectKey, Snapshot};
use crate::model::schema::Registry;
use crate::model::values::secret::FingerprintKey;
use crate::plan::model::transfers::StackTransfers;

/// Fewer deletions than this never exceed the deletion limit, so that a small stack can be changed at all.
pub const MIN_DELETION_LIMIT: usize = 3;
/// The deletion limit: deleting a larger share of the managed objects, in percent, blocks the plan. The
/// replacement of an object with data counts as a deletion.
pub const DELETION_LIMIT_PERCENT: usize = 30;

/// All inputs of a plan.
#[derive(Clone, Copy)]
pub struct PlanInputs<'a> {
    /// The tables of all kinds.
    pub registry: Registry,
    /// The desired state: the loaded configuration.
    pub stack: &'a Stack,
    /// The last applied state.
    pub ledger: &'a Ledger,
    /// The live objects, read at one time.
    pub snapshot: &'a Snapshot,
    /// Names and prices of the catalog as just read.
    pub catalog: &'a Catalog,
    /// Names and prices as pinned in `stead.lock`; `None` if nothing is pinned.
    pub pinned: Option<&'a Catalog>,
    /// The options of a plan: those of the command line, and facts that the caller looked up.
    pub options: &'a PlanningOptions,
    /// The time at which the plan is made.
    pub now: Timestamp,
    /// Identifies the plan, so that it is applied at most once.
    pub nonce: Uuid,
}

impl PlanInputs<'_> {
    /// Returns the time of the service, by which it charges and by which dates in the configuration end; the time of the plan
    /// where the service does not show its own.
    #[must_use]
    pub fn service_time(&self) -> Timestamp {
        self.options.policy.time.unwrap_or(self.now)
    }
}

/// The roles of `privileged_roles` where the settings do not have it.
pub const PRIVILEGED_ROLES: [&str; 2] = ["owner", "admin"];

/// What policies may read besides the stack and the plan.
#[derive(Debug, Clone)]
pub struct PolicyContext {
    /// The actor, as the environment states it; empty if it is not known.
    pub actor: Name,
    /// The branch, as the environment states it; empty if there is none.
    pub branch: Name,
    /// The time of the service; `None` uses the time of the plan.
    pub time: Option<Timestamp>,
    /// The short names of roles that an API key should not have.
    pub privileged_roles: Vec<Name>,
}

impl Default for PolicyContext {
    fn default() -> Self {
        Self {
            actor: Name::default(),
            branch: Name::default(),
            time: None,
            privileged_roles: PRIVILEGED_ROLES.map(Name::new_static).into(),
        }
    }
}

/// The options of a plan: those of the command line, and facts that the caller looked up.
#[derive(Debug, Clone, Default)]
pub struct PlanningOptions {
    /// Deletes the stack's resources; a protected one blocks the plan.
    pub destroy: bool,
    /// Overrides the deletion limit.
    pub allow_deletes: bool,
    /// Plans only these addresses and their dependencies; empty: all of them.
    pub targets: BTreeSet<Address>,
    /// Leaves out these addresses and their dependents; empty: none.
    pub excluded: BTreeSet<Address>,
    /// Objects that contain data and may be replaced nevertheless. A block stands for all of its instances.
    pub replace: BTreeSet<Address>,
    /// Resources without a block that may be deleted with the data that they contain. The address of a former block stands for
    /// all of its instances.
    pub delete_data: BTreeSet<Address>,
    /// A destroy also deletes the byproducts of the stack's objects.
    pub with_leftovers: bool,
    /// Volumes that claims inside clusters created, each with its cluster (Catalogue of other endpoints).
    pub claimed: BTreeMap<ObjectKey, ObjectKey>,
    /// The stack runs on a temporary cloud: the loss of data needs no approval.
    pub is_rehearsal: bool,
    /// The ids of live objects to adopt, by address.
    pub adopt: BTreeMap<Address, Name>,
    /// Resources, or modules, whose forgotten objects are adopted again: the ledger has their ids.
    pub taken_back: BTreeSet<Address>,
    /// Objects that another ledger owns, with the owner's name: they cannot be adopted.
    pub foreign: Arc<BTreeMap<ObjectKey, Name>>,
    /// Objects that other units of the same run own. Whether they still use what this plan deletes is checked once those
    /// units are planned, too.
    pub planned_elsewhere: Arc<BTreeSet<ObjectKey>>,
    /// Kinds of which a plan of the same inputs deletes objects, for reasons that only a plan shows (a replacement): the
    /// objects that may use them are read, too.
    pub deleted_kinds: BTreeSet<Name>,
    /// Leaves out the deletions that nothing else in the plan waits for: objects that other units still use.
    pub holds_deletions: bool,
    /// Policies whose denial is overridden.
    pub overrides: BTreeSet<Name>,
    /// The command that applies the plan, with the flags of this command line, for remedies; empty for one without flags.
    pub apply_command: String,
    /// What policies may read besides the stack and the plan.
    pub policy: PolicyContext,
    /// Resources whose secrets did not reach their sinks but are kept: nothing has to be replaced.
    pub undelivered: BTreeSet<Address>,
    /// Secrets whose sinks may be overwritten, whatever they contain.
    pub overwrite_secrets: BTreeSet<Name>,
    /// Sinks with content that stead did not write, by the addresses of their secrets, and why they are left alone.
    pub occupied_sinks: BTreeMap<Name, String>,
    /// The plan is made on a CI runner, whose files are deleted when its job ends.
    pub on_runner: bool,
    /// Generated variables whose value is lost in their sinks and in the ledger.
    pub lost_secrets: BTreeSet<Name>,
    /// Addresses of secrets that the ledger keeps and that no identity of this run can decrypt.
    pub locked_secrets: BTreeSet<Name>,
    /// The only recipients that the user's settings allow; `None`: any recipient.
    pub allowed_recipients: Option<BTreeSet<Name>>,
    /// The project, by name or id, of project-scoped resources if the stack has no `project` block; `None`:
    /// the account's default project.
    pub project: Option<Name>,
    /// The directory that the stack is planned from; `None` if its ledger is not on a shared backend.
    pub directory: Option<CurrentOrigin>,
    /// Nothing will be applied (drift checks and the like), so remote values may be missing.
    pub only_looks: bool,
    /// Key of the before-images in a plan that is saved before its ledger exists: the file's own. `None` where
    /// the ledger has a key.
    pub image_key: Option<FingerprintKey>,
    /// The values of all resources are returned with the plan, for reports that show them.
    pub wants_values: bool,
    /// Moves between this stack and others. The plan's ledger is the one before them.
    pub transfers: StackTransfers,
}

impl PlanInputs<'_> {
    /// Returns whether the last complete apply had the present configuration: then nothing in it changed since.
    pub(in crate::plan) fn is_config_applied(&self) -> bool {
        let last = self.ledger.last_complete_run();
        last.and_then(|run| run.origin.config.as_ref()).is_some_and(|config| **config == self.stack.digest)
    }
}

impl PlanningOptions {
    /// Returns whether the command line selects some of the stack's resources.
    #[must_use]
    pub fn selects_resources(&self) -> bool {
        !(self.targets.is_empty() && self.excluded.is_empty())
    }

    /// Returns whether the loss of an object's data by its deletion is approved on the command line.
    pub(in crate::plan) fn may_delete_data(&self, address: &Address) -> bool {
        self.delete_data.iter().any(|approved| address.is_within(approved))
    }

    /// Returns whether the replacement of an object that contains data is approved.
    pub(in crate::plan) fn may_replace(&self, address: &Address) -> bool {
        self.replace.iter().any(|approved| address.is_within(approved))
    }
}
