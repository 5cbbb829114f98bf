//! Decoding of bytes to UTF-8 before any parser: checks size, encoding and control characters, so that both
//! parsers and every message see the same lines and columns.

use super::limits::{CONTROL_CHARACTER, NOT_UTF8, TOO_LARGE, byte_span};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::SourceId;

/// Maximum size of a file in bytes: enough for 100,000 resources, and a guard against
/// files that are no configuration.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Number of bytes of an undecodable file that are kept, to show the location.
const MAX_EXCERPT_BYTES: usize = 4096;

/// Bytes that cannot be a configuration file.
#[derive(Debug)]
pub struct DecodeError {
    /// Displayable text up to the end of the bad line, with U+FFFD for invalid bytes. In a `Source` of this
    /// text, the diagnostic's span points to the right line and column.
    pub shown: String,
    /// Reason why the bytes are invalid.
    pub diagnostic: Diagnostic,
}

/// Refuses a file by its length, so that it need not be read at all.
///
/// # Errors
/// The file is larger than `MAX_BYTES`.
pub fn check_size(id: SourceId, bytes: u64) -> Result<(), Box<Diagnostic>> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let problem = Diagnostic::error(TOO_LARGE, "File too large")
        .with_label(byte_span(id, 0, 0), "")
        .detail(format!("The file has {bytes} bytes; stead reads files of up to {MAX_BYTES} bytes."))
        .help("Split it into several files of one directory: they are read together.");
    Err(Box::new(problem))
}

/// Decodes bytes as UTF-8. A byte order mark is removed, so offsets count from the byte after it.
///
/// # Errors
/// Too large, not UTF-8, a control character, or a line that ends with a carriage return alone; the first of
/// these, with its location.
pub fn decode_utf8(id: SourceId, bytes: Vec<u8>) -> Result<String, Box<DecodeError>> {
    if let Err(diagnostic) = check_size(id, bytes.len() as u64) {
        return Err(Box::new(DecodeError { shown: String::new(), diagnostic: *diagnostic }));
    }
    // Named separately: as invalid UTF-8 it would be reported at byte 0xFF, which explains nothing.
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(utf16_problem(id));
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(id, &error)),
    };
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    match text.bytes().position(is_control) {
        Some(at) => return Err(control_character_problem(id, &text, at)),
        None if text.contains('\r') => {}
        None => return Ok(text),
    }
    match lone_return(text.as_bytes()) {
        Some(at) => Err(carriage_return(id, &text, at)),
        None => Ok(text),
    }
}

/// Returns the offset of the first carriage return that no line feed follows; `None` if there is none.
fn lone_return(bytes: &[u8]) -> Option<usize> {
    let alone = |at: &usize| bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    (0..bytes.len()).find(alone)
}

/// Returns whether a byte is a control character that is illegal in text files.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0B | 0x0C | 0x0E..=0x1F | 0x7F)
}

fn utf16_problem(id: SourceId) -> Box<DecodeError> {
    let diagnostic = Diagnostic::error(NOT_UTF8, "Not UTF-8 text")
        .with_label(byte_span(id, 0, 0), "a UTF-16 byte order mark")
        .detail("The file is UTF-16.")
        .help("Save it as UTF-8.");
    Box::new(DecodeError { shown: String::new(), diagnostic })
}

fn not_utf8(id: SourceId, error: &std::string::FromUtf8Error) -> Box<DecodeError> {
    let bytes = error.as_bytes();
    let bytes = bytes.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(bytes);
    let dropped = error.as_bytes().len() - bytes.len();
    let at = error.utf8_error().valid_up_to().saturating_sub(dropped);
    let (line, column) = line_and_column(bytes, at);
    let byte = bytes.get(at).copied().unwrap_or_default();
    let diagnostic = Diagnostic::error(NOT_UTF8, "Not UTF-8 text")
        .with_label(byte_span(id, at, at + '\u{FFFD}'.len_utf8()), format!("byte 0x{byte:02X}"))
        .detail(format!("Byte 0x{byte:02X} at line {line}, column {column} is not UTF-8."))
        .help("Save the file as UTF-8.");
    Box::new(DecodeError { shown: text_through_line(bytes, at), diagnostic })
}

fn control_character_problem(id: SourceId, text: &str, at: usize) -> Box<DecodeError> {
    let byte = text.as_bytes()[at];
    let (line, column) = line_and_column(text.as_bytes(), at);
    let name = if byte == 0 { "a NUL byte".to_owned() } else { format!("the character U+{byte:04X}") };
    let diagnostic = Diagnostic::error(CONTROL_CHARACTER, "Control character")
        .with_label(byte_span(id, at, at + 1), name.clone())
        .detail(format!("Line {line}, column {column} holds {name}; a configuration is plain text."))
        .help("Remove it, or check that this is the right file.");
    Box::new(DecodeError { shown: text_through_line(text.as_bytes(), at), diagnostic })
}

/// Returns the error for a carriage return alone: YAML and KDL treat it as a line end, but editors, diffs
/// and line counts do not.
fn carriage_return(id: SourceId, text: &str, at: usize) -> Box<DecodeError> {
    let (line, column) = line_and_column(text.as_bytes(), at);
    let diagnostic = Diagnostic::error(CONTROL_CHARACTER, "Carriage return without a line feed")
        .with_label(byte_span(id, at, at + 1), "here")
        .detail(format!("Line {line}, column {column} holds a carriage return that no line feed follows."))
        .help("Save the file with LF (or CR LF) at the ends of its lines.");
    Box::new(DecodeError { shown: text_through_line(text.as_bytes(), at), diagnostic })
}

/// Returns the line and column (from 1, in characters) of an offset before which all bytes are UTF-8.
fn line_and_column(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = bytes.get(..at).unwrap_or_default();
    let line = before.split(|byte| *byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |n| n + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}

/// Returns the bytes up to the end of the line of an offset as a string, of that line at most
/// `MAX_EXCERPT_BYTES` after the offset.
fn text_through_line(bytes: &[u8], at: usize) -> String {
    let rest = bytes.get(at..).unwrap_or_default();
    let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()).min(MAX_EXCERPT_BYTES);
    String::from_utf8_lossy(&bytes[..at + line]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::Source;

    const ID: SourceId = SourceId(0);

    fn problem(bytes: &[u8]) -> (&'static str, (u32, u32), String) {
        let unreadable = decode_utf8(ID, bytes.to_vec()).unwrap_err();
        let at = unreadable.diagnostic.span().unwrap();
        let source = Source::new("a.yaml", unreadable.shown);
        (unreadable.diagnostic.code, source.line_column(at.start), unreadable.diagnostic.detail.unwrap())
    }

    #[test]
    fn valid_text_is_unchanged_except_for_the_byte_order_mark() {
        assert_eq!(decode_utf8(ID, b"a: 1\r\n\tb".to_vec()).unwrap(), "a: 1\r\n\tb");
        assert_eq!(decode_utf8(ID, Vec::new()).unwrap(), "");
        assert_eq!(decode_utf8(ID, b"\xEF\xBB\xBFa: 1".to_vec()).unwrap(), "a: 1");
    }

    #[test]
    fn an_invalid_byte_is_reported_with_line_and_column() {
        let (code, place, detail) = problem(b"a: 1\n\xC3\xA9: \xFF\xFE x\nrest");
        assert_eq!((code, place), (NOT_UTF8, (2, 4)));
        assert_eq!(detail, "Byte 0xFF at line 2, column 4 is not UTF-8.");
        let (code, place, _) = problem(b"\xEF\xBB\xBFa: \x80");
        assert_eq!((code, place), (NOT_UTF8, (1, 4)));
    }

    #[test]
    fn control_characters_and_other_encodings_are_refused() {
        let (code, place, detail) = problem(b"a: 1\nb: \0\n");
        assert_eq!((code, place), (CONTROL_CHARACTER, (2, 4)));
        assert!(detail.contains("a NUL byte"));
        assert_eq!(problem(b"a: \x1B[31m").0, CONTROL_CHARACTER);
        let (code, place, detail) = problem(b"a: 1\r\nb:\r  c: 2\n");
        assert_eq!((code, place), (CONTROL_CHARACTER, (2, 3)));
        assert!(detail.contains("no line feed follows"));
        assert_eq!(problem(b"a: 1\r").0, CONTROL_CHARACTER);
        assert_eq!(problem(b"\xFF\xFEa\0").0, NOT_UTF8);
    }

    #[test]
    fn a_large_file_is_rejected_before_it_is_read() {
        assert!(check_size(ID, MAX_BYTES).is_ok());
        assert_eq!(check_size(ID, MAX_BYTES + 1).unwrap_err().code, TOO_LARGE);
    }
}
