//! Takeover: live objects written as configuration, accepted only when the plan of what is written
//! has nothing to do.

mod accept;
mod addresses;
mod draft;
mod existing_child;
mod literal;
pub mod rebuild_ledger;
mod suggestions;

pub use crate::plan::import::accept::{Accepted, Format, Order, Refused, Told, accept};
pub use crate::plan::import::draft::{InClear, SecretVariable};
pub use crate::plan::import::existing_child::accept_child;
pub use crate::plan::import::suggestions::{Left, Suggestion};
