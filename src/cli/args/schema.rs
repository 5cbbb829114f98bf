//! The command line of documents for other tools.

use clap::{Args, ValueEnum};

/// `schema`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead schema stack > stack.schema.json\n  stead schema openapi > cloud.openapi.json\n  \
    stead schema plan > plan.schema.json\n\n\
    An editor checks and completes a YAML file whose first line is\n  \
    # yaml-language-server: $schema=./stack.schema.json"
)]
pub struct Schema {
    /// Which document
    pub document: Document,
}

/// A document that is made from what stead knows of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Document {
    /// The files of a stack, as JSON Schema, draft 7.
    Stack,
    /// The service's API, as OpenAPI 3.1.
    Openapi,
    /// What `plan` and `show` print with --output json.
    Plan,
    /// A line of what they print with --output ndjson.
    PlanEvent,
    /// A line of what `apply` and `destroy` print with --output ndjson.
    ApplyEvent,
    /// What `drift` prints.
    Drift,
    /// What `ls` prints.
    Ls,
    /// What `do` prints, and a line of it with --output ndjson.
    Do,
    /// What `catalog` prints.
    Catalog,
    /// What `cost` prints.
    Cost,
    /// What `test` prints.
    Test,
    /// What `validate` prints.
    Validate,
    /// What `history` prints.
    History,
    /// What `lock status` prints.
    Lock,
    /// What `recover` prints.
    Recover,
    /// What `secret get` prints.
    Secret,
}
