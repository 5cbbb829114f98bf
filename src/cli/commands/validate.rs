//! `stead validate`: everything that can be checked without a network.

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::model::diagnostic::Severity;
use crate::report::json;

/// Checks the stack.
///
/// # Errors
/// When it has problems, or cannot be read.
pub(in crate::cli) fn run(session: &Session) -> Result<Exit, Failure> {
    let opened = session.open();
    if session.ui.json {
        let (diagnostics, sources) = match &opened {
            Ok(project) => (&project.warnings, &project.stack.sources),
            Err(Failure { rejected: Some(rejected), .. }) => (&rejected.diagnostics, &rejected.sources),
            Err(_) => return opened.map(|_| Exit::Done),
        };
        session.ui.out(&json::diagnostics(diagnostics, sources));
        let failed = diagnostics.iter().any(|problem| problem.severity == Severity::Error);
        return Ok(if failed { Exit::Failed } else { Exit::Done });
    }
    let project = opened?;
    let stack = &project.stack;
    session.ui.out(&format!(
        "{}/{} is valid: {} resources\n",
        stack.name,
        stack.environment.name,
        stack.resources.len()
    ));
    session.next("plan", "shows what would change");
    Ok(Exit::Done)
}
