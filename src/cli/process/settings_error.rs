//! Why the settings do not hold together. Each of these is wrong usage: nothing is read or sent after one.

use thiserror::Error;

use super::profile::ProfileError;
use crate::model::address::Name;

/// Why settings do not hold together. All of these are wrong usage.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A variable's value is none of those allowed.
    #[error("{variable} is `{value}`; it can be {allowed}")]
    Value {
        /// The variable.
        variable: &'static str,
        /// What it holds.
        value: String,
        /// What it may hold.
        allowed: String,
    },
    /// An address is not one that a key may be sent to.
    #[error("{url} is no address of the service: {reason}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The user's settings do not hold together.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A password stands where every user of the machine can read it.
    #[error(
        "--backend holds a password or options, and every user of this machine can read flags; \
         set STEAD_BACKEND in place of it"
    )]
    Password,
    /// A private key stands in a file that others may read.
    #[error(
        "`age_identity` in the settings is the private key itself; write it to a file (chmod 600) and name that file"
    )]
    Identity,
    /// A variable is given twice by flag.
    #[error("--var {0} is given twice")]
    Twice(Name),
}
