//! Hostile environments of the client: redirects, certificates, proxies, hostile ids, panics, files.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

#[path = "../cli/case.rs"]
#[allow(dead_code, reason = "other tests of the whole program use the rest of it")]
mod case;
mod computed;
#[path = "../cli/editor.rs"]
#[allow(dead_code, reason = "other tests of the whole program use the rest of it")]
mod editor;
mod expressions;
#[path = "../cli/forms.rs"]
mod forms;
mod ids;
mod kept_secrets;
mod leak;
mod ledger_macs;
mod memory;
mod output_secrets;
mod panics;
mod proxy;
mod redirect;
mod reports;
mod saved_plans;
mod sinks;
mod surroundings;
mod tls;
mod trap;
mod two_secrets;
mod upload;
mod var_files;
