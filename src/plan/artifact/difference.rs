//! The difference between two plans of one stack: the reviewed one and a later one. In: both plans, with what is known of
//! the ledgers and the versions that they were made with. Out: each address that they decide differently, with the parts
//! that differ and which side moved; and what differs in the plans as a whole. The work is linear in the plans.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde::Serialize;

use super::change_digests::{decisions_by_address, described_steps};
use super::difference_part::{AttributePart, DifferencePart, MovedSide};
use super::fingerprint::is_about_secret;
use super::verdicts::{VerdictKind, Verdicts, verdicts_by_address, verdicts_of_plan};
use crate::model::address::{Address, Name};
use crate::model::schema::Effect;
use crate::model::values::value::Value;
use crate::plan::model::change::{AttributeChange, Cause, Change, Plan};
use crate::plan::model::output::PlannedOutput;
use crate::plan::model::step::LedgerUpdate;

/// A plan that is compared.
#[derive(Debug, Clone, Copy)]
pub struct PlanSide<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Digest of the ledger's state; empty if it is not known.
    pub ledger: &'p str,
    /// The version of stead that made the plan.
    pub stead_version: &'p str,
}

/// The difference between two plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanDifference {
    /// The addresses that are decided differently, sorted.
    pub resources: Vec<ResourceDifference>,
    /// What differs in the plans as a whole, such as outputs.
    pub whole: Vec<PartDifference>,
}

/// The difference between the decisions for one address.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceDifference {
    /// The address.
    pub address: Address,
    /// The parts that differ; never empty.
    pub parts: Vec<PartDifference>,
}

/// A part that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDifference {
    /// The part.
    pub part: DifferencePart,
    /// Its value in the earlier plan; `Null` if it had none. Secrets as fingerprints.
    pub old: Value,
    /// Its value in the later plan.
    pub new: Value,
    /// What moved; several where the plans do not show which of them is the cause. Never empty.
    pub moved: Vec<MovedSide>,
}

impl PartDifference {
    /// Returns what moved as a sentence: `the live object changed`.
    #[must_use]
    pub fn describe_moved(&self) -> String {
        let sides: Vec<&str> = self.moved.iter().map(|side| side.describe()).collect();
        format!("{} changed", sides.join(" or "))
    }
}

impl PlanDifference {
    /// Returns whether the plans decide the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.whole.is_empty()
    }

    /// Returns how many outputs are decided differently.
    #[must_use]
    pub fn output_count(&self) -> usize {
        let is_output = |one: &DifferencePart| {
            matches!(one, DifferencePart::Output(_) | DifferencePart::RecordedOutput(_))
        };
        self.whole.iter().filter(|one| is_output(&one.part)).count()
    }
}

/// Returns the difference between an earlier and a later plan.
///
/// # Errors
/// When a part of a plan cannot be written as JSON.
pub fn compare_plans(old: PlanSide<'_>, new: PlanSide<'_>) -> Result<PlanDifference, serde_json::Error> {
    let sides = Sides { old, new };
    let (before, after) = (decisions_by_address(old.plan)?, decisions_by_address(new.plan)?);
    let (old_changes, new_changes) = (changes_by_address(old.plan), changes_by_address(new.plan));
    let addresses: BTreeSet<&Address> = before
        .keys()
        .chain(after.keys())
        .chain(old_changes.keys())
        .chain(new_changes.keys())
        .copied()
        .collect();
    let (old_verdicts, new_verdicts) = (verdicts_by_address(old.plan), verdicts_by_address(new.plan));
    let mut resources = Vec::new();
    for address in addresses {
        let mut parts = match (old_changes.get(address), new_changes.get(address)) {
            (Some(one), Some(other)) => sides.changed_parts(one, other)?,
            (Some(one), None) => vec![sides.lost_change(one)],
            (None, Some(other)) => vec![sides.new_change(other)],
            (None, None) => Vec::new(),
        };
        let (one, other) = (old_verdicts.get(address), new_verdicts.get(address));
        parts.extend(sides.set_parts(one, other));
        if parts.is_empty() && before.get(address) != after.get(address) {
            let steps = |plan| Value::List(described_steps(plan, address).map(Value::text).collect());
            parts.push(sides.part(DifferencePart::Requests, steps(old.plan), steps(new.plan)));
        }
        if !parts.is_empty() {
            resources.push(ResourceDifference { address: address.clone(), parts });
        }
    }
    let mut found = PlanDifference { resources, whole: sides.whole_parts()? };
    if found.is_empty() && old.plan.fingerprint != new.plan.fingerprint {
        found.whole.push(sides.part(DifferencePart::Rest, Value::Null, Value::Null));
    }
    Ok(found)
}

fn changes_by_address(plan: &Plan) -> BTreeMap<&Address, &Change> {
    plan.changes.iter().map(|change| (&change.address, change)).collect()
}

/// Both plans.
#[derive(Clone, Copy)]
struct Sides<'p> {
    old: PlanSide<'p>,
    new: PlanSide<'p>,
}

impl Sides<'_> {
    /// Returns what moved so that another value is planned: the inputs that differ, else the ledger or the live object.
    fn moved_inputs(self) -> Vec<MovedSide> {
        let (old, new) = (&self.old.plan.base, &self.new.plan.base);
        let differing = [
            (MovedSide::Configuration, old.config != new.config),
            (MovedSide::OtherStack, old.reads != new.reads),
            (MovedSide::SteadVersion, self.old.stead_version != self.new.stead_version),
            (MovedSide::Options, self.old.plan.left_out + self.new.plan.left_out > 0),
        ];
        let moved: Vec<MovedSide> =
            differing.into_iter().filter_map(|(side, differs)| differs.then_some(side)).collect();
        match moved.is_empty() {
            false => moved,
            true if self.has_other_ledger() => vec![MovedSide::Ledger],
            true => vec![MovedSide::LiveObject],
        }
    }

    /// Returns what moved so that this value is planned. The digest of a configuration does not have the values of secrets: no
    /// live object decides them, but a variable or its source.
    fn moved_value(self, planned: &Value) -> Vec<MovedSide> {
        match self.moved_inputs() {
            moved if planned.is_secret() && moved == [MovedSide::LiveObject] => {
                vec![MovedSide::Configuration]
            }
            moved => moved,
        }
    }

    /// Returns what moved so that a policy decides otherwise. The policies of a user's settings are no part of the
    /// configuration that the plans have a digest of.
    fn moved_policy(self) -> Vec<MovedSide> {
        match self.moved_inputs() {
            moved if moved == [MovedSide::LiveObject] => {
                vec![MovedSide::Configuration, MovedSide::LiveObject]
            }
            moved => moved,
        }
    }

    /// Returns whether the ledgers differ; by their serials where no digest is known.
    fn has_other_ledger(self) -> bool {
        let (old, new) = (self.old, self.new);
        if old.ledger.is_empty() || new.ledger.is_empty() {
            return old.plan.base.serial != new.plan.base.serial
                || old.plan.base.lineage != new.plan.base.lineage;
        }
        old.ledger != new.ledger
    }

    /// Returns what moved so that another object is there, or has the planned value.
    fn moved_object(self) -> Vec<MovedSide> {
        vec![if self.has_other_ledger() { MovedSide::Ledger } else { MovedSide::LiveObject }]
    }

    /// Returns what moved so that a change is planned, or is decided differently.
    fn moved_by(self, change: &Change) -> Vec<MovedSide> {
        moved_by_cause(change.cause, || self.or_ledger(self.moved_inputs()))
    }

    /// Adds the ledger to what may have moved, if it differs.
    fn or_ledger(self, mut moved: Vec<MovedSide>) -> Vec<MovedSide> {
        if self.has_other_ledger() && !moved.contains(&MovedSide::Ledger) {
            moved.push(MovedSide::Ledger);
        }
        moved
    }

    fn part(self, part: DifferencePart, old: Value, new: Value) -> PartDifference {
        let moved = self.moved_value(&new);
        PartDifference { part, old, new, moved }
    }

    /// Returns what moved so that only one of the plans has a change: also the selection, if one of them leaves something out.
    fn moved_presence(self, change: &Change) -> Vec<MovedSide> {
        let mut moved = self.moved_by(change);
        let is_selected = self.old.plan.left_out + self.new.plan.left_out > 0;
        if is_selected && !moved.contains(&MovedSide::Options) {
            moved.insert(0, MovedSide::Options);
        }
        moved
    }

    /// An apply ends a change, too: it moves the ledger.
    fn lost_change(self, change: &Change) -> PartDifference {
        let moved = self.or_ledger(self.moved_presence(change));
        PartDifference { moved, ..self.part(DifferencePart::Action, action_value(change), Value::Null) }
    }

    fn new_change(self, change: &Change) -> PartDifference {
        PartDifference {
            moved: self.moved_presence(change),
            ..self.part(DifferencePart::Action, Value::Null, action_value(change))
        }
    }

    fn changed_parts(self, old: &Change, new: &Change) -> Result<Vec<PartDifference>, serde_json::Error> {
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::text);
        let was = |change: &Change| {
            change.was.as_ref().map_or(Value::Null, |was| Value::text(was.address.as_str()))
        };
        let id_side = self.moved_object();
        let mut parts: Vec<PartDifference> = self.attribute_parts(old, new)?;
        let mut add =
            |part, one: Value, other: Value, moved: &[MovedSide]| -> Result<(), serde_json::Error> {
                if !is_same(&one, &other)? {
                    let moved = moved.to_vec();
                    parts.push(PartDifference { part, old: one, new: other, moved });
                }
                Ok(())
            };
        let decided = self.moved_by(new);
        add(DifferencePart::Action, action_value(old), action_value(new), &decided)?;
        add(DifferencePart::Cause, json_value(&old.cause)?, json_value(&new.cause)?, &decided)?;
        add(DifferencePart::Kind, text(Some(&old.kind)), text(Some(&new.kind)), &decided)?;
        add(DifferencePart::Object, text(old.id.as_deref()), text(new.id.as_deref()), &id_side)?;
        add(DifferencePart::PreviousAddress, was(old), was(new), &decided)?;
        add(DifferencePart::Reason, text(old.reason.as_deref()), text(new.reason.as_deref()), &decided)?;
        add(
            DifferencePart::Order,
            json_value(&old.create_first)?,
            json_value(&new.create_first)?,
            &decided,
        )?;
        add(DifferencePart::Effects, effects_value(old), effects_value(new), &decided)?;
        add(DifferencePart::Affects, hits_value(old), hits_value(new), &decided)?;
        // Otherwise the price follows from what else differs. A plan does not show every attribute of a live object that
        // decides its price.
        let price_side = match (parts.is_empty(), &new.id) {
            (false, _) => decided,
            (true, None) => vec![MovedSide::CatalogPrice],
            (true, Some(_)) => vec![MovedSide::LiveObject, MovedSide::CatalogPrice],
        };
        let (one, other) = (price_value(old), price_value(new));
        if !is_same(&one, &other)? {
            parts.push(PartDifference {
                part: DifferencePart::Price,
                old: one,
                new: other,
                moved: price_side,
            });
        }
        Ok(parts)
    }

    fn attribute_parts(self, old: &Change, new: &Change) -> Result<Vec<PartDifference>, serde_json::Error> {
        let by_path = |change: &'_ Change| -> BTreeMap<Name, AttributeChange> {
            change.attributes.iter().map(|one| (one.path.clone(), one.clone())).collect()
        };
        let (before, after) = (by_path(old), by_path(new));
        let paths: BTreeSet<&Name> = before.keys().chain(after.keys()).collect();
        let mut parts = Vec::new();
        for path in paths {
            let (one, other) = (before.get(path), after.get(path));
            let value = |side: Option<&AttributeChange>, is_live: bool| {
                side.map_or(
                    Value::Null,
                    |side| if is_live { side.before.clone() } else { side.after.clone() },
                )
            };
            let (old_live, new_live) = (value(one, true), value(other, true));
            let (old_planned, new_planned) = (value(one, false), value(other, false));
            let is_live_same = is_same(&old_live, &new_live)?;
            let is_planned_same = is_same(&old_planned, &new_planned)?;
            // An attribute that is in one plan only, with equal values, changed its live value to the desired one.
            let flags = |side: Option<&AttributeChange>| {
                side.map(|side| (side.removed, side.forces_replacement, side.cause))
            };
            if !is_live_same && one.is_some() && other.is_some() {
                parts.push(PartDifference {
                    part: DifferencePart::Attribute(path.clone(), AttributePart::Live),
                    old: old_live,
                    new: new_live,
                    moved: vec![MovedSide::LiveObject],
                });
            }
            let secrets = |side: Option<&AttributeChange>| {
                Value::List(side.iter().flat_map(|side| &side.secrets).map(Value::text).collect())
            };
            if is_planned_same && !is_same(&secrets(one), &secrets(other))? {
                let part = DifferencePart::Attribute(path.clone(), AttributePart::Secrets);
                let moved = self.moved_policy();
                parts.push(PartDifference { part, old: secrets(one), new: secrets(other), moved });
            }
            if !is_planned_same || one.is_some() != other.is_some() {
                let by_cause = |side: &AttributeChange| moved_by_cause(side.cause, || self.moved_inputs());
                let (part, moved) = match (one, other) {
                    (Some(_), Some(_)) => (AttributePart::Planned, self.moved_value(&new_planned)),
                    (Some(side), None) if new.unchanged_value(path) == Some(&side.after) => {
                        (AttributePart::NoLongerPlanned, self.moved_object())
                    }
                    (Some(side), None) => (AttributePart::NoLongerPlanned, by_cause(side)),
                    (None, Some(side)) => (AttributePart::NewlyPlanned, by_cause(side)),
                    (None, None) => continue,
                };
                let part = DifferencePart::Attribute(path.clone(), part);
                parts.push(PartDifference { part, old: old_planned, new: new_planned, moved });
            } else if is_live_same && flags(one) != flags(other) {
                let part = DifferencePart::Attribute(path.clone(), AttributePart::Why);
                parts.push(self.part(part, Value::Null, Value::Null));
            }
        }
        Ok(parts)
    }

    /// Returns the blockers and denials that only one plan has.
    fn set_parts(self, old: Option<&Verdicts<'_>>, new: Option<&Verdicts<'_>>) -> Vec<PartDifference> {
        let none = Verdicts::new();
        let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
        let part = |kind: VerdictKind, old: Value, new: Value| match kind {
            VerdictKind::Blocker => self.part(kind.part(), old, new),
            VerdictKind::Policy => {
                PartDifference { part: kind.part(), old, new, moved: self.moved_policy() }
            }
        };
        let lost = old.difference(new).map(|(kind, name)| part(*kind, Value::text(name), Value::Null));
        let added = new.difference(old).map(|(kind, name)| part(*kind, Value::Null, Value::text(name)));
        lost.chain(added).collect()
    }

    /// Returns the outputs that are decided differently.
    fn output_parts(self) -> Result<Vec<PartDifference>, serde_json::Error> {
        let (old, new) = (self.old.plan, self.new.plan);
        let mut parts = Vec::new();
        let names: BTreeSet<&Name> = old.outputs.keys().chain(new.outputs.keys()).collect();
        let planned = |plan: &'_ Plan| -> BTreeMap<Name, Value> {
            plan.planned_outputs
                .iter()
                .map(|output| (output.name.clone(), output.after.clone().unwrap_or_default()))
                .collect()
        };
        let (before, after) = (planned(old), planned(new));
        let (old_changes, new_changes) = (output_changes_by_name(old), output_changes_by_name(new));
        for name in names.into_iter().chain(before.keys()).chain(after.keys()).collect::<BTreeSet<_>>() {
            let (one, other) = (before.get(name), after.get(name));
            if !is_same(&one, &other)? || !is_same(&old.outputs.get(name), &new.outputs.get(name))? {
                let value = |value: Option<&Value>| value.cloned().unwrap_or_default();
                parts.push(self.part(DifferencePart::Output(name.clone()), value(one), value(other)));
                continue;
            }
            // What is recorded is a part of the decision: only one plan changes the output, or from another value.
            let (one, other) = (old_changes.get(name), new_changes.get(name));
            let recorded =
                |change: Option<&&PlannedOutput>| change.and_then(|output| output.before.clone());
            if !is_same(&recorded(one), &recorded(other))? {
                let value = |change| recorded(change).unwrap_or_default();
                let part = DifferencePart::RecordedOutput(name.clone());
                let moved = self.or_ledger(self.moved_inputs());
                parts.push(PartDifference { part, old: value(one), new: value(other), moved });
            }
        }
        Ok(parts)
    }

    /// Returns what differs in the plans as a whole.
    fn whole_parts(self) -> Result<Vec<PartDifference>, serde_json::Error> {
        let (old, new) = (self.old.plan, self.new.plan);
        let whole = |plan: &'_ Plan| verdicts_of_plan(plan);
        let mut parts = self.set_parts(
            Some(&whole(old).iter().map(|(kind, name)| (*kind, name.as_str())).collect()),
            Some(&whole(new).iter().map(|(kind, name)| (*kind, name.as_str())).collect()),
        );
        parts.extend(self.output_parts()?);
        let (one, other) = (secret_notes(old), secret_notes(new));
        if !is_same(&one, &other)? {
            let moved = self.moved_policy();
            parts.push(PartDifference { part: DifferencePart::Secrets, old: one, new: other, moved });
        }
        let others = |plan: &'_ Plan| -> Result<Vec<String>, serde_json::Error> {
            let is_whole = |update: &&LedgerUpdate| {
                matches!(
                    update,
                    LedgerUpdate::Move(_) | LedgerUpdate::PinRecipients(_) | LedgerUpdate::Transfer(..)
                )
            };
            plan.bookkeeping.iter().filter(is_whole).map(serde_json::to_string).collect()
        };
        if others(old)? != others(new)? {
            parts.push(self.part(DifferencePart::LedgerUpdates, Value::Null, Value::Null));
        }
        let (one, other) = (&old.base, &new.base);
        for (part, old, new) in [
            (DifferencePart::Stack, one.stack.as_str(), other.stack.as_str()),
            (DifferencePart::Environment, &one.environment, &other.environment),
            (DifferencePart::Account, &one.account, &other.account),
        ] {
            if old != new {
                parts.push(self.part(part, Value::text(old), Value::text(new)));
            }
        }
        if one.destroy != other.destroy || one.delete_data != other.delete_data {
            parts.push(self.part(DifferencePart::Options, Value::Null, Value::Null));
        }
        Ok(parts)
    }
}

/// Returns what moved by the cause of a difference, which may be one of the inputs.
fn moved_by_cause(cause: Cause, inputs: impl FnOnce() -> Vec<MovedSide>) -> Vec<MovedSide> {
    match cause {
        Cause::Drift | Cause::Unconfirmed | Cause::NotKept => vec![MovedSide::LiveObject],
        Cause::Unfinished => vec![MovedSide::Ledger],
        Cause::Both => {
            let mut moved = inputs();
            if !moved.contains(&MovedSide::LiveObject) {
                moved.insert(0, MovedSide::LiveObject);
            }
            moved
        }
        Cause::Config | Cause::Upstream => inputs(),
    }
}

/// The outputs that a plan changes, by name.
type OutputChanges<'p> = BTreeMap<&'p Name, &'p PlannedOutput>;

fn output_changes_by_name(plan: &Plan) -> OutputChanges<'_> {
    plan.output_changes().map(|output| (&output.name, output)).collect()
}

/// Returns what a plan does for secrets, as the fingerprint covers it.
fn secret_notes(plan: &Plan) -> Value {
    let notes = plan.notes.iter().filter(|note| is_about_secret(note));
    Value::List(notes.map(|note| Value::text(&note.text)).collect())
}

fn action_value(change: &Change) -> Value {
    json_value(&change.action).unwrap_or_default()
}

fn effects_value(change: &Change) -> Value {
    // Whether a change opens something may depend on the time.
    let decided = change.effects.iter().filter(|effect| effect.code != Effect::Exposure);
    Value::List(decided.map(|effect| Value::text(&effect.text)).collect())
}

/// Returns the monthly price before and after, `Null` where it is not known; what is due now depends on the time.
fn price_value(change: &Change) -> Value {
    let cost = &change.cost;
    // Of what does not exist, nothing is billed.
    let nothing = |other: Option<Decimal>| (other.is_some() && !cost.unpriced).then_some(Decimal::ZERO);
    let before = cost.monthly_before.or_else(|| nothing(cost.monthly_after));
    let after = cost.monthly_after.or_else(|| nothing(cost.monthly_before));
    Value::List([before, after].map(|price| price.map_or(Value::Null, Value::Decimal)).into())
}

fn hits_value(change: &Change) -> Value {
    Value::List(change.hits.iter().map(|hit| Value::text(hit.as_str())).collect())
}

fn json_value(part: &impl Serialize) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(&serde_json::to_vec(part)?)
}

/// In memory, a secret without a known fingerprint is unequal to everything: values are compared as they are saved.
fn is_same(one: &impl Serialize, other: &impl Serialize) -> Result<bool, serde_json::Error> {
    Ok(serde_json::to_string(one)? == serde_json::to_string(other)?)
}
