//! Delivers secrets to the sinks that their blocks name.
//!
//! A file is changed only if it is empty, or holds what the ledger records as delivered there; the record is written
//! before the file, so that after a crash between the two the content is still known as delivered. Any other content
//! is an error until `--overwrite-secret` names the secret.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::apply::context::DeliveryError;
use crate::cli::files::stack_files;
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::ledger::recovery_file::RecoveryFile;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::helper_program::{HELPER_TIMEOUT, HelperProgram};
use crate::cli::stack::project::LoadedStack;
use crate::config::check::secret_sinks::target_of;
use crate::config::stack::model::{SecretSink, SinkUse};
use crate::ledger::journal::record::Record;
use crate::ledger::state::entry::{Entry, SinkDelivery};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::clock::Random;
use crate::model::diagnostic::nearest_name;
use crate::model::values::secret::Secret;

/// Delivery of the secrets of one apply.
#[derive(Clone, Copy)]
pub(in crate::cli) struct SecretSinks<'a> {
    pub(in crate::cli) project: &'a LoadedStack,
    /// Open ledger, which records the deliveries.
    pub(in crate::cli) journal: &'a CommandJournal,
    /// Secrets whose sinks may be overwritten regardless of their content, by address.
    pub(in crate::cli) overwrite: &'a BTreeSet<Name>,
}

/// Returns the function that delivers a stack's secrets; for a resource without a sink it does nothing. Its
/// arguments are address, id and secret. A secret that its sink does not take is written to a private file, whose
/// path is reported, unless the ledger stores secrets.
pub(in crate::cli) fn to_sinks<'a>(
    sinks: SecretSinks<'a>,
    rescue: &'a RecoveryFile,
) -> impl Fn(&Address, &str, &Secret) -> Result<(), DeliveryError> + 'a {
    move |address, id, secret| {
        let Some(sink) = sink_of(sinks.project, address) else { return Ok(()) };
        sinks.deliver(address, sink, secret).map_err(|error| DeliveryError {
            reason: format!("{error:#}"),
            // The ledger stores the secret already, so a copy in plain text is not needed.
            kept: if sinks.project.stack.recipients.is_some() {
                Some("the ledger, encrypted".to_owned())
            } else {
                secret
                    .expose()
                    .and_then(|text| rescue.keep_secret((address, id), text).ok())
                    .map(|path| stack_files::display_path(&path))
            },
        })?;
        // The sink has the secret, so the copy is not needed anymore.
        rescue.drop_secret((address, id));
        Ok(())
    }
}

/// Returns the function that makes the record of a delivery before it begins; it returns `None` for a resource whose
/// sink is not a file.
pub(in crate::cli) fn delivery_recorder<'a>(
    project: &'a LoadedStack,
    random: &'a impl Random,
) -> impl Fn(&Address, &Secret) -> Option<Record> + 'a {
    move |address, secret| delivery_record(address, sink_of(project, address)?, secret, random)
}

/// Returns the record of a delivery before it begins; `None` for a sink that is not a file, whose
/// content stead cannot check.
pub(in crate::cli) fn delivery_record(
    address: &Address,
    sink: &SecretSink,
    secret: &Secret,
    random: &impl Random,
) -> Option<Record> {
    let target = target_of(sink)?.key();
    let delivery = SinkDelivery::new(Name::new(address.as_str()), secret, random)?;
    Some(Record::Delivered { target, delivery })
}

fn sink_of<'a>(project: &'a LoadedStack, address: &Address) -> Option<&'a SecretSink> {
    project.stack.resources.get(address)?.deliver_secret.as_deref()
}

/// Returns whether the secret of a resource is delivered to a sink, or stored in the ledger.
pub(in crate::cli) fn is_wanted(project: &LoadedStack, address: &Address) -> bool {
    project.stack.recipients.is_some() || sink_of(project, address).is_some()
}

/// Returns the function that finds secrets which their sinks did not take, in the recovery files; it returns `None`
/// for a resource without a sink.
pub(in crate::cli) fn undelivered_secrets<'a>(
    project: &'a LoadedStack,
    rescue: &'a RecoveryFile,
) -> impl Fn(&Address, &str) -> Option<Secret> + 'a {
    move |address, id| {
        project.stack.resources.get(address)?.deliver_secret.as_deref()?;
        rescue.kept_secret((address, id))
    }
}

/// Returns the resources whose secrets did not reach their sinks, and are stored on this machine or in the ledger.
pub(in crate::cli) fn undelivered_resources(project: &LoadedStack, ledger: &Ledger) -> BTreeSet<Address> {
    let rescue = RecoveryFile::new(project.settings.state.as_deref(), ledger.identity.lineage);
    let kept = undelivered_secrets(project, &rescue);
    let is_kept = |(address, entry): &(&Address, &Entry)| {
        let in_ledger = || ledger.secrets.values.contains_key(address.as_str());
        let rescued = || entry.current.as_ref().is_some_and(|own| kept(address, &own.id).is_some());
        entry.secret_lost && (in_ledger() || rescued())
    };
    ledger.entries.iter().filter(is_kept).map(|(address, _)| address.clone()).collect()
}

/// Returns the sinks with content that stead did not deliver, by the addresses of their secrets, and a sentence
/// about that content. Empty for an untrusted stack, of which no file is read.
pub(in crate::cli) fn occupied_sinks(
    project: &LoadedStack,
    ledger: &Ledger,
    overwrite: &BTreeSet<Name>,
) -> BTreeMap<Name, String> {
    if project.settings.untrusted {
        return BTreeMap::new();
    }
    let all = project.stack.sinks.iter().filter(|one| !overwrite.contains(&one.address));
    all.filter_map(|one| Some((one.address.clone(), why_occupied(project, ledger, one)?))).collect()
}

/// Returns why a sink cannot be written, or what would be overwritten; `None` if it is free.
fn why_occupied(project: &LoadedStack, ledger: &Ledger, one: &SinkUse) -> Option<String> {
    let (SecretSink::File(path) | SecretSink::EnvFile { path, .. }) = &one.sink else { return None };
    let unusable =
        |why: &str| Some(format!("The secret of {} cannot be delivered to {path}: {why}.", one.address));
    let text = match stack_files::read_optional_below(&project.directory, Path::new(path)) {
        Ok(text) => text?,
        Err(error) => return unusable(&error.to_string()),
    };
    foreign_content(ledger, &one.address, &one.sink, &text).map(|what| {
        format!(
            "The secret of {} would replace {what} in {path}, which no apply of this stack put there.",
            one.address
        )
    })
}

/// Checks that the stack delivers every secret that `--overwrite-secret` names.
///
/// # Errors
/// The first such secret.
pub(in crate::cli) fn check_named(
    project: &LoadedStack,
    overwrite: &BTreeSet<Name>,
) -> Result<(), CliFailure> {
    let known = || project.stack.sinks.iter().map(|one| one.address.as_str());
    let Some(name) = overwrite.iter().find(|name| !known().any(|known| known == name.as_str())) else {
        return Ok(());
    };
    let help = match nearest_name(name, known()) {
        Some(near) => format!("Did you mean {near}?"),
        None if known().next().is_none() => "It delivers no secret at all.".to_owned(),
        None => format!("It delivers the secrets of: {}.", known().collect::<Vec<_>>().join(", ")),
    };
    Err(CliFailure::new(Exit::Usage, format!("--overwrite-secret: the stack delivers no secret of {name}"))
        .help(help))
}

fn overwrite_remedy(address: &str) -> String {
    format!("Move it elsewhere; or allow the overwrite: --overwrite-secret {address}.")
}

/// Returns a description of a sink's content that stead did not deliver; `None` if an overwrite loses nothing.
fn foreign_content(ledger: &Ledger, address: &str, sink: &SecretSink, text: &str) -> Option<&'static str> {
    let target = target_of(sink)?.key();
    // A ledger from before delivery records has only the fingerprints of its generated secrets.
    let generated = address.strip_prefix("vars.").and_then(|name| ledger.generated.get(name));
    let is_ours = |content: &str| {
        let content = Secret::new(content);
        let print = content.fingerprint(&ledger.identity.key);
        ledger.delivered_there(&target, &content)
            || generated.is_some_and(|known| print.as_ref() == Some(&known.fingerprint))
    };
    match sink {
        SecretSink::EnvFile { variable, .. } => {
            lines_of(text, variable).any(|line| !is_ours(line.value)).then_some("a line")
        }
        _ if text.is_empty() || is_ours(text.strip_suffix('\n').unwrap_or(text)) => None,
        _ => Some("content"),
    }
}

impl SecretSinks<'_> {
    /// Delivers a secret to its sink; durable on return for a file.
    ///
    /// # Errors
    /// When the file cannot be written or holds other content, or the program fails. No error contains the secret.
    pub(in crate::cli) fn deliver(
        &self,
        address: &Address,
        sink: &SecretSink,
        secret: &Secret,
    ) -> anyhow::Result<()> {
        let project = self.project;
        let text = secret.expose().ok_or_else(|| anyhow::anyhow!("the secret's text is not known here"))?;
        let (path, variable) = match sink {
            SecretSink::File(path) => (path, None),
            SecretSink::EnvFile { path, variable } => (path, Some(variable)),
            SecretSink::Program(name) => {
                let program = project.settings.sinks.get(name);
                let program =
                    program.ok_or_else(|| anyhow::anyhow!("the settings define no sink `{name}`"))?;
                let told = add_secret_context(program.clone(), project, address.as_str())
                    .send_input(text, HELPER_TIMEOUT);
                return told
                    .map_err(|why| anyhow::anyhow!("the sink `{name}` ({}): {why}", program.name()));
            }
        };
        stack_files::change_private_below(&project.directory, Path::new(path), |old| {
            let old = old.unwrap_or_default();
            let ledger = self.journal.ledger();
            let foreign = foreign_content(&ledger, address.as_str(), sink, old);
            if let Some(what) = foreign.filter(|_| !self.overwrite.contains(address.as_str())) {
                anyhow::bail!(
                    "{path} contains {what} that stead did not write. {}",
                    overwrite_remedy(address.as_str())
                );
            }
            match variable {
                None => Ok(format!("{text}\n")),
                Some(variable) => with_variable(old, variable, text),
            }
        })
    }
}

/// A line of an env file that sets a variable.
struct EnvFileLine<'t> {
    /// The whole line, with its line end.
    whole: &'t str,
    /// The value, without single quotes around it.
    value: &'t str,
}

/// Returns the lines of an env file that set a variable, in order, with or without `export`.
fn lines_of<'t>(text: &'t str, variable: &str) -> impl Iterator<Item = EnvFileLine<'t>> {
    text.split_inclusive('\n').filter_map(move |whole| {
        let line = whole.trim_end_matches(['\r', '\n']);
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let name = name.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t'])).unwrap_or(name);
        (name.trim() == variable).then(|| {
            let value =
                value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
            EnvFileLine { whole, value }
        })
    })
}

/// Returns the value of a variable: that of the last line of an env file that sets it; `None` if no line does.
pub(in crate::cli) fn env_file_value<'t>(text: &'t str, variable: &str) -> Option<&'t str> {
    lines_of(text, variable).last().map(|line| line.value)
}

/// Returns an env file's content with one variable set: its last line is replaced in place, its other lines are
/// removed, and all other bytes stay unchanged.
///
/// # Errors
/// When the value contains a line break or a single quote: what reads the file would see another value.
fn with_variable(old: &str, variable: &str, value: &str) -> anyhow::Result<String> {
    anyhow::ensure!(
        !value.contains(['\n', '\r', '\'']),
        "an env file cannot hold a value with a line break or a quote"
    );
    let assignment = format!("{variable}='{value}'");
    let ours: Vec<*const u8> = lines_of(old, variable).map(|line| line.whole.as_ptr()).collect();
    let mut text = String::with_capacity(old.len() + variable.len() + value.len() + 4);
    for line in old.split_inclusive('\n') {
        if ours.last() == Some(&line.as_ptr()) {
            let end = &line[line.trim_end_matches(['\r', '\n']).len()..];
            text += &assignment;
            text += if end.is_empty() { "\n" } else { end };
        } else if !ours.contains(&line.as_ptr()) {
            text.push_str(line);
        }
    }
    if ours.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text += &assignment;
        text.push('\n');
    }
    Ok(text)
}

/// Adds variables with the stack, the environment and the address, so that one program can serve several secrets.
pub(in crate::cli) fn add_secret_context(
    program: HelperProgram,
    project: &LoadedStack,
    address: &str,
) -> HelperProgram {
    let stack = &project.stack;
    program
        .with_variable("STEAD_STACK", &stack.name)
        .with_variable("STEAD_ENVIRONMENT", &stack.environment.name)
        .with_variable("STEAD_ADDRESS", address)
}

/// Returns the secret in the file that it was delivered to; `None` if the sink is not a file, or the file cannot be
/// read. The file is a copy: it is used only if the ledger or a live object confirms that this value is in use.
pub(in crate::cli) fn read_delivered_secret(
    project: &LoadedStack,
    sink: Option<&SecretSink>,
) -> Option<Secret> {
    let (path, variable) = match sink? {
        SecretSink::File(path) => (path, None),
        SecretSink::EnvFile { path, variable } => (path, Some(variable)),
        SecretSink::Program(_) => return None,
    };
    let text = stack_files::read_optional_below(&project.directory, path.as_ref()).ok().flatten()?;
    Some(Secret::new(match variable {
        None => text.trim_end_matches(['\r', '\n']),
        Some(variable) => env_file_value(&text, variable)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::system_clock::SystemRandom;
    use crate::ledger::journal::replay::apply_record;
    use crate::ledger::state::entry::LedgerIdentity;

    #[test]
    fn an_env_file_sink_sets_one_variable_and_keeps_the_rest() {
        assert_eq!(with_variable("", "A", "x").unwrap(), "A='x'\n");
        assert_eq!(with_variable("# c\nA=old\nB=1", "A", "x").unwrap(), "# c\nA='x'\nB=1");
        assert_eq!(with_variable("B=1", "A", "x").unwrap(), "B=1\nA='x'\n");
        assert_eq!(
            with_variable("export A=0\r\n\r\n A = 1\r\nB\r\n", "A", "x").unwrap(),
            "\r\nA='x'\r\nB\r\n"
        );
        assert!(with_variable("", "A", "x\ny").is_err());
        assert_eq!(env_file_value("# A=0\nA=old\nB=1\nA='x=1'\n", "A"), Some("x=1"));
        assert_eq!((env_file_value("B=1\n", "B"), env_file_value("B=1\n", "A")), (Some("1"), None));
        assert_eq!(
            (env_file_value("export A=1", "A"), env_file_value("exportA=1", "A")),
            (Some("1"), None)
        );
    }

    #[test]
    fn only_a_secret_delivered_by_stead_is_overwritten() {
        let mut ledger = Ledger::new(LedgerIdentity::new_random("shop", "prod", &SystemRandom));
        let address = Address::new("api_key", "ci");
        let file = SecretSink::File("./Key".to_owned());
        let line = SecretSink::EnvFile { path: ".env".to_owned(), variable: "KEY".into() };
        for (sink, text) in [(&file, "one\n"), (&line, "A=1\nKEY='one'\n")] {
            let foreign = |ledger: &Ledger, text: &str| foreign_content(ledger, "api_key.ci", sink, text);
            assert!(foreign(&ledger, text).is_some());
            let known = delivery_record(&address, sink, &Secret::new("one"), &SystemRandom).unwrap();
            apply_record(&mut ledger, &known).unwrap();
            assert_eq!(foreign(&ledger, text), None);
            assert_eq!(foreign(&ledger, ""), None);
            for other in
                [text.replace("one", "two"), format!("{text}{text}KEY=x"), text.replace("one", "one ")]
            {
                assert!(foreign(&ledger, &other).is_some(), "{other}");
            }
            // A crash before the second one was written leaves the first.
            let next = delivery_record(&address, sink, &Secret::new("three"), &SystemRandom).unwrap();
            apply_record(&mut ledger, &next).unwrap();
            assert_eq!(foreign(&ledger, text), None);
        }
        let elsewhere = SecretSink::File("other".to_owned());
        assert!(foreign_content(&ledger, "api_key.ci", &elsewhere, "one\n").is_some());
        assert_eq!(foreign_content(&ledger, "api_key.ci", &line, "KEYS=1\nA='KEY=2'\n"), None);
    }
}
