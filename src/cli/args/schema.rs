//! The command line of documents for other tools.

use clap::{Args, ValueEnum};

/// `schema`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead schema openapi > cloud.openapi.json")]
pub struct Schema {
    /// Which document
    pub document: Document,
}

/// A document that is made from what stead knows of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Document {
    /// The service's API, as OpenAPI 3.1.
    Openapi,
}
