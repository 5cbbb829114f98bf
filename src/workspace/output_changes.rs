//! Which outputs of a unit have another value after an apply than its ledger has, and which units read them. In: the planned
//! outputs, the ledger, and the units of the repository. Out: whether a reader of an output would get another value, or one
//! that is not known; and a plan that names the readers, and is blocked if it removes what one of them reads. Pure.

use std::collections::BTreeMap;

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

/// Returns the plan of a unit with the units that read each of its outputs, or may read it because what they read is not
/// known. An output that is removed, or gets another type than a reader needs, blocks it, and so does one that is removed while a stack
/// cannot be read, in one of the directories `unreadable`; in a destroy, the units themselves are checked.
#[must_use]
pub fn with_readers(mut plan: Plan, name: &UnitName, units: &[&Unit], unreadable: &[&Name]) -> Plan {
    let misfits = units.iter().filter(|_| !plan.base.destroy);
    let mut blockers: Vec<Blocker> =
        misfits.filter_map(|reader| misfit_blocker(&plan, name, reader)).collect();
    for output in &mut plan.planned_outputs {
        let edges = units.iter().flat_map(|unit| unit.upstream.iter().map(|edge| (&unit.name, edge)));
        let reading = edges.filter(|(_, edge)| edge.unit == *name && edge.may_read(&output.name));
        // Whether each is known to read it.
        let readers: BTreeMap<Name, bool> =
            reading.map(|(unit, edge)| (Name::new(unit.to_string()), edge.reads.is_some())).collect();
        let is_read = !(readers.is_empty() && unreadable.is_empty());
        let (known, possible): (BTreeMap<_, _>, BTreeMap<_, _>) =
            readers.into_iter().partition(|(_, is_known)| *is_known);
        output.readers = known.into_keys().collect();
        output.possible_readers = possible.into_keys().collect();
        if output.action() == OutputAction::Remove && is_read && !plan.base.destroy {
            blockers.push(removed_output_blocker(output, unreadable));
        }
    }
    with_blockers(plan, blockers)
}

/// Returns the blocker of a unit if an output that it changes does not fit any more where a reader reads it; `None` if it changes
/// no output that the reader reads, or all fit.
fn misfit_blocker(plan: &Plan, own: &UnitName, reader: &Unit) -> Option<Blocker> {
    let edge = reader.upstream.iter().find(|edge| edge.unit == *own && edge.misfit.is_some())?;
    let why = edge.misfit.as_deref()?;
    let mut changed = plan.output_changes().filter(|output| output.action() == OutputAction::Change);
    changed.any(|output| edge.may_read(&output.name)).then(|| Blocker {
        code: OUTPUT_READ.code.into(),
        address: None,
        text: format!("{} reads an output of this unit that does not fit there any more: {why}", reader.name),
        help: "Keep the type of the output, or change what reads it in the same commit: stead validate --all shows where."
            .to_owned(),
        source: None,
    })
}

fn removed_output_blocker(output: &PlannedOutput, unreadable: &[&Name]) -> Blocker {
    let (known, possible) = (&output.readers, &output.possible_readers);
    let join = |names: &[Name]| names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
    let mut clauses = Vec::new();
    if !known.is_empty() {
        let verb = if known.len() == 1 { "reads" } else { "read" };
        clauses.push(format!("{} still {verb} it", join(known)));
    }
    if !possible.is_empty() {
        clauses.push(format!("{}, whose configuration has errors, may read it", join(possible)));
    }
    if !unreadable.is_empty() {
        let directories: Vec<String> = unreadable.iter().map(|one| format!("`{one}`")).collect();
        clauses.push(format!("the stack in {}, which cannot be read, may read it", directories.join(", ")));
    }
    let count = known.len() + possible.len() + unreadable.len();
    let stacks = if count == 1 { "that stack" } else { "these stacks" };
    let has_errors = !(possible.is_empty() && unreadable.is_empty());
    let correct = if has_errors { " Correct the errors: stead validate --all." } else { "" };
    Blocker {
        code: OUTPUT_READ.code.into(),
        address: None,
        text: format!("The output `{}` would be removed, and {}.", output.name, clauses.join("; ")),
        help: format!(
            "Keep the output under `outputs`; or remove what reads it from {stacks} first.{correct}"
        ),
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
            ("same", Some(Value::unknown(Vec::new())), true),
            ("same", Some(Value::List(vec![Value::unknown(Vec::new())])), true),
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
