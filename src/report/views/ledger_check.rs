//! Pages of `state verify` and `state repair`.

use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};

/// What a check of a ledger found, as people see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerCheckReport {
    /// Where the ledger is.
    pub place: String,
    /// Summaries that are kept; none where that is the place's own business.
    pub summaries: usize,
    /// Journals that are kept.
    pub journals: usize,
    /// Records that were replayed.
    pub records: usize,
    /// The number of the last record that is proven.
    pub serial: u64,
    /// The end of the last line was torn off.
    pub torn: bool,
    /// What does not fit.
    pub flaws: Vec<LedgerFlaw>,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerFlaw {
    /// Where.
    pub place: String,
    /// What.
    pub reason: String,
}

/// A line that cannot be got back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRecords {
    /// Where it stood.
    pub place: String,
    /// Why.
    pub reason: String,
    /// What it was about, as far as it can be read.
    pub records: Vec<String>,
}

/// Returns the page of a check.
#[must_use]
pub fn check_page(checked: &LedgerCheckReport, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for flaw in &checked.flaws {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Danger, &flaw.place)
                .push_text(format!(": {}", flaw.reason)),
        );
    }
    let LedgerCheckReport { summaries, journals, records, serial, .. } = checked;
    if checked.torn {
        let text =
            "The end of the last line is torn off: a write that was never acknowledged. Nothing is lost.";
        page.add_line(TextLine::indent(0).push_text(text));
    }
    page.add_line(TextLine::indent(0).push_text(if checked.flaws.is_empty() {
        let files = format!("{summaries} summaries and {journals} journals with {records} records");
        let files = if *journals > 0 { format!(" ({files})") } else { String::new() };
        format!("The ledger at {} is whole up to record {serial}{files}.", checked.place)
    } else {
        format!("The ledger at {} is damaged in {} places.", checked.place, checked.flaws.len())
    }));
    page.finish()
}

/// Returns the page of a repair that is about to be done.
#[must_use]
pub fn repair_page(kept: usize, losses: &[LostRecords], style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for loss in losses {
        page.add_line(
            TextLine::indent(0)
                .push_styled(TextRole::Danger, &loss.place)
                .push_text(format!(" is lost: {}", loss.reason)),
        );
        for record in &loss.records {
            page.add_line(TextLine::indent(2).push_text(record));
        }
    }
    page.add_line(TextLine::indent(0).push_text(match losses.len() {
        0 => format!("Everything can be got back: {kept} resources."),
        lost => format!("{kept} resources can be got back; {lost} lines cannot."),
    }));
    page.finish()
}
