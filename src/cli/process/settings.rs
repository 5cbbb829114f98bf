//! The settings of a run: merges flags, environment variables, the user's profile and defaults, in this order of
//! precedence. An empty variable counts as not set. Pure: variables and profiles are parameters.

pub(in crate::cli) mod printed_commands;
pub(in crate::cli) mod rows;
pub(in crate::cli) mod unit_settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use super::actor::{ci_branch, current_actor};
use super::env::{EnvVariables, user_config_dir};
use super::helper_program::{self, HelperProgram};
use super::identity_source::{IdentitySource, age_identity};
use super::profile::{HelperProgramConfig, Profiles};
use super::settings_error::SettingsError;
use crate::cli::args::{CloudChoice, ColorChoice, GlobalArgs, OutputFormat, global_flags};
use crate::ledger::stores::location::without_password;
use crate::model::address::Name;
use crate::model::redact::redact_address;
use crate::model::values::secret::Secret;

/// The stack's directory if none is configured.
pub const DEFAULT_DIR: &str = ".";

/// The merged settings of a run. They contain secrets: API keys, and the environment of helper programs.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Global flags of the command line, as suggested next commands repeat them.
    pub said: Vec<String>,
    /// Name of the profile in use; `None` if none was named and the file has no default one.
    pub profile: Option<Name>,
    /// Requested environment; `None` uses the stack's default.
    pub env: Option<Name>,
    /// Directory that the stack is read from.
    pub dir: PathBuf,
    /// Values of variables from `--var`, not secret: every user of the machine can read flags.
    pub vars: BTreeMap<Name, String>,
    /// Values of variables from `STEAD_VAR_x`, with names in lower case. All are treated as secrets, since
    /// each may be one.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Files with values of variables, in ascending precedence.
    pub var_files: Vec<PathBuf>,
    /// Output format of the results.
    pub output: OutputFormat,
    /// The service to connect to.
    pub cloud: CloudEndpoint,
    /// API key from `STEAD_API_KEY`; `None` if it is not set. There is no flag for it, because every user of the
    /// machine can read command lines.
    pub api_key: Option<Secret>,
    /// API key from `STEAD_READONLY_API_KEY`, for untrusted stacks; `None` if it is not set.
    pub readonly_key: Option<Secret>,
    /// The user's command that prints the API key, with its arguments; `None` without one.
    pub key_command: Option<Vec<String>>,
    /// Environment of the user's key commands and of the keychain's program.
    pub helper_env: EnvVariables,
    /// The user's programs that take secrets, by the names that stacks use; empty without any.
    pub sinks: BTreeMap<Name, HelperProgram>,
    /// The user's programs that print secrets, by the names that stacks use; empty without any.
    pub sources: BTreeMap<Name, HelperProgram>,
    /// Values of the proxy variables, without user and password; empty if none is set.
    pub proxies: EnvVariables,
    /// The user's directory for settings and keys; `None` if it is unknown.
    pub config_dir: Option<PathBuf>,
    /// File with CA certificates to trust in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// File with the MAC key for ledgers; `None` for ledgers without MACs.
    pub ledger_key: Option<PathBuf>,
    /// Whether the ledger must exist with content, because the stack was applied before.
    pub require_ledger: bool,
    /// Origin of the stack, set manually: `REPOSITORY//DIRECTORY`. `None` reads it from `.git`.
    pub origin: Option<String>,
    /// Files of the key that signs saved plans, and of the keys whose plans are accepted.
    pub plan_keys: PlanKeyFiles,
    /// Source of the identity that decrypts stored secrets; `None` if none is configured.
    pub age_identity: Option<IdentitySource>,
    /// Recipients that stacks may name for stored secrets; `None` allows any.
    pub allowed_recipients: Option<BTreeSet<Name>>,
    /// What policies read and where shared ones are.
    pub policy: PolicySettings,
    /// Whether the stack is untrusted, as with `--untrusted`.
    pub untrusted: bool,
    /// Whether the command needs the values of the stack's secrets. If not, missing values are assumed to
    /// equal those in use.
    pub needs_secrets: bool,
    /// Project for a stack without a project block, by name or id; `None` uses the account's default.
    pub project: Option<Name>,
    /// Backend for ledgers, as the user wrote it, possibly with a password; `None` keeps ledgers
    /// in the stacks' directories.
    pub backend: Option<String>,
    /// Database in which workers share their runs, as the user wrote it, possibly with a password; `None` uses the
    /// backend.
    pub runs: Option<String>,
    /// The settings of other units of the repository, if they have several profiles: the ledger of another stack is found
    /// by them.
    pub(in crate::cli) peers: PeerSettings,
    /// Whether the outcome of every lost request must be resolved by the user, as with `--strict`.
    pub strict: bool,
    /// Directory for the user's state that outlives a run: `STEAD_STATE_DIR`, or the platform's default. `None` for
    /// a user without a home directory: nothing is stored then.
    pub state: Option<PathBuf>,
    /// File that `kubectl` reads: the first of `KUBECONFIG`, or its default; `None` for a user
    /// without a home directory.
    pub kubeconfig: Option<PathBuf>,
    /// Address of a published copy of the documentation; `None` if there is none.
    pub docs_url: Option<String>,
    /// Whether shared configuration may be outside of the repository.
    pub allow_outside: bool,
    /// Whether prompts are disabled: by the flag, its variable, or CI.
    pub no_input: bool,
    /// Whether the process runs in CI: no prompts and no animation.
    pub ci: bool,
    /// When to use colors.
    pub color: ColorChoice,
    /// Whether hints and progress are suppressed.
    pub quiet: bool,
    /// Whether all attributes, locations and steps are printed (`-v`).
    pub verbose: bool,
    /// Whether times and internal details are printed, too (`-vv`).
    pub very_verbose: bool,
}

/// The settings of units, by the full path of the stack's directory and the environment.
pub(in crate::cli) type PeerSettings = Arc<BTreeMap<(PathBuf, Name), Settings>>;

impl Settings {
    /// Returns the settings by which the ledger of another stack is found: those of its unit, else these.
    pub(in crate::cli) fn of_peer(&self, directory: &Path, environment: &Name) -> &Self {
        self.peers.get(&(directory.to_owned(), environment.clone())).unwrap_or(self)
    }
}

/// Settings of policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicySettings {
    /// Directories of policies that hold for every stack.
    pub directories: Vec<PathBuf>,
    /// Short names of roles that an API key should not have; `None` uses the default.
    pub privileged_roles: Option<Vec<Name>>,
    /// The actor, as the environment claims it.
    pub actor: Name,
    /// The branch, as the CI job claims it; `None` outside of CI.
    pub branch: Option<Name>,
}

/// Files of the keys for saved plans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanKeyFiles {
    /// File with the private key that signs; `None` leaves plans unsigned.
    pub sign: Option<PathBuf>,
    /// File with the public keys whose signatures are accepted; `None` accepts unsigned plans.
    pub verify: Option<PathBuf>,
}

/// The service that a run uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloudEndpoint {
    /// The built-in cloud of the binary.
    Local,
    /// The service at this base URL, without a trailing slash.
    Remote(String),
    /// None is configured; commands that need one report how to configure it.
    Unset,
}

impl Settings {
    /// Returns a command line with the global flags of this one, escaped, so that the user can copy it.
    pub(in crate::cli) fn command_line(&self, command: &str) -> String {
        printed_commands::command_line(&self.said, command)
    }

    /// Returns a message whose commands on one stack have the global flags of this command line: without them, they are about
    /// another stack or ledger, or none.
    pub(in crate::cli) fn with_global_flags(&self, text: &str) -> String {
        printed_commands::add_global_flags(text, &self.said)
    }

    /// Sets whether the stack is trusted. An untrusted stack gets no variable's value from the environment, because
    /// it could print it. Trust is never restored.
    pub fn set_trust(&mut self, trusted: bool) {
        if trusted {
            return;
        }
        self.untrusted = true;
        self.allow_outside = false;
        self.env_vars.clear();
    }
}

/// Returns the programs, each with the variables of the environment that it may see.
fn bind_programs(
    named: &BTreeMap<Name, HelperProgramConfig>,
    variables: &EnvVariables,
) -> BTreeMap<Name, HelperProgram> {
    let program = |words: &HelperProgramConfig| HelperProgram::new(&words.command, &words.env, variables);
    named.iter().map(|(name, words)| (name.clone(), program(words))).collect()
}

/// Returns the environment for the user's helper programs.
fn helper_env(variables: &EnvVariables) -> EnvVariables {
    let given = |name: &&str| Some(((*name).to_owned(), variables.get(*name)?.clone()));
    helper_program::INHERITED_VARIABLES.iter().filter_map(given).collect()
}

/// Returns the variables that configure a proxy, or exceptions from it, without user and password.
fn proxy_variables(variables: &EnvVariables) -> EnvVariables {
    let is_one = |name: &str| {
        ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"].contains(&name.to_uppercase().as_str())
    };
    let set = variables.iter().filter(|(name, value)| is_one(name) && !value.is_empty());
    let shown =
        |value: &str| value.rsplit_once('@').map_or(value.to_owned(), |(_, host)| format!("…@{host}"));
    set.map(|(name, value)| (name.clone(), shown(value))).collect()
}

/// Returns the file that `kubectl` reads; `None` without `KUBECONFIG` and `HOME`.
fn kubeconfig_path(variables: &EnvVariables) -> Option<PathBuf> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let named = set("KUBECONFIG").and_then(|list| list.split(':').find(|path| !path.is_empty()));
    named.map(PathBuf::from).or_else(|| Some(PathBuf::from(set("HOME")?).join(".kube/config")))
}

/// Merges flags, environment variables and the user's profile.
///
/// # Errors
/// When a value is not allowed, a variable is set twice, or the profile does not exist.
pub fn merge(
    flags: GlobalArgs,
    variables: &EnvVariables,
    profiles: &Profiles,
) -> Result<Settings, SettingsError> {
    let said = global_flags::format_flags(&flags);
    let text = |name: &str| variables.get(name).filter(|value| !value.is_empty()).cloned();
    let path = |name: &str, profile: Option<String>| text(name).or(profile).map(PathBuf::from);
    let key = |name: &str| text(name).map(|key| Secret::new(key.trim()));
    let profile =
        profiles.choose(flags.profile.or_else(|| text("STEAD_PROFILE").map(Name::from)).as_ref())?;
    let set = |name| switch_setting(variables, name);
    let level = verbosity_level(flags.verbose, flags.quiet, variables)?;
    let ci = set("CI")?;
    Ok(Settings {
        said,
        cloud: choose_cloud(flags.cloud, flags.api_url, variables, profile.api_url)?,
        env: flags.env.or_else(|| text("STEAD_ENV").map(Name::from)).or(profile.env),
        dir: flags.dir.or_else(|| path("STEAD_DIR", None)).unwrap_or_else(|| DEFAULT_DIR.into()),
        vars: reject_duplicate_variables(flags.vars)?,
        env_vars: env_vars(variables),
        var_files: if flags.var_files.is_empty() {
            path("STEAD_VAR_FILE", None).into_iter().collect()
        } else {
            flags.var_files
        },
        output: choice_setting(flags.output, "STEAD_OUTPUT", variables)?.unwrap_or(OutputFormat::Text),
        api_key: key("STEAD_API_KEY"),
        readonly_key: key("STEAD_READONLY_API_KEY"),
        key_command: profile.key_command,
        sinks: bind_programs(&profile.sinks, variables),
        sources: bind_programs(&profile.sources, variables),
        helper_env: helper_env(variables),
        proxies: proxy_variables(variables),
        kubeconfig: kubeconfig_path(variables),
        config_dir: user_config_dir(variables),
        ca_file: flags.ca_file.or_else(|| path("STEAD_CA_FILE", profile.ca_file)),
        ledger_key: path("STEAD_LEDGER_KEY", profile.ledger_key),
        require_ledger: set("STEAD_REQUIRE_LEDGER")?,
        origin: text("STEAD_ORIGIN"),
        plan_keys: PlanKeyFiles {
            sign: path("STEAD_PLAN_SIGN_KEY", profile.plan_sign_key),
            verify: path("STEAD_PLAN_VERIFY_KEY", profile.plan_verify_key),
        },
        age_identity: age_identity(variables, profile.age_identity, profile.age_identity_command)?,
        allowed_recipients: profile.allowed_recipients.map(to_names),
        policy: policy_settings(variables, profile.policies, profile.privileged_roles),
        untrusted: false,
        needs_secrets: true,
        project: flags.project.or_else(|| text("STEAD_PROJECT").map(Name::from)).or(profile.project),
        backend: choose_backend(flags.backend, text("STEAD_BACKEND").or(profile.backend))?,
        runs: text("STEAD_RUNS").or(profile.runs),
        peers: PeerSettings::default(),
        profile: profile.name,
        strict: set("STEAD_STRICT")?,
        state: state_directory(variables),
        docs_url: text("STEAD_DOCS_URL").map(|url| check_docs_url(&url)).transpose()?,
        allow_outside: flags.allow_outside || set("STEAD_ALLOW_OUTSIDE")?,
        no_input: flags.no_input || ci || set("STEAD_NO_INPUT")?,
        ci,
        color: choice_setting(flags.color, "STEAD_COLOR", variables)?.unwrap_or(ColorChoice::Auto),
        quiet: flags.quiet || (flags.verbose == 0 && set("STEAD_QUIET")?),
        verbose: level > 0,
        very_verbose: level > 1,
    })
}

/// Returns the settings of policies. A relative directory begins at that of the settings file: it must not depend on where
/// a command runs.
fn policy_settings(
    variables: &EnvVariables,
    directories: Vec<String>,
    roles: Option<Vec<String>>,
) -> PolicySettings {
    let base = user_config_dir(variables).unwrap_or_default();
    PolicySettings {
        directories: directories.into_iter().map(|path| base.join(path)).collect(),
        privileged_roles: roles.map(|roles| roles.into_iter().map(Name::from).collect()),
        actor: Name::new(current_actor(variables)),
        branch: ci_branch(variables),
    }
}

/// Returns the values of `--var`; a variable that is set twice is an error.
fn reject_duplicate_variables(given: Vec<(Name, String)>) -> Result<BTreeMap<Name, String>, SettingsError> {
    let mut vars = BTreeMap::new();
    for (name, value) in given {
        if vars.insert(name.clone(), value).is_some() {
            return Err(SettingsError::Twice(name));
        }
    }
    Ok(vars)
}

/// Returns the verbosity: 0, 1 or 2; more for a flag that is repeated more often. A flag, `--quiet` included, takes
/// precedence over the variable.
fn verbosity_level(flag: u8, quiet: bool, variables: &EnvVariables) -> Result<u8, SettingsError> {
    let said = variables.get("STEAD_VERBOSE").filter(|value| !value.is_empty());
    Ok(match (flag, quiet, said.map(String::as_str)) {
        (0, false, Some("2")) => 2,
        (0, false, Some(_)) => u8::from(switch_setting(variables, "STEAD_VERBOSE")?),
        (level, ..) => level,
    })
}

/// Returns the state directory; `None` for a user without a home directory.
fn state_directory(variables: &EnvVariables) -> Option<PathBuf> {
    // A relative path would name another directory for each working directory.
    let path = |name: &str| variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    path("STEAD_STATE_DIR")
        .or_else(|| path("XDG_STATE_HOME").map(|home| home.join("stead")))
        .or_else(|| path("HOME").map(|home| home.join(".local/state/stead")))
}

/// Returns the service: both flags take precedence over both variables, and these over the profile; `STEAD_CLOUD`
/// takes precedence over `STEAD_API_URL`.
fn choose_cloud(
    flag: Option<CloudChoice>,
    url: Option<String>,
    variables: &EnvVariables,
    profile: Option<String>,
) -> Result<CloudEndpoint, SettingsError> {
    if let (None, Some(url)) = (flag, url) {
        return check_address(&url).map(CloudEndpoint::Remote);
    }
    if choice_setting(flag, "STEAD_CLOUD", variables)? == Some(CloudChoice::Local) {
        return Ok(CloudEndpoint::Local);
    }
    match variables.get("STEAD_API_URL").filter(|url| !url.is_empty()).cloned().or(profile) {
        Some(url) => check_address(&url).map(CloudEndpoint::Remote),
        None => Ok(CloudEndpoint::Unset),
    }
}

/// Returns the configured backend; `None` if there is none. A flag must not contain a password, because every user
/// of the machine can read it.
fn choose_backend(flag: Option<String>, variable: Option<String>) -> Result<Option<String>, SettingsError> {
    match flag {
        Some(text) if without_password(&text) != text => Err(SettingsError::Password),
        Some(text) => Ok(Some(text)),
        None => Ok(variable),
    }
}

fn to_names(texts: Vec<String>) -> BTreeSet<Name> {
    texts.into_iter().map(Name::from).collect()
}

/// Returns the variables of a stack that the environment sets; `STEAD_VAR_FILE` names a file and is none of them.
fn env_vars(variables: &EnvVariables) -> BTreeMap<Name, Secret> {
    let named = |(name, value): (&String, &String)| {
        let name = name.strip_prefix("STEAD_VAR_").filter(|name| !name.is_empty() && *name != "FILE")?;
        Some((Name::from(name.to_lowercase()), Secret::new(value.clone())))
    };
    variables.iter().filter_map(named).collect()
}

/// Returns the value of a flag, else of its variable; `None` if neither is set.
fn choice_setting<T: ValueEnum>(
    flag: Option<T>,
    variable: &'static str,
    variables: &EnvVariables,
) -> Result<Option<T>, SettingsError> {
    let value = match (flag, variables.get(variable)) {
        (Some(value), _) => return Ok(Some(value)),
        (None, Some(value)) if !value.is_empty() => value,
        (None, _) => return Ok(None),
    };
    T::from_str(value, true).map(Some).map_err(|_| {
        let names: Vec<String> = T::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value)
            .filter(|value| !value.is_hide_set())
            .map(|value| value.get_name().to_owned())
            .collect();
        SettingsError::Value { variable, value: value.clone(), allowed: names.join(", ") }
    })
}

/// Returns whether a variable enables something; a value that is neither yes nor no is an error.
fn switch_setting(variables: &EnvVariables, variable: &'static str) -> Result<bool, SettingsError> {
    match variables.get(variable).map(|value| value.to_lowercase()).as_deref() {
        None | Some("" | "0" | "false" | "no" | "off") => Ok(false),
        Some("1" | "true" | "yes" | "on") => Ok(true),
        // Some CI systems set `CI` to their own name.
        Some(_) if variable == "CI" => Ok(true),
        Some(value) => {
            Err(SettingsError::Value { variable, value: value.to_owned(), allowed: "1 or 0".to_owned() })
        }
    }
}

/// Validates a base URL: https, or http to this machine; without user, query and fragment. Returns it
/// without a trailing slash.
fn check_address(url: &str) -> Result<String, SettingsError> {
    let fail = |reason| Err(SettingsError::Url { url: redact_address(url), reason });
    let (host_and_path, plain) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return fail("it must begin with https://"),
    };
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return fail("it holds a blank or a control character");
    }
    if url.contains(['?', '#', '\\']) {
        return fail("it must not have a query or a fragment");
    }
    let host = host_and_path.split('/').next().unwrap_or_default();
    if host.contains('@') {
        return fail("it must not contain a user; STEAD_API_KEY sets the key");
    }
    if host.is_empty() {
        return fail("it names no host");
    }
    if plain && !is_loopback(host) {
        return fail("plain http is for this machine only (127.0.0.1, ::1, localhost); use https");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Validates the address of a published documentation: of a web server or of a directory, without query and fragment.
/// Returns it without a trailing slash.
fn check_docs_url(url: &str) -> Result<String, SettingsError> {
    let known = ["https://", "http://", "file:///"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let is_legal = known.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !url.contains(|c: char| {
            c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\' | '"' | '<' | '>')
        });
    if is_legal {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    Err(SettingsError::Value {
        variable: "STEAD_DOCS_URL",
        value: redact_address(url),
        allowed: "the address of a web site, such as https://docs.example.com/stead".to_owned(),
    })
}

/// Returns whether a host, with or without a port, is this machine itself.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;
