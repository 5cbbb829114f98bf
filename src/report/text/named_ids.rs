//! Ids beside the names of their resources, as in `vpc.main (990884aa)`, and whole ids beside the live names of other
//! objects, as in `office (990884aa-284a-442c-885f-cad43a17604d)`: such a name can look like an address, and only the
//! shortened id says that an object is a resource of the stack. In: a value of a plan, and the names that the plan has for
//! the ids in it. Out: the value for a reader. JSON shows the values themselves.

use std::borrow::Cow;

use crate::model::address::Name;
use crate::model::values::value::Value;
use crate::plan::model::change::{AttributeChange, IdNames, LiveNames};

/// Number of characters of a UUID that are shown.
const SHORT_ID: usize = 8;

/// Number of characters of a UUID.
const UUID_CHARS: usize = 36;

/// Returns the values before and after for display.
pub(in crate::report) fn named_values(attribute: &AttributeChange) -> (Cow<'_, Value>, Cow<'_, Value>) {
    let named = |value| named_value(value, &attribute.names, &attribute.live_names);
    (named(&attribute.before), named(&attribute.after))
}

/// Returns a value for display, with the names of the ids in it.
pub(in crate::report) fn named_value<'v>(
    value: &'v Value,
    names: &IdNames,
    live_names: &LiveNames,
) -> Cow<'v, Value> {
    if names.is_none() && live_names.is_none() {
        return Cow::Borrowed(value);
    }
    let text = |id: &Name| {
        let resource = names.as_ref().and_then(|names| names.get(id));
        let named = resource.map(|address| format!("{address} ({})", short_id(id)));
        named.or_else(|| Some(format!("{} ({id})", live_names.as_ref()?.get(id)?)))
    };
    Cow::Owned(with_texts(value, &text))
}

/// Returns a value with the address of a resource in place of its id: two values are equal if and only if these are.
pub(in crate::report) fn value_with_addresses<'v>(value: &'v Value, names: &IdNames) -> Cow<'v, Value> {
    match names {
        Some(names) => Cow::Owned(with_texts(value, &|id| Some(names.get(id)?.to_string()))),
        None => Cow::Borrowed(value),
    }
}

fn with_texts(value: &Value, text: &dyn Fn(&Name) -> Option<String>) -> Value {
    match value {
        Value::Text(id) => text(id).map_or_else(|| value.clone(), Value::text),
        Value::List(items) => Value::List(items.iter().map(|item| with_texts(item, text)).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, item)| (key.clone(), with_texts(item, text))).collect())
        }
        _ => value.clone(),
    }
}

/// Returns the first digits of a UUID, or another id whole.
fn short_id(id: &str) -> &str {
    if id.len() == UUID_CHARS { id.get(..SHORT_ID).unwrap_or(id) } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::address::Address;
    use crate::report::tests::plans::attribute;

    #[test]
    fn known_ids_are_beside_their_names_at_any_depth() {
        let uuid = "990884aa-284a-442c-885f-cad43a17604d";
        let list = Value::List(vec![Value::text(uuid), Value::text("v9"), Value::text("other")]);
        let mut change = attribute("vms", Value::text("v9"), list);
        let address = |text: &str| Address::parse(text).unwrap();
        let names = [(uuid.into(), address("vpc.main")), ("v9".into(), address("vm.web"))];
        change.names = Some(Box::new(names.into()));
        let (before, after) = named_values(&change);
        assert_eq!(before.as_ref(), &Value::text("vm.web (v9)"));
        let shown = ["vpc.main (990884aa)", "vm.web (v9)", "other"].map(Value::text);
        assert_eq!(after.as_ref(), &Value::List(shown.into()));
        change.live_names = Some(Box::new([("other".into(), "office".into())].into()));
        let other = Value::text("other");
        let shown = named_value(&other, &change.names, &change.live_names);
        assert_eq!(shown.as_ref(), &Value::text("office (other)"));
        (change.names, change.live_names) = (None, None);
        assert_eq!(named_values(&change).0.as_ref(), &Value::text("v9"));
    }
}
