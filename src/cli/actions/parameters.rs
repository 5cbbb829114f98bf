//! Converts parameters from the command line to JSON values for the request, by the parameter's type. The service
//! checks formats other than timestamps itself. Pure.

use serde_json::{Map, Value as Json};

use crate::model::address::Name;
use crate::model::schema::{Parameter, ParameterPresence, TextFormat, Type};

/// Resolves the name of an object (an address, `KIND:ID` or an id) of the given kind to its id.
pub(in crate::cli) type ObjectResolver<'a> = &'a dyn Fn(&'static str, &str) -> Result<Name, String>;

/// Returns the JSON value that a parameter sends; `None` if the request omits it. `given` is `None` if the flag is
/// absent and empty for a flag without a value. Of several values for a single one, the last counts.
///
/// # Errors
/// When a value is not valid for the parameter's type, or a required parameter is missing.
pub(in crate::cli) fn wire_value(
    parameter: &Parameter,
    given: Option<&[String]>,
    resolve: ObjectResolver<'_>,
) -> Result<Option<Json>, String> {
    let fail = |reason: String| format!("{}: {reason}", parameter_syntax(parameter));
    if parameter.ty == Type::Boolean {
        return Ok(Some(Json::Bool(given.is_some() != parameter.inverted)));
    }
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        return match parameter.need {
            ParameterPresence::Required => Err(format!("{} is missing", parameter_syntax(parameter))),
            ParameterPresence::Optional => Ok(None),
            ParameterPresence::Default(literal) => Ok(literal.value().to_wire()),
        };
    };
    let many = |of: &Type| -> Result<Json, String> {
        given.iter().map(|text| parse_value(of, text, resolve)).collect::<Result<_, _>>().map(Json::Array)
    };
    let value = match parameter.ty {
        Type::List(of) | Type::Set { of, .. } => many(of),
        Type::Map(of) => parse_map(of, given, resolve),
        ref ty => given.last().map_or(Ok(Json::Null), |text| parse_value(ty, text, resolve)),
    };
    value.map(Some).map_err(fail)
}

/// Returns how the user writes a parameter on the command line, for messages.
pub(in crate::cli) fn parameter_syntax(parameter: &Parameter) -> String {
    if parameter.positional { parameter.name.to_uppercase() } else { format!("--{}", parameter.name) }
}

fn parse_map(of: &Type, given: &[String], resolve: ObjectResolver<'_>) -> Result<Json, String> {
    let entry = |text: &String| {
        let (name, value) = text.split_once('=').ok_or("expected the form NAME=VALUE")?;
        Ok((name.to_owned(), parse_value(of, value, resolve)?))
    };
    given.iter().map(entry).collect::<Result<Map<_, _>, String>>().map(Json::Object)
}

fn parse_value(ty: &Type, text: &str, resolve: ObjectResolver<'_>) -> Result<Json, String> {
    match ty {
        Type::Boolean => text.parse().map(Json::Bool).map_err(|_| "expected true or false".to_owned()),
        Type::Integer { min, max, unit } => match text.parse::<i64>() {
            Ok(n) if (*min..=*max).contains(&n) => Ok(Json::from(n)),
            _ => Err(describe_range(*min, *max, unit)),
        },
        Type::Decimal => {
            let number = text.parse::<serde_json::Number>();
            number.map(Json::Number).map_err(|_| format!("`{text}` is not a number"))
        }
        Type::Text { min, max, format } => {
            let length = text.chars().count();
            if !(usize::from(*min)..=usize::from(*max)).contains(&length) {
                return Err(format!("expected {min} to {max} characters, got {length}"));
            }
            let is_time = || text.parse::<jiff::Timestamp>().is_ok();
            if *format == TextFormat::Timestamp && !is_time() {
                return Err(format!("`{text}` is not a timestamp: write it as 2026-10-14T12:00:00Z"));
            }
            Ok(Json::from(text))
        }
        Type::Enum(words) if words.contains(&text) => Ok(Json::from(text)),
        Type::Enum(words) => Err(format!("expected one of {}", words.join(", "))),
        Type::Labelled(labels) => labels
            .iter()
            .find(|(label, _)| *label == text)
            .map(|(_, number)| Json::from(*number))
            .ok_or_else(|| {
                let words: Vec<&str> = labels.iter().map(|(label, _)| *label).collect();
                format!("expected one of {}", words.join(", "))
            }),
        Type::Reference(kind) => resolve(kind, text).map(|id| Json::from(id.as_str())),
        // Catalog ids are integers or strings; the service expects the integer form as a JSON number.
        Type::Catalog(_) => Ok(text.parse::<i64>().map_or_else(|_| Json::from(text), Json::from)),
        Type::List(_) | Type::Set { .. } | Type::Map(_) | Type::Record(_) => {
            serde_json::from_str(text).map_err(|_| "expected JSON".to_owned())
        }
    }
}

fn describe_range(min: i64, max: i64, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    match max {
        i64::MAX => format!("expected a whole number, at least {min}{unit}"),
        _ => format!("expected a whole number from {min} to {max}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::Literal;

    const NAME: Type = Type::Text { min: 1, max: 5, format: TextFormat::Any };
    const TIME: Type = Type::Text { min: 0, max: 64, format: TextFormat::Timestamp };

    fn send(parameter: Parameter, given: Option<&[&str]>) -> Result<Option<Json>, String> {
        let given: Option<Vec<String>> =
            given.map(|given| given.iter().map(|text| (*text).to_owned()).collect());
        let resolve = |kind: &'static str, text: &str| match text {
            "gone" => Err(format!("there is no {kind}")),
            id => Ok(Name::new(id)),
        };
        wire_value(&parameter, given.as_deref(), &resolve)
    }

    #[test]
    fn action_parameters_are_parsed_by_their_type() {
        let optional = |ty| Parameter::optional("x", ty);
        let count = Type::Integer { min: 600, max: 2_592_000, unit: "s" };
        let table = [
            (optional(count), Some(&["600"][..]), Ok("600")),
            (optional(count), Some(&["599"]), Err("--x: expected a whole number from 600 to 2592000 s")),
            (optional(NAME), Some(&["abc"]), Ok("\"abc\"")),
            (optional(NAME), Some(&["abcdef"]), Err("--x: expected 1 to 5 characters, got 6")),
            (
                optional(TIME),
                Some(&["yesterday"]),
                Err("--x: `yesterday` is not a timestamp: write it as 2026-10-14T12:00:00Z"),
            ),
            (optional(TIME), Some(&["2026-10-14T12:00:00Z"]), Ok("\"2026-10-14T12:00:00Z\"")),
            (optional(Type::List(&NAME)), Some(&["a", "b"]), Ok("[\"a\",\"b\"]")),
            (optional(Type::Map(&NAME)), Some(&["a=b=c"]), Ok("{\"a\":\"b=c\"}")),
            (optional(Type::Map(&NAME)), Some(&["a"]), Err("--x: expected the form NAME=VALUE")),
            (optional(Type::Reference("vm")), Some(&["gone"]), Err("--x: there is no vm")),
            (optional(Type::Catalog("vm")), Some(&["12"]), Ok("12")),
            (optional(Type::Labelled(&[("sunday", 0)])), Some(&["sunday"]), Ok("0")),
            (Parameter::required("x", NAME).positional(), None, Err("X is missing")),
            (Parameter::default("x", Type::List(&NAME), Literal::Empty), None, Ok("[]")),
            (Parameter::flag("x"), None, Ok("false")),
            (Parameter::flag("x"), Some(&[]), Ok("true")),
            (Parameter::flag("x").inverted(), Some(&[]), Ok("false")),
            (Parameter::flag("x").inverted(), None, Ok("true")),
        ];
        for (parameter, given, wanted) in table {
            let sent = send(parameter, given).map(|json| json.unwrap().to_string());
            assert_eq!(sent, wanted.map(str::to_owned).map_err(str::to_owned), "{given:?}");
        }
        assert_eq!(send(optional(NAME), None), Ok(None));
    }
}
