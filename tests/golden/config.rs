//! Files beside the configuration and in the user's directory: the lock file, the settings, and the catalog that
//! editors complete names from.

use stead::cli::process::profile::{HelperProgramConfig, Profile, Profiles};
use stead::config::stack::lock_file;
use stead::model::live::catalog::Catalog;
use stead::model::source::SourceId;

use crate::coverage::Coverage;
use crate::files;

#[test]
fn the_lock_file_is_read_and_written_as_before() {
    let lock = lock_file::parse(SourceId(0), &files::read("stead.lock")).unwrap();
    files::assert_same("stead.lock", &lock_file::render_lock(&lock).unwrap());
    assert_eq!(lock.catalog.tables.len(), 2);
}

#[test]
fn the_cached_catalog_is_read_and_written_as_before() {
    let catalog: Catalog = files::round_trip("catalog-cache.json");
    let mut coverage = Coverage::default();
    coverage.add(&catalog);
    coverage.add(&Catalog::default());
    coverage.assert_fields_are_complete();
}

/// Settings are only read. Every field of a profile is named here, so that a new one does not compile before the golden
/// file has it.
#[test]
fn every_setting_of_a_profile_is_read() {
    let profiles = Profiles::parse("settings.toml", &files::read("settings.toml")).unwrap();
    let Profile {
        name,
        age_identity,
        age_identity_command,
        allowed_recipients,
        api_url,
        backend,
        ca_file,
        env,
        key_command,
        ledger_key,
        plan_sign_key,
        plan_verify_key,
        policies,
        privileged_roles,
        project,
        runs,
        sinks,
        sources,
    } = profiles.choose(Some(&"work".into())).unwrap();
    let text = |text: &str| Some(text.to_owned());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(name.as_deref(), Some("work"));
    assert_eq!(age_identity, text("/home/ada/identity.txt"));
    assert_eq!(age_identity_command, Some(words(&["pass", "show", "age"])));
    assert_eq!(allowed_recipients, Some(words(&["age1ada"])));
    assert_eq!(api_url, text("https://work.example.com"));
    assert_eq!(backend, text("postgres://db/ledgers"));
    assert_eq!(ca_file, text("/etc/ca.pem"));
    assert_eq!(env.as_deref(), Some("prod"));
    assert_eq!(key_command, Some(words(&["pass", "show", "stead"])));
    assert_eq!(ledger_key, text("/home/ada/ledger.key"));
    assert_eq!(plan_sign_key, text("/home/ada/sign.pem"));
    assert_eq!(plan_verify_key, text("/home/ada/verify.pem"));
    assert_eq!(policies, words(&["/etc/stead/policies", "policies"]), "first those of every profile");
    assert_eq!(privileged_roles, Some(words(&["owner"])));
    assert_eq!(project.as_deref(), Some("shop"));
    assert_eq!(runs, text("postgres://db/runs"));
    assert_eq!(sinks["vault"], HelperProgramConfig { command: words(&["put", "-"]), env: Vec::new() });
    assert_eq!(
        sources["vault"],
        HelperProgramConfig { command: words(&["get"]), env: words(&["VAULT_TOKEN"]) }
    );
    let default = profiles.choose(None).unwrap();
    assert_eq!(default.api_url, text("https://api.example.com"));
    assert_eq!(
        default,
        Profile {
            name: Some("default".into()),
            api_url: default.api_url.clone(),
            policies: words(&["/etc/stead/policies"]),
            ..Profile::default()
        }
    );
}
