//! Pages and documents over hand-built plans.

mod differences;
mod documents;
mod groups;
mod pages;
pub(crate) mod plans;
