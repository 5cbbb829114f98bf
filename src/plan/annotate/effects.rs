//! The side effects of a change, as sentences from the tables of the kinds. In: a decision, its cost and the
//! links of unmanaged objects; out: effects, worst first.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};
use rust_decimal::Decimal;

use crate::ledger::state::entry::OwnedObject;
use crate::model::address::Name;
use crate::model::diagnostic::join_list;
use crate::model::live::snapshot::Object;
use crate::model::schema::{
    Effect, Kind, Price, Revival, Type, UpdateStrategy, format_money, format_monthly,
};
use crate::plan::decide::{final_snapshot, reactivation};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::join::prices::ObjectPrices;
use crate::plan::model::change::{ChangeCost, ChangeEffect};
use crate::plan::model::step::{Operation, Step};

/// Objects that this stack does not own and that are linked to an object, by that object's id: they stay when it is deleted.
pub(in crate::plan) struct LinkedObjects<'a> {
    by_id: HashMap<&'a str, Vec<LinkedObject<'a>>>,
}

/// An object that this stack does not own, with a link to another one.
struct LinkedObject<'a> {
    /// The kind of the object that it is linked to.
    of: Name,
    object: &'a Object,
    /// That it stays, and its price.
    text: String,
}

impl<'a> LinkedObjects<'a> {
    /// Finds the live links of objects that this stack does not own; empty when the plan removes nothing. What another unit of
    /// the run owns is left out: its own plan shows what becomes of it.
    pub fn new(joined: &JoinedState<'a>, decisions: &[Decision<'_>]) -> Self {
        let mut by_id: HashMap<&'a str, Vec<LinkedObject<'a>>> = HashMap::new();
        let has_older =
            |subject: &ResourceState<'_>| subject.entry.is_some_and(|entry| !entry.deposed.is_empty());
        if !decisions.iter().any(Decision::removes) && !joined.subjects.iter().any(has_older) {
            return Self { by_id };
        }
        let prices = ObjectPrices::new(joined.inputs.catalog);
        for object in joined.owned_by_no_unit() {
            let Some(kind) = joined.inputs.registry.kind(&object.kind) else { continue };
            for attribute in
                kind.attributes.iter().filter(|a| matches!(a.change, UpdateStrategy::Link { .. }))
            {
                let (Type::Reference(of), Some(value)) =
                    (attribute.ty, object.attributes.get(attribute.name))
                else {
                    continue;
                };
                if keeps_used(joined.inputs.registry.kind(of), (kind.name, attribute.name)) {
                    continue;
                }
                let name = object
                    .attributes
                    .get("name")
                    .map_or_else(|| object.id.to_string(), ToString::to_string);
                let price = prices.monthly(kind, &object.attributes);
                let text = format!("{} {name} is detached and stays,", object.kind);
                let owner = match joined.inputs.options.foreign.get(&object.key()) {
                    Some(owner) => format!("managed by {owner}"),
                    None => "not managed by this stack".to_owned(),
                };
                let text = left_behind(&text, kind, (&owner, price));
                if let Some(id) = value.as_text().filter(|id| !id.is_empty()) {
                    by_id.entry(id).or_default().push(LinkedObject { of: of.into(), object, text });
                }
            }
        }
        Self { by_id }
    }

    fn links_to<'s>(
        &'s self,
        subject: &'s ResourceState<'_>,
    ) -> impl Iterator<Item = &'s LinkedObject<'a>> {
        self.links_to_ids(subject, subject.object().map(|object| object.id.as_str()))
    }

    /// Returns the links to the objects that earlier replacements of a resource did not delete.
    fn links_to_older<'s>(
        &'s self,
        subject: &'s ResourceState<'_>,
    ) -> impl Iterator<Item = &'s LinkedObject<'a>> {
        let older = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
        self.links_to_ids(subject, older.map(|owned| owned.id.as_str()))
    }

    fn links_to_ids<'s>(
        &'s self,
        subject: &ResourceState<'_>,
        ids: impl IntoIterator<Item = &'s str>,
    ) -> impl Iterator<Item = &'s LinkedObject<'a>> {
        let kind = subject.kind.name;
        let found = ids.into_iter().filter_map(|id| self.by_id.get(id)).flatten();
        found.filter(move |linked| linked.of == kind)
    }

    /// Returns the objects that are linked to a resource's object, and that no unit of the run owns.
    pub fn objects_at(&self, subject: &ResourceState<'_>) -> Vec<&'a Object> {
        self.links_to(subject).map(|linked| linked.object).collect()
    }
}

/// Returns whether the service does not delete an object of a kind while an attribute of another kind refers to it: then a
/// blocker says so.
fn keeps_used(kind: Option<&Kind>, user: (&str, &str)) -> bool {
    kind.is_some_and(|kind| kind.is_held_by(user.0, Some(user.1)))
}

/// Returns the effects of a change, worst first; `left_over` says whether it deletes an object that an earlier replacement
/// did not delete. Each effect occurs once, except `LeftBehind`, which names a
/// different object each time.
pub(in crate::plan) fn change_effects(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    (decision, left_over): (&Decision<'_>, bool),
    linked: &LinkedObjects<'_>,
    cost: &ChangeCost,
) -> Vec<ChangeEffect> {
    let mut found: Vec<(Effect, String)> = Vec::new();
    let kind = subject.kind;
    match decision.act {
        DecisionKind::Update => {
            found.extend(decision.revival.map(|revival| (revival.effect, brought_back(revival, cost))));
            let by_effect = attributes_by_effect(decision).into_iter();
            let by_effect =
                by_effect.filter(|(effect, _)| *effect != Effect::Restart || !is_at_rest(subject));
            found.extend(by_effect.map(|(effect, names)| {
                let changes = if names.len() == 1 { "changes" } else { "change" };
                (effect, format!("{}, because {} {changes}", effect.text(), join_list(&names, "and")))
            }));
        }
        DecisionKind::Replace { .. } => {
            let all = kind.on_delete.iter().chain(kind.on_replace);
            found.extend(all.map(|effect| (*effect, with_the_old(*effect))));
        }
        DecisionKind::Delete => {
            found.extend(kind.on_delete.iter().map(|effect| (*effect, effect.text().to_owned())));
        }
        DecisionKind::Forget => {
            found.push((
                Effect::LeftBehind,
                left_behind("it stays", kind, ("unmanaged", cost.monthly_after)),
            ));
        }
        DecisionKind::Create | DecisionKind::Keep | DecisionKind::Frozen => {}
    }
    if left_over && !final_snapshot::is_copied(joined, subject) {
        found.extend(kind.on_delete.iter().map(|effect| (*effect, with_the_old(*effect))));
    }
    if left_over {
        found.extend(linked.links_to_older(subject).map(|other| (Effect::LeftBehind, other.text.clone())));
    }
    if decision.removes() {
        found.extend(linked.links_to(subject).map(|other| (Effect::LeftBehind, other.text.clone())));
    }
    if decision.removes() && reactivation::resuming_revival(subject).is_some() {
        let data = found.iter_mut().filter(|(effect, _)| *effect == Effect::DataLoss);
        data.for_each(|(_, text)| text.insert_str(0, "it is suspended, not empty: "));
    }
    // With a final snapshot the data outlives the object, so no data loss is reported.
    if let Some(kept) = final_snapshot::describe_copy(joined, subject, decision) {
        found.retain(|(effect, _)| *effect != Effect::DataLoss);
        found.push((Effect::LeftBehind, kept));
    }
    // What is paid as it is used is not charged at once.
    if cost.due_now.is_some_and(|amount| amount.is_zero()) {
        found.retain(|(effect, _)| *effect != Effect::Charge);
    }
    found.sort();
    found.dedup_by(|a, b| a.0 == b.0 && (a.0 != Effect::LeftBehind || a.1 == b.1));
    found.into_iter().map(|(code, text)| ChangeEffect { code, text }).collect()
}

/// Returns whether an object does not run: then nothing restarts it.
fn is_at_rest(subject: &ResourceState<'_>) -> bool {
    let resting = subject.kind.api.ready.map_or(&[][..], |ready| ready.resting);
    subject.status().is_some_and(|status| resting.contains(&status))
}

/// Returns the effects of the deletion of the objects that earlier replacements did not delete, beside that of the resource's own
/// object. `steps` are the numbers of the resource's steps in `all`.
pub(in crate::plan) fn older_object_effects(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    (steps, all): (&[usize], &[Step]),
) -> Vec<ChangeEffect> {
    let left: Vec<&Name> =
        subject.entry.into_iter().flat_map(|entry| &entry.deposed).map(|owned| &owned.id).collect();
    // A replacement that creates first deletes the old object as a deposed one, too.
    let older = steps.iter().filter_map(|step| match &all[*step].operation {
        Operation::Delete { object, deposed: true } if decision.removes() && left.contains(&&object.id) => {
            Some(object)
        }
        _ => None,
    });
    let loses_data = subject.kind.on_delete.contains(&Effect::DataLoss);
    let code = if loses_data { Effect::DataLoss } else { Effect::Removes };
    let effect = |object: &OwnedObject| ChangeEffect {
        code,
        text: format!("{} is deleted, too, which an earlier replacement did not delete", object.id),
    };
    older.map(effect).collect()
}

/// Returns the effects of an update, each with all attributes whose changes cause it.
fn attributes_by_effect(decision: &Decision<'_>) -> BTreeMap<Effect, Vec<&'static str>> {
    let mut causes: BTreeMap<Effect, Vec<&'static str>> = BTreeMap::new();
    for difference in &decision.differences {
        for effect in difference.attribute.effects_of(&difference.before, &difference.after) {
            let names = causes.entry(effect).or_default();
            if !names.contains(&difference.attribute.name) {
                names.push(difference.attribute.name);
            }
        }
    }
    causes
}

/// Describes the effect of bringing an object back, with its monthly cost (USD) from then on where that is known.
fn brought_back(revival: &Revival, cost: &ChangeCost) -> String {
    match (revival.effect, cost.monthly_after) {
        (Effect::Resumes, Some(month)) => {
            format!("{}; in use it costs {} a month", revival.says, format_money(month))
        }
        _ => revival.says.to_owned(),
    }
}

/// Describes an object that stays: who manages it, and its monthly price (USD) if it is still billed.
fn left_behind(what: &str, kind: &Kind, (owner, monthly): (&str, Option<Decimal>)) -> String {
    let paid = if is_billed(kind, monthly) { " and billed" } else { "" };
    let price = monthly.map(format_monthly).unwrap_or_default();
    format!("{what} live{paid}, {owner}{price}")
}

/// Returns whether an object is billed. An unknown price counts as billed if the kind has prices.
fn is_billed(kind: &Kind, monthly: Option<Decimal>) -> bool {
    matches!(kind.price, Price::Sum(_)) && monthly.is_none_or(|price| !price.is_zero())
}

fn with_the_old(effect: Effect) -> String {
    match effect {
        Effect::DataLoss => "the old object's data is lost for good".to_owned(),
        other => other.text().to_owned(),
    }
}
