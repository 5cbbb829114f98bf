//! The plan page: head, drift, changes, blockers, cost, time, totals. A plan without changes is one line.

use std::time::Duration;

use jiff::Timestamp;

use super::{change, outputs, summary};
use crate::plan::model::change::{Drift, DriftClass, Plan};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::report::groups;
use crate::report::text::notes;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::policy_results;
use crate::report::text::style::{Symbol, TextRole, TextStyle};
use crate::report::views::drift;

/// Limit on the width of a page: longer lines are hard to read.
const MAX_PAGE_WIDTH: usize = 120;

/// Facts about the planning run, shown with a plan but not part of it. For a plan read from a file,
/// only `saved` is set.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanContext {
    /// Number of live objects that were read; `None` omits the fact.
    pub objects: Option<usize>,
    /// How long reading the live objects took; `None` if it was not measured.
    pub read_in: Option<Duration>,
    /// When the last successful apply ended; `None` before the first one.
    pub last_applied: Option<Timestamp>,
    /// When the last apply started; `None` if it was completed.
    pub begun: Option<Timestamp>,
    /// The current time; `None` shows no ages.
    pub now: Option<Timestamp>,
    /// Whether the plan was read from a file: the page shows each change, and, with `now`, the plan's own age.
    pub saved: bool,
}

/// Returns a plan as text, escaped and wrapped. `verbose` adds all attributes and locations, and omits nothing.
#[must_use]
pub fn plan_page(plan: &Plan, facts: &PlanContext, verbose: bool, style: TextStyle) -> String {
    let complete = verbose || facts.saved;
    if is_empty(plan) {
        let mut page = TextPage::new(style);
        // A declaration that has already taken effect changes nothing: only the verbose output mentions it.
        let shown = |note: &&PlanNote| verbose || note.code != NoteCode::Done;
        add_grouped_notes(&mut page, plan.notes.iter().filter(shown), complete);
        let named = policy_results::named_results(&plan.policy, verbose);
        policy_results::add_policy_results(&mut page, named, complete);
        let mut first = no_changes(plan, verbose, style).to_unwrapped(style) + "\n";
        if verbose {
            first = plan_headline(plan, facts, style).to_unwrapped(style) + "\n" + &first;
            page.add_lines(drift::drift_lines(&visible_drift(plan, true), false, page.style()));
        }
        return first + &page.finish();
    }
    let mut page = TextPage::new(TextStyle { width: style.width.min(MAX_PAGE_WIDTH), ..style });
    page.add_line(plan_headline(plan, facts, style));
    let drifts = visible_drift(plan, verbose);
    if !drifts.is_empty() {
        let confirmed = drifts.iter().all(|drift| !drift.unconfirmed);
        let what = if confirmed { "  changed outside stead" } else { "  differs from what was applied" };
        page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, "DRIFT").push_text(what));
        page.add_lines(drift::drift_lines(&drifts, !complete, page.style()));
    }
    if !plan.has_changes() {
        page.add_line(TextLine::indent(0).push_text("No changes to make."));
    }
    if !plan.changes.is_empty() {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Strong, "CHANGES")
                .push_text("  most dangerous first"),
        );
        change::add_changes(&mut page, plan, complete, verbose);
    }
    outputs::add_outputs(&mut page, plan, verbose);
    add_grouped_notes(&mut page, plan.notes.iter(), complete);
    summary::add_footer(&mut page, plan, complete, verbose);
    page.finish()
}

/// Adds notes, equal ones as one unless `complete` is set.
fn add_grouped_notes<'p>(page: &mut TextPage, shown: impl Iterator<Item = &'p PlanNote>, complete: bool) {
    if complete {
        notes::add_notes(page, shown);
    } else {
        notes::add_notes(page, groups::group_notes(shown).iter().map(AsRef::as_ref));
    }
}

/// Returns the drift to show: unmanaged keys in verbose output only.
fn visible_drift(plan: &Plan, verbose: bool) -> Vec<&Drift> {
    let shown = |drift: &&Drift| verbose || drift.class != DriftClass::Unmanaged;
    plan.drift.iter().filter(shown).collect()
}

/// Returns whether the plan has no changes of resources or outputs, no steps, blockers, drift that needs a decision, or values that the
/// service does not keep.
fn is_empty(plan: &Plan) -> bool {
    let quiet = |class| matches!(class, DriftClass::Ignored | DriftClass::Accepted | DriftClass::Unmanaged);
    !plan.has_changes()
        && plan.steps.is_empty()
        && plan.blocks.is_empty()
        && !plan.has_values_not_kept()
        && plan.drift.iter().all(|drift| quiet(drift.class))
}

fn no_changes(plan: &Plan, verbose: bool, style: TextStyle) -> TextLine {
    let dot = style.sign(Symbol::Dot);
    let mut line = TextLine::indent(0)
        .push_styled(TextRole::Success, "No changes")
        .push_text(format!(" {dot} {}/{}", plan.base.stack, plan.base.environment))
        .push_text(if plan.base.destroy {
            " has nothing left to destroy".to_owned()
        } else if plan.left_out > 0 {
            format!(
                " {dot} {} as configured, {} left out of this plan",
                phrases::count_noun(plan.unchanged, "resource"),
                plan.left_out
            )
        } else {
            format!(" is as configured {dot} {}", phrases::count_noun(plan.unchanged, "resource"))
        })
        .push_text(format!(" {dot} {}", phrases::count_noun(plan.requests.sent as usize, "request")));
    let done = plan.notes.iter().filter(|note| note.code == NoteCode::Done).count();
    if done > 0 && !verbose {
        let verb = if done == 1 { "has" } else { "have" };
        line = line.push_text(format!(
            " {dot} {} {verb} nothing left to do, see -v",
            phrases::count_noun(done, "declaration")
        ));
    }
    let left = visible_drift(plan, false).len();
    if left > 0 {
        line =
            line.push_text(format!(" {dot} {} left alone", phrases::count_noun(left, "live difference")));
    }
    if !plan.bookkeeping.is_empty() {
        line = line.push_text(format!(" {dot} apply updates the ledger only"));
    }
    if let Some(counted) = policy_results::count_unnamed(&plan.policy, verbose) {
        line = line.push_styled(TextRole::Faint, format!(" {dot} {counted}"));
    }
    line
}

fn plan_headline(plan: &Plan, facts: &PlanContext, style: TextStyle) -> TextLine {
    let base = &plan.base;
    let mut said = Vec::new();
    if base.destroy {
        said.push(phrases::DESTROY_FACT.to_owned());
    }
    if let Some(objects) = facts.objects {
        let time = facts.read_in.map(|time| format!(" in {:.1} s", time.as_secs_f64())).unwrap_or_default();
        said.push(format!("read {}{time}", phrases::count_noun(objects, "live object")));
    }
    let config: String = base.config.chars().take(7).collect();
    if !config.is_empty() {
        said.push(format!("config {config}"));
    }
    let is_locked = plan.has_note(NoteCode::LockHeld);
    match (facts.saved, facts.now, facts.last_applied) {
        (false, Some(_), _) if is_locked => said.push("its ledger is locked".to_owned()),
        (true, Some(now), _) => said.push(format!("planned {}", phrases::format_age(base.made_at, now))),
        (false, Some(now), last) if facts.begun > last => {
            let begun = facts.begun.unwrap_or(now);
            said.push(format!("partly applied {}", phrases::format_age(begun, now)));
        }
        (false, Some(now), Some(then)) => {
            said.push(format!("last applied {}", phrases::format_age(then, now)));
        }
        (false, Some(_), None) => said.push("never applied".to_owned()),
        (_, None, _) => {}
    }
    let mut line =
        TextLine::indent(0).push_styled(TextRole::Strong, format!("{}/{}", base.stack, base.environment));
    for fact in said {
        line = line.push_text(format!(" {} {fact}", style.sign(Symbol::Dot)));
    }
    line
}
