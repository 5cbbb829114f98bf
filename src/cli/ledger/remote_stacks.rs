//! Resolves values that a stack reads without managing them: looked-up objects, and remote stack outputs from other
//! ledgers. Another stack is located relative to the repository; its ledger is only read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use super::open::CommandStore;
use crate::cli::files::stack_files::{self, Trust};
use crate::cli::ledger::open;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::printed_commands;
use crate::cli::stack::project::{self, LoadedStack};
use crate::cli::stack::repository_walk;
use crate::config::load::{self, LoadFailure, StackHeader};
use crate::config::resolve::late_binding::{self, LateBindingInputs};
use crate::config::stack::model::{OtherStack, Stack};
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::live::snapshot::Snapshot;
use crate::model::values::value::Attributes;
use crate::workspace::unit::UnitName;

/// Reads the ledgers of the other stacks, by the names under `stacks`. A stack that was never applied is absent. An
/// untrusted stack may not read any.
///
/// # Errors
/// When another stack or its ledger cannot be read.
pub(in crate::cli) async fn read_all_ledgers(
    project: &LoadedStack,
) -> Result<BTreeMap<Name, Ledger>, CliFailure> {
    let mut ledgers = BTreeMap::new();
    for (name, other) in &project.stack.stacks {
        if project.settings.untrusted {
            return Err(CliFailure::new(
                Exit::Failed,
                format!("stacks.{name}: with --untrusted, stead does not read another stack's ledger"),
            )
            .help("An untrusted stack could name any of them, and show what it returned."));
        }
        if let Some(ledger) = read_remote_ledger(project, name, other).await? {
            ledgers.insert(name.clone(), ledger);
        }
    }
    Ok(ledgers)
}

/// Returns the stack with lookups and remote stack outputs replaced by their values; the same stack if it has none.
///
/// # Errors
/// When a value does not exist, or does not fit.
pub(in crate::cli) fn bind_read_values<'p>(
    project: &'p LoadedStack,
    ledger: &Ledger,
    snapshot: &Snapshot,
    outputs: &BTreeMap<Name, Attributes>,
) -> Result<Cow<'p, Stack>, CliFailure> {
    let stack = &project.stack;
    if stack.data.is_empty() && stack.stacks.is_empty() {
        return Ok(Cow::Borrowed(stack));
    }
    let owned = ledger.entries.iter().flat_map(|(address, entry)| {
        let objects = entry.current.iter().chain(&entry.deposed);
        objects.map(|owned| (owned.key(&entry.kind), address.clone()))
    });
    let is_missing = |(alias, other): &(&Name, &OtherStack)| {
        let given = outputs.get(*alias);
        other.reads.keys().any(|name| given.is_none_or(|given| !given.contains_key(name)))
    };
    let missing = stack.stacks.iter().filter(is_missing);
    let apply_commands =
        missing.map(|(alias, other)| (alias.clone(), apply_command(project, alias, other))).collect();
    let read =
        LateBindingInputs { snapshot, owned: owned.collect(), outputs: outputs.clone(), apply_commands };
    late_binding::bind_lookups(stack, &read)
        .map_err(|diagnostics| Box::new(LoadFailure::new(stack.sources.clone(), diagnostics)).into())
}

/// Returns the command that applies another stack, as it is typed where this run was started.
fn apply_command(project: &LoadedStack, name: &Name, other: &OtherStack) -> String {
    let directory = project.other_directory(&other.directory);
    let header = read_remote_header(project, &directory, name, other).ok();
    let environment = header
        .filter(|header| !header.environments.is_empty())
        .and_then(|header| remote_environment(project, name, other, &header).ok());
    let own = ["-C", "-e", "--var", "--var-file", "--project"];
    let shared = printed_commands::flags_except(&project.settings.said, &own);
    let directory = repository_walk::quote_other_directory(project, &other.directory);
    let mut said = vec![format!("-C {directory}")];
    said.extend(environment.map(|environment| format!("-e {environment}")));
    said.extend(shared);
    printed_commands::command_line(&said, "apply")
}

/// Returns the names of the units whose outputs a stack reads, sorted; without those whose files cannot be read.
pub(in crate::cli) fn upstream_names(project: &LoadedStack) -> Vec<Name> {
    let read = project.stack.stacks.iter().filter(|(_, other)| !other.reads.is_empty());
    let names = read.filter_map(|(name, other)| {
        let directory = project.other_directory(&other.directory);
        let header = read_remote_header(project, &directory, name, other).ok()?;
        let environment = remote_environment(project, name, other, &header).ok()?;
        Some(Name::new(UnitName { stack: header.name, environment }.to_string()))
    });
    let mut names: Vec<Name> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Reads the ledger of another stack; `None` if it was never applied.
///
/// # Errors
/// When there is no such stack or environment, or its ledger cannot be read.
pub(in crate::cli) async fn read_remote_ledger(
    project: &LoadedStack,
    name: &Name,
    other: &OtherStack,
) -> Result<Option<Ledger>, CliFailure> {
    let directory = project.other_directory(&other.directory);
    let peek = read_remote_header(project, &directory, name, other)?;
    let environment = remote_environment(project, name, other, &peek)?;
    let whose = (peek.name.as_str(), peek.backend_required);
    let settings = project.settings.of_peer(&stack_files::full_path(&directory), &environment);
    let place = ledger_settings::place_of(settings, whose, &directory)?;
    let key = open::seal_key(settings)?;
    let read = CommandStore::read(&place, &peek.name, &environment, key.as_ref()).await;
    read.map_err(|error| {
        let failure = CliFailure::from(error);
        CliFailure { message: format!("stacks.{name} ({environment}): {}", failure.message), ..failure }
    })
}

fn read_remote_header(
    project: &LoadedStack,
    directory: &Path,
    name: &Name,
    other: &OtherStack,
) -> Result<StackHeader, CliFailure> {
    let found = stack_files::read_stack(directory)
        .map_err(|cause| unreadable_stack_failure(project, other, &cause))?;
    let below = project::confined_files(directory, Trust::Full, project.outside);
    load::read_header(REGISTRY, &found.sources, &below).ok_or_else(|| {
        CliFailure::new(Exit::Failed, format!("stacks.{name}: there is no valid stack in {}", other.shown))
            .help(format!(
                "Check it with: stead -C {} validate",
                repository_walk::quote_other_directory(project, &other.directory)
            ))
    })
}

/// Returns the failure for a directory without a readable stack, with the location in the configuration that names it.
fn unreadable_stack_failure(
    project: &LoadedStack,
    other: &OtherStack,
    cause: &anyhow::Error,
) -> CliFailure {
    let problem = Diagnostic::error("S0321", "there is no stack in this directory")
        .with_label(other.span, "")
        .detail(format!("`{}` cannot be read as a stack: {cause:#}.", other.shown))
        .help("name the directory of a stack, relative to this one");
    Box::new(LoadFailure::new(project.stack.sources.clone(), vec![problem])).into()
}

/// Returns the environment whose outputs are read: the configured one, else the one of the same name, else, for a stack without
/// environments, the only one; the default of a stack without environments.
///
/// # Errors
/// When the configured one does not exist, or none is configured and several differ in name.
fn remote_environment(
    project: &LoadedStack,
    name: &Name,
    other: &OtherStack,
    peek: &StackHeader,
) -> Result<Name, CliFailure> {
    let own = &project.stack.environment.name;
    let known = |wanted: &Name| peek.environments.contains(wanted);
    match &other.environment {
        Some(wanted) if known(wanted) || peek.environments.is_empty() => Ok(wanted.clone()),
        None if known(own) => Ok(own.clone()),
        None if peek.environments.is_empty() => Ok(peek.default.clone()),
        None if peek.environments.len() == 1 && project.stack.environments.is_empty() => {
            Ok(peek.default.clone())
        }
        asked => {
            let wanted = asked.as_ref().unwrap_or(own);
            let all: Vec<&str> = peek.environments.iter().map(Name::as_str).collect();
            Err(CliFailure::new(
                Exit::Failed,
                format!("stacks.{name}: {} has no environment `{wanted}`", other.shown),
            )
            .help(format!(
                "Name one: stacks: {{ {name}: {{ source: {}, env: … }} }}. It has {}.",
                other.shown,
                all.join(", ")
            )))
        }
    }
}
