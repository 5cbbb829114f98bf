//! Secrets of imported objects: the configuration refers to variables, whose values are written to a file or given
//! by the user. No secret is written to a file of the stack.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cli::command_context::CommandContext;
use crate::cli::commands::import::arguments::ImportArgs;
use crate::cli::files::shell_path::quote_path;
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::failure::CliFailure;
use crate::plan::import::SecretVariable;

/// Handling of the secrets of an import.
pub(super) enum ImportedSecrets {
    /// The import has no secrets.
    None,
    /// The user gives the values of the variables.
    External,
    /// The values are written to a file of variables: its path, and its content with the secrets in plain text.
    VarFile(PathBuf, String),
}

impl ImportedSecrets {
    /// Chooses where the secrets are written: to the variable file that `--secrets-to` names, or nowhere, so that
    /// the user must supply the variables.
    ///
    /// # Errors
    /// When that file already exists.
    pub(super) fn from_args(args: &ImportArgs, variables: &[SecretVariable]) -> Result<Self, CliFailure> {
        let Some(path) = args.secrets_to.as_ref().filter(|_| !variables.is_empty()) else {
            return Ok(if variables.is_empty() { Self::None } else { Self::External });
        };
        if stack_files::path_exists(path) {
            return Err(CliFailure::existing_file(&stack_files::display_path(path))
                .help("Name another file for --secrets-to."));
        }
        let known =
            variables.iter().filter_map(|secret| Some((secret.name.as_str(), secret.value.expose()?)));
        let known: BTreeMap<&str, &str> = known.collect();
        let text = serde_yaml::to_string(&known).map_err(anyhow::Error::from)?;
        let text = format!("# Live secrets, for --var-file. Never commit this file.\n{text}");
        Ok(Self::VarFile(path.clone(), text))
    }

    /// Writes the file of variables, readable only by its owner; does nothing for the other variants.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, session: &CommandContext) -> Result<(), CliFailure> {
        if let Self::VarFile(path, text) = self {
            write_files::write_private(path, text.as_bytes())?;
            let shown = stack_files::display_path(path);
            session
                .ui
                .write_message(&format!("The secrets are in {shown}: keep it out of the repository."));
        }
        Ok(())
    }

    /// Prints the next command.
    pub(super) fn next(&self, session: &CommandContext) {
        let nothing = "shows that nothing is left to do";
        match self {
            Self::None => session.next("plan", nothing),
            Self::External => session.next("plan", &format!("{nothing}, after the secrets are set")),
            Self::VarFile(path, _) => {
                session.next(&format!("--var-file {} plan", quote_path(path)), nothing);
            }
        }
    }
}
