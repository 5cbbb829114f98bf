//! `secret same`: records a new expression for an attribute that was computed from secrets, if its result
//! is the applied value. Pure.
//!
//! In: the inputs of a plan, and an attribute. Out: the attribute's value for the ledger. Invariant: only a value that
//! was compared by its fingerprint is recorded; nothing else of the entry changes.

use std::fmt;

use super::blockers::Blockers;
use super::decide::classify::classify_subjects;
use super::decide::deposed::DeposedObjects;
use super::decide::project_assignment::ProjectAssignment;
use super::inputs::PlanInputs;
use super::join::joined_state::JoinedState;
use super::join::targeting::TargetScope;
use super::model::compare::{are_equivalent, fingerprint_secrets, is_as_written, part_type};
use super::moves::ledger_moves;
use super::moves::resolve::resolve_moves;
use crate::model::address::Address;
use crate::model::schema::Type;
use crate::model::values::secret::{FingerprintKey, Secret, is_same_fingerprint};
use crate::model::values::value::Value;

/// Why a new expression cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestateError {
    /// The block does not write the attribute.
    NotWritten,
    /// The ledger has no applied value of it.
    NotApplied,
    /// The value is not computed from a secret.
    NotSecret,
    /// The ledger has this expression already.
    AlreadyRecorded,
    /// It depends on a value that is unknown before an apply.
    Unknown,
    /// One of its secrets is not available in this run.
    SecretUnavailable,
    /// Its result is not the applied value.
    ValueDiffers,
}

impl fmt::Display for RestateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWritten => "the configuration does not set it",
            Self::NotApplied => "the ledger has no applied value of it",
            Self::NotSecret => "it is not computed from a secret",
            Self::AlreadyRecorded => "the ledger has this expression already",
            Self::Unknown => "its value is known only after an apply",
            Self::SecretUnavailable => "a secret that it is computed from cannot be read here",
            Self::ValueDiffers => "its value differs from the last applied one",
        })
    }
}

/// Returns the value of an attribute for the ledger: the new expression with the fingerprint of its result.
///
/// # Errors
/// When it is not proven that the value is the one that was applied.
pub fn restate_value(
    inputs: &PlanInputs<'_>,
    address: &Address,
    attribute: &str,
) -> Result<Value, RestateError> {
    let mut declared = resolve_moves(inputs.registry, inputs.stack, inputs.ledger);
    let ledger = declared.apply_to_ledger(inputs.ledger);
    let options = ledger_moves::with_declared_adoptions(inputs.stack, &ledger, inputs.options);
    let joined = JoinedState::new(PlanInputs { ledger: &ledger, options: &options, ..*inputs }, &declared);
    let mut blocks = Blockers::new(&joined);
    let scope = TargetScope::new(&joined);
    let projects = ProjectAssignment::new(&joined, &mut blocks);
    let decisions =
        classify_subjects(&joined, &scope, &projects, &DeposedObjects::from_state(&joined), &mut blocks);
    let n = *joined.index.get(address).ok_or(RestateError::NotWritten)?;
    let want = decisions[n].find_attribute(attribute).ok_or(RestateError::NotWritten)?;
    let entry = joined.subjects[n].entry.ok_or(RestateError::NotApplied)?;
    let applied = entry.applied.get(attribute).ok_or(RestateError::NotApplied)?;
    let (ty, value, key) = (&want.attribute.ty, want.stored_value(), joined.key());
    if value.is_unknown() {
        return Err(RestateError::Unknown);
    }
    if !value.is_secret() || !applied.is_secret() {
        return Err(RestateError::NotSecret);
    }
    if is_as_written(ty, value, applied, key) {
        return Err(RestateError::AlreadyRecorded);
    }
    match has_same_value(ty, value, applied, key) {
        Some(true) => Ok(value.map_secrets(&|secret| secret.to_recorded(key))),
        Some(false) => Err(RestateError::ValueDiffers),
        None => Err(RestateError::SecretUnavailable),
    }
}

/// Returns whether a value is the applied one, whatever their expressions; `None` where a secret is not available, or
/// the ledger has no fingerprint of the result.
fn has_same_value(ty: &Type, want: &Value, applied: &Value, key: &FingerprintKey) -> Option<bool> {
    match (want, applied) {
        (Value::Secret(want), Value::Secret(applied)) => {
            Some(is_same_fingerprint(&want.fingerprint(key)?, &applied.fingerprint(key)?))
        }
        (Value::Secret(want), Value::Map(_) | Value::List(_)) => {
            has_same_value(ty, &plaintext_value(want)?, applied, key)
        }
        (Value::Map(want), Value::Map(parts)) if want.keys().eq(parts.keys()) => {
            combine_results(want.iter().zip(parts.values()).map(|((name, want), applied)| {
                has_same_value(part_type(ty, name).unwrap_or(ty), want, applied, key)
            }))
        }
        (Value::List(items), Value::List(parts)) if items.len() == parts.len() => {
            let of = match ty {
                Type::List(of) | Type::Set { of, .. } => of,
                ty => ty,
            };
            combine_results(
                items.iter().zip(parts).map(|(want, applied)| has_same_value(of, want, applied, key)),
            )
        }
        (want, Value::Secret(applied)) if !want.is_secret() => {
            // A part of a list or map that was computed as a whole.
            let want = Secret::new(want.to_string()).fingerprint(key)?;
            Some(is_same_fingerprint(&want, &applied.fingerprint(key)?))
        }
        (want, applied) => Some(are_equivalent(ty, &fingerprint_secrets(want, key), applied)),
    }
}

fn plaintext_value(secret: &Secret) -> Option<Value> {
    match secret {
        Secret::Derived(derived) => derived.expose(),
        secret => secret.expose().map(Value::text),
    }
}

/// Combines the results of all parts: a difference counts more than a part that cannot be compared.
fn combine_results(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut joined = Some(true);
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => {}
            None => joined = None,
        }
    }
    joined
}
