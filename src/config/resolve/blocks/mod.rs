//! Resource blocks: `for_each` and `count`, attributes, lifecycle and shorthands.

pub(in crate::config) mod attributes;
pub(in crate::config) mod expand;
mod expansion_diagnostics;
pub(in crate::config) mod lifecycle;
pub(in crate::config) mod lifecycle_lists;
pub(in crate::config) mod override_values;
pub(in crate::config) mod plain_entries;
pub(in crate::config) mod resource;
pub(in crate::config) mod source_digest;
