//! Reads the identities that decrypt stored secrets: from `STEAD_AGE_IDENTITY` or the user's settings, never from
//! a stack or an argument. A file must belong to the user or to root, and be inaccessible to other users; no
//! message quotes its content.

use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::helper_program::{HELPER_TIMEOUT, HelperProgram};
use crate::cli::process::identity_source::{AGE_IDENTITY, IdentitySource};
use crate::cli::process::settings::Settings;
use crate::ledger::age_file::AgeIdentity;

/// Returns the identities; an empty list if none is configured, or the stack is untrusted.
///
/// # Errors
/// When the source cannot be read, other users can read it, or it is not an identity.
pub(in crate::cli) fn find_identities(settings: &Settings) -> Result<Vec<AgeIdentity>, CliFailure> {
    let source = settings.age_identity.as_ref().filter(|_| !settings.untrusted);
    match source {
        None => Ok(Vec::new()),
        Some(IdentitySource::Text(secret)) => parse(secret.expose().unwrap_or_default(), AGE_IDENTITY),
        Some(IdentitySource::File(path)) => {
            let bytes = stack_files::read_own_secret(path)?;
            parse(&String::from_utf8(bytes).unwrap_or_default(), &stack_files::display_path(path))
        }
        Some(IdentitySource::Command(words)) => {
            let program = HelperProgram::new(words, &[], &settings.helper_env);
            let name = format!("age_identity_command `{}`", program.name());
            let bytes = program.capture_output(HELPER_TIMEOUT).map_err(|why| {
                CliFailure::new(Exit::Failed, format!("{name} returned no identity: {why}"))
                    .help("Run it in a shell: it must print the identity and nothing else.")
            })?;
            parse(&String::from_utf8(bytes).unwrap_or_default(), &name)
        }
    }
}

/// Returns the identities, at least one.
///
/// # Errors
/// Those of `find_identities`, or when none is configured.
pub(in crate::cli) fn require_identities(settings: &Settings) -> Result<Vec<AgeIdentity>, CliFailure> {
    let found = find_identities(settings)?;
    if found.is_empty() {
        return Err(missing_identity("this needs the text of kept secrets, and no identity is set"));
    }
    Ok(found)
}

/// Returns the failure for a missing identity, with advice how to configure one; `what` is its message.
pub(in crate::cli) fn missing_identity(what: &str) -> CliFailure {
    CliFailure::new(Exit::Failed, what)
        .help(format!(
            "Set {AGE_IDENTITY} to the identity's file, or `age_identity` in your settings.toml."
        ))
        .help("No flag takes it: flags can be seen by every process.")
}

/// Parses identities, one per line; `place` names their source in errors.
fn parse(text: &str, place: &str) -> Result<Vec<AgeIdentity>, CliFailure> {
    AgeIdentity::parse_file(text).map_err(|line| {
        let what = match line {
            0 => format!("{place} holds no age identity"),
            line => format!("{place}, line {line}: this is not a native age identity"),
        };
        CliFailure::new(Exit::Failed, what)
            .help("It has the form AGE-SECRET-KEY-1…; `stead secret keygen --out FILE` generates one.")
    })
}
