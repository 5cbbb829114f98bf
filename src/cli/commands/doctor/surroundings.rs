//! Checks of the environment of every command: program, settings, address, proxy, the file of API keys, and stored
//! capabilities. None of them sends a request. With `--fix`, only stead's own files are changed.

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::process::env::{EnvVariables, user_config_dir};
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cli::service::api_key::ApiKeySource;
use crate::cli::service::{capabilities, credentials};
use crate::cloud::http::https_transport::{default_authorities, parse_origin};
use crate::model::crypto::roots::{CA_VARIABLES, TrustRoots};
use crate::model::redact::redact_address;
use crate::plan::artifact::saved_plan::SCHEMA_VERSION as PLAN_FORMAT;
use crate::report::views::doctor::DoctorCheck;

/// Permission bits of group and others, none of which the file of API keys may have.
const GROUP_OTHER_BITS: u32 = 0o077;

/// Write permission bits of group and others, which the settings file must not have: it names programs to run.
const GROUP_OTHER_WRITE_BITS: u32 = 0o022;

/// Reports the version of the program and of its formats; never fails.
pub(super) fn check_program() -> DoctorCheck {
    let version = env!("CARGO_PKG_VERSION");
    DoctorCheck::new_ok(
        "program",
        format!("stead {version}: language 1, plan format {PLAN_FORMAT}, ledger format 1."),
    )
}

/// Checks the user's settings file.
pub(super) fn check_settings_file(session: &CommandContext) -> DoctorCheck {
    const NAME: &str = "settings";
    let settings = &session.settings;
    if let Some(mistake) = &session.mistake {
        return DoctorCheck::new_failed(NAME, super::failure_text::to_sentence(mistake))
            .with_remedy("Correct the file; until then every command exits with 64.");
    }
    let Some(directory) = &settings.config_dir else {
        return DoctorCheck::new_warning(NAME, "There is no directory for the user's settings.")
            .with_remedy("Set HOME, XDG_CONFIG_HOME or STEAD_CONFIG_DIR to a full path.");
    };
    let path = directory.join("settings.toml");
    let shown = stack_files::display_path(&path);
    match &settings.profile {
        Some(name) => DoctorCheck::new_ok(NAME, format!("Profile {name} of {shown}.")),
        None if stack_files::path_exists(&path) => {
            DoctorCheck::new_ok(NAME, format!("{shown} is valid; no profile of it is used."))
        }
        None => DoctorCheck::new_ok(NAME, format!("{shown} does not exist; flags and variables apply.")),
    }
}

/// Removes the write permission of other users from the settings file; returns whether that changed anything. Runs
/// before the settings are read, because a file with that permission is refused.
pub(in crate::cli) fn mend_settings(variables: &EnvVariables) -> bool {
    let Some(path) = user_config_dir(variables).map(|folder| folder.join("settings.toml")) else {
        return false;
    };
    let is_loose = stack_files::loose_bits(&path, GROUP_OTHER_WRITE_BITS).is_some_and(|bits| bits != 0);
    is_loose && stack_files::restrict_permissions(&path, GROUP_OTHER_WRITE_BITS).is_ok()
}

/// Checks the service's address and the certificates that it is verified with.
pub(super) fn check_service(settings: &Settings) -> DoctorCheck {
    const NAME: &str = "service";
    let url = match &settings.cloud {
        CloudEndpoint::Local => return DoctorCheck::new_ok(NAME, "The built-in cloud."),
        CloudEndpoint::Unset => {
            return DoctorCheck::new_failed(NAME, "No service is configured.")
                .with_remedy("Set STEAD_API_URL (or --api-url), or pass --cloud local.");
        }
        CloudEndpoint::Remote(url) => url,
    };
    if let Err(error) = parse_origin(url) {
        return DoctorCheck::new_failed(NAME, super::failure_text::to_sentence(&error.to_string()))
            .with_remedy("Correct STEAD_API_URL.");
    }
    let trust = match (&settings.ca_file, url.starts_with("https://")) {
        (_, false) => "plain HTTP, within this machine".to_owned(),
        (None, true) => match default_authorities() {
            TrustRoots::Platform => "TLS, trusting the system's roots".to_owned(),
            TrustRoots::Named => format!("TLS, trusting the certificates of {}", CA_VARIABLES.join(" or ")),
            TrustRoots::BuiltIn => {
                "TLS, trusting the roots that are built in, as the system has none".to_owned()
            }
        },
        (Some(file), true) => match stack_files::read_bytes(file) {
            Ok(_) => format!("TLS, trusting the system's roots and {}", stack_files::display_path(file)),
            Err(error) => {
                return DoctorCheck::new_failed(NAME, super::failure_text::to_sentence(&error.to_string()))
                    .with_remedy("Correct STEAD_CA_FILE (or --ca-file).");
            }
        },
    };
    DoctorCheck::new_ok(NAME, format!("{url}: {trust}."))
}

/// Reports whether requests use a proxy; never fails. Values of the variables have no passwords here.
pub(super) fn check_proxy(settings: &Settings) -> DoctorCheck {
    const NAME: &str = "proxy";
    if settings.proxies.is_empty() {
        return DoctorCheck::new_ok(NAME, "No variable names one.");
    }
    let named: Vec<String> =
        settings.proxies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let named = named.join(", ");
    match &settings.cloud {
        CloudEndpoint::Remote(url) if url.starts_with("https://") => {
            DoctorCheck::new_ok(NAME, format!("Requests use {named}."))
        }
        _ => DoctorCheck::new_ok(NAME, format!("{named}: not used for requests to this machine itself.")),
    }
}

/// Checks whether other users can read the file of API keys; with `fix`, removes their permissions. The fixed file
/// is still a warning: the keys may have been read before.
pub(super) fn key_file(settings: &Settings, fix: bool) -> DoctorCheck {
    const NAME: &str = "key file";
    const EXPOSED_KEYS_HINT: &str = "Others may have read the keys: make new ones, and log in with them";
    let Some(path) = settings.config_dir.as_deref().map(credentials::key_file_path) else {
        return DoctorCheck::new_skipped(NAME, "There is no directory for the user's settings.");
    };
    let shown = stack_files::display_path(&path);
    match stack_files::loose_bits(&path, GROUP_OTHER_BITS) {
        None if stack_files::path_exists(&path) => {
            DoctorCheck::new_failed(NAME, format!("{shown} is not a regular file."))
                .with_remedy(format!("Remove it, then: stead login (rm {shown})"))
        }
        None => DoctorCheck::new_skipped(NAME, "No key is stored."),
        Some(0) => DoctorCheck::new_ok(NAME, format!("{shown} is readable by you only.")),
        Some(_) if fix => match stack_files::restrict_permissions(&path, GROUP_OTHER_BITS) {
            Ok(mode) => DoctorCheck::new_warning(
                NAME,
                format!("{shown} had mode {mode:04o}; other users cannot access it any more."),
            )
            .with_remedy(format!("{EXPOSED_KEYS_HINT}.")),
            Err(error) => {
                DoctorCheck::new_failed(NAME, super::failure_text::to_sentence(&error.to_string()))
                    .with_remedy(format!("chmod 600 {shown}"))
            }
        },
        Some(_) => DoctorCheck::new_failed(NAME, format!("Other users can access {shown}."))
            .with_remedy(format!("{EXPOSED_KEYS_HINT}. Then: stead doctor --fix, or chmod 600 {shown}")),
    }
}

/// Reports the source of the key, and the service that it is sent to. Prints no part of the key.
pub(super) fn check_key_source(settings: &Settings, url: &str, from: ApiKeySource) -> DoctorCheck {
    const NAME: &str = "key";
    let origin = redact_address(&parse_origin(url).unwrap_or_else(|_| url.to_owned()));
    let stored = settings.config_dir.as_deref();
    let stored =
        stored.and_then(|directory| credentials::stored_origins(directory, settings.profile.as_ref()).ok());
    let elsewhere = stored.unwrap_or_default().into_iter().filter(|known| *known != origin).count();
    match from {
        ApiKeySource::Stored if elsewhere > 0 => DoctorCheck::new_ok(
            NAME,
            format!("A stored key, sent to {origin} only; {elsewhere} more are for other services."),
        ),
        ApiKeySource::Stored => DoctorCheck::new_ok(NAME, format!("A stored key, sent to {origin} only.")),
        ApiKeySource::Keychain => {
            DoctorCheck::new_ok(NAME, format!("A key in the system's keychain, sent to {origin} only."))
        }
        ApiKeySource::Program => {
            DoctorCheck::new_ok(NAME, "The one that key_command of the profile prints.")
        }
        ApiKeySource::Variable | ApiKeySource::ReadOnly => DoctorCheck::new_ok(
            NAME,
            format!("The key of {}, sent to the configured service: {origin}.", from.origin_text()),
        ),
    }
}

/// Checks the service capabilities that an earlier `doctor --api` stored; with `fix`, deletes a damaged file.
pub(super) fn check_capabilities(settings: &Settings, fix: bool) -> DoctorCheck {
    const NAME: &str = "learned";
    let CloudEndpoint::Remote(url) = &settings.cloud else {
        return DoctorCheck::new_skipped(NAME, "Capabilities are stored only for a service with a URL.");
    };
    match capabilities::read_capabilities(settings, url) {
        Ok(Some(note)) => DoctorCheck::new_ok(NAME, note.in_words()),
        Ok(None) => DoctorCheck::new_skipped(NAME, "The capabilities of this service were never probed.")
            .with_remedy("stead doctor --api"),
        Err(_) if fix && capabilities::forget_capabilities(settings, url) => DoctorCheck::new_warning(
            NAME,
            "The stored capabilities of the service were damaged, and are deleted.",
        )
        .with_remedy("stead doctor --api"),
        Err(error) => DoctorCheck::new_warning(NAME, super::failure_text::to_sentence(&error.to_string()))
            .with_remedy("stead doctor --fix"),
    }
}
