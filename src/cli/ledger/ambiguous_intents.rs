//! Open questions, told by every command that reads the ledger.

use crate::cli::command_context::Session;
use crate::ledger::state::ambiguous_intent;
use crate::ledger::state::ledger::Ledger;
use crate::report::text::escape;

/// Says each open question in one line, with the ways to answer it; and what may become one.
pub(in crate::cli) fn remind(session: &Session, ledger: &Ledger) {
    for text in ledger.questions.keys().filter_map(|op| ambiguous_intent::told(ledger, *op)) {
        session.ui.say(&format!("question: {}", session.to_copy(&escape::line(&text))));
    }
    for text in ambiguous_intent::expected(ledger) {
        session.ui.say(&format!("note: {}", session.to_copy(&escape::line(&text))));
    }
}
