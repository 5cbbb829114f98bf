//! Delivers a secret that is shown once to the sink that its block names.

use std::path::Path;

use crate::apply::run::Undelivered;
use crate::cli::files;
use crate::cli::project::Project;
use crate::cli::rescue::Rescue;
use crate::config::stack::SecretSink;
use crate::model::address::Address;
use crate::model::secret::Secret;

/// Returns the delivery of a stack's secrets; a resource without a sink takes nothing. What its sink
/// does not take is kept in a private file, and where is told.
pub(super) fn to_sinks<'a>(
    project: &'a Project,
    rescue: &'a Rescue,
) -> impl Fn(&Address, &Secret) -> Result<(), Undelivered> + 'a {
    move |address, secret| {
        let Some(sink) = project.stack.resources.get(address).and_then(|r| r.deliver_secret.as_ref())
        else {
            return Ok(());
        };
        let Some(text) = secret.expose() else {
            return Err(Undelivered { reason: "the secret is sealed".to_owned(), kept: None });
        };
        deliver(project, sink, text).map_err(|error| Undelivered {
            reason: format!("{error:#}"),
            kept: rescue.keep_secret(address, text).ok().map(|path| files::shown(&path)),
        })
    }
}

fn deliver(project: &Project, sink: &SecretSink, text: &str) -> anyhow::Result<()> {
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
    };
    Ok(written?)
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
    use super::with_variable;

    #[test]
    fn sets_one_variable_and_keeps_the_rest() {
        assert_eq!(with_variable("", "A", "x").unwrap(), "A='x'\n");
        assert_eq!(with_variable("# c\nA=old\nB=1\n", "A", "x").unwrap(), "# c\nB=1\nA='x'\n");
        assert!(with_variable("", "A", "x\ny").is_err());
    }
}
