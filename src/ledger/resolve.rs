//! Which live objects could be what an open creation made: pure, for plan and apply alike.

use super::entry::{Intent, Ledger};
use crate::model::snapshot::Object;

/// Returns the objects that could have come of an open creation: of its kind, in its project or
/// under its parent, not in its baseline, owned by no address, and showing every expected attribute.
#[must_use]
pub fn candidates<'a>(
    _intent: &Intent,
    _ledger: &Ledger,
    _objects: impl IntoIterator<Item = &'a Object>,
) -> Vec<&'a Object> {
    unimplemented!("LEDGER")
}
