//! GitLab's report of infrastructure changes (`artifacts:reports:terraform`): three counts that a merge request shows.

use serde_json::json;

use crate::plan::model::change::{Action, Plan};
use crate::report::json::to_compact;
use crate::report::text::counts::ActionCounts;

/// Returns the counts as JSON. A replacement counts as one creation and one deletion, as GitLab expects; moves and
/// forgotten resources are not counted.
pub(super) fn gitlab_report(plan: &Plan) -> String {
    gitlab_counts(std::iter::once(plan))
}

/// Returns the counts of several plans together.
pub(super) fn gitlab_counts<'p>(plans: impl Iterator<Item = &'p Plan>) -> String {
    let (mut create, mut update, mut delete) = (0, 0, 0);
    let counts = plans.flat_map(|plan| ActionCounts::from_plan(plan).iter().collect::<Vec<_>>());
    for (action, count) in counts {
        match action {
            Action::Create => create += count,
            Action::Replace => (create, delete) = (create + count, delete + count),
            Action::Delete => delete += count,
            Action::Update | Action::Adopt => update += count,
            Action::Move | Action::Forget | Action::Read => {}
        }
    }
    to_compact(&json!({"create": create, "update": update, "delete": delete})) + "\n"
}
