//! `stead secret`: generates identities, and shows, sets, rotates and re-encrypts the stored secrets. A value
//! leaves the ledger only with the user's identity, and only to a terminal, a document or a private file that
//! the user asks for.

mod lookup;
mod rekey;
mod rotate;
mod same;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use self::lookup::{no_such_secret, open_existing_ledger, read_existing_ledger};
use self::rekey::SecretRekeyArgs;
use self::rotate::SecretRotateArgs;
use self::same::SecretSameArgs;
use crate::cli::args::values::parse_secret_address;
use crate::cli::command_context::CommandContext;
use crate::cli::files::{stack_files, write_files};
use crate::cli::ledger::ledger_io::{self, CommandJournal};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::secret_sinks::{self, SecretSinks};
use crate::cli::secrets::{identity, kept_secrets};
use crate::cli::stack::project::LoadedStack;
use crate::cloud::system_clock::{SystemClock, SystemRandom};
use crate::config::stack::model::{SecretOrigin, SecretSink};
use crate::ledger::age_file::AgeIdentity;
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::kept_secrets::{KeptSecret, OUTPUT_PREFIX, VARIABLE_PREFIX};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::clock::Clock;
use crate::model::values::secret::{Secret, is_same_fingerprint};
use crate::report::json;

/// Command-line arguments of `stead secret`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead secret keygen --out ~/stead-identity\n  stead secret get vars.token --to ./token\n  \
                  stead secret rotate api_key.ci -e prod"
)]
pub struct SecretArgs {
    /// What to do with the stored secrets
    #[command(subcommand)]
    pub action: SecretAction,
}

impl SecretArgs {
    /// Returns whether the subcommand rotates secrets: only this one needs their values.
    #[must_use]
    pub const fn is_rotation(&self) -> bool {
        matches!(self.action, SecretAction::Rotate(_))
    }
}

/// Subcommands of `stead secret`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum SecretAction {
    /// Generate an age identity in a new file, and print its recipient
    Keygen(SecretKeygenArgs),
    /// Show the metadata of one stored secret, or of all; its value with --show or --to
    Get(SecretGetArgs),
    /// Store the value of a secret, read from standard input; it must match the fingerprint in the ledger
    Set(SecretSetArgs),
    /// Accept an edited expression over secrets whose value equals the last applied one, so that a plan shows no change
    Same(SecretSameArgs),
    /// Encrypt all stored secrets to the stack's current recipients
    Rekey(SecretRekeyArgs),
    /// Replace a secret by a new value: plan, prompt, apply, and drop the old value
    Rotate(SecretRotateArgs),
}

/// Command-line arguments of `stead secret keygen`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret keygen --out ~/stead-identity")]
pub struct SecretKeygenArgs {
    /// New file; an existing one is not overwritten
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Command-line arguments of `stead secret get`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead secret get\n  stead secret get vars.token --show\n  \
                        stead secret get api_key.ci --to ./ci-key")]
pub struct SecretGetArgs {
    /// The secret: vars.NAME of a generated variable, else the resource; lists all secrets when omitted
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Option<Name>,
    /// Print the value; requires the identity
    #[arg(long, requires = "address")]
    pub show: bool,
    /// Write the value to a new file that only you can read; requires the identity
    #[arg(long, value_name = "FILE", requires = "address", conflicts_with = "show")]
    pub to: Option<PathBuf>,
}

/// Command-line arguments of `stead secret set`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead secret set vars.token < ./token")]
pub struct SecretSetArgs {
    /// The secret: vars.NAME of a generated variable, else the resource
    #[arg(value_name = "ADDRESS", value_parser = parse_secret_address)]
    pub address: Name,
    /// Allow overwriting a sink that holds another value
    #[arg(long = "overwrite-secret", value_name = "ADDRESS")]
    pub overwrite_secrets: Vec<Name>,
}

/// Runs a subcommand of `stead secret`.
///
/// # Errors
/// When the stack has errors, there is no such secret or no identity, or the ledger cannot be read or written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &SecretArgs) -> Result<Exit, CliFailure> {
    match &args.action {
        SecretAction::Keygen(args) => generate_identity(session, args),
        SecretAction::Get(args) => show_secret(session, args).await,
        SecretAction::Set(args) => set_secret(session, args).await,
        SecretAction::Same(args) => Box::pin(same::run(session, args)).await,
        SecretAction::Rekey(args) => rekey::run(session, args).await,
        SecretAction::Rotate(args) => Box::pin(rotate::run(session, args)).await,
    }
}

/// Generates an identity. The private key is written only to the file, which must not exist.
fn generate_identity(session: &CommandContext, args: &SecretKeygenArgs) -> Result<Exit, CliFailure> {
    let shown = stack_files::display_path(&args.out);
    let identity = AgeIdentity::generate();
    let (recipient, text) = (identity.recipient(), identity.text());
    let key = text.expose().unwrap_or_default();
    let text = format!("# created: {}\n# public key: {recipient}\n{key}\n", SystemClock.now());
    if !write_files::write_new_private(&args.out, text.as_bytes())? {
        return Err(CliFailure::existing_file(&shown)
            .help("An identity that is overwritten can no longer decrypt the kept secrets."));
    }
    if session.ui.json {
        let document = serde_json::json!({
            "schema_version": json::SCHEMA_VERSION, "recipient": recipient, "file": shown,
        });
        session.ui.write_result(&json::to_pretty(&document));
        return Ok(Exit::Done);
    }
    session.ui.write_result(&format!("{recipient}\n"));
    session.ui.hint(&format!(
        "The identity is in {shown}. It decrypts the kept secrets: store a copy elsewhere."
    ));
    session.ui.next("write the recipient into the stack: secrets: { recipients: [age1…] }");
    Ok(Exit::Done)
}

/// The document of `stead secret get --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct SecretDocument<'a> {
    /// The recipients that the ledger has pinned; empty if it keeps no secrets.
    #[cfg_attr(test, schemars(inner(regex(pattern = "^age1"))))]
    recipients: Vec<&'a Name>,
    schema_version: json::SchemaVersion,
    /// The requested secret, or all secrets.
    secrets: &'a [SecretRow],
}

/// Metadata of one secret.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SecretRow {
    /// `vars.NAME` of a generated variable, else the address of the resource.
    address: Name,
    /// Whether the value is encrypted to the pinned recipients. If not, `stead secret rekey` is not finished.
    current_recipients: bool,
    /// Fingerprint of the value under the ledger's key; null if none is known.
    fingerprint: Option<Name>,
    /// Former recipients, who could read the value in the past: rotate it.
    former: Vec<Name>,
    /// Whether the ledger keeps the value, encrypted.
    kept: bool,
    /// Whether a rotation has started and is not finished.
    rotating: bool,
    /// The value, with `--show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Version of the kept value; null if none is kept.
    #[cfg_attr(test, schemars(range(min = 1)))]
    version: Option<u64>,
}

impl SecretRow {
    fn new(ledger: &Ledger, address: &Name) -> Self {
        let kept = &ledger.secrets;
        let one = kept.values.get(address);
        let version = one.map(KeptSecret::effective_version);
        let recorded = address.strip_prefix(VARIABLE_PREFIX).and_then(|name| ledger.generated.get(name));
        Self {
            address: address.clone(),
            kept: one.is_some(),
            version: version.map(|version| version.version),
            fingerprint: version
                .map(|version| version.fingerprint.clone())
                .or_else(|| recorded.map(|recorded| recorded.fingerprint.clone())),
            current_recipients: version.is_some_and(|version| version.generation == kept.generation),
            former: version
                .map(|version| kept.former_recipients(version).cloned().collect())
                .unwrap_or_default(),
            rotating: kept.rotating.contains(address) || one.is_some_and(|one| one.pending.is_some()),
            value: None,
        }
    }

    fn display_line(&self) -> String {
        let mut line = self.address.to_string();
        match self.version {
            Some(version) => line.extend(["  version ", &version.to_string()]),
            None => line += "  not kept in the ledger",
        }
        if let Some(print) = &self.fingerprint {
            line.extend(["  fingerprint ", print.get(..8).unwrap_or(print)]);
        }
        if self.kept && !self.current_recipients {
            line += "  encrypted to earlier recipients: stead secret rekey";
        }
        if !self.former.is_empty() {
            line.extend(["  once readable by ", &self.former.join(", "), ": rotate it"]);
        }
        if self.rotating {
            line += "  rotation in progress";
        }
        line + "\n"
    }
}

/// Returns the addresses of a stack's secrets, stored or not, sorted.
fn secret_addresses(project: &LoadedStack, ledger: &Ledger) -> Vec<Name> {
    let generated = ledger.generated.keys().map(|name| Name::new(format!("{VARIABLE_PREFIX}{name}")));
    let owned = |address: &&Address| {
        project.stack.resources.get(*address).is_some_and(|one| one.kind.shown_once.is_some())
    };
    let shown = ledger.entries.keys().filter(owned).map(|address| address.as_str().into());
    let mut all: Vec<Name> = ledger.secrets.values.keys().cloned().chain(generated).chain(shown).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Shows one secret or all; decrypts a value only with `--show` or `--to`.
async fn show_secret(session: &CommandContext, args: &SecretGetArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let place = session.ledger_location(&project)?;
    let ledger = read_existing_ledger(&project, &place).await?;
    let Some(address) = &args.address else {
        let rows: Vec<SecretRow> = secret_addresses(&project, &ledger)
            .iter()
            .map(|address| SecretRow::new(&ledger, address))
            .collect();
        list_secrets(session, &ledger, &rows);
        return Ok(Exit::Done);
    };
    let mut row = SecretRow::new(&ledger, address);
    if !row.kept && row.fingerprint.is_none() && !secret_addresses(&project, &ledger).contains(address) {
        return Err(no_such_secret(address));
    }
    if !args.show && args.to.is_none() {
        list_secrets(session, &ledger, std::slice::from_ref(&row));
        return Ok(Exit::Done);
    }
    let secret = decrypt_value(session, &ledger, address)?;
    kept_secrets::warn_unauthenticated(&session.settings, &ledger);
    let text = secret.expose().unwrap_or_default();
    match &args.to {
        Some(path) => {
            let shown = stack_files::display_path(path);
            if !write_files::write_new_private(path, format!("{text}\n").as_bytes())? {
                return Err(CliFailure::existing_file(&shown));
            }
            session.ui.report_done(&format!("wrote the value of {address} to {shown}"));
        }
        None if session.ui.json => {
            row.value = Some(text.to_owned());
            list_secrets(session, &ledger, std::slice::from_ref(&row));
        }
        None => session.ui.write_result(&format!("{text}\n")),
    }
    Ok(Exit::Done)
}

/// Decrypts the value of a secret: the pending one if there is one, else the current one.
fn decrypt_value(session: &CommandContext, ledger: &Ledger, address: &Name) -> Result<Secret, CliFailure> {
    let Some(kept) = ledger.secrets.values.get(address) else {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("the ledger does not keep the value of {address}"),
        )
        .help("Its sink may have it; if so, store it: stead secret set ADDRESS < FILE"));
    };
    let identities = identity::require_identities(&session.settings)?;
    ledger
        .decrypt_secret(&identities, address, kept.effective_version())
        .map_err(|error| kept_secrets::unusable_secret(address, &error))
}

fn list_secrets(session: &CommandContext, ledger: &Ledger, rows: &[SecretRow]) {
    let recipients: Vec<&Name> = ledger.secrets.recipients.iter().collect();
    if session.ui.json {
        let document = SecretDocument { recipients, schema_version: json::SCHEMA_VERSION, secrets: rows };
        session.ui.write_result(&json::to_pretty(&document));
    } else if rows.is_empty() {
        session.ui.write_result("There are no secrets in the ledger.\n");
    } else {
        session.ui.write_result(&rows.iter().map(SecretRow::display_line).collect::<String>());
    }
}

/// Stores the value that standard input holds, without the line break at its end.
async fn set_secret(session: &CommandContext, args: &SecretSetArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let place = session.ledger_location(&project)?;
    let bytes = stack_files::read_standard_input()?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CliFailure::new(Exit::Failed, "the value is not UTF-8 text"))?;
    let secret = Secret::new(text.trim_end_matches(['\r', '\n']));
    if secret.expose().is_none_or(str::is_empty) {
        return Err(CliFailure::new(Exit::Usage, "standard input holds no value")
            .help("Example: stead secret set vars.token < ./token"));
    }
    let journal = open_existing_ledger(session, &project, &place).await?;
    let overwrite = args.overwrite_secrets.iter().cloned().collect();
    let done = write_secret(session, (&project, &journal, &overwrite), &args.address, &secret).await;
    ledger_io::close_after(journal, done).await
}

/// Stores a value in the ledger if the stack has recipients, else in the secret's sink; a value with another
/// fingerprint than the recorded one is refused.
async fn write_secret(
    session: &CommandContext,
    (project, journal, overwrite): (&LoadedStack, &CommandJournal, &BTreeSet<Name>),
    address: &Name,
    secret: &Secret,
) -> Result<Exit, CliFailure> {
    let ledger = journal.ledger().clone();
    let row = SecretRow::new(&ledger, address);
    let version = ledger.secrets.values.get(address).map(KeptSecret::effective_version);
    let key = version.map_or(&ledger.identity.key, |version| ledger.kept_secret_key(version));
    let print = secret.fingerprint(key);
    let is_it = |(known, given): (&Name, &Name)| is_same_fingerprint(known, given);
    // A wrong value would be used by the next apply as if it were the one in use.
    if row.fingerprint.is_some() && !row.fingerprint.as_ref().zip(print.as_ref()).is_some_and(is_it) {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("the value is not the one of {address}: its fingerprint differs; nothing was written"),
        )
        .help(if address.starts_with(OUTPUT_PREFIX) {
            "An output follows from other secrets: change those, and apply.".to_owned()
        } else {
            format!("For a new value: stead secret rotate {address}.")
        }));
    }
    let owner = Address::parse(address).ok().filter(|_| !address.starts_with(VARIABLE_PREFIX));
    let entry = owner.as_ref().and_then(|owner| ledger.entries.get(owner));
    if row.fingerprint.is_none() && !secret_addresses(project, &ledger).contains(address) {
        return Err(no_such_secret(address));
    }
    if let Some(record) = kept_secrets::kept_secret_record(&ledger, address, None, secret)? {
        journal.commit(&[record]).await?;
        let sink = owner.as_ref().and_then(|owner| secret_sink(project, owner.as_str()));
        clear_lost_mark(journal, owner.as_ref().zip(entry).filter(|_| sink.is_none())).await?;
        session.ui.report_done(&format!("The ledger keeps {address}, encrypted."));
    } else {
        let Some(sink) = secret_sink(project, address) else {
            return Err(CliFailure::new(
                Exit::Failed,
                format!("the value of {address} cannot be kept: it has no sink"),
            )
            .help("Add `secrets: { recipients: [age1…] }` to the stack, or a `deliver_secret`."));
        };
        let named =
            // The intent first: a sink that has a value which no record mentions counts as foreign.
            Address::parse(address).map_err(|error| CliFailure::new(Exit::Usage, error.to_string()))?;
        if let Some(record) = secret_sinks::delivery_record(&named, sink, secret, &SystemRandom) {
            journal.commit(&[record]).await?;
        }
        SecretSinks { project, journal, overwrite }.deliver(&named, sink, secret)?;
        clear_lost_mark(journal, owner.as_ref().zip(entry)).await?;
        session.ui.report_done(&format!("The sink of {address} has its value again."));
    }
    if row.fingerprint.is_none() {
        session.ui.write_message("stead did not compare it: the ledger had no fingerprint of it.");
    }
    Ok(Exit::Done)
}

/// Records that the secret of an object is available again; does nothing for a secret that was not lost.
async fn clear_lost_mark(
    journal: &CommandJournal,
    owner: Option<(&Address, &Entry)>,
) -> Result<(), CliFailure> {
    let Some((address, entry)) = owner.filter(|(_, entry)| entry.secret_lost) else { return Ok(()) };
    let entry = Box::new(Entry { secret_lost: false, ..entry.clone() });
    Ok(journal.commit(&[Record::Applied { address: address.clone(), entry }]).await?)
}

/// Returns the sink of a secret; `None` if the secret does not exist or names none.
fn secret_sink<'p>(project: &'p LoadedStack, address: &str) -> Option<&'p SecretSink> {
    match address.strip_prefix(VARIABLE_PREFIX) {
        Some(name) => match &project.stack.deferred_secrets.get(name)?.origin {
            SecretOrigin::Generated { deliver, .. } => deliver.as_ref(),
            SecretOrigin::Source(_) => None,
        },
        None => project.stack.resources.get(address)?.deliver_secret.as_deref(),
    }
}
