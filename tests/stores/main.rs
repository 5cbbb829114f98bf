//! The shared places of ledgers, against the real servers: what a shelf promises, and races of real
//! processes. Each module starts the servers that it needs and stops them at its end.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise, and touches the machine"
)]

#[cfg(feature = "postgres")]
#[allow(dead_code, reason = "those tests use the rest of it")]
#[path = "../kill/cloud.rs"]
mod cloud;
mod contract;
mod gate;
mod http;
mod lax;
mod moto;
#[cfg(all(feature = "postgres", feature = "s3"))]
mod moves;
mod people;
mod postgres;
mod program;
mod races;
mod races_elsewhere;
#[cfg(feature = "postgres")]
mod runs;
#[cfg(feature = "s3")]
mod s3;
mod sealed;
mod server;
mod state_server;
mod tls;
mod wire;
#[cfg(feature = "postgres")]
mod workers;
