//! Reader of KDL as an `Outline`. In: the file and its layout tree; out: the outline with all comments.
//! Comments between the words of a line have no place in the outline, so they move above the line.

use super::comments::{CommentReader, CommentSyntax};
use super::outline::{
    CollectionStyle, Outline, OutlineItem, OutlineKey, OutlineValue, OutlineValueKind, RawScalar,
    TrailingComment, TriviaLine,
};
use crate::config::syntax::kdl::layout_tree::{self, KdlEntry, KdlNode};
use crate::config::syntax::scalar_class::ScalarClass;
use crate::model::address::Name;

/// Returns the outline of a KDL file; `None` when it has syntax errors. `is_kind` reports which top-level
/// keywords are followed by a block's name.
pub(super) fn read_kdl_outline(text: &str, is_kind: &dyn Fn(&str) -> bool) -> Option<Outline> {
    let tree = layout_tree::parse_kdl_layout(text)?;
    let mut reader = KdlReader { text, notes: CommentReader::new(text, &tree.comments, MARKS) };
    let mut items = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let item = reader.read_node(node, items.is_empty());
        items.push(set_block_label(item, node, is_kind));
    }
    let foot = reader.notes.take_leading_notes(text.len(), items.is_empty());
    Some(Outline { items, foot })
}

/// Makes the only argument of a block its name.
fn set_block_label(
    item: (OutlineItem, Vec<OutlineItem>),
    node: &KdlNode,
    is_kind: &dyn Fn(&str) -> bool,
) -> OutlineItem {
    let (mut item, mut arguments) = item;
    let body = matches!(item.value.kind, OutlineValueKind::Map(..));
    let lists = ["moved", "import", "removed"].contains(&node.name.as_str());
    if arguments.len() == 1 && (body || is_kind(&node.name)) && !lists {
        if let OutlineValueKind::Scalar { text, raw, .. } = arguments.remove(0).value.kind {
            let raw = match raw {
                RawScalar::Inline(raw) => Some(raw),
                _ => None,
            };
            item.label = Some(OutlineKey { text, raw });
            return item;
        }
    } else if !arguments.is_empty() {
        item.value.kind = of_arguments(arguments);
    }
    item
}

/// Returns the value of a node that has arguments only: the only one, or a list.
fn of_arguments(mut arguments: Vec<OutlineItem>) -> OutlineValueKind {
    match arguments.len() {
        1 => arguments.remove(0).value.kind,
        _ => {
            OutlineValueKind::List(Outline { items: arguments, foot: Vec::new() }, CollectionStyle::Inline)
        }
    }
}

struct KdlReader<'t> {
    text: &'t str,
    notes: CommentReader<'t>,
}

/// Comment syntax of KDL.
const MARKS: CommentSyntax = CommentSyntax { comment: "//", separators: &[';', '\\'] };

impl KdlReader<'_> {
    /// Assigns the comments inside a node's line to the notes above it.
    fn take_inline_comments(&mut self, to: usize, notes: &mut Vec<TriviaLine>) {
        while let Some(written) = self.notes.take_before(to) {
            for line in written.lines() {
                let line = line.strip_prefix("//").unwrap_or(line);
                let space = if line.starts_with(' ') { "" } else { " " };
                notes.push(TriviaLine::Comment(format!("{space}{}", line.trim_end())));
            }
        }
        self.notes.at = self.notes.at.max(to);
    }

    /// Returns a node and its arguments, which are not yet part of its value.
    fn read_node(&mut self, node: &KdlNode, first: bool) -> (OutlineItem, Vec<OutlineItem>) {
        let mut above = self.notes.take_leading_notes(node.start(), first);
        let key =
            OutlineKey { text: node.name.clone(), raw: Some(self.text[node.name_at.clone()].to_owned()) };
        let (mut arguments, mut properties) = (Vec::new(), Vec::new());
        for entry in &node.entries {
            let Some((key, at)) = &entry.key else {
                self.take_inline_comments(entry.at.end, &mut above);
                arguments.push(OutlineItem::new(None, self.read_scalar(entry)));
                continue;
            };
            // A comment between two properties belongs to the second; one after a property whose line
            // continues below belongs to that property.
            let mut own = Vec::new();
            self.take_inline_comments(
                entry.at.end,
                if properties.is_empty() { &mut above } else { &mut own },
            );
            let goes_on = self.text[entry.at.end..].trim_start_matches([' ', '\t']).starts_with('\\');
            let behind = if goes_on { self.notes.take_trailing_comment(entry.start()) } else { None };
            let key = OutlineKey { text: key.clone(), raw: Some(self.text[at.clone()].to_owned()) };
            let item = OutlineItem::new(None, self.read_scalar(entry));
            properties.push(OutlineItem { above: own, behind, key: Some(key), property: true, ..item });
        }
        let mut behind = None;
        let kind = match &node.block {
            None if properties.is_empty() => OutlineValueKind::Bare,
            None => OutlineValueKind::Map(
                Outline { items: properties, foot: Vec::new() },
                CollectionStyle::Inline,
            ),
            Some(block) => {
                self.take_inline_comments(block.at.start, &mut above);
                self.notes.at = block.at.start + 1;
                behind = self
                    .notes
                    .take_trailing_comment(node.start())
                    .map(|behind| TrailingComment { column: 0, ..behind });
                self.read_block(block, properties)
            }
        };
        self.take_inline_comments(node.end, &mut above);
        self.notes.at = self.notes.at.max(node.semicolon.unwrap_or(node.end));
        let behind = behind.or_else(|| self.notes.take_trailing_comment(node.start()));
        let item = OutlineItem {
            above,
            key: Some(key),
            label: None,
            value: OutlineValue::new(kind),
            behind,
            property: false,
        };
        (item, arguments)
    }

    fn read_block(
        &mut self,
        block: &layout_tree::KdlBlock,
        properties: Vec<OutlineItem>,
    ) -> OutlineValueKind {
        let inline = !self.text[block.at.clone()].contains('\n');
        let style = if inline { CollectionStyle::Inline } else { CollectionStyle::Block };
        let mut items = properties;
        let mut list = !block.nodes.is_empty();
        let known = items.len();
        for node in &block.nodes {
            let (mut item, arguments) = self.read_node(node, items.len() == known);
            if !arguments.is_empty() {
                item.value.kind = of_arguments(arguments);
            }
            if node.name == "-" {
                item.key = None;
            } else {
                list = false;
            }
            items.push(item);
        }
        let foot = self.notes.take_leading_notes(block.at.end - 1, items.is_empty());
        let foot = match foot.split_last() {
            Some((TriviaLine::Blank, rest)) => rest.to_vec(),
            _ => foot,
        };
        self.notes.at = block.at.end;
        let outline = Outline { items, foot };
        let style_of_items = if inline { CollectionStyle::Wrapped } else { CollectionStyle::Block };
        if list {
            OutlineValueKind::List(outline, style_of_items)
        } else {
            OutlineValueKind::Map(outline, style)
        }
    }

    fn read_scalar(&self, entry: &KdlEntry) -> OutlineValue {
        let written = &self.text[entry.at.clone()];
        let raw =
            if written.contains('\n') { RawScalar::Free } else { RawScalar::Inline(written.to_owned()) };
        let scalar = |text: Name, class| OutlineValueKind::Scalar { text, class, raw: raw.clone() };
        OutlineValue::new(match &entry.value {
            layout_tree::KdlValue::Null => OutlineValueKind::Null,
            layout_tree::KdlValue::Boolean(value) => {
                scalar(Name::new_static(if *value { "true" } else { "false" }), ScalarClass::Boolean)
            }
            layout_tree::KdlValue::Number => scalar(Name::new(written), ScalarClass::Number),
            layout_tree::KdlValue::Text(text) => scalar(text.clone(), ScalarClass::Text),
        })
    }
}
