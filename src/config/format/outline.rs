//! `Outline`: a file as its author laid it out, in neither syntax.

use crate::config::edit::Literal;
use crate::config::syntax::scalar_class::Class;
use crate::model::address::Name;

/// A file, or the inside of a collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outline {
    /// Its entries or items.
    pub(super) items: Vec<Item>,
    /// What stands behind the last one.
    pub(super) foot: Vec<Note>,
}

/// An entry of a map or an item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    /// What stands on the lines above.
    pub(super) above: Vec<Note>,
    /// Its key, in a map.
    pub(super) key: Option<Word>,
    /// The name of a KDL block, behind its kind.
    pub(super) label: Option<Word>,
    /// Its value.
    pub(super) value: Value,
    /// The comment on its line.
    pub(super) behind: Option<Behind>,
    /// Written as a KDL property.
    pub(super) property: bool,
}

/// A key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    /// What it says.
    pub(super) text: Name,
    /// As it is written.
    pub(super) raw: Option<String>,
}

/// A comment behind an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Behind {
    /// What it says, without its mark.
    pub(super) text: String,
    /// How far behind the beginning of its entry it stands.
    pub(super) column: usize,
}

/// What stands on lines of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Note {
    /// Nothing.
    Blank,
    /// A comment of one line, without its mark.
    Comment(String),
    /// KDL that is commented out or a comment of several lines, as it is written.
    Raw(String),
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    /// `&name`.
    pub(super) anchor: Option<String>,
    /// What it is.
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Nothing is written where YAML reads `null`.
    Nothing,
    /// `null`.
    Null,
    /// A KDL name alone.
    Bare,
    /// A word, number or text.
    Scalar {
        /// What it says.
        text: Name,
        /// What it may be read as.
        class: Class,
        /// As it is written.
        raw: Raw,
    },
    /// `*name`.
    Alias(String),
    /// A list.
    List(Outline, Style),
    /// A map.
    Map(Outline, Style),
}

/// How a scalar is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
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
pub(super) enum Style {
    /// On one line: YAML's brackets, KDL's arguments, properties or braces.
    Inline,
    /// In YAML's brackets over several lines; in KDL, items with dashes on one line.
    Broken,
    /// On lines of its own.
    Block,
}

impl Item {
    /// Returns an entry without comments.
    pub(super) fn new(key: Option<Name>, value: Value) -> Self {
        let key = key.map(|text| Word { text, raw: None });
        Self { above: Vec::new(), key, label: None, value, behind: None, property: false }
    }

    /// Tells whether a comment stands at it or in it.
    pub(super) fn has_comments(&self) -> bool {
        self.behind.is_some()
            || self.above.iter().any(|note| *note != Note::Blank)
            || self.value.outline().is_some_and(Outline::has_comments)
    }
}

impl Outline {
    /// Puts what is said of the words of a line above the line: between them no comment can stand.
    pub(super) fn above_their_lines(&mut self) {
        for item in &mut self.items {
            let (Kind::Map(inner, _) | Kind::List(inner, _)) = &mut item.value.kind else { continue };
            for property in inner.items.iter_mut().filter(|inner| inner.property) {
                item.above.append(&mut property.above);
                item.above.extend(property.behind.take().map(|behind| Note::Comment(behind.text)));
            }
            inner.above_their_lines();
        }
    }

    /// Tells whether a comment stands in it.
    pub(super) fn has_comments(&self) -> bool {
        !self.foot.is_empty() || self.items.iter().any(Item::has_comments)
    }
}

impl Value {
    /// Returns a value of a kind.
    pub(super) fn new(kind: Kind) -> Self {
        Self { anchor: None, kind }
    }

    /// Returns what is in a collection.
    pub(super) fn outline(&self) -> Option<&Outline> {
        match &self.kind {
            Kind::List(outline, _) | Kind::Map(outline, _) => Some(outline),
            _ => None,
        }
    }

    /// Tells whether it stands on one line and needs none of its own.
    pub(super) fn is_short(&self) -> bool {
        match &self.kind {
            Kind::Nothing | Kind::Null | Kind::Bare => true,
            Kind::Scalar { text, .. } => !text.contains('\n'),
            Kind::Alias(_) | Kind::List(..) | Kind::Map(..) => false,
        }
    }
}

impl From<&Literal> for Value {
    fn from(literal: &Literal) -> Self {
        let scalar = |text: Name, class| Kind::Scalar { text, class, raw: Raw::Free };
        Self::new(match literal {
            Literal::Null => Kind::Null,
            Literal::Boolean(value) => {
                scalar(Name::new_static(if *value { "true" } else { "false" }), Class::Boolean)
            }
            Literal::Number(text) => scalar(text.clone(), Class::Number),
            Literal::Text(text) => scalar(text.clone(), Class::Text),
            Literal::List(items) => {
                let items = items.iter().map(|item| Item::new(None, item.into())).collect();
                Kind::List(Outline { items, foot: Vec::new() }, Style::Inline)
            }
            Literal::Map(entries) => Kind::Map(outline_from_entries(entries), Style::Block),
        })
    }
}

/// Returns the outline of a map's entries.
pub(super) fn outline_from_entries(entries: &[(Name, Literal)]) -> Outline {
    let items = entries.iter().map(|(key, value)| Item::new(Some(key.clone()), value.into())).collect();
    Outline { items, foot: Vec::new() }
}
