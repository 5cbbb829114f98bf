//! Parsing of one configuration file: decoding, then YAML or KDL by its extension.

use std::path::Path;

use super::list_shorthand;
use crate::config::codes;
use crate::config::syntax::document::Document;
use crate::config::syntax::jobs::JobRunner;
use crate::config::syntax::parse_cache::ParseCache;
use crate::config::syntax::{kdl, yaml};
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;
use crate::model::source::{Source, SourceId};

/// Parses one file by its extension, or returns its cached document, and expands list shorthands.
///
/// # Errors
/// The problems of a file that does not parse, or whose extension is of neither syntax.
pub(in crate::config) fn parse_document(
    registry: &Registry,
    id: SourceId,
    source: &Source,
    trees: Option<&ParseCache>,
    jobs: &dyn JobRunner,
) -> Result<Document, Vec<Diagnostic>> {
    // `use shop …` names a block, as `vm web …` does.
    let is_kind = |word: &str| word == "use" || registry.top_level().any(|kind| kind.name == word);
    let parse = || match Path::new(&source.path).extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => yaml::parse_with(jobs, id, source),
        Some("kdl") => kdl::parse(id, source, &is_kind),
        _ => Err(vec![
            Diagnostic::error(codes::FILE_TYPE, "a file is neither YAML nor KDL")
                .detail(format!("`{}` ends in neither .yaml, .yml nor .kdl.", source.path))
                .help("rename the file"),
        ]),
    };
    let parsed = match trees {
        Some(trees) => trees.cached_document(id, source, &is_kind, parse),
        None => parse(),
    };
    parsed.map(|mut document| {
        list_shorthand::expand_list_shorthand(&mut document, registry);
        document
    })
}
