//! What the service returned: objects, their attributes, and the catalog of names and prices.

pub mod catalog;
pub mod reading;
pub mod snapshot;
