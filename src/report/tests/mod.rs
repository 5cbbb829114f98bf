//! Pages and documents over hand-built plans.

mod documents;
mod pages;
pub(crate) mod plans;
