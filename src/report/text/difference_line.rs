//! A part in which a plan differs from the reviewed one, in the words of a reader of plans: what differs, and what each plan
//! says of it. Documents have the keys of the parts instead.

use super::phrases;
use super::style::TextStyle;
use crate::model::schema::format_money;
use crate::model::values::value::Value;
use crate::plan::artifact::difference::PartDifference;
use crate::plan::artifact::difference_part::{AttributePart, DifferencePart};
use crate::plan::model::change::Cause;

/// Length limit in characters of a value.
const MAX_VALUE_CHARS: usize = 80;

/// A part that differs, for display; nothing is escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferenceLine {
    /// What differs.
    pub label: String,
    /// What the reviewed plan and the later one say; `None` where the label says all.
    pub values: Option<(String, String)>,
}

impl DifferenceLine {
    /// Returns the line of a part.
    #[must_use]
    pub fn new(part: &PartDifference, style: TextStyle) -> Self {
        let (old, new) = (&part.old, &part.new);
        let values = || match phrases::distinguish_values(old, new) {
            (one, other) if one == other => None,
            both => Some(both),
        };
        let each = |text: &dyn Fn(&Value) -> String| Some((text(old), text(new)));
        let or_none = |none: &'static str| each(&|value| text_or(value, none));
        let (label, values) = match &part.part {
            DifferencePart::Attribute(path, part) => attribute_line(path, *part, values),
            DifferencePart::Action => ("action".into(), or_none("not in the plan")),
            DifferencePart::Cause => ("cause".into(), each(&cause_text)),
            DifferencePart::Kind => ("kind of resource".into(), values()),
            DifferencePart::Object => ("id of the live object".into(), or_none("none")),
            DifferencePart::PreviousAddress => ("moved from".into(), or_none("not moved")),
            DifferencePart::Reason => ("reason".into(), or_none("none given")),
            DifferencePart::Order => ("order of the replacement".into(), each(&order_text)),
            DifferencePart::Effects => ("effects".into(), each(&|value| list_text(value, "; "))),
            DifferencePart::Affects => ("affected resources".into(), each(&|value| list_text(value, ", "))),
            DifferencePart::Price => ("monthly price".into(), each(&price_text)),
            DifferencePart::Requests => ("steps, or what the ledger records".into(), steps_text(old, new)),
            DifferencePart::Blocker => (verdict_label(old, new, "blocked by"), None),
            DifferencePart::Policy => (verdict_label(old, new, "denied by the policy"), None),
            DifferencePart::Output(name) => (format!("output {name}"), or_none("none")),
            DifferencePart::RecordedOutput(name) => {
                (format!("output {name}, recorded value"), or_none("no change"))
            }
            DifferencePart::Secrets => {
                ("what is done for secrets".into(), each(&|value| list_text(value, "; ")))
            }
            DifferencePart::Rest => {
                ("the fingerprints differ, and no part of the plans shows why".into(), None)
            }
            DifferencePart::LedgerUpdates => {
                ("moves, transfers or recipients of secrets that the ledger records".into(), None)
            }
            DifferencePart::Stack => ("stack".into(), values()),
            DifferencePart::Environment => ("environment".into(), values()),
            DifferencePart::Account => ("account".into(), or_none("not known")),
            DifferencePart::Options => {
                ("whether everything is destroyed, or which data may be deleted".into(), None)
            }
        };
        let short = |text| phrases::shorten_text(text, MAX_VALUE_CHARS, style);
        Self { label, values: values.map(|(old, new)| (short(old), short(new))) }
    }
}

/// Returns how much two plans decide differently; `None` if that is nothing.
#[must_use]
pub fn decided_differently(resources: usize, outputs: usize) -> Option<String> {
    let count = |count: usize, noun: &str| (count > 0).then(|| phrases::count_noun(count, noun));
    let counts: Vec<String> =
        [count(resources, "resource"), count(outputs, "output")].into_iter().flatten().collect();
    (!counts.is_empty()).then(|| format!("{} decided differently", counts.join(" and ")))
}

fn attribute_line(
    path: &str,
    part: AttributePart,
    values: impl Fn() -> Option<(String, String)>,
) -> (String, Option<(String, String)>) {
    let absent = || "no change".to_owned();
    match part {
        AttributePart::Live => (format!("{path}, live value"), values()),
        AttributePart::Planned => (format!("{path}, planned value"), values()),
        AttributePart::NewlyPlanned => {
            (format!("{path}, planned value"), values().map(|(_, new)| (absent(), new)))
        }
        AttributePart::NoLongerPlanned => {
            (format!("{path}, planned value"), values().map(|(old, _)| (old, absent())))
        }
        AttributePart::Secrets => (format!("{path}, secrets in the planned value"), values()),
        AttributePart::Why => {
            (format!("{path}: why it changes, or whether that replaces the object"), None)
        }
    }
}

/// Returns a value, or words for the absence of one.
fn text_or(value: &Value, none: &str) -> String {
    match value {
        Value::Null => none.to_owned(),
        Value::Text(text) if text.is_empty() => none.to_owned(),
        other => phrases::format_value(other),
    }
}

/// Returns whether a plan has a new blocker or denial, or one no longer.
fn verdict_label(old: &Value, new: &Value, what: &str) -> String {
    match (old, new) {
        (Value::Null, name) => format!("newly {what} {}", phrases::format_value(name)),
        (name, _) => format!("no longer {what} {}", phrases::format_value(name)),
    }
}

/// Returns why a resource changes, from the word of the cause in documents.
fn cause_text(cause: &Value) -> String {
    let word = cause.as_text().unwrap_or_default();
    match serde_json::from_value(word.into()) {
        Ok(Cause::Config) => "changed in the configuration",
        Ok(Cause::Drift) => "changed outside stead",
        Ok(Cause::Both) => "changed in the configuration and outside stead",
        Ok(Cause::Upstream) => "follows from another resource",
        Ok(Cause::Unfinished) => "no apply has finished it yet",
        Ok(Cause::Unconfirmed) => "differs from what was applied",
        Ok(Cause::NotKept) => "not kept by the service",
        Err(_) => "not known",
    }
    .to_owned()
}

/// Returns the steps of both plans; `None` if those are equal, so that the ledger entries differ.
fn steps_text(old: &Value, new: &Value) -> Option<(String, String)> {
    (old != new).then(|| (list_text(old, "; "), list_text(new, "; ")))
}

fn order_text(create_first: &Value) -> String {
    match create_first {
        Value::Bool(true) => "creates the new object first",
        Value::Bool(false) => "deletes the old object first",
        _ => "no replacement",
    }
    .to_owned()
}

fn list_text(list: &Value, between: &str) -> String {
    match list {
        Value::List(items) if items.is_empty() => "none".to_owned(),
        Value::List(items) => items.iter().map(phrases::format_value).collect::<Vec<_>>().join(between),
        other => text_or(other, "none"),
    }
}

/// Returns the price before and after a change.
fn price_text(prices: &Value) -> String {
    let amount = |value: Option<&Value>| match value {
        Some(Value::Decimal(amount)) => Some(format_money(*amount)),
        Some(Value::Integer(amount)) => Some(format_money((*amount).into())),
        _ => None,
    };
    let Value::List(items) = prices else { return text_or(prices, "not known") };
    match (amount(items.first()), amount(items.get(1))) {
        (None, None) => "none, or not known".to_owned(),
        (None, Some(after)) => after,
        (Some(before), None) => format!("{before} now, then not known"),
        (Some(before), Some(after)) if before == after => after,
        (Some(before), Some(after)) => format!("{after} instead of {before}"),
    }
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use super::*;
    use crate::plan::artifact::difference_part::MovedSide;

    fn line(part: DifferencePart, old: Value, new: Value) -> String {
        let part = PartDifference { part, old, new, moved: vec![MovedSide::Configuration] };
        let DifferenceLine { label, values } = DifferenceLine::new(&part, TextStyle::plain(80));
        match values {
            Some((old, new)) => format!("{label} | {old} | {new}"),
            None => label,
        }
    }

    /// Every part and every form of its values: what a reader sees has no word of the program.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn each_part_reads_as_a_plan_does() {
        let text = |text: &str| Value::text(text);
        let list = |items: &[&str]| Value::List(items.iter().map(|item| Value::text(*item)).collect());
        let price = |before: Option<i64>, after: Option<i64>| {
            let one = |amount: Option<i64>| {
                amount.map_or(Value::Null, |amount| Value::Decimal(Decimal::from(amount)))
            };
            Value::List(vec![one(before), one(after)])
        };
        let attribute = |part| DifferencePart::Attribute("size".into(), part);
        let integer = Value::Integer;
        let lines = [
            line(attribute(AttributePart::Live), integer(1), integer(2)),
            line(attribute(AttributePart::Planned), integer(1), text("1")),
            line(attribute(AttributePart::Planned), integer(1), Value::Null),
            line(attribute(AttributePart::NewlyPlanned), Value::Null, integer(2)),
            line(attribute(AttributePart::NoLongerPlanned), integer(1), Value::Null),
            line(attribute(AttributePart::Why), Value::Null, Value::Null),
            line(DifferencePart::Action, Value::Null, text("create")),
            line(DifferencePart::Action, text("update"), text("replace")),
            line(DifferencePart::Cause, text("config"), text("drift")),
            line(DifferencePart::Cause, text("both"), text("upstream")),
            line(DifferencePart::Cause, text("unfinished"), text("unconfirmed")),
            line(DifferencePart::Cause, text("not_kept"), text("config")),
            line(DifferencePart::Kind, text("vm"), text("volume")),
            line(DifferencePart::Object, Value::Null, text("8f31")),
            line(DifferencePart::PreviousAddress, Value::Null, text("vm.old")),
            line(DifferencePart::Reason, text("the plan was changed"), Value::Null),
            line(DifferencePart::Order, Value::Null, Value::Bool(true)),
            line(DifferencePart::Order, Value::Bool(true), Value::Bool(false)),
            line(DifferencePart::Effects, list(&[]), list(&["it restarts", "its disk is lost"])),
            line(DifferencePart::Affects, list(&["vm.a", "vm.b"]), list(&[])),
            line(DifferencePart::Price, price(Some(10), Some(10)), price(Some(10), Some(12))),
            line(DifferencePart::Price, price(None, Some(12)), price(Some(12), None)),
            line(DifferencePart::Price, price(None, None), price(None, Some(7))),
            line(DifferencePart::Requests, list(&["create"]), list(&["create"])),
            line(DifferencePart::Requests, list(&["create"]), list(&["create, after create vpc.main"])),
            line(DifferencePart::Blocker, Value::Null, text("protected")),
            line(DifferencePart::Blocker, text("protected"), Value::Null),
            line(DifferencePart::Policy, Value::Null, text("budget")),
            line(DifferencePart::Policy, text("budget"), Value::Null),
            line(DifferencePart::Output("address".into()), Value::Null, text("10.0.0.4")),
            line(DifferencePart::LedgerUpdates, Value::Null, Value::Null),
            line(DifferencePart::Stack, text("a"), text("b")),
            line(DifferencePart::Environment, text("dev"), text("prod")),
            line(DifferencePart::Account, text(""), text("8f31")),
            line(DifferencePart::Options, Value::Null, Value::Null),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        size, live value | 1 | 2
        size, planned value | 1 | "1"
        size, planned value | 1 | (not set)
        size, planned value | no change | 2
        size, planned value | 1 | no change
        size: why it changes, or whether that replaces the object
        action | not in the plan | create
        action | update | replace
        cause | changed in the configuration | changed outside stead
        cause | changed in the configuration and outside stead | follows from another resource
        cause | no apply has finished it yet | differs from what was applied
        cause | not kept by the service | changed in the configuration
        kind of resource | vm | volume
        id of the live object | none | 8f31
        moved from | not moved | vm.old
        reason | the plan was changed | none given
        order of the replacement | no replacement | creates the new object first
        order of the replacement | creates the new object first | deletes the old object first
        effects | none | it restarts; its disk is lost
        affected resources | vm.a, vm.b | none
        monthly price | $10.00 | $12.00 instead of $10.00
        monthly price | $12.00 | $12.00 now, then not known
        monthly price | none, or not known | $7.00
        steps, or what the ledger records
        steps, or what the ledger records | create | create, after create vpc.main
        newly blocked by protected
        no longer blocked by protected
        newly denied by the policy budget
        no longer denied by the policy budget
        output address | none | 10.0.0.4
        moves, transfers or recipients of secrets that the ledger records
        stack | a | b
        environment | dev | prod
        account | not known | 8f31
        whether everything is destroyed, or which data may be deleted
        "#);
    }
}
