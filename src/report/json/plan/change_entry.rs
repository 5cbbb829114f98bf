//! A planned change, as the plan's document and its event stream contain it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::address::{Address, Name};
use crate::model::schema::Effect;
use crate::model::source::SourceLocation;
use crate::plan::model::change::{Action, AttributeChange, Cause, Change, ChangeCost};
use crate::report::json_value::{JsonDecimal, JsonValue};
use crate::report::run_report::RunReport;

/// Optional parts of a plan's document.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanDocumentOptions<'a> {
    /// Whether to include source locations, and facts of this run only.
    pub details: bool,
    /// The result of the apply; `None` for a plan that was not applied.
    pub ran: Option<&'a RunReport<'a>>,
}

/// The planned change of a resource.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct ChangeEntry<'a> {
    /// Address of the resource.
    address: &'a Address,
    /// Kind of the resource.
    kind: &'a Name,
    /// Id of the live object; null if there is none.
    id: Option<&'a Name>,
    /// The previous address of a resource that moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<&'a Address>,
    /// The planned action.
    action: Action,
    /// For a replacement, whether the new object is created before the old one is deleted.
    create_first: Option<bool>,
    /// Why the resource changes.
    cause: Cause,
    /// The reason as a clause (`the API cannot change template in place`); null where the attributes show it.
    reason: Option<&'a str>,
    /// Attributes that change.
    attributes: Vec<AttributeEntry<'a>>,
    /// Consequences of the change.
    effects: Vec<EffectEntry<'a>>,
    cost: ChangeCostEntry,
    /// Resources that the change affects.
    hits: &'a [Address],
    /// Numbers of its steps in `order`.
    steps: &'a [usize],
    /// Usual duration in seconds.
    seconds: u32,
    /// Location of its block. Only with details.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

impl<'a> ChangeEntry<'a> {
    pub(in crate::report::json) fn from_change(
        change: &'a Change,
        options: PlanDocumentOptions<'_>,
    ) -> Self {
        Self {
            address: &change.address,
            kind: &change.kind,
            id: change.id.as_ref(),
            was: change.was.as_ref().map(|was| &was.address),
            action: change.action,
            create_first: change.create_first,
            cause: change.cause,
            reason: change.reason.as_deref(),
            attributes: change
                .attributes
                .iter()
                .map(|a| AttributeEntry::from_attribute(a, options))
                .collect(),
            effects: change.effects.iter().map(|e| EffectEntry { code: e.code, text: &e.text }).collect(),
            cost: ChangeCostEntry::from_cost(&change.cost),
            hits: &change.hits,
            steps: &change.steps,
            seconds: change.seconds,
            source: change.source.as_ref().filter(|_| options.details),
        }
    }
}

/// An attribute that changes.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AttributeEntry<'a> {
    /// The attribute, or a part of one.
    path: &'a Name,
    /// The live value; null if it is not set.
    before: JsonValue<'a>,
    /// The planned value; null resets it to the default of the service.
    after: JsonValue<'a>,
    /// Resources that the planned value waits for.
    unknown: Vec<Address>,
    /// Whether the value is a secret or contains one, or will when it is known.
    secret: bool,
    /// Whether the object is replaced because of this attribute.
    forces_replacement: bool,
    /// Why the attribute changes.
    cause: Cause,
    /// The last applied value, if it differs from both.
    last_applied: Option<JsonValue<'a>>,
    /// The resources of this stack whose ids the values contain, by id; left out if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<&'a Name, &'a Address>,
    /// Names of other objects whose ids the values contain, as the service shows them, by id; left out if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    live_names: BTreeMap<&'a Name, &'a Name>,
    /// What determined the value besides the place where it is declared.
    set_by: Option<&'a Name>,
    /// Location of its declaration. Only with details.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

impl<'a> AttributeEntry<'a> {
    fn from_attribute(attribute: &'a AttributeChange, options: PlanDocumentOptions<'_>) -> Self {
        Self {
            path: &attribute.path,
            before: JsonValue(&attribute.before),
            after: JsonValue(&attribute.after),
            unknown: attribute.after.waits_for(),
            secret: attribute.before.hides_secret() || attribute.after.hides_secret(),
            forces_replacement: attribute.forces_replacement,
            cause: attribute.cause,
            last_applied: attribute.last_applied.as_deref().map(JsonValue),
            names: attribute.names.iter().flat_map(|names| names.iter()).collect(),
            live_names: attribute.live_names.iter().flat_map(|names| names.iter()).collect(),
            set_by: attribute.set_by.as_deref(),
            source: attribute.source.as_ref().filter(|_| options.details),
        }
    }
}

/// A consequence of a change.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EffectEntry<'a> {
    /// Stable code of the consequence.
    code: Effect,
    /// The consequence as a sentence.
    text: &'a str,
}

/// Monthly cost of a resource.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeCostEntry {
    /// Dollars a month before the change; null if no price is known.
    monthly_before: Option<JsonDecimal>,
    /// Dollars a month after the change; null if no price is known.
    monthly_after: Option<JsonDecimal>,
    /// Dollars that are charged (positive) or refunded (negative) at once, in whole cents; null if the service shows no
    /// rule, or a price is not known.
    due_now: Option<JsonDecimal>,
}

impl ChangeCostEntry {
    fn from_cost(cost: &ChangeCost) -> Self {
        Self {
            monthly_before: cost.monthly_before.map(JsonDecimal),
            monthly_after: cost.monthly_after.map(JsonDecimal),
            due_now: cost.due_now.map(JsonDecimal),
        }
    }
}
