//! What an evaluation is charged: steps for work, so that it ends, and the stack's budget for what it builds.

use super::MOST_STEPS;
use super::item::Item;
use super::walk::Walk;
use crate::model::address::Name;
use crate::model::expression::EvaluationError;

impl<'a> Walk<'_, 'a> {
    /// Counts work; copying and comparing count by size.
    pub(super) fn charge(&mut self, steps: usize) -> Result<(), EvaluationError> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MOST_STEPS { Err(EvaluationError::TooLong(MOST_STEPS)) } else { Ok(()) }
    }

    /// Charges a text of so many bytes, which is about to be built.
    pub(super) fn charge_text(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        self.charge(bytes / 8)?;
        Ok(self.budget.charge_text(bytes)?)
    }

    /// Charges so many items, which are about to be kept.
    pub(super) fn charge_items(&mut self, items: usize) -> Result<(), EvaluationError> {
        self.charge(items)?;
        Ok(self.budget.charge_nodes(items)?)
    }

    /// Returns the elements of a list, which are charged.
    pub(super) fn charged_elements(
        &mut self,
        list: &Item<'a>,
    ) -> Result<Option<Vec<Item<'a>>>, EvaluationError> {
        if matches!(list, Item::ListRef(_) | Item::List(_)) {
            self.charge_items(list.len().unwrap_or(0))?;
            list.charge_copies(self.budget)?;
        }
        Ok(list.elements())
    }

    /// Returns the entries of a map, which are charged.
    pub(super) fn charged_entries(
        &mut self,
        map: &Item<'a>,
    ) -> Result<Option<Vec<(Name, Item<'a>)>>, EvaluationError> {
        if !matches!(map, Item::ListRef(_) | Item::List(_)) {
            self.charge_items(map.len().unwrap_or(0))?;
            map.charge_copies(self.budget)?;
        }
        Ok(map.entries())
    }
}
