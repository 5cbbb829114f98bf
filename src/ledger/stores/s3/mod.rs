//! A journal in an S3 bucket, written with conditional puts.

pub mod backend;
mod connector;
mod settings;
