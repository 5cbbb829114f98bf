//! `stead show`: a saved plan, without asking anyone.

use crate::cli::args::Show;
use crate::cli::books;
use crate::cli::commands::plan;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::files;
use crate::cli::reports::{self, About};
use crate::cli::said;
use crate::cli::session::Session;
use crate::report::review::Told;
use crate::report::terminal::Facts;

/// Shows the plan of a file.
///
/// # Errors
/// When the file is no plan, or was changed.
pub(in crate::cli) fn run(session: &Session, args: &Show) -> Result<Exit, Failure> {
    let saved = books::saved_plan(&args.file)?;
    let command = format!("apply {}", said::quoted(&files::shown(&args.file)));
    let about = About { stack: None, command: Some(&command), told: Told::Plan };
    reports::plan(session, &args.reports.wanted, &saved.plan, about)?;
    plan::show(session, &saved.plan, &Facts { saved: true, ..Facts::default() }, Exit::Done);
    Ok(Exit::Done)
}
