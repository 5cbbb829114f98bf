//! `Plan`: what would happen, in full, as data: saved, shown, compared and applied later.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::block::{Blocker, POLICY};
use super::step::{CriticalPath, LedgerUpdate, Step};
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::schema::Effect;
use crate::model::snapshot::{ObjectKey, RequestCount};
use crate::model::source::SourceLocation;
use crate::model::value::Value;

/// What would happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What it was made from; an apply of a saved plan checks all of it.
    pub base: PlanBase,
    /// What people read, most dangerous first; resources without a change are only counted.
    pub changes: Vec<Change>,
    /// What apply runs; a step's place in this list is its number.
    pub steps: Vec<Step>,
    /// Differences between what was last applied and what is live.
    pub drift: Vec<Drift>,
    /// The monthly bill, before and after.
    pub cost: PlanCost,
    /// Numbers of the steps of the longest chain, and its seconds.
    pub critical_path: CriticalPath,
    /// Number of resources that stay as they are.
    pub unchanged: usize,
    /// Number of resources that the plan leaves out: it was limited to others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Reasons why it cannot be applied, or not without a flag.
    pub blocks: Vec<Blocker>,
    /// Values to print in the end, where they are known already or will be.
    pub outputs: BTreeMap<Name, Expression>,
    /// Ledger corrections that need no request: found gone, remembered lifecycle, adoption.
    pub bookkeeping: Vec<LedgerUpdate>,
    /// The verdicts of the stack's policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<PolicyResult>,
    /// What is worth saying besides: declarations that are done, what looks like a rename.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PlanNote>,
    /// What reading the live world cost.
    pub requests: RequestCount,
    /// Whole SHA-256 of everything above that is decided: 64 hexadecimal digits. A saved plan does not hold it: it is
    /// computed from what the file holds. Empty only where it cannot be computed, and the plan is blocked then.
    #[serde(skip)]
    pub fingerprint: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What a plan was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanBase {
    /// The stack.
    pub stack: Name,
    /// The environment.
    pub environment: Name,
    /// The account: the id of its default project.
    pub account: Name,
    /// The project of project-scoped resources, where it exists already.
    pub project: Option<Name>,
    /// The ledger's lineage.
    pub lineage: Uuid,
    /// The ledger's serial.
    pub serial: u64,
    /// Digest of the resolved configuration.
    pub config: String,
    /// Digest of what was looked up elsewhere; empty where nothing was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reads: String,
    /// A digest of every object that the plan touches, as it was read.
    pub objects: Vec<BeforeImage>,
    /// When it was made.
    pub made_at: Timestamp,
    /// Makes the plan applicable once.
    pub nonce: Uuid,
    /// It removes everything: made by `destroy`.
    pub destroy: bool,
    /// Resources that may go with the data that they hold, as the command line says.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub delete_data: BTreeSet<Address>,
}

/// An object as it was when the plan was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeImage {
    /// Whose it is.
    pub address: Address,
    /// Which object.
    pub key: ObjectKey,
    /// The attributes that the plan looked at, with digests of their values.
    pub attributes: BTreeMap<Name, String>,
}

/// What becomes of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A new object takes the old one's place.
    Replace,
    /// The object goes.
    Delete,
    /// The object changes in place.
    Update,
    /// A new object.
    Create,
    /// A live object becomes this resource's.
    Adopt,
    /// The entry gets a new address.
    Move,
    /// The object stays live; stead lets go of it.
    Forget,
    /// Looked at only.
    Read,
}

/// Why a resource changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The configuration changed.
    Config,
    /// The live object changed behind stead's back.
    Drift,
    /// Both did.
    Both,
    /// Something that it refers to changes.
    Upstream,
    /// An earlier apply did not finish.
    Unfinished,
    /// The live object is not as it was applied, and no earlier reading showed that it ever was.
    Unconfirmed,
    /// The service did not keep what was sent.
    NotKept,
}

/// One line of the plan for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which resource.
    pub address: Address,
    /// Its kind.
    pub kind: Name,
    /// The object, if there is one.
    pub id: Option<Name>,
    /// The address that it had until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<PreviousAddress>,
    /// What becomes of it.
    pub action: Action,
    /// For a replacement: which comes first.
    pub create_first: Option<bool>,
    /// Why.
    pub cause: Cause,
    /// One sentence: `the API cannot change template in place`.
    pub reason: Option<String>,
    /// What differs.
    pub attributes: Vec<AttributeChange>,
    /// What the block writes besides, and nothing changes: of what changes in place or is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<UnchangedAttribute>,
    /// What else happens, each with a sentence.
    pub effects: Vec<ChangeEffect>,
    /// The monthly price, before and after.
    pub cost: ChangeCost,
    /// Resources that feel it: those that refer to it, and those whose objects do.
    pub hits: Vec<Address>,
    /// Numbers of its steps.
    pub steps: Vec<usize>,
    /// Where the block stands (or stood).
    pub source: Option<SourceLocation>,
    /// Seconds that its steps usually take.
    pub seconds: u32,
}

/// The address that a resource had until now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousAddress {
    /// The address.
    pub address: Address,
    /// Where the `moved` entry stands that says so; `None`: it goes with its parent.
    pub source: Option<SourceLocation>,
    /// The module that it moves with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleMove>,
}

/// A module whose resources all move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleMove {
    /// What stood in front of their addresses.
    pub from: Name,
    /// What stands there now.
    pub to: Name,
}

impl Plan {
    /// Returns the policies that say no, each once.
    #[must_use]
    pub fn denying_policies(&self) -> BTreeSet<&Name> {
        let no = self.policy.iter().filter(|ruling| ruling.verdict >= PolicyStatus::Overridden);
        no.map(|ruling| &ruling.name).collect()
    }

    /// Tells whether the service does not keep a value that the configuration declares.
    #[must_use]
    pub fn has_values_not_kept(&self) -> bool {
        self.notes.iter().any(|note| note.code == NoteCode::NotKept)
    }

    /// Tells whether something keeps the whole plan from being applied, when these policies do not count.
    #[must_use]
    pub fn is_blocked(&self, overrides: &BTreeSet<Name>) -> bool {
        let open = self.denying_policies().iter().any(|name| !overrides.contains(*name));
        let lifted = |block: &Blocker| block.code == POLICY && !open;
        !self.blocks.iter().all(|block| block.only_freezes() || lifted(block))
    }
}

/// What a policy says of a plan, or of one resource of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyResult {
    /// The policy.
    pub name: Name,
    /// The resource, for one on a kind that does not just pass.
    pub address: Option<Address>,
    /// What it says.
    pub verdict: PolicyStatus,
    /// The policy's message; for one that cannot be decided, why.
    pub message: String,
    /// Where the policy stands.
    pub source: Option<SourceLocation>,
}

/// What a policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyStatus {
    /// Nothing against it.
    Pass,
    /// It hangs on what is known only once something else exists.
    Unknown,
    /// No; and someone overrides it.
    Overridden,
    /// No.
    Deny,
}

/// Something that is worth saying of a plan and blocks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNote {
    /// What sort of thing.
    pub code: NoteCode,
    /// What.
    pub text: String,
    /// What to do.
    pub help: String,
    /// Where.
    pub source: Option<SourceLocation>,
    /// The resource, for a note about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteCode {
    /// A declaration has nothing left to do.
    Done,
    /// A deletion and a creation look alike.
    Rename,
    /// A secret is made by the apply.
    Generated,
    /// A secret that is shown once is delivered to its sink.
    Delivered,
    /// Something stays although everything is destroyed.
    Left,
    /// An object is deleted with the data that it holds, and something consents to that.
    DataLost,
    /// Recipients of kept secrets, and what is left to do for them.
    Recipients,
    /// The service does not keep a value: the object will not be as it is declared.
    NotKept,
    /// The service does not show declared attributes.
    Unverified,
    /// Many objects were read one by one.
    OneByOne,
    /// Consent to a replacement that the plan does not make.
    NotReplaced,
}

/// One attribute that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttributeChange {
    /// `size`, or `engine_config.maxmemory-policy` for a part.
    pub path: Name,
    /// As it is; catalog attributes by name. Secrets sealed.
    pub before: Value,
    /// As it will be; `Unknown` names what it waits for. Secrets sealed.
    pub after: Value,
    /// It is taken away rather than set back to a default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// This attribute is why the object is replaced.
    pub forces_replacement: bool,
    /// Where the new value was written.
    pub source: Option<SourceLocation>,
    /// What decided the value besides that place.
    pub set_by: Option<Name>,
    /// Config, drift, both or upstream.
    pub cause: Cause,
    /// Last applied value, where it differs from both.
    pub last_applied: Option<Value>,
}

/// One written attribute that stays as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnchangedAttribute {
    /// Its name.
    pub path: Name,
    /// Its value; catalog attributes by name. Secrets sealed.
    pub value: Value,
    /// Where it was written.
    pub source: Option<SourceLocation>,
}

/// An effect and what it means here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEffect {
    /// The stable code.
    pub code: Effect,
    /// A sentence.
    pub text: String,
}

/// Monthly price of one line; `None` where no price is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeCost {
    /// Before.
    pub monthly_before: Option<Decimal>,
    /// After.
    pub monthly_after: Option<Decimal>,
}

/// The monthly bill of all managed resources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanCost {
    /// Before.
    pub monthly_before: Decimal,
    /// After.
    pub monthly_after: Decimal,
    /// Billed resources whose price is not known.
    pub unpriced: usize,
    /// When the prices were read.
    pub priced_at: Option<Timestamp>,
    /// Prices that differ from those in `stead.lock`: `(table slug, pinned, now)`.
    pub moved: Vec<(String, Decimal, Decimal)>,
}

/// One difference between what was last applied and what is live.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Which resource.
    pub address: Address,
    /// Which attribute; `None`: the whole object is gone.
    pub path: Option<Name>,
    /// What was last applied.
    pub last_applied: Value,
    /// What is live.
    pub live: Value,
    /// What is made of it.
    pub class: DriftClass,
    /// What `ignore_drift` says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave: Option<IgnoreDriftMatch>,
    /// `drift --accept` can write the live value where the attribute is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acceptable: bool,
    /// No earlier reading showed what was applied: nothing says that somebody changed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// The code of the blocker because of which nothing is made of it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Name>,
    /// Where the attribute is written.
    pub source: Option<SourceLocation>,
}

/// An entry of `ignore_drift`, as it bears on a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoreDriftMatch {
    /// Why, in the writer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last day that it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Name>,
    /// That day is past: the difference counts again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// Where the entry stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLocation>,
}

/// What is made of a drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftClass {
    /// The plan puts it back.
    Reverted,
    /// It cannot be put back (grow-only): the configuration must follow.
    AcceptOnly,
    /// The configuration now says the same: nothing to do.
    Accepted,
    /// `ignore_drift` says that it is nobody's business.
    Ignored,
    /// The object is gone; the plan makes it again.
    Gone,
    /// Managed with a replacement.
    Replaced,
    /// A key of an open map that no block writes: it is left alone.
    Unmanaged,
}
