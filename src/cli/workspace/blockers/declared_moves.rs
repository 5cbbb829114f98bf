//! The moves between stacks that all units of a repository declare, selected or not. In: the loaded units, and the ledgers
//! that were read. Out: the entries with the units that they mean, and their conflicts with the plans.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::cli::files::stack_files;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::cli::workspace::loaded_unit::WorkspaceUnit;
use crate::cli::workspace::planned_units::UnitResults;
use crate::cli::workspace::units::{UnreadableStack, Workspace};
use crate::config::load::FilesRead;
use crate::config::stack::declarations::TransferDirection;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::plan::model::change::Plan;
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

/// The units whose moves are collected, with the stacks of those that could be loaded.
pub(super) struct MoveSources<'a> {
    pub(super) root: &'a Path,
    pub(super) units: Vec<(&'a Unit, Option<&'a LoadedStack>)>,
    /// The stacks whose entries are not known.
    pub(super) unread: Vec<UnreadStack>,
}

impl DeclaredMoves {
    /// Collects the moves. `ledgers` has those that were read, by unit; `None` for a unit that was never applied.
    pub(in crate::cli::workspace) fn collect(
        workspace: &Workspace,
        ledgers: &BTreeMap<usize, Option<&Ledger>>,
    ) -> Self {
        let units = workspace.units.iter().map(|one| (&one.unit, one.loaded.as_ref().ok())).collect();
        let unread = unread_stacks(&workspace.units, &workspace.unreadable);
        Self::of_units(MoveSources { root: &workspace.root, units, unread }, ledgers)
    }

    /// Collects the moves of some units.
    pub(super) fn of_units(sources: MoveSources<'_>, ledgers: &BTreeMap<usize, Option<&Ledger>>) -> Self {
        let MoveSources { root, units, unread } = sources;
        if !units.iter().any(|(_, project)| project.is_some_and(declares_moves)) {
            return Self { moves: Vec::new(), addresses: BTreeMap::new(), unread };
        }
        let places = units.iter().enumerate();
        let places: Vec<BTreeSet<PathBuf>> = places
            .map(|(number, (unit, _))| directories(root, unit, ledgers.get(&number).copied().flatten()))
            .collect();
        let mut moves = Vec::new();
        for (number, (unit, project)) in units.iter().enumerate() {
            let Some(project) = project else { continue };
            for declaration in &project.stack.declarations.transfers {
                let there = stack_files::full_path(&project.other_directory(&declaration.directory));
                let is_peer = |other: &usize| {
                    *other != number
                        && places[*other].contains(&there)
                        && share_environment(unit, units[*other].0)
                };
                moves.push(DeclaredMove {
                    unit: number,
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

    /// Returns the units with an entry that gets an object of a unit at one of these addresses.
    pub(super) fn claiming_units(&self, number: usize, addresses: &[&Address]) -> BTreeSet<usize> {
        let claims = |one: &&DeclaredMove| {
            one.declaration.direction == TransferDirection::Incoming
                && one.peers.contains(&number)
                && addresses.iter().any(|address| one.declaration.new_address(address).is_some())
        };
        self.moves.iter().filter(claims).map(|one| one.unit).collect()
    }

    /// Adds the addresses in the ledger of a unit.
    pub(super) fn add_addresses(&mut self, number: usize, ledger: Option<&Ledger>) {
        let addresses = ledger.iter().flat_map(|ledger| ledger.entries.keys().cloned());
        self.addresses.insert(number, addresses.collect());
    }

    /// Returns the conflicts of the moves with the plans, by unit.
    pub(in crate::cli::workspace) fn conflicts(
        &self,
        workspace: &Workspace,
        planned: &UnitResults,
    ) -> UnitBlockers {
        let plan = |number: usize| Some(&planned.get(&number)?.as_ref().ok()?.plan);
        self.conflicts_of(workspace.units.iter().map(|one| &one.unit), plan)
    }

    /// Returns the conflicts of the moves of some units with the plans that these have.
    pub(super) fn conflicts_of<'p>(
        &self,
        units: impl Iterator<Item = &'p Unit>,
        plan: impl Fn(usize) -> Option<&'p Plan>,
    ) -> UnitBlockers {
        if self.moves.is_empty() && self.unread.is_empty() {
            return UnitBlockers::new();
        }
        let moving = |(number, unit)| MovingUnit {
            unit,
            plan: plan(number),
            addresses: self.addresses.get(&number),
        };
        let units: Vec<MovingUnit<'_>> = units.enumerate().map(moving).collect();
        let (moves, unread) = (&self.moves, &self.unread);
        TransferClaims { registry: REGISTRY, units: &units, moves, unread }.find_conflicts()
    }
}

fn declares_moves(project: &LoadedStack) -> bool {
    !project.stack.declarations.transfers.is_empty()
}

/// Returns the stacks with errors, whose entries are not known.
pub(super) fn unread_stacks(units: &[WorkspaceUnit], unreadable: &[UnreadableStack]) -> Vec<UnreadStack> {
    let units = units.iter().filter_map(|one| Some((&one.unit.directory, one.loaded.as_ref().err()?)));
    let stacks = unreadable.iter().map(|one| (&one.directory, &one.failure));
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
fn directories(root: &Path, unit: &Unit, ledger: Option<&Ledger>) -> BTreeSet<PathBuf> {
    let own = &unit.directory;
    let recorded = ledger.iter().flat_map(|ledger| ledger.origins.iter().map(|origin| &origin.directory));
    let all: BTreeSet<&Name> = recorded.chain([own]).collect();
    let full = |directory: &Name| stack_files::full_path(&root.join(directory.as_str()));
    all.into_iter().map(full).collect()
}

/// Returns whether resources can move between two units: their environments have the same name, or one of the stacks
/// declares none.
fn share_environment(one: &Unit, other: &Unit) -> bool {
    one.name.environment == other.name.environment || !(one.has_environments && other.has_environments)
}
