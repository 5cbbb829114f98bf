//! `SchemaPosition`: the part of the schema that applies to a path of keys. Completion and hover are decided by it.

use crate::config::keywords::{self, Keyword, KeywordValue, Keywords};
use crate::model::schema::{Attribute, Kind, Registry, Type};

/// The part of the schema at a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::editor::lsp) enum SchemaPosition {
    /// The top level of a file.
    Top,
    /// A map of blocks with user-defined names; the kind is `None` for a block of the language.
    Names(Option<&'static Kind>),
    /// A map of lookups by kind.
    Lookups,
    /// The body of a resource's block.
    Body(&'static Kind),
    /// The fields of a lookup.
    Lookup(&'static Kind),
    /// The value of an attribute, or a part of it.
    Typed {
        /// Kind with the attribute.
        kind: &'static Kind,
        attribute: &'static Attribute,
        /// Type of the value or part at this position.
        ty: &'static Type,
    },
    /// A map with keywords of the language as keys.
    Keywords(Keywords),
    /// A map with variable names as keys.
    Variables,
    /// The value of a keyword.
    Value(&'static Keyword),
    /// Addresses without a `$`, as in `depends_on`.
    Addresses,
    /// Addresses and module names without a `$`, as in `moved`.
    AddressesOrModules,
    /// Any value is allowed, or the path is not in the schema.
    Any,
}

/// Returns the part of a stack file's schema at a path of keys, outermost first.
pub(in crate::editor::lsp) fn resolve_path<S: AsRef<str>>(
    registry: &Registry,
    path: &[S],
) -> SchemaPosition {
    let Some((first, rest)) = path.split_first() else { return SchemaPosition::Top };
    let first = first.as_ref();
    if let Some(kind) = registry.top_level().find(|kind| kind.name == first) {
        return match rest.split_first() {
            None => SchemaPosition::Names(Some(kind)),
            Some((_, rest)) => resolve_body(registry, kind, rest),
        };
    }
    resolve_language_path(registry, first, rest)
}

/// Returns the part of a test file's schema at a path.
pub(in crate::editor::lsp) fn in_tests<S: AsRef<str>>(path: &[S]) -> SchemaPosition {
    resolve_entries(keywords::TEST_FILE, path)
}

fn resolve_language_path<S: AsRef<str>>(registry: &Registry, first: &str, rest: &[S]) -> SchemaPosition {
    match (first, rest) {
        ("data", []) => SchemaPosition::Lookups,
        ("data", [kind, rest @ ..]) => match registry.top_level().find(|k| k.name == kind.as_ref()) {
            Some(kind) => resolve_lookup(kind, rest),
            None => SchemaPosition::Any,
        },
        _ => resolve_word(keywords::TOP, first, rest),
    }
}

/// Returns the part of the schema below one of several keywords.
fn resolve_word<S: AsRef<str>>(words: Keywords, name: &str, rest: &[S]) -> SchemaPosition {
    let Some(word) = keywords::find_word(words, name) else { return SchemaPosition::Any };
    match (word.takes, rest) {
        (KeywordValue::Named(_), []) => SchemaPosition::Names(None),
        (KeywordValue::Named(words), [_, rest @ ..]) | (KeywordValue::Block(words), rest) => {
            resolve_entries(words, rest)
        }
        (KeywordValue::Address, []) => SchemaPosition::Addresses,
        (KeywordValue::AddressOrModule, []) => SchemaPosition::AddressesOrModules,
        (KeywordValue::Variables, []) => SchemaPosition::Variables,
        (_, []) => SchemaPosition::Value(word),
        _ => SchemaPosition::Any,
    }
}

fn resolve_entries<S: AsRef<str>>(words: Keywords, rest: &[S]) -> SchemaPosition {
    match rest {
        [] if words.is_empty() => SchemaPosition::Any,
        [] => SchemaPosition::Keywords(words),
        [key, rest @ ..] => resolve_word(words, key.as_ref(), rest),
    }
}

fn resolve_lookup<S: AsRef<str>>(kind: &'static Kind, rest: &[S]) -> SchemaPosition {
    match rest {
        [] => SchemaPosition::Names(Some(kind)),
        [_] => SchemaPosition::Lookup(kind),
        [_, name, rest @ ..] => match kind.attribute(name.as_ref()) {
            Some(attribute) => resolve_typed(kind, attribute, &attribute.ty, rest),
            None => SchemaPosition::Any,
        },
    }
}

fn resolve_body<S: AsRef<str>>(registry: &Registry, kind: &'static Kind, rest: &[S]) -> SchemaPosition {
    let Some((key, rest)) = rest.split_first() else { return SchemaPosition::Body(kind) };
    let key = key.as_ref();
    if let Some(attribute) = kind.attribute(key) {
        return resolve_typed(kind, attribute, &attribute.ty, rest);
    }
    if let Some(child) = registry.child(kind.name, key) {
        return match rest.split_first() {
            None => SchemaPosition::Names(Some(child)),
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
) -> SchemaPosition {
    match (ty, rest.split_first()) {
        (_, None) => SchemaPosition::Typed { kind, attribute, ty },
        (Type::List(of) | Type::Set { of, .. }, Some(_)) => resolve_typed(kind, attribute, of, rest),
        (Type::Map(of), Some((_, rest))) => resolve_typed(kind, attribute, of, rest),
        (Type::Record(fields), Some((key, rest))) => {
            match fields.iter().find(|(name, _)| *name == key.as_ref()) {
                Some((_, ty)) => resolve_typed(kind, attribute, ty, rest),
                None => SchemaPosition::Any,
            }
        }
        _ => SchemaPosition::Any,
    }
}

impl SchemaPosition {
    /// Returns whether keys are expected here rather than a value.
    pub(in crate::editor::lsp) fn takes_keys(&self) -> bool {
        match self {
            Self::Top
            | Self::Names(_)
            | Self::Lookups
            | Self::Body(_)
            | Self::Lookup(_)
            | Self::Keywords(_)
            | Self::Variables => true,
            Self::Typed { ty, .. } => matches!(innermost_type(ty), Type::Record(_)),
            Self::Value(_) | Self::Addresses | Self::AddressesOrModules | Self::Any => false,
        }
    }
}

/// Returns the item type of a list or set; any other type unchanged.
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
    fn paths_resolve_to_keywords_and_attributes() {
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
            assert_eq!(at(path), SchemaPosition::Keywords(words), "{path}");
        }
        for (path, wanted) in [
            ("data", SchemaPosition::Lookups),
            ("vars", SchemaPosition::Names(None)),
            ("locals", SchemaPosition::Names(None)),
            ("locals/a", SchemaPosition::Any),
            ("locals/a/b", SchemaPosition::Any),
            ("environments/prod/vars", SchemaPosition::Variables),
            ("environments/prod/set/x", SchemaPosition::Any),
            ("moved/from", SchemaPosition::AddressesOrModules),
            ("vm/web/depends_on", SchemaPosition::Addresses),
            ("nothing", SchemaPosition::Any),
            ("vm/web/nothing", SchemaPosition::Any),
        ] {
            assert_eq!(at(path), wanted, "{path}");
        }
        for (path, name) in [
            ("removed/action", "action"),
            ("policy/p/on", "on"),
            ("vm/web/when", "when"),
            ("stead", "stead"),
        ] {
            assert!(matches!(at(path), SchemaPosition::Value(word) if word.name == name), "{path}");
        }
    }
}
