//! `Budget`: how much memory the values of one stack may take together.
//!
//! A few lines can name more than any machine holds: each local twice the one before. So whoever builds a
//! value charges it first, a copy like a new one, and stops where the budget ends. What is charged is what is
//! alive: an evaluation gives back what it needed on the way and keeps its result. The files' own size is
//! added to the limits, so that what is written plainly always fits.

use std::cell::Cell;

use super::address::Name;
use super::secret::Secret;
use super::value::Value;

/// Bytes of text that the values of a stack may hold besides what its files hold.
pub const MAX_VALUE_TEXT_BYTES: usize = 64 << 20;

/// Nodes that the values of a stack may have besides one for each byte of its files.
pub const MAX_VALUE_NODES: usize = 2_000_000;

/// Levels that a value or an expression may have: everything that walks one is recursive.
pub(super) const MAX_NESTING: usize = 256;

/// What a map takes besides its entries: its storage is allocated for several at once.
const EMPTY_MAP_NODES: usize = 8;

/// Texts up to this length are stored in place.
const INLINE_TEXT_BYTES: usize = 23;

/// The budget does not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExceeded;

/// So much was charged.
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

/// What is left of it.
#[derive(Debug)]
pub struct Budget {
    text: Cell<usize>,
    nodes: Cell<usize>,
}

/// How much was left at some time.
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
    /// Returns a budget with so much on top of the limits.
    #[must_use]
    pub fn with_extra(text: usize, nodes: usize) -> Self {
        Self {
            text: Cell::new(MAX_VALUE_TEXT_BYTES.saturating_add(text)),
            nodes: Cell::new(MAX_VALUE_NODES.saturating_add(nodes)),
        }
    }

    /// Charges a text of so many bytes.
    ///
    /// # Errors
    /// When less is left; then nothing is charged.
    pub fn charge_text(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        charge_cell(&self.text, if bytes > INLINE_TEXT_BYTES { bytes } else { 0 })
    }

    /// Charges so many nodes.
    ///
    /// # Errors
    /// When fewer are left; then nothing is charged.
    pub fn charge_nodes(&self, nodes: usize) -> Result<(), BudgetExceeded> {
        charge_cell(&self.nodes, nodes)
    }

    /// Charges a map of so many entries, without their values.
    ///
    /// # Errors
    /// When less is left; then nothing is charged.
    pub fn charge_map(&self, entries: usize) -> Result<(), BudgetExceeded> {
        self.charge_nodes(1 + if entries == 0 { 0 } else { EMPTY_MAP_NODES })
    }

    /// Charges a value and all in it.
    ///
    /// # Errors
    /// When less is left, or it is too deep; then nothing is charged.
    pub fn charge_value(&self, value: &Value) -> Result<(), BudgetExceeded> {
        self.charge_atomically(|| self.charge_nested_value(value, 0))
    }

    /// Returns how much is left, for `release`.
    #[must_use]
    pub fn mark(&self) -> RemainingBudget {
        RemainingBudget { text: self.text.get(), nodes: self.nodes.get() }
    }

    /// Gives back what was charged since a mark: nothing of it is alive.
    pub fn release(&self, mark: RemainingBudget) {
        self.text.set(self.text.get().max(mark.text));
        self.nodes.set(self.nodes.get().max(mark.nodes));
    }

    /// Returns what was charged since a mark.
    #[must_use]
    pub fn cost_since(&self, mark: RemainingBudget) -> BudgetCharge {
        BudgetCharge {
            text: mark.text.saturating_sub(self.text.get()),
            nodes: mark.nodes.saturating_sub(self.nodes.get()),
        }
    }

    /// Gives back what something took that is not alive any more.
    pub fn refund(&self, cost: BudgetCharge) {
        self.text.set(self.text.get().saturating_add(cost.text));
        self.nodes.set(self.nodes.get().saturating_add(cost.nodes));
    }

    /// Adds what another file allows: as much as it holds.
    pub fn add_file(&self, bytes: usize) {
        self.refund(BudgetCharge { text: bytes, nodes: bytes });
    }

    /// Charges everything or nothing.
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
            Value::Unknown(addresses) => self.charge_nodes(1 + addresses.len()),
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
    fn everything_counts_and_what_is_shared_counts_again() {
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
    fn what_does_not_fit_is_not_charged() {
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
    fn what_is_released_can_be_charged_again() {
        let budget = Budget::default();
        budget.add_file(10);
        let before = budget.mark();
        assert_eq!(budget.charge_nodes(MAX_VALUE_NODES + 10), Ok(()));
        assert_eq!(budget.charge_nodes(1), Err(BudgetExceeded));
        budget.release(before);
        assert_eq!(budget.charge_nodes(MAX_VALUE_NODES + 10), Ok(()));
    }
}
