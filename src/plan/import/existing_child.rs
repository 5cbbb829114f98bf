//! Import of one child whose parent's block is written already: its draft is accepted like whole blocks. In:
//! the request for this child, and a function that writes entries into the stack's files; out: an import result
//! without files, as the caller edits the existing one.

use super::accept::{
    DraftRound, ImportContext, ImportError, ImportRequest, ImportResult, MAX_ROUNDS, RoundOutcome,
    leave_out, omitted_parts, unstable_draft_error,
};
use super::draft::{ImportDraft, draft_child};
use super::draft_inputs::{DraftInputs, DraftOmissions};
use super::suggestions;
use crate::config::format::blocks::{PrintedBlock, PrintedEntry};
use crate::model::source::Sources;

/// Imports the one requested child. `write` returns the stack's files with these entries as the child's block.
///
/// # Errors
/// As `accept_order`; when `order.only` is `None` or its object is not live; and when the child has a secret,
/// as the edit of one block cannot declare a variable.
pub fn accept_child(
    order: &ImportRequest<'_>,
    write: &dyn Fn(&[PrintedEntry]) -> Result<Sources, ImportError>,
) -> Result<ImportResult, ImportError> {
    let nothing = || ImportError::Blocked("there is no such object".to_owned());
    let (address, key) = order.only.ok_or_else(nothing)?;
    let kind = order.inputs.registry.kind(&key.kind).ok_or_else(nothing)?;
    let object = order.inputs.snapshot.objects.get(key).ok_or_else(nothing)?;
    let known = ImportContext::from_order(order);
    let material = DraftInputs { project: None, ..known.material(order) };
    let mut omitted = DraftOmissions::default();
    for _ in 0..MAX_ROUNDS {
        let (entries, drafted) = draft_child(&material, &omitted, kind, object, address);
        if let Some(secret) = drafted.variables.first() {
            let why =
                format!("{} is a secret: write its block by hand, with a variable", secret.describe_uses());
            return Err(ImportError::Blocked(why));
        }
        let files = write(&entries)?;
        let round = DraftRound { order: &ImportRequest { files: &files, ..*order }, drafted: &drafted };
        match round.evaluate_draft()? {
            RoundOutcome::Fits(stack, adopted) => {
                let mut left = omitted_parts(omitted);
                left.extend(suggestions::hidden_attributes(&material, &drafted));
                let suggestions = suggestions::reference_suggestions(&material, &drafted);
                let unmatched = drafted.unmatched_keys(order.hidden);
                let ImportDraft { variables, in_clear, .. } = drafted;
                let word = kind.child_of().map_or(kind.name, |(_, collection)| collection).to_owned();
                let block =
                    PrintedBlock { word, name: address.last().to_owned(), entries, mark: usize::MAX };
                return Ok(ImportResult {
                    files: Vec::new(),
                    blocks: vec![block],
                    entries: adopted,
                    variables,
                    in_clear,
                    unmatched,
                    left,
                    suggestions,
                    stack: *stack,
                });
            }
            RoundOutcome::Rejects(told) => leave_out(&material, &mut omitted, told)?,
        }
    }
    Err(unstable_draft_error())
}
