//! Takeover: live objects written as configuration, accepted only when the plan of what is written
//! has nothing to do.

mod accept;
mod addresses;
mod draft;
mod existing_child;
mod literal;
pub mod rebuild_ledger;
mod suggestions;

pub use self::accept::{Accepted, Format, Order, Refused, Told, accept_order};
pub use self::draft::{InClear, SecretVariable};
pub use self::existing_child::accept_child;
pub use self::suggestions::{Left, Suggestion};
