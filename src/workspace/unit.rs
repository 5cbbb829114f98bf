//! `Unit`: a stack in one environment. Its name, `stack/environment`, is unique in a repository, because it owns the
//! ledger of this name.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::address::{Name, is_legal_segment};
use crate::model::source::SourceLocation;

/// Name of a unit, displayed as `stack/environment`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName {
    /// Name of the stack, as `stack:` declares it.
    pub stack: Name,
    /// Name of the environment; `default` for a stack that declares none.
    pub environment: Name,
}

impl UnitName {
    /// Parses `stack/environment`; `None` if it is no such name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (stack, environment) = text.split_once('/')?;
        let is_legal = is_legal_segment(stack) && is_legal_segment(environment);
        is_legal.then(|| Self { stack: stack.into(), environment: environment.into() })
    }
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
    /// Whether the repository has its stack or environment no longer: only its ledger is left. The directory is then the
    /// one that the ledger was applied from.
    pub is_removed: bool,
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
    /// The outputs that the stack reads; `None` if that is not known, since the stack has errors.
    pub reads: Option<BTreeSet<Name>>,
    /// Where the reading stack names it.
    pub source: SourceLocation,
    /// Why an output that the stack reads does not fit as it is declared now; `None` if all do.
    pub misfit: Option<String>,
}

impl UpstreamUnit {
    /// Returns whether the stack reads an output, or may read it.
    #[must_use]
    pub fn may_read(&self, output: &Name) -> bool {
        self.reads.as_ref().is_none_or(|reads| reads.contains(output))
    }
}
