//! Parses the user's own `settings.toml`. Pure.
//!
//! It is read only from the user's directory, never from a stack's: it names the host that the API key is sent to,
//! and programs to run. An unknown key is an error, because a misspelled one would silently leave a protection out.

use std::collections::BTreeMap;

use thiserror::Error;
use toml::{Table, Value};

use crate::model::address::Name;
use crate::model::diagnostic::nearest_name;
use crate::workspace::selection::UnitPattern;
use crate::workspace::unit::Unit;

/// Name of the profile that is used if none is named.
pub const DEFAULT: &str = "default";

/// Valid keys of a profile.
pub(in crate::cli) const KEYS: &[&str] = &[
    "age_identity",
    "age_identity_command",
    "allowed_recipients",
    "api_url",
    "backend",
    "ca_file",
    "env",
    "key_command",
    "ledger_key",
    "plan_sign_key",
    "plan_verify_key",
    "policies",
    "privileged_roles",
    "project",
    "runs",
    "sinks",
    "sources",
];

/// Keys that are also allowed above all profiles, where they hold for each.
pub(in crate::cli) const SHARED_KEYS: &[&str] = &["policies", "privileged_roles"];

/// Stands for the name of a profile in errors of keys above all profiles; no profile has an empty name.
const SHARED: &str = "";

/// One profile of the user's `settings.toml`: defaults for the service, the ledger backend, keys and secrets. A field
/// is `None` if the profile does not set it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Name of the profile; `None` if none was named and the file has no default one.
    pub name: Option<Name>,
    /// File with the age identity that decrypts stored secrets.
    pub age_identity: Option<String>,
    /// Command that prints this identity, with its arguments.
    pub age_identity_command: Option<Vec<String>>,
    /// Recipients that stacks may name for stored secrets; `None` allows any.
    pub allowed_recipients: Option<Vec<String>>,
    /// Base URL of the service.
    pub api_url: Option<String>,
    /// Backend for ledgers, as in `--backend`.
    pub backend: Option<String>,
    /// File with additional CA certificates.
    pub ca_file: Option<String>,
    /// Default environment of stacks.
    pub env: Option<Name>,
    /// Command that prints the API key, with its arguments.
    pub key_command: Option<Vec<String>>,
    /// File with the MAC key for ledgers.
    pub ledger_key: Option<String>,
    /// File with the key that signs saved plans.
    pub plan_sign_key: Option<String>,
    /// File with the public keys whose saved plans are accepted.
    pub plan_verify_key: Option<String>,
    /// Directories of policies that hold for every stack.
    pub policies: Vec<String>,
    /// Short names of roles that an API key should not have; `None` uses the default.
    pub privileged_roles: Option<Vec<String>>,
    /// Project for a stack without a project block.
    pub project: Option<Name>,
    /// Database in which workers share their runs.
    pub runs: Option<String>,
    /// Programs that take a secret on standard input, by the names that stacks use; empty if none are defined.
    pub sinks: BTreeMap<Name, HelperProgramConfig>,
    /// Programs that print a secret, by the names that stacks use; empty if none are defined.
    pub sources: BTreeMap<Name, HelperProgramConfig>,
}

/// A program's command line, and the variables that it inherits in addition to the usual ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HelperProgramConfig {
    /// The program's path, followed by its arguments.
    pub command: Vec<String>,
    /// Names of the additional variables; empty without any.
    pub env: Vec<String>,
}

/// All profiles of the user's settings file, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profiles {
    /// Path of the file, for messages.
    place: String,
    all: BTreeMap<Name, Profile>,
    /// What holds for every profile: directories of policies, and privileged roles.
    shared: Profile,
    /// The profiles of units; the first rule that matches counts.
    units: Vec<UnitProfile>,
}

/// A rule that gives units a profile.
#[derive(Debug, Clone, PartialEq)]
struct UnitProfile {
    pattern: UnitPattern,
    profile: Name,
}

/// Why the user's settings file is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// The file is not valid TOML.
    #[error("{place}, line {line}: {reason}")]
    Syntax {
        /// Path of the settings file.
        place: String,
        /// Line number of the error, from 1.
        line: usize,
        /// Message of the TOML parser; can quote a line of the file.
        reason: String,
    },
    /// A key is not known.
    #[error("{place}: unknown key `{key}`{within}{help}")]
    Unknown {
        /// Path of the settings file.
        place: String,
        /// The unknown key, as written.
        key: String,
        /// Table or profile that contains the key, as a phrase; empty at the top level.
        within: String,
        /// Suggestion of a similar key, else the valid keys, as a clause.
        help: String,
    },
    /// A rule for units is wrong.
    #[error("{place}: `units`: {reason}; write [[units]] with match = \"*/prod\" and profile = \"prod\"")]
    UnitRule {
        /// Path of the settings file.
        place: String,
        /// What is wrong with the rule, as a clause.
        reason: String,
    },
    /// A value has the wrong type.
    #[error("{place}: {}`{key}` is {wanted}", describe_profile(.profile))]
    Type {
        /// Path of the settings file.
        place: String,
        /// Profile that contains the key; `SHARED` if the key is above all profiles.
        profile: Name,
        /// Key of the invalid value.
        key: &'static str,
        /// Description of the expected type.
        wanted: &'static str,
    },
    /// The requested profile does not exist.
    #[error("there is no profile `{name}` in {place}{help}")]
    Missing {
        /// Path of the settings file.
        place: String,
        /// Name of the requested profile.
        name: Name,
        /// Suggestion of a similar profile, else how to define this one, as a clause.
        help: String,
    },
}

/// Returns the beginning of a message about a key: which profile it is in.
fn describe_profile(profile: &Name) -> String {
    if *profile == SHARED { String::new() } else { format!("profile `{profile}`: ") }
}

impl Profiles {
    /// Returns an empty set of profiles; `place` is the path of the missing file.
    #[must_use]
    pub fn none(place: impl Into<String>) -> Self {
        Self { place: place.into(), ..Self::default() }
    }

    /// Parses a settings file; `place` is its path, for messages.
    ///
    /// # Errors
    /// When it is not valid TOML, or has an unknown key or a value of the wrong type.
    pub fn parse(place: &str, text: &str) -> Result<Self, ProfileError> {
        let table: Table = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            ProfileError::Syntax { place: place.to_owned(), line, reason: error.message().to_owned() }
        })?;
        let mut profiles = Self::none(place);
        for (key, value) in &table {
            if key == "units" {
                profiles.units = parse_unit_rules(place, value)?;
                continue;
            }
            if SHARED_KEYS.contains(&key.as_str()) {
                continue;
            }
            let (true, Value::Table(all)) = (key == "profiles", value) else {
                let known = [&["profiles", "units"], SHARED_KEYS].concat();
                return Err(unknown_key(place, key, "", &known));
            };
            for (name, value) in all {
                let name = Name::new(name);
                let profile = parse_profile(place, &name, value)?;
                profiles.all.insert(name, profile);
            }
        }
        let is_shared = |(key, _): &(&String, &Value)| SHARED_KEYS.contains(&key.as_str());
        let shared: Table =
            table.iter().filter(is_shared).map(|(key, value)| (key.clone(), value.clone())).collect();
        profiles.shared = parse_profile(place, &Name::new_static(SHARED), &Value::Table(shared))?;
        let is_known = |rule: &&UnitProfile| profiles.choose(Some(&rule.profile)).is_ok();
        if let Some(rule) = profiles.units.iter().find(|rule| !is_known(rule)) {
            let reason = format!("there is no profile `{}`", rule.profile);
            return Err(ProfileError::UnitRule { place: place.to_owned(), reason });
        }
        Ok(profiles)
    }

    /// Returns whether the file has rules that give units a profile.
    #[must_use]
    pub const fn has_unit_rules(&self) -> bool {
        !self.units.is_empty()
    }

    /// Returns the name of the profile that a rule gives a unit; `None` if no rule matches it.
    #[must_use]
    pub fn profile_of(&self, unit: &Unit) -> Option<&Name> {
        self.units.iter().find(|rule| rule.pattern.matches(unit)).map(|rule| &rule.profile)
    }

    /// Returns the profile with a name; without one (`None`), the default profile, which is empty if the file has none.
    ///
    /// # Errors
    /// When no profile has the given name, unless it is `default`.
    pub fn choose(&self, name: Option<&Name>) -> Result<Profile, ProfileError> {
        let mut profile = self.find_profile(name)?;
        let shared = self.shared.policies.iter().filter(|path| !profile.policies.contains(path));
        let shared: Vec<String> = shared.cloned().collect();
        profile.policies.splice(0..0, shared);
        profile.privileged_roles =
            profile.privileged_roles.or_else(|| self.shared.privileged_roles.clone());
        Ok(profile)
    }

    fn find_profile(&self, name: Option<&Name>) -> Result<Profile, ProfileError> {
        let Some(name) = name else {
            return Ok(self.all.get(DEFAULT).cloned().unwrap_or_default());
        };
        // The default profile need not be written in the file.
        let unwritten =
            || (name == DEFAULT).then(|| Profile { name: Some(name.clone()), ..Profile::default() });
        self.all.get(name).cloned().or_else(unwritten).ok_or_else(|| {
            let near = nearest_name(name, self.all.keys().map(Name::as_str));
            let help = match near {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; define it there: [profiles.{name}]"),
            };
            ProfileError::Missing { place: self.place.clone(), name: name.clone(), help }
        })
    }
}

/// Parses the rules that give units a profile.
fn parse_unit_rules(place: &str, value: &Value) -> Result<Vec<UnitProfile>, ProfileError> {
    let wrong = |reason: String| ProfileError::UnitRule { place: place.to_owned(), reason };
    let rules = value.as_array().ok_or_else(|| wrong("it is no list of tables".to_owned()))?;
    let parse = |rule: &Value| {
        let table = rule.as_table().ok_or_else(|| wrong("a rule is a table".to_owned()))?;
        if let Some(key) = table.keys().find(|key| *key != "match" && *key != "profile") {
            return Err(wrong(format!("unknown key `{key}`")));
        }
        let text = |key: &str| {
            let value = table.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            value.ok_or_else(|| wrong(format!("a rule needs `{key}`, a string")))
        };
        let pattern = UnitPattern::parse(text("match")?).map_err(|error| wrong(error.to_string()))?;
        Ok(UnitProfile { pattern, profile: Name::new(text("profile")?) })
    };
    rules.iter().map(parse).collect()
}

fn parse_profile(place: &str, name: &Name, value: &Value) -> Result<Profile, ProfileError> {
    let within = format!(" in profile `{name}`");
    let Value::Table(table) = value else {
        return Err(unknown_key(place, name, " outside of the profiles", &[]));
    };
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(unknown_key(place, key, &within, KEYS));
    }
    let wrong =
        |key, wanted| ProfileError::Type { place: place.to_owned(), profile: name.clone(), key, wanted };
    let text = |key: &'static str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(wrong(key, "a string")),
    };
    let wanted = "a list of strings, the program first: [\"pass\", \"show\", \"stead\"]";
    let list = |key: &'static str, wanted| {
        table.get(key).map(|value| parse_texts(value).ok_or_else(|| wrong(key, wanted))).transpose()
    };
    let key_command = list("key_command", wanted)?;
    let programs = |key: &'static str| {
        let wanted = "a table of programs by name: { vault = [\"PROGRAM\", \"ARGUMENT\"] }, or { vault = \
                      { command = [\"PROGRAM\"], env = [\"VARIABLE\"] } }";
        match table.get(key) {
            None => Ok(BTreeMap::new()),
            Some(value) => parse_programs(value).ok_or_else(|| wrong(key, wanted)),
        }
    };
    Ok(Profile {
        name: Some(name.clone()),
        age_identity: text("age_identity")?,
        age_identity_command: list("age_identity_command", wanted)?,
        allowed_recipients: list("allowed_recipients", "a list of recipients: [\"age1…\"]")?,
        api_url: text("api_url")?,
        backend: text("backend")?,
        ca_file: text("ca_file")?,
        env: text("env")?.map(Name::from),
        key_command,
        ledger_key: text("ledger_key")?,
        plan_sign_key: text("plan_sign_key")?,
        plan_verify_key: text("plan_verify_key")?,
        policies: list("policies", "a list of directories: [\"/etc/stead/policies\"]")?.unwrap_or_default(),
        privileged_roles: list("privileged_roles", "a list of roles: [\"owner\", \"admin\"]")?,
        project: text("project")?.map(Name::from),
        runs: text("runs")?,
        sinks: programs("sinks")?,
        sources: programs("sources")?,
    })
}

/// Parses a list of strings; `None` if it is empty, not a list, or has another type of item.
fn parse_texts(value: &Value) -> Option<Vec<String>> {
    let words = value.as_array().filter(|words| !words.is_empty())?;
    words.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Parses a table of programs by name; `None` if one has another form.
fn parse_programs(value: &Value) -> Option<BTreeMap<Name, HelperProgramConfig>> {
    let words = |value: &Value| match value {
        Value::Table(table) if table.keys().all(|key| key == "command" || key == "env") => {
            Some(HelperProgramConfig {
                command: parse_texts(table.get("command")?)?,
                env: table.get("env").map_or(Some(Vec::new()), parse_texts)?,
            })
        }
        value => Some(HelperProgramConfig { command: parse_texts(value)?, env: Vec::new() }),
    };
    value.as_table()?.iter().map(|(name, value)| Some((Name::new(name), words(value)?))).collect()
}

fn unknown_key(place: &str, key: &str, within: &str, known: &[&str]) -> ProfileError {
    let help = match nearest_name(key, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => "; a profile is a table: [profiles.NAME]".to_owned(),
        None => format!("; it can be {}", known.join(", ")),
    };
    ProfileError::Unknown { place: place.to_owned(), key: key.to_owned(), within: within.to_owned(), help }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::unit::UnitName;

    const FILE: &str = r#"
        [profiles.default]
        api_url = "https://api.example.com"
        [profiles.work]
        api_url = "https://work.example.com"
        backend = "postgres://db/ledgers"
        project = "shop"
        env = "prod"
        key_command = ["pass", "show", "stead"]
    "#;

    #[test]
    fn profiles_are_read() {
        let profiles = Profiles::parse("s.toml", FILE).unwrap();
        let url = |name: Option<&str>| profiles.choose(name.map(Name::new).as_ref()).unwrap().api_url;
        assert_eq!(url(None).as_deref(), Some("https://api.example.com"));
        let work = profiles.choose(Some(&"work".into())).unwrap();
        assert_eq!(work.key_command.unwrap(), ["pass", "show", "stead"]);
        assert_eq!((work.name.as_deref(), work.env.as_deref()), (Some("work"), Some("prod")));
        assert_eq!(Profiles::none("s.toml").choose(None).unwrap(), Profile::default());
    }

    #[test]
    fn the_first_rule_that_matches_a_unit_gives_its_profile() {
        let rules = "[[units]]\nmatch = '*/prod'\nprofile = 'work'\n[[units]]\nmatch = './teams/**'\nprofile = 'default'\n";
        let profiles = Profiles::parse("s.toml", &format!("{FILE}{rules}")).unwrap();
        let profile = |stack: &str, environment: &str, directory: &str| {
            let name = UnitName { stack: stack.into(), environment: environment.into() };
            let unit = Unit {
                name,
                directory: directory.into(),
                has_environments: true,
                is_removed: false,
                upstream: Vec::new(),
            };
            profiles.profile_of(&unit).map(ToString::to_string)
        };
        assert_eq!(profile("shop", "prod", "teams/shop").as_deref(), Some("work"));
        assert_eq!(profile("shop", "dev", "teams/shop").as_deref(), Some("default"));
        assert_eq!(profile("net", "dev", "net"), None);
    }

    #[test]
    fn secret_helper_programs_are_parsed() {
        let text = "[profiles.default.sinks]\nvault = ['put', '-']\n\
                    [profiles.default.sources]\nvault = { command = ['get'], env = ['VAULT_TOKEN'] }";
        let profile = Profiles::parse("s.toml", text).unwrap().choose(None).unwrap();
        assert_eq!(profile.sinks["vault"].command, ["put", "-"]);
        assert_eq!(
            (&*profile.sources["vault"].command, &*profile.sources["vault"].env),
            (&["get".to_owned()][..], &["VAULT_TOKEN".to_owned()][..])
        );
    }

    #[test]
    fn an_invalid_profile_is_reported_with_a_remedy() {
        let table = [
            (
                "[profiles.a]\napi_ulr = 'x'",
                "unknown key `api_ulr` in profile `a`; did you mean `api_url`?",
            ),
            ("[profiles.a]\napi_key = 'canary'", "unknown key `api_key` in profile `a`"),
            ("profile = 'a'", "unknown key `profile`; did you mean `profiles`?"),
            ("units = 'a'", "`units`: it is no list of tables"),
            ("[[units]]\nmatch = '*/prod'", "a rule needs `profile`, a string"),
            ("[[units]]\nmatch = '{'\nprofile = 'default'", "is not a pattern"),
            ("[[units]]\nmatch = '*/prod'\nprofile = 'prd'", "there is no profile `prd`"),
            ("[[units]]\nmacth = '*'\nprofile = 'default'", "unknown key `macth`"),
            ("[profiles]\na = 1", "unknown key `a` outside of the profiles"),
            ("[profiles.a]\nkey_command = 'pass show x'", "`key_command` is a list of strings"),
            ("[profiles.a]\nkey_command = []", "`key_command` is a list of strings"),
            ("[profiles.a]\nproject = 7", "`project` is a string"),
            ("[profiles.a.sinks]\nvault = 'put'", "`sinks` is a table of programs by name"),
            (
                "[profiles.a.sources]\nvault = { command = ['get'], token = 'canary' }",
                "`sources` is a table",
            ),
            ("[profiles.a]\n\nx = ", "s.toml, line 3: "),
        ];
        for (text, says) in table {
            let error = Profiles::parse("s.toml", text).unwrap_err().to_string();
            assert!(error.starts_with("s.toml") && error.contains(says), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
        let profiles = Profiles::parse("s.toml", FILE).unwrap();
        let error = profiles.choose(Some(&"wrok".into())).unwrap_err().to_string();
        assert_eq!(error, "there is no profile `wrok` in s.toml; did you mean `work`?");
    }
}
