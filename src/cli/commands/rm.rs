//! `stead rm`: takes a block out, and says what becomes of its object.

use super::mv::block;
use crate::cli::args::Rm;
use crate::cli::edits::Edits;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::project::Project;
use crate::cli::session::Session;
use crate::config::edit::{Edit, Literal, Path};

/// Takes a resource out of the configuration.
///
/// # Errors
/// When there is no such resource, something still refers to it, or the files cannot be edited.
pub(in crate::cli) async fn run(session: &Session, args: &Rm) -> Result<Exit, Failure> {
    let begun = Project::open_begun(&session.settings)?;
    let address = &args.address;
    let file = block(&begun, address)?.file;
    let mut edits = Edits::new(&begun);
    let action = if args.keep { "forget" } else { "delete" };
    let entry = [("from", Literal::text(address.as_str())), ("action", Literal::text(action))];
    let removed = Edit::Append(Path::of("removed"), Literal::map(entry));
    edits.make(file, &[Edit::Remove(Path::of(address.as_str())), removed])?;
    // What still refers to it is told as the problem that it would be.
    edits.read()?;
    if !edits.settle(session, args.yes).await? {
        return Ok(Exit::Failed);
    }
    session.next("plan", "shows what becomes of it");
    Ok(Exit::Done)
}
