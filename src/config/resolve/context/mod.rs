//! What the steps of the resolution read and produce: the inputs of the load, the names in scope, the blocks and
//! lookups that are declared, and the resources that are resolved. The steps import these files, never the reverse.

pub(in crate::config) mod block_index;
pub(in crate::config) mod data_index;
pub(in crate::config) mod evaluator;
pub(in crate::config) mod resolved;
pub(in crate::config) mod scope;
