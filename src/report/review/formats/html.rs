//! A single HTML page: no network access, light and dark mode, printing, filters, keyboard navigation. It contains the
//! plan's JSON document for programs. All text of the plan is escaped for HTML, and for invisible characters.

mod cards;
mod chart;
mod parts;
mod units_page;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::cards::CardOptions;
use self::parts::{action_sign, escape_text, fold_value, location_markup};
pub(super) use self::units_page::units_html;
use crate::model::page::BASE_STYLE;
use crate::model::schema::format_money;
use crate::plan::model::change::{Action, Drift, PolicyStatus};
use crate::report::groups;
use crate::report::json::{self, PlanDocumentOptions};
use crate::report::review::view::{self, PlanReview};
use crate::report::text::counts::ActionCounts;
use crate::report::text::phrases;
use crate::report::text::style::TextStyle;
use crate::report::views::drift::{drift_key, drift_name, explain_drift, first_seen, key_of_object};

const CSS: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Content security policy: the page loads nothing, and only its own scripts and styles run.
const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'";

/// Number of changes up to which the attributes are expanded initially.
const MAX_EXPANDED: usize = 30;

/// Returns the report as an HTML page.
pub(super) fn html_report(of: &PlanReview<'_>) -> String {
    let facts = of.headline_facts();
    let title = format!("{} · {}", escape_text(&of.title()), facts.join(" · "));
    let counts = ActionCounts::from_plan(of.plan);
    let counts: Vec<(Action, usize)> = counts.iter().collect();
    let dangerous = of.plan.changes.iter().filter(|change| view::is_dangerous(change)).count();
    let document = json::render_plan_document(
        of.plan,
        of.registry,
        PlanDocumentOptions { details: true, ran: of.run_report() },
    );
    let entries = of.entries();
    let options = CardOptions { prefix: "", charge_below: view::charged_at_once(of.plan).is_some() };
    let body = html! {
        (head_markup(of, &facts))
        (toolbar_markup((of.plan.changes.len(), dangerous), &counts))
        main {
            section.changes aria-label="Changes" {
                (run_markup(of))
                (alerts_markup(of))
                (drift_markup(of))
                (unmanaged_markup(of))
                @for (at, entry) in entries.iter().enumerate() { (cards::entry_card(of, entry, options, at < MAX_EXPANDED)) }
                (outputs_markup(of))
                @if !of.plan.has_changes() && of.drift_result().is_none() { p.quiet { "No changes to make." } }
                p.none hidden { "Nothing fits the filter." }
            }
            aside {
                (chart::dependency_map(of.plan, &entries, ""))
                (chart::time_chart(of.plan))
                (chart::cost_chart(of))
            }
        }
        footer { (footer_markup(of)) }
    };
    html_page(&title, &body, Some(&document))
}

/// Returns a page with its style, its script and a JSON document, in which no text can end the script element.
fn html_page(title: &str, body: &Markup, document: Option<&str>) -> String {
    // As JSON escapes, these characters are text for a program that reads the document.
    let document =
        document.map(|text| text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(CONTENT_SECURITY_POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(BASE_STYLE)) (PreEscaped(CSS)) }
            }
            body {
                (body)
                @if let Some(document) = document {
                    script type="application/json" id="plan" { (PreEscaped(document)) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn head_markup(of: &PlanReview<'_>, facts: &[String]) -> Markup {
    html! {
        header {
            h1 { (of.verdict().status_sign()) " " (escape_text(&of.title())) }
            ul.facts { @for fact in facts { li { (fact) } } }
            p.quiet {
                "fingerprint " code { (escape_text(&of.plan.fingerprint)) }
                (commit_markup(of))
                " · planned " time datetime=(of.plan.base.made_at) { (of.plan.base.made_at.strftime("%-d %b %Y %H:%M UTC")) }
            }
        }
    }
}

/// Returns the filters; the counts are those of all changes, of the dangerous ones, and by action.
fn toolbar_markup((all, dangerous): (usize, usize), counts: &[(Action, usize)]) -> Markup {
    html! {
        nav aria-label="Filter" {
            button type="button" data-filter="all" aria-pressed="true" { "all " (all) }
            button type="button" data-filter="danger" aria-pressed="false" { "dangerous only " (dangerous) }
            @for (action, count) in counts.iter().filter(|(_, count)| *count > 0) {
                button type="button" data-filter=(phrases::action_keyword(*action)) aria-pressed="false" {
                    (action_sign(*action)) " " (phrases::action_keyword(*action)) " " (count)
                }
            }
            input type="search" placeholder="search" aria-label="Search";
            span.quiet.keys { kbd { "j" } kbd { "k" } " walk · " kbd { "f" } " filter · " kbd { "/" } " search" }
        }
    }
}

/// Returns the commit of a plan; nothing if it is not known.
fn commit_markup(of: &PlanReview<'_>) -> Markup {
    html! { @if let Some(commit) = of.commit { " · commit " code { (escape_text(&commit.short_id(12))) } (commit.suffix()) } }
}

/// Returns the failures, ambiguous intents and notes of an apply; nothing for other subjects.
fn run_markup(of: &PlanReview<'_>) -> Markup {
    html! {
        @if let Some(ran) = of.run_report() {
            @for (address, why) in ran.failures(of.plan.base.destroy) {
                div.alert.bad {
                    strong { "failed" } " " code { (address) } " " (escape_text(&why.what))
                    p { (why.means) " " (escape_text(&why.next)) }
                }
            }
            @for question in &ran.outcome.questions { div.alert.bad { strong { "question" } " " (escape_text(question)) } }
            @for note in &ran.outcome.notes { div.alert.note { (escape_text(note)) } }
        }
    }
}

/// Returns the unmanaged objects of a drift check, and the findings that are resolved; nothing for other subjects.
fn unmanaged_markup(of: &PlanReview<'_>) -> Markup {
    let Some(found) = of.drift_result() else { return html! {} };
    let (count, gone) = (found.unmanaged.len(), &found.memory.resolved);
    html! {
        @if count > 0 {
            details.drift {
                summary { "Unmanaged: " (phrases::count_noun(count, "object")) }
                div.scroll { table {
                    thead { tr { th { "kind" } th { "name" } th { "id" } th { "$/mo" } th { "known" } } }
                    tbody { @for object in found.unmanaged { tr {
                        td { (escape_text(&object.kind)) }
                        td { (escape_text(object.name.as_deref().unwrap_or_default())) }
                        td { code { (escape_text(&object.id)) } }
                        td { @if let Some(price) = object.monthly { (format_money(price)) } }
                        td.quiet { (first_seen(found.memory, &key_of_object(object)).unwrap_or_default()) }
                    } } }
                } }
            }
        }
        @if !gone.is_empty() {
            details.drift {
                summary { "Resolved since the last check: " (gone.len()) }
                ul { @for gone in gone { li { code { (escape_text(&gone.name)) } } } }
            }
        }
        @if let Some(told) = found.elsewhere.describe_unread() { p.quiet { (told) } }
    }
}

fn alerts_markup(of: &PlanReview<'_>) -> Markup {
    html! {
        @for block in groups::group_blockers(of.plan_blockers().filter(|_| of.run_report().is_none())) {
            div.alert.bad {
                strong { "⛔ " (escape_text(&block.code)) } " "
                @if let Some(address) = &block.address { code { (address) } " " }
                (escape_text(&block.text)) " " (location_markup(of, block.source.as_ref()))
                @if !block.help.is_empty() { p { (escape_text(&block.help)) } }
            }
        }
        @let remedies = of.denial_remedies();
        @for group in of.policy_groups() {
            @let result = group.first.result;
            div.alert.bad[result.verdict == PolicyStatus::Deny] {
                strong { "policy " (escape_text(&result.name)) } " (" (result.level.keyword()) ") "
                (group.first.verdict_phrase()) " "
                @let (names, more) = group.names(false);
                @for name in &names { code { (name) } " " }
                @if more > 0 { "and " (more) " more " }
                (escape_text(&group.first.describe_message())) " " (location_markup(of, result.source.as_ref()))
                @if more > 0 {
                    details.members {
                        summary { "all " (group.addresses.len()) " resources" }
                        ul { @for address in &group.addresses { li { code { (address) } } } }
                    }
                }
                @if let Some(help) = remedies.find(result) { p { (escape_text(help)) } }
            }
        }
        @for note in groups::group_notes(view::review_notes(of.plan)) {
            div.alert.note { (escape_text(&note.text)) ". " span.quiet { (escape_text(&note.help)) } " " (location_markup(of, note.source.as_ref())) }
        }
    }
}

fn drift_markup(of: &PlanReview<'_>) -> Markup {
    let (open, settled) = of.split_drift();
    let row = |drift: &&Drift| {
        html! {
            tr {
                th scope="row" { code { (escape_text(&drift_name(drift))) } }
                @match view::drift_values(drift) {
                    Some((old, new)) => { td { (fold_value(&old)) } td { (fold_value(&new)) } }
                    None => td colspan="2" { "it is gone" }
                }
                td {
                    (escape_text(&explain_drift(drift, TextStyle::plain(80))))
                    @if let Some(since) = of.drift_result().and_then(|found| first_seen(found.memory, &drift_key(drift))) {
                        span.quiet { " · " (since) }
                    }
                }
                td { (location_markup(of, drift.source.as_ref())) }
            }
        }
    };
    html! {
        @if !of.plan.drift.is_empty() {
            details.drift open[!open.is_empty()] {
                summary { "Changed outside stead: " (open.len()) " to decide, " (settled.len()) " left alone" }
                div.scroll { table {
                    thead { tr { th { "attribute" } th { "last applied" } th { "live" } th { "effect of an apply" } th { "where" } } }
                    tbody { @for drift in open.iter().chain(&settled) { (row(drift)) } }
                } }
            }
        }
    }
}

/// Returns the outputs that change; nothing if none does.
fn outputs_markup(of: &PlanReview<'_>) -> Markup {
    let outputs = of.output_lines(true);
    html! {
        @if !outputs.is_empty() {
            details.drift open {
                summary { (phrases::count_noun(outputs.len(), "output")) }
                div.scroll { table {
                    thead { tr { td {} th { "output" } th { "value" } td {} } }
                    tbody { @for output in &outputs { tr {
                        td { (output.sign) }
                        th scope="row" { code { (escape_text(output.name)) } }
                        td { (fold_value(&output.values)) }
                        td.quiet { (escape_text(&output.notes)) }
                    } } }
                } }
            }
        }
    }
}

fn footer_markup(of: &PlanReview<'_>) -> Markup {
    let applies =
        of.run_report().is_none() && of.plan.has_changes() && of.verdict() != view::ReviewStatus::Blocked;
    let command = of.command.filter(|_| applies);
    html! {
        (phrases::count_noun(of.plan.unchanged, "resource")) " unchanged · stead " (env!("CARGO_PKG_VERSION"))
        @if let Some(command) = command { " · after the merge: " code { (escape_text(command)) } }
    }
}
