//! A set of saved plans in a directory: a plan file for each unit with something to do, and a manifest with their digests.
//! The manifest is signed, and so vouches for all of them. In: the plans of a review. Out: the same plans, or the reason
//! why they are not those that were written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan_file::{self, STEAD_VERSION};
use crate::cli::args::global_flags::quote_shell_word;
use crate::cli::files::{stack_files, write_files};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::{Settings, printed_commands};
use crate::config::input::discovery::is_stack_file;
use crate::kinds::REGISTRY;
use crate::model::address::{Name, is_legal_segment};
use crate::model::crypto::hex::encode_hex;
use crate::plan::artifact::saved_plan::SavedPlan;
use crate::plan::artifact::signature::{SignedPlanText, SigningKey};
use crate::workspace::combined;
use crate::workspace::unit::UnitName;

/// End of the names of plan files.
const PLAN_SUFFIX: &str = ".plan";

/// File name of the manifest in the directory.
const MANIFEST: &str = "manifest.json";

/// Version of the manifest's format.
const MANIFEST_VERSION: u32 = 1;

/// The manifest of a set. Its keys are a format: an apply on another machine reads it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Version of the format.
    plan_set: u32,
    /// Version of the program that wrote it.
    stead_version: String,
    /// Fingerprint of all plans together.
    fingerprint: String,
    /// Whether everything is deleted.
    destroy: bool,
    units: Vec<ManifestEntry>,
    /// Units that could not be planned, as `stack/environment`; empty if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed: Vec<String>,
}

/// A unit of a set.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestEntry {
    stack: Name,
    environment: Name,
    /// Directory relative to the root of the repository.
    directory: Name,
    /// SHA-256 of the plan file, in hexadecimal.
    sha256: String,
    /// Units whose outputs it reads, as `stack/environment`; empty if it reads none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    upstream: Vec<String>,
}

/// A set as it was read.
#[derive(Debug)]
pub(in crate::cli) struct LoadedPlanSet {
    /// Fingerprint of all plans together: 64 hexadecimal digits.
    pub(in crate::cli) fingerprint: String,
    /// Whether everything is deleted.
    pub(in crate::cli) destroy: bool,
    /// The plans by unit.
    pub(in crate::cli) plans: BTreeMap<UnitName, SavedPlan>,
    /// Directories of the units relative to the root of the repository.
    pub(in crate::cli) directories: BTreeMap<UnitName, Name>,
    /// The units whose outputs each unit reads.
    pub(in crate::cli) upstream: BTreeMap<UnitName, Vec<UnitName>>,
    /// Units that could not be planned, and so have no plan here.
    pub(in crate::cli) failed: Vec<UnitName>,
    /// Who signed it, as a phrase.
    pub(in crate::cli) signer: String,
}

/// A plan to be saved.
pub(in crate::cli) struct PlanToSave<'a> {
    pub(in crate::cli) name: &'a UnitName,
    /// Directory relative to the root of the repository.
    pub(in crate::cli) directory: &'a Name,
    /// The units whose outputs it reads.
    pub(in crate::cli) upstream: Vec<UnitName>,
    pub(in crate::cli) saved: SavedPlan,
}

/// Returns whether a path is a directory, so that it can only be a set of plans: a path below it exists.
pub(in crate::cli) fn is_directory(path: &Path) -> bool {
    stack_files::path_exists(&path.join("."))
}

/// Writes a set into a directory, which is created if it is missing, in place of a set that it has. `failed` names the units
/// without a plan. The manifest comes last, so that an interrupted write leaves no set that looks complete.
///
/// # Errors
/// When a plan cannot be serialized, or a file cannot be written.
pub(in crate::cli) fn save_set(
    directory: &Path,
    fingerprint: &str,
    destroy: bool,
    (plans, failed): (&[PlanToSave<'_>], &[&UnitName]),
    key: Option<&SigningKey>,
) -> Result<(), CliFailure> {
    stack_files::make_private_directory(directory)?;
    remove_earlier_set(directory)?;
    let mut units = Vec::with_capacity(plans.len());
    for plan in plans {
        let text = plan.saved.to_text().map_err(anyhow::Error::from)?;
        write_files::write_private(&directory.join(plan_file_name(plan.name)), text.as_bytes())?;
        units.push(ManifestEntry {
            stack: plan.name.stack.clone(),
            environment: plan.name.environment.clone(),
            directory: plan.directory.clone(),
            sha256: encode_hex(&Sha256::digest(text.as_bytes())),
            upstream: plan.upstream.iter().map(ToString::to_string).collect(),
        });
    }
    let manifest = Manifest {
        plan_set: MANIFEST_VERSION,
        stead_version: STEAD_VERSION.to_owned(),
        fingerprint: fingerprint.to_owned(),
        destroy,
        units,
        failed: failed.iter().map(ToString::to_string).collect(),
    };
    let text = serde_json::to_string(&manifest).map(|text| text + "\n");
    let text = text.and_then(|text| match key {
        Some(key) => key.sign(&text),
        None => Ok(text),
    });
    let text = text.map_err(anyhow::Error::from)?;
    Ok(write_files::write_private(&directory.join(MANIFEST), text.as_bytes())?)
}

/// Removes the set that a directory has: its manifest, and the plans that the manifest names. Other files stay.
fn remove_earlier_set(directory: &Path) -> Result<(), CliFailure> {
    let path = directory.join(MANIFEST);
    let Some(text) = stack_files::read_optional(&path)? else { return Ok(()) };
    let manifest: Option<Manifest> = serde_json::from_str(&SignedPlanText::parse(&text).text).ok();
    // Without the manifest, an interrupted write leaves no set.
    stack_files::remove_file(&path);
    for ManifestEntry { stack, environment, .. } in manifest.into_iter().flat_map(|set| set.units) {
        if is_legal_segment(&stack) && is_legal_segment(&environment) {
            stack_files::remove_file(&directory.join(plan_file_name(&UnitName { stack, environment })));
        }
    }
    Ok(())
}

/// Parses names of units; `None` if one of them is none.
fn parse_names(names: &[String]) -> Option<Vec<UnitName>> {
    names.iter().map(|name| UnitName::parse(name)).collect()
}

/// Returns the path of a directory's manifest.
///
/// # Errors
/// When there is none.
fn manifest_path(settings: &Settings, directory: &Path) -> Result<PathBuf, CliFailure> {
    let path = directory.join(MANIFEST);
    if stack_files::path_exists(&path) { Ok(path) } else { Err(no_set(settings, directory)) }
}

/// Returns the failure for a directory without a manifest: what it is, and how a set is made.
fn no_set(settings: &Settings, directory: &Path) -> CliFailure {
    let shown = stack_files::display_path(directory);
    let names = stack_files::entry_names(directory, |_| true).unwrap_or_default();
    let has = |test: &dyn Fn(&str) -> bool| names.iter().any(|name| test(name));
    let is_stack = has(&is_stack_file);
    let what = if is_stack {
        "it is the directory of a stack"
    } else if has(&|name| name.ends_with(PLAN_SUFFIX)) {
        "it has plans, and the manifest is missing: writing it was interrupted, or not all of it was copied"
    } else if names.is_empty() {
        "it is empty"
    } else {
        "it has other files"
    };
    // Plans are not written among the files of a stack.
    let target = if is_stack { "DIRECTORY".to_owned() } else { quote_shell_word(&shown) };
    let failure =
        CliFailure::new(Exit::Failed, format!("{shown} has no set of saved plans, no {MANIFEST}: {what}"))
            .help(format!("Make a set: {}", settings.command_line(&format!("plan --all -o {target}"))));
    if !is_stack {
        return failure;
    }
    let own = printed_commands::flags_except(&settings.said, &["-C"]);
    let flags: Vec<String> = [format!("-C {}", quote_shell_word(&shown))].into_iter().chain(own).collect();
    failure.help(format!("Or plan the stack: {}", printed_commands::command_line(&flags, "plan")))
}

/// Reads a set; verifies the manifest's signature if trusted keys are configured, and each plan by its digest.
///
/// # Errors
/// When there is no set, a file is missing or was changed, or a signature by a trusted key is missing.
pub(in crate::cli) fn read_set(
    settings: &Settings,
    directory: &Path,
    verify_key: Option<&Path>,
) -> Result<LoadedPlanSet, CliFailure> {
    let path = manifest_path(settings, directory)?;
    let shown = stack_files::display_path(&path);
    let verified = plan_file::read_verified_text(settings, &path, verify_key)?;
    let wrong = |why: String| {
        CliFailure::new(Exit::Failed, format!("{shown}: {why}"))
            .help("Make a new set: stead plan --all -o DIRECTORY")
    };
    let unknown_unit = || wrong("it names a unit that cannot exist".to_owned());
    let manifest: Manifest = serde_json::from_str(&verified.text)
        .map_err(|error| wrong(format!("this is not the manifest of a set of plans: {error}")))?;
    if manifest.plan_set != MANIFEST_VERSION || manifest.stead_version != STEAD_VERSION {
        let version = manifest.stead_version;
        return Err(CliFailure::new(
            Exit::OutOfDate,
            format!("{shown} was written by stead {version}, and this is {STEAD_VERSION}"),
        )
        .help("Nothing was sent. Plan again with this version."));
    }
    let (mut plans, mut directories, mut readers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for ManifestEntry { stack, environment, directory: place, sha256, upstream } in manifest.units {
        if !(is_legal_segment(&stack) && is_legal_segment(&environment)) {
            return Err(unknown_unit());
        }
        let name = UnitName { stack, environment };
        let path = directory.join(plan_file_name(&name));
        let file = stack_files::display_path(&path);
        let text = stack_files::read_optional(&path)?
            .ok_or_else(|| wrong(format!("the plan of {name} is missing: {file}")))?;
        if encode_hex(&Sha256::digest(text.as_bytes())) != sha256 {
            return Err(CliFailure::new(
                Exit::Blocked,
                format!("{file} is not the plan that the manifest names"),
            )
            .help("Nothing was sent. Use the unchanged directory of the job that made the plans."));
        }
        let saved = SavedPlan::parse(&text, REGISTRY).map_err(|error| wrong(format!("{file}: {error}")))?;
        let base = &saved.plan.base;
        if base.stack != name.stack || base.environment != name.environment || plans.contains_key(&name) {
            return Err(wrong(format!("{file} is not the plan of {name} alone")));
        }
        readers.insert(name.clone(), parse_names(&upstream).ok_or_else(unknown_unit)?);
        directories.insert(name.clone(), place);
        plans.insert(name, saved);
    }
    let fingerprints: BTreeMap<String, &str> =
        plans.iter().map(|(name, saved)| (name.to_string(), saved.plan.fingerprint.as_str())).collect();
    let fingerprint = combined::digest_of(&fingerprints, manifest.destroy).map_err(anyhow::Error::from)?;
    if fingerprint != manifest.fingerprint {
        return Err(wrong("its fingerprint is not that of the plans".to_owned()));
    }
    Ok(LoadedPlanSet {
        failed: parse_names(&manifest.failed).ok_or_else(unknown_unit)?,
        fingerprint,
        destroy: manifest.destroy,
        plans,
        directories,
        upstream: readers,
        signer: verified.signer,
    })
}

/// Returns the name of a unit's plan file; names of stacks and environments have no dot.
fn plan_file_name(unit: &UnitName) -> String {
    format!("{}.{}{PLAN_SUFFIX}", unit.stack, unit.environment)
}
