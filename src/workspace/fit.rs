//! Whether a plan that is made at the time of an apply still fits the one that was reviewed. In: both plans of a unit. Out:
//! nothing, or the first way in which the later plan does more than the review shows. A later plan may do less: what
//! was unknown is known now, and a replacement that was planned for the worst case may be an update. A unit that an earlier
//! attempt of the same apply began may lack any of the reviewed actions, or have a part of one left to do.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::{Effect, Registry, UpdateStrategy};
use crate::model::values::derived::DerivedSecret;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, AttributeChange, Cause, Change, Plan};
use crate::plan::model::step::{Operation, Step};

/// Part of a before-image that tells an object from a later one with the same key.
const CREATED_AT: &str = "created_at";

/// The digests of an object's attributes, as a plan read them.
type Image = BTreeMap<Name, String>;

/// Which part of a unit's plan runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnitPhase {
    /// Everything but the deletions that wait for other units.
    Changes,
    /// The deletions that waited.
    Deletions,
}

/// How a plan differs from the reviewed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The configuration is another one.
    Configuration,
    /// The ledger or the key belongs to another account.
    Account,
    /// An address changes that the review does not show, or in another way.
    Action(Address),
    /// An attribute has another value than in the review.
    Attribute(Address, Name),
    /// A change has an effect that the review does not show.
    Effect(Address),
    /// The monthly price is higher than in the review.
    Price(Address),
    /// The live object is not the one that was reviewed, or was changed since.
    Object(Address),
    /// An output has another value than in the review.
    Output(Name),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration => f.write_str("the configuration is not the reviewed one"),
            Self::Account => f.write_str("the account is not the reviewed one"),
            Self::Action(address) => {
                write!(f, "the reviewed plan does not show what would happen to {address} now")
            }
            Self::Attribute(address, path) => {
                write!(f, "{address}.{path} would get another value than the reviewed one")
            }
            Self::Effect(address) => write!(f, "changing {address} has an effect that was not reviewed"),
            Self::Price(address) => write!(f, "{address} costs more than in the reviewed plan"),
            Self::Object(address) => write!(f, "the live object of {address} changed since the review"),
            Self::Output(name) => {
                write!(f, "the output `{name}` would get another value than the reviewed one")
            }
        }
    }
}

/// Checks that a plan does nothing that the reviewed one does not show. `is_begun` says that an earlier attempt already made
/// some of the reviewed changes: what it made is not a change outside of the review then.
///
/// # Errors
/// The first way in which it does more.
pub fn check_fit(
    registry: &Registry,
    reviewed: &Plan,
    fresh: &Plan,
    (phase, is_begun): (UnitPhase, bool),
) -> Result<(), Misfit> {
    check_inputs(reviewed, fresh)?;
    let reviewed = &*comparable_plan(reviewed);
    match phase {
        UnitPhase::Changes if is_begun => check_remaining_changes(reviewed, fresh)?,
        UnitPhase::Changes => {
            check_changes(reviewed, fresh)?;
            check_values_before(reviewed, fresh)?;
        }
        // The outputs were recorded in the first phase.
        UnitPhase::Deletions => return check_deletions(registry, reviewed, fresh),
    }
    check_outputs(reviewed, fresh)
}

/// Returns a reviewed plan for a comparison. A ledger that did not exist yet had no key, so the secrets have no fingerprints, or
/// those by the key of the ledger that its first objects come from: they are known by their names only. Nor are the digests of
/// its before-images comparable: `check_values_before` compares the values that they stand for.
fn comparable_plan(reviewed: &Plan) -> Cow<'_, Plan> {
    if !reviewed.base.lineage.is_nil() {
        return Cow::Borrowed(reviewed);
    }
    let mut plan = reviewed.clone();
    plan.base.objects.iter_mut().for_each(|image| image.attributes.clear());
    let attributes = plan.changes.iter_mut().flat_map(|change| &mut change.attributes);
    let values = attributes.map(|attribute| &mut attribute.after);
    for value in values.chain(plan.planned_outputs.iter_mut().filter_map(|output| output.after.as_mut())) {
        *value = value.map_secrets(&|_| Secret::Fingerprint(None));
    }
    Cow::Owned(plan)
}

/// Checks that each output that changes gets the reviewed value; one that was unknown may have any.
fn check_outputs(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let known: BTreeMap<&Name, Option<&Value>> =
        reviewed.planned_outputs.iter().map(|output| (&output.name, output.after.as_ref())).collect();
    let fits = |name: &Name, after: Option<&Value>| match (known.get(name), after) {
        (Some(Some(then)), Some(now)) => is_fitting_value(then, now),
        (then, None) => then.is_none_or(Option::is_none),
        (_, Some(_)) => false,
    };
    let mut changed = fresh.output_changes();
    match changed.find(|output| !fits(&output.name, output.after.as_ref())) {
        Some(output) => Err(Misfit::Output(output.name.clone())),
        None => Ok(()),
    }
}

/// Checks that a plan is of the configuration and the account of the reviewed one.
///
/// # Errors
/// Which of them is another one.
pub fn check_inputs(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let (base, now) = (&reviewed.base, &fresh.base);
    if base.account != now.account {
        return Err(Misfit::Account);
    }
    if base.config != now.config || base.destroy != now.destroy {
        return Err(Misfit::Configuration);
    }
    Ok(())
}

fn changes_by_address(plan: &Plan) -> BTreeMap<&Address, &Change> {
    plan.changes.iter().map(|change| (&change.address, change)).collect()
}

fn check_changes(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let shown = changes_by_address(reviewed);
    for change in &fresh.changes {
        let known = shown.get(&change.address).filter(|known| is_milder(known.action, change.action));
        let Some(known) = known else { return Err(Misfit::Action(change.address.clone())) };
        check_attributes(known, change)?;
        check_effects(known, change)?;
        check_price(known, change)?;
    }
    check_objects(reviewed, fresh)
}

/// Checks the plan of a unit that an earlier attempt began: each action is a reviewed one, or what is left of it.
fn check_remaining_changes(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let shown = changes_by_address(reviewed);
    // A second replacement would delete the object that the first one created.
    check_deleted_objects(reviewed, fresh)?;
    for change in &fresh.changes {
        let known = shown.get(&change.address).filter(|known| is_left_of(known.action, change.action));
        let Some(known) = known else { return Err(Misfit::Action(change.address.clone())) };
        check_remaining_attributes(known, change)?;
        check_price(known, change)?;
        // What happens to an object that did not exist at the time of the review disturbs nothing that was reviewed.
        let images = reviewed.base.objects.iter();
        let mut reviewed_ids =
            images.filter(|image| image.address == change.address).map(|image| &image.key.id);
        if change.id.as_ref().is_some_and(|id| reviewed_ids.any(|reviewed| reviewed == id)) {
            check_effects(known, change)?;
        }
    }
    check_remaining_objects(reviewed, fresh)
}

fn check_effects(reviewed: &Change, fresh: &Change) -> Result<(), Misfit> {
    // An update disturbs an object less than the replacement that was reviewed, and its effects have other names.
    if (reviewed.action, fresh.action) == (Action::Replace, Action::Update) {
        return Ok(());
    }
    let effects: BTreeSet<_> = reviewed.effects.iter().map(|effect| effect.code).collect();
    // What a change opens may depend on the time and on settings, and warns only.
    let mut others = fresh.effects.iter().filter(|effect| effect.code != Effect::Exposure);
    if others.all(|effect| effects.contains(&effect.code)) {
        Ok(())
    } else {
        Err(Misfit::Effect(fresh.address.clone()))
    }
}

fn check_price(reviewed: &Change, fresh: &Change) -> Result<(), Misfit> {
    // A price that is not known now, or was not known then, cannot be compared.
    let prices = reviewed.cost.monthly_after.zip(fresh.cost.monthly_after);
    if prices.is_some_and(|(then, now)| now > then) {
        return Err(Misfit::Price(fresh.address.clone()));
    }
    Ok(())
}

/// Returns whether an action is the reviewed one, or a milder one.
const fn is_milder(reviewed: Action, fresh: Action) -> bool {
    matches!(
        (reviewed, fresh),
        (Action::Replace, Action::Replace | Action::Update)
            | (Action::Update, Action::Update)
            | (Action::Create, Action::Create)
            | (Action::Delete, Action::Delete)
            | (Action::Adopt, Action::Adopt)
            | (Action::Move, Action::Move)
            | (Action::Forget, Action::Forget)
            | (Action::Read, Action::Read)
    )
}

/// Returns whether an action is the reviewed one, a milder one, or what is left of it after a part of it was done: a
/// replacement whose old object is gone creates, and one whose new object exists deletes; an object that was created or
/// adopted may lack a later call.
const fn is_left_of(reviewed: Action, fresh: Action) -> bool {
    is_milder(reviewed, fresh)
        || matches!(
            (reviewed, fresh),
            (Action::Replace, Action::Create | Action::Delete)
                | (Action::Create, Action::Update)
                | (Action::Adopt, Action::Update | Action::Replace | Action::Create | Action::Delete)
        )
}

fn check_attributes(reviewed: &Change, fresh: &Change) -> Result<(), Misfit> {
    let shown: BTreeMap<&Name, &AttributeChange> =
        reviewed.attributes.iter().map(|attribute| (&attribute.path, attribute)).collect();
    for attribute in &fresh.attributes {
        let known = shown.get(&attribute.path);
        let fits = known.is_some_and(|known| {
            known.removed == attribute.removed && is_fitting_value(&known.after, &attribute.after)
        });
        if !fits {
            return Err(Misfit::Attribute(fresh.address.clone(), attribute.path.clone()));
        }
    }
    Ok(())
}

/// Returns whether a value is the reviewed one where that was known.
fn is_fitting_value(reviewed: &Value, fresh: &Value) -> bool {
    match (reviewed, fresh) {
        (Value::Unknown(_), _) => true,
        (Value::List(then), Value::List(now)) => {
            // An unknown item may stand for several, or for none.
            then.iter().any(Value::is_unknown)
                || (then.len() == now.len() && then.iter().zip(now).all(|(a, b)| is_fitting_value(a, b)))
        }
        (Value::Map(then), Value::Map(now)) => {
            then.len() == now.len()
                && then
                    .iter()
                    .all(|(name, then)| now.get(name).is_some_and(|now| is_fitting_value(then, now)))
        }
        // A secret without a fingerprint is known by its name only, as before the ledger exists.
        (then, Value::Secret(_)) if then.lacks_fingerprint() => true,
        // One that is computed from secrets that did not exist then has another digest now that they do.
        (Value::Secret(Secret::Derived(then)), Value::Secret(_)) if awaits_secrets(then) => true,
        (then, now) => then == now,
    }
}

fn awaits_secrets(planned: &DerivedSecret) -> bool {
    planned.recorded_inputs().is_some_and(|missing| !missing.is_empty())
}

/// Checks that the objects that a plan touches are those of the review, and as they were then.
fn check_objects(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let known = images_by_object(reviewed);
    for (which, now) in images_by_object(fresh) {
        let is_same = |then: &&Image| now.keys().all(|name| is_same_digest(then, now, name));
        if !known.get(&which).is_some_and(is_same) {
            return Err(Misfit::Object(which.0.clone()));
        }
    }
    Ok(())
}

/// Checks that each attribute that a plan changes has the live value that it had in a review without before-images, as far as
/// it is no secret.
fn check_values_before(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    if !reviewed.base.lineage.is_nil() {
        return Ok(());
    }
    let shown = changes_by_address(reviewed);
    for change in &fresh.changes {
        let known = shown.get(&change.address).into_iter().flat_map(|known| &known.attributes);
        let known: BTreeMap<&Name, &Value> = known.map(|one| (&one.path, &one.before)).collect();
        let is_same = |now: &AttributeChange| {
            known.get(&now.path).is_none_or(|then| *then == &now.before || now.before.hides_secret())
        };
        if !change.attributes.iter().all(is_same) {
            return Err(Misfit::Object(change.address.clone()));
        }
    }
    Ok(())
}

/// Returns the before-images of a plan by address and object.
fn images_by_object(plan: &Plan) -> BTreeMap<(&Address, &ObjectKey), &Image> {
    plan.base.objects.iter().map(|image| ((&image.address, &image.key), &image.attributes)).collect()
}

/// Checks the attributes of a change of which a part may be done: each has the reviewed value. An object that was created
/// in place of another needs the values, too, that the other had already.
fn check_remaining_attributes(reviewed: &Change, fresh: &Change) -> Result<(), Misfit> {
    let unchanged = reviewed.rest.iter().map(|known| (known.path.as_str(), &known.value));
    let changed = reviewed.attributes.iter().map(|known| (known.path.as_str(), &known.after));
    let values: BTreeMap<&str, &Value> = changed.chain(unchanged).collect();
    for attribute in &fresh.attributes {
        let (path, after) = (&attribute.path, &attribute.after);
        let of_whole = || {
            let (name, part) = path.split_once('.')?;
            let Value::Map(parts) = values.get(name)? else { return None };
            parts.get(part)
        };
        let fits = match values.get(path.as_str()).copied().or_else(of_whole) {
            Some(known) => is_fitting_value(known, after),
            None => fits_parts(&values, path, after),
        };
        if !fits {
            return Err(Misfit::Attribute(fresh.address.clone(), path.clone()));
        }
    }
    Ok(())
}

/// Returns whether a whole map has the reviewed values in the parts that the review shows, which are those that changed in
/// the object that it replaces. False if it shows none.
fn fits_parts(reviewed: &BTreeMap<&str, &Value>, path: &str, fresh: &Value) -> bool {
    let Value::Map(fresh) = fresh else { return false };
    let part = |(known, value): (&&str, &&Value)| {
        let part = known.strip_prefix(path)?.strip_prefix('.')?;
        Some(fresh.get(part).map_or(**value == Value::Null, |fresh| is_fitting_value(value, fresh)))
    };
    let mut parts = reviewed.iter().filter_map(part).peekable();
    parts.peek().is_some() && parts.all(|fits| fits)
}

/// Checks that the objects that a plan touches are as the review and an earlier attempt left them: those of the review with
/// nothing changed but what it plans, or ones that it plans to create.
fn check_remaining_objects(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let (known, shown, planned) =
        (images_by_object(reviewed), changes_by_address(reviewed), changes_by_address(fresh));
    for (which, now) in images_by_object(fresh) {
        let address = which.0;
        let Some(change) = shown.get(address) else { return Err(Misfit::Object(address.clone())) };
        let then = known.get(&which).filter(|then| is_same_digest(then, now, CREATED_AT));
        let left = planned.get(address).map(|left| left.attributes.as_slice()).unwrap_or_default();
        let is_explained = if let Some(then) = then {
            let changed = changed_attributes(reviewed, change);
            let mut moved = now.keys().filter(|name| !is_same_digest(then, now, name));
            moved.all(|name| changed.contains(name) && is_done(left, name))
        } else {
            let is_drift = |one: &AttributeChange| matches!(one.cause, Cause::Drift | Cause::Both);
            matches!(change.action, Action::Create | Action::Replace | Action::Adopt)
                && !left.iter().any(is_drift)
        };
        if !is_explained {
            return Err(Misfit::Object(address.clone()));
        }
    }
    Ok(())
}

/// Returns whether two images do not show that an attribute changed: one of them may lack it.
fn is_same_digest(then: &Image, now: &Image, name: &str) -> bool {
    then.get(name).zip(now.get(name)).is_none_or(|(then, now)| then == now)
}

/// Returns the attributes that a reviewed change sets, those whose links it undoes before a deletion included.
fn changed_attributes(reviewed: &Plan, change: &Change) -> BTreeSet<Name> {
    let calls = change.steps.iter().filter_map(|number| match &reviewed.steps.get(*number)?.operation {
        Operation::Update { calls, .. } => Some(calls),
        _ => None,
    });
    let sent = calls.flatten().flat_map(|call| call.attributes.keys());
    change
        .attributes
        .iter()
        .map(|one| &one.path)
        .chain(sent)
        .map(|path| attribute_of(path).into())
        .collect()
}

/// Returns whether nothing is left to do for an attribute, or it was only cleared before it gets its value.
fn is_done(left: &[AttributeChange], name: &Name) -> bool {
    left.iter().filter(|one| attribute_of(&one.path) == name.as_str()).all(|one| one.before == Value::Null)
}

/// Returns the attribute of a path, which may name a part of it.
fn attribute_of(path: &Name) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// Returns the objects that a plan deletes, with their addresses.
fn deleted_objects(plan: &Plan) -> BTreeSet<(Address, Name)> {
    let deleted = |step: &Step| match &step.operation {
        Operation::Delete { object, .. } => Some((step.address.clone(), object.id.clone())),
        _ => None,
    };
    plan.steps.iter().filter_map(deleted).collect()
}

/// Checks that a plan deletes only objects whose deletion was reviewed.
fn check_deleted_objects(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let shown = deleted_objects(reviewed);
    match deleted_objects(fresh).into_iter().find(|deleted| !shown.contains(deleted)) {
        Some((address, _)) => Err(Misfit::Action(address)),
        None => Ok(()),
    }
}

/// Checks that the objects that a plan deletes are as they were in the review. Their links do not count: the first phase,
/// or another unit, may have undone them. What a replacement left behind is an object that this run has changed.
fn check_deleted_images(registry: &Registry, reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let shown = changes_by_address(reviewed);
    let known = images_by_object(reviewed);
    let is_link = |kind: &Name, name: &Name| {
        let attribute = registry.kind(kind).and_then(|kind| kind.attribute(name));
        attribute.is_some_and(|attribute| matches!(attribute.change, UpdateStrategy::Link { .. }))
    };
    for (which @ (address, key), now) in images_by_object(fresh) {
        let is_deletion = shown.get(address).is_some_and(|change| change.action == Action::Delete);
        let Some(then) = known.get(&which).filter(|_| is_deletion) else { continue };
        if !now.keys().all(|name| is_link(&key.kind, name) || is_same_digest(then, now, name)) {
            return Err(Misfit::Object(address.clone()));
        }
    }
    Ok(())
}

/// Checks that a plan deletes only objects whose deletion was reviewed, as they were then, and does nothing else but
/// prepare that.
fn check_deletions(registry: &Registry, reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    check_deleted_objects(reviewed, fresh)?;
    check_deleted_images(registry, reviewed, fresh)?;
    let deleted: BTreeSet<Address> =
        deleted_objects(fresh).into_iter().map(|(address, _)| address).collect();
    let other = fresh.changes.iter().find(|change| !deleted.contains(&change.address));
    match other {
        Some(change) => Err(Misfit::Action(change.address.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
