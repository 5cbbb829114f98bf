//! Warns of ambiguous intents, in the commands that plan or list from the ledger; and the ways to resolve one.

use clap::Subcommand;

use crate::cli::process::output::Ui;
use crate::cli::process::settings::Settings;
use crate::ledger::state::ambiguous_intent;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::report::text::escape;

/// Prints each ambiguous intent on one line, with the ways to resolve it; also requests that may become ambiguous.
pub(in crate::cli) fn warn_ambiguous_intents(ui: &Ui, settings: &Settings, ledger: &Ledger) {
    for text in
        ledger.questions.keys().filter_map(|op| ambiguous_intent::describe_ambiguous_intent(ledger, *op))
    {
        ui.write_message(&format!("question: {}", settings.with_global_flags(&escape::escape_line(&text))));
    }
    for text in ambiguous_intent::likely_ambiguous_intents(ledger) {
        ui.write_message(&format!("note: {}", settings.with_global_flags(&escape::escape_line(&text))));
    }
}

/// Resolution of an ambiguous intent.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum ResolveAction {
    /// It created this object; the resource owns it from now on
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 adopt 5b1e09c2-…")]
    Adopt {
        /// Id of the live object
        id: Name,
    },
    /// It created nothing so far; stead keeps checking for late effects
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 absent")]
    Absent,
    /// Forget the intent: whatever it created stays unmanaged
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 forget")]
    Forget,
    /// It created this object in addition to another one; the next plan deletes it
    #[command(after_help = "Example:\n  stead resolve 3f0e8c52 surplus 5b1e09c2-…")]
    Surplus {
        /// Id of the live object
        id: Name,
    },
}
