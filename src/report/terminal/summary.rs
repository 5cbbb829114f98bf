//! The end of the plan page: blockers, policy results, cost, time and totals.

use crate::model::schema::format_money;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Plan, PolicyResult};
use crate::plan::model::step::Step;
use crate::report::groups;
use crate::report::text::counts::ActionCounts;
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::policy_results;
use crate::report::text::style::{Symbol, TextRole};

/// How many links of the critical path to show; in a longer path one entry counts those in the middle.
const MAX_PATH_STEPS: usize = 6;

/// How many resources to name whose difference is charged at once.
const MAX_CHARGED: usize = 3;

/// Adds blockers, cost, time and totals: equal blockers as one, unless `complete` is set; with `verbose`, also the
/// fingerprint that commands accept.
pub(super) fn add_footer(page: &mut TextPage, plan: &Plan, complete: bool, verbose: bool) {
    if complete {
        add_blockers(page, &plan.blocks.iter().collect::<Vec<_>>(), &plan.policy);
    } else {
        let blocks = groups::group_blockers(plan.blocks.iter());
        add_blockers(page, &blocks.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &plan.policy);
    }
    policy_results::add_policy_results(page, plan.policy.iter(), complete);
    add_cost(page, plan);
    add_duration(page, plan);
    add_totals(page, plan);
    if verbose {
        page.add_line(
            TextLine::indent(7).push_styled(TextRole::Faint, format!("fingerprint {}", plan.fingerprint)),
        );
    }
    if !plan.blocks.is_empty() {
        let count = phrases::count_noun(plan.blocks.len(), "problem");
        let text = if plan.blocks.iter().all(Blocker::only_freezes) {
            format!("Blocked in part by {count}: the rest can be applied.")
        } else {
            format!("Blocked by {count}: this plan will not be applied.")
        };
        page.add_line(TextLine::indent(0).push_styled(TextRole::Danger, text));
    }
}

fn add_blockers(page: &mut TextPage, blocks: &[&Blocker], results: &[PolicyResult]) {
    if blocks.is_empty() {
        return;
    }
    page.add_line(TextLine::indent(0).push_styled(TextRole::Danger, "BLOCKED"));
    let code = blocks.iter().map(|block| page::display_width(&block.code)).max().unwrap_or(0);
    for block in blocks {
        let mut line = TextLine::indent(2)
            .push_styled(TextRole::Danger, page.sign(Symbol::Blocked))
            .push_text(" ")
            .push_styled(TextRole::Danger, &block.code)
            .to_column(code + 6)
            .continue_at(code + 6);
        if let Some(address) = &block.address {
            line = line.push_styled(TextRole::Strong, address.as_str()).push_text("  ");
        }
        line = line.push_text(&block.text);
        if let Some(claims) = policy_results::claims_of_blocker(block, results) {
            line = line.push_styled(TextRole::Faint, format!(" ({claims})"));
        }
        if let Some(place) = &block.source {
            line = line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line));
        }
        page.add_line(line);
        if !block.help.is_empty() {
            page.add_line(
                TextLine::indent(code + 6)
                    .push_styled(TextRole::Faint, "help: ")
                    .push_text(&block.help)
                    .continue_at(code + 12),
            );
        }
    }
}

fn add_cost(page: &mut TextPage, plan: &Plan) {
    let cost = &plan.cost;
    let due = phrases::due_total(&cost.due);
    if due.is_none() && cost.monthly_before.is_zero() && cost.monthly_after.is_zero() && cost.unpriced == 0
    {
        return;
    }
    let (arrow, dot) = (page.sign(Symbol::Arrow), page.sign(Symbol::Dot));
    let delta = cost.monthly_after - cost.monthly_before;
    let role =
        if delta.is_sign_positive() && !delta.is_zero() { TextRole::Warning } else { TextRole::Plain };
    let mut line = label_line("COST").push_text(format!(
        "{} {arrow} {} a month (",
        format_money(cost.monthly_before),
        format_money(cost.monthly_after)
    ));
    line = line.push_styled(role, phrases::bill_change(delta, cost.unpriced)).push_text(")");
    if let Some(read) = cost.priced_at {
        line = line.push_text(format!(" {dot} prices of {}", read.strftime("%-d %b %Y")));
    }
    if let Some(left_out) = phrases::unpriced_count(cost.unpriced) {
        line = line.push_styled(TextRole::Warning, format!(" {dot} {left_out}"));
    }
    page.add_line(line);
    let charged = groups::charged_at_once(plan);
    if !charged.is_empty() {
        let names = phrases::join_words(charged.iter().map(|change| change.address.as_str()), MAX_CHARGED);
        page.add_line(
            TextLine::indent(7).push_text(format!("charged or credited at once: {names}")).continue_at(9),
        );
    }
    for (name, pinned, now) in &cost.moved {
        let text =
            format!("price of {name} changed: {} {arrow} {}", format_money(*pinned), format_money(*now));
        page.add_line(TextLine::indent(7).push_styled(TextRole::Warning, text));
    }
    add_due(page, due);
}

/// Adds what is due at once below the monthly figures, which do not contain it.
pub(super) fn add_due(page: &mut TextPage, due: Option<(String, String)>) {
    let Some((amount, unknown)) = due else { return };
    let mut line = TextLine::indent(7).push_text(format!("due now: {amount}")).continue_at(7);
    if !unknown.is_empty() {
        let dot = page.sign(Symbol::Dot);
        line = line.push_styled(TextRole::Warning, format!(" {dot} {unknown}"));
    }
    page.add_line(line);
}

fn add_duration(page: &mut TextPage, plan: &Plan) {
    let path = &plan.critical_path;
    if path.seconds == 0 {
        return;
    }
    let steps: Vec<&Step> = path.steps.iter().filter_map(|number| plan.steps.get(*number)).collect();
    let mut links: Vec<(&str, &str, u64)> = Vec::new();
    for step in steps {
        let verb = phrases::operation_keyword(&step.operation);
        match links.last_mut() {
            Some((last, address, seconds)) if *address == step.address.as_str() && *last == verb => {
                *seconds += u64::from(step.seconds);
            }
            _ => links.push((verb, step.address.as_str(), step.seconds.into())),
        }
    }
    let arrow = page.sign(Symbol::Arrow);
    let said = links
        .iter()
        .map(|(verb, address, seconds)| format!("{verb} {address} {}", phrases::format_estimate(*seconds)));
    let mut said: Vec<String> = said.collect();
    if said.len() > MAX_PATH_STEPS {
        let rest = said.len() - (MAX_PATH_STEPS - 1);
        said.splice(MAX_PATH_STEPS / 2..MAX_PATH_STEPS / 2 + rest, [format!("{rest} more")]);
    }
    let mut line =
        label_line("TIME").push_text(format!("about {}", phrases::format_estimate(path.seconds.into())));
    if !said.is_empty() {
        line = line.push_text(format!(": {}", said.join(&format!(" {arrow} "))));
    }
    if plan.steps.len() > path.steps.len() {
        line = line.push_text("; the other steps run in parallel");
    }
    page.add_line(line);
}

fn add_totals(page: &mut TextPage, plan: &Plan) {
    let counts = ActionCounts::from_plan(plan);
    let shown = [
        (Action::Create, true),
        (Action::Update, true),
        (Action::Replace, true),
        (Action::Delete, true),
        (Action::Adopt, false),
        (Action::Move, false),
        (Action::Forget, false),
    ];
    let dot = format!(" {} ", page.sign(Symbol::Dot));
    let mut said: Vec<String> = shown
        .into_iter()
        .map(|(action, always)| (action, always, counts.get(action)))
        .filter(|(_, always, count)| *always || *count > 0)
        .map(|(action, _, count)| format!("{count} {}", phrases::action_keyword(action)))
        .collect();
    said.push(format!("{} unchanged", plan.unchanged));
    said.extend((plan.left_out > 0).then(|| format!("{} left out", plan.left_out)));
    let outputs = plan.output_changes().count();
    said.extend((outputs > 0).then(|| phrases::count_noun(outputs, "output")));
    page.add_line(label_line("PLAN").push_text(said.join(&dot)).at_end(
        TextRole::Strong,
        format!("fingerprint {}", phrases::short_fingerprint(&plan.fingerprint)),
    ));
}

fn label_line(word: &str) -> TextLine {
    TextLine::indent(0).push_styled(TextRole::Strong, word).to_column(7).continue_at(7)
}
