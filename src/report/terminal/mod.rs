//! A plan as people read it in a terminal or a log.

mod attribute;
mod beneath;
mod change;
mod foot;
mod notes;
mod plan;

pub use beneath::beneath;
pub use plan::{Facts, plan};
