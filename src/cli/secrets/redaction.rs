//! Redacts live attributes for display: the service returns a secret like any other string.

use crate::kinds::REGISTRY;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::live::snapshot::Object;
use crate::model::values::secret::FingerprintKey;
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::compare;

/// Returns the last applied and the live attributes of an object, with every value redacted that the ledger records
/// as a secret, and every part of a private attribute that stead did not apply. Without a ledger (`None`), or for an
/// object that the ledger does not own, the applied ones are empty.
pub(in crate::cli) fn redact_applied_and_live(
    ledger: Option<&Ledger>,
    object: &Object,
) -> (Attributes, Attributes) {
    let owns = |entry: &&Entry| {
        let mut owned = entry.current.iter().chain(&entry.deposed);
        entry.kind == object.kind && owned.any(|owned| owned.key(&entry.kind) == object.key())
    };
    let entry = ledger.and_then(|ledger| ledger.entries.values().find(owns));
    let applied = entry.map(|entry| entry.applied.clone()).unwrap_or_default();
    let own = ledger.map_or(&FingerprintKey::NONE, |ledger| &ledger.identity.key);
    // The fingerprints of an entry that came from another ledger have that ledger's key.
    let origin = entry.and_then(|entry| entry.secret_origin.as_ref());
    let key = origin.map_or(own, |origin| &origin.key);
    let kind = REGISTRY.kind(&object.kind);
    let seal = |(name, live): (&Name, &Value)| {
        let attribute = kind.and_then(|kind| kind.attribute(name));
        let seal = |attribute| compare::protect_live_value(attribute, [applied.get(name), None], live, key);
        (name.clone(), attribute.map_or_else(|| live.clone(), seal))
    };
    let live = object.attributes.iter().map(seal).collect();
    (applied, live)
}
