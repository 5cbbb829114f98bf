//! `LineIndex`: converts between byte offsets and positions of the protocol, which count UTF-16 code units.

use super::protocol::{LspRange, Position};

/// A text with the offsets of its line starts.
pub(super) struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// Builds the index of a text in one pass.
    pub(super) fn new(text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// Returns the position of a byte offset; one inside of a character is rounded down to its start, one after the
    /// end of the text is moved to that end.
    pub(super) fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let offset = self.text.floor_char_boundary(offset);
        let before = self.text.get(self.starts[line]..offset).unwrap_or_default();
        Position { line: to_u32(line), character: to_u32(before.encode_utf16().count()) }
    }

    /// Returns the protocol's range for two byte offsets.
    pub(super) fn range(&self, start: usize, end: usize) -> LspRange {
        LspRange { start: self.position(start), end: self.position(end) }
    }

    /// Returns the byte offset of a position; one after the end of a line is moved to that end, and a line after the
    /// last one to the end of the text.
    pub(super) fn offset(&self, position: Position) -> usize {
        let Some(start) = self.starts.get(position.line as usize).copied() else { return self.text.len() };
        let rest = &self.text[start..];
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        let mut units = 0;
        for (at, c) in line.char_indices() {
            if units >= position.character as usize {
                return start + at;
            }
            units += c.len_utf16();
        }
        start + line.len()
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn positions_count_utf16_units() {
        let lines = LineIndex::new("é: 1\r\n😀b: x\n");
        let position = |line, character| Position { line, character };
        for (offset, at) in
            [(0, (0, 0)), (2, (0, 1)), (7, (1, 0)), (11, (1, 2)), (12, (1, 3)), (16, (2, 0))]
        {
            assert_eq!(lines.position(offset), position(at.0, at.1), "{offset}");
            assert_eq!(lines.offset(position(at.0, at.1)), offset);
        }
        assert_eq!(lines.offset(position(0, 99)), 5);
        assert_eq!(lines.offset(position(9, 0)), 16);
        assert_eq!(lines.offset(position(1, 1)), 11, "the middle of a pair");
    }

    proptest! {
        #[test]
        fn offsets_and_positions_convert_both_ways(text in "[a-zé😀\n]{0,20}", at in 0_usize..60) {
            let lines = LineIndex::new(&text);
            let at = text.floor_char_boundary(at.min(text.len()));
            prop_assert_eq!(lines.offset(lines.position(at)), at);
        }
    }
}
