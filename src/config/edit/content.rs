//! Content of a file without locations, comments and quotes: the basis on which an edit's result is verified.
//! The order of keys does not count, that of list items does.

use super::literal::ConfigLiteral;
use super::references::{PathRenames, redirect_text};
use super::request::{Edit, EditPath, EditPathStep, is_list_of_texts};
use crate::config::resolve::template::TextTemplate;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue};
use crate::config::syntax::quoting;
use crate::config::syntax::scalar_class::{ScalarClass, scalar_class};
use crate::model::address::Name;

/// Predicate: whether a single value at a path means a list of one.
pub(in crate::config) type ListPredicate<'a> = &'a dyn Fn(&[Name]) -> bool;

/// Predicate: whether a top-level keyword declares named blocks.
pub(in crate::config) type KindPredicate<'a> = &'a dyn Fn(&str) -> bool;

/// Value without its location; the order of keys is irrelevant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum ComparableContent {
    Null,
    /// An empty list or map, or a KDL node without values.
    Empty,
    /// A scalar: a keyword, number or string.
    Scalar {
        /// The scalar's string, unescaped.
        text: Name,
        /// Types as which the scalar may be read.
        class: ScalarClass,
        /// Whether it is the sole argument of a KDL node: a list of one, where a list is expected.
        sole: bool,
    },
    List(Vec<ComparableContent>),
    /// A map, by key.
    Map(Vec<(Name, ComparableContent)>),
    /// Expected content in whatever form has the meaning of this literal.
    Expected(ConfigLiteral),
}

impl ComparableContent {
    /// Returns the content of a document.
    pub(in crate::config) fn from_document(document: &Document) -> Self {
        content_of_entries(&document.root)
    }

    /// Returns the content in a form that is equal for both syntaxes: a single value is a list where the
    /// schema expects one, and an empty list elsewhere is an expression in KDL.
    pub(in crate::config) fn normalize_syntax(
        self,
        is_list: ListPredicate<'_>,
        is_kind: KindPredicate<'_>,
    ) -> Self {
        self.across_at(is_list, is_kind, &mut Vec::new())
    }

    fn across_at(
        self,
        is_list: ListPredicate<'_>,
        is_kind: KindPredicate<'_>,
        path: &mut Vec<Name>,
    ) -> Self {
        match self {
            Self::Scalar { text, .. } if text == "${[]}" => Self::Empty,
            Self::Scalar { text, class, sole } => {
                let is_list = sole && (is_list(path) || is_list_of_texts(path, &text));
                let text = if class == ScalarClass::Number {
                    quoting::normalize_number(&text).into()
                } else {
                    text
                };
                let word = Self::Scalar { text, class, sole: false };
                if is_list { Self::List(vec![word]) } else { word }
            }
            Self::Empty if matches!(path.as_slice(), [word, _, flag] if word == "environments" && flag == "default") => {
                Self::Scalar { text: Name::new_static("true"), class: ScalarClass::Boolean, sole: false }
            }
            // An empty block.
            Self::Null if (1..=2).contains(&path.len()) && is_kind(&path[0]) => Self::Empty,
            Self::List(items) => {
                let inner = |item: Self| item.across_at(is_list, is_kind, &mut vec![Name::default()]);
                Self::List(items.into_iter().map(inner).collect())
            }
            Self::Map(entries) => {
                let mut all = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    // Empty lists of declarations exist only in YAML.
                    if path.is_empty() && LIST_KEYWORDS.contains(&key.as_str()) && value == Self::Empty {
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

    /// Returns whether a file with the content `other` has the expected content.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Expected(literal), found) => matches_literal(found, literal),
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.is(&b.1))
            }
            (Self::List(a), Self::List(b)) => {
                // KDL marks an item after a dash as a sole argument, but not one of
                // several arguments: ignore the difference.
                let same = |(a, b): (&Self, &Self)| a.is(b) || clear_sole_flag(a).is(&clear_sole_flag(b));
                a.len() == b.len() && a.iter().zip(b).all(same)
            }
            (Self::List(a), word @ Self::Scalar { sole: true, .. }) => match a.as_slice() {
                [only @ (Self::Expected(_) | Self::Scalar { .. })] => only.is(&clear_sole_flag(word)),
                _ => false,
            },
            (Self::Map(none), Self::Empty) => none.is_empty(),
            (Self::List(none), Self::Empty) => none.is_empty(),
            (a, b) => a == b,
        }
    }

    /// Applies an edit; `None` when it cannot be applied to this content. The content may be changed partly then.
    pub(super) fn apply_edit(&mut self, edit: &Edit) -> Option<()> {
        match edit {
            Edit::Set(path, literal) => {
                *self.get_or_insert(&path.0)? = Self::Expected(literal.clone());
                Some(())
            }
            Edit::Append(path, literal) => self.append_item(path, literal),
            Edit::Remove(path) => self.remove_path(path),
            Edit::Rename(path, to) => {
                let (EditPathStep::Key(last), parent) = path.0.split_last()? else { return None };
                let Self::Map(entries) = self.get(parent)? else { return None };
                let position = entries.iter().position(|(key, _)| key == last)?;
                entries[position].0 = to.clone();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                Some(())
            }
            Edit::Redirect(renames) => {
                let renames = PathRenames::new(renames);
                self.redirect_references(&renames, false);
                if let Some(environments) = self.get(&[EditPathStep::Key(Name::new_static("environments"))])
                {
                    environments.redirect_settings(&renames);
                }
                Some(())
            }
        }
    }

    /// Returns the value at a path; `None` if it does not exist.
    pub(super) fn get(&mut self, path: &[EditPathStep]) -> Option<&mut Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let inner = match (self, first) {
            (Self::Map(entries), EditPathStep::Key(key)) => {
                &mut entries.iter_mut().find(|entry| entry.0 == *key)?.1
            }
            (Self::List(items), EditPathStep::Item(n)) => items.get_mut(*n)?,
            (word @ Self::Scalar { sole: true, .. }, EditPathStep::Item(0)) => word,
            _ => return None,
        };
        inner.get(rest)
    }

    /// Returns the value at a path, created with the maps that lead to it if it does not exist; `None` if a
    /// scalar or a missing list item is in the way.
    fn get_or_insert(&mut self, path: &[EditPathStep]) -> Option<&mut Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        if matches!((&*self, first), (Self::Null | Self::Empty, EditPathStep::Key(_))) {
            *self = Self::Map(Vec::new());
        }
        let inner = match (self, first) {
            (Self::Map(entries), EditPathStep::Key(key)) => {
                let position = entries.iter().position(|entry| entry.0 == *key).unwrap_or_else(|| {
                    let at = entries.partition_point(|entry| entry.0 < *key);
                    entries.insert(at, (key.clone(), Self::Empty));
                    at
                });
                &mut entries[position].1
            }
            (Self::List(items), EditPathStep::Item(n)) => items.get_mut(*n)?,
            (word @ Self::Scalar { sole: true, .. }, EditPathStep::Item(0)) => word,
            _ => return None,
        };
        inner.get_or_insert(rest)
    }

    fn append_item(&mut self, path: &EditPath, literal: &ConfigLiteral) -> Option<()> {
        let list = self.get_or_insert(&path.0)?;
        match list {
            Self::List(items) => items.push(Self::Expected(literal.clone())),
            Self::Null | Self::Empty => *list = Self::List(vec![Self::Expected(literal.clone())]),
            Self::Scalar { sole: true, .. } => {
                *list = Self::List(vec![clear_sole_flag(list), Self::Expected(literal.clone())]);
            }
            _ => return None,
        }
        Some(())
    }

    fn remove_path(&mut self, path: &EditPath) -> Option<()> {
        let (last, parent) = path.0.split_last()?;
        let holder = self.get(parent)?;
        let left = match (&mut *holder, last) {
            (Self::Map(entries), EditPathStep::Key(key)) => {
                let position = entries.iter().position(|entry| entry.0 == *key)?;
                entries.remove(position);
                entries.len()
            }
            (Self::List(items), EditPathStep::Item(n)) if *n < items.len() => {
                items.remove(*n);
                items.len()
            }
            (Self::Scalar { sole: true, .. }, EditPathStep::Item(0)) => 0,
            _ => return None,
        };
        match (left, holder) {
            // The only argument of a KDL node is item 0 of the list.
            (1, holder @ Self::List(_)) => {
                if let Self::List(items) = holder
                    && let [Self::Scalar { text, class, .. }] = items.as_slice()
                {
                    let only = Self::Scalar { text: text.clone(), class: *class, sole: false };
                    *items = vec![only];
                }
            }
            (0, _) if parent.len() == 1 => self.remove_path(&EditPath(parent.to_vec()))?,
            (0, holder) if !parent.is_empty() => *holder = Self::Empty,
            _ => {}
        }
        Some(())
    }

    fn redirect_references(&mut self, renames: &PathRenames<'_>, plain: bool) {
        match self {
            Self::Scalar { text, .. } => {
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

    /// Renames the paths under `set` of every environment, which are keys: `environments.prod.set:
    /// { database.main.storage_gb: 80 }`.
    fn redirect_settings(&mut self, renames: &PathRenames<'_>) {
        let Self::Map(environments) = self else { return };
        for (_, environment) in environments {
            if let Some(Self::Map(set)) = environment.get(&[EditPathStep::Key(Name::new_static("set"))]) {
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

/// Returns a scalar without the mark that it is a list of one.
fn clear_sole_flag(word: &ComparableContent) -> ComparableContent {
    match word {
        ComparableContent::Scalar { text, class, .. } => {
            ComparableContent::Scalar { text: text.clone(), class: *class, sole: false }
        }
        other => other.clone(),
    }
}

fn content_of_entries(entries: &[DocumentEntry]) -> ComparableContent {
    let mut all: Vec<_> =
        entries.iter().map(|entry| (entry.key.clone(), content_of_node(&entry.value))).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    ComparableContent::Map(all)
}

fn content_of_node(value: &Node) -> ComparableContent {
    match &value.value {
        NodeValue::Null => ComparableContent::Null,
        NodeValue::Bare => ComparableContent::Empty,
        NodeValue::Sequence(items) if items.is_empty() => ComparableContent::Empty,
        NodeValue::Mapping(entries) if entries.is_empty() => ComparableContent::Empty,
        NodeValue::Sequence(items) => ComparableContent::List(items.iter().map(content_of_node).collect()),
        NodeValue::Mapping(entries) => content_of_entries(entries),
        NodeValue::Scalar(scalar) => {
            let (text, sole) = (scalar.text.clone(), scalar.sole_argument);
            ComparableContent::Scalar { text, class: scalar_class(scalar), sole }
        }
    }
}

/// Returns whether a value has the meaning of a literal.
fn matches_literal(found: &ComparableContent, literal: &ConfigLiteral) -> bool {
    match (found, literal) {
        (ComparableContent::Null, ConfigLiteral::Null) => true,
        (
            ComparableContent::Scalar { text, class: ScalarClass::Boolean, .. },
            ConfigLiteral::Boolean(wanted),
        ) => text == if *wanted { "true" } else { "false" },
        (
            ComparableContent::Scalar { text, class: ScalarClass::Number, .. },
            ConfigLiteral::Number(wanted),
        )
        | (ComparableContent::Scalar { text, class: ScalarClass::Text, .. }, ConfigLiteral::Text(wanted)) => {
            text == wanted
        }
        (ComparableContent::Scalar { text, class: ScalarClass::Text, .. }, ConfigLiteral::List(none))
            if none.is_empty() =>
        {
            text == "${[]}"
        }
        (ComparableContent::Empty, ConfigLiteral::List(none)) => none.is_empty(),
        (ComparableContent::Empty, ConfigLiteral::Map(none)) => none.is_empty(),
        (word @ ComparableContent::Scalar { sole: true, .. }, ConfigLiteral::List(items)) => {
            matches!(items.as_slice(), [only] if matches_literal(&clear_sole_flag(word), only))
        }
        (ComparableContent::List(found), ConfigLiteral::List(wanted)) => {
            found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(found, wanted)| matches_literal(found, wanted))
        }
        (ComparableContent::Map(found), ConfigLiteral::Map(wanted)) => {
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

/// Top-level keywords whose KDL nodes are the items of one list.
pub(super) const LIST_KEYWORDS: [&str; 3] = ["moved", "import", "removed"];

/// Returns whether a string contains a reference or an expression, or looks like one that does not parse.
pub(super) fn is_computed(text: &str) -> bool {
    text.contains('$')
        && !matches!(TextTemplate::parse(text, |_| false), Ok(Some(template)) if template.is_text())
}
