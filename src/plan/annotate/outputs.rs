//! The stack's outputs before and after the apply. In: the decisions, and the outputs that the ledger has. Out: each output
//! with both values and the cause of a difference, without the text of secrets. Invariant: an output is a change only if its
//! planned value is known to differ, or is unknown because of a planned change; what an apply would leave alone is none.

pub(in crate::plan) mod resource_values;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use smol_str::SmolStr;

use crate::config::stack::model::Output;
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::budget::Budget;
use crate::model::diagnostic::blocker_code;
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::{AttributeLookup, Expression, Reference};
use crate::model::schema::{Attribute, TextFormat, Type};
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::{Attributes, Value};
use crate::plan::blockers::Blockers;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::diff::lost_values::is_displaced;
use crate::plan::diff::planned_values::{ID, KnownDecisions, PlannedValues, follows_change, planned_value};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::{fingerprint_secrets, is_as_written};
use crate::plan::model::output::{OutputCause, PlannedOutput};

/// First part of the address of another stack whose outputs are read.
const OTHER_STACKS: &str = "stacks";

/// The type of a value that is compared without normalizing its text.
const ANY_TEXT: Type = Type::Text { min: 0, max: u16::MAX, format: TextFormat::Any };

/// Returns the outputs with the values that they have after the apply; for a destroy those that it leaves as they are. Blocks a plan of the whole stack after
/// which an output would have no value: it would keep the one that the ledger has.
pub(in crate::plan) fn output_values<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    blocks: &mut Blockers<'_, 'a>,
) -> Attributes {
    let options = joined.inputs.options;
    if options.destroy {
        return outputs_after_destroy(joined, decisions);
    }
    let is_whole = !options.selects_resources() && !options.only_looks;
    let scope =
        ValuesAfterApply { joined, decisions, changing_children: changing_children(joined, decisions) };
    let outputs = joined.inputs.stack.outputs.iter();
    let evaluated = outputs.map(|(name, output)| {
        let value = evaluate_expression(&output.expression, &scope).unwrap_or_else(|error| {
            if is_whole && scope.is_settled(&output.expression) {
                let text = format!("The output `{name}` would have no value: {error}.");
                let help = "Correct the expression, or remove the output.".to_owned();
                blocks.at_place(blocker_code::EXPRESSION, Some(output.span), text, help);
            }
            Value::unknown(Vec::new())
        });
        (name.clone(), value)
    });
    evaluated.collect()
}

/// Returns the recorded outputs that a destroy leaves as they are: those that read nothing that it deletes. A destroy of the whole
/// stack leaves none.
fn outputs_after_destroy(joined: &JoinedState<'_>, decisions: &[Decision<'_>]) -> Attributes {
    let (options, inputs) = (joined.inputs.options, &joined.inputs);
    let recorded = inputs.ledger.outputs.iter().flatten();
    if !options.selects_resources() {
        return Attributes::new();
    }
    let is_gone =
        |decision: &Decision<'_>| !matches!(decision.act, DecisionKind::Keep | DecisionKind::Frozen);
    let gone = joined.subjects.iter().zip(decisions).filter(|(_, decision)| is_gone(decision));
    let gone: HashSet<&str> =
        gone.flat_map(|(subject, _)| path_prefixes(subject.address.as_str())).collect();
    let stays = |name: &Name| {
        let output = inputs.stack.outputs.get(name);
        output.is_some_and(|output| {
            !output.expression.addresses().iter().any(|address| gone.contains(address.as_str()))
        })
    };
    recorded.filter(|(name, _)| stays(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns each output before and after the apply, by name; those that the ledger has and the configuration lacks, too.
/// `touched` says of a resource whether a step changes its object.
pub(in crate::plan) fn plan_outputs(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    values: &Attributes,
    touched: &dyn Fn(usize) -> bool,
) -> Vec<PlannedOutput> {
    let inputs = &joined.inputs;
    if inputs.options.only_looks {
        return Vec::new();
    }
    let nothing = Attributes::new();
    let recorded = inputs.ledger.outputs.as_ref().unwrap_or(&nothing);
    let changing: BTreeSet<&Address> =
        (0..joined.subjects.len()).filter(|n| touched(*n)).map(|n| joined.subjects[n].address).collect();
    let names: BTreeSet<&Name> = values.keys().chain(recorded.keys()).collect();
    let planned = names.into_iter().map(|name| {
        let before = recorded.get(name);
        match (values.get(name), inputs.stack.outputs.get(name)) {
            (Some(after), Some(output)) => {
                planned_output(joined, (name, output), (before, after), (&changing, decisions))
            }
            _ => PlannedOutput {
                name: name.clone(),
                before: before.cloned(),
                after: None,
                cause: Some(OutputCause::Config),
                because: Vec::new(),
                readers: Vec::new(),
                possible_readers: Vec::new(),
                is_live: false,
                source: None,
            },
        }
    });
    planned.collect()
}

fn planned_output(
    joined: &JoinedState<'_>,
    (name, output): (&Name, &Output),
    (before, after): (Option<&Value>, &Value),
    (changing, decisions): (&BTreeSet<&Address>, &[Decision<'_>]),
) -> PlannedOutput {
    let reads = output.expression.attribute_reads();
    // A known value has no part in a change that leaves alone what the output reads.
    let is_read_changed = |address: &Address| {
        let number = joined.index.get(address).filter(|_| !after.is_unknown());
        let Some(decision) = number.map(|number| &decisions[*number]) else { return true };
        let is_changed = |name: &&Name| decision.changes(&[name.as_str()]);
        let mut parts = reads.iter().filter(|(read, _)| *read == address).map(|(_, part)| part);
        decision.act != DecisionKind::Update || parts.any(|part| part.as_ref().is_none_or(is_changed))
    };
    let is_source = |address: &Address| {
        address.root() == OTHER_STACKS || changing.contains(address) && is_read_changed(address)
    };
    let waits_for = after.waits_for();
    let mut because: Vec<Address> = output
        .expression
        .addresses()
        .into_iter()
        .chain(&waits_for)
        .filter(|one| is_source(one))
        .cloned()
        .chain(awaited_stacks(after))
        .collect();
    because.sort();
    because.dedup();
    let differs = match before {
        // A destroy computes no value.
        Some(_) if joined.inputs.options.destroy => Difference::Same,
        Some(before) => compare_values(before, after, joined.key()),
        None if after.is_unknown() => Difference::Unknown,
        None => Difference::Differs,
    };
    let cause = match differs {
        Difference::Same => None,
        Difference::Unknown if because.is_empty() && generates(after) => Some(OutputCause::Config),
        // Nothing that the plan does makes it known: an apply leaves the output as it is.
        Difference::Unknown if because.is_empty() => None,
        _ if !because.is_empty() => Some(OutputCause::Upstream),
        _ if before.is_some() && joined.inputs.is_config_applied() => Some(OutputCause::Outside),
        _ => Some(OutputCause::Config),
    };
    PlannedOutput {
        name: name.clone(),
        before: before.cloned(),
        after: Some(fingerprint_secrets(after, joined.key())),
        cause,
        because: if cause == Some(OutputCause::Upstream) { because } else { Vec::new() },
        readers: Vec::new(),
        possible_readers: Vec::new(),
        is_live: matches!(output.expression, Expression::Reference(Reference { attribute: Some(_), .. })),
        source: joined.inputs.stack.sources.location_of(output.span),
    }
}

/// Returns whether a value has a secret that an apply of this stack generates.
pub(super) fn generates(value: &Value) -> bool {
    let of_stack = |name: &SmolStr| name.split('.').next() != Some(OTHER_STACKS);
    match value {
        Value::Secret(secret) => secret.is_yet_unknown() && secret.source_names().into_iter().any(of_stack),
        Value::List(items) => items.iter().any(generates),
        Value::Map(map) => map.values().any(generates),
        _ => false,
    }
}

/// Returns the other stacks that have yet to generate a secret of a value, as the addresses that it reads.
fn awaited_stacks(value: &Value) -> Vec<Address> {
    match value {
        Value::Secret(secret) if secret.is_yet_unknown() => {
            let stack = |name: &SmolStr| {
                let (alias, _) = name.strip_prefix(OTHER_STACKS)?.strip_prefix('.')?.split_once('.')?;
                Some(Address::new(OTHER_STACKS, alias))
            };
            secret.source_names().into_iter().filter_map(stack).collect()
        }
        Value::List(items) => items.iter().flat_map(awaited_stacks).collect(),
        Value::Map(map) => map.values().flat_map(awaited_stacks).collect(),
        _ => Vec::new(),
    }
}

/// How a planned value differs from the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    Same,
    /// A part of it is unknown, and the rest is the same.
    Unknown,
    Differs,
}

/// Compares a recorded value with the planned one. A secret that this run does not have counts as the same: the recorded one
/// is then not known to change.
fn compare_values(recorded: &Value, planned: &Value, key: &FingerprintKey) -> Difference {
    match (recorded, planned) {
        (_, Value::Unknown(_)) => Difference::Unknown,
        (Value::Secret(_), Value::Secret(secret)) if secret.is_yet_unknown() => Difference::Unknown,
        (Value::Secret(_), Value::Secret(secret)) => {
            let is_same = key.is_none() || secret.is_deferred() || is_same_secret(recorded, planned, key);
            if is_same { Difference::Same } else { Difference::Differs }
        }
        (Value::List(recorded), Value::List(planned)) if recorded.len() == planned.len() => {
            let parts = recorded.iter().zip(planned);
            parts.map(|(one, other)| compare_values(one, other, key)).max().unwrap_or(Difference::Same)
        }
        (Value::Map(recorded), Value::Map(planned)) if recorded.keys().eq(planned.keys()) => {
            let parts = recorded.values().zip(planned.values());
            parts.map(|(one, other)| compare_values(one, other, key)).max().unwrap_or(Difference::Same)
        }
        (recorded, planned) if recorded == planned => Difference::Same,
        _ => Difference::Differs,
    }
}

/// Returns whether a secret is the recorded one: a computed one by its expression and inputs, any other by its fingerprint.
fn is_same_secret(recorded: &Value, planned: &Value, key: &FingerprintKey) -> bool {
    let unprinted = matches!(recorded, Value::Secret(Secret::Fingerprint(None)));
    unprinted || is_as_written(&ANY_TEXT, planned, recorded, key)
}

/// The values that an apply records: of a written attribute that no step changes the live one, whatever the block writes.
struct ValuesAfterApply<'s, 'a> {
    joined: &'s JoinedState<'a>,
    decisions: &'s [Decision<'a>],
    changing_children: ChangingChildren<'s>,
}

/// The children that an apply creates, changes or deletes, by their parent.
type ChangingChildren<'s> = BTreeMap<&'s Address, Vec<Address>>;

fn changing_children<'s>(joined: &'s JoinedState<'_>, decisions: &[Decision<'_>]) -> ChangingChildren<'s> {
    let mut found = ChangingChildren::new();
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        if let Some(parent) = subject.parent()
            && !matches!(decision.act, DecisionKind::Keep | DecisionKind::Frozen | DecisionKind::Forget)
        {
            found.entry(parent).or_default().push(subject.address.clone());
        }
    }
    found
}

impl<'s, 'a> ValuesAfterApply<'s, 'a> {
    fn planned(&self) -> PlannedValues<'s, 'a> {
        PlannedValues { joined: self.joined, decisions: KnownDecisions::All(self.decisions) }
    }

    /// Returns whether the objects that an expression reads are as an apply leaves them: not those whose last request has no known
    /// result, or that no apply has seen ready.
    fn is_settled(&self, expression: &Expression) -> bool {
        expression.addresses().into_iter().filter_map(|address| self.find(address)).all(
            |(subject, decision)| {
                decision.act != DecisionKind::Frozen && !subject.entry.is_some_and(|entry| entry.unfinished)
            },
        )
    }

    fn find(&self, address: &Address) -> Option<(&'s ResourceState<'a>, &'s Decision<'a>)> {
        let number = *self.joined.index.get(address)?;
        Some((&self.joined.subjects[number], &self.decisions[number]))
    }

    /// Returns the recorded value; unknown until the children are changed that the service computes it from.
    fn recorded_value(
        &self,
        (subject, decision): (&ResourceState<'_>, &Decision<'_>),
        name: &str,
    ) -> Option<Value> {
        let of_children = subject.kind.attribute(name).is_some_and(|attribute| attribute.of_children);
        match self.changing_children.get(subject.address).filter(|_| of_children && !decision.is_new()) {
            Some(children) => Some(Value::unknown(children.clone())),
            None => recorded_value(subject, decision, name),
        }
    }
}

impl AttributeLookup for ValuesAfterApply<'_, '_> {
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value {
        match (self.find(address), attribute.filter(|name| *name != ID)) {
            (Some((subject, decision)), Some(name)) => self
                .recorded_value((subject, decision), name)
                .unwrap_or_else(|| Value::unknown(vec![address.clone()]))
                .mark_secret(subject.kind.is_secret(name)),
            _ => self.planned().attribute(address, attribute),
        }
    }

    fn object(&self, address: &Address) -> (Attributes, bool) {
        let (mut found, mut is_whole) = self.planned().object(address);
        if let Some((subject, decision)) = self.find(address) {
            for (name, value) in found.iter_mut().filter(|(name, _)| *name != ID) {
                if let Some(recorded) = self.recorded_value((subject, decision), name) {
                    is_whole &= !recorded.is_unknown();
                    *value = recorded.mark_secret(subject.kind.is_secret(name));
                }
            }
        }
        (found, is_whole)
    }

    fn budget(&self) -> Option<&Budget> {
        Some(&self.joined.budget)
    }
}

/// Returns the value of an attribute as an output shows it after the apply: ids instead of catalog names, and live keys of
/// a map that no block writes. `None` if it is known only then.
fn recorded_value(subject: &ResourceState<'_>, decision: &Decision<'_>, name: &str) -> Option<Value> {
    let attribute = subject.kind.attribute(name);
    let object = subject.object().filter(|_| !decision.is_new());
    let Some(attribute) = attribute.filter(|attribute| attribute.is_writable()) else {
        return planned_value(subject, decision, name);
    };
    let is_written = decision.find_attribute(name).is_some();
    if !is_written
        && (is_displaced(subject.kind, decision, name) || follows_change(subject, attribute, decision))
    {
        return planned_value(subject, decision, name);
    }
    let stays = decision.act == DecisionKind::Frozen && subject.object().is_some();
    let live = object.map(|object| live_value(subject, attribute, object.attributes.get(name)));
    let wanted = decision.find_attribute(name).filter(|_| !stays).map(|want| want.stored_value().clone());
    match (live, wanted) {
        (Some(live), _) if !decision.changes(&[name]) => Some(live),
        (Some(Value::Map(live)), Some(Value::Map(wanted))) => {
            let mut all = live;
            // A key that stead wrote and that no block writes any more is removed.
            if let Some(Value::Map(applied)) = subject.entry.and_then(|entry| entry.applied.get(name)) {
                all.retain(|key, _| !applied.contains_key(key));
            }
            all.extend(wanted);
            Some(Value::Map(all))
        }
        (_, Some(wanted)) => Some(wanted),
        (_, None) => planned_value(subject, decision, name),
    }
}

fn live_value(subject: &ResourceState<'_>, attribute: &Attribute, live: Option<&Value>) -> Value {
    let applied = subject.entry.and_then(|entry| entry.applied.get(attribute.name));
    attribute.hidden([applied, None], live.cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::text(value)
    }

    #[test]
    fn a_value_is_compared_part_by_part() {
        let key = FingerprintKey([7; 32]);
        let recorded = |plain: &str| Value::Secret(Secret::new(plain).to_recorded(&key));
        let secret = |plain: &str| Value::Secret(Secret::new(plain));
        let unknown = || Value::unknown(vec![Address::new("vm", "web")]);
        let list = |parts: &[Value]| Value::List(parts.to_vec());
        for (before, after, expected) in [
            (text("a"), text("a"), Difference::Same),
            (text(""), text(""), Difference::Same),
            (text(""), Value::Null, Difference::Differs),
            (text("a"), text("b"), Difference::Differs),
            (text("a"), unknown(), Difference::Unknown),
            (list(&[text("a"), text("b")]), list(&[text("a"), unknown()]), Difference::Unknown),
            (list(&[text("a"), text("b")]), list(&[text("c"), unknown()]), Difference::Differs),
            (list(&[text("a")]), list(&[text("a"), unknown()]), Difference::Differs),
            (recorded("s"), secret("s"), Difference::Same),
            (recorded("s"), secret("t"), Difference::Differs),
            (text("s"), secret("s"), Difference::Differs),
            (recorded("s"), text("s"), Difference::Differs),
            (recorded("s"), Value::Secret(Secret::new_withheld()), Difference::Same),
            (recorded("s"), Value::Secret(Secret::new_deferred("x")), Difference::Unknown),
            (list(&[recorded("s")]), list(&[secret("t")]), Difference::Differs),
        ] {
            assert_eq!(compare_values(&before, &after, &key), expected, "{before:?} {after:?}");
        }
        // Without a key nothing can be compared.
        assert_eq!(compare_values(&recorded("s"), &secret("t"), &FingerprintKey::NONE), Difference::Same);
    }
}
