//! `stead login`, `logout` and `whoami`: store and remove an API key, and show what the service reports about it. A
//! key is stored for one origin and profile, and only after the service has accepted it. It is never printed, and
//! never taken from the command line, which other processes can read.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::no_echo;
use crate::cli::process::settings::CloudEndpoint;
use crate::cli::service::credentials::{self, CredentialScope, KeyStorage};
use crate::cli::service::{api_key, connection, keychain};
use crate::cloud::http::https_transport::parse_origin;
use crate::cloud::read::account::AccountInfo;
use crate::model::values::secret::Secret;
use crate::report::json;
use crate::report::text::escape;

/// Command-line arguments of `stead login`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "The key is kept in credentials.json in $STEAD_CONFIG_DIR, $XDG_CONFIG_HOME/stead or ~/.config/stead,\nreadable by you only, and is sent to this one service; with --keychain in the system's keychain (macOS: the login\nkeychain; elsewhere the keyring of libsecret's secret-tool), and the file only records that. Keys come from, in this order: STEAD_API_KEY,\nkey_command of the profile, this file. No flag takes a key.\n\nExamples:\n  stead login --api-url https://api.example.com\n  stead login -p work --keychain\n  pass show stead | stead login --key-stdin"
)]
pub struct LoginArgs {
    /// Read the key from standard input instead of prompting for it
    #[arg(long)]
    pub key_stdin: bool,
    /// Store the key in the system's keychain instead of the file
    #[arg(long)]
    pub keychain: bool,
}

/// Maximum number of bytes that are read from standard input for a key; the rest is ignored.
const MAX_KEY_BYTES: u64 = 8192;

/// Reads a key, verifies it with a request, and stores it for the service's origin.
///
/// # Errors
/// When no remote service is configured, there is no key to read, the service refuses it, or it cannot be stored.
pub(in crate::cli) async fn log_in(session: &CommandContext, args: &LoginArgs) -> Result<Exit, CliFailure> {
    let (url, origin) = service_origin(session)?;
    let directory = require_config_dir(session)?;
    let key = if args.key_stdin { read_piped_key()? } else { prompt_key(session, &origin)? };
    let text = key.expose().unwrap_or_default();
    if !credentials::is_key(text) {
        return Err(CliFailure::new(
            Exit::Usage,
            "this is not a key: it is empty, or contains a blank or a character that no key has",
        )
        .help("Nothing was stored."));
    }
    // A mistyped key would otherwise fail only in a later command.
    connection::read_key_account(&session.settings, &url, &key)
        .await
        .map_err(|failure| failure.help("Nothing was stored."))?;
    let place = CredentialScope { origin: &origin, profile: session.settings.profile.as_ref() };
    let before = credentials::find_stored_key(&directory, place)?;
    let whose = format!("The key for {origin}{}", profile_suffix(session));
    if args.keychain {
        keychain::store(place, text, &session.settings.helper_env)?;
        credentials::store_key(&directory, place, None)?;
        print_done(
            session,
            &format!("{whose} is in the system's keychain, as `{}`.", keychain::key_label(place)),
        );
    } else {
        let path = credentials::store_key(&directory, place, Some(text))?;
        print_done(
            session,
            &format!("{whose} is stored in {}.", escape::escape_line(&stack_files::display_path(&path))),
        );
        // Only after the file has the new key: a failure before leaves the old key usable.
        if let Some(KeyStorage::Keychain) = before
            && let Err(why) = keychain::forget(place, &session.settings.helper_env)
        {
            let label = keychain::key_label(place);
            session
                .ui
                .write_message(&format!("warning: `{label}` may still be in the system's keychain: {why}"));
        }
    }
    if session.settings.api_key.is_some() {
        session.ui.write_message("note: STEAD_API_KEY is set, and is used instead of it.");
    }
    Ok(Exit::Done)
}

/// Removes the stored key; no stored key is no error. The service keeps accepting it until it is revoked.
///
/// # Errors
/// When no remote service is configured, or the file of API keys or the keychain cannot be changed.
pub(in crate::cli) fn log_out(session: &CommandContext) -> Result<Exit, CliFailure> {
    let (_, origin) = service_origin(session)?;
    let place = CredentialScope { origin: &origin, profile: session.settings.profile.as_ref() };
    let directory = require_config_dir(session)?;
    let kept = credentials::find_stored_key(&directory, place)?;
    // The file first: without its record, a key that stays in the keychain is no longer used.
    credentials::forget_key(&directory, place)?;
    let profile = profile_suffix(session);
    if let Some(KeyStorage::Keychain) = kept
        && let Err(why) = keychain::forget(place, &session.settings.helper_env)
    {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("the key for {origin}{profile} is no longer used here, but may still be in the system's keychain: {why}"),
        )
        .help(format!("Remove `{}` there.", keychain::key_label(place))));
    }
    print_done(
        session,
        &if kept.is_some() {
            format!("The key for {origin}{profile} is deleted here. It stays valid until it is revoked.")
        } else {
            format!("There is no stored key for {origin}{profile}.")
        },
    );
    Ok(Exit::Done)
}

/// Prints the result on standard output.
fn print_done(session: &CommandContext, text: &str) {
    session.ui.write_result(&if session.ui.json {
        json::result_document(text)
    } else {
        format!("{text}\n")
    });
}

/// Shows what the service reports about the key in use.
///
/// # Errors
/// When no remote service is configured, there is no key, or the service refuses it or does not respond.
pub(in crate::cli) async fn show_account(session: &CommandContext) -> Result<Exit, CliFailure> {
    let (url, origin) = service_origin(session)?;
    let (key, from) = api_key::find_with_origin(&session.settings, &url)?;
    let account = connection::read_key_account(&session.settings, &url, &key).await?;
    let text = if session.ui.json || session.ui.ndjson {
        as_json(&origin, &account, from)
    } else {
        as_text(session, &origin, &account, from)
    };
    session.ui.write_result(&text);
    Ok(Exit::Done)
}

/// Returns the service's address and its origin; an error without a remote service.
fn service_origin(session: &CommandContext) -> Result<(String, String), CliFailure> {
    match &session.settings.cloud {
        CloudEndpoint::Remote(url) => {
            let origin =
                parse_origin(url).map_err(|error| CliFailure::new(Exit::Usage, error.to_string()))?;
            Ok((url.clone(), origin))
        }
        CloudEndpoint::Local => Err(CliFailure::new(Exit::Usage, "the built-in cloud needs no key")),
        CloudEndpoint::Unset => Err(CliFailure::new(Exit::Usage, "no service is configured")
            .help("Name it by --api-url, STEAD_API_URL, or api_url in a profile of settings.toml.")),
    }
}

fn require_config_dir(session: &CommandContext) -> Result<PathBuf, CliFailure> {
    session.settings.config_dir.clone().ok_or_else(|| {
        CliFailure::new(Exit::Failed, "there is no directory for the user's settings")
            .help("Set HOME, XDG_CONFIG_HOME or STEAD_CONFIG_DIR to a full path.")
    })
}

fn profile_suffix(session: &CommandContext) -> String {
    session.settings.profile.as_ref().map(|name| format!(" (profile {name})")).unwrap_or_default()
}

fn read_piped_key() -> Result<Secret, CliFailure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_KEY_BYTES).read_to_string(&mut text);
    read.map_err(|error| CliFailure::new(Exit::Failed, format!("the key cannot be read: {error}")))?;
    Ok(Secret::new(text.trim()))
}

fn prompt_key(session: &CommandContext, origin: &str) -> Result<Secret, CliFailure> {
    if !session.ui.interactive {
        return Err(CliFailure::new(Exit::Usage, "the key must be typed, but this is not a terminal")
            .help("Pipe it in: stead login --key-stdin < FILE. No flag takes it: flags can be seen by every process."));
    }
    let text = no_echo::ask_without_echo(&format!("API key for {origin} (it is not shown): "), "the key")?;
    Ok(Secret::new(text.trim()))
}

/// Returns the account and the API key as text, one escaped field per line, followed by a sentence that lists the
/// fields that the service does not report.
fn as_text(
    session: &CommandContext,
    origin: &str,
    account: &AccountInfo,
    from: api_key::ApiKeySource,
) -> String {
    let record = account.key.clone().unwrap_or_default();
    let known = account.key.is_some();
    let never = || known.then(|| "never".to_owned());
    let rate = format!("{} requests/s", account.rate);
    let rows = [
        ("service", Some(format!("{origin}{}", profile_suffix(session)))),
        ("account", record.account),
        ("default project", account.default_project.as_ref().map(ToString::to_string)),
        ("key", known.then(|| format!("{}…", record.prefix))),
        ("comes from", Some(from.origin_text().to_owned())),
        ("name", record.name),
        ("account role", record.role),
        ("project roles", record.projects.as_deref().map(api_key::format_project_roles)),
        ("tier", Some(record.tier.map_or_else(|| rate.clone(), |tier| format!("{tier}, {rate}")))),
        ("expires", record.expires_at.or_else(never)),
    ];
    let unreported: Vec<&str> =
        rows.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).collect();
    let told = rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let text = told.fold(String::new(), |text, (name, value)| {
        text + &format!("{name:<16}{}\n", escape::escape_line(value))
    });
    if unreported.is_empty() {
        text
    } else {
        format!("{text}The service does not report: {}.\n", unreported.join(", "))
    }
}

/// JSON output of `whoami`; a field is null if the service does not report it.
#[derive(serde::Serialize)]
struct WhoamiDocument<'a> {
    schema_version: u32,
    origin: &'a str,
    account: Option<String>,
    default_project: Option<String>,
    key_prefix: Option<String>,
    key_from: &'static str,
    key_name: Option<String>,
    role: Option<String>,
    project_roles: Option<Vec<ProjectRole>>,
    rate_limit_tier: Option<String>,
    requests_per_second: u32,
    expires_at: Option<String>,
}

/// The role of a key in one project; null if the service does not show it.
#[derive(serde::Serialize)]
struct ProjectRole {
    project: String,
    role: Option<String>,
}

fn as_json(origin: &str, account: &AccountInfo, from: api_key::ApiKeySource) -> String {
    let key = account.key.clone();
    let prefix = key.as_ref().map(|key| key.prefix.clone());
    let record = key.unwrap_or_default();
    let project_roles = record.projects.map(|projects| {
        projects.into_iter().map(|(project, role)| ProjectRole { project, role }).collect()
    });
    let document = WhoamiDocument {
        schema_version: 1,
        origin,
        account: record.account,
        default_project: account.default_project.as_ref().map(ToString::to_string),
        key_prefix: prefix,
        key_from: from.origin_keyword(),
        key_name: record.name,
        role: record.role,
        project_roles,
        rate_limit_tier: record.tier,
        requests_per_second: account.rate,
        expires_at: record.expires_at,
    };
    json::to_compact(&document) + "\n"
}
