//! The executor: runs a plan's steps on one task, up to the concurrency limit, until every step is done, failed or
//! skipped, or the run is stopped. Out: the outcome of each resource. Every started step ends with an event.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use foldhash::HashMap;
use futures_util::StreamExt;
use futures_util::lock::Mutex;
use futures_util::stream::FuturesUnordered;

use super::event::{ApplyEvent, Outcome, StepError};
use super::finalize::{
    add_known_outputs, add_not_kept, describe_ambiguous_intents, is_sent_again, policy_runs,
    recorded_outputs, resource_runs, sweep_watched_creations, unused_overrides,
};
use super::schedule::{Schedule, StepProgress};
use super::step::{ConcurrencySlot, StepContext, operation_gerund, operation_past_tense};
use super::step_parts::StepParts;
use super::steps::create::{PlannedCreate, create_object};
use super::steps::delete::delete_object;
use super::steps::policies::{StepPolicies, check_policies};
use super::steps::update::{PlannedUpdate, update_object};
use crate::cloud::http::message::Transport;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;
use crate::ledger::state::run_history::ResourceCounts;
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::plan::model::change::Plan;
use crate::plan::model::step::{LedgerUpdate, Operation, Step};

/// The limit on running steps that have not sent a request yet. The rate limiter serves requests in order of arrival:
/// with more of them queued, the step on the critical path would wait behind them.
const MAX_STARTING_STEPS: usize = 64;

/// An event that the executor's loop handles.
enum ExecutorEvent {
    /// A running step ended.
    StepEnded(StepOutcome),
    /// Another step may start.
    SlotFree,
    /// No step is running.
    Idle,
    /// Nothing may be sent or recorded any more, and no request is under way: waiting would be useless.
    Stopped,
}

/// The result of one step: the object's id, where there is one, or the error.
struct StepOutcome {
    step: usize,
    result: Result<Option<Name>, StepError>,
    took: Duration,
}

/// Runs all steps of a plan and returns the outcome of each resource. The run's start, with the ledger updates
/// that need no request, and its end are recorded.
pub(super) async fn execute_plan<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    plan: &Plan,
) -> Outcome {
    let run = parts.context.client.random().uuid();
    // Nothing is sent before the run is recorded: the plan's nonce in it prevents a second apply of the same plan.
    if let Err(error) = record_run_start(parts, run, plan).await {
        return nothing_done(plan, &error);
    }
    let mut schedule = Schedule::new(&plan.steps);
    let mut errors: BTreeMap<usize, StepError> = BTreeMap::new();
    let mut durations: BTreeMap<usize, Duration> = BTreeMap::new();
    let mut halted = false;
    let entering = Cell::new(0);
    let (turns, going) = (address_locks(plan), deletion_addresses(plan));
    let policies = StepPolicies::new(&plan.undecided);
    let mut running = FuturesUnordered::new();
    loop {
        while !halted && !parts.context.stop.get() && has_room(parts, running.len(), &entering) {
            let Some(number) = schedule.next_step() else { break };
            let (step, slot) = (&plan.steps[number], ConcurrencySlot::new(&entering));
            let turn = turns.get(&step.address);
            running.push(run_step(parts, (number, &going, &policies), step, turn, slot));
        }
        // A step frees its slot while another one is polled, so the loop must notice that without an ended step.
        let crowded = entering.get() >= MAX_STARTING_STEPS;
        let turn = poll_fn(|context| match running.poll_next_unpin(context) {
            Poll::Ready(Some(ended)) => Poll::Ready(ExecutorEvent::StepEnded(ended)),
            Poll::Ready(None) => Poll::Ready(ExecutorEvent::Idle),
            // Steps that wait for an object would poll until their timeouts, and nothing that they
            // find could be recorded.
            Poll::Pending if parts.fence.is_over(parts.writer) => Poll::Ready(ExecutorEvent::Stopped),
            Poll::Pending if crowded && entering.get() < MAX_STARTING_STEPS => {
                Poll::Ready(ExecutorEvent::SlotFree)
            }
            Poll::Pending => Poll::Pending,
        });
        let ended = match turn.await {
            ExecutorEvent::SlotFree => continue,
            ExecutorEvent::Idle => break,
            ExecutorEvent::Stopped => {
                errors.extend(abandon_running(parts, plan, &mut schedule));
                break;
            }
            ExecutorEvent::StepEnded(ended) => ended,
        };
        tell_end(parts, plan, &ended);
        durations.insert(ended.step, ended.took);
        match ended.result {
            Ok(_) => schedule.mark_done(ended.step),
            // The plan already reported it, and it blocks nothing: dependents of the resource are not skipped.
            Err(error @ StepError::NotKept(_)) if is_sent_again(plan, ended.step) => {
                schedule.mark_done(ended.step);
                errors.insert(ended.step, error);
            }
            Err(error) => {
                halted |= ends_everything(&error);
                emit_skipped(parts, plan, ended.step, schedule.mark_failed(ended.step));
                errors.insert(ended.step, error);
            }
        }
    }
    let mut outcome = summarize_outcome(plan, &schedule, errors);
    outcome.policies = policies.outcomes(plan);
    outcome.interrupted = parts.context.stop.get() && schedule.progress().contains(&StepProgress::Waiting);
    record_run_end(parts, run, (plan, &durations), &mut outcome).await;
    outcome
}

fn has_room<C, K, R, S>(parts: &StepParts<'_, C, K, R, S>, running: usize, entering: &Cell<usize>) -> bool {
    running < parts.context.parallel.max(1) && entering.get() < MAX_STARTING_STEPS
}

/// Returns a mutex for each address with several steps. The ledger allows one open intent for an address, and the plan
/// does not order all of its steps.
fn address_locks(plan: &Plan) -> BTreeMap<&Address, Mutex<()>> {
    let mut turns = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for step in &plan.steps {
        if !seen.insert(&step.address) {
            turns.entry(&step.address).or_default();
        }
    }
    turns
}

/// Returns the addresses of all delete steps.
fn deletion_addresses(plan: &Plan) -> BTreeSet<&Address> {
    let deletes = |step: &&Step| matches!(step.operation, Operation::Delete { .. });
    plan.steps.iter().filter(deletes).map(|step| &step.address).collect()
}

/// Returns whether the run must stop: the ledger cannot be written, or the service does not accept the credentials. A
/// 403 with a reason is about billing and stops only the steps that depend on the failed one.
fn ends_everything(error: &StepError) -> bool {
    match error {
        StepError::Ledger(_) | StepError::LeaseLost(_) => true,
        StepError::Refused(refusal) => {
            refusal.status == 401 || (refusal.status == 403 && refusal.reason.is_none())
        }
        _ => false,
    }
}

async fn record_run_start<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    run: uuid::Uuid,
    plan: &Plan,
) -> Result<(), StepError> {
    let (account, unknown) =
        (&plan.base.account, parts.context.journal.ledger().identity.account.is_none());
    let mut records = Vec::new();
    if unknown && !account.is_empty() {
        records.push(Record::Account { account: account.clone() });
    }
    let (who, at) = (parts.context.who.to_owned(), parts.clock().now());
    let origin = parts.context.origin.clone();
    records.push(Record::Begin { run, plan: plan.base.nonce, who, at, origin });
    let moves = plan.bookkeeping.iter().filter_map(LedgerUpdate::moves).flatten();
    let old_addresses: HashMap<&Address, &Address> = moves.map(|(from, to)| (to, from)).collect();
    for bookkeeping in &plan.bookkeeping {
        records.extend(correction_records(parts, bookkeeping, &old_addresses).await);
    }
    parts.commit(records).await
}

/// Returns the records of an update. All records are written together, after the moves: what the ledger has now of a moved
/// resource is at its old address.
async fn correction_records<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    bookkeeping: &LedgerUpdate,
    old_addresses: &HashMap<&Address, &Address>,
) -> Vec<Record> {
    match bookkeeping {
        LedgerUpdate::Gone(address, id) => {
            vec![Record::Gone { op: None, address: address.clone(), id: id.clone() }]
        }
        LedgerUpdate::Forget(address) => vec![Record::Forgotten { address: address.clone() }],
        LedgerUpdate::Move(moves) => vec![Record::Moved { moves: moves.clone() }],
        // Made before the run, with the other ledger open.
        LedgerUpdate::Transfer(..) => Vec::new(),
        // Generated secrets are kept before the first step, so their recipients are pinned already.
        LedgerUpdate::PinRecipients(names)
            if parts.context.journal.ledger().secrets.recipients == *names =>
        {
            Vec::new()
        }
        LedgerUpdate::PinRecipients(names) => {
            vec![Record::SecretRecipients { recipients: names.clone() }]
        }
        LedgerUpdate::Remember(address, entry) => {
            let known = parts.current_object(old_addresses.get(address).copied().unwrap_or(address));
            let (address, mut entry) = (address.clone(), entry.clone());
            parts.record_computed(&address, &mut entry.applied).await;
            if known.is_none() {
                vec![Record::Adopted { address, entry }]
            } else if known == entry.current {
                vec![Record::Applied { address, entry }]
            } else {
                // The user confirmed an unconfirmed object: its recorded identity changes, too.
                vec![Record::Forgotten { address: address.clone() }, Record::Adopted { address, entry }]
            }
        }
    }
}

async fn run_step<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    (number, going, policies): (usize, &BTreeSet<&Address>, &StepPolicies<'_>),
    step: &Step,
    turn: Option<&Mutex<()>>,
    entrance: ConcurrencySlot<'_>,
) -> StepOutcome {
    let _turn = match turn {
        Some(turn) => Some(turn.lock().await),
        None => None,
    };
    let begun = parts.clock().elapsed();
    let (address, doing) = (step.address.clone(), operation_gerund(&step.operation));
    parts.emit_event(ApplyEvent::Started { step: number, address, doing });
    // From here on: the wait for another step of the address does not count.
    let until = begun + Duration::from_secs(step.timeout_seconds.into());
    let result = match describe_unresolved_intent(parts, &step.address) {
        Some(question) => Err(StepError::Ambiguous(question)),
        None => match check_policies(parts, policies, (number, step)).await {
            Ok(()) => run_operation(parts, number, step, (until, going), &entrance).await,
            Err(denied) => Err(denied),
        },
    };
    StepOutcome { step: number, result, took: parts.clock().elapsed().saturating_sub(begun) }
}

/// Returns the description of the address's ambiguous intent; `None` if it has none. Until it is resolved, no
/// step runs for the address.
fn describe_unresolved_intent<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    address: &Address,
) -> Option<String> {
    let ledger = parts.context.journal.ledger();
    let question = ledger.questions.values().find(|question| question.intent.address == *address)?;
    Some(question.text.clone())
}

async fn run_operation<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    number: usize,
    step: &Step,
    (until, going): (Duration, &BTreeSet<&Address>),
    entrance: &ConcurrencySlot<'_>,
) -> Result<Option<Name>, StepError> {
    let (address, kind) = (&step.address, parts.kind(&step.kind)?);
    let needs = match &step.operation {
        Operation::Create { remember, .. } | Operation::Update { remember, .. } => {
            remember.depends_on.clone()
        }
        Operation::Delete { .. } => built_on(parts, address),
    };
    let needs = &*needs;
    let job = StepContext { step: Some(number), address, kind, until, needs, entrance: Some(entrance) };
    match &step.operation {
        Operation::Create { desired, project, parent, remember, deposes } => {
            let parent = parent.as_ref();
            let wish = PlannedCreate { desired, project, parent, remember, deposes: *deposes };
            let id = create_object(parts, &job, &wish).await?;
            if remember.let_go {
                parts.commit([Record::Forgotten { address: address.clone() }]).await?;
            }
            Ok(Some(id))
        }
        Operation::Update { object, calls, desired, remember } => {
            let change = PlannedUpdate { object: object.as_ref(), calls, desired, remember };
            update_object(parts, &job, &change).await.map(Some)
        }
        Operation::Delete { object, deposed: _ } => {
            let parent = parent_that_stays(parts, &job, going);
            delete_object(parts, &job, object, parent.as_ref()).await.map(|()| Some(object.id.clone()))
        }
    }
}

/// Returns the parent that a child's deletion rolls out; `None` if it rolls out none, or the parent is deleted, too.
fn parent_that_stays<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    job: &StepContext<'_>,
    going: &BTreeSet<&Address>,
) -> Option<Address> {
    if !job.kind.rolls_out_parent {
        return None;
    }
    let ledger = parts.context.journal.ledger();
    let parent = ledger.entries.get(job.address)?.parent.as_ref()?;
    (!going.contains(parent)).then(|| parent.clone())
}

/// Returns the parent and the dependencies of an object: while one of them changes, the object cannot be deleted.
fn built_on<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    address: &Address,
) -> Vec<Address> {
    let ledger = parts.context.journal.ledger();
    let entry = ledger.entries.get(address);
    entry.into_iter().flat_map(|entry| entry.parent.iter().chain(&entry.depends_on)).cloned().collect()
}

fn tell_end<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    plan: &Plan,
    ended: &StepOutcome,
) {
    let (step, planned) = (ended.step, &plan.steps[ended.step]);
    let address = planned.address.clone();
    parts.emit_event(match &ended.result {
        Ok(id) => {
            let (id, took) = (id.clone(), ended.took);
            let done =
                if is_found(parts, planned) { "adopted" } else { operation_past_tense(&planned.operation) };
            ApplyEvent::Succeeded { step, address, done, id, took }
        }
        Err(error) => ApplyEvent::Failed { step, address, error: error.clone() },
    });
}

/// Returns whether the object of a creation was found after a lost response: it exists, but nothing proves that
/// this apply created it.
fn is_found<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    step: &Step,
) -> bool {
    let found = || {
        let ledger = parts.context.journal.ledger();
        ledger.entries.get(&step.address)?.current.as_ref().map(|owned| owned.provisional)
    };
    matches!(step.operation, Operation::Create { .. }) && found() == Some(true)
}

/// Fails the steps that still run, and skips their dependents: their outcome cannot be recorded any more.
fn abandon_running<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    plan: &Plan,
    schedule: &mut Schedule,
) -> Vec<(usize, StepError)> {
    let Err(error) = parts.check_may_send() else { return Vec::new() };
    let is_running = |step: &usize| schedule.progress()[*step] == StepProgress::Running;
    let running: Vec<usize> = (0..plan.steps.len()).filter(is_running).collect();
    for step in &running {
        let address = plan.steps[*step].address.clone();
        parts.emit_event(ApplyEvent::Failed { step: *step, address, error: error.clone() });
        emit_skipped(parts, plan, *step, schedule.mark_failed(*step));
    }
    running.into_iter().map(|step| (step, error.clone())).collect()
}

fn emit_skipped<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    plan: &Plan,
    failed: usize,
    skipped: Vec<usize>,
) {
    for step in skipped {
        let address = plan.steps[step].address.clone();
        parts.emit_event(ApplyEvent::Skipped {
            step,
            address,
            because: plan.steps[failed].address.clone(),
        });
    }
}

async fn record_run_end<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    run: uuid::Uuid,
    (plan, durations): (&Plan, &BTreeMap<usize, Duration>),
    outcome: &mut Outcome,
) {
    if parts.check_may_send().is_err() {
        return;
    }
    outcome.notes = sweep_watched_creations(parts).await;
    outcome.questions = describe_ambiguous_intents(parts);
    let lost = plan.blocks.iter().filter(|block| block.is_lost_secret_of_object());
    outcome.questions.extend(lost.map(|block| format!("{} {}", block.text, block.help)));
    add_known_outputs(parts, plan, outcome).await;
    add_not_kept(plan, outcome);
    let is_run_whole = outcome.failed.is_empty() && outcome.skipped.is_empty();
    let complete = is_run_whole && !plan.holds_deletions;
    // Moving, adopting and forgetting have no steps: they are recorded in the ledger before the first step.
    let without = plan.changes.iter().filter(|change| change.steps.is_empty());
    outcome.done.extend(without.map(|change| change.address.clone()));
    let at = parts.clock().now();
    let tally = ResourceCounts {
        done: outcome.done.len(),
        failed: outcome.failed.len(),
        skipped: outcome.skipped.len(),
        questions: outcome.questions.len(),
    };
    let outputs = Some(recorded_outputs(parts, plan, &outcome.outputs, is_run_whole));
    let resources = resource_runs(parts, plan, durations, outcome);
    let policies = policy_runs(&outcome.policies);
    let unused_overrides = unused_overrides(plan, &outcome.policies);
    let plan = plan.base.nonce;
    let ended =
        Record::Ended { run, plan, complete, at, tally, outputs, resources, policies, unused_overrides };
    if let Err(error) = parts.commit([ended]).await {
        // All changes are recorded: only the record of the run's end is missing.
        outcome.notes.push(error.to_string());
    }
}

/// Returns the outcome of a run whose first records could not be written: the first address failed,
/// all others are skipped.
fn nothing_done(plan: &Plan, error: &StepError) -> Outcome {
    let first = plan.steps.first().map(|step| &step.address);
    let first = first.or_else(|| plan.bookkeeping.iter().find_map(corrected_address));
    let mut skipped: Vec<Address> = plan.steps.iter().map(|step| step.address.clone()).collect();
    skipped.sort_unstable();
    skipped.dedup();
    skipped.retain(|address| Some(address) != first);
    let failed = first.map(|address| (address.clone(), error.clone())).into_iter().collect();
    let policies = StepPolicies::new(&plan.undecided).outcomes(plan);
    Outcome { failed, skipped, policies, ..Outcome::default() }
}

fn corrected_address(bookkeeping: &LedgerUpdate) -> Option<&Address> {
    match bookkeeping {
        LedgerUpdate::Gone(address, _)
        | LedgerUpdate::Remember(address, _)
        | LedgerUpdate::Forget(address) => Some(address),
        LedgerUpdate::Move(moves) => moves.keys().next(),
        LedgerUpdate::PinRecipients(_) | LedgerUpdate::Transfer(..) => None,
    }
}

/// Combines the results of the steps by resource: failed if one failed, else skipped if one did not run, else done. A final
/// snapshot is a part of a deletion, and no resource that is done for itself.
fn summarize_outcome(plan: &Plan, schedule: &Schedule, mut errors: BTreeMap<usize, StepError>) -> Outcome {
    let mut worst: BTreeMap<&Address, (u8, Option<StepError>)> = BTreeMap::new();
    let mut changed: BTreeSet<&Address> = BTreeSet::new();
    for (number, step) in plan.steps.iter().enumerate() {
        let rank = match schedule.progress()[number] {
            StepProgress::Done if errors.contains_key(&number) => 2,
            StepProgress::Done => 0,
            StepProgress::Waiting | StepProgress::Running | StepProgress::Skipped(_) => 1,
            StepProgress::Failed => 2,
        };
        if schedule.progress()[number] == StepProgress::Done {
            changed.insert(&step.address);
        }
        let entry = worst.entry(&step.address).or_default();
        if rank > entry.0 {
            *entry = (rank, errors.remove(&number));
        }
    }
    let mut outcome = Outcome::default();
    let shown: BTreeSet<&Address> = plan.changes.iter().map(|change| &change.address).collect();
    for (address, (rank, error)) in worst {
        let is_shown = shown.contains(address);
        outcome.begun |= (rank > 0 || !is_shown) && changed.contains(address);
        match (rank, error) {
            (0, _) if is_shown => outcome.done.push(address.clone()),
            (0, _) => {}
            (_, Some(error)) => outcome.failed.push((address.clone(), error)),
            _ => outcome.skipped.push(address.clone()),
        }
    }
    outcome
}
