//! `DriftHistoryFile`: where `stead drift` keeps what it saw, for the next look: a small file in the stack's own `.stead/`, one
//! for each ledger. It holds names and times, never a value. Without it nothing is lost but since when.

use std::path::{Path, PathBuf};

use crate::cli::files::stack_files;
use crate::cli::process::output::Ui;
use crate::cli::stack::project::LoadedStack;
use crate::ledger::state::ledger::Ledger;
use crate::plan::artifact::drift_history::DriftHistory;

/// The file of one ledger.
pub(in crate::cli) struct DriftHistoryFile {
    path: PathBuf,
    /// Nothing may be written.
    only_looks: bool,
}

impl DriftHistoryFile {
    /// Returns the one of a stack's ledger.
    pub(in crate::cli) fn from_ledger(project: &LoadedStack, ledger: &Ledger) -> Self {
        let name = format!("{}-{}.json", project.stack.environment.name, ledger.identity.lineage);
        let path = project.directory.join(".stead").join("drift").join(name);
        Self { path, only_looks: project.settings.untrusted }
    }

    /// Returns what the last look saw. What cannot be read, or is no diary, counts as none.
    pub(in crate::cli) fn read(&self) -> Option<DriftHistory> {
        serde_json::from_str(&stack_files::read_optional(&self.path).ok()??).ok()
    }

    /// Remembers a look; that it cannot is told, and keeps nothing else from being done.
    pub(in crate::cli) fn write(&self, ui: &Ui, sightings: &DriftHistory) {
        if self.only_looks {
            return;
        }
        if let Err(why) = self.try_write(sightings) {
            ui.write_message(&format!("note: the next look will not know what is new: {why:#}"));
        }
    }

    fn try_write(&self, sightings: &DriftHistory) -> anyhow::Result<()> {
        // Both are made, each private: what drifts is nobody else's business.
        if let Some(folder) = self.path.parent() {
            folder.parent().map_or(Ok(()), |above: &Path| stack_files::make_private_directory(above))?;
            stack_files::make_private_directory(folder)?;
        }
        stack_files::write_state(&self.path, serde_json::to_string(sightings)?.as_bytes())
    }
}
