//! The plan as plain data: it is saved, compared, shown and applied later, so it contains no closure,
//! connection or rendered text. Every other folder of `plan` makes it or reads it.

pub mod block;
pub mod change;
pub mod compare;
pub mod drift;
pub mod due;
pub mod note;
pub mod output;
pub mod plan_base;
pub mod policy_outcome;
pub mod resource_values;
pub mod step;
pub mod transfers;
pub mod undecided;
