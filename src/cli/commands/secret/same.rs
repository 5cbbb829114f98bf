//! `stead secret same`: records an edited expression over secrets as the current one, if its value
//! equals the last applied one.
//!
//! A plan compares such an attribute by its expression and inputs, never by its value: otherwise a plan of
//! `${vars.s == 'guess' ? 'y' : 'n'}` would tell whether the guess is right. So an edit that changes nothing is a
//! change of the plan, and this command, which needs the secrets themselves, takes it away.

use clap::Args;

use super::lookup::open_existing_ledger;
use crate::cli::args::plan::PlanScopeArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, CommandJournal};
use crate::cli::planning::refresh;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unknown_addresses;
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::Entry;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::nearest_name;
use crate::plan::restate::{RestateError, restate_value};

/// Command-line arguments of `stead secret same`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret same app.web.env_vars -e prod")]
pub struct SecretSameArgs {
    /// The attribute with the edited expression
    #[arg(value_name = "ADDRESS.ATTRIBUTE", value_parser = parse_attribute)]
    pub attribute: (Address, Name),
}

/// Compares the value with the last applied one, and records the expression.
///
/// # Errors
/// When the attribute is not in the stack, its value is not proven equal to the last applied one, or the service or
/// the ledger cannot be read or written.
pub(super) async fn run(session: &CommandContext, args: &SecretSameArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    check_written(&project, args)?;
    let place = session.ledger_location(&project)?;
    let journal = open_existing_ledger(session, &project, &place).await?;
    let done = record_expression(session, &project, &journal, args).await;
    ledger_io::close_after(journal, done).await
}

async fn record_expression(
    session: &CommandContext,
    project: &LoadedStack,
    journal: &CommandJournal,
    args: &SecretSameArgs,
) -> Result<Exit, CliFailure> {
    let (address, attribute) = &args.attribute;
    let connection = session.connect(project)?;
    let pinned = read_pinned_names(&connection.lock_file)?;
    let ledger = journal.ledger().clone();
    let options = session.options(&PlanScopeArgs::default(), false);
    let reading =
        refresh::with_inputs(&connection, project, &ledger, (&options, pinned.as_ref()), |inputs| {
            restate_value(inputs, address, attribute)
        });
    let (restated, _) = ledger_io::while_kept(journal, reading).await?;
    let value = restated.map_err(|why| not_same_failure(session, args, why))?;
    let Some(entry) = ledger.entries.get(address) else {
        return Err(not_same_failure(session, args, RestateError::NotApplied));
    };
    let mut applied = entry.applied.clone();
    applied.insert(attribute.clone(), value);
    let entry = Box::new(Entry { applied, ..entry.clone() });
    journal.commit(&[Record::Applied { address: address.clone(), entry }]).await?;
    session.ui.report_done(&format!(
        "Recorded the expression of {address}.{attribute}: its value is the one that was applied."
    ));
    Ok(Exit::Done)
}

/// Checks that the stack declares the address and sets the attribute.
fn check_written(project: &LoadedStack, args: &SecretSameArgs) -> Result<(), CliFailure> {
    let (address, attribute) = &args.attribute;
    let Some(resource) = project.stack.resources.get(address) else {
        return Err(unknown_addresses::unknown_address(
            address.as_str(),
            project.stack.resources.keys().map(Address::as_str),
        ));
    };
    if resource.attributes.contains_key(attribute) {
        return Ok(());
    }
    let written = || resource.attributes.keys().map(Name::as_str);
    let failure = CliFailure::new(Exit::Usage, format!("{address} does not set `{attribute}`"));
    Err(match nearest_name(attribute, written()) {
        Some(near) => failure.help(format!("Did you mean `{near}`?")),
        None => failure.help(format!("It sets {}.", written().collect::<Vec<_>>().join(", "))),
    })
}

/// Returns the failure for an expression that was not recorded, with what the user can do.
fn not_same_failure(session: &CommandContext, args: &SecretSameArgs, why: RestateError) -> CliFailure {
    let (address, attribute) = &args.attribute;
    let failure = CliFailure::new(Exit::Failed, format!("{address}.{attribute} was not recorded: {why}"));
    match why {
        RestateError::ValueDiffers | RestateError::Unknown | RestateError::NotApplied => failure
            .help(format!("{} shows the change; an apply performs it.", session.command_line("plan"))),
        RestateError::SecretUnavailable => failure.help(
            "Set its variables; for a secret that only the ledger keeps, set STEAD_AGE_IDENTITY to the identity's file.",
        ),
        RestateError::NotWritten | RestateError::NotSecret | RestateError::AlreadyRecorded => {
            failure.help("There is nothing to record: a plan can compare it already.")
        }
    }
}

/// Parses `ADDRESS.ATTRIBUTE`: the last segment is the attribute.
fn parse_attribute(text: &str) -> Result<(Address, Name), String> {
    let (address, attribute) = text
        .rsplit_once('.')
        .ok_or_else(|| "expected ADDRESS.ATTRIBUTE, as in app.web.env_vars".to_owned())?;
    let address = Address::parse(address)
        .map_err(|error| format!("{error}; expected ADDRESS.ATTRIBUTE, as in app.web.env_vars"))?;
    Ok((address, attribute.into()))
}
