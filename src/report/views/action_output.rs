//! `ActionOutput`: the service's response to an action, as text, JSON or CSV.
//!
//! If the response contains a secret, only the fields that the action's table lists are shown; all other fields
//! are treated as secret, whatever their names.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::model::address::Name;
use crate::model::schema::ResponseShape;
use crate::model::values::value::Value;
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};
use crate::report::text::{escape, phrases};

/// Replacement text for a secret.
const REDACTED_TEXT: &str = "(hidden)";

/// Nesting depth down to which values are laid out; deeper values are shown as JSON.
const MAX_DEPTH: usize = 4;

/// An action's response in a form that may be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionOutput {
    answer: ResponseShape,
    payload: Json,
    /// Paths of the redacted fields.
    hidden: Vec<String>,
    /// Whether to show columns that the action's table does not list.
    wide: bool,
}

impl ActionOutput {
    /// Returns a view of the response with its secrets redacted, unless `reveal` is set.
    #[must_use]
    pub fn new(answer: ResponseShape, payload: &Json, secret: bool, reveal: bool) -> Self {
        let mut hidden = Vec::new();
        let payload = if secret && !reveal {
            redact_fields(payload, public_fields(answer), "", &mut hidden)
        } else {
            payload.clone()
        };
        hidden.sort();
        hidden.dedup();
        Self { answer, payload, hidden, wide: false }
    }

    /// Sets whether text output shows all columns, not only those of the action's table.
    #[must_use]
    pub fn wide(mut self, wide: bool) -> Self {
        self.wide = wide;
        self
    }

    /// Returns the paths of the redacted fields, each once.
    #[must_use]
    pub fn hidden_paths(&self) -> &[String] {
        &self.hidden
    }

    /// Returns the payload for JSON output, with `null` for redacted fields.
    #[must_use]
    pub fn json(&self) -> &Json {
        &self.payload
    }

    /// Returns the response as text.
    #[must_use]
    pub fn text(&self, style: TextStyle) -> String {
        match self.answer {
            ResponseShape::Empty => String::new(),
            ResponseShape::QueryResult => self.to_table(true).to_text("There are no entries.", style),
            ResponseShape::Rows(_) | ResponseShape::Feed { .. } => {
                self.to_table(self.wide).to_text("There are no entries.", style)
                    + &self.render_footer(style)
            }
            ResponseShape::Object | ResponseShape::Record(_) | ResponseShape::Document { .. } => {
                self.render_record(style)
            }
        }
    }

    /// Returns rows without a heading, for a table that is continued.
    #[must_use]
    pub fn render_rows(&self, rows: &[Json], style: TextStyle) -> String {
        let mut page = TextPage::new(style);
        let columns = self.columns(rows, self.wide);
        for row in rows {
            let cells: Vec<String> = columns
                .iter()
                .filter_map(|column| row.get(column.as_str()))
                .filter(|cell| !cell.is_null())
                .map(display_json)
                .collect();
            page.add_row(TextLine::indent(0).push_text(cells.join("  ")));
        }
        page.finish()
    }

    /// Returns the response as CSV (RFC 4180) with a header line.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let table = self.to_table(true);
        let keys: Vec<&str> = table.columns.iter().map(|column| column.key.as_str()).collect();
        let mut text = line_of(keys.into_iter());
        for row in &table.rows {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| match cell {
                    TableCell::Value(Value::Text(text)) => text.to_string(),
                    TableCell::Value(value) => phrases::format_value(value),
                    TableCell::Text(text) => text.clone(),
                    TableCell::Money(amount) => amount.to_string(),
                    TableCell::Empty => String::new(),
                })
                .collect();
            text.push_str(&line_of(cells.iter().map(String::as_str)));
        }
        text
    }

    /// Returns the value at a dotted path in the payload.
    #[must_use]
    pub fn text_field<'a>(payload: &'a Json, path: &str) -> Option<&'a Json> {
        path.split('.').try_fold(payload, |json, key| json.get(key))
    }

    fn render_record(&self, style: TextStyle) -> String {
        let mut flat = Vec::new();
        flatten_json(&self.payload, "", 0, &mut flat);
        let says = |json: &Json| !json.is_null() && json.as_str() != Some("");
        flat.retain(|(path, json)| says(json) || self.hidden.contains(path));
        let widest = flat.iter().map(|(path, _)| page::display_width(path)).max().unwrap_or(0);
        let mut page = TextPage::new(style);
        for (path, json) in &flat {
            let line = TextLine::indent(0)
                .push_styled(TextRole::Faint, path)
                .to_column(widest + 2)
                .continue_at(widest + 2);
            page.add_row(if self.hidden.contains(path) {
                line.push_styled(TextRole::Faint, REDACTED_TEXT)
            } else {
                line.push_text(display_json(json))
            });
        }
        page.finish()
    }

    /// Returns the fields beside a list, such as a total or a period.
    fn render_footer(&self, style: TextStyle) -> String {
        let map: Map<String, Json> = self.payload.as_object().cloned().unwrap_or_default();
        let beside = map.into_iter().filter(|(_, value)| !value.is_array()).collect();
        let beside = Self { payload: Json::Object(beside), ..self.clone() };
        beside.render_record(style)
    }

    fn to_table(&self, wide: bool) -> ReportTable {
        if self.answer == ResponseShape::QueryResult {
            return grid_table(&self.payload);
        }
        let rows = payload_rows(&self.payload);
        let columns = self.columns(rows, wide);
        let cell = |row: &Json, column: &Name| match row.get(column.as_str()) {
            None | Some(Json::Null) => TableCell::Empty,
            Some(json) => TableCell::Value(Value::from_json(json)),
        };
        let of = |row: &Json| {
            if row.is_object() {
                columns.iter().map(|column| cell(row, column)).collect()
            } else {
                // A list of plain values has one column.
                vec![TableCell::Value(Value::from_json(row))]
            }
        };
        let right =
            |name: &Name| rows.iter().any(|row| row.get(name.as_str()).is_some_and(Json::is_number));
        ReportTable {
            rows: rows.iter().map(of).collect(),
            columns: columns
                .iter()
                .map(|key| TableColumn { key: key.clone(), right: right(key) })
                .collect(),
        }
    }

    /// Returns the columns: first those that the action's table lists; then all others, if it lists
    /// none or `wide` is set.
    fn columns(&self, rows: &[Json], wide: bool) -> Vec<Name> {
        let first = match self.answer {
            ResponseShape::Rows(first) | ResponseShape::Feed { columns: first, .. } => first,
            _ => &[],
        };
        let found: BTreeSet<&str> =
            rows.iter().filter_map(Json::as_object).flat_map(Map::keys).map(String::as_str).collect();
        if found.is_empty() {
            let most = if rows.is_empty() { usize::MAX } else { 1 };
            return first
                .iter()
                .copied()
                .chain(first.is_empty().then_some("value"))
                .take(most)
                .map(Name::new)
                .collect();
        }
        let named = first.iter().copied().filter(|name| found.contains(name));
        let some = named.clone().next().is_some();
        let others = found.iter().copied().filter(|name| !first.contains(name) && (wide || !some));
        named.chain(others).map(Name::new).collect()
    }
}

/// Returns the fields that are not secret in a response with a secret.
const fn public_fields(answer: ResponseShape) -> &'static [&'static str] {
    match answer {
        ResponseShape::Record(open)
        | ResponseShape::Rows(open)
        | ResponseShape::Feed { columns: open, .. } => open,
        ResponseShape::Empty
        | ResponseShape::Object
        | ResponseShape::QueryResult
        | ResponseShape::Document { .. } => &[],
    }
}

/// Returns a value with all fields redacted except for the open ones.
fn redact_fields(json: &Json, open: &[&str], path: &str, hidden: &mut Vec<String>) -> Json {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match json {
        Json::Null => Json::Null,
        Json::Object(map) => Json::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), redact_fields(value, open, &join(key), hidden)))
                .collect(),
        ),
        Json::Array(items) if !open.contains(&path) => {
            Json::Array(items.iter().map(|item| redact_fields(item, open, path, hidden)).collect())
        }
        _ if open.contains(&path) && is_plain(json) => json.clone(),
        _ => {
            hidden.push(path.to_owned());
            Json::Null
        }
    }
}

/// Returns whether a value has no fields of its own, which the action's table could not list.
fn is_plain(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.iter().all(|item| !item.is_object() && !item.is_array()),
        Json::Object(_) => false,
        _ => true,
    }
}

/// Returns the records of a list, which may be nested in an object.
fn payload_rows(payload: &Json) -> &[Json] {
    let inner = || payload.as_object()?.values().find_map(Json::as_array);
    payload.as_array().or_else(inner).map_or(&[], Vec::as_slice)
}

fn grid_table(payload: &Json) -> ReportTable {
    let texts = |json: &Json| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    // A column is either a name, or an object with a name.
    let name = |json: &Json| texts(json.get("name").unwrap_or(json));
    let columns = payload.get("columns").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let names: Vec<String> = columns.iter().map(name).collect();
    let rows = payload.get("rows").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let cell = |json: Option<&Json>| match json {
        None | Some(Json::Null) => TableCell::Empty,
        Some(json) => TableCell::Value(Value::from_json(json)),
    };
    let row =
        |row: &Json| (0..names.len()).map(|at| cell(row.get(at).or_else(|| row.get(&names[at])))).collect();
    let right = |at: usize| rows.iter().any(|row| row.get(at).is_some_and(Json::is_number));
    let columns =
        names.iter().enumerate().map(|(at, name)| TableColumn { key: Name::new(name), right: right(at) });
    ReportTable { columns: columns.collect(), rows: rows.iter().map(row).collect() }
}

fn flatten_json(json: &Json, path: &str, depth: usize, into: &mut Vec<(String, Json)>) {
    match json {
        Json::Object(map) if depth < MAX_DEPTH => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten_json(value, &path, depth + 1, into);
            }
        }
        other => into.push((path.to_owned(), other.clone())),
    }
}

fn display_json(json: &Json) -> String {
    phrases::format_value(&Value::from_json(json))
}

fn line_of<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.to_owned()
        }
    };
    cells.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// Returns an untrusted text with its own layout; each line is safe to print.
#[must_use]
pub fn laid_out(text: &str) -> String {
    text.lines().map(|line| escape::page_line(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn connection() -> Json {
        json!({
            "private": {"host": "a.db", "port": 5432, "uri": "postgres://u:canary@a.db"},
            "user": "u", "password": "canary", "database": "d", "new_field": {"token": "canary"},
        })
    }

    const OPEN: ResponseShape =
        ResponseShape::Record(&["private.host", "private.port", "user", "new_field"]);

    #[test]
    fn a_secret_response_shows_only_the_named_fields() {
        let view = ActionOutput::new(OPEN, &connection(), true, false);
        insta::assert_snapshot!(view.text(TextStyle::plain(80)), @r"
        database         (hidden)
        new_field.token  (hidden)
        password         (hidden)
        private.host     a.db
        private.port     5432
        private.uri      (hidden)
        user             u
        ");
        assert!(!view.json().to_string().contains("canary"));
        assert_eq!(view.hidden_paths().len(), 4);
        let revealed = ActionOutput::new(OPEN, &connection(), true, true);
        assert!(
            revealed.hidden_paths().is_empty() && revealed.text(TextStyle::plain(80)).contains("canary")
        );
    }

    #[test]
    fn the_named_columns_come_first_in_a_row() {
        let rows =
            json!([{"id": 7, "extra": [1, 2], "name": "a"}, {"name": "evil\u{1b}[2J\nx", "id": null}]);
        let view = ActionOutput::new(ResponseShape::Rows(&["name", "absent", "id"]), &rows, false, false);
        assert_eq!(view.text(TextStyle::plain(80)).lines().next(), Some("NAME              ID"));
        let view = view.wide(true);
        insta::assert_snapshot!(view.text(TextStyle::plain(80)), @r"
        NAME              ID  EXTRA
        a                  7  [1, 2]
        evil\u{1b}[2J\nx
        ");
        assert_eq!(
            ActionOutput::new(ResponseShape::Rows(&[]), &json!([]), false, false)
                .text(TextStyle::plain(80)),
            "There are no entries.\n"
        );
        let plain =
            ActionOutput::new(ResponseShape::Rows(&["cidr"]), &json!(["10.0.0.0/16"]), false, false);
        assert_eq!(plain.text(TextStyle::plain(80)), "CIDR\n10.0.0.0/16\n");
    }

    #[test]
    fn fields_next_to_a_list_are_printed() {
        let usage =
            json!({"period": "current", "services": [{"usd": 1.5, "service_id": "a"}], "total_usd": 1.5});
        let view = ActionOutput::new(ResponseShape::Rows(&["service_id", "usd"]), &usage, false, false);
        insta::assert_snapshot!(view.text(TextStyle::plain(80)), @r"
        SERVICE_ID  USD
        a           1.5
        period     current
        total_usd  1.5
        ");
    }

    #[test]
    fn a_query_result_is_a_table_and_csv() {
        let grid = json!({"columns": ["n", {"name": "text"}], "rows": [[1, "a,\"b\""], [22, null]], "truncated": false});
        let view = ActionOutput::new(ResponseShape::QueryResult, &grid, false, false);
        insta::assert_snapshot!(view.text(TextStyle::plain(80)), @r#"
         N  TEXT
         1  a,"b"
        22
        "#);
        assert_eq!(view.to_csv(), "n,text\n1,\"a,\"\"b\"\"\"\n22,\n");
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i32>().prop_map(Json::from),
            Just(Json::String("canary".to_owned())),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
                proptest::collection::btree_map("user|password|rows|columns|[a-c]", inner, 0..4)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_response_shape_shows_a_secret(payload in any_json()) {
            for answer in [
                ResponseShape::Record(&[]), ResponseShape::Rows(&[]), ResponseShape::QueryResult, ResponseShape::Object,
                ResponseShape::Document { field: "a", merge: None },
            ] {
                let view = ActionOutput::new(answer, &payload, true, false);
                for text in [view.text(TextStyle::plain(80)), view.to_csv(), view.json().to_string()] {
                    prop_assert!(!text.contains("canary"), "{text}");
                }
            }
        }
    }
}
