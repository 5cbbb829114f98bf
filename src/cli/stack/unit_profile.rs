//! The settings of a command on one stack, whose unit the user's rules give a profile. In: the settings without these
//! rules. Out: the settings that `--all` would use for the unit, so that both plan against the same account and ledger.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::process::settings::unit_settings::UnitSettings;
use crate::cli::process::settings::{PeerSettings, Settings};
use crate::cli::process::settings_error::SettingsError;
use crate::cli::stack::{project, repository_walk};
use crate::model::address::Name;

/// Returns the settings with the profile of the unit that they select, and with those of other units, whose ledgers the
/// stack may read. The same settings without rules for units, without a readable stack, and if its environment is not
/// known.
///
/// # Errors
/// When a profile has an invalid value.
pub(in crate::cli) fn with_profile_of_unit(
    settings: Settings,
    sources: &UnitSettings,
) -> Result<Settings, SettingsError> {
    if !sources.gives_profiles() {
        return Ok(settings);
    }
    let Ok(Some(header)) = project::read_header(&settings, &settings.dir) else { return Ok(settings) };
    // A stack without environments ignores one that a variable selects.
    let requested = settings.env.clone().filter(|_| !header.environments.is_empty());
    let environment = requested.unwrap_or_else(|| header.default.clone());
    let directory = stack_files::full_path(&settings.dir);
    let root = SharedRoot::find_root(&directory, false).root;
    let units = repository_walk::units_of(&header, &repository_walk::relative_name(&root, &directory));
    let Some(unit) = units.iter().find(|unit| unit.name.environment == environment) else {
        return Ok(settings);
    };
    let profile = sources.profile_of(unit);
    let mut merged = match profile {
        None => settings,
        Some(profile) => {
            let mut merged = sources.merge_with_profile(profile)?;
            merged.set_trust(!settings.untrusted);
            // The environment selected the profile, and not the other way round.
            let env = unit.has_environments.then_some(environment).or(settings.env);
            Settings { env, needs_secrets: settings.needs_secrets, said: settings.said, ..merged }
        }
    };
    if !header.stacks.is_empty() || header.has_moves {
        merged.peers = peer_settings(&merged, sources, (&root, &directory), profile)?;
    }
    Ok(merged)
}

/// Returns the settings of the units of other stacks that have another profile.
fn peer_settings(
    own: &Settings,
    sources: &UnitSettings,
    (root, directory): (&Path, &Path),
    profile: Option<&Name>,
) -> Result<PeerSettings, SettingsError> {
    let mut peers: Vec<((PathBuf, Name), Settings)> = Vec::new();
    for found in repository_walk::find_stacks(own, root) {
        let Some(header) = found.header().filter(|_| found.directory != directory) else { continue };
        let place = repository_walk::relative_name(root, &found.directory);
        for unit in repository_walk::units_of(header, &place) {
            if sources.profile_of(&unit) != profile {
                let declares = |name: &str| header.variables.contains(name);
                let settings = sources.merge_for_unit(own, root, &unit, declares)?;
                peers.push(((found.directory.clone(), unit.name.environment), settings));
            }
        }
    }
    Ok(Arc::new(peers.into_iter().collect()))
}
