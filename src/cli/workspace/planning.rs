//! Plans the selected units together. In: loaded units, and the options of the command. Out: a plan or a failure for each,
//! and one fingerprint. Each account is read once; a unit is planned with the planned outputs of its upstream units, and
//! checked against the plans of all others. Sends only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;

use super::accounts::{AccountRequest, OpenAccounts, read_account};
use super::blockers;
use super::blockers::ReadState;
use super::blockers::declared_moves::DeclaredMoves;
use super::blockers::misplaced_ledgers::block_misplaced;
use super::loaded_unit::WorkspaceUnit;
use super::outputs::{UpstreamLedgers, UpstreamOutputs, upstream_outputs, used_objects};
use super::planned_units::{
    AccountState, OtherLedgers, PlannedUnit, UnitResults, UnitsOptions, WorkspacePlan,
};
use super::units::Workspace;
use crate::cli::ledger::high_water_mark::RollbackDetected;
use crate::cli::ledger::{held_lock, inspection, ledger_io, other_ledgers};
use crate::cli::planning::key_rights;
use crate::cli::planning::refresh::{self, LiveInputs, SharedInputs};
use crate::cli::planning::remedies;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cli::stack::project::LoadedStack;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::ObjectKey;
use crate::plan::artifact::redaction::redact_plan;
use crate::plan::inputs::PlanningOptions;
use crate::plan::pipeline;
use crate::workspace::combined;
use crate::workspace::conflicts::transfer_claims::lease_conflicts;
use crate::workspace::output_changes;
use crate::workspace::unit::UnitName;

/// What was read for a unit before any plan is made.
struct UnitState<'w> {
    one: &'w WorkspaceUnit,
    project: &'w LoadedStack,
    connection: StackConnection,
    account: usize,
    ledger: Ledger,
    rollback: Option<RollbackDetected>,
    pinned: Option<Catalog>,
    options: PlanningOptions,
}

/// What the plans are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum PlanPurpose {
    /// They are shown, or applied by this process.
    Show,
    /// They are saved for a later apply.
    Save,
    /// The live objects of the units are listed, so they are kept with the plans.
    List,
    /// As `List`, and the objects of each account are compared with all ledgers: lists cover all projects.
    Inventory,
}

/// Plans the selected units.
///
/// # Errors
/// When the fingerprint cannot be computed. A unit's own failure is its result.
pub(in crate::cli) async fn plan_units(
    workspace: &Workspace,
    options: &UnitsOptions,
    purpose: PlanPurpose,
) -> Result<WorkspacePlan, CliFailure> {
    let mut units = UnitResults::new();
    let mut accounts = OpenAccounts::default();
    let mut states: BTreeMap<usize, UnitState<'_>> = BTreeMap::new();
    for (number, one) in workspace.selected_units() {
        match read_unit(one, &mut accounts, options, purpose).await {
            Ok(state) => drop(states.insert(number, state)),
            Err(failure) => drop(units.insert(number, Err(failure.for_stack(&one.settings)))),
        }
    }
    let is_listing = matches!(purpose, PlanPurpose::List | PlanPurpose::Inventory);
    let (mut others, unread) = read_other_ledgers(workspace, &states).await;
    // What lists objects needs no outputs, and must not hide those of the readers.
    if !is_listing {
        fail_units(unread, &mut units, &mut states);
    }
    let owners = Arc::new(object_owners(workspace, &states, &others));
    // Before any unit fails: what it declares protects the objects of others.
    let declared = DeclaredMoves::collect(workspace, &read_ledgers(&states, &others));
    let failed = prepare_units(&mut states, &owners).await;
    fail_units(failed, &mut units, &mut states);
    let mut live = read_accounts((accounts.count(), purpose), &mut units, &mut states).await;
    // A destroy takes the outputs away, so it covers all readers; without planned values, nothing can be left out.
    let narrows = !(options.planning.destroy || options.planning.only_looks);
    let mut inputs = UnitInputs { live: &live, owners: &owners, narrows };
    let mut left_out =
        plan_in_order((workspace, purpose), inputs, &mut units, &mut states, &mut others).await;
    if widen_requests(&units, &mut states) {
        // What is deleted as a part of a replacement may be in use: only the plans show what has to be read for that.
        units.retain(|number, _| !states.contains_key(number));
        live = read_accounts((accounts.count(), purpose), &mut units, &mut states).await;
        inputs = UnitInputs { live: &live, owners: &owners, narrows };
        left_out += plan_in_order((workspace, purpose), inputs, &mut units, &mut states, &mut others).await;
    }
    if matches!(purpose, PlanPurpose::Show | PlanPurpose::Save) {
        add_key_notes(workspace, &mut units, &states).await;
    }
    add_lock_notes(&mut units, &states).await;
    if !options.planning.only_looks {
        Box::pin(block_misplaced(workspace, &mut units)).await;
    }
    let read = ReadState {
        others: &others,
        snapshots: live.iter().map(|(account, state)| (*account, &state.snapshot)).collect(),
        accounts: &accounts,
    };
    let users = blockers::add_blockers(workspace, options, &read, &declared, &mut units);
    let moves = moves_between(workspace, &states);
    let plans = units.iter().filter_map(|(number, result)| {
        Some((&workspace.units[*number].unit.name, &result.as_ref().ok()?.plan))
    });
    let fingerprint =
        combined::combined_fingerprint(plans, options.planning.destroy).map_err(anyhow::Error::from)?;
    let accounts = if is_listing { with_connections(live, states) } else { BTreeMap::new() };
    Ok(WorkspacePlan { units, fingerprint, users, moves, left_out, accounts, others })
}

/// What was read for all units before their plans.
#[derive(Clone, Copy)]
struct UnitInputs<'a> {
    live: &'a BTreeMap<usize, AccountState>,
    owners: &'a Arc<BTreeMap<ObjectKey, Name>>,
    /// Readers of outputs that do not change are left out.
    narrows: bool,
}

/// Plans the units, each after those whose outputs it reads. Returns how many were left out: their ledgers are then among those
/// of the other units.
async fn plan_in_order(
    (workspace, purpose): (&Workspace, PlanPurpose),
    inputs: UnitInputs<'_>,
    units: &mut UnitResults,
    states: &mut BTreeMap<usize, UnitState<'_>>,
    others: &mut OtherLedgers,
) -> usize {
    let may_lack = matches!(purpose, PlanPurpose::List | PlanPurpose::Inventory);
    let mut left_out = 0;
    for number in &workspace.graph.order {
        let is_open = states.contains_key(number) || units.contains_key(number);
        // A reader of which an earlier apply left something to do is not left out.
        let has_review = states.get(number).is_some_and(|state| state.ledger.review.is_some());
        let is_reader = is_open && !has_review && workspace.selected.readers.contains(number);
        if inputs.narrows && is_reader && !reads_changes(workspace, *number, units) {
            left_out += 1;
            units.remove(number);
            others.extend(states.remove(number).map(|state| (*number, Some(state.ledger))));
            continue;
        }
        let Some(state) = states.get(number) else { continue };
        let above = UpstreamLedgers { units, others, may_lack };
        let planned = plan_unit(workspace, state, (*number, above), inputs.live, inputs.owners).await;
        units.insert(*number, planned.map_err(|failure| failure.for_stack(&state.one.settings)));
    }
    left_out
}

/// Extends the options of the units whose plans delete what was not expected before. Returns whether more must be read for
/// them.
fn widen_requests(units: &UnitResults, states: &mut BTreeMap<usize, UnitState<'_>>) -> bool {
    let mut is_wider = false;
    for (number, state) in states {
        let Some(Ok(planned)) = units.get(number) else { continue };
        let arrived = state.options.transfers.expected_ledger(&state.ledger);
        let stack = &state.project.stack;
        let wider = pipeline::widen_for_deletions(REGISTRY, stack, &arrived, &state.options, &planned.plan);
        if let Some(wider) = wider {
            is_wider = true;
            state.options = wider;
        }
    }
    is_wider
}

/// Adds what each unit's key may do, and until when: a unit is applied after those whose outputs it reads.
async fn add_key_notes(
    workspace: &Workspace,
    units: &mut UnitResults,
    states: &BTreeMap<usize, UnitState<'_>>,
) {
    // The estimated seconds until each unit is applied.
    let mut ends: BTreeMap<usize, u32> = BTreeMap::new();
    for number in &workspace.graph.order {
        let (Some(state), Some(Ok(planned))) = (states.get(number), units.get_mut(number)) else {
            continue;
        };
        let above = workspace.graph.upstream[*number].iter().filter_map(|unit| ends.get(unit));
        let wait = above.max().copied().unwrap_or_default();
        ends.insert(*number, wait.saturating_add(planned.plan.critical_path.seconds));
        planned.key =
            key_rights::add_key_notes(&state.connection, &mut planned.plan, &state.ledger, wait).await;
    }
}

async fn add_lock_notes(units: &mut UnitResults, states: &BTreeMap<usize, UnitState<'_>>) {
    for (number, state) in states {
        if let Some(Ok(planned)) = units.get_mut(number) {
            let place = (&state.connection.place, &state.ledger);
            held_lock::add_lock_note(&state.one.header(), place, &mut planned.plan).await;
        }
    }
}

/// Adds the facts about this machine and the ledgers to the options of each unit. Returns the units that have none.
async fn prepare_units(
    states: &mut BTreeMap<usize, UnitState<'_>>,
    owners: &Arc<BTreeMap<ObjectKey, Name>>,
) -> BTreeMap<usize, CliFailure> {
    let planned_elsewhere: BTreeSet<ObjectKey> =
        states.values().flat_map(|state| state.ledger.owned_keys()).collect();
    let planned_elsewhere = Arc::new(planned_elsewhere);
    let no_outputs = BTreeMap::new();
    let mut failed = BTreeMap::new();
    for (number, state) in states {
        state.options.planned_elsewhere = Arc::clone(&planned_elsewhere);
        let shared = SharedInputs { outputs: &no_outputs, owners };
        let (project, ledger) = (state.project, &state.ledger);
        let prepared = Box::pin(refresh::prepare_options(
            &state.connection,
            project,
            ledger,
            &state.options,
            Some(shared),
        ));
        match prepared.await {
            Ok(options) => state.options = options,
            Err(failure) => drop(failed.insert(*number, failure)),
        }
    }
    failed
}

/// Returns whether a unit reads an output that changes, or may change, of a unit that is planned.
fn reads_changes(workspace: &Workspace, number: usize, units: &UnitResults) -> bool {
    let one = &workspace.units[number];
    let Ok(project) = &one.loaded else { return true };
    let reads = read_outputs(one, project);
    workspace.graph.upstream[number].iter().any(|above| match units.get(above) {
        None => false,
        Some(Err(_)) => true,
        Some(Ok(planned)) => {
            let names = reads.get(&workspace.units[*above].unit.name);
            let mut names = names.into_iter().flatten();
            names.any(|name| output_changes::is_changed(name, &planned.outputs, &planned.ledger))
        }
    })
}

/// Adds the connection of one of its units to each account.
fn with_connections(
    mut live: BTreeMap<usize, AccountState>,
    states: BTreeMap<usize, UnitState<'_>>,
) -> BTreeMap<usize, (AccountState, StackConnection)> {
    let states = states.into_values();
    states
        .filter_map(|state| Some((state.account, (live.remove(&state.account)?, state.connection))))
        .collect()
}

/// Returns the ledgers that were read, by unit; `None` for a unit that was never applied.
fn read_ledgers<'l>(
    states: &'l BTreeMap<usize, UnitState<'_>>,
    others: &'l OtherLedgers,
) -> BTreeMap<usize, Option<&'l Ledger>> {
    let selected = states.iter().map(|(number, state)| (*number, Some(&state.ledger)));
    others.iter().map(|(number, ledger)| (*number, ledger.as_ref())).chain(selected).collect()
}

/// Returns the pairs of units whose moves need one ledger, the one that is applied first before the other: the two are not
/// applied at the same time.
fn moves_between(
    workspace: &Workspace,
    states: &BTreeMap<usize, UnitState<'_>>,
) -> BTreeSet<(usize, usize)> {
    let position: BTreeMap<usize, usize> =
        workspace.graph.order.iter().enumerate().map(|(position, number)| (*number, position)).collect();
    let peers = |state: &UnitState<'_>| {
        state.options.transfers.moves.iter().map(|one| one.peer.clone()).collect::<BTreeSet<Name>>()
    };
    let leases = states.iter().map(|(number, state)| (*number, peers(state))).collect();
    let name = |number: usize| Name::new(workspace.units[number].unit.name.to_string());
    let in_order = |(one, other): (usize, usize)| {
        if position.get(&one) < position.get(&other) { (one, other) } else { (other, one) }
    };
    lease_conflicts(&leases, name).into_iter().map(in_order).collect()
}

/// Connects a unit and reads its ledger.
async fn read_unit<'w>(
    one: &'w WorkspaceUnit,
    accounts: &mut OpenAccounts,
    UnitsOptions { planning, allowed_deletions, replacements, deleted_data, .. }: &UnitsOptions,
    purpose: PlanPurpose,
) -> Result<UnitState<'w>, CliFailure> {
    let project = one.loaded.as_ref().map_err(CliFailure::clone)?;
    let (account, connection) = accounts.connect(one, project)?;
    let (ledger, rollback) = ledger_io::read_for_plan(project, &connection).await?;
    let pinned = read_pinned_names(&connection.lock_file)?;
    let mut options = PlanningOptions { project: one.settings.project.clone(), ..planning.clone() };
    options.allow_deletes |= allowed_deletions.contains(&one.unit.name);
    options.replace.extend(replacements.get(&one.unit.name).into_iter().flatten().cloned());
    options.delete_data.extend(deleted_data.get(&one.unit.name).into_iter().flatten().cloned());
    // A removed unit is destroyed, which needs no approval of each deletion: the command line names the unit.
    options.destroy |= one.unit.is_removed;
    if purpose == PlanPurpose::Save && ledger.identity.key.is_none() {
        // The ledger does not exist yet, so the digests in the plan file use a key that is generated for the file.
        options.image_key = Some(ledger_io::new_identity(project).key);
    }
    Ok(UnitState { one, project, connection, account, ledger, rollback, pinned, options })
}

/// Moves units from those to plan to those that failed.
fn fail_units(
    failed: BTreeMap<usize, CliFailure>,
    units: &mut UnitResults,
    states: &mut BTreeMap<usize, UnitState<'_>>,
) {
    for (number, failure) in failed {
        states.remove(&number);
        units.insert(number, Err(failure));
    }
}

/// Reads the ledgers of the units that are not planned: what they own must not be adopted, and their outputs may be read.
/// For an untrusted repository no other ledger is read. Returns the failures of the units that read outputs of one that cannot
/// be read, too.
async fn read_other_ledgers(
    workspace: &Workspace,
    states: &BTreeMap<usize, UnitState<'_>>,
) -> (OtherLedgers, BTreeMap<usize, CliFailure>) {
    let mut others = OtherLedgers::new();
    let mut failed = BTreeMap::new();
    for (number, one) in workspace.units.iter().enumerate() {
        // A selected unit with errors has no plan, and uses what it used.
        if one.settings.untrusted || workspace.selected.units.contains(&number) && one.loaded.is_ok() {
            continue;
        }
        match inspection::inspect_unit(&one.header()).await {
            Ok(ledger) => drop(others.insert(number, ledger)),
            Err(failure) => {
                let readers = workspace.graph.readers[number].iter();
                for reader in readers.filter(|reader| states.contains_key(reader)) {
                    let message = format!("{}: {}", one.unit.name, failure.message);
                    let failure = CliFailure { message, ..failure.clone() };
                    failed.insert(*reader, failure.for_stack(&one.settings));
                }
            }
        }
    }
    (others, failed)
}

/// Returns the owner of each object of the ledgers that were read, as `ADDRESS of STACK/ENVIRONMENT`.
fn object_owners(
    workspace: &Workspace,
    states: &BTreeMap<usize, UnitState<'_>>,
    others: &OtherLedgers,
) -> BTreeMap<ObjectKey, Name> {
    let selected = states.iter().map(|(number, state)| (*number, &state.ledger));
    let others = others.iter().filter_map(|(number, ledger)| Some((*number, ledger.as_ref()?)));
    let mut owners = BTreeMap::new();
    for (number, ledger) in selected.chain(others) {
        let name = &workspace.units[number].unit.name;
        for (address, entry) in &ledger.entries {
            let whose = Name::new(format!("{address} of {name}"));
            let objects = entry.current.iter().chain(&entry.deposed);
            owners.extend(objects.map(|owned| (owned.key(&entry.kind), whose.clone())));
        }
        owners.extend(other_ledgers::objects_between_ledgers(ledger));
    }
    owners
}

/// Reads each account once, all accounts at the same time: the lists and objects that any of its units needs.
async fn read_accounts(
    (count, purpose): (usize, PlanPurpose),
    units: &mut UnitResults,
    states: &mut BTreeMap<usize, UnitState<'_>>,
) -> BTreeMap<usize, AccountState> {
    let read = (0..count).map(|account| {
        let states = &*states;
        async move {
            let of_account = states.iter().filter(|(_, state)| state.account == account);
            let units: Vec<usize> = of_account.map(|(number, _)| *number).collect();
            let connection = &states[units.first()?].connection;
            let request_of = |number: usize| -> AccountRequest {
                let state = &states[&number];
                let arrived = state.options.transfers.expected_ledger(&state.ledger);
                pipeline::refresh_request(REGISTRY, &state.project.stack, &arrived, &state.options)
            };
            let everywhere = purpose == PlanPurpose::Inventory;
            Some((account, Box::pin(read_account(connection, units, &request_of, everywhere)).await))
        }
    });
    let (mut live, mut failed) = (BTreeMap::new(), BTreeMap::new());
    for (account, (world, failures)) in join_all(read).await.into_iter().flatten() {
        let state = world.map(|world| AccountState { snapshot: world.snapshot, catalog: world.catalog });
        live.extend(state.map(|state| (account, state)));
        failed.extend(failures);
    }
    fail_units(failed, units, states);
    live
}

/// Plans one unit, whose upstream units were planned before.
async fn plan_unit(
    workspace: &Workspace,
    state: &UnitState<'_>,
    (number, above): (usize, UpstreamLedgers<'_>),
    live: &BTreeMap<usize, AccountState>,
    owners: &Arc<BTreeMap<ObjectKey, Name>>,
) -> Result<PlannedUnit, CliFailure> {
    let outputs = match upstream_outputs(workspace, number, above) {
        Ok(outputs) => outputs,
        // A destroy needs no outputs.
        Err(_) if state.options.destroy => UpstreamOutputs::default(),
        Err(failure) => return Err(failure),
    };
    let Some(AccountState { snapshot, catalog }) = live.get(&state.account) else {
        return Err(CliFailure::new(Exit::Failed, "its account was not read"));
    };
    let mut own_catalog = None;
    let catalog = match &state.pinned {
        Some(pinned) => {
            let catalog = own_catalog.insert(catalog.clone());
            catalog.pin_ids(pinned);
            catalog
        }
        None => catalog,
    };
    let shared = SharedInputs { outputs: &outputs.values, owners };
    let options = PlanningOptions { locked_secrets: outputs.locked, ..state.options.clone() };
    let decided = Box::pin(refresh::with_live_state(
        &state.connection,
        state.project,
        &state.ledger,
        (&options, state.pinned.as_ref()),
        LiveInputs { snapshot, catalog, shared: Some(shared) },
        |inputs| (pipeline::make_plan_with_outputs(inputs), used_objects(inputs, &state.project.stack)),
    ))
    .await?;
    let (mut planned, uses) = decided.decided;
    if !state.one.unit.is_removed {
        remedies::complete_for_one_stack(&mut planned.plan, &state.one.unit.name, &state.one.settings);
    }
    let redact = |text: &str| state.connection.client.redact(text);
    let plan = redact_plan(planned.plan, &mut planned.values, &redact);
    Ok(PlannedUnit {
        plan,
        outputs: planned.outputs,
        values: planned.values,
        ledger: state.ledger.clone(),
        rollback: state.rollback,
        options: state.options.clone(),
        secrets: decided.secrets,
        account: state.account,
        key: None,
        uses,
        reads: read_outputs(state.one, state.project),
    })
}

/// Returns the outputs that a unit reads, by the unit that has them.
fn read_outputs(one: &WorkspaceUnit, project: &LoadedStack) -> BTreeMap<UnitName, BTreeSet<Name>> {
    let mut reads: BTreeMap<UnitName, BTreeSet<Name>> = BTreeMap::new();
    for edge in &one.unit.upstream {
        let Some(other) = project.stack.stacks.get(&edge.alias) else { continue };
        reads.entry(edge.unit.clone()).or_default().extend(other.reads.keys().cloned());
    }
    reads
}
