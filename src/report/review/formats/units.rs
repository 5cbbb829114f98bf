//! Reports of many units in one file: one comment, one log of findings, one document of metrics. Each unit's own parts are
//! those of its plan's report; its name is added wherever two units could be confused.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::markdown::{comment_marker, digests_line, units_line};
use super::{codequality, gitlab, junit, markdown, prometheus, sarif};
use crate::model::schema::Registry;
use crate::plan::model::change::Action;
use crate::report::json::{self, PlanDocumentOptions};
use crate::report::review::finding::{FindingLevel, FindingLocation, ReviewFinding, plan_findings};
use crate::report::review::view::{PlanReview, RepositoryRoot};
use crate::report::text::counts::{ActionCounts, RARE};
use crate::report::text::{escape, junit_xml, phrases};
use crate::report::units::review::{UnitReview, UnitStatus, UnitsReview};
use crate::report::views::drift::object_name;

/// Size limit of the comment in bytes, as of that of one plan.
const MAX_COMMENT_BYTES: usize = 65_000;

/// Limit on the rows of the table of units; the others are counted.
const MAX_UNIT_ROWS: usize = 200;

/// Limit on the listed objects of an account, and on the units that are not applied as configured.
const MAX_LISTED: usize = 50;

/// What the reports of many units are made from.
pub struct UnitsReport<'a> {
    /// The units, with their sums.
    pub review: &'a UnitsReview<'a>,
    /// The review of each unit's plan, by the position of the unit in `review`.
    pub plans: BTreeMap<usize, PlanReview<'a>>,
    /// The repository.
    pub root: &'a RepositoryRoot,
    /// Schemas of all kinds.
    pub registry: Registry,
    /// Command that applies exactly these plans; `None` if there is none.
    pub command: Option<&'a str>,
}

impl UnitsReport<'_> {
    /// Returns the findings for the units without a result.
    fn failures(&self) -> impl Iterator<Item = ReviewFinding> {
        let units = self.review.units().iter();
        units.filter_map(|unit| Some(failure_finding(unit, &unit.failure?.describe())))
    }

    /// Returns the findings of all plans, each with the name of its unit.
    fn findings(&self) -> Vec<ReviewFinding> {
        let of_unit = |plan: &PlanReview<'_>| {
            let unit = plan.title();
            let named = move |finding: ReviewFinding| ReviewFinding {
                text: format!("{unit}: {}", finding.text),
                subject: format!("{unit} {}", finding.subject).trim_end().to_owned(),
                ..finding
            };
            plan_findings(plan).into_iter().map(named).collect::<Vec<_>>()
        };
        self.plans.values().flat_map(of_unit).collect()
    }
}

/// Returns the finding for a unit without a result.
fn failure_finding(unit: &UnitReview<'_>, why: &str) -> ReviewFinding {
    let name = unit.name.to_string();
    let what = if unit.plan.is_none() { "it has no plan" } else { unit.status.as_text() };
    let directory = unit.directory.map(|directory| format!("{directory}/")).unwrap_or_default();
    ReviewFinding {
        rule: "unit".to_owned(),
        level: FindingLevel::Error,
        text: format!("{name}: {what}: {why}"),
        subject: name.clone(),
        unit: Some(name),
        place: FindingLocation { file: format!("{directory}stead.yaml"), line: 1, column: 1, end: None },
    }
}

/// Returns the document of many units, with source locations.
pub(super) fn units_json(of: &UnitsReport<'_>) -> String {
    json::units_document(of.review, of.registry, PlanDocumentOptions { details: true, ran: None })
}

/// Returns one SARIF log with one run: GitHub accepts 20 runs of one upload.
pub(super) fn units_sarif(of: &UnitsReport<'_>) -> String {
    let title = of.review.title.title.as_str();
    let failed: Vec<ReviewFinding> = of.failures().collect();
    let is_complete = failed.is_empty();
    let findings: Vec<ReviewFinding> = failed.into_iter().chain(of.findings()).collect();
    sarif::sarif_log(&findings, &sarif::SarifSubject { root: of.root, title, resolved: &[], is_complete })
}

/// Returns the findings of all units as GitLab's code quality report.
pub(super) fn units_code_quality(of: &UnitsReport<'_>) -> String {
    let findings: Vec<ReviewFinding> = of.failures().chain(of.findings()).collect();
    codequality::code_quality_json(&findings)
}

/// Returns a suite for each unit; one without a result has a failed test.
pub(super) fn units_junit(of: &UnitsReport<'_>) -> String {
    let suite = |(position, unit): (usize, &UnitReview<'_>)| {
        let why = unit.failure.map(|why| why.describe()).unwrap_or_default();
        let Some(plan) = of.plans.get(&position) else {
            return junit::failed_suite(&unit.name.to_string(), &why);
        };
        let mut suite = junit::plan_suite(plan);
        suite.cases.extend(unit.failure.map(|_| junit::failed_case(unit.status.as_text(), &why)));
        suite
    };
    let suites: Vec<_> = of.review.units().iter().enumerate().map(suite).collect();
    junit_xml::junit_document(&suites)
}

/// Returns the sums of all units as GitLab shows them.
pub(super) fn units_gitlab(of: &UnitsReport<'_>) -> String {
    gitlab::gitlab_counts(of.review.plans())
}

/// Returns the metrics of all units: each family once, with the samples of all units.
pub(super) fn units_metrics(of: &UnitsReport<'_>) -> String {
    let mut families: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    for plan in of.plans.values() {
        let text = prometheus::plan_metrics(plan);
        for line in text.lines() {
            let name = match line.strip_prefix("# ") {
                Some(rest) => rest.split(' ').nth(1).unwrap_or_default(),
                None => line.split(['{', ' ']).next().unwrap_or_default(),
            };
            let known = families.iter().position(|(family, ..)| family == name);
            let position = known.unwrap_or_else(|| {
                families.push((name.to_owned(), Vec::new(), Vec::new()));
                families.len() - 1
            });
            let (_, head, samples) = &mut families[position];
            if !line.starts_with('#') {
                samples.push(line.to_owned());
            } else if !head.iter().any(|known| known == line) {
                head.push(line.to_owned());
            }
        }
    }
    let lines = families.iter().flat_map(|(_, head, samples)| head.iter().chain(samples));
    let text = lines.fold(String::new(), |text, line| text + line + "\n");
    text + &of.review.drift.map(|drift| prometheus::account_metrics(&drift.accounts)).unwrap_or_default()
}

/// Returns the comment for many units: the sums, a table with a row for each unit, and the plans of the units, worst first,
/// as many as fit. What does not fit is counted.
pub(super) fn units_markdown(of: &UnitsReport<'_>) -> String {
    let foot = footer(of);
    let mut text = head(of);
    add_unit_table(&mut text, of);
    add_accounts(&mut text, of);
    let room = MAX_COMMENT_BYTES.saturating_sub(foot.len() + 200);
    let mut left_out = 0;
    for (position, unit) in of.review.units().iter().enumerate() {
        let Some(plan) = of.plans.get(&position).filter(|_| !unit.is_unremarkable()) else {
            continue;
        };
        let piece = unit_section(unit, plan);
        if left_out == 0 && text.len() + piece.len() <= room {
            text.push_str(&piece);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let units = phrases::count_noun(left_out, "unit");
        let _ = writeln!(text, "{units} did not fit here; the report `json` has them.\n");
    }
    text + &foot
}

fn sign(status: UnitStatus) -> &'static str {
    match status {
        UnitStatus::Failed | UnitStatus::Partly | UnitStatus::Blocked | UnitStatus::OutOfDate => "⛔",
        UnitStatus::Locked | UnitStatus::Skipped | UnitStatus::Drifted => "❗",
        UnitStatus::Changed => "🔷",
        UnitStatus::Applied | UnitStatus::Unchanged => "✅",
    }
}

/// Returns the counts as words, such as `2 move`, without those that are zero.
fn counted_words(counts: impl Iterator<Item = (Action, usize)>) -> impl Iterator<Item = String> {
    let counts = counts.filter(|(_, count)| *count > 0);
    counts.map(|(action, count)| format!("{count} {}", phrases::action_keyword(action)))
}

fn head(of: &UnitsReport<'_>) -> String {
    let review = of.review;
    let mut facts: Vec<String> = review
        .status_counts()
        .into_iter()
        .map(|(status, count)| format!("{count} {}", status.as_text()))
        .collect();
    let actions = [Action::Replace, Action::Delete, Action::Update, Action::Create];
    facts.extend(
        actions.map(|action| format!("{} {}", review.count(action), phrases::action_keyword(action))),
    );
    let rare = RARE.into_iter().map(|action| (action, review.count(action)));
    facts.extend(counted_words(rare));
    let outputs = review.output_count();
    facts.extend((outputs > 0).then(|| phrases::count_noun(outputs, "output")));
    facts.extend(phrases::blocked_changes(review.blocked_count()));
    let cost = review.cost();
    facts.push(format!(
        "{}{}/mo",
        review.planned_word(),
        phrases::bill_change(cost.after - cost.before, cost.unpriced)
    ));
    facts.extend(cost.left_out());
    facts.extend(review.due().facts());
    if review.destroy {
        facts.insert(0, phrases::DESTROY_FACT.to_owned());
    }
    let worst = review.units().first().map_or(UnitStatus::Unchanged, |unit| unit.status);
    let names: Vec<String> = review.units_to_apply().iter().map(ToString::to_string).collect();
    let plans: Vec<_> = of.plans.values().map(|plan| (plan.title(), plan.plan)).collect();
    let selection = match review.title.flags.as_str() {
        "" => String::new(),
        flags => format!(" · {}", markdown::code(flags)),
    };
    format!(
        "<!-- stead:{} -->\n{}{}### {} stead{selection} · {} · {}\n\n",
        comment_marker(&review.title.title),
        units_line(&names),
        digests_line(&plans),
        sign(worst),
        phrases::count_noun(review.units().len(), "unit"),
        facts.join(" · ")
    )
}

fn add_unit_table(text: &mut String, of: &UnitsReport<'_>) {
    let shown: Vec<&UnitReview<'_>> =
        of.review.units().iter().filter(|unit| unit.status != UnitStatus::Unchanged).collect();
    if shown.is_empty() {
        return;
    }
    text.push_str("| | unit | create | update | replace | delete | outputs | $/mo | |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n");
    for unit in shown.iter().take(MAX_UNIT_ROWS) {
        let counts = unit.plan.map(ActionCounts::from_plan).unwrap_or_default();
        let price = unit.bill_change();
        let why = unit.failure.map(|why| markdown::escape_text(&why.describe())).unwrap_or_default();
        let status = std::iter::once(unit.status.as_text().to_owned());
        let rare = counted_words(RARE.into_iter().map(|action| (action, counts.get(action))));
        let status: Vec<String> = status.chain(rare).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} {why} |",
            sign(unit.status),
            markdown::code(&unit.name.to_string()),
            counts.get(Action::Create),
            counts.get(Action::Update),
            counts.get(Action::Replace),
            counts.get(Action::Delete),
            unit.output_count(),
            price.unwrap_or_default(),
            status.join(" · "),
        );
    }
    if shown.len() > MAX_UNIT_ROWS {
        let _ = writeln!(text, "| … | **{} more** | | | | | | | |", shown.len() - MAX_UNIT_ROWS);
    }
    text.push('\n');
}

/// Adds what a drift check found in each account, and the units that are not applied as configured.
fn add_accounts(text: &mut String, of: &UnitsReport<'_>) {
    let Some(found) = of.review.drift else { return };
    for account in &found.accounts {
        let name = markdown::code(&account.name);
        if !account.is_known() {
            let _ = writeln!(text, "- {name}: unmanaged objects are not known");
            for reason in account.unknown.iter().take(MAX_LISTED) {
                let _ = writeln!(text, "  - {}", markdown::escape_text(reason));
            }
            continue;
        }
        let count = phrases::count_noun(account.unmanaged.len(), "unmanaged object");
        let share = account.managed_percent().map(|percent| format!(", {percent}% managed"));
        let _ = writeln!(text, "- {name}: {count}{}", share.unwrap_or_default());
        for object in account.unmanaged.iter().take(MAX_LISTED) {
            let _ = writeln!(text, "  - {}", markdown::code(&object_name(object)));
        }
        let more = account.unmanaged.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            let _ = writeln!(text, "  - {more} more");
        }
    }
    for (unit, reason) in found.not_applied.iter().take(MAX_LISTED) {
        let unit = markdown::code(&unit.to_string());
        let _ = writeln!(text, "- {unit}: not applied as configured, {}", reason.as_text());
    }
    let more = found.not_applied.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        let _ = writeln!(text, "- {more} more units are not applied as configured");
    }
    text.push('\n');
}

/// Returns the report of a unit's plan, folded, without its own marker and last line.
fn unit_section(unit: &UnitReview<'_>, plan: &PlanReview<'_>) -> String {
    let report = markdown::markdown_report(plan);
    let body = report.split_once("\n\n").map_or("", |(_, body)| body);
    let body = body.trim_end().rsplit_once("<sub>").map_or(body, |(body, _)| body);
    let name = escape::escape_line(&unit.name.to_string()).into_owned();
    let open = if unit.status == UnitStatus::Blocked { " open" } else { "" };
    format!(
        "<details{open}><summary>{} {}: {}</summary>\n\n{}\n\n</details>\n\n",
        sign(unit.status),
        markdown::escape_text(&name),
        unit.status.as_text(),
        body.trim_end()
    )
}

/// Returns the last line: the fingerprint of all plans together, their commit, and the command that applies them.
fn footer(of: &UnitsReport<'_>) -> String {
    let command = of
        .command
        .map(|command| format!(" · after merge: {}", markdown::code(command)))
        .unwrap_or_default();
    let first = of.plans.values().next();
    let commit = first.map(markdown::commit_text).unwrap_or_default();
    format!("<sub>`{}`{commit}{command}</sub>\n", of.review.fingerprint)
}
