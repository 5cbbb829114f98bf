//! An object without charge whose new plan has a price: the service makes it one that is paid in advance (specification,
//! Database status). In: a resource with its differences. Out: whether that happens.

use crate::model::live::snapshot::Object;
use crate::model::schema::{Billing, BillingChoice, Price};
use crate::model::values::value::Value;
use crate::plan::decision::AttributeDiff;
use crate::plan::join::joined_state::ResourceState;

/// Returns how an object is paid that a change in place ends to be without charge; `None` for any other.
pub(in crate::plan) fn ended_free(
    subject: &ResourceState<'_>,
    differences: &[AttributeDiff<'_>],
) -> Option<BillingChoice> {
    let (Billing::Chosen(choice), Price::Sum(terms)) = (subject.kind.billing, subject.kind.price) else {
        return None;
    };
    let chooses = |name: &str| terms.iter().any(|term| term.chosen_by == Some(name));
    let changes_price = differences.iter().any(|difference| chooses(difference.attribute.name));
    (is_free(&choice, subject.object()?) && changes_price).then_some(choice)
}

/// Returns whether a live object is one without charge, which a price makes one that is paid in advance.
pub(in crate::plan) fn is_free(choice: &BillingChoice, object: &Object) -> bool {
    let free = choice.free.and_then(|name| object.attributes.get(name));
    free.and_then(Value::as_bool) == Some(true)
}
