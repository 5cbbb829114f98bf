//! Writer of an `Outline` as canonical YAML. A file that was YAML keeps its quotes and the style of its
//! collections; one that was KDL gets them by the widths below.

use super::outline::{
    CollectionStyle, Outline, OutlineItem, OutlineKey, OutlineValue, OutlineValueKind, RawScalar,
    TriviaLine,
};
use crate::config::syntax::quoting;
use crate::config::syntax::scalar_class::ScalarClass;
use crate::model::address::Name;

/// Maximum width in characters of a line with a collection in flow style.
const MAX_LINE_WIDTH: usize = 100;

/// Maximum width in characters of a map on one line if its author did not write flow style.
const MAX_FLOW_MAP_WIDTH: usize = 80;

/// Predicate: whether the schema expects a list at a path, for a node without a value.
pub(super) type SchemaListPredicate<'a> = &'a dyn Fn(&[Name]) -> bool;

/// Returns the content of a file. With `own`, quotes stay as the file has them, because it was YAML already.
pub(super) fn write_yaml_outline(outline: &Outline, own: bool, is_list: SchemaListPredicate<'_>) -> String {
    let mut writer = YamlWriter { out: String::new(), own, is_list, path: Vec::new() };
    let list = !outline.items.is_empty() && outline.items.iter().all(|item| item.key.is_none());
    writer.write_items(outline, 0, list);
    writer.out
}

struct YamlWriter<'a> {
    out: String,
    own: bool,
    is_list: SchemaListPredicate<'a>,
    path: Vec<Name>,
}

impl YamlWriter<'_> {
    fn write_items(&mut self, outline: &Outline, indent: usize, list: bool) {
        for item in &outline.items {
            self.write_notes(&item.above, indent);
            self.out.push_str(&" ".repeat(indent));
            self.write_item(item, indent, list);
        }
        self.write_notes(&outline.foot, indent);
    }

    fn write_notes(&mut self, notes: &[TriviaLine], indent: usize) {
        for note in notes {
            match note {
                TriviaLine::Blank if self.out.is_empty() => {}
                TriviaLine::Blank => self.out.push('\n'),
                TriviaLine::Comment(text) => self.write_comment_line(indent, text),
                TriviaLine::Raw(text) => {
                    for line in text.lines() {
                        let space = if line.starts_with(' ') { "" } else { " " };
                        self.write_comment_line(indent, &format!("{space}{}", line.trim_end()));
                    }
                }
            }
        }
    }

    fn write_comment_line(&mut self, indent: usize, comment: &str) {
        self.out.push_str(&" ".repeat(indent));
        self.out.push('#');
        self.out.push_str(comment);
        self.out.push('\n');
    }

    fn format_key(&self, key: &OutlineKey, flow: bool) -> String {
        match &key.raw {
            Some(raw) if self.own && !raw.contains('\n') => raw.clone(),
            _ => quoting::quote_yaml(&key.text, flow),
        }
    }

    /// Writes an entry or item; its line is already indented.
    fn write_item(&mut self, item: &OutlineItem, indent: usize, list: bool) {
        let start = self.out.len();
        if let (Some(key), false) = (&item.key, list) {
            let key_text = self.format_key(key, false);
            self.out.push_str(&key_text);
            self.out.push(':');
            self.path.push(key.text.clone());
        } else {
            self.out.push('-');
        }
        let inner = if list { indent + 2 } else { indent };
        self.write_value(item, start, inner, list);
        if item.key.is_some() && !list {
            self.path.pop();
        }
    }

    fn write_value(&mut self, item: &OutlineItem, start: usize, indent: usize, list: bool) {
        if let Some(anchor) = &item.value.anchor {
            self.out.push_str(" &");
            self.out.push_str(anchor);
        }
        let Some(outline) = item.value.outline() else { return self.write_scalar(item, start, indent) };
        let is_map = matches!(item.value.kind, OutlineValueKind::Map(..));
        if outline.items.is_empty() {
            self.out.push_str(if is_map { " {}" } else { " []" });
            self.end_line(item, start);
            return self.write_notes(&outline.foot, indent + 2);
        }
        let style = self.collection_style(&item.value, start);
        match style {
            CollectionStyle::Inline => {
                let text = self.format_inline(&item.value);
                self.out.push(' ');
                self.out.push_str(&text);
                self.end_line(item, start);
            }
            CollectionStyle::Wrapped => {
                self.out.push(' ');
                self.write_multiline_flow(&item.value, indent);
                self.end_line(item, start);
            }
            CollectionStyle::Block
                if list && item.behind.is_none() && item.value.anchor.is_none() && is_compact(outline) =>
            {
                // The first entry of a map follows the dash on the same line.
                self.out.push(' ');
                if let Some((first, rest)) = outline.items.split_first() {
                    self.write_item(first, indent, !is_map);
                    let rest = Outline { items: rest.to_vec(), foot: outline.foot.clone() };
                    self.write_items(&rest, indent, !is_map);
                }
            }
            CollectionStyle::Block => {
                self.end_line(item, start);
                self.write_items(outline, indent + if list { 0 } else { 2 }, !is_map);
            }
        }
    }

    /// Decides the layout of a collection that is not empty.
    fn collection_style(&self, value: &OutlineValue, start: usize) -> CollectionStyle {
        let (OutlineValueKind::List(outline, style) | OutlineValueKind::Map(outline, style)) = &value.kind
        else {
            return CollectionStyle::Inline;
        };
        let line = self.out.rfind('\n').map_or(0, |n| n + 1);
        let column = self.out[line..].chars().count();
        let _ = start;
        let fits = |most: usize| {
            !outline.has_comments()
                && is_inline(value)
                && column + 1 + self.format_inline(value).chars().count() <= most
        };
        match style {
            CollectionStyle::Block if self.own => CollectionStyle::Block,
            CollectionStyle::Wrapped if self.own => CollectionStyle::Wrapped,
            CollectionStyle::Inline if self.own => {
                if fits(MAX_LINE_WIDTH) {
                    CollectionStyle::Inline
                } else {
                    CollectionStyle::Wrapped
                }
            }
            _ if matches!(value.kind, OutlineValueKind::List(..)) => {
                if fits(MAX_LINE_WIDTH) {
                    CollectionStyle::Inline
                } else {
                    CollectionStyle::Block
                }
            }
            CollectionStyle::Inline if self.path.len() > 1 && fits(MAX_FLOW_MAP_WIDTH) => {
                CollectionStyle::Inline
            }
            _ => CollectionStyle::Block,
        }
    }

    fn write_scalar(&mut self, item: &OutlineItem, start: usize, indent: usize) {
        match &item.value.kind {
            OutlineValueKind::Scalar { raw: RawScalar::Block(header, lines), .. } if self.own => {
                self.out.push(' ');
                self.out.push_str(header);
                self.end_line(item, start);
                return self.write_block_lines(lines, indent + 2);
            }
            OutlineValueKind::Scalar { raw: RawScalar::Lines(lines), .. } if self.own => {
                self.out.push(' ');
                self.out.push_str(&Self::join_continued_lines(lines, indent + 2));
            }
            OutlineValueKind::Scalar { text, class: ScalarClass::Text, raw }
                if fits_a_block(text) && !(self.own && matches!(raw, RawScalar::Inline(_))) =>
            {
                let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
                let ends = text.ends_with('\n');
                if ends {
                    lines.pop();
                }
                self.out.push_str(if ends { " |" } else { " |-" });
                self.end_line(item, start);
                return self.write_block_lines(&lines, indent + 2);
            }
            _ => {
                let text = self.format_simple(&item.value, false);
                if !text.is_empty() {
                    self.out.push(' ');
                    self.out.push_str(&text);
                }
            }
        }
        self.end_line(item, start);
    }

    /// Writes the lines of a block scalar.
    fn write_block_lines(&mut self, lines: &[String], indent: usize) {
        for line in lines {
            if !line.is_empty() {
                self.out.push_str(&" ".repeat(indent));
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
    }

    /// Joins the source lines of a scalar, each but the first indented.
    fn join_continued_lines(lines: &[String], indent: usize) -> String {
        let mut out = String::new();
        for (n, line) in lines.iter().enumerate() {
            if n > 0 {
                out.push('\n');
                if !line.is_empty() {
                    out.push_str(&" ".repeat(indent));
                }
            }
            out.push_str(line);
        }
        out
    }

    /// Ends the line of an item, its comment on it.
    fn end_line(&mut self, item: &OutlineItem, start: usize) {
        if let Some(behind) = &item.behind {
            let line = self.out.rfind('\n').map_or(0, |n| n + 1);
            let width = self.out[start.max(line)..].chars().count();
            let wanted = if self.own && start >= line { behind.column } else { 0 };
            self.out.push_str(&" ".repeat(wanted.saturating_sub(width).max(1)));
            self.out.push('#');
            self.out.push_str(&behind.text);
        }
        self.out.push('\n');
    }

    /// Returns a scalar, null or alias on one line; an empty string where nothing is written.
    fn format_simple(&self, value: &OutlineValue, flow: bool) -> String {
        match &value.kind {
            OutlineValueKind::Empty if self.own => String::new(),
            OutlineValueKind::Null | OutlineValueKind::Empty => "null".to_owned(),
            OutlineValueKind::Bare if matches!(self.path.as_slice(), [word, _, flag] if word == "environments" && flag == "default") => {
                "true".to_owned()
            }
            OutlineValueKind::Bare if (self.is_list)(&self.path) => "[]".to_owned(),
            OutlineValueKind::Bare => "{}".to_owned(),
            OutlineValueKind::Alias(name) => format!("*{name}"),
            OutlineValueKind::Scalar { raw: RawScalar::Inline(raw), .. } if self.own => raw.clone(),
            OutlineValueKind::Scalar { text, class: ScalarClass::Text, .. } => {
                quoting::quote_yaml(text, flow)
            }
            OutlineValueKind::Scalar { text, .. } => text.to_string(),
            OutlineValueKind::List(..) | OutlineValueKind::Map(..) => self.format_inline(value),
        }
    }

    /// Returns a value on one line.
    fn format_inline(&self, value: &OutlineValue) -> String {
        let anchored = |text: String| match &value.anchor {
            Some(anchor)
                if !matches!(value.kind, OutlineValueKind::List(..) | OutlineValueKind::Map(..)) =>
            {
                format!("&{anchor} {text}")
            }
            _ => text,
        };
        match &value.kind {
            OutlineValueKind::List(outline, _) if outline.items.iter().all(|item| item.key.is_none()) => {
                let items: Vec<_> = outline.items.iter().map(|item| self.format_flow_item(item)).collect();
                format!("[{}]", items.join(", "))
            }
            OutlineValueKind::List(outline, _) | OutlineValueKind::Map(outline, _)
                if outline.items.is_empty() =>
            {
                "{}".to_owned()
            }
            OutlineValueKind::List(outline, _) | OutlineValueKind::Map(outline, _) => {
                let items: Vec<_> = outline.items.iter().map(|item| self.format_flow_item(item)).collect();
                format!("{{ {} }}", items.join(", "))
            }
            _ => anchored(self.format_simple(value, true)),
        }
    }

    /// Returns an entry or item inside brackets.
    fn format_flow_item(&self, item: &OutlineItem) -> String {
        let anchor = item.value.anchor.as_ref().filter(|_| item.value.outline().is_some());
        let value = match anchor {
            Some(anchor) => format!("&{anchor} {}", self.format_inline(&item.value)),
            None => self.format_inline(&item.value),
        };
        match &item.key {
            Some(key) if value.is_empty() => format!("{}:", self.format_key(key, true)),
            Some(key) => format!("{}: {value}", self.format_key(key, true)),
            None => value,
        }
    }

    /// Writes a collection in brackets over several lines.
    fn write_multiline_flow(&mut self, value: &OutlineValue, indent: usize) {
        let (open, close) =
            if matches!(value.kind, OutlineValueKind::Map(..)) { ('{', '}') } else { ('[', ']') };
        let Some(outline) = value.outline() else { return };
        self.out.push(open);
        self.out.push('\n');
        for item in &outline.items {
            self.write_notes(&item.above, indent + 2);
            self.out.push_str(&" ".repeat(indent + 2));
            let start = self.out.len();
            if let Some(key) = &item.key {
                let key = self.format_key(key, true);
                self.out.push_str(&key);
                self.out.push(':');
                if item.value.kind != OutlineValueKind::Empty || item.value.anchor.is_some() {
                    self.out.push(' ');
                }
            }
            if let (Some(anchor), Some(_)) = (&item.value.anchor, item.value.outline()) {
                self.out.extend(["&", anchor.as_str(), " "]);
            }
            self.broken_part(&item.value, indent + 2);
            self.out.push(',');
            self.end_line(item, start);
        }
        self.write_notes(&outline.foot, indent + 2);
        self.out.push_str(&" ".repeat(indent));
        self.out.push(close);
    }

    fn broken_part(&mut self, value: &OutlineValue, indent: usize) {
        if let OutlineValueKind::Scalar { raw: RawScalar::Lines(lines), .. } = &value.kind
            && self.own
        {
            if let Some(anchor) = &value.anchor {
                self.out.extend(["&", anchor.as_str(), " "]);
            }
            let text = Self::join_continued_lines(lines, indent + 2);
            self.out.push_str(&text);
            return;
        }
        let empty =
            value.outline().is_none_or(|outline| outline.items.is_empty() && outline.foot.is_empty());
        if empty || self.collection_style(value, 0) == CollectionStyle::Inline {
            let text = self.format_inline(value);
            self.out.push_str(&text);
        } else {
            self.write_multiline_flow(value, indent);
        }
    }
}

/// Returns whether a value can be written on one line.
fn is_inline(value: &OutlineValue) -> bool {
    match &value.kind {
        OutlineValueKind::Scalar { raw, text, .. } => {
            !matches!(raw, RawScalar::Lines(_) | RawScalar::Block(..))
                && (!text.contains('\n') || matches!(raw, RawScalar::Inline(_)))
        }
        OutlineValueKind::List(outline, style) | OutlineValueKind::Map(outline, style) => {
            *style != CollectionStyle::Wrapped && outline.items.iter().all(|item| is_inline(&item.value))
        }
        _ => true,
    }
}

/// Returns whether the first entry can follow a dash on the same line.
fn is_compact(outline: &Outline) -> bool {
    outline.items.first().is_some_and(|first| first.above.is_empty())
}

/// Returns whether a block scalar can represent a string unchanged.
fn fits_a_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with("\n\n")
        && text.lines().all(|line| !line.ends_with([' ', '\t']))
        && !text.chars().any(|c| c != '\n' && quoting::needs_escape(c))
}
