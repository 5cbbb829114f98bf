//! Checks of a kind's fields: whether responses have those that the table declares, with the same type, known keywords
//! and in lists or not; and which others exist.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::finding::{ContractCheckResult, ProbeFinding};
use super::observations::Observations;
use crate::cloud::http::decode;
use crate::model::schema::{Attribute, Endpoint, Kind, Presence, Provenance, TextFormat, Type};
use crate::model::values::value::parse_decimal;

/// Fields that every record may have without being in a table.
const COMMON_FIELDS: &[&str] = &["id", "project_id", "account_id", "created_at", "updated_at"];

/// Maximum number of fields that a message names.
const MAX_NAMED_FIELDS: usize = 8;

/// Maximum length of a word from a response in a message.
const MAX_QUOTED_CHARS: usize = 40;

/// The records that were seen of one kind.
struct ObservedRecords {
    /// Records from list responses, undecoded.
    rows: Vec<Json>,
    /// Responses to reads of one object.
    details: Vec<Json>,
    /// The reason why there are none.
    nothing: String,
}

/// Checks the fields of a kind.
pub(super) fn check_fields(kind: &'static Kind, evidence: &Observations) -> Vec<ProbeFinding> {
    let envelope = |endpoint: Endpoint| endpoint.envelope;
    let envelope = kind.api.read.map_or(kind.api.list.envelope, envelope);
    let details =
        evidence.reads_of(kind).filter_map(|seen| decode::find_payload(seen.body()?, envelope).cloned());
    let records = ObservedRecords {
        rows: evidence.rows(kind),
        details: details.collect(),
        nothing: format!("there is no {} to read", kind.name),
    };
    let place = format!("contract, 3, {}", kind.name);
    let readable = kind.attributes.iter().filter(|attribute| attribute.is_readable());
    let mut findings: Vec<ProbeFinding> = readable
        .map(|attribute| ProbeFinding {
            subject: format!("{}.{}", kind.name, attribute.name),
            says: describe_attribute(attribute, kind),
            place: place.clone(),
            provenance: attribute.provenance,
            verdict: check_attribute(kind, attribute, &records),
        })
        .collect();
    findings.push(ProbeFinding {
        subject: format!("{} other fields", kind.name),
        says: "the tables declare every field".to_owned(),
        place,
        provenance: Provenance::Assumed,
        verdict: unknown_fields(kind, &records),
    });
    findings
}

fn describe_attribute(attribute: &Attribute, kind: &Kind) -> String {
    let what = describe_type(&attribute.ty);
    let fields = match attribute.spread {
        [] => attribute.returned.to_owned(),
        fields => fields.iter().map(|(_, field)| *field).collect::<Vec<_>>().join(", "),
    };
    let only = if attribute.listed || kind.api.read.is_none() { "" } else { ", not in lists" };
    format!("{fields}: {what}{only}")
}

fn describe_type(ty: &Type) -> String {
    match ty {
        Type::Boolean => "true or false".to_owned(),
        Type::Integer { .. } => "a whole number".to_owned(),
        Type::Decimal => "a number, or text that holds one".to_owned(),
        Type::Text { format: TextFormat::Timestamp, .. } => "a time".to_owned(),
        Type::Text { .. } => "text".to_owned(),
        Type::Enum(known) => format!("one of {}", known.join(", ")),
        Type::Labelled(_) => "a number that represents a keyword".to_owned(),
        Type::Reference(kind) => format!("the id of a {kind}"),
        Type::Catalog(table) => format!("an id of the catalog's table {table}"),
        Type::List(of) | Type::Set { of, .. } => format!("a list, each {}", describe_type(of)),
        Type::Map(of) => format!("a map, each {}", describe_type(of)),
        Type::Record(_) => "a record".to_owned(),
    }
}

fn check_attribute(kind: &Kind, attribute: &Attribute, records: &ObservedRecords) -> ContractCheckResult {
    if records.rows.is_empty() && records.details.is_empty() {
        return ContractCheckResult::NotSeen(records.nothing.clone());
    }
    let in_lists = inspect_records(attribute, &records.rows);
    let in_details = inspect_records(attribute, &records.details);
    let mut misfits: Vec<Result<(), String>> = Vec::new();
    misfits.extend(in_lists.misfits.iter().chain(&in_details.misfits).cloned().map(Err));
    if !attribute.listed && kind.api.read.is_some() && in_lists.present > 0 {
        misfits.push(Err("lists have it, too".to_owned()));
    }
    if attribute.listed && in_lists.present == 0 && in_details.present > 0 && !records.rows.is_empty() {
        misfits.push(Err("lists omit it".to_owned()));
    }
    let fitting = in_lists.fitting + in_details.fitting;
    misfits.extend((fitting > 0).then_some(Ok(())));
    if misfits.is_empty() && in_lists.present + in_details.present == 0 && is_always_there(attribute) {
        let looked_in_details = !attribute.listed && records.details.is_empty();
        if !looked_in_details {
            misfits.push(Err("no record has it".to_owned()));
        }
    }
    ContractCheckResult::from_observations(misfits, "no object sets it")
}

/// Returns whether the contract requires the field in every response.
fn is_always_there(attribute: &Attribute) -> bool {
    match attribute.presence {
        Presence::Required | Presence::Default(_) => true,
        // Services omit a time that never was, and an empty text.
        Presence::Computed => !matches!(attribute.ty, Type::Text { .. }),
        Presence::Optional | Presence::WriteOnly => false,
    }
}

/// The evidence about one attribute.
#[derive(Default)]
struct AttributeObservation {
    /// The number of records that have the field, set or not.
    present: usize,
    /// The number of records in which it is set and valid.
    fitting: usize,
    /// Descriptions of invalid values.
    misfits: Vec<String>,
}

fn inspect_records(attribute: &Attribute, records: &[Json]) -> AttributeObservation {
    let mut look = AttributeObservation::default();
    for record in records {
        let fields = match attribute.spread {
            [] => vec![(attribute.returned, &attribute.ty)],
            fields => fields
                .iter()
                .filter_map(|(key, field)| Some((*field, part_type(&attribute.ty, key)?)))
                .collect(),
        };
        for (field, ty) in fields {
            let Some(json) = record.get(field) else { continue };
            look.present += 1;
            // A field that is translated by `read_as` may also have a transitional status.
            let fit =
                if attribute.read_as.is_empty() { check_type(ty, json) } else { check_type(&STATE, json) };
            match fit {
                Some(Ok(())) => look.fitting += 1,
                Some(Err(how)) if !look.misfits.contains(&how) => look.misfits.push(how),
                Some(Err(_)) | None => {}
            }
        }
    }
    look
}

/// The type of a status: any text.
const STATE: Type = Type::Text { min: 0, max: u16::MAX, format: TextFormat::Any };

fn part_type(ty: &Type, key: &str) -> Option<&'static Type> {
    let Type::Record(types) = ty else { return None };
    types.iter().find(|(name, _)| *name == key).map(|(_, ty)| ty)
}

/// Returns whether a value has a type; `None` where it is not set. A message never repeats a possible secret: of a
/// value it has only the type, and of a keyword only that it is not a known one.
fn check_type(ty: &Type, json: &Json) -> Option<Result<(), String>> {
    let is = |fits: bool| Some(if fits { Ok(()) } else { Err(format!("{} instead", kind_of(json))) });
    match (ty, json) {
        (_, Json::Null) => None,
        (Type::Reference(_) | Type::Catalog(_) | Type::Text { .. }, Json::String(text))
            if text.is_empty() =>
        {
            None
        }
        (Type::Boolean, _) => is(json.is_boolean()),
        (Type::Integer { .. }, _) => is(json.is_i64() || json.is_u64()),
        (Type::Decimal, Json::String(text)) => is(parse_decimal(text).is_some()),
        (Type::Decimal, _) => is(json.is_number()),
        (Type::Text { format: TextFormat::Timestamp, .. }, Json::String(text)) => Some(
            text.parse::<Timestamp>().map(drop).map_err(|_| "text that is not an RFC 3339 time".to_owned()),
        ),
        (Type::Text { .. } | Type::Reference(_), _) => is(json.is_string()),
        (Type::Catalog(_), _) => is(json.is_string() || json.is_u64()),
        (Type::Enum(known), Json::String(word)) => Some(if known.contains(&word.as_str()) {
            Ok(())
        } else {
            Err(format!(
                "the unknown keyword `{}`",
                word.chars().take(MAX_QUOTED_CHARS).collect::<String>()
            ))
        }),
        (Type::Labelled(known), Json::Number(number)) => {
            let is_known = known.iter().any(|(_, label)| Some(*label) == number.as_i64());
            Some(if is_known { Ok(()) } else { Err(format!("the unknown number {number}")) })
        }
        (Type::List(of) | Type::Set { of, .. }, Json::Array(items)) => Some(check_each(of, items.iter())),
        (Type::Map(of), Json::Object(map)) => Some(check_each(of, map.values())),
        (Type::Record(_), Json::Object(_)) => Some(Ok(())),
        (_, other) => Some(Err(format!("{} instead", kind_of(other)))),
    }
}

/// Checks that all values of a collection have a type.
fn check_each<'j>(of: &Type, mut items: impl Iterator<Item = &'j Json>) -> Result<(), String> {
    match items.find_map(|item| check_type(of, item)?.err()) {
        Some(how) => Err(format!("in an element, {how}")),
        None => Ok(()),
    }
}

const fn kind_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "nothing",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a record",
    }
}

/// Lists the fields that no table declares.
fn unknown_fields(kind: &Kind, records: &ObservedRecords) -> ContractCheckResult {
    let mut known: BTreeSet<&str> = COMMON_FIELDS.iter().copied().collect();
    known.extend([kind.api.id]);
    known.extend(kind.shown_once);
    known.extend(kind.other_fields.iter().map(|(field, _)| *field));
    for attribute in kind.attributes {
        known.extend([attribute.returned, attribute.wire]);
        known.extend(attribute.spread.iter().map(|(_, field)| *field));
    }
    let all = records.rows.iter().chain(&records.details).filter_map(Json::as_object);
    let strange: BTreeSet<&str> =
        all.flat_map(|map| map.keys()).map(String::as_str).filter(|field| !known.contains(field)).collect();
    if records.rows.is_empty() && records.details.is_empty() {
        return ContractCheckResult::NotSeen(records.nothing.clone());
    }
    if strange.is_empty() {
        return ContractCheckResult::Confirmed;
    }
    let short = |field: &&str| field.chars().take(MAX_QUOTED_CHARS).collect::<String>();
    let named: Vec<String> = strange.iter().take(MAX_NAMED_FIELDS).map(short).collect();
    let more = strange.len().saturating_sub(MAX_NAMED_FIELDS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    ContractCheckResult::Different(format!("the tables do not declare {}{more}", named.join(", ")))
}
