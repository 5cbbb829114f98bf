//! Writer of an `Outline` as canonical KDL. A file that was KDL keeps its quotes, properties and inline blocks;
//! one that was YAML gets them by the widths below.

use super::outline::{
    CollectionStyle, Outline, OutlineItem, OutlineKey, OutlineValue, OutlineValueKind, RawScalar,
    TrailingComment, TriviaLine,
};
use super::write_yaml::SchemaListPredicate;
use crate::config::edit::is_list_of_texts;
use crate::config::syntax::quoting;
use crate::config::syntax::scalar_class::ScalarClass;
use crate::model::address::Name;

/// Maximum width in characters of a line with properties, arguments or an inline block.
const MAX_LINE_WIDTH: usize = 100;

/// Top-level keywords whose nodes are the items of one list.
pub(super) const LIST_KEYWORDS: [&str; 3] = ["moved", "import", "removed"];

/// Returns the content of a file. With `own`, quotes and properties stay as the file has them, because
/// it was KDL already.
pub(super) fn write_kdl_outline(
    outline: &Outline,
    own: bool,
    is_kind: &dyn Fn(&str) -> bool,
    is_list: SchemaListPredicate<'_>,
) -> String {
    let mut writer = KdlWriter { out: String::new(), own, is_list, path: Vec::new() };
    if own {
        writer.write_nodes(outline, 0);
    } else {
        writer.write_nodes(&laid_out(outline, is_kind), 0);
    }
    writer.out
}

/// Splits the maps of kinds and the lists of declarations: each block becomes a node of its own.
fn laid_out(outline: &Outline, is_kind: &dyn Fn(&str) -> bool) -> Outline {
    let mut all = Outline { items: Vec::new(), foot: outline.foot.clone() };
    for item in &outline.items {
        let word = item.key.as_ref().map(|key| key.text.as_str()).unwrap_or_default();
        let declarations = LIST_KEYWORDS.contains(&word);
        let inner = match &item.value.kind {
            OutlineValueKind::Map(inner, _) if is_kind(word) && !inner.items.is_empty() => inner,
            OutlineValueKind::List(inner, _) if declarations && !inner.items.is_empty() => inner,
            _ => {
                all.items.push(item.clone());
                continue;
            }
        };
        let mut above = item.above.clone();
        above.extend(item.behind.iter().map(|behind| TriviaLine::Comment(behind.text.clone())));
        for (n, block) in inner.items.iter().enumerate() {
            let mut node = block.clone();
            node.label = if declarations { None } else { node.key.take() };
            node.key.clone_from(&item.key);
            if n == 0 {
                above.append(&mut node.above);
                node.above = std::mem::take(&mut above);
            }
            all.items.push(node);
        }
        if !inner.foot.is_empty() {
            let mut foot = inner.foot.clone();
            foot.append(&mut all.foot);
            all.foot = foot;
        }
    }
    all
}

struct KdlWriter<'a> {
    out: String,
    own: bool,
    is_list: SchemaListPredicate<'a>,
    path: Vec<Name>,
}

impl KdlWriter<'_> {
    fn write_nodes(&mut self, outline: &Outline, indent: usize) {
        for item in &outline.items {
            self.write_notes(&item.above, indent);
            self.out.push_str(&" ".repeat(indent));
            self.write_node(item, indent);
        }
        self.write_notes(&outline.foot, indent);
    }

    fn write_notes(&mut self, notes: &[TriviaLine], indent: usize) {
        for note in notes {
            match note {
                TriviaLine::Blank if self.out.is_empty() => {}
                TriviaLine::Blank => self.out.push('\n'),
                TriviaLine::Comment(text) => {
                    self.out.push_str(&" ".repeat(indent));
                    self.out.push_str("//");
                    self.out.push_str(text);
                    self.out.push('\n');
                }
                TriviaLine::Raw(text) => {
                    self.out.push_str(&" ".repeat(indent));
                    self.out.push_str(text);
                    self.out.push('\n');
                }
            }
        }
    }

    fn format_word(&self, word: &OutlineKey) -> String {
        match &word.raw {
            Some(raw) if self.own && !raw.contains('\n') => raw.clone(),
            _ => quoting::quote_kdl(&word.text),
        }
    }

    /// Writes a node; its line is already indented.
    fn write_node(&mut self, item: &OutlineItem, indent: usize) {
        let start = self.out.len();
        let name = item.key.as_ref().map_or_else(|| "-".to_owned(), |key| self.format_word(key));
        self.out.push_str(&name);
        self.path.extend(item.key.iter().map(|key| key.text.clone()));
        if let Some(label) = &item.label {
            let text = self.format_word(label);
            self.out.push(' ');
            self.out.push_str(&text);
            self.path.push(label.text.clone());
        }
        self.write_value(item, start, indent);
        let depth = self.path.len() - item.key.iter().count() - item.label.iter().count();
        self.path.truncate(depth);
    }

    fn write_value(&mut self, item: &OutlineItem, start: usize, indent: usize) {
        match &item.value.kind {
            OutlineValueKind::Bare => self.end_line(item, start),
            OutlineValueKind::Empty | OutlineValueKind::Null if item.label.is_some() => {
                self.end_line(item, start);
            }
            OutlineValueKind::List(list, _) if list.items.is_empty() => {
                let text = if (self.is_list)(&self.path) { "" } else { " \"${[]}\"" };
                self.out.push_str(text);
                self.end_line(item, start);
                self.write_notes(&list.foot, indent);
            }
            OutlineValueKind::Map(map, _) if map.items.is_empty() && !self.own => {
                self.end_line(item, start);
                self.write_notes(&map.foot, indent);
            }
            OutlineValueKind::List(list, style) => self.write_list(item, list, *style, start, indent),
            OutlineValueKind::Map(map, style) => {
                let (properties, children) = self.split_properties(map, *style, start);
                for property in properties {
                    let text = self.format_property(property);
                    self.out.push_str(&text);
                }
                if children.is_empty() && map.foot.is_empty() && !(self.own && map.items.is_empty()) {
                    return self.end_line(item, start);
                }
                let items = children.into_iter().cloned().collect();
                self.write_block(item, &Outline { items, foot: map.foot.clone() }, *style, start, indent);
            }
            OutlineValueKind::Scalar { text, raw, .. }
                if text.contains('\n') && !(self.own && matches!(raw, RawScalar::Inline(_))) =>
            {
                self.write_lines(text, indent);
                self.end_line(item, start);
            }
            _ => {
                let text = self.format_scalar(&item.value);
                self.out.push(' ');
                self.out.push_str(&text);
                self.end_line(item, start);
            }
        }
    }

    /// Returns the entries of a map that are written on the node's own line,
    /// and those that become children.
    fn split_properties<'i>(
        &self,
        map: &'i Outline,
        style: CollectionStyle,
        start: usize,
    ) -> (Vec<&'i OutlineItem>, Vec<&'i OutlineItem>) {
        if self.own {
            return map.items.iter().partition(|item| item.property);
        }
        if matches!(self.path.as_slice(), [word] if !LIST_KEYWORDS.contains(&word.as_str())) {
            // `vars`, `locals`, `outputs`: a line for each entry.
            return (Vec::new(), map.items.iter().collect());
        }
        let line = self.out[..start].rfind('\n').map_or(0, |n| n + 1);
        let mut width = self.out[line..].chars().count();
        let mut children = Vec::new();
        let mut properties = Vec::new();
        for item in &map.items {
            let can = item.value.is_short()
                && item.value.kind != OutlineValueKind::Bare
                && !item.has_comments()
                && !item.above.contains(&TriviaLine::Blank);
            let text = if can { self.format_property(item) } else { String::new() };
            let room = width + text.chars().count() <= MAX_LINE_WIDTH;
            // Entries after the first child stay children, so that their order is preserved.
            if can && room && (children.is_empty() || style == CollectionStyle::Inline) {
                width += text.chars().count();
                properties.push(item);
            } else {
                children.push(item);
            }
        }
        (properties, children)
    }

    fn format_property(&self, item: &OutlineItem) -> String {
        let key = item.key.as_ref().map(|key| self.format_word(key)).unwrap_or_default();
        format!(" {key}={}", self.format_scalar(&item.value))
    }

    fn write_list(
        &mut self,
        item: &OutlineItem,
        list: &Outline,
        style: CollectionStyle,
        start: usize,
        indent: usize,
    ) {
        let plain = list.items.iter().all(|part| {
            part.value.is_short()
                && !matches!(part.value.kind, OutlineValueKind::Bare)
                && part.key.is_none()
                && !part.has_comments()
        });
        let is_word = |part: &OutlineItem| match &part.value.kind {
            OutlineValueKind::Scalar { text, .. } => is_list_of_texts(&self.path, text),
            _ => false,
        };
        let several =
            list.items.len() > 1 || (self.is_list)(&self.path) || list.items.first().is_some_and(is_word);
        let can =
            plain && list.foot.is_empty() && several && (!self.own || style == CollectionStyle::Inline);
        if can {
            let words: Vec<_> = list.items.iter().map(|part| self.format_scalar(&part.value)).collect();
            let text = words.join(" ");
            let line = self.out.rfind('\n').map_or(0, |n| n + 1);
            let fits = self.out[line..].chars().count() + 1 + text.chars().count() <= MAX_LINE_WIDTH;
            if fits || self.own {
                self.out.push(' ');
                self.out.push_str(&text);
                return self.end_line(item, start);
            }
        }
        let style = if self.own { style } else { CollectionStyle::Block };
        self.write_block(item, list, style, start, indent);
    }

    /// Writes a block behind a node.
    fn write_block(
        &mut self,
        item: &OutlineItem,
        inner: &Outline,
        style: CollectionStyle,
        start: usize,
        indent: usize,
    ) {
        if style != CollectionStyle::Block
            && self.own
            && !inner.has_comments()
            && let Some(text) = self.format_inline(inner)
        {
            let line = self.out.rfind('\n').map_or(0, |n| n + 1);
            if self.out[line..].chars().count() + text.chars().count() < MAX_LINE_WIDTH {
                self.out.push(' ');
                self.out.push_str(&text);
                return self.end_line(item, start);
            }
        }
        self.out.push_str(" {");
        let head = item.behind.as_ref();
        if let Some(behind) = head {
            self.write_comment(behind, start);
        }
        self.out.push('\n');
        self.write_nodes(inner, indent + 2);
        self.out.push_str(&" ".repeat(indent));
        self.out.push_str("}\n");
    }

    /// Returns a block on one line; `None` if something in it needs lines of its own.
    fn format_inline(&mut self, inner: &Outline) -> Option<String> {
        if inner.items.is_empty() {
            return Some("{}".to_owned());
        }
        let out = std::mem::take(&mut self.out);
        let mut parts = Vec::new();
        for item in &inner.items {
            self.write_node(item, 0);
            parts.push(std::mem::take(&mut self.out).trim_end_matches('\n').to_owned());
        }
        self.out = out;
        (!parts.iter().any(|part| part.contains('\n'))).then(|| format!("{{ {} }}", parts.join("; ")))
    }

    /// Writes a string of several lines.
    fn write_lines(&mut self, text: &str, indent: usize) {
        if text.chars().any(|c| c != '\n' && quoting::needs_escape(c))
            || text.lines().any(|line| !line.is_empty() && line.trim().is_empty())
        {
            let quoted = quoting::kdl_quoted(text);
            self.out.push(' ');
            self.out.push_str(&quoted);
            return;
        }
        let raw = text.contains('\\') || text.contains("\"\"\"");
        let marks = if raw { "#".repeat(longest_marks(text) + 1) } else { String::new() };
        self.out.push(' ');
        self.out.push_str(&marks);
        self.out.push_str("\"\"\"\n");
        for line in text.split('\n') {
            if !line.is_empty() {
                self.out.push_str(&" ".repeat(indent + 2));
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
        self.out.push_str(&" ".repeat(indent + 2));
        self.out.push_str("\"\"\"");
        self.out.push_str(&marks);
    }

    fn format_scalar(&self, value: &OutlineValue) -> String {
        match &value.kind {
            OutlineValueKind::Scalar { raw: RawScalar::Inline(raw), .. } if self.own => raw.clone(),
            OutlineValueKind::Scalar { text, class: ScalarClass::Boolean, .. } => format!("#{text}"),
            OutlineValueKind::Scalar { text, class: ScalarClass::Number, .. }
                if quoting::is_number(&quoting::normalize_number(text)) =>
            {
                quoting::normalize_number(text)
            }
            OutlineValueKind::Scalar { text, .. } => quoting::quote_kdl(text),
            _ => "#null".to_owned(),
        }
    }

    /// Ends the line of a node, its comment on it.
    fn end_line(&mut self, item: &OutlineItem, start: usize) {
        if let Some(behind) = &item.behind {
            self.write_comment(behind, start);
        }
        self.out.push('\n');
    }

    fn write_comment(&mut self, behind: &TrailingComment, start: usize) {
        let line = self.out.rfind('\n').map_or(0, |n| n + 1);
        let width = self.out[start.max(line)..].chars().count();
        let wanted = if self.own && start >= line { behind.column } else { 0 };
        self.out.push_str(&" ".repeat(wanted.saturating_sub(width).max(1)));
        self.out.push_str("//");
        self.out.push_str(&behind.text);
    }
}

/// Returns the largest number of `#` that follow a quote: a raw string needs one more.
fn longest_marks(text: &str) -> usize {
    text.split('"').skip(1).map(|rest| rest.bytes().take_while(|b| *b == b'#').count()).max().unwrap_or(0)
}
