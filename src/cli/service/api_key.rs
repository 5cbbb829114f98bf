//! Selects the API key, in this order: from the environment, from the user's key command, or the stored one in the
//! file or the system's keychain. An untrusted stack gets only the read-only key.

use super::credentials::{self, CredentialScope, KeyStorage};
use super::{key_command, keychain};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cloud::http::https_transport::{SetupError, parse_origin};
use crate::model::values::secret::Secret;

/// Source of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum ApiKeySource {
    /// The environment variable `STEAD_API_KEY`.
    Variable,
    /// The environment variable `STEAD_READONLY_API_KEY`.
    ReadOnly,
    /// The key command of the profile.
    Program,
    /// The file of stored keys.
    Stored,
    /// The keychain of the operating system.
    Keychain,
}

/// Returns the key for the service at a URL.
///
/// # Errors
/// Those of `find_with_origin`.
pub(in crate::cli) fn find_api_key(settings: &Settings, url: &str) -> Result<Secret, CliFailure> {
    find_with_origin(settings, url).map(|(key, _)| key)
}

impl ApiKeySource {
    /// Returns a noun phrase for messages.
    pub(in crate::cli) const fn origin_text(self) -> &'static str {
        match self {
            Self::Variable => "STEAD_API_KEY",
            Self::ReadOnly => "STEAD_READONLY_API_KEY",
            Self::Program => "key_command of the profile",
            Self::Stored => "the file of stored keys",
            Self::Keychain => "the system's keychain",
        }
    }

    /// Returns the identifier for JSON output.
    pub(in crate::cli) const fn origin_keyword(self) -> &'static str {
        match self {
            Self::Variable | Self::ReadOnly => "variable",
            Self::Program => "key_command",
            Self::Stored => "file",
            Self::Keychain => "keychain",
        }
    }
}

/// Returns the read-only key for an untrusted stack: whatever such a stack makes this program do, the key can only
/// read. Other secrets in the environment are refused, because the stack could use them.
fn read_only(settings: &Settings) -> Result<Secret, CliFailure> {
    if settings.api_key.is_some() {
        return Err(CliFailure::new(
            Exit::Usage,
            "--untrusted refuses to run where STEAD_API_KEY is set: that key may be able to write",
        )
        .help("Unset it, and set STEAD_READONLY_API_KEY to a key that can only read."));
    }
    if settings.age_identity.is_some() {
        return Err(CliFailure::new(
            Exit::Usage,
            "--untrusted refuses to run where an age identity is set: it decrypts kept secrets",
        )
        .help("Unset STEAD_AGE_IDENTITY, or choose a profile without `age_identity`: a plan needs none."));
    }
    settings.readonly_key.clone().ok_or_else(|| {
        CliFailure::new(Exit::Refused, "--untrusted needs STEAD_READONLY_API_KEY: a key that can only read")
            .help("It takes no stored key, and runs no program that prints one.")
    })
}

/// Returns the key for the service at a URL, and its source.
///
/// # Errors
/// When there is none, its source cannot be used, or an untrusted stack would have more than the read-only key.
pub(in crate::cli) fn find_with_origin(
    settings: &Settings,
    url: &str,
) -> Result<(Secret, ApiKeySource), CliFailure> {
    if settings.untrusted {
        return read_only(settings).map(|key| (key, ApiKeySource::ReadOnly));
    }
    if let Some(key) = &settings.api_key {
        return Ok((key.clone(), ApiKeySource::Variable));
    }
    if let Some(words) = &settings.key_command {
        return key_command::run(words, &settings.helper_env).map(|key| (key, ApiKeySource::Program));
    }
    let wrong = |error: SetupError| CliFailure::new(Exit::Usage, error.to_string());
    let origin = parse_origin(url).map_err(wrong)?;
    let place = CredentialScope { origin: &origin, profile: settings.profile.as_ref() };
    let stored = match &settings.config_dir {
        Some(directory) => credentials::find_stored_key(directory, place)?,
        None => None,
    };
    match stored {
        Some(KeyStorage::InFile(key)) => Ok((key, ApiKeySource::Stored)),
        Some(KeyStorage::Keychain) => {
            keychain::find(place, &settings.helper_env).map(|key| (key, ApiKeySource::Keychain))
        }
        None => {
            let profile = settings.profile.as_ref().map(|name| format!(" -p {name}")).unwrap_or_default();
            Err(CliFailure::new(Exit::Refused, format!("there is no API key for {origin}"))
                .help(format!("Store one with stead login{profile}, or set STEAD_API_KEY."))
                .help("No flag takes it: flags can be seen by every process."))
        }
    }
}

/// Returns the roles of a key in the projects that it is limited to. A key that is limited to none has its account role in all.
#[must_use]
pub(in crate::cli) fn format_project_roles(projects: &[(String, Option<String>)]) -> String {
    let shown = projects.iter().map(|(project, role)| match role {
        Some(role) => format!("{role} in {project}"),
        None => format!("a role in {project} that the service does not show"),
    });
    match projects {
        [] => "the account role, in all projects".to_owned(),
        _ => shown.collect::<Vec<_>>().join(", "),
    }
}
