//! `LiveRegion`: draws a `ProgressTable` on a terminal. This is the only part of `report` that uses a terminal;
//! `progress_table` decides the content.

use std::io;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Limit on redraws per second.
const REDRAWS_PER_SEC: u8 = 20;

/// A region at the bottom of the terminal that is redrawn in place. Without a terminal nothing is drawn.
pub struct LiveRegion {
    all: MultiProgress,
    rows: Vec<ProgressBar>,
    style: ProgressStyle,
}

impl Default for LiveRegion {
    fn default() -> Self {
        Self::new()
    }
}

impl LiveRegion {
    /// Returns an empty region on standard error.
    #[must_use]
    pub fn new() -> Self {
        Self::with_target(ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SEC))
    }

    fn with_target(target: ProgressDrawTarget) -> Self {
        let style =
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        Self { all: MultiProgress::with_draw_target(target), rows: Vec::new(), style }
    }

    /// Replaces the lines of the region. They must be escaped and fit the width: the region counts each as one row.
    pub fn draw(&mut self, lines: Vec<String>) {
        while self.rows.len() > lines.len() {
            if let Some(row) = self.rows.pop() {
                row.finish_and_clear();
                self.all.remove(&row);
            }
        }
        while self.rows.len() < lines.len() {
            let row = self.all.add(ProgressBar::no_length());
            row.set_style(self.style.clone());
            self.rows.push(row);
        }
        for (row, line) in self.rows.iter().zip(lines) {
            row.set_message(line);
            row.tick();
        }
    }

    /// Writes a permanent line above the region.
    ///
    /// # Errors
    /// When the terminal cannot be written.
    pub fn write_above(&self, line: &str) -> io::Result<()> {
        self.all.println(line)
    }

    /// Removes the region from the screen, before other output follows.
    ///
    /// # Errors
    /// When standard error cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        self.rows.clear();
        self.all.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_the_display_follow_the_lines() {
        let mut live = LiveRegion::with_target(ProgressDrawTarget::hidden());
        live.draw(vec!["a".into(), "b".into(), "c".into()]);
        live.draw(vec!["d".into()]);
        assert_eq!(live.rows.len(), 1);
        assert_eq!(live.rows[0].message(), "d");
        live.write_above("done").unwrap();
        live.clear().unwrap();
        assert!(live.rows.is_empty());
    }
}
