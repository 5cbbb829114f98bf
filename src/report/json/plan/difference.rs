//! The JSON document of the difference between a reviewed plan and a later one.

use std::borrow::Cow;

use serde::Serialize;

use crate::model::address::Address;
use crate::model::values::value::Value;
use crate::plan::artifact::difference::{PartDifference, PlanDifference, ResourceDifference};
use crate::plan::artifact::difference_part::{DifferencePart, MovedSide};
use crate::plan::artifact::review_difference::{ReviewDifference, UnitDifference};
use crate::report::json_value::JsonValue;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};

/// The difference between a reviewed plan and a later one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PlanDifferenceDocument<'a> {
    schema_version: SchemaVersion,
    #[serde(flatten)]
    difference: DifferenceEntry<'a>,
}

/// The differences between a reviewed set of plans and a later one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct UnitsDifferenceDocument<'a> {
    schema_version: SchemaVersion,
    /// Whether both sets have the same units, and the plans of each decide the same.
    same: bool,
    /// The units that both sets have.
    units: Vec<UnitDifferenceEntry<'a>>,
    /// The units that have something to do now, and were not reviewed.
    not_reviewed: &'a [String],
    /// The units that were reviewed, and have no plan in the later set: they have nothing to do now, or were not selected.
    nothing_to_do: &'a [String],
}

/// The difference between the plans of one unit.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct UnitDifferenceEntry<'a> {
    /// The stack and the environment, as `shop/prod`.
    unit: &'a str,
    #[serde(flatten)]
    difference: DifferenceEntry<'a>,
}

/// What differs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DifferenceEntry<'a> {
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

impl<'a> DifferenceEntry<'a> {
    fn new(difference: &'a ReviewDifference) -> Self {
        let same = difference.is_same();
        match difference {
            ReviewDifference::Parts(PlanDifference { resources, whole }) => {
                let resource = |one: &'a ResourceDifference| ResourceEntry {
                    address: &one.address,
                    parts: one.parts.iter().map(PartEntry::from_part).collect(),
                };
                let resources = resources.iter().map(resource).collect();
                let whole = whole.iter().map(PartEntry::from_part).collect();
                Self { same, resources, whole, not_compared: 0 }
            }
            ReviewDifference::Addresses { found, .. } => {
                let resource = |address| ResourceEntry { address, parts: Vec::new() };
                let part = |part| PartEntry {
                    part,
                    old: JsonValue(&Value::Null),
                    new: JsonValue(&Value::Null),
                    moved: &[],
                };
                let outputs = found.outputs.iter();
                let outputs = outputs.map(|name| part(DifferencePart::Output(name.clone()).key()));
                let policies = found.policies.iter().map(|name| part(format!("policy {name}").into()));
                Self {
                    same,
                    resources: found.addresses.iter().map(resource).collect(),
                    whole: outputs.chain(policies).collect(),
                    not_compared: found.not_compared,
                }
            }
        }
    }
}

/// Returns the document of the difference between a reviewed plan and a later one.
#[must_use]
pub fn difference_document(difference: &ReviewDifference) -> String {
    to_pretty(&PlanDifferenceDocument {
        schema_version: SCHEMA_VERSION,
        difference: DifferenceEntry::new(difference),
    })
}

/// Returns the document of the differences between two sets: of the units that both have, and which units only the later or
/// only the reviewed one has.
#[must_use]
pub fn units_difference_document(
    units: &[UnitDifference],
    not_reviewed: &[String],
    nothing_to_do: &[String],
) -> String {
    let is_equal = not_reviewed.is_empty() && nothing_to_do.is_empty();
    to_pretty(&UnitsDifferenceDocument {
        schema_version: SCHEMA_VERSION,
        same: is_equal && units.iter().all(|(_, difference)| difference.is_same()),
        units: units_entries(units),
        not_reviewed,
        nothing_to_do,
    })
}

/// Returns the entries of the differences of several plans.
pub(in crate::report::json) fn units_entries(units: &[UnitDifference]) -> Vec<UnitDifferenceEntry<'_>> {
    let units = units.iter();
    units
        .map(|(unit, found)| UnitDifferenceEntry { unit, difference: DifferenceEntry::new(found) })
        .collect()
}
