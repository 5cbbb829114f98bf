//! Rules that only the catalog of the day, its time and the account's state can judge.

use jiff::Timestamp;

use super::blocks::Blocks;
use super::compare::is_unset;
use super::diff::shown;
use super::lookup::foreseen;
use super::survey::{Subject, Survey};
use super::verdict::{Act, Verdict};
use crate::model::catalog::CatalogRecord;
use crate::model::schema::{Check, Effect, Rule, Type};
use crate::model::snapshot::Object;
use crate::model::value::Value;

/// Blocks what the service would refuse for its plan's sake.
pub(super) fn check(survey: &Survey<'_>, verdicts: &[Verdict<'_>], blocks: &mut Blocks<'_, '_>) {
    for (subject, verdict) in survey.subjects.iter().zip(verdicts) {
        if !matches!(verdict.act, Act::Create | Act::Update | Act::Replace { .. }) {
            continue;
        }
        unreachable_choices(survey, subject, verdict, blocks);
        for rule in subject.kind.rules {
            if let Some((attribute, what)) = broken(survey, subject, verdict, rule) {
                let span =
                    verdict.want(attribute).and_then(|want| want.setting).map(|setting| setting.span);
                let text = format!("{} ({}: {what})", rule.says, subject.address);
                blocks.about("rule", subject, span, text, format!("Rule {}: {}.", rule.code, rule.place));
            }
        }
    }
}

/// Blocks a change in place to a value that the service does not offer for the object.
fn unreachable_choices(
    survey: &Survey<'_>,
    subject: &Subject<'_>,
    verdict: &Verdict<'_>,
    blocks: &mut Blocks<'_, '_>,
) {
    let Some(object) = subject.object().filter(|_| verdict.act == Act::Update) else { return };
    for difference in &verdict.differences {
        let attribute = difference.attribute;
        let of = (object.key(), attribute.name.into());
        let Some(choices) = survey.inputs.snapshot.choices.get(&of) else { continue };
        let want = verdict.want(attribute.name);
        let Some(id) = want.and_then(|want| want.id.as_ref().or(Some(&want.value))) else { continue };
        if id.is_unknown() || choices.iter().any(|choice| choice.to_string() == id.to_string()) {
            continue;
        }
        let name = |id: &Value| shown(attribute, id, &survey.names).to_string();
        let offered: Vec<String> = choices.iter().map(name).collect();
        let text = format!(
            "{}: `{}` cannot go from {} to {} in one step.",
            subject.address,
            attribute.name,
            difference.before,
            name(id)
        );
        let help = match offered.as_slice() {
            [] => "The service offers no change of it now.".to_owned(),
            offered => format!("The service offers {}.", offered.join(", ")),
        };
        let span = difference.setting.map(|setting| setting.span);
        blocks.about("choice", subject, span, text, help);
    }
}

/// Returns the attribute that breaks a rule, and how. What is not known yet passes.
fn broken(
    survey: &Survey<'_>,
    subject: &Subject<'_>,
    verdict: &Verdict<'_>,
    rule: &Rule,
) -> Option<(&'static str, String)> {
    match rule.check {
        Check::CatalogField { attribute, field, equals } => {
            let record = record(survey, subject, verdict, attribute)?;
            let (has, wanted) = (record.fields.get(field)?, foreseen(subject, verdict, equals)?);
            let same = wanted.is_unknown() || is_unset(&wanted) || has.to_string() == wanted.to_string();
            (!same).then(|| (attribute, format!("{} is of {has}, not {wanted}", record.slug)))
        }
        Check::CatalogForbids { attribute, field, forbidden, unless } => {
            let record = record(survey, subject, verdict, attribute)?;
            let value = foreseen(subject, verdict, forbidden)?;
            let harmless = value.is_unknown() || is_unset(&value) || value == unless.value();
            let forbids = record.fields.get(field).and_then(Value::as_bool) == Some(true);
            (forbids && !harmless).then(|| (forbidden, format!("{} with {forbidden} {value}", record.slug)))
        }
        Check::Future { attribute } => {
            let time = verdict.want(attribute).filter(|_| verdict.is_new())?.value.as_text()?;
            let past = time.parse::<Timestamp>().is_ok_and(|time| time <= survey.inputs.now);
            past.then(|| (attribute, format!("{time} is past")))
        }
        Check::NotWhile { kind, attribute, other, values } => {
            let decides = foreseen(subject, verdict, other)?;
            let holds = values.iter().any(|value| decides.as_text() == Some(value));
            let says = |object: &Object| object.attributes.get(attribute)?.as_bool();
            let told = survey.inputs.snapshot.of_kind(kind).any(|object| says(object) == Some(true));
            (holds && rolls_out(verdict) && told).then(|| (other, format!("{attribute} is true")))
        }
        _ => None,
    }
}

/// Tells whether something new runs in the end, or more of it.
fn rolls_out(verdict: &Verdict<'_>) -> bool {
    let runs = |effect: &Effect| matches!(effect, Effect::Deploys | Effect::Charge);
    verdict.is_new() || verdict.differences.iter().any(|d| d.attribute.effects.iter().any(runs))
}

fn record<'a>(
    survey: &Survey<'a>,
    subject: &Subject<'_>,
    verdict: &Verdict<'_>,
    attribute: &str,
) -> Option<&'a CatalogRecord> {
    let Type::Catalog(table) = subject.kind.attribute(attribute)?.ty else { return None };
    survey.names.find(table, &foreseen(subject, verdict, attribute)?)
}
