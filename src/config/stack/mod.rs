//! The `Stack`: resources, declarations, policies and outputs, with every expression that is not known yet. It
//! is the result of the configuration phase and the desired state of a plan.

pub mod declarations;
pub(super) mod digest;
pub mod known_values;
pub mod lock_file;
pub mod model;
pub mod module_path;
