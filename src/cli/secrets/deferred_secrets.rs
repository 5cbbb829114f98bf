//! Obtains the secrets that no file of the stack contains: from the user's programs, from live objects, or by
//! generating them. A generated secret is stored before it is recorded and used, so that a crash never leaves an
//! object with a secret that exists nowhere else.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::kept_secrets::{self, Keyring};
use super::output_secrets;
use super::secret_sinks::{self, SecretSinks, add_secret_context, read_delivered_secret};
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::helper_program::HELPER_TIMEOUT;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::secret_values::SecretValues;
use crate::config::stack::model::{DeferredSecret, SecretOrigin, SecretSink};
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::GeneratedSecret;
use crate::ledger::state::kept_secrets::{RotationStep, VARIABLE_PREFIX};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::clock::Random;
use crate::model::diagnostic::nearest_name;
use crate::model::live::snapshot::Snapshot;
use crate::model::values::secret::Secret;
use crate::plan::annotate::generated_secrets;
use crate::plan::decide::checks::kept_secrets::is_withheld;
use crate::plan::model::change::Plan;
use crate::plan::model::note::NoteCode;
use crate::plan::model::step::{Operation, Step};

/// Characters of generated secrets: none is special in a shell, a URL or an env file.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Returns the available secrets of a stack: those that programs print, and those generated before. Secrets that are
/// yet to be generated are left out.
///
/// # Errors
/// When a program is not in the user's settings or prints no secret, or the identity cannot be read.
pub(in crate::cli) fn collect_available_secrets(
    project: &LoadedStack,
    ledger: &Ledger,
    snapshot: &Snapshot,
) -> Result<AvailableSecrets, CliFailure> {
    let deferred =
        || project.stack.deferred_secrets.iter().filter(|(_, deferred)| deferred.value.is_deferred());
    let mut known = AvailableSecrets::default();
    let keyring = Keyring::new(&project.settings);
    let generated = |(_, one): &(_, &DeferredSecret)| matches!(one.origin, SecretOrigin::Generated { .. });
    let mut shown = if deferred().any(|one| generated(&one)) {
        generated_secrets::find_live_secrets(ledger, snapshot)
    } else {
        SecretValues::new()
    };
    for (name, deferred) in deferred() {
        let secret = match &deferred.origin {
            SecretOrigin::Source(source) => Some(ask_secret_program(project, name, source)?),
            SecretOrigin::Generated { deliver, .. } => {
                match generated_secrets::desired_fingerprint(ledger, name, deferred) {
                    Some(print) => {
                        let key = &ledger.identity.key;
                        let is_it = |secret: &Secret| {
                            secret.to_planned(key) == Secret::Fingerprint(Some(print.clone()))
                        };
                        let at_hand = shown.remove(name).filter(is_it);
                        let at_hand = at_hand
                            .or_else(|| read_delivered_secret(project, deliver.as_ref()).filter(is_it));
                        match at_hand {
                            Some(secret) => Some(secret),
                            None => known.decrypt_ledger_secret(&keyring, ledger, name)?,
                        }
                    }
                    // A rebuilt ledger has no fingerprint of it: the delivered secret is used only if
                    // a live object shows it.
                    None if !ledger.generated.contains_key(name) => {
                        read_delivered_secret(project, deliver.as_ref())
                            .filter(|secret| generated_secrets::is_shown(ledger, snapshot, secret))
                    }
                    None => None,
                }
            }
        };
        known.secrets.extend(secret.map(|secret| (name.clone(), secret)));
    }
    if !project.settings.untrusted {
        known.lock_undelivered(&keyring, ledger)?;
    }
    Ok(known)
}

/// The secrets of a stack that are in none of its files, as far as they are available.
#[derive(Debug, Default)]
pub(in crate::cli) struct AvailableSecrets {
    /// Values of the secrets, by variable path. Lost and locked ones have a placeholder that counts as equal to
    /// the value in use.
    pub(in crate::cli) secrets: SecretValues,
    /// Generated variables whose value is recorded and available nowhere.
    pub(in crate::cli) lost: BTreeSet<Name>,
    /// Addresses of stored secrets that no available identity decrypts.
    pub(in crate::cli) locked: BTreeSet<Name>,
}

impl AvailableSecrets {
    /// Decrypts a variable's value that only the ledger has. If no identity decrypts it, the value is assumed to
    /// equal the one in use, so that it is never replaced by another one.
    fn decrypt_ledger_secret(
        &mut self,
        keyring: &Keyring<'_>,
        ledger: &Ledger,
        name: &Name,
    ) -> Result<Option<Secret>, CliFailure> {
        let address = format!("{VARIABLE_PREFIX}{name}");
        let Some(kept) = ledger.secrets.values.get(address.as_str()) else {
            self.lost.insert(name.clone());
            return Ok(Some(Secret::new_withheld()));
        };
        let opened = keyring.decrypt_version(ledger, &address, kept.effective_version())?;
        if opened.is_none() {
            self.locked.insert(address.into());
        }
        Ok(Some(opened.unwrap_or_else(Secret::new_withheld)))
    }

    /// Records the secrets of objects that only the ledger has, and that no available identity decrypts.
    fn lock_undelivered(&mut self, keyring: &Keyring<'_>, ledger: &Ledger) -> Result<(), CliFailure> {
        let undelivered = ledger.entries.iter().filter(|(_, entry)| entry.secret_lost);
        let kept =
            undelivered.filter_map(|(address, _)| ledger.secrets.values.get_key_value(address.as_str()));
        for (address, kept) in kept {
            if keyring.decrypt_version(ledger, address, &kept.current)?.is_none() {
                self.locked.insert(address.clone());
            }
        }
        Ok(())
    }
}

/// Runs the user's program for a secret; a line end after its output is removed.
///
/// # Errors
/// When the stack is untrusted, the program is not defined, or it prints no secret. No error contains its output.
fn ask_secret_program(project: &LoadedStack, variable: &Name, source: &Name) -> Result<Secret, CliFailure> {
    let settings = &project.settings;
    let upper = variable.to_uppercase().replace(['-', '.'], "_");
    if settings.untrusted {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("vars.{variable}: with --untrusted, stead runs no program for a secret"),
        )
        .help("An untrusted stack could name any of them, and show what it returned."));
    }
    let Some(program) = settings.sources.get(source) else {
        return Err(CliFailure::new(
            Exit::Usage,
            format!("vars.{variable}: your settings define no source `{source}`"),
        )
        .help(format!(
            "Define it in your settings.toml: [profiles.default.sources] {source} = [\"PROGRAM\", …];"
        ))
        .help(format!("or give the secret itself: STEAD_VAR_{upper}.")));
    };
    let wrong = |why: &str| {
        CliFailure::new(
            Exit::Failed,
            format!("vars.{variable}: the source `{source}` ({}) returned no secret: {why}", program.name()),
        )
        .help("It is defined in the user's settings.toml; run it in a shell: it must print the secret and nothing else.")
    };
    let printed = add_secret_context(program.clone(), project, &format!("vars.{variable}"))
        .capture_output(HELPER_TIMEOUT);
    let printed = printed.map_err(|why| wrong(&why))?;
    let text = String::from_utf8(printed).map_err(|_| wrong("its output is not UTF-8 text"))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() { Err(wrong("it prints nothing")) } else { Ok(Secret::new(text)) }
}

/// Checks that the user's settings define every sink program of the stack, before a secret is generated for it.
///
/// # Errors
/// The first undefined program.
pub(in crate::cli) fn check_sinks(project: &LoadedStack) -> Result<(), CliFailure> {
    let resources = project.stack.resources.values();
    let shown = resources.filter_map(|one| Some((one.address.to_string(), one.deliver_secret.as_deref()?)));
    let made =
        project.stack.deferred_secrets.iter().filter_map(|(name, deferred)| match &deferred.origin {
            SecretOrigin::Generated { deliver: Some(sink), .. } => Some((format!("vars.{name}"), sink)),
            _ => None,
        });
    for (address, sink) in shown.chain(made) {
        if let SecretSink::Program(name) = sink
            && !project.settings.sinks.contains_key(name)
        {
            let sinks: Vec<&str> = project.settings.sinks.keys().map(Name::as_str).collect();
            let profile = project.settings.profile.as_deref().unwrap_or("default");
            let known = match (nearest_name(name, sinks.iter().copied()), &*sinks) {
                (Some(near), _) => format!("Did you mean `{near}`?"),
                (None, []) => format!("The profile {profile} has no sinks."),
                (None, sinks) => format!("Those of the profile {profile} are: {}.", sinks.join(", ")),
            };
            return Err(CliFailure::new(
                Exit::Usage,
                format!("{address}: your settings define no sink `{name}`; nothing was applied"),
            )
            .help(known)
            .help(format!(
                "Define it in your settings.toml: [profiles.{profile}.sinks] {name} = [\"PROGRAM\", …];"
            ))
            .help("it reads the secret from its standard input."));
        }
    }
    Ok(())
}

/// Returns the stack with every secret that an apply of the plan needs, and generates those that do not exist yet;
/// `None` if the stack has none, or nothing is sent and no output is kept. If the ledger stores secrets, it has a value before any sink or
/// request does. Otherwise the sink has it before the ledger has its fingerprint, so that a crash in between loses
/// only a value that nothing uses yet.
///
/// # Errors
/// When a secret cannot be stored, or the ledger cannot be written; then nothing may be sent.
pub(in crate::cli) async fn complete_secrets(
    sinks: SecretSinks<'_>,
    plan: &Plan,
    known: AvailableSecrets,
    random: &impl Random,
) -> Result<Option<LoadedStack>, CliFailure> {
    let SecretSinks { project, journal, .. } = sinks;
    if plan.base.destroy {
        return Ok(None);
    }
    kept_secrets::pin_recipients(&project.settings, plan, journal).await?;
    check_plaintext(project, plan, &known)?;
    let writes = |operation: &Operation| !matches!(operation, Operation::Delete { .. });
    let has_writes = plan.steps.iter().any(|step| writes(&step.operation));
    // Only what the plan says: a generated secret replaces the one that readers of an output have.
    let generates = has_writes || plan.has_note(NoteCode::Generated);
    let sends = generates || output_secrets::has_kept_outputs(&project.stack, &journal.ledger());
    let mut secrets = known.secrets;
    for (name, deferred) in &project.stack.deferred_secrets {
        let SecretOrigin::Generated { length, deliver } = &deferred.origin else { continue };
        let address = Address::new("vars", name);
        let rotates = journal.ledger().secrets.rotating.contains(address.as_str());
        let made = match secrets.get(name) {
            Some(secret) if secret.expose().is_none() => continue,
            Some(secret) => {
                replace_legacy_fingerprint(journal, name, secret).await?;
                let print = secret.fingerprint(&journal.ledger().identity.key);
                // Recorded only after its sink has it.
                let recorded = journal.ledger().generated.get(name).map(|one| one.fingerprint.clone());
                if recorded == print || !journal.ledger().secrets.values.contains_key(address.as_str()) {
                    continue;
                }
                secret.clone()
            }
            None if generates || rotates => {
                let secret = generate_secret(*length, random);
                let record =
                    kept_secrets::kept_secret_record(&journal.ledger(), address.as_str(), None, &secret)?;
                if let Some(record) = record {
                    journal.commit(&[record]).await?;
                }
                secret
            }
            None => continue,
        };
        deliver_generated(sinks, &address, deliver.as_ref(), (&made, random)).await?;
        record_generated(journal, name, &made, *length).await?;
        secrets.insert(name.clone(), made);
    }
    kept_secrets::adopt_delivered(project, journal, &secrets).await?;
    if project.stack.deferred_secrets.is_empty() || !sends {
        return Ok(None);
    }
    project.with_secrets(&secrets).map(Some)
}

/// Refuses an apply that would send a secret that is not available: a saved plan may come from a machine where it was.
fn check_plaintext(project: &LoadedStack, plan: &Plan, known: &AvailableSecrets) -> Result<(), CliFailure> {
    if known.lost.is_empty() && known.locked.is_empty() {
        return Ok(());
    }
    if project.stack.deferred_secrets.is_empty() {
        // Only secrets of objects are locked; the plan has a blocker for each delivery of one.
        return Ok(());
    }
    let whole = project.with_secrets(&known.secrets)?;
    let sends = |step: &&Step| match (&step.operation, whole.stack.resources.get(&step.address)) {
        (Operation::Create { .. }, Some(resource)) => {
            resource.attributes.values().any(|setting| is_withheld(&setting.expression))
        }
        (Operation::Update { calls, .. }, Some(resource)) => calls
            .iter()
            .flat_map(|call| call.attributes.keys())
            .filter_map(|name| resource.attributes.get(name))
            .any(|setting| is_withheld(&setting.expression)),
        _ => false,
    };
    match plan.steps.iter().find(sends) {
        None => Ok(()),
        Some(step) => {
            let what = format!(
                "{} needs the text of a secret that is not available here; nothing was applied",
                step.address
            );
            Err(CliFailure { exit: Exit::Blocked, ..super::identity::missing_identity(&what) })
        }
    }
}

/// Delivers a generated secret to its sink, if it has one; the ledger records the delivery first.
///
/// # Errors
/// When the ledger cannot be written, the sink fails, or it holds content that stead did not write.
pub(in crate::cli) async fn deliver_generated(
    sinks: SecretSinks<'_>,
    address: &Address,
    sink: Option<&SecretSink>,
    (secret, random): (&Secret, &impl Random),
) -> Result<(), CliFailure> {
    let Some(sink) = sink else { return Ok(()) };
    if let Some(record) = secret_sinks::delivery_record(address, sink, secret, random) {
        sinks.journal.commit(&[record]).await?;
    }
    sinks.deliver(address, sink, secret).map_err(|error| {
        let text = format!("{address} was generated and cannot be kept: {error:#}; nothing was applied");
        let help = if sinks.project.stack.recipients.is_some() {
            "Correct that and apply again: the ledger keeps the value, and the next apply delivers it."
        } else {
            "Correct that and apply again: the next apply generates another value."
        };
        CliFailure::new(Exit::Failed, text).help(help)
    })
}

/// Records the fingerprint of a generated secret after its delivery; `length` is in characters.
async fn record_generated(
    journal: &CommandJournal,
    name: &Name,
    secret: &Secret,
    length: usize,
) -> Result<(), CliFailure> {
    let print = secret.fingerprint(&journal.ledger().identity.key).unwrap_or_default();
    let generated = GeneratedSecret { fingerprint: print, length };
    let mut records = vec![Record::Generated { variable: name.clone(), generated }];
    let address = Name::new(format!("{VARIABLE_PREFIX}{name}"));
    let kept = journal.ledger().secrets.clone();
    if kept.rotating.contains(&address) && !kept.values.contains_key(&address) {
        // The previous value is not stored, so the rotation is complete with the new one.
        records.push(Record::SecretRotation { address, step: RotationStep::Done });
    }
    Ok(journal.commit(&records).await?)
}

/// Replaces the short fingerprint of a generated secret, which an earlier version recorded, by the full one; does
/// nothing for another one.
async fn replace_legacy_fingerprint(
    journal: &CommandJournal,
    variable: &Name,
    secret: &Secret,
) -> Result<(), CliFailure> {
    let (recorded, key) = {
        let ledger = journal.ledger();
        (ledger.generated.get(variable).cloned(), ledger.identity.key.clone())
    };
    let Some(GeneratedSecret { fingerprint, length }) = recorded else { return Ok(()) };
    let recorded = Secret::Fingerprint(Some(fingerprint));
    let is_legacy = recorded.has_legacy_fingerprint() && secret.to_planned(&key) == recorded;
    if let (true, Some(fingerprint)) = (is_legacy, secret.fingerprint(&key)) {
        let generated = GeneratedSecret { fingerprint, length };
        journal.commit(&[Record::Generated { variable: variable.clone(), generated }]).await?;
    }
    Ok(())
}

/// Generates a secret of `length` uniformly distributed characters.
fn generate_secret(length: usize, random: &impl Random) -> Secret {
    // Larger bytes are rejected: with them, the first characters of the alphabet would be more frequent.
    let fair = 256 - 256 % ALPHABET.len();
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut block = Sha256::new();
        for _ in 0..4 {
            block.update(random.uuid().as_bytes());
        }
        let letters = block.finalize().into_iter().map(usize::from).filter(|byte| *byte < fair);
        text.extend(
            letters.map(|byte| char::from(ALPHABET[byte % ALPHABET.len()])).take(length - text.len()),
        );
    }
    Secret::new(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cloud::system_clock::SystemRandom;

    #[test]
    fn generated_secrets_have_their_length_and_differ() {
        for length in [16, 32, 33, 128] {
            let all: BTreeSet<String> = (0..50)
                .map(|_| generate_secret(length, &SystemRandom).expose().unwrap().to_owned())
                .collect();
            assert_eq!(all.len(), 50);
            for text in all {
                assert!(text.len() == length && text.bytes().all(|b| b.is_ascii_alphanumeric()), "{text}");
            }
        }
    }
}
