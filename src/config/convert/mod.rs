//! Conversion of other tools' files to a stack: Docker Compose, Render blueprints, DigitalOcean app specs.
//!
//! Each reader fills a `StackDraft`; `draft` turns it into a stack's file. Fields without a counterpart are
//! listed for the user.

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
