//! Markdown for a comment on a pull request: the most important facts first, within GitHub's size limit.
//! Untrusted text is in code fences, or in `<code>` with each character escaped that Markdown, HTML
//! or a forge would interpret.

mod approved_units;
mod changes;
mod difference;
mod digest_line;
mod escaping;
mod outputs;
mod page;

use std::fmt::Write as _;

pub(super) use self::approved_units::units_line;
pub use self::approved_units::units_of;
use self::changes::{add_attributes, add_change_table, danger_alert};
pub use self::difference::difference_markdown;
pub(super) use self::digest_line::digests_line;
pub use self::digest_line::{digests_of, has_digest_line};
use self::escaping::{escape_prose, fence_code, inline_code};
use self::page::{MAX_DIFF_CHARS, MarkdownPage, location_suffix, push_if_fits};
use super::mermaid;
use crate::model::schema::format_money;
use crate::plan::model::change::{Drift, PolicyStatus};
use crate::report::groups::{self, PlanEntry};
use crate::report::review::view::{self, DenialRemedies, PlanReview, ReviewedCommit};
use crate::report::run_report::RunReport;
use crate::report::text::policy_results::PolicyGroup;
use crate::report::text::style::TextStyle;
use crate::report::text::{escape, phrases};
use crate::report::views::drift::{
    drift_key, drift_name, explain_drift, first_seen, key_of_object, object_name,
};
use crate::report::views::list::ObjectSummary;

/// Size limit of a comment in bytes. GitHub's limit is 65,536 characters, of which each has one byte or more.
const MAX_COMMENT_BYTES: usize = 65_000;

/// Limit on the warnings above the table.
const MAX_ALERTS: usize = 20;
/// Size of the page in bytes from which on no warning is added: the table must have room.
const MAX_ALERT_BYTES: usize = 16_000;

/// Said where a later plan cannot be compared with the comment.
const NO_DIGESTS: &str = "This comment has no digests, because a ledger has no key before the first apply: if a later plan differs, what differs is not named.\n\n";

/// Number of steps above which the flow chart is omitted as unreadable.
const MAX_FLOWCHART_STEPS: usize = 60;

/// Returns the report as a Markdown comment: marker line, head, sections in order of importance, and a last line with
/// the fingerprint. What does not fit is counted.
pub(super) fn markdown_report(of: &PlanReview<'_>) -> String {
    let foot = report_footer(of);
    let mut page = MarkdownPage { text: report_head(of), room: MAX_COMMENT_BYTES - foot.len() };
    let entries = of.entries();
    add_alerts(&mut page, &plan_alerts(of, &entries));
    add_change_table(&mut page, of, &entries);
    outputs::add_outputs(&mut page, of);
    add_attributes(&mut page, of, &entries);
    add_drift(&mut page, of);
    add_unmanaged(&mut page, of);
    add_step_order(&mut page, of);
    if of.run_report().is_none() && of.plan.digests.is_empty() && of.plan.has_changes() {
        page.add_if_fits(NO_DIGESTS);
    }
    page.text + &foot
}

/// Returns text of a message, escaped for a line of Markdown.
pub(super) fn escape_text(text: &str) -> String {
    escape_prose(text)
}

/// Returns text as inline code, escaped.
pub(super) fn code(text: &str) -> String {
    inline_code(text)
}

/// Returns a title such as `shop/prod` in the form for a comment's hidden first line (`<!-- stead:shop/prod -->`):
/// characters that could end the HTML comment become `_`, so two titles can have the same marker.
#[must_use]
pub fn comment_marker(title: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-./_".contains(c);
    let marked: String = title.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    // Two dashes could end the HTML comment, or make it invalid.
    marked.replace("--", "-_")
}

/// Returns the hidden first line of a report, which identifies the comment to update; `None` for another comment.
#[must_use]
pub fn marker_of(report: &str) -> Option<&str> {
    let line = report.lines().next()?.trim_end();
    (line.starts_with("<!-- stead:") && line.ends_with(" -->")).then_some(line)
}

/// Returns the fingerprint of the plan (all 64 digits) from the last line of its report; `None` if that line has none.
#[must_use]
pub fn fingerprint_of(report: &str) -> Option<&str> {
    let last = report.trim_end().lines().next_back()?.strip_prefix("<sub>`")?;
    let (fingerprint, _) = last.split_once('`')?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (fingerprint.len() == 64 && fingerprint.bytes().all(is_digit)).then_some(fingerprint)
}

fn report_head(of: &PlanReview<'_>) -> String {
    let title = of.title();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
    let marker = comment_marker(&title);
    let shown = if title.chars().all(plain) { title } else { inline_code(&title) };
    let mut facts = of.headline_facts();
    if of.plan.base.destroy {
        facts.insert(0, phrases::DESTROY_FACT.to_owned());
    }
    let sign = of.verdict().status_sign();
    let digests = digests_line(&[(of.title(), of.plan)]);
    format!("<!-- stead:{marker} -->\n{digests}### {sign} stead · {shown} · {}\n\n", facts.join(" · "))
}

/// Returns the failures, ambiguous intents and notes of an apply.
fn run_alerts(of: &PlanReview<'_>, ran: &RunReport<'_>) -> Vec<String> {
    let mut alerts: Vec<String> = Vec::new();
    for (address, why) in ran.failures(of.plan.base.destroy) {
        let said = phrases::join_sentences(&[&why.what, why.means, &why.next].map(escape_prose));
        alerts.push(format!("> ⛔ **{} failed**: {said}\n", inline_code(address.as_str())));
    }
    alerts.extend(
        ran.outcome.questions.iter().map(|asked| format!("> ❗ **question** {}\n", escape_prose(asked))),
    );
    alerts.extend(ran.outcome.notes.iter().map(|note| format!("> 🔷 {}\n", escape_prose(note))));
    alerts
}

/// Returns denials, blockers, dangerous changes, warnings and notes, equal ones as one; for an apply, what it did not
/// complete instead of blockers and dangers.
fn plan_alerts(of: &PlanReview<'_>, entries: &[PlanEntry<'_>]) -> Vec<String> {
    let mut alerts: Vec<String> = of.run_report().map(|done| run_alerts(of, done)).unwrap_or_default();
    // A denial concerns the whole plan, so it is before the blockers of single resources; a warning is after the changes
    // that are dangerous.
    let (informing, deciding): (Vec<_>, Vec<_>) =
        of.policy_groups().into_iter().partition(PolicyGroup::only_informs);
    let remedies = of.denial_remedies();
    alerts.extend(deciding.iter().map(|group| policy_alert(of, group, &remedies)));
    let blocks = of.plan_blockers().filter(|_| of.run_report().is_none());
    for block in groups::group_blockers(blocks) {
        let subject = block.address.as_ref().map(|address| format!(" {}", inline_code(address.as_str())));
        let place = location_suffix(of, block.source.as_ref());
        alerts.push(format!(
            "> ⛔ **{}**{}: {}{} {}\n",
            escape_prose(&block.code),
            subject.unwrap_or_default(),
            escape_prose(&block.text),
            place,
            escape_prose(&block.help)
        ));
    }
    let is_dangerous = |entry: &&PlanEntry<'_>| view::is_dangerous(entry.representative());
    let dangerous = entries.iter().filter(|_| of.run_report().is_none()).filter(is_dangerous);
    let charge_below = view::charged_at_once(of.plan).is_some();
    alerts.extend(dangerous.map(|entry| danger_alert(of, entry, charge_below)));
    alerts.extend(informing.iter().map(|group| policy_alert(of, group, &remedies)));
    for note in groups::group_notes(view::review_notes(of.plan)) {
        let place = location_suffix(of, note.source.as_ref());
        let help =
            if note.help.is_empty() { String::new() } else { format!(" · {}", escape_prose(&note.help)) };
        alerts.push(format!("> 🔷 {}{place}{help}\n", escape_prose(&note.text)));
    }
    alerts
}

/// Returns the line about a policy and the resources of which it says the same.
fn policy_alert(of: &PlanReview<'_>, group: &PolicyGroup<'_>, remedies: &DenialRemedies<'_>) -> String {
    let ruling = group.first.result;
    let sign = match ruling.verdict {
        PolicyStatus::Deny => "⛔",
        PolicyStatus::Pass => "✅",
        _ if ruling.is_default => "🔷",
        _ => "❗",
    };
    let (names, more) = group.names(false);
    let subject: Vec<String> = names.into_iter().map(|name| format!(" {}", inline_code(name))).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let place = location_suffix(of, ruling.source.as_ref().filter(|_| group.addresses.len() < 2));
    let message = group.first.describe_message();
    let colon = if group.first.message().is_empty() { "" } else { ":" };
    let message = if message.is_empty() { message } else { format!("{colon} {}", escape_prose(&message)) };
    let said = format!(
        "{sign} **policy {}** ({}) {}{}{more}{message}{place}",
        escape_prose(&ruling.name),
        ruling.level.keyword(),
        group.first.verdict_phrase(),
        subject.join(","),
    );
    // The place follows the message, which may be no whole sentence.
    let stop = if message.ends_with(['.', '!', '?']) { "" } else { "." };
    let remedy = remedies.find(ruling).map(|help| format!("{stop} {}", escape_prose(help)));
    format!("> {said}{}\n", remedy.unwrap_or_default())
}

/// Adds as many alerts as there is room for, and a count of the rest.
fn add_alerts(page: &mut MarkdownPage, alerts: &[String]) {
    let count = alerts.len();
    let has_room = |page: &MarkdownPage| page.text.len() < MAX_ALERT_BYTES;
    let shown = alerts
        .iter()
        .take(MAX_ALERTS)
        .take_while(|alert| has_room(page) && page.add_if_fits(&format!("{alert}>\n")))
        .count();
    if count > shown {
        page.add_if_fits(&format!("> and {} more; `stead plan` shows all\n", count - shown));
    }
    if count > 0 {
        page.add_if_fits("\n");
    }
}

fn add_drift(page: &mut MarkdownPage, of: &PlanReview<'_>) {
    let (open, settled) = of.split_drift();
    if open.is_empty() && settled.is_empty() {
        return;
    }
    let seen =
        |drift: &Drift| of.drift_result().and_then(|found| first_seen(found.memory, &drift_key(drift)));
    let line = |(drift, first): &(&Drift, &Drift)| {
        let values = view::drift_values(drift)
            .map_or(" is gone".to_owned(), |(old, new)| format!(": {old} → {new}"));
        let values = phrases::shorten_text(values, MAX_DIFF_CHARS, TextStyle::plain(80));
        let place = drift.source.as_ref().map(|place| of.location_text(place)).unwrap_or_default();
        let meaning = explain_drift(drift, TextStyle::plain(80));
        let since = seen(first).map(|since| format!(" · {since}")).unwrap_or_default();
        let said = format!("{}{values}   {meaning}{since}   {place}", drift_name(drift));
        format!("{}\n", escape::escape_line(said.trim_end()))
    };
    let said = format!("{} to decide, {} left alone", open.len(), settled.len());
    let mut piece = format!("<details><summary>Drift: {said}</summary>\n\n");
    let lines: Vec<String> = [&open, &settled]
        .into_iter()
        .flat_map(|part| groups::group_drift(part, seen))
        .map(|group| {
            let line = line(&(group.shown.as_ref(), group.first));
            if group.members.is_empty() { line } else { format!("{line}    {}\n", group.members) }
        })
        .collect();
    let room = page.room.saturating_sub(page.text.len() + 200);
    let mut shown = String::new();
    let count = lines
        .iter()
        .take_while(|line| shown.len() + line.len() < room && push_if_fits(&mut shown, line))
        .count();
    piece.push_str(&fence_code(&shown));
    if count < lines.len() {
        let _ = writeln!(piece, "{} more did not fit.", lines.len() - count);
    }
    if !page.add_if_fits(&(piece + "\n</details>\n\n")) {
        page.add_if_fits(&format!("Drift: {said}; it did not fit, the report `html` has it.\n\n"));
    }
}

/// Adds the unmanaged objects of a drift check, and the findings that are resolved; nothing for other subjects.
fn add_unmanaged(page: &mut MarkdownPage, of: &PlanReview<'_>) {
    let Some(found) = of.drift_result() else { return };
    let row = |object: &ObjectSummary| {
        let price = object.monthly.filter(|price| !price.is_zero());
        let price = price.map(|price| format!("   {} a month", format_money(price))).unwrap_or_default();
        let since = first_seen(found.memory, &key_of_object(object));
        let since = since.map(|since| format!("   {since}")).unwrap_or_default();
        format!("{}{price}{since}", object_name(object))
    };
    let rows: Vec<String> = found.unmanaged.iter().map(row).collect();
    add_folded(page, &format!("Unmanaged: {}", phrases::count_noun(rows.len(), "object")), &rows);
    let gone: Vec<String> = found.memory.resolved.iter().map(|gone| gone.name.clone()).collect();
    add_folded(page, &format!("Resolved since the last check: {}", gone.len()), &gone);
    if let Some(told) = found.elsewhere.describe_unread() {
        page.add_if_fits(&format!("{told}\n\n"));
    }
}

/// Adds untrusted lines in a collapsed section, as many as there is room for, and a count of the rest;
/// nothing if none fits.
fn add_folded(page: &mut MarkdownPage, title: &str, lines: &[String]) {
    let room = page.room.saturating_sub(page.text.len() + title.len() + 200);
    let mut shown = String::new();
    let fits = |line: &&String| {
        let line = format!("{}\n", escape::escape_line(line));
        shown.len() + line.len() < room && push_if_fits(&mut shown, &line)
    };
    let count = lines.iter().take_while(fits).count();
    if count == 0 {
        return;
    }
    let rest = lines.len() - count;
    let rest = if rest > 0 { format!("{rest} more did not fit.\n") } else { String::new() };
    page.add_if_fits(&format!(
        "<details><summary>{title}</summary>\n\n{}{rest}\n</details>\n\n",
        fence_code(&shown)
    ));
}

fn add_step_order(page: &mut MarkdownPage, of: &PlanReview<'_>) {
    if of.plan.steps.is_empty() || of.plan.steps.len() > MAX_FLOWCHART_STEPS {
        return;
    }
    let chart = mermaid::plan_flowchart(of.plan);
    page.add_if_fits(&format!(
        "<details><summary>Order</summary>\n\n```mermaid\n{chart}```\n\n</details>\n\n"
    ));
}

fn report_footer(of: &PlanReview<'_>) -> String {
    let cost = &of.plan.cost;
    let left_out = phrases::unpriced_count(cost.unpriced).map(|count| format!(" · {count}"));
    let bill = if cost.monthly_before.is_zero() && cost.monthly_after.is_zero() && left_out.is_none() {
        String::new()
    } else {
        // What an apply left undone is not billed as planned.
        let is_whole = of.run_report().is_none_or(RunReport::is_whole);
        format!(
            " · {}{} → {} a month{}",
            if is_whole { "" } else { "planned: " },
            format_money(cost.monthly_before),
            format_money(cost.monthly_after),
            left_out.unwrap_or_default()
        )
    };
    let due = of.due().facts().join(", ");
    let due = if due.is_empty() { due } else { format!(" · {due}") };
    let fingerprint = inline_code(&of.plan.fingerprint);
    let next = of.command.filter(|_| {
        of.run_report().is_none() && of.plan.has_changes() && of.verdict() != view::ReviewStatus::Blocked
    });
    let next =
        next.map(|command| format!(" · after the merge: {}", inline_code(command))).unwrap_or_default();
    format!("<sub>{fingerprint}{}{bill}{due}{next}</sub>\n", commit_text(of))
}

/// Returns the commit of a plan as a part of a last line, with whether it is all of what was planned; empty if it is not
/// known.
pub(super) fn commit_text(of: &PlanReview<'_>) -> String {
    let text = |commit: ReviewedCommit<'_>| {
        format!(" · commit {}{}", inline_code(&commit.short_id(7)), commit.suffix())
    };
    of.commit.map(text).unwrap_or_default()
}
