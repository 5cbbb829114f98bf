//! Secrets that stand in no file, on their way into a stack: asked of the user's programs, found again in
//! the live world, or generated, put where they are kept, and only then recorded and used.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::books::Book;
use super::delivery;
use super::exit::Exit;
use super::failure::Failure;
use super::files;
use super::program::PATIENCE;
use super::project::Project;
use crate::config::stack::{Awaited, SecretOrigin, SecretSink};
use crate::ledger::entry::{Generated, Ledger};
use crate::ledger::record::Record;
use crate::model::address::{Address, Name};
use crate::model::clock::Random;
use crate::model::diagnostic::nearest;
use crate::model::secret::Secret;
use crate::model::snapshot::Snapshot;
use crate::plan::change::{Operation, Plan};
use crate::plan::generated;

/// Secrets by the paths of their variables.
pub(super) type Secrets = BTreeMap<Name, Secret>;

/// Characters of generated secrets: none that a shell, an address or an env file takes for its own.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Returns the secrets of a stack that are at hand: what programs print, and what was generated before.
///
/// # Errors
/// When a program is not in the user's settings, or gives no secret.
pub(super) fn known(project: &Project, ledger: &Ledger, snapshot: &Snapshot) -> Result<Secrets, Failure> {
    let awaited = || project.stack.awaited.iter().filter(|(_, awaited)| awaited.value.is_awaited());
    let mut known = Secrets::new();
    let generated = |(_, one): &(_, &Awaited)| matches!(one.origin, SecretOrigin::Generated { .. });
    let mut shown = if awaited().any(|one| generated(&one)) {
        generated::found(ledger, snapshot)
    } else {
        Secrets::new()
    };
    for (name, awaited) in awaited() {
        let secret = match &awaited.origin {
            SecretOrigin::Source(source) => Some(asked(project, name, source)?),
            SecretOrigin::Generated { deliver, .. } => {
                let kept = || kept(project, deliver.as_ref());
                match generated::remembered(ledger, name, awaited) {
                    Some(print) => shown.remove(name).or_else(|| {
                        let key = &ledger.identity.key;
                        kept().filter(|secret| secret.fingerprint(key).as_ref() == Some(print))
                    }),
                    // A ledger that was rebuilt remembers none: what is in use is the one.
                    None if !ledger.generated.contains_key(name) => {
                        kept().filter(|secret| generated::is_shown(ledger, snapshot, secret))
                    }
                    None => None,
                }
            }
        };
        known.extend(secret.map(|secret| (name.clone(), secret)));
    }
    Ok(known)
}

/// Asks the user's program for a secret.
fn asked(project: &Project, variable: &Name, source: &Name) -> Result<Secret, Failure> {
    let settings = &project.settings;
    let upper = variable.to_uppercase().replace(['-', '.'], "_");
    if settings.untrusted {
        return Err(Failure::new(
            Exit::Failed,
            format!("vars.{variable}: --untrusted asks no program for a secret"),
        )
        .help("A stack from a stranger could name any of them, and show what it gave."));
    }
    let Some(program) = settings.sources.get(source) else {
        return Err(Failure::new(
            Exit::Usage,
            format!("vars.{variable}: your settings name no source `{source}`"),
        )
        .help(format!(
            "Write it in your settings.toml: [profiles.default.sources] {source} = [\"PROGRAM\", …];"
        ))
        .help(format!("or give the secret itself: STEAD_VAR_{upper}.")));
    };
    let wrong = |why: &str| {
        Failure::new(
            Exit::Failed,
            format!("vars.{variable}: the source `{source}` ({}) gives no secret: {why}", program.name()),
        )
        .help("It stands in the user's settings.toml; try it in a shell: it prints the secret and nothing else.")
    };
    let printed = about(program.clone(), project, &format!("vars.{variable}")).ask(PATIENCE);
    let printed = printed.map_err(|why| wrong(&why))?;
    let text = String::from_utf8(printed).map_err(|_| wrong("what it prints is no UTF-8 text"))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() { Err(wrong("it prints nothing")) } else { Ok(Secret::new(text)) }
}

/// Tells a program what its secret is for.
pub(super) fn about(
    program: super::program::Program,
    project: &Project,
    address: &str,
) -> super::program::Program {
    let stack = &project.stack;
    program
        .with("STEAD_STACK", &stack.name)
        .with("STEAD_ENVIRONMENT", &stack.environment.name)
        .with("STEAD_ADDRESS", address)
}

/// Returns what stands in the file that keeps a generated secret. The file is a copy: it counts only where
/// the ledger or a live object says that it is the one in use.
fn kept(project: &Project, sink: Option<&SecretSink>) -> Option<Secret> {
    let (path, variable) = match sink? {
        SecretSink::File(path) => (path, None),
        SecretSink::EnvFile { path, variable } => (path, Some(variable)),
        SecretSink::Program(_) => return None,
    };
    let text = files::read_optional_below(&project.directory, path.as_ref()).ok().flatten()?;
    Some(Secret::new(match variable {
        None => text.trim_end_matches(['\r', '\n']),
        Some(variable) => delivery::variable(&text, variable)?,
    }))
}

/// Refuses a stack that hands secrets to programs which the user's settings do not name.
///
/// # Errors
/// The first of them.
pub(super) fn check_sinks(project: &Project) -> Result<(), Failure> {
    let resources = project.stack.resources.values();
    let shown = resources.filter_map(|one| Some((one.address.to_string(), one.deliver_secret.as_ref()?)));
    let made = project.stack.awaited.iter().filter_map(|(name, awaited)| match &awaited.origin {
        SecretOrigin::Generated { deliver: Some(sink), .. } => Some((format!("vars.{name}"), sink)),
        _ => None,
    });
    for (address, sink) in shown.chain(made) {
        if let SecretSink::Program(name) = sink
            && !project.settings.sinks.contains_key(name)
        {
            let sinks: Vec<&str> = project.settings.sinks.keys().map(Name::as_str).collect();
            let profile = project.settings.profile.as_deref().unwrap_or("default");
            let known = match (nearest(name, sinks.iter().copied()), &*sinks) {
                (Some(near), _) => format!("Did you mean `{near}`?"),
                (None, []) => format!("The profile {profile} has no sinks."),
                (None, sinks) => format!("Those of the profile {profile} are: {}.", sinks.join(", ")),
            };
            return Err(Failure::new(
                Exit::Usage,
                format!("{address}: your settings name no sink `{name}`; nothing was applied"),
            )
            .help(known)
            .help(format!(
                "Write it in your settings.toml: [profiles.{profile}.sinks] {name} = [\"PROGRAM\", …];"
            ))
            .help("it takes the secret by its standard input."));
        }
    }
    Ok(())
}

/// Returns the stack with every secret that a plan's apply needs: those that nobody has yet are generated,
/// put where they are kept, and recorded, in this order. A crash in between costs a value that nothing uses.
///
/// # Errors
/// When one cannot be kept, or the ledger not be written: then nothing may be sent.
pub(super) async fn complete(
    project: &Project,
    plan: &Plan,
    journal: &Book,
    mut known: Secrets,
    random: &impl Random,
) -> Result<Option<Project>, Failure> {
    let writes = |operation: &Operation| !matches!(operation, Operation::Delete { .. });
    if project.stack.awaited.is_empty()
        || plan.base.destroy
        || !plan.steps.iter().any(|step| writes(&step.operation))
    {
        return Ok(None);
    }
    for (name, awaited) in &project.stack.awaited {
        let SecretOrigin::Generated { length, deliver } = &awaited.origin else { continue };
        if known.contains_key(name) {
            continue;
        }
        let secret = generate(*length, random);
        let address = Address::new("vars", name);
        if let Some(sink) = deliver {
            delivery::deliver(project, &address, sink, &secret).map_err(|error| {
                Failure::new(
                    Exit::Failed,
                    format!("vars.{name} was generated and cannot be kept: {error:#}; nothing was applied"),
                )
                .help("Mend that and apply again: another value is generated then.")
            })?;
        }
        let print = secret.fingerprint(&journal.ledger().identity.key).unwrap_or_default();
        let generated = Generated { fingerprint: print, length: *length };
        journal.commit(&[Record::Generated { variable: name.clone(), generated }]).await?;
        known.insert(name.clone(), secret);
    }
    project.knowing(&known).map(Some)
}

/// Returns a new secret, each character equally likely.
fn generate(length: usize, random: &impl Random) -> Secret {
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
    use crate::cloud::system::SystemRandom;

    #[test]
    fn generated_secrets_have_their_length_and_differ() {
        for length in [16, 32, 33, 128] {
            let all: BTreeSet<String> =
                (0..50).map(|_| generate(length, &SystemRandom).expose().unwrap().to_owned()).collect();
            assert_eq!(all.len(), 50);
            for text in all {
                assert!(text.len() == length && text.bytes().all(|b| b.is_ascii_alphanumeric()), "{text}");
            }
        }
    }
}
