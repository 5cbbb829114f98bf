//! One page for a browser: no network, light or dark, to print, to filter, to walk by keys. The plan's
//! document is in it for programs.

mod chart;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::view::{self, Reviewed};
use crate::model::page::LOOKS;
use crate::model::source::Place;
use crate::plan::model::change::{Action, AttributeChange, Change, Drift, RulingVerdict};
use crate::report::json::{self, PlanOptions};
use crate::report::text::counts::Counts;
use crate::report::text::style::Style;
use crate::report::text::{escape, phrases};
use crate::report::views::drift::{key, key_of_object, meaning, name, since};

const CSS: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Nothing is loaded from anywhere, and nothing but what stands in the page runs.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'";

/// Changes whose attributes are open from the beginning.
const MOST_OPEN: usize = 30;

/// Returns the page.
pub(super) fn plan(of: &Reviewed<'_>) -> String {
    let facts = of.facts();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (line(&of.title())) " · " (facts.join(" · ")) }
                style { (PreEscaped(LOOKS)) (PreEscaped(CSS)) }
            }
            body {
                (head(of, &facts))
                (toolbar(of))
                main {
                    section.changes aria-label="Changes" {
                        (ran(of))
                        (alerts(of))
                        (drift(of))
                        (unmanaged(of))
                        @for (at, change) in of.plan.changes.iter().enumerate() { (card(of, change, at < MOST_OPEN)) }
                        @if of.plan.changes.is_empty() && of.look().is_none() { p.quiet { "No changes to make." } }
                        p.none hidden { "Nothing fits the filter." }
                    }
                    aside {
                        (chart::map(of.plan))
                        (chart::time(of.plan))
                        (chart::cost(of.plan))
                    }
                }
                footer { (foot(of)) }
                script type="application/json" id="plan" { (PreEscaped(document(of))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// Returns the plan's document as it may stand in a script: nothing in it ends one.
fn document(of: &Reviewed<'_>) -> String {
    let text = json::plan(of.plan, of.registry, PlanOptions { details: true, ran: of.ran() });
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Returns text that others wrote, with whatever acts or hides written out.
fn line(text: &str) -> String {
    escape::line(text).into_owned()
}

fn head(of: &Reviewed<'_>, facts: &[String]) -> Markup {
    html! {
        header {
            h1 { (of.verdict().sign()) " " (line(&of.title())) }
            ul.facts { @for fact in facts { li { (fact) } } }
            p.quiet {
                "fingerprint " code { (line(&of.plan.fingerprint)) }
                @if let Some(commit) = of.commit { " · commit " code { (line(&commit.chars().take(12).collect::<String>())) } }
                " · planned " time datetime=(of.plan.base.made_at) { (of.plan.base.made_at.strftime("%-d %b %Y %H:%M UTC")) }
            }
        }
    }
}

fn toolbar(of: &Reviewed<'_>) -> Markup {
    let changes = &of.plan.changes;
    let dangerous = changes.iter().filter(|change| view::is_dangerous(change)).count();
    html! {
        nav aria-label="Filter" {
            button type="button" data-filter="all" aria-pressed="true" { "all " (changes.len()) }
            button type="button" data-filter="danger" aria-pressed="false" { "dangerous only " (dangerous) }
            @for (action, count) in Counts::of(of.plan).iter().filter(|(_, count)| *count > 0) {
                button type="button" data-filter=(phrases::action(action)) aria-pressed="false" {
                    (sign(action)) " " (phrases::action(action)) " " (count)
                }
            }
            input type="search" placeholder="search" aria-label="Search";
            span.quiet.keys { kbd { "j" } kbd { "k" } " walk · " kbd { "f" } " filter · " kbd { "/" } " search" }
        }
    }
}

/// What an apply did not do, and what it asks.
fn ran(of: &Reviewed<'_>) -> Markup {
    html! {
        @if let Some(ran) = of.ran() {
            @for (address, why) in ran.failures(of.plan.base.destroy) {
                div.alert.bad {
                    strong { "failed" } " " code { (address) } " " (line(&why.what))
                    p { (why.means) " " (line(&why.next)) }
                }
            }
            @for question in &ran.outcome.questions { div.alert.bad { strong { "question" } " " (line(question)) } }
            @for note in &ran.outcome.notes { div.alert.note { (line(note)) } }
        }
    }
}

/// What a look found that nobody manages, and what is not there any more.
fn unmanaged(of: &Reviewed<'_>) -> Markup {
    let Some(found) = of.look() else { return html! {} };
    let (count, gone) = (found.unmanaged.len(), &found.memory.resolved);
    html! {
        @if count > 0 {
            details.drift {
                summary { "Unmanaged: " (phrases::counted(count, "object")) }
                div.scroll { table {
                    thead { tr { th { "kind" } th { "name" } th { "id" } th { "$/mo" } th { "known" } } }
                    tbody { @for object in found.unmanaged { tr {
                        td { (line(&object.kind)) }
                        td { (line(object.name.as_deref().unwrap_or_default())) }
                        td { code { (line(&object.id)) } }
                        td { @if let Some(price) = object.monthly { (phrases::money(price)) } }
                        td.quiet { (since(found.memory, &key_of_object(object)).unwrap_or_default()) }
                    } } }
                } }
            }
        }
        @if !gone.is_empty() {
            details.drift {
                summary { "Resolved since the last look: " (gone.len()) }
                ul { @for gone in gone { li { code { (line(&gone.name)) } } } }
            }
        }
        @if let Some(told) = found.elsewhere.told() { p.quiet { (told) } }
    }
}

fn alerts(of: &Reviewed<'_>) -> Markup {
    html! {
        @for block in of.blocks().filter(|_| of.ran().is_none()) {
            div.alert.bad {
                strong { "⛔ " (line(&block.code)) } " "
                @if let Some(address) = &block.address { code { (address) } " " }
                (line(&block.text)) " " (at(of, block.source.as_ref()))
                @if !block.help.is_empty() { p { (line(&block.help)) } }
            }
        }
        @for ruling in of.denials() {
            div.alert.bad[ruling.verdict == RulingVerdict::Deny] {
                strong { "policy " (line(&ruling.name)) } " " (view::verdict_word(ruling.verdict)) " "
                @if let Some(address) = &ruling.address { code { (address) } " " }
                (line(&ruling.message)) " " (at(of, ruling.source.as_ref()))
            }
        }
        @for note in view::notes(of.plan) {
            div.alert.note { (line(&note.text)) ". " span.quiet { (line(&note.help)) } " " (at(of, note.source.as_ref())) }
        }
    }
}

fn drift(of: &Reviewed<'_>) -> Markup {
    let (open, settled) = of.drift();
    let row = |drift: &&Drift| {
        html! {
            tr {
                th scope="row" { code { (line(&name(drift))) } }
                @match view::drift_values(drift) {
                    Some((old, new)) => { td { (cut(&old)) } td { (cut(&new)) } }
                    None => td colspan="2" { "it is gone" }
                }
                td {
                    (line(&meaning(drift, Style::plain(80))))
                    @if let Some(since) = of.look().and_then(|found| since(found.memory, &key(drift))) {
                        span.quiet { " · " (since) }
                    }
                }
                td { (at(of, drift.source.as_ref())) }
            }
        }
    };
    html! {
        @if !of.plan.drift.is_empty() {
            details.drift open[!open.is_empty()] {
                summary { "Changed outside stead: " (open.len()) " to decide, " (settled.len()) " left alone" }
                div.scroll { table {
                    thead { tr { th { "attribute" } th { "last applied" } th { "live" } th { "what becomes of it" } th { "where" } } }
                    tbody { @for drift in open.iter().chain(&settled) { (row(drift)) } }
                } }
            }
        }
    }
}

fn card(of: &Reviewed<'_>, change: &Change, open: bool) -> Markup {
    let danger = view::is_dangerous(change);
    html! {
        details.card.danger[danger] open[open] id=(change.address)
            data-action=(phrases::action(change.action)) data-danger=(danger)
        {
            summary {
                span.sign { (sign(change.action)) } " "
                strong { (change.address) } " "
                span.what { (line(&view::headline(change))) }
                span.right {
                    (view::price(change))
                    @if change.seconds > 0 { " ~" (phrases::estimate(change.seconds.into())) }
                }
            }
            @if let Some(ran) = of.ran() { p.fate { (line(&ran.fate(change).told())) } }
            @if let Some(was) = &change.was { p { "was " code { (was.address) } } }
            @for effect in view::effects(change) { p.effect[view::weighs(effect.code)] { (line(&effect.text)) } }
            @if !change.hits.is_empty() {
                p { "felt by "
                    @for (at, hit) in change.hits.iter().enumerate() { @if at > 0 { ", " } a href=(format!("#{hit}")) { (hit) } }
                }
            }
            @if !change.attributes.is_empty() {
                div.scroll { table { tbody { @for attribute in &change.attributes { (field(of, attribute)) } } } }
            }
            p.quiet { (at(of, change.source.as_ref())) @if let Some(id) = &change.id { " id " code { (line(id)) } } }
        }
    }
}

fn field(of: &Reviewed<'_>, attribute: &AttributeChange) -> Markup {
    let (old, new) = view::sides(attribute);
    html! {
        tr.forces[attribute.forces_replacement] {
            th scope="row" { code { (line(&attribute.path)) } }
            td.old { @if let Some(old) = old { (cut(&old)) } }
            td.new { @match new { Some(new) => (cut(&new)), None => span.quiet { "not set" } } }
            td.quiet {
                @if attribute.forces_replacement { "forces the replacement " }
                @if let Some(set_by) = &attribute.set_by { (line(set_by)) " " }
                (at(of, attribute.source.as_ref()))
            }
        }
    }
}

/// Returns a value, folded where it has many lines.
fn cut(value: &str) -> Markup {
    let lines: Vec<String> = value.trim_end_matches('\n').split('\n').map(line).collect();
    html! {
        @if lines.len() > 1 {
            details { summary { (phrases::counted(lines.len(), "line")) } pre { (lines.join("\n")) } }
        } @else { (lines.join("")) }
    }
}

fn at(of: &Reviewed<'_>, place: Option<&Place>) -> Markup {
    html! { @if let Some(place) = place { code.place { (line(&of.place(place))) } } }
}

fn sign(action: Action) -> &'static str {
    phrases::sign(action, Style::plain(80))
}

fn foot(of: &Reviewed<'_>) -> Markup {
    let applies = of.ran().is_none() && !of.plan.steps.is_empty() && of.verdict() != view::Verdict::Blocked;
    let command = of.command.filter(|_| applies);
    html! {
        (phrases::counted(of.plan.unchanged, "resource")) " unchanged · stead " (env!("CARGO_PKG_VERSION"))
        @if let Some(command) = command { " · after the merge: " code { (line(command)) } }
    }
}
