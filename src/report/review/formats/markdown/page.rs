//! A Markdown comment under construction, within its size limit.

/// The report under construction; `room` is its limit in bytes without the last line.
pub(super) struct MarkdownPage {
    pub(super) text: String,
    pub(super) room: usize,
}

impl MarkdownPage {
    /// Adds a piece of text completely; returns `false` and adds nothing if there is not enough room.
    pub(super) fn add_if_fits(&mut self, piece: &str) -> bool {
        let fits = self.text.len() + piece.len() <= self.room;
        if fits {
            self.text.push_str(piece);
        }
        fits
    }
}
