//! A unit with its resolved stack, or the reason why it has none.

use std::sync::Arc;

use crate::cli::files::stack_files;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::{PeerSettings, Settings};
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unit_header::UnitHeader;
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

impl WorkspaceUnit {
    /// Returns whether its stack requires a backend. One with errors may require one, too: without a backend there is no
    /// other ledger that could be read for it.
    pub(in crate::cli) fn requires_backend(&self) -> bool {
        loaded_stack(self).is_some_and(|stack| stack.backend_required)
    }

    /// Returns the unit as the commands see it that use only its ledger, also if its configuration has errors.
    pub(in crate::cli) fn header(&self) -> UnitHeader<'_> {
        UnitHeader::new(&self.settings, &self.unit.name, self.requires_backend())
    }
}

/// Returns the stack of a unit; `None` if it has problems.
pub(in crate::cli) fn loaded_stack(unit: &WorkspaceUnit) -> Option<&Stack> {
    unit.loaded.as_ref().ok().map(|project| &project.stack)
}

/// Sorts units by wave, name and directory, and gives each the settings of the others.
pub(super) fn arrange_units(units: Vec<WorkspaceUnit>) -> Vec<WorkspaceUnit> {
    with_settings_of_peers(sort_by_wave(units))
}

/// Gives each unit the settings of the others, if they have several profiles: a stack moves objects to another one, whose
/// ledger may be in another backend.
fn with_settings_of_peers(mut units: Vec<WorkspaceUnit>) -> Vec<WorkspaceUnit> {
    if units.windows(2).all(|pair| pair[0].settings.profile == pair[1].settings.profile) {
        return units;
    }
    let key = |one: &WorkspaceUnit| {
        (stack_files::full_path(&one.settings.dir), one.unit.name.environment.clone())
    };
    let peers: PeerSettings = Arc::new(units.iter().map(|one| (key(one), one.settings.clone())).collect());
    for one in &mut units {
        one.settings.peers = Arc::clone(&peers);
        if let Ok(loaded) = &mut one.loaded {
            loaded.settings.peers = Arc::clone(&peers);
        }
    }
    units
}

fn sort_by_wave(loaded: Vec<WorkspaceUnit>) -> Vec<WorkspaceUnit> {
    let units: Vec<Unit> = loaded.iter().map(|one| one.unit.clone()).collect();
    let mut by_wave: Vec<_> = UnitGraph::new(&units).waves.into_iter().zip(loaded).collect();
    by_wave.sort_by(|(wave, one), (other, another)| {
        let (one, another) = (&one.unit, &another.unit);
        (wave, &one.name, &one.directory).cmp(&(other, &another.name, &another.directory))
    });
    by_wave.into_iter().map(|(_, unit)| unit).collect()
}
