//! `Document`: one syntax tree for YAML and KDL, with the span of every key and value.
//!
//! The tree holds source text, not typed scalars: the schema decides types later (`9.10` for
//! a text attribute is `"9.10"`).

use crate::model::address::Name;
use crate::model::source::{SourceId, Span};

/// One file as a tree. The root is a mapping (an empty file: an empty mapping).
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Id of the file, to which all spans refer.
    pub source: SourceId,
    /// Syntax of the file, for messages and edits.
    pub syntax: Syntax,
    /// Entries of the top level, in order.
    pub root: Vec<DocumentEntry>,
}

/// The syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// YAML 1.2, core schema.
    Yaml,
    /// KDL version 2, with named nodes.
    Kdl,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentEntry {
    /// Key of the entry, unescaped.
    pub key: Name,
    /// Span of the key in its file.
    pub key_span: Span,
    /// Value of the entry, with its span.
    pub value: Node,
}

/// A value with its span.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Content of the value, not typed yet.
    pub value: NodeValue,
    /// Span of the value; for an alias, the span of the anchored value.
    pub span: Span,
    /// Span of the alias or merge key through which the value was reached; `None` for a value in its own place.
    pub through: Option<Span>,
}

/// Content of a value, as the source has it.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// Nothing: an empty YAML value, `~`, `null`, `#null`.
    Null,
    /// A KDL node with no argument, property or block: `reporting` in `users { reporting }`. The schema
    /// decides whether it is an empty map, an empty list or an error.
    Bare,
    /// A keyword, number or string.
    Scalar(Scalar),
    /// A YAML sequence, or a KDL node with several arguments.
    Sequence(Vec<Node>),
    /// A YAML mapping, or a KDL node with properties or a block.
    Mapping(Vec<DocumentEntry>),
}

/// Unescaped string of a scalar, with its original form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The string without quotes and escapes.
    pub text: Name,
    /// Form in the source, which limits the possible types.
    pub form: ScalarForm,
    /// Whether it is the only argument of a KDL node: a list of one if the schema expects a list.
    pub sole_argument: bool,
}

/// Form of a scalar in the source, which determines the types as which it may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarForm {
    /// A YAML plain scalar: the schema decides between number, boolean and text.
    Plain,
    /// Quoted or block text in YAML; any string in KDL, bare ones included. Always text.
    Text,
    /// A KDL number, such as `20`.
    Number,
    /// A KDL `#true` or `#false`; the text is `true` or `false`.
    Boolean,
}

impl Node {
    /// Returns the entries of a mapping (none for a bare KDL node); `None` for any other content.
    #[must_use]
    pub fn entries(&self) -> Option<&[DocumentEntry]> {
        match &self.value {
            NodeValue::Mapping(entries) => Some(entries),
            NodeValue::Bare => Some(&[]),
            _ => None,
        }
    }

    /// Returns the scalar; `None` for any other content.
    #[must_use]
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            NodeValue::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }
}

/// Moves a span if it begins at or after an offset.
pub(in crate::config) fn shift_span(span: &mut Span, from: u32, delta: i64) {
    if span.start >= from {
        (span.start, span.end) = (shift_offset(span.start, delta), shift_offset(span.end, delta));
    }
}

/// Returns an offset after a change of the file that adds `delta` bytes before it; `u32::MAX` if it does not fit.
pub(in crate::config) fn shift_offset(at: u32, delta: i64) -> u32 {
    u32::try_from(i64::from(at) + delta).unwrap_or(u32::MAX)
}

impl DocumentEntry {
    /// Moves all spans at or after an offset by `delta` bytes.
    pub(in crate::config) fn shift(&mut self, from: u32, delta: i64) {
        shift_span(&mut self.key_span, from, delta);
        self.value.shift(from, delta);
    }
}

impl Node {
    /// Moves all spans at or after an offset by `delta` bytes. The recursion is as deep as the tree, whose
    /// depth the parser limits.
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

/// Returns the entries of a block; an empty or null value is a block without entries. `None` for any other value.
pub(in crate::config) fn named_entries(node: &Node) -> Option<&[DocumentEntry]> {
    if node.value == NodeValue::Null { Some(&[]) } else { node.entries() }
}
