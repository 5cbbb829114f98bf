//! The moves between stacks that all units of a repository declare, selected or not. In: the loaded units, and the ledgers
//! that were read. Out: the entries with the units that they mean, and their conflicts with the plans.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::cli::files::stack_files;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::planned_units::UnitResults;
use crate::cli::workspace::units::Workspace;
use crate::config::load::FilesRead;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::workspace::conflicts::UnitBlockers;
use crate::workspace::conflicts::transfer_claims::{DeclaredMove, MovingUnit, TransferClaims, UnreadStack};
use crate::workspace::unit::Unit;

/// The moves between the stacks of a repository, with what the ledgers had before the plans.
pub(in crate::cli::workspace) struct DeclaredMoves {
    moves: Vec<DeclaredMove>,
    /// Addresses in each ledger that was read; empty if no unit declares a move.
    addresses: BTreeMap<usize, BTreeSet<Address>>,
    unread: Vec<UnreadStack>,
}

impl DeclaredMoves {
    /// Collects the moves. `ledgers` has those that were read, by unit; `None` for a unit that was never applied.
    pub(in crate::cli::workspace) fn collect(
        workspace: &Workspace,
        ledgers: &BTreeMap<usize, Option<&Ledger>>,
    ) -> Self {
        let unread = unread_stacks(workspace);
        let declares = |one: &WorkspaceUnit| one.loaded.as_ref().is_ok_and(declares_moves);
        if !workspace.units.iter().any(declares) {
            return Self { moves: Vec::new(), addresses: BTreeMap::new(), unread };
        }
        let places: Vec<BTreeSet<PathBuf>> = (0..workspace.units.len())
            .map(|number| directories(workspace, number, ledgers.get(&number).copied().flatten()))
            .collect();
        let mut moves = Vec::new();
        for (unit, one) in workspace.units.iter().enumerate() {
            let Ok(project) = &one.loaded else { continue };
            for declaration in &project.stack.declarations.transfers {
                let there = stack_files::full_path(&project.other_directory(&declaration.directory));
                let is_peer = |other: &usize| {
                    *other != unit
                        && places[*other].contains(&there)
                        && share_environment(&one.unit, &workspace.units[*other].unit)
                };
                moves.push(DeclaredMove {
                    unit,
                    peers: (0..places.len()).filter(is_peer).collect(),
                    source: project.stack.sources.location_of(declaration.span),
                    declaration: declaration.clone(),
                });
            }
        }
        let addresses = ledgers.iter().map(|(number, ledger)| {
            (*number, ledger.iter().flat_map(|ledger| ledger.entries.keys().cloned()).collect())
        });
        Self { moves, addresses: addresses.collect(), unread }
    }

    /// Returns the conflicts of the moves with the plans, by unit.
    pub(in crate::cli::workspace) fn conflicts(
        &self,
        workspace: &Workspace,
        planned: &UnitResults,
    ) -> UnitBlockers {
        if self.moves.is_empty() && self.unread.is_empty() {
            return UnitBlockers::new();
        }
        let units: Vec<MovingUnit<'_>> = workspace
            .units
            .iter()
            .enumerate()
            .map(|(number, one)| MovingUnit {
                unit: &one.unit,
                plan: planned.get(&number).and_then(|unit| Some(&unit.as_ref().ok()?.plan)),
                addresses: self.addresses.get(&number),
            })
            .collect();
        let (moves, unread) = (&self.moves, &self.unread);
        TransferClaims { registry: REGISTRY, units: &units, moves, unread }.find_conflicts()
    }
}

fn declares_moves(project: &LoadedStack) -> bool {
    !project.stack.declarations.transfers.is_empty()
}

/// Returns the stacks with errors, whose entries are not known.
fn unread_stacks(workspace: &Workspace) -> Vec<UnreadStack> {
    let units = workspace.units.iter();
    let units = units.filter_map(|one| Some((&one.unit.directory, one.loaded.as_ref().err()?)));
    let stacks = workspace.unreadable.iter().map(|one| (&one.directory, &one.failure));
    // The units of one stack are read from the same files.
    let by_directory: BTreeMap<&Name, &CliFailure> = units.chain(stacks).collect();
    by_directory
        .into_iter()
        .map(|(directory, failure)| {
            let rejected = failure.rejected.as_deref();
            let sources = rejected.iter().flat_map(|rejected| rejected.sources.iter());
            UnreadStack {
                directory: directory.clone(),
                texts: sources.map(|(_, source)| source.text.clone()).collect(),
                files: rejected.map_or(FilesRead::Some, |rejected| rejected.files),
            }
        })
        .collect()
}

/// Returns the directories that an entry can name for a unit: its own one, and those that its ledger was applied from.
fn directories(workspace: &Workspace, number: usize, ledger: Option<&Ledger>) -> BTreeSet<PathBuf> {
    let own = &workspace.units[number].unit.directory;
    let recorded = ledger.iter().flat_map(|ledger| ledger.origins.iter().map(|origin| &origin.directory));
    let all: BTreeSet<&Name> = recorded.chain([own]).collect();
    let full = |directory: &Name| stack_files::full_path(&workspace.root.join(directory.as_str()));
    all.into_iter().map(full).collect()
}

/// Returns whether resources can move between two units: their environments have the same name, or one of the stacks
/// declares none.
fn share_environment(one: &Unit, other: &Unit) -> bool {
    one.name.environment == other.name.environment || !(one.has_environments && other.has_environments)
}
