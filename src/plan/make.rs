//! `make`: the whole way from stack, ledger and snapshot to a `Plan`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::change::Plan;
use crate::config::stack::Stack;
use crate::ledger::entry::Ledger;
use crate::model::address::{Address, Name};
use crate::model::catalog::Catalog;
use crate::model::schema::Registry;
use crate::model::snapshot::{Snapshot, Wanted};

/// Everything that a plan is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The tables.
    pub registry: Registry,
    /// What is wanted.
    pub stack: &'a Stack,
    /// What is remembered.
    pub ledger: &'a Ledger,
    /// What is live.
    pub snapshot: &'a Snapshot,
    /// Names and prices as read today.
    pub catalog: &'a Catalog,
    /// Names and prices as pinned in `stead.lock`.
    pub pinned: Option<&'a Catalog>,
    /// What was asked for on the command line.
    pub options: &'a Options,
    /// When the plan is made.
    pub now: Timestamp,
    /// Makes the plan applicable once.
    pub nonce: Uuid,
}

/// What was asked for on the command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Remove everything that is not protected.
    pub destroy: bool,
    /// The deletion budget does not count.
    pub allow_deletes: bool,
    /// Only these and what they need; empty for all.
    pub targets: BTreeSet<Address>,
    /// Not these, nor what needs them.
    pub excluded: BTreeSet<Address>,
    /// Live objects to adopt, by id.
    pub adopt: BTreeMap<Address, Name>,
    /// The project of project-scoped resources of a stack without a `project` block: a name or id.
    pub project: Option<Name>,
}

/// Returns what must be read from the live world, and the catalog tables, before `make`.
#[must_use]
pub fn wanted<'a>(
    _registry: Registry,
    _stack: &Stack,
    _ledger: &Ledger,
    _options: &Options,
) -> (Wanted, BTreeSet<&'a str>) {
    unimplemented!("PLAN")
}

/// Makes the plan. Problems that only the live world shows become `Block`s: the plan is always whole.
#[must_use]
pub fn make(_inputs: &Inputs<'_>) -> Plan {
    unimplemented!("PLAN")
}
