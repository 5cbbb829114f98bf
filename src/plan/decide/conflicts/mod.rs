//! Names, networks and attributes that two objects or two writers claim.

pub mod competing_writers;
pub(in crate::plan) mod name_conflicts;
pub(in crate::plan) mod unique_index;
