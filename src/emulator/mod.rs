//! The whole service as a server: a pure world, and the shell that puts it on a socket.
//!
//! `world` is a state machine without IO; `store` makes what it changes durable; `limiter`, `faults`
//! and `clock` decide, in plain values, what the shell in `server` then does; `control` is the
//! emulator's own small API.

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
