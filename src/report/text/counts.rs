//! `ActionCounts`: number of changes in a plan by action. Every report counts with it, so that they agree.

use crate::plan::model::change::{Action, Plan};

/// All actions, the dangerous ones first.
const ALL: [Action; 8] = [
    Action::Replace,
    Action::Delete,
    Action::Update,
    Action::Create,
    Action::Adopt,
    Action::Move,
    Action::Forget,
    Action::Read,
];

/// Actions that a summary names only where there are any.
pub const RARE: [Action; 3] = [Action::Adopt, Action::Move, Action::Forget];

/// Number of changes by action, in the order of `ALL`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActionCounts([usize; ALL.len()]);

impl ActionCounts {
    /// Returns the counts of a plan's changes. One that also deletes the older object of an earlier replacement is a deletion,
    /// too.
    #[must_use]
    pub fn from_plan(plan: &Plan) -> Self {
        Self(ALL.map(|action| plan.changes.iter().filter(|change| plan.counts_as(change, action)).count()))
    }

    /// Returns the number of changes with an action; 0 if there are none.
    #[must_use]
    pub fn get(&self, action: Action) -> usize {
        self.iter().find(|(one, _)| *one == action).map_or(0, |(_, count)| count)
    }

    /// Returns all actions with their counts, the dangerous ones first.
    pub fn iter(&self) -> impl Iterator<Item = (Action, usize)> {
        ALL.into_iter().zip(self.0)
    }
}
