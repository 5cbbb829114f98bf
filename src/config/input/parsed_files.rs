//! `parse`: the first phase. In: the texts of the stack's files, of those that it includes and uses, and of the variable
//! files. Out: `ParsedFiles`, or the problems of all files; then no later phase runs, because a file that does not
//! parse hides its declarations.

use std::collections::BTreeMap;

use super::config_path::ConfigPath;
use super::gather::gather_units;
use super::nested_children;
use super::parse_file::parse_document;
use super::redact_sources;
use super::request::{FilesRef, LoadRequest};
use super::source_loader::SourceUnits;
use crate::config::diagnostics::variable_files::{self, VariableFileRedactor};
use crate::config::syntax::budget;
use crate::config::syntax::document::Document;
use crate::config::syntax::jobs::InTurn;
use crate::config::syntax::parse_cache::ParseCache;
use crate::model::address::Name;
use crate::model::budget::Budget;
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;
use crate::model::source::{Source, SourceId, Sources, Span};

/// Parsed files of one load. Only `parse_files` makes it, and only if all of them parse.
pub(in crate::config) struct ParsedFiles {
    /// Documents of the stack, followed by those of its modules.
    pub(in crate::config) units: Vec<Vec<Document>>,
    /// Directories of the units, in the same order.
    pub(in crate::config) places: Vec<ConfigPath>,
    /// Unit number of each module call, by the span of its `source`; the stack itself is number 0.
    pub(in crate::config) calls: BTreeMap<Span, usize>,
    /// Variable files with their paths for messages, highest precedence first. Their values may be confidential.
    pub(in crate::config) vars: Vec<(Name, Document)>,
    /// Files with the policies of the user's settings.
    pub(in crate::config) policies: Vec<Document>,
    /// Name of the requested environment; `None` chooses the default.
    pub(in crate::config) environment: Option<Name>,
    /// Budget for all values of the stack.
    pub(in crate::config) budget: Budget,
}

/// Parses all files: the stack's in `sources`, those that it includes and uses, and the variable files. Adds each
/// file that it reads to `sources`. `trees` is the cache of parsed files, which an editor passes.
///
/// # Errors
/// The problems of all files. Then the secrets in `sources` are hidden and the variable files blanked, because
/// snippets of the sources are shown with the problems.
pub(in crate::config) fn parse_files(
    registry: Registry,
    sources: &mut Sources,
    request: &LoadRequest,
    read: FilesRef<'_>,
    trees: Option<&ParseCache>,
) -> Result<ParsedFiles, Vec<Diagnostic>> {
    let (mut gathered, mut problems) = match gather_units(registry, sources, read, (trees, request.jobs)) {
        Ok(gathered) => (gathered, Vec::new()),
        Err(problems) => (SourceUnits::default(), problems),
    };
    let mut policies = Vec::new();
    for source in &request.policies {
        let id = sources.add(source.clone());
        match parse_document(&registry, id, source, None, &InTurn) {
            Ok(document) => policies.push(document),
            Err(found) => problems.extend(found),
        }
    }
    let first_of_vars = sources.next();
    let mut vars = Vec::new();
    // Reversed, because the first file that has a value decides.
    for (path, text) in request.var_files.iter().rev() {
        let source = Source::new(path.clone(), text.as_str());
        let id = sources.add(source.clone());
        match parse_document(&registry, id, &source, None, &InTurn) {
            Ok(document) => match budget::charge_repeated(&gathered.budget, &source, &document) {
                Ok(()) => vars.push((Name::new(path), document)),
                Err(problem) => problems.push(*problem),
            },
            Err(found) => problems.extend(variable_files::redact_parse_errors(&source, &found)),
        }
    }
    for unit in &mut gathered.units {
        problems.extend(nested_children::expand_nested_children(
            &mut unit.documents,
            &registry,
            &gathered.budget,
        ));
    }
    // A file that does not parse hides its declarations: continuing would report them as missing.
    if !problems.is_empty() {
        let units: Vec<_> = gathered.units.into_iter().map(|unit| unit.documents).collect();
        sources.hide(&redact_sources::secret_spans(&units, &gathered.calls));
        let files: Vec<SourceId> = (first_of_vars.0..sources.next().0).map(SourceId).collect();
        VariableFileRedactor::of_files(&files).redact(&mut problems, sources);
        for file in files {
            sources.blank_source(file);
        }
        return Err(problems);
    }
    let units = std::mem::take(&mut gathered.units);
    let (places, units) = units.into_iter().map(|unit| (unit.place, unit.documents)).unzip();
    let environment = request.environment.clone();
    let SourceUnits { calls, budget, .. } = gathered;
    Ok(ParsedFiles { units, places, calls, vars, policies, environment, budget })
}
