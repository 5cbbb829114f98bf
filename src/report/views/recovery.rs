//! The page of `recover`: objects that were matched, ambiguous matches, and missing objects.

use serde::Serialize;

use crate::model::address::Address;
use crate::plan::import::rebuild_ledger::{AmbiguousMatch, MatchCandidate, RebuiltEntry, RebuiltLedger};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// The confidence that an object belongs to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MatchConfidence {
    /// All declared attributes that can be read have their declared values.
    Exact,
    /// Some declared attributes have other values.
    Likely,
}

impl MatchConfidence {
    /// Returns the confidence in a candidate.
    #[must_use]
    pub fn from_candidate(candidate: &MatchCandidate) -> Self {
        if candidate.is_exact() { Self::Exact } else { Self::Likely }
    }

    /// Returns the confidence as a word.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Likely => "likely",
        }
    }
}

/// Returns the page of a rebuilt ledger.
#[must_use]
pub fn recovery_page(recovery: &RebuiltLedger, style: TextStyle) -> String {
    let mut text = found_table(recovery).to_text("No objects were found.", style);
    let mut page = TextPage::new(style);
    for tie in &recovery.ties {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Warning, tie.address.as_str())
                .push_text(" could be any of these:"),
        );
        for candidate in &tie.candidates {
            page.add_line(TextLine::indent(2).push_text(in_words(candidate)));
        }
        if !tie.rivals.is_empty() {
            let rivals: Vec<&str> = tie.rivals.iter().map(Address::as_str).collect();
            page.add_line(TextLine::indent(2).push_text(format!("and so could {}", rivals.join(", "))));
        }
    }
    for address in &recovery.missing {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Faint, address.as_str())
                .push_text(" is not live: an apply creates it"),
        );
    }
    text.push_str(&page.finish());
    text
}

fn found_table(recovery: &RebuiltLedger) -> ReportTable {
    let columns = vec![
        TableColumn::text("address"),
        TableColumn::text("id"),
        TableColumn::text("confidence"),
        TableColumn::text("differs"),
    ];
    let row = |found: &RebuiltEntry| {
        vec![
            TableCell::Text(found.address.to_string()),
            TableCell::Text(found.candidate.id.to_string()),
            TableCell::Text(MatchConfidence::from_candidate(&found.candidate).as_text().to_owned()),
            TableCell::Text(found.candidate.differs.join(", ")),
        ]
    };
    ReportTable { rows: recovery.found.iter().map(row).collect(), columns }
}

/// Returns an object in one line: its id, its age, and the attributes that differ.
#[must_use]
pub fn in_words(candidate: &MatchCandidate) -> String {
    let made = candidate.created_at.as_ref().map_or_else(String::new, |at| format!(", made {at}"));
    let differs = match candidate.differs.join(", ") {
        names if names.is_empty() => ", as written".to_owned(),
        names => format!(", differs in {names}"),
    };
    format!("{}{made}{differs}", candidate.id)
}

/// Returns the question about an ambiguous match, with the candidates numbered.
#[must_use]
pub fn ambiguity_prompt(tie: &AmbiguousMatch, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    page.add_line(TextLine::indent(0).push_text(format!("Which one is {}?", tie.address)));
    for (number, candidate) in (1..).zip(&tie.candidates) {
        page.add_line(TextLine::indent(2).push_text(format!("{number}  {}", in_words(candidate))));
    }
    page.finish()
}
