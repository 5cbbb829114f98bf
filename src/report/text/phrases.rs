//! Text for single facts: money, durations, ages, counts and values. The text is not escaped; `page` does that.

use std::cmp::Ordering;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;

use super::style::{Symbol, TextStyle};
use crate::model::address::Address;
use crate::model::schema::format_money;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, ChangeCost, DriftClass, PreviousAddress};
use crate::plan::model::due::DueTotal;
use crate::plan::model::step::Operation;

/// Returns a previous address, with the other stack from which the resource comes: `vm.web of shop/prod`.
#[must_use]
pub fn describe_previous_address(was: &PreviousAddress) -> String {
    match &was.stack {
        Some(stack) => format!("{} of {stack}", was.address),
        None => was.address.to_string(),
    }
}

/// Returns a difference of money in USD with its sign, such as `+$73.00`; zero has no sign.
#[must_use]
pub fn money_change(amount: Decimal) -> String {
    if amount > Decimal::ZERO { format!("+{}", format_money(amount)) } else { format_money(amount) }
}

/// Returns a change of the monthly bill; empty if nothing is billed, and if the price after the apply is not known.
#[must_use]
pub fn cost_change(cost: &ChangeCost) -> String {
    let (before, after) = (cost.monthly_before, cost.monthly_after);
    let billed = |price: Option<Decimal>| price.is_some_and(|price| !price.is_zero());
    if !billed(before) && !billed(after) || cost.unpriced && after.is_none() {
        return String::new();
    }
    bill_change(after.unwrap_or_default() - before.unwrap_or_default(), usize::from(cost.unpriced))
}

/// Returns a difference of the monthly bill in USD: a lower bound if the prices of `unpriced` resources are not known.
#[must_use]
pub fn bill_change(delta: Decimal, unpriced: usize) -> String {
    let change = money_change(delta);
    if unpriced == 0 { change } else { format!("at least {change}") }
}

/// Returns how many resources a bill leaves out, because their prices are not known; `None` if none.
#[must_use]
pub fn unpriced_count(unpriced: usize) -> Option<String> {
    (unpriced > 0)
        .then(|| format!("{} without a known price, not counted", count_noun(unpriced, "resource")))
}

/// Returns how many units a sum of bills leaves out, because they could not be planned; `None` if none.
#[must_use]
pub fn unplanned_count(unplanned: usize) -> Option<String> {
    (unplanned > 0).then(|| format!("{} without a plan, not counted", count_noun(unplanned, "unit")))
}

/// What is charged or refunded at once, or was.
#[derive(Debug, Clone, Copy)]
pub struct DueStatement {
    /// What the amount is, as the beginning of a line.
    label: &'static str,
    /// The amount.
    pub total: DueTotal,
}

impl DueStatement {
    /// Returns what an apply costs at once.
    #[must_use]
    pub const fn of_plan(total: DueTotal) -> Self {
        Self { label: "due now", total }
    }

    /// Returns what the steps of an apply cost at once.
    #[must_use]
    pub const fn of_apply(total: DueTotal) -> Self {
        Self { label: "was due", total }
    }

    /// Returns the parts of a line: the amount, and the count of those that are not known; empty if nothing is due.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        let Some((amount, unknown)) = due_total(&self.total) else { return Vec::new() };
        let unknown = (!unknown.is_empty()).then_some(unknown);
        std::iter::once(format!("{}: {amount}", self.label)).chain(unknown).collect()
    }
}

/// Returns what is charged or refunded at once, with the time for which it is computed; `None` if nothing is. The second
/// string counts the changes whose amount is not known; empty if there are none.
#[must_use]
pub fn due_total(due: &DueTotal) -> Option<(String, String)> {
    let at = due.at?;
    let amount = match due.amount.cmp(&Decimal::ZERO) {
        Ordering::Greater => format!("{} charged", format_money(due.amount)),
        Ordering::Less => format!("{} refunded", format_money(due.amount.abs())),
        Ordering::Equal if due.unknown > 0 => "not known".to_owned(),
        Ordering::Equal => format_money(Decimal::ZERO),
    };
    let unknown = if due.unknown == 0 {
        String::new()
    } else {
        format!("{} without a known amount, not counted", count_noun(due.unknown, "change"))
    };
    Some((format!("{amount} at {}", at.strftime("%Y-%m-%d %H:%M UTC")), unknown))
}

/// Returns an exact duration in short form: `52s`, `1m52s`, `2h05m`; `0.4s` below a second.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("0.{}s", duration.subsec_millis() / 100),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns an estimated duration, given in seconds, rounded: `20 s`, `4 min`, `1 h 5 min`.
#[must_use]
pub fn format_estimate(seconds: u64) -> String {
    let minutes = (seconds + 30) / 60;
    match (seconds, minutes) {
        (0..=99, _) => format!("{seconds} s"),
        (_, 0..=99) => format!("{minutes} min"),
        _ if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Returns the age of an event, such as `2 days ago`; `just now` below a minute, and for a time in the future.
#[must_use]
pub fn format_age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).max(SignedDuration::ZERO).as_secs();
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} ago", count_noun(usize::try_from(count).unwrap_or(usize::MAX), unit))
}

/// Returns a count with its noun, whose plural must end in `s`: `1 change`, `2 changes`.
#[must_use]
pub fn count_noun(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns the first `most` items, separated by commas, and a count of the rest.
#[must_use]
pub fn join_words<T: AsRef<str>>(items: impl ExactSizeIterator<Item = T>, most: usize) -> String {
    let rest = items.len().saturating_sub(most);
    let mut text = String::new();
    for (at, item) in items.take(most).enumerate() {
        text.push_str(if at == 0 { "" } else { ", " });
        text.push_str(item.as_ref());
    }
    if rest > 0 { format!("{text} and {rest} more") } else { text }
}

/// Joins sentences with a full stop where one is missing between two; omits empty ones.
#[must_use]
pub fn join_sentences<T: AsRef<str>>(parts: &[T]) -> String {
    let mut text = String::new();
    for part in parts.iter().map(|part| part.as_ref().trim()).filter(|part| !part.is_empty()) {
        if !text.is_empty() {
            text.push_str(if text.ends_with(['.', '!', '?']) { " " } else { ". " });
        }
        text.push_str(part);
    }
    text
}

/// Returns how many of the counted changes are blocked; `None` if none is.
#[must_use]
pub fn blocked_changes(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{count} of the changes blocked"))
}

/// The fact of a report about a destroy.
pub const DESTROY_FACT: &str = "a destroy";

/// Returns when an unknown value is known, such as `known once vpc.main is applied`; it names at most three addresses.
fn waits_for(addresses: &[Address]) -> String {
    if addresses.is_empty() {
        return "not known".to_owned();
    }
    let verb = if addresses.len() == 1 { "is" } else { "are" };
    format!("known once {} {verb} applied", join_words(addresses.iter().map(Address::as_str), 3))
}

/// Returns a plan's fingerprint in short form for display, its first eight digits: `7f3a-c91e`. Commands
/// do not accept this form.
#[must_use]
pub fn short_fingerprint(fingerprint: &str) -> String {
    match (fingerprint.len(), fingerprint.get(..4), fingerprint.get(4..8)) {
        (64, Some(first), Some(last)) => format!("{first}-{last}"),
        // A fingerprint of an earlier version, or none.
        _ => fingerprint.to_owned(),
    }
}

/// Returns the first four digits of a secret's fingerprint, to compare two by eye; `None` for a secret without one.
#[must_use]
pub fn secret_fingerprint(secret: &Secret) -> Option<&str> {
    match secret {
        Secret::Fingerprint(Some(digest)) => Some(digest.get(..4).unwrap_or(digest)),
        // It is computed from a secret that is yet to be generated, and so has no value that could be compared.
        Secret::Derived(derived) if derived.awaits_inputs() => None,
        Secret::Derived(derived) => derived.sealed_id().map(|id| id.get(..4).unwrap_or(id)),
        Secret::Fingerprint(None) | Secret::Plain(_) | Secret::Deferred(_) => None,
    }
}

/// Returns a value as a person would write it, a secret as `(secret)`. Strings have quotes only where they could be taken for
/// something else without them.
#[must_use]
pub fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "(not set)".to_owned(),
        Value::Text(text) if looks_like_notation(text) => quote_text(text),
        Value::Decimal(number) => number.normalize().to_string(),
        Value::Unknown(unknown) if unknown.is_secret => {
            format!("(secret, {})", waits_for(&unknown.waits_for))
        }
        Value::Unknown(unknown) => format!("({})", waits_for(&unknown.waits_for)),
        Value::List(_) | Value::Map(_) => format_parts(value, &format_part),
        Value::Secret(secret) => secret_fingerprint(secret)
            .map_or_else(|| "(secret)".to_owned(), |digest| format!("(secret {digest})")),
        Value::Bool(_) | Value::Integer(_) | Value::Text(_) => value.to_string(),
    }
}

/// Returns the notation of a list or a map, with each part as `part` writes it.
fn format_parts(value: &Value, part: &dyn Fn(&Value) -> String) -> String {
    match value {
        Value::List(items) => format!("[{}]", join_items(items.iter().map(part))),
        Value::Map(map) if map.is_empty() => "{}".to_owned(),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, item)| format!("{key}: {}", part(item)));
            format!("{{ {} }}", join_items(entries))
        }
        other => part(other),
    }
}

/// Returns a value as a part of a list or a map: a text has quotes if it could be taken for several parts.
fn format_part(value: &Value) -> String {
    match value {
        Value::Text(text) if text.contains(", ") || text.contains(": ") || text.starts_with(['[', '{']) => {
            quote_text(text)
        }
        other => format_value(other),
    }
}

/// Returns whether a text without quotes could be taken for something else: for nothing, or for a word of a report such as
/// `(secret)`; or whether its beginning or end would be invisible.
fn looks_like_notation(text: &str) -> bool {
    let is_word_of_report = text.starts_with('(') && text.ends_with(')');
    text.is_empty() || text.trim().len() != text.len() || text.starts_with('"') || is_word_of_report
}

fn quote_text(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

/// Returns a value like `format_value`, but with quotes around strings, so that `"16"` differs from `16`.
#[must_use]
pub fn format_typed(value: &Value) -> String {
    match value {
        Value::Text(text) => quote_text(text),
        Value::List(_) | Value::Map(_) => format_parts(value, &format_typed),
        other => format_value(other),
    }
}

/// Returns two different values as strings that differ, too: with quotes if they would otherwise look the same.
#[must_use]
pub fn distinguish_values(before: &Value, after: &Value) -> (String, String) {
    let (old, new) = (format_value(before), format_value(after));
    if old == new { (format_typed(before), format_typed(after)) } else { (old, new) }
}

fn join_items(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// Returns a string; if it has more than `most` characters, its beginning and its length.
#[must_use]
pub fn shorten_text(text: String, most: usize, style: TextStyle) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((at, _)) => {
            let count = text[at..].chars().count() + most;
            format!("{}{} ({count} characters)", &text[..at], style.sign(Symbol::Ellipsis))
        }
    }
}

/// Returns the sign of an action, such as `~` for an update.
#[must_use]
pub fn sign_of_action(action: Action, style: TextStyle) -> &'static str {
    match action {
        Action::Replace => style.sign(Symbol::Replace),
        Action::Delete => "-",
        Action::Update => "~",
        Action::Create => "+",
        Action::Adopt => style.sign(Symbol::Adopt),
        Action::Move => style.sign(Symbol::Move),
        Action::Forget => style.sign(Symbol::Forget),
        Action::Read => "?",
    }
}

/// Returns the keyword of an action in JSON documents.
#[must_use]
pub const fn action_keyword(action: Action) -> &'static str {
    action.as_str()
}

/// Returns the keyword of an operation in JSON documents.
#[must_use]
pub const fn operation_keyword(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { .. } => "create",
        Operation::Update { .. } => "update",
        Operation::Delete { .. } => "delete",
    }
}

/// Returns the keyword of a drift class in JSON documents.
#[must_use]
pub const fn drift_class(class: DriftClass) -> &'static str {
    match class {
        DriftClass::Reverted => "reverted",
        DriftClass::AcceptOnly => "accept_only",
        DriftClass::Accepted => "accepted",
        DriftClass::Ignored => "ignored",
        DriftClass::Gone => "gone",
        DriftClass::NotReadable => "not_readable",
        DriftClass::Replaced => "replaced",
        DriftClass::Unmanaged => "unmanaged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_values_never_look_the_same() {
        let list = |parts: &[&str]| Value::List(parts.iter().copied().map(Value::text).collect());
        let map = |parts: &[(&str, &str)]| {
            Value::Map(parts.iter().map(|(key, value)| ((*key).into(), Value::text(value))).collect())
        };
        for (one, other) in [
            (list(&["a, b", "c"]), list(&["a", "b", "c"])),
            (map(&[("A", "1, B: 2")]), map(&[("A", "1"), ("B", "2")])),
            (list(&["[a]"]), Value::List(vec![list(&["a"])])),
            (Value::text("(not set)"), Value::Null),
            (Value::text("(secret)"), Value::Secret(Secret::new("x"))),
            (Value::text("\"\""), Value::text("")),
            (list(&["1"]), Value::List(vec![Value::Integer(1)])),
            (Value::text("true"), Value::Bool(true)),
        ] {
            let (one, other) = distinguish_values(&one, &other);
            assert_ne!(one, other);
        }
        assert_eq!(format_value(&list(&["a b", "http://x/y", "1:2"])), "[a b, http://x/y, 1:2]");
        assert_eq!(format_value(&map(&[("A", "1, B: 2")])), "{ A: \"1, B: 2\" }");
    }

    #[test]
    fn amounts_of_money_are_formatted() {
        let table =
            [("0", "$0.00"), ("24", "$24.00"), ("-3.5", "-$3.50"), ("0.0031", "$0.0031"), ("-0", "$0.00")];
        for (amount, text) in table {
            assert_eq!(format_money(amount.parse().unwrap()), text);
        }
        assert_eq!(money_change(Decimal::new(7300, 2)), "+$73.00");
        assert_eq!(money_change(Decimal::ZERO), "$0.00");
        let free = ChangeCost { monthly_after: Some(Decimal::ZERO), ..ChangeCost::default() };
        assert_eq!(cost_change(&free), "");
        let gone = ChangeCost { monthly_before: Some(Decimal::from(12)), ..ChangeCost::default() };
        assert_eq!(cost_change(&gone), "-$12.00");
        let unknown = ChangeCost { unpriced: true, ..gone };
        assert_eq!(cost_change(&unknown), "", "it is not free after the apply");
        let part = ChangeCost { monthly_after: Some(Decimal::from(20)), ..unknown };
        assert_eq!(cost_change(&part), "at least +$8.00");
    }

    #[test]
    fn durations_are_formatted() {
        let table = [(400, "0.4s"), (1000, "1s"), (112_000, "1m52s"), (7_500_000, "2h05m")];
        for (millis, text) in table {
            assert_eq!(format_duration(Duration::from_millis(millis)), text);
        }
        let table = [(20, "20 s"), (240, "4 min"), (3600, "60 min"), (7200, "2 h"), (7500, "2 h 5 min")];
        for (seconds, text) in table {
            assert_eq!(format_estimate(seconds), text);
        }
        let now = Timestamp::from_second(1_000_000).unwrap();
        let table = [
            (10, "just now"),
            (60, "1 minute ago"),
            (7200, "2 hours ago"),
            (200_000, "2 days ago"),
            (-5, "just now"),
        ];
        for (back, text) in table {
            assert_eq!(format_age(Timestamp::from_second(1_000_000 - back).unwrap(), now), text);
        }
    }

    #[test]
    fn values_are_formatted_as_in_the_configuration() {
        let a = |text| Address::parse(text).unwrap();
        let table = [
            (Value::Null, "(not set)"),
            (Value::text(""), "\"\""),
            (Value::text("a "), "\"a \""),
            (Value::Secret(Secret::new("canary")), "(secret)"),
            (Value::List(vec![Value::Integer(1), Value::text("b")]), "[1, b]"),
            (Value::Map([("k".into(), Value::Bool(true))].into()), "{ k: true }"),
            (Value::unknown(vec![a("vm.a")]), "(known once vm.a is applied)"),
            (
                Value::unknown(vec![a("vm.a"), a("vm.b"), a("vm.c"), a("vm.d")]),
                "(known once vm.a, vm.b, vm.c and 1 more are applied)",
            ),
        ];
        for (given, text) in table {
            assert_eq!(format_value(&given), text);
        }
        assert_eq!(format_typed(&Value::text("16")), "\"16\"");
        assert_eq!(shorten_text("abcdef".into(), 3, TextStyle::plain(80)), "abc… (6 characters)");
    }
}
