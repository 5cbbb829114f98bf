//! The whole page: head, drift, changes, blocks, cost, time, totals. "No changes" is one line.

use std::time::Duration;

use jiff::Timestamp;

use super::{change, notes, summary};
use crate::plan::model::change::{Drift, DriftClass, NoteCode, Plan};
use crate::report::text::page::{Line, Page};
use crate::report::text::phrases;
use crate::report::text::style::{Role, Sign, Style};
use crate::report::views::drift;

/// Columns beyond which a page is not laid out wider: the eye loses the line.
const WIDEST: usize = 120;

/// What is known around a plan but is not part of it. A saved plan has none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// Live objects that were read.
    pub objects: Option<usize>,
    /// How long that took.
    pub read_in: Option<Duration>,
    /// When an apply last ended well.
    pub last_applied: Option<Timestamp>,
    /// When the last apply began, if it did not do all.
    pub begun: Option<Timestamp>,
    /// The time now; ages are left out without it.
    pub now: Option<Timestamp>,
    /// The plan comes from a file: its own age is told.
    pub saved: bool,
}

/// Returns a plan as text. `verbose` adds every attribute and place, and leaves nothing out.
#[must_use]
pub fn plan(plan: &Plan, facts: &Facts, verbose: bool, style: Style) -> String {
    if is_empty(plan) {
        let mut page = Page::new(style);
        // A declaration that is done changes nothing: who wants to tidy up asks for more.
        notes::lines(&mut page, plan.notes.iter().filter(|note| verbose || note.code != NoteCode::Done));
        notes::rulings(&mut page, &plan.policy);
        let mut first = no_changes(plan, verbose, style).unwrapped(style) + "\n";
        if verbose {
            first = head(plan, facts, style).unwrapped(style) + "\n" + &first;
            page.lines(drift::lines(&told(plan, true), page.style()));
        }
        return first + &page.finish();
    }
    let mut page = Page::new(Style { width: style.width.min(WIDEST), ..style });
    page.line(head(plan, facts, style));
    let drifts = told(plan, verbose);
    if !drifts.is_empty() {
        let confirmed = drifts.iter().all(|drift| !drift.unconfirmed);
        let what = if confirmed { "  changed outside stead" } else { "  differs from what was applied" };
        page.line(Line::indent(0).put(Role::Strong, "DRIFT").say(what));
        page.lines(drift::lines(&drifts, page.style()));
    }
    if plan.changes.is_empty() {
        page.line(Line::indent(0).say("No changes to make."));
    } else {
        page.line(Line::indent(0).put(Role::Strong, "CHANGES").say("  most dangerous first"));
        change::all(&mut page, &plan.changes, verbose);
    }
    notes::lines(&mut page, plan.notes.iter());
    summary::all(&mut page, plan, verbose);
    page.finish()
}

/// Returns the differences that are shown: keys that nobody manages only where everything is.
fn told(plan: &Plan, verbose: bool) -> Vec<&Drift> {
    let shown = |drift: &&Drift| verbose || drift.class != DriftClass::Unmanaged;
    plan.drift.iter().filter(shown).collect()
}

/// Tells whether there is nothing to do, to decide or to know.
fn is_empty(plan: &Plan) -> bool {
    let quiet = |class| matches!(class, DriftClass::Ignored | DriftClass::Accepted | DriftClass::Unmanaged);
    plan.changes.is_empty()
        && plan.steps.is_empty()
        && plan.blocks.is_empty()
        && !plan.has_values_not_kept()
        && plan.drift.iter().all(|drift| quiet(drift.class))
}

fn no_changes(plan: &Plan, verbose: bool, style: Style) -> Line {
    let dot = style.sign(Sign::Dot);
    let mut line = Line::indent(0)
        .put(Role::Good, "No changes")
        .say(format!(" {dot} {}/{}", plan.base.stack, plan.base.environment))
        .say(if plan.base.destroy {
            " has nothing left to destroy".to_owned()
        } else if plan.left_out > 0 {
            format!(
                " {dot} {} as configured, {} left out of this plan",
                phrases::counted(plan.unchanged, "resource"),
                plan.left_out
            )
        } else {
            format!(" is as configured {dot} {}", phrases::counted(plan.unchanged, "resource"))
        })
        .say(format!(" {dot} {}", phrases::counted(plan.requests.sent as usize, "request")));
    let done = plan.notes.iter().filter(|note| note.code == NoteCode::Done).count();
    if done > 0 && !verbose {
        let verb = if done == 1 { "is" } else { "are" };
        line = line.say(format!(" {dot} {} {verb} done, see -v", phrases::counted(done, "declaration")));
    }
    let left = told(plan, false).len();
    if left > 0 {
        line = line.say(format!(" {dot} {} left alone", phrases::counted(left, "live difference")));
    }
    if !plan.bookkeeping.is_empty() {
        line = line.say(format!(" {dot} apply updates the ledger only"));
    }
    line
}

fn head(plan: &Plan, facts: &Facts, style: Style) -> Line {
    let base = &plan.base;
    let mut said = Vec::new();
    if base.destroy {
        said.push("destroys everything unprotected".to_owned());
    }
    if let Some(objects) = facts.objects {
        let time = facts.read_in.map(|time| format!(" in {:.1} s", time.as_secs_f64())).unwrap_or_default();
        said.push(format!("read {}{time}", phrases::counted(objects, "live object")));
    }
    let config: String = base.config.chars().take(7).collect();
    if !config.is_empty() {
        said.push(format!("config {config}"));
    }
    match (facts.saved, facts.now, facts.last_applied) {
        (true, Some(now), _) => said.push(format!("planned {}", phrases::ago(base.made_at, now))),
        (false, Some(now), last) if facts.begun > last => {
            let begun = facts.begun.unwrap_or(now);
            said.push(format!("partly applied {}", phrases::ago(begun, now)));
        }
        (false, Some(now), Some(then)) => said.push(format!("last applied {}", phrases::ago(then, now))),
        (false, Some(_), None) => said.push("never applied".to_owned()),
        (_, None, _) => {}
    }
    let mut line = Line::indent(0).put(Role::Strong, format!("{}/{}", base.stack, base.environment));
    for fact in said {
        line = line.say(format!(" {} {fact}", style.sign(Sign::Dot)));
    }
    line
}
