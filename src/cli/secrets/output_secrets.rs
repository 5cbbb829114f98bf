//! Secret outputs, which other stacks read: the ledger of the stack keeps them encrypted, and a reader decrypts them with
//! the user's identity. In: the outputs of a stack, or the ledger of another one. Out: records, or outputs whose secrets
//! have their text. Invariant: a ledger that keeps no secrets gives no secret to a reader.

use std::collections::{BTreeMap, BTreeSet};

use super::kept_secrets::{Keyring, kept_secret_record};
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::process::failure::CliFailure;
use crate::config::stack::model::Stack;
use crate::ledger::state::kept_secrets::OUTPUT_PREFIX;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value};

/// Stores the secret outputs that a run recorded and that changed, encrypted; does nothing if the ledger keeps no secrets.
/// `bound` has the values of secrets and of what the stack reads. A run that failed stores them, too: the text of a generated
/// secret is not known to the next one.
///
/// # Errors
/// When a value cannot be encrypted, or the ledger cannot be written.
pub(in crate::cli) async fn keep_outputs(
    bound: &Stack,
    journal: &CommandJournal,
    recorded: &BTreeMap<Name, Value>,
) -> Result<(), CliFailure> {
    let ledger = journal.ledger().clone();
    let mut records = Vec::new();
    for (name, output) in bound.outputs.iter().filter(|(name, _)| recorded.contains_key(*name)) {
        let Some(Value::Secret(secret)) = output.expression.known_value() else { continue };
        if secret.expose().is_some() && !ledger.keeps_output(name, secret) {
            let address = format!("{OUTPUT_PREFIX}{name}");
            records.extend(kept_secret_record(&ledger, &address, None, secret)?);
        }
    }
    if !records.is_empty() {
        journal.commit(&records).await?;
    }
    Ok(())
}

/// Returns whether a stack has a secret output that its ledger keeps, so that an apply needs the values of its secrets.
pub(in crate::cli) fn has_kept_outputs(stack: &Stack, ledger: &Ledger) -> bool {
    let mut outputs = stack.outputs.values();
    !ledger.secrets.recipients.is_empty() && outputs.any(|output| output.expression.is_secret())
}

/// Returns whether a ledger lacks a secret output that an apply would store. A secret without a text is not compared.
pub(in crate::cli) fn lacks_output(ledger: &Ledger, name: &Name, secret: &Secret) -> bool {
    let keeps = !ledger.secrets.recipients.is_empty() && !ledger.entries.is_empty();
    keeps && secret.expose().is_some() && !ledger.keeps_output(name, secret)
}

/// Returns the outputs of another stack's ledger as a reader gets them: the secrets among `reads` are decrypted, and withheld
/// if no identity of this run can. A secret that the ledger does not keep stays a fingerprint.
///
/// # Errors
/// When a kept value was changed, or the identity is invalid.
pub(in crate::cli) fn open_outputs<'n>(
    keyring: &Keyring<'_>,
    (alias, reads): (&Name, impl Iterator<Item = &'n Name>),
    ledger: &Ledger,
) -> Result<Option<Attributes>, CliFailure> {
    let Some(mut outputs) = ledger.outputs.clone() else { return Ok(None) };
    for name in reads {
        let address = format!("{OUTPUT_PREFIX}{name}");
        let (Some(Value::Secret(_)), Some(kept)) =
            (outputs.get(name), ledger.secrets.values.get(address.as_str()))
        else {
            continue;
        };
        let secret = keyring.decrypt_version(ledger, &address, &kept.current)?;
        let secret = secret.unwrap_or_else(Secret::new_withheld);
        outputs.insert(name.clone(), Value::Secret(as_read(secret, alias, name)));
    }
    Ok(Some(outputs))
}

/// Returns a planned secret output as a reader gets it, a substitute if the apply of its stack generates it; `None` if even
/// whether it is a text is not known.
pub(in crate::cli) fn planned_secret(secret: &Secret, alias: &Name, name: &Name) -> Option<Secret> {
    if secret.is_withheld() {
        return Some(as_read(Secret::new_withheld(), alias, name));
    }
    let read = secret.expose().map(Secret::new).or_else(|| substitute_for(secret))?;
    Some(as_read(read, alias, name))
}

/// Returns the substitute for a secret that has no text yet, without its name: a reader names it in its own way.
fn substitute_for(secret: &Secret) -> Option<Secret> {
    if let Secret::Derived(derived) = secret {
        let computed = derived.to_computable().filter(|_| derived.is_deferred())?;
        return Some(Secret::new_deferred(computed.as_text()?));
    }
    secret.computable_text().map(Secret::new_deferred)
}

/// Returns whether an identity of this run decrypts what the ledger of another stack keeps, or will keep: secrets are encrypted
/// to the recipients that it has pinned, before its first apply to those that the stack declares.
///
/// # Errors
/// When the identity is invalid.
pub(in crate::cli) fn can_decrypt(
    keyring: &Keyring<'_>,
    ledger: &Ledger,
    declared: &BTreeSet<Name>,
) -> Result<bool, CliFailure> {
    let pinned = &ledger.secrets.recipients;
    let recipients = if pinned.is_empty() { declared } else { pinned };
    Ok(keyring.identities()?.iter().any(|identity| recipients.contains(&identity.recipient())))
}

/// Returns the path that a reader writes for an output of another stack.
pub(in crate::cli) fn read_path(alias: &Name, name: &Name) -> Name {
    Name::new(format!("stacks.{alias}.{name}"))
}

/// Names a secret by the path that the reader writes: what is computed from it is identified by that.
fn as_read(secret: Secret, alias: &Name, name: &Name) -> Secret {
    secret.named_after(&read_path(alias, name))
}
