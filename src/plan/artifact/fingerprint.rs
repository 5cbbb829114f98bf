//! The fingerprint: the whole SHA-256 of what a plan decides and shows. Times, prices, file locations, request counts
//! and the nonce are left out, so two plans of the same state have the same fingerprint. So are the digests of the
//! configuration, of other stacks' outputs and of the ledger: what they decide is in the steps and changes, and a merge that
//! changes another part of the stack does not void a review. It is always computed from a plan, never read from a file.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::model::address::{Address, Name};
use crate::model::crypto::digest::json_digest;
use crate::model::diagnostic::blocker_code::{self, IDENTITY_MISSING, POLICY, UPSTREAM};
use crate::model::expression::Expression;
use crate::model::schema::Effect;
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, AttributeChange, Cause, Change, Plan};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::plan_base::PlanBase;
use crate::plan::model::step::{LedgerUpdate, Operation, Step};

/// The hashed parts of a plan. The names and the order of the fields are part of the digest: fields that were
/// added later are omitted while empty, so that older plans keep their fingerprints.
#[derive(Serialize)]
struct FingerprintInput<'p> {
    whose: (&'p str, &'p str, &'p str, bool),
    steps: &'p [Step],
    changes: FingerprintChanges<'p>,
    bookkeeping: &'p [LedgerUpdate],
    blocks: Vec<(&'p str, Option<&'p Address>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<(&'p str, Option<&'p Address>)>,
    outputs: &'p BTreeMap<Name, Expression>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    output_changes: Vec<(&'p Name, Option<&'p Value>, Option<&'p Value>)>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    delete_data: &'p BTreeSet<Address>,
    /// Which secrets are generated, where secrets are delivered, and, before the ledger has a key for fingerprints of
    /// values, which programs give them: no step has that. With a key, the value that a program gave decides, and the steps
    /// have its fingerprint; a program under another name that gives the same value changes nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<&'p str>,
    /// The names of secrets that have no fingerprint: which variable an attribute gets is decided before the ledger exists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    named_secrets: Vec<(&'p Address, &'p Name, &'p [Name])>,
}

/// The shown part of a change, as far as it follows from the decision alone and is not in the change's steps
/// already: what changes, why, each attribute with its values before and after, and the indexes of the steps.
pub(super) type FingerprintChange<'p> = (
    (&'p Address, &'p str, Option<&'p Name>, Option<&'p Address>),
    (Action, Option<bool>, Cause, Option<&'p str>),
    Vec<(&'p Name, &'p Value, &'p Value, bool, bool)>,
    &'p [usize],
);

/// Returns a plan with its fingerprint. One without a fingerprint cannot be reviewed, so it gets a blocker.
pub(in crate::plan) fn with_fingerprint(mut plan: Plan) -> Plan {
    match plan_fingerprint(&plan) {
        Ok(fingerprint) => plan.fingerprint = fingerprint,
        Err(error) => {
            plan.fingerprint.clear();
            plan.blocks.push(Blocker {
                code: blocker_code::FINGERPRINT.code.into(),
                address: None,
                text: format!("the plan has no fingerprint: {error}"),
                help: "This is a defect of stead: please report it.".to_owned(),
                source: None,
            });
        }
    }
    plan
}

/// Returns a plan with more blockers, which its fingerprint covers: those that only the plans of other units show.
#[must_use]
pub fn with_blockers(mut plan: Plan, more: impl IntoIterator<Item = Blocker>) -> Plan {
    let before = plan.blocks.len();
    plan.blocks.extend(more);
    if plan.blocks.len() == before {
        return plan;
    }
    plan.blocks.sort_by(|a, b| (&a.code, &a.address, &a.text).cmp(&(&b.code, &b.address, &b.text)));
    plan.blocks.dedup();
    with_fingerprint(plan)
}

/// The rank of a change by what is decided.
pub(in crate::plan) type DecidedRank = (Action, bool, Option<Effect>, Action);

/// Returns the rank of a change by its action and its worst effect, without what it opens to others.
pub(in crate::plan) fn decided_rank(change: &Change) -> DecidedRank {
    let sort = match change.action {
        Action::Replace | Action::Delete => Action::Replace,
        action => action,
    };
    let worst = change.effects.iter().map(|effect| effect.code).find(|code| *code != Effect::Exposure);
    (sort, worst.is_none(), worst, change.action)
}

/// The changes of a plan, each made into its hashed part when it is written.
struct FingerprintChanges<'p>(&'p Plan);

impl Serialize for FingerprintChanges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Plan { changes, steps, .. } = self.0;
        let mut changes: Vec<&Change> = changes.iter().collect();
        // Whether a change opens something may depend on the time, and so does its place in the list.
        if changes.iter().any(|change| change.effects.iter().any(|effect| effect.code == Effect::Exposure))
        {
            changes.sort_by_key(|change| (decided_rank(change), &change.address));
        }
        serializer.collect_seq(changes.into_iter().map(|change| hashed_change(change, steps)))
    }
}

/// Returns the fingerprint: 64 hexadecimal digits.
///
/// # Errors
/// When a part of the plan cannot be written as JSON.
pub(in crate::plan) fn plan_fingerprint(plan: &Plan) -> Result<String, serde_json::Error> {
    let PlanBase { stack, environment, account, destroy, delete_data, .. } = &plan.base;
    let decided = FingerprintInput {
        whose: (stack, environment, account, *destroy),
        steps: &plan.steps,
        changes: FingerprintChanges(plan),
        bookkeeping: &plan.bookkeeping,
        blocks: plan
            .blocks
            .iter()
            .filter(|block| is_decided(block))
            .map(|block| (block.code.as_str(), block.address.as_ref()))
            .collect(),
        denied: plan
            .policy
            .iter()
            .filter(|ruling| ruling.is_decided_denial())
            .map(|ruling| (ruling.name.as_str(), ruling.address.as_ref()))
            .collect(),
        outputs: &plan.outputs,
        output_changes: plan
            .output_changes()
            .map(|output| (&output.name, output.before.as_ref(), output.after.as_ref()))
            .collect(),
        delete_data,
        secrets: plan
            .notes
            .iter()
            .filter(|note| is_about_secret(note))
            .map(|note| note.text.as_str())
            .collect(),
        named_secrets: plan
            .changes
            .iter()
            .flat_map(|change| {
                change.attributes.iter().map(move |one| (&change.address, &one.path, &*one.secrets))
            })
            .filter(|(_, _, names)| !names.is_empty())
            .collect(),
    };
    json_digest("stead plan 3", &decided)
}

/// Returns whether a blocker is part of what a plan decides. An override of a policy is not, but the policy's result is. That
/// another unit is blocked is a matter of its own plan, and may depend on the time. That an identity is missing is a matter of
/// the machine: a job that only plans has none, and the job that applies what was reviewed has one.
pub(super) fn is_decided(block: &Blocker) -> bool {
    ![POLICY.code, UPSTREAM.code, IDENTITY_MISSING.code].contains(&&*block.code)
}

pub(super) fn is_about_secret(note: &PlanNote) -> bool {
    matches!(note.code, NoteCode::Generated | NoteCode::SecretSource | NoteCode::Delivered)
}

pub(super) fn hashed_change<'p>(change: &'p Change, steps: &'p [Step]) -> FingerprintChange<'p> {
    let made = change.steps.iter().find_map(|number| match &steps.get(*number)?.operation {
        Operation::Create { desired, remember, .. } if !remember.let_go => Some(desired),
        _ => None,
    });
    // Values of a creation that are the same in its step are hashed once, with the step.
    let is_in_step = |one: &&AttributeChange| {
        let planned = made.and_then(|desired| desired.get(&one.path)?.known_value());
        one.before == Value::Null && planned == Some(&one.after)
    };
    let attributes =
        change.attributes.iter().filter(|one| change.action != Action::Create || !is_in_step(one));
    (
        (&change.address, &change.kind, change.id.as_ref(), change.was.as_ref().map(|was| &was.address)),
        (change.action, change.create_first, change.cause, change.reason.as_deref()),
        attributes
            .map(|one| (&one.path, &one.before, &one.after, one.removed, one.forces_replacement))
            .collect(),
        &change.steps,
    )
}
