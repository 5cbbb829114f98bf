//! The `Stack`: resources, declarations, policies and outputs, with every expression that is not known yet.

pub mod declarations;
pub(super) mod digest;
pub mod known_values;
pub mod lock_file;
pub mod model;
pub mod module_path;
