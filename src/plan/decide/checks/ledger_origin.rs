//! Checks that the ledger of a shared backend is the one of the stack in this directory. Two directories with
//! one stack name share one ledger, and the second one's plan would delete the first one's objects. In: the
//! ledger's origins and this directory; out: the blocker that plan, apply and destroy have.

use crate::ledger::state::origins::{CurrentOrigin, OriginMatch};
use crate::model::address::Address;
use crate::model::diagnostic::blocker_code;
use crate::plan::blockers::Blockers;
use crate::plan::decision::Decision;
use crate::plan::join::joined_state::JoinedState;

/// Blocks a plan for a ledger that is applied from another directory. A ledger that owns nothing, or a run
/// without a directory, passes.
pub(in crate::plan) fn check(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    blocks: &mut Blockers<'_, '_>,
) {
    let ledger = joined.inputs.ledger;
    // A ledger that owns nothing has nothing to lose: the next apply assigns it to this directory.
    let Some(here) = joined.inputs.options.directory.as_ref().filter(|_| !ledger.owns_nothing()) else {
        return;
    };
    let stack = joined.inputs.stack;
    let whose = format!("{}/{}", stack.name, stack.environment.name);
    match here.compare(&ledger.origins) {
        OriginMatch::Same | OriginMatch::Moved => {}
        OriginMatch::Unknown => block_unknown_origin(joined, decisions, (here, &whose), blocks),
        found @ (OriginMatch::OtherDirectory | OriginMatch::OtherRepository) => {
            let known: Vec<String> = ledger.origins.iter().map(ToString::to_string).collect();
            let this = here.origin.as_ref().map(ToString::to_string).unwrap_or_default();
            let why = match (found, here.sparse) {
                (OriginMatch::OtherRepository, _) => "",
                (_, true) => ", and this sparse checkout does not show whether it was moved",
                (_, false) => ", where a stack of this name still exists",
            };
            let text = format!(
                "The ledger of {whose} is applied from {}{why}; this is {this}. The plan would change the \
                 objects of that stack.",
                known.join(" and ")
            );
            blocks.add_for_address(blocker_code::OTHER_DIRECTORY, None, text, origin_help(true));
        }
    }
}

/// Blocks deletions and replacements if most of the ledger is not declared here, and no origin shows whose it is.
fn block_unknown_origin(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    (here, whose): (&CurrentOrigin, &str),
    blocks: &mut Blockers<'_, '_>,
) {
    let removed = decisions.iter().filter(|decision| decision.removes()).count();
    let entries = &joined.inputs.ledger.entries;
    let is_declared = |address: &&Address| {
        joined.inputs.stack.resources.contains_key(*address)
            || joined.declared.removal_action(address).is_some()
            || joined.left_out(address).is_some()
    };
    let declared = entries.keys().filter(is_declared).count();
    if removed == 0 || declared * 2 >= entries.len() {
        return;
    }
    let why = if here.origin.is_none() {
        "this directory is in no git repository with a remote `origin`"
    } else {
        "the ledger does not record which directory it is applied from"
    };
    let text = format!(
        "{declared} of the {} addresses in the ledger of {whose} are declared here, and {removed} objects would be \
         deleted or replaced. They may be those of another stack of this name: {why}.",
        entries.len()
    );
    blocks.add_for_address(blocker_code::OTHER_DIRECTORY, None, text, origin_help(here.origin.is_some()));
}

fn origin_help(has_origin: bool) -> String {
    let first = if has_origin { "" } else { "set STEAD_ORIGIN=REPOSITORY//DIRECTORY, and then " };
    format!(
        "If this is another stack: give it another name. If the ledger is this directory's: {first}`stead state \
         adopt-directory`."
    )
}
