//! `stead schema`: prints schemas for other tools.

use clap::{Args, ValueEnum};

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::service::builtin_catalog;
use crate::editor::{openapi, stack_schema};
use crate::kinds::REGISTRY;

/// Command-line arguments of `stead schema`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead schema stack > stack.schema.json\n  stead schema openapi > cloud.openapi.json\n  \
    stead schema plan > plan.schema.json\n\n\
    An editor checks and completes a YAML file whose first line is\n  \
    # yaml-language-server: $schema=./stack.schema.json"
)]
pub struct SchemaArgs {
    /// Document to print
    pub document: SchemaDocument,
}

/// A schema that `stead schema` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaDocument {
    /// Files of a stack, as JSON Schema, draft 7.
    Stack,
    /// API of the service, as OpenAPI 3.1.
    Openapi,
    /// JSON output of `plan` and `show`.
    Plan,
    /// One line of the NDJSON output of `plan` and `show`.
    PlanEvent,
    /// One line of the NDJSON output of `apply` and `destroy`.
    ApplyEvent,
    /// JSON output of `drift`.
    Drift,
    /// JSON output of `ls`.
    Ls,
    /// JSON output of `do`, and one line of its NDJSON output.
    Do,
    /// JSON output of `catalog`.
    Catalog,
    /// JSON output of `cost`.
    Cost,
    /// JSON output of `test`.
    Test,
    /// JSON output of `validate`.
    Validate,
    /// JSON output of `history`.
    History,
    /// JSON output of `lock status`.
    Lock,
    /// JSON output of `recover`.
    Recover,
    /// JSON output of `secret get`.
    Secret,
}

/// Prints the requested schema.
pub(in crate::cli) fn run(session: &CommandContext, args: &SchemaArgs) -> Exit {
    let text = match args.document {
        SchemaDocument::Stack => {
            stack_schema::render_schema(&REGISTRY, &builtin_catalog::of_the_built_in_cloud(&REGISTRY))
        }
        SchemaDocument::Openapi => openapi::render_document(&REGISTRY),
        printed => of_what_is_printed(printed).to_owned(),
    };
    session.ui.write_result(&text);
    Exit::Done
}

/// Returns the schema of a command's output. These schemas are written by hand; tests compare them with the output.
const fn of_what_is_printed(document: SchemaDocument) -> &'static str {
    match document {
        SchemaDocument::Stack | SchemaDocument::Openapi => "",
        SchemaDocument::Plan => include_str!("../../../schemas/plan.schema.json"),
        SchemaDocument::PlanEvent => include_str!("../../../schemas/plan-event.schema.json"),
        SchemaDocument::ApplyEvent => include_str!("../../../schemas/apply-event.schema.json"),
        SchemaDocument::Drift => include_str!("../../../schemas/drift.schema.json"),
        SchemaDocument::Ls => include_str!("../../../schemas/ls.schema.json"),
        SchemaDocument::Do => include_str!("../../../schemas/do.schema.json"),
        SchemaDocument::Cost => include_str!("../../../schemas/cost.schema.json"),
        SchemaDocument::Catalog => include_str!("../../../schemas/catalog.schema.json"),
        SchemaDocument::Test => include_str!("../../../schemas/test.schema.json"),
        SchemaDocument::Validate => include_str!("../../../schemas/validate.schema.json"),
        SchemaDocument::History => include_str!("../../../schemas/history.schema.json"),
        SchemaDocument::Lock => include_str!("../../../schemas/lock.schema.json"),
        SchemaDocument::Recover => include_str!("../../../schemas/recover.schema.json"),
        SchemaDocument::Secret => include_str!("../../../schemas/secret.schema.json"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the committed schema is a file")]

    use super::*;

    #[test]
    fn every_committed_schema_can_be_printed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
        let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        for name in all.map(|name| name.into_string().unwrap()) {
            let Some(name) = name.strip_suffix(".schema.json") else { continue };
            assert!(<SchemaDocument as ValueEnum>::from_str(name, false).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_committed_schema_is_the_printed_one() {
        let printed =
            stack_schema::render_schema(&REGISTRY, &builtin_catalog::of_the_built_in_cloud(&REGISTRY));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/stack.schema.json");
        let committed = std::fs::read_to_string(path).unwrap();
        assert!(committed == printed, "`stead schema stack > schemas/stack.schema.json` renews it");
    }
}
