//! Runs that workers share: where they are stored, and what a worker must have in common with the others.

pub mod open_board;
pub mod run_view;
pub mod worker_identity;
