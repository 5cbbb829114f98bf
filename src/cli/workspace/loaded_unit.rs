//! A unit with its resolved stack, or the reason why it has none.

use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::LoadedStack;
use crate::config::stack::model::Stack;
use crate::workspace::graph::UnitGraph;
use crate::workspace::unit::Unit;

/// A unit with its stack.
pub(in crate::cli) struct WorkspaceUnit {
    pub(in crate::cli) unit: Unit,
    /// Settings of the unit: its directory, environment, profile and variables.
    pub(in crate::cli) settings: Settings,
    /// The resolved stack, or why there is none; problems between units count, too.
    pub(in crate::cli) loaded: Result<LoadedStack, CliFailure>,
}

/// Returns the stack of a unit; `None` if it has problems.
pub(in crate::cli) fn loaded_stack(unit: &WorkspaceUnit) -> Option<&Stack> {
    unit.loaded.as_ref().ok().map(|project| &project.stack)
}

/// Sorts units by wave, name and directory.
pub(super) fn sort_by_wave(loaded: Vec<WorkspaceUnit>) -> Vec<WorkspaceUnit> {
    let units: Vec<Unit> = loaded.iter().map(|one| one.unit.clone()).collect();
    let mut by_wave: Vec<_> = UnitGraph::new(&units).waves.into_iter().zip(loaded).collect();
    by_wave.sort_by(|(wave, one), (other, another)| {
        let (one, another) = (&one.unit, &another.unit);
        (wave, &one.name, &one.directory).cmp(&(other, &another.name, &another.directory))
    });
    by_wave.into_iter().map(|(_, unit)| unit).collect()
}
