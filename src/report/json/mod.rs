//! The documents for programs. Every one carries `schema_version`; `schemas/` describes them.

mod diagnostics;
mod list;
mod plan;
mod questions;
pub(super) mod shown;
mod write;

pub use diagnostics::diagnostics;
pub use list::{drift, list, object};
pub use plan::{PlanOptions, plan, plan_to};
pub use questions::{Asked, questions};
pub use write::{SCHEMA_VERSION, compact, pretty};
