//! The source of the identity that decrypts stored secrets: the variable, else the user's settings. Pure.

use std::path::PathBuf;

use super::env::EnvVariables;
use super::settings_error::SettingsError;
use crate::model::values::secret::Secret;

/// Source of an age identity. Never a stack, and never an argument, which other processes can read.
#[derive(Debug, Clone, PartialEq)]
pub enum IdentitySource {
    /// The variable contains the identity itself, a private key.
    Text(Secret),
    /// A file that belongs to the user.
    File(PathBuf),
    /// A command of the user's settings that prints it, with its arguments.
    Command(Vec<String>),
}

/// Variable that contains an identity, or the path of a file with one.
pub(in crate::cli) const AGE_IDENTITY: &str = "STEAD_AGE_IDENTITY";

/// Returns the source of the identity; the variable takes precedence over the settings, a file over a command.
/// `None` if none is configured.
///
/// # Errors
/// When the settings contain the private key itself: their file need not be private.
pub(in crate::cli) fn age_identity(
    variables: &EnvVariables,
    file: Option<String>,
    command: Option<Vec<String>>,
) -> Result<Option<IdentitySource>, SettingsError> {
    let is_key = |text: &str| text.trim_start().to_ascii_uppercase().starts_with("AGE-SECRET-KEY-");
    if let Some(text) = variables.get(AGE_IDENTITY).filter(|text| !text.is_empty()) {
        let source = if is_key(text) {
            IdentitySource::Text(Secret::new(text.trim()))
        } else {
            IdentitySource::File(text.into())
        };
        return Ok(Some(source));
    }
    match (file, command) {
        (Some(text), _) if is_key(&text) => Err(SettingsError::Identity),
        (Some(path), _) => Ok(Some(IdentitySource::File(path.into()))),
        (None, command) => Ok(command.map(IdentitySource::Command)),
    }
}
