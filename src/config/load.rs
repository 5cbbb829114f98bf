//! `load`: entry point of the configuration phase. In: file texts and the request. Out: a `Stack`, or every
//! problem that was found.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{self, dependency_cycles, redact_sources, secret_sinks, service_rules, unused};
use super::diagnostics::codes;
use super::diagnostics::collector::DiagnosticCollector;
use super::diagnostics::hints::suggestions::apply_suggestions;
use super::diagnostics::variable_files::{self, VariableFileRedactor};
use super::input::config_path::ConfigPath;
use super::input::gather::{gather_units, read_own_files};
use super::input::nested_children;
use super::input::parse_file::parse_document;
use super::input::source_loader::SourceUnits;
use super::merge::blocks::{
    MergedDocuments, NamedEntries, merge_documents, merge_environments, merge_module,
};
use super::merge::header::{self, choose_environment, resolve_header};
use super::merge::overrides::{self, AppliedOverrides, Overrides};
use super::request::{FilesRef, LoadRequest};
use super::resolve::evaluator::Evaluator;
use super::resolve::scope::EvaluationSite;
use super::resolve::values::deferred_secrets;
use super::resolve::values::variables::VariableSources;
use super::stack::declarations::Declarations;
use super::stack::digest;
use super::stack::model::{
    AttributeSetting, DataLookup, DeferredSecret, Environment, ExclusionReason, OtherStack, Output, Policy,
    Recipients, Resource, SinkUse, Stack,
};
use super::syntax::budget;
use super::syntax::document::{Document, DocumentEntry};
use super::syntax::parse_cache::ParseCache;
use crate::config::check::declarations::read_declarations;
use crate::config::check::policies::read_policies;
use crate::config::resolve::blocks::override_values::unused_overrides;
use crate::config::resolve::blocks::resource::find_project;
use crate::config::resolve::blocks::source_digest::check_secret_boundaries;
use crate::config::resolve::text::resolve_text;
use crate::config::resolve::unit::resolve_unit;
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::resolve::values::data_sources::declare_stacks;
use crate::config::resolve::values::recipients::resolve_recipients;
use crate::config::resolve::values::variables::resolve_variables;
use crate::model::address::{Address, Name};
use crate::model::budget::Budget;
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::expression::Expression;
use crate::model::schema::Registry;
use crate::model::source::{Source, SourceId, Sources, Span};

/// Diagnostics of a configuration with errors; it yields no stack.
#[derive(Debug)]
pub struct LoadFailure {
    /// Source files, to resolve the spans of the diagnostics.
    pub sources: Sources,
    /// All diagnostics; at least one is an error.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parsed files and inputs of one load.
struct ParsedConfig {
    /// Documents of the stack, followed by those of its modules.
    units: Vec<Vec<Document>>,
    /// Directories of the units, in the same order.
    places: Vec<ConfigPath>,
    /// Index of the unit for each module call, by the span of its `source`.
    calls: BTreeMap<Span, usize>,
    /// Variable files, highest precedence first.
    vars: Vec<(Name, Document)>,
    /// Span of the expression to evaluate (`stead eval`).
    expression: Option<Span>,
    /// Name of the requested environment; `None` chooses the default.
    environment: Option<Name>,
    /// Budget for all values of the stack.
    budget: Budget,
}

/// Result of resolving: a `Stack` without its files.
struct ResolvedConfig {
    name: Name,
    environment: Environment,
    environments: Vec<Name>,
    backend_required: bool,
    resources: Vec<Resource>,
    project: Option<Address>,
    outputs: BTreeMap<Name, Output>,
    data: BTreeMap<Address, DataLookup>,
    stacks: BTreeMap<Name, OtherStack>,
    modules: BTreeMap<Name, Span>,
    left_out: BTreeMap<Address, ExclusionReason>,
    awaited: BTreeMap<Name, DeferredSecret>,
    sinks: Vec<SinkUse>,
    recipients: Option<Recipients>,
    evaluated: Option<Expression>,
    named: BTreeMap<Name, AttributeSetting>,
    declarations: Declarations,
    policies: Vec<Policy>,
    problems: DiagnosticCollector,
    withheld: VariableFileRedactor,
}

impl ResolvedConfig {
    /// Returns the diagnostics with confidential text redacted.
    fn diagnostics(
        problems: DiagnosticCollector,
        withheld: &VariableFileRedactor,
        sources: &Sources,
    ) -> Vec<Diagnostic> {
        let mut found = problems.into_diagnostics();
        withheld.redact(&mut found, sources);
        found
    }
}

/// Resolves a stack. On success the diagnostics are warnings only.
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
        Ok(mut files) => resolve_stack(registry, &mut sources, &mut files, request, read),
        Err(diagnostics) => return Err(Box::new(LoadFailure { sources, diagnostics })),
    };
    if outcome.problems.any_error() {
        let found = ResolvedConfig::diagnostics(outcome.problems, &outcome.withheld, &sources);
        let diagnostics = apply_suggestions(&registry, &sources, found);
        return Err(Box::new(LoadFailure { sources, diagnostics }));
    }
    let (stack, warnings) = build_stack(outcome, sources);
    let warnings = apply_suggestions(&registry, &stack.sources, warnings);
    if warnings.iter().any(|found| found.severity == Severity::Error) {
        return Err(Box::new(LoadFailure { sources: stack.sources, diagnostics: warnings }));
    }
    Ok((stack, warnings))
}

/// Diagnostics of a stack in one environment, with the other environments to check.
#[derive(Debug)]
pub struct CheckedConfig {
    /// Diagnostics of this environment, including warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Source files, to resolve the spans of the diagnostics.
    pub sources: Sources,
    /// The checked environment; if several are possible and none was requested, the first.
    pub environment: Name,
    /// The others, unless one was asked for.
    pub others: Vec<Name>,
    /// Environments that certainly have the same diagnostics as another one, paired with that one.
    pub alike: Vec<(Name, Name)>,
    /// The stack, to evaluate its policies; `None` if it has no policies, or has errors.
    pub stack: Option<Box<Stack>>,
}

/// Returns all diagnostics of a stack in one environment: an editor calls it at every keystroke. The stack
/// is built only if it has policies. Parsed files stay in the cache `trees`.
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
    let outcome = resolve_stack(registry, &mut sources, &mut files, request, read);
    let found = if outcome.policies.is_empty() || outcome.problems.any_error() {
        ResolvedConfig::diagnostics(outcome.problems, &outcome.withheld, &sources)
    } else {
        let (stack, found) = build_stack(outcome, sources.clone());
        checked.stack = Some(Box::new(stack));
        found
    };
    checked.diagnostics = apply_suggestions(&registry, &sources, found);
    checked.sources = sources;
    checked
}

/// Replaces values by those of the environment's `set`.
fn apply_overrides(
    registry: &Registry,
    files: &mut ParsedConfig,
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

fn resolve_stack(
    registry: Registry,
    sources: &mut Sources,
    files: &mut ParsedConfig,
    request: &LoadRequest,
    read: FilesRef<'_>,
) -> ResolvedConfig {
    if let Some(text) = &request.expression {
        let id = sources.add(Source::new("expression", text.as_str()));
        files.expression = Some(Span { source: id, start: 0, end: u32::try_from(text.len()).unwrap_or(0) });
    }
    let problems = DiagnosticCollector::default();
    let replaced = apply_overrides(&registry, files, &problems);
    let outcome = run_phases(registry, sources, files, request, read, (problems, replaced));
    if !outcome.problems.any_error() {
        for unit in &files.units {
            for problem in unused::find_unused(&registry, unit) {
                outcome.problems.push(problem);
            }
        }
    }
    outcome.problems.correct_once(&files.units);
    sources.hide(&redact_sources::secret_spans(&files.units, &files.calls));
    for (_, document) in &files.vars {
        sources.blank_source(document.source);
    }
    outcome
}

fn build_stack(outcome: ResolvedConfig, sources: Sources) -> (Stack, Vec<Diagnostic>) {
    let parts = digest::StackDigestInput {
        name: &outcome.name,
        environment: &outcome.environment,
        outputs: &outcome.outputs,
        policies: &outcome.policies,
        awaited: &outcome.awaited,
    };
    let digest = digest::stack_digest(&parts, outcome.resources.iter()).unwrap_or_else(|error| {
        let problem = Diagnostic::error(codes::DIGEST, "the configuration has no digest");
        outcome.problems.push(problem.detail(error.to_string()));
        String::new()
    });
    let found = ResolvedConfig::diagnostics(outcome.problems, &outcome.withheld, &sources);
    let resources = outcome.resources.into_iter();
    let stack = Stack {
        name: outcome.name,
        environment: outcome.environment,
        environments: outcome.environments,
        resources: resources.map(|resource| (resource.address.clone(), resource)).collect(),
        outputs: outcome.outputs,
        project: outcome.project,
        declarations: outcome.declarations,
        policies: outcome.policies,
        backend_required: outcome.backend_required,
        digest,
        data: outcome.data,
        stacks: outcome.stacks,
        modules: outcome.modules,
        left_out: outcome.left_out,
        awaited: outcome.awaited,
        sinks: outcome.sinks,
        recipients: outcome.recipients,
        reads: String::new(),
        evaluated: outcome.evaluated,
        named: outcome.named,
        sources,
    };
    (stack, found)
}

/// Returns the sinks of a stack's secrets, checked.
fn check_sinks(
    resolver: &Evaluator<'_>,
    resources: &[Resource],
    awaited: &BTreeMap<Name, DeferredSecret>,
) -> Vec<SinkUse> {
    let sinks = secret_sinks::sink_uses(resources, awaited, &resolver.sink_spans.take());
    check_secret_boundaries(resolver, resources, &sinks);
    if !resolver.keeps_secrets {
        deferred_secrets::check_readable(awaited.iter(), resources, &resolver.problems);
    }
    for problem in secret_sinks::check(&sinks, resolver.sources) {
        resolver.problems.push(problem);
    }
    sinks
}

/// Runs the phases in order, each on the result of the one before.
fn run_phases(
    registry: Registry,
    sources: &Sources,
    files: &ParsedConfig,
    request: &LoadRequest,
    read: FilesRef<'_>,
    (problems, replaced): (DiagnosticCollector, AppliedOverrides),
) -> ResolvedConfig {
    let (own, others) = files.units.split_first().map_or((&[][..], &[][..]), |(own, others)| (own, others));
    let merged: MergedDocuments<'_> = merge_documents(&registry, own, &problems);
    // Module calls hold unit numbers, in which the stack itself is 0: a
    // placeholder keeps the indices aligned.
    let mut modules = vec![MergedDocuments::default()];
    modules.extend(others.iter().map(|documents| merge_module(&registry, documents, &problems)));
    let header = resolve_header(&merged, &problems);
    let chosen = choose_environment(&merged.environments, files.environment.as_ref(), &problems);
    let mut resolver =
        Evaluator::new(registry, sources, read, problems, (&files.calls, &files.budget), resolve_untyped);
    (resolver.modules, resolver.places, resolver.replaced) = (&modules, &files.places, replaced.spans);
    (resolver.overrides, resolver.scope.spoken) = (Overrides::new(&replaced.later), vec![Name::default()]);
    resolver.stack.clone_from(&header.name);
    resolver.env.clone_from(&chosen.environment.name);
    (resolver.at_hand, resolver.pretend) = (request.at_hand.clone(), request.pretend);
    resolver.secrets = request.secrets;
    let others = header::other_environment_vars(&merged.environments, &chosen.environment.name);
    resolver.var_files = files.vars.iter().map(|(_, document)| document.source).collect();
    let givers = VariableSources { request, var_files: &files.vars, environment: chosen.vars, others };
    resolve_variables(&mut resolver, &merged.vars, &givers);
    // Resolved first, because the recipients decide whether a secret needs a sink.
    resolver.recipients = resolve_recipients(&resolver, merged.secrets);
    resolver.keeps_secrets = merged.secrets.is_some();
    declare_stacks(&mut resolver, &merged.stacks);
    resolve_unit(&mut resolver, &merged);
    unused_overrides(&resolver);
    let mut resources = std::mem::take(&mut resolver.made);
    resources.sort_by(|a, b| a.address.cmp(&b.address));
    let outputs = resolve_outputs(&resolver, &merged.outputs);
    let evaluated = evaluate_requested(&resolver, request, files.expression);
    let named = resolver.values_by_name(&merged);
    let project = find_project(&resolver, &resources);
    let declarations = read_declarations(&resolver, &merged, &resources);
    let policies = read_policies(&resolver, &merged.policies);
    for circle in dependency_cycles::dependency_cycles(&resources) {
        resolver.problems.push(circle);
    }
    let awaited = resolver.awaited.take();
    let sinks = check_sinks(&resolver, &resources, &awaited);
    service_rules::check(&resources, request.pinned.as_ref(), &resolver.problems);
    let data = std::mem::take(&mut resolver.externals.data);
    ResolvedConfig {
        name: header.name,
        environment: chosen.environment,
        environments: merged.environments.keys().cloned().collect(),
        backend_required: header.backend_required,
        resources,
        project,
        outputs,
        data,
        stacks: resolver.externals.into_stacks(),
        modules: resolver.problems.call_spans(),
        left_out: resolver.index.left_out(),
        awaited,
        sinks,
        recipients: resolver.recipients,
        evaluated,
        named,
        declarations,
        policies,
        withheld: VariableFileRedactor::new(&files.vars, &redact_sources::secret_names(own)),
        problems: resolver.problems,
    }
}

/// Resolves the requested expression: `$path`, `${…}`, or bare CEL.
fn evaluate_requested(
    resolver: &Evaluator<'_>,
    request: &LoadRequest,
    span: Option<Span>,
) -> Option<Expression> {
    let (text, span) = (request.expression.as_ref()?, span?);
    let text = if text.contains('$') { Name::new(text) } else { Name::new(format!("${{{text}}}")) };
    resolve_text(resolver, &text, span, EvaluationSite::top_level(None)).map(|resolved| resolved.expression)
}

fn resolve_outputs<'d>(resolver: &Evaluator<'d>, entries: &NamedEntries<'d>) -> BTreeMap<Name, Output> {
    let output = |(name, entry): (&Name, &&'d DocumentEntry)| {
        let resolved = resolve_untyped(resolver, &entry.value, EvaluationSite::top_level(None))?;
        Some((name.clone(), Output { expression: resolved.expression, span: entry.value.span }))
    };
    entries.iter().filter_map(output).collect()
}

/// Parses all files: the stack's, those that it includes and uses, and the variable files.
fn parse_files(
    registry: Registry,
    sources: &mut Sources,
    request: &LoadRequest,
    read: FilesRef<'_>,
    trees: Option<&ParseCache>,
) -> Result<ParsedConfig, Vec<Diagnostic>> {
    let (mut gathered, mut problems) = match gather_units(registry, sources, read, trees) {
        Ok(gathered) => (gathered, Vec::new()),
        Err(problems) => (SourceUnits::default(), problems),
    };
    let first_of_vars = sources.next();
    let mut vars = Vec::new();
    for (path, text) in request.var_files.iter().rev() {
        let source = Source::new(path.clone(), text.as_str());
        let id = sources.add(source.clone());
        match parse_document(&registry, id, &source, None) {
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
    Ok(ParsedConfig { units, places, calls, vars, expression: None, environment, budget })
}

/// Returns the header of a stack without resolving it: its name, environments and default environment. In:
/// the stack's own files; included files are read. `None` if the files are not a stack.
#[must_use]
pub fn read_header(registry: Registry, sources: &Sources, read: FilesRef<'_>) -> Option<StackHeader> {
    let documents = read_own_files(registry, &mut sources.clone(), read).ok()?;
    let quiet = DiagnosticCollector::default();
    let merged = merge_documents(&registry, &documents, &quiet);
    let header = resolve_header(&merged, &quiet);
    let chosen = choose_environment(&merged.environments, None, &quiet);
    (!header.name.is_empty()).then(|| StackHeader {
        name: header.name,
        backend_required: header.backend_required,
        environments: merged.environments.keys().cloned().collect(),
        confirmed: header::environments_confirmed_by_name(&merged.environments),
        default: chosen.environment.name,
    })
}

/// Header of a stack, read without resolving it.
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
    /// The environment that is chosen when none is asked for; empty when there are several.
    pub default: Name,
}

#[cfg(test)]
mod tests;
