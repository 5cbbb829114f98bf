//! The list of assumptions in README.md and the variations name each other, and no section of the contract is missing.

use std::collections::BTreeSet;

use crate::runs::variations;

/// Sections of the contract that assume something: 6 has one for each of its finer points.
const SECTIONS: [&str; 5] = ["1", "2", "3", "4", "5"];
const FINER_POINTS: usize = 17;

/// Returns the rows of the table: the section and the last column.
fn rows() -> Vec<(String, String)> {
    let lines = include_str!("README.md").lines().filter(|line| line.starts_with("| "));
    let cells = lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .filter(|cells| cells[0] != "section")
        .map(|cells| (cells[0].to_owned(), cells[2].to_owned()))
        .collect()
}

#[test]
fn every_assumption_has_a_variation_or_a_reason() {
    let known: BTreeSet<&str> = variations().map(|variation| variation.name).collect();
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for (section, cell) in rows() {
        let names: Vec<&str> =
            cell.split('`').skip(1).step_by(2).filter(|name| known.contains(name)).collect();
        let reason = cell.split_once(':').map_or("", |(_, reason)| reason.trim());
        assert!(
            !names.is_empty() || !reason.is_empty(),
            "section {section}: `{cell}` is not a variation and no reason"
        );
        listed.extend(names.into_iter().map(str::to_owned));
        assert!(!cell.contains("none yet"), "section {section} has a gap");
    }
    let unlisted: Vec<_> = known.iter().filter(|name| !listed.contains(**name)).collect();
    assert!(unlisted.is_empty(), "no assumption is varied by {unlisted:?}");
}

#[test]
fn every_section_of_the_contract_is_listed() {
    let finer = (1..=FINER_POINTS).map(|point| format!("6.{point}"));
    let sections: Vec<String> = SECTIONS.iter().map(|&section| section.to_owned()).chain(finer).collect();
    let listed: BTreeSet<String> = rows().into_iter().map(|(section, _)| section).collect();
    let missing: Vec<_> = sections.iter().filter(|section| !listed.contains(*section)).collect();
    assert!(missing.is_empty(), "no assumption is listed of {missing:?}");
}

#[test]
fn every_file_that_a_reason_names_exists() {
    let root = env!("CARGO_MANIFEST_DIR");
    for (section, cell) in rows() {
        for word in cell
            .split([' ', ',', ';'])
            .filter(|word| word.starts_with("tests/") || word.starts_with("src/"))
        {
            let path = std::path::Path::new(root).join(word);
            assert!(path.exists(), "section {section} names {word}");
        }
    }
}
