//! Compares the measured figures with those that are written down.
//!
//! With `STEAD_HOUSE=print` in the environment the tests also print what they measure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use crate::dependencies::Dependencies;
use crate::{CROWDED_FOLDERS, FIGURES, Figures, ORDER, RECURSIONS, layers, order, sources};

/// Maximum number of lines of a product file.
const LONG: usize = 500;

/// Maximum number of entries of a folder.
const MOST_ENTRIES: usize = 15;

/// Maximum number of modules in a folder of `RECURSIONS`.
const MAX_RECURSION: usize = 6;

/// Folders that list what the service or the program has, one entry each.
const CATALOGS: &[&str] = &["kinds", "cli/commands"];

/// Fails if a figure differs from the one that is written down, in either direction.
fn compare(what: &str, limit: usize, measured: usize, detail: &str) {
    assert!(measured <= limit, "{what}: {measured}, and at most {limit} are allowed\n{detail}");
    assert!(
        measured == limit,
        "{what}: {measured}, fewer than the {limit} in main.rs: write the lower number there"
    );
}

fn print(text: &str) {
    if std::env::var("STEAD_HOUSE").is_ok_and(|value| value == "print") {
        println!("{text}");
    }
}

fn limit(folder: &str) -> Figures {
    FIGURES.iter().find(|(name, _)| *name == folder).map(|(_, figures)| *figures).unwrap_or_default()
}

/// Findings of one kind in a top folder: their number, and a description in lines.
struct Finding {
    folder: String,
    count: usize,
    text: String,
}

/// Compares one figure for every folder.
fn compare_folders(what: &str, figure: impl Fn(Figures) -> usize, found: &[Finding]) {
    let mut folders: BTreeMap<&str, (usize, String)> =
        FIGURES.iter().map(|(name, _)| (*name, (0, String::new()))).collect();
    for finding in found {
        let (count, text) = folders.entry(&finding.folder).or_default();
        *count += finding.count;
        text.push_str(&finding.text);
    }
    let total: usize = found.iter().map(|finding| finding.count).sum();
    let mut overview = format!("{what}: {total}\n");
    for (folder, (count, _)) in &folders {
        let _ = writeln!(overview, "  {folder}: {count}");
    }
    let texts: Vec<_> = found.iter().map(|finding| finding.text.as_str()).collect();
    print(&format!("{overview}{}", texts.concat()));
    for (folder, (count, text)) in folders {
        compare(&format!("{folder}: {what}"), figure(limit(folder)), count, &text);
    }
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
fn the_number_of_modules_in_import_cycles_does_not_grow() {
    let (recursions, cycles): (Vec<_>, Vec<_>) =
        MEASURED.cycles().into_iter().partition(|group| recursion_folder(group).is_some());
    // A listed folder without a cycle needs no exception any more.
    let used: BTreeSet<_> = recursions.iter().filter_map(|group| recursion_folder(group)).collect();
    assert_eq!(used, RECURSIONS.iter().map(|(folder, _)| *folder).collect());
    let mut found = Vec::new();
    for group in cycles {
        let text = MEASURED.describe(&group);
        let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
        for index in group {
            *folders.entry(MEASURED.modules.all[index].top()).or_default() += 1;
        }
        for (folder, count) in folders {
            found.push(Finding { folder: folder.to_owned(), count, text: text.clone() });
        }
    }
    compare_folders("modules in import cycles", |figures| figures.in_cycles, &found);
}

#[test]
fn the_number_of_misplaced_inherent_impls_does_not_grow() {
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
            let text = format!("  {}: {}\n", path(*file), types.join(", "));
            Finding { folder: MEASURED.modules.all[*file].top().to_owned(), count: 1, text }
        })
        .collect();
    let what = "files with an inherent impl of another file's type";
    compare_folders(what, |figures| figures.misplaced_impls, &found);
}

#[test]
fn the_number_of_long_files_does_not_grow() {
    let found: Vec<_> = sources::product_files()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONG)
        .map(|(path, lines)| {
            let folder = path.split('/').next().unwrap_or_default().to_owned();
            Finding { folder, count: 1, text: format!("  {path}: {lines} lines\n") }
        })
        .collect();
    compare_folders("files of more than 500 lines", |figures| figures.long_files, &found);
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
fn the_number_of_crowded_folders_does_not_grow() {
    let folders = entries(&sources::product_files());
    let crowded: Vec<_> = folders
        .iter()
        .filter(|(folder, entries)| entries.len() > MOST_ENTRIES && !CATALOGS.contains(&folder.as_str()))
        .map(|(folder, entries)| format!("  {} {folder}", entries.len()))
        .collect();
    let what = "folders with more than 15 entries";
    print(&format!("{what}: {}\n{}", crowded.len(), crowded.join("\n")));
    compare(what, CROWDED_FOLDERS, crowded.len(), &crowded.join("\n"));
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
fn the_tables_name_folders_that_exist() {
    for (folder, figures) in FIGURES {
        assert!(sources::src().join(folder).is_dir(), "src/{folder} does not exist");
        assert_ne!(*figures, Figures::default(), "{folder} needs no row");
    }
    for folder in CATALOGS {
        assert!(sources::src().join(folder).is_dir(), "src/{folder} does not exist");
    }
    let listed = |folder: &str| layers::MAY_NAME.iter().any(|(name, _)| *name == folder);
    assert!(FIGURES.iter().all(|(folder, _)| listed(folder)));
}

#[test]
#[should_panic(expected = "cycles: 3, and at most 2 are allowed")]
fn a_metric_that_rises_fails_the_check() {
    compare("cycles", 2, 3, "");
}

#[test]
#[should_panic(expected = "write the lower number there")]
fn a_metric_that_falls_fails_until_its_recorded_value_is_updated() {
    compare("cycles", 2, 1, "");
}

#[test]
fn a_file_and_the_folder_of_its_children_are_one_entry() {
    let files =
        ["a.rs", "a/b.rs", "a/c.rs", "d/mod.rs", "d/d.rs"].map(|path| (path.to_owned(), String::new()));
    let found: Vec<_> = entries(&files).into_iter().map(|(folder, names)| (folder, names.len())).collect();
    assert_eq!(found, [(String::new(), 2), ("a".to_owned(), 2), ("d".to_owned(), 1)]);
}
