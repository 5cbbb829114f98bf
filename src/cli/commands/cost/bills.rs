//! The bills of a plan. In: the plan, and the objects that the ledger owns. Out: the monthly cost by resource, before and
//! after an apply. Pure.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;

use crate::model::address::{Address, Name};
use crate::plan::model::change::Plan;
use crate::report::views::cost::{CostColumn, CostReport};
use crate::report::views::list::ObjectSummary;

/// Returns the bill of a plan that creates everything.
pub(super) fn bill_offline(plan: &Plan) -> CostReport {
    CostReport { first: None, built_in: true, ..now_and_then(plan, &[]) }
}

/// Returns the report of a plan without its columns.
pub(super) fn bill_from_plan(plan: &Plan) -> CostReport {
    CostReport {
        stack: plan.base.stack.clone(),
        environment: plan.base.environment.clone(),
        first: None,
        second: CostColumn::default(),
        unpriced: plan.cost.unpriced,
        priced_at: plan.cost.priced_at,
        built_in: false,
    }
}

/// Returns the cost before and after an apply. `owned` has the objects without changes; it is empty for a saved
/// plan, which does not contain them.
pub(super) fn now_and_then(plan: &Plan, owned: &[ObjectSummary]) -> CostReport {
    let mut rows = owned_prices(owned, plan);
    for change in &plan.changes {
        rows.insert(change.address.clone(), change.cost.monthly_before);
    }
    let now = CostColumn { name: Name::new_static("now"), rows, total: plan.cost.monthly_before };
    CostReport {
        first: Some(now),
        second: bill_after_apply(plan, owned, Name::new_static("after")),
        ..bill_from_plan(plan)
    }
}

/// Returns the cost after an apply, as a column with the given name.
pub(super) fn bill_after_apply(plan: &Plan, owned: &[ObjectSummary], name: Name) -> CostColumn {
    let mut rows = owned_prices(owned, plan);
    for change in &plan.changes {
        rows.insert(change.address.clone(), change.cost.monthly_after);
    }
    CostColumn { name, rows, total: plan.cost.monthly_after }
}

/// Returns the owned objects with their monthly prices, `None` if the price is not known; the price of a deposed
/// object is added to that of its replacement. An object that a plan moves is left out: the change has its new address.
fn owned_prices(owned: &[ObjectSummary], plan: &Plan) -> BTreeMap<Address, Option<Decimal>> {
    let moved = plan.changes.iter().filter_map(|change| Some(&change.was.as_ref()?.address));
    let moved: BTreeSet<&Address> = moved.collect();
    let mut rows: BTreeMap<Address, Option<Decimal>> = BTreeMap::new();
    for object in owned {
        let Some(address) = object.address.as_ref().filter(|address| !moved.contains(address)) else {
            continue;
        };
        let row = rows.entry(address.clone()).or_default();
        *row = row.iter().chain(&object.monthly).copied().reduce(|all, one| all + one);
    }
    rows
}
