//! Values by name: variables, locals, module inputs, data sources and deferred secrets. In: declarations and the
//! sources of values. Out: what `vars`, `locals`, `data` and `stacks` mean in a scope.

pub(in crate::config) mod data_sources;
pub(in crate::config) mod deferred_secrets;
pub(in crate::config) mod locals;
pub(in crate::config) mod module_inputs;
pub(in crate::config) mod recipients;
pub(in crate::config) mod variable_declaration;
mod variable_problems;
pub(in crate::config) mod variables;
