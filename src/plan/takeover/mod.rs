//! Takeover: live objects written as configuration, accepted only when the plan of what is written
//! has nothing to do.

mod accept;
mod child;
mod draft;
mod missing;
mod names;
mod value;

pub use crate::plan::takeover::missing::Left;
pub use accept::{Accepted, Format, Order, Refused, Told, accept};
pub use child::accept_child;
pub use draft::{InClear, SecretVariable};
pub use missing::Suggestion;
