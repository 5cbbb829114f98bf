//! Other tools' files as a stack: Docker Compose, Render blueprints, DigitalOcean app specs.
//!
//! Each reader fills a `Draft`; `draft` turns it into a stack's file. What has no counterpart is listed.

mod app_spec;
mod compose;
mod convert;
mod draft;
mod fields;
mod guess;
mod hosts;
mod interpolate;
mod reasons;
mod render;

pub use convert::{Converted, Origin, convert};
pub use guess::guess;
