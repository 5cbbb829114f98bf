//! `load`: entry point of the configuration phase. In: file texts and the request. Out: a `Stack`, or every problem
//! that was found. It runs the phases parse, override, merge, resolve and check in this order. No diagnostic that
//! leaves this file contains a secret or the content of a variable file.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::check::config::{CheckedParts, check_config};
use super::check::{self, unused};
use super::codes;
use super::diagnostics::collector::DiagnosticCollector;
use super::diagnostics::hints::suggestions::apply_suggestions;
use super::diagnostics::variable_files::VariableFileRedactor;
use super::input::config_path::ConfigPath;
use super::input::gather::read_own_files;
use super::input::parsed_files::{ParsedFiles, parse_files};
use super::input::redact_sources;
use super::input::request::{FilesRef, LoadRequest};
use super::merge::blocks::{NamedEntries, merge_documents, merge_environments};
use super::merge::config::{MergedConfig, merge_config};
use super::merge::header::{self, choose_environment, resolve_header};
use super::merge::overrides::{self, AppliedOverrides, Overrides};
use super::resolve::context::evaluator::ConfigContext;
use super::resolve::context::resolved::ResolvedConfig;
use super::resolve::stack::resolve_config;
use super::resolve::untyped_values::resolve_untyped;
use super::resolve::values::data_sources::written_stack;
use super::resolve::values::variables::VariableSources;
use super::stack::digest;
use super::stack::model::{OtherStack, Resource, Stack};
use super::syntax::document::DocumentEntry;
use super::syntax::jobs::JobRunner;
use super::syntax::parse_cache::ParseCache;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::schema::Registry;
use crate::model::source::{Source, SourceLocation, Sources, Span};

/// Diagnostics of a configuration with errors; it yields no stack.
#[derive(Debug, Clone)]
pub struct LoadFailure {
    /// Source files, to resolve the spans of the diagnostics. Secrets in them are hidden.
    pub sources: Sources,
    /// All diagnostics; at least one is an error.
    pub diagnostics: Vec<Diagnostic>,
    /// Which files of the stack `sources` has.
    pub files: FilesRead,
}

/// Which files of a stack were read before an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesRead {
    /// All of them.
    All,
    /// Those of its directory. One does not parse, which hides the files that it includes.
    Own,
    /// Only some: another one cannot be read.
    Some,
}

impl LoadFailure {
    /// Returns the failure of a configuration whose files were all read.
    #[must_use]
    pub const fn new(sources: Sources, diagnostics: Vec<Diagnostic>) -> Self {
        Self { sources, diagnostics, files: FilesRead::All }
    }

    /// Returns the failure of a configuration with a file that does not parse, or includes none.
    const fn unparsed(sources: Sources, diagnostics: Vec<Diagnostic>) -> Self {
        Self { sources, diagnostics, files: FilesRead::Own }
    }

    /// Returns the failure of a configuration with a file that cannot be read.
    #[must_use]
    pub const fn unread(sources: Sources, diagnostics: Vec<Diagnostic>) -> Self {
        Self { sources, diagnostics, files: FilesRead::Some }
    }
}

/// A stack without its sources and its digest. It is a `Stack` once `LoadOutcome::into_stack` added them.
struct UnlocatedStack(Stack);

/// Output of all phases: what was resolved, and the problems. The stack may be used only if no problem is an error.
struct LoadOutcome {
    stack: UnlocatedStack,
    problems: DiagnosticCollector,
    /// Redacts the values of variable files in the diagnostics.
    withheld: VariableFileRedactor,
    jobs: &'static dyn JobRunner,
}

impl LoadOutcome {
    /// Returns the diagnostics, ordered by location, with confidential text redacted.
    fn into_diagnostics(self, sources: &Sources) -> Vec<Diagnostic> {
        redacted_diagnostics(self.problems, &self.withheld, sources)
    }

    /// Returns the stack with its sources and its digest, and the diagnostics, redacted. A digest that cannot be
    /// computed adds an error to them.
    fn into_stack(self, sources: Sources) -> (Stack, Vec<Diagnostic>) {
        let Self { stack: UnlocatedStack(mut stack), problems, withheld, jobs } = self;
        stack.digest = stack_digest(&stack, &problems, jobs);
        let found = redacted_diagnostics(problems, &withheld, &sources);
        stack.sources = sources;
        (stack, found)
    }
}

fn redacted_diagnostics(
    problems: DiagnosticCollector,
    withheld: &VariableFileRedactor,
    sources: &Sources,
) -> Vec<Diagnostic> {
    let mut found = problems.into_diagnostics();
    withheld.redact(&mut found, sources);
    found
}

/// Returns the digest of a stack; after an error, which is reported, an empty string.
fn stack_digest(stack: &Stack, problems: &DiagnosticCollector, jobs: &dyn JobRunner) -> String {
    let input = digest::StackDigestInput {
        name: &stack.name,
        environment: &stack.environment,
        outputs: &stack.outputs,
        policies: &stack.policies,
        deferred_secrets: &stack.deferred_secrets,
    };
    let resources: Vec<&Resource> = stack.resources.values().collect();
    digest::stack_digest(&input, &resources, jobs).unwrap_or_else(|error| {
        let problem = Diagnostic::error(codes::DIGEST, "the configuration has no digest");
        problems.push(problem.detail(error.to_string()));
        String::new()
    })
}

/// Loads a stack: `sources` holds its own files, `read` gives access to all others. On success the
/// diagnostics are warnings only.
///
/// # Errors
/// All problems that were found, together.
pub fn load(
    registry: Registry,
    mut sources: Sources,
    request: &LoadRequest,
    read: FilesRef<'_>,
) -> Result<(Stack, Vec<Diagnostic>), Box<LoadFailure>> {
    let outcome = match parse_files(registry, &mut sources, request, read, None) {
        Ok(mut files) => load_parsed(registry, &mut sources, &mut files, request, read),
        Err(diagnostics) => {
            return Err(Box::new(LoadFailure::unparsed(sources, diagnostics)));
        }
    };
    if outcome.problems.any_error() {
        let diagnostics = apply_suggestions(&registry, &sources, outcome.into_diagnostics(&sources));
        return Err(Box::new(LoadFailure::new(sources, diagnostics)));
    }
    // The digest is computed here, and may add an error, so the diagnostics are checked again below.
    let (stack, warnings) = outcome.into_stack(sources);
    let warnings = apply_suggestions(&registry, &stack.sources, warnings);
    if warnings.iter().any(|found| found.severity == Severity::Error) {
        return Err(Box::new(LoadFailure::new(stack.sources, warnings)));
    }
    Ok((stack, warnings))
}

/// Diagnostics of a stack in one environment, and the other environments in which it must be checked.
#[derive(Debug)]
pub struct CheckedConfig {
    /// Diagnostics of this environment, including warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Source files, to resolve the spans of the diagnostics. Secrets in them are hidden.
    pub sources: Sources,
    /// Name of the checked environment; if several are possible and none was requested, the first. Empty if a
    /// file does not parse.
    pub environment: Name,
    /// Names of the other environments to check, one by one; empty if one was requested.
    pub others: Vec<Name>,
    /// Environments that certainly have the same diagnostics as another one, paired with that one.
    pub alike: Vec<(Name, Name)>,
    /// The stack, to evaluate its policies in an editor; `None` if it has no policies, or has errors.
    pub stack: Option<Box<Stack>>,
}

/// Returns all diagnostics of a stack in one environment: an editor calls it at every keystroke. The stack is
/// returned only if it has policies, because its digest and a copy of its sources take time. Parsed files stay
/// in the cache `trees`.
#[must_use]
pub fn check(
    registry: Registry,
    mut sources: Sources,
    request: &LoadRequest,
    read: FilesRef<'_>,
    trees: &ParseCache,
) -> CheckedConfig {
    let mut checked = CheckedConfig {
        diagnostics: Vec::new(),
        sources: Sources::default(),
        environment: Name::default(),
        others: Vec::new(),
        alike: Vec::new(),
        stack: None,
    };
    // Without the documents, no environment is known: only the problems of the files are returned.
    let mut files = match parse_files(registry, &mut sources, request, read, Some(trees)) {
        Ok(files) => files,
        Err(diagnostics) => return CheckedConfig { diagnostics, sources, ..checked },
    };
    let declared = merge_environments(files.units.first().map_or(&[], Vec::as_slice));
    let chosen = choose_environment(&declared, files.environment.as_ref(), &DiagnosticCollector::default())
        .environment
        .name;
    let chosen =
        if chosen.is_empty() { declared.keys().next().cloned().unwrap_or_default() } else { chosen };
    if files.environment.is_none() {
        (checked.others, checked.alike) =
            check::environments::environments_to_check(&declared, &sources, &chosen);
    }
    checked.environment.clone_from(&chosen);
    files.environment = Some(chosen);
    let outcome = load_parsed(registry, &mut sources, &mut files, request, read);
    let found = if outcome.stack.0.policies.is_empty() || outcome.problems.any_error() {
        outcome.into_diagnostics(&sources)
    } else {
        let (stack, found) = outcome.into_stack(sources.clone());
        checked.stack = Some(Box::new(stack));
        found
    };
    checked.diagnostics = apply_suggestions(&registry, &sources, found);
    checked.sources = sources;
    checked
}

/// Replaces values in the stack's documents by those of the chosen environment's `set`; checks the paths
/// of the other environments.
fn apply_overrides(
    registry: &Registry,
    files: &mut ParsedFiles,
    problems: &DiagnosticCollector,
) -> AppliedOverrides {
    let Some(documents) = files.units.first_mut() else { return AppliedOverrides::default() };
    // Problems of the environments are reported later, when they are read completely.
    let quiet = DiagnosticCollector::default();
    let declared = merge_environments(documents);
    let chosen = choose_environment(&declared, files.environment.as_ref(), &quiet);
    let set = chosen.set.to_vec();
    let others: Vec<_> = header::other_sets(&declared, &chosen.environment.name).cloned().collect();
    overrides::check(registry, documents, &others, problems);
    overrides::replace_overridden_values(registry, documents, &set, problems)
}

/// Runs the phases after `parse` in order, each on the result of the one before, also after problems:
/// all are reported together.
fn load_parsed(
    registry: Registry,
    sources: &mut Sources,
    files: &mut ParsedFiles,
    request: &LoadRequest,
    read: FilesRef<'_>,
) -> LoadOutcome {
    let expression = request.expression.as_deref().map(|text| {
        let id = sources.add(Source::new("expression", text));
        (text, Span { source: id, start: 0, end: u32::try_from(text.len()).unwrap_or(0) })
    });
    let problems = DiagnosticCollector::default();
    let applied = apply_overrides(&registry, files, &problems);
    let merged = merge_config(&registry, &files.units, files.environment.as_ref(), &problems);
    let environment = &merged.environment;
    let context = ConfigContext {
        registry,
        sources,
        problems,
        resolve_written: resolve_untyped,
        budget: &files.budget,
        root_files: read,
        stack: merged.header.name.clone(),
        env: environment.environment.name.clone(),
        modules: &merged.modules,
        module_dirs: &files.places,
        module_calls: &files.calls,
        replaced_spans: &applied.spans,
        overrides: Overrides::new(&applied.later),
        available_secrets: &request.available_secrets,
        var_files: files.vars.iter().map(|(_, document)| document.source).collect(),
        accepts_placeholders: request.accepts_placeholders,
        secret_access: request.secrets,
        keeps_secrets: merged.stack.secrets.is_some(),
        deferred_secrets: RefCell::default(),
        sink_spans: RefCell::default(),
        programs: RefCell::default(),
        directories: RefCell::default(),
    };
    let others = header::other_environment_vars(&merged.stack.environments, &environment.environment.name);
    let variables =
        VariableSources { request, var_files: &files.vars, environment: environment.vars, others };
    let resolved = resolve_config(&context, &merged.stack, &variables, expression);
    let checked =
        check_config(&context, &merged.stack, (&resolved, &files.policies), request.pinned.as_ref());
    let stack = finish(&merged, resolved, checked, &context.problems);
    let problems = context.problems;
    report_unused(&registry, files, &problems);
    problems.correct_once(&files.units);
    // After the last phase that reads the sources, and before any diagnostic is shown.
    redact_parsed(sources, files);
    let secret_names = redact_sources::secret_names(files.units.first().map_or(&[], Vec::as_slice));
    let withheld = VariableFileRedactor::new(&files.vars, &secret_names);
    LoadOutcome { stack, problems, withheld, jobs: request.jobs }
}

/// Warns about declarations that are not used. A reference in an attribute with an error is unknown, so after an error
/// nothing is called unused.
fn report_unused(registry: &Registry, files: &ParsedFiles, problems: &DiagnosticCollector) {
    if problems.any_error() {
        return;
    }
    for problem in files.units.iter().flat_map(|unit| unused::find_unused(registry, unit)) {
        problems.push(problem);
    }
}

/// Hides the secrets that the sources contain: from here on, every snippet may be shown.
fn redact_parsed(sources: &mut Sources, files: &ParsedFiles) {
    sources.hide(&redact_sources::secret_spans(&files.units, &files.calls));
    for (_, document) in &files.vars {
        sources.blank_source(document.source);
    }
}

/// Builds the stack from the results of the phases. It may be incomplete if `problems` has an error.
fn finish(
    merged: &MergedConfig<'_>,
    resolved: ResolvedConfig<'_>,
    checked: CheckedParts,
    problems: &DiagnosticCollector,
) -> UnlocatedStack {
    let units = resolved.units;
    let left_out = units.blocks.left_out();
    let (data, stacks) = units.data.into_parts();
    let resources = units.resources.into_iter();
    UnlocatedStack(Stack {
        name: merged.header.name.clone(),
        environment: merged.environment.environment.clone(),
        environments: merged.stack.environments.keys().cloned().collect(),
        resources: resources.map(|resource| (resource.address.clone(), resource)).collect(),
        outputs: resolved.outputs,
        project: resolved.project,
        declarations: checked.declarations,
        policies: checked.policies,
        backend_required: merged.header.backend_required,
        digest: String::new(),
        data,
        stacks,
        modules: problems.call_spans(),
        left_out,
        deferred_secrets: checked.deferred_secrets,
        sinks: checked.sinks,
        recipients: resolved.recipients,
        reads: String::new(),
        evaluated: resolved.evaluated,
        named: resolved.named,
        sources: Sources::default(),
    })
}

/// Returns the header of a stack without resolving it: its name, environments and default environment. `sources`
/// holds the stack's own files; included files are read, modules are not. `None` if a file does not parse, or the
/// stack has no valid name. Problems are not reported.
#[must_use]
pub fn read_header(registry: Registry, sources: &Sources, read: FilesRef<'_>) -> Option<StackHeader> {
    match inspect_directory(registry, sources, read) {
        DirectoryContents::Stack(header) => Some(*header),
        DirectoryContents::NoStack | DirectoryContents::Invalid => None,
    }
}

/// What the stack files of a directory are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryContents {
    /// A stack: one of the files says `stack:`.
    Stack(Box<StackHeader>),
    /// No stack: none of the files says `stack:`, as in a module.
    NoStack,
    /// Files that do not parse, or a stack without a valid name.
    Invalid,
}

/// Returns what the stack files of a directory are, without resolving them; has the inputs of `read_header`.
#[must_use]
pub fn inspect_directory(registry: Registry, sources: &Sources, read: FilesRef<'_>) -> DirectoryContents {
    let mut sources = sources.clone();
    let Ok(documents) = read_own_files(registry, &mut sources, read) else {
        return DirectoryContents::Invalid;
    };
    let quiet = DiagnosticCollector::default();
    let merged = merge_documents(&registry, &documents, &quiet);
    let header = resolve_header(&merged, &quiet);
    if header.name.is_empty() {
        return if merged.stack.is_empty() {
            DirectoryContents::NoStack
        } else {
            DirectoryContents::Invalid
        };
    }
    let chosen = choose_environment(&merged.environments, None, &quiet);
    DirectoryContents::Stack(Box::new(StackHeader {
        name: header.name,
        backend_required: header.backend_required,
        environments: merged.environments.keys().cloned().collect(),
        confirmed: header::environments_confirmed_by_name(&merged.environments),
        variables: merged.vars.keys().cloned().collect(),
        stacks: header_stacks(&merged.stacks, &sources, read),
        has_moves: !merged.moved.is_empty(),
        default: chosen.environment.name,
    }))
}

/// Returns the other stacks that a stack names; an entry with a problem is absent.
fn header_stacks(
    stacks: &NamedEntries<'_>,
    sources: &Sources,
    read: FilesRef<'_>,
) -> BTreeMap<Name, HeaderStack> {
    let place = ConfigPath::new(read.path_from_root());
    let named = |(name, entry): (&Name, &&DocumentEntry)| {
        let OtherStack { directory, environment, span, .. } = written_stack(entry, &place).ok()?;
        let source = sources.location_of(span)?;
        Some((name.clone(), HeaderStack { directory, environment, source }))
    };
    stacks.iter().filter_map(named).collect()
}

/// Another stack whose outputs a stack may read. Which ones is known only when the stack is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderStack {
    /// Its directory, from the root within which configuration is shared.
    pub directory: Name,
    /// Environment whose outputs are read; `None` for the one of the same name; in a stack without environments also for
    /// the only one.
    pub environment: Option<Name>,
    /// Where the stack names it.
    pub source: SourceLocation,
}

/// Header of a stack, which commands need before they know the environment or the values of variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackHeader {
    /// Name of the stack, as `stack:` declares it.
    pub name: Name,
    /// Whether the stack refuses the local ledger (`backend: required`).
    pub backend_required: bool,
    /// Names of all declared environments.
    pub environments: BTreeSet<Name>,
    /// Environments whose applies require the user to type the environment's name.
    pub confirmed: BTreeSet<Name>,
    /// Names of all declared variables.
    pub variables: BTreeSet<Name>,
    /// Other stacks whose outputs it reads, by their names in this one; those that are named as they should be.
    pub stacks: BTreeMap<Name, HeaderStack>,
    /// Whether it has `moved` entries.
    pub has_moves: bool,
    /// Name of the environment that is chosen if none is requested: `default` for a stack without environments,
    /// empty if there are several and none is marked.
    pub default: Name,
}

#[cfg(test)]
mod tests;
