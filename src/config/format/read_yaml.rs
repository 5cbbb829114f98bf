//! Reader of YAML as an `Outline`. In: the file and its layout tree; out: the outline with all
//! comments, anchors and aliases.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::comments::{CommentReader, CommentSyntax};
use super::outline::{
    CollectionStyle, Outline, OutlineItem, OutlineKey, OutlineValue, OutlineValueKind, RawScalar,
    TriviaLine,
};
use crate::config::syntax::scalar_class::{ScalarClass, plain_class};
use crate::config::syntax::yaml::layout_tree::{self, YamlCollection, YamlContent, YamlNode};
use crate::model::address::Name;

/// Returns the outline of a YAML file; `None` when it has syntax errors.
pub(super) fn read_yaml_outline(text: &str) -> Option<Outline> {
    let tree = layout_tree::parse_yaml_layout(text)?;
    let mut reader = YamlReader { text, notes: CommentReader::new(text, &tree.comments, MARKS) };
    let mut outline = match &tree.root {
        None => Outline::default(),
        Some(root) => match reader.read_value(root, None).kind {
            OutlineValueKind::Map(outline, _) | OutlineValueKind::List(outline, _) => outline,
            _ => Outline::default(),
        },
    };
    outline.foot.extend(reader.notes.take_leading_notes(text.len(), false));
    Some(outline)
}

struct YamlReader<'t> {
    text: &'t str,
    notes: CommentReader<'t>,
}

/// Comment syntax of YAML.
const MARKS: CommentSyntax = CommentSyntax { comment: "#", separators: &[',', ':'] };

impl YamlReader<'_> {
    fn read_value(&mut self, node: &YamlNode, close: Option<usize>) -> OutlineValue {
        let anchor = node.anchor.as_ref().map(|at| self.text[at.start + 1..at.end].to_owned());
        let kind = match &node.content {
            YamlContent::Alias => {
                self.notes.at = node.range.end;
                OutlineValueKind::Alias(self.text[node.range.start + 1..node.range.end].to_owned())
            }
            YamlContent::Scalar { text, style, at } => {
                self.notes.at = self.notes.at.max(at.end);
                self.read_scalar(text, *style, at)
            }
            YamlContent::Sequence(all) => {
                let (outline, style) = self.read_collection(all, node, close);
                OutlineValueKind::List(outline, style)
            }
            YamlContent::Mapping(all) => {
                let (outline, style) = self.read_collection(all, node, close);
                OutlineValueKind::Map(outline, style)
            }
        };
        OutlineValue { anchor, kind }
    }

    fn read_scalar(&self, text: &Name, style: ScalarStyle, at: &Range<usize>) -> OutlineValueKind {
        let raw = &self.text[at.clone()];
        let (class, raw) = match style {
            ScalarStyle::Plain if raw.is_empty() => return OutlineValueKind::Empty,
            ScalarStyle::Plain if matches!(text.as_str(), "~" | "null" | "Null" | "NULL") => {
                return OutlineValueKind::Null;
            }
            ScalarStyle::Plain => (plain_class(text), raw_lines(raw)),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                (ScalarClass::Text, raw_lines(&in_double_quotes(raw)))
            }
            ScalarStyle::Literal | ScalarStyle::Folded => (ScalarClass::Text, split_block_scalar(raw)),
        };
        OutlineValueKind::Scalar { text: text.clone(), class, raw }
    }

    fn read_collection(
        &mut self,
        all: &YamlCollection,
        node: &YamlNode,
        close: Option<usize>,
    ) -> (Outline, CollectionStyle) {
        let text = self.text;
        let start = node.anchor.as_ref().map_or(node.range.start, |anchor| anchor.end);
        let inner = text.get(start..node.range.end).unwrap_or_default().trim_start();
        let brackets = all.flow && inner.starts_with(['{', '[']);
        let close = if brackets { Some(node.range.end - 1) } else { close };
        let mut items = Vec::with_capacity(all.items.len());
        let first_line = inner.trim_start_matches(['{', '[']);
        let broken = brackets
            && first_line
                .split(|c| !matches!(c, ' ' | '\t' | '\r'))
                .next()
                .is_some_and(|gap| first_line[gap.len()..].starts_with(['\n', '#']));
        if brackets {
            self.notes.at = node.range.end - inner.len() + 1;
        }
        for item in &all.items {
            let above = self.notes.take_leading_notes(item.start, items.is_empty());
            let key = item.key.as_ref().map(|key| {
                self.notes.at = key.colon.unwrap_or(key.at.end);
                OutlineKey { text: key.text.clone(), raw: Some(text[key.at.clone()].to_owned()) }
            });
            if item.key.is_none() && !all.flow {
                self.notes.at = item.start + 1;
            }
            let is_block = item.value.collection().is_some_and(|inner| !inner.flow) && item.key.is_some();
            let head = if is_block { self.notes.take_trailing_comment(item.start) } else { None };
            let value = self.read_value(&item.value, close);
            let behind =
                head.or_else(|| if is_block { None } else { self.notes.take_trailing_comment(item.start) });
            items.push(OutlineItem { above, key, label: None, value, behind, property: false });
        }
        let foot = match (brackets, all.items.first()) {
            (true, _) => {
                let foot = self.notes.take_leading_notes(node.range.end - 1, items.is_empty());
                self.notes.at = node.range.end;
                foot.into_iter().filter(|note| *note != TriviaLine::Blank).collect()
            }
            (false, Some(first)) if !all.flow => self.take_foot_comments(first.start),
            _ => Vec::new(),
        };
        let style = match (all.flow, broken) {
            (false, _) => CollectionStyle::Block,
            (true, true) => CollectionStyle::Wrapped,
            (true, false) => CollectionStyle::Inline,
        };
        (Outline { items, foot }, style)
    }

    /// Assigns the comments after the last item of a block that are indented at least as far as the item, which
    /// begins at `first`; none at the top level, where they belong to the file.
    fn take_foot_comments(&mut self, first: usize) -> Vec<TriviaLine> {
        let column = |at: usize| at - self.text[..at].rfind('\n').map_or(0, |n| n + 1);
        let wanted = column(first);
        let mut end = None;
        for comment in self.notes.unplaced_comments() {
            let gap = self.text.get(end.unwrap_or(self.notes.at)..comment.start).unwrap_or("-");
            if wanted == 0 || !gap.trim().is_empty() || column(comment.start) < wanted {
                break;
            }
            end = Some(comment.end);
        }
        end.map(|end| self.notes.take_leading_notes(end, false)).unwrap_or_default().into_iter().collect()
    }
}

/// Returns a single-quoted string in double quotes, if that needs no escape; any other string as it is.
fn in_double_quotes(raw: &str) -> String {
    match raw.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')) {
        Some(inner) if !inner.contains(['\'', '"', '\\']) => format!("\"{inner}\""),
        _ => raw.to_owned(),
    }
}

fn raw_lines(raw: &str) -> RawScalar {
    if !raw.contains('\n') {
        return RawScalar::Inline(raw.to_owned());
    }
    let mut lines: Vec<String> =
        raw.lines().map(|line| line.trim_start_matches([' ', '\t']).to_owned()).collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        // Without a line continuation at the end, trailing white space has no meaning.
        if !line.ends_with('\\') {
            line.truncate(line.trim_end().len());
        }
    }
    RawScalar::Lines(lines)
}

/// Splits a block scalar into its header, without an indentation indicator, and its lines.
fn split_block_scalar(raw: &str) -> RawScalar {
    let mut all = raw.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let header = all.next().unwrap_or_default();
    let mark: String = header.chars().take_while(|c| !c.is_whitespace()).collect();
    let lines: Vec<&str> = all.collect();
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let indent = first.map_or(0, |line| line.len() - line.trim_start_matches(' ').len());
    if mark.contains(|c: char| c.is_ascii_digit() || c == '+') || header.contains('#') {
        // Its indentation depends on its parent, and its end on the blank lines after it, so the writer
        // chooses a new form.
        return RawScalar::Free;
    }
    let cut = |line: &&str| line.get(indent..).unwrap_or_default().to_owned();
    RawScalar::Block(mark, lines.iter().map(cut).collect())
}
