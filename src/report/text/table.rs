//! `ReportTable`: named columns and rows. Text output and JSON use the same cells, so that both have the same keys.

use rust_decimal::Decimal;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::page::{self, TextLine, TextPage};
use super::phrases;
use super::style::{TextRole, TextStyle};
use crate::model::address::Name;
use crate::model::schema::format_money;
use crate::model::values::value::Value;
use crate::report::json_value::{JsonDecimal, JsonValue};

/// Limit on the width of each column except the last; a longer cell shifts its own row only.
const MAX_COLUMN_WIDTH: usize = 44;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Key in JSON; in capitals, the heading.
    pub key: Name,
    /// Whether cells are right-aligned, as numbers are.
    pub right: bool,
}

impl TableColumn {
    /// Returns a column with left-aligned cells.
    #[must_use]
    pub const fn text(key: &'static str) -> Self {
        Self { key: Name::new_static(key), right: false }
    }

    /// Returns a column with right-aligned cells.
    #[must_use]
    pub const fn number(key: &'static str) -> Self {
        Self { key: Name::new_static(key), right: true }
    }
}

/// The content of one cell.
#[derive(Debug, Clone, PartialEq)]
pub enum TableCell {
    /// No value is known; `null` in JSON.
    Empty,
    /// A string, escaped on output.
    Text(String),
    /// An amount of money in USD; a number in JSON.
    Money(Decimal),
    /// The value of an attribute; a secret is redacted.
    Value(Value),
}

impl TableCell {
    /// Returns a text cell, or an empty cell for `None`.
    #[must_use]
    pub fn text(text: Option<impl AsRef<str>>) -> Self {
        text.map_or(Self::Empty, |text| Self::Text(text.as_ref().to_owned()))
    }

    fn display_text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Money(amount) => format_money(*amount),
            Self::Value(value) => phrases::format_value(value),
        }
    }
}

impl Serialize for TableCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Money(amount) => JsonDecimal(*amount).serialize(serializer),
            Self::Value(value) => JsonValue(value).serialize(serializer),
        }
    }
}

/// A table with named columns.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportTable {
    /// The columns, from left to right.
    pub columns: Vec<TableColumn>,
    /// The rows; each has as many cells as there are columns.
    pub rows: Vec<Vec<TableCell>>,
}

impl ReportTable {
    /// Returns the table as aligned text with a heading, or only the line `nothing` if it has no rows.
    #[must_use]
    pub fn to_text(&self, nothing: &str, style: TextStyle) -> String {
        let mut page = TextPage::new(style);
        if self.rows.is_empty() {
            page.add_line(TextLine::indent(0).push_text(nothing));
            return page.finish();
        }
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(TableCell::display_text).collect()).collect();
        let widths = self.widths(&rows);
        let headings: Vec<String> = self.columns.iter().map(|column| column.key.to_uppercase()).collect();
        page.add_row(self.cells_line(&headings, &widths, TextRole::Faint));
        for row in &rows {
            page.add_row(self.cells_line(row, &widths, TextRole::Plain));
        }
        page.finish()
    }

    fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let widest = |(at, column): (usize, &TableColumn)| {
            let cells =
                rows.iter().filter_map(|row| row.get(at)).map(|cell| page::display_width(cell)).max();
            cells.unwrap_or(0).min(MAX_COLUMN_WIDTH).max(page::display_width(&column.key))
        };
        self.columns.iter().enumerate().map(widest).collect()
    }

    fn cells_line(&self, cells: &[String], widths: &[usize], role: TextRole) -> TextLine {
        let mut line = TextLine::indent(0);
        let mut start = 0;
        for ((column, width), cell) in self.columns.iter().zip(widths).zip(cells) {
            if column.right && !cell.is_empty() {
                line = line.ending_at(start + width, role, cell);
            } else if !cell.is_empty() {
                line = if start == 0 { line } else { line.to_column(start) };
                line = line.continue_at(start.max(2)).push_styled(role, cell);
            }
            start += width + 2;
        }
        line
    }
}

impl Serialize for ReportTable {
    /// Serializes the table as a list of objects, one per row, with the columns' keys.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            rows.serialize_element(&TableRow(&self.columns, row))?;
        }
        rows.end()
    }
}

struct TableRow<'a>(&'a [TableColumn], &'a [TableCell]);

impl Serialize for TableRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, cell) in self.0.iter().zip(self.1) {
            map.serialize_entry(&column.key, cell)?;
        }
        map.end()
    }
}
