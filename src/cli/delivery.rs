//! Delivers a secret that is shown once to the sink that its block names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::apply::run::Undelivered;
use crate::cli::awaited;
use crate::cli::files;
use crate::cli::program::PATIENCE;
use crate::cli::project::Project;
use crate::cli::rescue::Rescue;
use crate::config::stack::SecretSink;
use crate::ledger::entry::{Entry, Ledger};
use crate::model::address::Address;
use crate::model::secret::Secret;

/// Returns the delivery of a stack's secrets; a resource without a sink takes nothing. What its sink
/// does not take is kept in a private file, and where is told.
pub(super) fn to_sinks<'a>(
    project: &'a Project,
    rescue: &'a Rescue,
) -> impl Fn(&Address, &str, &Secret) -> Result<(), Undelivered> + 'a {
    move |address, id, secret| {
        let Some(sink) = project.stack.resources.get(address).and_then(|r| r.deliver_secret.as_ref())
        else {
            return Ok(());
        };
        deliver(project, address, sink, secret).map_err(|error| Undelivered {
            reason: format!("{error:#}"),
            kept: secret
                .expose()
                .and_then(|text| rescue.keep_secret((address, id), text).ok())
                .map(|path| files::shown(&path)),
        })?;
        // Its sink has it: a second copy is one too many.
        rescue.drop_secret((address, id));
        Ok(())
    }
}

/// Returns what finds secrets again that their sinks did not take; none of a resource without a sink.
pub(super) fn kept<'a>(
    project: &'a Project,
    rescue: &'a Rescue,
) -> impl Fn(&Address, &str) -> Option<Secret> + 'a {
    move |address, id| {
        project.stack.resources.get(address)?.deliver_secret.as_ref()?;
        rescue.kept_secret((address, id))
    }
}

/// Returns the resources whose secrets did not reach their sinks and are kept on this machine.
pub(super) fn undelivered(project: &Project, ledger: &Ledger) -> BTreeSet<Address> {
    let rescue = Rescue::new(project.settings.state.as_deref(), ledger.identity.lineage);
    let kept = kept(project, &rescue);
    let is_kept = |(address, entry): &(&Address, &Entry)| {
        entry.secret_lost && entry.current.as_ref().is_some_and(|own| kept(address, &own.id).is_some())
    };
    ledger.entries.iter().filter(is_kept).map(|(address, _)| address.clone()).collect()
}

/// Puts a secret where it goes; durable on return.
///
/// # Errors
/// When the file cannot be written, or the program does not take it. No error holds the secret.
pub(super) fn deliver(
    project: &Project,
    address: &Address,
    sink: &SecretSink,
    secret: &Secret,
) -> anyhow::Result<()> {
    let text = secret.expose().ok_or_else(|| anyhow::anyhow!("the secret is sealed"))?;
    let written = match sink {
        SecretSink::File(path) => {
            let text = format!("{text}\n");
            files::write_private_below(&project.directory, Path::new(path), text.as_bytes())
        }
        SecretSink::EnvFile { path, variable } => {
            let path = Path::new(path);
            let old = files::read_optional_below(&project.directory, path)?.unwrap_or_default();
            let text = with_variable(&old, variable, text)?;
            files::write_private_below(&project.directory, path, text.as_bytes())
        }
        SecretSink::Program(name) => {
            let program = project.settings.sinks.get(name);
            let program = program.ok_or_else(|| anyhow::anyhow!("the settings name no sink `{name}`"))?;
            let told = awaited::about(program.clone(), project, address.as_str()).tell(text, PATIENCE);
            return told.map_err(|why| anyhow::anyhow!("the sink `{name}` ({}): {why}", program.name()));
        }
    };
    Ok(written?)
}

/// Returns the value that a line of an env file gives a variable.
pub(super) fn variable<'t>(text: &'t str, variable: &str) -> Option<&'t str> {
    let value = text.lines().rev().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == variable).then_some(value)
    })?;
    Some(value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value))
}

/// Returns an env file's text with one variable set, everything else as it was.
fn with_variable(old: &str, variable: &str, value: &str) -> anyhow::Result<String> {
    anyhow::ensure!(
        !value.contains(['\n', '\'']),
        "an env file cannot hold a value with a line break or a quote"
    );
    let line = format!("{variable}='{value}'");
    let is_ours = |known: &str| known.split_once('=').is_some_and(|(name, _)| name.trim() == variable);
    let mut lines: Vec<&str> = old.lines().filter(|known| !is_ours(known)).collect();
    lines.push(&line);
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::{variable, with_variable};

    #[test]
    fn sets_one_variable_and_keeps_the_rest() {
        assert_eq!(with_variable("", "A", "x").unwrap(), "A='x'\n");
        assert_eq!(with_variable("# c\nA=old\nB=1\n", "A", "x").unwrap(), "# c\nB=1\nA='x'\n");
        assert!(with_variable("", "A", "x\ny").is_err());
        assert_eq!(variable("# A=0\nA=old\nB=1\nA='x=1'\n", "A"), Some("x=1"));
        assert_eq!((variable("B=1\n", "B"), variable("B=1\n", "A")), (Some("1"), None));
    }
}
