//! Resource blocks: their instances, attributes, lifecycle and shorthands. In: the blocks of a unit. Out: first the
//! declared blocks in the index, then a `Resource` for each instance.

mod allowed_exposures;
pub(in crate::config) mod attributes;
pub(in crate::config) mod expand;
mod expansion_diagnostics;
pub(in crate::config) mod lifecycle;
pub(in crate::config) mod lifecycle_lists;
pub(in crate::config) mod override_values;
pub(in crate::config) mod plain_entries;
pub(in crate::config) mod resource;
pub(in crate::config) mod source_digest;
