//! Metrics of a plan, for a collector of text files: a drift cron writes them, an alert reads them.

use std::fmt::{Display, Write as _};

use rust_decimal::Decimal;

use super::view::{Reviewed, Told};
use crate::apply::event::Outcome;
use crate::plan::model::change::DriftClass;
use crate::report::run_report::Ran;
use crate::report::text::counts::Counts;
use crate::report::text::phrases;
use crate::report::views::drift::{self, Found, is_settled};

/// The classes of drift, so that one without any is 0 and not absent.
const CLASSES: [DriftClass; 7] = [
    DriftClass::Reverted,
    DriftClass::AcceptOnly,
    DriftClass::Accepted,
    DriftClass::Ignored,
    DriftClass::Gone,
    DriftClass::Replaced,
    DriftClass::Unmanaged,
];

/// Returns the metrics; of a look only those of what was looked at.
pub(super) fn plan(of: &Reviewed<'_>) -> String {
    let plan = of.plan;
    let base = &plan.base;
    let mut page = Page {
        text: String::new(),
        labels: format!("stack=\"{}\",env=\"{}\"", label(&base.stack), label(&base.environment)),
    };
    match of.told {
        Told::Plan => intended(&mut page, of),
        Told::Look(found) => looked_at(&mut page, found),
        Told::Run(ran) => {
            applied(&mut page, ran);
            return page.text;
        }
    }
    page.about("stead_drift", "Live differences from what was last applied, by class.");
    for class in CLASSES {
        let count = plan.drift.iter().filter(|drift| drift.class == class).count();
        page.one("stead_drift", &[("class", phrases::drift_class(class))], count);
    }
    page.about("stead_read_timestamp_seconds", "When the live world was last read.");
    page.one("stead_read_timestamp_seconds", &[], base.made_at.as_second());
    page.text
}

/// What a look found besides drift.
fn looked_at(page: &mut Page, found: &Found<'_>) {
    page.about("stead_managed_resources", "Resources that the ledger has.");
    page.one("stead_managed_resources", &[], found.managed);
    page.about("stead_unmanaged_objects", "Live objects in the stack's projects that nobody manages.");
    page.one("stead_unmanaged_objects", &[], found.unmanaged.len());
    if let Some((new, known, resolved)) = found.since_last_look() {
        page.about("stead_findings", "Differences and unmanaged objects, as against the look before.");
        for (word, count) in [("new", new), ("known", known), ("resolved", resolved)] {
            page.one("stead_findings", &[("since_last_look", word)], count);
        }
    }
    let oldest = found.drift.iter().filter(|drift| !is_settled(drift.class));
    let oldest = oldest.filter_map(|drift| found.memory.first_seen(&drift::key(drift))).min();
    if let Some(oldest) = oldest {
        page.about(
            "stead_drift_first_seen_timestamp_seconds",
            "When the oldest open difference was first seen.",
        );
        page.one("stead_drift_first_seen_timestamp_seconds", &[], oldest.as_second());
    }
}

/// What an apply did.
fn applied(page: &mut Page, ran: &Ran<'_>) {
    let Outcome { done, failed, skipped, questions, .. } = ran.outcome;
    page.about("stead_apply_success", "Whether the last apply did everything.");
    page.one("stead_apply_success", &[], u8::from(ran.is_whole()));
    page.about("stead_apply_resources", "Resources of the last apply, by how they ended.");
    for (word, count) in [("done", done.len()), ("failed", failed.len()), ("skipped", skipped.len())] {
        page.one("stead_apply_resources", &[("outcome", word)], count);
    }
    page.about("stead_apply_questions", "What only a human can answer.");
    page.one("stead_apply_questions", &[], questions.len());
    page.about("stead_apply_exit_code", "The last apply's exit code.");
    page.one("stead_apply_exit_code", &[], ran.exit);
    page.about("stead_apply_duration_seconds", "How long the last apply took.");
    page.one("stead_apply_duration_seconds", &[], ran.took.as_secs_f64());
    page.about("stead_apply_timestamp_seconds", "When the last apply ended.");
    page.one("stead_apply_timestamp_seconds", &[], ran.at.as_second());
}

/// What an apply would do.
fn intended(page: &mut Page, of: &Reviewed<'_>) {
    let plan = of.plan;
    page.about("stead_changes", "Changes that an apply would make, by action.");
    for (action, count) in Counts::of(plan).iter() {
        page.one("stead_changes", &[("action", phrases::action(action))], count);
    }
    page.about("stead_unchanged_resources", "Resources that are as configured.");
    page.one("stead_unchanged_resources", &[], plan.unchanged);
    page.about("stead_blocks", "Reasons besides policies why the plan cannot be applied.");
    page.one("stead_blocks", &[], of.blocks().count());
    page.about("stead_policies_denied", "Policies that say no.");
    page.one("stead_policies_denied", &[], plan.denied().len());
    page.about("stead_monthly_dollars", "The monthly bill of what is managed, now and after an apply.");
    page.one("stead_monthly_dollars", &[("when", "before")], dollars(plan.cost.monthly_before));
    page.one("stead_monthly_dollars", &[("when", "after")], dollars(plan.cost.monthly_after));
}

fn dollars(amount: Decimal) -> Decimal {
    amount.normalize()
}

struct Page {
    text: String,
    labels: String,
}

impl Page {
    fn about(&mut self, name: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge");
    }

    fn one(&mut self, name: &str, more: &[(&str, &str)], value: impl Display) {
        let more =
            more.iter().fold(String::new(), |text, (key, value)| text + &format!(",{key}=\"{value}\""));
        let _ = writeln!(self.text, "{name}{{{}{more}}} {value}", self.labels);
    }
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
