//! Names, networks and attributes that two objects or two writers claim. In: decisions, live objects and the
//! history; out: blockers, and pairs of conflicting objects. A conflict that the service would refuse is
//! reported before anything is sent.

pub mod competing_writers;
pub(in crate::plan) mod name_conflicts;
pub(in crate::plan) mod unique_index;
