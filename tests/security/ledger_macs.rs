//! Ledgers with MACs against an attacker who has write access and no key.
#![allow(clippy::disallowed_methods, reason = "the attacker writes files")]

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::json;
use stead::ledger::journal::handle::Journal;
use stead::ledger::journal::record::Record;
use stead::ledger::state::entry::{Entry, LedgerIdentity, OwnedObject};
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::stores::file::store::FileStore;
use stead::ledger::stores::open_options::OpenOptions;
use stead::model::address::Address;
use stead::model::values::secret::FingerprintKey;
use stead::model::values::value::{Attributes, Value};
use uuid::Uuid;

use crate::case::{Case, Run};

const STACK: &str = "stead: 1\nstack: story\nvpc:\n  v: { cidr: 10.1.0.0/16 }\n";
const LEDGER: &str = ".stead/ledger";

/// The machine of every command that names no other.
const HOME: &str = "machine";

/// A case with a ledger key, and machines with different high-water marks.
struct Sealed(Case);

impl Sealed {
    fn new() -> Self {
        let case = Self(Case::new().file("stead.yaml", STACK).emulator());
        case.key("key", b'k');
        case
    }

    /// Returns a stack that is applied with the key, on this machine.
    fn applied() -> Self {
        let case = Self::new();
        case.ok("apply --yes");
        case
    }

    fn key(&self, name: &str, letter: u8) {
        use std::os::unix::fs::PermissionsExt;
        self.0.write(name, vec![letter; 48]);
        fs::set_permissions(self.0.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Runs a command on a machine, with a key file; without one if it is empty.
    fn on(&self, machine: &str, key: &str, args: &str) -> Run {
        self.with(
            &[("STEAD_STATE_DIR", self.0.path(machine).to_str().unwrap()), ("STEAD_LEDGER_KEY", key)],
            args,
        )
    }

    fn with(&self, variables: &[(&str, &str)], args: &str) -> Run {
        let mut command = self.0.command(args);
        command.env("STEAD_STATE_DIR", self.0.path(HOME)).env("STEAD_LEDGER_KEY", "key");
        Run::of(&command.envs(variables.iter().copied()).output().unwrap())
    }

    fn exits(&self, code: i32, args: &str) -> Run {
        expect(code, args, self.on(HOME, "key", args))
    }

    fn ok(&self, args: &str) -> Run {
        self.exits(0, args)
    }

    /// Checks that mutating commands are refused and send nothing.
    fn refused(&self, code: i32, machine: &str, words: &[&str]) {
        let before = self.0.cloud().last();
        for args in ["apply --yes", "destroy --yes --confirm story"] {
            expect(code, args, self.on(machine, "key", args)).says(words);
        }
        assert_eq!(self.0.cloud().mutations_since(before), Vec::<String>::new());
    }

    fn save(&self, name: &str) {
        copy(&self.0.path(LEDGER), &self.0.path(name));
    }

    fn restore(&self, name: &str) {
        fs::remove_dir_all(self.0.path(LEDGER)).unwrap();
        copy(&self.0.path(name), &self.0.path(LEDGER));
    }

    /// Returns the id of the only VPC.
    fn vpc(&self) -> String {
        self.0.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned()
    }

    /// Creates a VPC outside the stack; returns its id.
    fn stranger(&self) -> String {
        let project = self.0.cloud().list("/api/v1/vpcs")[0]["project_id"].as_str().unwrap().to_owned();
        let body = json!({ "name": "theirs", "cidr": "10.9.0.0/16" });
        let made = self.0.cloud().make("/api/v1/vpcs", &body, &project);
        made["data"]["id"].as_str().unwrap().to_owned()
    }

    fn edit(&self) {
        self.0.edit("stead.yaml", "vpc:\n", "vpc:\n  more: { cidr: 10.2.0.0/16 }\n");
    }
}

fn expect(code: i32, args: &str, run: Run) -> Run {
    assert_eq!(run.code, code, "{args}: {}{}", run.stdout, run.stderr);
    run
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let place = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &place);
        } else {
            fs::copy(&entry, &place).unwrap();
        }
    }
}

/// Writes a ledger without a MAC, with any lineage and any object.
fn forge(directory: &Path, lineage: u128, object: &str) {
    let (stack, environment) = ("story".into(), "default".into());
    let key = FingerprintKey([7; 32]);
    let identity =
        LedgerIdentity { lineage: Uuid::from_u128(lineage), stack, environment, account: None, key };
    let _ = fs::remove_dir_all(directory);
    let opening = OpenOptions::new(
        &identity,
        LeaseHolder {
            session: Uuid::nil(),
            who: "ada@loom".into(),
            process: None,
            since: Timestamp::UNIX_EPOCH,
        },
        std::time::Duration::ZERO,
    );
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let journal = Journal::open(FileStore::open(directory, &opening).unwrap()).await.unwrap();
        let cidr = (stead::model::address::Name::new("cidr"), Value::Text("10.9.0.0/16".into()));
        let owned = OwnedObject {
            id: object.into(),
            parent: None,
            project: None,
            created_at: None,
            provisional: false,
        };
        let entry = Entry {
            kind: "vpc".into(),
            current: Some(owned),
            deposed: Vec::new(),
            parent: None,
            applied: Attributes::from_iter([cidr]),
            depends_on: Vec::new(),
            protect: false,
            keep_on_remove: false,
            delete_on_remove: false,
            unfinished: false,
            secret_lost: false,
            secret_origin: None,
            final_snapshot: false,
            verified: None,
        };
        let address = Address::new("vpc", "v");
        journal.commit(&[Record::Adopted { address, entry: Box::new(entry) }]).await.unwrap();
        journal.close().await.unwrap();
    });
}

#[test]
fn a_ledger_without_macs_is_rejected_where_a_key_is_set() {
    let case = Sealed::applied();
    case.save("intact");
    let theirs = case.stranger();
    forge(&case.0.path(LEDGER), 99, &theirs);
    let remedy = ["has no MACs", "restore a copy", "state pull -o ledger-backup.json", "state seal"];
    for machine in [HOME, "fresh"] {
        case.refused(1, machine, &remedy);
        let before = case.0.cloud().last();
        for args in [
            "plan",
            "drift",
            "import --all",
            "recover --yes",
            "state verify",
            "state list",
            "history",
            "state repair --yes",
            "state migrate --to file:moved --yes",
            "resolve",
            "cost",
            "doctor",
        ] {
            let run = case.on(machine, "key", args);
            assert!(
                run.code != 0 && run.all().contains("has no MACs"),
                "{args}: {} {}",
                run.code,
                run.all()
            );
        }
        assert_eq!(case.0.cloud().mutations_since(before), Vec::<String>::new());
    }
    // The remedy: a copy first. On this machine it ends there, because the MACs were seen.
    case.ok("state pull -o ledger-backup.json").says(&["not authenticated: it has no MACs"]);
    case.exits(4, "state seal --yes")
        .says(&["it had them when this machine last saw it", "Restore a copy"]);
    case.exits(4, "state seal --previous-key key --yes");
    // A machine that has seen nothing asks first. The others notice what it took.
    let none = case.on("fresh", "key", "state seal");
    assert_eq!(none.code, 64, "{}", none.all());
    none.says(&["has no MACs", "vpc.v", &theirs, "state pull -o ledger-backup.json", "--yes"]);
    expect(0, "state seal", case.on("fresh", "key", "state seal --yes"));
    assert!(!case.on("fresh", "key", "plan").all().contains("MACs"));
    case.refused(5, HOME, &["another lineage"]);
    case.on(HOME, "key", "plan").says(&["warning: the ledger is not the one that this machine last saw"]);
    case.exits(1, "state verify").says(&["another lineage"]);
    // Back as it was.
    case.restore("intact");
    case.ok("apply --yes").says(&["No changes"]);
    case.ok("state verify");
    assert!(case.0.cloud().list("/api/v1/vpcs").iter().any(|vpc| vpc["id"] == theirs.as_str()));
}

#[test]
fn a_ledger_stripped_of_macs_is_rejected_and_a_push_restores_it() {
    let case = Sealed::applied();
    case.ok("state pull -o copy.json");
    let mine = case.vpc();
    let copy = fs::read_to_string(case.0.path("copy.json")).unwrap();
    let lineage = copy.split("\"lineage\":\"").nth(1).unwrap()[..36].to_owned();
    forge(&case.0.path(LEDGER), lineage.parse::<Uuid>().unwrap().as_u128(), &case.stranger());
    case.refused(1, HOME, &["has no MACs"]);
    case.exits(1, "state push copy.json --yes").says(&["has no MACs"]);
    // A copy without MACs restores nothing by itself.
    expect(0, "pull", case.on(HOME, "", "state pull -o bare.json"));
    fs::remove_dir_all(case.0.path(LEDGER)).unwrap();
    case.exits(1, "state push bare.json --yes").says(&["has no MAC", "--force"]);
    case.ok("state push copy.json --yes");
    case.ok("apply --yes").says(&["No changes"]);
    assert!(case.ok("state list").stdout.contains(&mine));
    case.ok("state verify").says(&["intact"]);
}

#[test]
fn a_rolled_back_ledger_is_detected_by_the_high_water_mark() {
    let case = Sealed::applied();
    case.save("older");
    case.edit();
    case.ok("apply --yes");
    case.save("newer");
    case.restore("older");
    case.refused(5, HOME, &["older than the last one that this machine saw", "--accept-older-ledger"]);
    case.on(HOME, "key", "plan").says(&["warning: the ledger is older"]);
    case.exits(1, "state verify").says(&["older than the last one"]);
    case.exits(5, "state migrate --to file:moved --yes").says(&["older than the last one"]);
    // Lines that are cut off make an older ledger, too.
    case.restore("newer");
    let folder = case.0.path(".stead/ledger/default");
    let (summary, after) = (newest(&folder, "ledger-"), newest(&folder, "journal-"));
    fs::remove_file(&summary).unwrap();
    fs::remove_file(&after).unwrap();
    let journal = newest(&folder, "journal-");
    let text = fs::read_to_string(&journal).unwrap();
    let kept: Vec<&str> = text.lines().collect();
    fs::write(&journal, kept[..kept.len() - 2].join("\n") + "\n").unwrap();
    case.refused(5, HOME, &["older than the last one"]);
    // A machine that saw nothing cannot notice it, and says so.
    let run = expect(0, "apply", case.on("fresh", "key", "apply --yes"));
    run.says(&["note: this machine never saw this ledger", "STEAD_REQUIRE_LEDGER=1"]);
    let again = expect(0, "apply", case.on("fresh", "key", "apply --yes"));
    assert!(!again.all().contains("note:"), "{}", again.all());
    // What goes on from the old copy is a fork to the first machine.
    case.refused(5, HOME, &["--accept-older-ledger"]);
    case.restore("newer");
    case.ok("apply --yes");
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn newest(folder: &Path, prefix: &str) -> PathBuf {
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = all.filter(|path| name(path).starts_with(prefix));
    named.max_by_key(|path| (name(path).len(), name(path))).unwrap()
}

#[test]
fn a_deleted_ledger_is_not_silently_recreated() {
    let case = Sealed::applied();
    case.ok("state pull -o copy.json");
    fs::remove_dir_all(case.0.path(LEDGER)).unwrap();
    case.refused(
        5,
        HOME,
        &[
            "the ledger that this machine last saw does not exist any more",
            "stead state push FILE",
            "stead recover",
        ],
    );
    assert!(!case.0.path(LEDGER).exists(), "nothing was begun");
    case.on(HOME, "key", "plan")
        .says(&["warning: the ledger that this machine last saw does not exist any more"]);
    // A machine that saw nothing is told that there must be one.
    let fresh = case.0.path("fresh").display().to_string();
    let required = [("STEAD_STATE_DIR", fresh.as_str()), ("STEAD_REQUIRE_LEDGER", "1")];
    let before = case.0.cloud().last();
    for args in ["plan", "apply --yes"] {
        let run = expect(4, args, case.with(&required, args));
        run.says(&["there is no ledger", "STEAD_REQUIRE_LEDGER", "state push FILE", "stead recover"]);
    }
    assert_eq!(case.0.cloud().mutations_since(before), Vec::<String>::new());
    assert!(!case.0.path(LEDGER).exists());
    expect(0, "push", case.with(&required, "state push copy.json --yes"));
    expect(0, "apply", case.with(&required, "apply --yes")).says(&["No changes"]);
    case.ok("apply --yes").says(&["No changes"]);
    // Rebuilt, it is another one, which this machine made.
    fs::remove_dir_all(case.0.path(LEDGER)).unwrap();
    expect(0, "recover", case.with(&[("STEAD_REQUIRE_LEDGER", "1")], "recover --yes"));
    expect(0, "apply", case.with(&[("STEAD_REQUIRE_LEDGER", "1")], "apply --yes")).says(&["No changes"]);
    // The other one is told.
    let other = expect(5, "apply", case.with(&required, "apply --yes"));
    other.says(&["another lineage", "--accept-older-ledger"]);
    expect(0, "apply", case.with(&required, "apply --yes --accept-older-ledger"));
    expect(0, "apply", case.with(&required, "apply --yes"));
}

#[test]
fn another_ledger_with_the_same_key_is_rejected() {
    let case = Sealed::applied();
    case.save("intact");
    case.0.write(
        "other/stead.yaml",
        STACK.replace("story", "other").replace("v:", "w:").replace("10.1", "10.3"),
    );
    case.ok("-C other apply --yes");
    fs::remove_dir_all(case.0.path(LEDGER)).unwrap();
    copy(&case.0.path("other/.stead/ledger"), &case.0.path(LEDGER));
    case.refused(1, HOME, &["the ledger belongs to other/default, not to story/default"]);
    // Of the same stack, from another place: it has another lineage.
    fs::remove_dir_all(case.0.path("other")).unwrap();
    case.0.write("other/stead.yaml", STACK.replace("v:", "x:").replace("10.1", "10.4"));
    expect(0, "apply", case.on("fresh", "key", "-C other apply --yes"));
    fs::remove_dir_all(case.0.path(LEDGER)).unwrap();
    copy(&case.0.path("other/.stead/ledger"), &case.0.path(LEDGER));
    case.refused(5, HOME, &["another lineage"]);
    // With another key.
    case.restore("intact");
    case.key("new", b'n');
    let run = expect(1, "apply", case.on(HOME, "new", "apply --yes"));
    run.says(&["have MACs of the key", "state seal --previous-key FILE"]);
    // Another environment's.
    let environments = "environments: { prod: {}, test: {} }\n";
    case.0.write("stead.yaml", STACK.replace("v:", "y:").replace("10.1", "10.6") + environments);
    fs::remove_dir_all(case.0.path(LEDGER)).unwrap();
    case.ok("-e test apply --yes");
    fs::rename(case.0.path(".stead/ledger/test"), case.0.path(".stead/ledger/prod")).unwrap();
    let run = case.exits(1, "-e prod apply --yes");
    run.says(&["the ledger belongs to story/test, not to story/prod"]);
}

#[test]
fn a_key_rotation_lets_other_machines_continue() {
    let case = Sealed::applied();
    expect(0, "apply", case.on("second", "key", "apply --yes"));
    case.key("new", b'n');
    case.key("wrong", b'w');
    let run = expect(1, "seal", case.on(HOME, "new", "state seal --yes"));
    run.says(&["--previous-key FILE"]);
    expect(1, "seal", case.on(HOME, "new", "state seal --yes --previous-key wrong"));
    expect(64, "seal", case.on(HOME, "new", "state seal --previous-key key"));
    case.save("before");
    expect(0, "seal", case.on(HOME, "new", "state seal --yes --previous-key key"));
    let again = expect(0, "seal", case.on(HOME, "new", "state seal --yes --previous-key key"));
    again.says(&["already"]);
    for machine in [HOME, "second"] {
        let run = expect(0, "apply", case.on(machine, "new", "apply --yes"));
        run.says(&["No changes"]);
        expect(0, "verify", case.on(machine, "new", "state verify"));
        expect(1, "apply", case.on(machine, "key", "apply --yes"));
    }
    expect(0, "history", case.on(HOME, "new", "history")).says(&["MACs of the key"]);
    // Who has the old key brings nothing back.
    case.restore("before");
    expect(1, "apply", case.on(HOME, "new", "apply --yes"));
    let run = expect(5, "seal", case.on(HOME, "new", "state seal --yes --previous-key key"));
    run.says(&["no longer have the MACs"]);
}

#[test]
fn pull_requests_have_no_key_and_the_apply_job_checks() {
    let case = Sealed::applied();
    case.edit();
    let plan = expect(0, "plan", case.on("runner", "", "plan"));
    plan.says(&["warning: ledger not authenticated: `STEAD_LEDGER_KEY` is not set"]);
    expect(0, "plan", case.on("runner", "", "plan --untrusted"));
    expect(1, "apply", case.on("runner", "", "apply --yes"));
    assert!(!case.ok("plan").all().contains("not authenticated"));
    let summary = newest(&case.0.path(".stead/ledger/default"), "ledger-");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, text.replacen("10.1.0.0", "10.7.0.0", 1)).unwrap();
    case.refused(1, HOME, &["is damaged"]);
}

#[test]
fn outputs_and_other_environments_are_read_with_the_key() {
    let case = Sealed::new();
    let network =
        "stead: 1\nstack: network\nvpc: { v: { cidr: 10.5.0.0/16 } }\noutputs: { net: $vpc.v.id }\n";
    case.0.write("network/stead.yaml", network);
    case.0.write(
        "stead.yaml",
        "stead: 1\nstack: story\nstacks: { network: { source: ./network } }\noutputs: { net: $stacks.network.net }\n",
    );
    expect(0, "apply", case.on(HOME, "", "-C network apply --yes"));
    case.exits(1, "plan").says(&["stacks.network", "has no MACs"]);
    case.ok("-C network state seal --yes");
    case.ok("plan");
    // An environment has MACs or not by itself, but does not lose them unseen.
    let environments = "environments: { prod: {}, test: {} }\n";
    case.0.write("stead.yaml", STACK.replace("v:", "w:") + environments);
    expect(0, "apply", case.on(HOME, "", "-e test apply --yes"));
    copy(&case.0.path(".stead/ledger/test"), &case.0.path("plain"));
    let ask = "-e prod import --all --observe";
    let run = case.on(HOME, "key", ask);
    run.says(&["warning: ledger of environment `test` not authenticated"]);
    case.ok("-e test state seal --yes");
    assert!(!case.on(HOME, "key", ask).all().contains("not authenticated"));
    fs::remove_dir_all(case.0.path(".stead/ledger/test")).unwrap();
    copy(&case.0.path("plain"), &case.0.path(".stead/ledger/test"));
    case.exits(1, ask).says(&["environment `test`", "has no MACs"]);
}

#[test]
fn a_ledger_is_migrated_with_its_high_water_mark() {
    let case = Sealed::applied();
    case.save("before");
    case.ok("state migrate --to file:moved --yes");
    let moved = "--backend file:moved";
    case.ok(&format!("apply --yes {moved}")).says(&["No changes"]);
    // What is put back at the old place is older than the move.
    case.restore("before");
    case.refused(5, HOME, &["older than the last one"]);
    fs::remove_dir_all(case.0.path("moved")).unwrap();
    let args = format!("apply --yes {moved}");
    case.exits(5, &args).says(&["does not exist any more"]);
}

/// The files were written by stead 0.1.0, first without a key, then with one.
#[test]
fn ledgers_with_macs_of_version_0_1_0_remain_usable() {
    let case = Sealed::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/security/ledger_of_0_1");
    let mark = "2dd0cbd3-aa5c-45ea-8c37-da77fff9a32f.json";
    copy(&golden.join("default"), &case.0.path(".stead/ledger/default"));
    fs::create_dir_all(case.0.path("machine/ledgers")).unwrap();
    fs::copy(golden.join(mark), case.0.path("machine/ledgers").join(mark)).unwrap();
    private(&case.0.path(".stead"));
    private(&case.0.path("machine"));
    case.0.write(
        "stead.yaml",
        "stead: 1\nstack: story\nproject: { home: { name: home, description: three } }\n",
    );
    case.ok("state verify").says(&["intact"]);
    case.ok("state list").says(&["project.home", "2cb5994c-10f2-4117-9203-f6f75cf35a45"]);
    case.ok("state seal").says(&["already"]);
    case.ok("history");
    // What was seen of it then still counts.
    for newest in ["ledger-20.json", "journal-20.log", "journal-14.log"] {
        fs::remove_file(case.0.path(".stead/ledger/default").join(newest)).unwrap();
    }
    case.refused(5, HOME, &["older than the last one"]);
    // Without the summaries in between, what was written before the MACs is not taken with the key.
    for newer in ["ledger-14.json", "journal-14.log", "journal-7.log"] {
        fs::remove_file(case.0.path(".stead/ledger/default").join(newer)).unwrap();
    }
    case.refused(1, HOME, &["has no MACs"]);
    expect(0, "list", case.on(HOME, "", "state list")).says(&["project.home"]);
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            private(&entry.unwrap().path());
        }
    }
}
