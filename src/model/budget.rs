//! `Budget`: a limit on the memory that all values of one stack may use together.
//!
//! A few lines can describe more than any machine can store: each local twice the size of the one before. So the code
//! that builds a value charges it first, a copy like a new value, and stops when the budget is used up. Only live
//! values stay charged: an evaluation refunds its intermediate values and keeps its result. The size of the files is
//! added to the limits, so that a value that is written out in a file always fits.

use std::cell::Cell;

use super::address::Name;
use super::values::secret::Secret;
use super::values::value::Value;

/// Bytes of text that the values of a stack may use, in addition to the size of its files: 64 MiB.
pub const MAX_VALUE_TEXT_BYTES: usize = 64 << 20;

/// Nodes that the values of a stack may have, in addition to one for each byte of its files.
pub const MAX_VALUE_NODES: usize = 2_000_000;

/// Levels that a value or an expression may have: the functions that walk one are recursive, and a deeper one
/// would overflow the stack.
pub(super) const MAX_NESTING: usize = 256;

/// Nodes charged for a map in addition to its entries: its storage is allocated for several entries at once.
const EMPTY_MAP_NODES: usize = 8;

/// Bytes up to which `SmolStr` stores a string inline, without an allocation.
const INLINE_TEXT_BYTES: usize = 23;

/// The error for a charge that exceeds the budget, or a value that is nested too deeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExceeded;

/// The text bytes and nodes that were charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetCharge {
    text: usize,
    nodes: usize,
}

impl std::ops::Add for BudgetCharge {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { text: self.text.saturating_add(other.text), nodes: self.nodes.saturating_add(other.nodes) }
    }
}

/// The text bytes and nodes that may still be charged.
#[derive(Debug)]
pub struct Budget {
    text: Cell<usize>,
    nodes: Cell<usize>,
}

/// The remaining budget at one moment.
#[derive(Debug, Clone, Copy)]
pub struct RemainingBudget {
    text: usize,
    nodes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self::with_extra(0, 0)
    }
}

impl Budget {
    /// Returns a budget of the limits plus `text` bytes and `nodes` nodes.
    #[must_use]
    pub fn with_extra(text: usize, nodes: usize) -> Self {
        Self {
            text: Cell::new(MAX_VALUE_TEXT_BYTES.saturating_add(text)),
            nodes: Cell::new(MAX_VALUE_NODES.saturating_add(nodes)),
        }
    }

    /// Charges a string of `bytes` bytes. A string of up to 23 bytes costs nothing: its node includes it.
    ///
    /// # Errors
    /// When less is left; then nothing is charged.
    pub fn charge_text(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        charge_cell(&self.text, if bytes > INLINE_TEXT_BYTES { bytes } else { 0 })
    }

    /// Charges this number of nodes.
    ///
    /// # Errors
    /// When fewer are left; then nothing is charged.
    pub fn charge_nodes(&self, nodes: usize) -> Result<(), BudgetExceeded> {
        charge_cell(&self.nodes, nodes)
    }

    /// Charges a map with this number of entries, without their values.
    ///
    /// # Errors
    /// When less is left; then nothing is charged.
    pub fn charge_map(&self, entries: usize) -> Result<(), BudgetExceeded> {
        self.charge_nodes(1 + if entries == 0 { 0 } else { EMPTY_MAP_NODES })
    }

    /// Charges a value and everything in it.
    ///
    /// # Errors
    /// When less is left, or it is too deep; then nothing is charged.
    pub fn charge_value(&self, value: &Value) -> Result<(), BudgetExceeded> {
        self.charge_atomically(|| self.charge_nested_value(value, 0))
    }

    /// Returns the remaining budget, to be passed to `release` or `cost_since` later.
    #[must_use]
    pub fn mark(&self) -> RemainingBudget {
        RemainingBudget { text: self.text.get(), nodes: self.nodes.get() }
    }

    /// Refunds everything that was charged since a mark; none of those values may still be alive.
    pub fn release(&self, mark: RemainingBudget) {
        self.text.set(self.text.get().max(mark.text));
        self.nodes.set(self.nodes.get().max(mark.nodes));
    }

    /// Returns the cost of everything that was charged since a mark, less the refunds; zero if the refunds exceed it.
    #[must_use]
    pub fn cost_since(&self, mark: RemainingBudget) -> BudgetCharge {
        BudgetCharge {
            text: mark.text.saturating_sub(self.text.get()),
            nodes: mark.nodes.saturating_sub(self.nodes.get()),
        }
    }

    /// Refunds the cost of a value that was dropped.
    pub fn refund(&self, cost: BudgetCharge) {
        self.text.set(self.text.get().saturating_add(cost.text));
        self.nodes.set(self.nodes.get().saturating_add(cost.nodes));
    }

    /// Raises the limits by the size of another file, in bytes.
    pub fn add_file(&self, bytes: usize) {
        self.refund(BudgetCharge { text: bytes, nodes: bytes });
    }

    /// Runs a charge and restores the budget if it fails, so that a charge is complete or has no effect.
    pub(super) fn charge_atomically(
        &self,
        charge: impl FnOnce() -> Result<(), BudgetExceeded>,
    ) -> Result<(), BudgetExceeded> {
        let before = self.mark();
        let charged = charge();
        if charged.is_err() {
            self.release(before);
        }
        charged
    }

    pub(super) fn charge_nested_value(&self, value: &Value, level: usize) -> Result<(), BudgetExceeded> {
        if level > MAX_NESTING {
            return Err(BudgetExceeded);
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Decimal(_) => self.charge_nodes(1),
            Value::Text(text) => {
                self.charge_nodes(1)?;
                self.charge_text(text.len())
            }
            Value::Secret(secret) => {
                self.charge_nodes(1)?;
                if let Secret::Derived(derived) = secret
                    && let Some(value) = derived.non_text_value()
                {
                    self.charge_nested_value(value, level + 1)?;
                }
                charge_cell(&self.text, secret.computable_text().map_or(0, str::len))
            }
            Value::Unknown(unknown) => self.charge_nodes(1 + unknown.waits_for.len()),
            Value::List(items) => {
                self.charge_nodes(1)?;
                items.iter().try_for_each(|item| self.charge_nested_value(item, level + 1))
            }
            Value::Map(map) => {
                self.charge_entries(map.iter(), |value| self.charge_nested_value(value, level + 1))
            }
        }
    }

    pub(super) fn charge_entries<'e, T: 'e>(
        &self,
        entries: impl ExactSizeIterator<Item = (&'e Name, &'e T)>,
        charge: impl Fn(&'e T) -> Result<(), BudgetExceeded>,
    ) -> Result<(), BudgetExceeded> {
        self.charge_map(entries.len())?;
        for (key, value) in entries {
            self.charge_text(key.len())?;
            charge(value)?;
        }
        Ok(())
    }
}

fn charge_cell(left: &Cell<usize>, amount: usize) -> Result<(), BudgetExceeded> {
    left.set(left.get().checked_sub(amount).ok_or(BudgetExceeded)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::expression::{CelExpression, Expression};

    fn cost(expression: &Expression) -> (usize, usize) {
        let budget = Budget::default();
        expression.charge(&budget).unwrap();
        let left = budget.mark();
        (MAX_VALUE_TEXT_BYTES - left.text, MAX_VALUE_NODES - left.nodes)
    }

    #[test]
    fn every_value_is_charged_and_shared_ones_again() {
        let long = || Expression::Value(Value::text("x".repeat(100)));
        assert_eq!(cost(&Value::text("short").into()), (0, 1));
        assert_eq!(cost(&Value::Secret(Secret::new("short")).into()), (5, 1));
        assert_eq!(cost(&Expression::Text(vec![long(), long()])), (200, 3));
        assert_eq!(
            cost(&Value::Map([("k".into(), Value::Null)].into()).into()),
            (0, 1 + EMPTY_MAP_NODES + 1)
        );
        let mut shared = long();
        for _ in 0..10 {
            let cel = |part| CelExpression {
                waiting: [("locals.a".into(), part)].into(),
                ..CelExpression::default()
            };
            let shared_part = Expression::Cel(Arc::new(cel(shared)));
            shared = Expression::List(vec![shared_part.clone(), shared_part]);
        }
        assert_eq!(cost(&shared).0, 100 << 10);
    }

    #[test]
    fn a_value_over_the_budget_is_not_charged() {
        let budget = Budget::default();
        let half = Value::text("x".repeat(MAX_VALUE_TEXT_BYTES / 2 + 1));
        assert_eq!(
            budget.charge_value(&Value::List(vec![half.clone(), half.clone()])),
            Err(BudgetExceeded)
        );
        assert_eq!(budget.charge_value(&half), Ok(()));
        assert_eq!(budget.charge_value(&half), Err(BudgetExceeded));
        let mut deep = Value::Null;
        for _ in 0..=MAX_NESTING {
            deep = Value::List(vec![deep]);
        }
        assert_eq!(budget.charge_value(&deep), Err(BudgetExceeded));
    }

    #[test]
    fn a_released_charge_can_be_used_again() {
        let budget = Budget::default();
        budget.add_file(10);
        let before = budget.mark();
        assert_eq!(budget.charge_nodes(MAX_VALUE_NODES + 10), Ok(()));
        assert_eq!(budget.charge_nodes(1), Err(BudgetExceeded));
        budget.release(before);
        assert_eq!(budget.charge_nodes(MAX_VALUE_NODES + 10), Ok(()));
    }
}
