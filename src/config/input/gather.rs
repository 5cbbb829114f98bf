//! Gathering of all source files of a stack: its own files, included files and modules. In: the stack's own
//! files. Out: one unit per stack or module, the stack first. Each file and each directory is read once,
//! however often it is named.

use super::include::IncludedFiles;
use super::source_loader::{SourceUnit, SourceUnitLoader, SourceUnits};
use crate::config::codes;
use crate::config::input::config_path::ConfigPath;
use crate::config::input::files::Files;
use crate::config::input::parse_file;
use crate::config::syntax::document::{Document, DocumentEntry, Node, named_entries};
use crate::config::syntax::jobs::{InTurn, JobRunner, map_jobs};
use crate::config::syntax::parse_cache::ParseCache;
use crate::model::diagnostic::Diagnostic;
use crate::model::graph::Graph;
use crate::model::schema::Registry;
use crate::model::source::{Source, SourceId, Sources, Span};

/// How many files are parsed at the same time. What their aliases repeat is counted, and left out beyond the budget, only
/// afterwards.
const MAX_FILES_AT_ONCE: usize = 8;

/// Parses the stack's own files, and reads the files that they include and the modules that they use, transitively.
///
/// # Errors
/// All problems of all files, if there is any.
pub(in crate::config) fn gather_units(
    registry: Registry,
    sources: &mut Sources,
    files: &dyn Files,
    (trees, jobs): (Option<&ParseCache>, &dyn JobRunner),
) -> Result<SourceUnits, Vec<Diagnostic>> {
    let mut gatherer = SourceUnitLoader { trees, jobs, ..SourceUnitLoader::new(registry, sources, files) };
    read_stack(&mut gatherer);
    let mut next = 0;
    while next < gatherer.gathered.units.len() {
        used_by(&mut gatherer, next);
        next += 1;
    }
    report_module_cycles(&mut gatherer);
    if gatherer.problems.is_empty() { Ok(gatherer.gathered) } else { Err(gatherer.problems) }
}

/// Parses the stack's own files and the files that they include, but no modules.
///
/// # Errors
/// All problems of these files, if there is any.
pub(in crate::config) fn read_own_files(
    registry: Registry,
    sources: &mut Sources,
    files: &dyn Files,
) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let mut gatherer = SourceUnitLoader::new(registry, sources, files);
    read_stack(&mut gatherer);
    match gatherer.gathered.units.pop() {
        Some(unit) if gatherer.problems.is_empty() => Ok(unit.documents),
        _ => Err(gatherer.problems),
    }
}

/// Reads the first unit: the stack's own files, which `sources` has already, and those that they include.
fn read_stack(loader: &mut SourceUnitLoader<'_>) {
    let own: Vec<(_, Source)> = loader.sources.iter().map(|(id, source)| (id, source.clone())).collect();
    loader.read = own.len();
    let here = ConfigPath::new(loader.files.path_from_root());
    let mut includes = IncludedFiles::default();
    let mut unit = SourceUnit { place: here.clone(), ..SourceUnit::default() };
    // The cache of an editor parses no file twice, and is for one thread. A few files have parts enough for all workers.
    let (trees, workers) = (loader.trees, loader.jobs.workers().min(MAX_FILES_AT_ONCE));
    let at_once = if trees.is_some() || own.len() < workers { 1 } else { workers };
    for files in own.chunks(at_once) {
        for ((_, source), parsed) in files.iter().zip(parse_files(loader, files)) {
            let name = source.path.rsplit('/').next().unwrap_or_default();
            let place = here.join(name).unwrap_or_default();
            match parsed {
                Ok(document) => {
                    if loader.charge_aliases(source, &document) {
                        includes.add_file(&mut unit, place, document);
                    }
                }
                Err(problems) => loader.problems.extend(problems),
            }
        }
    }
    loader.directories.insert(here, 0);
    complete_unit(loader, unit, includes);
}

/// Parses files, several at the same time.
fn parse_files(
    loader: &SourceUnitLoader<'_>,
    files: &[(SourceId, Source)],
) -> Vec<Result<Document, Vec<Diagnostic>>> {
    let (registry, jobs) = (loader.registry, loader.jobs);
    match files {
        [(id, source)] => vec![parse_file::parse_document(&registry, *id, source, loader.trees, jobs)],
        files => map_jobs(jobs, files, |(id, source)| {
            parse_file::parse_document(&registry, *id, source, None, &InTurn)
        }),
    }
}

fn complete_unit(loader: &mut SourceUnitLoader<'_>, mut unit: SourceUnit, mut includes: IncludedFiles) {
    includes.follow_includes(loader, &mut unit);
    loader.gathered.units.push(unit);
}

/// Reads the modules that a unit uses.
fn used_by(loader: &mut SourceUnitLoader<'_>, unit: usize) {
    let Some(found) = loader.gathered.units.get(unit) else { return };
    let mut sources: Vec<(ConfigPath, Node)> = Vec::new();
    for (document, file) in found.documents.iter().zip(&found.files) {
        let from = file.parent();
        let calls = document.root.iter().filter(|entry| entry.key == "use");
        for call in calls.flat_map(|entry| named_entries(&entry.value).unwrap_or_default()) {
            sources.extend(source_of(call).map(|node| (from.clone(), node.clone())));
        }
    }
    for (from, node) in sources {
        let Some(place) = loader.follow_path(&from, &node) else { continue };
        let known = loader.directories.get(&place).copied();
        let Some(module) = known.or_else(|| read_module(loader, &place, node.span)) else { continue };
        loader.gathered.calls.insert(node.span, module);
        loader.uses.push((unit, module, node.span));
    }
}

/// Reads a directory as a module and returns the index of its unit; `None`, with a problem, if it is not one.
fn read_module(loader: &mut SourceUnitLoader<'_>, place: &ConfigPath, span: Span) -> Option<usize> {
    let wrong = |detail: String| {
        Diagnostic::error(codes::MODULE, "this directory is not a module")
            .with_label(span, "")
            .detail(detail)
            .help(
                "a module is a directory with a `stead.yaml`, `stead.kdl`, `*.stead.yaml` or `*.stead.kdl`",
            )
    };
    let shown = loader.display_path(place);
    let names = match loader.files.stack_files_shared(&place.path()) {
        Ok(names) => names,
        Err(error) => {
            loader.problems.push(wrong(format!("`{shown}` cannot be read: {error}.")));
            return None;
        }
    };
    if names.is_empty() {
        let detail = format!(
            "`{shown}` has no stack file; that of a Git submodule is empty until git submodule update --init."
        );
        loader.problems.push(wrong(detail));
        return None;
    }
    let module = loader.gathered.units.len();
    // Before the module is read: it may use itself, which is reported as a cycle.
    loader.directories.insert(place.clone(), module);
    let mut unit = SourceUnit { place: place.clone(), ..SourceUnit::default() };
    let mut includes = IncludedFiles::default();
    for name in names {
        let Ok(file) = place.join(&name) else { continue };
        if let Some(document) = loader.open_file(&file, span) {
            includes.add_file(&mut unit, file, document);
        }
    }
    complete_unit(loader, unit, includes);
    Some(module)
}

/// Reports modules that use each other in a cycle.
fn report_module_cycles(loader: &mut SourceUnitLoader<'_>) {
    let mut graph = Graph::default();
    let nodes: Vec<_> = (0..loader.gathered.units.len()).map(|n| graph.add(n)).collect();
    for (from, to, _) in &loader.uses {
        graph.add_edge(nodes[*from], nodes[*to]);
    }
    let mut cycles = graph.topological_order().err().unwrap_or_default();
    let alone: Vec<_> = loader.uses.iter().filter(|(from, to, _)| from == to).collect();
    cycles.extend(alone.iter().map(|(from, ..)| vec![nodes[*from]]));
    cycles.sort();
    cycles.dedup();
    for cycle in cycles {
        let members: Vec<usize> = cycle.iter().filter_map(|id| graph.get(*id).copied()).collect();
        let mut problem = Diagnostic::error(codes::MODULE_CYCLE, "modules use each other in a cycle")
            .detail("A module would contain itself without end.")
            .help("move what both need into a separate module");
        let inside =
            loader.uses.iter().filter(|(from, to, _)| members.contains(from) && members.contains(to));
        for (_, to, span) in inside.take(20) {
            let to = loader.gathered.units.get(*to).map(|unit| loader.display_path(&unit.place));
            problem = problem.with_label(*span, format!("uses {}", to.unwrap_or_default()));
        }
        loader.problems.push(problem);
    }
}

/// Returns the `source` of a module call; `None` if it has none, which is reported elsewhere.
pub(in crate::config) fn source_of(call: &DocumentEntry) -> Option<&Node> {
    named_entries(&call.value)?.iter().find(|entry| entry.key == "source").map(|entry| &entry.value)
}
