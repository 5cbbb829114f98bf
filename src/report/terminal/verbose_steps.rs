//! The verbose part below a plan: its steps in order with their requests, and the inputs of the plan.

use crate::model::live::snapshot::RequestCount;
use crate::model::schema::Registry;
use crate::plan::annotate::rights::step_right;
use crate::plan::model::change::Plan;
use crate::plan::model::step::Step;
use crate::report::json::step_requests;
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{TextRole, TextStyle};

/// Limit on the width of the column of addresses and operations; a longer one shifts its own line only.
const MAX_COLUMN_WIDTH: usize = 44;

/// Returns the steps of a plan with their numbers and requests, without secrets; with `all`, also their durations and
/// timeouts, and the inputs of the plan. Empty for a plan without steps, unless `all` is set.
#[must_use]
pub fn plan_steps_page(plan: &Plan, registry: Registry, all: bool, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    if !plan.steps.is_empty() {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Strong, "STEPS")
                .push_text("  each starts after the steps that it lists"),
        );
        let names: Vec<String> = plan.steps.iter().map(step_name).collect();
        let column =
            names.iter().map(|name| page::display_width(name)).max().unwrap_or(0).min(MAX_COLUMN_WIDTH);
        for (number, (step, name)) in plan.steps.iter().zip(&names).enumerate() {
            page.add_row(step_line(number, step, name, column, registry, all));
        }
    }
    if all {
        add_plan_base(&mut page, plan);
    }
    page.finish()
}

fn step_name(step: &Step) -> String {
    format!("{} {}", phrases::operation_keyword(&step.operation), step.address)
}

fn step_line(
    number: usize,
    step: &Step,
    name: &str,
    column: usize,
    registry: Registry,
    all: bool,
) -> TextLine {
    let line = TextLine::indent(0)
        .ending_at(5, TextRole::Faint, number.to_string())
        .push_text("  ")
        .push_text(name);
    let mut line = line.to_column(9 + column).continue_at(9 + column);
    line = line.push_styled(TextRole::Faint, step_requests(step, registry).join(", "));
    if all {
        let (usual, most) = (u64::from(step.seconds), u64::from(step.timeout_seconds));
        line = line.push_text(format!(
            "  ~{}, {} at most",
            phrases::format_estimate(usual),
            phrases::format_estimate(most)
        ));
        if let Some(right) = step_right(step, registry) {
            line = line.push_styled(TextRole::Faint, format!("  needs {right}"));
        }
    }
    let after: Vec<String> = step.after.iter().map(ToString::to_string).collect();
    if after.is_empty() { line } else { line.push_text(format!("  after {}", after.join(", "))) }
}

fn request_counts(count: RequestCount) -> String {
    let RequestCount { sent, pages, limited, waited_ms } = count;
    format!("{sent} requests, {pages} of them list pages; {limited} rate-limited, {waited_ms} ms waited")
}

fn add_plan_base(page: &mut TextPage, plan: &Plan) {
    let base = &plan.base;
    let project = base.project.as_ref().map_or("does not exist yet", |project| project.as_str());
    let rows = [
        ("read", request_counts(plan.requests)),
        ("account", base.account.to_string()),
        ("project", project.to_owned()),
        ("ledger", format!("{} at record {}", base.lineage, base.serial)),
        ("config", base.config.clone()),
        ("made", format!("{} as {}", base.made_at, base.nonce)),
        ("looked at", format!("{} objects that it touches", base.objects.len())),
    ];
    page.add_line(
        TextLine::indent(0).push_styled(TextRole::Strong, "BASE").push_text("  inputs of the plan"),
    );
    for (name, text) in rows {
        page.add_row(
            TextLine::indent(2)
                .push_styled(TextRole::Faint, name)
                .to_column(13)
                .continue_at(13)
                .push_text(text),
        );
    }
}
