//! What stands around every command: program, settings, address, proxy, the file of keys.

use crate::cli::command_context::Session;
use crate::cli::files::stack_files;
use crate::cli::process::settings::{Cloud, Settings, Variables};
use crate::cli::service::api_key::Origin;
use crate::cli::service::{capabilities, credentials};
use crate::cloud::http::https_transport::{authorities, origin};
use crate::model::redact::redact_address;
use crate::model::roots::{Authorities, NAMED_BY};
use crate::report::views::doctor::Check;

/// Rights of others that the file of keys may not give.
const PRIVATE: u32 = 0o077;

/// Rights of others that the file of settings may not give.
const ONLY_MINE_TO_WRITE: u32 = 0o022;

/// Which program this is.
pub(super) fn program() -> Check {
    let version = env!("CARGO_PKG_VERSION");
    Check::ok("program", format!("stead {version}: language 1, plan format 1, ledger format 1."))
}

/// The user's settings file.
pub(super) fn settings(session: &Session) -> Check {
    const NAME: &str = "settings";
    let settings = &session.settings;
    if let Some(slip) = &session.slip {
        return Check::failed(NAME, super::sentence(slip))
            .remedy("Correct the file; until then every command ends with 64.");
    }
    let Some(directory) = &settings.config_dir else {
        return Check::warning(NAME, "There is no directory for the user's settings.")
            .remedy("Set HOME, XDG_CONFIG_HOME or STEAD_CONFIG_DIR to a full path.");
    };
    let path = directory.join("settings.toml");
    let shown = stack_files::shown(&path);
    match &settings.profile {
        Some(name) => Check::ok(NAME, format!("Profile {name} of {shown}.")),
        None if stack_files::exists(&path) => {
            Check::ok(NAME, format!("{shown} holds together; no profile of it is used."))
        }
        None => Check::ok(NAME, format!("There is no {shown}; flags and variables decide.")),
    }
}

/// Takes the right to write the user's settings away from others; tells whether that changed anything.
pub(in crate::cli) fn mend_settings(variables: &Variables) -> bool {
    let Some(path) = credentials::directory(variables).map(|folder| folder.join("settings.toml")) else {
        return false;
    };
    let is_loose = stack_files::loose_bits(&path, ONLY_MINE_TO_WRITE).is_some_and(|bits| bits != 0);
    is_loose && stack_files::tighten(&path, ONLY_MINE_TO_WRITE).is_ok()
}

/// Which service, and how it is reached.
pub(super) fn service(settings: &Settings) -> Check {
    const NAME: &str = "service";
    let url = match &settings.cloud {
        Cloud::Local => return Check::ok(NAME, "The cloud that is built in."),
        Cloud::Unset => {
            return Check::failed(NAME, "No service is named.")
                .remedy("Set STEAD_API_URL (or --api-url), or say --cloud local.");
        }
        Cloud::At(url) => url,
    };
    if let Err(error) = origin(url) {
        return Check::failed(NAME, super::sentence(&error.to_string())).remedy("Correct STEAD_API_URL.");
    }
    let trust = match (&settings.ca_file, url.starts_with("https://")) {
        (_, false) => "plain HTTP, within this machine".to_owned(),
        (None, true) => match authorities() {
            Authorities::Platform => "TLS, trusting the system's roots".to_owned(),
            Authorities::Named => format!("TLS, trusting what {} names", NAMED_BY.join(" or ")),
            Authorities::BuiltIn => {
                "TLS, trusting the roots that are built in, as the system has none".to_owned()
            }
        },
        (Some(file), true) => match stack_files::read_bytes(file) {
            Ok(_) => format!("TLS, trusting the system's roots and {}", stack_files::shown(file)),
            Err(error) => {
                return Check::failed(NAME, super::sentence(&error.to_string()))
                    .remedy("Correct STEAD_CA_FILE (or --ca-file).");
            }
        },
    };
    Check::ok(NAME, format!("{url}: {trust}."))
}

/// What the variables of proxies do.
pub(super) fn proxy(settings: &Settings) -> Check {
    const NAME: &str = "proxy";
    if settings.proxies.is_empty() {
        return Check::ok(NAME, "No variable names one.");
    }
    let named: Vec<String> =
        settings.proxies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let named = named.join(", ");
    match &settings.cloud {
        Cloud::At(url) if url.starts_with("https://") => {
            Check::ok(NAME, format!("Requests follow {named}."))
        }
        _ => Check::ok(NAME, format!("{named}: not used on the way to this machine itself.")),
    }
}

/// The file of stored keys: whether others can read it.
pub(super) fn key_file(settings: &Settings, fix: bool) -> Check {
    const NAME: &str = "key file";
    const LEAKED: &str = "Others may have read the keys: make new ones, and log in with them";
    let Some(path) = settings.config_dir.as_deref().map(credentials::path) else {
        return Check::skipped(NAME, "There is no directory for the user's settings.");
    };
    let shown = stack_files::shown(&path);
    match stack_files::loose_bits(&path, PRIVATE) {
        None if stack_files::exists(&path) => {
            Check::failed(NAME, format!("{shown} is no file of its own."))
                .remedy(format!("Remove it, then: stead login (rm {shown})"))
        }
        None => Check::skipped(NAME, "No key is stored."),
        Some(0) => Check::ok(NAME, format!("{shown} is readable by you only.")),
        Some(_) if fix => match stack_files::tighten(&path, PRIVATE) {
            Ok(mode) => {
                Check::warning(NAME, format!("{shown} had mode {mode:04o}; others cannot use it any more."))
                    .remedy(format!("{LEAKED}."))
            }
            Err(error) => Check::failed(NAME, super::sentence(&error.to_string()))
                .remedy(format!("chmod 600 {shown}")),
        },
        Some(_) => Check::failed(NAME, format!("{shown} can be used by others."))
            .remedy(format!("{LEAKED}. Then: stead doctor --fix, or chmod 600 {shown}")),
    }
}

/// The key: where it comes from, and where it may go.
pub(super) fn key(settings: &Settings, url: &str, from: Origin) -> Check {
    const NAME: &str = "key";
    let origin = redact_address(&origin(url).unwrap_or_else(|_| url.to_owned()));
    let stored = settings.config_dir.as_deref();
    let stored =
        stored.and_then(|directory| credentials::origins(directory, settings.profile.as_ref()).ok());
    let elsewhere = stored.unwrap_or_default().into_iter().filter(|known| *known != origin).count();
    match from {
        Origin::Stored if elsewhere > 0 => Check::ok(
            NAME,
            format!("A stored one that goes to {origin} only; {elsewhere} more are for other services."),
        ),
        Origin::Stored => Check::ok(NAME, format!("A stored one that goes to {origin} only.")),
        Origin::Keychain => {
            Check::ok(NAME, format!("One in the system's keychain that goes to {origin} only."))
        }
        Origin::Program => Check::ok(NAME, "The one that key_command of the profile prints."),
        Origin::Variable | Origin::ReadOnly => Check::ok(
            NAME,
            format!("The one of {}; it goes to whichever service is named: {origin}.", from.words()),
        ),
    }
}

/// What an earlier `doctor --api` learned of the service.
pub(super) fn learned(settings: &Settings, fix: bool) -> Check {
    const NAME: &str = "learned";
    let Cloud::At(url) = &settings.cloud else {
        return Check::skipped(NAME, "Only a service at an address is learned of.");
    };
    match capabilities::read(settings, url) {
        Ok(Some(note)) => Check::ok(NAME, note.in_words()),
        Ok(None) => Check::skipped(NAME, "What this service differs in was never asked.")
            .remedy("stead doctor --api"),
        Err(_) if fix && capabilities::forget(settings, url) => {
            Check::warning(NAME, "What was learned of the service was damaged, and is removed.")
                .remedy("stead doctor --api")
        }
        Err(error) => {
            Check::warning(NAME, super::sentence(&error.to_string())).remedy("stead doctor --fix")
        }
    }
}
