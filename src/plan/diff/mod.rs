//! The three-way diff of one resource: last applied, live and desired attributes. In: the joined state of an address.
//! Out: attribute diffs, before-images and drift. Invariant: nothing here decides what is done about a difference.

pub(super) mod attributes;
pub(super) mod before_image;
pub mod confirmation;
pub(super) mod current_value;
pub(super) mod desired;
pub(super) mod drift;
pub(super) mod free_billing;
pub(super) mod lost_values;
pub(super) mod planned_values;
mod written;
