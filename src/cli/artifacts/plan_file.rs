//! Saves and reads plan files, signs them, and verifies their signatures. Keys are named by flag, by a `STEAD_*`
//! variable or in the user's own settings, never by a stack: a stack must not choose whose plans are trusted.

use std::path::Path;

use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::Settings;
use crate::kinds::REGISTRY;
use crate::plan::artifact::binding::PlanBinding;
use crate::plan::artifact::saved_plan::SavedPlan;
use crate::plan::artifact::signature::{
    KeyId, SignatureKeyError, SignedPlanText, SigningKey, VerifyingKeys,
};
use crate::plan::model::change::Plan;

/// The version of stead that a saved plan is bound to: another version may plan differently, so it refuses the file.
pub(in crate::cli) const STEAD_VERSION: &str = env!("CARGO_PKG_VERSION");

/// A saved plan and its signature status.
pub(in crate::cli) struct LoadedPlan {
    /// Contents of the plan file.
    pub(in crate::cli) saved: SavedPlan,
    /// Key that the file names as its signer; `None` if it is unsigned. Not proven unless `checked` is set.
    signer: Option<KeyId>,
    /// Whether the signature was verified with a trusted key.
    checked: bool,
}

impl LoadedPlan {
    /// Returns a phrase that states who signed the plan, and whether the signature was verified.
    pub(in crate::cli) fn describe_signer(&self) -> String {
        describe_signature(self.signer.as_ref(), self.checked)
    }

    /// Returns whether the plan has a signature, verified or not.
    pub(in crate::cli) fn is_signed(&self) -> bool {
        self.signer.is_some()
    }
}

/// Returns the key that signs saved plans: that of the flag, else that of the settings; `None` if neither names one.
///
/// # Errors
/// When its file cannot be read, is readable by other users, or holds no such key.
pub(in crate::cli) fn signing_key(
    settings: &Settings,
    flag: Option<&Path>,
) -> Result<Option<SigningKey>, CliFailure> {
    let Some(path) = flag.or(settings.plan_keys.sign.as_deref()) else { return Ok(None) };
    let pem = stack_files::read_own_secret(path)?;
    let help = "Generate a key for signing: openssl genpkey -algorithm ed25519 -out FILE";
    SigningKey::parse(&pem).map(Some).map_err(|error| unusable_signing_key(path, &error, help))
}

/// Returns the keys whose saved plans are accepted, from the flag, else from the settings; `None` if
/// neither names a file.
///
/// # Errors
/// When their file cannot be read, or holds no such key.
fn verifying_keys(settings: &Settings, flag: Option<&Path>) -> Result<Option<VerifyingKeys>, CliFailure> {
    let Some(path) = flag.or(settings.plan_keys.verify.as_deref()) else { return Ok(None) };
    let pem = stack_files::read_bytes(path)?;
    let help = "Print the public key of a private key: openssl pkey -in FILE -pubout";
    VerifyingKeys::parse(&pem).map(Some).map_err(|error| unusable_signing_key(path, &error, help))
}

fn unusable_signing_key(path: &Path, error: &SignatureKeyError, help: &str) -> CliFailure {
    CliFailure::new(Exit::Failed, format!("{} is not used: {error}", stack_files::display_path(path)))
        .help(help)
}

/// Writes a plan to a file that only the user can read, signed if a key is given.
///
/// # Errors
/// When the plan cannot be serialized, or the file cannot be written.
pub(in crate::cli) fn save_plan(
    path: &Path,
    plan: Plan,
    binding: PlanBinding,
    key: Option<&SigningKey>,
) -> Result<(), CliFailure> {
    let saved = SavedPlan::new(plan, binding, STEAD_VERSION);
    let text = saved.and_then(|saved| saved.to_text()).and_then(|text| match key {
        Some(key) => key.sign(&text),
        None => Ok(text),
    });
    Ok(write_files::write_private(path, text.map_err(anyhow::Error::from)?.as_bytes())?)
}

/// Reads a saved plan, and verifies its signature if trusted keys are configured.
///
/// # Errors
/// When the file is not a plan, was modified after it was written, or lacks a signature by a trusted key.
pub(in crate::cli) fn read_verified(
    settings: &Settings,
    path: &Path,
    flag: Option<&Path>,
) -> Result<LoadedPlan, CliFailure> {
    let (signed, checked) = verify_file(settings, path, flag)?;
    let saved = parse_saved_plan(path, &signed)?;
    Ok(LoadedPlan { saved, signer: signed.signer().cloned(), checked })
}

/// Returns a signed file, and whether its signature was verified with a trusted key. The signature covers the bytes of the
/// file, so it is verified before anything of them is parsed.
fn verify_file(
    settings: &Settings,
    path: &Path,
    flag: Option<&Path>,
) -> Result<(SignedPlanText, bool), CliFailure> {
    let keys = verifying_keys(settings, flag)?;
    let signed = read_signed_text(path)?;
    if let Some(keys) = &keys {
        keys.verify_signature(&signed).map_err(|error| {
            CliFailure::new(Exit::Blocked, format!("{}: {error}", stack_files::display_path(path)))
                .help("Nothing was sent.")
                .help("Use the unchanged file of the job that made the plan: stead plan -o FILE --sign-key FILE")
        })?;
    }
    Ok((signed, keys.is_some()))
}

/// The text of a signed file, and who signed it, as a phrase.
pub(in crate::cli) struct VerifiedText {
    pub(in crate::cli) text: String,
    pub(in crate::cli) signer: String,
}

/// Reads the text of a signed file, and verifies its signature if trusted keys are configured.
///
/// # Errors
/// When it cannot be read, or lacks a signature by a trusted key.
pub(in crate::cli) fn read_verified_text(
    settings: &Settings,
    path: &Path,
    flag: Option<&Path>,
) -> Result<VerifiedText, CliFailure> {
    let (signed, checked) = verify_file(settings, path, flag)?;
    let signer = describe_signature(signed.signer(), checked);
    Ok(VerifiedText { text: signed.text, signer })
}

/// Returns a phrase that states who signed a file, and whether the signature was verified.
fn describe_signature(signer: Option<&KeyId>, checked: bool) -> String {
    match signer {
        Some(key) if checked => format!("signed by the key {key}: checked"),
        Some(key) => {
            format!(
                "signed by the key {key}, according to the file: not checked, as no --verify-key is given"
            )
        }
        None => "not signed".to_owned(),
    }
}

/// Reads a saved plan for display only, without verifying its signature.
///
/// # Errors
/// When the file cannot be read, is not a saved plan, or was modified after it was written.
pub(in crate::cli) fn read_unverified(path: &Path) -> Result<SavedPlan, CliFailure> {
    parse_saved_plan(path, &read_signed_text(path)?)
}

fn read_signed_text(path: &Path) -> Result<SignedPlanText, CliFailure> {
    let text = read_plan_text(path).map_err(|failure| {
        if stack_files::path_exists(path) {
            return failure;
        }
        failure
            .help("Save a plan: stead plan -o FILE; or those of all stacks: stead plan --all -o DIRECTORY")
    });
    Ok(SignedPlanText::parse(&text?))
}

/// Reads the text of a file that may be as large as a plan.
///
/// # Errors
/// When there is no such file, or it cannot be read.
pub(in crate::cli) fn read_plan_text(path: &Path) -> Result<String, CliFailure> {
    stack_files::read_optional(path)?.ok_or_else(|| {
        CliFailure::new(Exit::Failed, format!("there is no file {}", stack_files::display_path(path)))
    })
}

fn parse_saved_plan(path: &Path, signed: &SignedPlanText) -> Result<SavedPlan, CliFailure> {
    SavedPlan::parse(&signed.text, REGISTRY).map_err(|error| {
        CliFailure::new(Exit::Failed, format!("{}: {error}", stack_files::display_path(path)))
            .help("Make a new one: stead plan -o FILE")
    })
}
