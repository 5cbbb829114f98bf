//! Drift: what was last applied against what is live, and what the plan makes of it.

use super::change::{Drift, DriftClass};
use super::compare::{same, sealed};
use super::diff::{Diff, ignores, shown};
use super::survey::{Live, Subject, Survey};
use super::verdict::{Act, Verdict, Want};
use crate::model::address::Name;
use crate::model::schema::Type;
use crate::model::value::Value;

/// Returns the drift of one subject. What no block writes any more is nobody's drift.
pub(super) fn drift(survey: &Survey<'_>, subject: &Subject<'_>, verdict: &Verdict<'_>) -> Vec<Drift> {
    let Some(resource) = subject.resource.filter(|_| verdict.act != Act::Frozen) else { return Vec::new() };
    if let Live::Gone(_) | Live::Leaving(_) = subject.live {
        return vec![Drift {
            address: subject.address.clone(),
            path: None,
            last_applied: subject.owned().map(|owned| Value::Text(owned.id.clone())).unwrap_or_default(),
            live: Value::Null,
            class: DriftClass::Gone,
            source: survey.inputs.stack.sources.place(resource.span),
        }];
    }
    let Some(diff) = Diff::new(survey, subject) else { return Vec::new() };
    let mut found = Vec::new();
    for want in &verdict.wants {
        let attribute = want.attribute;
        let Some(applied) = diff.applied(attribute) else { continue };
        let Some(live) = diff.live(attribute, Some(applied)) else { continue };
        let want_stored = sealed(want.stored(), survey.key());
        let class = |path: &Name, wanted: &Value, live: &Value, ty: &Type| {
            if ignores(survey, subject, attribute.name) {
                DriftClass::Ignored
            } else if !wanted.is_unknown() && same(ty, wanted, live) {
                DriftClass::Accepted
            } else if matches!(verdict.act, Act::Replace { .. }) {
                DriftClass::Replaced
            } else if verdict.differences.iter().any(|difference| difference.path == *path) {
                DriftClass::Reverted
            } else {
                DriftClass::AcceptOnly
            }
        };
        let mut add = |path: Name, applied: &Value, live: &Value, wanted: &Value, ty: &Type| {
            if same(ty, applied, live) || leaves_alone(want, wanted) {
                return;
            }
            found.push(Drift {
                address: subject.address.clone(),
                class: class(&path, wanted, live, ty),
                path: Some(path),
                last_applied: shown(attribute, applied, &survey.names),
                live: shown(attribute, live, &survey.names),
                source: want.setting.and_then(|setting| survey.inputs.stack.sources.place(setting.span)),
            });
        };
        match (applied, &want_stored) {
            (Value::Map(before), Value::Map(wanted)) => {
                for (key, applied) in before.iter().filter(|(key, _)| wanted.contains_key(*key)) {
                    let Some(ty) = super::compare::part_type(&attribute.ty, key) else { continue };
                    let part = match &live {
                        Value::Map(live) => live.get(key).cloned().unwrap_or_default(),
                        _ => Value::Null,
                    };
                    let path = smol_str::format_smolstr!("{}.{key}", attribute.name);
                    add(path, applied, &part, &wanted[key], ty);
                }
            }
            _ => add(attribute.name.into(), applied, &live, &want_stored, &attribute.ty),
        }
    }
    found
}

/// A `null` whose default the service chooses is followed by whatever it chose.
fn leaves_alone(want: &Want<'_>, wanted: &Value) -> bool {
    *wanted == Value::Null
        && !matches!(want.attribute.ty, Type::Reference(_) | Type::List(_) | Type::Set { .. })
}
