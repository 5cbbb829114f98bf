//! `stead do delete KIND ID`: deletes one live object that no ledger of the backend owns. In: its kind and id, and the
//! id again as confirmation. An object that a ledger owns is refused: its stack decides about it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cli::actions::command_line::DoArgs;
use crate::cli::actions::target::TargetReference;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::{ledger_io, other_ledgers};
use crate::cli::planning::inventory;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection;
use crate::cloud::error::MutationOutcome;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{Kind, KindScope, Price, format_monthly};
use crate::model::values::value::Value;
use crate::plan::decide::byproducts;
use crate::plan::join::prices::ObjectPrices;
use crate::report::text::escape;

/// Timeout of the wait until the object is gone.
const DELETION_TIMEOUT: Duration = Duration::from_mins(10);

/// Deletes an object that no ledger owns, and waits until it is gone. Returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When a ledger owns the object, it does not exist or is in use, its id was not repeated, the service refuses, or
/// the object is not gone within the timeout.
pub(super) async fn run(session: &CommandContext, args: &DoArgs) -> Result<Exit, CliFailure> {
    let (kind, key) = parse_object(args)?;
    let shown = display_key(&key);
    let project = session.open()?;
    let connection = session.connect(&project)?;
    let ledger = ledger_io::read_ledger(&project, &connection).await?;
    check_unowned(&ledger, &key, &shown)?;
    if matches!(connection.place, LedgerLocation::Http(_)) {
        session.ui.write_message(
            "note: a state server does not list its ledgers: only those that this stack knows were checked",
        );
    }
    // Also a ledger of another stack or environment: deleting its object would be drift there.
    if let Some(owner) =
        other_ledgers::objects_of_other_ledgers(&project, &connection.place).await?.get(&key)
    {
        return Err(managed_failure(&shown, owner));
    }
    let client = &connection.client;
    let object = client.get(&key).await?.ok_or_else(|| {
        CliFailure::new(Exit::Failed, format!("there is no {} {}", key.kind, key.id))
            .help("List the unmanaged objects: stead ls --unmanaged")
    })?;
    // The API key in use must stay: without it, no further command could run.
    let mut alone = Snapshot::default();
    alone.objects.insert(key.clone(), object.clone());
    if let Some(why) = inventory::in_use(&alone, |start| client.cloud().opens_with(start)).remove(&key) {
        return Err(CliFailure::new(Exit::Blocked, format!("{shown} is not deleted. {why}")));
    }
    let what = describe_object(&connection, kind, &object, &shown).await?;
    if !is_confirmed(session, args, &key, &what).await? {
        session.ui.write_message("Nothing was deleted.");
        return Ok(Exit::Failed);
    }
    let home = deletion_project(session, &connection, kind, &object).await?;
    let deleted = client.changes(&|_| Ok(())).delete(kind, &key, home.as_ref()).await;
    check_deletion(deleted, &shown)?;
    client.wait_until_gone(kind, &key, home.as_ref(), DELETION_TIMEOUT, &|_| {}).await.map_err(
        |error| {
            CliFailure::new(
                Exit::Failed,
                format!("the service accepted the deletion of {shown}, but then: {error}"),
            )
            .help(format!("Look at it: stead ls --unmanaged --kind {}", key.kind))
        },
    )?;
    session.ui.report_done(&format!("Deleted {what}."));
    Ok(Exit::Done)
}

/// Parses the target, written as `KIND ID` or `KIND:ID`.
fn parse_object(args: &DoArgs) -> Result<(&'static Kind, ObjectKey), CliFailure> {
    let target = args.target.as_deref().unwrap_or_default();
    let id = args.given.get("id").and_then(|given| given.last());
    let text = id.map_or_else(|| target.to_owned(), |id| format!("{target}:{id}"));
    match TargetReference::parse(&text)? {
        TargetReference::Object(kind, key) => Ok((kind, key)),
        TargetReference::Resource(address) => Err(CliFailure::new(
            Exit::Usage,
            format!("{address} is a resource of the stack, and not an object"),
        )
        .help("Remove its block, and apply. An object in no ledger is named as KIND ID.")),
        TargetReference::Kind(kind) => {
            Err(CliFailure::new(Exit::Usage, format!("delete which {}?", kind.name))
                .help(format!("Say its id: stead do delete {} ID", kind.name)))
        }
    }
}

fn display_key(key: &ObjectKey) -> String {
    let parent = key.parent.as_ref().map(|parent| format!("{parent}/")).unwrap_or_default();
    format!("{} {parent}{}", key.kind, key.id)
}

/// Refuses an object that the stack's own ledger owns, or that an ambiguous intent may have created.
fn check_unowned(ledger: &Ledger, key: &ObjectKey, shown: &str) -> Result<(), CliFailure> {
    for (address, entry) in &ledger.entries {
        if entry.current.iter().chain(&entry.deposed).any(|one| one.key(&entry.kind) == *key) {
            return Err(managed_failure(shown, address.as_str()));
        }
    }
    let asked = ledger
        .questions
        .values()
        .find(|question| question.intent.kind == key.kind && question.candidates.contains(&key.id));
    match asked {
        Some(question) => Err(CliFailure::new(
            Exit::Blocked,
            format!("{shown} may be the object of {}: {}", question.intent.address, question.text),
        )
        .help("Resolve the ambiguous intent first: stead resolve. Nothing was sent.")),
        None => Ok(()),
    }
}

fn managed_failure(shown: &str, owner: &str) -> CliFailure {
    CliFailure::new(Exit::Blocked, format!("{shown} is managed: it belongs to {owner}"))
        .help("Remove its block there, and apply; or forget it there first (`rm ADDRESS --keep`). Nothing was sent.")
}

/// Returns a description of the object: kind, id, name, age and monthly price, escaped and without secrets.
async fn describe_object(
    connection: &connection::StackConnection,
    kind: &'static Kind,
    object: &Object,
    shown: &str,
) -> Result<String, CliFailure> {
    let client = &connection.client;
    let tables: BTreeSet<&str> = match kind.price {
        Price::Free => BTreeSet::new(),
        Price::Sum(terms) => terms.iter().map(|term| term.table).collect(),
    };
    let catalog = client.catalog(&tables).await?;
    let name = object.attributes.get("name").and_then(Value::as_text).unwrap_or_default();
    let name = if name.is_empty() {
        String::new()
    } else {
        format!(" `{}`", escape::escape_line(&client.redact(name)))
    };
    let price = match ObjectPrices::new(&catalog).monthly(kind, &object.attributes) {
        Some(price) => format_monthly(price),
        None => ", price not known".to_owned(),
    };
    Ok(format!("{shown}{name} ({}{price})", byproducts::describe_age(object, client.clock().now())))
}

/// Returns whether the user repeated the id, by flag or on a terminal; a wrong id, or none without a
/// terminal, is an error.
async fn is_confirmed(
    session: &CommandContext,
    args: &DoArgs,
    key: &ObjectKey,
    what: &str,
) -> Result<bool, CliFailure> {
    match args.given.get("confirm").and_then(|given| given.last()) {
        Some(id) if *id == key.id.as_str() => Ok(true),
        Some(id) => {
            Err(CliFailure::new(Exit::Usage, format!("--confirm has {id}; the object is {}", key.id))
                .help("Nothing was sent."))
        }
        None if session.ui.interactive => {
            session.ui.write_message(&format!("This deletes {what}."));
            session.ui.ask_approval("", Some(key.id.as_str())).await
        }
        None => {
            let line =
                session.command_line(&format!("do delete {} --confirm {}", display_key(key), key.id));
            Err(CliFailure::new(
                Exit::Usage,
                format!("this deletes {what}, and its id was not repeated as confirmation"),
            )
            .help(format!("Confirm with a flag: {line}"))
            .help("Nothing was sent."))
        }
    }
}

/// Returns the project for the deletion request: that of the object or of its parent, else that of the settings or
/// the default; `None` for a kind of the account.
async fn deletion_project(
    session: &CommandContext,
    connection: &connection::StackConnection,
    kind: &'static Kind,
    object: &Object,
) -> Result<Option<Name>, CliFailure> {
    if object.project.is_some() {
        return Ok(object.project.clone());
    }
    if let Some((id, (of, _))) = object.parent.clone().zip(kind.child_of()) {
        let parent = ObjectKey { kind: Name::new_static(of), parent: None, id };
        if let Some(project) = connection.client.get(&parent).await?.and_then(|parent| parent.project) {
            return Ok(Some(project));
        }
    }
    if kind.scope == KindScope::Account {
        return Ok(None);
    }
    Ok(connection.client.resolve_named_project(session.settings.project.as_ref()).await?)
}

/// Returns the failure of a deletion that the service did not accept.
fn check_deletion(mutation: MutationOutcome, shown: &str) -> Result<(), CliFailure> {
    let what = format!("delete {shown}");
    Err(match mutation {
        MutationOutcome::Done(..) => return Ok(()),
        MutationOutcome::Refused(refusal) => CliFailure::refused_action(&what, &refusal, "Nothing was deleted."),
        MutationOutcome::NotSent(reason) => CliFailure::unsent_action(&what, &reason),
        MutationOutcome::Unknown { reason, .. } => CliFailure::new(Exit::Failed, format!("{what}: {reason}"))
            .help("The outcome of the deletion is not known. The same command shows whether the object still exists."),
    })
}
