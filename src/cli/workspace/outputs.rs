//! What flows between units: the outputs of upstream units for a reader, and the objects of others that a unit's blocks
//! name. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::planned_units::{OtherLedgers, UnitResults};
use super::units::Workspace;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::kept_secrets::Keyring;
use crate::cli::secrets::output_secrets;
use crate::config::resolve::late_binding::looked_up_objects;
use crate::config::stack::model::Stack;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::live::snapshot::ObjectKey;
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value};
use crate::plan::inputs::PlanInputs;
use crate::workspace::conflicts::UsedObjects;
use crate::workspace::conflicts::lookups::UnitLookup;
use crate::workspace::conflicts::outside_readers::visit_texts;
use crate::workspace::unit::UpstreamUnit;

/// What a unit reads of its upstream units.
#[derive(Default)]
pub(super) struct UpstreamOutputs {
    /// The outputs, by the names of their stacks under `stacks`.
    pub(super) values: BTreeMap<Name, Attributes>,
    /// Planned secrets, as `stacks.NAME.OUTPUT`, that the apply of the unit reads from a ledger and that no identity of
    /// this run decrypts there.
    pub(super) locked: BTreeSet<Name>,
}

/// What is known of upstream units.
#[derive(Clone, Copy)]
pub(super) struct UpstreamLedgers<'a> {
    /// The plans of the selected units, as far as they were made.
    pub(super) units: &'a UnitResults,
    /// The ledgers of the others, as far as they were read.
    pub(super) others: &'a OtherLedgers,
    /// Whether a unit is planned without the outputs of one that has no plan or whose ledger cannot be read: they are
    /// unknown.
    pub(super) may_lack: bool,
}

/// Returns the outputs of a unit's upstream units: the planned ones of a selected unit, else those of its ledger. A unit
/// that was never applied is absent.
///
/// # Errors
/// When an upstream unit has no plan, or a secret that its ledger keeps cannot be used.
pub(super) fn upstream_outputs(
    workspace: &Workspace,
    number: usize,
    UpstreamLedgers { units, others, may_lack }: UpstreamLedgers<'_>,
) -> Result<UpstreamOutputs, CliFailure> {
    let one = &workspace.units[number];
    let keyring = Keyring::new(&one.settings);
    let mut outputs = UpstreamOutputs::default();
    for edge in &one.unit.upstream {
        let above = workspace.graph.upstream[number]
            .iter()
            .find(|above| workspace.units[**above].unit.name == edge.unit);
        let Some(above) = above else { continue };
        let project = one.loaded.as_ref().ok();
        let other = project.and_then(|project| project.stack.stacks.get(&edge.alias));
        let reads = other.into_iter().flat_map(|other| other.reads.keys());
        match units.get(above) {
            Some(Ok(planned)) => {
                let upstream = workspace.units[*above].loaded.as_ref().ok();
                let recipients = upstream.and_then(|project| project.stack.recipients.as_ref());
                let names = recipients.map(|recipients| &recipients.names);
                let values = planned_outputs(&edge.alias, &planned.outputs, names.is_some());
                outputs.values.insert(edge.alias.clone(), values);
                if let Some(names) = names {
                    let secrets =
                        reads.filter(|name| planned.outputs.get(*name).is_some_and(Value::is_secret));
                    outputs.locked.extend(locked_outputs(
                        &keyring,
                        (&planned.ledger, names),
                        edge,
                        secrets,
                    )?);
                }
            }
            Some(Err(_)) if !may_lack => {
                return Err(CliFailure::new(
                    Exit::Blocked,
                    format!("{}, whose outputs it reads, has no plan", edge.unit),
                )
                .help("Correct that unit first."));
            }
            found
                if one.settings.untrusted
                    || found.is_some()
                    || (may_lack && !others.contains_key(above)) =>
            {
                let unknown = || Value::unknown(vec![Address::new("stacks", &edge.alias)]);
                let values = reads.map(|name| (name.clone(), unknown())).collect();
                outputs.values.insert(edge.alias.clone(), values);
            }
            _ => {
                let Some(ledger) = others.get(above).and_then(Option::as_ref) else { continue };
                let given = output_secrets::open_outputs(&keyring, (&edge.alias, reads), ledger)?;
                outputs.values.extend(given.map(|given| (edge.alias.clone(), given)));
            }
        }
    }
    Ok(outputs)
}

/// Returns the planned outputs of a unit as a reader gets them; `keeps`: its ledger keeps secrets.
fn planned_outputs(alias: &Name, planned: &Attributes, keeps: bool) -> Attributes {
    let waiting = Address::new("stacks", alias);
    let given = |(name, value): (&Name, &Value)| {
        let value = match value {
            Value::Secret(secret) if keeps => {
                let read = output_secrets::planned_secret(secret, alias, name);
                read.map_or_else(|| Value::unknown(vec![waiting.clone()]), Value::Secret)
            }
            // Nothing keeps it: the reader is refused.
            Value::Secret(_) => Value::Secret(Secret::Fingerprint(None)),
            value => known_after(value, &waiting),
        };
        (name.clone(), value)
    };
    planned.iter().map(given).collect()
}

/// Returns the secrets that an apply cannot read, as `stacks.NAME.OUTPUT`: that a plan of this run knows their text does not
/// help, because a unit is applied with what the ledger of the other one keeps.
fn locked_outputs<'n>(
    keyring: &Keyring<'_>,
    (ledger, recipients): (&Ledger, &BTreeSet<Name>),
    edge: &UpstreamUnit,
    secrets: impl Iterator<Item = &'n Name>,
) -> Result<Vec<Name>, CliFailure> {
    let mut secrets = secrets.peekable();
    let is_open = secrets.peek().is_none()
        || keyring.settings().untrusted
        || output_secrets::can_decrypt(keyring, ledger, recipients)?;
    let secrets = secrets.filter(|_| !is_open);
    Ok(secrets.map(|name| output_secrets::read_path(&edge.alias, name)).collect())
}

/// Returns a value in which everything unknown waits for another stack, not for resources of it that the reader does not
/// have.
fn known_after(value: &Value, stack: &Address) -> Value {
    match value {
        Value::Unknown(unknown) => Value::unknown(vec![stack.clone()]).mark_secret(unknown.is_secret),
        Value::List(items) => Value::List(items.iter().map(|item| known_after(item, stack)).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(name, part)| (name.clone(), known_after(part, stack))).collect())
        }
        known => known.clone(),
    }
}

/// Returns the objects that the blocks of a stack name by id, or that its lookups find, and that its ledger does not own. A lookup
/// counts for itself: an output may show what it finds. `written` is the stack before its lookups are made.
pub(super) fn used_objects(inputs: &PlanInputs<'_>, written: &Stack) -> UsedObjects {
    let mut found = UsedObjects::default();
    if inputs.options.destroy {
        return found;
    }
    for resource in inputs.stack.resources.values() {
        for (name, setting) in &resource.attributes {
            let Some(attribute) = resource.kind.attribute(name) else { continue };
            let Some(kind) = attribute.ty.referenced_kind() else { continue };
            let Some(ids) = setting.expression.known_value() else { continue };
            visit_texts(ids, &mut |id| {
                let key = ObjectKey { kind: kind.into(), parent: None, id: id.into() };
                found.used.entry(key).or_insert_with(|| resource.address.clone());
            });
        }
    }
    let settings = written.resources.values().flat_map(|resource| resource.attributes.values());
    let expressions = settings.map(|setting| &setting.expression);
    let expressions = expressions.chain(written.outputs.values().map(|output| &output.expression));
    let reads: BTreeSet<(&Address, Option<&Name>)> = if inputs.stack.data.is_empty() {
        BTreeSet::new()
    } else {
        expressions.flat_map(Expression::attribute_reads).collect()
    };
    for (object, address, lookup) in looked_up_objects(inputs.stack, inputs.snapshot) {
        let key = object.key();
        found.used.entry(key.clone()).or_insert_with(|| address.clone());
        found.lookups.push(UnitLookup::new(address, object, lookup));
        for (_, attribute) in reads.range((address, None)..).take_while(|(read, _)| *read == address) {
            found.reads.insert((key.clone(), attribute.cloned()), address.clone());
        }
    }
    for key in inputs.ledger.owned_keys() {
        found.used.remove(&key);
    }
    found
}
