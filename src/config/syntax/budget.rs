//! Memory limits for parsed files. `ValueBudget` counts the values of one file. Repetition by aliases is
//! charged to the stack's `Budget`, so that memory stays proportional to the size of the files: a few lines of
//! nested aliases can mean millions of values.

use super::document::{Document, DocumentEntry, Node, NodeValue};
use super::limits::MAX_NODES;
use crate::config::codes;
use crate::model::budget::{Budget, BudgetExceeded, MAX_VALUE_NODES, MAX_VALUE_TEXT_BYTES};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, Span};

/// Number of values that a file may produce in addition to ten per byte: small files may repeat values freely.
const BASE_VALUES: usize = 100_000;

/// Number of values that a large file may produce in addition to one per byte: more than a stack may repeat.
const MAX_REPEATED: usize = 600_000;

/// Budget charge, in nodes, of a repeated node: it is larger than a value, and an editor keeps two copies.
const REPEATED_NODES: usize = 4;

/// Returns the problem of the value that does not fit into the stack's budget any more.
pub(in crate::config) fn too_large(span: Span) -> Diagnostic {
    Diagnostic::error(codes::TOO_LARGE, "the values of this stack take too much memory")
        .with_label(span, "")
        .detail(format!(
            "Together they may have {} MiB of text and {MAX_VALUE_NODES} values in addition to the content of the files, at most 256 levels deep; each copy counts. This value exceeds that limit.",
            MAX_VALUE_TEXT_BYTES >> 20
        ))
        .help("repeat less: shorten lists and texts that other values are computed from, or split the stack")
}

/// Remaining number of values that a file may have.
#[derive(Debug)]
pub(in crate::config) struct ValueBudget {
    limit: usize,
    left: usize,
}

impl ValueBudget {
    /// Returns the limit for a file of `bytes` bytes.
    pub(in crate::config) fn new(bytes: usize) -> Self {
        let most = bytes.saturating_add(MAX_REPEATED).min(MAX_NODES);
        let limit = bytes.saturating_mul(10).saturating_add(BASE_VALUES).min(most);
        Self { limit, left: limit }
    }

    /// Returns the number of values that were subtracted.
    pub(in crate::config) const fn spent(&self) -> usize {
        self.limit - self.left
    }

    /// Subtracts `values`; returns false, and subtracts nothing, when the remainder does not suffice.
    pub(in crate::config) fn try_spend(&mut self, values: usize) -> bool {
        let left = self.left.checked_sub(values);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Adds a file's allowance to the stack's budget, and charges the repetition by its aliases.
///
/// # Errors
/// The diagnostic at the alias that exceeds the budget.
pub(in crate::config) fn charge_repeated(
    budget: &Budget,
    source: &Source,
    document: &Document,
) -> Result<(), Box<Diagnostic>> {
    budget.add_file(source.text.len());
    let all = document.root.iter().map(|entry: &DocumentEntry| &entry.value);
    let mut open: Vec<&Node> = all.collect();
    while let Some(node) = open.pop() {
        if let Some(at) = node.through
            && budget.charge_nodes(REPEATED_NODES).is_err()
        {
            return Err(Box::new(too_large(at)));
        }
        match &node.value {
            NodeValue::Sequence(items) => open.extend(items),
            NodeValue::Mapping(entries) => open.extend(entries.iter().map(|entry| &entry.value)),
            NodeValue::Null | NodeValue::Bare | NodeValue::Scalar(_) => {}
        }
    }
    Ok(())
}

/// Charges a copy of a node and everything inside it.
pub(in crate::config) fn charge_node(budget: &Budget, node: &Node) -> Result<(), BudgetExceeded> {
    budget.charge_nodes(REPEATED_NODES)?;
    match &node.value {
        NodeValue::Sequence(items) => items.iter().try_for_each(|item| charge_node(budget, item)),
        NodeValue::Mapping(entries) => {
            entries.iter().try_for_each(|entry| charge_node(budget, &entry.value))
        }
        NodeValue::Null | NodeValue::Bare | NodeValue::Scalar(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_budget_grows_with_the_text_up_to_a_limit() {
        let mut small = ValueBudget::new(10);
        assert!(small.try_spend(BASE_VALUES + 100));
        assert!(!small.try_spend(1));
        let mut large = ValueBudget::new(usize::MAX);
        assert!(!large.try_spend(MAX_NODES + 1));
        assert!(large.try_spend(MAX_NODES));
        assert!(!large.try_spend(1));
    }
}
