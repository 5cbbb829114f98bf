//! Final copies: what is made of an object's data before the object goes, and stays.

use std::collections::BTreeMap;

use super::change::{Operation, ProjectOf, Remember, Step};
use super::cost::Prices;
use super::project::PROJECT;
use super::survey::{Live, Subject, Survey};
use super::verdict::{Act, Verdict};
use crate::ledger::entry::Owned;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::schema::{FinalCopy, Kind, Type};
use crate::model::value::{Attributes, Value};

/// Characters of a source's id in its copy's name.
const TOLD: usize = 8;
/// Characters of a source's own name in its copy's name, at most.
const NAMED: usize = 40;
/// The shortest time that a copy is given, in seconds, and how many times its usual duration.
const PATIENCE: (u32, u32) = (1800, 20);

/// Returns what is to keep the data of a subject's objects.
fn copy_of(survey: &Survey<'_>, subject: &Subject<'_>) -> Option<(FinalCopy, &'static Kind)> {
    let remembered = subject.entry.is_some_and(|entry| entry.final_snapshot);
    let wanted = subject.block.map_or(remembered, |block| block.lifecycle.final_snapshot);
    let copy = subject.kind.final_copy.filter(|_| wanted)?;
    Some((copy, survey.inputs.registry.kind(copy.kind)?))
}

/// Returns the address under which the copy of an object is made.
fn address(subject: &Subject<'_>, object: &Owned) -> Address {
    subject.address.join(&format!("final-{}", mark(object)))
}

fn mark(object: &Owned) -> String {
    object.id.chars().filter(char::is_ascii_alphanumeric).take(TOLD).collect::<String>().to_lowercase()
}

fn name(subject: &Subject<'_>, object: &Owned) -> String {
    let known = subject.object().and_then(|live| live.attributes.get("name")).and_then(Value::as_text);
    let own: String = known.unwrap_or(subject.address.last()).chars().take(NAMED).collect();
    format!("{own}-final-{}", mark(object))
}

/// Tells whether an earlier apply made the copy of an object already.
fn is_made(survey: &Survey<'_>, address: &Address) -> bool {
    let subject = survey.index.get(address).map(|n| &survey.subjects[*n]);
    subject.is_some_and(|made| {
        let finished = made.entry.is_some_and(|entry| !entry.unfinished);
        finished && matches!(made.live, Live::Present(_))
    })
}

/// Returns the step that copies the data of an object before it goes.
pub(super) fn step(survey: &Survey<'_>, subject: &Subject<'_>, object: &Owned) -> Option<Step> {
    let (copy, kind) = copy_of(survey, subject)?;
    let address = address(subject, object);
    if is_made(survey, &address) {
        return None;
    }
    let text = |text: &str| Expression::Value(Value::text(text));
    let desired = BTreeMap::from([
        (Name::new_static("name"), text(&name(subject, object))),
        (Name::new_static(copy.of), text(&object.id)),
    ]);
    let remember = Remember {
        depends_on: vec![subject.address.clone()],
        keep_on_remove: true,
        let_go: true,
        ..Remember::default()
    };
    let project = object.project.clone().map_or(ProjectOf::None, ProjectOf::Id);
    Some(Step {
        address,
        kind: kind.name.into(),
        operation: Operation::Create { desired, project, parent: None, remember, deposes: false },
        after: Vec::new(),
        seconds: kind.estimate.create,
        timeout_seconds: kind.estimate.create.saturating_mul(PATIENCE.1).max(PATIENCE.0),
    })
}

/// Says what stays of an object that goes.
pub(super) fn told(survey: &Survey<'_>, subject: &Subject<'_>, verdict: &Verdict<'_>) -> Option<String> {
    let (copy, kind) = copy_of(survey, subject).filter(|_| verdict.removes())?;
    let name = name(subject, subject.owned()?);
    let price = monthly(survey, subject, copy, kind).map(|month| format!(", {month:.2} USD a month"));
    let price = price.unwrap_or_default();
    Some(format!("the {} {name} is made first and stays, unmanaged and billed{price}", kind.name))
}

fn monthly(
    survey: &Survey<'_>,
    subject: &Subject<'_>,
    copy: FinalCopy,
    kind: &Kind,
) -> Option<rust_decimal::Decimal> {
    let (attribute, field) = copy.size;
    let live = subject.object()?.attributes.get(attribute)?;
    let size = match (field, subject.kind.attribute(attribute)?.ty) {
        (Some(field), Type::Catalog(table)) => survey.names.find(table, live)?.fields.get(field)?.clone(),
        _ => live.clone(),
    };
    Prices::new(survey.inputs.catalog).monthly(kind, &Attributes::from([("size".into(), size)]))
}

/// A project in which a copy stays cannot be deleted: it stays too.
pub(super) fn leave_their_projects(survey: &Survey<'_>, verdicts: &mut [Verdict<'_>]) {
    let keeps = |n: &usize| verdicts[*n].removes() && copy_of(survey, &survey.subjects[*n]).is_some();
    let kept: BTreeMap<&Name, &Address> = (0..verdicts.len())
        .filter(keeps)
        .map(|n| &survey.subjects[n])
        .filter_map(|subject| Some((subject.owned()?.project.as_ref()?, subject.address)))
        .collect();
    for (subject, verdict) in survey.subjects.iter().zip(verdicts) {
        let holds = subject.owned().and_then(|owned| kept.get(&owned.id));
        if let Some(address) = holds.filter(|_| subject.kind.name == PROJECT && verdict.act == Act::Delete)
        {
            verdict.act = Act::Forget;
            verdict.reason = Some(format!("what is kept of {address} stays in it"));
        }
    }
}
