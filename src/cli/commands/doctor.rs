//! `stead doctor`: runs checks and prints remedies; with `--api`, compares the service with the contract that stead
//! assumes. A check that cannot run is skipped with the reason; it never ends the command, because a later check
//! may show the cause.

mod account;
mod contract;
mod failure_text;
mod stack;
mod surroundings;

use clap::Args;

use self::failure_text::failure_and_remedy;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::CloudEndpoint;
use crate::cli::service::api_key;
use crate::cli::service::connection::ServiceConnection;
use crate::model::values::secret::Secret;
use crate::report::json;
use crate::report::views::doctor::{self, DoctorCheck};

pub(in crate::cli) use self::surroundings::mend_settings;

/// Command-line arguments of `stead doctor`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "It sends nothing but GETs, works without a stack, and exits with 1 when a check failed.\n--api exits with 1 when the service differs from what stead assumes; what it learns (the largest page,\nthe rate) is kept for this service and profile, and used from then on.\n\nExamples:\n  stead doctor\n  stead doctor --fix\n  stead doctor --api -p work\n  stead doctor --api --output json > contract.json"
)]
pub struct DoctorArgs {
    /// Compare the behavior of the service with the contract that stead assumes
    #[arg(long, conflicts_with = "fix")]
    pub api: bool,
    /// Fix what is safe to fix: the permissions of stead's own files
    #[arg(long)]
    pub fix: bool,
}

/// Checks the preconditions of plan and apply, or compares the service with its contract.
///
/// # Errors
/// With `--api`, when the service does not respond or the result cannot be stored. Without it, problems are failed
/// checks, not errors.
pub(in crate::cli) async fn run(session: &CommandContext, args: &DoctorArgs) -> Result<Exit, CliFailure> {
    if args.api {
        return contract::run(session).await;
    }
    let checks = run_checks(session, args.fix).await;
    let ui = &session.ui;
    ui.write_result(&if ui.json || ui.ndjson {
        json::doctor_document(&checks)
    } else {
        doctor::render_checklist(&checks, ui.style)
    });
    Ok(if doctor::any_failed(&checks) { Exit::Failed } else { Exit::Done })
}

/// Runs all checks, in the order in which their problems should be solved.
async fn run_checks(session: &CommandContext, fix: bool) -> Vec<DoctorCheck> {
    let settings = &session.settings;
    let mut checks = vec![
        surroundings::check_program(),
        surroundings::check_settings_file(session),
        surroundings::check_service(settings),
        surroundings::check_proxy(settings),
        surroundings::key_file(settings, fix),
    ];
    let (check, key) = check_key(session);
    checks.push(check);
    let link = open_read_only_link(session, key.as_ref());
    let way = link.as_ref().map_err(|failure| failure_and_remedy(failure).0);
    checks.extend(account::check_account(session, way.as_ref().ok().copied(), key.as_ref()).await);
    let opened = stack::open_stack(session);
    checks.push(stack::check_configuration(&opened));
    checks.push(stack::check_project(session, &opened, way.as_ref().ok().copied()).await);
    checks.extend(stack::check_ledger_state(session, &opened, way.as_ref().ok().copied()).await);
    checks.push(surroundings::check_capabilities(settings, fix));
    checks
}

/// Checks that a key is configured, and returns it; `None` if there is none or the cloud is built in.
fn check_key(session: &CommandContext) -> (DoctorCheck, Option<Secret>) {
    const NAME: &str = "key";
    let settings = &session.settings;
    let url = match &settings.cloud {
        CloudEndpoint::Remote(url) => url,
        CloudEndpoint::Local => {
            return (DoctorCheck::new_skipped(NAME, "The built-in cloud brings its own."), None);
        }
        CloudEndpoint::Unset => return (DoctorCheck::new_skipped(NAME, "No service is configured."), None),
    };
    match api_key::find_with_origin(settings, url) {
        Ok((key, origin)) => (surroundings::check_key_source(settings, url, origin), Some(key)),
        Err(failure) => {
            let (detail, remedy) = failure_and_remedy(&failure);
            (DoctorCheck::new_failed(NAME, detail).with_remedy(remedy), None)
        }
    }
}

/// Opens a connection that can send only GET requests; a remote service needs a key.
fn open_read_only_link(
    session: &CommandContext,
    key: Option<&Secret>,
) -> Result<ServiceConnection, CliFailure> {
    let settings = &session.settings;
    if key.is_none() && settings.cloud != CloudEndpoint::Local {
        return Err(CliFailure::new(Exit::Refused, "There is no key for a request."));
    }
    ServiceConnection::open_read_only(settings, &settings.dir, key.cloned())
}
