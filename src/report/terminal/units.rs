//! The page of many units: the plan of each unit with changes or blockers, worst first, the failures, the units without
//! changes in one line, and the sums.

use super::plan::{PlanContext, plan_page};
use super::summary::add_due;
use crate::model::schema::format_money;
use crate::plan::model::change::{Action, PolicyStatus};
use crate::plan::model::policy_outcome::PolicyOutcome;
use crate::report::text::counts::RARE;
use crate::report::text::escape::escape_line;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::policy_results::{add_policy_outcomes, count_warnings};
use crate::report::text::style::{Symbol, TextRole, TextStyle};
use crate::report::units::review::{UnitReview, UnitStatus, UnitsReview};
use crate::workspace::unit::UnitName;

/// How many units without changes are named; more are only counted.
const MAX_NAMED_UNITS: usize = 12;

/// Returns a review of many units as text. `details` has the facts that are shown with a unit's plan.
#[must_use]
pub fn units_page(
    review: &UnitsReview<'_>,
    details: &dyn Fn(&UnitReview<'_>) -> PlanContext,
    verbose: bool,
    style: TextStyle,
) -> String {
    let mut text = String::new();
    for unit in review.units().iter().filter(|unit| verbose || !unit.is_unremarkable()) {
        if let Some(plan) = unit.plan {
            text.push_str(&plan_page(plan, &details(unit), verbose, style));
            text.push('\n');
        } else if let Some(failure) = unit.failure {
            let mut page = TextPage::new(style);
            page.add_line(
                TextLine::indent(0)
                    .push_styled(TextRole::Strong, unit.name.to_string())
                    .push_text("  ")
                    .push_styled(TextRole::Danger, unit.status.as_text())
                    .push_text(format!(": {}", escape_line(failure.message)))
                    .continue_at(2),
            );
            for help in failure.help.iter().filter(|help| !help.is_empty()) {
                let help = TextLine::indent(2).push_styled(TextRole::Faint, "help: ").push_text(help);
                page.add_line(help.continue_at(8));
            }
            text.push_str(&page.finish());
            text.push('\n');
        }
    }
    text + &summary_page(review, verbose, style)
}

/// Returns the result of an apply of many units as text: the units that are not as the plans say, and how many have which
/// status.
#[must_use]
pub fn units_run_page(review: &UnitsReview<'_>, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for unit in review.units().iter().filter(|unit| unit.status < UnitStatus::Changed) {
        let mut line = TextLine::indent(0)
            .push_styled(TextRole::Strong, unit.name.to_string())
            .push_text("  ")
            .push_styled(TextRole::Danger, unit.status.as_text())
            .continue_at(2);
        if let Some(failure) = unit.failure {
            line = line.push_text(format!(": {}", escape_line(failure.message)));
        }
        page.add_line(line);
    }
    let dot = format!(" {} ", page.sign(Symbol::Dot));
    let counts = review.status_counts();
    page.add_line(match counts.as_slice() {
        // A set of plans has only units with something to do, and all of them are done.
        [] => label_line("UNITS").push_text("nothing is left to do"),
        counts => units_line(counts, &dot),
    });
    let due = review.due().facts();
    if !due.is_empty() {
        page.add_line(label_line("COST").push_text(due.join(&dot)));
    }
    page.finish()
}

/// Returns what the policies of one of many units said that were left to its apply; empty if all of them passed.
#[must_use]
pub fn unit_policies_page(unit: &UnitName, policies: &[PolicyOutcome], style: TextStyle) -> String {
    if policies.iter().all(|policy| policy.result.verdict == PolicyStatus::Pass) {
        return String::new();
    }
    let mut page = TextPage::new(style);
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, unit.to_string()));
    add_policy_outcomes(&mut page, policies);
    page.finish()
}

fn summary_page(review: &UnitsReview<'_>, verbose: bool, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let dot = format!(" {} ", page.sign(Symbol::Dot));
    let unchanged: Vec<&UnitReview<'_>> =
        review.units().iter().filter(|unit| unit.is_unremarkable()).collect();
    if !unchanged.is_empty() && !verbose {
        let mut names: Vec<String> =
            unchanged.iter().take(MAX_NAMED_UNITS).map(|unit| unit.name.to_string()).collect();
        let more = unchanged.len().saturating_sub(MAX_NAMED_UNITS);
        names.extend((more > 0).then(|| format!("{more} more")));
        let word = if review.destroy { "Nothing left to destroy" } else { "No changes" };
        let line = TextLine::indent(0)
            .push_styled(TextRole::Success, word)
            .push_text(dot.as_str())
            .push_text(names.join(", "))
            .continue_at(2);
        let results = unchanged.iter().filter_map(|unit| unit.plan).flat_map(|plan| &plan.policy);
        page.add_line(match count_warnings(results) {
            Some(counted) => line.push_styled(TextRole::Faint, format!("{dot}{counted}")),
            None => line,
        });
    }
    let counts = review.status_counts();
    page.add_line(units_line(&counts, &dot));
    let cost = review.cost();
    let due = phrases::due_total(&cost.due);
    if due.is_some() || !(cost.before.is_zero() && cost.after.is_zero() && cost.unpriced == 0) {
        let mut line = label_line("COST").push_text(format!(
            "{} {} {} a month ({})",
            format_money(cost.before),
            page.sign(Symbol::Arrow),
            format_money(cost.after),
            phrases::bill_change(cost.after - cost.before, cost.unpriced)
        ));
        for left_out in cost.left_out() {
            line = line.push_styled(TextRole::Warning, format!("{dot}{left_out}"));
        }
        page.add_line(line);
        add_due(&mut page, due);
    }
    let always = [Action::Create, Action::Update, Action::Replace, Action::Delete];
    let shown = always.into_iter().chain(RARE.into_iter().filter(|action| review.count(*action) > 0));
    let mut said: Vec<String> = shown
        .map(|action| format!("{} {}", review.count(action), phrases::action_keyword(action)))
        .collect();
    let outputs = review.output_count();
    said.extend((outputs > 0).then(|| phrases::count_noun(outputs, "output")));
    said.extend(phrases::blocked_changes(review.blocked_count()));
    page.add_line(label_line("PLAN").push_text(said.join(&dot)).at_end(
        TextRole::Strong,
        format!("fingerprint {}", phrases::short_fingerprint(review.fingerprint)),
    ));
    if verbose {
        let text = format!("fingerprint {}", review.fingerprint);
        page.add_line(TextLine::indent(7).push_styled(TextRole::Faint, text));
    }
    page.finish()
}

/// Returns the line with the number of units of each status.
fn units_line(counts: &[(UnitStatus, usize)], dot: &str) -> TextLine {
    let said: Vec<String> =
        counts.iter().map(|(status, count)| format!("{count} {}", status.as_text())).collect();
    let said = if said.is_empty() { "none".to_owned() } else { said.join(dot) };
    label_line("UNITS").push_text(said)
}

fn label_line(word: &str) -> TextLine {
    TextLine::indent(0).push_styled(TextRole::Strong, word).to_column(7).continue_at(7)
}
