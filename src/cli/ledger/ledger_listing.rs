//! Lists the ledgers in a place that can have several: the environments of one stack, or all stacks of a backend. In: a
//! directory or a location. Out: where each ledger is, and whose it is by its name. Reads no ledger. What cannot be listed is
//! an error: a ledger that is left out looks like one that does not exist.

use std::path::Path;

use rustix::fs::FileType;

use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::ledger::stores::any_store;
use crate::ledger::stores::file::dir_handle::DirHandle;
use crate::ledger::stores::file::store;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::{Name, is_legal_segment};
use crate::workspace::unit::UnitName;

/// Where a ledger is, and whose it is.
pub(in crate::cli) struct ListedLedger {
    pub(in crate::cli) place: LedgerLocation,
    pub(in crate::cli) stack: Name,
    pub(in crate::cli) environment: Name,
}

/// Lists the ledgers of a backend that several stacks can use: a directory has one directory for each stack. `owner` is the
/// stack and the environment of one of its ledgers.
///
/// # Errors
/// When it cannot be listed.
pub(in crate::cli) async fn list_backend(
    place: &LedgerLocation,
    owner: (&str, &str),
) -> Result<Vec<ListedLedger>, CliFailure> {
    match place {
        LedgerLocation::Directory(all) => {
            let mut found = Vec::new();
            for stack in list_directory(all)? {
                found.extend(list_environments(&all.join(stack.as_str()), &stack)?);
            }
            Ok(found)
        }
        LedgerLocation::Http(_) => {
            Err(CliFailure::new(Exit::Failed, format!("the state server {place} cannot list its ledgers")))
        }
        LedgerLocation::Postgres(_) | LedgerLocation::S3 { .. } => {
            let listed = Box::pin(any_store::list_ledgers(place, owner)).await?.into_iter();
            let named = |(stack, environment)| ListedLedger {
                place: place.clone(),
                stack: Name::new(stack),
                environment: Name::new(environment),
            };
            Ok(listed.map(named).collect())
        }
    }
}

/// Lists the ledgers of a stack in its directory: one directory for each environment.
///
/// # Errors
/// When it cannot be listed.
pub(in crate::cli) fn list_environments(
    directory: &Path,
    stack: &Name,
) -> Result<Vec<ListedLedger>, CliFailure> {
    let place = || LedgerLocation::Directory(directory.to_owned());
    let named = |environment| ListedLedger { place: place(), stack: stack.clone(), environment };
    Ok(list_directory(directory)?.into_iter().map(named).collect())
}

/// Lists the ledgers in a directory whose stack is not known from elsewhere: only the ledgers name it. One that cannot be read
/// is left out.
///
/// # Errors
/// When the directory cannot be listed.
pub(in crate::cli) fn list_named(directory: &Path) -> Result<Vec<ListedLedger>, CliFailure> {
    let named = |environment: Name| {
        let name = UnitName::parse(&store::owner_name(directory, &environment)?)?;
        let place = LedgerLocation::Directory(directory.to_owned());
        (name.environment == environment).then_some(ListedLedger { place, stack: name.stack, environment })
    };
    Ok(list_directory(directory)?.into_iter().filter_map(named).collect())
}

/// Lists the names of the directories in a directory; one that does not exist yet has none.
///
/// # Errors
/// When it cannot be listed.
fn list_directory(directory: &Path) -> Result<Vec<Name>, CliFailure> {
    if !stack_files::path_exists(directory) {
        return Ok(Vec::new());
    }
    let listed = DirHandle::open_user_dir(directory).and_then(|folder| folder.list_below(Path::new("")));
    let listed =
        listed.map_err(|error| stack_files::add_context(&error, "read the directory", directory))?;
    let is_directory = |mode| FileType::from_raw_mode(mode) == FileType::Directory;
    let directories = listed.into_iter().filter(|(_, stat)| is_directory(stat.st_mode));
    let mut names: Vec<String> = directories.filter_map(|(name, _)| name.into_string().ok()).collect();
    names.retain(|name| is_legal_segment(name));
    names.sort();
    Ok(names.into_iter().map(Name::new).collect())
}
