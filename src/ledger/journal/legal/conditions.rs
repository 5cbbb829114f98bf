//! Conditions that several records share.

use crate::ledger::state::entry::OwnedObject;
use crate::ledger::state::ledger::Ledger;

/// Checks that an object was not deleted: the service never reuses ids. A child's id may be its
/// name, which can be reused.
pub(super) fn check_alive(ledger: &Ledger, kind: &str, object: &OwnedObject) -> Result<(), &'static str> {
    let ghost = object.parent.is_none() && ledger.is_buried(kind, &object.id);
    require_legal(!ghost, "the object was deleted, and its absence is proven")
}

/// Returns the reason as an error unless the condition holds.
pub(super) fn require_legal(legal: bool, reason: &'static str) -> Result<(), &'static str> {
    if legal { Ok(()) } else { Err(reason) }
}
