//! What the steps of the resolution read and produce: the inputs of the load, the names in scope, the blocks and lookups
//! that are declared, and the resources that are resolved. Lower than every step; nothing here evaluates an expression.

pub(in crate::config) mod block_index;
pub(in crate::config) mod data_index;
pub(in crate::config) mod evaluator;
pub(in crate::config) mod resolved;
pub(in crate::config) mod scope;
