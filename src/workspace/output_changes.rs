//! Which outputs of a unit have another value after an apply than its ledger has, and which units read them. In: the planned
//! outputs, the ledger, and the units of the repository. Out: whether a reader of an output would get another value, or one
//! that is not known; and a plan that names the readers, and is blocked if it removes what one of them reads. Pure.

use std::collections::BTreeSet;

use super::unit::{Unit, UnitName};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code::OUTPUT_READ;
use crate::model::values::value::{Attributes, Value};
use crate::plan::artifact::fingerprint::with_blockers;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::plan::model::output::{OutputAction, PlannedOutput};

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

/// Returns the plan of a unit with the units that read each of its outputs. An output that is removed and that a unit reads
/// blocks it; in a destroy, the units themselves are checked.
#[must_use]
pub fn with_readers(mut plan: Plan, name: &UnitName, units: &[&Unit]) -> Plan {
    for output in &mut plan.planned_outputs {
        let reads = |unit: &&Unit| {
            unit.upstream.iter().any(|edge| edge.unit == *name && edge.reads.contains(&output.name))
        };
        let readers: BTreeSet<Name> =
            units.iter().copied().filter(reads).map(|unit| Name::new(unit.name.to_string())).collect();
        output.readers = readers.into_iter().collect();
    }
    let is_taken = |output: &&PlannedOutput| {
        output.action() == OutputAction::Remove && !output.readers.is_empty() && !plan.base.destroy
    };
    let blockers: Vec<Blocker> =
        plan.output_changes().filter(is_taken).map(removed_output_blocker).collect();
    with_blockers(plan, blockers)
}

fn removed_output_blocker(output: &PlannedOutput) -> Blocker {
    let readers: Vec<&str> = output.readers.iter().map(Name::as_str).collect();
    let (verb, stacks) =
        if readers.len() == 1 { ("reads", "that stack") } else { ("read", "these stacks") };
    Blocker {
        code: OUTPUT_READ.code.into(),
        address: None,
        text: format!(
            "The output `{}` would be removed, and {} still {verb} it.",
            output.name,
            readers.join(", ")
        ),
        help: format!("Keep the output under `outputs`; or remove what reads it from {stacks} first."),
        source: None,
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
