//! The recovery file: stores records that the ledger did not take, and secrets that their sinks did not take. The
//! files are in the user's own state directory, readable only by the user; secrets are in plain text. The next
//! apply replays the records.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cli::files::{stack_files, write_files};
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::recovered_facts::records_to_replay;
use crate::model::address::Address;
use crate::model::values::secret::Secret;

/// Location of the recovery files of one ledger; without a state directory nothing is stored.
#[derive(Debug, Clone)]
pub(in crate::cli) struct RecoveryFile {
    directory: Option<PathBuf>,
    lineage: Uuid,
}

/// One line of the file with records: those of one failed commit.
#[derive(Debug, Serialize, Deserialize)]
struct RecoveryLine {
    records: Vec<Record>,
}

impl RecoveryFile {
    /// Records in the ledger what an earlier run could not write to it.
    ///
    /// # Errors
    /// When the file cannot be read, or the ledger takes no record.
    pub(in crate::cli) async fn replay(&self, journal: &CommandJournal) -> Result<(), CliFailure> {
        let kept = self.saved_records()?;
        let records = records_to_replay(&journal.ledger(), &kept);
        if !records.is_empty() {
            journal.commit(&records).await?;
            Ui::write_error("The records of the recovery file are in the ledger now.");
        }
        // After the commit: if a crash keeps the file, its records are skipped, because the ledger has them.
        if !kept.is_empty() {
            self.clear();
        }
        Ok(())
    }

    /// Returns the recovery files for a ledger, below the user's state directory.
    pub(in crate::cli) fn new(state: Option<&Path>, lineage: Uuid) -> Self {
        Self { directory: state.map(|state| state.join("rescue")), lineage }
    }

    /// Stores records and reports where they are; without a state directory, or after an error, it only reports
    /// that. `address` returns the resource of a request, `None` if it is not known.
    pub(in crate::cli) fn save_records(
        &self,
        records: &[Record],
        address: impl Fn(Uuid) -> Option<Address>,
    ) {
        for record in records {
            if let Record::Bound { op, object } = record {
                let what = address(*op).map_or_else(|| "a request".to_owned(), |a| a.to_string());
                Ui::write_error(&format!(
                    "Created {what} ({}), but could not record it in the ledger.",
                    object.id
                ));
            }
        }
        match self.append_records(records) {
            Ok(path) => Ui::write_error(&format!(
                "The missing records are in the recovery file {}; the next apply adds them to the ledger.",
                stack_files::display_path(&path)
            )),
            Err(error) => Ui::write_error(&format!(
                "The missing records cannot be saved to a recovery file either: {error:#}"
            )),
        }
    }

    fn append_records(&self, records: &[Record]) -> anyhow::Result<PathBuf> {
        let path = self.prepare_path("facts")?;
        // The whole file is replaced, so that a crash leaves no partial line.
        let mut text = stack_files::read_optional(&path)?.unwrap_or_default();
        text.push_str(&serde_json::to_string(&RecoveryLine { records: records.to_vec() })?);
        text.push('\n');
        write_files::write_state(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Returns the stored records, oldest first; empty if there is no file or no state directory.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub(in crate::cli) fn saved_records(&self) -> anyhow::Result<Vec<Record>> {
        let Ok(path) = self.prepare_path("facts") else { return Ok(Vec::new()) };
        let Some(text) = stack_files::read_optional(&path)? else { return Ok(Vec::new()) };
        let mut records = Vec::new();
        for line in text.lines() {
            let facts: RecoveryLine = serde_json::from_str(line).map_err(|error| {
                anyhow::anyhow!("{} is damaged: {error}", stack_files::display_path(&path))
            })?;
            records.extend(facts.records);
        }
        Ok(records)
    }

    /// Deletes the stored records after the ledger has taken them.
    pub(in crate::cli) fn clear(&self) {
        if let Ok(path) = self.prepare_path("facts") {
            stack_files::remove_file(&path);
        }
    }

    /// Stores the secret of an object in plain text; returns the file's path. `of` is its address and its id.
    ///
    /// # Errors
    /// When there is no state directory, or the file cannot be written.
    pub(in crate::cli) fn keep_secret(&self, of: (&Address, &str), text: &str) -> anyhow::Result<PathBuf> {
        let path = self.prepare_path(&secret_of(of))?;
        write_files::write_state(&path, format!("{text}\n").as_bytes())?;
        Ok(path)
    }

    /// Returns the stored secret of an object; `None` if there is none, or it cannot be read.
    pub(in crate::cli) fn kept_secret(&self, of: (&Address, &str)) -> Option<Secret> {
        let text = stack_files::read_optional(&self.existing_path(&secret_of(of))?).ok()??;
        Some(Secret::new(text.trim_end_matches(['\r', '\n'])))
    }

    /// Deletes a stored secret after its sink has taken it; does nothing if there is none.
    pub(in crate::cli) fn drop_secret(&self, of: (&Address, &str)) {
        if let Some(path) = self.existing_path(&secret_of(of)) {
            stack_files::remove_file(&path);
        }
    }

    /// Creates the directory, and returns the path of a file in it.
    fn prepare_path(&self, what: &str) -> anyhow::Result<PathBuf> {
        let directory = self
            .directory
            .as_ref()
            .ok_or_else(|| anyhow::anyhow!("there is no state directory: set STEAD_STATE_DIR or HOME"))?;
        stack_files::make_private_directory(directory)?;
        Ok(directory.join(format!("{}-{what}", self.lineage)))
    }

    /// Returns the path of a file, which need not exist; creates nothing. `None` without a state directory.
    fn existing_path(&self, what: &str) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{}-{what}", self.lineage)))
    }
}

/// Returns the file name for the secret of an object. The id comes from the service, so characters that are special
/// in paths are removed.
fn secret_of((address, id): (&Address, &str)) -> String {
    let safe = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    format!("secret-{address}-{}", id.chars().filter(safe).take(64).collect::<String>())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the test lays out a file")]

    use super::*;

    #[test]
    fn the_golden_recovery_file_is_read_and_written_as_before() {
        let golden = include_str!("../../../tests/golden/files/recovery-file.jsonl");
        let state = tempfile::tempdir().unwrap();
        let rescue = RecoveryFile::new(Some(state.path()), Uuid::from_u128(7));
        for line in golden.lines() {
            let facts: RecoveryLine = serde_json::from_str(line).unwrap();
            rescue.append_records(&facts.records).unwrap();
        }
        let path = rescue.prepare_path("facts").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), golden);
        assert_eq!(rescue.saved_records().unwrap().len(), 3);
    }
}
