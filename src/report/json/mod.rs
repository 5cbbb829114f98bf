//! The documents for programs. Every one carries `schema_version`; `schemas/` describes them.

mod check;
mod diagnostics;
mod doctor;
mod edits;
mod failure;
mod formatted;
mod history;
mod list;
mod plan;
mod plan_events;
mod questions;
mod ran;
mod recovery;
pub(super) mod shown;
mod takeover;
mod write;

pub use check::{checked, repair};
pub use diagnostics::diagnostics;
pub use doctor::{contract, doctor};
pub use edits::edits;
pub use failure::Ended;
pub use formatted::formatted;
pub use history::{history, lock};
pub use list::{drift, list, object};
pub use plan::{PlanOptions, plan, plan_to, requests};
pub use plan_events::plan_events;
pub use questions::{Asked, questions};
pub use recovery::recovery;
pub use shown::Shown;
pub use takeover::{adoption, takeover};
pub use write::{SCHEMA_VERSION, compact, folded, pretty, result};
