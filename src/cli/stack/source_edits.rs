//! Edits of the files of a stack and its modules: made in memory, resolved again, shown, confirmed, and written.
//! Nothing is written unless the edited stack resolves without errors, which the caller checks with `read`.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::project::StackSources;
use crate::cli::files::overlay_fs::OverlayFiles;
use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::config::edit::{Edit, EditableFile, apply_edits};
use crate::config::load::{self, LoadFailure};
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::model::source::{Source, SourceId, Sources};
use crate::report::{self, json};

/// Time limit for the search of a minimal diff; with ten thousand changes a larger one is as useful.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// Files with edits that are not written yet.
pub(in crate::cli) struct SourceEdits<'a> {
    pub(in crate::cli) begun: &'a StackSources,
    /// All files that can be edited, with their present content in memory.
    texts: Vec<(SourceId, Source)>,
    /// Edited files of modules, with their paths from the root for shared configuration.
    shared: BTreeMap<SourceId, PathBuf>,
}

impl<'a> SourceEdits<'a> {
    /// Returns an empty set of edits on the present files.
    pub(in crate::cli) fn new(begun: &'a StackSources) -> Self {
        let texts = begun.files.iter().map(|(id, source)| (id, source.clone())).collect();
        Self { begun, texts, shared: BTreeMap::new() }
    }

    /// Permits edits of a file of a module, given by its path from the root; an unknown file is ignored.
    pub(in crate::cli) fn add(&mut self, file: SourceId, path: PathBuf) {
        if let Some(source) = self.begun.project.stack.sources.get(file) {
            self.texts.push((file, source.clone()));
            self.shared.insert(file, path);
        }
    }

    /// Applies edits to one file, in memory; a file that is not among the edits stays as it is.
    ///
    /// # Errors
    /// When an edit cannot be made without another change.
    pub(in crate::cli) fn edit_file(&mut self, file: SourceId, edits: &[Edit]) -> Result<(), CliFailure> {
        let Some((_, source)) = self.texts.iter_mut().find(|(id, _)| *id == file) else { return Ok(()) };
        let made = apply_edits(&EditableFile { source, registry: &REGISTRY }, edits);
        let text = made.map_err(|refusal| {
            let mut sources = Sources::default();
            sources.add(source.clone());
            CliFailure::from(Box::new(LoadFailure::new(sources, vec![*refusal.0])))
        })?;
        *source = Source::new(source.path.clone(), text);
        Ok(())
    }

    /// Resolves the edited files as a stack.
    ///
    /// # Errors
    /// When they have errors, which the edits caused: the stack had none before.
    pub(in crate::cli) fn read(&self) -> Result<Stack, CliFailure> {
        let edited = self.texts.iter().filter_map(|(id, source)| {
            self.shared.get(id).map(|path| (path.clone(), source.text.to_string()))
        });
        let files = OverlayFiles { disk: self.begun.project.files(), edited: edited.collect() };
        Ok(load::load(REGISTRY, self.sources(), &self.begun.request, &files)?.0)
    }

    /// Returns the stack's own files with the edits.
    pub(in crate::cli) fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        for (_, source) in self.texts.iter().filter(|(id, _)| !self.shared.contains_key(id)) {
            sources.add(source.clone());
        }
        sources
    }

    /// Shows the edits, asks for confirmation, and writes them; returns whether they were written.
    ///
    /// # Errors
    /// When there is no terminal to ask on, or a file changed meanwhile or cannot be written; files before it are
    /// written.
    pub(in crate::cli) async fn confirm_and_write(
        &self,
        ui: &Ui,
        directory: &Path,
        yes: bool,
    ) -> Result<bool, CliFailure> {
        if !Self::confirm(ui, &self.diffs(), yes).await? {
            return Ok(false);
        }
        self.write(directory)?;
        Ok(true)
    }

    /// Returns the files whose content changes: the file's id, and the content before and after.
    fn edited(&self) -> impl Iterator<Item = (SourceId, &Source, &Source)> {
        let old = |id: SourceId| {
            let read =
                || self.begun.project.stack.sources.get(id).filter(|_| self.shared.contains_key(&id));
            self.begun.files.get(id).or_else(read)
        };
        let texts = self.texts.iter().filter_map(move |(id, new)| Some((*id, old(*id)?, new)));
        texts.filter(|(_, old, new)| old.text != new.text)
    }

    /// Returns the edits as one unified diff for each file, with the file's path.
    pub(in crate::cli) fn diffs(&self) -> Vec<(String, String)> {
        self.edited().map(|(_, old, new)| file_diff(old, new)).collect()
    }

    /// Returns the edited content of a file; `None` if it cannot be edited.
    pub(in crate::cli) fn text_of(&self, file: SourceId) -> Option<String> {
        self.texts.iter().find(|(id, _)| *id == file).map(|(_, source)| source.text.to_string())
    }

    /// Returns the path of a file; `None` if it cannot be edited.
    pub(in crate::cli) fn path_of(&self, file: SourceId) -> Option<String> {
        self.texts.iter().find(|(id, _)| *id == file).map(|(_, source)| source.path.clone())
    }

    /// Replaces the content of a file, in memory. The caller checks with `read` that it means what it should.
    pub(in crate::cli) fn replace_text(&mut self, file: SourceId, text: String) {
        if let Some((_, source)) = self.texts.iter_mut().find(|(id, _)| *id == file) {
            *source = Source::new(source.path.clone(), text);
        }
    }

    /// Shows diffs, and asks for confirmation; returns whether the user agrees.
    ///
    /// # Errors
    /// When there is no terminal to ask on.
    pub(in crate::cli) async fn confirm(
        ui: &Ui,
        diffs: &[(String, String)],
        yes: bool,
    ) -> Result<bool, CliFailure> {
        if ui.json {
            ui.write_result(&json::edits_document(diffs));
        } else {
            ui.write_result(&diffs.iter().map(|(_, diff)| diff.as_str()).collect::<String>());
        }
        ui.confirm_action(yes, "Write this?").await
    }

    /// Writes the edits.
    ///
    /// # Errors
    /// When a file changed meanwhile or cannot be written; files before it are written.
    pub(in crate::cli) fn write(&self, directory: &Path) -> Result<(), CliFailure> {
        for (id, old, new) in self.edited() {
            let path = directory.join(&old.path);
            let own = !self.shared.contains_key(&id) && stack_files::path_exists(&path);
            let path = if own { path } else { old.path.clone().into() };
            // The user may have edited the file during the prompt.
            if stack_files::read_optional(&path)?.as_deref() != Some(&*old.text) {
                return Err(CliFailure::new(
                    Exit::Failed,
                    format!("{} changed meanwhile", stack_files::display_path(&path)),
                )
                .help("Run the command again."));
            }
            write_files::write_public(&path, new.text.as_bytes())?;
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a limit of patience: nothing is decided by what it reads")]
fn file_diff(old: &Source, new: &Source) -> (String, String) {
    let until = Instant::now().checked_add(DIFF_TIMEOUT);
    (old.path.clone(), report::views::edits::unified_diff(&old.path, &old.text, &new.text, until))
}
