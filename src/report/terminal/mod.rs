//! The plan as text for terminals and logs: one page of `TextLine`s, which escape what they contain.

mod attribute;
mod change;
mod difference;
mod outputs;
mod plan;
mod summary;
mod units;
mod verbose_steps;

pub use self::verbose_steps::plan_steps_page;
pub use difference::difference_page;
pub use plan::{PlanContext, plan_page};
pub use units::{unit_policies_page, units_page, units_run_page};
