//! Errors of the settings. Each of them is wrong usage: nothing is read or sent after one.

use thiserror::Error;

use super::profile::ProfileError;
use crate::model::address::Name;

/// Why the settings are invalid. All of these exit with the code of wrong usage.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The value of a variable is not allowed.
    #[error("{variable} is `{value}`; it can be {allowed}")]
    Value {
        /// Name of the environment variable.
        variable: &'static str,
        /// Value that the variable has; not secret.
        value: String,
        /// Description of the allowed values, as a list.
        allowed: String,
    },
    /// A URL is not safe to send a key to.
    #[error("{url} is not a valid URL of the service: {reason}")]
    Url {
        /// The URL, without a password.
        url: String,
        /// Why the URL is refused, as a clause.
        reason: &'static str,
    },
    /// The user's settings file is invalid.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A flag contains a password, which every user of the machine can read.
    #[error(
        "--backend contains a password or options, and every user of this machine can read flags; set STEAD_BACKEND instead"
    )]
    Password,
    /// The settings contain a private key; other users may read their file.
    #[error(
        "`age_identity` in the settings is the private key itself; write it to a file (chmod 600) and name that file"
    )]
    Identity,
    /// A variable is set by two `--var` flags.
    #[error("--var {0} is given twice")]
    Twice(Name),
}
