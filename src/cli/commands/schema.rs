//! `stead schema`: documents for other tools.

use crate::cli::args::{Document, Schema};
use crate::cli::exit::Exit;
use crate::cli::session::Session;
use crate::cli::slugs;
use crate::editor::{openapi, stack_schema};
use crate::kinds::REGISTRY;

/// Prints the document.
pub(in crate::cli) fn run(session: &Session, args: &Schema) -> Exit {
    let text = match args.document {
        Document::Stack => stack_schema::text(&REGISTRY, &slugs::of_the_built_in_cloud(&REGISTRY)),
        Document::Openapi => openapi::text(&REGISTRY),
    };
    session.ui.out(&text);
    Exit::Done
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the committed schema is a file")]

    use super::*;

    #[test]
    fn the_committed_schema_is_the_printed_one() {
        let printed = stack_schema::text(&REGISTRY, &slugs::of_the_built_in_cloud(&REGISTRY));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/stack.schema.json");
        let committed = std::fs::read_to_string(path).unwrap();
        assert!(committed == printed, "`stead schema stack > schemas/stack.schema.json` renews it");
    }
}
