//! `stead schema`: documents for other tools.

use crate::cli::args::{Document, Schema};
use crate::cli::command_context::Session;
use crate::cli::process::exit_code::Exit;
use crate::cli::service::builtin_catalog;
use crate::editor::{openapi, stack_schema};
use crate::kinds::REGISTRY;

/// Prints the document.
pub(in crate::cli) fn run(session: &Session, args: &Schema) -> Exit {
    let text = match args.document {
        Document::Stack => {
            stack_schema::render_schema(&REGISTRY, &builtin_catalog::of_the_built_in_cloud(&REGISTRY))
        }
        Document::Openapi => openapi::render_document(&REGISTRY),
        printed => of_what_is_printed(printed).to_owned(),
    };
    session.ui.write_result(&text);
    Exit::Done
}

/// Returns the schema of what a command prints to programs: these are written by hand, and held against what is
/// printed by the tests.
const fn of_what_is_printed(document: Document) -> &'static str {
    match document {
        Document::Stack | Document::Openapi => "",
        Document::Plan => include_str!("../../../schemas/plan.schema.json"),
        Document::PlanEvent => include_str!("../../../schemas/plan-event.schema.json"),
        Document::ApplyEvent => include_str!("../../../schemas/apply-event.schema.json"),
        Document::Drift => include_str!("../../../schemas/drift.schema.json"),
        Document::Ls => include_str!("../../../schemas/ls.schema.json"),
        Document::Do => include_str!("../../../schemas/do.schema.json"),
        Document::Cost => include_str!("../../../schemas/cost.schema.json"),
        Document::Catalog => include_str!("../../../schemas/catalog.schema.json"),
        Document::Test => include_str!("../../../schemas/test.schema.json"),
        Document::Validate => include_str!("../../../schemas/validate.schema.json"),
        Document::History => include_str!("../../../schemas/history.schema.json"),
        Document::Lock => include_str!("../../../schemas/lock.schema.json"),
        Document::Recover => include_str!("../../../schemas/recover.schema.json"),
        Document::Secret => include_str!("../../../schemas/secret.schema.json"),
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
            assert!(<Document as clap::ValueEnum>::from_str(name, false).is_ok(), "{name}");
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
