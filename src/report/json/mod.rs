//! The documents for programs. Every one carries `schema_version`; `schemas/` describes them.

mod ambiguous_intents;
mod diagnostics;
mod doctor;
mod edits;
mod failure;
mod fmt;
mod history;
mod import;
mod ledger_check;
mod list;
pub mod plan;
mod recovery;
mod writer;

pub use crate::report::json::ambiguous_intents::{Asked, questions};
pub use crate::report::json::fmt::formatted;
pub use crate::report::json::import::{adoption, takeover};
pub use crate::report::json::ledger_check::{checked, repair};
pub use crate::report::json::plan::document::{PlanOptions, plan, plan_to, requests};
pub use crate::report::json::plan::events::plan_events;
pub use crate::report::json::writer::{SCHEMA_VERSION, compact, folded, pretty, result};
pub use crate::report::json_value::Shown;
pub use diagnostics::diagnostics;
pub use doctor::{contract, doctor};
pub use edits::edits;
pub use failure::Ended;
pub use history::{history, lock};
pub use list::{drift, list, object};
pub use recovery::recovery;
