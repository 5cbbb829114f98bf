//! Checks of a stack's declarations (`moved`, `removed`, `import`) against the ledger: impossible moves block
//! the plan, and entries with nothing left to do are noted.

use foldhash::HashSet;

use crate::model::diagnostic::blocker_code;
use crate::model::source::Span;
use crate::plan::blockers::Blockers;
use crate::plan::join::joined_state::JoinedState;
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::transfers::ImpossibleMove;
use crate::plan::moves::ledger_moves::{CompletedDeclaration, finished_declarations};

/// Adds a blocker for each impossible move.
pub(in crate::plan) fn block_impossible_moves(joined: &JoinedState<'_>, blocks: &mut Blockers<'_, '_>) {
    for ImpossibleMove { address, text, help, span } in &joined.declared.impossible {
        blocks.add_at_span(
            blocker_code::MOVED,
            address,
            *span,
            text.clone(),
            joined.render_help(*span, help),
        );
    }
}

/// Returns a note for each declaration that has nothing left to do. A move that this plan makes does not count yet.
pub(in crate::plan) fn notes(joined: &JoinedState<'_>) -> Vec<PlanNote> {
    let stack = joined.inputs.stack;
    // For a destroy these notes are irrelevant.
    if joined.inputs.options.destroy {
        return Vec::new();
    }
    let told = |done: CompletedDeclaration| {
        let source = stack.sources.location_of(done.span);
        PlanNote {
            code: NoteCode::Done,
            text: format!("{} has nothing left to do", done.text),
            help: "stead fmt --prune removes it".to_owned(),
            source,
            address: None,
        }
    };
    let mut moving: HashSet<Span> = joined.declared.was.values().filter_map(|was| was.span).collect();
    moving.extend(joined.declared.between_stacks.iter().map(|one| one.span));
    let done = finished_declarations(stack, joined.inputs.ledger).into_iter();
    done.filter(|done| !done.in_module && !moving.contains(&done.span)).map(told).collect()
}
