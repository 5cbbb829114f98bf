//! Where the live secrets of what is taken over go: variables stand for them, and somebody must give those.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::cli::args::ImportArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::process::failure::CliFailure;
use crate::plan::import::SecretVariable;

/// The secrets of a takeover.
pub(super) enum ImportedSecrets {
    /// There are none.
    None,
    /// Somebody else has them.
    External,
    /// They are written into a file of variables.
    VarFile(PathBuf, String),
}

impl ImportedSecrets {
    /// Returns what becomes of the secrets.
    ///
    /// # Errors
    /// When the file that they are to be written into is there already.
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

    /// Writes the file, for its owner alone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, session: &CommandContext) -> Result<(), CliFailure> {
        if let Self::VarFile(path, text) = self {
            stack_files::write_private(path, text.as_bytes())?;
            let shown = stack_files::display_path(path);
            session
                .ui
                .write_message(&format!("The secrets are in {shown}: keep it out of the repository."));
        }
        Ok(())
    }

    /// Says which command comes next.
    pub(super) fn next(&self, session: &CommandContext) {
        let nothing = "shows that nothing is left to do";
        match self {
            Self::None => session.next("plan", nothing),
            Self::External => session.next("plan", &format!("{nothing}, once the secrets are given")),
            Self::VarFile(path, _) => {
                session.next(&format!("--var-file {} plan", stack_files::display_path(path)), nothing);
            }
        }
    }
}
