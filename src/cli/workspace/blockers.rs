//! Blockers that only the units together show: conflicts between plans, units that depend on blocked ones, and removed units
//! that the command line does not name. In: the plans of the units. Out: plans with more blockers.

pub(super) mod declared_moves;
pub(super) mod misplaced_ledgers;
pub(in crate::cli) mod single_stack;

use std::collections::{BTreeMap, BTreeSet};

use self::declared_moves::DeclaredMoves;
use super::accounts::OpenAccounts;
use super::loaded_unit::loaded_stack;
use super::planned_units::{OtherLedgers, PlannedUnit, UnitResults, UnitsOptions};
use super::units::Workspace;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::printed_commands;
use crate::config::resolve::late_binding::looked_up_objects;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code::UPSTREAM;
use crate::model::live::snapshot::Snapshot;
use crate::plan::artifact::fingerprint::with_blockers;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::plan::model::note::PlanNote;
use crate::plan::model::transfers::StackMove;
use crate::report::text::phrases::count_noun;
use crate::workspace::blocking::{find_blocked, users_in_order};
use crate::workspace::conflicts::lookups::{PlannedSteps, UnitLookup, find_broken_lookups};
use crate::workspace::conflicts::outside_readers::{
    OutsideReader, OutsideReason, OutsideUnit, OutsideUnits, OutsideUse, reader_blockers,
    unreadable_blocker,
};
use crate::workspace::conflicts::transfer_claims::find_moves_of_destroyed;
use crate::workspace::conflicts::{RemovalUsers, UnitClaims, find_conflicts};
use crate::workspace::deletion_limit::{UnitDeletions, limit_blocker};
use crate::workspace::output_changes;
use crate::workspace::removed::removal_blocker;
use crate::workspace::unit::{Unit, UnitName};

/// Pairs of units.
type UnitPairs = BTreeSet<(usize, usize)>;

/// What was read for the plans of the units.
pub(super) struct ReadState<'a> {
    /// Ledgers of the units that are not planned.
    pub(super) others: &'a OtherLedgers,
    /// Live objects by the number of the account.
    pub(super) snapshots: BTreeMap<usize, &'a Snapshot>,
    /// The accounts of the planned units.
    pub(super) accounts: &'a OpenAccounts,
}

/// Adds to the plans of the units the blockers that they have together. Returns the pairs of a unit and one whose live
/// objects use an object that the first deletes.
pub(super) fn add_blockers(
    workspace: &Workspace,
    options: &UnitsOptions,
    read: &ReadState<'_>,
    moves: &DeclaredMoves,
    units: &mut UnitResults,
) -> BTreeSet<(usize, usize)> {
    block_removed_units(workspace, units);
    let users = add_conflicts(workspace, &read.snapshots, units);
    if !options.planning.only_looks {
        add_unit_blockers(moves.conflicts(workspace, units), units);
        block_moves_of_destroyed(workspace, units);
        block_outside_readers(workspace, options, read, units);
        block_many_deletions(workspace, units);
    }
    add_output_readers(workspace, units);
    let exchanges = exchanging_units(workspace, units);
    block_dependents(workspace, (&users, &exchanges), options.planning.destroy, units);
    users
}

/// Returns the pairs of units between which resources move, in both orders: neither is applied without the other, because a
/// move changes both.
fn exchanging_units(workspace: &Workspace, units: &UnitResults) -> UnitPairs {
    let planned = units.iter().filter_map(|(number, unit)| Some((*number, unit.as_ref().ok()?)));
    let moves = planned
        .flat_map(|(number, unit)| unit.options.transfers.moves.iter().map(move |one| (number, one)));
    let mut moves = moves.peekable();
    if moves.peek().is_none() {
        return UnitPairs::new();
    }
    let named = workspace.units.iter().enumerate();
    let numbers: BTreeMap<Name, usize> =
        named.map(|(number, one)| (Name::new(one.unit.name.to_string()), number)).collect();
    let pairs = moves.filter_map(|(number, one)| Some((number, *numbers.get(&one.peer)?)));
    pairs.flat_map(|(one, other)| [(one, other), (other, one)]).collect()
}

/// Adds the units that read each output, and blocks those that remove an output which a unit reads.
fn add_output_readers(workspace: &Workspace, units: &mut UnitResults) {
    let all: Vec<&Unit> = workspace.units.iter().map(|one| &one.unit).collect();
    let unreadable: Vec<&Name> = workspace.unreadable.iter().map(|one| &one.directory).collect();
    for (number, result) in units.iter_mut() {
        let Ok(planned) = result else { continue };
        if planned.plan.output_changes().next().is_some() {
            let name = &workspace.units[*number].unit.name;
            replace_plan(planned, |plan| output_changes::with_readers(plan, name, &all, &unreadable));
        }
    }
}

/// Blocks the removed units whose removal the command line does not name.
fn block_removed_units(workspace: &Workspace, units: &mut UnitResults) {
    for (number, result) in units.iter_mut() {
        let unit = &workspace.units[*number].unit;
        let Ok(planned) = result else { continue };
        if !stays(workspace, *number) {
            continue;
        }
        let objects = count_noun(planned.ledger.entries.len(), "object");
        let all = workspace.units.iter().map(|one| &one.unit);
        // The directory is that of the unit; the command covers the repository.
        let flags = printed_commands::flags_except(&workspace.units[*number].settings.said, &["-C"]);
        let remove = printed_commands::command_line(&flags, &format!("plan --all --remove {}", unit.name));
        let blocker = removal_blocker(&unit.name, all, (&objects, &remove));
        replace_plan(planned, |plan| with_blockers(plan, [blocker]));
    }
}

/// Blocks the units of a destroy between which a move is pending.
fn block_moves_of_destroyed(workspace: &Workspace, units: &mut UnitResults) {
    let planned = units.iter().filter_map(|(number, unit)| Some((*number, unit.as_ref().ok()?)));
    let destroyed = planned.filter(|(_, unit)| unit.plan.base.destroy);
    let destroyed: Vec<(usize, &UnitName, &[StackMove])> = destroyed
        .map(|(number, unit)| (number, &workspace.units[number].unit.name, &*unit.options.transfers.moves))
        .collect();
    add_unit_blockers(find_moves_of_destroyed(&destroyed), units);
}

/// Adds the conflicts between the plans of each account as blockers of both units. A removed unit that stays is none of them: what
/// it uses is compared with that of the other units without a plan. Returns the pairs of a unit and one
/// whose live objects use an object that the first deletes.
fn add_conflicts(
    workspace: &Workspace,
    live: &BTreeMap<usize, &Snapshot>,
    units: &mut UnitResults,
) -> BTreeSet<(usize, usize)> {
    let mut users = RemovalUsers::default();
    let mut found: Vec<(usize, Vec<Blocker>)> = Vec::new();
    let mut notes: Vec<(usize, Vec<PlanNote>)> = Vec::new();
    for (account, snapshot) in live {
        let of_account: Vec<(usize, &PlannedUnit)> = units
            .iter()
            .filter_map(|(number, result)| Some((*number, result.as_ref().ok()?)))
            .filter(|(number, planned)| planned.account == *account && !stays(workspace, *number))
            .collect();
        let claims: Vec<UnitClaims<'_>> = of_account
            .iter()
            .map(|(number, planned)| UnitClaims {
                name: &workspace.units[*number].unit.name,
                plan: &planned.plan,
                ledger: &planned.ledger,
                uses: &planned.uses,
                reads: &planned.reads,
            })
            .collect();
        let conflicts = find_conflicts(REGISTRY, snapshot, &claims);
        let number = |position: usize| of_account[position].0;
        let pair = |(unit, user): (usize, usize)| (number(unit), number(user));
        users.held.extend(conflicts.users.held.into_iter().map(pair));
        users.attached.extend(conflicts.users.attached.into_iter().map(pair));
        notes.extend(conflicts.notes.into_iter().map(|(position, notes)| (number(position), notes)));
        found.extend(
            conflicts.blockers.into_iter().map(|(position, blockers)| (number(position), blockers)),
        );
    }
    for (number, notes) in notes {
        if let Some(Ok(planned)) = units.get_mut(&number) {
            planned.plan.notes.extend(notes);
        }
    }
    add_unit_blockers(found, units);
    users_in_order(&workspace.graph, &users)
}

/// Adds blockers to the plans of units, by number.
fn add_unit_blockers(found: impl IntoIterator<Item = (usize, Vec<Blocker>)>, units: &mut UnitResults) {
    for (number, blockers) in found {
        if let Some(Ok(planned)) = units.get_mut(&number) {
            replace_plan(planned, |plan| with_blockers(plan, blockers));
        }
    }
}

/// Blocks the units that cannot be applied because another unit cannot: those that read its outputs, in a destroy those
/// whose outputs it reads, those that delete what it uses, and those that exchange resources with it.
fn block_dependents(
    workspace: &Workspace,
    (users, exchanges): (&UnitPairs, &UnitPairs),
    destroy: bool,
    units: &mut UnitResults,
) {
    let is_blocked = |result: &Result<PlannedUnit, CliFailure>| {
        result.as_ref().map_or(true, |planned| planned.plan.is_blocked(&BTreeSet::new()))
    };
    let blocked =
        units.iter().filter(|(_, result)| is_blocked(result)).map(|(number, _)| *number).collect();
    let planned = units.keys().copied().collect();
    let waits = users.union(exchanges).copied().collect();
    for (number, causes) in find_blocked(&workspace.graph, &planned, &blocked, &waits, destroy) {
        let blockers = causes.iter().map(|cause| {
            let name = &workspace.units[*cause].unit.name;
            let text = if destroy {
                format!("{name}, which uses what this unit has, cannot be destroyed.")
            } else if exchanges.contains(&(number, *cause)) {
                format!("{name}, with which it exchanges resources, cannot be applied.")
            } else if workspace.graph.readers[*cause].contains(&number) {
                format!("{name}, whose outputs it reads, cannot be applied.")
            } else {
                format!("{name}, which uses what this unit deletes, cannot be applied.")
            };
            let order = if blocked.contains(&number) { ", too" } else { " first" };
            let help = format!("Correct that unit{order}.");
            Blocker { code: UPSTREAM.code.into(), address: None, text, help, source: None }
        });
        if let Some(Ok(planned)) = units.get_mut(&number) {
            replace_plan(planned, |plan| with_blockers(plan, blockers));
        }
    }
}

/// Blocks the units that delete what a unit without a plan uses, or change the attribute by which it finds that, unless the
/// command line names that unit; and those that are destroyed while a stack cannot be read. Readers in other repositories are
/// not known.
fn block_outside_readers(
    workspace: &Workspace,
    options: &UnitsOptions,
    read: &ReadState<'_>,
    units: &mut UnitResults,
) {
    if options.forces_all_readers {
        return;
    }
    let outside = outside_units(workspace, options, read.others, units);
    let destroy = options.planning.destroy;
    let has_failed = |number: &usize| units.get(number).is_some_and(Result::is_err);
    let planned = units.iter().filter(|(number, _)| !stays(workspace, **number));
    let planned: Vec<(usize, &PlannedUnit)> =
        planned.filter_map(|(number, unit)| Some((*number, unit.as_ref().ok()?))).collect();
    let plans = planned.iter().map(|(number, unit)| (*number, &unit.plan));
    let mut found = outside.users_of_removed(REGISTRY, plans.clone());
    for (owner, reader) in users_by_lookup(workspace, &outside, read, &planned) {
        found.entry(owner).or_default().insert(reader);
    }
    let mut blockers = Vec::new();
    for (number, plan) in plans.filter(|(_, plan)| !plan.changes.is_empty()) {
        if plan.base.destroy {
            let name = &workspace.units[number].unit.name;
            let readers = outside.readers_of(&workspace.graph, (number, name)).into_iter();
            // In a destroy, a selected unit without a plan blocks what it reads by itself.
            let readers = readers.filter(|(unit, _)| !(destroy && has_failed(unit)));
            found.entry(number).or_default().extend(readers);
            let directories = workspace.unreadable.iter().map(|one| unreadable_blocker(&one.directory));
            blockers.push((number, directories.collect()));
        }
    }
    for (number, readers) in found {
        let outside = |number: usize| OutsideUnit {
            name: workspace.units[number].unit.name.clone(),
            reason: match &workspace.units[number].unit {
                _ if has_failed(&number) => OutsideReason::Errors,
                unit if unit.is_removed => OutsideReason::Removed,
                _ => OutsideReason::NotSelected,
            },
        };
        let own = &workspace.units[number].unit.name;
        blockers.push((number, reader_blockers(&readers, outside, (own, &workspace.limits, destroy))));
    }
    add_unit_blockers(blockers, units);
}

/// Returns whether a unit stays as it is although it is planned: it was removed, and the command line does not name it.
fn stays(workspace: &Workspace, number: usize) -> bool {
    let unit = &workspace.units[number].unit;
    unit.is_removed && !workspace.removals.contains(&unit.name)
}

/// Returns the units that are not applied, with what is known of them.
fn outside_units<'a>(
    workspace: &'a Workspace,
    options: &UnitsOptions,
    others: &'a OtherLedgers,
    units: &'a UnitResults,
) -> OutsideUnits<'a> {
    let is_outside = |number: &usize| {
        let has_plan = units.get(number).is_some_and(Result::is_ok) && !stays(workspace, *number);
        !has_plan && !workspace.units[*number].settings.untrusted
    };
    let outside: BTreeSet<usize> = (0..workspace.units.len()).filter(is_outside).collect();
    let others = others.iter().map(|(number, ledger)| (*number, ledger.as_ref()));
    let planned = units.iter().filter_map(|(number, unit)| Some((*number, &unit.as_ref().ok()?.ledger)));
    let staying = planned.filter(|(number, _)| outside.contains(number));
    let ledgers: BTreeMap<usize, Option<&Ledger>> =
        others.chain(staying.map(|(number, ledger)| (number, Some(ledger)))).collect();
    let of_unit = |is: &dyn Fn(&usize) -> bool| outside.iter().copied().filter(is).collect();
    OutsideUnits {
        unread: of_unit(&|number| !ledgers.contains_key(number)),
        forced: of_unit(&|number| options.forced_readers.contains(&workspace.units[*number].unit.name)),
        removed: of_unit(&|number| workspace.units[*number].unit.is_removed),
        ledgers,
    }
}

/// Returns the units without a plan whose lookups a plan of their account breaks, each with the unit of that plan.
fn users_by_lookup(
    workspace: &Workspace,
    outside: &OutsideUnits<'_>,
    read: &ReadState<'_>,
    planned: &[(usize, &PlannedUnit)],
) -> Vec<(usize, OutsideReader)> {
    if planned.iter().all(|(_, one)| one.plan.steps.is_empty()) {
        return Vec::new();
    }
    let with_lookups = |(unit, one)| {
        let stack =
            loaded_stack(one).filter(|stack| outside.has_lookups(unit) && !stack.data.is_empty())?;
        Some((unit, read.accounts.number_of_unit(one)?, stack))
    };
    let readers: Vec<_> = workspace.units.iter().enumerate().filter_map(with_lookups).collect();
    let mut found = Vec::new();
    for (account, snapshot) in &read.snapshots {
        let changing =
            planned.iter().filter(|(_, one)| one.account == *account && !one.plan.steps.is_empty());
        let plans: Vec<PlannedSteps<'_>> = changing
            .map(|(unit, one)| PlannedSteps { unit: *unit, plan: &one.plan, ledger: &one.ledger })
            .collect();
        let of_account = readers.iter().filter(|(_, of, _)| of == account && !plans.is_empty());
        let lookups: Vec<(usize, UnitLookup)> = of_account
            .flat_map(|(unit, _, stack)| {
                looked_up_objects(stack, snapshot)
                    .map(|(object, address, lookup)| (*unit, UnitLookup::new(address, object, lookup)))
            })
            .collect();
        let lookups: Vec<(usize, &UnitLookup)> =
            lookups.iter().map(|(unit, lookup)| (*unit, lookup)).collect();
        found.extend(find_broken_lookups(&lookups, plans, snapshot).into_iter().map(|broken| {
            let (reader, lookup) = broken.reader;
            let how = OutsideUse::Lookup(lookup.address.clone(), broken.owner.1.clone(), broken.loss);
            (broken.owner.0, (reader, how))
        }));
    }
    found
}

/// Blocks the units that delete something if they delete more than the limit together. What the command line approves does
/// not count.
fn block_many_deletions(workspace: &Workspace, units: &mut UnitResults) {
    let counted = units.iter().filter_map(|(number, unit)| Some((*number, unit.as_ref().ok()?)));
    let counted = counted.filter(|(_, unit)| !(unit.options.destroy || unit.options.allow_deletes));
    let counted: Vec<(usize, UnitDeletions<'_>)> = counted
        .map(|(number, unit)| {
            let name = &workspace.units[number].unit.name;
            (number, UnitDeletions::new(REGISTRY, name, &unit.plan, &unit.ledger))
        })
        .collect();
    let deletions: Vec<UnitDeletions<'_>> = counted.iter().map(|(_, deletions)| *deletions).collect();
    let Some(blocker) = limit_blocker(&deletions) else { return };
    for (number, _) in counted.iter().filter(|(_, unit)| unit.deletions > 0) {
        if let Some(Ok(planned)) = units.get_mut(number) {
            replace_plan(planned, |plan| with_blockers(plan, [blocker.clone()]));
        }
    }
}

fn replace_plan(planned: &mut PlannedUnit, change: impl FnOnce(Plan) -> Plan) {
    // A plan has no empty value to leave behind, so it is copied; only units with blockers pay for it.
    planned.plan = change(planned.plan.clone());
}
