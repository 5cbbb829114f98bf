//! `VariableType`: the types of variables, and values of them from files and from command lines.

use crate::config::syntax::document::{Node, NodeValue, Scalar, ScalarForm};
use crate::config::syntax::quoting;
use crate::config::types::mismatch::TypeMismatch;
use crate::config::types::scalar::{self};
use crate::config::types::text_format;
use crate::model::address::Name;
use crate::model::schema::Type;
use crate::model::values::secret::Secret;
use crate::model::values::value::{Value, ValueMap, parse_decimal};

/// The type of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum VariableType {
    Text,
    Integer,
    Number,
    Boolean,
    /// An IPv4 network such as `10.0.0.0/16`.
    Cidr,
    /// Sensitive text, which is redacted in all output.
    Secret,
    /// Values in order, which may repeat.
    List(Box<VariableType>),
    /// Values without order or repetition.
    Set(Box<VariableType>),
    /// Values, each under a key.
    Map(Box<VariableType>),
}

impl VariableType {
    /// Parses a type such as `set(string)`.
    pub(in crate::config) fn parse(text: &str) -> Option<Self> {
        // The length limit also bounds the nesting.
        if text.len() > 64 {
            return None;
        }
        Some(match text.trim() {
            "string" => Self::Text,
            "int" => Self::Integer,
            "number" => Self::Number,
            "bool" => Self::Boolean,
            "cidr" => Self::Cidr,
            "secret" => Self::Secret,
            other => {
                let (outer, inner) = other.strip_suffix(')')?.split_once('(')?;
                let inner = Box::new(Self::parse(inner)?);
                match outer.trim() {
                    "list" => Self::List(inner),
                    "set" => Self::Set(inner),
                    "map" => Self::Map(inner),
                    _ => return None,
                }
            }
        })
    }

    /// Returns the name of the type for messages, with its article.
    pub(in crate::config) fn name(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Integer => "a whole number".into(),
            Self::Number => "a number".into(),
            Self::Boolean => "true or false".into(),
            Self::Cidr => "an IPv4 network".into(),
            Self::Secret => "a secret".into(),
            Self::List(of) => format!("a list, each entry {}", of.name()),
            Self::Set(of) => format!("a set, each entry {}", of.name()),
            Self::Map(of) => format!("a map, each value {}", of.name()),
        }
    }

    /// Reads a value from a node of a file.
    pub(in crate::config) fn read(&self, node: &Node) -> Result<Value, TypeMismatch> {
        match (self, &node.value) {
            (Self::List(of) | Self::Set(of), NodeValue::Sequence(items)) => {
                Ok(self.collect_values(items.iter().map(|item| of.read(item)).collect::<Result<_, _>>()?))
            }
            (Self::List(of) | Self::Set(of), NodeValue::Scalar(scalar)) if scalar.sole_argument => {
                Ok(self.collect_values(vec![of.read_scalar(scalar)?]))
            }
            (Self::List(_) | Self::Set(_), NodeValue::Bare) => Ok(self.collect_values(Vec::new())),
            (Self::Map(of), NodeValue::Mapping(entries)) => entries
                .iter()
                .map(|entry| Ok((entry.key.clone(), of.read(&entry.value)?)))
                .collect::<Result<_, _>>()
                .map(Value::Map),
            (Self::Map(_), NodeValue::Bare) => Ok(Value::Map(ValueMap::new())),
            (_, NodeValue::Scalar(scalar)) => self.read_scalar(scalar),
            (_, NodeValue::Sequence(_)) => Err(self.type_mismatch("a list")),
            (_, NodeValue::Mapping(_)) => Err(self.type_mismatch("a map")),
            (_, NodeValue::Null | NodeValue::Bare) => Err(self.type_mismatch("nothing")),
        }
    }

    fn type_mismatch(&self, found: &str) -> TypeMismatch {
        TypeMismatch::wrong_type(&self.name(), found)
    }

    fn read_scalar(&self, scalar: &Scalar) -> Result<Value, TypeMismatch> {
        let text = &scalar.text;
        match self {
            Self::List(_) | Self::Set(_) | Self::Map(_) => Err(self.type_mismatch("a single value")),
            Self::Integer | Self::Number | Self::Boolean if scalar.form == ScalarForm::Text => {
                Err(match self.parse_plain(text) {
                    Ok(_) => self
                        .type_mismatch("a quoted text")
                        .help(format!("write {text} without quotes"))
                        .fix(text.to_string()),
                    Err(_) => self
                        .type_mismatch(&format!("the text `{}`", quoting::shorten_for_message(text)))
                        .help(format!("write {}, or another `type`", self.name())),
                })
            }
            Self::Boolean => scalar::parse_typed(scalar, &Type::Boolean),
            _ => self.parse_plain(text),
        }
    }

    /// Reads a value from the text of a flag or a process environment variable.
    pub(in crate::config) fn parse_value(&self, text: &str) -> Result<Value, TypeMismatch> {
        let collection = matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_));
        if collection && text.trim_start().starts_with(['[', '{']) {
            let json: serde_json::Value =
                serde_json::from_str(text).map_err(|_| self.type_mismatch("a text that is not JSON"))?;
            return self.convert(Value::from_json(&json));
        }
        match self {
            Self::List(of) | Self::Set(of) => {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                Ok(self.collect_values(words.map(|word| of.parse_value(word)).collect::<Result<_, _>>()?))
            }
            Self::Map(of) => text
                .split(',')
                .filter(|pair| !pair.trim().is_empty())
                .map(|pair| {
                    let (key, value) =
                        pair.split_once('=').ok_or_else(|| self.type_mismatch("a text without `=`"))?;
                    Ok((Name::new(key.trim()), of.parse_value(value.trim())?))
                })
                .collect::<Result<_, _>>()
                .map(Value::Map),
            _ => self.parse_plain(text),
        }
    }

    fn parse_plain(&self, text: &str) -> Result<Value, TypeMismatch> {
        let wrong = || self.type_mismatch(&format!("`{}`", quoting::shorten_for_message(text)));
        match self {
            Self::Text => Ok(Value::text(text)),
            Self::Secret => Ok(Value::Secret(Secret::new(text))),
            Self::Cidr => text_format::parse_network(text).map(|_| Value::text(text)),
            Self::Integer => text.parse().map(Value::Integer).map_err(|_| wrong()),
            Self::Number => match text.parse() {
                Ok(n) => Ok(Value::Integer(n)),
                Err(_) => parse_decimal(text).map(Value::Decimal).ok_or_else(wrong),
            },
            Self::Boolean => match text {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err(wrong()),
            },
            Self::List(_) | Self::Set(_) | Self::Map(_) => Err(wrong()),
        }
    }

    /// Converts a value that already has a type, such as a module's input.
    pub(in crate::config) fn convert(&self, value: Value) -> Result<Value, TypeMismatch> {
        match (self, value) {
            // A secret stays sensitive whatever type the module declares.
            (Self::Secret | Self::Text, Value::Secret(secret)) => Ok(Value::Secret(secret)),
            (Self::List(of) | Self::Set(of), Value::List(items)) => Ok(self
                .collect_values(items.into_iter().map(|item| of.convert(item)).collect::<Result<_, _>>()?)),
            (Self::Map(of), Value::Map(map)) => map
                .into_iter()
                .map(|(key, value)| Ok((key, of.convert(value)?)))
                .collect::<Result<_, _>>()
                .map(Value::Map),
            (Self::List(_) | Self::Set(_) | Self::Map(_), value) => {
                Err(self.type_mismatch(value.type_name()))
            }
            (_, value @ (Value::Text(_) | Value::Integer(_) | Value::Decimal(_) | Value::Bool(_))) => {
                self.parse_plain(&value.to_string())
            }
            (_, value) => Err(self.type_mismatch(value.type_name())),
        }
    }

    /// Builds a list from values; for a set, sorted and without duplicates.
    pub(in crate::config) fn collect_values(&self, mut items: Vec<Value>) -> Value {
        if matches!(self, Self::Set(_)) {
            items.sort_by_cached_key(ToString::to_string);
            items.dedup();
        }
        Value::List(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_values_are_parsed_by_their_variable_type() {
        for (ty, text, expected) in [
            ("string", "16", "16"),
            ("int", "16", "16"),
            ("number", "1.50", "1.50"),
            ("bool", "true", "true"),
            ("set(string)", "b, a,b", "[a, b]"),
            ("list(int)", "[2, 1]", "[2, 1]"),
            ("map(string)", "a=1,b=x=y", "{ a: 1, b: x=y }"),
            ("map(set(int))", r#"{"a": [2, 1, 2]}"#, "{ a: [1, 2] }"),
            ("secret", "hush", "(secret)"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/8"),
        ] {
            let value = VariableType::parse(ty).unwrap().parse_value(text).unwrap();
            assert_eq!(value.to_string(), expected, "{ty}");
        }
        for (ty, text, detail) in [
            ("int", "x", "It takes a whole number, and this is `x`."),
            ("bool", "yes", "It takes true or false, and this is `yes`."),
            ("list(int)", "1,x", "It takes a whole number, and this is `x`."),
            (
                "list(int)",
                "[1",
                "It takes a list, each entry a whole number, and this is a text that is not JSON.",
            ),
            ("map(int)", "a", "It takes a map, each value a whole number, and this is a text without `=`."),
        ] {
            let mistake = VariableType::parse(ty).unwrap().parse_value(text).unwrap_err();
            assert_eq!(mistake.detail, detail);
        }
        for ty in
            ["text", "list", "list()", "set(x)", "list(list(list(list(list(list(list(list(list(list(string"]
        {
            assert_eq!(VariableType::parse(ty), None, "{ty}");
        }
    }
}
