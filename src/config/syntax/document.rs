//! `Document`: one tree for YAML and KDL, with the place of every key and value.
//!
//! The tree holds source text, not typed scalars: the schema decides types later (`9.10` for a text
//! attribute is `"9.10"`).

use crate::model::address::Name;
use crate::model::source::{SourceId, Span};

/// One file as a tree. The root is a mapping (an empty file: an empty mapping).
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The file.
    pub source: SourceId,
    /// Its syntax.
    pub syntax: Syntax,
    /// The top level.
    pub root: Vec<DocumentEntry>,
}

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// YAML 1.2, core text forms.
    Yaml,
    /// KDL v2.
    Kdl,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentEntry {
    /// The key.
    pub key: Name,
    /// Where the key stands.
    pub key_span: Span,
    /// Its value.
    pub value: Node,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub value: NodeValue,
    /// Where it stands; for an alias, where the anchored text stands.
    pub span: Span,
    /// Where the alias or merge key stands through which it was reached.
    pub through: Option<Span>,
}

/// What stands in the source.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Nothing: an empty YAML value, `~`, `null`, `#null`.
    Null,
    /// A KDL node with no argument, property or block: `reporting` in `users { reporting }`. It is an
    /// empty map, an empty list or an error, as the schema says.
    Bare,
    /// One word, number or text.
    Scalar(Scalar),
    /// A YAML sequence, or a KDL node with several arguments.
    Sequence(Vec<Node>),
    /// A YAML mapping, or a KDL node with properties or a block.
    Mapping(Vec<DocumentEntry>),
}

/// The text of a scalar, unescaped, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text.
    pub text: Name,
    /// How it was written.
    pub form: ScalarForm,
    /// The only argument of a KDL node: where the schema wants a list, it is a list of one.
    pub sole_argument: bool,
}

/// How a scalar was written: what it may be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarForm {
    /// A YAML plain scalar: a number, a boolean or text, as the schema says.
    Plain,
    /// Quoted or block text in YAML; any string in KDL, bare ones included. Always text.
    Text,
    /// A KDL number.
    Number,
    /// A KDL `#true` or `#false`; the text is `true` or `false`.
    Boolean,
}

impl Node {
    /// Returns the entries of a mapping (none for a bare KDL node).
    #[must_use]
    pub fn entries(&self) -> Option<&[DocumentEntry]> {
        match &self.value {
            NodeValue::Mapping(entries) => Some(entries),
            NodeValue::Bare => Some(&[]),
            _ => None,
        }
    }

    /// Returns the scalar, if it is one.
    #[must_use]
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            NodeValue::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }
}

/// Moves a span that begins at or behind an offset.
pub(in crate::config) fn shift_span(span: &mut Span, from: u32, delta: i64) {
    if span.start >= from {
        (span.start, span.end) = (shift_offset(span.start, delta), shift_offset(span.end, delta));
    }
}

/// Returns an offset that has moved.
pub(in crate::config) fn shift_offset(at: u32, delta: i64) -> u32 {
    u32::try_from(i64::from(at) + delta).unwrap_or(u32::MAX)
}

impl DocumentEntry {
    /// Moves what stands at or behind an offset.
    pub(in crate::config) fn shift(&mut self, from: u32, delta: i64) {
        shift_span(&mut self.key_span, from, delta);
        self.value.shift(from, delta);
    }
}

impl Node {
    /// Moves what stands at or behind an offset. The recursion is as deep as the tree, which is bounded.
    pub(in crate::config) fn shift(&mut self, from: u32, delta: i64) {
        shift_span(&mut self.span, from, delta);
        if let Some(through) = &mut self.through {
            shift_span(through, from, delta);
        }
        match &mut self.value {
            NodeValue::Sequence(items) => items.iter_mut().for_each(|item| item.shift(from, delta)),
            NodeValue::Mapping(entries) => entries.iter_mut().for_each(|entry| entry.shift(from, delta)),
            NodeValue::Null | NodeValue::Bare | NodeValue::Scalar(_) => {}
        }
    }
}

/// Returns the entries of a block; nothing at all is a block without entries.
pub(in crate::config) fn named_entries(node: &Node) -> Option<&[DocumentEntry]> {
    if node.value == NodeValue::Null { Some(&[]) } else { node.entries() }
}
