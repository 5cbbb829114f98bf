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
    survey: &JoinedState<'_>,
    verdicts: &[Decision<'_>],
    blocks: &mut Blockers<'_, '_>,
) {
    for (subject, verdict) in survey.subjects.iter().zip(verdicts) {
        if !matches!(
            verdict.act,
            DecisionKind::Create | DecisionKind::Update | DecisionKind::Replace { .. }
        ) {
            continue;
        }
        unreachable_choices(survey, subject, verdict, blocks);
        for rule in subject.kind.rules {
            if let Some((attribute, what)) = rule_violation(survey, verdicts, (subject, verdict), rule) {
                let span = verdict
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
    survey: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    verdict: &Decision<'_>,
    blocks: &mut Blockers<'_, '_>,
) {
    let Some(object) = subject.object().filter(|_| verdict.act == DecisionKind::Update) else { return };
    for difference in &verdict.differences {
        let attribute = difference.attribute;
        let of = (object.key(), attribute.name.into());
        let Some(choices) = survey.inputs.snapshot.choices.get(&of) else { continue };
        let want = verdict.find_attribute(attribute.name);
        let Some(id) = want.and_then(|want| want.id.as_ref().or(Some(&want.value))) else { continue };
        if id.is_unknown() || choices.iter().any(|choice| choice.to_string() == id.to_string()) {
            continue;
        }
        let name = |id: &Value| display_value(attribute, id, &survey.names).to_string();
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
    survey: &JoinedState<'_>,
    verdicts: &[Decision<'_>],
    (subject, verdict): (&ResourceState<'_>, &Decision<'_>),
    rule: &Rule,
) -> Option<(&'static str, String)> {
    match rule.check {
        RuleCheck::CatalogField { attribute, field, equals } => {
            let record = catalog_record(survey, subject, verdict, attribute)?;
            let (has, wanted) = (record.fields.get(field)?, planned_value(subject, verdict, equals)?);
            let same = wanted.is_unknown() || is_unset(&wanted) || has.to_string() == wanted.to_string();
            (!same).then(|| (attribute, format!("{} is of {has}, not {wanted}", record.slug)))
        }
        RuleCheck::CatalogForbids { attribute, field, forbidden, unless } => {
            let record = catalog_record(survey, subject, verdict, attribute)?;
            let value = planned_value(subject, verdict, forbidden)?;
            let harmless = value.is_unknown() || is_unset(&value) || value == unless.value();
            let forbids = record.fields.get(field).and_then(Value::as_bool) == Some(true);
            (forbids && !harmless).then(|| (forbidden, format!("{} with {forbidden} {value}", record.slug)))
        }
        RuleCheck::Future { attribute } => {
            let time = verdict.find_attribute(attribute).filter(|_| verdict.is_new())?.value.as_text()?;
            let past = time.parse::<Timestamp>().is_ok_and(|time| time <= survey.inputs.now);
            past.then(|| (attribute, format!("{time} is past")))
        }
        RuleCheck::Offered { attribute, table, within } => {
            let what = unavailable_value(survey, subject, verdict, (attribute, table, within))?;
            Some((attribute, what))
        }
        RuleCheck::NotWhile { kind, attribute, other, values, .. } => {
            let decides = planned_value(subject, verdict, other)?;
            let holds = values.iter().any(|value| decides.as_text() == Some(value));
            let says = |object: &Object| object.attributes.get(attribute)?.as_bool();
            let told = survey.inputs.snapshot.of_kind(kind).any(|object| says(object) == Some(true));
            let ends = || subjects_ending_state(survey, verdicts, rule).next().is_some();
            (holds && rolls_out(verdict) && told && !ends())
                .then(|| (other, format!("{attribute} is true")))
        }
        _ => None,
    }
}

/// Describes a value that the catalog does not offer, with the nearest one that it does. `None` if the value is
/// offered, is not set by this plan, or the catalog has no list to compare it with.
fn unavailable_value(
    survey: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    verdict: &Decision<'_>,
    (attribute, table, within): (&str, &'static str, Option<(&str, &str)>),
) -> Option<String> {
    let set = verdict.is_new() || verdict.differences.iter().any(|d| d.attribute.name == attribute);
    let wanted = &verdict.find_attribute(attribute).filter(|_| set)?.value;
    let offered: Vec<String> = match within {
        None => survey.names.slugs(table).map(ToOwned::to_owned).collect(),
        Some((by, field)) => {
            let record = survey.names.find(table, &planned_value(subject, verdict, by)?)?;
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
    survey: &'s JoinedState<'_>,
    verdicts: &'s [Decision<'_>],
    rule: &'s Rule,
) -> impl Iterator<Item = usize> + 's {
    let (kind, ended_by) = match rule.check {
        RuleCheck::NotWhile { kind, ended_by, .. } => (kind, ended_by),
        _ => ("", &[][..]),
    };
    let ends = move |verdict: &Decision<'_>| match verdict.act {
        DecisionKind::Delete => true,
        DecisionKind::Update => verdict.differences.iter().any(|difference| {
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
    let all = survey.subjects.iter().zip(verdicts).enumerate();
    all.filter(move |(_, (subject, verdict))| subject.kind.name == kind && ends(verdict)).map(|(n, _)| n)
}

/// Returns whether a decision makes something new run, or more of it.
pub(in crate::plan) fn rolls_out(verdict: &Decision<'_>) -> bool {
    let runs = |effect: &Effect| matches!(effect, Effect::Deploys | Effect::Charge);
    let anew = verdict.revival.is_some_and(|revival| runs(&revival.effect));
    verdict.is_new() || anew || verdict.differences.iter().any(|d| d.attribute.effects.iter().any(runs))
}

fn catalog_record<'a>(
    survey: &JoinedState<'a>,
    subject: &ResourceState<'_>,
    verdict: &Decision<'_>,
    attribute: &str,
) -> Option<&'a CatalogRecord> {
    let Type::Catalog(table) = subject.kind.attribute(attribute)?.ty else { return None };
    survey.names.find(table, &planned_value(subject, verdict, attribute)?)
}
