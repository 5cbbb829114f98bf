//! Opens the database of runs: `STEAD_RUNS`, else the backend. Sends nothing.

use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::ledger::runs::board::BoardError;
#[cfg(not(feature = "postgres"))]
use crate::ledger::runs::memory_board::MemoryBoard;
use crate::ledger::stores::location::LedgerLocation;
#[cfg(feature = "postgres")]
use crate::ledger::stores::postgres::run_board::PostgresRunBoard;
use crate::model::address::Name;

/// The type of the rows of a run in all commands.
#[cfg(feature = "postgres")]
pub(in crate::cli) type CommandBoard = PostgresRunBoard;
/// The type of the rows of a run in a build without PostgreSQL, which opens none.
#[cfg(not(feature = "postgres"))]
pub(in crate::cli) type CommandBoard = MemoryBoard;

/// Opens the rows of a run.
///
/// # Errors
/// When no database is configured, or this build has no PostgreSQL.
pub(in crate::cli) fn open_board(settings: &Settings, run: &Name) -> Result<CommandBoard, CliFailure> {
    let configured = settings.runs.as_ref().or(settings.backend.as_ref());
    let place = configured.map(|text| LedgerLocation::parse(text)).transpose();
    let place = place.map_err(|error| CliFailure::new(Exit::Usage, error.to_string()))?;
    let Some(LedgerLocation::Postgres(address)) = place else {
        let what = match place {
            Some(place) => format!("workers share a run in a PostgreSQL database, and {place} is none"),
            None => "workers share a run in a PostgreSQL database, and none is configured".to_owned(),
        };
        return Err(CliFailure::new(Exit::Usage, what)
            .help("Set STEAD_RUNS, or `runs` in a profile, to postgres://USER@HOST/DATABASE. The ledgers may be elsewhere."));
    };
    open_address(&address, run)
}

#[cfg(feature = "postgres")]
fn open_address(address: &str, run: &Name) -> Result<CommandBoard, CliFailure> {
    Ok(PostgresRunBoard::new(address, run)?)
}

#[cfg(not(feature = "postgres"))]
fn open_address(_: &str, _: &Name) -> Result<CommandBoard, CliFailure> {
    Err(CliFailure::new(Exit::Usage, "this build of stead has no PostgreSQL")
        .help("Build it with --features postgres."))
}

impl From<BoardError> for CliFailure {
    fn from(error: BoardError) -> Self {
        Self::new(Exit::Failed, error.to_string())
            .help("Check STEAD_RUNS, or the backend, and whether its server accepts this role.")
    }
}
