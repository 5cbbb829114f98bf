//! KDL → `Outline`.

use std::ops::Range;

use super::outline::{Behind, Item, Kind, Note, Outline, Raw, Style, Value, Word};
use crate::config::kdl::tree::{self, Entry, Node};
use crate::config::meaning_class::Class;
use crate::model::address::Name;

/// Reads a KDL text that has no errors; `None` when it is none. `is_block` tells which top-level words
/// are followed by a name.
pub(super) fn read(text: &str, is_kind: &dyn Fn(&str) -> bool) -> Option<Outline> {
    let tree = tree::tree(text)?;
    let mut reader = Reader { text, comments: &tree.comments, next: 0, at: 0 };
    let mut items = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let item = reader.node(node, items.is_empty());
        items.push(labelled(item, node, is_kind));
    }
    let foot = reader.above(text.len(), items.is_empty());
    Some(Outline { items, foot })
}

/// Makes the only argument of a block its name.
fn labelled(item: (Item, Vec<Item>), node: &Node, is_kind: &dyn Fn(&str) -> bool) -> Item {
    let (mut item, mut arguments) = item;
    let body = matches!(item.value.kind, Kind::Map(..));
    let lists = ["moved", "import", "removed"].contains(&node.name.as_str());
    if arguments.len() == 1 && (body || is_kind(&node.name)) && !lists {
        if let Kind::Scalar { text, raw, .. } = arguments.remove(0).value.kind {
            let raw = match raw {
                Raw::Inline(raw) => Some(raw),
                _ => None,
            };
            item.label = Some(Word { text, raw });
            return item;
        }
    } else if !arguments.is_empty() {
        item.value.kind = of_arguments(arguments);
    }
    item
}

/// Returns the value of a node that has arguments only.
fn of_arguments(mut arguments: Vec<Item>) -> Kind {
    match arguments.len() {
        1 => arguments.remove(0).value.kind,
        _ => Kind::List(Outline { items: arguments, foot: Vec::new() }, Style::Inline),
    }
}

struct Reader<'t> {
    text: &'t str,
    comments: &'t [Range<usize>],
    /// The first comment that has no place yet.
    next: usize,
    /// Where the last thing ended that has its place.
    at: usize,
}

impl Reader<'_> {
    fn is_blank_before(&self, to: usize) -> bool {
        self.text.get(self.at..to).is_some_and(|gap| gap.bytes().filter(|b| *b == b'\n').count() > 1)
    }

    /// Takes the comments and blank lines up to an offset; `first` drops a blank line before them.
    fn above(&mut self, to: usize, first: bool) -> Vec<Note> {
        let mut notes: Vec<Note> = Vec::new();
        while let Some(comment) = self.comments.get(self.next).filter(|comment| comment.start < to) {
            if self.is_blank_before(comment.start) && !(first && notes.is_empty()) {
                notes.push(Note::Blank);
            }
            let written = &self.text[comment.clone()];
            notes.push(match written.strip_prefix("//") {
                Some(text) => Note::Comment(text.trim_end().to_owned()),
                None => Note::Raw(written.to_owned()),
            });
            self.at = comment.end;
            self.next += 1;
        }
        if to < self.text.len() && self.is_blank_before(to) && !(first && notes.is_empty()) {
            notes.push(Note::Blank);
        }
        self.at = self.at.max(to);
        notes
    }

    /// Takes the comments inside a node's line: they go above it.
    fn within(&mut self, to: usize, notes: &mut Vec<Note>) {
        while let Some(comment) = self.comments.get(self.next).filter(|comment| comment.start < to) {
            let written = &self.text[comment.clone()];
            for line in written.lines() {
                let line = line.strip_prefix("//").unwrap_or(line);
                let space = if line.starts_with(' ') { "" } else { " " };
                notes.push(Note::Comment(format!("{space}{}", line.trim_end())));
            }
            self.next += 1;
        }
        self.at = self.at.max(to);
    }

    /// Takes the comment on the same line.
    fn behind(&mut self, start: usize) -> Option<Behind> {
        let comment = self.comments.get(self.next)?.clone();
        let gap = self.text.get(self.at..comment.start)?;
        let text = self.text[comment.clone()].strip_prefix("//")?;
        if !gap.trim_matches(|c: char| (c.is_whitespace() && c != '\n') || c == ';').is_empty() {
            return None;
        }
        self.next += 1;
        self.at = comment.end;
        let line = self.text[..comment.start].rfind('\n').map_or(0, |n| n + 1);
        let column = if start >= line { self.text[start..comment.start].chars().count() } else { 0 };
        Some(Behind { text: text.trim_end().to_owned(), column })
    }

    /// Returns a node and its arguments, which its value does not hold yet.
    fn node(&mut self, node: &Node, first: bool) -> (Item, Vec<Item>) {
        let mut above = self.above(node.start(), first);
        let key = Word { text: node.name.clone(), raw: Some(self.text[node.name_at.clone()].to_owned()) };
        let (mut arguments, mut properties) = (Vec::new(), Vec::new());
        for entry in &node.entries {
            self.within(entry.at.end, &mut above);
            match &entry.key {
                None => arguments.push(Item::new(None, self.scalar(entry))),
                Some((key, at)) => {
                    let key = Word { text: key.clone(), raw: Some(self.text[at.clone()].to_owned()) };
                    let item = Item::new(None, self.scalar(entry));
                    properties.push(Item { key: Some(key), property: true, ..item });
                }
            }
        }
        let mut behind = None;
        let kind = match &node.block {
            None if properties.is_empty() => Kind::Bare,
            None => Kind::Map(Outline { items: properties, foot: Vec::new() }, Style::Inline),
            Some(block) => {
                self.within(block.at.start, &mut above);
                self.at = block.at.start + 1;
                behind = self.behind(node.start()).map(|behind| Behind { column: 0, ..behind });
                self.block(block, properties)
            }
        };
        self.within(node.end, &mut above);
        self.at = self.at.max(node.semicolon.unwrap_or(node.end));
        let behind = behind.or_else(|| self.behind(node.start()));
        let item =
            Item { above, key: Some(key), label: None, value: Value::new(kind), behind, property: false };
        (item, arguments)
    }

    fn block(&mut self, block: &tree::Block, properties: Vec<Item>) -> Kind {
        let inline = !self.text[block.at.clone()].contains('\n');
        let style = if inline { Style::Inline } else { Style::Block };
        let mut items = properties;
        let mut list = !block.nodes.is_empty();
        let known = items.len();
        for node in &block.nodes {
            let (mut item, arguments) = self.node(node, items.len() == known);
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
        let foot = self.above(block.at.end - 1, items.is_empty());
        let foot = match foot.split_last() {
            Some((Note::Blank, rest)) => rest.to_vec(),
            _ => foot,
        };
        self.at = block.at.end;
        let outline = Outline { items, foot };
        let style_of_items = if inline { Style::Broken } else { Style::Block };
        if list { Kind::List(outline, style_of_items) } else { Kind::Map(outline, style) }
    }

    fn scalar(&self, entry: &Entry) -> Value {
        let written = &self.text[entry.at.clone()];
        let raw = if written.contains('\n') { Raw::Free } else { Raw::Inline(written.to_owned()) };
        let scalar = |text: Name, class| Kind::Scalar { text, class, raw: raw.clone() };
        Value::new(match &entry.value {
            tree::Value::Null => Kind::Null,
            tree::Value::Boolean(value) => {
                scalar(Name::new_static(if *value { "true" } else { "false" }), Class::Boolean)
            }
            tree::Value::Number => scalar(Name::new(written), Class::Number),
            tree::Value::Text(text) => scalar(text.clone(), Class::Text),
        })
    }
}
