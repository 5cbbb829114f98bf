//! GitLab's report of infrastructure changes (`artifacts:reports:terraform`): three counts that a merge request shows.

use serde_json::json;

use crate::plan::model::change::{Action, Plan};
use crate::report::json::to_compact;
use crate::report::text::counts::ActionCounts;

/// Returns the counts as JSON. A replacement counts as one creation and one deletion, as GitLab expects; moves and
/// forgotten resources are not counted.
pub(super) fn gitlab_report(plan: &Plan) -> String {
    let (mut create, mut update, mut delete) = (0, 0, 0);
    for (action, count) in ActionCounts::from_plan(plan).iter() {
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
