//! Attributes of test stacks from JSON: `$` marks what an expression is.

use serde_json::Value as Json;

use super::invented::INVENTED;
use super::world::SPAN;
use crate::config::stack::model::AttributeSetting;
use crate::kinds::REGISTRY;
use crate::model::address::{Address, Name};
use crate::model::expression::{Expression, Reference};
use crate::model::values::value::Value;

pub(super) fn setting(value: &Json) -> AttributeSetting {
    AttributeSetting {
        expression: expression(value),
        span: SPAN,
        set_by: None,
        parts: None,
        directory: None,
        exclusive: false,
        is_read: false,
    }
}

pub fn expression(value: &Json) -> Expression {
    match value {
        Json::String(text) if text.starts_with('$') => {
            let parts: Vec<&str> = text[1..].split('.').collect();
            let kinds = || REGISTRY.kinds.iter().chain(INVENTED.kinds);
            let known = |name: &&str| kinds().any(|kind| kind.attribute(name).is_some());
            let (path, attribute) = match parts.split_last() {
                Some((last, path)) if path.len() >= 2 && known(last) => {
                    (path.join("."), Some(Name::new(last)))
                }
                _ => (parts.join("."), None),
            };
            Expression::Reference(Reference { address: Address::parse(&path).unwrap(), attribute })
        }
        Json::Array(items)
            if items.iter().any(|item| item.as_str().is_some_and(|t| t.starts_with('$'))) =>
        {
            Expression::List(items.iter().map(expression).collect())
        }
        other => Expression::Value(Value::from_json(other)),
    }
}
