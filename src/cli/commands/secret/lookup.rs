//! The ledger that holds the secrets, and the failure of an address that has none. No ledger is created here.

use crate::apply::context::Bounds;
use crate::cli::command_context::Session;
use crate::cli::ledger::ledger_io::{self, Book, Terms};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::stack::project::Project;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::Place;

pub(super) fn no_such_secret(address: &str) -> Failure {
    Failure::new(Exit::Failed, format!("{address} is no secret of this stack"))
        .help("stead secret get lists them: vars.NAME of a generated variable, or a resource whose secret is shown once.")
}

/// Reads the ledger, which must be there.
pub(super) async fn read_existing_ledger(project: &Project, place: &Place) -> Result<Ledger, Failure> {
    ledger_io::find_ledger(project, place)
        .await?
        .ok_or_else(|| crate::cli::commands::ledger_copy::missing_ledger(place))
}

/// Opens the ledger of a stack for writing, which must be there.
pub(super) async fn open_existing_ledger(
    session: &Session,
    project: &Project,
    place: &Place,
) -> Result<Book, Failure> {
    read_existing_ledger(project, place).await?;
    let terms = Terms {
        identity: &ledger_io::new_identity(project),
        effect: Bounds::default().effect,
        force: None,
    };
    ledger_io::open_at(&session.settings, &session.who, place, &terms).await
}
