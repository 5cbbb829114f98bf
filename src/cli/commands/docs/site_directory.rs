//! Writes the site into a directory: only into one that is empty or has an earlier site, so that no other file is lost.
#![allow(clippy::disallowed_methods, reason = "the site is files")]

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::cli::files::stack_files::{self, add_context};
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::guide::site::SiteFile;

/// File that lists the paths of a site, one on each line: the next run removes those that it does not write.
const MANIFEST: &str = "stead-docs.txt";
/// Largest list that is read.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Writes the files of the site. Pages of an earlier site that are no more are removed.
///
/// # Errors
/// When the directory has other files, or cannot be written.
pub(super) fn write_site(directory: &Path, files: &[SiteFile]) -> Result<(), CliFailure> {
    let earlier = read_manifest(directory)?;
    for file in files {
        write_files::write_public(&directory.join(&file.path), file.text.as_bytes())?;
    }
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    for path in earlier.iter().filter(|path| !paths.contains(path.as_str()) && is_below(path)) {
        match std::fs::remove_file(directory.join(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(add_context(&error, "remove", &directory.join(path)).into());
            }
            _ => {}
        }
    }
    let list: String = paths.iter().map(|path| format!("{path}\n")).collect();
    write_files::write_public(&directory.join(MANIFEST), list.as_bytes())?;
    Ok(())
}

/// Returns whether a path of the list leads to a page below the directory: the list is a file that others may edit.
fn is_below(path: &str) -> bool {
    path.ends_with(".html")
        && !path.starts_with('/')
        && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// Returns the paths of the earlier site; none for a new or empty directory.
fn read_manifest(directory: &Path) -> Result<Vec<String>, CliFailure> {
    let manifest = directory.join(MANIFEST);
    match std::fs::metadata(&manifest) {
        Ok(found) if found.is_file() && found.len() <= MAX_MANIFEST_BYTES => {
            let text = std::fs::read_to_string(&manifest);
            let text = text.map_err(|error| add_context(&error, "read", &manifest))?;
            return Ok(text.lines().map(str::to_owned).collect());
        }
        _ => {}
    }
    let is_empty = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(add_context(&error, "read", directory).into()),
    };
    if is_empty {
        return Ok(Vec::new());
    }
    let shown = stack_files::display_path(directory);
    Err(CliFailure::new(Exit::Failed, format!("{shown} has files that are not of an earlier site"))
        .help("Name a new or empty directory. Nothing was written."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> SiteFile {
        SiteFile { path: path.to_owned(), media_type: "text/html", text: path.to_owned() }
    }

    #[test]
    fn a_site_replaces_an_earlier_site_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("site");
        write_site(&directory, &[page("index.html"), page("how-to/a.html")]).unwrap();
        std::fs::write(directory.join("CNAME"), "docs.example.com").unwrap();
        write_site(&directory, &[page("index.html"), page("how-to/b.html")]).unwrap();
        let exists = |path: &str| directory.join(path).exists();
        assert!(exists("how-to/b.html") && !exists("how-to/a.html") && exists("CNAME"));

        let mine = scratch.path().join("mine");
        std::fs::create_dir(&mine).unwrap();
        std::fs::write(mine.join("notes.html"), "mine").unwrap();
        let refused = write_site(&mine, &[page("index.html")]).unwrap_err();
        assert!(refused.message.contains("not of an earlier site"), "{}", refused.message);
        assert!(!mine.join("index.html").exists());
    }

    #[test]
    fn a_list_that_names_files_elsewhere_removes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("site");
        write_site(&directory, &[page("index.html")]).unwrap();
        std::fs::write(scratch.path().join("precious.html"), "").unwrap();
        std::fs::write(directory.join("data.csv"), "").unwrap();
        let list =
            format!("../precious.html\n{}\ndata.csv\n", scratch.path().join("precious.html").display());
        std::fs::write(directory.join(MANIFEST), list).unwrap();
        write_site(&directory, &[page("index.html")]).unwrap();
        assert!(scratch.path().join("precious.html").exists() && directory.join("data.csv").exists());
    }
}
