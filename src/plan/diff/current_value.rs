//! The current value of an attribute: as the service shows it, or as it was last applied where nothing shows it.

use super::attributes::returned_value;
use crate::model::schema::{Attribute, Presence, Type};
use crate::model::snapshot::Object;
use crate::model::value::Value;
use crate::plan::join::joined_state::ResourceState;

/// Returns the value that an attribute has now, as requests write it: what the service returns, else
/// what was last applied, else what the service starts with.
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

/// An empty id is no id.
fn as_id(attribute: &Attribute, value: Value) -> Value {
    match attribute.ty {
        Type::Reference(_) if value.as_text() == Some("") => Value::Null,
        _ => value,
    }
}
