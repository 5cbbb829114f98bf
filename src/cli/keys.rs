//! Which key is used: the environment's, what the user's program prints, or the stored one.

use super::credentials::{self, Place};
use super::exit::Exit;
use super::failure::Failure;
use super::key_command;
use super::settings::Settings;
use crate::cloud::transport::origin;
use crate::model::secret::Secret;

/// Where a key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// `STEAD_API_KEY`.
    Variable,
    /// The program of the profile.
    Program,
    /// The file of stored keys.
    Stored,
}

/// Returns the key for the service at an address.
///
/// # Errors
/// When there is none, or where it should come from cannot be used.
pub(super) fn find(settings: &Settings, url: &str) -> Result<Secret, Failure> {
    found(settings, url).map(|(key, _)| key)
}

/// Returns the key for the service at an address, and where it comes from.
///
/// # Errors
/// When there is none, or where it should come from cannot be used.
pub(super) fn found(settings: &Settings, url: &str) -> Result<(Secret, Origin), Failure> {
    if let Some(key) = &settings.api_key {
        return Ok((key.clone(), Origin::Variable));
    }
    // A plan of a stack that is not trusted runs nothing.
    if let Some(words) = settings.key_command.as_ref().filter(|_| !settings.untrusted) {
        return key_command::run(words, &settings.helper_env).map(|key| (key, Origin::Program));
    }
    let wrong = |error: crate::cloud::transport::SetupError| Failure::new(Exit::Usage, error.to_string());
    let origin = origin(url).map_err(wrong)?;
    let place = Place { origin: &origin, profile: settings.profile.as_ref() };
    let stored = match &settings.config_dir {
        Some(directory) => credentials::find(directory, place)?,
        None => None,
    };
    stored.map(|key| (key, Origin::Stored)).ok_or_else(|| {
        let profile = settings.profile.as_ref().map(|name| format!(" -p {name}")).unwrap_or_default();
        Failure::new(Exit::Refused, format!("there is no API key for {origin}"))
            .help(format!("Store one with stead login{profile}, or set STEAD_API_KEY."))
            .help("No flag takes it: flags can be seen by every process.")
    })
}
