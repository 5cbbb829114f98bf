//! Decoding of quoted KDL strings: escapes, raw strings and multi-line strings.
//!
//! The lexer has checked the form, and also yields the content; but in builds without debug assertions (just-kdl
//! 0.3.0), its short strings lose every escaped character and every line ending. So only its offsets are used.

use crate::model::address::Name;

/// Returns the content of a quoted or raw string, from its source with the quotes.
pub(super) fn decode_string(written: &str) -> Name {
    let bare = written.trim_start_matches('#');
    let raw = bare.len() < written.len();
    let inner = bare.trim_end_matches('#');
    if let Some(block) = inner.strip_prefix("\"\"\"").and_then(|rest| rest.strip_suffix("\"\"\"")) {
        return decode_multiline(block, raw).into();
    }
    let inner = inner.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(inner);
    if raw || !inner.contains('\\') {
        return inner.into();
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = decode_escape(&rest[at + 1..], &mut text);
    }
    text.push_str(rest);
    text.into()
}

/// Appends the character of the escape after a backslash, and returns the rest of the string. Before white
/// space, a backslash removes all of it.
fn decode_escape<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let mut letters = rest.chars();
    let said = match letters.next() {
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('b') => '\u{8}',
        Some('f') => '\u{C}',
        Some('s') => ' ',
        Some('u') => return code_point(letters.as_str(), text),
        Some(c) if is_space(c) || is_line_end(c) => {
            return rest.trim_start_matches(|c| is_space(c) || is_line_end(c));
        }
        Some(c) => c,
        None => return rest,
    };
    text.push(said);
    letters.as_str()
}

/// Appends the code point of an escape, `{1F600}`, and returns the rest; one that is not a character is left out.
fn code_point<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some((digits, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return rest;
    };
    text.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
    after
}

/// One line of a multi-line string, as offsets into the unescaped string.
struct KdlStringLine {
    start: usize,
    /// Offset after its indentation.
    text: usize,
    end: usize,
}

/// Decodes the lines between the quotes of a multi-line string. The last line is the indentation that is
/// removed from every other line; a line of white space is empty.
fn decode_multiline(block: &str, raw: bool) -> String {
    let mut rest = after_line_end(block);
    let mut flat = String::with_capacity(block.len());
    let mut found = Vec::new();
    loop {
        let start = flat.len();
        let body = rest.trim_start_matches(is_space);
        flat.push_str(&rest[..rest.len() - body.len()]);
        let text = flat.len();
        rest = decode_line(body, raw, &mut flat);
        found.push(KdlStringLine { start, text, end: flat.len() });
        if rest.is_empty() {
            break;
        }
        rest = after_line_end(rest);
    }
    let indent = found.pop().map_or(0, |last| last.text - last.start);
    let cut = |line: &KdlStringLine| {
        let blank = line.text == line.end;
        flat.get((line.start + indent).min(line.end)..line.end).filter(|_| !blank).unwrap_or_default()
    };
    found.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// Appends one line, unescaped, and returns what follows it, its line ending included.
fn decode_line<'a>(mut rest: &'a str, raw: bool, flat: &mut String) -> &'a str {
    loop {
        let stop = rest.find(|c| is_line_end(c) || (c == '\\' && !raw)).unwrap_or(rest.len());
        flat.push_str(&rest[..stop]);
        rest = &rest[stop..];
        match rest.strip_prefix('\\').filter(|_| !raw) {
            Some(after) => rest = decode_escape(after, flat),
            None => return rest,
        }
    }
}

fn after_line_end(text: &str) -> &str {
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix(is_line_end)).unwrap_or(text)
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::decode_string;

    #[test]
    fn string_literals_are_decoded() {
        let says = |written| decode_string(written).to_string();
        assert_eq!(says(r#""a\"b\\c\n\u{e9}\s|""#), "a\"b\\c\n\u{e9} |");
        assert_eq!(says("\"a\\  \n  b\""), "ab");
        assert_eq!(says("##\"a\"#\\n\"##"), "a\"#\\n");
        assert_eq!(says("\"\""), "");
        assert_eq!(says("\"\"\"\n\"\"\""), "");
        assert_eq!(says("\"\"\"\n  a\r\n\n    b \\\n   c\\td\n  \"\"\""), "a\n\n  b c\td");
        assert_eq!(says("#\"\"\"\n\ta\\n\"\"\"\"\n\t\"\"\"#"), "a\\n\"\"\"\"");
    }

    proptest! {
        #[test]
        fn the_decoder_agrees_with_the_kdl_parser(body in "([a-z \"#é]|\\\\[nrtbfs\"\\\\]|\\\\u\\{1F60[0-9]\\}|\\\\ {1,3}|\n {0,3}){0,20}") {
            for written in [
                format!("\"{}\"", body.replace('\n', "|").replace('"', "\\\"").replace("\\\\\"", "'")),
                format!("\"\"\"\n  {}\n  \"\"\"", body.replace('\n', "\n  ").replace('"', "\\\"")),
                format!("###\"\"\"\n  {}\n  \"\"\"###", body.replace('\n', "\n  ").replace('"', "'")),
            ] {
                let Ok(entry) = kdl::KdlEntry::parse(&written) else { continue };
                let said = decode_string(&written);
                prop_assert_eq!(Some(said.as_str()), entry.value().as_string(), "{}", written);
            }
        }
    }
}
