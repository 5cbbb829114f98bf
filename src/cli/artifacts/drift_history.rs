//! The drift history of a ledger: what the last `stead drift` found, in a small file in the stack's own `.stead/`.
//! It holds names and times, never a value. If it is lost, drift that existed before counts as new.

use std::path::{Path, PathBuf};

use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::output::Ui;
use crate::cli::stack::project::LoadedStack;
use crate::ledger::state::ledger::Ledger;
use crate::plan::artifact::drift_history::DriftHistory;

/// File with the drift history of one ledger.
pub(in crate::cli) struct DriftHistoryFile {
    path: PathBuf,
    /// Whether the command must not write files, because the files of the stack are not trusted.
    only_looks: bool,
}

impl DriftHistoryFile {
    /// Returns the drift history file for a stack's ledger. Its name contains the lineage, so that a rebuilt ledger
    /// starts a new history.
    pub(in crate::cli) fn from_ledger(project: &LoadedStack, ledger: &Ledger) -> Self {
        let name = format!("{}-{}.json", project.stack.environment.name, ledger.identity.lineage);
        let path = project.directory.join(".stead").join("drift").join(name);
        Self { path, only_looks: project.settings.untrusted }
    }

    /// Returns the result of the previous drift check; `None` if the file is missing, or cannot be read or parsed.
    pub(in crate::cli) fn read(&self) -> Option<DriftHistory> {
        serde_json::from_str(&stack_files::read_optional(&self.path).ok()??).ok()
    }

    /// Stores the result of a drift check. A write error is only printed, since the check itself succeeded.
    pub(in crate::cli) fn write(&self, ui: &Ui, sightings: &DriftHistory) {
        if self.only_looks {
            return;
        }
        if let Err(why) = self.try_write(sightings) {
            ui.write_message(&format!("note: the next run cannot determine which drift is new: {why:#}"));
        }
    }

    fn try_write(&self, sightings: &DriftHistory) -> anyhow::Result<()> {
        // Both directories are private: drift can reveal names of infrastructure.
        if let Some(folder) = self.path.parent() {
            folder.parent().map_or(Ok(()), |above: &Path| stack_files::make_private_directory(above))?;
            stack_files::make_private_directory(folder)?;
        }
        write_files::write_state(&self.path, serde_json::to_string(sightings)?.as_bytes())
    }
}
