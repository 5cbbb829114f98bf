//! `stead state adopt-directory`: allows this directory to apply the stack of a ledger on a shared backend. In: the
//! origins in the ledger and this directory's; out: one record in the ledger.

use std::path::{Path, PathBuf};

use clap::Args;

use super::ledger_copy::missing_ledger;
use crate::apply::context::TimingBounds;
use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files::SharedRoot;
use crate::cli::ledger::high_water_mark::HighWaterMarkStore;
use crate::cli::ledger::ledger_io::{self, LedgerOpenOptions};
use crate::cli::ledger::open::{self, CommandStore};
use crate::cli::ledger::stack_origin;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::stack::repository_walk;
use crate::cloud::system_clock::SystemRandom;
use crate::config::load::DirectoryContents;
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::origins::{CurrentOrigin, OriginMatch};
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::report::text::phrases::count_noun;

/// Command-line arguments of `stead state adopt-directory`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state adopt-directory -e prod\n  stead state adopt-directory --all --yes\n\nA ledger on a shared backend records the repository and the directory that it is applied from; plans from another\ndirectory are blocked. A move inside of the repository needs no adoption."
)]
pub struct AdoptDirectoryArgs {
    /// All stacks of the repository, in all environments (or the one of -e), after it was renamed or copied
    #[arg(long)]
    pub all: bool,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// A ledger that was found, and the origin of the directory that is to apply it.
struct OriginCandidate {
    stack: Name,
    environment: Name,
    place: LedgerLocation,
    ledger: Ledger,
    here: CurrentOrigin,
}

/// Adds this directory's origin to its ledger, or the origins of all stacks of the repository to theirs. Returns
/// `Exit::Failed` if the user declines.
///
/// # Errors
/// When the ledger is not on a shared backend, the directory has no origin, or a ledger cannot be read or written.
pub(super) async fn run(session: &CommandContext, args: &AdoptDirectoryArgs) -> Result<Exit, CliFailure> {
    if !ledger_settings::is_shared(&session.settings) {
        return Err(CliFailure::new(
            Exit::Usage,
            "the ledger is in the stack's directory, and not on a shared backend",
        )
        .help("Only ledgers of a shared backend (STEAD_BACKEND) record the directory that they are applied from."));
    }
    if args.all {
        let all = of_repository(session, &session.settings.dir).await?;
        return adopt_units(session, args, all).await;
    }
    let project = &session.open()?;
    let place = &session.ledger_location(project)?;
    let (name, environment) = (&project.stack.name, &project.stack.environment.name);
    let unit = read_unit(session, (name, environment), place.clone(), &project.directory).await?;
    let unit = unit.ok_or_else(|| missing_ledger(place))?;
    if unit.here.origin.is_none() {
        return Err(CliFailure::new(
            Exit::Failed,
            "this directory is in no git repository with a remote `origin`",
        )
        .help(
            "Name it by hand: STEAD_ORIGIN=REPOSITORY//DIRECTORY, here and wherever the stack is applied.",
        ));
    }
    adopt_units(session, args, vec![unit]).await
}

/// Reads the ledger of a stack; `None` if it is missing, or has never owned an object.
async fn read_unit(
    session: &CommandContext,
    (stack, environment): (&Name, &Name),
    place: LedgerLocation,
    directory: &Path,
) -> Result<Option<OriginCandidate>, CliFailure> {
    let key = open::seal_key(&session.settings)?;
    let found = CommandStore::read(&place, stack, environment, key.as_ref()).await?;
    let Some(ledger) = found.filter(|ledger| !ledger.is_blank()) else { return Ok(None) };
    let here = stack_origin::find_origin(&session.settings, directory, stack, &ledger.origins)?;
    Ok(Some(OriginCandidate {
        stack: stack.clone(),
        environment: environment.clone(),
        place,
        ledger,
        here,
    }))
}

/// Returns the ledgers of all stacks of the repository that a rename of the repository left behind; prints a warning
/// for each that is applied from another directory.
async fn of_repository(
    session: &CommandContext,
    directory: &Path,
) -> Result<Vec<OriginCandidate>, CliFailure> {
    let settings = &session.settings;
    let root: PathBuf = SharedRoot::find_root(directory, false).root;
    let mut units = Vec::new();
    for found in repository_walk::find_stacks(settings, &root) {
        let shown = found.directory.strip_prefix(&root).unwrap_or(&found.directory).display().to_string();
        let header = match found.contents {
            DirectoryContents::Stack(header) => header,
            DirectoryContents::NoStack => continue,
            DirectoryContents::Invalid => {
                session.ui.write_message(&format!("warning: {shown} cannot be read as a stack: left out"));
                continue;
            }
        };
        let place =
            ledger_settings::place_of(settings, (&header.name, header.backend_required), &found.directory)?;
        let mut environments: Vec<&Name> = header.environments.iter().collect();
        if environments.is_empty() {
            // A stack without environments has one ledger, under its default name.
            environments.push(&header.default);
        }
        environments.retain(|name| settings.env.as_ref().is_none_or(|asked| asked == *name));
        for environment in environments {
            let unit =
                read_unit(session, (&header.name, environment), place.clone(), &found.directory).await?;
            let Some(unit) = unit.filter(|unit| unit.here.origin.is_some()) else { continue };
            if is_renamed(&unit) {
                units.push(unit);
            } else if unit.here.compare(&unit.ledger.origins) != OriginMatch::Same {
                session.ui.write_message(&format!(
                    "warning: {}/{environment} is applied from {}, not from {shown}: left out. To adopt it anyway: stead -C {shown} state adopt-directory",
                    header.name,
                    join_origins(&unit.ledger)
                ));
            }
        }
    }
    Ok(units)
}

/// Returns whether only the repository's name differs from the origins of a ledger, or the ledger records none.
fn is_renamed(unit: &OriginCandidate) -> bool {
    let same_directory = || {
        let here = unit.here.origin.as_ref().map(|origin| &origin.directory);
        unit.ledger.origins.iter().any(|known| Some(&known.directory) == here)
    };
    match unit.here.compare(&unit.ledger.origins) {
        OriginMatch::Unknown | OriginMatch::Moved => true,
        OriginMatch::OtherRepository => same_directory(),
        OriginMatch::Same | OriginMatch::OtherDirectory => false,
    }
}

fn join_origins(ledger: &Ledger) -> String {
    let known: Vec<String> = ledger.origins.iter().map(ToString::to_string).collect();
    if known.is_empty() { "a directory that it did not record".to_owned() } else { known.join(" and ") }
}

/// Shows what would be recorded, asks, and records it. Ledgers that have the origin already are skipped.
async fn adopt_units(
    session: &CommandContext,
    args: &AdoptDirectoryArgs,
    mut units: Vec<OriginCandidate>,
) -> Result<Exit, CliFailure> {
    units.retain(|unit| unit.here.compare(&unit.ledger.origins) != OriginMatch::Same);
    if units.is_empty() {
        session.ui.report_done("Nothing to adopt: nothing was written.");
        return Ok(Exit::Done);
    }
    for OriginCandidate { stack, environment, ledger, here, .. } in &units {
        let this = here.origin.iter().map(ToString::to_string).collect::<String>();
        session.ui.write_message(&format!(
            "{stack}/{environment}: {}, applied from {}; from now on also from {this}.",
            count_noun(ledger.entries.len(), "resource"),
            join_origins(ledger)
        ));
    }
    if !session.ui.confirm_action(args.yes, "Adopt?").await? {
        return Ok(Exit::Failed);
    }
    for unit in &units {
        record_origin(session, unit).await?;
    }
    session.ui.report_done("Recorded. You can apply from there as before.");
    session.next("plan", "compares the configuration with the live objects");
    Ok(Exit::Done)
}

/// Adds the origin to the ledger under its lock; refuses a ledger that is older than the last one seen.
async fn record_origin(session: &CommandContext, unit: &OriginCandidate) -> Result<(), CliFailure> {
    let settings = &session.settings;
    // Only for a missing ledger; this one exists, and keeps its own identity.
    let identity = LedgerIdentity::new_random(&unit.stack, &unit.environment, &SystemRandom);
    let terms = LedgerOpenOptions {
        identity: &identity,
        effect: TimingBounds::default().effect,
        force: None,
        vouched: &[],
    };
    let journal = ledger_io::open_at(settings, &session.who, &unit.place, &terms).await?;
    let marks = HighWaterMarkStore::new(
        settings,
        open::seal_key(settings)?,
        &unit.place,
        (&unit.stack, &unit.environment),
    );
    let work = async {
        let ledger = journal.ledger().clone();
        if ledger.sealed.is_some()
            && let Some(objection) = marks.detect_rollback(Some((&ledger, &journal.trail())))?
        {
            return Err(objection.into());
        }
        let mut origins = ledger.origins;
        origins.extend(unit.here.origin.clone());
        journal.commit(&[Record::Origins { origins }]).await?;
        ledger_io::advance_marks(&marks, &journal);
        Ok(())
    };
    let done = ledger_io::while_kept(&journal, Box::pin(work)).await;
    ledger_io::close_after(journal, done).await
}
