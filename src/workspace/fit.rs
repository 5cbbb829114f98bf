//! Whether a plan that is made at the time of an apply still fits the one that was reviewed. In: both plans of a unit. Out:
//! nothing, or the first way in which the later plan does more than the review shows. A later plan may do less: what
//! was unknown is known now, and a replacement that was planned for the worst case may be an update.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::model::address::{Address, Name};
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, AttributeChange, Change, Plan};
use crate::plan::model::step::{Operation, Step};

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
        }
    }
}

/// Checks that a plan does nothing that the reviewed one does not show.
///
/// # Errors
/// The first way in which it does more.
pub fn check_fit(reviewed: &Plan, fresh: &Plan, phase: UnitPhase) -> Result<(), Misfit> {
    let (base, now) = (&reviewed.base, &fresh.base);
    if base.account != now.account {
        return Err(Misfit::Account);
    }
    if base.config != now.config || base.destroy != now.destroy {
        return Err(Misfit::Configuration);
    }
    match phase {
        UnitPhase::Changes => check_changes(reviewed, fresh),
        UnitPhase::Deletions => check_deletions(reviewed, fresh),
    }
}

fn check_changes(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let shown: BTreeMap<&Address, &Change> =
        reviewed.changes.iter().map(|change| (&change.address, change)).collect();
    for change in &fresh.changes {
        let known = shown.get(&change.address).filter(|known| is_milder(known.action, change.action));
        let Some(known) = known else { return Err(Misfit::Action(change.address.clone())) };
        check_attributes(known, change)?;
        let effects: BTreeSet<_> = known.effects.iter().map(|effect| effect.code).collect();
        if !change.effects.iter().all(|effect| effects.contains(&effect.code)) {
            return Err(Misfit::Effect(change.address.clone()));
        }
        // A price that is not known now, or was not known then, cannot be compared.
        let prices = known.cost.monthly_after.zip(change.cost.monthly_after);
        if prices.is_some_and(|(then, now)| now > then) {
            return Err(Misfit::Price(change.address.clone()));
        }
    }
    check_objects(reviewed, fresh)
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
        (then, now) => then == now,
    }
}

/// Checks that the objects that a plan touches are those of the review, and as they were then.
fn check_objects(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let known: BTreeMap<_, _> = reviewed
        .base
        .objects
        .iter()
        .map(|image| ((&image.address, &image.key), &image.attributes))
        .collect();
    for image in &fresh.base.objects {
        let moved = || Err(Misfit::Object(image.address.clone()));
        let Some(then) = known.get(&(&image.address, &image.key)) else { return moved() };
        let is_same = |(name, now): (&Name, &String)| then.get(name).is_none_or(|then| then == now);
        if !image.attributes.iter().all(is_same) {
            return moved();
        }
    }
    Ok(())
}

/// Checks that a plan deletes only objects whose deletion was reviewed, and does nothing else but prepare that.
fn check_deletions(reviewed: &Plan, fresh: &Plan) -> Result<(), Misfit> {
    let deletes = |plan: &Plan| -> BTreeSet<(Address, Name)> {
        let deleted = |step: &Step| match &step.operation {
            Operation::Delete { object, .. } => Some((step.address.clone(), object.id.clone())),
            _ => None,
        };
        plan.steps.iter().filter_map(deleted).collect()
    };
    let shown = deletes(reviewed);
    if let Some((address, _)) = deletes(fresh).into_iter().find(|deleted| !shown.contains(deleted)) {
        return Err(Misfit::Action(address));
    }
    let deleted: BTreeSet<Address> = deletes(fresh).into_iter().map(|(address, _)| address).collect();
    let other = fresh.changes.iter().find(|change| !deleted.contains(&change.address));
    match other {
        Some(change) => Err(Misfit::Action(change.address.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fits_where_the_review_knew_it() {
        let unknown = || Value::Unknown(vec![Address::new("stacks", "net")]);
        let text = |text: &str| Value::text(text);
        let list = |items: Vec<Value>| Value::List(items);
        let map = |value: Value| Value::Map([("a".into(), value)].into());
        for (reviewed, fresh, fits) in [
            (text("a"), text("a"), true),
            (text("a"), text("b"), false),
            (unknown(), text("b"), true),
            (text("a"), unknown(), false),
            (list(vec![text("a"), unknown()]), list(vec![text("a"), text("b")]), true),
            (list(vec![text("a")]), list(vec![text("a"), text("b")]), false),
            (map(unknown()), map(text("x")), true),
            (map(text("x")), map(text("y")), false),
            (Value::Null, text("x"), false),
        ] {
            assert_eq!(is_fitting_value(&reviewed, &fresh), fits, "{reviewed} {fresh}");
        }
    }

    #[test]
    fn only_a_milder_action_fits() {
        let all = [
            Action::Replace,
            Action::Delete,
            Action::Update,
            Action::Create,
            Action::Adopt,
            Action::Move,
            Action::Forget,
            Action::Read,
        ];
        for reviewed in all {
            for fresh in all {
                let milder = (reviewed, fresh) == (Action::Replace, Action::Update);
                assert_eq!(
                    is_milder(reviewed, fresh),
                    reviewed == fresh || milder,
                    "{reviewed:?} {fresh:?}"
                );
            }
        }
    }
}
