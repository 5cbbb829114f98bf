//! Edit requests: the file, the path, and the kind of change; and where the schema expects a list, which
//! decides how KDL is read and written.

use std::fmt;

use super::literal::ConfigLiteral;
use crate::config::syntax::document::Syntax;
use crate::config::syntax::limits::syntax_of;
use crate::model::address::Name;
use crate::model::schema::{Registry, Type};
use crate::model::source::Source;

/// A file to edit.
#[derive(Clone, Copy)]
pub struct EditableFile<'a> {
    /// Content of the file, and its path, whose extension determines the syntax.
    pub source: &'a Source,
    /// All kinds: determines which keywords declare blocks, and where a single value is a list.
    pub registry: &'a Registry,
}

/// Path of a value from the top of a file: `database.main.storage_gb`, as in addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditPath(pub Vec<EditPathStep>);

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditPathStep {
    /// Key of a map entry.
    Key(Name),
    /// The item of a list, from 0.
    Item(usize),
}

/// One change to a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Sets a value: replaces the existing one, or adds an entry and its missing parents. A computed value is refused.
    Set(EditPath, ConfigLiteral),
    /// Appends an item to a list, which is created if it does not exist. `moved`,
    /// `import` and `removed` are lists.
    Append(EditPath, ConfigLiteral),
    /// Removes an entry or item with the comments that belong to it; with the last entry of a top-level
    /// keyword, the keyword is removed, too.
    Remove(EditPath),
    /// Renames the key of an entry: a block's name, or an instance's key in a literal map.
    Rename(EditPath, Name),
    /// Renames references: `$from…`, `from…` inside `${…}` and in `depends_on`. Each pair is a
    /// dotted path and its replacement.
    Redirect(Vec<(Name, Name)>),
}

impl EditPath {
    /// Returns the path of a dotted string; numbers are keys, not list items.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.split('.').map(|part| EditPathStep::Key(Name::new(part))).collect())
    }

    /// Returns this path and one more key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Name>) -> Self {
        self.0.push(EditPathStep::Key(key.into()));
        self
    }

    /// Returns this path and the item of a list.
    #[must_use]
    pub fn with_item(mut self, item: usize) -> Self {
        self.0.push(EditPathStep::Item(item));
        self
    }

    /// Returns the keys from a step on; `None` if one of these steps is a list item.
    pub(super) fn keys_from(&self, step: usize) -> Option<Vec<Name>> {
        let key = |step: &EditPathStep| match step {
            EditPathStep::Key(key) => Some(key.clone()),
            EditPathStep::Item(_) => None,
        };
        self.0[step..].iter().map(key).collect()
    }

    /// Returns the path without its last step; the empty path has itself as its parent.
    pub(super) fn parent(&self) -> Self {
        self.first_steps(self.0.len().saturating_sub(1))
    }

    /// Returns the path of the first `steps` steps.
    ///
    /// # Panics
    /// When the path has fewer steps.
    #[must_use]
    pub fn first_steps(&self, steps: usize) -> Self {
        Self(self.0[..steps].to_vec())
    }
}

impl fmt::Display for EditPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.0.iter().enumerate() {
            match step {
                EditPathStep::Key(key) if n == 0 => f.write_str(key)?,
                EditPathStep::Key(key) => write!(f, ".{key}")?,
                EditPathStep::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

impl EditableFile<'_> {
    /// Returns the syntax of the file, by its extension; YAML for an unknown one.
    pub(super) fn syntax(&self) -> Syntax {
        syntax_of(&self.source.path).unwrap_or(Syntax::Yaml)
    }

    /// Returns whether a top-level keyword declares named blocks.
    pub(super) fn is_kind(&self, word: &str) -> bool {
        word == "use" || self.registry.top_level().any(|kind| kind.name == word)
    }

    /// Returns whether a single value at a path means a list.
    pub(super) fn is_list(&self, path: &EditPath) -> bool {
        path.keys_from(0).is_some_and(|keys| is_list(self.registry, &keys))
    }
}

/// Returns whether a single literal string at a path of keys means a list: KDL writes `for_each a` for one
/// instance. A computed string may yield any list, so it does not.
pub(in crate::config) fn is_list_of_texts(keys: &[Name], text: &str) -> bool {
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return false };
    let values = ["locals", "outputs", "vars", "environments"];
    keys.len() > 2 && last == "for_each" && !values.contains(&first.as_str()) && !text.contains('$')
}

/// Returns whether the schema expects a list at a path of keys.
pub(in crate::config) fn is_list(registry: &Registry, keys: &[Name]) -> bool {
    let [kind, _, rest @ ..] = keys else { return false };
    match kind.as_str() {
        "vars" => return rest.first().is_some_and(|word| word == "one_of"),
        "environments" => return false,
        _ => {}
    }
    let Some(mut kind) = registry.top_level().find(|known| known.name == kind) else { return false };
    let mut rest = rest;
    loop {
        let [first, more @ ..] = rest else { return false };
        if let Some(child) = registry.child(kind.name, first) {
            let [_, more @ ..] = more else { return child.plain_entry.is_some() };
            (kind, rest) = (child, more);
            continue;
        }
        return match kind.attribute(first) {
            Some(attribute) => is_list_type(&attribute.ty, more),
            None => {
                first == "depends_on"
                    || (first == "lifecycle" && more.first().is_some_and(|word| word == "ignore_drift"))
            }
        };
    }
}

fn is_list_type(ty: &Type, rest: &[Name]) -> bool {
    match (ty, rest.split_first()) {
        (Type::List(_) | Type::Set { .. }, None) => true,
        (Type::Map(of), Some((_, rest))) => is_list_type(of, rest),
        (Type::Record(fields), Some((first, rest))) => {
            fields.iter().any(|(name, ty)| name == first && is_list_type(ty, rest))
        }
        _ => false,
    }
}
