//! Stores secrets in the ledger and reads them: a secret is stored before a sink or a request has it, encrypted to
//! the stack's recipients, and decrypted with the user's identity.

use std::cell::OnceCell;

use super::{identity, secret_sinks};
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::secret_values::SecretValues;
use crate::ledger::age_file::{AgeFileError, AgeIdentity};
use crate::ledger::journal::record::Record;
use crate::ledger::state::kept_secrets::{KeptVersion, RotationStep, VARIABLE_PREFIX};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::values::secret::Secret;
use crate::plan::model::change::Plan;
use crate::plan::model::step::LedgerUpdate;

/// The identities of a run; reads them on first use, because their source can be a program that prompts.
pub(in crate::cli) struct Keyring<'a> {
    settings: &'a Settings,
    found: OnceCell<Vec<AgeIdentity>>,
}

impl<'a> Keyring<'a> {
    /// Returns a keyring that has not read its identities yet.
    pub(in crate::cli) fn new(settings: &'a Settings) -> Self {
        Self { settings, found: OnceCell::new() }
    }

    /// Returns the settings that name the source of the identities.
    pub(in crate::cli) const fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Returns the identities; an empty list if none is configured.
    ///
    /// # Errors
    /// When the configured source is invalid.
    pub(in crate::cli) fn identities(&self) -> Result<&[AgeIdentity], CliFailure> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = identity::find_identities(self.settings)?;
        Ok(self.found.get_or_init(|| found))
    }

    /// Decrypts a stored value; `None` if no available identity decrypts it.
    ///
    /// # Errors
    /// When the value belongs to another secret or was changed, or the identity is invalid.
    pub(in crate::cli) fn decrypt_version(
        &self,
        ledger: &Ledger,
        address: &str,
        version: &KeptVersion,
    ) -> Result<Option<Secret>, CliFailure> {
        let identities = self.identities()?;
        if identities.is_empty() {
            return Ok(None);
        }
        match ledger.decrypt_secret(identities, address, version) {
            Ok(secret) => Ok(Some(secret)),
            Err(AgeFileError::NoIdentity) => Ok(None),
            Err(error) => Err(unusable_secret(address, &error)),
        }
    }
}

/// Returns the failure for a stored secret that cannot be used.
pub(in crate::cli) fn unusable_secret(address: &str, error: &AgeFileError) -> CliFailure {
    let failure = CliFailure::new(Exit::Failed, format!("the kept secret {address} is not used: {error}"));
    if *error == AgeFileError::NoIdentity {
        return failure
            .help("Use the identity of a pinned recipient: `stead secret get --output json` lists them.");
    }
    failure.help("Find out who wrote the ledger. With STEAD_LEDGER_KEY, writing it needs the key.").help(
        format!(
            "A copy of the ledger may hold the right one; or replace it: stead secret rotate {address}."
        ),
    )
}

/// Warning for stored secrets in a ledger that is not authenticated.
const NOT_AUTHENTICATED: &str = "warning: the kept secrets are not authenticated: everyone who can write the ledger can replace one by another value. STEAD_LEDGER_KEY prevents it.";

/// Prints a warning if the ledger stores secrets and is not authenticated.
pub(in crate::cli) fn warn_unauthenticated(settings: &Settings, ledger: &Ledger) {
    if !ledger.secrets.values.is_empty() && (settings.ledger_key.is_none() || ledger.sealed.is_none()) {
        Ui::write_error(NOT_AUTHENTICATED);
    }
}

/// Records the recipients that a plan pins, before the first secret is encrypted; does nothing for another plan.
///
/// # Errors
/// When the settings do not allow a recipient, other recipients were pinned meanwhile, or the ledger cannot be
/// written.
pub(in crate::cli) async fn pin_recipients(
    settings: &Settings,
    plan: &Plan,
    journal: &CommandJournal,
) -> Result<(), CliFailure> {
    for bookkeeping in &plan.bookkeeping {
        let LedgerUpdate::PinRecipients(recipients) = bookkeeping else { continue };
        check_allowed(settings, recipients.iter())?;
        let pinned = journal.ledger().secrets.recipients.clone();
        if pinned.is_empty() {
            journal.commit(&[Record::SecretRecipients { recipients: recipients.clone() }]).await?;
        } else if pinned != *recipients {
            return Err(CliFailure::new(
                Exit::OutOfDate,
                "other recipients were pinned meanwhile; nothing was applied",
            )
            .help("Plan again."));
        }
    }
    Ok(())
}

/// Checks that the user's settings allow all recipients: a user who can edit the stack could add one
/// to read the secrets.
///
/// # Errors
/// The first recipient that is not allowed.
pub(in crate::cli) fn check_allowed<'n>(
    settings: &Settings,
    mut recipients: impl Iterator<Item = &'n Name>,
) -> Result<(), CliFailure> {
    let Some(allowed) = &settings.allowed_recipients else { return Ok(()) };
    match recipients.find(|name| !allowed.contains(*name)) {
        None => Ok(()),
        Some(name) => Err(CliFailure::new(
            Exit::Blocked,
            format!(
                "the recipient {name} is not one of the settings' `allowed_recipients`; nothing was written"
            ),
        )
        .help("Add it to your own settings.toml if it is meant.")),
    }
}

/// Returns the record that stores a value; `None` if the ledger stores no secrets. `object` is the id of the object
/// that the secret belongs to, `None` for a variable.
///
/// # Errors
/// When the value cannot be encrypted.
pub(in crate::cli) fn kept_secret_record(
    ledger: &Ledger,
    address: &str,
    object: Option<&str>,
    secret: &Secret,
) -> Result<Option<Record>, CliFailure> {
    let kept = &ledger.secrets;
    if kept.recipients.is_empty() {
        return Ok(None);
    }
    let version = kept.next_version(address);
    let value = ledger.encrypt_secret(address, version, object, secret).map_err(|error| {
        CliFailure::new(Exit::Failed, format!("the secret {address} cannot be kept: {error}"))
    })?;
    // During the rotation of a variable, its previous value stays stored.
    let pending = address.starts_with(VARIABLE_PREFIX)
        && kept.rotating.contains(address)
        && kept.values.contains_key(address);
    Ok(Some(Record::SecretKept { address: address.into(), value: Box::new(value), pending }))
}

/// Stores the secrets that sinks have and the ledger lacks, and prints the addresses of those that are not available
/// anywhere. Does nothing if the ledger stores no secrets.
///
/// # Errors
/// When a value cannot be encrypted, or the ledger cannot be written.
pub(in crate::cli) async fn adopt_delivered(
    project: &LoadedStack,
    journal: &CommandJournal,
    known: &SecretValues,
) -> Result<(), CliFailure> {
    let ledger = journal.ledger().clone();
    if ledger.secrets.recipients.is_empty() {
        return Ok(());
    }
    let (mut records, mut missing) = (Vec::new(), Vec::new());
    for (name, secret) in known.iter().filter(|(_, secret)| secret.expose().is_some()) {
        let address = format!("{VARIABLE_PREFIX}{name}");
        let generated = ledger.generated.contains_key(name);
        if generated && !ledger.secrets.values.contains_key(address.as_str()) {
            records.extend(kept_secret_record(&ledger, &address, None, secret)?);
        }
    }
    for (address, resource) in &project.stack.resources {
        let entry =
            ledger.entries.get(address).filter(|entry| entry.current.is_some() && !entry.secret_lost);
        let kept = ledger.secrets.values.contains_key(address.as_str());
        if resource.kind.shown_once.is_none() || entry.is_none() || kept {
            continue;
        }
        match secret_sinks::read_delivered_secret(project, resource.deliver_secret.as_deref()) {
            Some(secret) => records.extend(kept_secret_record(&ledger, address.as_str(), None, &secret)?),
            None if resource.kind.reveal().is_some() => {}
            None => missing.push(address.as_str()),
        }
    }
    if !records.is_empty() {
        journal.commit(&records).await?;
    }
    if !missing.is_empty() {
        Ui::write_error(&format!(
            "The ledger does not keep the secrets of {}: no sink that stead can read has them. Give each: stead secret \
             set ADDRESS < FILE",
            missing.join(", ")
        ));
    }
    Ok(())
}

/// Completes the rotations whose new values are in use, and deletes the previous values.
///
/// # Errors
/// When the ledger cannot be written.
pub(in crate::cli) async fn finish_rotations(ui: &Ui, journal: &CommandJournal) -> Result<(), CliFailure> {
    let pending: Vec<Name> = {
        let ledger = journal.ledger();
        let kept = ledger.secrets.values.iter().filter(|(_, one)| one.pending.is_some());
        kept.map(|(address, _)| address.clone()).collect()
    };
    let done =
        |address: &Name| Record::SecretRotation { address: address.clone(), step: RotationStep::Done };
    let records: Vec<Record> = pending.iter().map(done).collect();
    if !records.is_empty() {
        journal.commit(&records).await?;
        for address in &pending {
            ui.write_message(&format!("The rotation of {address} is done: the previous value is deleted."));
        }
    }
    Ok(())
}

/// Returns the stored secret of an object whose sink did not take it; `None` if there is none for this id, or no
/// available identity decrypts it.
pub(in crate::cli) fn of_object(
    keyring: &Keyring<'_>,
    ledger: &Ledger,
    address: &Address,
    id: &str,
) -> Option<Secret> {
    let kept = ledger.secrets.values.get(address.as_str())?;
    let current = ledger.entries.get(address)?.current.as_ref()?;
    if current.id != id {
        return None;
    }
    keyring.decrypt_version(ledger, address.as_str(), &kept.current).ok().flatten()
}
