//! Connects the units of a repository: which unit reads the outputs of which, and what is wrong between them. In: loaded
//! units without edges. Out: units with their upstream units, and diagnostics by unit: one name in two directories, a
//! cycle, a directory without a stack, an environment or an output that does not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::loaded_unit::{WorkspaceUnit, loaded_stack};
use crate::config::check::remote_outputs::{check_remote_outputs, find_misfit};
use crate::config::codes;
use crate::config::load::StackHeader;
use crate::config::stack::model::{OtherStack, Stack};
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::source::SourceLocation;
use crate::workspace::graph::UnitGraph;
use crate::workspace::unit::{Unit, UnitName, UpstreamUnit};

/// Diagnostics by the number of the unit.
type UnitProblems = BTreeMap<usize, Vec<Diagnostic>>;

/// Sets the upstream units of all units, and returns the problems between them. `headers` has the stacks by directory,
/// and `unreadable` the directories whose stack files cannot be read.
pub(super) fn connect_units(
    units: &mut [WorkspaceUnit],
    headers: &BTreeMap<Name, StackHeader>,
    unreadable: &BTreeSet<Name>,
) -> UnitProblems {
    let mut problems = UnitProblems::new();
    for (number, one) in units.iter_mut().enumerate() {
        let (upstream, found) = upstream_units(one, headers, unreadable);
        one.unit.upstream = upstream;
        problems.entry(number).or_default().extend(found);
    }
    add_repeated_names(units, &mut problems);
    let listed: Vec<Unit> = units.iter().map(|one| one.unit.clone()).collect();
    let graph = UnitGraph::new(&listed);
    for cycle in &graph.cycles {
        add_cycle(units, cycle, &mut problems);
    }
    let numbers: BTreeMap<&UnitName, usize> =
        listed.iter().enumerate().map(|(number, unit)| (&unit.name, number)).collect();
    let mut misfits: Vec<(usize, Name, String)> = Vec::new();
    for (number, one) in units.iter().enumerate() {
        let Some(stack) = loaded_stack(one) else { continue };
        let read = one.unit.upstream.iter().filter_map(|edge| {
            let other = numbers.get(&edge.unit)?;
            Some((edge.alias.clone(), loaded_stack(&units[*other])?))
        });
        let read: BTreeMap<Name, &Stack> = read.collect();
        let found = check_remote_outputs(REGISTRY, stack, &read);
        if !found.is_empty() {
            let misfit = |(alias, declared): (Name, &Stack)| {
                let why = find_misfit(REGISTRY, stack, (&alias, declared))?;
                Some((number, alias, why))
            };
            misfits.extend(read.into_iter().filter_map(misfit));
        }
        problems.entry(number).or_default().extend(found);
    }
    for (number, alias, why) in misfits {
        let mut edges = units[number].unit.upstream.iter_mut();
        if let Some(edge) = edges.find(|edge| edge.alias == alias) {
            edge.misfit = Some(why);
        }
    }
    problems.retain(|_, found| !found.is_empty());
    problems
}

/// Returns the upstream units of a unit, and the problems of its `stacks` entries. A unit that cannot be loaded has those that
/// its header names: what has errors still reads what it read.
pub(super) fn upstream_units(
    one: &WorkspaceUnit,
    headers: &BTreeMap<Name, StackHeader>,
    unreadable: &BTreeSet<Name>,
) -> (Vec<UpstreamUnit>, Vec<Diagnostic>) {
    let (mut upstream, mut problems) = (Vec::new(), Vec::new());
    let Some(stack) = loaded_stack(one) else {
        let header = headers.get(&one.unit.directory);
        return (header.map_or(upstream, |header| named_units(&one.unit, header, headers)), problems);
    };
    for (alias, other) in &stack.stacks {
        let Some(header) = headers.get(directory_name(&other.directory)) else {
            problems.push(missing_stack(other, unreadable.contains(&other.directory)));
            continue;
        };
        match upstream_environment(&one.unit, other.environment.as_ref(), header) {
            Some(environment) => upstream.push(UpstreamUnit {
                alias: alias.clone(),
                unit: UnitName { stack: header.name.clone(), environment },
                reads: Some(other.reads.keys().cloned().collect()),
                source: location(&one.unit, stack, other),
                misfit: None,
            }),
            None => problems.push(environment_problem(&one.unit, other, header)),
        }
    }
    (upstream, problems)
}

/// Returns the problem of an entry whose stack is not known.
fn missing_stack(other: &OtherStack, is_unreadable: bool) -> Diagnostic {
    if is_unreadable {
        return remote_problem(other, "another stack cannot be read")
            .detail(format!("The stack files in `{}` have errors.", other.shown))
            .help("correct them first: `stead validate --all` names them");
    }
    remote_problem(other, "there is no stack in this directory")
        .detail(format!("`{}` is no directory of a stack in this repository.", other.shown))
        .help("name the directory of a stack, relative to this one")
}

/// Returns the upstream units that the header of a unit's stack names; which outputs are read is not known.
fn named_units(unit: &Unit, own: &StackHeader, headers: &BTreeMap<Name, StackHeader>) -> Vec<UpstreamUnit> {
    let named = own.stacks.iter().filter_map(|(alias, other)| {
        let header = headers.get(directory_name(&other.directory))?;
        let environment = upstream_environment(unit, other.environment.as_ref(), header)?;
        let above = UnitName { stack: header.name.clone(), environment };
        let source = other.source.clone();
        Some(UpstreamUnit { alias: alias.clone(), unit: above, reads: None, source, misfit: None })
    });
    named.collect()
}

/// Adds the removed units whose outputs the files of a unit still name, as upstream units: they must not lose their objects
/// while the unit uses them.
pub(super) fn connect_removed(
    units: &mut [WorkspaceUnit],
    removed: &[WorkspaceUnit],
    headers: &BTreeMap<Name, StackHeader>,
) {
    for one in units {
        let Some(own) = headers.get(&one.unit.directory) else { continue };
        let unit = &one.unit;
        let named = own.stacks.iter().flat_map(|(alias, other)| {
            let gone = removed.iter().map(|gone| &gone.unit);
            gone.filter(|gone| may_mean(unit, other.environment.as_ref(), gone))
                .filter(|gone| gone.directory == *directory_name(&other.directory))
                .map(|gone| UpstreamUnit {
                    alias: alias.clone(),
                    unit: gone.name.clone(),
                    reads: None,
                    source: other.source.clone(),
                    misfit: None,
                })
        });
        let named: Vec<UpstreamUnit> = named.collect();
        one.unit.upstream.extend(named);
    }
}

/// Returns whether a unit that names another stack, and perhaps an environment of it, may mean this removed unit.
fn may_mean(unit: &Unit, wanted: Option<&Name>, gone: &Unit) -> bool {
    let environment = &gone.name.environment;
    match wanted {
        Some(wanted) => wanted == environment,
        None => *environment == unit.name.environment || !(gone.has_environments && unit.has_environments),
    }
}

/// Returns the name of a directory in the tables of stacks; the root of the repository is written empty in a configuration.
fn directory_name(written: &Name) -> &Name {
    const ROOT: &Name = &Name::new_static(".");
    if written.is_empty() { ROOT } else { written }
}

/// Returns the environment whose outputs are read: the configured one, else the one of the same name, else, for a stack without
/// environments, the only one. `None` if the stack has no such environment.
fn upstream_environment(unit: &Unit, wanted: Option<&Name>, header: &StackHeader) -> Option<Name> {
    let own = &unit.name.environment;
    let default = || Name::new_static("default");
    match wanted {
        Some(wanted) if header.environments.contains(wanted) => Some(wanted.clone()),
        None if header.environments.is_empty() => Some(default()),
        Some(wanted) if header.environments.is_empty() && *wanted == default() => Some(default()),
        None if header.environments.contains(own) => Some(own.clone()),
        None if header.environments.len() == 1 && !unit.has_environments => Some(header.default.clone()),
        _ => None,
    }
}

/// Returns the problem of an entry whose stack has no such environment.
fn environment_problem(unit: &Unit, other: &OtherStack, header: &StackHeader) -> Diagnostic {
    let wanted = other.environment.as_ref().unwrap_or(&unit.name.environment);
    let known: Vec<&str> = header.environments.iter().map(Name::as_str).collect();
    let problem = remote_problem(other, "another stack has no such environment").detail(format!(
        "The stack in `{}` has no environment `{wanted}`, which {} reads.",
        other.shown, unit.name
    ));
    match nearest_name(wanted, known.iter().copied()) {
        _ if known.is_empty() => problem.help("that stack declares no environments: leave `env` out"),
        Some(near) => problem.help(format!("did you mean `env: {near}`?")),
        None => problem.help(format!(
            "name one: `{{ source: {}, env: … }}`; it has {}",
            other.shown,
            known.join(", ")
        )),
    }
}

fn remote_problem(other: &OtherStack, summary: &'static str) -> Diagnostic {
    Diagnostic::error(codes::REMOTE_STACK, summary).with_label(other.span, "")
}

fn location(unit: &Unit, stack: &Stack, other: &OtherStack) -> SourceLocation {
    let unknown = || SourceLocation { file: unit.directory.clone(), line: 1, column: 1 };
    stack.sources.location_of(other.span).unwrap_or_else(unknown)
}

/// Reports stacks of one name in several directories: both would own one ledger, and each would plan to delete the
/// objects of the other.
fn add_repeated_names(units: &[WorkspaceUnit], problems: &mut UnitProblems) {
    let mut directories: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
    for one in units {
        let all = directories.entry(&one.unit.name.stack).or_default();
        if !all.contains(&&one.unit.directory) {
            all.push(&one.unit.directory);
        }
    }
    for (number, one) in units.iter().enumerate() {
        let all = &directories[&one.unit.name.stack];
        if all.len() < 2 {
            continue;
        }
        let others: Vec<String> = all
            .iter()
            .filter(|directory| ***directory != one.unit.directory)
            .map(|directory| format!("`{directory}`"))
            .collect();
        let problem =
            Diagnostic::error(codes::STACK_NAME_TWICE, "two directories declare the same stack")
                .detail(format!(
                    "The stack `{}` of `{}` is also declared in {}. Both would own one ledger, and each would delete the objects of the other.",
                    one.unit.name.stack,
                    one.unit.directory,
                    others.join(" and ")
                ))
                .help("give one of them another name; a stack that was renamed on purpose keeps its objects if its ledger is moved first");
        problems.entry(number).or_default().push(problem);
    }
}

/// Reports a cycle to each of its members, with the file and line of each edge.
fn add_cycle(units: &[WorkspaceUnit], cycle: &[usize], problems: &mut UnitProblems) {
    // Each unit of the chain comes before its reader, so the last one is read by the first.
    let edge = |position: usize| {
        let (above, reader) = (cycle[position], cycle[(position + 1) % cycle.len()]);
        let (above, reader) = (&units[above].unit, &units[reader].unit);
        let edge = reader.upstream.iter().find(|edge| edge.unit == above.name)?;
        Some(format!("{} reads {} ({}:{})", reader.name, above.name, edge.source.file, edge.source.line))
    };
    let edges: Vec<String> = (0..cycle.len()).filter_map(edge).collect();
    for number in cycle {
        let Some(stack) = loaded_stack(&units[*number]) else { continue };
        let members: Vec<&UnitName> = cycle.iter().map(|number| &units[*number].unit.name).collect();
        let own = units[*number].unit.upstream.iter().find(|edge| members.contains(&&edge.unit));
        let problem = Diagnostic::error(codes::STACK_CYCLE, "stacks read each other's outputs in a cycle");
        let span = own.and_then(|edge| stack.stacks.get(&edge.alias)).map(|other| other.span);
        let problem = span.into_iter().fold(problem, |problem, span| problem.with_label(span, ""));
        problems.entry(*number).or_default().push(
            problem
                .detail(format!("{}.", edges.join(", ")))
                .help("move what both need into a stack that reads neither"),
        );
    }
}
