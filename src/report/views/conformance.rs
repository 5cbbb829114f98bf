//! The page of `doctor --api`: what a service showed of the contract.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::text::page::{self, Line, Page};
use crate::report::text::style::{Role, Sign, Style};

/// Widest column of subjects.
const WIDEST: usize = 44;

/// What a service showed of one assumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// It is as the contract has it.
    Confirmed,
    /// It is not.
    Different,
    /// Nothing that was read tells.
    NotSeen,
}

/// One assumption, and what was seen of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What it is about.
    pub subject: String,
    /// What the contract has.
    pub says: String,
    /// Where it stands.
    pub place: String,
    /// The specification says it; else it is assumed.
    pub documented: bool,
    /// What was seen.
    pub verdict: Shown,
    /// How it differs, or why it was not seen.
    pub how: Option<String>,
}

/// What a service showed of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The service.
    pub service: String,
    /// Requests that were sent.
    pub requests: u32,
    /// What later requests go by, each in a few words.
    pub learned: Vec<String>,
    /// Rows of a page that are asked for from now on; `None` where nothing new was learned.
    pub page_limit: Option<usize>,
    /// Requests a second, where the service tells.
    pub rate: Option<u32>,
    /// The assumptions.
    pub rows: Vec<Row>,
}

impl Report {
    /// Returns how many assumptions came to a verdict.
    #[must_use]
    pub fn count(&self, verdict: Shown) -> usize {
        self.rows_with(verdict).count()
    }

    fn rows_with(&self, verdict: Shown) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.verdict == verdict)
    }
}

/// Returns the page: what differs in full, what was not seen by its reason; with `all`, every line.
#[must_use]
pub fn contract_page(report: &Report, all: bool, style: Style) -> String {
    let mut page = Page::new(style);
    let dot = style.sign(Sign::Dot);
    page.add_line(Line::indent(0).push_styled(Role::Strong, &report.service).push_text(format!(
        " {dot} {} GET requests {dot} {} confirmed, {} different, {} not seen",
        report.requests,
        report.count(Shown::Confirmed),
        report.count(Shown::Different),
        report.count(Shown::NotSeen)
    )));
    add_verdict_rows(&mut page, report, Shown::Different, "DIFFERENT  from what the contract has", style);
    if all {
        add_verdict_rows(&mut page, report, Shown::Confirmed, "CONFIRMED", style);
        add_verdict_rows(&mut page, report, Shown::NotSeen, "NOT SEEN", style);
    } else {
        add_unseen(&mut page, report, style);
    }
    add_capabilities(&mut page, report);
    page.finish()
}

fn add_verdict_rows(page: &mut Page, report: &Report, verdict: Shown, heading: &str, style: Style) {
    let rows: Vec<&Row> = report.rows_with(verdict).collect();
    if rows.is_empty() {
        return;
    }
    page.add_line(Line::indent(0).push_styled(Role::Strong, heading));
    let widest = rows.iter().map(|row| page::display_width(&row.subject)).max().unwrap_or(0).min(WIDEST);
    let (sign, role) = match verdict {
        Shown::Confirmed => (Sign::Tick, Role::Good),
        Shown::Different => (Sign::Unequal, Role::Warn),
        Shown::NotSeen => (Sign::Dot, Role::Faint),
    };
    for row in rows {
        let line = Line::indent(2)
            .push_styled(role, style.sign(sign))
            .to_column(5)
            .push_styled(Role::Strong, &row.subject);
        let line = line.to_column(7 + widest).continue_at(7 + widest).push_text(&row.says);
        let line = match &row.how {
            Some(how) => line.push_text(": ").push_styled(role, how),
            None => line,
        };
        let said = if row.documented { "said" } else { "assumed" };
        page.add_line(line.push_styled(Role::Faint, format!(" ({said}: {})", row.place)));
    }
}

fn add_unseen(page: &mut Page, report: &Report, style: Style) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in report.rows_with(Shown::NotSeen) {
        reasons.entry(row.how.as_deref().unwrap_or_default()).or_default().push(&row.subject);
    }
    if reasons.is_empty() {
        return;
    }
    page.add_line(
        Line::indent(0).push_styled(Role::Strong, "NOT SEEN").push_styled(Role::Faint, "  -v names each"),
    );
    for (reason, subjects) in reasons {
        let line =
            Line::indent(2).push_styled(Role::Faint, style.sign(Sign::Dot)).to_column(5).push_text(reason);
        let line = match subjects.as_slice() {
            [subject] => line.push_text(format!(": {subject}")),
            subjects => line.push_text(format!(": {} assumptions", subjects.len())),
        };
        page.add_line(line);
    }
}

fn add_capabilities(page: &mut Page, report: &Report) {
    if !report.learned.is_empty() {
        page.add_line(
            Line::indent(0)
                .push_styled(Role::Strong, "LEARNED")
                .push_text(format!("  {}", report.learned.join(", "))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let row = |subject: &str, verdict, how: Option<&str>| Row {
            subject: subject.into(),
            says: "a whole number".into(),
            place: "contract, 3".into(),
            documented: subject.ends_with('m'),
            verdict,
            how: how.map(Into::into),
        };
        Report {
            service: "https://api.example.com".into(),
            requests: 40,
            learned: vec!["pages of 50 rows".into(), "30 requests a second".into()],
            page_limit: Some(50),
            rate: Some(30),
            rows: vec![
                row("machine.ram", Shown::Different, Some("text in 3 of 3 records")),
                row("machine.cpu", Shown::Confirmed, None),
                row("machine.x", Shown::NotSeen, Some("no object has it")),
                row("machine.y", Shown::NotSeen, Some("no object has it")),
            ],
        }
    }

    #[test]
    fn what_differs_is_told_and_what_was_not_seen_is_summed_up() {
        insta::assert_snapshot!(contract_page(&report(), false, Style::plain(100)), @r#"
    https://api.example.com · 40 GET requests · 1 confirmed, 1 different, 2 not seen
    DIFFERENT  from what the contract has
      ≠  machine.ram  a whole number: text in 3 of 3 records (said: contract, 3)
    NOT SEEN  -v names each
      ·  no object has it: 2 assumptions
    LEARNED  pages of 50 rows, 30 requests a second
    "#);
        let all = contract_page(&report(), true, Style::plain(100));
        let subjects = ["machine.ram", "machine.cpu", "machine.x", "machine.y"];
        assert!(subjects.iter().all(|subject| all.contains(subject)), "{all}");
    }
}
