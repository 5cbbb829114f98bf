//! The settings of each unit of a repository: the flags and variables of the command line, with the unit's directory and
//! environment, and the profile that the user's settings give it. No file of a stack decides which profile it gets.

use std::path::{Path, PathBuf};

use super::{Settings, merge};
use crate::cli::args::GlobalArgs;
use crate::cli::process::env::EnvVariables;
use crate::cli::process::profile::Profiles;
use crate::cli::process::settings_error::SettingsError;
use crate::model::address::Name;
use crate::workspace::unit::Unit;

/// The sources from which the settings of units are merged.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct UnitSettings {
    flags: GlobalArgs,
    variables: EnvVariables,
    profiles: Profiles,
}

impl UnitSettings {
    /// Returns the sources of a command line.
    pub(in crate::cli) const fn new(
        flags: GlobalArgs,
        variables: EnvVariables,
        profiles: Profiles,
    ) -> Self {
        Self { flags, variables, profiles }
    }

    /// Returns the variables of the process's environment.
    pub(in crate::cli) const fn variables(&self) -> &EnvVariables {
        &self.variables
    }

    /// Returns whether rules give units a profile: there are some, and neither the command line nor `STEAD_PROFILE` names
    /// one for all units.
    pub(in crate::cli) fn gives_profiles(&self) -> bool {
        let is_named = self.variables.get("STEAD_PROFILE").is_some_and(|name| !name.is_empty());
        self.profiles.has_unit_rules() && self.flags.profile.is_none() && !is_named
    }

    /// Returns the profile that a rule gives a unit; `None` if no rule matches it, or one profile is named for all units.
    pub(in crate::cli) fn profile_of(&self, unit: &Unit) -> Option<&Name> {
        self.profiles.profile_of(unit).filter(|_| self.gives_profiles())
    }

    /// Merges the settings of the command line with this profile.
    ///
    /// # Errors
    /// When the profile has an invalid value.
    pub(in crate::cli) fn merge_with_profile(&self, profile: &Name) -> Result<Settings, SettingsError> {
        let flags = GlobalArgs { profile: Some(profile.clone()), ..self.flags.clone() };
        merge(flags, &self.variables, &self.profiles)
    }

    /// Merges the settings of a unit whose stack declares the variables `declared`; `command` has what the command
    /// decided for all units. A profile that the command line or `STEAD_PROFILE` names is used for all units.
    ///
    /// # Errors
    /// When the unit's profile has an invalid value.
    pub(in crate::cli) fn merge_for_unit(
        &self,
        command: &Settings,
        root: &Path,
        unit: &Unit,
        declared: impl Fn(&str) -> bool,
    ) -> Result<Settings, SettingsError> {
        let profile = self.flags.profile.clone().or_else(|| self.profile_of(unit).cloned());
        let vars = self.flags.vars.iter().filter_map(|(name, value)| {
            let (whose, name) = split_variable(name);
            let reaches = whose.map_or_else(|| declared(name), |whose| whose == unit.name.to_string());
            reaches.then(|| (Name::new(name), value.clone()))
        });
        let flags = GlobalArgs {
            profile,
            dir: Some(unit_directory(root, unit)),
            env: unit.has_environments.then(|| unit.name.environment.clone()),
            vars: vars.collect(),
            ..self.flags.clone()
        };
        let mut merged = merge(flags, &self.variables, &self.profiles)?;
        // A variable that the environment of the process names for another purpose selects no environment here.
        merged.env = unit.has_environments.then(|| unit.name.environment.clone());
        merged.env_vars.retain(|name, _| declared(name));
        merged.needs_secrets = command.needs_secrets;
        merged.set_trust(!command.untrusted);
        Ok(merged)
    }

    /// Returns the `--var` flags that reach none of the units: no stack declares the variable, or no unit has the name.
    pub(in crate::cli) fn unused_variables(
        &self,
        units: &[&Unit],
        declares: impl Fn(&Unit, &str) -> bool,
    ) -> Vec<Name> {
        let is_used = |name: &Name| {
            let (whose, name) = split_variable(name);
            units.iter().any(|unit| {
                whose.is_none_or(|whose| whose == unit.name.to_string()) && declares(unit, name)
            })
        };
        self.flags.vars.iter().map(|(name, _)| name).filter(|name| !is_used(name)).cloned().collect()
    }
}

/// Splits `UNIT:NAME` into the unit and the variable; without a unit the variable is for all of them.
pub(in crate::cli) fn split_variable(name: &Name) -> (Option<&str>, &str) {
    name.rsplit_once(':').map_or((None, name.as_str()), |(unit, name)| (Some(unit), name))
}

/// Returns the directory of a unit's stack.
pub(in crate::cli) fn unit_directory(root: &Path, unit: &Unit) -> PathBuf {
    if unit.directory == "." { root.to_owned() } else { root.join(unit.directory.as_str()) }
}
