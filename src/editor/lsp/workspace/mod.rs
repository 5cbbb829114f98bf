//! The texts that the editor has open, in place of their files on disk: their symbols, and the
//! diagnostics of each directory.

pub(super) mod diagnostics;
pub(super) mod files;
pub(super) mod multi_env_diagnostics;
pub(super) mod open_documents;
pub(super) mod references;
pub(super) mod symbols;
