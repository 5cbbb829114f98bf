//! Configurations as texts, loaded as the program loads them, beside directories of sources in memory.

use std::collections::BTreeSet;
use std::path::Path;

use stead::config::input::files::{DirectoryEntry, DirectoryEntryKind, Files};
use stead::config::input::request::LoadRequest;
use stead::config::load::load;
use stead::config::stack::model::Stack;
use stead::kinds::REGISTRY;
use stead::model::diagnostic::Severity;
use stead::model::schema::Registry;
use stead::model::source::{Source, Sources};

use super::disaster::Outside;

const HEAD: &str = "stead: 1\nstack: rules\n";

/// What stands beside every configuration: directories of sources, `one` and `two`.
struct Beside;

impl Files for Beside {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        match path.to_str() {
            Some(file @ ("one/main" | "two/main")) => Ok(file.as_bytes().to_vec()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    fn list(&self, path: &Path) -> std::io::Result<Vec<DirectoryEntry>> {
        match path.to_str() {
            Some("one" | "two") => {
                let what = DirectoryEntryKind::File { size: 8, executable: false };
                Ok(vec![DirectoryEntry { name: "main".into(), what }])
            }
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

/// Loads a configuration; else the codes of its errors. The codes of its warnings come with it.
pub fn loaded(text: &str) -> Result<(Stack, BTreeSet<String>), BTreeSet<String>> {
    loaded_by(REGISTRY, text)
}

pub fn loaded_by(registry: Registry, text: &str) -> Result<(Stack, BTreeSet<String>), BTreeSet<String>> {
    let mut sources = Sources::default();
    sources.add(Source::new("a.stead.yaml", format!("{HEAD}{text}")));
    match load(registry, sources, &LoadRequest::default(), &Beside) {
        Ok((stack, warnings)) => Ok((stack, warnings.iter().map(|w| w.code.to_owned()).collect())),
        Err(rejected) => {
            let errors = rejected.diagnostics.iter().filter(|d| d.severity == Severity::Error);
            Err(errors.map(|error| error.code.to_owned()).collect())
        }
    }
}

/// Chance that no run shares with an earlier one.
pub fn seed(outside: &Outside) -> u64 {
    1 + outside.records.borrow().len() as u64
}
