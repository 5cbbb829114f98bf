//! `load`: from file texts to a `Stack`, collecting every problem on the way.

use std::collections::BTreeMap;
use std::path::Path;

use super::stack::Stack;
use crate::model::address::Name;
use crate::model::catalog::Catalog;
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;
use crate::model::secret::Secret;
use crate::model::source::Sources;

/// What decides besides the files.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The environment asked for (`-e`, `STEAD_ENV`).
    pub environment: Option<Name>,
    /// Variables given by name (`--var`), as text.
    pub vars: BTreeMap<Name, String>,
    /// Variables from the process environment (`STEAD_VAR_x`), as text. Names are lower case.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Variable files: `(shown path, text)`, YAML or KDL mappings, weaker than `vars` and `env_vars`.
    pub var_files: Vec<(String, String)>,
    /// Pinned catalog names, for checks without a network.
    pub pinned: Option<Catalog>,
}

/// Reads the files that `file("…")` and `from_file` name: relative paths below the stack's directory.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

/// A configuration with problems: nothing is done with it.
#[derive(Debug)]
pub struct Rejected {
    /// The files, for showing places.
    pub sources: Sources,
    /// At least one error among them.
    pub diagnostics: Vec<Diagnostic>,
}

/// Resolves a stack. On success the diagnostics are warnings only.
///
/// # Errors
/// All problems that were found, together.
pub fn load(
    _registry: Registry,
    _sources: Sources,
    _request: &Request,
    _read: ReadFile<'_>,
) -> Result<(Stack, Vec<Diagnostic>), Box<Rejected>> {
    unimplemented!("RESOLVE")
}
