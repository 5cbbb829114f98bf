//! `stead secret rekey`: encrypts all stored secrets to the stack's current recipients.
//!
//! The new set is pinned first. Values that are still encrypted to the previous set have an older generation, so
//! that another run completes one that was killed.

use std::collections::BTreeSet;

use clap::Args;

use super::lookup::open_existing_ledger;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, CommandJournal};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::{identity, kept_secrets};
use crate::ledger::age_file::AgeIdentity;
use crate::ledger::journal::record::Record;
use crate::ledger::state::kept_secrets::OUTPUT_PREFIX;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::values::secret::Secret;
use crate::report::json;

/// Command-line arguments of `stead secret rekey`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  STEAD_AGE_IDENTITY=~/stead-identity stead secret rekey -e prod")]
pub struct SecretRekeyArgs {
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Maximum number of values in one commit, which bounds the size of a journal write.
const BATCH: usize = 256;

/// A decrypted value that will be encrypted again, under the same version.
struct DecryptedSecret {
    address: Name,
    version: u64,
    pending: bool,
    secret: Secret,
}

/// Encrypts all stored secrets to the current recipients; returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When the stack names none, the settings do not allow one of them, the identity is not a pinned recipient, or the
/// ledger cannot be written.
pub(super) async fn run(session: &CommandContext, args: &SecretRekeyArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let place = session.ledger_location(&project)?;
    let Some(declared) = &project.stack.recipients else {
        return Err(CliFailure::new(Exit::Failed, "the stack names no recipients")
            .help("Add them first: secrets: { recipients: [age1…] }"));
    };
    kept_secrets::check_allowed(&session.settings, declared.names.iter())?;
    let journal = open_existing_ledger(session, &project, &place).await?;
    let done = under_lock(session, args, &journal, &declared.names).await;
    ledger_io::close_after(journal, done).await
}

async fn under_lock(
    session: &CommandContext,
    args: &SecretRekeyArgs,
    journal: &CommandJournal,
    declared: &BTreeSet<Name>,
) -> Result<Exit, CliFailure> {
    let ledger = journal.ledger().clone();
    let pinned = &ledger.secrets.recipients;
    if pinned.is_empty() {
        return Err(CliFailure::new(
            Exit::Failed,
            "no recipients are pinned yet: there is nothing to encrypt again",
        )
        .help("The next apply pins those of the stack."));
    }
    if pinned == declared && ledger.secrets.outdated_addresses().next().is_none() {
        session.ui.report_done("Every kept secret is encrypted to the stack's recipients already.");
        return Ok(Exit::Done);
    }
    kept_secrets::warn_unauthenticated(&session.settings, &ledger);
    let identities = identity::require_identities(&session.settings)?;
    let opened = open_all(&ledger, &identities, declared)?;
    let removed: Vec<&Name> = pinned.difference(declared).collect();
    let added: Vec<&Name> = declared.difference(pinned).collect();
    for (what, names) in [("adds", &added), ("removes", &removed)] {
        for name in names {
            session.ui.write_message(&format!("{what} {name}"));
        }
    }
    let question = format!("Encrypt {} kept secrets to these {} recipients?", opened.len(), declared.len());
    if !ledger_io::while_kept(journal, session.ui.confirm_action(args.yes, &question)).await? {
        return Ok(Exit::Failed);
    }
    if pinned != declared {
        journal.commit(&[Record::SecretRecipients { recipients: declared.clone() }]).await?;
    }
    for batch in opened.chunks(BATCH) {
        let records: Vec<Record> = {
            let ledger = journal.ledger();
            batch.iter().map(|one| encrypt_record(&ledger, one)).collect::<Result<_, _>>()?
        };
        journal.commit(&records).await?;
    }
    report_rekeyed(session, &journal.ledger(), opened.len());
    Ok(Exit::Done)
}

/// Decrypts every value before anything is written, so that a missing identity changes nothing. The user's identity
/// must belong to a pinned recipient, unless an interrupted run is resumed.
fn open_all(
    ledger: &Ledger,
    identities: &[AgeIdentity],
    declared: &BTreeSet<Name>,
) -> Result<Vec<DecryptedSecret>, CliFailure> {
    let kept = &ledger.secrets;
    let is_pinned = identities.iter().any(|one| kept.recipients.contains(&one.recipient()));
    // After a crash the new recipients are pinned already, but the remaining values are encrypted to the previous ones.
    let resumes = kept.recipients == *declared;
    if !is_pinned && !resumes {
        return Err(CliFailure::new(
            Exit::Failed,
            "the identity is not one of the pinned recipients; nothing was written",
        )
        .help("A user with the identity of a pinned recipient must confirm other recipients."));
    }
    let mut opened = Vec::with_capacity(kept.values.len());
    for (address, one) in &kept.values {
        let versions = [(Some(&one.current), false), (one.pending.as_ref(), true)];
        for (version, pending) in
            versions.into_iter().filter_map(|(version, pending)| Some((version?, pending)))
        {
            if resumes && version.generation == kept.generation {
                continue;
            }
            let secret = ledger
                .decrypt_secret(identities, address, version)
                .map_err(|error| kept_secrets::unusable_secret(address, &error))?;
            opened.push(DecryptedSecret {
                address: address.clone(),
                version: version.version,
                pending,
                secret,
            });
        }
    }
    Ok(opened)
}

fn encrypt_record(ledger: &Ledger, one: &DecryptedSecret) -> Result<Record, CliFailure> {
    let value = ledger
        .encrypt_secret(&one.address, one.version, None, &one.secret)
        .map_err(|error| kept_secrets::unusable_secret(&one.address, &error))?;
    Ok(Record::SecretKept { address: one.address.clone(), value: Box::new(value), pending: one.pending })
}

/// Reports the result, and the secrets that former recipients can still read in older copies.
fn report_rekeyed(session: &CommandContext, ledger: &Ledger, count: usize) {
    let kept = &ledger.secrets;
    let exposed: Vec<(&Name, Vec<&Name>)> = kept
        .values
        .iter()
        .map(|(address, one)| {
            (address, kept.former_recipients(one.effective_version()).collect::<Vec<_>>())
        })
        .filter(|(_, former)| !former.is_empty())
        .collect();
    if session.ui.json {
        let former: Vec<_> = exposed
            .iter()
            .map(|(address, names)| serde_json::json!({ "address": address, "former": names }))
            .collect();
        let document = serde_json::json!({
            "schema_version": json::SCHEMA_VERSION,
            "recipients": kept.recipients,
            "encrypted": count,
            "exposed": former,
        });
        session.ui.write_result(&json::to_pretty(&document));
        return;
    }
    session.ui.write_message(&format!(
        "{count} kept secrets are encrypted to {} recipients.",
        kept.recipients.len()
    ));
    if !exposed.is_empty() {
        session.ui.write_message(
            "Removed recipients may have older copies of the ledger. Rotate the secrets that they could read:",
        );
        for (address, _) in exposed {
            session.ui.write_message(&match address.strip_prefix(OUTPUT_PREFIX) {
                // The value of an output changes with the secret that it is made of.
                Some(output) => format!("  what the output {output} is made of"),
                None => format!("  {}", session.command_line(&format!("secret rotate {address}"))),
            });
        }
    }
}
