//! `Outline`: a file as its author laid it out, in neither syntax.

use crate::config::edit::ConfigLiteral;
use crate::config::syntax::scalar_class::ScalarClass;
use crate::model::address::Name;

/// A file, or the inside of a collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outline {
    /// Its entries or items.
    pub(super) items: Vec<OutlineItem>,
    /// What stands behind the last one.
    pub(super) foot: Vec<TriviaLine>,
}

/// An entry of a map or an item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineItem {
    /// What stands on the lines above.
    pub(super) above: Vec<TriviaLine>,
    /// Its key, in a map.
    pub(super) key: Option<OutlineKey>,
    /// The name of a KDL block, behind its kind.
    pub(super) label: Option<OutlineKey>,
    /// Its value.
    pub(super) value: OutlineValue,
    /// The comment on its line.
    pub(super) behind: Option<TrailingComment>,
    /// Written as a KDL property.
    pub(super) property: bool,
}

/// A key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineKey {
    /// What it says.
    pub(super) text: Name,
    /// As it is written.
    pub(super) raw: Option<String>,
}

/// A comment behind an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TrailingComment {
    /// What it says, without its mark.
    pub(super) text: String,
    /// How far behind the beginning of its entry it stands.
    pub(super) column: usize,
}

/// What stands on lines of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TriviaLine {
    /// Nothing.
    Blank,
    /// A comment of one line, without its mark.
    Comment(String),
    /// KDL that is commented out or a comment of several lines, as it is written.
    Raw(String),
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutlineValue {
    /// `&name`.
    pub(super) anchor: Option<String>,
    /// What it is.
    pub(super) kind: OutlineValueKind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OutlineValueKind {
    /// Nothing is written where YAML reads `null`.
    Empty,
    /// `null`.
    Null,
    /// A KDL name alone.
    Bare,
    /// A word, number or text.
    Scalar {
        /// What it says.
        text: Name,
        /// What it may be read as.
        class: ScalarClass,
        /// As it is written.
        raw: RawScalar,
    },
    /// `*name`.
    Alias(String),
    /// A list.
    List(Outline, CollectionStyle),
    /// A map.
    Map(Outline, CollectionStyle),
}

/// How a scalar is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawScalar {
    /// In whatever way says it.
    Free,
    /// On one line.
    Inline(String),
    /// On several, each but the first indented below the key.
    Lines(Vec<String>),
    /// A YAML block: its header, and its lines without their indentation.
    Block(String, Vec<String>),
}

/// How a collection is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectionStyle {
    /// On one line: YAML's brackets, KDL's arguments, properties or braces.
    Inline,
    /// In YAML's brackets over several lines; in KDL, items with dashes on one line.
    Wrapped,
    /// On lines of its own.
    Block,
}

impl OutlineItem {
    /// Returns an entry without comments.
    pub(super) fn new(key: Option<Name>, value: OutlineValue) -> Self {
        let key = key.map(|text| OutlineKey { text, raw: None });
        Self { above: Vec::new(), key, label: None, value, behind: None, property: false }
    }

    /// Tells whether a comment stands at it or in it.
    pub(super) fn has_comments(&self) -> bool {
        self.behind.is_some()
            || self.above.iter().any(|note| *note != TriviaLine::Blank)
            || self.value.outline().is_some_and(Outline::has_comments)
    }
}

impl Outline {
    /// Puts what is said of the words of a line above the line: between them no comment can stand.
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

    /// Tells whether a comment stands in it.
    pub(super) fn has_comments(&self) -> bool {
        !self.foot.is_empty() || self.items.iter().any(OutlineItem::has_comments)
    }
}

impl OutlineValue {
    /// Returns a value of a kind.
    pub(super) fn new(kind: OutlineValueKind) -> Self {
        Self { anchor: None, kind }
    }

    /// Returns what is in a collection.
    pub(super) fn outline(&self) -> Option<&Outline> {
        match &self.kind {
            OutlineValueKind::List(outline, _) | OutlineValueKind::Map(outline, _) => Some(outline),
            _ => None,
        }
    }

    /// Tells whether it stands on one line and needs none of its own.
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
