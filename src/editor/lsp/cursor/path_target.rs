//! `Place`: what the schema has at a path of keys.

use crate::config::keywords::{self, Takes, Word, Words};
use crate::model::schema::{Attribute, Kind, Registry, Type};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::editor::lsp) enum Place {
    /// A file's top.
    Top,
    /// A map of blocks: the names are the user's.
    Names(Option<&'static Kind>),
    /// A map of lookups by kind.
    Lookups,
    /// The block of a resource.
    Body(&'static Kind),
    /// The fields of a lookup.
    Lookup(&'static Kind),
    /// The value of an attribute, or a part of it.
    Typed {
        /// Whose attribute.
        kind: &'static Kind,
        /// The attribute.
        attribute: &'static Attribute,
        /// The type of what stands here.
        ty: &'static Type,
    },
    /// A map of the language's words.
    Words(Words),
    /// A map from the variables' names.
    Variables,
    /// The value of one of the language's words.
    Value(&'static Word),
    /// Addresses, as they are: `depends_on`.
    Addresses,
    /// Addresses and names of modules, as they are: `moved`.
    Places,
    /// Anything.
    Free,
}

/// Returns what the schema has at a path.
pub(in crate::editor::lsp) fn resolve_path<S: AsRef<str>>(registry: &Registry, path: &[S]) -> Place {
    let Some((first, rest)) = path.split_first() else { return Place::Top };
    let first = first.as_ref();
    if let Some(kind) = registry.top_level().find(|kind| kind.name == first) {
        return match rest.split_first() {
            None => Place::Names(Some(kind)),
            Some((_, rest)) => resolve_body(registry, kind, rest),
        };
    }
    resolve_language_path(registry, first, rest)
}

/// Returns what a file of tests has at a path.
pub(in crate::editor::lsp) fn in_tests<S: AsRef<str>>(path: &[S]) -> Place {
    resolve_entries(keywords::TEST_FILE, path)
}

fn resolve_language_path<S: AsRef<str>>(registry: &Registry, first: &str, rest: &[S]) -> Place {
    match (first, rest) {
        ("data", []) => Place::Lookups,
        ("data", [kind, rest @ ..]) => match registry.top_level().find(|k| k.name == kind.as_ref()) {
            Some(kind) => resolve_lookup(kind, rest),
            None => Place::Free,
        },
        _ => resolve_word(keywords::TOP, first, rest),
    }
}

/// Returns what stands behind one of several words.
fn resolve_word<S: AsRef<str>>(words: Words, name: &str, rest: &[S]) -> Place {
    let Some(word) = keywords::find_word(words, name) else { return Place::Free };
    match (word.takes, rest) {
        (Takes::Named(_), []) => Place::Names(None),
        (Takes::Named(words), [_, rest @ ..]) | (Takes::Block(words), rest) => resolve_entries(words, rest),
        (Takes::Address, []) => Place::Addresses,
        (Takes::Place, []) => Place::Places,
        (Takes::Variables, []) => Place::Variables,
        (_, []) => Place::Value(word),
        _ => Place::Free,
    }
}

fn resolve_entries<S: AsRef<str>>(words: Words, rest: &[S]) -> Place {
    match rest {
        [] if words.is_empty() => Place::Free,
        [] => Place::Words(words),
        [key, rest @ ..] => resolve_word(words, key.as_ref(), rest),
    }
}

fn resolve_lookup<S: AsRef<str>>(kind: &'static Kind, rest: &[S]) -> Place {
    match rest {
        [] => Place::Names(Some(kind)),
        [_] => Place::Lookup(kind),
        [_, name, rest @ ..] => match kind.attribute(name.as_ref()) {
            Some(attribute) => resolve_typed(kind, attribute, &attribute.ty, rest),
            None => Place::Free,
        },
    }
}

fn resolve_body<S: AsRef<str>>(registry: &Registry, kind: &'static Kind, rest: &[S]) -> Place {
    let Some((key, rest)) = rest.split_first() else { return Place::Body(kind) };
    let key = key.as_ref();
    if let Some(attribute) = kind.attribute(key) {
        return resolve_typed(kind, attribute, &attribute.ty, rest);
    }
    if let Some(child) = registry.child(kind.name, key) {
        return match rest.split_first() {
            None => Place::Names(Some(child)),
            Some((_, rest)) => resolve_body(registry, child, rest),
        };
    }
    resolve_word(keywords::BODY, key, rest)
}

fn resolve_typed<S: AsRef<str>>(
    kind: &'static Kind,
    attribute: &'static Attribute,
    ty: &'static Type,
    rest: &[S],
) -> Place {
    match (ty, rest.split_first()) {
        (_, None) => Place::Typed { kind, attribute, ty },
        (Type::List(of) | Type::Set { of, .. }, Some(_)) => resolve_typed(kind, attribute, of, rest),
        (Type::Map(of), Some((_, rest))) => resolve_typed(kind, attribute, of, rest),
        (Type::Record(fields), Some((key, rest))) => {
            match fields.iter().find(|(name, _)| *name == key.as_ref()) {
                Some((_, ty)) => resolve_typed(kind, attribute, ty, rest),
                None => Place::Free,
            }
        }
        _ => Place::Free,
    }
}

impl Place {
    /// Tells whether keys are written here, rather than a value.
    pub(in crate::editor::lsp) fn takes_keys(&self) -> bool {
        match self {
            Self::Top
            | Self::Names(_)
            | Self::Lookups
            | Self::Body(_)
            | Self::Lookup(_)
            | Self::Words(_)
            | Self::Variables => true,
            Self::Typed { ty, .. } => matches!(innermost_type(ty), Type::Record(_)),
            Self::Value(_) | Self::Addresses | Self::Places | Self::Free => false,
        }
    }
}

/// Returns what a list or a set holds; any other type as it is.
pub(in crate::editor::lsp) fn innermost_type(ty: &'static Type) -> &'static Type {
    match ty {
        Type::List(of) | Type::Set { of, .. } => innermost_type(of),
        ty => ty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    #[test]
    fn paths_lead_to_words() {
        let at = |path: &str| resolve_path(&REGISTRY, &path.split('/').collect::<Vec<_>>());
        for (path, words) in [
            ("vars/size", keywords::VARIABLE),
            ("environments/prod", keywords::ENVIRONMENT),
            ("policy/budget", keywords::POLICY),
            ("use/eu", keywords::USE),
            ("stacks/net", keywords::STACK),
            ("moved", keywords::MOVED),
            ("import", keywords::IMPORT),
            ("removed", keywords::REMOVED),
            ("vm/web/lifecycle", keywords::LIFECYCLE),
            ("vm/web/lifecycle/timeouts", keywords::TIMEOUTS),
            ("vm/web/lifecycle/ignore_drift", keywords::IGNORED),
            ("api_key/ci/deliver_secret", keywords::DELIVER),
            ("database/main/users/u/lifecycle", keywords::LIFECYCLE),
        ] {
            assert_eq!(at(path), Place::Words(words), "{path}");
        }
        for (path, wanted) in [
            ("data", Place::Lookups),
            ("vars", Place::Names(None)),
            ("locals", Place::Names(None)),
            ("locals/a", Place::Free),
            ("locals/a/b", Place::Free),
            ("environments/prod/vars", Place::Variables),
            ("environments/prod/set/x", Place::Free),
            ("moved/from", Place::Places),
            ("vm/web/depends_on", Place::Addresses),
            ("nothing", Place::Free),
            ("vm/web/nothing", Place::Free),
        ] {
            assert_eq!(at(path), wanted, "{path}");
        }
        for (path, name) in [
            ("removed/action", "action"),
            ("policy/p/on", "on"),
            ("vm/web/when", "when"),
            ("stead", "stead"),
        ] {
            assert!(matches!(at(path), Place::Value(word) if word.name == name), "{path}");
        }
    }
}
