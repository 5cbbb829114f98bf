//! A document as text for a terminal or a pipe: title and headings at the left, all else indented. Links show the page
//! that they lead to, by its name for `stead docs`.

use super::document::{
    self, Block, CodeBlock, ConsoleLine, Definition, ExampleKind, Inline, LabeledValue, PageContent,
    Target, plain_text,
};
use crate::report::text::page::{TextLine, TextPage, display_width};
use crate::report::text::style::{TextRole, TextStyle};

/// Column at which labeled values begin.
const VALUE_COLUMN: usize = 18;
/// Longest name that stays on the same line as its description.
const MAX_INLINE_WIDTH: usize = 26;
/// Longest cell, in columns, of a table that keeps its rows on one line.
const MAX_CELL_WIDTH: usize = 40;

/// How a page is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spacing {
    /// Without empty lines, for short reference text.
    Dense,
    /// With an empty line between blocks.
    Airy,
}

/// Returns a page for reading: with empty lines between its blocks.
#[must_use]
pub fn render_page(document: &PageContent, style: TextStyle) -> String {
    render(document, style, Spacing::Airy)
}

/// Returns short reference text, as `explain` prints it: without empty lines.
#[must_use]
pub fn render_reference(document: &PageContent, style: TextStyle) -> String {
    render(document, style, Spacing::Dense)
}

fn render(document: &PageContent, style: TextStyle, spacing: Spacing) -> String {
    let mut writer = Writer { page: TextPage::new(style), spacing };
    writer.page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, &document.title));
    let summary = TextLine::indent(2);
    let summary = if spacing == Spacing::Airy { summary.continue_at(2) } else { summary };
    writer.add_inlines(summary, &document.summary);
    let mut is_below_heading = false;
    for block in &document.blocks {
        if !is_below_heading {
            writer.add_gap();
        }
        writer.add_block(block, 2);
        is_below_heading = matches!(block, Block::Heading { .. });
    }
    writer.page.finish()
}

struct Writer {
    page: TextPage,
    spacing: Spacing,
}

impl Writer {
    fn add_gap(&mut self) {
        if self.spacing == Spacing::Airy {
            self.page.add_line(TextLine::indent(0));
        }
    }

    fn add_inlines(&mut self, line: TextLine, inlines: &[Inline]) {
        self.page.add_line(push_inlines(line, inlines, TextRole::Plain));
    }

    fn add_block(&mut self, block: &Block, column: usize) {
        match block {
            Block::Heading { level, text, .. } => {
                let indent = if *level > 2 { column } else { column - 2 };
                self.page
                    .add_line(TextLine::indent(indent).push_styled(TextRole::Strong, plain_text(text)));
            }
            Block::Paragraph(text) => self.add_inlines(TextLine::indent(column).continue_at(column), text),
            Block::List { first, items } => self.add_list(*first, items, column),
            Block::Quote(blocks) => self.add_blocks(blocks, column + 2),
            Block::Code(code) => self.add_code(code, column),
            Block::Table { head, rows } => self.add_table(head, rows, column),
            Block::Values(values) => values.iter().for_each(|value| self.add_value(value, column)),
            Block::Definitions(entries) => self.add_definitions(entries, column),
        }
    }

    fn add_blocks(&mut self, blocks: &[Block], column: usize) {
        for (at, block) in blocks.iter().enumerate() {
            if at > 0 {
                self.add_gap();
            }
            self.add_block(block, column);
        }
    }

    fn add_list(&mut self, first: Option<u64>, items: &[Vec<Block>], column: usize) {
        for (at, item) in items.iter().enumerate() {
            let mark = match first {
                Some(first) => format!("{}. ", first + at as u64),
                None => "- ".to_owned(),
            };
            let inner = column + mark.len();
            let line = TextLine::indent(column).push_text(mark).continue_at(inner);
            let rest = if let Some((Block::Paragraph(text), rest)) = item.split_first() {
                self.add_inlines(line, text);
                rest
            } else {
                self.page.add_line(line);
                item
            };
            self.add_blocks(rest, inner);
        }
    }

    fn add_code(&mut self, code: &CodeBlock, column: usize) {
        let role = match &code.kind {
            ExampleKind::Plain => TextRole::Faint,
            ExampleKind::Accepted => TextRole::Success,
            ExampleKind::Rejected(_) => TextRole::Danger,
        };
        // A page for reading sets code apart by its indentation, short reference text by its color.
        let column = if self.spacing == Spacing::Airy { column + 2 } else { column };
        if let Some(caption) = code.caption() {
            self.page
                .add_line(TextLine::indent(column).push_styled(TextRole::Strong, format!("{caption}:")));
        }
        let lines: Vec<(TextRole, &str)> = if code.language == "console" {
            let role_of = |line| if line == ConsoleLine::Command { TextRole::Change } else { role };
            document::console_lines(&code.text).map(|(kind, line)| (role_of(kind), line)).collect()
        } else {
            code.text.lines().map(|line| (role, line)).collect()
        };
        for (role, line) in lines {
            let blanks = line.len() - line.trim_start().len();
            let line = TextLine::indent(column + blanks).push_styled(role, line.trim_start());
            self.page.add_unwrapped(line);
        }
    }

    fn add_value(&mut self, labeled: &LabeledValue, column: usize) {
        for (at, value) in labeled.values.iter().enumerate() {
            let label = if at == 0 { labeled.label } else { "" };
            let line = TextLine::indent(column)
                .push_styled(TextRole::Faint, label)
                .to_column(column + VALUE_COLUMN - 2)
                .continue_at(column + VALUE_COLUMN - 2);
            // A label says which page a value names.
            self.page.add_line(line.push_text(plain_text(value)));
        }
    }

    fn add_definitions(&mut self, entries: &[Definition], column: usize) {
        let longest = entries.iter().map(|entry| display_width(&entry.name)).max().unwrap_or(0);
        let text_column = column + 2 + longest.min(MAX_INLINE_WIDTH);
        for entry in entries {
            let line = TextLine::indent(column)
                .push_styled(TextRole::Change, &entry.name)
                .to_column(text_column)
                .continue_at(text_column);
            self.add_inlines(line, &entry.text);
        }
    }

    /// Adds a table with aligned columns, or one paragraph for each cell where its cells are too long for that.
    fn add_table(&mut self, head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>], column: usize) {
        let width_of = |at: usize| {
            let cells = rows.iter().filter_map(|row| row.get(at)).chain(head.get(at));
            cells.map(|cell| display_width(&link_text(cell))).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width_of).collect();
        let Some((last, others)) = widths.split_last() else { return };
        let fits = others.iter().all(|width| *width <= MAX_CELL_WIDTH)
            && others.iter().sum::<usize>() + 2 * others.len() <= self.page.style().width * 3 / 5;
        if !fits && *last > 0 {
            self.add_records(head, rows, column);
            return;
        }
        let starts: Vec<usize> = others
            .iter()
            .scan(column, |at, width| {
                *at += width + 2;
                Some(*at)
            })
            .collect();
        let mut add_row = |cells: &[Vec<Inline>], role: TextRole| {
            let mut line = TextLine::indent(column);
            for (at, cell) in cells.iter().enumerate() {
                if let Some(start) = at.checked_sub(1).and_then(|at| starts.get(at)) {
                    line = line.to_column(*start);
                }
                line = push_inlines(line, cell, role);
            }
            let hang = starts.last().copied().unwrap_or(column);
            self.page.add_line(line.continue_at(hang));
        };
        add_row(head, TextRole::Strong);
        for row in rows {
            add_row(row, TextRole::Plain);
        }
    }

    /// Adds each row as a paragraph that begins with its first cell.
    fn add_records(&mut self, head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>], column: usize) {
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                self.add_gap();
            }
            for (at, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                if at == 0 {
                    let line = TextLine::indent(column).continue_at(column);
                    self.page.add_line(push_inlines(line, cell, TextRole::Strong));
                    continue;
                }
                let mut line = TextLine::indent(column + 2).continue_at(column + 4);
                let label = head.get(at).map(|cell| plain_text(cell)).unwrap_or_default();
                if !label.is_empty() {
                    line = line.push_styled(TextRole::Faint, format!("{label}: "));
                }
                self.page.add_line(push_inlines(line, cell, TextRole::Plain));
            }
        }
    }
}

/// Returns the text of inlines with the pages that links name.
fn link_text(inlines: &[Inline]) -> String {
    let mut text = String::new();
    for inline in inlines {
        match inline {
            Inline::Link { target, text: inner } => {
                text.push_str(&plain_text(inner));
                text.push_str(&describe_target(target, &plain_text(inner)));
            }
            other => text.push_str(&plain_text(std::slice::from_ref(other))),
        }
    }
    text
}

/// Returns the page of a link in brackets; empty if the text of the link says it.
fn describe_target(target: &Target, text: &str) -> String {
    match target {
        Target::Page { address, .. } => {
            let name = address.rsplit('/').next().unwrap_or_default();
            if address.is_empty() || text == name { String::new() } else { format!(" [{address}]") }
        }
        Target::External(url) if url == text => String::new(),
        Target::External(url) => format!(" [{url}]"),
    }
}

fn push_inlines(mut line: TextLine, inlines: &[Inline], role: TextRole) -> TextLine {
    for inline in inlines {
        line = match inline {
            Inline::Text(text) => line.push_styled(role, text),
            Inline::Code(code) if role == TextRole::Plain => line.push_styled(TextRole::Change, code),
            Inline::Code(code) => line.push_styled(role, code),
            Inline::Emphasis(inner) => push_inlines(line, inner, role),
            Inline::Strong(inner) => push_inlines(line, inner, TextRole::Strong),
            Inline::Faint(text) => line.push_styled(TextRole::Faint, text),
            Inline::Notable(text) => line.push_styled(TextRole::Warning, text),
            Inline::Link { target, text } => {
                let page = describe_target(target, &plain_text(text));
                push_inlines(line, text, role).push_styled(TextRole::Faint, page)
            }
        };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::markdown::parse_page;

    #[test]
    fn a_page_is_readable_text() {
        let page = parse_page(
            "# Test a stack\n\nRun `stead test`.\n\n## First\n\nRead [more](../how-to/x.md) or [x](x.md).\n\n1. one\n2. two\n   - a\n\n\
             ```console\n$ stead test\n1 passed\n```\n\n| a | b |\n|---|---|\n| `x` | one |\n| yy | two |\n\n> Note.\n",
            "how-to/test",
        );
        insta::assert_snapshot!(render_page(&page, TextStyle::plain(60)), @r"
    Test a stack
      Run stead test.

    First
      Read more [how-to/x] or x.

      1. one
      2. two
         - a

        $ stead test
        1 passed

      a   b
      x   one
      yy  two

        Note.
    ");
    }
}
