//! Warns of ambiguous intents, in every command that reads the ledger.

use crate::cli::command_context::CommandContext;
use crate::ledger::state::ambiguous_intent;
use crate::ledger::state::ledger::Ledger;
use crate::report::text::escape;

/// Prints each ambiguous intent on one line, with the ways to resolve it; also requests that may become ambiguous.
pub(in crate::cli) fn warn_ambiguous_intents(session: &CommandContext, ledger: &Ledger) {
    for text in
        ledger.questions.keys().filter_map(|op| ambiguous_intent::describe_ambiguous_intent(ledger, *op))
    {
        session.ui.write_message(&format!("question: {}", session.to_copy(&escape::escape_line(&text))));
    }
    for text in ambiguous_intent::likely_ambiguous_intents(ledger) {
        session.ui.write_message(&format!("note: {}", session.to_copy(&escape::escape_line(&text))));
    }
}
