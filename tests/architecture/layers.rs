//! Rules between the top folders of `src/`: which may import which, which do IO, and what every file must have.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::sources::{files, src};

/// Each folder, and the folders that it may name; lower layers first.
pub const MAY_NAME: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("kinds", &["model"]),
    ("config", &["model"]),
    ("ledger", &["model"]),
    ("cloud", &["model"]),
    ("plan", &["model", "config", "ledger"]),
    ("apply", &["model", "plan", "ledger", "cloud"]),
    ("workspace", &["model", "config", "ledger", "plan", "apply"]),
    ("report", &["model", "plan", "apply", "workspace"]),
    ("editor", &["model", "config"]),
    ("guide", &["model", "report", "editor"]),
    ("emulator", &["model"]),
    (
        "cli",
        &[
            "model",
            "kinds",
            "config",
            "ledger",
            "cloud",
            "plan",
            "apply",
            "workspace",
            "report",
            "editor",
            "guide",
            "emulator",
        ],
    ),
];

/// Layers that use no file, socket, clock, thread or environment, with the files inside them that are an edge and
/// may.
const PURE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("kinds", &[]),
    ("config", &[]),
    ("plan", &[]),
    ("workspace", &[]),
    ("report", &["report/live/display.rs"]),
    ("editor", &[]),
    ("guide", &[]),
];

/// Paths of IO that a pure layer must not contain.
const IO: &[&str] = &[
    "std::fs::",
    "std::net::",
    "std::thread",
    "std::env::",
    "std::process::",
    "tokio::",
    "reqwest::",
    "SystemTime",
    "Timestamp::now",
    "Instant::now",
];

/// Kinds whose names are also ordinary words in other documents, so that their literals are allowed.
const PLAIN_WORDS: &[&str] = &["\"project\"", "\"api_key\""];

/// Maximum number of lines of a file.
const MOST_LINES: usize = 600;

/// Returns every source file below a folder as `(path from src, source without its tests)`.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let root = src().join(folder);
    if root.exists() {
        files(&root, &mut found);
    }
    found
        .into_iter()
        .filter(|path| !path.components().any(|part| part.as_os_str() == "tests"))
        .filter(|path| path.file_stem().is_none_or(|stem| stem != "tests"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code: Vec<_> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            (path.strip_prefix(src()).unwrap().to_string_lossy().into_owned(), code.join("\n"))
        })
        .collect()
}

fn named(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("crate::").map(|(at, word)| {
        let rest = &code[at + word.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn imports_point_to_lower_layers_only() {
    for (folder, allowed) in MAY_NAME {
        for (path, code) in sources(folder) {
            for name in named(&code).filter(|name| name != folder) {
                assert!(
                    allowed.contains(&name),
                    "{path} names `{name}`; {folder} may name {allowed:?} only"
                );
            }
        }
    }
}

#[test]
fn every_folder_is_in_the_table() {
    let listed: BTreeSet<_> = MAY_NAME.iter().map(|(folder, _)| (*folder).to_owned()).collect();
    let found: BTreeSet<_> = fs::read_dir(src())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && path.read_dir().unwrap().next().is_some())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(found.is_subset(&listed), "{found:?}");
    let outside: Vec<_> = fs::read_dir(src())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "rs"))
        .filter(|name| name != "main.rs" && name != "lib.rs")
        .collect();
    assert_eq!(outside, Vec::<String>::new());
}

#[test]
fn pure_layers_do_no_io() {
    for (folder, edges) in PURE {
        for (path, code) in sources(folder) {
            if edges.contains(&path.as_str()) {
                continue;
            }
            for word in IO {
                assert!(!code.contains(word), "{path} contains `{word}`");
            }
        }
    }
}

#[test]
fn the_name_of_a_kind_occurs_only_in_its_table() {
    let kinds: Vec<_> = sources("kinds")
        .iter()
        .filter_map(|(path, _)| Some(Path::new(path).file_stem()?.to_string_lossy().into_owned()))
        .filter(|name| !["mod", "shared"].contains(&name.as_str()))
        .map(|name| format!("\"{name}\""))
        .collect();
    assert!(kinds.len() >= 8, "{kinds:?}");
    for (folder, _) in
        MAY_NAME.iter().filter(|(folder, _)| !["model", "kinds", "emulator"].contains(folder))
    {
        for (path, code) in sources(folder) {
            for kind in kinds.iter().filter(|kind| !PLAIN_WORDS.contains(&kind.as_str())) {
                assert!(!code.contains(kind.as_str()), "{path} names the kind {kind}");
            }
        }
    }
}

#[test]
fn files_do_not_exceed_the_size_limit() {
    let mut found = Vec::new();
    files(&src(), &mut found);
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut found);
    for path in found {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
    }
}

#[test]
fn mapping_modules_contain_only_mappings() {
    for (folder, _) in MAY_NAME {
        for (path, code) in sources(folder).iter().filter(|(path, _)| path.ends_with("mod.rs")) {
            assert!(!code.contains("fn "), "{path} is more than a map");
        }
    }
}

#[test]
fn every_file_has_a_module_doc() {
    let mut found = Vec::new();
    files(&src(), &mut found);
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut found);
    for path in found {
        assert!(fs::read_to_string(&path).unwrap().starts_with("//! "), "{}", path.display());
    }
}
