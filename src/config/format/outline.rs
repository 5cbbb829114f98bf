//! `Outline`: the layout of a file as its author wrote it, independent of the syntax: entries with their
//! comments, blank lines and quotes. Readers of both syntaxes build it, writers of both write it.

use crate::config::edit::ConfigLiteral;
use crate::config::syntax::scalar_class::ScalarClass;
use crate::model::address::Name;

/// A file, or the inside of a collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outline {
    /// Entries of a map, or items of a list.
    pub(super) items: Vec<OutlineItem>,
    /// Comments and blank lines after the last item.
    pub(super) foot: Vec<TriviaLine>,
}

/// An entry of a map or an item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineItem {
    /// Comments and blank lines above it.
    pub(super) above: Vec<TriviaLine>,
    /// Key; `None` for an item of a list.
    pub(super) key: Option<OutlineKey>,
    /// Name of a KDL block, which follows its kind; `None` in YAML, and for every other node.
    pub(super) label: Option<OutlineKey>,
    pub(super) value: OutlineValue,
    /// Comment at the end of its line, if there is one.
    pub(super) behind: Option<TrailingComment>,
    /// Whether it is written as a KDL property.
    pub(super) property: bool,
}

/// A key, with its original form.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineKey {
    /// The scalar's string, unescaped.
    pub(super) text: Name,
    /// Original form in the source, for a writer of the same syntax.
    pub(super) raw: Option<String>,
}

/// A comment at the end of an entry's line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrailingComment {
    /// Comment without its marker.
    pub(super) text: String,
    /// Column of the comment in characters, counted from the beginning of its entry; 0 to follow the
    /// entry after one space.
    pub(super) column: usize,
}

/// A blank line or a comment on lines of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TriviaLine {
    Blank,
    /// A comment of one line, without its mark.
    Comment(String),
    /// A block comment, or KDL that is commented out, as written.
    Raw(String),
}

/// A value with its anchor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineValue {
    /// YAML anchor such as `&name`, if the value has one.
    pub(super) anchor: Option<String>,
    pub(super) kind: OutlineValueKind,
}

/// Content of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OutlineValueKind {
    /// An empty YAML value, which means `null`.
    Empty,
    /// An explicit `null` in the source.
    Null,
    /// A KDL node with only a name.
    Bare,
    /// A scalar: a keyword, number or string.
    Scalar {
        /// Text with its escapes resolved.
        text: Name,
        /// Types as which the scalar may be read.
        class: ScalarClass,
        /// Original form in the source.
        raw: RawScalar,
    },
    /// A YAML alias such as `*name`.
    Alias(String),
    List(Outline, CollectionStyle),
    Map(Outline, CollectionStyle),
}

/// Original form of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawScalar {
    /// No form is kept: the writer chooses one.
    Free,
    /// Source text on one line.
    Inline(String),
    /// Source text on several lines, each without its indentation.
    Lines(Vec<String>),
    /// A YAML block: its header, and its lines without their indentation.
    Block(String, Vec<String>),
}

/// Layout of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectionStyle {
    /// On one line: YAML's brackets, KDL's arguments, properties or braces.
    Inline,
    /// In YAML's brackets over several lines; in KDL, items with dashes on one line.
    Wrapped,
    /// One item per line (YAML's block style, a KDL block over several lines).
    Block,
}

impl OutlineItem {
    /// Returns an entry without comments.
    pub(super) fn new(key: Option<Name>, value: OutlineValue) -> Self {
        let key = key.map(|text| OutlineKey { text, raw: None });
        Self { above: Vec::new(), key, label: None, value, behind: None, property: false }
    }

    /// Returns whether the item, or a value inside it, has a comment.
    pub(super) fn has_comments(&self) -> bool {
        self.behind.is_some()
            || self.above.iter().any(|note| *note != TriviaLine::Blank)
            || self.value.outline().is_some_and(Outline::has_comments)
    }
}

impl Outline {
    /// Moves the comments of a line's properties and items above the line, because none fits between them.
    pub(super) fn above_their_lines(&mut self) {
        for item in &mut self.items {
            let (OutlineValueKind::Map(inner, _) | OutlineValueKind::List(inner, _)) = &mut item.value.kind
            else {
                continue;
            };
            for property in inner.items.iter_mut().filter(|inner| inner.property) {
                item.above.append(&mut property.above);
                item.above.extend(property.behind.take().map(|behind| TriviaLine::Comment(behind.text)));
            }
            inner.above_their_lines();
        }
    }

    /// Returns whether any item, or the end of the collection, has a comment.
    pub(super) fn has_comments(&self) -> bool {
        !self.foot.is_empty() || self.items.iter().any(OutlineItem::has_comments)
    }
}

impl OutlineValue {
    /// Returns a value without an anchor.
    pub(super) fn new(kind: OutlineValueKind) -> Self {
        Self { anchor: None, kind }
    }

    /// Returns the content of a list or map; `None` for any other value.
    pub(super) fn outline(&self) -> Option<&Outline> {
        match &self.kind {
            OutlineValueKind::List(outline, _) | OutlineValueKind::Map(outline, _) => Some(outline),
            _ => None,
        }
    }

    /// Returns whether the value is a scalar or null that fits on one line.
    pub(super) fn is_short(&self) -> bool {
        match &self.kind {
            OutlineValueKind::Empty | OutlineValueKind::Null | OutlineValueKind::Bare => true,
            OutlineValueKind::Scalar { text, .. } => !text.contains('\n'),
            OutlineValueKind::Alias(_) | OutlineValueKind::List(..) | OutlineValueKind::Map(..) => false,
        }
    }
}

impl From<&ConfigLiteral> for OutlineValue {
    fn from(literal: &ConfigLiteral) -> Self {
        let scalar = |text: Name, class| OutlineValueKind::Scalar { text, class, raw: RawScalar::Free };
        Self::new(match literal {
            ConfigLiteral::Null => OutlineValueKind::Null,
            ConfigLiteral::Boolean(value) => {
                scalar(Name::new_static(if *value { "true" } else { "false" }), ScalarClass::Boolean)
            }
            ConfigLiteral::Number(text) => scalar(text.clone(), ScalarClass::Number),
            ConfigLiteral::Text(text) => scalar(text.clone(), ScalarClass::Text),
            ConfigLiteral::List(items) => {
                let items = items.iter().map(|item| OutlineItem::new(None, item.into())).collect();
                OutlineValueKind::List(Outline { items, foot: Vec::new() }, CollectionStyle::Inline)
            }
            ConfigLiteral::Map(entries) => {
                OutlineValueKind::Map(outline_from_entries(entries), CollectionStyle::Block)
            }
        })
    }
}

/// Returns the outline of a map's entries.
pub(super) fn outline_from_entries(entries: &[(Name, ConfigLiteral)]) -> Outline {
    let items =
        entries.iter().map(|(key, value)| OutlineItem::new(Some(key.clone()), value.into())).collect();
    Outline { items, foot: Vec::new() }
}
