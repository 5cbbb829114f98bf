//! What a file says, without places: what an edit is judged by.

use super::literal::Literal;
use super::references::{Renames, redirect_text};
use super::request::{Edit, Path, Step, is_list_of_texts};
use crate::config::resolve::template::Template;
use crate::config::syntax::document::{Document, Entry, Node, NodeValue};
use crate::config::syntax::quoting;
use crate::config::syntax::scalar_class::{Class, scalar_class};
use crate::model::address::Name;

/// Tells whether one value alone is a list at a path.
pub(in crate::config) type IsList<'a> = &'a dyn Fn(&[Name]) -> bool;

/// Tells whether a top-level word names blocks.
pub(in crate::config) type IsKind<'a> = &'a dyn Fn(&str) -> bool;

/// A value without its place and without the order of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum Meaning {
    /// `null`.
    Null,
    /// A list, map or KDL node without anything in it.
    Empty,
    /// One word, number or text.
    Word {
        /// What it says.
        text: Name,
        /// What it may be read as.
        class: Class,
        /// A list of one, where one is wanted.
        sole: bool,
    },
    /// A list.
    List(Vec<Meaning>),
    /// A map, by key.
    Map(Vec<(Name, Meaning)>),
    /// Whatever says this.
    Wanted(Literal),
}

impl Meaning {
    /// Returns what a document says.
    pub(in crate::config) fn from_document(document: &Document) -> Self {
        content_of_entries(&document.root)
    }

    /// Returns what is the same in both syntaxes: one value alone is a list where the schema wants one,
    /// and an empty list elsewhere is an expression in KDL.
    pub(in crate::config) fn normalize_syntax(self, is_list: IsList<'_>, is_kind: IsKind<'_>) -> Self {
        self.across_at(is_list, is_kind, &mut Vec::new())
    }

    fn across_at(self, is_list: IsList<'_>, is_kind: IsKind<'_>, path: &mut Vec<Name>) -> Self {
        match self {
            Self::Word { text, .. } if text == "${[]}" => Self::Empty,
            Self::Word { text, class, sole } => {
                let is_list = sole && (is_list(path) || is_list_of_texts(path, &text));
                let text =
                    if class == Class::Number { quoting::normalize_number(&text).into() } else { text };
                let word = Self::Word { text, class, sole: false };
                if is_list { Self::List(vec![word]) } else { word }
            }
            Self::Empty if matches!(path.as_slice(), [word, _, flag] if word == "environments" && flag == "default") => {
                Self::Word { text: Name::new_static("true"), class: Class::Boolean, sole: false }
            }
            // A block without anything in it.
            Self::Null if (1..=2).contains(&path.len()) && is_kind(&path[0]) => Self::Empty,
            Self::List(items) => {
                let inner = |item: Self| item.across_at(is_list, is_kind, &mut vec![Name::default()]);
                Self::List(items.into_iter().map(inner).collect())
            }
            Self::Map(entries) => {
                let mut all = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    // A list without entries, which only YAML can write.
                    if path.is_empty() && LISTS.contains(&key.as_str()) && value == Self::Empty {
                        continue;
                    }
                    path.push(key.clone());
                    all.push((key, value.across_at(is_list, is_kind, path)));
                    path.pop();
                }
                Self::Map(all)
            }
            other => other,
        }
    }

    /// Tells whether a file that says the other is what was expected.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Wanted(literal), found) => matches_literal(found, literal),
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.is(&b.1))
            }
            (Self::List(a), Self::List(b)) => {
                // An item with a dash stands alone, and one among arguments does not.
                let same = |(a, b): (&Self, &Self)| a.is(b) || clear_sole_flag(a).is(&clear_sole_flag(b));
                a.len() == b.len() && a.iter().zip(b).all(same)
            }
            (Self::List(a), word @ Self::Word { sole: true, .. }) => match a.as_slice() {
                [only @ (Self::Wanted(_) | Self::Word { .. })] => only.is(&clear_sole_flag(word)),
                _ => false,
            },
            (Self::Map(none), Self::Empty) => none.is_empty(),
            (Self::List(none), Self::Empty) => none.is_empty(),
            (a, b) => a == b,
        }
    }

    /// Makes an edit; `None` when it cannot be made here.
    pub(super) fn apply_edit(&mut self, edit: &Edit) -> Option<()> {
        match edit {
            Edit::Set(path, literal) => {
                *self.get_or_insert(&path.0)? = Self::Wanted(literal.clone());
                Some(())
            }
            Edit::Append(path, literal) => self.append_item(path, literal),
            Edit::Remove(path) => self.remove_path(path),
            Edit::Rename(path, to) => {
                let (Step::Key(last), parent) = path.0.split_last()? else { return None };
                let Self::Map(entries) = self.get(parent)? else { return None };
                let position = entries.iter().position(|(key, _)| key == last)?;
                entries[position].0 = to.clone();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                Some(())
            }
            Edit::Redirect(renames) => {
                let renames = Renames::new(renames);
                self.redirect_references(&renames, false);
                if let Some(environments) = self.get(&[Step::Key(Name::new_static("environments"))]) {
                    environments.redirect_settings(&renames);
                }
                Some(())
            }
        }
    }

    /// Returns the value at a path.
    pub(super) fn get(&mut self, path: &[Step]) -> Option<&mut Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let inner = match (self, first) {
            (Self::Map(entries), Step::Key(key)) => {
                &mut entries.iter_mut().find(|entry| entry.0 == *key)?.1
            }
            (Self::List(items), Step::Item(n)) => items.get_mut(*n)?,
            (word @ Self::Word { sole: true, .. }, Step::Item(0)) => word,
            _ => return None,
        };
        inner.get(rest)
    }

    /// Returns the place of a path, made where it is not there yet.
    fn get_or_insert(&mut self, path: &[Step]) -> Option<&mut Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        if matches!((&*self, first), (Self::Null | Self::Empty, Step::Key(_))) {
            *self = Self::Map(Vec::new());
        }
        let inner = match (self, first) {
            (Self::Map(entries), Step::Key(key)) => {
                let position = entries.iter().position(|entry| entry.0 == *key).unwrap_or_else(|| {
                    let at = entries.partition_point(|entry| entry.0 < *key);
                    entries.insert(at, (key.clone(), Self::Empty));
                    at
                });
                &mut entries[position].1
            }
            (Self::List(items), Step::Item(n)) => items.get_mut(*n)?,
            (word @ Self::Word { sole: true, .. }, Step::Item(0)) => word,
            _ => return None,
        };
        inner.get_or_insert(rest)
    }

    fn append_item(&mut self, path: &Path, literal: &Literal) -> Option<()> {
        let list = self.get_or_insert(&path.0)?;
        match list {
            Self::List(items) => items.push(Self::Wanted(literal.clone())),
            Self::Null | Self::Empty => *list = Self::List(vec![Self::Wanted(literal.clone())]),
            Self::Word { sole: true, .. } => {
                *list = Self::List(vec![clear_sole_flag(list), Self::Wanted(literal.clone())]);
            }
            _ => return None,
        }
        Some(())
    }

    fn remove_path(&mut self, path: &Path) -> Option<()> {
        let (last, parent) = path.0.split_last()?;
        let holder = self.get(parent)?;
        let left = match (&mut *holder, last) {
            (Self::Map(entries), Step::Key(key)) => {
                let position = entries.iter().position(|entry| entry.0 == *key)?;
                entries.remove(position);
                entries.len()
            }
            (Self::List(items), Step::Item(n)) if *n < items.len() => {
                items.remove(*n);
                items.len()
            }
            (Self::Word { sole: true, .. }, Step::Item(0)) => 0,
            _ => return None,
        };
        match (left, holder) {
            // The only item of a KDL node's arguments.
            (1, holder @ Self::List(_)) => {
                if let Self::List(items) = holder
                    && let [Self::Word { text, class, .. }] = items.as_slice()
                {
                    let only = Self::Word { text: text.clone(), class: *class, sole: false };
                    *items = vec![only];
                }
            }
            (0, _) if parent.len() == 1 => self.remove_path(&Path(parent.to_vec()))?,
            (0, holder) if !parent.is_empty() => *holder = Self::Empty,
            _ => {}
        }
        Some(())
    }

    fn redirect_references(&mut self, renames: &Renames<'_>, plain: bool) {
        match self {
            Self::Word { text, .. } => {
                if let Ok(Some(new)) = redirect_text(text, renames, plain) {
                    *text = new.into();
                }
            }
            Self::List(items) => items.iter_mut().for_each(|item| item.redirect_references(renames, plain)),
            Self::Map(entries) => {
                for (key, value) in entries {
                    value.redirect_references(renames, plain || key == "depends_on");
                }
            }
            _ => {}
        }
    }

    /// `environments.prod.set: { database.main.storage_gb: 80 }`.
    fn redirect_settings(&mut self, renames: &Renames<'_>) {
        let Self::Map(environments) = self else { return };
        for (_, environment) in environments {
            if let Some(Self::Map(set)) = environment.get(&[Step::Key(Name::new_static("set"))]) {
                for (key, _) in &mut *set {
                    if let Some(new) = renames.rename_path(key) {
                        *key = new.into();
                    }
                }
                set.sort_by(|a, b| a.0.cmp(&b.0));
            }
        }
    }
}

/// Returns a word that is no list.
fn clear_sole_flag(word: &Meaning) -> Meaning {
    match word {
        Meaning::Word { text, class, .. } => {
            Meaning::Word { text: text.clone(), class: *class, sole: false }
        }
        other => other.clone(),
    }
}

fn content_of_entries(entries: &[Entry]) -> Meaning {
    let mut all: Vec<_> =
        entries.iter().map(|entry| (entry.key.clone(), content_of_node(&entry.value))).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Meaning::Map(all)
}

fn content_of_node(value: &Node) -> Meaning {
    match &value.value {
        NodeValue::Null => Meaning::Null,
        NodeValue::Bare => Meaning::Empty,
        NodeValue::Sequence(items) if items.is_empty() => Meaning::Empty,
        NodeValue::Mapping(entries) if entries.is_empty() => Meaning::Empty,
        NodeValue::Sequence(items) => Meaning::List(items.iter().map(content_of_node).collect()),
        NodeValue::Mapping(entries) => content_of_entries(entries),
        NodeValue::Scalar(scalar) => {
            let (text, sole) = (scalar.text.clone(), scalar.sole_argument);
            Meaning::Word { text, class: scalar_class(scalar), sole }
        }
    }
}

/// Tells whether a value says what a literal does.
fn matches_literal(found: &Meaning, literal: &Literal) -> bool {
    match (found, literal) {
        (Meaning::Null, Literal::Null) => true,
        (Meaning::Word { text, class: Class::Boolean, .. }, Literal::Boolean(wanted)) => {
            text == if *wanted { "true" } else { "false" }
        }
        (Meaning::Word { text, class: Class::Number, .. }, Literal::Number(wanted))
        | (Meaning::Word { text, class: Class::Text, .. }, Literal::Text(wanted)) => text == wanted,
        (Meaning::Word { text, class: Class::Text, .. }, Literal::List(none)) if none.is_empty() => {
            text == "${[]}"
        }
        (Meaning::Empty, Literal::List(none)) => none.is_empty(),
        (Meaning::Empty, Literal::Map(none)) => none.is_empty(),
        (word @ Meaning::Word { sole: true, .. }, Literal::List(items)) => {
            matches!(items.as_slice(), [only] if matches_literal(&clear_sole_flag(word), only))
        }
        (Meaning::List(found), Literal::List(wanted)) => {
            found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(found, wanted)| matches_literal(found, wanted))
        }
        (Meaning::Map(found), Literal::Map(wanted)) => {
            let mut wanted: Vec<_> = wanted.iter().collect();
            wanted.sort_by(|a, b| a.0.cmp(&b.0));
            found.len() == wanted.len()
                && found
                    .iter()
                    .zip(wanted)
                    .all(|(found, wanted)| found.0 == wanted.0 && matches_literal(&found.1, &wanted.1))
        }
        _ => false,
    }
}

/// Top-level words whose nodes are the items of one list.
pub(super) const LISTS: [&str; 3] = ["moved", "import", "removed"];

/// Tells whether a text holds a reference or an expression.
pub(super) fn is_computed(text: &str) -> bool {
    text.contains('$')
        && !matches!(Template::parse(text, |_| false), Ok(Some(template)) if template.is_text())
}
