//! `Plan`: all planned changes as data: saved, shown, compared and applied later. `changes` are for people,
//! `steps` for the executor; `artifact::consistency` checks that both say the same. Field names are part of the
//! format of saved plans.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::block::Blocker;
pub use super::drift::{Drift, DriftClass, IgnoreDriftMatch};
use super::due::{DueAmount, DueTotal};
use super::note::{NoteCode, PlanNote};
use super::output::PlannedOutput;
use super::plan_base::PlanBase;
use super::step::{CriticalPath, LedgerUpdate, Step};
use super::undecided::UndecidedPolicy;
use crate::model::address::{Address, Name};
use crate::model::cel::policy::PolicyLevel;
use crate::model::diagnostic::blocker_code::POLICY;
use crate::model::expression::Expression;
use crate::model::live::snapshot::RequestCount;
use crate::model::schema::Effect;
use crate::model::source::SourceLocation;
use crate::model::values::value::Value;

/// All planned changes and the steps that make them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The inputs that the plan depends on; an apply of a saved plan checks all of them.
    pub base: PlanBase,
    /// The changes for display, most dangerous first; resources without a change are only
    /// counted. Empty: nothing changes.
    pub changes: Vec<Change>,
    /// The steps for apply; a step's index in this list is its number.
    pub steps: Vec<Step>,
    /// Differences between the last applied and the live values, by address.
    pub drift: Vec<Drift>,
    /// The monthly cost in USD, before and after the apply.
    pub cost: PlanCost,
    /// The chain of dependent steps that takes longest, and its duration.
    pub critical_path: CriticalPath,
    /// Number of resources without a change.
    pub unchanged: usize,
    /// Number of resources outside the plan's targets.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Blockers: reasons why it cannot be applied, or not without an option.
    pub blocks: Vec<Blocker>,
    /// Outputs to print at the end, with values that may be unknown until then.
    pub outputs: BTreeMap<Name, Expression>,
    /// Each output with its value before and after, by name; empty for a check that applies nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned_outputs: Vec<PlannedOutput>,
    /// Ledger updates that need no request: objects found gone, changed lifecycle settings, adoptions.
    pub bookkeeping: Vec<LedgerUpdate>,
    /// The results of the stack's policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<PolicyResult>,
    /// The policies that are evaluated again before a step. A saved plan does not contain them: an apply makes the plan
    /// again.
    #[serde(skip)]
    pub undecided: Vec<UndecidedPolicy>,
    /// Notes that block nothing: declarations with nothing left to do, probable renames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PlanNote>,
    /// Whether deletions were left out that nothing else in the plan waits for: a later run plans and makes them. No saved
    /// plan leaves any out.
    #[serde(skip)]
    pub holds_deletions: bool,
    /// The number of requests that reading the live objects took.
    pub requests: RequestCount,
    /// Short digests of what is decided for each address, under the ledger's key; empty where there is no key yet. A
    /// published one shows which address differs, and no value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<Address, Name>,
    /// Whole SHA-256 of the decided parts above: 64 hexadecimal digits. A saved plan does not contain it: it is
    /// computed from the contents of the file. Empty only where it cannot be computed, and then the plan is blocked.
    #[serde(skip)]
    pub fingerprint: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The planned action for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The object is deleted and a new one created.
    Replace,
    /// The object is deleted.
    Delete,
    /// The object changes in place.
    Update,
    /// A new object is created.
    Create,
    /// A live object is taken into the ledger.
    Adopt,
    /// The ledger entry gets a new address.
    Move,
    /// The object is removed from the ledger and stays live.
    Forget,
    /// The object is only read.
    Read,
}

impl Action {
    /// Returns the keyword of the action.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Update => "update",
            Self::Create => "create",
            Self::Adopt => "adopt",
            Self::Move => "move",
            Self::Forget => "forget",
            Self::Read => "read",
        }
    }
}

/// Why a resource changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The configuration changed since the last apply.
    Config,
    /// The live object changed outside stead.
    Drift,
    /// Configuration and live object both changed.
    Both,
    /// A resource that it refers to changes.
    Upstream,
    /// An earlier apply did not finish.
    Unfinished,
    /// The live value is not the applied one, and no earlier reading showed the applied one.
    Unconfirmed,
    /// The service accepted a value but did not keep it.
    NotKept,
}

/// One change line of the plan, for display.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The address of the resource.
    pub address: Address,
    /// The resource's kind, as in the tables.
    pub kind: Name,
    /// The id of the object, if there is one.
    pub id: Option<Name>,
    /// The previous address, if the resource moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Box<PreviousAddress>>,
    /// The planned action for the resource.
    pub action: Action,
    /// For a replacement: whether the new object is created first; otherwise `None`.
    pub create_first: Option<bool>,
    /// Why the resource changes.
    pub cause: Cause,
    /// The reason as a clause (`the API cannot change template in place`); `None` where the attributes show it.
    pub reason: Option<String>,
    /// The attributes that differ, in the order of the kind's table; empty for a deletion.
    pub attributes: Vec<AttributeChange>,
    /// The written attributes that do not change, for an update or a replacement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rest: Vec<UnchangedAttribute>,
    /// The side effects of the change, worst first.
    pub effects: Vec<ChangeEffect>,
    /// The monthly price in USD, before and after the apply.
    pub cost: ChangeCost,
    /// Affected resources, sorted: those whose block refers to this one, and those whose live object refers to its object.
    /// The name is the key in the JSON format.
    pub hits: Vec<Address>,
    /// The numbers of its steps in the plan, in the order of execution; empty where only the ledger changes.
    pub steps: Vec<usize>,
    /// The location of the block, or of what left it out; `None` if no file mentions the resource any more.
    pub source: Option<SourceLocation>,
    /// The sum of the usual durations of its steps, in seconds.
    pub seconds: u32,
}

/// The previous address of a resource that moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousAddress {
    /// The address before the move.
    pub address: Address,
    /// The location of the `moved` entry; `None` if it moves with its parent.
    pub source: Option<SourceLocation>,
    /// The module that moves as a whole with the resource; `None` if the resource moves alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleMove>,
    /// The other stack in which it had this address, as `stack/environment`; `None` if it moves within the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Name>,
}

/// A module whose resources all move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleMove {
    /// The module address before the move.
    pub from: Name,
    /// The module address after the move.
    pub to: Name,
}

impl Change {
    /// Returns the value at a path, of an attribute or a key of a map, that is written and does not change.
    #[must_use]
    pub fn unchanged_value(&self, path: &str) -> Option<&Value> {
        let find = |name: &str| self.rest.iter().find(|one| one.path == name).map(|one| &one.value);
        find(path).or_else(|| {
            let (name, key) = path.split_once('.')?;
            let Value::Map(map) = find(name)? else { return None };
            map.get(key)
        })
    }
}

impl Plan {
    /// Returns the outputs that the apply changes, or may change.
    pub fn output_changes(&self) -> impl Iterator<Item = &PlannedOutput> {
        self.planned_outputs.iter().filter(|output| output.cause.is_some())
    }

    fn steps_of(&self, change: &Change) -> impl Iterator<Item = &Step> {
        change.steps.iter().filter_map(|number| self.steps.get(*number))
    }

    /// Returns whether a change also deletes an object that an earlier replacement left. False for a replacement or a deletion,
    /// which count as deletions anyway.
    #[must_use]
    pub fn deletes_older_object(&self, change: &Change) -> bool {
        !matches!(change.action, Action::Replace | Action::Delete)
            && self.steps_of(change).any(Step::deletes_older_object)
    }

    /// Returns whether a change deletes the current object of a resource without a replacement: not only an older object, which
    /// an earlier replacement left.
    #[must_use]
    pub fn deletes_current_object(&self, change: &Change) -> bool {
        change.action == Action::Delete
            && (change.steps.is_empty() || !self.steps_of(change).all(Step::deletes_older_object))
    }

    /// Returns whether a change counts as one of an action: one that also deletes an older object is a deletion, too.
    #[must_use]
    pub fn counts_as(&self, change: &Change, action: Action) -> bool {
        change.action == action || action == Action::Delete && self.deletes_older_object(change)
    }

    /// Returns whether an apply changes a resource or an output.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty() || self.output_changes().next().is_some()
    }

    /// Returns the names of the policies that deny the plan, overridden ones included.
    #[must_use]
    pub fn denying_policies(&self) -> BTreeSet<&Name> {
        let no = self.policy.iter().filter(|ruling| ruling.verdict >= PolicyStatus::Overridden);
        no.map(|ruling| &ruling.name).collect()
    }

    /// Returns whether the plan has a note of a category.
    #[must_use]
    pub fn has_note(&self, code: NoteCode) -> bool {
        self.notes.iter().any(|note| note.code == code)
    }

    /// Returns whether the service does not keep a value that the configuration declares.
    #[must_use]
    pub fn has_values_not_kept(&self) -> bool {
        self.has_note(NoteCode::NotKept)
    }

    /// Returns whether a policy denies the plan although these policies are overridden. Nothing overrides a mandatory one.
    #[must_use]
    pub fn has_open_denial(&self, overrides: &BTreeSet<Name>) -> bool {
        let mut denials = self.policy.iter().filter(|result| result.verdict >= PolicyStatus::Overridden);
        denials.any(|result| result.level == PolicyLevel::Mandatory || !overrides.contains(&result.name))
    }

    /// Returns whether a blocker prevents applying the plan if these policies are overridden. A blocker that
    /// only freezes its resource does not.
    #[must_use]
    pub fn is_blocked(&self, overrides: &BTreeSet<Name>) -> bool {
        let open = self.has_open_denial(overrides);
        let lifted = |block: &Blocker| block.code == POLICY.code && !open;
        !self.blocks.iter().all(|block| block.only_freezes() || lifted(block))
    }
}

/// The result of a policy for a plan, or for one resource of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyResult {
    /// The name of the policy.
    pub name: Name,
    /// The resource, for a policy on a kind that did not simply pass; `None` for the whole plan.
    pub address: Option<Address>,
    /// What a denial does.
    #[serde(default, skip_serializing_if = "PolicyLevel::is_default")]
    pub level: PolicyLevel,
    /// Whether it passed, denied or was undecided.
    pub verdict: PolicyStatus,
    /// The policy's message; for an undecided policy, or one that cannot be evaluated, the reason.
    pub message: String,
    /// The values of the facts of the moment and of the environment that it depends on (`now`, `actor`, `branch`). If
    /// there are any, the result is not part of the fingerprint, and is decided again at apply.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: BTreeMap<Name, Name>,
    /// Whether every object begins with it, as with some exposures: it is shown as less important, and a plan without
    /// changes only counts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
    /// The location of the policy's block.
    pub source: Option<SourceLocation>,
}

impl PolicyResult {
    /// Returns whether the policy denies the plan, overridden or not, by what the plan decides: a verdict over the time or
    /// the environment is decided again at apply, and is no decision of the plan.
    #[must_use]
    pub fn is_decided_denial(&self) -> bool {
        self.verdict >= PolicyStatus::Overridden && self.context.is_empty()
    }
}

/// The result of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PolicyStatus {
    /// The policy permits it.
    Pass,
    /// An exposure that the resource's block allows.
    Allowed,
    /// The result depends on a value that is unknown before the apply.
    Unknown,
    /// The policy is advisory, and warns of it.
    Warn,
    /// The policy denies it, and the user overrides the policy.
    Overridden,
    /// The policy denies it.
    Deny,
}

/// A change of one attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttributeChange {
    /// The attribute, as `size`, or a part of one, as `engine_config.maxmemory-policy`.
    pub path: Name,
    /// The present value; catalog attributes by name, secrets as fingerprints. `Null` if it is not set.
    pub before: Value,
    /// The planned value; `Unknown` names the resources that it depends on, `Null` is a removed
    /// value. Secrets as fingerprints.
    pub after: Value,
    /// Whether the value is removed rather than reset to a default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Whether this attribute causes the replacement of the object.
    pub forces_replacement: bool,
    /// Where the new value was written; `None` for a link that is undone because its target is deleted.
    pub source: Option<SourceLocation>,
    /// What set the value, such as a module input or an environment; `None` if the file at `source` does.
    pub set_by: Option<Box<Name>>,
    /// Why the attribute changes.
    pub cause: Cause,
    /// The last applied value, where it differs from both; otherwise `None`.
    pub last_applied: Option<Box<Value>>,
    /// Names of the variables and outputs whose secrets the planned value contains, in its order, if one of them has no
    /// fingerprint; empty otherwise. For a text that is written in the configuration, its digest, and an empty name for a
    /// secret that nothing identifies. It tells values from each other before the ledger has a key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Name>,
    /// The resources of this stack whose ids the values contain, by id; `None` if they contain none. For display only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: IdNames,
    /// Names of other objects whose ids the values contain, as the service shows them, by id; `None` if there are none. For
    /// display only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_names: LiveNames,
}

/// Resources by the ids of their objects; boxed, because most attributes contain no id.
pub type IdNames = Option<Box<BTreeMap<Name, Address>>>;

/// Names of objects by their ids; boxed, because most attributes contain no id.
pub type LiveNames = Option<Box<BTreeMap<Name, Name>>>;

/// A written attribute that does not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnchangedAttribute {
    /// The name of the attribute.
    pub path: Name,
    /// Its value; catalog attributes by name, secrets as fingerprints.
    pub value: Value,
    /// Where it was written.
    pub source: Option<SourceLocation>,
    /// As the names of a changed attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: IdNames,
    /// As the live names of a changed attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_names: LiveNames,
}

/// A side effect, with its meaning for this change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEffect {
    /// The stable code of the side effect.
    pub code: Effect,
    /// The description, as a sentence.
    pub text: String,
}

/// Monthly price of one line; `None` where no price is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeCost {
    /// The amount before the apply, in USD.
    pub monthly_before: Option<Decimal>,
    /// The amount after the apply, in USD.
    pub monthly_after: Option<Decimal>,
    /// Whether something that exists after the apply has no known price: the amount after it is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    /// What the service charges or refunds at once; empty where nothing is due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<DueAmount>,
    /// The sum of `due` at the plan's time in USD, rounded to cents: charged if positive, refunded if negative. `None`
    /// where the service shows no rule, or a price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_now: Option<Decimal>,
}

/// The monthly cost of all managed resources.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanCost {
    /// The amount before the apply, in USD.
    pub monthly_before: Decimal,
    /// The amount after the apply, in USD.
    pub monthly_after: Decimal,
    /// Number of billed objects without a known price, planned final snapshots included: the totals lack them.
    pub unpriced: usize,
    /// When the prices were read; `None` if that is not known.
    pub priced_at: Option<Timestamp>,
    /// Prices that differ from those in `stead.lock`, sorted: `(table slug, pinned, now)`, in USD.
    pub moved: Vec<(String, Decimal, Decimal)>,
    /// What is charged or refunded at once, at the plan's time. It is not in the monthly amounts.
    #[serde(default, skip_serializing_if = "DueTotal::is_empty")]
    pub due: DueTotal,
}
