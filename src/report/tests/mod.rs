//! Pages and documents over hand-built plans.

mod documents;
mod pages;
pub(super) mod plans;
