//! What a worker has in common with the others of its run: the program, the commit, the configuration and the secrets.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::artifacts::plan_file::STEAD_VERSION;
use crate::cli::files::git_origin;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::units::Workspace;
use crate::ledger::runs::row::{RunIdentity, RunRow};
use crate::model::address::Name;
use crate::model::crypto::digest::json_digest;
use crate::model::values::secret::FingerprintKey;
use crate::plan::artifact::binding;

/// Returns what a worker has in common with the others. `said` is the commit that the CI job states, `fingerprint` that of the
/// approved plans, `overrides` the overridden policies, and `salt` the key of the secrets' digest: the run's, or a new one.
///
/// # Errors
/// When a digest cannot be computed.
pub(in crate::cli) fn worker_identity(
    workspace: &Workspace,
    said: Option<&Name>,
    (fingerprint, destroy, overrides): (&str, bool, &BTreeSet<Name>),
    salt: FingerprintKey,
) -> Result<RunIdentity, CliFailure> {
    let mut configurations: BTreeMap<String, &str> = BTreeMap::new();
    let mut secrets: BTreeMap<String, String> = BTreeMap::new();
    for (_, one) in workspace.selected_units() {
        let name = one.unit.name.to_string();
        let Ok(project) = &one.loaded else {
            configurations.insert(name, "");
            continue;
        };
        let digest = binding::secrets_digest(&project.stack, &salt).map_err(anyhow::Error::from)?;
        secrets.insert(name.clone(), digest);
        configurations.insert(name, &project.stack.digest);
    }
    Ok(RunIdentity {
        version: STEAD_VERSION.to_owned(),
        commit: git_origin::checked_out_commit(&workspace.root).or_else(|| said.cloned()),
        configuration: json_digest("stead run 1", &configurations).map_err(anyhow::Error::from)?,
        secrets: json_digest("stead run secrets 1", &secrets).map_err(anyhow::Error::from)?,
        fingerprint: fingerprint.to_owned(),
        destroy,
        overrides: overrides.clone(),
        salt,
    })
}

/// Checks that a worker may join a run.
///
/// # Errors
/// When it differs from the worker that began the run; nothing was claimed then.
pub(in crate::cli) fn check_same(run: &RunRow, own: &RunIdentity) -> Result<(), CliFailure> {
    let Some(what) = run.identity.first_difference(own) else { return Ok(()) };
    let shown = |identity: &RunIdentity| match what {
        "version of stead" => format!(" ({})", identity.version),
        "commit" => identity.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default(),
        "fingerprint" => format!(" ({})", identity.fingerprint),
        "set of overridden policies" if identity.overrides.is_empty() => " (none)".to_owned(),
        "set of overridden policies" => {
            let names: Vec<&str> = identity.overrides.iter().map(Name::as_str).collect();
            format!(" ({})", names.join(", "))
        }
        _ => String::new(),
    };
    let message = format!(
        "this worker has another {what}{} than the run {}{}; it claimed nothing",
        shown(own),
        run.name,
        shown(&run.identity)
    );
    Err(CliFailure::new(Exit::OutOfDate, message)
        .help("All workers of a run need the same commit, configuration, secrets, --override and version of stead. For another apply, name another run."))
}
