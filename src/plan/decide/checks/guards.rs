//! Guards: rules that keep a plan from doing damage, each with the remedies. In: all decisions; out: blockers.
//! A blocker of any resource blocks the whole plan.

pub(in crate::plan) mod data;
mod home;

use crate::ledger::journal::intent_candidates;
use crate::ledger::state::ambiguous_intent;
use crate::ledger::state::entry::OwnedObject;
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code;
use crate::model::diagnostic::nearest_name;
use crate::model::schema::{ReplaceOrder, Type, UpdateStrategy};
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decide::deposed::has_older_object;
use crate::plan::decide::{adoption, reactivation};
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind};
use crate::plan::diff::drift;
use crate::plan::inputs::{DELETION_LIMIT_PERCENT, MIN_DELETION_LIMIT};
use crate::plan::join::joined_state::{AdoptionReason, JoinedState, ResourceState};
use crate::plan::join::live_state::LiveState;
use crate::plan::model::change::Cause;

/// Runs all guards on the decisions.
pub(in crate::plan) fn check<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    blocks: &mut Blockers<'_, 'a>,
) {
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        // An object that the service is deleting already cannot be protected any more.
        if decision.removes() && !matches!(subject.live, LiveState::Deleting(_)) {
            block_protected(joined, subject, decision, blocks);
            block_unconfirmed(joined, subject, blocks);
            data::would_be_lost(joined, decisions, (subject, decision), blocks);
            holds_data(joined, subject, decision, blocks);
        }
        if deletes_object_in_use(joined, subject, decision) {
            block_protected(joined, subject, decision, blocks);
        }
    }
    home::check(joined, decisions, blocks);
    block_held_objects(joined, decisions, blocks);
    block_dangling_references(joined, decisions, blocks);
    block_wrong_account(joined, blocks);
    block_unknown_targets(joined, blocks);
    enforce_deletion_limit(joined, decisions, blocks);
    adoption::check(joined, decisions, blocks);
    late_effects(joined, blocks);
    for address in &joined.strangers {
        let text = format!("The ledger has {address}, of a kind that this version does not know.");
        blocks.add_for_address(
            blocker_code::UNKNOWN_KIND,
            Some(address),
            text,
            "Use the version of stead that made it.".into(),
        );
    }
}

/// Returns whether a change that completes a replacement deletes the older object: until the new one is ready, the older one
/// is the one that the protection is for.
fn deletes_object_in_use(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> bool {
    let unfinished = subject.entry.is_some_and(|entry| entry.unfinished);
    unfinished
        && !decision.removes()
        && decision.act != DecisionKind::Frozen
        && has_older_object(joined, subject)
}

fn block_protected(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    blocks: &mut Blockers<'_, '_>,
) {
    if !subject.is_protected() {
        return;
    }
    let what = if decision.act == DecisionKind::Delete { "deleted" } else { "replaced" };
    let reason = decision.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let text = format!("{} is protected and would be {what}{reason}.", subject.address);
    let help = if subject.block.is_some() {
        format!(
            "Set its `lifecycle.protect` to false and plan again, or leave it out with --exclude {}.",
            subject.address
        )
    } else {
        "The ledger records its protection: write the block again with `lifecycle: { protect: false }`, apply, and then remove it.".to_owned()
    };
    let span = subject.block.and_then(|block| block.lifecycle.protect_span);
    blocks.add_for_subject(blocker_code::PROTECTED, subject, span, text, joined.render_help(span, &help));
}

/// Returns the object of an address that was bound from an ambiguous intent and that the user has not confirmed.
pub(in crate::plan) fn unconfirmed_object<'a>(subject: &ResourceState<'a>) -> Option<&'a OwnedObject> {
    let confirmed = matches!(subject.adoption, Some(AdoptionReason::Confirmed));
    subject.owned_object().filter(|owned| owned.provisional && !confirmed)
}

fn block_unconfirmed(joined: &JoinedState<'_>, subject: &ResourceState<'_>, blocks: &mut Blockers<'_, '_>) {
    let Some(owned) = unconfirmed_object(subject) else { return };
    let text = format!(
        "{} {} was found after a lost response, and is not confirmed: it may belong to someone else.",
        subject.address, owned.id
    );
    let adopt = format!("--adopt {}={}", subject.address, owned.id);
    let help = if joined.inputs.options.destroy {
        format!(
            "Inspect it. If it is yours, confirm that with stead apply {adopt}, and destroy afterwards."
        )
    } else {
        format!("Inspect it, and confirm that it is yours: {adopt}.")
    };
    blocks.add_for_subject(blocker_code::PROVISIONAL, subject, None, text, help);
}

/// Blocks the replacement of an object that contains data without approval, as the new object is empty. An object that
/// never got data, or is lost already, needs none.
fn holds_data(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    blocks: &mut Blockers<'_, '_>,
) {
    let order = subject.resource.and_then(|resource| resource.lifecycle.replace);
    let refused = order.unwrap_or(subject.kind.replace) == ReplaceOrder::Never;
    let replaced = matches!(decision.act, DecisionKind::Replace { .. }) && !refused;
    let holds_data = subject.kind.data_bearing || data::goes_unedited(joined, subject, decision);
    let unfinished = subject.entry.is_some_and(|entry| entry.unfinished);
    let agreed = joined.inputs.options.may_replace(subject.address);
    if !replaced || !holds_data || unfinished || decision.broken || agreed {
        return;
    }
    let reason = decision.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let address = subject.address;
    let asleep = reactivation::resuming_revival(subject);
    let still = asleep.map(|_| " It is suspended, and its data is still in it.").unwrap_or_default();
    let text = format!(
        "{address} holds data and would be replaced by an empty {}{reason}.{still}",
        subject.kind.name
    );
    let wake = asleep.map(|revival| format!("resume it (stead do {} {address}), ", revival.call.name));
    let help = format!(
        "Revert the change; or {}copy the data elsewhere and approve the replacement: --replace {address}.",
        wake.unwrap_or_default()
    );
    let span = decision.differences.iter().find(|d| d.forces_replacement()).and_then(|d| d.setting);
    blocks.add_for_subject(blocker_code::HOLDS_DATA, subject, span.map(|setting| setting.span), text, help);
}

/// Blocks a plan where an abandoned request had an effect after all: an apply would ask the user to resolve it.
fn late_effects(joined: &JoinedState<'_>, blocks: &mut Blockers<'_, '_>) {
    let ledger = joined.inputs.ledger;
    for (intent, ids) in &joined.late {
        let text =
            format!("{}: {} ({}).", intent.address, intent_candidates::LATE_EFFECT_REASON, ids.join(", "));
        let words = ambiguous_intent::possible_answers(ledger, intent, ids);
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "absent").collect();
        let help = format!(
            "Resolve it: stead resolve {} {}.",
            ambiguous_intent::short_handle(ledger, intent.op),
            words.join(" | ")
        );
        blocks.add_for_address(blocker_code::LATE_EFFECT, Some(&intent.address), text, help);
    }
}

/// Blocks the deletion of an object that a resource outside the plan's scope still uses.
fn block_held_objects(joined: &JoinedState<'_>, decisions: &[Decision<'_>], blocks: &mut Blockers<'_, '_>) {
    for (n, decision) in decisions.iter().enumerate().filter(|(_, decision)| decision.removes()) {
        let frozen = |m: &&usize| {
            decisions[**m].act == DecisionKind::Frozen && joined.subjects[**m].owned_object().is_some()
        };
        let Some(holder) = joined.holders[n].iter().find(frozen).map(|m| &joined.subjects[*m]) else {
            continue;
        };
        let subject = &joined.subjects[n];
        let what = if decision.act == DecisionKind::Delete { "deleted" } else { "replaced" };
        let text = format!("{} would be {what}, and {} uses it.", subject.address, holder.address);
        let help = format!("Include {} in the plan, or exclude {}.", holder.address, subject.address);
        blocks.add_for_subject(blocker_code::HELD, subject, None, text, help);
    }
}

/// Blocks the deletion of an object that an unchanged resource still refers to: no block writes the reference any more,
/// so nothing changes it, and the service would refuse. A link is undone automatically.
fn block_dangling_references(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    blocks: &mut Blockers<'_, '_>,
) {
    for n in (0..decisions.len()).filter(|n| decisions[*n].removes()) {
        let subject = &joined.subjects[n];
        for m in &joined.holders[n] {
            let (holder, stays) = (&joined.subjects[*m], &decisions[*m]);
            let Some(attribute) = referring_attribute(holder, subject)
                .filter(|_| matches!(stays.act, DecisionKind::Keep | DecisionKind::Update))
            else {
                continue;
            };
            if stays.differences.iter().any(|difference| difference.attribute.name == attribute) {
                continue;
            }
            let text = format!(
                "{} would be deleted, but {}.{attribute} still refers to it, although no block sets that attribute any more.",
                subject.address, holder.address
            );
            let help = format!("Set {}.{attribute} to another object, or to null.", holder.address);
            blocks.add_for_subject(blocker_code::HELD, holder, None, text, help);
        }
    }
}

/// Returns the attribute by which a live object refers to another one, other than by a link; `None` if it does
/// not refer to it, or if either is not live.
pub(in crate::plan) fn referring_attribute(
    holder: &ResourceState<'_>,
    to: &ResourceState<'_>,
) -> Option<&'static str> {
    let (object, id) = (holder.object()?, Value::Text(to.object()?.id.clone()));
    let all = holder.kind.attributes.iter().filter(|a| !matches!(a.change, UpdateStrategy::Link { .. }));
    let found = all.filter(|attribute| match attribute.ty {
        Type::Reference(of) => of == to.kind.name && object.attributes.get(attribute.name) == Some(&id),
        Type::Set { of: Type::Reference(of), .. } => {
            let ids = object.attributes.get(attribute.name);
            *of == to.kind.name && matches!(ids, Some(Value::List(ids)) if ids.contains(&id))
        }
        _ => false,
    });
    found.map(|attribute| attribute.name).next()
}

/// Blocks a plan for another account: there every object would look gone, and would be created again.
fn block_wrong_account(joined: &JoinedState<'_>, blocks: &mut Blockers<'_, '_>) {
    let owner = joined.inputs.ledger.identity.account.as_ref();
    let Some((owner, here)) = owner.zip(joined.inputs.snapshot.account.as_ref()).filter(|(a, b)| a != b)
    else {
        return;
    };
    let text = format!("The ledger belongs to account {owner}, and the key to {here}.");
    let help = "Use the other account's key, or another environment.".to_owned();
    blocks.add_for_address(blocker_code::ACCOUNT, None, text, help);
}

fn block_unknown_targets(joined: &JoinedState<'_>, blocks: &mut Blockers<'_, '_>) {
    let options = joined.inputs.options;
    for address in options.targets.iter().chain(&options.excluded).chain(&options.replace) {
        if joined.subjects.iter().any(|subject| subject.address.is_within(address)) {
            continue;
        }
        let modules = joined.inputs.stack.modules.keys().map(Name::as_str);
        let known = joined.subjects.iter().map(|subject| subject.address.as_str()).chain(modules);
        let help = match nearest_name(address.as_str(), known) {
            Some(near) => format!("Did you mean {near}?"),
            None => "`stead ls` lists the addresses.".to_owned(),
        };
        blocks.add_for_address(
            blocker_code::TARGET,
            Some(address),
            format!("{address} does not exist."),
            help,
        );
    }
}

fn enforce_deletion_limit(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    blocks: &mut Blockers<'_, '_>,
) {
    let options = joined.inputs.options;
    if options.destroy || options.allow_deletes {
        return;
    }
    let counts = |(subject, decision): &(&ResourceState<'_>, &Decision<'_>)| match decision.act {
        DecisionKind::Delete => true,
        DecisionKind::Replace { .. } => subject.kind.data_bearing,
        _ => false,
    };
    let managed = joined.subjects.iter().filter(|subject| subject.owned_object().is_some()).count();
    let deletions = joined.subjects.iter().zip(decisions).filter(counts).count();
    if deletions >= MIN_DELETION_LIMIT && deletions * 100 > managed * DELETION_LIMIT_PERCENT {
        let text = format!("{deletions} of {managed} managed objects would be deleted.");
        let help = "If this is intended: --allow-deletes. Otherwise look for a wrong environment or a missing file.";
        blocks.add_for_address(blocker_code::DELETION_BUDGET, None, text, help.to_owned());
    }
}

/// Returns whether a difference may be changed in place; adds the blocker where it may not. An attribute that
/// can only grow must not shrink (Limits).
pub(in crate::plan) fn may_change(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    difference: &AttributeDiff<'_>,
    blocks: &mut Blockers<'_, '_>,
) -> bool {
    let attribute = difference.attribute;
    if matches!(attribute.change, UpdateStrategy::Switch(_)) && difference.after.is_unknown() {
        let text = format!(
            "{}.{} determines the API call, and is known only after apply.",
            subject.address, attribute.name
        );
        let span = difference.setting.map(|setting| setting.span);
        blocks.add_for_subject(
            blocker_code::UNKNOWN,
            subject,
            span,
            text,
            "Write a value that is known before the apply.".to_owned(),
        );
        return false;
    }
    let numbers = if attribute.grow_only {
        difference.before.as_decimal().zip(difference.after.as_decimal())
    } else {
        attribute.catalog_grow_only.and_then(|field| {
            let Type::Catalog(table) = attribute.ty else { return None };
            let number = |named: &Value| joined.names.find(table, named)?.number(field);
            let live = || subject.object()?.attributes.get(field)?.as_decimal();
            number(&difference.before).or_else(live).zip(number(&difference.after))
        })
    };
    let Some((before, after)) = numbers.filter(|(before, after)| after < before) else { return true };
    // Growth outside stead is reported as drift: the configuration did not ask for less.
    if matches!(difference.cause, Cause::Drift | Cause::Unconfirmed | Cause::NotKept) {
        return false;
    }
    let (address, path) = (subject.address, &difference.path);
    let of = attribute.catalog_grow_only.map(|field| format!("'s {field}")).unwrap_or_default();
    let text = format!("{address}.{path}{of} would change from {before} to {after}; it can only grow.");
    // Only a drifted value that is written for this resource alone can be accepted here.
    let can_accept = difference.cause == Cause::Both
        && difference.setting.is_some_and(|setting| {
            drift::can_accept(joined, subject, setting, (path.as_str(), &difference.before))
        });
    let accept = if can_accept {
        format!(" (`stead drift --accept {address}.{path}` does)")
    } else {
        difference
            .setting
            .and_then(|setting| setting.origin(path).1)
            .map_or_else(String::new, |set_by| format!(" where its value comes from, {set_by}"))
    };
    let help = format!(
        "Write {}{accept}; or create a new, smaller one under another name, move the data, and remove this one.",
        difference.before
    );
    blocks.add_for_subject(
        blocker_code::GROW_ONLY,
        subject,
        difference.setting.map(|setting| setting.span),
        text,
        help,
    );
    false
}

/// Returns whether a failed object may be replaced; adds the blocker where it may not. One that may contain
/// data is left to the user, unless its creation never finished.
pub(in crate::plan) fn may_replace_failed(
    subject: &ResourceState<'_>,
    blocks: &mut Blockers<'_, '_>,
) -> bool {
    if !subject.kind.data_bearing || subject.entry.is_some_and(|entry| entry.unfinished) {
        return true;
    }
    let status = subject.status().unwrap_or("failed");
    let text =
        format!("{} is {status}, and it may still hold data: stead does not replace it.", subject.address);
    let help = "Repair or restore it; or save its data, delete it by hand, and plan again.".to_owned();
    blocks.add_for_subject(blocker_code::FAILED, subject, None, text, help);
    false
}

/// Blocks a plan in which an owned object was neither seen nor proven gone.
pub(in crate::plan) fn block_unread(subject: &ResourceState<'_>, blocks: &mut Blockers<'_, '_>) {
    let id = subject.owned_object().map_or("", |owned| owned.id.as_str());
    let text =
        format!("{} {id} was not listed, and stead cannot confirm that it is gone.", subject.address);
    let help = "Plan again; if this persists, check which projects the key can read.".to_owned();
    blocks.add_for_subject(blocker_code::UNREAD, subject, None, text, help);
}

/// Blocks an address with an ambiguous intent, which only the user can resolve.
pub(in crate::plan) fn block_ambiguous_intent(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    blocks: &mut Blockers<'_, '_>,
) {
    let questions = &joined.inputs.ledger.questions;
    let Some((op, asked)) = questions.iter().find(|(_, q)| q.intent.address == *subject.address) else {
        return;
    };
    let help = format!(
        "Inspect the objects, then resolve it: stead resolve {} {}. Until then, it and its dependents are not changed.",
        ambiguous_intent::short_handle(joined.inputs.ledger, *op),
        ambiguous_intent::possible_answers(joined.inputs.ledger, &asked.intent, &asked.candidates)
            .join(" | ")
    );
    blocks.add_for_subject(blocker_code::QUESTION, subject, None, asked.text.clone(), help);
}
