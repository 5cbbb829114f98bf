//! Prometheus metrics of a plan, for a text-file collector: a scheduled drift check or apply writes them, and alerts
//! use them. Names and labels are an interface: a renamed one breaks dashboards.

use std::fmt::{Display, Write as _};

use rust_decimal::Decimal;

use crate::apply::event::Outcome;
use crate::plan::model::change::DriftClass;
use crate::report::review::view::{PlanReview, ReviewSubject};
use crate::report::run_report::RunReport;
use crate::report::text::counts::ActionCounts;
use crate::report::text::phrases;
use crate::report::units::accounts::AccountReview;
use crate::report::views::drift::{self, DriftReport, is_settled};

/// All classes of drift, so that a class without drift is reported as 0 and not as absent.
const DRIFT_CLASSES: [DriftClass; 8] = [
    DriftClass::Reverted,
    DriftClass::AcceptOnly,
    DriftClass::Accepted,
    DriftClass::Ignored,
    DriftClass::Gone,
    DriftClass::NotReadable,
    DriftClass::Replaced,
    DriftClass::Unmanaged,
];

/// Returns the metrics of the report's subject: plan and drift, drift check, or apply alone.
pub(super) fn plan_metrics(of: &PlanReview<'_>) -> String {
    let plan = of.plan;
    let base = &plan.base;
    let mut page = MetricsPage {
        text: String::new(),
        labels: format!(
            "stack=\"{}\",env=\"{}\",unit=\"{}\"",
            escape_label(&base.stack),
            escape_label(&base.environment),
            escape_label(&of.title())
        ),
    };
    match of.told {
        ReviewSubject::Plan => add_plan_metrics(&mut page, of),
        ReviewSubject::Drift(found) => looked_at(&mut page, found),
        ReviewSubject::Run(ran) => {
            add_run_metrics(&mut page, ran);
            return page.text;
        }
    }
    page.add_header("stead_drift", "Live differences from what was last applied, by class; unmanaged: keys of maps that the configuration does not have.");
    for class in DRIFT_CLASSES {
        let count = plan.drift.iter().filter(|drift| drift.class == class).count();
        page.add_sample("stead_drift", &[("class", phrases::drift_class(class))], count);
    }
    page.add_header("stead_read_timestamp_seconds", "When the live objects were last read.");
    page.add_sample("stead_read_timestamp_seconds", &[], base.made_at.as_second());
    page.text
}

/// Adds the results of a drift check other than drift. Counts compared with the previous run are absent in the first.
fn looked_at(page: &mut MetricsPage, found: &DriftReport<'_>) {
    page.add_header("stead_managed_resources", "Resources in the ledger.");
    page.add_sample("stead_managed_resources", &[], found.managed);
    // A missing number is not 0: an alert on unmanaged objects would end.
    if !(found.elsewhere.unread || found.elsewhere.by_account) {
        page.add_header(
            "stead_unmanaged_objects",
            "Live objects in the stack's projects that no ledger manages.",
        );
        page.add_sample("stead_unmanaged_objects", &[], found.unmanaged.len());
    }
    if let Some((new, known, resolved)) = found.since_last_look() {
        page.add_header(
            "stead_findings",
            "Differences and unmanaged objects, compared with the previous run.",
        );
        for (word, count) in [("new", new), ("known", known), ("resolved", resolved)] {
            page.add_sample("stead_findings", &[("since_last_look", word)], count);
        }
    }
    let oldest = found.drift.iter().filter(|drift| !is_settled(drift.class));
    let oldest = oldest.filter_map(|drift| found.memory.first_seen(&drift::drift_key(drift))).min();
    if let Some(oldest) = oldest {
        page.add_header(
            "stead_drift_first_seen_timestamp_seconds",
            "When the oldest open difference was first seen.",
        );
        page.add_sample("stead_drift_first_seen_timestamp_seconds", &[], oldest.as_second());
    }
}

/// Adds the results of an apply.
fn add_run_metrics(page: &mut MetricsPage, ran: &RunReport<'_>) {
    let Outcome { done, failed, skipped, unknown, questions, .. } = ran.outcome;
    page.add_header("stead_apply_success", "Whether the last apply completed all its steps.");
    page.add_sample("stead_apply_success", &[], u8::from(ran.is_whole()));
    page.add_header("stead_apply_resources", "Resources of the last apply, by how they ended.");
    let counts = [done.len(), failed.len(), skipped.len(), unknown.len()];
    for (word, count) in ["done", "failed", "skipped", "unknown"].into_iter().zip(counts) {
        page.add_sample("stead_apply_resources", &[("outcome", word)], count);
    }
    page.add_header("stead_apply_questions", "Ambiguous requests that a user must resolve.");
    page.add_sample("stead_apply_questions", &[], questions.len());
    page.add_header("stead_apply_exit_code", "The last apply's exit code.");
    page.add_sample("stead_apply_exit_code", &[], ran.exit);
    page.add_header("stead_apply_duration_seconds", "How long the last apply took.");
    page.add_sample("stead_apply_duration_seconds", &[], ran.took.as_secs_f64());
    page.add_header("stead_apply_timestamp_seconds", "When the last apply ended.");
    page.add_sample("stead_apply_timestamp_seconds", &[], ran.at.as_second());
}

/// Adds the changes that an apply would make.
fn add_plan_metrics(page: &mut MetricsPage, of: &PlanReview<'_>) {
    let plan = of.plan;
    page.add_header("stead_changes", "Changes that an apply would make, by action.");
    for (action, count) in ActionCounts::from_plan(plan).iter() {
        page.add_sample("stead_changes", &[("action", phrases::action_keyword(action))], count);
    }
    page.add_header("stead_unchanged_resources", "Resources that are as configured.");
    page.add_sample("stead_unchanged_resources", &[], plan.unchanged);
    page.add_header("stead_output_changes", "Outputs that an apply would change.");
    page.add_sample("stead_output_changes", &[], plan.output_changes().count());
    page.add_header("stead_blocks", "Reasons besides policies why the plan cannot be applied.");
    page.add_sample("stead_blocks", &[], of.plan_blockers().count());
    page.add_header("stead_policies_denied", "Policies that deny the plan.");
    page.add_sample("stead_policies_denied", &[], plan.denying_policies().len());
    page.add_header(
        "stead_monthly_dollars",
        "The monthly cost of the managed objects, now and after an apply.",
    );
    page.add_sample(
        "stead_monthly_dollars",
        &[("when", "before")],
        round_dollars(plan.cost.monthly_before),
    );
    page.add_sample("stead_monthly_dollars", &[("when", "after")], round_dollars(plan.cost.monthly_after));
    page.add_header("stead_unpriced_resources", "Resources without a known price, which no sum has.");
    page.add_sample("stead_unpriced_resources", &[], plan.cost.unpriced);
    page.add_header(
        "stead_due_unknown",
        "Changes that are charged or refunded at once by an amount that is not known.",
    );
    page.add_sample("stead_due_unknown", &[], of.due().total.unknown);
    page.add_header("stead_due_dollars", "What is charged at once, negative if it is refunded.");
    page.add_sample("stead_due_dollars", &[], round_dollars(of.due().total.amount));
}

/// Returns the metrics of the accounts of a drift check, whose unmanaged objects belong to no unit.
pub(super) fn account_metrics(accounts: &[AccountReview]) -> String {
    let mut page = MetricsPage { text: String::new(), labels: String::new() };
    let label = |account: &AccountReview| format!("account=\"{}\"", escape_label(&account.name));
    page.add_header("stead_account_managed_objects", "Live objects of the account that are in a ledger.");
    for account in accounts {
        page.labels = label(account);
        page.add_sample("stead_account_managed_objects", &[], account.managed);
    }
    page.add_header("stead_account_unmanaged_known", "Whether the unmanaged objects are known.");
    for account in accounts {
        page.labels = label(account);
        page.add_sample("stead_account_unmanaged_known", &[], u8::from(account.is_known()));
    }
    page.add_header(
        "stead_account_unmanaged_objects",
        "Live objects of the account that are in no ledger.",
    );
    for account in accounts.iter().filter(|account| account.is_known()) {
        page.labels = label(account);
        page.add_sample("stead_account_unmanaged_objects", &[], account.unmanaged.len());
    }
    page.text
}

fn round_dollars(amount: Decimal) -> Decimal {
    amount.normalize()
}

struct MetricsPage {
    text: String,
    labels: String,
}

impl MetricsPage {
    fn add_header(&mut self, name: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge");
    }

    fn add_sample(&mut self, name: &str, more: &[(&str, &str)], value: impl Display) {
        let more = more.iter().fold(String::new(), |text, (key, value)| {
            text + &format!(",{key}=\"{}\"", escape_label(value))
        });
        let _ = writeln!(self.text, "{name}{{{}{more}}} {value}", self.labels);
    }
}

fn escape_label(text: &str) -> String {
    // A parser ends a line at other characters than a line feed, too.
    let plain = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    let text: String = text.chars().map(plain).collect();
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
