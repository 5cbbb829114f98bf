//! `Workspace`: all units of a repository, loaded. In: the root, found from `-C`, and the selection. Out: the units by
//! wave and name, each with its resolved stack or the reason why it has none. Sends no request.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::edges;
use super::git::changed_stacks::ChangeBase;
use super::git::workspace_changes::{LoadedStacks, WorkspaceChanges};
use super::loaded_unit::{WorkspaceUnit, arrange_units};
use super::removed_units::{self, EmptiedUnits, KnownStacks, RemovedUnits};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::cli::process::settings::unit_settings::{UnitSettings, split_variable};
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk::{self, FoundStack};
use crate::config::load::{DirectoryContents, LoadFailure, StackHeader};
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, Severity, nearest_name};
use crate::report::units::title::UnitsTitle;
use crate::workspace::changes::recorded_reads::RecordedReads;
use crate::workspace::graph::UnitGraph;
use crate::workspace::selection::{
    self, SelectedUnits, SelectionError, SelectionLimits, UnitPattern, UnitSelection,
};
use crate::workspace::unit::{Unit, UnitName};

/// Directory with stack files that cannot be read, with the reason.
pub(in crate::cli) struct UnreadableStack {
    /// Directory relative to the root.
    pub(in crate::cli) directory: Name,
    pub(in crate::cli) failure: CliFailure,
}

/// All units of a repository.
pub(in crate::cli) struct Workspace {
    /// Root of the repository, relative to the working directory where that is shorter.
    pub(in crate::cli) root: PathBuf,
    /// All units, by wave and name; also those that are not selected.
    pub(in crate::cli) units: Vec<WorkspaceUnit>,
    /// Dependencies between the units, which have the same numbers as in `units`.
    pub(in crate::cli) graph: UnitGraph,
    /// The selected units.
    pub(in crate::cli) selected: SelectedUnits,
    /// What limits the selection.
    pub(in crate::cli) limits: SelectionLimits,
    /// What changed since the base; `None` unless the selection asks.
    pub(in crate::cli) changes: Option<WorkspaceChanges>,
    /// Title of the selection, for comments and reports.
    pub(in crate::cli) title: UnitsTitle,
    /// Directories whose stack is not known, so that no unit stands for them; empty if all were read.
    pub(in crate::cli) unreadable: Vec<UnreadableStack>,
    /// Whether a selected stack may be one of them. A selection can be about others.
    pub(in crate::cli) misses_stacks: bool,
    /// Removed units whose objects are to be deleted.
    pub(in crate::cli) removals: BTreeSet<UnitName>,
    /// Removed units whose objects are gone, each with the review that its ledger says was applied to its end.
    pub(in crate::cli) emptied: EmptiedUnits,
    /// Links to directories with stack files, which are not searched, relative to the root.
    pub(in crate::cli) links: Vec<PathBuf>,
    /// What the selection leaves out, or may lack, each as a sentence.
    pub(in crate::cli) notes: Vec<String>,
}

/// The base that a command line names.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct BaseRequest<'a> {
    /// Its name; `None` for the usual one: the target of the request in CI, else the default branch.
    pub(in crate::cli) name: Option<&'a str>,
}

/// What the command line says about the selection of units.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct SelectionRequest<'a> {
    /// Patterns, of which one must match; empty for all units.
    pub(in crate::cli) patterns: &'a [UnitPattern],
    /// The base that selected stacks differ from; `None` if that does not limit the selection.
    pub(in crate::cli) changed: Option<BaseRequest<'a>>,
    /// Whether readers of the selected units are added.
    pub(in crate::cli) with_dependents: bool,
}

/// The removed units that a command covers.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct RemovalRequest<'a> {
    /// Removed units whose objects are to be deleted.
    pub(in crate::cli) names: &'a [UnitName],
    /// Whether removed units are only read, to know which objects they use.
    pub(in crate::cli) reads_only: bool,
}

impl<'a> RemovalRequest<'a> {
    /// Returns the request of a command that plans: `destroy` leaves removed units as they are.
    pub(in crate::cli) fn for_plan(names: &'a [UnitName], destroy: bool) -> Self {
        Self { names, reads_only: destroy }
    }
}

impl<'a> From<&'a UnitArgs> for SelectionRequest<'a> {
    fn from(args: &'a UnitArgs) -> Self {
        Self {
            patterns: &args.patterns,
            with_dependents: args.with_dependents,
            changed: args.changed.as_ref().map(|base| BaseRequest { name: base.as_deref() }),
        }
    }
}

impl Workspace {
    /// Finds and loads all units of the repository that contains the directory of `-C`.
    ///
    /// # Errors
    /// When there is no stack, the selection names something that does not exist, or a `--var` reaches no unit. The
    /// problems of single stacks are in their results.
    pub(in crate::cli) fn open(
        settings: &Settings,
        sources: &UnitSettings,
        request: &SelectionRequest<'_>,
    ) -> Result<Self, CliFailure> {
        let loaded = LoadedRepository::open(settings, sources, request)?;
        loaded.select(settings, request, RemovedUnits::default(), RemovalRequest::default())
    }

    /// Does the same, and finds the removed units: it reads ledgers. One that is not selected may use what a selected unit
    /// deletes.
    ///
    /// # Errors
    /// Those of `open`; and when a unit to remove is none that was removed.
    pub(in crate::cli) async fn open_with_removed(
        settings: &Settings,
        sources: &UnitSettings,
        request: &SelectionRequest<'_>,
        removal: RemovalRequest<'_>,
    ) -> Result<Self, CliFailure> {
        let loaded = LoadedRepository::open(settings, sources, request)?;
        let known = KnownStacks {
            root: &loaded.root,
            units: &loaded.units,
            headers: &loaded.headers,
            unreadable: loaded.unreadable.iter().map(|one| &one.directory).collect(),
        };
        let removed = removed_units::find_removed_units(settings, sources, &known).await?;
        removed_units::reject_unknown_removals(removal.names, &loaded.units, &removed)?;
        loaded.select(settings, request, removed, removal)
    }

    /// Returns the first file of a unit's stack, for findings without a location; empty if the stack has problems.
    pub(in crate::cli) fn first_file(&self, name: &UnitName) -> String {
        let one = self.units.iter().find(|one| one.unit.name == *name);
        let stack = one.and_then(|one| one.loaded.as_ref().ok()).map(|project| &project.stack);
        let first = stack.and_then(|stack| stack.sources.iter().next());
        first.map(|(_, source)| source.path.clone()).unwrap_or_default()
    }

    /// Checks that a unit that a flag names exists.
    ///
    /// # Errors
    /// When it does not.
    pub(in crate::cli) fn require_unit(&self, flag: &str, name: &UnitName) -> Result<(), CliFailure> {
        if self.units.iter().any(|one| one.unit.name == *name) {
            return Ok(());
        }
        let failure = CliFailure::new(Exit::Usage, format!("{flag} {name}: no unit has this name"));
        let names: Vec<String> = self.units.iter().map(|one| one.unit.name.to_string()).collect();
        Err(match nearest_name(&name.to_string(), names.iter().map(String::as_str)) {
            Some(near) => failure.help(format!("Did you mean `{near}`?")),
            None => failure.help("List the units with: stead stacks"),
        })
    }

    /// Returns the name of the root directory, which the confirmation of a destroy repeats.
    pub(in crate::cli) fn root_name(&self) -> String {
        let full = stack_files::real_path(&self.root).unwrap_or_else(|| self.root.clone());
        full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns what was read for the selected units.
    pub(in crate::cli) fn reads(&self) -> impl Iterator<Item = &RecordedReads> {
        self.selected_units().filter_map(|(_, one)| one.loaded.as_ref().ok()?.reads.as_ref())
    }

    /// Returns the selected units with their numbers, each after its upstream units.
    pub(in crate::cli) fn selected_units(&self) -> impl Iterator<Item = (usize, &WorkspaceUnit)> {
        let ordered = self.graph.order.iter().filter(|number| self.selected.units.contains(number));
        ordered.map(|number| (*number, &self.units[*number]))
    }
}

/// The stacks of a repository as they were loaded, before some of them are selected.
struct LoadedRepository {
    root: PathBuf,
    units: Vec<WorkspaceUnit>,
    /// Headers of the stacks by directory.
    headers: BTreeMap<Name, StackHeader>,
    changes: Option<WorkspaceChanges>,
    unreadable: Vec<UnreadableStack>,
    /// Links to directories with stack files.
    links: Vec<PathBuf>,
}

impl LoadedRepository {
    /// Finds and loads all units, and connects them.
    fn open(
        settings: &Settings,
        sources: &UnitSettings,
        request: &SelectionRequest<'_>,
    ) -> Result<Self, CliFailure> {
        let root = repository_walk::repository_root(&settings.dir);
        let (found, links) = repository_walk::find_stacks_and_links(settings, &root);
        if found.is_empty() {
            let failure = CliFailure::new(
                Exit::Failed,
                format!("there is no stack below {}", stack_files::display_path(&root)),
            );
            let notes = links.iter().map(|link| repository_walk::link_note(link));
            return Err(notes.fold(failure.help("Create one with: stead init"), CliFailure::help));
        }
        let base = match request.changed {
            Some(given) => Some(ChangeBase::open(&root, given.name, sources.variables())?),
            None => None,
        };
        let searched =
            found.iter().map(|one| repository_walk::relative_name(&root, &one.directory)).collect();
        let (mut loaded, reads) = Self::load(settings, sources, (root, found), base.as_ref())?;
        reject_unused_variables(sources, &loaded.units, &loaded.headers)?;
        let unreadable = loaded.unreadable.iter().map(|one| one.directory.clone()).collect();
        let problems = edges::connect_units(&mut loaded.units, &loaded.headers, &unreadable);
        for (number, problems) in problems {
            add_problems(&mut loaded.units[number], problems);
        }
        let stacks = LoadedStacks {
            root: &loaded.root,
            units: &loaded.units,
            reads: &reads,
            searched: &searched,
            unreadable: &unreadable,
        };
        loaded.changes = base.map(|base| WorkspaceChanges::compare(&base, &stacks)).transpose()?;
        loaded.links = links;
        Ok(loaded)
    }

    /// Loads each stack in each of its environments. With a base, what is read is recorded: it is returned by directory.
    fn load(
        settings: &Settings,
        sources: &UnitSettings,
        (root, found): (PathBuf, Vec<FoundStack>),
        base: Option<&ChangeBase>,
    ) -> Result<(Self, Vec<(PathBuf, RecordedReads)>), CliFailure> {
        let (mut units, mut headers) = (Vec::new(), BTreeMap::new());
        let (mut reads, mut unreadable) = (Vec::new(), Vec::new());
        for FoundStack { directory, contents, failure } in found {
            let relative = repository_walk::relative_name(&root, &directory);
            match contents {
                DirectoryContents::NoStack => {}
                DirectoryContents::Stack(header) => {
                    let mut all: Option<RecordedReads> = None;
                    let mut load = |settings: &Settings| {
                        let Some(base) = base else { return LoadedStack::open(settings) };
                        let (stack, read) = base.load_stack(settings);
                        match &mut all {
                            Some(all) => all.extend(read),
                            None => all = Some(read),
                        }
                        stack
                    };
                    let place = (&*root, &relative, &*header);
                    units.extend(load_units(settings, sources, place, &mut load)?);
                    reads.extend(all.map(|all| (PathBuf::from(relative.as_str()), all)));
                    headers.insert(relative, *header);
                }
                DirectoryContents::Invalid => {
                    let settings = Settings { dir: directory, env: None, ..settings.clone() };
                    let failure =
                        failure.or_else(|| LoadedStack::open(&settings).err()).unwrap_or_else(|| {
                            CliFailure::new(Exit::Failed, format!("the stack in {relative} cannot be read"))
                        });
                    unreadable.push(UnreadableStack { directory: relative, failure });
                }
            }
        }
        Ok((Self { root, units, headers, changes: None, unreadable, links: Vec::new() }, reads))
    }

    /// Adds the removed units, and selects.
    fn select(
        self,
        settings: &Settings,
        request: &SelectionRequest<'_>,
        removed: RemovedUnits,
        removal: RemovalRequest<'_>,
    ) -> Result<Workspace, CliFailure> {
        let mut notes: Vec<String> =
            self.links.iter().map(|link| repository_walk::link_note(link)).collect();
        notes.extend(removed.notes);
        if removal.reads_only {
            notes.extend(removed.units.iter().map(|one| {
                let name = &one.unit.name;
                format!("{name} was removed from the repository, and keeps its objects. To delete them: stead apply --all --remove {name}")
            }));
        }
        let mut units = self.units;
        edges::connect_removed(&mut units, &removed.units, &self.headers);
        let units = arrange_units(units.into_iter().chain(removed.units).collect());
        let listed: Vec<Unit> = units.iter().map(|one| one.unit.clone()).collect();
        let graph = UnitGraph::new(&listed);
        let gone = listed.iter().filter(|unit| unit.is_removed);
        let changed = self.changes.as_ref().map(|changes| changes.changed_units(gone));
        let selection = UnitSelection {
            environment: settings.env.as_ref(),
            patterns: request.patterns,
            changed: changed.as_ref(),
            with_dependents: request.with_dependents,
            removals: removal.names,
            skips_removed: removal.reads_only,
        };
        let selected = selection::select(&listed, &graph, &selection)
            .map_err(|error| selection_failure(&error, request.patterns, &listed))?;
        let misses_stacks = self.unreadable.iter().any(|one| {
            let earlier = self.changes.as_ref().and_then(|changes| changes.earlier_units(&one.directory));
            selection.may_select_unreadable(&one.directory, earlier)
        });
        if let Some(changes) = &self.changes {
            let is_selected = |unit: &Unit| selection.includes_name_of(unit);
            let gone = changes.removal_notes(&listed, removed.is_searched, &is_selected);
            if selected.units.is_empty() && !misses_stacks && gone.is_empty() {
                notes.push(changes.unchanged_note());
            }
            notes.extend(gone);
        }
        let patterns: Vec<&str> = request.patterns.iter().map(UnitPattern::text).collect();
        Ok(Workspace {
            root: self.root,
            title: UnitsTitle::new(settings.env.as_deref(), &patterns),
            units,
            graph,
            selected,
            limits: SelectionLimits {
                environment: settings.env.clone(),
                has_patterns: !request.patterns.is_empty(),
                is_changed: request.changed.is_some(),
            },
            changes: self.changes,
            unreadable: self.unreadable,
            misses_stacks,
            removals: removal.names.iter().cloned().collect(),
            emptied: removed.emptied,
            links: self.links,
            notes,
        })
    }
}

/// Loads a stack in each of its environments; their dependencies are not known yet.
pub(super) fn load_units(
    command: &Settings,
    sources: &UnitSettings,
    (root, directory, header): (&Path, &Name, &StackHeader),
    load: &mut dyn FnMut(&Settings) -> Result<LoadedStack, CliFailure>,
) -> Result<Vec<WorkspaceUnit>, CliFailure> {
    let mut units = Vec::with_capacity(header.environments.len());
    for unit in repository_walk::units_of(header, directory) {
        let declares = |name: &str| header.variables.contains(name);
        let settings = sources
            .merge_for_unit(command, root, &unit, declares)
            .map_err(|error| CliFailure::new(Exit::Usage, format!("{}: {error}", unit.name)))?;
        let loaded = load(&settings);
        units.push(WorkspaceUnit { unit, settings, loaded });
    }
    Ok(units)
}

fn reject_unused_variables(
    sources: &UnitSettings,
    units: &[WorkspaceUnit],
    headers: &BTreeMap<Name, StackHeader>,
) -> Result<(), CliFailure> {
    let declares = |unit: &Unit, name: &str| {
        headers.get(&unit.directory).is_some_and(|header| header.variables.contains(name))
    };
    let unused = sources.unused_variables(&units.iter().map(|one| &one.unit).collect::<Vec<_>>(), declares);
    let Some(first) = unused.first() else { return Ok(()) };
    let (whose, name) = split_variable(first);
    let names: BTreeMap<String, &Unit> =
        units.iter().map(|one| (one.unit.name.to_string(), &one.unit)).collect();
    let unit = whose.and_then(|whose| names.get(whose));
    if let (Some(whose), None) = (whose, unit) {
        let failure = CliFailure::new(Exit::Usage, format!("--var {first}: there is no unit `{whose}`"));
        return Err(match nearest_name(whose, names.keys().map(String::as_str)) {
            Some(near) => failure.help(format!("Did you mean `{near}:{name}`?")),
            None => failure.help("List the units with: stead stacks"),
        });
    }
    let of_unit = |directory: &Name| unit.is_none_or(|unit| unit.directory == *directory);
    let declaring = headers.iter().filter(|(directory, _)| of_unit(directory));
    let known = declaring.flat_map(|(_, header)| &header.variables).map(Name::as_str);
    let who = unit
        .map_or_else(|| "no stack declares".to_owned(), |unit| format!("{} does not declare", unit.name));
    let failure = CliFailure::new(Exit::Usage, format!("--var {first}: {who} it"));
    Err(match nearest_name(name, known) {
        Some(near) => failure.help(format!("Did you mean `{near}`?")),
        None => failure.help("Write --var NAME=VALUE for all stacks that declare it, or --var STACK/ENVIRONMENT:NAME=VALUE for one."),
    })
}

/// Adds problems that loading a unit alone does not show to its result: an error among them makes it a failure.
pub(in crate::cli) fn add_problems(unit: &mut WorkspaceUnit, problems: Vec<Diagnostic>) {
    match &mut unit.loaded {
        Ok(project) if problems.iter().any(|problem| problem.severity == Severity::Error) => {
            let diagnostics = project.warnings.drain(..).chain(problems).collect();
            let sources = std::mem::take(&mut project.stack.sources);
            unit.loaded = Err(Box::new(LoadFailure::new(sources, diagnostics)).into());
        }
        Ok(project) => project.warnings.extend(problems),
        // The unit's own problems come first: those between units can follow from them.
        Err(_) => {}
    }
}

fn selection_failure(error: &SelectionError, patterns: &[UnitPattern], units: &[Unit]) -> CliFailure {
    let failure = CliFailure::new(Exit::Usage, error.to_string());
    match error {
        SelectionError::NoMatch { pattern } => {
            if let Some(failure) = removed_units::removed_selection(pattern, patterns, units) {
                return failure;
            }
            let names: BTreeSet<String> = units
                .iter()
                .filter(|unit| !unit.is_removed)
                .flat_map(|unit| {
                    [unit.name.to_string(), unit.name.stack.to_string(), format!("./{}", unit.directory)]
                })
                .collect();
            match nearest_name(pattern, names.iter().map(String::as_str)) {
                Some(near) => failure.help(format!("Did you mean `{near}`?")),
                None => failure.help("List the units with: stead stacks"),
            }
        }
        SelectionError::NoEnvironment { environment } => {
            let names: BTreeSet<&str> = units
                .iter()
                .filter(|unit| unit.has_environments)
                .map(|unit| unit.name.environment.as_str())
                .collect();
            match nearest_name(environment, names.iter().copied()) {
                Some(near) => failure.help(format!("Did you mean `{near}`?")),
                None if names.is_empty() => failure.help("No stack declares environments: leave -e out."),
                None => {
                    let names: Vec<&str> = names.into_iter().collect();
                    failure.help(format!("The environments are: {}", names.join(", ")))
                }
            }
        }
    }
}
