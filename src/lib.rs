//! stead: declarative infrastructure for one cloud.
//!
//! Data flows in one direction: files become a `Stack`, the API a `Snapshot`, the store a `Ledger`; the three become
//! a `Plan`, the plan an `Outcome`, and reports show them. A module imports only those that `tests/architecture`
//! lists for it.

#![forbid(unsafe_code)]

// In flow order: a module imports only from those above it. Blank lines keep the formatter from sorting them.

pub mod model;

pub mod kinds;

pub mod config;

pub mod ledger;

pub mod cloud;

pub mod plan;

pub mod apply;

pub mod report;

pub mod editor;

pub mod emulator;

pub mod cli;
