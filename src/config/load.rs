//! `load`: from file texts to a `Stack`, collecting every problem on the way.

use std::collections::BTreeMap;
use std::path::Path;

use super::declarations::Declarations;
use super::document::Document;
use super::files::Files;
use super::header::{environment, header};
use super::merge::{Entries, Merged, merge};
use super::policy::Policy;
use super::problems::Problems;
use super::resolver::{Frame, Resolver};
use super::stack::{Environment, Output, Resource, Stack};
use super::variables::Givers;
use super::{codes, digest, kdl, masks, order, plain_entries, rules, yaml};
use crate::model::address::{Address, Name};
use crate::model::catalog::Catalog;
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;
use crate::model::secret::Secret;
use crate::model::source::{Source, SourceId, Sources};

/// What decides besides the files.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The environment asked for (`-e`, `STEAD_ENV`).
    pub environment: Option<Name>,
    /// Variables given by name (`--var`), as text.
    pub vars: BTreeMap<Name, String>,
    /// Variables from the process environment (`STEAD_VAR_x`), as text. Names are lower case.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Variable files: `(shown path, text)`, YAML or KDL mappings, weaker than `vars` and `env_vars`.
    /// Later files win.
    pub var_files: Vec<(String, String)>,
    /// Pinned catalog names, for checks without a network.
    pub pinned: Option<Catalog>,
}

/// Reads what `file("…")`, `from_file` and directories of sources name, below the stack's directory.
pub type ReadFile<'a> = &'a dyn Files;

/// A configuration with problems: nothing is done with it.
#[derive(Debug)]
pub struct Rejected {
    /// The files, for showing places.
    pub sources: Sources,
    /// At least one error among them.
    pub diagnostics: Vec<Diagnostic>,
}

/// The parsed files of a run.
struct Parsed {
    stack: Vec<Document>,
    /// Strongest first.
    vars: Vec<(Name, Document)>,
}

/// What resolving gives; a `Stack` without its files.
struct Outcome {
    name: Name,
    environment: Environment,
    environments: Vec<Name>,
    backend_required: bool,
    resources: Vec<Resource>,
    project: Option<Address>,
    outputs: BTreeMap<Name, Output>,
    declarations: Declarations,
    policies: Vec<Policy>,
    problems: Problems,
}

/// Resolves a stack. On success the diagnostics are warnings only.
///
/// # Errors
/// All problems that were found, together.
pub fn load(
    registry: Registry,
    mut sources: Sources,
    request: &Request,
    read: ReadFile<'_>,
) -> Result<(Stack, Vec<Diagnostic>), Box<Rejected>> {
    let first_of_vars = sources.next();
    let files = match parse(&registry, &mut sources, request) {
        Ok(files) => files,
        // A file that cannot be parsed hides declarations: going on would report what is there.
        Err(diagnostics) => {
            sources.hide_values_from(first_of_vars);
            return Err(Box::new(Rejected { sources, diagnostics }));
        }
    };
    resolve(registry, sources, &files, request, read)
}

fn resolve(
    registry: Registry,
    mut sources: Sources,
    files: &Parsed,
    request: &Request,
    read: ReadFile<'_>,
) -> Result<(Stack, Vec<Diagnostic>), Box<Rejected>> {
    let outcome = outcome(registry, &sources, files, request, read);
    sources.hide(&masks::secrets(&files.stack, &files.vars));
    let failed = outcome.problems.any_error();
    let diagnostics = outcome.problems.into_diagnostics();
    if failed {
        return Err(Box::new(Rejected { sources, diagnostics }));
    }
    let digest = digest::digest(
        &outcome.name,
        &outcome.environment,
        outcome.resources.iter(),
        &outcome.outputs,
        &outcome.policies,
    );
    let stack = Stack {
        name: outcome.name,
        environment: outcome.environment,
        environments: outcome.environments,
        resources: outcome
            .resources
            .into_iter()
            .map(|resource| (resource.address.clone(), resource))
            .collect(),
        outputs: outcome.outputs,
        project: outcome.project,
        declarations: outcome.declarations,
        policies: outcome.policies,
        backend_required: outcome.backend_required,
        digest,
        sources,
    };
    Ok((stack, diagnostics))
}

/// Runs the phases, each on what the one before gave.
fn outcome(
    registry: Registry,
    sources: &Sources,
    files: &Parsed,
    request: &Request,
    read: ReadFile<'_>,
) -> Outcome {
    let problems = Problems::default();
    let merged: Merged<'_> = merge(&registry, &files.stack, &problems);
    let header = header(&merged, &problems);
    let chosen = environment(&merged, request.environment.as_ref(), &problems);
    let mut resolver = Resolver::new(registry, sources, read, problems);
    resolver.stack.clone_from(&header.name);
    resolver.env.clone_from(&chosen.environment.name);
    let givers = Givers { request, var_files: &files.vars, environment: chosen.vars };
    resolver.variables(&merged.vars, &givers);
    let locals = resolver.order_locals(&merged.locals);
    resolver.resolve_locals(&locals.early);
    resolver.declare(&merged);
    resolver.resolve_locals(&locals.late);
    let resources = resolver.resources();
    let outputs = outputs(&resolver, &merged.outputs);
    let project = resolver.project(&resources);
    let declarations = resolver.declarations(&merged, &resources);
    let policies = resolver.policies(&merged.policies);
    for circle in order::circles(&resources) {
        resolver.problems.push(circle);
    }
    resolver.keep_secrets_at_home(&resources);
    rules::check(&resources, request.pinned.as_ref(), &resolver.problems);
    Outcome {
        name: header.name,
        environment: chosen.environment,
        environments: merged.environments.keys().cloned().collect(),
        backend_required: header.backend_required,
        resources,
        project,
        outputs,
        declarations,
        policies,
        problems: resolver.problems,
    }
}

fn outputs<'d>(resolver: &Resolver<'d>, entries: &Entries<'d>) -> BTreeMap<Name, Output> {
    let output = |(name, entry): (&Name, &&'d super::document::Entry)| {
        let resolved = resolver.untyped(&entry.value, Frame::top(None))?;
        Some((name.clone(), Output { expression: resolved.expression, span: entry.value.span }))
    };
    entries.iter().filter_map(output).collect()
}

/// Parses all files, the variable files too.
fn parse(registry: &Registry, sources: &mut Sources, request: &Request) -> Result<Parsed, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let mut keep = |parsed: Result<Document, Vec<Diagnostic>>| match parsed {
        Ok(document) => Some(document),
        Err(found) => {
            problems.extend(found);
            None
        }
    };
    let stack = sources.iter().filter_map(|(id, source)| keep(document(registry, id, source))).collect();
    let mut vars = Vec::new();
    for (path, text) in request.var_files.iter().rev() {
        let source = Source::new(path.clone(), text.as_str());
        let id = sources.add(source.clone());
        vars.extend(keep(document(registry, id, &source)).map(|document| (Name::new(path), document)));
    }
    if problems.is_empty() { Ok(Parsed { stack, vars }) } else { Err(problems) }
}

fn document(registry: &Registry, id: SourceId, source: &Source) -> Result<Document, Vec<Diagnostic>> {
    let is_kind = |word: &str| registry.top_level().any(|kind| kind.name == word);
    let parsed = match Path::new(&source.path).extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => yaml::parse(id, source),
        Some("kdl") => kdl::parse(id, source, &is_kind),
        _ => Err(vec![
            Diagnostic::error(codes::FILE_TYPE, "a file is neither YAML nor KDL")
                .detail(format!("`{}` ends in neither .yaml, .yml nor .kdl.", source.path))
                .help("rename the file"),
        ]),
    };
    parsed.map(|mut document| {
        plain_entries::write_out(&mut document, registry);
        document
    })
}

#[cfg(test)]
mod tests;
