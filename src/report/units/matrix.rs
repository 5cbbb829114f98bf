//! The units of a repository as the matrix of a GitHub workflow, whose jobs run side by side. In: the rows of `stacks`. Out:
//! one line of JSON with at most as many entries as GitHub accepts; where there are more units, an entry has several.

use serde::Serialize;
use serde_json::json;

use super::list::UnitRow;

/// Number of jobs that GitHub generates for one matrix.
const MAX_ENTRIES: usize = 256;

#[derive(Serialize)]
struct MatrixEntry {
    /// What the job is called: the first unit, and how many others it has.
    name: String,
    units: Vec<String>,
    /// Flags that select these units.
    flags: String,
}

/// Returns the matrix of some units, as a single line, with their number: GitHub refuses a matrix without jobs, so that a
/// workflow has to look at that first. Their order is kept, so that an entry has units of near waves.
#[must_use]
pub fn units_matrix(units: &[UnitRow]) -> String {
    let entry = |group: &[UnitRow]| {
        let units: Vec<String> =
            group.iter().map(|unit| format!("{}/{}", unit.stack, unit.environment)).collect();
        let name = match units.as_slice() {
            [first, others @ ..] if !others.is_empty() => format!("{first} and {} more", others.len()),
            units => units.concat(),
        };
        let flags: Vec<String> = units.iter().map(|unit| format!("--stacks '{unit}'")).collect();
        MatrixEntry { name, units, flags: flags.join(" ") }
    };
    let size = units.len().div_ceil(MAX_ENTRIES).max(1);
    let entries: Vec<MatrixEntry> = units.chunks(size).map(entry).collect();
    format!("{}\n", json!({ "include": entries, "count": units.len() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(count: usize) -> Vec<UnitRow> {
        let unit = |number: usize| UnitRow {
            stack: format!("s{number}").into(),
            environment: "prod".into(),
            directory: Some(format!("s{number}").into()),
            valid: true,
            upstream: Vec::new(),
            wave: 0,
            changed: None,
            ledger: None,
        };
        (0..count).map(unit).collect()
    }

    #[test]
    fn a_matrix_has_every_unit_once_and_no_more_entries_than_github_accepts() {
        for count in [0, 1, 2, 255, 256, 257, 511, 512, 513, 1_000] {
            let units = units(count);
            let line = units_matrix(&units);
            assert_eq!(line.lines().count(), 1, "a job's output is one line");
            let matrix: serde_json::Value = serde_json::from_str(&line).unwrap();
            let entries = matrix["include"].as_array().unwrap();
            assert!(entries.len() <= 256, "{count}: {}", entries.len());
            assert_eq!(matrix["count"], count);
            let found: Vec<&str> = entries
                .iter()
                .flat_map(|entry| entry["units"].as_array().unwrap())
                .map(|unit| unit.as_str().unwrap())
                .collect();
            let wanted: Vec<String> = units.iter().map(|unit| format!("{}/prod", unit.stack)).collect();
            assert_eq!(found, wanted);
        }
        let matrix: serde_json::Value = serde_json::from_str(&units_matrix(&units(300))).unwrap();
        let first = &matrix["include"][0];
        assert_eq!(first["name"], "s0/prod and 1 more");
        assert_eq!(first["flags"], "--stacks 's0/prod' --stacks 's1/prod'");
    }
}
