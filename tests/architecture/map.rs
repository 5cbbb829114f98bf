//! The map of the program in `src/lib.rs`: its paths exist, and it shows every top folder.

use std::fs;
use std::path::Path;

use crate::layers;

/// Returns the words in backticks of the module doc of `src/lib.rs`.
fn quoted_words() -> Vec<String> {
    let text = fs::read_to_string(crate::sources::src().join("lib.rs")).unwrap();
    let doc: String = text.lines().filter_map(|line| line.strip_prefix("//!")).collect();
    doc.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_path_of_the_map_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let paths: Vec<_> = quoted_words().into_iter().filter(|word| word.contains(['/', '.'])).collect();
    assert!(paths.len() > 20, "{paths:?}");
    for path in paths {
        // `NAME` stands for the new file: its folder exists.
        let known = path.split_once("/NAME").map_or(&*path, |(folder, _)| folder);
        assert!(root.join(known).exists(), "src/lib.rs names `{path}`, which does not exist");
    }
}

#[test]
fn the_map_shows_every_top_folder() {
    let words = quoted_words();
    for (folder, _) in layers::MAY_NAME {
        assert!(
            words.iter().any(|word| *word == format!("src/{folder}")),
            "src/lib.rs does not show {folder}"
        );
    }
}
