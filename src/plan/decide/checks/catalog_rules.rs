//! Rules that depend on the present catalog, the time, or the account's state. In: the decisions and what the
//! service offers now; out: blockers before anything is sent. An unknown value passes: the service checks it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::model::diagnostic::blocker_code;
use crate::model::diagnostic::nearest_name;
use crate::model::live::catalog::CatalogRecord;
use crate::model::live::snapshot::Object;
use crate::model::schema::{Effect, EndingChange, Rule, RuleCheck, Type};
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::diff::attributes::display_value;
use crate::plan::diff::planned_values::planned_value;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::is_unset;

/// The limit on values that a message lists.
const MAX_LISTED_VALUES: usize = 12;

/// Blocks creations and updates that the service would refuse by a rule of the kind's table.
pub(in crate::plan) fn check(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    blocks: &mut Blockers<'_, '_>,
) {
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        if !matches!(
            decision.act,
            DecisionKind::Create | DecisionKind::Update | DecisionKind::Replace { .. }
        ) {
            continue;
        }
        unreachable_choices(joined, subject, decision, blocks);
        for rule in subject.kind.rules {
            if let Some((attribute, what)) = rule_violation(joined, decisions, (subject, decision), rule) {
                let span = decision
                    .find_attribute(attribute)
                    .and_then(|want| want.setting)
                    .map(|setting| setting.span);
                let text = format!("{} ({}: {what})", rule.says, subject.address);
                blocks.add_for_subject(
                    blocker_code::RULE,
                    subject,
                    span,
                    text,
                    format!("Rule {}: {}.", rule.code, rule.place),
                );
            }
        }
    }
}

/// Blocks an in-place change to a value that the service does not offer for the object, such as a version that
/// cannot be reached in one step. Without a list of choices nothing is blocked.
fn unreachable_choices(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    blocks: &mut Blockers<'_, '_>,
) {
    let Some(object) = subject.object().filter(|_| decision.act == DecisionKind::Update) else { return };
    for difference in &decision.differences {
        let attribute = difference.attribute;
        let of = (object.key(), attribute.name.into());
        let Some(choices) = joined.inputs.snapshot.choices.get(&of) else { continue };
        let want = decision.find_attribute(attribute.name);
        let Some(id) = want.and_then(|want| want.id.as_ref().or(Some(&want.value))) else { continue };
        if id.is_unknown() || choices.iter().any(|choice| choice.to_string() == id.to_string()) {
            continue;
        }
        let name = |id: &Value| display_value(attribute, id, &joined.names).to_string();
        let offered: Vec<String> = choices.iter().map(name).collect();
        let text = format!(
            "{}: `{}` cannot change from {} to {} in one step.",
            subject.address,
            attribute.name,
            difference.before,
            name(id)
        );
        let help = match offered.as_slice() {
            [] => "The service does not offer another value now.".to_owned(),
            offered => format!("The service offers {}.", offered.join(", ")),
        };
        let span = difference.setting.map(|setting| setting.span);
        blocks.add_for_subject(blocker_code::CHOICE, subject, span, text, help);
    }
}

/// Returns the attribute that breaks a rule, and how; `None` if the rule holds, or depends on an unknown value.
fn rule_violation(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    (subject, decision): (&ResourceState<'_>, &Decision<'_>),
    rule: &Rule,
) -> Option<(&'static str, String)> {
    match rule.check {
        RuleCheck::CatalogField { attribute, field, equals } => {
            let record = catalog_record(joined, subject, decision, attribute)?;
            let (has, wanted) = (record.fields.get(field)?, planned_value(subject, decision, equals)?);
            let same = wanted.is_unknown() || is_unset(&wanted) || has.to_string() == wanted.to_string();
            (!same).then(|| (attribute, format!("{} is of {has}, not {wanted}", record.slug)))
        }
        RuleCheck::CatalogForbids { attribute, field, forbidden, unless } => {
            let record = catalog_record(joined, subject, decision, attribute)?;
            let value = planned_value(subject, decision, forbidden)?;
            let harmless = value.is_unknown() || is_unset(&value) || value == unless.value();
            let forbids = record.fields.get(field).and_then(Value::as_bool) == Some(true);
            (forbids && !harmless).then(|| (forbidden, format!("{} with {forbidden} {value}", record.slug)))
        }
        RuleCheck::Future { attribute } => {
            let time = decision.find_attribute(attribute).filter(|_| decision.is_new())?.value.as_text()?;
            let past = time.parse::<Timestamp>().is_ok_and(|time| time <= joined.inputs.service_time());
            past.then(|| (attribute, format!("{time} is past")))
        }
        RuleCheck::Offered { attribute, table, within } => {
            let what = unavailable_value(joined, subject, decision, (attribute, table, within))?;
            Some((attribute, what))
        }
        RuleCheck::NotWhile { kind, attribute, other, values, .. } => {
            let decides = planned_value(subject, decision, other)?;
            let holds = values.iter().any(|value| decides.as_text() == Some(value));
            let says = |object: &Object| object.attributes.get(attribute)?.as_bool();
            let told = joined.inputs.snapshot.of_kind(kind).any(|object| says(object) == Some(true));
            let ends = || subjects_ending_state(joined, decisions, rule).next().is_some();
            (holds && rolls_out(decision) && told && !ends())
                .then(|| (other, format!("{attribute} is true")))
        }
        _ => None,
    }
}

/// Describes a value that the catalog does not offer, with the nearest one that it does. `None` if the value is
/// offered, is not set by this plan, or the catalog has no list to compare it with.
fn unavailable_value(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    (attribute, table, within): (&str, &'static str, Option<(&str, &str)>),
) -> Option<String> {
    let set = decision.is_new() || decision.differences.iter().any(|d| d.attribute.name == attribute);
    let wanted = &decision.find_attribute(attribute).filter(|_| set)?.value;
    let offered: Vec<String> = match within {
        None => joined.names.slugs(table).map(ToOwned::to_owned).collect(),
        Some((by, field)) => {
            let record = joined.names.find(table, &planned_value(subject, decision, by)?)?;
            match record.fields.get(field)? {
                Value::List(values) => values.iter().map(ToString::to_string).collect(),
                _ => return None,
            }
        }
    };
    let all: BTreeSet<&str> = offered.iter().map(String::as_str).collect();
    let each = match wanted {
        Value::List(values) => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    let is_missing = |value: &&Value| {
        !value.is_unknown() && !is_unset(value) && !all.contains(value.to_string().as_str())
    };
    let missing = each.iter().find(is_missing).filter(|_| !all.is_empty())?.to_string();
    Some(match nearest_name(&missing, all.iter().copied()) {
        Some(near) => format!("{missing} is not one of them; did you mean {near}?"),
        None if all.len() <= MAX_LISTED_VALUES => format!("{missing} is not one of {}", offered.join(", ")),
        None => format!("{missing} is not one of them"),
    })
}

/// Returns the indexes of the resources whose change ends the state in which a rule forbids something; the
/// forbidden change waits for them.
pub(in crate::plan) fn subjects_ending_state<'s>(
    joined: &'s JoinedState<'_>,
    decisions: &'s [Decision<'_>],
    rule: &'s Rule,
) -> impl Iterator<Item = usize> + 's {
    let (kind, ended_by) = match rule.check {
        RuleCheck::NotWhile { kind, ended_by, .. } => (kind, ended_by),
        _ => ("", &[][..]),
    };
    let ends = move |decision: &Decision<'_>| match decision.act {
        DecisionKind::Delete => true,
        DecisionKind::Update => decision.differences.iter().any(|difference| {
            ended_by.iter().any(|ending| match *ending {
                EndingChange::Becomes(name, literal) => {
                    difference.attribute.name == name && difference.after == literal.value()
                }
                EndingChange::Grows(name) => {
                    let ends = difference.before.as_decimal().zip(difference.after.as_decimal());
                    difference.attribute.name == name && ends.is_some_and(|(before, after)| after > before)
                }
            })
        }),
        _ => false,
    };
    let all = joined.subjects.iter().zip(decisions).enumerate();
    all.filter(move |(_, (subject, decision))| subject.kind.name == kind && ends(decision)).map(|(n, _)| n)
}

/// Returns whether a decision makes something new run, or more of it.
pub(in crate::plan) fn rolls_out(decision: &Decision<'_>) -> bool {
    let runs = |effect: &Effect| matches!(effect, Effect::Deploys | Effect::Charge);
    let anew = decision.revival.is_some_and(|revival| runs(&revival.effect));
    decision.is_new() || anew || decision.differences.iter().any(|d| d.attribute.effects.iter().any(runs))
}

fn catalog_record<'a>(
    joined: &JoinedState<'a>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    attribute: &str,
) -> Option<&'a CatalogRecord> {
    let Type::Catalog(table) = subject.kind.attribute(attribute)?.ty else { return None };
    joined.names.find(table, &planned_value(subject, decision, attribute)?)
}
