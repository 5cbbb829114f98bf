//! `login`, `logout`, `whoami` and profiles; the user's home directory is in the case.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::case::{Case, Run};

const STACK: &str = "stead: 1\nstack: shop\nenvironments: { prod: { default: true } }\n";

/// Returns a command without API keys in its environment.
fn keyless(case: &Case, args: &str) -> Command {
    let mut command = case.command(args);
    command.env_remove("STEAD_API_KEY").env_remove("STEAD_READONLY_API_KEY");
    command
}

fn run(mut command: Command) -> Run {
    Run::of(&command.output().unwrap())
}

fn login(case: &Case, args: &str, key: &str) -> Run {
    let mut command = keyless(case, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that is refused at once does not read.
    let _ = child.stdin.take().unwrap().write_all(key.as_bytes());
    Run::of(&child.wait_with_output().unwrap())
}

#[test]
fn a_key_is_verified_stored_used_and_removed() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let key = case.cloud().key.clone();
    let refused = run(keyless(&case, "plan"));
    assert_eq!(refused.code, 7);
    refused.says(&["no API key", "stead login"]);
    let nobody = run(keyless(&case, "login"));
    assert_eq!(nobody.code, 64);
    nobody.says(&["--key-stdin"]);
    for (bad, code) in [("wrong-key\n", 7), ("", 64), ("two words", 64)] {
        assert_eq!(login(&case, "login --key-stdin", bad).code, code, "{bad:?}");
    }
    assert!(!case.path(".config/stead").exists(), "nothing is stored of what is refused");
    let stored = login(&case, "login --key-stdin", &format!("{key}\n"));
    assert_eq!(stored.code, 0, "{}", stored.all());
    assert!(!stored.all().contains(&key));
    assert_eq!(run(keyless(&case, "plan")).code, 0);
    let whoami = run(keyless(&case, "whoami"));
    assert_eq!(whoami.code, 0, "{}", whoami.all());
    whoami.says(&[
        "service",
        "default project",
        "project roles   the account role, in all projects",
        "30 requests/s",
    ]);
    for said in ["first key of the account", "Owner"] {
        assert!(whoami.all().contains(said), "{}", whoami.all());
    }
    let told = run(keyless(&case, "whoami --output json"));
    assert!(told.json()["default_project"].is_string() && !told.all().contains(&key));
    assert!(!whoami.all().contains(&key));
    let file = case.path(".config/stead/credentials.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    run(keyless(&case, "plan")).says(&["other users can read", "chmod 600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    run(keyless(&case, "logout")).says(&["is deleted here"]);
    assert_eq!(run(keyless(&case, "plan")).code, 7);
}

#[test]
fn a_stored_key_is_sent_to_its_own_host_only() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    assert_eq!(login(&case, "login --key-stdin", &case.cloud().key).code, 0);
    let other = Case::new().emulator();
    let mut elsewhere = keyless(&case, "plan");
    elsewhere.env("STEAD_API_URL", &other.cloud().url);
    let elsewhere = run(elsewhere);
    assert_eq!(elsewhere.code, 7);
    elsewhere.says(&["no API key"]);
    assert_eq!(other.cloud().requests(), [], "nothing was sent there");
}

#[test]
fn key_files_are_private_under_any_umask() {
    for mask in ["000", "077"] {
        let case = Case::new().file("stead.yaml", STACK).emulator();
        let mut command = Command::new("sh");
        let plain = keyless(&case, "");
        command.current_dir(plain.get_current_dir().unwrap());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let stead = crate::case::STEAD;
        let script = format!(
            "umask {mask}; printf %s '{}' | {stead} login --key-stdin && {stead} apply --yes && {stead} plan -o p.plan",
            case.cloud().key
        );
        let output = command.arg("-c").arg(script).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mode = |name: &str| fs::metadata(case.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(".config/stead/credentials.json"), 0o600, "mask {mask}");
        assert_eq!(
            (mode(".config/stead"), mode(".stead"), mode(".stead/ledger/prod")),
            (0o700, 0o700, 0o700)
        );
        assert_eq!(mode("p.plan"), 0o600, "mask {mask}");
        for entry in fs::read_dir(case.path(".stead/ledger/prod")).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600,
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn a_profile_sets_the_service_and_the_key_command() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    fs::create_dir_all(case.path("mine")).unwrap();
    let (url, key) = (case.cloud().url.clone(), case.cloud().key.clone());
    case.write("key", &key);
    let file = case.path("key").display().to_string();
    case.write(
        "mine/settings.toml",
        format!("[profiles.work]\napi_url = \"{url}\"\nkey_command = [\"cat\", \"{file}\"]\n[profiles.odd]\napi_url = \"{url}\"\nkey_command = [\"sh\", \"-c\", \"env >&2; echo x y\"]\n"),
    );
    let profiled = |args: &str| {
        let mut command = keyless(&case, args);
        command.env_remove("STEAD_API_URL").env("STEAD_CONFIG_DIR", case.path("mine"));
        command.env("STEAD_VAR_SECRET", "canary-variable");
        command
    };
    assert_eq!(run(profiled("plan -p work")).code, 0);
    let odd = run(profiled("plan -p odd"));
    assert_eq!(odd.code, 7);
    odd.says(&["PATH=", "no key"]);
    assert!(!odd.all().contains("canary-variable") && !odd.all().contains("STEAD_"), "{}", odd.all());
    assert_eq!(run(profiled("plan")).code, 64, "no profile holds by itself");
    let slip = run(profiled("plan -p wrok"));
    assert_eq!(slip.code, 64);
    slip.says(&["did you mean `work`"]);
    fs::set_permissions(case.path("mine/settings.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    let open = run(profiled("plan -p work"));
    assert_eq!(open.code, 64);
    open.says(&["other users can write it", "chmod go-w"]);
}

/// A stack's files name no host, no backend's address, no program and no key.
#[test]
fn the_files_of_a_stack_cannot_set_a_host_or_a_program() {
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = trap.local_addr().unwrap();
    trap.set_nonblocking(true).unwrap();
    let settings =
        format!("[profiles.default]\napi_url = \"http://{address}\"\nkey_command = [\"touch\", \"ran\"]\n");
    for hostile in [
        format!("api_url: http://{address}\n"),
        format!("cloud: http://{address}\n"),
        format!("proxy: http://{address}\n"),
        format!("backend: {{ url: http://{address} }}\n"),
        format!("backend: postgres://{address}/x\n"),
        "key_command: [touch, ran]\n".to_owned(),
        "api_key: hello\n".to_owned(),
        format!("profiles: {{ default: {{ api_url: http://{address} }} }}\n"),
        String::new(),
    ] {
        let case = Case::new()
            .file("stead.yaml", format!("{STACK}{hostile}"))
            .file("settings.toml", &settings)
            .file("credentials.json", "{}")
            .file(".env", format!("STEAD_API_URL=http://{address}\n"))
            .file("stead.toml", &settings);
        let mut command = case.command("plan");
        // A relative directory would be the stack's.
        command.env("STEAD_API_KEY", "canary").env("STEAD_CONFIG_DIR", ".");
        let run = run(command);
        assert_ne!(run.code, 0, "{hostile}");
        assert!(!case.path("ran").exists(), "{hostile}");
    }
    assert!(trap.accept().is_err(), "nobody came");
}

/// Installs a fake `secret-tool` that stores its input and logs its calls; returns the `PATH` with it.
fn keyring(case: &Case) -> String {
    let script = "#!/bin/sh\necho \"$*\" >> $HOME/calls\ncase $1 in\nstore) cat > $HOME/kept ;;\nlookup) \
                  cat $HOME/kept ;;\nclear) rm $HOME/kept ;;\nesac\n";
    case.write("bin/secret-tool", script);
    fs::set_permissions(case.path("bin/secret-tool"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", case.path("bin").display())
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_in_the_keychain_is_in_no_file_and_no_argument() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let (key, path) = (case.cloud().key.clone(), keyring(&case));
    let with = |path: &str, args: &str, input: &str| {
        let mut command = keyless(&case, args);
        command.env("PATH", path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Run::of(&child.wait_with_output().unwrap())
    };
    let none = with("/nonexistent", "login --keychain --key-stdin", &key);
    assert_eq!(none.code, 1, "{}", none.all());
    none.says(&["the system's keychain cannot be used: secret-tool", "libsecret-tools"]);
    none.says(&["stead login without --keychain keeps the key in a file", "Nothing was stored"]);
    assert!(!case.path(".config/stead/credentials.json").exists(), "never by itself in the file");
    let stored = with(&path, "login --keychain --key-stdin", &key);
    assert_eq!(stored.code, 0, "{}", stored.all());
    stored.says(&["is in the system's keychain, as `stead: http://127.0.0.1"]);
    with(&path, "whoami", "").says(&["comes from", "the system's keychain"]);
    assert_eq!(with(&path, "whoami --output json", "").json()["key_from"], "keychain");
    assert_eq!(with(&path, "plan", "").code, 0);
    let untrusted = with(&path, "plan --untrusted", "");
    assert_eq!(untrusted.code, 7);
    untrusted.says(&["--untrusted needs STEAD_READONLY_API_KEY", "runs no program"]);
    for file in ["calls", ".config/stead/credentials.json"] {
        let text = fs::read_to_string(case.path(file)).unwrap();
        assert!(!text.contains(&key) && text.contains("http://127.0.0.1"), "{file}: {text}");
    }
    let locked = with("/nonexistent", "plan", "");
    assert_eq!(locked.code, 7, "{}", locked.all());
    locked.says(&["the system's keychain cannot be used", "unlock it, or log in again"]);
    let out = with(&path, "logout", "");
    assert!(out.code == 0 && !case.path("kept").exists(), "{}", out.all());
    with(&path, "whoami", "").says(&["there is no API key"]);
    // One that moves into the file leaves the keychain.
    assert_eq!(with(&path, "login --keychain --key-stdin", &key).code, 0);
    assert_eq!(with(&path, "login --key-stdin", &key).code, 0);
    assert!(!case.path("kept").exists());
    with("/nonexistent", "whoami", "").says(&["comes from", "the file of stored keys"]);
    // What cannot be taken out is told.
    assert_eq!(with(&path, "login --keychain --key-stdin", &key).code, 0);
    let out = with("/nonexistent", "logout", "");
    assert_eq!(out.code, 1);
    out.says(&["may still be in the system's keychain", "Remove `stead: http://127.0.0.1"]);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs gnome-keyring, secret-tool and dbus-run-session; .ci/run brings what it needs and runs it"]
fn a_real_keyring_keeps_the_key() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let stead = keyless(&case, "").get_program().to_string_lossy().into_owned();
    let script = format!(
        "set -e
         printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null
         printf '%s' \"$KEY\" | {stead} login --keychain --key-stdin
         {stead} whoami
         secret-tool search --all application stead 2>&1 | grep -v ^secret
         {stead} plan >/dev/null
         {stead} logout
         {stead} whoami || echo ended with $?
         secret-tool search --all application stead 2>&1"
    );
    let mut command = Command::new("dbus-run-session");
    command.args(["--", "sh", "-c", &script]).current_dir(case.path("."));
    for (name, value) in keyless(&case, "").get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    fs::create_dir(case.path("run")).unwrap();
    fs::set_permissions(case.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
    command.env("KEY", &case.cloud().key).env("XDG_RUNTIME_DIR", case.path("run"));
    let run = Run::of(&command.output().unwrap());
    run.says(&["is in the system's keychain", "comes from", "the system's keychain"]);
    run.says(&["label = stead: http://127.0.0.1", "attribute.profile = default"]);
    run.says(&["is deleted here", "ended with 7"]);
    assert_eq!(run.stdout.matches("attribute.origin").count(), 1, "{}", run.all());
    assert!(!run.all().contains(&case.cloud().key), "{}", run.all());
}
