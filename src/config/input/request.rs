//! What a configuration is loaded with: environment, variables, overrides and access to secrets.

use std::collections::BTreeMap;

use super::files::Files;
use crate::model::address::Name;
use crate::model::live::catalog::Catalog;
use crate::model::values::secret::Secret;

/// Inputs of a load besides the files.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// The environment asked for (`-e`, `STEAD_ENV`).
    pub environment: Option<Name>,
    /// Variables given by name (`--var`), as text.
    pub vars: BTreeMap<Name, String>,
    /// Variables from the process environment (`STEAD_VAR_x`), as text. Names are lower case.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Variable files: `(shown path, text)`, YAML or KDL mappings, weaker than `vars`
    /// and `env_vars`. Later files win.
    pub var_files: Vec<(String, String)>,
    /// Pinned catalog names, for checks without a network.
    pub pinned: Option<Catalog>,
    /// Deferred secrets whose values this run has, by the paths of their variables.
    pub available_secrets: BTreeMap<Name, Secret>,
    /// Whether placeholders of deferred secrets are used as if they were the secrets, because
    /// the run creates nothing real.
    pub accepts_placeholders: bool,
    /// Access of this run to secrets.
    pub secrets: SecretAccess,
    /// An expression to evaluate besides, as an output would be (`stead eval`).
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
