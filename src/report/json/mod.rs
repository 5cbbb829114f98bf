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

pub use self::ambiguous_intents::{Asked, questions};
pub use self::fmt::formatted;
pub use self::import::{adoption, takeover};
pub use self::ledger_check::{checked, repair};
pub use self::plan::document::{PlanOptions, plan, plan_to, requests};
pub use self::plan::events::plan_events;
pub use self::writer::{SCHEMA_VERSION, compact, folded, pretty, result};
pub use crate::report::json_value::Shown;
pub use diagnostics::diagnostics;
pub use doctor::{contract, doctor};
pub use edits::edits;
pub use failure::Ended;
pub use history::{history, lock};
pub use list::{drift, list, object};
pub use recovery::recovery;
