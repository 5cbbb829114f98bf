//! Other tools' files as a stack: Docker Compose, Render blueprints, DigitalOcean app specs.
//!
//! Each reader fills a `Draft`; `draft` turns it into a stack's file. What has no counterpart is listed.

mod app_spec;
mod compose;
mod detect;
mod draft;
mod fields;
mod hosts;
mod interpolate;
mod render_blueprint;
mod source_format;
mod unsupported_fields;

pub use detect::guess_origin;
pub use source_format::{ConvertedStack, SourceFormat, convert_foreign_file};
