//! The end of an apply: the check of watched creations for late effects, the description of ambiguous intents,
//! the outputs, and what the history keeps of the run. Only the watched creations change the ledger.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::event::{Outcome, StepError};
use super::request_encoding::seal_parts;
use super::step_parts::StepParts;
use super::steps::resolve_intent::look_for_late_effect;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::intent_candidates::is_watched;
use crate::ledger::journal::record::ClosedOutcome;
use crate::ledger::journal::store::Store;
use crate::ledger::state::ambiguous_intent;
use crate::ledger::state::entry::Intent;
use crate::ledger::state::kept_secrets::OUTPUT_PREFIX;
use crate::ledger::state::run_details::{
    MAX_ERROR_CHARS, MAX_POLICY_ADDRESSES, PolicyRun, ResourceResult, ResourceRun,
};
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::clock::{Clock, Random};
use crate::model::expression::Expression;
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::change::{Cause, Change, Plan, PolicyStatus};
use crate::plan::model::note::NoteCode;
use crate::plan::model::policy_outcome::PolicyOutcome;

/// Checks every watched creation for a late effect: records an ambiguous intent where an object has appeared,
/// and closes those that were watched long enough. Returns a message for each one that could not be checked;
/// empty if all were.
pub(super) async fn sweep_watched_creations<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
) -> Vec<String> {
    let watched: Vec<Intent> = parts.context.journal.ledger().watched.values().cloned().collect();
    let now = parts.clock().now();
    let mut notes = Vec::new();
    for intent in watched {
        let result = match parts.kind(&intent.kind) {
            Ok(kind) if is_watched(&intent, now) => look_for_late_effect(parts, kind, &intent).await,
            Ok(_) => parts.close(&intent, ClosedOutcome::PresumedAbsent).await,
            Err(error) => Err(error),
        };
        match result {
            // The ambiguous intent is recorded, and reported with all the others.
            Ok(()) | Err(StepError::Ambiguous(_)) => {}
            Err(error) => notes.push(format!(
                "{}: an earlier request was abandoned; stead cannot determine whether it took effect later: {error}",
                intent.address
            )),
        }
    }
    notes
}

/// Returns a description of each ambiguous intent, with the possible answers.
pub(super) fn describe_ambiguous_intents<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
) -> Vec<String> {
    let ledger = parts.context.journal.ledger();
    ledger
        .questions
        .keys()
        .filter_map(|op| ambiguous_intent::describe_ambiguous_intent(&ledger, *op))
        .collect()
}

/// Adds the outputs whose values are known now; one that is unknown is left out, and after a run without a failure a note says
/// why one cannot be computed. A plan without steps was made from the same live objects, so that no request is sent for what it
/// knows. A destroy computes none: it leaves the outputs of what stays as they are.
pub(super) async fn add_known_outputs<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    plan: &Plan,
    outcome: &mut Outcome,
) {
    if plan.base.destroy {
        return;
    }
    let has_failed = !(outcome.failed.is_empty() && outcome.skipped.is_empty());
    // What the service computes from an object's children has changed since the object was read.
    let above = plan.steps.iter().flat_map(|step| path_prefixes(step.address.as_str()).rev().skip(1));
    let above: HashSet<&str> = above.collect();
    parts.objects.drop_objects(|address| above.contains(address.as_str()));
    for (name, expression) in &plan.outputs {
        let value = match planned_value(plan, name) {
            Some(value) => value.clone(),
            None => match parts.evaluate_expression(&whole_expression(parts, name, expression)).await {
                Ok(value) if !value.is_unknown() => value,
                Err(StepError::Failed(error)) if !has_failed => {
                    outcome.notes.push(format!("The output `{name}` has no value: {error}."));
                    continue;
                }
                _ => continue,
            },
        };
        // The value of a lone reference is the service's, which may repeat a secret; other expressions also
        // contain strings of the configuration, which redaction could damage.
        let redact = |text: &str| parts.context.client.redact(text);
        let is_live = matches!(expression, Expression::Reference(_));
        let value = if is_live { value.to_redacted(&redact) } else { value };
        outcome.outputs.insert(name.clone(), value);
    }
}

/// Returns the expression of an output with its secrets, which the plan does not contain.
fn whole_expression<'p, C, K, R, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    name: &Name,
    planned: &'p Expression,
) -> Cow<'p, Expression> {
    let whole = || (parts.context.secrets)(&Address::new(OUTPUT_PREFIX.trim_end_matches('.'), name), "");
    let whole = planned.is_secret().then(whole).flatten();
    whole.map_or(Cow::Borrowed(planned), Cow::Owned)
}

/// Returns whether a step resends a value that the service did not keep before.
pub(super) fn is_sent_again(plan: &Plan, step: usize) -> bool {
    let mut changes = plan.changes.iter().filter(|change| change.steps.contains(&step));
    changes.any(|change| change.attributes.iter().any(|line| line.cause == Cause::NotKept))
}

/// Adds the values that the service did not keep before, and that no step sent again: their resources are not
/// as declared, so they count as failed.
pub(super) fn add_not_kept(plan: &Plan, outcome: &mut Outcome) {
    for note in plan.notes.iter().filter(|note| note.code == NoteCode::NotKept) {
        let Some(address) = &note.address else { continue };
        match outcome.failed.iter_mut().find(|(failed, _)| failed == address) {
            Some((_, StepError::NotKept(text))) => text.extend(["; ", &note.text]),
            Some(_) => {}
            None => {
                outcome.done.retain(|done| done != address);
                outcome.failed.push((address.clone(), StepError::NotKept(note.text.clone())));
            }
        }
    }
}

/// Returns what the run did to each resource with a change, for the ledger's history. Errors are redacted, and never longer
/// than `MAX_ERROR_CHARS`.
pub(super) fn resource_runs<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    plan: &Plan,
    durations: &BTreeMap<usize, Duration>,
    outcome: &Outcome,
) -> Vec<ResourceRun> {
    let failed: HashMap<&Address, &StepError> =
        outcome.failed.iter().map(|(address, error)| (address, error)).collect();
    let skipped: HashSet<&Address> = outcome.skipped.iter().collect();
    let one = |change: &Change| {
        let error = failed.get(&change.address);
        let result = match error {
            Some(_) => ResourceResult::Failed,
            None if skipped.contains(&change.address) => ResourceResult::Skipped,
            None => ResourceResult::Done,
        };
        let took: Duration = change.steps.iter().filter_map(|step| durations.get(step)).sum();
        // A final snapshot has an address of its own. The requests stay in the order of the steps.
        let mut addresses: Vec<&Address> = Vec::new();
        let of_steps = change.steps.iter().filter_map(|step| Some(&plan.steps.get(*step)?.address));
        for address in of_steps.chain([&change.address]) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        let text = |error: &&StepError| {
            let text = parts.context.client.redact(&error.to_string());
            text.chars().take(MAX_ERROR_CHARS).collect()
        };
        ResourceRun {
            address: change.address.clone(),
            action: Name::new(change.action.as_str()),
            result,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            error: error.map(text),
            requests: addresses.into_iter().flat_map(|address| parts.fence.sent.take(address)).collect(),
        }
    };
    plan.changes.iter().map(one).collect()
}

/// Returns the results of policies for the ledger's history, equal ones of several resources as one.
pub(super) fn policy_runs(outcomes: &[PolicyOutcome]) -> Vec<PolicyRun> {
    let mut runs: Vec<PolicyRun> = Vec::new();
    let mut numbers: HashMap<(&Name, PolicyStatus), usize> = HashMap::new();
    for PolicyOutcome { result, before } in outcomes {
        let number = *numbers.entry((&result.name, result.verdict)).or_insert_with(|| {
            runs.push(PolicyRun {
                policy: result.name.clone(),
                verdict: Name::new_static(verdict_keyword(result.verdict)),
                addresses: Vec::new(),
                more: 0,
                before: before.as_ref().map(ToString::to_string),
            });
            runs.len() - 1
        });
        let run = &mut runs[number];
        match &result.address {
            Some(address) if run.addresses.len() < MAX_POLICY_ADDRESSES => {
                run.addresses.push(address.clone());
            }
            Some(_) => run.more += 1,
            None => {}
        }
    }
    runs
}

/// Returns the policies whose overrides a step could have needed, and none did.
pub(super) fn unused_overrides(plan: &Plan, outcomes: &[PolicyOutcome]) -> Vec<Name> {
    let mut used = plan.denying_policies();
    let overridden = outcomes.iter().filter(|one| one.result.verdict == PolicyStatus::Overridden);
    used.extend(overridden.map(|one| &one.result.name));
    let allowed = plan.undecided.iter().filter(|one| one.is_overridden).map(|one| &one.name);
    let unused: BTreeSet<&Name> = allowed.filter(|name| !used.contains(name)).collect();
    unused.into_iter().cloned().collect()
}

/// Returns the word of the history for the result of a policy: that of the documents.
const fn verdict_keyword(verdict: PolicyStatus) -> &'static str {
    match verdict {
        PolicyStatus::Pass => "pass",
        PolicyStatus::Allowed => "allowed",
        PolicyStatus::Unknown => "unknown",
        PolicyStatus::Warn => "warn",
        PolicyStatus::Overridden => "overridden",
        PolicyStatus::Deny => "deny",
    }
}

/// Returns the value of an output that a plan without steps knows; `None` for a secret, of which it has no text.
fn planned_value<'p>(plan: &'p Plan, name: &Name) -> Option<&'p Value> {
    let planned = plan.planned_outputs.iter().find(|output| output.name == *name && plan.steps.is_empty());
    planned?.after.as_ref().filter(|value| !(value.is_unknown() || value.is_secret()))
}

/// Returns the outputs for the ledger, with fingerprints in place of secrets. A declared output that this apply could not
/// compute keeps its last value; one that is not declared any more is dropped, once everything is applied.
pub(super) fn recorded_outputs<C, K, R, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    plan: &Plan,
    known: &BTreeMap<Name, Value>,
    is_complete: bool,
) -> Attributes {
    let ledger = parts.context.journal.ledger();
    let mut outputs = ledger.outputs.clone().unwrap_or_default();
    outputs.retain(|name, _| !is_complete || plan.outputs.contains_key(name));
    let sealed = known.iter().map(|(name, value)| (name.clone(), seal_parts(value, &ledger.identity.key)));
    outputs.extend(sealed);
    outputs
}
