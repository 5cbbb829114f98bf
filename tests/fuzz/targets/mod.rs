//! The fuzz targets: each code that reads foreign bytes, and the property that must hold.

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
