//! Writes the site into a directory: only into one that is empty or has an earlier site, and only over files of that
//! site, so that no other file is lost. An interrupted run can be repeated.
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

/// Writes the files of the site. Files of an earlier site that are no more are removed.
///
/// # Errors
/// When the directory has other files, a path of the site is taken by one or leads through a link, or the directory
/// cannot be written.
pub(super) fn write_site(directory: &Path, files: &[SiteFile]) -> Result<(), CliFailure> {
    let earlier = read_manifest(directory)?;
    let new: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let is_foreign =
        |path: &&&str| !earlier.contains(**path) && directory.join(path).symlink_metadata().is_ok();
    if let Some(path) = new.iter().find(is_foreign) {
        return Err(foreign_file(&stack_files::display_path(&directory.join(path))));
    }
    if let Some(path) = new.iter().find(|path| leads_through_link(directory, path)) {
        return Err(foreign_file(&stack_files::display_path(&directory.join(path))));
    }
    // The list is complete before the first file is written: an interrupted run can be repeated.
    let all = earlier.iter().map(String::as_str).chain(new.iter().copied()).collect();
    write_manifest(directory, &all)?;
    for file in files {
        write_files::write_public(&directory.join(&file.path), file.text.as_bytes())?;
    }
    for path in earlier.iter().filter(|path| !new.contains(path.as_str()) && is_removable(directory, path))
    {
        stack_files::remove_report(&directory.join(path))?;
    }
    write_manifest(directory, &new)
}

fn foreign_file(shown: &str) -> CliFailure {
    CliFailure::new(Exit::Failed, format!("{shown} is not of an earlier site"))
        .help("Move it, or name another directory. Nothing was written.")
}

fn write_manifest(directory: &Path, paths: &BTreeSet<&str>) -> Result<(), CliFailure> {
    let list = paths.iter().fold(String::new(), |list, path| list + path + "\n");
    Ok(write_files::write_public(&directory.join(MANIFEST), list.as_bytes())?)
}

/// Returns whether a path of the list may be removed. The list is a file that others may edit: what it names has to be
/// a page below the directory, and no link may lead out of it.
fn is_removable(directory: &Path, path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "html")
        && !path.starts_with('/')
        && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
        && !leads_through_link(directory, path)
}

/// Returns whether a part of a path below the directory, or the file itself, is a link.
fn leads_through_link(directory: &Path, path: &str) -> bool {
    let below = Path::new(path).ancestors().filter(|part| !part.as_os_str().is_empty());
    let is_link = |part: &Path| {
        directory.join(part).symlink_metadata().is_ok_and(|found| found.file_type().is_symlink())
    };
    below.into_iter().any(is_link)
}

/// Returns the paths of the earlier site; none for a new or empty directory.
fn read_manifest(directory: &Path) -> Result<BTreeSet<String>, CliFailure> {
    let manifest = directory.join(MANIFEST);
    match std::fs::symlink_metadata(&manifest) {
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
        return Ok(BTreeSet::new());
    }
    let shown = stack_files::display_path(directory);
    Err(CliFailure::new(Exit::Failed, format!("{shown} has files that are not of an earlier site"))
        .help("Name a new or empty directory. Nothing was written."))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn page(path: &str) -> SiteFile {
        SiteFile { path: path.to_owned(), media_type: "text/html", text: path.to_owned() }
    }

    #[test]
    fn a_site_replaces_an_earlier_site_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("site");
        write_site(&directory, &[page("index.html"), page("how-to/a.html")]).unwrap();
        fs::write(directory.join("CNAME"), "docs.example.com").unwrap();
        write_site(&directory, &[page("index.html"), page("how-to/b.html")]).unwrap();
        let exists = |path: &str| directory.join(path).exists();
        assert!(exists("how-to/b.html") && !exists("how-to/a.html") && exists("CNAME"));
        // A later version has a page at the address of the user's own file.
        fs::write(directory.join("how-to/mine.html"), "mine").unwrap();
        let refused = write_site(&directory, &[page("index.html"), page("how-to/mine.html")]).unwrap_err();
        assert!(
            refused.message.contains("how-to/mine.html is not of an earlier site"),
            "{}",
            refused.message
        );
        assert_eq!(fs::read_to_string(directory.join("how-to/mine.html")).unwrap(), "mine");

        let mine = scratch.path().join("mine");
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("notes.html"), "mine").unwrap();
        let refused = write_site(&mine, &[page("index.html")]).unwrap_err();
        assert!(refused.message.contains("not of an earlier site"), "{}", refused.message);
        assert!(!mine.join("index.html").exists());
    }

    #[test]
    fn a_list_that_names_files_elsewhere_removes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("site");
        write_site(&directory, &[page("index.html")]).unwrap();
        let victim = scratch.path().join("victim");
        fs::create_dir(&victim).unwrap();
        for file in
            [scratch.path().join("precious.html"), victim.join("a.html"), directory.join("data.csv")]
        {
            fs::write(file, "").unwrap();
        }
        symlink(&victim, directory.join("sub")).unwrap();
        symlink(victim.join("a.html"), directory.join("link.html")).unwrap();
        let absolute = scratch.path().join("precious.html");
        let list = format!(
            "../precious.html\n{}\ndata.csv\nsub/a.html\nlink.html\nindex.html\n",
            absolute.display()
        );
        fs::write(directory.join(MANIFEST), list).unwrap();
        write_site(&directory, &[page("index.html")]).unwrap();
        assert!(absolute.exists() && victim.join("a.html").exists() && directory.join("data.csv").exists());
        // Nor is a page written through a link.
        fs::write(directory.join(MANIFEST), "index.html\nsub/a.html\n").unwrap();
        assert!(write_site(&directory, &[page("index.html"), page("sub/a.html")]).is_err());
        assert_eq!(fs::read_to_string(victim.join("a.html")).unwrap(), "");
    }

    #[test]
    fn an_interrupted_run_can_be_repeated() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("site");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(MANIFEST), "").unwrap();
        // The second file cannot be written: its folder is a file.
        fs::write(directory.join("how-to"), "in the way").unwrap();
        let files = [page("index.html"), page("how-to/b.html")];
        assert!(write_site(&directory, &files).is_err());
        assert!(directory.join("index.html").exists());
        fs::remove_file(directory.join("how-to")).unwrap();
        write_site(&directory, &files).unwrap();
        assert!(directory.join("how-to/b.html").exists());
    }
}
