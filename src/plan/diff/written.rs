//! What a block writes for an attribute, or for a key of it, and whether a value can come from that. Pure.

use crate::model::expression::Expression;
use crate::model::values::value::Value;

/// Returns whether an expression may have had a value: a string that lacks the text beside the references was made by another
/// expression.
pub(super) fn may_have_been(expression: &Expression, value: &Value) -> bool {
    let (Expression::Text(parts), Some(text)) = (expression, value.as_text()) else { return true };
    let mut rest = text;
    for (at, part) in parts.iter().enumerate() {
        let Some(literal) = part.known_value().and_then(Value::as_text) else { continue };
        // Between two references it may be anywhere; at the ends nothing may be beside it.
        let after = match at {
            0 => rest.strip_prefix(literal),
            _ if at + 1 == parts.len() => rest.strip_suffix(literal),
            _ => rest.split_once(literal).map(|(_, after)| after),
        };
        let Some(after) = after else { return false };
        rest = after;
    }
    true
}

/// Returns the expression of an attribute, or of one key of a map: what is written at a path. `None` if nothing is.
pub(super) fn written_part<'e>(expression: &'e Expression, path: &str) -> Option<&'e Expression> {
    match (expression, path.split_once('.')) {
        (Expression::Map(map), Some((_, key))) => map.get(key),
        _ => Some(expression),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_without_the_text_beside_the_references_was_written_otherwise() {
        let unknown = || Expression::Value(Value::unknown(Vec::new()));
        let text = |text: &str| Expression::Value(Value::text(text));
        let written = Expression::Text(vec![text("v1-"), unknown(), text("-x-"), unknown(), text("-end")]);
        for (value, fits) in [
            ("v1-a-x-b-end", true),
            ("v1--x--end", true),
            ("v1-x-x-x-x-end", true),
            ("v2-a-x-b-end", false),
            ("v1-a-y-b-end", false),
            ("v1-a-x-b-end.", false),
            ("v1-a-x-end", false),
        ] {
            assert_eq!(may_have_been(&written, &Value::text(value)), fits, "{value}");
        }
        assert!(may_have_been(&unknown(), &Value::text("any")));
        assert!(may_have_been(&written, &Value::Integer(1)));
        assert!(!may_have_been(&Expression::Text(vec![text("a"), unknown()]), &Value::text("b")));
    }
}
