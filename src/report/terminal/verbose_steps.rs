//! What stands beneath a plan for those who ask for more: its steps in their order with their requests, and
//! what it was made from.

use crate::model::schema::Registry;
use crate::model::snapshot::RequestCount;
use crate::plan::model::change::Plan;
use crate::plan::model::step::Step;
use crate::report::json::requests;
use crate::report::text::page::{self, Line, Page};
use crate::report::text::phrases;
use crate::report::text::style::{Role, Style};

/// The widest column of addresses and operations; a longer one pushes its own line only.
const WIDEST: usize = 44;

/// Returns the steps of a plan; with `all`, how long each takes and may take, and what the plan stands on.
#[must_use]
pub fn beneath(plan: &Plan, registry: Registry, all: bool, style: Style) -> String {
    let mut page = Page::new(style);
    if !plan.steps.is_empty() {
        page.line(
            Line::indent(0).put(Role::Strong, "STEPS").say("  each once those are done that it names"),
        );
        let names: Vec<String> = plan.steps.iter().map(name).collect();
        let column = names.iter().map(|name| page::width(name)).max().unwrap_or(0).min(WIDEST);
        for (number, (step, name)) in plan.steps.iter().zip(&names).enumerate() {
            page.row(line(number, step, name, column, registry, all));
        }
    }
    if all {
        base(&mut page, plan);
    }
    page.finish()
}

fn name(step: &Step) -> String {
    format!("{} {}", phrases::operation(&step.operation), step.address)
}

fn line(number: usize, step: &Step, name: &str, column: usize, registry: Registry, all: bool) -> Line {
    let line = Line::indent(0).ending_at(5, Role::Faint, number.to_string()).say("  ").say(name);
    let mut line = line.to_column(9 + column).hanging(9 + column);
    line = line.put(Role::Faint, requests(step, registry).join(", "));
    if all {
        let (usual, most) = (u64::from(step.seconds), u64::from(step.timeout_seconds));
        line = line.say(format!("  ~{}, {} at most", phrases::estimate(usual), phrases::estimate(most)));
    }
    let after: Vec<String> = step.after.iter().map(ToString::to_string).collect();
    if after.is_empty() { line } else { line.say(format!("  after {}", after.join(", "))) }
}

fn read(count: RequestCount) -> String {
    let RequestCount { sent, pages, limited, waited_ms } = count;
    format!(
        "{sent} requests, {pages} of them pages of lists; {limited} came too early, {waited_ms} ms waited"
    )
}

fn base(page: &mut Page, plan: &Plan) {
    let base = &plan.base;
    let project = base.project.as_ref().map_or("not there yet", |project| project.as_str());
    let rows = [
        ("read", read(plan.requests)),
        ("account", base.account.to_string()),
        ("project", project.to_owned()),
        ("ledger", format!("{} at record {}", base.lineage, base.serial)),
        ("config", base.config.clone()),
        ("made", format!("{} as {}", base.made_at, base.nonce)),
        ("looked at", format!("{} objects that it touches", base.objects.len())),
    ];
    page.line(Line::indent(0).put(Role::Strong, "BASE").say("  what it was made from"));
    for (name, text) in rows {
        page.row(Line::indent(2).put(Role::Faint, name).to_column(13).hanging(13).say(text));
    }
}
