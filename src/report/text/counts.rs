//! `ActionCounts`: how many changes a plan has of each action.

use crate::plan::model::change::{Action, Plan};

/// The actions, the dangerous first.
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

/// How many changes there are of each action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActionCounts([usize; ALL.len()]);

impl ActionCounts {
    /// Counts the changes of a plan.
    #[must_use]
    pub fn from_plan(plan: &Plan) -> Self {
        let of = |action| plan.changes.iter().filter(|change| change.action == action).count();
        Self(ALL.map(of))
    }

    /// Returns how many there are of an action.
    #[must_use]
    pub fn get(&self, action: Action) -> usize {
        self.iter().find(|(one, _)| *one == action).map_or(0, |(_, count)| count)
    }

    /// Returns every action with its count, the dangerous first.
    pub fn iter(&self) -> impl Iterator<Item = (Action, usize)> {
        ALL.into_iter().zip(self.0)
    }
}
