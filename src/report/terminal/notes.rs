//! What is worth saying besides changes: verdicts of policies, declarations that are done, renames.

use crate::plan::model::change::{Note, NoteCode, Ruling, RulingVerdict};
use crate::report::text::page::{Line, Page};
use crate::report::text::style::{Role, Sign};

/// Adds notes.
pub(in crate::report) fn add_notes<'n>(page: &mut Page, notes: impl Iterator<Item = &'n Note>) {
    for note in notes {
        let (role, sign) = match note.code {
            NoteCode::Done => (Role::Good, page.sign(Sign::Tick)),
            NoteCode::Generated | NoteCode::Delivered | NoteCode::Recipients => {
                (Role::Good, page.sign(Sign::Dot))
            }
            NoteCode::Unverified | NoteCode::OneByOne => (Role::Faint, page.sign(Sign::Dot)),
            NoteCode::Rename
            | NoteCode::Left
            | NoteCode::NotReplaced
            | NoteCode::NotKept
            | NoteCode::DataLost => (Role::Warn, page.sign(Sign::Bang)),
        };
        let line =
            Line::indent(2).push_styled(role, sign).push_text(" ").push_text(&note.text).continue_at(4);
        // What is done is not worth two lines.
        let is_done = note.code == NoteCode::Done;
        let line = if is_done { line.push_text("; ").push_text(&note.help) } else { line };
        page.add_line(match &note.source {
            Some(place) => line.at_end(Role::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
        if !is_done {
            page.add_line(
                Line::indent(4).push_styled(Role::Faint, "help: ").push_text(&note.help).continue_at(10),
            );
        }
    }
}

/// Adds the verdicts that are no plain yes; those that block are told as what blocks.
pub(super) fn add_policy_results(page: &mut Page, rulings: &[Ruling]) {
    for ruling in rulings {
        let (role, word) = match ruling.verdict {
            RulingVerdict::Pass | RulingVerdict::Deny => continue,
            RulingVerdict::Unknown => (Role::Faint, "not decided yet"),
            RulingVerdict::Overridden => (Role::Warn, "overridden"),
        };
        let line = Line::indent(0).push_styled(Role::Strong, "POLICY").to_column(7).continue_at(7);
        let mut line = line
            .push_styled(role, ruling.name.as_str())
            .push_text(" ")
            .push_styled(role, word)
            .push_text("  ");
        if let Some(address) = &ruling.address {
            line = line.push_styled(Role::Strong, address.as_str()).push_text("  ");
        }
        line = line.push_text(&ruling.message);
        page.add_line(match &ruling.source {
            Some(place) => line.at_end(Role::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
    }
}
