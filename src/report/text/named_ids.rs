//! Ids beside the names of their resources, as in `vpc.main (990884aa)`. In: a value of a plan, and the names that the plan
//! has for the ids in it. Out: the value for a reader. JSON shows the values themselves.

use std::borrow::Cow;

use crate::model::address::{Address, Name};
use crate::model::values::value::Value;
use crate::plan::model::change::AttributeChange;

/// Number of characters of a UUID that are shown.
const SHORT_ID: usize = 8;

/// Number of characters of a UUID.
const UUID_CHARS: usize = 36;

/// Returns the values before and after for display.
pub(in crate::report) fn named_values(attribute: &AttributeChange) -> (Cow<'_, Value>, Cow<'_, Value>) {
    let (before, after) = (&attribute.before, &attribute.after);
    match &attribute.names {
        Some(names) => {
            let named = |value| Cow::Owned(name_ids(value, &|id| names.get(id)));
            (named(before), named(after))
        }
        None => (Cow::Borrowed(before), Cow::Borrowed(after)),
    }
}

fn name_ids<'n>(value: &Value, address_of: &dyn Fn(&Name) -> Option<&'n Address>) -> Value {
    match value {
        Value::Text(id) => match address_of(id) {
            Some(address) => Value::text(format!("{address} ({})", short_id(id))),
            None => value.clone(),
        },
        Value::List(items) => Value::List(items.iter().map(|item| name_ids(item, address_of)).collect()),
        Value::Map(map) => {
            Value::Map(map.iter().map(|(key, item)| (key.clone(), name_ids(item, address_of))).collect())
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
        change.names = None;
        assert_eq!(named_values(&change).0.as_ref(), &Value::text("v9"));
    }
}
