//! `make_plan`: the pipeline from stack, ledger and snapshot to a `Plan`: moves, join, decisions, checks,
//! order, change lines, policies. Pure, and total: a problem becomes a blocker, never an error.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::annotate::change_lines::{ChangeDetails, change_line, name_references};
use super::annotate::cost::CostAccumulator;
use super::annotate::due::DueRules;
use super::annotate::effects::{LinkedObjects, change_effects, older_object_effects};
use super::annotate::exposure::{resource_exposures, unused_allowances};
use super::annotate::outputs::resource_values::plan_values;
use super::annotate::policy::PlanPolicies;
use super::annotate::{generated_secrets, outputs, rename_hints, secret_sinks, unread_values};
use super::artifact::change_digests::with_change_digests;
use super::artifact::fingerprint::{DecidedRank, decided_rank};
use super::blockers::Blockers;
use super::decide::checks::{
    catalog_rules, declarations, guards, kept_secrets, ledger_origin, lost_ledger,
};
use super::decide::classify::classify_subjects;
use super::decide::conflicts::name_conflicts;
use super::decide::deposed::DeposedObjects;
use super::decide::project_assignment::ProjectAssignment;
use super::decide::{byproducts, replacement_order, retention};
use super::decision::{Decision, DecisionKind};
use super::diff::before_image::before_image;
use super::diff::confirmation;
use super::diff::drift::subject_drift;
use super::inputs::PlanInputs;
use super::join::joined_state::JoinedState;
use super::join::rekey::with_own_fingerprints;
use super::join::targeting::TargetScope;
use super::model::block::Blocker;
use super::model::change::{Change, Drift, DriftClass, Plan};
use super::model::compare::sealed_expression;
use super::model::note::PlanNote;
use super::model::output::PlannedOutput;
use super::model::plan_base::PlanBase;
use super::model::resource_values::PlanValues;
use super::model::step::{LedgerUpdate, Operation, Step};
use super::model::transfers::StackTransfers;
use super::moves::ledger_moves;
use super::moves::resolve::resolve_moves;
use super::order::dependency_cycle;
use super::order::durations::critical_path;
use super::order::hold::hold_deletions;
use super::order::ledger_updates::ledger_updates;
use super::order::steps::{StepOrder, order_steps};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code;
use crate::model::expression::Expression;
use crate::model::schema::Effect;
use crate::model::values::value::Attributes;

pub use super::refresh_request::{refresh_request, widen_for_deletions};

/// Makes the plan. Problems that only live objects show become `Blocker`s: the plan is always complete.
#[must_use]
pub fn make_plan(inputs: &PlanInputs<'_>) -> Plan {
    run_pipeline(inputs, true).plan
}

/// A plan, with the values that the stack's outputs have after it was applied.
#[derive(Debug, Clone)]
pub struct PlannedStack {
    /// The plan.
    pub plan: Plan,
    /// Outputs by name. A value that is known only after the apply, or that cannot be computed, is unknown; a secret is
    /// a secret. Empty for a destroy.
    pub outputs: Attributes,
    /// The values of all resources; empty unless the options ask for them.
    pub values: PlanValues,
}

/// Makes the plan, and evaluates the outputs as they are planned, for stacks that read them.
#[must_use]
pub fn make_plan_with_outputs(inputs: &PlanInputs<'_>) -> PlannedStack {
    run_pipeline(inputs, true)
}

/// Returns the blocker of a destroy whose ledger seems to be lost: a plan without `destroy` would create what
/// exists. `None` if the ledger owns objects, or nothing would conflict.
fn find_lost_ledger(inputs: &PlanInputs<'_>) -> Option<Blocker> {
    let options = lost_ledger::creating_options(inputs)?;
    lost_ledger::lost_ledger_blocker(
        inputs.ledger,
        &make_plan(&PlanInputs { options: &options, ..*inputs }),
    )
}

/// Makes the plan; `finds_ways` selects whether remedies for a dependency cycle are searched. A plan that is
/// made to try a remedy must not search again.
fn run_pipeline(inputs: &PlanInputs<'_>, finds_ways: bool) -> PlannedStack {
    let original = inputs;
    let lost = find_lost_ledger(inputs);
    let (arrived, transfers) = ledger_after_transfers(inputs);
    let mut declared = resolve_moves(inputs.registry, inputs.stack, &arrived);
    declared.add_transfers(&transfers);
    let mut ledger = declared.apply_to_ledger(&arrived);
    ledger = with_own_fingerprints(inputs.stack, inputs.snapshot, ledger);
    if let Some((extended, added)) = byproducts::add_byproducts(inputs, &declared, &ledger) {
        ledger = Cow::Owned(extended);
        declared.added = added;
    }
    // After the moves: an `import` entry names the address that its resource has now.
    let options = ledger_moves::with_declared_adoptions(inputs.stack, &ledger, inputs.options);
    let inputs = PlanInputs { ledger: &ledger, options: &options, ..*inputs };
    let joined = JoinedState::new(inputs, &declared);
    let mut blocks = Blockers::new(&joined);
    declarations::block_impossible_moves(&joined, &mut blocks);
    let scope = TargetScope::new(&joined);
    let projects = ProjectAssignment::new(&joined, &mut blocks);
    let leftovers = DeposedObjects::from_state(&joined);
    let decisions = classify_subjects(&joined, &scope, &projects, &leftovers, &mut blocks);
    guards::check(&joined, &decisions, &mut blocks);
    blocks.extend(lost);
    ledger_origin::check(&joined, &decisions, &mut blocks);
    kept_secrets::check(&joined, &decisions, &mut blocks);
    name_conflicts::block_name_conflicts(&joined, &decisions, &mut blocks);
    name_conflicts::block_rule_violations(&joined, &decisions, &mut blocks);
    catalog_rules::check(&joined, &decisions, &mut blocks);
    let mut ordered = order_steps(&joined, &decisions, &leftovers);
    if options.holds_deletions {
        ordered = hold_deletions(ordered, &decisions);
    }
    let notes = collect_notes(&joined, &decisions, &ordered, &mut blocks);
    block_cycle(&joined, &decisions, &ordered, finds_ways.then_some(original), &mut blocks);
    let base = plan_base(&joined, &projects, &decisions, &ordered);
    let outputs = outputs::output_values(&joined, &decisions, &mut blocks);
    let touched = |number: usize| !ordered.of[number].is_empty();
    let planned_outputs = outputs::plan_outputs(&joined, &decisions, &outputs, &touched);
    let values =
        if options.wants_values { plan_values(&joined, &decisions) } else { PlanValues::default() };
    let findings = PlanFindings { blocks: blocks.into_sorted(), notes, scope, planned_outputs };
    let mut policies = PlanPolicies::new(&joined);
    let mut plan = assemble_plan(&joined, decisions, ordered, base, (findings, &mut policies));
    name_references(&joined, &mut plan.changes);
    PlannedStack { plan: with_change_digests(policies.finish(plan), joined.key()), outputs, values }
}

/// Adds the blocker of a dependency cycle, if there is one; with the original inputs, also the remedies that were tried.
fn block_cycle<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    ordered: &StepOrder,
    original: Option<&PlanInputs<'_>>,
    blocks: &mut Blockers<'_, 'a>,
) {
    let Some(first) = ordered.cycle.first() else { return };
    let Some(original) = original else {
        let subject = &joined.subjects[first.n];
        blocks.add_for_subject(blocker_code::CYCLE, subject, None, String::new(), String::new());
        return;
    };
    let plan_again = |inputs: &PlanInputs<'_>| run_pipeline(inputs, false).plan;
    dependency_cycle::add_cycle_blocker(joined, decisions, &ordered.cycle, (original, &plan_again), blocks);
}

/// Returns the ledger after the moves between this stack and others, and these moves. If the ledger forbids one, none is
/// made, and all of them are impossible.
fn ledger_after_transfers<'a>(inputs: &PlanInputs<'a>) -> (Cow<'a, Ledger>, Cow<'a, StackTransfers>) {
    let transfers = &inputs.options.transfers;
    match transfers.apply_to_ledger(inputs.ledger) {
        Ok(ledger) => (ledger, Cow::Borrowed(transfers)),
        Err(illegal) => (Cow::Borrowed(inputs.ledger), Cow::Owned(transfers.refused(&illegal))),
    }
}

/// Collects the plan's notes; a secret that would reach a wrong target adds a blocker.
fn collect_notes(
    joined: &JoinedState<'_>,
    decisions: &[Decision],
    ordered: &StepOrder,
    blocks: &mut Blockers<'_, '_>,
) -> Vec<PlanNote> {
    let mut notes = declarations::notes(joined);
    notes.extend(rename_hints::rename_notes(joined, decisions));
    notes.extend(generated_secrets::generation_notes(joined, decisions));
    let mut bill = CostAccumulator::new(joined);
    notes.extend(retention::destroy_notes(joined, decisions, |subject| bill.price_before(subject)));
    notes.extend(byproducts::byproduct_notes(joined));
    notes.extend(guards::data::data_loss_notes(joined, decisions));
    notes.extend(secret_sinks::check(joined, &ordered.steps, blocks));
    notes.extend(kept_secrets::recipient_notes(joined));
    notes.extend(confirmation::not_kept_notes(joined, decisions));
    notes.extend(unread_values::observation_notes(joined));
    notes.extend(unused_allowances(joined, decisions));
    notes.extend(replacement_order::consent_notes(joined, decisions));
    notes
}

/// The blockers, notes and scope of a plan, for assembling it.
struct PlanFindings {
    blocks: Vec<Blocker>,
    notes: Vec<PlanNote>,
    scope: TargetScope,
    planned_outputs: Vec<PlannedOutput>,
}

fn plan_base(
    joined: &JoinedState<'_>,
    projects: &ProjectAssignment,
    decisions: &[Decision<'_>],
    ordered: &StepOrder,
) -> PlanBase {
    let PlanInputs { stack, ledger, snapshot, options, .. } = joined.inputs;
    let touched = |n: &usize| !ordered.of[*n].is_empty() || joined.subjects[*n].adoption.is_some();
    let key = options.image_key.as_ref().unwrap_or(joined.key());
    let image = |n| before_image(&joined.subjects[n], &decisions[n], key);
    PlanBase {
        stack: stack.name.clone(),
        environment: stack.environment.name.clone(),
        account: snapshot.account.clone().unwrap_or_default(),
        project: projects.id(joined),
        lineage: ledger.identity.lineage,
        serial: ledger.serial,
        config: stack.digest.clone(),
        reads: stack.reads.clone(),
        objects: (0..joined.subjects.len()).filter(touched).filter_map(image).collect(),
        made_at: joined.inputs.now,
        nonce: joined.inputs.nonce,
        destroy: options.destroy,
        delete_data: options.delete_data.clone(),
    }
}

/// Returns the updates of the ledger that the declarations alone make.
fn declared_updates(joined: &JoinedState<'_>) -> Vec<LedgerUpdate> {
    let moves = &joined.declared.moves;
    let added = joined.declared.added.iter();
    let between = joined.declared.between_stacks.iter();
    let mut updates: Vec<LedgerUpdate> =
        between.map(|one| LedgerUpdate::Transfer(one.peer.clone(), one.moves.clone())).collect();
    updates.extend((!moves.is_empty()).then(|| LedgerUpdate::Move(moves.clone())));
    updates.extend(kept_secrets::pin_recipients(joined));
    updates
        .extend(added.map(|(to, added)| LedgerUpdate::Remember(to.clone(), Box::new(added.entry.clone()))));
    updates
}

fn assemble_plan(
    joined: &JoinedState<'_>,
    decisions: Vec<Decision<'_>>,
    ordered: StepOrder,
    base: PlanBase,
    (said, policies): (PlanFindings, &mut PlanPolicies<'_, '_>),
) -> Plan {
    let linked = LinkedObjects::new(joined, &decisions);
    let (mut bill, due) = (CostAccumulator::new(joined), DueRules::new(joined, &decisions));
    byproducts::outliving_objects(joined).for_each(|object| bill.add_outliving(object));
    // A change is large: it is not to be copied while the list grows, nor to have a second place while it is sorted.
    let (mut changes, mut drifts, mut corrections) =
        (Vec::with_capacity(decisions.len()), Vec::new(), Vec::new());
    changes.extend(departures(joined));
    corrections.extend(declared_updates(joined));
    let (mut unchanged, mut left_out) = (0, 0);
    for (n, (decision, steps)) in decisions.into_iter().zip(ordered.of).enumerate() {
        let subject = &joined.subjects[n];
        let found = subject_drift(joined, subject, &decision).into_iter();
        drifts.extend(found.map(|drift| kept_back(drift, &said)));
        corrections.extend(ledger_updates(joined, subject, &decision));
        let cost = bill.add(subject, &decision, due.of_steps(subject, &decision, &steps, &ordered.steps));
        if joined.inputs.options.destroy && decision.removes() {
            linked.objects_at(subject).into_iter().for_each(|object| bill.add_outliving(object));
        }
        if is_held(joined, &decision, &steps) {
            continue;
        }
        let exposures = resource_exposures(joined, subject, &decision);
        policies.add_built_in(exposures.results);
        let left_over = deletes_left_over(&decision, &steps, &ordered.steps);
        let read = policies.collect_facts(subject, &decision, left_over);
        let effects = change_effects(joined, subject, (&decision, left_over), &linked, &cost);
        let older = older_object_effects(subject, &decision, (&steps, &ordered.steps));
        let effects = exposures.effect.into_iter().chain(effects).chain(older).collect();
        let facts = ChangeDetails { steps, effects, cost: cost.clone() };
        let change = change_line(joined, n, decision, facts, &ordered.steps);
        policies.evaluate_resource(subject, read, change.as_ref(), &cost);
        match change {
            Some(change) => changes.push(change),
            None if said.scope.contains(n) => unchanged += usize::from(subject.resource.is_some()),
            None => left_out += usize::from(subject.resource.is_some()),
        }
    }
    sort_by_danger(&mut changes);
    Plan {
        base,
        changes,
        critical_path: critical_path(&ordered.steps),
        steps: ordered.steps,
        drift: drifts,
        cost: bill.into_cost(),
        unchanged,
        left_out,
        blocks: said.blocks,
        outputs: redacted_outputs(joined, &said.planned_outputs),
        planned_outputs: said.planned_outputs,
        bookkeeping: corrections,
        policy: Vec::new(),
        undecided: Vec::new(),
        notes: said.notes,
        holds_deletions: ordered.holds_deletions,
        requests: joined.inputs.snapshot.requests,
        digests: BTreeMap::new(),
        fingerprint: String::new(),
    }
}

/// Returns a change line for each entry that moves to another stack.
fn departures(joined: &JoinedState<'_>) -> impl Iterator<Item = Change> {
    joined.declared.between_stacks.iter().flat_map(|one| {
        let source = joined.inputs.stack.sources.location_of(one.span);
        one.departures().map(move |change| Change { source: source.clone(), ..change })
    })
}

/// Returns whether the deletion of a resource is held: a later run makes it, and shows it then.
fn is_held(joined: &JoinedState<'_>, decision: &Decision<'_>, steps: &[usize]) -> bool {
    joined.inputs.options.holds_deletions && decision.act == DecisionKind::Delete && steps.is_empty()
}

/// Returns whether steps of a resource that stays delete an object that an earlier replacement did not delete.
fn deletes_left_over(decision: &Decision<'_>, steps: &[usize], all: &[Step]) -> bool {
    let deletes = |step: &usize| matches!(all[*step].operation, Operation::Delete { .. });
    !decision.removes() && decision.act != DecisionKind::Forget && steps.iter().any(deletes)
}

/// Adds the code of the first blocker to a difference that an apply would otherwise end.
fn kept_back(drift: Drift, said: &PlanFindings) -> Drift {
    let ends = matches!(drift.class, DriftClass::Reverted | DriftClass::Gone | DriftClass::Replaced);
    let counts = |block: &&Blocker| match &block.address {
        Some(address) => *address == drift.address,
        None => !block.only_freezes(),
    };
    let blocked_by = said.blocks.iter().filter(|_| ends).find(counts).map(|block| block.code.clone());
    Drift { blocked_by, ..drift }
}

/// Returns the sort key of a change: those that open something to others come first, then deletions and replacements, and
/// within each action those with the worst effect.
pub(super) fn danger_rank(change: &Change) -> (bool, DecidedRank) {
    let opens = change.effects.iter().any(|effect| effect.code == Effect::Exposure);
    (!opens, decided_rank(change))
}

/// Sorts changes, most dangerous first. Changes of one rank stay in address order.
fn sort_by_danger(changes: &mut [Change]) {
    if !changes.is_sorted_by_key(danger_rank) {
        changes.sort_by_key(danger_rank);
    }
}

/// Returns the outputs, with fingerprints in place of secrets; for a destroy those among the planned ones that it leaves as
/// they are.
fn redacted_outputs(joined: &JoinedState<'_>, planned: &[PlannedOutput]) -> BTreeMap<Name, Expression> {
    let stay = planned.iter().filter(|output| output.after.is_some()).map(|output| &output.name);
    let stay: Option<HashSet<&Name>> = joined.inputs.options.destroy.then(|| stay.collect());
    let outputs = joined.inputs.stack.outputs.iter();
    let outputs = outputs.filter(|(name, _)| stay.as_ref().is_none_or(|stay| stay.contains(name)));
    outputs
        .map(|(name, output)| (name.clone(), sealed_expression(&output.expression, joined.key())))
        .collect()
}
