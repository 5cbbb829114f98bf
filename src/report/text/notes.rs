//! Notes besides the changes: declarations that have already taken effect, renames, secrets.

use crate::plan::model::note::{NoteCode, PlanNote};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{Symbol, TextRole};

/// Adds the notes, each with its help on the next line; a done declaration has both on one.
pub(in crate::report) fn add_notes<'n>(page: &mut TextPage, notes: impl Iterator<Item = &'n PlanNote>) {
    for note in notes {
        let (role, sign) = match note.code {
            NoteCode::Done => (TextRole::Success, page.sign(Symbol::Tick)),
            NoteCode::Generated | NoteCode::SecretSource | NoteCode::Delivered | NoteCode::Recipients => {
                (TextRole::Success, page.sign(Symbol::Dot))
            }
            NoteCode::Unverified | NoteCode::OneByOne | NoteCode::UnknownRight => {
                (TextRole::Faint, page.sign(Symbol::Dot))
            }
            NoteCode::Rename
            | NoteCode::Left
            | NoteCode::NotReplaced
            | NoteCode::NotDeleted
            | NoteCode::Unmatched
            | NoteCode::NotExposed
            | NoteCode::NotKept
            | NoteCode::MissingRight
            | NoteCode::KeyExpires
            | NoteCode::LockHeld
            | NoteCode::StaleRead
            | NoteCode::DataLost => (TextRole::Warning, page.sign(Symbol::Warning)),
        };
        let line =
            TextLine::indent(2).push_styled(role, sign).push_text(" ").push_text(&note.text).continue_at(4);
        // A note that something is done must fit into one line.
        let is_done = note.code == NoteCode::Done;
        let line = if is_done { line.push_text("; ").push_text(&note.help) } else { line };
        page.add_line(match &note.source {
            Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
        if !is_done {
            page.add_line(
                TextLine::indent(4)
                    .push_styled(TextRole::Faint, "help: ")
                    .push_text(&note.help)
                    .continue_at(10),
            );
        }
    }
}
