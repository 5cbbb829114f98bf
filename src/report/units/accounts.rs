//! What a drift check of many units found beside their differences: the objects of each account that are in no ledger, and
//! the units that are not applied as configured. In: rows of live objects, and reasons. Out: the page for a terminal; the
//! other formats take the same values.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::schema::format_money;
use crate::report::text::escape::escape_line;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{Symbol, TextRole, TextStyle};
use crate::report::views::drift::object_name;
use crate::report::views::list::ObjectSummary;
use crate::workspace::unit::UnitName;

/// How many unmanaged objects of an account are named on a terminal; more are counted.
const MAX_NAMED_OBJECTS: usize = 50;

/// What one account has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AccountReview {
    /// Address of its service, with a number if several accounts have the same one.
    pub name: String,
    /// Number of the selected units that use it.
    pub units: usize,
    /// Number of its live objects that are in a ledger, as far as they were read.
    pub managed: usize,
    /// Live objects that are in no ledger; empty if that is not known.
    pub unmanaged: Vec<ObjectSummary>,
    /// Why it is not known which objects are in no ledger, one reason each; empty if it is known.
    pub unknown: Vec<String>,
    /// Kinds whose lists the key may not read, with the service's reason.
    pub left_out: Vec<(String, String)>,
}

impl AccountReview {
    /// Returns whether the unmanaged objects are known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Returns the share of the objects that are in a ledger, in percent; `None` if it is not known, or there are none.
    #[must_use]
    pub fn managed_percent(&self) -> Option<usize> {
        let known = self.is_known().then_some(self.managed * 100)?;
        known.checked_div(self.managed + self.unmanaged.len())
    }
}

/// Why a unit is not as configured, whatever its live objects are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnappliedReason {
    /// It was never applied.
    NeverApplied,
    /// Its last apply did not complete.
    Incomplete,
    /// Its configuration is another one than that of the last apply, and an apply would change something.
    ConfigurationChanged,
    /// The repository has its stack or environment no longer, and its ledger still has objects.
    Removed,
}

impl UnappliedReason {
    /// Returns the reason as a few words.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::NeverApplied => "it was never applied",
            Self::Incomplete => "its last apply did not complete",
            Self::ConfigurationChanged => "its configuration changed since the last apply",
            Self::Removed => "its stack or environment was removed from the repository",
        }
    }
}

/// What a drift check found beside the differences of the units.
#[derive(Debug, Clone, Default)]
pub struct UnitsDrift {
    /// The accounts, in the order in which the units use them.
    pub accounts: Vec<AccountReview>,
    /// Units that are not applied as configured.
    pub not_applied: BTreeMap<UnitName, UnappliedReason>,
    /// Number of managed resources of each unit.
    pub managed: BTreeMap<UnitName, usize>,
}

/// Returns the page of the accounts, and of the units that are not applied as configured; `verbose` names all objects.
#[must_use]
pub fn accounts_page(found: &UnitsDrift, verbose: bool, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for account in &found.accounts {
        add_account(&mut page, account, verbose, style);
    }
    for (unit, reason) in &found.not_applied {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Strong, unit.to_string())
                .push_text("  ")
                .push_styled(TextRole::Warning, "not applied as configured")
                .push_text(format!(": {}", reason.as_text()))
                .continue_at(2),
        );
    }
    page.finish()
}

fn add_account(page: &mut TextPage, account: &AccountReview, verbose: bool, style: TextStyle) {
    let dot = style.sign(Symbol::Dot);
    let mut head = TextLine::indent(0)
        .push_styled(TextRole::Strong, escape_line(&account.name))
        .push_text(format!(" {dot} "));
    head = match (account.is_known(), account.unmanaged.len()) {
        (false, _) => head.push_styled(TextRole::Warning, "unmanaged: not known"),
        (true, 0) => head.push_styled(TextRole::Success, "nothing unmanaged"),
        (true, count) => head.push_styled(TextRole::Warning, format!("{count} unmanaged")),
    };
    if let Some(percent) = account.managed_percent() {
        let all = account.managed + account.unmanaged.len();
        head =
            head.push_text(format!(" {dot} {percent}% of {} managed", phrases::count_noun(all, "object")));
    }
    page.add_line(head.continue_at(2));
    for reason in &account.unknown {
        page.add_line(note_line(style, escape_line(reason).as_ref()));
    }
    let shown = if verbose { usize::MAX } else { MAX_NAMED_OBJECTS };
    page.add_lines(account.unmanaged.iter().take(shown).map(|object| object_line(object, style)));
    let more = account.unmanaged.len().saturating_sub(shown);
    if more > 0 {
        page.add_line(note_line(style, &format!("{more} more: -v and --output json list them")));
    }
    for (kind, why) in &account.left_out {
        page.add_line(note_line(style, &format!("{kind} is left out: {}", escape_line(why))));
    }
}

fn note_line(style: TextStyle, text: &str) -> TextLine {
    TextLine::indent(2)
        .push_styled(TextRole::Faint, style.sign(Symbol::Dot))
        .to_column(4)
        .push_styled(TextRole::Faint, text)
        .continue_at(4)
}

fn object_line(object: &ObjectSummary, style: TextStyle) -> TextLine {
    let price = object.monthly.filter(|price| !price.is_zero());
    let price = price.map(|price| format!("{} a month", format_money(price)));
    let project = object.project.as_ref().map(|project| format!("project {project}"));
    let facts: Vec<String> =
        std::iter::once("  unmanaged".to_owned()).chain(price).chain(project).collect();
    TextLine::indent(2)
        .push_styled(TextRole::Warning, style.sign(Symbol::Unknown))
        .to_column(4)
        .push_text(object_name(object))
        .push_styled(TextRole::Faint, facts.join(", "))
        .continue_at(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> ObjectSummary {
        ObjectSummary {
            kind: "vm".into(),
            id: "7f3a".into(),
            name: Some(name.into()),
            monthly: Some(10.into()),
            project: Some("p1".into()),
            ..ObjectSummary::default()
        }
    }

    #[test]
    fn an_account_shows_what_is_unmanaged_or_why_that_is_not_known() {
        let account = AccountReview {
            name: "https://api.example.com".to_owned(),
            units: 2,
            managed: 3,
            unmanaged: vec![object("stray\u{1b}[2J")],
            unknown: Vec::new(),
            left_out: vec![("api_key".to_owned(), "403 forbidden".to_owned())],
        };
        let unknown = AccountReview {
            unmanaged: Vec::new(),
            unknown: vec!["the ledger of old/prod cannot be read: it is damaged".to_owned()],
            left_out: Vec::new(),
            ..account.clone()
        };
        let many = AccountReview { unmanaged: vec![object("x"); 52], ..account.clone() };
        let name = UnitName { stack: "app".into(), environment: "prod".into() };
        let found = UnitsDrift {
            accounts: vec![account, unknown],
            not_applied: [(name, UnappliedReason::Incomplete)].into(),
            managed: BTreeMap::new(),
        };
        insta::assert_snapshot!(accounts_page(&found, false, TextStyle::plain(100)), @r"
        https://api.example.com · 1 unmanaged · 75% of 4 objects managed
          ? vm stray\u{1b}[2J 7f3a  unmanaged, $10.00 a month, project p1
          · api_key is left out: 403 forbidden
        https://api.example.com · unmanaged: not known
          · the ledger of old/prod cannot be read: it is damaged
        app/prod  not applied as configured: its last apply did not complete
        ");
        let found = UnitsDrift { accounts: vec![many], ..UnitsDrift::default() };
        let lines = |verbose| accounts_page(&found, verbose, TextStyle::plain(100)).lines().count();
        assert_eq!((lines(false), lines(true)), (1 + 50 + 1 + 1, 1 + 52 + 1));
    }
}
