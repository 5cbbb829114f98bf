//! An emulator of the whole service: a pure state machine, and an HTTP server around it.
//!
//! `world` is a state machine without IO; `store` makes its changes durable; `limiter`, `faults` and `clock`
//! make decisions in plain values, which the server in `server` carries out; `control` is the emulator's own
//! small API. The parts that decide get the time and the seed from their caller, so tests can repeat a run.

pub mod clock;
mod console;
pub mod control;
pub mod faults;
pub mod limiter;
pub mod log;
pub mod server;
mod service_state;
pub mod store;
pub mod world;

mod http_service;
mod message;
pub mod seed;
mod seeded_rng;
mod serve;
