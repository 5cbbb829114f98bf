//! Fingerprints of entries that came from another ledger, made again with this ledger's key.
//!
//! In: the ledger, the stack's values and the live objects. Out: the ledger in which every fingerprint whose secret is
//! available has this ledger's key; one that does not exist yet gets the key of a ledger that its entries leave.
//! Invariant: a fingerprint is replaced only by one of the same secret; one whose secret is not available stays, and is
//! equal to no fingerprint of this ledger.

use std::borrow::Cow;

use crate::config::stack::model::Stack;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::Snapshot;
use crate::model::values::secret::{FingerprintKey, Secret, is_same_fingerprint};
use crate::model::values::value::Value;

/// Returns the ledger with this ledger's fingerprints, as far as the secrets are available.
pub(in crate::plan) fn with_own_fingerprints<'l>(
    stack: &Stack,
    snapshot: &Snapshot,
    ledger: Cow<'l, Ledger>,
) -> Cow<'l, Ledger> {
    let Some(origin) = ledger.entries.values().find_map(|entry| entry.secret_origin.as_ref()) else {
        return ledger;
    };
    let first = origin.key.clone();
    let mut ledger = ledger.into_owned();
    if ledger.identity.key.is_none() {
        // A ledger that does not exist yet has no key: what arrives is compared with the key of the first ledger that it leaves.
        ledger.identity.key = first;
    }
    let own = ledger.identity.key.clone();
    for (address, entry) in &mut ledger.entries {
        // An entry of this ledger stays as it is.
        rekey_entry(stack, snapshot, (address, entry), &own);
    }
    Cow::Owned(ledger)
}

fn rekey_entry(
    stack: &Stack,
    snapshot: &Snapshot,
    (address, entry): (&Address, &mut Entry),
    own: &FingerprintKey,
) {
    let Some(origin) = entry.secret_origin.clone() else { return };
    let keys = (&origin.key, own);
    let live = entry.current.as_ref().and_then(|owned| snapshot.objects.get(&owned.key(&entry.kind)));
    let resource = stack.resources.get(address);
    let candidates = |name: &Name| {
        let written = resource.and_then(|resource| resource.attributes.get(name));
        let written = written.and_then(|setting| setting.expression.known_value());
        let shown = live.and_then(|live| live.attributes.get(name));
        [written, shown]
    };
    for (name, value) in &mut entry.applied {
        for candidate in candidates(name).into_iter().flatten() {
            *value = rekey_value(value, candidate, keys);
        }
    }
    // What the service did not keep is only explained, and read again after the next write.
    let unread: Vec<Name> =
        entry.verified.iter().flat_map(|verified| verified.not_kept.keys().cloned()).collect();
    if let Some(verified) = &mut entry.verified {
        verified.not_kept.retain(|_, value| !has_fingerprint(value));
        verified.not_shown.extend(unread.into_iter().filter(|path| !path.contains('.')));
    }
    if !entry.applied.values().any(has_fingerprint) {
        entry.secret_origin = None;
    }
}

fn has_fingerprint(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::List(items) => items.iter().any(has_fingerprint),
        Value::Map(parts) => parts.values().any(has_fingerprint),
        _ => false,
    }
}

/// Returns a recorded value with this ledger's fingerprint of the candidate wherever it has the other ledger's one.
fn rekey_value(recorded: &Value, candidate: &Value, keys: (&FingerprintKey, &FingerprintKey)) -> Value {
    match (recorded, candidate) {
        (Value::Secret(recorded), candidate) => {
            let plain = match candidate {
                Value::Secret(secret) => secret.clone(),
                Value::Text(text) => Secret::new(text.as_str()),
                Value::List(_) | Value::Map(_) | Value::Null | Value::Unknown(_) => {
                    return Value::Secret(recorded.clone());
                }
                scalar => Secret::new(scalar.to_string()),
            };
            Value::Secret(if is_same_secret(recorded, &plain, keys.0) {
                plain.to_recorded(keys.1)
            } else {
                recorded.clone()
            })
        }
        (Value::Map(parts), Value::Map(candidates)) => {
            let part = |(name, part): (&_, &Value)| {
                let candidate = candidates.get(name).unwrap_or(&Value::Null);
                (Clone::clone(name), rekey_value(part, candidate, keys))
            };
            Value::Map(parts.iter().map(part).collect())
        }
        // The service may return a list in another order.
        (Value::List(items), Value::List(candidates)) => {
            let item = |item: &Value| {
                candidates.iter().fold(item.clone(), |item, candidate| rekey_value(&item, candidate, keys))
            };
            Value::List(items.iter().map(item).collect())
        }
        (recorded, _) => recorded.clone(),
    }
}

/// Returns whether a recorded secret is one of this stack. What this stack computes, as from an output of the stack that the
/// resource leaves, is the same secret if it has the same text.
fn is_same_secret(recorded: &Secret, plain: &Secret, key: &FingerprintKey) -> bool {
    let Some(print) = plain.fingerprint(key) else { return false };
    match (recorded, plain) {
        (Secret::Fingerprint(Some(recorded)), Secret::Derived(_)) => is_same_fingerprint(recorded, &print),
        _ => plain.to_recorded(key) == *recorded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: FingerprintKey = FingerprintKey([1; 32]);
    const OWN: FingerprintKey = FingerprintKey([2; 32]);

    fn recorded(text: &str, key: &FingerprintKey) -> Value {
        Value::Secret(Secret::new(text).to_recorded(key))
    }

    #[test]
    fn a_fingerprint_is_replaced_only_by_one_of_the_same_secret() {
        let rekey = |value: &Value, candidate: &Value| rekey_value(value, candidate, (&THEIRS, &OWN));
        let secret = |text: &str| Value::Secret(Secret::new(text));
        let before = recorded("old", &THEIRS);
        assert_eq!(rekey(&before, &secret("old")), recorded("old", &OWN));
        assert_eq!(rekey(&before, &Value::text("old")), recorded("old", &OWN), "as the service shows it");
        assert_eq!(rekey(&before, &secret("new")), before);
        assert_eq!(rekey(&before, &Value::Null), before);
        let own = recorded("old", &OWN);
        assert_eq!(rekey(&own, &secret("old")), own, "it has this key already");
        let list = |items: &[&Value]| Value::List(items.iter().map(|item| (*item).clone()).collect());
        let (a, b) = (recorded("a", &THEIRS), recorded("b", &THEIRS));
        let found = rekey(&list(&[&a, &b]), &list(&[&secret("b"), &secret("c")]));
        assert_eq!(found, list(&[&a, &recorded("b", &OWN)]));
        let map = |part: &Value| Value::Map([("k".into(), part.clone())].into_iter().collect());
        assert_eq!(rekey(&map(&a), &map(&secret("a"))), map(&recorded("a", &OWN)));
        assert_eq!(rekey(&Value::Integer(3), &Value::Integer(4)), Value::Integer(3));
    }
}
