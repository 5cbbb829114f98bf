//! Hostile surroundings of the client: redirects, certificates, proxies, ids that lead astray, panics.
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

mod ids;
mod panics;
mod proxy;
mod redirect;
mod tls;
mod trap;
mod upload;
