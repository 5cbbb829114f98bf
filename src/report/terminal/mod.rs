//! A plan as people read it in a terminal or a log.

mod attribute;
mod change;
pub(super) mod notes;
mod plan;
mod summary;
mod verbose_steps;

pub use self::verbose_steps::plan_steps_page;
pub use plan::{PlanContext, plan_page};
