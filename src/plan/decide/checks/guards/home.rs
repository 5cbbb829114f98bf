//! The guard of the project header (Authentication): a request for a change must name the object's project, and
//! is not sent if neither the ledger nor the service shows that project. In: decisions. Out: a blocker for each
//! object whose project would be a guess.

use crate::model::diagnostic::blocker_code;
use crate::plan::blockers::Blockers;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};

/// Blocks changes of objects whose project is unknown.
pub(super) fn check<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    blocks: &mut Blockers<'_, 'a>,
) {
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        let changes = matches!(
            decision.act,
            DecisionKind::Update | DecisionKind::Replace { .. } | DecisionKind::Delete
        );
        let object = subject.object().filter(|_| changes && is_homeless(subject));
        let Some(object) = object else { continue };
        let text = format!(
            "The project of {} {} is not known, and a request that changes it must state its project.",
            subject.address, object.id
        );
        let help = format!(
            "Use a key that can read the object's project; or forget the object with `stead rm {} --keep`, which does not change it.",
            subject.address
        );
        blocks.add_for_subject(blocker_code::PROJECT_UNKNOWN, subject, None, text, help);
    }
}

/// Returns whether a request must name the project of an object that neither the ledger nor the service shows.
fn is_homeless(subject: &ResourceState<'_>) -> bool {
    let known = subject.owned_object().is_some_and(|owned| owned.project.is_some());
    subject.kind.states_project && !known && subject.object().is_some_and(|object| object.project.is_none())
}
