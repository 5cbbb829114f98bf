//! The page of `doctor`: a checklist with remedies.

use serde::Serialize;

use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::style::{Symbol, TextRole, TextStyle};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Everything is as it should be.
    Ok,
    /// It works, but the user should look at it.
    Warning,
    /// It does not work; the check has a remedy if one is known.
    Failed,
    /// The check did not run: it does not apply, or an earlier check failed.
    Skipped,
}

/// One line of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// Subject of the check.
    pub name: &'static str,
    /// Result of the check.
    pub verdict: CheckStatus,
    /// The finding, in one sentence.
    pub detail: String,
    /// What to do about it, as a command if possible; `None` if there is nothing to do.
    pub remedy: Option<String>,
}

impl DoctorCheck {
    const fn new(name: &'static str, verdict: CheckStatus, detail: String) -> Self {
        Self { name, verdict, detail, remedy: None }
    }

    /// Returns a check with the result `Ok`.
    #[must_use]
    pub fn new_ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Ok, detail.into())
    }

    /// Returns a check with the result `Warning`.
    #[must_use]
    pub fn new_warning(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Warning, detail.into())
    }

    /// Returns a check with the result `Failed`.
    #[must_use]
    pub fn new_failed(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Failed, detail.into())
    }

    /// Returns a check with the result `Skipped`.
    #[must_use]
    pub fn new_skipped(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Skipped, detail.into())
    }

    /// Adds a remedy; an empty text adds none.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into()).filter(|remedy| !remedy.is_empty());
        self
    }
}

/// Returns whether any check failed.
#[must_use]
pub fn any_failed(checks: &[DoctorCheck]) -> bool {
    checks.iter().any(|check| check.verdict == CheckStatus::Failed)
}

/// Returns the checklist as text.
#[must_use]
pub fn render_checklist(checks: &[DoctorCheck], style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let column = 4 + checks.iter().map(|check| page::display_width(check.name)).max().unwrap_or(0);
    for check in checks {
        let (sign, role) = verdict_sign(check.verdict);
        let line = TextLine::indent(0)
            .push_styled(role, style.sign(sign))
            .to_column(3)
            .push_styled(TextRole::Strong, check.name);
        page.add_line(line.to_column(column + 1).continue_at(column + 1).push_text(&check.detail));
        if let Some(remedy) = &check.remedy {
            page.add_line(
                TextLine::indent(column + 1).continue_at(column + 1).push_styled(TextRole::Change, remedy),
            );
        }
    }
    page.add_line(TextLine::indent(0).push_styled(TextRole::Faint, summarize_checks(checks)));
    page.finish()
}

const fn verdict_sign(verdict: CheckStatus) -> (Symbol, TextRole) {
    match verdict {
        CheckStatus::Ok => (Symbol::Tick, TextRole::Success),
        CheckStatus::Warning => (Symbol::Warning, TextRole::Warning),
        CheckStatus::Failed => (Symbol::Cross, TextRole::Danger),
        CheckStatus::Skipped => (Symbol::Dot, TextRole::Faint),
    }
}

fn summarize_checks(checks: &[DoctorCheck]) -> String {
    let count = |wanted| checks.iter().filter(|check| check.verdict == wanted).count();
    format!(
        "{} ok, {} to look at, {} failed, {} not checked",
        count(CheckStatus::Ok),
        count(CheckStatus::Warning),
        count(CheckStatus::Failed),
        count(CheckStatus::Skipped)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json;

    fn checks() -> Vec<DoctorCheck> {
        vec![
            DoctorCheck::new_ok("service", "https://api.example.com"),
            DoctorCheck::new_warning("clock", "It is 90 s behind the service's.").with_remedy("Set it."),
            DoctorCheck::new_failed("key", "There is \u{1b}[2J none.").with_remedy("stead login"),
            DoctorCheck::new_skipped("ledger", "stack here does not exist."),
        ]
    }

    #[test]
    fn each_failed_check_shows_a_remedy_below_it() {
        insta::assert_snapshot!(render_checklist(&checks(), TextStyle::plain(80)), @r#"
    ✓  service  https://api.example.com
    !  clock    It is 90 s behind the service's.
                Set it.
    ✗  key      There is \u{1b}[2J none.
                stead login
    ·  ledger   stack here does not exist.
    1 ok, 1 to look at, 1 failed, 1 not checked
    "#);
        assert!(any_failed(&checks()) && !any_failed(&checks()[..2]));
    }

    #[test]
    fn the_json_document_contains_the_same_checks() {
        insta::assert_snapshot!(json::doctor_document(&checks()[1..2]), @r#"
    {
      "schema_version": 1,
      "checks": [
        {
          "name": "clock",
          "verdict": "warning",
          "detail": "It is 90 s behind the service's.",
          "remedy": "Set it."
        }
      ]
    }
    "#);
    }
}
