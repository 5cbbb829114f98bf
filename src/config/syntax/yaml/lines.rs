//! Lines of a YAML file around an offset, as the author of an error sees them: indentation, dashes, key and
//! value. Works on source that does not parse.

/// A line and its parts, as offsets into the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct YamlLine {
    /// Offset of the first byte.
    pub(super) start: usize,
    /// First byte that is neither space nor tab.
    pub(super) text: usize,
    /// Offset of the value: after `- ` and `key: `, or where the line's content begins.
    pub(super) value: usize,
    /// Offset after the last byte that is not white space.
    pub(super) end: usize,
}

impl YamlLine {
    /// Returns the line of an offset.
    pub(super) fn line_at(text: &str, at: usize) -> Self {
        let at = floor_boundary(text, at);
        let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let whole = text[start..].split('\n').next().unwrap_or_default();
        let end = start + whole.trim_end().len();
        let first = start + (whole.len() - whole.trim_start_matches([' ', '\t']).len());
        let first = first.min(end);
        Self { start, text: first, value: value_start(text, first, end), end }
    }

    /// Returns the line before; `None` for the first one.
    pub(super) fn previous_line(self, text: &str) -> Option<Self> {
        (self.start > 0).then(|| Self::line_at(text, self.start - 1))
    }

    /// Returns the indentation of the line in bytes.
    pub(super) fn indent(self) -> usize {
        self.text - self.start
    }

    /// Returns whether the line has only white space or a comment.
    pub(super) fn is_blank(self, text: &str) -> bool {
        self.text == self.end || text[self.text..].starts_with('#')
    }
}

/// Returns the greatest character boundary up to an offset.
pub(super) fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|n| text.is_char_boundary(*n)).unwrap_or_default()
}

/// Returns the offset of a line's value: after its dashes and its key.
fn value_start(text: &str, first: usize, end: usize) -> usize {
    let mut at = first;
    while text[at..end].starts_with("- ") {
        at += 2;
        at += text[at..end].len() - text[at..end].trim_start().len();
    }
    let rest = &text[at..end];
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\'' | '$' | '/');
    let key = rest.find(|c| !word(c)).unwrap_or(rest.len());
    match rest[key..].strip_prefix(':') {
        Some(after) if key > 0 && (after.is_empty() || after.starts_with([' ', '\t'])) => {
            end - after.trim_start().len()
        }
        _ => at,
    }
}

/// Returns the offset after the `}` that closes the expression whose `${` begins at `at`; `None` if it is not
/// closed on the same line.
pub(super) fn expression_end(text: &str, at: usize) -> Option<usize> {
    let line = text[at..].split('\n').next()?;
    let (mut depth, mut quote) = (0_usize, None);
    for (n, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth <= 1 => return Some(at + n + 1),
            (None, '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns a string in the YAML quotes that need the fewest escapes.
pub(super) fn quote_yaml_text(text: &str) -> String {
    if text.contains(['"', '\\']) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        format!("\"{text}\"")
    }
}

/// Returns the end of an unquoted value that begins at an offset: before a comment or, inside `{}` and
/// `[]`, before the separator. With `comments`, a `#` does not end it.
pub(super) fn value_end(text: &str, from: usize, flow: bool, comments: bool) -> usize {
    let line = YamlLine::line_at(text, from);
    let rest = &text[from..line.end.max(from)];
    let comment = if comments { None } else { rest.find(" #") };
    let entry = if flow { rest.find([',', ']', '}']) } else { None };
    let end = comment.into_iter().chain(entry).min().unwrap_or(rest.len());
    from + rest[..end].trim_end().len()
}

/// Maximum number of bytes above an error that are searched for an open bracket.
pub(super) const BYTES_ABOVE: usize = 64 * 1024;

/// Returns whether an offset is inside `{}` or `[]` that opened on its line.
pub(super) fn in_flow(text: &str, at: usize) -> bool {
    open_bracket(text, at)
        .is_some_and(|open| YamlLine::line_at(text, open).start == YamlLine::line_at(text, at).start)
}

/// Returns the offset of the innermost bracket that is open at an offset; `None` if there is none within `BYTES_ABOVE`.
pub(super) fn open_bracket(text: &str, at: usize) -> Option<usize> {
    let from = floor_boundary(text, at.saturating_sub(BYTES_ABOVE));
    let mut depth = 0_usize;
    for (n, c) in text[from..at].char_indices().rev() {
        match c {
            '}' | ']' => depth += 1,
            '{' | '[' if depth == 0 => return Some(from + n),
            '{' | '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_starts_after_the_dashes_and_the_key() {
        let value =
            |text: &'static str| &text[YamlLine::line_at(text, 0).value..YamlLine::line_at(text, 0).end];
        assert_eq!(value("  a: b c  "), "b c");
        assert_eq!(value("- - a:  ${x ? 1 : 2}\r\n"), "${x ? 1 : 2}");
        assert_eq!(value("a: \nb: 1"), "");
        assert_eq!(value("- */5 * * *"), "*/5 * * *");
        assert_eq!(value("a b: c"), "a b: c");
    }

    #[test]
    fn an_expression_ends_at_its_matching_brace() {
        let text = "${ {'a': '}'}['a'] } rest }";
        assert_eq!(expression_end(text, 0).map(|end| &text[end..]), Some(" rest }"));
        assert_eq!(expression_end("${a\n}", 0), None);
    }

    #[test]
    fn the_quote_style_avoids_escapes() {
        assert_eq!(quote_yaml_text("a 'b'"), "\"a 'b'\"");
        assert_eq!(quote_yaml_text("a \"b\" 'c'"), "'a \"b\" ''c'''");
    }
}
