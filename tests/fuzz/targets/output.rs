//! What may be printed: an independent list of characters that act or hide.

/// Checks a page for people: no character but a line break acts or hides, and no line commands a CI
/// runner.
pub fn assert_harmless(page: &str) {
    for line in page.split('\n') {
        assert!(!line.chars().any(is_hostile), "a line acts or hides: {line:?}");
        assert!(!line.trim_start().starts_with("::"), "a line begins with a command: {line:?}");
        assert!(!holds_command(line), "a line holds a command: {line:?}");
    }
}

/// Checks a document for programs: it is JSON, on one line where it must be, and as harmless.
pub fn assert_json(document: &str, on_one_line: bool) -> serde_json::Value {
    assert!(!on_one_line || !document.contains('\n'), "{document:?} has more than one line");
    for line in document.split('\n') {
        assert!(!line.chars().any(is_hostile), "a line acts or hides: {line:?}");
        assert!(!holds_command(line), "a line holds a command: {line:?}");
    }
    serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {document:?}"))
}

/// Controls, line and paragraph separators, bidirectional and invisible formatting.
pub fn is_hostile(c: char) -> bool {
    matches!(u32::from(c),
        0x00..=0x1f | 0x7f..=0x9f | 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e
        | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

/// `##[group]`, `##vso[…]`.
fn holds_command(line: &str) -> bool {
    line.match_indices("##").any(|(at, found)| {
        let rest = line[at + found.len()..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        rest.starts_with('[')
    })
}
