//! Kept secrets: added recipients, replaced ciphertexts, and lost values.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::case::{Case, Run};

const VM: &str = "stead: 1\nstack: shop\nvpc: { net: { cidr: 10.9.0.0/16 } }\n\
    vm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.net, user_data: \"key ${vars.token}\" } }\n";

const SINK: &str = "vars: { token: { type: secret, generate: 32, deliver_secret: { file: ./token } } }\n";

/// A case with identities in files of these names.
struct Keys(Case, Vec<String>);

impl Keys {
    fn new(names: &[&str], stack: &str) -> Self {
        let case = Case::new();
        let recipients = names.iter().map(|name| {
            let run = case.ok(&format!("secret keygen --out {name}"));
            run.stdout.trim().to_owned()
        });
        let recipients: Vec<String> = recipients.collect();
        let block = format!("secrets: {{ recipients: [{}] }}\n", recipients.join(", "));
        let case = case.file("stead.yaml", format!("{stack}{block}")).emulator();
        Self(case, recipients)
    }

    fn with(&self, identity: &str, code: i32, args: &str) -> Run {
        let mut command = self.0.command(args);
        let run = Run::of(&command.env("STEAD_AGE_IDENTITY", identity).output().unwrap());
        assert_eq!(run.code, code, "{args}: {}{}", run.stdout, run.stderr);
        run
    }

    fn ok(&self, args: &str) -> Run {
        self.with("ada", 0, args)
    }

    /// Replaces the recipients in the stack.
    fn name(&self, recipients: &[&str]) {
        let text = fs::read_to_string(self.0.path("stead.yaml")).unwrap();
        let rest: Vec<&str> = text.lines().filter(|line| !line.starts_with("secrets:")).collect();
        let block = format!("secrets: {{ recipients: [{}] }}", recipients.join(", "));
        self.0.write("stead.yaml", format!("{}\n{block}\n", rest.join("\n")));
    }

    fn ledger(&self) -> Value {
        self.0.ok("state pull").json()["ledger"].take()
    }

    /// Changes the ledger as an attacker can who has write access and no key.
    fn forge(&self, change: impl FnOnce(&mut Value)) {
        let text = self.0.ok("state pull").stdout;
        let (content, _) = text.rsplit_once(",\"sha256\":\"").unwrap();
        let mut document: Value = serde_json::from_str(&format!("{content}}}")).unwrap();
        change(&mut document["ledger"]);
        let content = document.to_string();
        let content = content.strip_suffix('}').unwrap();
        let digest = stead::model::crypto::hex::encode_hex(&Sha256::digest(content));
        self.0.write("forged", format!("{content},\"sha256\":\"{digest}\"}}\n"));
        self.0.ok("state push forged --yes --force");
    }
}

/// Runs the binary with `input` on its standard input.
fn given(case: &Case, input: &str, code: i32, args: &str) -> Run {
    let mut command = case.command(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let run = Run::of(&child.wait_with_output().unwrap());
    assert_eq!(run.code, code, "{args}: {}{}", run.stdout, run.stderr);
    run
}

#[test]
fn a_lost_generated_secret_blocks_and_replaces_nothing() {
    let case = Case::new().file("stead.yaml", format!("{VM}{SINK}")).emulator();
    case.ok("apply --yes");
    let secret = fs::read_to_string(case.path("token")).unwrap();
    case.ok("plan").says(&["No changes"]);
    let before = case.cloud().last();
    let blocked = |what: &str| {
        let plan = case.fails(4, "plan");
        plan.says(&["secret_lost", "vars.token is lost", "vars.token < FILE", "rotate vars.token"]);
        assert!(!plan.stdout.contains("REPLACE"), "{what}: {}", plan.stdout);
        case.fails(4, "apply --yes");
    };
    fs::remove_file(case.path("token")).unwrap();
    blocked("its file is gone");
    case.write("token", "of another environment\n");
    blocked("its file holds another value");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    // The ways out: the same value, and a new one.
    given(&case, "another\n", 1, "secret set vars.token").says(&["its fingerprint differs"]);
    given(&case, &secret, 1, "secret set vars.token").says(&["--overwrite-secret vars.token"]);
    given(&case, &secret, 0, "secret set vars.token --overwrite-secret vars.token");
    case.ok("plan").says(&["No changes"]);
    fs::remove_file(case.path("token")).unwrap();
    case.fails(64, "secret rotate vars.token").says(&["Pass `--yes`"]);
    case.ok("secret rotate vars.token --yes");
    assert_ne!(fs::read_to_string(case.path("token")).unwrap(), secret);
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn a_kept_secret_survives_a_lost_runner() {
    let keys = Keys::new(&["ada", "bob"], &format!("{VM}{SINK}"));
    let case = &keys.0;
    case.ok("plan").says(&["kept in the ledger", "pins recipients", keys.1[0].as_str().min(&keys.1[1])]);
    case.ok("apply --yes");
    let secret = fs::read_to_string(case.path("token")).unwrap().trim().to_owned();
    assert!(!case.ok("state pull").stdout.contains(&secret));
    // Another machine: nothing but the ledger and the stack.
    fs::remove_file(case.path("token")).unwrap();
    let _ = fs::remove_dir_all(case.path(".local"));
    case.ok("plan").says(&["No changes"]);
    keys.ok("plan").says(&["No changes"]);
    keys.ok("apply --yes").says(&["No changes"]);
    for (identity, value) in [("ada", 0), ("bob", 0), ("./token", 1)] {
        let run = keys.with(identity, value, "secret get vars.token --show");
        assert_eq!(run.stdout.trim() == secret, value == 0, "{identity}");
    }
    // What needs the text is not begun without an identity.
    case.edit(
        "stead.yaml",
        "vm: {",
        "vm: { more: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.net, user_data: $vars.token },",
    );
    let before = case.cloud().last();
    case.fails(4, "plan").says(&["vm.more needs the text of a kept secret", "STEAD_AGE_IDENTITY"]);
    case.fails(4, "apply --yes");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    keys.ok("apply --yes");
    keys.ok("plan").says(&["No changes"]);
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn a_pull_request_cannot_add_a_recipient() {
    let keys = Keys::new(&["ada", "bob"], &format!("{VM}{SINK}"));
    let case = &keys.0;
    keys.ok("apply --yes");
    let eve = case.ok("secret keygen --out eve").stdout.trim().to_owned();
    let (ada, bob) = (keys.1[0].clone(), keys.1[1].clone());
    let before = (case.cloud().last(), keys.ledger()["secrets"].clone());
    keys.name(&[&ada, &bob, &eve]);
    for command in ["plan", "apply --yes"] {
        keys.with("ada", 4, command).says(&[
            "not those that the ledger has pinned",
            &eve,
            "stead secret rekey",
        ]);
    }
    // Neither who is not pinned nor a run that nobody confirms changes it.
    keys.with("eve", 1, "secret rekey --yes").says(&["not one of the pinned recipients"]);
    keys.with("ada", 64, "secret rekey");
    case.fails(1, "secret rekey --yes").says(&["STEAD_AGE_IDENTITY"]);
    keys.name(&[&eve]);
    keys.with("eve", 4, "apply --yes");
    assert_eq!(case.cloud().mutations_since(before.0), Vec::<String>::new());
    assert!(keys.ledger()["secrets"] == before.1, "nothing is encrypted to others");
    // The settings limit it, whoever reviews the plan.
    case.write(
        ".config/stead/settings.toml",
        format!("[profiles.default]\nallowed_recipients = ['{ada}', '{bob}']\n"),
    );
    keys.name(&[&ada, &bob, &eve]);
    keys.with("ada", 4, "secret rekey --yes").says(&["allowed_recipients"]);
    keys.with("ada", 4, "plan").says(&["is not one of the settings' `allowed_recipients`"]);
    // What is no native recipient never gets as far.
    for (name, says) in [
        ("age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t", "age plugin"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN", "SSH key"),
        ("age1zzzz", "not an age recipient"),
    ] {
        keys.name(&[&ada, name]);
        keys.with("ada", 1, "validate").says(&[says]);
    }
    let identity = fs::read_to_string(case.path("ada")).unwrap();
    let key = identity.lines().last().unwrap();
    keys.name(&[key]);
    let run = keys.with("ada", 1, "validate");
    run.says(&["private key"]);
    assert!(!run.all().contains(key), "{}", run.all());
}

#[test]
fn a_ciphertext_copied_from_another_secret_is_rejected() {
    let stack = format!(
        "{VM}{}",
        "vars: { token: { type: secret, generate: 32 }, other: { type: secret, generate: 32 } }\noutputs: { o: $vars.other }\n"
    );
    let keys = Keys::new(&["ada", "bob"], &stack);
    keys.ok("apply --yes");
    let good = keys.ledger();
    let secrets = |ledger: &Value| ledger["secrets"]["values"].clone();
    let restore = || keys.forge(|ledger| ledger["secrets"]["values"] = secrets(&good));
    // Of another address.
    keys.forge(|ledger| {
        let other = ledger["secrets"]["values"]["vars.other"]["ciphertext"].clone();
        ledger["secrets"]["values"]["vars.token"]["ciphertext"] = other;
    });
    keys.with("ada", 1, "secret get vars.token --show").says(&["created for another address"]);
    keys.with("ada", 1, "plan").says(&["vars.token is not used", "someone replaced it without stead"]);
    restore();
    // Of another version.
    keys.ok("secret rotate vars.token --yes");
    let newer = keys.ledger();
    keys.forge(|ledger| {
        let old = good["secrets"]["values"]["vars.token"]["ciphertext"].clone();
        ledger["secrets"]["values"]["vars.token"]["ciphertext"] = old;
    });
    keys.with("ada", 1, "secret get vars.token --show").says(&["created for another version"]);
    keys.forge(|ledger| ledger["secrets"]["values"] = secrets(&newer));
    // Of another environment or ledger.
    keys.forge(|ledger| {
        ledger["secrets"]["values"]["vars.token"]["fingerprint"] = json!("0123456789abcdef");
    });
    keys.with("ada", 1, "secret get vars.token --show").says(&["does not match its fingerprint"]);
    keys.forge(|ledger| ledger["secrets"]["values"] = secrets(&newer));
    let shown = keys.ok("secret get vars.token --show");
    shown.says(&["not authenticated", "STEAD_LEDGER_KEY"]);
}

#[test]
fn rekey_encrypts_to_new_recipients_and_lists_what_old_ones_could_read() {
    let keys = Keys::new(&["ada", "bob"], &format!("{VM}{SINK}"));
    let case = &keys.0;
    keys.ok("apply --yes");
    let secret = fs::read_to_string(case.path("token")).unwrap().trim().to_owned();
    let eve = case.ok("secret keygen --out eve").stdout.trim().to_owned();
    let (ada, bob) = (keys.1[0].clone(), keys.1[1].clone());
    keys.name(&[&ada, &eve]);
    let run = keys.ok("secret rekey --yes");
    run.says(&[
        &format!("adds {eve}"),
        &format!("removes {bob}"),
        "1 kept secrets",
        "stead secret rotate vars.token",
    ]);
    keys.ok("secret rekey --yes").says(&["already"]);
    keys.ok("plan").says(&["No changes"]);
    assert_eq!(keys.with("eve", 0, "secret get vars.token --show").stdout.trim(), secret);
    keys.with("bob", 1, "secret get vars.token --show").says(&["none of the identities can decrypt it"]);
    keys.ok("secret get").says(&["vars.token", "version 1", &bob]);
    keys.ok("secret rotate vars.token --yes").says(&["The rotation of vars.token is done"]);
    let document = keys.ok("secret get vars.token --output json").json();
    let row = &document["secrets"][0];
    assert_eq!((&row["version"], &row["former"], &row["rotating"]), (&json!(2), &json!([]), &json!(false)));
    let now = fs::read_to_string(case.path("token")).unwrap();
    assert_ne!(now.trim(), secret);
    assert_eq!(keys.ok("secret get vars.token --show").stdout, now);
    keys.ok("plan").says(&["No changes"]);
}

#[test]
fn a_one_time_secret_is_kept_with_its_object() {
    let stack = "stead: 1\nstack: shop\napi_key: { ci: { role: admin } }\n";
    let keys = Keys::new(&["ada", "bob"], stack);
    let case = &keys.0;
    case.ok("apply --yes");
    let first = keys.ok("secret get api_key.ci --show").stdout;
    assert!(first.len() > 10, "{first}");
    assert!(!case.ok("state pull").stdout.contains(first.trim()));
    case.ok("plan").says(&["No changes"]);
    case.edit("stead.yaml", "role: admin", "role: admin, deliver_secret: { file: ./key }");
    keys.ok("plan").says(&["No changes"]);
    keys.ok("secret rotate api_key.ci --yes");
    let second = keys.ok("secret get api_key.ci --show").stdout;
    assert_ne!(first, second);
    assert_eq!(fs::read_to_string(case.path("key")).unwrap(), second);
    keys.ok("plan").says(&["No changes"]);
    keys.ok("secret get api_key.ci --to copy");
    assert_eq!(fs::metadata(case.path("copy")).unwrap().permissions().mode() & 0o777, 0o600);
    keys.with("ada", 1, "secret get api_key.ci --to copy").says(&["exists already"]);
    case.fails(1, "secret keygen --out ada").says(&["exists already"]);
}

#[test]
fn a_failing_sink_loses_no_secret_that_the_ledger_keeps() {
    let stack =
        "stead: 1\nstack: shop\napi_key: { ci: { role: admin, deliver_secret: { sink: vault } } }\n";
    let keys = Keys::new(&["ada", "bob"], stack);
    let case = &keys.0;
    let sink = |program: &str| {
        let text = format!("[profiles.default.sinks]\nvault = {program}\n");
        case.write(".config/stead/settings.toml", text);
    };
    sink("['/bin/false']");
    case.fails(1, "apply --yes").says(&["could not be delivered", "kept in the ledger, encrypted"]);
    let made = case.cloud().list("/api/v1/api-keys").len();
    let rescued = fs::read_dir(case.path(".local/state/stead/rescue"));
    assert_eq!(rescued.map_or(0, Iterator::count), 0, "no copy in plain text");
    sink(&format!("['/bin/sh', '-c', 'cat > {}']", case.path("taken").display()));
    case.fails(4, "apply --yes").says(&["api_key.ci needs the text of a kept secret"]);
    keys.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/api-keys").len(), made);
    assert_eq!(
        fs::read_to_string(case.path("taken")).unwrap().trim_end(),
        keys.ok("secret get api_key.ci --show").stdout.trim_end()
    );
    keys.ok("plan").says(&["No changes"]);
}

#[test]
fn an_identity_is_accepted_only_from_the_user() {
    let keys = Keys::new(&["ada", "bob"], &format!("{VM}{SINK}"));
    let case = &keys.0;
    keys.ok("apply --yes");
    assert_eq!(fs::metadata(case.path("ada")).unwrap().permissions().mode() & 0o777, 0o600);
    let identity = fs::read_to_string(case.path("ada")).unwrap();
    let key = identity.lines().last().unwrap().to_owned();
    let shown = keys.with(&key, 0, "secret get vars.token --show").stdout;
    let settings =
        |text: &str| case.write(".config/stead/settings.toml", format!("[profiles.default]\n{text}\n"));
    settings(&format!("age_identity = '{}'", case.path("ada").display()));
    assert_eq!(case.ok("secret get vars.token --show").stdout, shown);
    settings(&format!("age_identity_command = ['/bin/cat', '{}']", case.path("ada").display()));
    assert_eq!(case.ok("secret get vars.token --show").stdout, shown);
    settings(&format!("age_identity = '{key}'"));
    let refused = case.fails(64, "secret get vars.token --show");
    assert!(!refused.all().contains(&key), "{}", refused.all());
    settings("");
    fs::set_permissions(case.path("ada"), fs::Permissions::from_mode(0o644)).unwrap();
    keys.with("ada", 1, "secret get vars.token --show").says(&["other users can read", "chmod 600"]);
    let broken = keys.with("AGE-SECRET-KEY-1CANARY", 1, "secret get vars.token --show");
    assert!(!broken.all().contains("CANARY"), "{}", broken.all());
}

#[test]
fn a_saved_plan_with_a_kept_secret_sends_nothing_without_an_identity() {
    let keys =
        Keys::new(&["ada", "bob"], &format!("{VM}vars: {{ token: {{ type: secret, generate: 32 }} }}\n"));
    let case = &keys.0;
    keys.ok("apply --yes");
    let more =
        "vm: { more: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.net, user_data: $vars.token },";
    case.edit("stead.yaml", "vm: {", more);
    keys.ok("plan -o saved.plan");
    let before = case.cloud().last();
    case.fails(4, "apply saved.plan")
        .says(&["vm.more needs the text of a kept secret", "STEAD_AGE_IDENTITY"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    keys.ok("apply saved.plan");
}

/// Returns a stack derived from a number: each bit decides which kinds send which generated secrets, in which way, and
/// which of them have sinks.
fn generated_stack(number: usize) -> String {
    let bit = |n: usize| number >> n & 1 == 1;
    let sink = |name: &str, written: bool| {
        if written { format!(", deliver_secret: {{ file: ./{name} }}") } else { String::new() }
    };
    let mut text = format!(
        "stead: 1\nstack: s{number}\nproject: {{ home: {{}} }}\nvpc: {{ net: {{ cidr: 10.9.0.0/16 }} }}\n\
         vars:\n  token: {{ type: secret, generate: {}{} }}\n  other: {{ type: secret, generate: 40{} }}\n",
        24 + number % 9,
        sink("token", bit(0)),
        sink("other", bit(1)),
    );
    let (token, other) = if bit(2) {
        ("$vars.token", "\"${vars.other.upperAscii()}\"")
    } else {
        ("\"k-${vars.token}\"", "\"${vars.token + vars.other}\"")
    };
    text.extend([format!(
        "vm: {{ web: {{ template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.net, user_data: {token} }} }}\n"
    )]);
    if bit(3) {
        text.extend([format!(
            "app: {{ web: {{ type: web, repo: acme/shop, branch: main, port: 8080, env_vars: {{ A: {token}, B: {other} }} }} }}\n"
        )]);
    }
    if bit(4) {
        text += "api_key: { ci: { role: admin, deliver_secret: { file: ./ci } } }\n";
    }
    if bit(5) {
        text += "database: { main: { engine: postgres, plan: pg-2c-4g, users: { app: { deliver_secret: { file: ./user } } } } }\n";
    }
    if bit(6) {
        text.extend([format!("outputs: {{ o: {{ value: {other}, sensitive: true }} }}\n")]);
    }
    text
}

#[test]
fn a_lost_runner_replaces_nothing_in_generated_stacks() {
    let count: usize = std::env::var("STEAD_STACKS").map_or(6, |count| count.parse().unwrap());
    for number in 0..count {
        // Bits that differ often come first; a few stacks have all of them, too.
        let number = number * 37 % 128;
        let stack = generated_stack(number);
        let keys = Keys::new(&["ada", "bob"], &stack);
        let case = &keys.0;
        keys.ok("apply --yes");
        let ledger = keys.ledger();
        // Another machine: the ledger and the stack are all that is left.
        for name in ["token", "other", "ci", "user"] {
            let _ = fs::remove_file(case.path(name));
        }
        let before = case.cloud().last();
        for run in [case.ok("plan"), keys.ok("plan"), keys.ok("apply --yes")] {
            run.says(&["No changes"]);
        }
        assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "{stack}");
        assert_eq!(keys.ledger()["entries"], ledger["entries"], "{stack}");
    }
}
