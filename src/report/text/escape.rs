//! Escaping: no text from the service or a configuration reaches a terminal, a log or a document
//! with control or invisible characters.
//!
//! Control characters move cursors, set clipboards and forge lines; bidirectional and zero-width characters
//! make text look like other text; `##[…]`, and `::` at the start of a line, are commands for CI runners.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns whether a character is a control character or invisible.
///
/// These are the controls (C0, DEL, C1), the line and paragraph separators, all characters of the Unicode
/// property `Default_Ignorable_Code_Point` (soft hyphen, zero-width and bidirectional formatting, variation
/// selectors, fillers, tags), other invisible format characters, and the noncharacters.
#[must_use]
pub fn acts_or_hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Returns whether a string that begins with `#` begins with a CI runner's command: `##[error]`, `##vso[…]`.
pub(in crate::report) fn begins_command(text: &str) -> bool {
    text.strip_prefix("##")
        .is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).starts_with('['))
}

/// Returns the text as one line that is safe to print: control and invisible characters become `\n`, `\t` or `\u{…}`.
/// A `::` at the start is left to the caller, which knows where its line begins (`find_command`).
#[must_use]
pub fn escape_line(text: &str) -> Cow<'_, str> {
    let harmless = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'#';
    if text.bytes().all(harmless) || text.chars().all(|c| c != '#' && !acts_or_hides(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut broken = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            '#' if broken => safe.push_str("\\u{23}"),
            c if acts_or_hides(c) => _ = write!(safe, "\\u{{{:x}}}", u32::from(c)),
            c => safe.push(c),
        }
        broken = c == '#' && begins_command(&text[at..]);
    }
    Cow::Owned(safe)
}

/// Returns one line of an untrusted text with its own layout, safe to print: escaped like `escape_line`, and not a
/// command for a CI runner.
#[must_use]
pub fn page_line(text: &str) -> String {
    let mut safe = escape_line(text).into_owned();
    if let Some(at) = find_command(&safe) {
        safe.insert_str(at, "\\u{3a}");
        safe.remove(at + "\\u{3a}".len());
    }
    safe
}

/// Returns an escaped string so that it can follow another one: two harmless parts can form a command together.
pub(in crate::report) fn join_escaped<'a>(before: &str, safe: Cow<'a, str>) -> Cow<'a, str> {
    let word = |c: char| c == '#' || c.is_ascii_alphanumeric();
    let start = before.trim_end_matches(word).len();
    let Some(first) = safe.chars().next().filter(|_| before[start..].contains('#')) else { return safe };
    let both = format!("{}{safe}", &before[start..]);
    if !both.match_indices('#').any(|(at, _)| begins_command(&both[at..])) {
        return safe;
    }
    Cow::Owned(format!("\\u{{{:x}}}{}", u32::from(first), &safe[first.len_utf8()..]))
}

/// Returns the position of a `::` at the start of a finished line, which must be broken up: CI runners recognize it
/// even after blanks. `None` if the line has none there.
pub(in crate::report) fn find_command(line: &str) -> Option<usize> {
    let blanks = line.len() - line.trim_start().len();
    line[blanks..].starts_with("::").then_some(blanks)
}

/// Returns source text of the same length in bytes, with placeholders for control and invisible characters. Line
/// breaks and tabs stay, so that all spans and columns remain valid.
#[must_use]
pub fn sanitize_source(text: &str) -> Cow<'_, str> {
    let stays = |c: char| c == '\n' || c == '\t' || !acts_or_hides(c);
    if text.chars().all(|c| stays(c) && c != '#') {
        return Cow::Borrowed(text);
    }
    let mut broken = false;
    let shown = text.char_indices().map(|(at, c)| {
        let after_command = std::mem::replace(&mut broken, c == '#' && begins_command(&text[at..]));
        match c {
            '#' if after_command => '_',
            c if stays(c) => c,
            '\r' => ' ',
            c => match c.len_utf8() {
                1 => '?',
                2 => '¿',
                3 => '\u{fffd}',
                _ => '🛇',
            },
        }
    });
    Cow::Owned(shown.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            "[ -~]{0,6}",
            (0u32..0x20).prop_filter_map("", |n| char::from_u32(n).map(String::from)),
            (0x80u32..0xa0).prop_filter_map("", |n| char::from_u32(n).map(String::from)),
            (0x2000u32..0x2070).prop_filter_map("", |n| char::from_u32(n).map(String::from)),
            (0xe_0000u32..0xe_0080).prop_filter_map("", |n| char::from_u32(n).map(String::from)),
            prop::sample::select(vec![
                "::error::x",
                "##[group]",
                "##vso[x]",
                "###[",
                "\u{1b}]52;c;",
                "\r\n"
            ])
            .prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]
        #[test]
        fn an_escaped_line_contains_no_control_characters_and_no_ci_commands(text in nasty()) {
            let safe = escape_line(&text);
            prop_assert!(!safe.chars().any(acts_or_hides), "{safe:?}");
            let commands = safe.match_indices('#').filter(|(at, _)| begins_command(&safe[*at..])).count();
            prop_assert_eq!(commands, 0, "{}", safe);
        }

        #[test]
        fn escaped_source_keeps_its_length(text in nasty()) {
            let safe = sanitize_source(&text);
            prop_assert_eq!(safe.len(), text.len());
            prop_assert!(!safe.chars().any(|c| c != '\n' && c != '\t' && acts_or_hides(c)));
            prop_assert!(!safe.match_indices('#').any(|(at, _)| begins_command(&safe[at..])));
        }
    }

    #[test]
    fn plain_text_is_unchanged() {
        for text in ["web-1", "größe → 3", "a # b ## c", "日本語", ""] {
            assert_eq!(escape_line(text), text);
        }
    }

    #[test]
    fn two_joined_texts_do_not_form_a_ci_command() {
        for (before, after, safe) in [
            ("a ##", "[x]", "\\u{5b}x]"),
            ("#", "#vso[x]", "\\u{23}vso[x]"),
            ("##v", "so[x]", "\\u{73}o[x]"),
            ("##", " [x]", " [x]"),
            ("a", "[x]", "[x]"),
        ] {
            assert_eq!(join_escaped(before, Cow::Borrowed(after)), safe);
        }
    }

    #[test]
    fn escaped_characters_are_shown_by_their_code() {
        let table = [
            ("a\nb", "a\\nb"),
            ("\u{1b}[31mred\u{7f}", "\\u{1b}[31mred\\u{7f}"),
            ("user\u{202e}nimda", "user\\u{202e}nimda"),
            ("pay\u{200b}pal\u{feff}", "pay\\u{200b}pal\\u{feff}"),
            ("x\u{9b}0m", "x\\u{9b}0m"),
            ("##[error]no", "#\\u{23}[error]no"),
            ("##vso[task.x]", "#\\u{23}vso[task.x]"),
            ("###[a", "##\\u{23}[a"),
        ];
        for (text, safe) in table {
            assert_eq!(escape_line(text), safe);
        }
        assert_eq!(page_line("  ::warning::x"), "  \\u{3a}:warning::x");
        assert_eq!(page_line("  a ::x\u{7}"), "  a ::x\\u{7}");
        assert_eq!(find_command("  ::warning::x"), Some(2));
        assert_eq!(find_command("a ::1"), None);
    }
}
