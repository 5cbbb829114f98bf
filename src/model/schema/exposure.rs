//! `Exposure`: a built-in advisory policy about what an object opens to others. In: a row in the table of its kind. Out: the
//! code, the texts and the condition, from which the plan, the check for drift and `explain` derive. Invariant: a
//! condition reads only attributes of its own kind, and what the service does not show is no exposure.

use super::Literal;

/// A built-in policy of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    /// Its code, `X01` …: a silencer names it. Kinds may share a row.
    pub code: &'static str,
    /// What is open, as a clause about the object.
    pub text: &'static str,
    /// When the object is exposed.
    pub check: ExposureCheck,
    /// What the code means, in sentences.
    pub meaning: &'static str,
    /// What the user can do about it, in sentences.
    pub remedy: &'static str,
    /// Whether every object begins with it, unless the configuration says otherwise: then creating one opens nothing that
    /// was closed.
    pub is_default: bool,
}

/// The condition of an exposure. A value that is not known does not meet it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExposureCheck {
    /// A boolean is true, and a list of networks is empty.
    OpenToAll {
        /// The boolean attribute.
        open: &'static str,
        /// The list of networks.
        allowlist: &'static str,
    },
    /// A boolean is true, and a list of networks is too wide.
    WideAllowlist {
        /// The boolean attribute.
        open: &'static str,
        /// The list of networks.
        allowlist: &'static str,
        /// The shortest prefix that a single network may have.
        shortest_prefix: u8,
        /// The most addresses that all networks may have together.
        most_addresses: u64,
    },
    /// An attribute has one of these values, and the object was created before a day (UTC).
    CreatedBefore {
        /// The attribute.
        attribute: &'static str,
        /// The values to which it applies.
        values: &'static [&'static str],
        /// The day, as `2026-10-13`.
        day: &'static str,
    },
    /// A time of expiry is not set, or is more than a year ahead.
    LongLived {
        /// The attribute with the time.
        attribute: &'static str,
    },
    /// The catalog name of a role is one of the privileged ones.
    PrivilegedRole {
        /// The attribute with the role.
        attribute: &'static str,
        /// The kind, or the attribute that refers to it, whose role it is: another holder does not count.
        holder: &'static str,
    },
    /// The configuration does not write an attribute, and it has this value.
    LeftAt {
        /// The attribute.
        attribute: &'static str,
        /// The value, which is also the default.
        value: Literal,
    },
}

impl ExposureCheck {
    /// Returns whether the result depends on the time of the check.
    #[must_use]
    pub const fn depends_on_time(&self) -> bool {
        matches!(self, Self::LongLived { .. })
    }
}
