//! `Unit`: a stack in one environment. Its name, `stack/environment`, is unique in a repository, because it owns the
//! ledger of this name.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::address::Name;
use crate::model::source::SourceLocation;

/// Name of a unit, displayed as `stack/environment`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName {
    /// Name of the stack, as `stack:` declares it.
    pub stack: Name,
    /// Name of the environment; `default` for a stack that declares none.
    pub environment: Name,
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.stack, self.environment)
    }
}

impl Serialize for UnitName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A stack in one environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its name, under which its ledger is stored.
    pub name: UnitName,
    /// Directory of the stack, relative to the root, with `/` between its parts; `.` for the root itself.
    pub directory: Name,
    /// Whether the stack declares environments; one that declares none is left out when an environment is selected.
    pub has_environments: bool,
    /// The units whose outputs it reads.
    pub upstream: Vec<UpstreamUnit>,
}

/// A unit whose outputs another one reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUnit {
    /// Name under `stacks` in the reading stack.
    pub alias: Name,
    /// The unit that has the outputs.
    pub unit: UnitName,
    /// Where the reading stack names it.
    pub source: SourceLocation,
}
