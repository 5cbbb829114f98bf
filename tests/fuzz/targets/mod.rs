//! The targets: what reads bytes that others wrote, and what must hold of it.

pub mod addresses;
pub mod cloud;
pub mod config;
pub mod escape;
pub mod expression;
pub mod journal;
pub mod output;
pub mod plan;
pub mod rewrite;
pub mod settings;
