//! `OpenOptions`: the parameters for opening a ledger, the same for every store.

use std::time::Duration;

use crate::ledger::journal::mac::MacKey;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};

/// The parameters for opening a ledger for writing, or for inspecting its lease. A store ignores those that its
/// lock does not need.
#[derive(Clone)]
pub struct OpenOptions<'a> {
    /// The identity for a new ledger; for an existing one stack and environment must match.
    pub identity: &'a LedgerIdentity,
    /// The holder that opens it. A state server shows a lock only to a client that tries to take it, so an inspection
    /// has a holder, too.
    pub holder: LeaseHolder,
    /// The maximum time until a request of a displaced holder takes effect.
    pub effect: Duration,
    /// Returns whether a process is proven dead.
    pub is_dead: &'a dyn Fn(&ProcessIdentity) -> bool,
    /// The reason for taking the lease from its holder; `None` never takes it by force.
    pub force: Option<&'a str>,
    /// The MAC key of the ledger; `None` when it has none.
    pub seal: Option<&'a MacKey>,
}

impl<'a> OpenOptions<'a> {
    /// Returns the parameters that take nothing from another holder: no process counts as dead, and nothing is forced.
    #[must_use]
    pub fn new(identity: &'a LedgerIdentity, holder: LeaseHolder, effect: Duration) -> Self {
        Self { identity, holder, effect, is_dead: &|_| false, force: None, seal: None }
    }
}
