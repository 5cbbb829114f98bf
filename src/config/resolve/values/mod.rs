//! Values by name: variables, locals, module inputs, data sources and deferred secrets.

pub(in crate::config) mod data_sources;
pub(in crate::config) mod deferred_secrets;
pub(in crate::config) mod locals;
pub(in crate::config) mod module_inputs;
pub(in crate::config) mod recipients;
pub(in crate::config) mod variable_declaration;
mod variable_problems;
pub(in crate::config) mod variables;
