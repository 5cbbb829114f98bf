//! A journal in a directory: opened without following links, locked by one process, appended and synced.

pub mod dir_handle;
pub mod lock;
pub mod process;
pub mod store;
