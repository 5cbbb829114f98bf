//! The current value of an attribute: the live value, or the last applied one where the service does not show
//! it. A value that the service does not show has not changed as far as stead knows.

use super::attributes::returned_value;
use crate::model::live::snapshot::Object;
use crate::model::schema::{Attribute, Presence, Type};
use crate::model::values::value::Value;
use crate::plan::join::joined_state::ResourceState;

/// Returns the current value of an attribute in the form of requests: the live value, else the last applied
/// one, else the service's default.
pub(in crate::plan) fn present_value(subject: &ResourceState<'_>, attribute: &Attribute) -> Value {
    let live = subject.object().and_then(|object| returned_value(attribute, object));
    let applied = || subject.entry.and_then(|entry| entry.applied.get(attribute.name)).cloned();
    let start = || match attribute.presence {
        Presence::Default(literal) => literal.value(),
        _ => Value::Null,
    };
    as_id(attribute, live.or_else(applied).unwrap_or_else(start))
}

/// Returns the value that an object shows, `Null` where it shows none.
pub(in crate::plan) fn live_value(object: &Object, attribute: &Attribute) -> Value {
    as_id(attribute, returned_value(attribute, object).unwrap_or_default())
}

/// Replaces an empty id by `Null`: the service writes both for no reference.
fn as_id(attribute: &Attribute, value: Value) -> Value {
    match attribute.ty {
        Type::Reference(_) if value.as_text() == Some("") => Value::Null,
        _ => value,
    }
}
