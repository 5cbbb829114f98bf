//! Who has a ledger open for writing.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::address::Name;

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// Told apart from every other holder, of the same process too.
    pub session: Uuid,
    /// `user@host`.
    pub who: String,
    /// Its process, where that can be proven dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessIdentity>,
    /// Since when, by its own clock: for people.
    pub since: Timestamp,
}

impl LeaseHolder {
    /// Returns the holder in words: `ada@build-7, process 123, since 2026-11-21 12:01:02 UTC`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let process = self.process.as_ref().map_or_else(String::new, |p| format!(", process {}", p.id));
        format!("{}{process}, since {}", self.who, self.since.strftime("%Y-%m-%d %H:%M:%S UTC"))
    }
}

/// A process, told apart from every other one that ever ran anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Random id of the machine's boot.
    pub boot: Name,
    /// The namespace in which its number counts: containers of one machine share the boot.
    pub namespace: Name,
    /// Its number.
    pub id: u32,
    /// When it started, in ticks since the boot.
    pub started: u64,
}
