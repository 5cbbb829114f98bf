//! What a configuration is loaded with besides its files: environment, variables and access to secrets. The caller
//! fills it in from flags, settings and the process environment; no phase of `config` reads these itself.

use std::collections::BTreeMap;

use super::files::Files;
use crate::config::syntax::jobs::JobRunner;
use crate::model::address::Name;
use crate::model::live::catalog::Catalog;
use crate::model::source::Source;
use crate::model::values::secret::Secret;

/// Inputs of a load besides the files. The default asks for nothing, and requires secrets.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// Name of the requested environment (`-e`, `STEAD_ENV`); `None` chooses the stack's default.
    pub environment: Option<Name>,
    /// Values of variables from flags (`--var`), by name, as text. They have the highest precedence.
    pub vars: BTreeMap<Name, String>,
    /// Values of variables from the process environment (`STEAD_VAR_X`), as text, by the rest of the name in lower
    /// case. All are held as secrets, because CI systems keep confidential values there.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Variable files: the path for messages and the text, a YAML or KDL map. Their values may be confidential. A
    /// later file has precedence over an earlier one, `vars` and `env_vars` over all.
    pub var_files: Vec<(String, String)>,
    /// Files with the policies of the user's settings, which hold for every stack.
    pub policies: Vec<Source>,
    /// Catalog names that the lock file pins, for checks without a network; `None` leaves these checks out.
    pub pinned: Option<Catalog>,
    /// Plaintext of the deferred secrets whose values this run has, by the paths of their variables
    /// (`shop_eu.token` in a module).
    pub available_secrets: BTreeMap<Name, Secret>,
    /// Whether placeholders of deferred secrets are used as if they were the secrets, because
    /// the run creates nothing real.
    pub accepts_placeholders: bool,
    /// Whether a secret without a value is a problem, and whether sources of secrets may be read.
    pub secrets: SecretAccess,
    /// Text of an expression to evaluate besides, as an output would be (`stead eval`); `None` evaluates none.
    pub expression: Option<String>,
    /// Runs what can be done at the same time, such as parsing of several files. The default runs it in turn.
    pub jobs: &'static dyn JobRunner,
}

/// Whether a run needs secrets, and whether it may read their sources.
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

/// File access for `file("…")`, `from_file` and directories of sources. Paths are relative to the stack's directory.
pub type FilesRef<'a> = &'a dyn Files;
