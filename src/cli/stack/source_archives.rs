//! Directories of sources on their way into an apply: packed anew, and checked against the plan.

use std::iter::once;

use super::project::Project;
use crate::apply::context::{Pack, Pieces, Unpacked};
use crate::cli::files::stack_files::Below;
use crate::config::input::source_dir::{Archive, SourceError, Tree};
use crate::model::address::Address;

/// The directories that a stack's attributes name.
pub(in crate::cli) struct Sources<'p> {
    project: &'p Project,
    below: Below,
}

impl<'p> Sources<'p> {
    pub(in crate::cli) fn from_project(project: &'p Project) -> Self {
        Self { project, below: project.files() }
    }
}

impl Pack for Sources<'_> {
    fn pack(&self, address: &Address, attribute: &str, digest: &str) -> Pieces<'_> {
        let resource = self.project.stack.resources.get(address);
        let setting = resource.and_then(|resource| resource.attributes.get(attribute));
        let Some(directory) = setting.and_then(|setting| setting.directory.as_ref()) else {
            let text = format!("{attribute} is not in the configuration any more");
            return Box::new(once(Err(Unpacked::Moved(text))));
        };
        match Tree::read(&self.below, directory) {
            Ok(tree) => {
                let archive = Archive::new(&self.below, tree).expect_digest(digest);
                Box::new(archive.map(|piece| piece.map_err(|error| to_pack_error(&error))))
            }
            Err(error) => Box::new(once(Err(to_pack_error(&error)))),
        }
    }
}

fn to_pack_error(error: &SourceError) -> Unpacked {
    if error.is_moved() { Unpacked::Moved(error.to_string()) } else { Unpacked::Failed(error.to_string()) }
}
