//! `Place`: what the schema has at a path of keys.

use super::words::{self, Word};
use crate::model::schema::{Attribute, Kind, Registry, Type};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
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
    Words(&'static [Word]),
    /// A map from the variables' names.
    Variables,
    /// A value that one of the language's words takes.
    Value(&'static str),
    /// Addresses, as they are: `depends_on`.
    Addresses,
    /// Anything.
    Free,
}

/// Returns what the schema has at a path.
pub(super) fn place<S: AsRef<str>>(registry: &Registry, path: &[S]) -> Place {
    let Some((first, rest)) = path.split_first() else { return Place::Top };
    let first = first.as_ref();
    if let Some(kind) = registry.top_level().find(|kind| kind.name == first) {
        return match rest.split_first() {
            None => Place::Names(Some(kind)),
            Some((_, rest)) => body(registry, kind, rest),
        };
    }
    language(registry, first, rest)
}

fn language<S: AsRef<str>>(registry: &Registry, first: &str, rest: &[S]) -> Place {
    let entries = |words: &'static [Word], rest: &[S]| match rest {
        [] => Place::Words(words),
        [key, ..] => value_of(words, key.as_ref()),
    };
    match (first, rest) {
        ("data", []) => Place::Lookups,
        ("data", [kind, rest @ ..]) => match registry.top_level().find(|k| k.name == kind.as_ref()) {
            Some(kind) => lookup(kind, rest),
            None => Place::Free,
        },
        ("vars" | "environments" | "policy" | "use" | "stacks" | "locals" | "outputs", []) => {
            Place::Names(None)
        }
        ("vars", [_, rest @ ..]) => entries(words::VARIABLE, rest),
        ("environments", [_, key]) if key.as_ref() == "vars" => Place::Variables,
        ("environments", [_, rest @ ..]) => entries(words::ENVIRONMENT, rest),
        ("policy", [_, rest @ ..]) => entries(words::POLICY, rest),
        ("use", [_, rest @ ..]) => entries(words::USE, rest),
        ("stacks", [_, rest @ ..]) => entries(words::STACK, rest),
        ("moved", rest) => entries(words::MOVED, rest),
        ("import", rest) => entries(words::IMPORT, rest),
        ("removed", rest) => entries(words::REMOVED, rest),
        (_, []) => value_of(words::TOP, first),
        _ => Place::Free,
    }
}

fn lookup<S: AsRef<str>>(kind: &'static Kind, rest: &[S]) -> Place {
    match rest {
        [] => Place::Names(Some(kind)),
        [_] => Place::Lookup(kind),
        [_, name, rest @ ..] => match kind.attribute(name.as_ref()) {
            Some(attribute) => typed(kind, attribute, &attribute.ty, rest),
            None => Place::Free,
        },
    }
}

fn value_of(words: &'static [Word], key: &str) -> Place {
    match words.iter().find(|(word, _)| *word == key) {
        Some(("from" | "to", _)) => Place::Addresses,
        Some((word, _)) => Place::Value(word),
        None => Place::Free,
    }
}

fn body<S: AsRef<str>>(registry: &Registry, kind: &'static Kind, rest: &[S]) -> Place {
    let Some((key, rest)) = rest.split_first() else { return Place::Body(kind) };
    let key = key.as_ref();
    if let Some(attribute) = kind.attribute(key) {
        return typed(kind, attribute, &attribute.ty, rest);
    }
    if let Some(child) = registry.child(kind.name, key) {
        return match rest.split_first() {
            None => Place::Names(Some(child)),
            Some((_, rest)) => body(registry, child, rest),
        };
    }
    match (key, rest) {
        ("lifecycle", []) => Place::Words(words::LIFECYCLE),
        ("lifecycle", [key]) if key.as_ref() == "timeouts" => Place::Words(words::TIMEOUTS),
        ("lifecycle", [key]) => value_of(words::LIFECYCLE, key.as_ref()),
        ("deliver_secret", []) => Place::Words(words::DELIVER),
        ("depends_on", []) => Place::Addresses,
        (key, []) => value_of(words::BODY, key),
        _ => Place::Free,
    }
}

fn typed<S: AsRef<str>>(
    kind: &'static Kind,
    attribute: &'static Attribute,
    ty: &'static Type,
    rest: &[S],
) -> Place {
    match (ty, rest.split_first()) {
        (_, None) => Place::Typed { kind, attribute, ty },
        (Type::List(of) | Type::Set { of, .. }, Some(_)) => typed(kind, attribute, of, rest),
        (Type::Map(of), Some((_, rest))) => typed(kind, attribute, of, rest),
        (Type::Record(fields), Some((key, rest))) => {
            match fields.iter().find(|(name, _)| *name == key.as_ref()) {
                Some((_, ty)) => typed(kind, attribute, ty, rest),
                None => Place::Free,
            }
        }
        _ => Place::Free,
    }
}

impl Place {
    /// Tells whether keys are written here, rather than a value.
    pub(super) fn takes_keys(&self) -> bool {
        match self {
            Self::Top
            | Self::Names(_)
            | Self::Lookups
            | Self::Body(_)
            | Self::Lookup(_)
            | Self::Words(_)
            | Self::Variables => true,
            Self::Typed { ty, .. } => matches!(innermost(ty), Type::Record(_)),
            Self::Value(_) | Self::Addresses | Self::Free => false,
        }
    }
}

/// Returns what a list or a set holds; any other type as it is.
pub(super) fn innermost(ty: &'static Type) -> &'static Type {
    match ty {
        Type::List(of) | Type::Set { of, .. } => innermost(of),
        ty => ty,
    }
}
