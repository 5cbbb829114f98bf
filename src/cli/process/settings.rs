//! `Settings`: flags over environment variables over the user's profile over defaults, merged once.
//! Pure: variables and profiles are handed in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueEnum;

use super::env::{EnvVariables, user_config_dir};
use super::helper_program::{self, HelperProgram};
use super::identity_source::{IdentitySource, age_identity};
use super::profile::{HelperProgramConfig, Profiles};
use super::settings_error::SettingsError;
use crate::cli::args::{CloudChoice, ColorChoice, GlobalArgs, OutputFormat, global_flags};
use crate::ledger::stores::location::without_password;
use crate::model::address::Name;
use crate::model::redact::redact_address;
use crate::model::secret::Secret;

/// The stack's directory unless something else is said.
pub const DEFAULT_DIR: &str = ".";

/// What holds for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What was said by flag and decides: the next command says it, too.
    pub said: Vec<String>,
    /// The profile in use.
    pub profile: Option<Name>,
    /// The environment asked for.
    pub env: Option<Name>,
    /// The stack's directory.
    pub dir: PathBuf,
    /// Variables given by name.
    pub vars: BTreeMap<Name, String>,
    /// Variables from `STEAD_VAR_x`, names in lower case. They may be secrets, so all are.
    pub env_vars: BTreeMap<Name, Secret>,
    /// Files with variables.
    pub var_files: Vec<PathBuf>,
    /// How results are written.
    pub output: OutputFormat,
    /// Which service.
    pub cloud: CloudEndpoint,
    /// The key of `STEAD_API_KEY`: a flag would show it to every user of the machine.
    pub api_key: Option<Secret>,
    /// The key of `STEAD_READONLY_API_KEY`, for stacks that are not trusted.
    pub readonly_key: Option<Secret>,
    /// The user's program that prints the key.
    pub key_command: Option<Vec<String>>,
    /// What that program sees of the environment.
    pub helper_env: EnvVariables,
    /// The user's programs that take secrets, by the names that stacks have for them.
    pub sinks: BTreeMap<Name, HelperProgram>,
    /// The user's programs that print secrets, likewise.
    pub sources: BTreeMap<Name, HelperProgram>,
    /// What the variables of proxies say, without passwords.
    pub proxies: EnvVariables,
    /// The user's directory of settings and keys; `None` where nothing says which.
    pub config_dir: Option<PathBuf>,
    /// A file with further roots.
    pub ca_file: Option<PathBuf>,
    /// The file of the key that seals ledgers.
    pub ledger_key: Option<PathBuf>,
    /// A ledger must be there, and own or remember something: it was applied before.
    pub require_ledger: bool,
    /// The origin of stacks, said by hand: `REPOSITORY//DIRECTORY`.
    pub origin: Option<String>,
    /// The file of the key that signs saved plans, and of those whose saved plans are applied.
    pub plan_keys: PlanKeyFiles,
    /// Where the identity comes from that opens kept secrets.
    pub age_identity: Option<IdentitySource>,
    /// The only recipients that stacks may name for kept secrets.
    pub allowed_recipients: Option<BTreeSet<Name>>,
    /// The stack is a stranger's.
    pub untrusted: bool,
    /// The command has a use for the stack's secrets: where it has none, those that nobody gives count as in use.
    pub needs_secrets: bool,
    /// The project of a stack without a project block.
    pub project: Option<Name>,
    /// Where the ledger is kept, as written.
    pub backend: Option<String>,
    /// What became of a lost request is always asked, as `--strict` says for one run.
    pub strict: bool,
    /// The user's own directory for what outlives a run: `STEAD_STATE_DIR`, or where the system says.
    pub state: Option<PathBuf>,
    /// The file that `kubectl` reads: the first of `KUBECONFIG`, or where it is by itself.
    pub kubeconfig: Option<PathBuf>,
    /// Configuration may be shared from anywhere, not only from the repository.
    pub allow_outside: bool,
    /// Never ask.
    pub no_input: bool,
    /// It runs in CI: no prompts, no animation.
    pub ci: bool,
    /// When to use colours.
    pub color: ColorChoice,
    /// No hints, no progress.
    pub quiet: bool,
    /// All attributes, all places, all steps.
    pub verbose: bool,
    /// And all that stands beneath.
    pub very_verbose: bool,
}

/// Files of keys for saved plans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanKeyFiles {
    /// The private key that signs.
    pub sign: Option<PathBuf>,
    /// The public keys whose signatures are taken.
    pub verify: Option<PathBuf>,
}

/// Which service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloudEndpoint {
    /// The one in the binary.
    Local,
    /// The one at this address; without a slash at the end.
    Remote(String),
    /// None is named: commands that need one say how to name it.
    Unset,
}

impl Settings {
    /// Says whether the stack is trusted. One that is not gets no variable of the environment: it could show it.
    pub fn set_trust(&mut self, trusted: bool) {
        if trusted {
            return;
        }
        self.untrusted = true;
        self.allow_outside = false;
        self.env_vars.clear();
    }
}

/// Returns programs with what they see of the environment.
fn bind_programs(
    named: &BTreeMap<Name, HelperProgramConfig>,
    variables: &EnvVariables,
) -> BTreeMap<Name, HelperProgram> {
    let program = |words: &HelperProgramConfig| HelperProgram::new(&words.command, &words.env, variables);
    named.iter().map(|(name, words)| (name.clone(), program(words))).collect()
}

/// Returns what programs of the user's own see of the environment.
fn helper_env(variables: &EnvVariables) -> EnvVariables {
    let given = |name: &&str| Some(((*name).to_owned(), variables.get(*name)?.clone()));
    helper_program::INHERITED_VARIABLES.iter().filter_map(given).collect()
}

/// Returns the variables that send requests through a proxy, or keep them from one.
fn proxy_variables(variables: &EnvVariables) -> EnvVariables {
    let is_one = |name: &str| {
        ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"].contains(&name.to_uppercase().as_str())
    };
    let set = variables.iter().filter(|(name, value)| is_one(name) && !value.is_empty());
    let shown =
        |value: &str| value.rsplit_once('@').map_or(value.to_owned(), |(_, host)| format!("…@{host}"));
    set.map(|(name, value)| (name.clone(), shown(value))).collect()
}

fn kubeconfig_path(variables: &EnvVariables) -> Option<PathBuf> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    let named = set("KUBECONFIG").and_then(|list| list.split(':').find(|path| !path.is_empty()));
    named.map(PathBuf::from).or_else(|| Some(PathBuf::from(set("HOME")?).join(".kube/config")))
}

/// Merges flags, environment variables and the user's profile.
///
/// # Errors
/// When a value is not one of those allowed, or there is no such profile.
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
    let vars = reject_duplicate_variables(flags.vars)?;
    Ok(Settings {
        said,
        cloud: choose_cloud(flags.cloud, flags.api_url, variables, profile.api_url)?,
        env: flags.env.or_else(|| text("STEAD_ENV").map(Name::from)).or(profile.env),
        dir: flags.dir.or_else(|| path("STEAD_DIR", None)).unwrap_or_else(|| DEFAULT_DIR.into()),
        vars,
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
        allowed_recipients: profile
            .allowed_recipients
            .map(|names| names.into_iter().map(Name::from).collect()),
        untrusted: false,
        needs_secrets: true,
        project: flags.project.or_else(|| text("STEAD_PROJECT").map(Name::from)).or(profile.project),
        backend: choose_backend(flags.backend, text("STEAD_BACKEND").or(profile.backend))?,
        profile: profile.name,
        strict: set("STEAD_STRICT")?,
        state: state_directory(variables),
        allow_outside: flags.allow_outside || set("STEAD_ALLOW_OUTSIDE")?,
        no_input: flags.no_input || ci || set("STEAD_NO_INPUT")?,
        ci,
        color: choice_setting(flags.color, "STEAD_COLOR", variables)?.unwrap_or(ColorChoice::Auto),
        quiet: flags.quiet || (flags.verbose == 0 && set("STEAD_QUIET")?),
        verbose: level > 0,
        very_verbose: level > 1,
    })
}

/// Returns the values of `--var`, each variable once.
fn reject_duplicate_variables(given: Vec<(Name, String)>) -> Result<BTreeMap<Name, String>, SettingsError> {
    let mut vars = BTreeMap::new();
    for (name, value) in given {
        if vars.insert(name.clone(), value).is_some() {
            return Err(SettingsError::Twice(name));
        }
    }
    Ok(vars)
}

/// Returns how much is told besides the result: 0, 1 or 2. A flag, also the one for less, beats the variable.
fn verbosity_level(flag: u8, quiet: bool, variables: &EnvVariables) -> Result<u8, SettingsError> {
    let said = variables.get("STEAD_VERBOSE").filter(|value| !value.is_empty());
    Ok(match (flag, quiet, said.map(String::as_str)) {
        (0, false, Some("2")) => 2,
        (0, false, Some(_)) => u8::from(switch_setting(variables, "STEAD_VERBOSE")?),
        (level, ..) => level,
    })
}

/// Returns the directory for what outlives a run; `None` for a user without a home.
fn state_directory(variables: &EnvVariables) -> Option<PathBuf> {
    // A relative path would be another place in each directory.
    let path = |name: &str| variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    path("STEAD_STATE_DIR")
        .or_else(|| path("XDG_STATE_HOME").map(|home| home.join("stead")))
        .or_else(|| path("HOME").map(|home| home.join(".local/state/stead")))
}

/// Either flag beats either variable, and those beat the profile; of the variables, `STEAD_CLOUD` beats
/// `STEAD_API_URL`.
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

/// A flag is seen by every user of the machine, so it may hold no password.
fn choose_backend(flag: Option<String>, variable: Option<String>) -> Result<Option<String>, SettingsError> {
    match flag {
        Some(text) if without_password(&text) != text => Err(SettingsError::Password),
        Some(text) => Ok(Some(text)),
        None => Ok(variable),
    }
}

fn env_vars(variables: &EnvVariables) -> BTreeMap<Name, Secret> {
    let named = |(name, value): (&String, &String)| {
        let name = name.strip_prefix("STEAD_VAR_").filter(|name| !name.is_empty() && *name != "FILE")?;
        Some((Name::from(name.to_lowercase()), Secret::new(value.clone())))
    };
    variables.iter().filter_map(named).collect()
}

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
            .filter_map(|variant| Some(variant.to_possible_value()?.get_name().to_owned()))
            .collect();
        SettingsError::Value { variable, value: value.clone(), allowed: names.join(", ") }
    })
}

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

/// Checks an address: https, or http to this machine; no user, query or fragment.
fn check_address(url: &str) -> Result<String, SettingsError> {
    let fail = |reason| Err(SettingsError::Url { url: redact_address(url), reason });
    let (host_and_path, plain) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return fail("it begins with https://"),
    };
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return fail("it holds a blank or a control character");
    }
    if url.contains(['?', '#', '\\']) {
        return fail("it has no query and no fragment");
    }
    let host = host_and_path.split('/').next().unwrap_or_default();
    if host.contains('@') {
        return fail("it holds no user; the key comes from STEAD_API_KEY");
    }
    if host.is_empty() {
        return fail("it names no host");
    }
    if plain && !is_loopback(host) {
        return fail("plain http is for this machine only (127.0.0.1, ::1, localhost); use https");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(flags: GlobalArgs, variables: &EnvVariables) -> Result<Settings, SettingsError> {
        super::merge(flags, variables, &Profiles::none("settings.toml"))
    }

    fn variables(given: &[(&str, &str)]) -> EnvVariables {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn defaults() {
        let settings = merge(GlobalArgs::default(), &EnvVariables::new()).unwrap();
        assert_eq!(settings.dir, PathBuf::from("."));
        assert_eq!((settings.output, settings.color), (OutputFormat::Text, ColorChoice::Auto));
        assert_eq!(settings.cloud, CloudEndpoint::Unset);
        assert!(!settings.no_input && !settings.ci && !settings.quiet && !settings.verbose);
    }

    #[test]
    fn variables_fill_in_and_flags_win() {
        let given = variables(&[
            ("STEAD_ENV", "prod"),
            ("STEAD_DIR", "infra"),
            ("STEAD_OUTPUT", "json"),
            ("STEAD_COLOR", "never"),
            ("STEAD_PROJECT", "p1"),
            ("STEAD_BACKEND", "file:/x"),
            ("STEAD_VAR_Office", "203.0.113.0/24"),
            ("STEAD_VAR_FILE", "a.yaml"),
            ("STEAD_API_KEY", " key \n"),
            ("STEAD_VERBOSE", "1"),
            ("CI", "woodpecker"),
        ]);
        let settings = merge(GlobalArgs::default(), &given).unwrap();
        assert_eq!(settings.env.as_deref(), Some("prod"));
        assert_eq!(settings.dir, PathBuf::from("infra"));
        assert_eq!((settings.output, settings.color), (OutputFormat::Json, ColorChoice::Never));
        assert_eq!(settings.env_vars.keys().collect::<Vec<_>>(), ["office"]);
        assert_eq!(settings.var_files, [PathBuf::from("a.yaml")]);
        assert_eq!(settings.api_key, Some(Secret::new("key")));
        assert!(settings.ci && settings.no_input && settings.verbose);
        assert!(!settings.very_verbose);
        let levels = [("2", true, true), ("1", true, false), ("0", false, false)];
        for (text, verbose, very) in levels {
            let settings = merge(GlobalArgs::default(), &variables(&[("STEAD_VERBOSE", text)])).unwrap();
            assert_eq!((settings.verbose, settings.very_verbose), (verbose, very), "{text}");
        }
        let flags = GlobalArgs {
            env: Some("dev".into()),
            output: Some(OutputFormat::Text),
            var_files: vec!["b.yaml".into()],
            quiet: true,
            ..GlobalArgs::default()
        };
        let settings = merge(flags, &given).unwrap();
        assert_eq!(settings.env.as_deref(), Some("dev"));
        assert_eq!(settings.output, OutputFormat::Text);
        assert_eq!(settings.var_files, [PathBuf::from("b.yaml")]);
        assert!(settings.quiet && !settings.verbose);
        assert!(!format!("{settings:?}").contains("key "), "a key is never shown");
    }

    #[test]
    fn a_flag_beats_a_variable_beats_the_profile() {
        let profiles = Profiles::parse(
            "s.toml",
            "[profiles.work]\napi_url = 'https://p.example.com'\nenv = 'p'\nproject = 'p'\nbackend = 'p'\nca_file = 'p'\nkey_command = ['p']",
        )
        .unwrap();
        let get = |flags: GlobalArgs, given: &[(&str, &str)]| {
            let settings = super::merge(flags, &variables(given), &profiles).unwrap();
            let text = |name: Option<Name>| name.map(|name| name.to_string());
            let path = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
            let CloudEndpoint::Remote(url) = settings.cloud else { return vec![] };
            vec![
                Some(url),
                text(settings.env),
                text(settings.project),
                settings.backend,
                path(settings.ca_file),
            ]
        };
        let some = |texts: [&str; 5]| texts.map(|text| Some(text.to_owned())).to_vec();
        let by_variables = [
            ("STEAD_PROFILE", "work"),
            ("STEAD_API_URL", "https://v.example.com"),
            ("STEAD_ENV", "v"),
            ("STEAD_PROJECT", "v"),
            ("STEAD_BACKEND", "v"),
            ("STEAD_CA_FILE", "v"),
        ];
        let flags = GlobalArgs {
            api_url: Some("https://f.example.com".to_owned()),
            env: Some("f".into()),
            project: Some("f".into()),
            ca_file: Some("f".into()),
            ..GlobalArgs::default()
        };
        let named = GlobalArgs { profile: Some("work".into()), ..GlobalArgs::default() };
        assert_eq!(get(named, &[]), some(["https://p.example.com", "p", "p", "p", "p"]));
        assert_eq!(
            get(GlobalArgs::default(), &by_variables[..1]),
            some(["https://p.example.com", "p", "p", "p", "p"])
        );
        assert_eq!(
            get(GlobalArgs::default(), &by_variables),
            some(["https://v.example.com", "v", "v", "v", "v"])
        );
        assert_eq!(get(flags, &by_variables), some(["https://f.example.com", "f", "f", "v", "f"]));
        assert!(
            get(GlobalArgs::default(), &[]).is_empty(),
            "no profile holds by itself but the default one"
        );
        let none = super::merge(GlobalArgs::default(), &variables(&[("STEAD_PROFILE", "wrk")]), &profiles);
        assert!(none.unwrap_err().to_string().contains("did you mean `work`"));
    }

    #[test]
    fn which_cloud() {
        let at = |url: &str| CloudEndpoint::Remote(url.to_owned());
        let local = GlobalArgs { cloud: Some(CloudChoice::Local), ..GlobalArgs::default() };
        let url = GlobalArgs { api_url: Some("https://api.example.com/".into()), ..GlobalArgs::default() };
        let both = variables(&[("STEAD_CLOUD", "local"), ("STEAD_API_URL", "https://env.example.com")]);
        let only_url = variables(&[("STEAD_API_URL", "https://env.example.com")]);
        let table = [
            (local.clone(), &only_url, CloudEndpoint::Local),
            (url, &both, at("https://api.example.com")),
            (GlobalArgs::default(), &both, CloudEndpoint::Local),
            (GlobalArgs::default(), &only_url, at("https://env.example.com")),
        ];
        for (flags, variables, cloud) in table {
            assert_eq!(merge(flags, variables).unwrap().cloud, cloud);
        }
    }

    #[test]
    fn a_key_goes_to_safe_addresses_only() {
        for url in
            ["https://a.example.com/base", "http://127.0.0.1:8377", "http://[::1]:1", "http://localhost"]
        {
            assert!(check_address(url).is_ok(), "{url}");
        }
        for url in [
            "http://example.com",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com",
            "ftp://x",
            "api.example.com",
            "https://",
            "https://me:secret@example.com",
            "https:me:secret@example.com",
            "me:secret@example.com",
            "https://secret@example.com",
            "https://example.com?token=secret",
            "https://example.com#secret",
            "http://127.0.0.1@example.com",
            "https://example.com?x",
            "https://exa mple.com",
        ] {
            let error = check_address(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn wrong_values_name_the_right_ones() {
        let error = |name, value| {
            merge(GlobalArgs::default(), &variables(&[(name, value)])).unwrap_err().to_string()
        };
        assert_eq!(error("STEAD_OUTPUT", "xml"), "STEAD_OUTPUT is `xml`; it can be text, json, ndjson");
        assert_eq!(error("STEAD_NO_INPUT", "maybe"), "STEAD_NO_INPUT is `maybe`; it can be 1 or 0");
        let twice = GlobalArgs {
            vars: vec![("a".into(), "1".into()), ("a".into(), "2".into())],
            ..GlobalArgs::default()
        };
        assert_eq!(merge(twice, &EnvVariables::new()).unwrap_err(), SettingsError::Twice("a".into()));
    }
}
