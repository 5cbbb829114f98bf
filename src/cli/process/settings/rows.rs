//! The settings that do not belong to one command: for each, its flag, environment variable and key in the user's
//! `settings.toml`. The documentation derives from this table; tests compare it with the flags, the keys of a profile, and
//! the variables that the program reads.

/// A setting, and the ways to set it. A flag takes precedence over the variable, the variable over the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct SettingRow {
    /// Long flag of all commands; `None` if no flag sets it.
    pub(in crate::cli) flag: Option<&'static str>,
    /// Environment variable; `None` if none sets it.
    pub(in crate::cli) variable: Option<&'static str>,
    /// Key in a profile of `settings.toml`; `None` if none sets it.
    pub(in crate::cli) key: Option<&'static str>,
    /// What the setting is for, as sentences.
    pub(in crate::cli) text: &'static str,
}

const fn row(
    flag: Option<&'static str>,
    variable: Option<&'static str>,
    key: Option<&'static str>,
    text: &'static str,
) -> SettingRow {
    SettingRow { flag, variable, key, text }
}

const fn variable(name: &'static str, text: &'static str) -> SettingRow {
    row(None, Some(name), None, text)
}

/// All settings: those of the service, the stack, ledgers, secrets, plans, and the output.
pub(in crate::cli) const SETTINGS: &[SettingRow] = &[
    row(
        Some("profile"),
        Some("STEAD_PROFILE"),
        None,
        "Profile of `settings.toml`; `default` if none is named.",
    ),
    row(
        Some("cloud"),
        Some("STEAD_CLOUD"),
        None,
        "`local` uses the built-in cloud, whose data is below `.stead/`. It takes precedence over the address of a service.",
    ),
    row(
        Some("api-url"),
        Some("STEAD_API_URL"),
        Some("api_url"),
        "Address of the service. Plain HTTP is accepted for this machine only.",
    ),
    variable("STEAD_API_KEY", "The API key. It takes precedence over `key_command` and over a stored key."),
    variable(
        "STEAD_READONLY_API_KEY",
        "A key that can only read, for `plan --untrusted`, which refuses to run where another key is set.",
    ),
    row(None, None, Some("key_command"), "Command that prints the API key, as a list of words."),
    row(
        Some("ca-file"),
        Some("STEAD_CA_FILE"),
        Some("ca_file"),
        "File with CA certificates to trust in addition to the system's.",
    ),
    row(
        Some("project"),
        Some("STEAD_PROJECT"),
        Some("project"),
        "Project of a stack without a project block.",
    ),
    row(Some("dir"), Some("STEAD_DIR"), None, "Directory of the stack."),
    row(Some("env"), Some("STEAD_ENV"), Some("env"), "Environment of the stack."),
    row(
        Some("var"),
        Some("STEAD_VAR_"),
        None,
        "A variable of the stack: `--var nodes=a`, or `STEAD_VAR_NODES=a`. With `--all`, each stack that declares it gets it, and `--var shop/prod:nodes=a` sets it for one unit.",
    ),
    row(Some("var-file"), Some("STEAD_VAR_FILE"), None, "File with variables, in YAML or KDL."),
    row(
        Some("allow-outside"),
        Some("STEAD_ALLOW_OUTSIDE"),
        None,
        "Allows files, modules and stacks outside of the repository.",
    ),
    row(Some("backend"), Some("STEAD_BACKEND"), Some("backend"), "Where ledgers are stored."),
    row(
        None,
        Some("STEAD_RUNS"),
        Some("runs"),
        "PostgreSQL database in which the workers of `apply --all --join` share a run; the backend by default.",
    ),
    row(
        None,
        Some("STEAD_LEDGER_KEY"),
        Some("ledger_key"),
        "File with the key for the MACs of ledgers: a record that was changed without the key is refused.",
    ),
    variable(
        "STEAD_REQUIRE_LEDGER",
        "`1` refuses to begin a new ledger, so that a deleted one is noticed.",
    ),
    variable(
        "STEAD_ORIGIN",
        "Repository and directory of the stack, as `REPOSITORY//DIRECTORY`, where there is no `.git`.",
    ),
    variable(
        "STEAD_STRICT",
        "`1` assumes no time bounds: the user decides about each lost request, as with `--strict`.",
    ),
    variable("STEAD_HTTP_USERNAME", "User for a state server."),
    variable("STEAD_HTTP_PASSWORD", "Password for a state server."),
    variable(
        "STEAD_HTTP_LOCK_ADDRESS",
        "Address that locks the ledger on a state server; the ledger's own by default.",
    ),
    variable(
        "STEAD_HTTP_UNLOCK_ADDRESS",
        "Address that unlocks the ledger on a state server; that of the lock by default.",
    ),
    variable("STEAD_HTTP_LOCK_METHOD", "HTTP method that locks; `LOCK` by default."),
    variable("STEAD_HTTP_UNLOCK_METHOD", "HTTP method that unlocks; `UNLOCK` by default."),
    row(
        None,
        Some("STEAD_AGE_IDENTITY"),
        Some("age_identity"),
        "File with the age identity that decrypts secrets in ledgers; the variable may also hold the identity itself.",
    ),
    row(
        None,
        None,
        Some("age_identity_command"),
        "Command that prints the age identity, as a list of words.",
    ),
    row(
        None,
        None,
        Some("allowed_recipients"),
        "Recipients that stacks may name for the secrets in ledgers; any by default.",
    ),
    row(
        None,
        None,
        Some("sources"),
        "Programs that print a secret, by the names that `source` in a stack has.",
    ),
    row(
        None,
        None,
        Some("sinks"),
        "Programs that take a secret on standard input, by the names that `deliver_secret` in a stack has. They see `STEAD_STACK`, `STEAD_ENVIRONMENT` and `STEAD_ADDRESS`, and the variables that `env` names.",
    ),
    row(
        None,
        Some("STEAD_PLAN_SIGN_KEY"),
        Some("plan_sign_key"),
        "File with the private key that signs saved plans.",
    ),
    row(
        None,
        Some("STEAD_PLAN_VERIFY_KEY"),
        Some("plan_verify_key"),
        "File with the public keys whose saved plans are accepted.",
    ),
    row(
        None,
        None,
        Some("policies"),
        "Directories of policies that hold for every stack; relative ones begin at the directory of `settings.toml`. Above all profiles, they hold for each.",
    ),
    row(
        None,
        None,
        Some("privileged_roles"),
        "Roles that an API key should not have, for the exposure X05; `owner` and `admin` by default. Above all profiles, they hold for each.",
    ),
    row(
        Some("output"),
        Some("STEAD_OUTPUT"),
        None,
        "Format of the result: `text`, `json` or `ndjson`; `stead stacks` also has `matrix`.",
    ),
    row(
        Some("color"),
        Some("STEAD_COLOR"),
        None,
        "When to use colors: `auto`, `always` or `never`. `NO_COLOR` is respected.",
    ),
    row(Some("quiet"), Some("STEAD_QUIET"), None, "Prints no hints and no progress."),
    row(
        Some("verbose"),
        Some("STEAD_VERBOSE"),
        None,
        "Prints more; `2`, or `-vv`, prints also times and reasons.",
    ),
    row(Some("no-input"), Some("STEAD_NO_INPUT"), None, "Never prompts. `CI=true` implies it."),
    variable(
        "STEAD_DOCS_URL",
        "Address of a published copy of this documentation, for `stead explain --web`.",
    ),
    variable(
        "STEAD_CONFIG_DIR",
        "Directory of `settings.toml` and of stored keys; `~/.config/stead` by default.",
    ),
    variable(
        "STEAD_STATE_DIR",
        "Directory of what a machine remembers: how far each ledger had come, the request limit of each key; `~/.local/state/stead` by default.",
    ),
];

/// The keys of a rule under `[[units]]` in `settings.toml`, with what each is for.
pub(in crate::cli) const UNIT_RULE_KEYS: &[(&str, &str)] = &[
    (
        "match",
        "Pattern for units, as for `--stacks`: `shop/prod`, `*/prod`, `shop` or `./teams/**`. Required.",
    ),
    ("profile", "Profile of the units that match. Required."),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the program's own source is read")]

    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use clap::CommandFactory;

    use super::*;
    use crate::cli::dispatch::command_line::Cli;
    use crate::cli::process::profile::{self, Profiles};

    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { collect(&path, found) } else { found.push(path) }
        }
    }

    /// The names of variables that the program's source has as whole texts, its tests aside.
    fn variables_in_source() -> BTreeSet<String> {
        let mut files = Vec::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
        let mut names = BTreeSet::new();
        for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
            if file.ends_with("settings/rows.rs")
                || file
                    .components()
                    .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
            {
                continue;
            }
            let text = std::fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            for part in code.split('"').filter(|part| part.starts_with("STEAD_")) {
                if part.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
                    names.insert(part.to_owned());
                }
            }
        }
        names
    }

    #[test]
    fn every_variable_of_the_source_has_a_row() {
        let known: BTreeSet<_> = SETTINGS.iter().filter_map(|row| row.variable).collect();
        // What a program of the user's sees, the prefix of a store's variables, and those of a build and of tests.
        let others = [
            "STEAD_STACK",
            "STEAD_ENVIRONMENT",
            "STEAD_ADDRESS",
            "STEAD_HTTP_",
            "STEAD_BUILT_COMMIT",
            "STEAD_BUILT_DATE",
            "STEAD_BLESS_GOLDEN",
            "STEAD_EDIT_CASES",
            "STEAD_EXPRESSIONS",
        ];
        let found = variables_in_source();
        let missing: Vec<_> = found
            .iter()
            .filter(|name| !known.contains(name.as_str()) && !others.contains(&name.as_str()))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        let by_prefix = |name: &str| name.starts_with("STEAD_HTTP_");
        let unread: Vec<_> =
            known.iter().filter(|name| !found.contains(**name) && !by_prefix(name)).collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    #[test]
    fn every_key_of_a_profile_has_a_row() {
        let keys: BTreeSet<_> = SETTINGS.iter().filter_map(|row| row.key).collect();
        assert_eq!(keys, profile::KEYS.iter().copied().collect());
    }

    #[test]
    fn every_key_of_a_rule_for_units_has_a_row() {
        let rule = |keys: &[&str]| {
            let lines: Vec<String> = keys.iter().map(|key| format!("{key} = \"prod\"")).collect();
            let lines = lines.join("\n");
            Profiles::parse("settings.toml", &format!("[profiles.prod]\n[[units]]\n{lines}"))
        };
        let keys: Vec<&str> = UNIT_RULE_KEYS.iter().map(|(key, _)| *key).collect();
        assert!(rule(&keys).is_ok());
        for key in &keys {
            let others: Vec<&str> = keys.iter().copied().filter(|other| other != key).collect();
            assert!(rule(&others).is_err(), "`{key}` is required");
        }
        assert!(rule(&[&keys[..], &["env"]].concat()).is_err());
    }

    #[test]
    fn every_flag_of_all_commands_has_a_row_with_the_variable_that_its_help_names() {
        let command = Cli::command();
        let global = command.get_arguments().filter(|argument| argument.is_global_set());
        let mut seen = BTreeSet::new();
        for argument in global {
            let flag = argument.get_long().unwrap();
            let row = SETTINGS.iter().find(|row| row.flag == Some(flag));
            let row = row.unwrap_or_else(|| panic!("no row for --{flag}"));
            let help = argument.get_help().unwrap().to_string();
            assert!(help.contains(row.variable.unwrap()), "--{flag}: {help}");
            seen.insert(flag.to_owned());
        }
        let rows: BTreeSet<_> = SETTINGS.iter().filter_map(|row| row.flag).map(str::to_owned).collect();
        assert_eq!(rows, seen);
        assert!(SETTINGS.iter().all(|row| row.text.ends_with('.')));
    }
}
