//! `stead schema`: documents for other tools.

use crate::cli::args::{Document, Schema};
use crate::cli::exit::Exit;
use crate::cli::session::Session;
use crate::editor::openapi;
use crate::kinds::REGISTRY;

/// Prints the document.
pub(in crate::cli) fn run(session: &Session, args: &Schema) -> Exit {
    let text = match args.document {
        Document::Openapi => openapi::text(&REGISTRY),
    };
    session.ui.out(&text);
    Exit::Done
}
