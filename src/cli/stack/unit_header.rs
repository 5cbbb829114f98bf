//! `UnitHeader`: a unit as the commands see it that use only its ledger. In: the settings, and the header of a stack. Out: the
//! names that its ledger has. The rest of the configuration may be invalid, and needs no values of variables.

use std::path::PathBuf;

use super::project::{self, LoadedStack};
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::Settings;
use crate::config::load::StackHeader;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::workspace::unit::UnitName;

/// A stack in an environment, without its resources.
#[derive(Debug, Clone)]
pub(in crate::cli) struct UnitHeader<'a> {
    /// Settings that locate and authenticate its ledger.
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) stack: Name,
    pub(in crate::cli) environment: Name,
    backend_required: bool,
    directory: PathBuf,
}

impl<'a> UnitHeader<'a> {
    /// Reads the header of the stack, and chooses its environment.
    ///
    /// # Errors
    /// All errors of the stack, if its name or the environment cannot be known.
    pub(in crate::cli) fn read(settings: &'a Settings) -> Result<Self, CliFailure> {
        let header = project::read_header(settings, &settings.dir).ok().flatten();
        let chosen = header.and_then(|header| Some((chosen_environment(settings, &header)?, header)));
        let (stack, environment, backend_required) = if let Some((environment, header)) = chosen {
            (header.name, environment, header.backend_required)
        } else {
            let stack = LoadedStack::open(settings)?.stack;
            (stack.name, stack.environment.name, stack.backend_required)
        };
        Ok(Self { settings, stack, environment, backend_required, directory: settings.dir.clone() })
    }

    /// Returns the unit with a name, whose stack is in the directory of the settings.
    pub(in crate::cli) fn new(settings: &'a Settings, name: &UnitName, backend_required: bool) -> Self {
        Self {
            settings,
            stack: name.stack.clone(),
            environment: name.environment.clone(),
            backend_required,
            directory: settings.dir.clone(),
        }
    }

    /// Returns the name of the unit.
    pub(in crate::cli) fn unit_name(&self) -> UnitName {
        UnitName { stack: self.stack.clone(), environment: self.environment.clone() }
    }

    /// Returns the location of the ledger.
    ///
    /// # Errors
    /// When the configured backend is invalid, or none is configured and the stack requires one.
    pub(in crate::cli) fn ledger_location(&self) -> Result<LedgerLocation, CliFailure> {
        let stack = (self.stack.as_str(), self.backend_required);
        ledger_settings::place_of(self.settings, stack, &self.directory)
    }
}

impl<'a> From<&'a LoadedStack> for UnitHeader<'a> {
    fn from(project: &'a LoadedStack) -> Self {
        Self {
            settings: &project.settings,
            stack: project.stack.name.clone(),
            environment: project.stack.environment.name.clone(),
            backend_required: project.stack.backend_required,
            directory: project.directory.clone(),
        }
    }
}

impl From<&Self> for UnitHeader<'_> {
    fn from(unit: &Self) -> Self {
        unit.clone()
    }
}

/// Returns the environment that the settings name, else the one that the stack chooses; `None` if it is not declared, or none
/// can be chosen.
fn chosen_environment(settings: &Settings, header: &StackHeader) -> Option<Name> {
    let chosen = settings.env.as_ref().unwrap_or(&header.default);
    let is_declared = header.environments.contains(chosen);
    let is_only = header.environments.is_empty() && *chosen == "default";
    (is_declared || is_only).then(|| chosen.clone())
}
