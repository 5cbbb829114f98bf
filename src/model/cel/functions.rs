//! Functions of the language: CEL's own that it needs, and the added ones.

use core::net::Ipv4Addr;

use ipnet::Ipv4Net;
use rust_decimal::prelude::ToPrimitive;
use sha2::{Digest, Sha256};

use super::evaluation::{Evaluation, Outcome, evaluation_failure, merge_unknowns};
use super::item::Item;
use super::reference::FUNCTIONS;
use super::scope::FILES;
use crate::model::address::Name;
use crate::model::diagnostic::nearest_name;
use crate::model::expression::EvaluationError;
use crate::model::hex::encode_hex;
use crate::model::value::Value;

/// Every function's name, for suggestions.
pub(super) const NAMES: &[&str] = &[
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

/// Functions of other tools, and what stands for them.
const OF_OTHERS: &[(&str, &str)] = &[
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

/// Longest text that a function makes, in bytes.
const MOST_TEXT: usize = 1 << 20;

/// Calls a function; a method's target is the first argument.
pub(super) fn call_function<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    name: &str,
    args: &[Item<'a>],
) -> Outcome<'a> {
    match (name, args) {
        ("size", [item]) => size_of(evaluation, item),
        ("get", [map, key, default]) => get_or_default(evaluation, map, key, default),
        ("keys", [map]) => {
            let entries = map_entries(evaluation, map)?;
            Ok(Item::list(entries.into_iter().map(|(key, _)| Item::Scalar(Value::Text(key))).collect()))
        }
        ("values", [map]) => {
            let entries = map_entries(evaluation, map)?;
            Ok(Item::list(entries.into_iter().map(|(_, item)| item).collect()))
        }
        ("string", [item]) => to_string_item(evaluation, item),
        ("int", [Item::Scalar(value @ (Value::Integer(_) | Value::Decimal(_)))]) => to_int(value),
        ("int", [item]) => to_int(&Value::Text(numeric_text(evaluation, name, item)?)),
        ("double", [item]) => to_double(evaluation, item),
        ("bool", [item]) => match evaluation.text_of(item)?.as_str() {
            "true" => Ok(Item::Scalar(Value::Bool(true))),
            "false" => Ok(Item::Scalar(Value::Bool(false))),
            _ => Err(evaluation_failure("this is neither `true` nor `false`")),
        },
        _ => text_function(evaluation, name, args),
    }
}

/// Calls a function over texts.
fn text_function<'a>(evaluation: &mut Evaluation<'_, 'a>, name: &str, args: &[Item<'a>]) -> Outcome<'a> {
    match (name, args) {
        ("contains", [text, part]) => test_texts(evaluation, text, part, |text, part| text.contains(part)),
        ("startsWith", [text, part]) => {
            test_texts(evaluation, text, part, |text, part| text.starts_with(part))
        }
        ("endsWith", [text, part]) => test_texts(evaluation, text, part, |text, part| text.ends_with(part)),
        ("matches", [text, pattern]) => matches_pattern(evaluation, text, pattern),
        ("lowerAscii", [text]) => Ok(Item::text(charged_text(evaluation, text)?.to_ascii_lowercase())),
        ("upperAscii", [text]) => Ok(Item::text(charged_text(evaluation, text)?.to_ascii_uppercase())),
        ("trim", [text]) => Ok(Item::text(charged_text(evaluation, text)?.trim())),
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
            Ok(Item::list(text.split(separator.as_str()).map(Item::text).collect()))
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
            Ok(Item::text(encode_hex(&digest)))
        }
        ("base64", [text]) => {
            let text = evaluation.text_of(text)?;
            evaluation.charge_text(text.len().div_ceil(3).saturating_mul(4))?;
            Ok(Item::text(encode_base64(text.as_bytes())))
        }
        ("cidr_subnet", [network, bits, number]) => subnet_of(evaluation, network, bits, number),
        ("file", [path]) => read_file(evaluation, path),
        _ => Err(unknown_function(name, args)),
    }
}

pub(super) fn unknown_function(name: &str, args: &[Item<'_>]) -> EvaluationError {
    if NAMES.contains(&name) {
        let types: Vec<_> = args.iter().map(Item::type_name).collect();
        let on = if types.is_empty() { "nothing".to_owned() } else { types.join(", ") };
        let known = FUNCTIONS.iter().find(|function| function.name == name);
        let usage =
            known.map(|function| format!("; it is written `{}`", function.usage)).unwrap_or_default();
        return evaluation_failure(format!("`{name}` does not work on {on}{usage}"));
    }
    if let Some((_, ours)) = OF_OTHERS.iter().find(|(theirs, _)| *theirs == name) {
        return evaluation_failure(format!("there is no function `{name}`; write `{ours}`"));
    }
    let hint = match nearest_name(name, NAMES.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; there are {}", NAMES.join(", ")),
    };
    evaluation_failure(format!("there is no function `{name}`{hint}"))
}

fn map_entries<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    map: &Item<'a>,
) -> Result<Vec<(Name, Item<'a>)>, EvaluationError> {
    if let Item::Object(object, _) = map
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

fn checked_text<'a>(text: String) -> Outcome<'a> {
    if text.len() > MOST_TEXT {
        return Err(evaluation_failure(format!("the text would be longer than {MOST_TEXT} bytes")));
    }
    Ok(Item::text(text))
}

fn size_of<'a>(evaluation: &mut Evaluation<'_, 'a>, item: &Item<'a>) -> Outcome<'a> {
    let size = if let Some(len) = item.len() {
        len
    } else {
        let text = evaluation.text_of(item)?;
        evaluation.charge(text.len() / 64)?;
        text.chars().count()
    };
    Ok(Item::Scalar(Value::Integer(i64::try_from(size).unwrap_or(i64::MAX))))
}

fn get_or_default<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    map: &Item<'a>,
    key: &Item<'a>,
    default: &Item<'a>,
) -> Outcome<'a> {
    let key = evaluation.text_of(key)?;
    match (map, map.entry(&key)) {
        (_, Some(Item::Scalar(Value::Null))) | (Item::Scalar(Value::Null), None) => Ok(default.clone()),
        (_, Some(item)) => Ok(item),
        (Item::Object(object, _), None) if !object.complete => {
            Ok(Item::Scalar(Value::Unknown(vec![object.address.clone()])))
        }
        (_, None) => map_entries(evaluation, map).map(|_| default.clone()),
    }
}

fn to_string_item<'a>(evaluation: &mut Evaluation<'_, 'a>, item: &Item<'a>) -> Outcome<'a> {
    match item {
        Item::Scalar(value @ (Value::Bool(_) | Value::Integer(_) | Value::Decimal(_))) => {
            Ok(Item::text(value.to_string()))
        }
        other => evaluation.text_of(other).map(|text| Item::Scalar(Value::Text(text))),
    }
}

/// Returns the text of an item of which a copy is about to be made.
fn charged_text<'a>(evaluation: &mut Evaluation<'_, 'a>, item: &Item<'a>) -> Result<Name, EvaluationError> {
    let text = evaluation.text_of(item)?;
    evaluation.charge_text(text.len())?;
    Ok(text)
}

fn to_int<'a>(value: &Value) -> Outcome<'a> {
    let n = match value {
        Value::Integer(n) => Some(*n),
        Value::Decimal(n) => n.trunc().to_i64(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    };
    n.map(|n| Item::Scalar(Value::Integer(n))).ok_or_else(|| evaluation_failure("this is no whole number"))
}

fn to_double<'a>(evaluation: &mut Evaluation<'_, 'a>, item: &Item<'a>) -> Outcome<'a> {
    let number = match item {
        Item::Scalar(value @ (Value::Integer(_) | Value::Decimal(_))) => value.as_decimal(),
        other => Value::Text(numeric_text(evaluation, "double", other)?).as_decimal(),
    };
    number.map(|n| Item::Scalar(Value::Decimal(n))).ok_or_else(|| evaluation_failure("this is no number"))
}

/// Returns the text that a number is read from.
fn numeric_text<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    function: &str,
    item: &Item<'a>,
) -> Result<Name, EvaluationError> {
    match item {
        Item::Scalar(Value::Text(_) | Value::Secret(_)) => evaluation.text_of(item),
        other => Err(evaluation_failure(format!(
            "`{function}` takes a number or a text, not {}",
            other.type_name()
        ))),
    }
}

fn test_texts<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    text: &Item<'a>,
    part: &Item<'a>,
    test: impl Fn(&str, &str) -> bool,
) -> Outcome<'a> {
    let (text, part) = (evaluation.text_of(text)?, evaluation.text_of(part)?);
    evaluation.charge(text.len() / 64)?;
    Ok(Item::Scalar(Value::Bool(test(&text, &part))))
}

fn matches_pattern<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    text: &Item<'a>,
    pattern: &Item<'a>,
) -> Outcome<'a> {
    let (text, pattern) = (evaluation.text_of(text)?, evaluation.text_of(pattern)?);
    // Compiling costs more than most expressions.
    evaluation.charge(1000 + pattern.len() + text.len())?;
    let regex =
        regex::RegexBuilder::new(&pattern).size_limit(1 << 18).nest_limit(50).build().map_err(|_| {
            evaluation_failure("the pattern of `matches` is no regular expression, or too large")
        })?;
    Ok(Item::Scalar(Value::Bool(regex.is_match(&text))))
}

fn join_list<'a>(evaluation: &mut Evaluation<'_, 'a>, list: &Item<'a>, separator: &str) -> Outcome<'a> {
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
        if text.len() > MOST_TEXT {
            break;
        }
    }
    checked_text(text)
}

/// `format("%s-%03d", ["a", 7])` is `a-007`; `%s`, `%d`, `%x` and `%%`, with a width.
fn format_pattern<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    pattern: &Item<'a>,
    values: &Item<'a>,
) -> Outcome<'a> {
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
            _ => return Err(evaluation_failure("`format` knows %s, %d, %x and %%, with a width up to 99")),
        }
        rest = verbs.as_str();
    }
    text.push_str(rest);
    if values.next().is_some() {
        return Err(evaluation_failure("`format` has more values than places"));
    }
    checked_text(text)
}

fn format_directive<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    value: &Item<'a>,
    verb: char,
    width: &str,
) -> Result<String, EvaluationError> {
    let text = match (verb, value) {
        ('s', item) => {
            let item = to_string_item(evaluation, item)?;
            charged_text(evaluation, &item)?.to_string()
        }
        ('d', Item::Scalar(Value::Integer(n))) => n.to_string(),
        ('x', Item::Scalar(Value::Integer(n))) => format!("{n:x}"),
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

/// Returns subnet `number` of `network`, whose prefix is `bits` longer.
fn subnet_of<'a>(
    evaluation: &mut Evaluation<'_, 'a>,
    network: &Item<'a>,
    bits: &Item<'a>,
    number: &Item<'a>,
) -> Outcome<'a> {
    let network = evaluation.text_of(network)?;
    let network: Ipv4Net = network
        .parse()
        .map_err(|_| evaluation_failure("`cidr_subnet` needs an IPv4 network such as 10.0.0.0/16"))?;
    let (Item::Scalar(Value::Integer(bits)), Item::Scalar(Value::Integer(number))) = (bits, number) else {
        return Err(evaluation_failure("`cidr_subnet` takes two whole numbers: bits and number"));
    };
    let prefix = u8::try_from(*bits)
        .ok()
        .and_then(|bits| bits.checked_add(network.prefix_len()))
        .filter(|prefix| *prefix <= 32)
        .ok_or_else(|| {
            evaluation_failure(format!(
                "{} has no {} more bits",
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
    Ok(Item::text(format!("{}/{prefix}", Ipv4Addr::from(first))))
}

fn read_file<'a>(evaluation: &mut Evaluation<'_, 'a>, path: &Item<'a>) -> Outcome<'a> {
    let path = evaluation.text_of(path)?;
    if let Some(text) = evaluation.scope.roots.get(FILES).and_then(|files| files.entry(&path)) {
        return Ok(text);
    }
    let shown = evaluation.display_argument(&path);
    let read = evaluation
        .scope
        .read
        .ok_or_else(|| evaluation_failure(format!("`{shown}` can be read while loading only")))?;
    // The reader's own words name the path.
    let text = read(&path).map_err(|error| {
        evaluation_failure(if evaluation.hides_arguments() {
            "the file that a secret names cannot be read".to_owned()
        } else {
            error
        })
    })?;
    evaluation.charge_text(text.len())?;
    Ok(Item::text(text))
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
