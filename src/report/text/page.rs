//! `TextLine` and `TextPage`: text layout that is safe by construction. All text added to a line is escaped; each line
//! of a page fits the width and does not begin with a CI runner's command.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::escape;
use super::style::{Symbol, TextRole, TextStyle};

/// Returns the number of columns that a string occupies after escaping.
#[must_use]
pub fn display_width(text: &str) -> usize {
    escaped_width(&escape::escape_line(text))
}

/// Returns the number of columns of an escaped string: for ASCII, its length.
fn escaped_width(safe: &str) -> usize {
    if safe.is_ascii() { safe.len() } else { UnicodeWidthStr::width(safe) }
}

/// Returns the beginning of an escaped string that fits into a number of columns, and how many it takes.
fn fitting_part(safe: &str, columns: usize) -> (&str, usize) {
    if safe.is_ascii() {
        let end = safe.len().min(columns);
        return (&safe[..end], end);
    }
    let mut taken = 0;
    for (at, c) in safe.char_indices() {
        let width = c.width().unwrap_or(0);
        if taken + width > columns {
            return (&safe[..at], taken);
        }
        taken += width;
    }
    (safe, taken)
}

/// A line under construction: pieces of escaped text with their roles, and text for the right edge.
#[derive(Debug, Clone, Default)]
pub struct TextLine {
    pieces: Vec<(TextRole, String)>,
    end: Option<(TextRole, String)>,
    width: usize,
    hang: usize,
}

impl TextLine {
    /// Returns a line that begins with `blanks` blanks; its continuation lines begin with two more.
    #[must_use]
    pub fn indent(blanks: usize) -> Self {
        Self { hang: blanks + 2, ..Self::default() }.to_column(blanks)
    }

    /// Adds text in a role; the text is escaped.
    #[must_use]
    pub fn push_styled(mut self, role: TextRole, text: impl AsRef<str>) -> Self {
        let safe = escape::escape_line(text.as_ref());
        if safe.is_empty() {
            return self;
        }
        let safe = match self.pieces.last() {
            Some((_, before)) => escape::join_escaped(before, safe),
            None => safe,
        };
        self.width += escaped_width(&safe);
        match self.pieces.last_mut() {
            Some((last, piece)) if *last == role => piece.push_str(&safe),
            _ => self.pieces.push((role, safe.into_owned())),
        }
        self
    }

    /// Adds text in the plain role; the text is escaped.
    #[must_use]
    pub fn push_text(self, text: impl AsRef<str>) -> Self {
        self.push_styled(TextRole::Plain, text)
    }

    /// Adds blanks up to a column, or two blanks if the line is already longer.
    #[must_use]
    pub fn to_column(self, column: usize) -> Self {
        let blanks =
            if self.width == 0 || self.width < column { column.saturating_sub(self.width) } else { 2 };
        self.push_blanks(blanks)
    }

    /// Adds text right-aligned at a column, after at least two blanks.
    #[must_use]
    pub fn ending_at(self, column: usize, role: TextRole, text: impl AsRef<str>) -> Self {
        let start = column.saturating_sub(display_width(text.as_ref()));
        self.to_column(start).push_styled(role, text)
    }

    /// Adds text at the right edge; on a line of its own if it does not fit. A second call replaces the text.
    #[must_use]
    pub fn at_end(mut self, role: TextRole, text: impl AsRef<str>) -> Self {
        self.end = Some((role, escape::escape_line(text.as_ref()).into_owned()));
        self
    }

    /// Sets the column at which continuation lines begin.
    #[must_use]
    pub fn continue_at(mut self, column: usize) -> Self {
        self.hang = column;
        self
    }

    /// Returns the number of columns used so far, without the text at the right edge.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns whether the line needs no wrapping: it is short, also with the text at the right edge. Only for ASCII,
    /// where the columns of a line are the sum of those of its words.
    fn fits(&self, columns: usize, hang: usize) -> bool {
        let end = self.end.as_ref().map_or(0, |(_, text)| text.len() + 2);
        self.width + end <= columns
            && (self.end.is_none() || hang + end <= columns + 2)
            && self.pieces.iter().chain(&self.end).all(|(_, piece)| piece.is_ascii())
    }

    fn push_blanks(mut self, count: usize) -> Self {
        self.width += count;
        let blanks = " ".repeat(count);
        match self.pieces.last_mut() {
            Some((_, piece)) => piece.push_str(&blanks),
            None => self.pieces.push((TextRole::Plain, blanks)),
        }
        self
    }

    fn wrap_to(mut self, columns: usize) -> Self {
        let Some((role, text)) = self.end.take() else { return self };
        let taken = escaped_width(&text);
        let at = columns.saturating_sub(taken);
        let mut line = self.to_column(at);
        line.width += taken;
        line.pieces.push((role, text));
        line
    }

    /// Returns the line without wrapping, for logs, which have no width.
    #[must_use]
    pub fn to_unwrapped(self, style: TextStyle) -> String {
        let mut physical = WrappedLine::default();
        for (role, text) in self.wrap_to(0).pieces {
            physical.push(role, &text);
        }
        let mut out = String::new();
        physical.write(style, &mut out);
        out
    }

    /// Returns the line truncated to the width with an ellipsis, for a display that is redrawn.
    #[must_use]
    pub fn cut_to_width(self, style: TextStyle) -> String {
        let columns = style.width.max(1);
        if self.width <= columns && self.end.is_none() {
            return self.to_unwrapped(style);
        }
        let mark = style.sign(Symbol::Ellipsis);
        let room = columns.saturating_sub(mark.width());
        let closed = self.wrap_to(columns);
        if closed.width <= columns {
            return closed.to_unwrapped(style);
        }
        let mut physical = WrappedLine::default();
        let mut left = room;
        for (role, text) in closed.pieces {
            let (fitting, taken) = fitting_part(&text, left);
            left -= taken;
            if !fitting.is_empty() {
                physical.push(role, fitting);
            }
            if fitting.len() < text.len() {
                physical.push(TextRole::Plain, mark);
                break;
            }
        }
        let mut out = String::new();
        physical.write(style, &mut out);
        out
    }
}

/// A line of output as it will appear on the page.
#[derive(Default)]
struct WrappedLine {
    pieces: Vec<(TextRole, String)>,
    width: usize,
}

impl WrappedLine {
    fn push(&mut self, role: TextRole, text: &str) {
        self.width += escaped_width(text);
        match self.pieces.last_mut() {
            Some((last, piece)) if *last == role => piece.push_str(text),
            _ => self.pieces.push((role, text.to_owned())),
        }
    }

    fn trim_end(&mut self) {
        while let Some((_, piece)) = self.pieces.last_mut() {
            piece.truncate(piece.trim_end_matches(' ').len());
            if !piece.is_empty() {
                break;
            }
            self.pieces.pop();
        }
    }

    fn disarm_commands(&mut self) {
        let whole: String = self.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
        let Some(mut at) = escape::find_command(&whole) else { return };
        for (_, piece) in &mut self.pieces {
            if at < piece.len() {
                piece.replace_range(at..=at, "\\u{3a}");
                return;
            }
            at -= piece.len();
        }
    }

    fn write(mut self, style: TextStyle, out: &mut String) {
        self.trim_end();
        self.disarm_commands();
        for (role, piece) in self.pieces {
            if style.colour && role != TextRole::Plain && !piece.trim().is_empty() {
                let ansi = role.ansi();
                _ = write!(out, "{ansi}{piece}{ansi:#}");
            } else {
                out.push_str(&piece);
            }
        }
    }
}

/// Finished lines of output, each ending with a line break.
#[derive(Debug)]
pub struct TextPage {
    style: TextStyle,
    text: String,
}

impl TextPage {
    /// Returns an empty page with this style, at least `TextStyle::MIN_WIDTH` wide.
    #[must_use]
    pub fn new(style: TextStyle) -> Self {
        let width = style.width.max(TextStyle::MIN_WIDTH);
        Self { style: TextStyle { width, ..style }, text: String::new() }
    }

    /// Returns the style of the page, whose width may be larger than the one passed in.
    #[must_use]
    pub fn style(&self) -> TextStyle {
        self.style
    }

    /// Returns a sign in the form that the page's style allows.
    #[must_use]
    pub fn sign(&self, sign: Symbol) -> &'static str {
        self.style.sign(sign)
    }

    /// Adds a line, wrapped at blanks to the width; a word that is too long is broken.
    pub fn add_line(&mut self, line: TextLine) {
        let columns = self.style.width;
        let hang = line.hang.min(columns / 2);
        if line.fits(columns, hang) {
            let Some((role, text)) = line.end else {
                self.end_line(WrappedLine { pieces: line.pieces, width: line.width });
                return;
            };
            let mut physical = WrappedLine { pieces: line.pieces, width: line.width };
            physical.push(TextRole::Plain, &" ".repeat(columns - text.len() - line.width));
            physical.push(role, &text);
            self.end_line(physical);
            return;
        }
        let mut physical = WrappedLine::default();
        // A word may have several roles: it ends with the blank after it, not with a piece.
        let mut word: Vec<(TextRole, &str)> = Vec::new();
        for (role, text) in &line.pieces {
            for part in text.split_inclusive(' ') {
                word.push((*role, part));
                if part.ends_with(' ') {
                    self.place_word(&mut physical, &word, hang);
                    word.clear();
                }
            }
        }
        self.place_word(&mut physical, &word, hang);
        if let Some((role, text)) = line.end {
            self.at_end(&mut physical, role, &text, hang);
        }
        self.end_line(physical);
    }

    /// Adds text aligned at the right edge.
    fn at_end(&mut self, physical: &mut WrappedLine, role: TextRole, text: &str, hang: usize) {
        let start = self.style.width.saturating_sub(escaped_width(text)).max(hang);
        if physical.width + 2 > start {
            self.end_line(std::mem::take(physical));
        }
        physical.push(TextRole::Plain, &" ".repeat(start - physical.width));
        for word in text.split_inclusive(' ') {
            self.place_word(physical, &[(role, word)], hang);
        }
    }

    /// Adds a line without wrapping it, whatever its length: code that is wrapped is other code.
    pub fn add_unwrapped(&mut self, line: TextLine) {
        self.text.push_str(&line.to_unwrapped(self.style));
        self.text.push('\n');
    }

    /// Adds a table row: wrapped like any line, unless the style keeps rows on one line.
    pub fn add_row(&mut self, row: TextLine) {
        if self.style.whole_rows {
            self.add_unwrapped(row);
        } else {
            self.add_line(row);
        }
    }

    /// Adds a line, truncated to the width.
    pub fn cut_line(&mut self, line: TextLine) {
        self.text.push_str(&line.cut_to_width(self.style));
        self.text.push('\n');
    }

    /// Adds several lines, each wrapped to the width.
    pub fn add_lines(&mut self, lines: impl IntoIterator<Item = TextLine>) {
        for line in lines {
            self.add_line(line);
        }
    }

    /// Returns the text of the page; empty without lines.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }

    /// Adds a word, on a new line if it does not fit; its parts may have different roles.
    fn place_word(&mut self, physical: &mut WrappedLine, word: &[(TextRole, &str)], hang: usize) {
        let columns = self.style.width;
        let taken: usize = word.iter().map(|(_, part)| escaped_width(part.trim_end_matches(' '))).sum();
        if physical.width + taken <= columns {
            for (role, part) in word {
                physical.push(*role, part);
            }
            return;
        }
        if physical.width > hang {
            self.wrap(physical, hang);
        }
        for (role, part) in word {
            for c in part.chars() {
                if physical.width + c.width().unwrap_or(0) > columns {
                    if c == ' ' {
                        continue;
                    }
                    self.wrap(physical, hang);
                }
                physical.push(*role, c.encode_utf8(&mut [0; 4]));
            }
        }
    }

    fn wrap(&mut self, physical: &mut WrappedLine, hang: usize) {
        self.end_line(std::mem::take(physical));
        physical.push(TextRole::Plain, &" ".repeat(hang));
    }

    fn end_line(&mut self, physical: WrappedLine) {
        physical.write(self.style, &mut self.text);
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_of_several_roles_is_not_broken_where_a_role_ends() {
        let line = || {
            TextLine::indent(0)
                .push_text("x".repeat(30))
                .push_text(" blocked (")
                .push_styled(TextRole::Change, "deletion_budget")
                .push_text("). Then")
        };
        assert_eq!(
            page(46, false, line()),
            format!("{} blocked\n  (deletion_budget). Then\n", "x".repeat(30))
        );
        let mut whole = TextPage::new(TextStyle::plain(40));
        whole.add_unwrapped(line());
        assert_eq!(whole.finish().lines().count(), 1);
    }

    fn page(width: usize, colour: bool, line: TextLine) -> String {
        let mut page = TextPage::new(TextStyle { colour, ..TextStyle::plain(width) });
        page.add_line(line);
        page.finish()
    }

    #[test]
    fn long_lines_wrap_with_an_indent_and_ends_are_aligned() {
        let line = TextLine::indent(2)
            .push_text("one two three four five six seven eight nine ten")
            .continue_at(6);
        insta::assert_snapshot!(page(40, false, line), @r"
          one two three four five six seven
              eight nine ten
        ");
        let line = TextLine::indent(0).push_text("left").at_end(TextRole::Faint, "a.yaml:3");
        assert_eq!(page(40, false, line), format!("left{}a.yaml:3\n", " ".repeat(28)));
    }

    #[test]
    fn no_line_begins_with_a_ci_command() {
        assert_eq!(page(40, false, TextLine::indent(2).push_text("::error::x")), "  \\u{3a}:error::x\n");
        let wrapped =
            page(40, false, TextLine::indent(2).push_text(format!("{} ::error::x", "y".repeat(36))));
        assert!(wrapped.contains("\n    \\u{3a}:error"), "{wrapped}");
    }

    proptest! {
        #[test]
        fn wrapped_text_fits_the_width_and_is_complete(
            text in "\\PC{0,200}", width in 40usize..120, indent in 0usize..30, colour in any::<bool>(),
        ) {
            let plain = page(width, false, TextLine::indent(indent).push_text(&text).at_end(TextRole::Warning, "x.yaml:1"));
            for line in plain.lines() {
                let broken_up = if line.trim_start().starts_with("\\u{3a}:") { 5 } else { 0 };
                prop_assert!(UnicodeWidthStr::width(line) <= width + broken_up, "{line:?}");
                prop_assert!(!line.trim_start().starts_with("::"));
            }
            let squeeze = |text: &str| text.replace("\\u{3a}", ":").replace(['\n', ' '], "");
            let safe = escape::escape_line(&text);
            prop_assert_eq!(squeeze(&plain), squeeze(&format!("{safe}x.yaml:1")));
            let shown = page(width, colour, TextLine::indent(indent).push_styled(TextRole::Danger, &text));
            let escapes = shown.contains('\u{1b}');
            prop_assert!(colour || !escapes);
        }

        #[test]
        fn a_truncated_line_fits_the_width(text in "\\PC{0,200}", width in 1usize..120) {
            let cut = TextLine::indent(2).push_text(&text).cut_to_width(TextStyle::plain(width));
            prop_assert!(UnicodeWidthStr::width(cut.as_str()) <= width + 5, "{cut:?}");
        }
    }
}
