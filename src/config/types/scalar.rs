//! Conversion of scalars, written or computed, to values of the schema's type. In: a scalar and a type; out:
//! the canonical value, or a mismatch with the value that was probably meant.

use rust_decimal::Decimal;

use super::mismatch::TypeMismatch;
use super::text_format;
use crate::config::codes;
use crate::config::syntax::document::{Scalar, ScalarForm};
use crate::config::syntax::quoting::shorten_for_message;
use crate::model::address::Name;
use crate::model::diagnostic::nearest_name;
use crate::model::schema::Type;
use crate::model::values::value::Value;

/// Returns the name of a kind with its article, as a sentence begins with it.
pub(in crate::config) fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "An" } else { "A" };
    format!("{article} {kind}")
}

/// Returns the name of a type for messages, with its article.
pub(in crate::config) fn type_name(ty: &Type) -> String {
    match ty {
        Type::Boolean => "true or false".into(),
        Type::Integer { unit: "", .. } => "a whole number".into(),
        Type::Integer { unit, .. } => format!("a whole number ({unit})"),
        Type::Decimal => "a number".into(),
        Type::Text { .. } => "a text".into(),
        Type::Enum(words) => format!("one of {}", words.join(", ")),
        Type::Labelled(words) => {
            format!("one of {}", words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "))
        }
        Type::Reference(kind) => format!("a reference to {}", with_article(kind).to_lowercase()),
        Type::Catalog(table) => format!("a name or id of the {table} catalog"),
        Type::List(of) => format!("a list, each entry {}", type_name(of)),
        Type::Set { of, .. } => format!("a set, each entry {}", type_name(of)),
        Type::Map(of) => format!("a map, each value {}", type_name(of)),
        Type::Record(fields) => {
            let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
            format!("a map with {}", names.join(", "))
        }
    }
}

/// Returns the value of a scalar without a schema: numbers and booleans as in YAML's core schema, but a
/// number keeps its digits as written.
pub(in crate::config) fn infer_value(scalar: &Scalar) -> Value {
    let text = scalar.text.as_str();
    match scalar.form {
        ScalarForm::Text => Value::Text(scalar.text.clone()),
        ScalarForm::Boolean => Value::Bool(text == "true"),
        ScalarForm::Plain | ScalarForm::Number => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => parse_number(text).unwrap_or_else(|| Value::Text(scalar.text.clone())),
        },
    }
}

/// Parses a number as it is written; `None` for `016`, `1e3`, `0x10` and `1_000`, which are strings.
fn parse_number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(a, b)| (a, Some(b)));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    match fraction {
        None => text.parse().ok().map(Value::Integer),
        Some(fraction) if all_digits(fraction) => text.parse::<Decimal>().ok().map(Value::Decimal),
        Some(_) => None,
    }
}

/// Parses a scalar as a type that is no collection and no reference. The form in the source counts: a quoted
/// number is a string.
pub(in crate::config) fn parse_typed(scalar: &Scalar, ty: &Type) -> Result<Value, TypeMismatch> {
    let text = scalar.text.as_str();
    let is_text = scalar.form == ScalarForm::Text;
    match ty {
        Type::Boolean if is_text || !matches!(text, "true" | "false") => Err(boolean_slip(text, is_text)),
        Type::Boolean => Ok(Value::Bool(text == "true")),
        Type::Integer { .. } if is_text => {
            let mistake = TypeMismatch::wrong_type(&type_name(ty), "a quoted text");
            Err(match text.parse::<i64>() {
                Ok(n) => mistake.help(format!("write {n} without quotes")).fix(n.to_string()),
                Err(_) => match split_unit(text, ty) {
                    Some((digits, unit)) => {
                        mistake.help(format!("the unit is {unit} already: write {digits}")).fix(digits)
                    }
                    None => mistake.help("write one whole number, without quotes"),
                },
            })
        }
        Type::Integer { .. } => match parse_integer(text) {
            Some(n) => check_value(Value::Integer(n), ty),
            None => Err(integer_slip(text, ty)),
        },
        Type::Decimal if is_text => Err(TypeMismatch::wrong_type("a number", "a quoted text")),
        Type::Decimal => text
            .parse()
            .map(Value::Decimal)
            .map_err(|_| TypeMismatch::wrong_type("a number", &format!("`{}`", shorten_for_message(text)))),
        _ => check_value(Value::Text(scalar.text.clone()), ty),
    }
}

/// Parses decimal digits; leading zeros are ignored.
fn parse_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn boolean_slip(text: &str, is_text: bool) -> TypeMismatch {
    let mistake = TypeMismatch::wrong_type("true or false", &format!("`{}`", shorten_for_message(text)));
    let meant = match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" | "1" => "true",
        "false" | "no" | "off" | "n" | "0" => "false",
        _ => return mistake,
    };
    let quotes = if is_text && text == meant { " without quotes" } else { "" };
    mistake.help(format!("write {meant}{quotes}")).fix(meant)
}

fn integer_slip(text: &str, ty: &Type) -> TypeMismatch {
    let mistake = TypeMismatch::wrong_type(&type_name(ty), &format!("`{}`", shorten_for_message(text)));
    let plain = text.replace('_', "");
    if plain != text && plain.parse::<i64>().is_ok() {
        return mistake.help(format!("write {plain}")).fix(plain);
    }
    match split_unit(text, ty) {
        Some((digits, unit)) => {
            mistake.help(format!("the unit is {unit} already: write {digits}")).fix(digits)
        }
        None => match terabytes_as_gigabytes(text, ty) {
            Some((right, unit)) => {
                mistake.help(format!("the unit is {unit}: write {right}")).fix(right.to_string())
            }
            None => mistake.help("write one whole number, in decimal digits"),
        },
    }
}

/// Splits a number that is written with its type's unit into digits and unit; `None` for any other string.
fn split_unit<'t>(text: &'t str, ty: &Type) -> Option<(&'t str, &'static str)> {
    let Type::Integer { unit, .. } = ty else { return None };
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let rest = rest.trim();
    // These spellings mean the same volume size.
    let is_alike = *unit == "GB" && ["G", "Gi", "GiB"].iter().any(|alike| rest.eq_ignore_ascii_case(alike));
    let is_unit = !unit.is_empty() && rest.eq_ignore_ascii_case(unit) || is_alike;
    (!digits.is_empty() && is_unit).then_some((digits, unit))
}

/// Returns the GB of a number that is written in TB, with the unit; `None` for any other string.
fn terabytes_as_gigabytes(text: &str, ty: &Type) -> Option<(i64, &'static str)> {
    let Type::Integer { unit: unit @ "GB", .. } = ty else { return None };
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let is_more = ["T", "TB", "Ti", "TiB"].iter().any(|more| rest.trim().eq_ignore_ascii_case(more));
    let factor = if rest.contains(['i', 'I']) { 1024 } else { 1000 };
    digits.parse::<i64>().ok()?.checked_mul(factor).filter(|_| is_more).map(|right| (right, *unit))
}

/// Converts a value computed from a secret to the structure of a type; `None` if it has another. Bounds and
/// formats are left to the service, because a report of which one is violated would reveal part of the secret.
pub(in crate::config) fn coerce_shape(ty: &Type, value: Value) -> Option<Value> {
    Some(match (ty, value) {
        (_, Value::Null) => Value::Null,
        (Type::List(of) | Type::Set { of, .. }, Value::List(items)) => {
            Value::List(items.into_iter().map(|item| coerce_shape(of, item)).collect::<Option<_>>()?)
        }
        (Type::Map(of), Value::Map(map)) => {
            let part = |(key, part)| Some((key, coerce_shape(of, part)?));
            Value::Map(map.into_iter().map(part).collect::<Option<_>>()?)
        }
        (Type::Record(fields), Value::Map(map)) => {
            let part = |(key, part): (Name, Value)| {
                let (_, of) = fields.iter().find(|(name, _)| *name == key)?;
                Some((key, coerce_shape(of, part)?))
            };
            Value::Map(map.into_iter().map(part).collect::<Option<_>>()?)
        }
        (
            Type::Text { .. } | Type::Enum(_) | Type::Reference(_) | Type::Catalog(_),
            value @ (Value::Text(_) | Value::Integer(_) | Value::Decimal(_) | Value::Bool(_)),
        ) => Value::text(value.to_string()),
        (ty, value @ (Value::Integer(_) | Value::Decimal(_) | Value::Bool(_))) => {
            check_value(value, ty).ok()?
        }
        _ => return None,
    })
}

/// Checks a value against a type that is neither a collection nor a reference, and converts it
/// to the type's canonical form.
pub(in crate::config) fn check_value(value: Value, ty: &Type) -> Result<Value, TypeMismatch> {
    match (ty, value) {
        (_, value @ Value::Unknown(_))
        | (Type::Boolean, value @ Value::Bool(_))
        | (Type::Decimal, value @ (Value::Integer(_) | Value::Decimal(_)))
        | (Type::Text { .. } | Type::Catalog(_), value @ Value::Secret(_)) => Ok(value),
        (Type::Integer { min, max, unit }, Value::Integer(n)) => check_bounds(n, *min, *max, unit),
        (Type::Text { min, max, format }, value) => {
            let text = as_text(value, ty)?;
            // The format error is more specific than a length error.
            text_format::check_format(&text, *format)?;
            check_length(&text, *min, *max)?;
            Ok(Value::Text(text))
        }
        (Type::Enum(words), value) => {
            let text = as_text(value, ty)?;
            check_word(&text, words.iter().copied())?;
            Ok(Value::Text(text))
        }
        (Type::Labelled(words), Value::Integer(n)) => words
            .iter()
            .find(|(_, number)| *number == n)
            .map(|(word, _)| Value::text(word))
            .ok_or_else(|| unknown_word(&n.to_string(), words.iter().map(|(word, _)| *word))),
        (Type::Labelled(words), value) => {
            let text = as_text(value, ty)?;
            if let Some((label, _)) = words.iter().find(|(_, number)| number.to_string() == text) {
                return Ok(Value::text(label));
            }
            check_word(&text, words.iter().map(|(word, _)| *word))?;
            Ok(Value::Text(text))
        }
        (Type::Catalog(_), value) => {
            let text = as_text(value, ty)?;
            check_length(&text, 1, 128)?;
            Ok(Value::Text(text))
        }
        (Type::Reference(kind), Value::Text(text)) => {
            if uuid::Uuid::try_parse(&text).is_ok() {
                return Ok(Value::Text(text));
            }
            Err(TypeMismatch::wrong_type(&type_name(ty), "a text that is not an id")
                .help(format!("write `${kind}.NAME` for a block of this stack, or a full id")))
        }
        (ty, value) => Err(TypeMismatch::wrong_type(&type_name(ty), value.type_name())),
    }
}

fn as_text(value: Value, ty: &Type) -> Result<Name, TypeMismatch> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Integer(_) | Value::Decimal(_) | Value::Bool(_) => Ok(Name::new(value.to_string())),
        other => Err(TypeMismatch::wrong_type(&type_name(ty), other.type_name())),
    }
}

fn check_bounds(n: i64, min: i64, max: i64, unit: &str) -> Result<Value, TypeMismatch> {
    if (min..=max).contains(&n) {
        return Ok(Value::Integer(n));
    }
    let range = match (min, max) {
        (_, i64::MAX) => format!("at least {min}"),
        _ => format!("{min} to {max}"),
    };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    Err(TypeMismatch::new(
        codes::OUT_OF_BOUNDS,
        "this value is out of bounds",
        format!("It takes {range}{unit}, and this is {n}."),
    ))
}

fn check_length(text: &str, min: u16, max: u16) -> Result<(), TypeMismatch> {
    let length = text.chars().count();
    if (usize::from(min)..=usize::from(max)).contains(&length) {
        return Ok(());
    }
    let detail = if length == 0 {
        "The text is empty.".to_owned()
    } else {
        format!("It takes {min} to {max} characters, and this has {length}.")
    };
    Err(TypeMismatch::new(codes::OUT_OF_BOUNDS, "this value is out of bounds", detail))
}

fn check_word<'w>(text: &str, words: impl Iterator<Item = &'w str> + Clone) -> Result<(), TypeMismatch> {
    if words.clone().any(|word| word == text) { Ok(()) } else { Err(unknown_word(text, words)) }
}

fn unknown_word<'w>(text: &str, words: impl Iterator<Item = &'w str> + Clone) -> TypeMismatch {
    let known: Vec<&str> = words.clone().collect();
    let mistake = TypeMismatch::new(
        codes::UNKNOWN_WORD,
        "invalid keyword",
        format!("It takes one of {}, and this is `{}`.", known.join(", "), shorten_for_message(text)),
    );
    // YAML 1.1 had other words for true and false.
    let meant = match text.to_ascii_lowercase().as_str() {
        "no" | "n" | "false" => Some("off"),
        "yes" | "y" | "true" => Some("on"),
        _ => None,
    };
    if let Some(word) = meant.filter(|word| known.contains(word)) {
        return mistake.help(format!("write `{word}`")).fix(word);
    }
    match nearest_name(&text.to_ascii_lowercase(), words) {
        Some(near) => mistake.help(format!("did you mean `{near}`?")).fix(near),
        None => mistake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::TextFormat;

    fn scalar(text: &str, form: ScalarForm) -> Scalar {
        Scalar { text: Name::new(text), form, sole_argument: false }
    }

    fn read(text: &str, form: ScalarForm, ty: &Type) -> String {
        match parse_typed(&scalar(text, form), ty) {
            Ok(value) => format!("{value} ({})", value.type_name()),
            Err(mistake) => {
                let help = mistake.help.map(|help| format!(" | {help}")).unwrap_or_default();
                format!("{} {}{help}", mistake.code, mistake.detail)
            }
        }
    }

    const TEXT: Type = Type::Text { min: 1, max: 8, format: TextFormat::Any };
    const SIZE: Type = Type::Integer { min: 1, max: 100, unit: "GB" };
    const ON_OFF: Type = Type::Enum(&["on", "off"]);
    const DAY: Type = Type::Labelled(&[("sunday", 0), ("monday", 1)]);

    #[test]
    fn the_schema_types_a_scalar_from_its_source_text() {
        use ScalarForm::{Boolean, Number, Plain, Text};
        for (text, form, ty, expected) in [
            ("9.10", Plain, TEXT, "9.10 (a text)"),
            ("no", Plain, TEXT, "no (a text)"),
            ("13:30", Plain, TEXT, "13:30 (a text)"),
            ("true", Boolean, TEXT, "true (a text)"),
            ("", Text, TEXT, "S0223 The text is empty."),
            ("123456789", Plain, TEXT, "S0223 It takes 1 to 8 characters, and this has 9."),
            ("016", Plain, SIZE, "16 (a whole number)"),
            ("16", Number, SIZE, "16 (a whole number)"),
            (
                "16",
                Text,
                SIZE,
                "S0222 It takes a whole number (GB), and this is a quoted text. | write 16 without quotes",
            ),
            (
                "16GB",
                Plain,
                SIZE,
                "S0222 It takes a whole number (GB), and this is `16GB`. | the unit is GB already: write 16",
            ),
            ("1_0", Plain, SIZE, "S0222 It takes a whole number (GB), and this is `1_0`. | write 10"),
            (
                "0x10",
                Plain,
                SIZE,
                "S0222 It takes a whole number (GB), and this is `0x10`. | write one whole number, in decimal digits",
            ),
            ("101", Plain, SIZE, "S0223 It takes 1 to 100 GB, and this is 101."),
            ("true", Plain, Type::Boolean, "true (a boolean)"),
            ("no", Plain, Type::Boolean, "S0222 It takes true or false, and this is `no`. | write false"),
            (
                "true",
                Text,
                Type::Boolean,
                "S0222 It takes true or false, and this is `true`. | write true without quotes",
            ),
            ("on", Plain, ON_OFF, "on (a text)"),
            ("no", Plain, ON_OFF, "S0225 It takes one of on, off, and this is `no`. | write `off`"),
            ("monday", Plain, DAY, "monday (a text)"),
            ("1", Plain, DAY, "monday (a text)"),
            (
                "mondy",
                Plain,
                DAY,
                "S0225 It takes one of sunday, monday, and this is `mondy`. | did you mean `monday`?",
            ),
            (
                "main",
                Plain,
                Type::Reference("vpc"),
                "S0222 It takes a reference to a vpc, and this is a text that is not an id. | write `$vpc.NAME` for a block of this stack, or a full id",
            ),
        ] {
            assert_eq!(read(text, form, &ty), expected, "{text}");
        }
    }

    #[test]
    fn untyped_numbers_keep_their_digits() {
        for (text, expected) in [
            ("16", Value::Integer(16)),
            ("9.10", Value::Decimal("9.10".parse().unwrap())),
            ("016", Value::text("016")),
            ("no", Value::text("no")),
            ("13:30", Value::text("13:30")),
            ("1.", Value::text("1.")),
            ("-5", Value::Integer(-5)),
        ] {
            assert_eq!(infer_value(&scalar(text, ScalarForm::Plain)), expected);
        }
        assert_eq!(infer_value(&scalar("16", ScalarForm::Text)), Value::text("16"));
        assert_eq!(Value::Decimal("9.10".parse().unwrap()).to_string(), "9.10");
    }
}
