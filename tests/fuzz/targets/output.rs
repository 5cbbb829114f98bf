//! What may be printed: a list of characters with an effect or without a glyph, independent of the product's.

/// Checks text for people: no character but a line break has an effect or is invisible, and no line is a CI runner's
/// command.
pub fn assert_harmless(page: &str) {
    for line in page.split('\n') {
        assert!(!line.chars().any(is_hostile), "a line acts or hides: {line:?}");
        assert!(!line.trim_start().starts_with("::"), "a line begins with a command: {line:?}");
        assert!(!holds_command(line), "a line holds a command: {line:?}");
    }
}

/// Checks a document for programs: it is JSON, on one line if required, and as harmless as text.
pub fn assert_json(document: &str, on_one_line: bool) -> serde_json::Value {
    assert!(!on_one_line || !document.contains('\n'), "{document:?} has more than one line");
    for line in document.split('\n') {
        assert!(!line.chars().any(is_hostile), "a line acts or hides: {line:?}");
        assert!(!holds_command(line), "a line holds a command: {line:?}");
    }
    serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {document:?}"))
}

/// Returns whether a character is a control, a separator, or bidirectional or invisible formatting.
pub fn is_hostile(c: char) -> bool {
    matches!(u32::from(c),
        0x00..=0x1f | 0x7f..=0x9f | 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e
        | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe007f)
}

/// Returns whether a line contains a command such as `##[group]` or `##vso[…]`.
fn holds_command(line: &str) -> bool {
    line.match_indices("##").any(|(at, found)| {
        let rest = line[at + found.len()..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        rest.starts_with('[')
    })
}
