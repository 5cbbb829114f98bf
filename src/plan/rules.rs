//! Rules that only the catalog of the day can judge.

use super::blocks::Blocks;
use super::compare::is_unset;
use super::lookup::foreseen;
use super::survey::{Subject, Survey};
use super::verdict::{Act, Verdict};
use crate::model::catalog::CatalogRecord;
use crate::model::schema::{Check, Rule, Type};
use crate::model::value::Value;

/// Blocks what the service would refuse for its plan's sake.
pub(super) fn check(survey: &Survey<'_>, verdicts: &[Verdict<'_>], blocks: &mut Blocks<'_, '_>) {
    for (subject, verdict) in survey.subjects.iter().zip(verdicts) {
        if !matches!(verdict.act, Act::Create | Act::Update | Act::Replace { .. }) {
            continue;
        }
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
        _ => None,
    }
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
