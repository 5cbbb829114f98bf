//! Source directories of an apply: packs them again, and compares them with the plan. A plan contains only their
//! digest, so a directory that changed since is an error, not an upload.

use std::iter::once;

use super::project::LoadedStack;
use crate::apply::context::{ArchiveChunks, ArchivePacker, PackError};
use crate::cli::files::stack_files::ConfinedFiles;
use crate::config::input::source_dir::{SourceArchive, SourceError, SourceTree};
use crate::model::address::Address;

/// The source directories that a stack's attributes name.
pub(in crate::cli) struct SourceArchives<'p> {
    project: &'p LoadedStack,
    below: ConfinedFiles,
}

impl<'p> SourceArchives<'p> {
    /// Returns the source directories of a stack, read below its directory.
    pub(in crate::cli) fn from_project(project: &'p LoadedStack) -> Self {
        Self { project, below: project.files() }
    }
}

impl ArchivePacker for SourceArchives<'_> {
    fn pack(&self, address: &Address, attribute: &str, digest: &str) -> ArchiveChunks<'_> {
        let resource = self.project.stack.resources.get(address);
        let setting = resource.and_then(|resource| resource.attributes.get(attribute));
        let Some(directory) = setting.and_then(|setting| setting.directory.as_ref()) else {
            let text = format!("{attribute} is not in the configuration any more");
            return Box::new(once(Err(PackError::DigestChanged(text))));
        };
        match SourceTree::read(&self.below, directory) {
            Ok(tree) => {
                let archive = SourceArchive::new(&self.below, tree).expect_digest(digest);
                Box::new(archive.map(|piece| piece.map_err(|error| to_pack_error(&error))))
            }
            Err(error) => Box::new(once(Err(to_pack_error(&error)))),
        }
    }
}

fn to_pack_error(error: &SourceError) -> PackError {
    if error.is_moved() {
        PackError::DigestChanged(error.to_string())
    } else {
        PackError::Failed(error.to_string())
    }
}
