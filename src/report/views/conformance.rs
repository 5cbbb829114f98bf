//! The page of `doctor --api`: how a service conforms to the contract.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::style::{Symbol, TextRole, TextStyle};

/// Limit on the width of the column of subjects.
const MAX_SUBJECT_WIDTH: usize = 44;

/// The result of checking one assumption against a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConformanceStatus {
    /// The service behaves as the contract states.
    Confirmed,
    /// The service behaves differently.
    Different,
    /// No response allows a conclusion.
    NotSeen,
}

/// One assumption of the contract and the result of checking it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssumptionResult {
    /// What the assumption is about.
    pub subject: String,
    /// What the contract states.
    pub says: String,
    /// Location of the statement.
    pub place: String,
    /// Whether the specification documents it; otherwise it is assumed.
    pub documented: bool,
    /// Result of the check.
    pub verdict: ConformanceStatus,
    /// The difference, or why the check was inconclusive; `None` if confirmed.
    pub how: Option<String>,
}

/// The conformance of a service to the contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConformanceReport {
    /// Name or address of the service.
    pub service: String,
    /// Number of requests that the check sent.
    pub requests: u32,
    /// Discovered capabilities that later requests make use of, one phrase each.
    pub learned: Vec<String>,
    /// Page size for later list requests; `None` if nothing new was learned.
    pub page_limit: Option<usize>,
    /// Requests per second, if the service reports its limit.
    pub rate: Option<u32>,
    /// The checked assumptions, in order.
    pub rows: Vec<AssumptionResult>,
}

impl ConformanceReport {
    /// Returns how many assumptions have this result.
    #[must_use]
    pub fn count(&self, verdict: ConformanceStatus) -> usize {
        self.rows_with(verdict).count()
    }

    fn rows_with(&self, verdict: ConformanceStatus) -> impl Iterator<Item = &AssumptionResult> {
        self.rows.iter().filter(move |row| row.verdict == verdict)
    }
}

/// Returns the page: differences in full, inconclusive checks grouped by reason; with `all`,
/// one line for each assumption.
#[must_use]
pub fn contract_page(report: &ConformanceReport, all: bool, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let dot = style.sign(Symbol::Dot);
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, &report.service).push_text(format!(
        " {dot} {} GET requests {dot} {} confirmed, {} different, {} not seen",
        report.requests,
        report.count(ConformanceStatus::Confirmed),
        report.count(ConformanceStatus::Different),
        report.count(ConformanceStatus::NotSeen)
    )));
    add_verdict_rows(
        &mut page,
        report,
        ConformanceStatus::Different,
        "DIFFERENT  from what the contract has",
        style,
    );
    if all {
        add_verdict_rows(&mut page, report, ConformanceStatus::Confirmed, "CONFIRMED", style);
        add_verdict_rows(&mut page, report, ConformanceStatus::NotSeen, "NOT SEEN", style);
    } else {
        add_unseen(&mut page, report, style);
    }
    add_capabilities(&mut page, report);
    page.finish()
}

fn add_verdict_rows(
    page: &mut TextPage,
    report: &ConformanceReport,
    verdict: ConformanceStatus,
    heading: &str,
    style: TextStyle,
) {
    let rows: Vec<&AssumptionResult> = report.rows_with(verdict).collect();
    if rows.is_empty() {
        return;
    }
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, heading));
    let widest =
        rows.iter().map(|row| page::display_width(&row.subject)).max().unwrap_or(0).min(MAX_SUBJECT_WIDTH);
    let (sign, role) = match verdict {
        ConformanceStatus::Confirmed => (Symbol::Tick, TextRole::Success),
        ConformanceStatus::Different => (Symbol::NotEqual, TextRole::Warning),
        ConformanceStatus::NotSeen => (Symbol::Dot, TextRole::Faint),
    };
    for row in rows {
        let line = TextLine::indent(2)
            .push_styled(role, style.sign(sign))
            .to_column(5)
            .push_styled(TextRole::Strong, &row.subject);
        let line = line.to_column(7 + widest).continue_at(7 + widest).push_text(&row.says);
        let line = match &row.how {
            Some(how) => line.push_text(": ").push_styled(role, how),
            None => line,
        };
        let said = if row.documented { "said" } else { "assumed" };
        page.add_line(line.push_styled(TextRole::Faint, format!(" ({said}: {})", row.place)));
    }
}

fn add_unseen(page: &mut TextPage, report: &ConformanceReport, style: TextStyle) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in report.rows_with(ConformanceStatus::NotSeen) {
        reasons.entry(row.how.as_deref().unwrap_or_default()).or_default().push(&row.subject);
    }
    if reasons.is_empty() {
        return;
    }
    page.add_line(
        TextLine::indent(0)
            .push_styled(TextRole::Strong, "NOT SEEN")
            .push_styled(TextRole::Faint, "  -v names each"),
    );
    for (reason, subjects) in reasons {
        let line = TextLine::indent(2)
            .push_styled(TextRole::Faint, style.sign(Symbol::Dot))
            .to_column(5)
            .push_text(reason);
        let line = match subjects.as_slice() {
            [subject] => line.push_text(format!(": {subject}")),
            subjects => line.push_text(format!(": {} assumptions", subjects.len())),
        };
        page.add_line(line);
    }
}

fn add_capabilities(page: &mut TextPage, report: &ConformanceReport) {
    if !report.learned.is_empty() {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Strong, "LEARNED")
                .push_text(format!("  {}", report.learned.join(", "))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> ConformanceReport {
        let row = |subject: &str, verdict, how: Option<&str>| AssumptionResult {
            subject: subject.into(),
            says: "a whole number".into(),
            place: "contract, 3".into(),
            documented: subject.ends_with('m'),
            verdict,
            how: how.map(Into::into),
        };
        ConformanceReport {
            service: "https://api.example.com".into(),
            requests: 40,
            learned: vec!["pages of 50 rows".into(), "30 requests a second".into()],
            page_limit: Some(50),
            rate: Some(30),
            rows: vec![
                row("machine.ram", ConformanceStatus::Different, Some("text in 3 of 3 records")),
                row("machine.cpu", ConformanceStatus::Confirmed, None),
                row("machine.x", ConformanceStatus::NotSeen, Some("no object has it")),
                row("machine.y", ConformanceStatus::NotSeen, Some("no object has it")),
            ],
        }
    }

    #[test]
    fn differences_are_listed_and_unseen_items_summarized() {
        insta::assert_snapshot!(contract_page(&report(), false, TextStyle::plain(100)), @r#"
    https://api.example.com · 40 GET requests · 1 confirmed, 1 different, 2 not seen
    DIFFERENT  from what the contract has
      ≠  machine.ram  a whole number: text in 3 of 3 records (said: contract, 3)
    NOT SEEN  -v names each
      ·  no object has it: 2 assumptions
    LEARNED  pages of 50 rows, 30 requests a second
    "#);
        let all = contract_page(&report(), true, TextStyle::plain(100));
        let subjects = ["machine.ram", "machine.cpu", "machine.x", "machine.y"];
        assert!(subjects.iter().all(|subject| all.contains(subject)), "{all}");
    }
}
