//! Which live object each address owns: the journal, its replay, and the stores that keep it.

pub mod entry;
pub mod journal;
pub mod record;
pub mod resolve;
pub mod store;
