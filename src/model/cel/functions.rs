//! Functions of the language: those of CEL that it supports, and its own. In: evaluated arguments. Out: a value, or an
//! error that shows no secret. Each result is charged before it is built.

use core::net::Ipv4Addr;

use ipnet::Ipv4Net;
use rust_decimal::prelude::ToPrimitive;
use sha2::{Digest, Sha256};

use super::evaluation::{Evaluation, EvaluationResult, evaluation_failure, merge_unknowns};
use super::item::CelValue;
use super::reference::FUNCTIONS;
use super::scope::FILES_BINDING;
use crate::model::address::Name;
use crate::model::crypto::hex::encode_hex;
use crate::model::diagnostic::nearest_name;
use crate::model::expression::EvaluationError;
use crate::model::values::value::Value;

/// The names of all functions, sorted, for suggestions. Macros are not among them: the parser expands them.
pub(super) const FUNCTION_NAMES: &[&str] = &[
    "base64",
    "bool",
    "cidr_subnet",
    "contains",
    "double",
    "endsWith",
    "file",
    "format",
    "get",
    "int",
    "join",
    "keys",
    "lowerAscii",
    "matches",
    "replace",
    "sha256",
    "size",
    "split",
    "startsWith",
    "string",
    "trim",
    "upperAscii",
    "values",
];

/// Functions of other tools, and the equivalents in this language, for the error of a call that does not exist.
const FOREIGN_FUNCTIONS: &[(&str, &str)] = &[
    ("base64encode", "base64(text)"),
    ("cidrsubnet", "cidr_subnet(network, bits, number)"),
    ("coalesce", "x != null ? x : other"),
    ("compact", "list.filter(x, x != '')"),
    ("concat", "list + list"),
    ("element", "list[0]"),
    ("len", "size(x)"),
    ("length", "size(x)"),
    ("lookup", "get(map, key, default)"),
    ("lower", "lowerAscii(text)"),
    ("regex", "matches(text, pattern)"),
    ("templatefile", "file(path)"),
    ("tobool", "bool(x)"),
    ("tonumber", "int(x)"),
    ("tostring", "string(x)"),
    ("trimspace", "trim(text)"),
    ("upper", "upperAscii(text)"),
];

/// Maximum length of a string that a function returns, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Calls a function; a method's target is the first argument.
pub(super) fn call_function<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    name: &str,
    args: &[CelValue<'a>],
) -> EvaluationResult<'a> {
    match (name, args) {
        ("size", [item]) => size_of(evaluation, item),
        ("get", [map, key, default]) => get_or_default(evaluation, map, key, default),
        ("keys", [map]) => {
            let entries = map_entries(evaluation, map)?;
            Ok(CelValue::list(
                entries.into_iter().map(|(key, _)| CelValue::Scalar(Value::Text(key))).collect(),
            ))
        }
        ("values", [map]) => {
            let entries = map_entries(evaluation, map)?;
            Ok(CelValue::list(entries.into_iter().map(|(_, item)| item).collect()))
        }
        ("string", [item]) => to_string_item(evaluation, item),
        ("int", [CelValue::Scalar(value @ (Value::Integer(_) | Value::Decimal(_)))]) => to_int(value),
        ("int", [item]) => to_int(&Value::Text(numeric_text(evaluation, name, item)?)),
        ("double", [item]) => to_double(evaluation, item),
        ("bool", [item]) => match evaluation.text_of(item)?.as_str() {
            "true" => Ok(CelValue::Scalar(Value::Bool(true))),
            "false" => Ok(CelValue::Scalar(Value::Bool(false))),
            _ => Err(evaluation_failure("this is neither `true` nor `false`")),
        },
        _ => text_function(evaluation, name, args),
    }
}

/// Calls a function over strings.
fn text_function<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    name: &str,
    args: &[CelValue<'a>],
) -> EvaluationResult<'a> {
    match (name, args) {
        ("contains", [text, part]) => test_texts(evaluation, text, part, |text, part| text.contains(part)),
        ("startsWith", [text, part]) => {
            test_texts(evaluation, text, part, |text, part| text.starts_with(part))
        }
        ("endsWith", [text, part]) => test_texts(evaluation, text, part, |text, part| text.ends_with(part)),
        ("matches", [text, pattern]) => matches_pattern(evaluation, text, pattern),
        ("lowerAscii", [text]) => Ok(CelValue::text(charged_text(evaluation, text)?.to_ascii_lowercase())),
        ("upperAscii", [text]) => Ok(CelValue::text(charged_text(evaluation, text)?.to_ascii_uppercase())),
        ("trim", [text]) => Ok(CelValue::text(charged_text(evaluation, text)?.trim())),
        ("replace", [text, old, new]) => {
            let (text, old, new) =
                (evaluation.text_of(text)?, evaluation.text_of(old)?, evaluation.text_of(new)?);
            let found = text.matches(old.as_str()).count();
            let longest = text.len().saturating_add(found.saturating_mul(new.len()));
            evaluation.charge_text(longest)?;
            checked_text(text.replace(old.as_str(), &new))
        }
        ("split", [text, separator]) => {
            let (text, separator) = (evaluation.text_of(text)?, evaluation.text_of(separator)?);
            evaluation.charge(text.len())?;
            evaluation.charge_items(text.split(separator.as_str()).count())?;
            evaluation.charge_text(text.len())?;
            Ok(CelValue::list(text.split(separator.as_str()).map(CelValue::text).collect()))
        }
        ("join", [list]) => join_list(evaluation, list, ""),
        ("join", [list, separator]) => {
            let separator = evaluation.text_of(separator)?;
            join_list(evaluation, list, &separator)
        }
        ("format", [pattern, values]) => format_pattern(evaluation, pattern, values),
        ("sha256", [text]) => {
            let text = evaluation.text_of(text)?;
            evaluation.charge(text.len() / 64)?;
            let digest = Sha256::digest(text.as_bytes());
            Ok(CelValue::text(encode_hex(&digest)))
        }
        ("base64", [text]) => {
            let text = evaluation.text_of(text)?;
            evaluation.charge_text(text.len().div_ceil(3).saturating_mul(4))?;
            Ok(CelValue::text(encode_base64(text.as_bytes())))
        }
        ("cidr_subnet", [network, bits, number]) => subnet_of(evaluation, network, bits, number),
        ("file", [path]) => read_file(evaluation, path),
        _ => Err(unknown_function(name, args)),
    }
}

pub(super) fn unknown_function(name: &str, args: &[CelValue<'_>]) -> EvaluationError {
    if FUNCTION_NAMES.contains(&name) {
        let types: Vec<_> = args.iter().map(CelValue::type_name).collect();
        let on = if types.is_empty() { "nothing".to_owned() } else { types.join(", ") };
        let known = FUNCTIONS.iter().find(|function| function.name == name);
        let usage =
            known.map(|function| format!("; it is written `{}`", function.usage)).unwrap_or_default();
        return evaluation_failure(format!("`{name}` does not work on {on}{usage}"));
    }
    if let Some((_, ours)) = FOREIGN_FUNCTIONS.iter().find(|(theirs, _)| *theirs == name) {
        return evaluation_failure(format!("there is no function `{name}`; write `{ours}`"));
    }
    let hint = match nearest_name(name, FUNCTION_NAMES.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; there are {}", FUNCTION_NAMES.join(", ")),
    };
    evaluation_failure(format!("there is no function `{name}`{hint}"))
}

fn map_entries<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    map: &CelValue<'a>,
) -> Result<Vec<(Name, CelValue<'a>)>, EvaluationError> {
    if let CelValue::Object(object, _) = map
        && !object.complete
    {
        return Err(evaluation_failure(format!(
            "the attributes of {} are not all known yet",
            object.address
        )));
    }
    evaluation
        .charged_entries(map)?
        .ok_or_else(|| evaluation_failure(format!("a map was expected, not {}", map.type_name())))
}

fn checked_text<'a>(text: String) -> EvaluationResult<'a> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(evaluation_failure(format!("the text would be longer than {MAX_TEXT_BYTES} bytes")));
    }
    Ok(CelValue::text(text))
}

fn size_of<'a>(evaluation: &mut Evaluation<'_, 'a>, item: &CelValue<'a>) -> EvaluationResult<'a> {
    let size = if let Some(len) = item.len() {
        len
    } else {
        let text = evaluation.text_of(item)?;
        evaluation.charge(text.len() / 64)?;
        text.chars().count()
    };
    Ok(CelValue::Scalar(Value::Integer(i64::try_from(size).unwrap_or(i64::MAX))))
}

fn get_or_default<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    map: &CelValue<'a>,
    key: &CelValue<'a>,
    default: &CelValue<'a>,
) -> EvaluationResult<'a> {
    let key = evaluation.text_of(key)?;
    match (map, map.entry(&key)) {
        (_, Some(CelValue::Scalar(Value::Null))) | (CelValue::Scalar(Value::Null), None) => {
            Ok(default.clone())
        }
        (_, Some(item)) => Ok(item),
        (CelValue::Object(object, _), None) if !object.complete => {
            Ok(CelValue::Scalar(Value::unknown(vec![object.address.clone()])))
        }
        (_, None) => map_entries(evaluation, map).map(|_| default.clone()),
    }
}

fn to_string_item<'a>(evaluation: &mut Evaluation<'_, 'a>, item: &CelValue<'a>) -> EvaluationResult<'a> {
    match item {
        CelValue::Scalar(value @ (Value::Bool(_) | Value::Integer(_) | Value::Decimal(_))) => {
            Ok(CelValue::text(value.to_string()))
        }
        other => evaluation.text_of(other).map(|text| CelValue::Scalar(Value::Text(text))),
    }
}

/// Charges and returns the text of a value that is about to be copied.
fn charged_text<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    item: &CelValue<'a>,
) -> Result<Name, EvaluationError> {
    let text = evaluation.text_of(item)?;
    evaluation.charge_text(text.len())?;
    Ok(text)
}

fn to_int<'a>(value: &Value) -> EvaluationResult<'a> {
    let n = match value {
        Value::Integer(n) => Some(*n),
        Value::Decimal(n) => n.trunc().to_i64(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    };
    n.map(|n| CelValue::Scalar(Value::Integer(n)))
        .ok_or_else(|| evaluation_failure("this is not a whole number"))
}

fn to_double<'a>(evaluation: &mut Evaluation<'_, 'a>, item: &CelValue<'a>) -> EvaluationResult<'a> {
    let number = match item {
        CelValue::Scalar(value @ (Value::Integer(_) | Value::Decimal(_))) => value.as_decimal(),
        other => Value::Text(numeric_text(evaluation, "double", other)?).as_decimal(),
    };
    number
        .map(|n| CelValue::Scalar(Value::Decimal(n)))
        .ok_or_else(|| evaluation_failure("this is not a number"))
}

/// Returns the text from which `function` parses a number.
fn numeric_text<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    function: &str,
    item: &CelValue<'a>,
) -> Result<Name, EvaluationError> {
    match item {
        CelValue::Scalar(Value::Text(_) | Value::Secret(_)) => evaluation.text_of(item),
        other => Err(evaluation_failure(format!(
            "`{function}` takes a number or a text, not {}",
            other.type_name()
        ))),
    }
}

fn test_texts<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    text: &CelValue<'a>,
    part: &CelValue<'a>,
    test: impl Fn(&str, &str) -> bool,
) -> EvaluationResult<'a> {
    let (text, part) = (evaluation.text_of(text)?, evaluation.text_of(part)?);
    evaluation.charge(text.len() / 64)?;
    Ok(CelValue::Scalar(Value::Bool(test(&text, &part))))
}

fn matches_pattern<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    text: &CelValue<'a>,
    pattern: &CelValue<'a>,
) -> EvaluationResult<'a> {
    let (text, pattern) = (evaluation.text_of(text)?, evaluation.text_of(pattern)?);
    // Compiling a regular expression costs more than most expressions.
    evaluation.charge(1000 + pattern.len() + text.len())?;
    let regex =
        regex::RegexBuilder::new(&pattern).size_limit(1 << 18).nest_limit(50).build().map_err(|_| {
            evaluation_failure("the pattern of `matches` is not a regular expression, or too large")
        })?;
    Ok(CelValue::Scalar(Value::Bool(regex.is_match(&text))))
}

fn join_list<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    list: &CelValue<'a>,
    separator: &str,
) -> EvaluationResult<'a> {
    let items = evaluation
        .charged_elements(list)?
        .ok_or_else(|| evaluation_failure(format!("a list was expected, not {}", list.type_name())))?;
    if let Some(unknown) = merge_unknowns(&items) {
        return Ok(unknown);
    }
    let mut text = String::new();
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            text.push_str(separator);
        }
        let item = to_string_item(evaluation, item)?;
        let item = evaluation.text_of(&item)?;
        evaluation.charge_text(item.len() + separator.len())?;
        text.push_str(&item);
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
    }
    checked_text(text)
}

/// Fills in the placeholders of a pattern: `format("%s-%03d", ["a", 7])` is `a-007`. It supports `%s`, `%d`, `%x` and
/// `%%`, with a width up to 99; too few or too many values are an error.
fn format_pattern<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    pattern: &CelValue<'a>,
    values: &CelValue<'a>,
) -> EvaluationResult<'a> {
    let pattern = evaluation.text_of(pattern)?;
    let values = evaluation
        .charged_elements(values)?
        .ok_or_else(|| evaluation_failure("`format` takes a list of values"))?;
    if let Some(unknown) = merge_unknowns(&values) {
        return Ok(unknown);
    }
    evaluation.charge(pattern.len())?;
    evaluation.charge_text(pattern.len())?;
    let mut values = values.iter();
    let mut text = String::new();
    let mut rest = pattern.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (width, verb) = after.split_at(digits);
        let mut verbs = verb.chars();
        match verbs.next() {
            Some('%') if digits == 0 => text.push('%'),
            Some(verb @ ('s' | 'd' | 'x')) => {
                let value =
                    values.next().ok_or_else(|| evaluation_failure("`format` has too few values"))?;
                text.push_str(&format_directive(evaluation, value, verb, width)?);
            }
            _ => {
                return Err(evaluation_failure(
                    "`format` supports %s, %d, %x and %%, with a width up to 99",
                ));
            }
        }
        rest = verbs.as_str();
    }
    text.push_str(rest);
    if values.next().is_some() {
        return Err(evaluation_failure("`format` has more values than placeholders"));
    }
    checked_text(text)
}

fn format_directive<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    value: &CelValue<'a>,
    verb: char,
    width: &str,
) -> Result<String, EvaluationError> {
    let text = match (verb, value) {
        ('s', item) => {
            let item = to_string_item(evaluation, item)?;
            charged_text(evaluation, &item)?.to_string()
        }
        ('d', CelValue::Scalar(Value::Integer(n))) => n.to_string(),
        ('x', CelValue::Scalar(Value::Integer(n))) => format!("{n:x}"),
        _ => {
            return Err(evaluation_failure(format!(
                "`%{verb}` needs a whole number, not {}",
                value.type_name()
            )));
        }
    };
    let wide: usize = if width.is_empty() { 0 } else { width.parse().unwrap_or(100) };
    if wide > 99 {
        return Err(evaluation_failure("`format` takes a width up to 99"));
    }
    let fill = if width.starts_with('0') { "0" } else { " " };
    Ok(format!("{}{text}", fill.repeat(wide.saturating_sub(text.chars().count()))))
}

/// Returns the subnet of `network` with the index `number`, counted from 0; its prefix is `bits` longer.
fn subnet_of<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    network: &CelValue<'a>,
    bits: &CelValue<'a>,
    number: &CelValue<'a>,
) -> EvaluationResult<'a> {
    let network = evaluation.text_of(network)?;
    let network: Ipv4Net = network
        .parse()
        .map_err(|_| evaluation_failure("`cidr_subnet` needs an IPv4 network such as 10.0.0.0/16"))?;
    let (CelValue::Scalar(Value::Integer(bits)), CelValue::Scalar(Value::Integer(number))) = (bits, number)
    else {
        return Err(evaluation_failure("`cidr_subnet` takes two whole numbers: bits and number"));
    };
    let prefix = u8::try_from(*bits)
        .ok()
        .and_then(|bits| bits.checked_add(network.prefix_len()))
        .filter(|prefix| *prefix <= 32)
        .ok_or_else(|| {
            evaluation_failure(format!(
                "{} does not have {} more bits for subnets",
                evaluation.display_argument(&network),
                evaluation.display_argument(bits)
            ))
        })?;
    let room = 1u64 << (prefix - network.prefix_len());
    let number = u64::try_from(*number).ok().filter(|number| *number < room).ok_or_else(|| {
        let shown = evaluation.display_argument(&network);
        if evaluation.hides_arguments() {
            evaluation_failure(format!("{shown} has no such subnet"))
        } else {
            evaluation_failure(format!("{shown} has {room} subnets of /{prefix}: 0 to {}", room - 1))
        }
    })?;
    let first = u64::from(u32::from(network.network())) + (number << (32 - prefix));
    let first = u32::try_from(first).map_err(|_| evaluation_failure("the subnet is out of range"))?;
    Ok(CelValue::text(format!("{}/{prefix}", Ipv4Addr::from(first))))
}

fn read_file<'a>(evaluation: &mut Evaluation<'_, 'a>, path: &CelValue<'a>) -> EvaluationResult<'a> {
    let path = evaluation.text_of(path)?;
    if let Some(text) = evaluation.scope.roots.get(FILES_BINDING).and_then(|files| files.entry(&path)) {
        return Ok(text);
    }
    let shown = evaluation.display_argument(&path);
    let read = evaluation.scope.read.ok_or_else(|| {
        evaluation_failure(format!("`{shown}` can be read only while the configuration is loaded"))
    })?;
    // The error of `read` names the path, which may depend on a secret.
    let text = read(&path).map_err(|error| {
        evaluation_failure(if evaluation.hides_arguments() {
            "the file cannot be read; its path depends on a secret".to_owned()
        } else {
            error
        })
    })?;
    evaluation.charge_text(text.len())?;
    Ok(CelValue::text(text))
}

fn encode_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().chain([0, 0].iter()).take(3).fold(0usize, |n, byte| n << 8 | usize::from(*byte));
        for place in 0..4 {
            let letter = ALPHABET[number >> (18 - 6 * place) & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
