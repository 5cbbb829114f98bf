//! The JSON document of the difference between a reviewed plan and a later one.

use std::borrow::Cow;

use serde::Serialize;

use crate::model::address::Address;
use crate::model::values::value::Value;
use crate::plan::artifact::change_digests::DigestDifference;
use crate::plan::artifact::difference::{MovedSide, PartDifference, PlanDifference};
use crate::plan::artifact::difference_part::DifferencePart;
use crate::report::json_value::JsonValue;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};

/// The difference between a reviewed plan and a later one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PlanDifferenceDocument<'a> {
    schema_version: SchemaVersion,
    /// Whether the plans decide the same.
    same: bool,
    /// Addresses that are decided differently, sorted.
    resources: Vec<ResourceEntry<'a>>,
    /// What differs in the plans as a whole.
    whole: Vec<PartEntry<'a>>,
    /// Number of addresses and outputs that were not compared: a comment has not the digests of all.
    not_compared: usize,
}

/// An address that is decided differently.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct ResourceEntry<'a> {
    /// The address.
    address: &'a Address,
    /// The parts that differ; empty where only a comment is compared.
    parts: Vec<PartEntry<'a>>,
}

/// A part that differs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct PartEntry<'a> {
    /// The part, such as `action`, `price` or `size (planned)`.
    part: Cow<'static, str>,
    /// Its value in the reviewed plan; null where only a comment is compared.
    old: JsonValue<'a>,
    /// Its value in the later plan; null where only a comment is compared.
    new: JsonValue<'a>,
    /// What moved; several where the plans do not show which of them is the cause. Empty where only a comment is compared.
    moved: &'a [MovedSide],
}

impl<'a> PartEntry<'a> {
    fn from_part(part: &'a PartDifference) -> Self {
        Self {
            part: part.part.key(),
            old: JsonValue(&part.old),
            new: JsonValue(&part.new),
            moved: &part.moved,
        }
    }
}

/// Returns the document of the difference between two plans.
#[must_use]
pub fn difference_document(difference: &PlanDifference) -> String {
    let resources = difference.resources.iter().map(|one| ResourceEntry {
        address: &one.address,
        parts: one.parts.iter().map(PartEntry::from_part).collect(),
    });
    to_pretty(&PlanDifferenceDocument {
        schema_version: SCHEMA_VERSION,
        same: difference.is_empty(),
        resources: resources.collect(),
        whole: difference.whole.iter().map(PartEntry::from_part).collect(),
        not_compared: 0,
    })
}

/// Returns the document of the difference between a comment and a plan.
#[must_use]
pub fn digest_difference_document(difference: &DigestDifference, is_same: bool) -> String {
    let resources =
        difference.addresses.iter().map(|address| ResourceEntry { address, parts: Vec::new() }).collect();
    let outputs = difference.outputs.iter().map(|name| PartEntry {
        part: DifferencePart::Output(name.clone()).key(),
        old: JsonValue(&Value::Null),
        new: JsonValue(&Value::Null),
        moved: &[],
    });
    let not_compared = difference.not_compared;
    to_pretty(&PlanDifferenceDocument {
        schema_version: SCHEMA_VERSION,
        same: is_same,
        resources,
        whole: outputs.collect(),
        not_compared,
    })
}
