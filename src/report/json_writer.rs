//! Writes JSON as serde_json does, but escapes control and invisible characters as `\uXXXX`.

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::report::text::escape;

/// Version of this document. It increases when a key is removed or changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline, extend("const" = 1)))]
pub struct SchemaVersion(u32);

/// Schema version of all documents.
pub const SCHEMA_VERSION: SchemaVersion = SchemaVersion(1);

/// Returns an indented document with a final line break.
#[must_use]
pub fn to_pretty(document: &impl Serialize) -> String {
    let mut text = serialize_with(document, EscapingFormatter(PrettyFormatter::new()));
    text.push('\n');
    text
}

/// Returns a document on one line, without a line break.
#[must_use]
pub fn to_compact(document: &impl Serialize) -> String {
    serialize_with(document, EscapingFormatter(CompactFormatter))
}

/// Converts an indented document to one line; returns a document on one line unchanged.
#[must_use]
pub fn fold_lines(text: &str) -> Cow<'_, str> {
    if !text.starts_with("{\n") {
        return Cow::Borrowed(text);
    }
    // Line breaks inside strings are escaped, so each line break is formatting.
    let mut line = String::with_capacity(text.len());
    line.extend(text.lines().map(str::trim_start));
    line.push('\n');
    Cow::Owned(line)
}

/// Returns the JSON document of a command whose only output is a sentence on what it did.
#[must_use]
pub fn result_document(text: &str) -> String {
    #[derive(Serialize)]
    struct ResultDocument<'a> {
        schema_version: SchemaVersion,
        result: &'a str,
    }
    to_pretty(&ResultDocument { schema_version: SCHEMA_VERSION, result: text })
}

/// Writes an indented document directly to `out`, without building it in memory.
///
/// # Errors
/// When writing fails.
pub fn pretty_to(out: &mut impl io::Write, document: &impl Serialize) -> io::Result<()> {
    document
        .serialize(&mut Serializer::with_formatter(&mut *out, EscapingFormatter(PrettyFormatter::new())))?;
    out.write_all(b"\n")
}

fn serialize_with(document: &impl Serialize, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    let written = document.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    // Maps have string keys and a `Vec` accepts each byte, so this cannot fail.
    debug_assert!(written.is_ok());
    String::from_utf8(bytes).unwrap_or_default()
}

/// A formatter that escapes additional characters.
struct EscapingFormatter<F>(F);

impl<F: Formatter> Formatter for EscapingFormatter<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        let mut written = 0;
        let mut in_command = false;
        for (at, c) in text.char_indices() {
            let escaped = escape::acts_or_hides(c) || in_command;
            in_command = c == '#' && escape::begins_command(&text[at..]);
            if escaped {
                out.write_all(&text.as_bytes()[written..at])?;
                written = at + c.len_utf8();
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        out.write_all(&text.as_bytes()[written..])
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_folded_document_is_the_same_on_one_line() {
        let document = serde_json::json!({"a": [1, {"b": "two\n  lines"}], "c": null});
        let text = to_pretty(&document);
        let line = fold_lines(&text);
        assert_eq!((line.lines().count(), line.ends_with('\n')), (1, true));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), document);
        assert_eq!(fold_lines("plain\n  text\n"), "plain\n  text\n");
        assert!(result_document("It is done.").contains("\"result\": \"It is done.\""));
    }

    proptest! {
        #[test]
        fn json_escapes_control_characters_and_loses_nothing(text in any::<String>(), tail in "[\u{1b}\u{202e}\u{9b}#\\[a::\n]{0,8}") {
            let text = text + &tail;
            for json in [to_compact(&text), to_pretty(&text)] {
                prop_assert!(!json.trim_end().chars().any(escape::acts_or_hides), "{json:?}");
                prop_assert!(!json.match_indices('#').any(|(at, _)| escape::begins_command(&json[at..])));
                prop_assert_eq!(&serde_json::from_str::<String>(&json).unwrap(), &text);
            }
        }
    }
}
