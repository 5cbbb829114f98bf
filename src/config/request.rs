//! What a configuration is loaded with: environment, variables, overrides and access to secrets.

use std::collections::BTreeMap;

use super::input::files::Files;
use crate::model::address::Name;
use crate::model::catalog::Catalog;
use crate::model::secret::Secret;

/// What decides besides the files.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// The environment asked for (`-e`, `STEAD_ENV`).
    pub environment: Option<Name>,
    /// Variables given by name (`--var`), as text.
    pub vars: BTreeMap<Name, String>,
    /// Variables from the process environment (`STEAD_VAR_x`), as text. Names are lower case.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Variable files: `(shown path, text)`, YAML or KDL mappings, weaker than `vars` and `env_vars`.
    /// Later files win.
    pub var_files: Vec<(String, String)>,
    /// Pinned catalog names, for checks without a network.
    pub pinned: Option<Catalog>,
    /// Secrets that stand in no file and are at hand, by the paths of their variables.
    pub at_hand: BTreeMap<Name, Secret>,
    /// What stands in for secrets that are not at hand is taken for them: nothing real is made.
    pub pretend: bool,
    /// What the run has of secrets.
    pub secrets: SecretAccess,
    /// An expression to evaluate besides, as an output would be (`stead eval`).
    pub expression: Option<String>,
}

/// What a run has of secrets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretAccess {
    /// It needs them: one that nobody gives is a problem.
    #[default]
    Required,
    /// It has no use for them: one that nobody gives, or that cannot be read, counts as what is in use.
    Optional,
    /// They are kept from it: none is asked for or read, and each counts as what is in use.
    Denied,
}

/// Reads what `file("…")`, `from_file` and directories of sources name, below the stack's directory.
pub type FilesRef<'a> = &'a dyn Files;
