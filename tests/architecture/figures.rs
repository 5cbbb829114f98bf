//! The figures of the folders: no module in an import cycle, no inherent impl outside of its type's file, no file of more
//! than 500 lines, no folder of more than 15 entries, and an order of the parts of each folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use crate::dependencies::Dependencies;
use crate::{ORDER, RECURSIONS, order, sources};

/// Maximum number of lines of a product file.
const LONG: usize = 500;

/// Maximum number of entries of a folder.
const MOST_ENTRIES: usize = 15;

/// Maximum number of modules in a folder of `RECURSIONS`.
const MAX_RECURSION: usize = 6;

/// Folders that list what the service or the program has, one entry each.
const CATALOGS: &[&str] = &["kinds", "cli/commands"];

/// Fails with the findings, if there are any.
fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}: {}\n{}", found.len(), found.join("\n"));
}

/// The dependencies of `src`, measured once for all tests.
static MEASURED: LazyLock<Dependencies> =
    LazyLock::new(|| Dependencies::measure(&sources::product_files()));

/// Returns the folder of `RECURSIONS` whose modules are exactly those of a cycle, six at most; else `None`.
fn recursion_folder(group: &[usize]) -> Option<&'static str> {
    let path = |index: usize| MEASURED.modules.all[index].path.join("/");
    let is_below = |index: usize, folder: &str| path(index).starts_with(&format!("{folder}/"));
    RECURSIONS.iter().map(|(folder, _)| *folder).find(|folder| {
        let below = MEASURED.modules.files().filter(|(index, _)| is_below(*index, folder)).count();
        group.len() <= MAX_RECURSION
            && group.len() == below
            && group.iter().all(|index| is_below(*index, folder))
    })
}

#[test]
fn no_module_is_in_an_import_cycle() {
    let (recursions, cycles): (Vec<_>, Vec<_>) =
        MEASURED.cycles().into_iter().partition(|group| recursion_folder(group).is_some());
    // A listed folder without a cycle needs no exception any more.
    let used: BTreeSet<_> = recursions.iter().filter_map(|group| recursion_folder(group)).collect();
    assert_eq!(used, RECURSIONS.iter().map(|(folder, _)| *folder).collect());
    let found: Vec<_> = cycles.iter().map(|group| MEASURED.describe(group)).collect();
    assert_none("import cycles", &found);
}

#[test]
fn every_inherent_impl_stands_in_the_file_of_its_type() {
    let path = |index: usize| &MEASURED.modules.all[index].file_path;
    let mut types: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for found in MEASURED.misplaced_impls() {
        let text = format!("{} of {}", found.type_name, path(found.type_file));
        types.entry(found.file).or_default().insert(text);
    }
    let found: Vec<_> = types
        .iter()
        .map(|(file, types)| {
            let types: Vec<_> = types.iter().map(String::as_str).collect();
            format!("  {}: {}", path(*file), types.join(", "))
        })
        .collect();
    assert_none("files with an inherent impl of another file's type", &found);
}

#[test]
fn no_file_has_more_than_500_lines() {
    let found: Vec<_> = sources::product_files()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONG)
        .map(|(path, lines)| format!("  {path}: {lines} lines"))
        .collect();
    assert_none("files of more than 500 lines", &found);
}

/// Returns the entries of each folder; a file and the folder of its child modules are one.
fn entries(files: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, _) in files {
        let parts: Vec<_> = path.trim_end_matches(".rs").split('/').collect();
        for depth in 0..parts.len() {
            if parts[depth] != "mod" {
                let folder = folders.entry(parts[..depth].join("/")).or_default();
                folder.insert(parts[depth].to_owned());
            }
        }
    }
    folders
}

#[test]
fn no_folder_has_more_than_15_entries() {
    let folders = entries(&sources::product_files());
    let crowded: Vec<_> = folders
        .iter()
        .filter(|(folder, entries)| entries.len() > MOST_ENTRIES && !CATALOGS.contains(&folder.as_str()))
        .map(|(folder, entries)| format!("  {} {folder}", entries.len()))
        .collect();
    assert_none("folders with more than 15 entries", &crowded);
}

#[test]
fn no_folder_contains_an_entry_with_its_own_name() {
    for (folder, entries) in entries(&sources::product_files()) {
        let name = Path::new(&folder).file_name().unwrap_or_default().to_string_lossy();
        assert!(!entries.contains(&*name), "{folder} holds an entry that is also called `{name}`");
    }
}

#[test]
fn the_parts_of_a_folder_depend_on_lower_parts_only() {
    let found = order::violations(&MEASURED, ORDER);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_catalogs_are_folders_that_exist() {
    for folder in CATALOGS {
        assert!(sources::src().join(folder).is_dir(), "src/{folder} does not exist");
    }
}

#[test]
#[should_panic(expected = "cycles: 1")]
fn a_finding_fails_the_check() {
    assert_none("cycles", &["a, b".to_owned()]);
}

#[test]
fn a_file_and_the_folder_of_its_children_are_one_entry() {
    let files =
        ["a.rs", "a/b.rs", "a/c.rs", "d/mod.rs", "d/d.rs"].map(|path| (path.to_owned(), String::new()));
    let found: Vec<_> = entries(&files).into_iter().map(|(folder, names)| (folder, names.len())).collect();
    assert_eq!(found, [(String::new(), 2), ("a".to_owned(), 2), ("d".to_owned(), 1)]);
}
