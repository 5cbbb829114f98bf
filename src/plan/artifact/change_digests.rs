//! What a plan decides for each address, in a form for comparison: its change, its requests without their numbers, its
//! blockers, policy results and ledger updates. In: a plan, and the ledger's key. Out: a text for each address, and short
//! digests under the key, also of the outputs that change. A digest may be published: without the key, no value in it can
//! be guessed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fingerprint::{FingerprintChange, hashed_change, is_decided};
use crate::ledger::state::kept_secrets::OUTPUT_PREFIX;
use crate::model::address::{Address, Name};
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::plan::model::change::Plan;
use crate::plan::model::output::PlannedOutput;
use crate::plan::model::step::{LedgerUpdate, Operation, Step};

/// Length of a digest in hexadecimal digits. A wrong match in the comparison of one address has odds of 1 to 4 billion.
const DIGEST_DIGITS: usize = 8;

/// The decisions for one address.
#[derive(Debug, Default, Serialize)]
pub(super) struct AddressDecisions<'p> {
    pub(super) change: Option<FingerprintChange<'p>>,
    pub(super) steps: Vec<ComparableStep<'p>>,
    pub(super) updates: Vec<&'p LedgerUpdate>,
    pub(super) blockers: Vec<&'p str>,
    pub(super) denials: Vec<&'p str>,
}

/// A step without numbers: it names the steps that it waits for.
#[derive(Debug, Serialize)]
pub(super) struct ComparableStep<'p> {
    pub(super) kind: &'p str,
    pub(super) operation: &'p Operation,
    after: Vec<(&'p Address, &'static str)>,
}

/// Returns the decisions of a plan by address, as JSON.
///
/// # Errors
/// When a part cannot be written as JSON.
pub(super) fn decisions_by_address(plan: &Plan) -> Result<BTreeMap<&Address, String>, serde_json::Error> {
    let mut found: BTreeMap<&Address, AddressDecisions<'_>> = BTreeMap::new();
    for change in &plan.changes {
        // The numbers of its steps depend on the other changes.
        let (subject, decision, attributes, _) = hashed_change(change, &plan.steps);
        found.entry(&change.address).or_default().change = Some((subject, decision, attributes, &[]));
    }
    for step in &plan.steps {
        found.entry(&step.address).or_default().steps.push(comparable_step(step, &plan.steps));
    }
    for update in &plan.bookkeeping {
        for address in updated_addresses(update) {
            found.entry(address).or_default().updates.push(update);
        }
    }
    // As in the fingerprint: what depends on the time or on another unit's plan is no decision of this one.
    for block in plan.blocks.iter().filter(|block| is_decided(block)) {
        if let Some(address) = &block.address {
            found.entry(address).or_default().blockers.push(&block.code);
        }
    }
    for result in plan.policy.iter().filter(|result| result.is_decided_denial()) {
        if let Some(address) = &result.address {
            found.entry(address).or_default().denials.push(&result.name);
        }
    }
    found.into_iter().map(|(address, one)| Ok((address, serde_json::to_string(&one)?))).collect()
}

fn comparable_step<'p>(step: &'p Step, steps: &'p [Step]) -> ComparableStep<'p> {
    let before = step.after.iter().filter_map(|number| steps.get(*number));
    let mut after: Vec<(&Address, &'static str)> =
        before.map(|before| (&before.address, verb(before))).collect();
    after.sort();
    ComparableStep { kind: &step.kind, operation: &step.operation, after }
}

const fn verb(step: &Step) -> &'static str {
    match step.operation {
        Operation::Create { .. } => "create",
        Operation::Update { .. } => "update",
        Operation::Delete { .. } => "delete",
    }
}

/// Returns the steps of a plan for an address as phrases: `update: size, after create vpc.main`.
pub(super) fn described_steps<'p>(
    plan: &'p Plan,
    address: &'p Address,
) -> impl Iterator<Item = String> + 'p {
    plan.steps.iter().filter(move |step| step.address == *address).map(|step| {
        let calls = match &step.operation {
            Operation::Update { calls, .. } => calls.iter().map(|call| call.call.as_str()).collect(),
            Operation::Create { .. } | Operation::Delete { .. } => Vec::new(),
        };
        let calls = if calls.is_empty() { String::new() } else { format!(": {}", calls.join(", ")) };
        let before = comparable_step(step, &plan.steps).after;
        let before: Vec<String> =
            before.iter().map(|(address, verb)| format!("{verb} {address}")).collect();
        let after =
            if before.is_empty() { String::new() } else { format!(", after {}", before.join(", ")) };
        format!("{}{calls}{after}", verb(step))
    })
}

fn updated_addresses(update: &LedgerUpdate) -> Vec<&Address> {
    match update {
        LedgerUpdate::Gone(address, _)
        | LedgerUpdate::Remember(address, _)
        | LedgerUpdate::Forget(address) => {
            vec![address]
        }
        LedgerUpdate::Move(_) | LedgerUpdate::PinRecipients(_) | LedgerUpdate::Transfer(..) => Vec::new(),
    }
}

/// Path under which the digest of a policy stands that denies the plan as a whole: no kind has this name.
const POLICY_PREFIX: &str = "policies.";

/// Returns the policies that deny the plan as a whole, each with its path.
fn denied_paths(plan: &Plan) -> impl Iterator<Item = (Address, String)> {
    let denials =
        plan.policy.iter().filter(|result| result.is_decided_denial() && result.address.is_none());
    denials.filter_map(|result| {
        Some((Address::parse(&format!("{POLICY_PREFIX}{}", result.name)).ok()?, result.name.to_string()))
    })
}

/// Returns the path under which the digest of an output stands, as its secret stands in the ledger: no kind has the name
/// `outputs`.
fn output_path(name: &Name) -> Option<Address> {
    Address::parse(&format!("{OUTPUT_PREFIX}{name}")).ok()
}

/// Returns the name of the output, or of the policy, whose digest stands under a path; `None` if it is that of a resource. In a
/// module with the same name, paths are longer.
fn name_in_path(path: &Address, prefix: &str) -> Option<Name> {
    let name = path.as_str().strip_prefix(prefix)?;
    (!name.contains('.')).then(|| Name::new(name))
}

/// Returns what the plan decides for the outputs that change, as JSON, by path.
fn output_decisions(plan: &Plan) -> Vec<(Address, String)> {
    let decision = |output: &PlannedOutput| {
        let expression = plan.outputs.get(&output.name);
        let text = serde_json::to_string(&(expression, &output.before, &output.after)).ok()?;
        Some((output_path(&output.name)?, text))
    };
    plan.output_changes().filter_map(decision).collect()
}

/// Returns a plan with a short digest of the decisions for each address and each output that changes, and of each denial of the
/// plan as a whole; without any where there is no key yet.
#[must_use]
pub fn with_change_digests(mut plan: Plan, key: &FingerprintKey) -> Plan {
    if key.is_none() {
        plan.digests = BTreeMap::new();
        return plan;
    }
    let digest = |(address, text): (Address, String)| {
        let text = format!("stead change digest 1\n{address}\n{text}");
        let digest = Secret::new(text).fingerprint(key)?;
        Some((address, Name::new(digest.get(..DIGEST_DIGITS)?)))
    };
    // A plan whose parts cannot be written has no fingerprint, and is blocked.
    let decisions = decisions_by_address(&plan).unwrap_or_default();
    let of_resources = decisions.into_iter().map(|(address, text)| (address.clone(), text));
    let digests =
        of_resources.chain(output_decisions(&plan)).chain(denied_paths(&plan)).filter_map(digest).collect();
    plan.digests = digests;
    plan
}

/// The digests of a reviewed plan, as a comment carries them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewedDigests {
    /// First digits of the plan's fingerprint: they tell plans apart, and approve nothing. `None` in a comment of an earlier
    /// build.
    pub fingerprint: Option<Name>,
    /// Number of addresses and outputs that the plan decides something for.
    pub count: usize,
    /// The digests that the comment had room for, by address; of an output by `outputs.NAME`, of a policy that denies the plan as a
    /// whole by `policies.NAME`.
    pub digests: BTreeMap<Address, Name>,
}

/// How a later plan differs from a reviewed one, as far as digests show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DigestDifference {
    /// The addresses that are decided differently, or by only one of the plans; sorted.
    pub addresses: Vec<Address>,
    /// The outputs that are decided differently, or changed by only one of the plans; sorted.
    pub outputs: Vec<Name>,
    /// The policies that deny only one of the plans as a whole; sorted.
    pub policies: Vec<Name>,
    /// Number of addresses and outputs that were not compared, because the comment had no room for their digests, or the
    /// later plan has none.
    pub not_compared: usize,
}

impl DigestDifference {
    /// Returns whether no difference was found, and nothing is left that was not compared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
            && self.outputs.is_empty()
            && self.policies.is_empty()
            && self.not_compared == 0
    }
}

impl ReviewedDigests {
    /// Returns whether a later plan is the reviewed one, as far as the comment tells.
    #[must_use]
    pub fn is_same_plan(&self, later: &Plan) -> bool {
        match &self.fingerprint {
            Some(digits) => later.fingerprint.starts_with(digits.as_str()),
            None => self.compare(later).is_empty(),
        }
    }

    /// Compares the reviewed plan with a later one.
    #[must_use]
    pub fn compare(&self, later: &Plan) -> DigestDifference {
        let left_out = self.count.saturating_sub(self.digests.len());
        if later.digests.is_empty() && later.has_changes() {
            let changes = later.changes.len() + later.output_changes().count();
            return DigestDifference {
                not_compared: self.count.max(changes),
                ..DigestDifference::default()
            };
        }
        let (mut differing, mut unknown) = (Vec::new(), 0);
        for (address, digest) in &later.digests {
            match self.digests.get(address) {
                Some(reviewed) if reviewed == digest => {}
                // It is new, or one of those that were left out.
                None if left_out > 0 => unknown += 1,
                _ => differing.push(address),
            }
        }
        differing.extend(self.digests.keys().filter(|address| !later.digests.contains_key(*address)));
        differing.sort();
        let mut found =
            DigestDifference { not_compared: left_out.max(unknown), ..DigestDifference::default() };
        for path in differing {
            match (name_in_path(path, OUTPUT_PREFIX), name_in_path(path, POLICY_PREFIX)) {
                (Some(output), _) => found.outputs.push(output),
                (_, Some(policy)) => found.policies.push(policy),
                (None, None) => found.addresses.push(path.clone()),
            }
        }
        found
    }
}
