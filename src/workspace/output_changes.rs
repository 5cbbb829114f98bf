//! Which outputs of a unit have another value after an apply than its ledger has. In: the planned outputs, and the ledger.
//! Out: whether a reader of an output would get another value, or one that is not known. Pure.

use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::values::value::{Attributes, Value};

/// Returns whether an output changes, or may change: its planned value is unknown, or not the one in the ledger. A secret
/// is compared with the one that the ledger keeps; one that is withheld from this run counts as unchanged.
#[must_use]
pub fn is_changed(name: &Name, planned: &Attributes, ledger: &Ledger) -> bool {
    let recorded = ledger.outputs.as_ref().and_then(|outputs| outputs.get(name));
    match (planned.get(name), recorded) {
        (None, None) => false,
        (Some(Value::Secret(secret)), Some(_)) if secret.expose().is_some() => {
            !ledger.keeps_output(name, secret)
        }
        (Some(Value::Secret(secret)), Some(_)) => !secret.is_withheld(),
        (Some(value), Some(recorded)) => value.is_unknown() || value != recorded,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::state::entry::LedgerIdentity;
    use crate::model::values::secret::Secret;

    #[test]
    fn an_output_changes_if_its_value_is_another_one_or_not_known() {
        let mut ledger = Ledger::new(LedgerIdentity::new_placeholder("net", "prod"));
        let secret = || Value::Secret(Secret::new("token"));
        let recorded = [("same", Value::text("a")), ("gone", Value::text("a")), ("secret", secret())];
        ledger.outputs = Some(recorded.into_iter().map(|(name, value)| (name.into(), value)).collect());
        for (name, planned, changes) in [
            ("same", Some(Value::text("a")), false),
            ("same", Some(Value::text("b")), true),
            ("same", Some(Value::Unknown(Vec::new())), true),
            ("same", Some(Value::List(vec![Value::Unknown(Vec::new())])), true),
            ("gone", None, true),
            ("new", Some(Value::text("a")), true),
            ("neither", None, false),
            // The ledger keeps no secret: whether it is the same cannot be known.
            ("secret", Some(secret()), true),
            ("secret", Some(Value::Secret(Secret::new_withheld())), false),
        ] {
            let name = Name::new(name);
            let planned = planned.map(|value| (name.clone(), value)).into_iter().collect();
            assert_eq!(is_changed(&name, &planned, &ledger), changes, "{name} {planned:?}");
        }
    }
}
