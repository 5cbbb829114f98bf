//! Untrusted text in Markdown: in a code fence, as inline code, or with each character escaped that Markdown, HTML or
//! a forge would interpret.

use std::fmt::Write as _;

use crate::report::text::style::TextStyle;
use crate::report::text::{escape, phrases};

/// Length limit in characters of an untrusted sentence.
const MAX_TEXT_CHARS: usize = 600;

/// Returns text in a code fence that is longer than any run of backticks in the text, which could otherwise end it.
pub(super) fn fence_code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}diff\n{text}{fence}\n")
}

/// Returns a short text as inline code, so that none of it is interpreted as Markdown.
pub(super) fn inline_code(text: &str) -> String {
    let safe = escape::escape_line(text);
    if safe.contains(['`', '|']) || safe.trim() != safe || safe.is_empty() {
        return format!("<code>{}</code>", escape_markup(&safe));
    }
    format!("`{safe}`")
}

/// Returns an untrusted sentence, shortened and escaped. One that could mention a person or an issue, or contains a
/// link, is shown as code: a forge would notify the person.
pub(super) fn escape_prose(text: &str) -> String {
    let text = phrases::shorten_text(text.to_owned(), MAX_TEXT_CHARS, TextStyle::plain(80));
    let calls =
        text.contains(['@', '#', '!']) || text.to_ascii_lowercase().contains("gh-") || text.contains("://");
    if calls { inline_code(&text) } else { escape_markup(&text) }
}

/// Returns text in one line, with each character that Markdown, HTML or a forge could interpret as a numeric entity.
pub(super) fn escape_markup(text: &str) -> String {
    let safe = escape::escape_line(text);
    let mut out = String::with_capacity(safe.len());
    for (at, c) in safe.char_indices() {
        let before = safe[..at].chars().next_back();
        let after = safe[at + c.len_utf8()..].chars().next();
        let plain = match c {
            // A forge turns `www.` into a link, whatever text is around it.
            '.' => {
                !safe[..at].get(at.saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
            }
            '_' => before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric),
            ':' => after == Some(' '),
            c => c.is_alphanumeric() || !c.is_ascii() || " ,-%+;()/=?'\"".contains(c),
        };
        if plain {
            out.push(c);
        } else {
            let _ = write!(out, "&#{};", u32::from(c));
        }
    }
    out
}
