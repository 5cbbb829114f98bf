//! The holder of a ledger that is open for writing.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::address::Name;

/// The holder of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// A unique id that distinguishes it from every other holder, of the same process too.
    pub session: Uuid,
    /// The actor, as `user@host`.
    pub who: String,
    /// The process, where its death can be proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessIdentity>,
    /// The start time by its own clock, for display.
    pub since: Timestamp,
}

impl LeaseHolder {
    /// Returns the display text: `ada@build-7, process 123, since 2026-11-21 12:01:02 UTC`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let process = self.process.as_ref().map_or_else(String::new, |p| format!(", process {}", p.id));
        format!("{}{process}, since {}", self.who, self.since.strftime("%Y-%m-%d %H:%M:%S UTC"))
    }
}

/// A process, with a worldwide unique identification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The random id of the machine's boot.
    pub boot: Name,
    /// The namespace of its number: containers of one machine share the boot.
    pub namespace: Name,
    /// The number of the process on its machine.
    pub id: u32,
    /// The start time, in ticks since the boot.
    pub started: u64,
}
