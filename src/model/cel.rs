//! CEL, bounded: the evaluation of `${…}`, with the language's added functions.
//!
//! Grammar, macros and their expansion are the `cel` crate's. The walk over its tree is our own, for
//! four reasons: it stops after a fixed number of steps, a value that is not known yet is a value, a
//! secret marks whatever it touches, and decimals are exact. It borrows what it reads, so that an
//! expression costs what it names and not what is bound.

mod arithmetic;
mod functions;
mod item;
mod parse;
mod reference;
mod walk;

use std::collections::BTreeMap;

use super::address::{Address, Name};
use super::expression::{Cel, EvaluationError, Lookup};
use super::secret::Secret;
use super::value::Value;

pub use item::{Item, Object};
pub use parse::{Path, Program, Segment, SyntaxError};
pub use reference::{FUNCTIONS, Function};

/// How many steps an evaluation may take: some tens of milliseconds.
pub const MOST_STEPS: usize = 1_000_000;

/// Reads a file that `file("…")` names; the error is a sentence.
pub type ReadText<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// What an expression can name.
#[derive(Default)]
pub struct Scope<'a> {
    /// Values by root: `vars`, `env`, a kind …
    pub roots: BTreeMap<Name, Item<'a>>,
    /// Reads files; `None` where no file may be read.
    pub read: Option<ReadText<'a>>,
}

/// The binding under which the texts that `file("…")` read are kept, by path.
pub const FILES: &str = "file";

impl Program {
    /// Computes the value.
    ///
    /// # Errors
    /// When the expression fails on these values, or runs too long.
    pub fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, EvaluationError> {
        walk::run(self.tree(), scope)
    }
}

/// Joins the evaluated parts of an interpolated text.
pub(super) fn concatenate(parts: &[Value]) -> Result<Value, EvaluationError> {
    let mut text = String::new();
    let (mut secret, mut sealed, mut awaited) = (false, false, false);
    let mut unknown: Vec<Address> = Vec::new();
    for part in parts {
        match part {
            Value::Unknown(addresses) => unknown.extend(addresses.iter().cloned()),
            Value::Secret(part) => {
                secret = true;
                awaited |= part.is_awaited();
                match part.computed() {
                    Some(part) => text.push_str(part),
                    None => sealed = true,
                }
            }
            Value::Null | Value::List(_) | Value::Map(_) => {
                return Err(EvaluationError::Failed(format!(
                    "{} cannot stand inside a text",
                    part.type_name()
                )));
            }
            other => text.push_str(&other.to_string()),
        }
    }
    if !unknown.is_empty() {
        unknown.sort();
        unknown.dedup();
        return Ok(Value::Unknown(unknown));
    }
    Ok(match (secret, sealed) {
        (_, true) => Value::Secret(Secret::Sealed(None)),
        (true, false) => Value::Secret(Secret::made(text, awaited)),
        (false, false) => Value::text(text),
    })
}

/// Evaluates a CEL expression over its bindings and the live objects that it names.
pub(super) fn evaluate(cel: &Cel, lookup: &dyn Lookup) -> Result<Value, EvaluationError> {
    let program = Program::parse(&cel.source).map_err(|error| EvaluationError::Failed(error.message))?;
    let waiting: Vec<(&Name, Value)> = cel
        .waiting
        .iter()
        .map(|(path, part)| Ok((path, part.evaluate(lookup)?)))
        .collect::<Result<_, _>>()?;
    let objects: Vec<Object> = cel
        .objects
        .iter()
        .map(|address| {
            let (attributes, complete) = lookup.object(address);
            Object { address: address.clone(), attributes, complete }
        })
        .collect();
    let mut scope = Scope::default();
    for (root, value) in &cel.bindings {
        scope.roots.insert(root.clone(), Item::of(value));
    }
    for object in &objects {
        // What is not in the module is known there by what it waits for only.
        if let Some(path) = object.address.below(&cel.module) {
            bind(&mut scope.roots, path.split('.'), Item::of_object(object));
        }
    }
    for (path, value) in &waiting {
        // A reference to a whole resource is its object inside CEL, so that its attributes are there.
        let item = match cel.waiting.get(*path) {
            Some(super::expression::Expression::Reference(reference)) if reference.attribute.is_none() => {
                objects
                    .iter()
                    .find(|object| object.address == reference.address)
                    .map_or_else(|| Item::of(value), Item::of_object)
            }
            _ => Item::of(value),
        };
        bind(&mut scope.roots, path.split('.'), item);
    }
    program.evaluate(&scope)
}

/// Puts an item at a path below the roots, making maps on the way.
pub fn bind<'a, 'p>(
    roots: &mut BTreeMap<Name, Item<'a>>,
    mut path: impl Iterator<Item = &'p str>,
    item: Item<'a>,
) {
    let Some(first) = path.next() else { return };
    let mut place = roots.entry(Name::new(first)).or_insert_with(Item::empty_map);
    for segment in path {
        let Some(map) = place.map_mut() else { return };
        place = map.entry(Name::new(segment)).or_insert_with(Item::empty_map);
    }
    *place = item;
}

#[cfg(test)]
mod tests;
