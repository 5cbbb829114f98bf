//! Ledgers with MACs: what an attacker with write access, but without the key, cannot do, and what the key allows.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::case::{Case, Run};

const SMALL: &str = "stead: 1\nstack: story\nproject: { home: { name: home, description: one } }\n";

/// A case with a ledger key, which each command gets unless the test gives it another one.
struct Sealed(Case);

impl Sealed {
    fn new() -> Self {
        let case = Case::new().file("stead.yaml", SMALL).file("key", "k".repeat(48)).emulator();
        mode(&case.path("key"), 0o600);
        Self(case)
    }

    fn with(&self, key: &str, code: i32, args: &str) -> Run {
        let mut command = self.0.command(args);
        let run = Run::of(&command.env("STEAD_LEDGER_KEY", key).output().unwrap());
        assert_eq!(run.code, code, "{args}: {}{}", run.stdout, run.stderr);
        run
    }

    fn ok(&self, args: &str) -> Run {
        self.with("key", 0, args)
    }

    fn exits(&self, code: i32, args: &str) -> Run {
        self.with("key", code, args)
    }

    fn newest(&self, prefix: &str) -> PathBuf {
        let all = fs::read_dir(self.0.path(".stead/ledger/default")).unwrap();
        let named = all.map(|entry| entry.unwrap().path());
        let named = named.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix));
        named.max_by_key(|path| (path.to_string_lossy().len(), path.clone())).unwrap()
    }
}

fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_ledger_with_macs_is_written_only_with_its_key() {
    let case = Sealed::new();
    case.ok("apply --yes").says(&["have MACs from now on"]);
    case.0.edit("stead.yaml", "description: one", "description: two");
    assert!(!case.ok("apply --yes").all().contains("from here on"));
    case.ok("state verify").says(&["intact"]);
    let before = case.0.cloud().last();
    // Without the key it is read, with a warning, and not written.
    case.0.fails(1, "apply --yes").says(&["their key is not given", "STEAD_LEDGER_KEY"]);
    assert_eq!(case.0.cloud().mutations_since(before), Vec::<String>::new());
    case.0.ok("plan").says(&["warning: ledger not authenticated: `STEAD_LEDGER_KEY` is not set"]);
    case.0.ok("state verify").says(&["intact", "not authenticated"]);
    let told = case.0.run("doctor").all();
    assert_eq!(told.matches("Ledger not authenticated").count(), 1, "{told}");
    assert!(told.contains("Set STEAD_LEDGER_KEY to the file of its key."), "{told}");
    assert!(!case.ok("doctor").all().contains("not authenticated"));
    // Another key is told apart from one that cannot be used.
    case.0.write("other", "o".repeat(48));
    mode(&case.0.path("other"), 0o600);
    case.with("other", 1, "plan").says(&["have MACs of the key", "and the given key is"]);
    case.with("none", 1, "plan").says(&["cannot read none"]);
    mode(&case.0.path("other"), 0o644);
    case.with("other", 1, "plan").says(&["other users can read", "chmod 600 other"]);
    case.0.write("short", "k".repeat(31));
    mode(&case.0.path("short"), 0o600);
    case.with("short", 1, "plan").says(&["it has 31 bytes", "openssl rand"]);
}

#[test]
fn a_change_made_without_the_key_is_detected_and_repaired() {
    let case = Sealed::new();
    case.ok("apply --yes");
    let summary = case.newest("ledger-");
    let text = fs::read_to_string(&summary).unwrap();
    let mac = text.rsplit("\"mac\":\"").next().unwrap()[..64].to_owned();
    fs::write(&summary, text.replace(&mac, &"0".repeat(64))).unwrap();
    for args in ["plan", "apply --yes", "state pull"] {
        case.exits(1, args).says(&["is damaged: its MAC does not match", "state repair"]);
    }
    case.exits(1, "state verify").says(&["its MAC does not match"]);
    case.ok("state repair --yes").says(&["Repaired"]);
    case.ok("plan").says(&["No changes"]);
    case.ok("state verify").says(&["intact"]);
}

#[test]
fn a_ledger_with_macs_is_pulled_pushed_and_migrated() {
    let case = Sealed::new();
    case.ok("apply --yes");
    case.ok("state pull -o copy.json");
    case.0.edit("stead.yaml", "description: one", "description: two");
    case.ok("apply --yes");
    case.ok("state push copy.json --force --yes").says(&["The copy is the ledger now"]);
    case.ok("state verify").says(&["intact"]);
    case.0.edit("copy.json", "\"one\"", "\"six\"");
    case.exits(1, "state push copy.json --force --yes").says(&["copy.json is damaged"]);
    case.0.ok("state pull -o unproven.json");
    case.exits(1, "state push unproven.json --force --yes").says(&["it has no MAC"]);
    case.ok("state migrate --to file:moved --yes");
    let mut command = case.0.command("state list --backend file:moved");
    let run = Run::of(&command.env("STEAD_LEDGER_KEY", "key").output().unwrap());
    assert!(run.code == 0 && !run.all().contains("warning"), "{}", run.all());
    let lines: String = fs::read_dir(case.0.path("moved/story/default"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    assert!(lines.contains("\"mac\":\""), "{lines}");
    // A lost one is rebuilt under the key.
    fs::remove_dir_all(case.0.path("moved")).unwrap();
    let mut command = case.0.command("recover --yes --backend file:moved");
    let run = Run::of(&command.env("STEAD_LEDGER_KEY", "key").output().unwrap());
    assert_eq!(run.code, 0, "{}", run.all());
}
