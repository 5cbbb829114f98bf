//! `stead destroy`: a plan that removes everything that is not protected, and its apply.

use crate::cli::args::{Consent, Destroy as Args, Scope};
use crate::cli::command_context::Session;
use crate::cli::commands::apply::{self, Order};
use crate::cli::planning::approval::Overriding;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;

/// Removes everything.
///
/// # Errors
/// When `--confirm` names another stack; else as `apply`.
pub(in crate::cli) async fn run(session: &Session, args: &Args) -> Result<Exit, Failure> {
    let scope = Scope {
        targets: args.targets.clone(),
        exclude: args.exclude.clone(),
        adopt: Vec::new(),
        overwrite_secrets: Vec::new(),
        locked: false,
        replace: Vec::new(),
        delete_data: Vec::new(),
        allow_deletes: true,
    };
    let order = Order {
        scope: &scope,
        running: &args.running,
        yes: args.yes.then_some(Consent::All),
        expected: None,
        overriding: Overriding::default(),
        destroy: true,
        stack: args.confirm.as_ref(),
        with_leftovers: args.leftovers.with_leftovers,
    };
    Box::pin(apply::plan_and_apply(session, &order)).await
}
