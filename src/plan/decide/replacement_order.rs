//! The order of a replacement: create the new object first, or delete the old one first. In: the kind's order,
//! the block's `lifecycle.replace` and what both objects would share; out: the order, with a reason where it is
//! not the preferred one. Creating first is preferred because it has no outage.

use std::collections::BTreeSet;

use ipnet::Ipv4Net;

use crate::model::address::Address;
use crate::model::diagnostic::blocker_code;
use crate::model::schema::{ReplaceOrder, RuleCheck};
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::are_equivalent;
use crate::plan::model::note::{NoteCode, PlanNote};

/// Returns whether the new object is created first, and if not, the reason where it is not obvious (`None`: the
/// kind or the block says so). Adds a blocker where the block forbids a replacement.
///
/// `forced`: why the old one must be deleted first although the kind allows the other order.
pub(in crate::plan) fn replacement_order(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    forced: Option<&str>,
    blocks: &mut Blockers<'_, '_>,
) -> (bool, Option<String>) {
    let written = subject.resource.and_then(|resource| resource.lifecycle.replace);
    match written.unwrap_or(subject.kind.replace) {
        ReplaceOrder::Never => {
            refuse_replacement(subject, decision, blocks);
            (false, None)
        }
        ReplaceOrder::DeleteFirst => (false, None),
        ReplaceOrder::CreateFirst if decision.crowded => {
            (false, Some("an older object that is still in use occupies what the new one needs, and is deleted first".to_owned()))
        }
        ReplaceOrder::CreateFirst => {
            let clash = forced.map(str::to_owned).or_else(|| coexistence_conflict(subject, decision));
            (clash.is_none(), clash)
        }
    }
}

/// Returns a note for each approval, by `--replace` or `--delete-data`, of a loss that the plan does not bring.
pub(in crate::plan) fn consent_notes(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<PlanNote> {
    let idle = |approved: &BTreeSet<Address>, is_meant: fn(DecisionKind) -> bool| {
        let decided = || joined.subjects.iter().zip(decisions);
        let is_idle = |address: &&Address| {
            !decided()
                .any(|(subject, decision)| is_meant(decision.act) && subject.address.is_within(address))
        };
        approved.iter().filter(is_idle).cloned().collect::<Vec<Address>>()
    };
    let note = |code, text: String, help: &str| PlanNote {
        code,
        text,
        help: help.to_owned(),
        source: None,
        address: None,
    };
    let options = joined.inputs.options;
    let replaced = idle(&options.replace, |act| matches!(act, DecisionKind::Replace { .. }));
    let deleted = idle(&options.delete_data, |act| act == DecisionKind::Delete);
    let replaced = replaced.into_iter().map(|address| {
        note(
            NoteCode::NotReplaced,
            format!("{address} is not replaced: --replace only approves a replacement that the plan needs"),
            "omit --replace; an edit that no call can make in place replaces the object",
        )
    });
    let deleted = deleted.into_iter().map(|address| {
        note(
            NoteCode::NotDeleted,
            format!("{address} is not deleted: --delete-data only approves a deletion that the plan makes"),
            "omit --delete-data; an object is deleted when no block declares it any more",
        )
    });
    replaced.chain(deleted).collect()
}

fn refuse_replacement(subject: &ResourceState<'_>, decision: &Decision<'_>, blocks: &mut Blockers<'_, '_>) {
    let reason =
        decision.reason.as_deref().unwrap_or("an attribute changes that cannot be changed in place");
    let text =
        format!("{} would be replaced, but its `lifecycle.replace` is never: {reason}.", subject.address);
    let help = "Revert the change, or set `lifecycle.replace` to create_first or delete_first.";
    let span = decision.differences.iter().find(|d| d.forces_replacement()).and_then(|d| d.setting);
    blocks.add_for_subject(
        blocker_code::REPLACE_NEVER,
        subject,
        span.map(|setting| setting.span),
        text,
        help.to_owned(),
    );
}

/// Returns why the old and the new object cannot exist at the same time; `None` if they can.
fn coexistence_conflict(subject: &ResourceState<'_>, decision: &Decision<'_>) -> Option<String> {
    let stays = |name: &str| !decision.rehomed && stays_unchanged(subject, decision, name);
    if subject.kind.api.id != "id" && stays(subject.kind.api.id) {
        return Some(format!("two objects cannot have the same {}", subject.kind.api.id));
    }
    subject.kind.rules.iter().find_map(|rule| match rule.check {
        RuleCheck::Unique { attributes } => {
            let all = attributes.iter().all(|name| stays(name));
            all.then(|| format!("two objects cannot have the same {}", attributes.join(" and ")))
        }
        RuleCheck::NoOverlap { attribute } => networks_overlap(subject, decision, attribute)
            .then(|| format!("their {attribute} would overlap")),
        _ => None,
    })
}

fn stays_unchanged(subject: &ResourceState<'_>, decision: &Decision<'_>, name: &str) -> bool {
    let Some(attribute) = subject.kind.attribute(name) else { return false };
    let live = subject.object().and_then(|object| object.attributes.get(name)).unwrap_or(&Value::Null);
    let want = decision.find_attribute(name);
    want.is_none_or(|want| {
        !want.value.is_unknown() && are_equivalent(&attribute.ty, want.stored_value(), live)
    })
}

fn networks_overlap(subject: &ResourceState<'_>, decision: &Decision<'_>, attribute: &str) -> bool {
    let live = subject.object().and_then(|object| parse_network(object.attributes.get(attribute)?));
    let want = decision.find_attribute(attribute).map_or(live, |want| parse_network(&want.value));
    live.zip(want).is_some_and(|(a, b)| a.contains(&b) || b.contains(&a))
}

/// Parses a value as an IPv4 network; `None` if it is unknown or not a network.
pub(in crate::plan) fn parse_network(value: &Value) -> Option<Ipv4Net> {
    value.as_text()?.parse().ok()
}
