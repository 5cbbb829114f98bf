//! A plan as people read it in a terminal or a log.

mod attribute;
mod beneath;
mod change;
mod foot;
pub(super) mod notes;
mod plan;

pub use beneath::beneath;
pub use plan::{Facts, plan};
