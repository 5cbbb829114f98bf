//! The pages of `state verify` and `state repair`.

use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases::count_noun;
use crate::report::text::style::{TextRole, TextStyle};

/// The result of a ledger check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerCheckReport {
    /// Path or URL of the ledger.
    pub place: String,
    /// Number of stored checkpoints; 0 if the backend manages them itself.
    pub summaries: usize,
    /// Number of stored journals.
    pub journals: usize,
    /// Number of replayed records.
    pub records: usize,
    /// Serial number of the last verified record.
    pub serial: u64,
    /// Whether the last line is incomplete.
    pub torn: bool,
    /// Inconsistencies that the check found.
    pub flaws: Vec<LedgerFlaw>,
}

/// An inconsistency in a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerFlaw {
    /// Where the inconsistency is.
    pub place: String,
    /// What the inconsistency is.
    pub reason: String,
}

/// A line that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRecords {
    /// Where the line was.
    pub place: String,
    /// Why the line is lost.
    pub reason: String,
    /// Records of the line, as far as they are readable.
    pub records: Vec<String>,
}

/// Returns the page for a ledger check.
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
        let text = "The last line is incomplete: a write that was never acknowledged. Nothing is lost.";
        page.add_line(TextLine::indent(0).push_text(text));
    }
    page.add_line(TextLine::indent(0).push_text(if checked.flaws.is_empty() {
        let files = [(*summaries, "checkpoint"), (*journals, "journal"), (*records, "record")]
            .map(|(count, noun)| count_noun(count, noun))
            .join(", ");
        let files = if *journals > 0 { format!(" ({files})") } else { String::new() };
        format!("The ledger at {} is intact up to record {serial}{files}.", checked.place)
    } else {
        let places = count_noun(checked.flaws.len(), "place");
        format!("The ledger at {} is damaged in {places}.", checked.place)
    }));
    page.finish()
}

/// Returns the page for a repair before it is carried out.
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
        0 => format!("Everything can be restored: {}.", count_noun(kept, "resource")),
        lost => format!(
            "{} can be restored; {} cannot.",
            count_noun(kept, "resource"),
            count_noun(lost, "line")
        ),
    }));
    page.finish()
}
