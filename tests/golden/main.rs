//! Golden files: persistent formats, on disk and in shared backends, and every JSON document, byte for byte as earlier
//! builds wrote it. While these tests pass, a renamed item has not changed a format.
//!
//! Formats whose types are private are compared by unit tests of their modules, with files of the same folder.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[allow(dead_code, reason = "the tests of the command line use the rest of it")]
#[path = "../cli/case.rs"]
mod case;
mod config;
mod coverage;
mod digests;
mod documents;
mod emulator;
mod files;
mod ledger;
mod mutants;
mod plan;
