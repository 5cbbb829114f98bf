//! Inputs of loading a configuration: environment, variables, overrides and access to secrets. The caller reads
//! the command line, the process environment and files; loading itself reads only through `Files`.

use std::collections::BTreeMap;

use super::files::Files;
use crate::model::address::Name;
use crate::model::live::catalog::Catalog;
use crate::model::values::secret::Secret;

/// Inputs of a load besides the files.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// The requested environment (`-e`, `STEAD_ENV`); `None`: the default one.
    pub environment: Option<Name>,
    /// Variables given by name (`--var`), as strings that are parsed by the variable's type.
    pub vars: BTreeMap<Name, String>,
    /// Variables from the process environment (`STEAD_VAR_x`), as strings. Names are lower case.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Variable files: `(shown path, content)`, YAML or KDL mappings. `vars` and `env_vars` override them, and
    /// a later file overrides an earlier one.
    pub var_files: Vec<(String, String)>,
    /// Pinned catalog names, for checks without a network; `None` skips these checks.
    pub pinned: Option<Catalog>,
    /// Deferred secrets whose values this run has, by the paths of their variables.
    pub available_secrets: BTreeMap<Name, Secret>,
    /// Whether placeholders of deferred secrets are used as if they were the secrets, because
    /// the run creates nothing real.
    pub accepts_placeholders: bool,
    /// Access of this run to secrets.
    pub secrets: SecretAccess,
    /// An additional expression to evaluate, as an output would be (`stead eval`).
    pub expression: Option<String>,
}

/// Access of a run to secrets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretAccess {
    /// The run needs secrets: a secret without a value is a problem.
    #[default]
    Required,
    /// The run does not use secrets: one without a value, or with an unreadable one, counts as unchanged.
    Optional,
    /// The run must not read secrets: none is requested or read, and each counts as unchanged.
    Denied,
}

/// File access for `file("…")`, `from_file` and directories of sources, below the stack's directory.
pub type FilesRef<'a> = &'a dyn Files;
