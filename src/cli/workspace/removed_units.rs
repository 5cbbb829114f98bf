//! Finds the removed units of a repository: ledgers in the places of its other units whose stack or environment is gone.
//! In: the loaded units, and the settings. Out: a unit without resources for each such ledger, and what cannot be known.
//! Only reads ledgers; one of another repository is never returned.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::loaded_unit::WorkspaceUnit;
use crate::cli::files::stack_files;
use crate::cli::ledger::ledger_listing::{self, ListedLedger};
use crate::cli::ledger::open::CommandStore;
use crate::cli::ledger::stack_origin;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::Settings;
use crate::cli::process::settings::unit_settings::{UnitSettings, unit_directory};
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk::{self, LedgerDirectory};
use crate::config::load::StackHeader;
use crate::ledger::journal::error::StoreError;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::open_review::AppliedReview;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::model::diagnostic::nearest_name;
use crate::report::text::phrases;
use crate::workspace::removed::{LedgerOwner, find_owner};
use crate::workspace::selection::UnitPattern;
use crate::workspace::unit::{Unit, UnitName};

/// Number of units that a note names before it counts the rest.
const MAX_NAMED_UNITS: usize = 5;

/// What was loaded of a repository.
pub(super) struct KnownStacks<'a> {
    pub(super) root: &'a Path,
    pub(super) units: &'a [WorkspaceUnit],
    /// Headers of the stacks by directory.
    pub(super) headers: &'a BTreeMap<Name, StackHeader>,
    /// Directories whose stack is not known.
    pub(super) unreadable: BTreeSet<&'a Name>,
}

/// Units whose removal is done, each with the review that removed it last.
pub(super) type EmptiedUnits = BTreeMap<UnitName, Option<AppliedReview>>;

/// The removed units of a repository.
#[derive(Default)]
pub(super) struct RemovedUnits {
    pub(super) units: Vec<WorkspaceUnit>,
    /// Units whose ledger is empty: their removal is done.
    pub(super) emptied: EmptiedUnits,
    /// Why units may be missing, each as a sentence.
    pub(super) notes: Vec<String>,
    /// Whether ledgers were searched.
    pub(super) is_searched: bool,
}

/// A ledger that no unit of the repository has.
struct UnclaimedLedger {
    name: UnitName,
    place: LedgerLocation,
    /// Directory of the stack, if the ledger is in it; `None` on a backend that several repositories can use.
    directory: Option<Name>,
}

/// Ledgers of which it is not known whether their units were removed, by the reason: a backend can have those of many
/// repositories.
type UnknownRemovals = BTreeMap<String, Vec<UnitName>>;

/// Returns the note about ledgers for which the same is not known.
fn unknown_note(why: &str, units: &[UnitName]) -> String {
    let names = phrases::join_words(units.iter().map(ToString::to_string), MAX_NAMED_UNITS);
    let what = if units.len() == 1 { "is a unit that was removed" } else { "are units that were removed" };
    format!("Whether {names} {what} is not known: {why}.")
}

/// Finds the removed units. For an untrusted repository no ledger is read.
///
/// # Errors
/// When `STEAD_ORIGIN` or the profile of a removed unit is invalid.
pub(super) async fn find_removed_units(
    command: &Settings,
    sources: &UnitSettings,
    known: &KnownStacks<'_>,
) -> Result<RemovedUnits, CliFailure> {
    let mut removed = RemovedUnits::default();
    if command.untrusted {
        return Ok(removed);
    }
    removed.is_searched = true;
    let mut listed = local_ledgers(command, known, &mut removed.notes);
    listed.extend(Box::pin(shared_ledgers(known, &mut removed.notes)).await);
    let mut unknown = UnknownRemovals::new();
    let claimed: BTreeSet<&UnitName> = known.units.iter().map(|one| &one.unit.name).collect();
    for found in listed.into_iter().filter(|found| !claimed.contains(&found.name)) {
        let UnitName { stack, environment } = &found.name;
        // Ledgers of other repositories can have other MAC keys. A plan authenticates the ledger before it is used.
        let ledger = match CommandStore::read(&found.place, stack, environment, None).await {
            Ok(Some(ledger)) => ledger,
            Ok(None) | Err(StoreError::Moved { .. }) => continue,
            Err(error) => {
                unknown.entry(CliFailure::from(error).message).or_default().push(found.name);
                continue;
            }
        };
        let Some(directory) = owning_directory(command, known, &found, &ledger, &mut unknown)? else {
            continue;
        };
        if ledger.owns_nothing() {
            removed.emptied.insert(found.name, ledger.applied_review.map(|review| *review));
        } else if let Some(unit) = removed_unit(command, sources, known, (&found, directory, &ledger))? {
            removed.units.push(unit);
        }
    }
    removed.notes.extend(unknown.iter().map(|(why, units)| unknown_note(why, units)));
    Ok(removed)
}

/// Refuses to remove what is no removed unit: a misspelled name must not remove nothing.
///
/// # Errors
/// When a name is that of no removed unit.
pub(super) fn reject_unknown_removals(
    names: &[UnitName],
    units: &[WorkspaceUnit],
    removed: &RemovedUnits,
) -> Result<(), CliFailure> {
    let known: Vec<&UnitName> =
        removed.units.iter().map(|one| &one.unit.name).chain(removed.emptied.keys()).collect();
    let Some(name) = names.iter().find(|name| !known.contains(name)) else { return Ok(()) };
    if let Some(one) = units.iter().find(|one| one.unit.name == *name) {
        return Err(CliFailure::new(
            Exit::Usage,
            format!("--remove {name}: the unit is not removed, its stack is in `{}`", one.unit.directory),
        )
        .help(format!("To delete its objects: stead destroy --all --stacks {name}")));
    }
    let failure = CliFailure::new(Exit::Usage, format!("--remove {name}: no removed unit has this name"));
    let texts: Vec<String> = known.iter().map(ToString::to_string).collect();
    let failure = match nearest_name(&name.to_string(), texts.iter().map(String::as_str)) {
        Some(near) => failure.help(format!("Did you mean `{near}`?")),
        None => failure.help("List the units with: stead stacks"),
    };
    Err(removed.notes.iter().fold(failure, |failure, note| failure.help(note.clone())))
}

/// Returns the failure of a pattern that matches only units that were removed; `None` if it matches none of them.
pub(super) fn removed_selection(
    pattern: &str,
    patterns: &[UnitPattern],
    units: &[Unit],
) -> Option<CliFailure> {
    let given = patterns.iter().find(|given| given.text() == pattern)?;
    let removed = units.iter().filter(|unit| unit.is_removed && given.matches(unit));
    let removed: Vec<String> = removed.map(|unit| unit.name.to_string()).collect();
    if removed.is_empty() {
        return None;
    }
    let what =
        format!("`{pattern}` matches only what was removed from the repository: {}", removed.join(", "));
    let help = format!("To delete its objects: stead apply --all --remove {}", removed.join(" --remove "));
    Some(CliFailure::new(Exit::Usage, what).help(help))
}

/// Returns the directory of this repository that a ledger was applied from; `None` if it is another's, or not known.
fn owning_directory(
    command: &Settings,
    known: &KnownStacks<'_>,
    found: &UnclaimedLedger,
    ledger: &Ledger,
    unknown: &mut UnknownRemovals,
) -> Result<Option<Name>, CliFailure> {
    if let Some(directory) = &found.directory {
        return Ok(Some(directory.clone()));
    }
    let stack = known.headers.iter().find(|(_, header)| header.name == found.name.stack);
    let is_whole = known.unreadable.is_empty() || stack.is_some();
    let here =
        stack.map_or_else(|| known.root.to_owned(), |(directory, _)| known.root.join(directory.as_str()));
    let origin = stack_origin::find_origin(command, &here, &found.name.stack, &ledger.origins)?;
    Ok(match find_owner(&ledger.origins, &origin, is_whole) {
        LedgerOwner::RemovedUnit(directory) => Some(directory),
        LedgerOwner::Other => None,
        LedgerOwner::Unknown(why) => {
            if !ledger.owns_nothing() {
                unknown.entry(why.to_string()).or_default().push(found.name.clone());
            }
            None
        }
    })
}

/// Returns a removed unit; `None` if its settings lead to another ledger, which may be that of a stack elsewhere.
fn removed_unit(
    command: &Settings,
    sources: &UnitSettings,
    known: &KnownStacks<'_>,
    (found, directory, ledger): (&UnclaimedLedger, Name, &Ledger),
) -> Result<Option<WorkspaceUnit>, CliFailure> {
    let unit = Unit {
        name: found.name.clone(),
        directory,
        has_environments: found.name.environment != "default",
        is_removed: true,
        upstream: Vec::new(),
    };
    let mut settings = sources
        .merge_for_unit(command, known.root, &unit, |_| false)
        .map_err(|error| CliFailure::new(Exit::Usage, format!("{}: {error}", unit.name)))?;
    let directory = unit_directory(known.root, &unit);
    settings.dir = if stack_files::path_exists(&directory) { directory } else { known.root.to_owned() };
    // The directory does not exist anymore, or is that of another stack, so the origin is that of the ledger.
    let origin = ledger.origins.iter().find(|one| one.directory == unit.directory);
    settings.origin =
        origin.map(|one| format!("{}//{}", one.repository, one.directory)).or(settings.origin);
    let place = ledger_settings::place_of(&settings, (&unit.name.stack, false), &settings.dir)?;
    if place != found.place {
        return Ok(None);
    }
    let loaded = LoadedStack::without_resources(&settings, &unit.name.stack, &unit.name.environment);
    Ok(Some(WorkspaceUnit { unit, settings, loaded }))
}

/// Lists the ledgers in the directories of stacks, of stacks that are there and of those that are gone.
fn local_ledgers(
    command: &Settings,
    known: &KnownStacks<'_>,
    notes: &mut Vec<String>,
) -> Vec<UnclaimedLedger> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for one in known.units {
        if ledger_settings::is_shared(&one.settings) || !seen.insert(&one.unit.directory) {
            continue;
        }
        let base = ledger_settings::local_directory(&one.settings, &one.settings.dir);
        let listed = ledger_listing::list_environments(&base, &one.unit.name.stack);
        found.extend(unclaimed(listed, Some(&one.unit.directory), notes));
    }
    if !ledger_settings::is_shared(command) {
        found.extend(ledgers_without_stack(command, known, notes));
    }
    found
}

/// Lists the ledgers in directories without a stack: the files are gone, or none of them says `stack:` anymore. Only the ledger
/// names its stack. A stack that git ignores is none of the repository, and was not removed from it: it is named.
fn ledgers_without_stack(
    command: &Settings,
    known: &KnownStacks<'_>,
    notes: &mut Vec<String>,
) -> Vec<UnclaimedLedger> {
    let mut found = Vec::new();
    for LedgerDirectory { path, is_ignored, .. } in repository_walk::directories_with_ledgers(known.root) {
        let directory = repository_walk::relative_name(Path::new(""), &path);
        if known.headers.contains_key(&directory) || known.unreadable.contains(&directory) {
            continue;
        }
        let base = ledger_settings::local_directory(command, &known.root.join(&path));
        let listed = ledger_listing::list_named(&base);
        if is_ignored {
            let is_known = |name: &Name| known.units.iter().any(|one| one.unit.name.stack == *name);
            let listed = listed.unwrap_or_default();
            notes.extend(listed.first().filter(|one| !is_known(&one.stack)).map(|one| {
                format!(
                    "`{directory}` is ignored by git, so its stack `{}` is no part of the repository: its objects are not covered.",
                    one.stack
                )
            }));
            continue;
        }
        found.extend(unclaimed(listed, Some(&directory), notes));
    }
    found
}

/// Lists the ledgers of the backends that units use; adds a note for each that cannot list them.
async fn shared_ledgers(known: &KnownStacks<'_>, notes: &mut Vec<String>) -> Vec<UnclaimedLedger> {
    let mut found = Vec::new();
    let mut backends: BTreeMap<&str, &WorkspaceUnit> = BTreeMap::new();
    for one in known.units.iter().filter(|one| ledger_settings::is_shared(&one.settings)) {
        backends.entry(one.settings.backend.as_deref().unwrap_or_default()).or_insert(one);
    }
    for (text, one) in backends {
        // An invalid location is the failure of each of its units.
        let Ok(place) = LedgerLocation::parse(text) else { continue };
        let UnitName { stack, environment } = &one.unit.name;
        let listed = ledger_listing::list_backend(&place, (stack, environment)).await;
        found.extend(unclaimed(listed, None, notes));
    }
    found
}

/// Returns ledgers that were listed; adds a note if they could not be. `directory` is that of their stack.
fn unclaimed(
    listed: Result<Vec<ListedLedger>, CliFailure>,
    directory: Option<&Name>,
    notes: &mut Vec<String>,
) -> Vec<UnclaimedLedger> {
    let listed = listed.unwrap_or_else(|failure| {
        notes.push(format!("Units that were removed are not known: {}.", failure.message));
        Vec::new()
    });
    let unclaimed = |ListedLedger { place, stack, environment }| UnclaimedLedger {
        name: UnitName { stack, environment },
        place,
        directory: directory.cloned(),
    };
    listed.into_iter().map(unclaimed).collect()
}
