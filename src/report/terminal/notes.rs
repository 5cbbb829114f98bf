//! What is worth saying besides changes: verdicts of policies, declarations that are done, renames.

use crate::plan::model::change::{Note, NoteCode, Ruling, RulingVerdict};
use crate::report::text::page::{Line, Page};
use crate::report::text::style::{Role, Sign};

/// Adds notes.
pub(in crate::report) fn lines<'n>(page: &mut Page, notes: impl Iterator<Item = &'n Note>) {
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
        let line = Line::indent(2).put(role, sign).say(" ").say(&note.text).hanging(4);
        // What is done is not worth two lines.
        let is_done = note.code == NoteCode::Done;
        let line = if is_done { line.say("; ").say(&note.help) } else { line };
        page.line(match &note.source {
            Some(place) => line.at_end(Role::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
        if !is_done {
            page.line(Line::indent(4).put(Role::Faint, "help: ").say(&note.help).hanging(10));
        }
    }
}

/// Adds the verdicts that are no plain yes; those that block are told as what blocks.
pub(super) fn rulings(page: &mut Page, rulings: &[Ruling]) {
    for ruling in rulings {
        let (role, word) = match ruling.verdict {
            RulingVerdict::Pass | RulingVerdict::Deny => continue,
            RulingVerdict::Unknown => (Role::Faint, "not decided yet"),
            RulingVerdict::Overridden => (Role::Warn, "overridden"),
        };
        let line = Line::indent(0).put(Role::Strong, "POLICY").to_column(7).hanging(7);
        let mut line = line.put(role, ruling.name.as_str()).say(" ").put(role, word).say("  ");
        if let Some(address) = &ruling.address {
            line = line.put(Role::Strong, address.as_str()).say("  ");
        }
        line = line.say(&ruling.message);
        page.line(match &ruling.source {
            Some(place) => line.at_end(Role::Faint, format!("{}:{}", place.file, place.line)),
            None => line,
        });
    }
}
