//! CEL, bounded: the evaluation of `${…}`, with the language's added functions.
//!
//! Grammar, macros and their expansion are the `cel` crate's. The walk over its tree is our own, for
//! four reasons: it stops after a fixed number of steps, a value that is not known yet is a value, a
//! secret marks whatever it touches, and decimals are exact. It borrows what it reads, so that an
//! expression costs what it names and not what is bound.

mod arithmetic;
mod charge;
mod derivation;
mod functions;
mod item;
mod parse;
mod reference;
mod walk;

use std::collections::BTreeMap;

use super::address::{Address, Name};
use super::budget::Budget;
use super::derived::{Derivation, Derived};
use super::expression::{self, Cel, EvaluationError, Expression, Lookup};
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
    /// What its values are charged to; `None` gives the evaluation a budget of its own.
    pub budget: Option<&'a Budget>,
}

/// The binding under which the texts that `file("…")` read are kept, by path.
pub const FILES: &str = "file";

impl Program {
    /// Computes the value.
    ///
    /// # Errors
    /// When the expression fails on these values, runs too long or gives too large a value.
    pub fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, EvaluationError> {
        let own = Budget::default();
        let budget = scope.budget.unwrap_or(&own);
        let before = budget.mark();
        let value = walk::run(self.tree(), scope, budget);
        budget.release(before);
        let value = value?;
        budget.charge_value(&value)?;
        Ok(value)
    }
}

/// Joins the evaluated parts of an interpolated text. One that a secret enters is a value computed from it.
pub(super) fn concatenate_parts(parts: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    let length = |part: &Value| match part {
        Value::Text(text) => text.len(),
        Value::Secret(part) => part.computable_text().map_or(0, str::len),
        _ => 0,
    };
    budget.charge_text(parts.iter().map(length).sum())?;
    let mut unknown: Vec<Address> = parts.iter().flat_map(Value::waits_for).collect();
    if parts.iter().any(Value::is_unknown) {
        unknown.sort();
        unknown.dedup();
        return Ok(Value::Unknown(unknown));
    }
    if !parts.iter().any(|part| matches!(part, Value::Secret(_))) {
        return Ok(Value::text(join_known(parts)?.unwrap_or_default()));
    }
    let all: Option<Vec<_>> = parts.iter().map(Derivation::from_value).collect();
    let derivation = Derivation::node("interpolation", &[], all.unwrap_or_default());
    let is_withheld = |part: &Value| matches!(part, Value::Secret(secret) if secret.is_withheld());
    let derived = match join_known(parts) {
        Ok(Some(text)) => Derived::new(derivation, Value::text(text)),
        Ok(None) => Derived::unavailable(derivation),
        Err(_) if parts.iter().any(is_withheld) => Derived::unavailable(derivation),
        Err(_) => return Err(EvaluationError::Sensitive),
    };
    Ok(Value::Secret(Secret::Derived(Box::new(derived))))
}

/// Joins known parts; `None` when the text of a secret is not at hand.
fn join_known(parts: &[Value]) -> Result<Option<String>, EvaluationError> {
    let mut text = String::new();
    for part in parts {
        let opened = match part {
            Value::Secret(Secret::Derived(derived)) => derived.to_computable(),
            _ => None,
        };
        match opened.as_ref().unwrap_or(part) {
            Value::Secret(secret) => match secret.computable_text() {
                Some(part) => text.push_str(part),
                None => return Ok(None),
            },
            part @ (Value::Null | Value::List(_) | Value::Map(_)) => {
                return Err(EvaluationError::Failed(format!(
                    "{} cannot stand inside a text",
                    part.type_name()
                )));
            }
            part => text.push_str(&part.to_string()),
        }
    }
    Ok(Some(text))
}

/// Evaluates a CEL expression over its bindings and the live objects that it names.
pub(super) fn evaluate_cel(
    cel: &Cel,
    lookup: &dyn Lookup,
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    let program = Program::parse(&cel.source).map_err(|error| EvaluationError::Failed(error.message))?;
    let waiting: Vec<(&Name, Value)> = cel
        .waiting
        .iter()
        .map(|(path, part)| Ok((path, part.evaluate_charged(lookup, budget)?)))
        .collect::<Result<_, EvaluationError>>()?;
    let objects: Vec<Object> = cel
        .objects
        .iter()
        .map(|address| {
            let (mut attributes, complete) = lookup.object(address);
            budget.charge_map(attributes.len())?;
            attributes.values().try_for_each(|value| budget.charge_value(value))?;
            for (name, value) in attributes.iter_mut().filter(|(_, value)| value.is_secret()) {
                *value = expression::name_secrets(std::mem::take(value), &format!("{address}.{name}"));
            }
            Ok(Object { address: address.clone(), attributes, complete })
        })
        .collect::<Result<_, EvaluationError>>()?;
    let mut scope = Scope { budget: Some(budget), ..Scope::default() };
    for (root, value) in &cel.bindings {
        scope.roots.insert(root.clone(), Item::from_borrowed(value));
    }
    for object in &objects {
        // What is not in the module is known there by what it waits for only.
        if let Some(path) = object.address.strip_module(&cel.module) {
            bind_path(&mut scope.roots, path.split('.'), Item::of_object(object));
        }
    }
    for (path, value) in &waiting {
        // A reference to a whole resource is its object inside CEL, so that its attributes are there.
        let item = match cel.waiting.get(*path) {
            Some(Expression::Reference(reference)) if reference.attribute.is_none() => objects
                .iter()
                .find(|object| object.address == reference.address)
                .map_or_else(|| Item::from_borrowed(value), Item::of_object),
            _ => Item::from_borrowed(value),
        };
        bind_path(&mut scope.roots, path.split('.'), item);
    }
    program.evaluate(&scope)
}

/// Puts an item at a path below the roots, making maps on the way.
pub fn bind_path<'a, 'p>(
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
mod law;
#[cfg(test)]
mod tests;
