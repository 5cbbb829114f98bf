//! The cost of a plan in its document: dollars a month, and what is due at once.

use jiff::Timestamp;
use serde::Serialize;

use crate::plan::model::change::Plan;
use crate::plan::model::due::DueTotal;
use crate::report::json_value::JsonDecimal;

/// Monthly cost of the stack.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct CostEntry<'a> {
    /// Dollars a month before the apply.
    monthly_before: JsonDecimal,
    /// Dollars a month after the apply.
    monthly_after: JsonDecimal,
    /// The difference.
    delta: JsonDecimal,
    /// Number of billed resources with an unknown price; they are not counted.
    unpriced: usize,
    /// Prices that differ from those in `stead.lock`.
    moved: Vec<PriceChangeEntry<'a>>,
    /// Dollars that are charged (positive) or refunded (negative) at once; no monthly amount contains them.
    due_now: JsonDecimal,
    /// Number of changes whose amount is not known, since the service shows no rule, or a price is not known; they are
    /// not counted.
    due_unknown: usize,
    /// The time for which the amount is computed; null if nothing is due.
    due_at: Option<Timestamp>,
}

/// What is charged or refunded at once. No monthly amount contains it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report::json) struct DueEntry {
    /// Dollars that are charged (positive) or refunded (negative) at once.
    #[serde(rename = "due_now")]
    now: JsonDecimal,
    /// Number of changes whose amount is not known, since the service shows no rule, or a price is not known; they are
    /// not counted.
    #[serde(rename = "due_unknown")]
    unknown: usize,
    /// The time for which the amount is computed; null if nothing is due.
    #[serde(rename = "due_at")]
    at: Option<Timestamp>,
}

impl DueEntry {
    pub(in crate::report::json) const fn from_total(due: &DueTotal) -> Self {
        Self { now: JsonDecimal(due.amount), unknown: due.unknown, at: due.at }
    }
}

/// A price that differs from the one in `stead.lock`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PriceChangeEntry<'a> {
    /// Table and name of the record.
    name: &'a str,
    /// The price in `stead.lock`.
    pinned: JsonDecimal,
    /// The current price.
    now: JsonDecimal,
}

impl<'a> CostEntry<'a> {
    pub(in crate::report::json) fn from_plan_cost(plan: &'a Plan) -> Self {
        let cost = &plan.cost;
        let moved = cost
            .moved
            .iter()
            .map(|(name, pinned, now)| PriceChangeEntry {
                name,
                pinned: JsonDecimal(*pinned),
                now: JsonDecimal(*now),
            })
            .collect();
        Self {
            monthly_before: JsonDecimal(cost.monthly_before),
            monthly_after: JsonDecimal(cost.monthly_after),
            delta: JsonDecimal(cost.monthly_after - cost.monthly_before),
            unpriced: cost.unpriced,
            moved,
            due_now: JsonDecimal(cost.due.amount),
            due_unknown: cost.due.unknown,
            due_at: cost.due.at,
        }
    }
}
