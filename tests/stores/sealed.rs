//! MACs of ledgers in real servers: added and changed by the real program, which is killed at each point.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use stead::ledger::integrity::export;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::replay::apply_record;
use stead::ledger::state::entry::{Entry, LedgerIdentity, OwnedObject};
use stead::ledger::state::ledger::Ledger;
use stead::model::address::Address;
use stead::model::values::secret::FingerprintKey;
use stead::model::values::value::Attributes;
use tempfile::TempDir;
use uuid::Uuid;

use crate::gate::Gate;
use crate::postgres::administer;
use crate::program;
use crate::server::Database;
use crate::state_server::StateServer;

/// Every fourth message of the program is one before which it is killed: a write and what follows it take more.
const EACH: u32 = 4;

/// A place, reached through a gate, and what the program needs to use it.
struct Place {
    backend: String,
    variables: Vec<(&'static str, String)>,
    gate: Arc<Gate>,
    /// A lock ends with its holder.
    ends_locks: bool,
    directory: TempDir,
}

impl Place {
    fn new(backend: String, gate: Arc<Gate>, ends_locks: bool) -> Self {
        let directory = TempDir::new().unwrap();
        for (name, letter) in [("one", b'1'), ("two", b'2')] {
            std::fs::write(directory.path().join(name), vec![letter; 48]).unwrap();
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(directory.path().join(name), mode).unwrap();
        }
        Self { backend, variables: Vec::new(), gate, ends_locks, directory }
    }

    fn command(&self, stack: &str, key: &str, args: &str) -> Command {
        let mut command = program::stead(self.directory.path());
        command.current_dir(self.directory.path().join(stack)).args(args.split(' '));
        command.env("STEAD_BACKEND", &self.backend);
        if !key.is_empty() {
            command.env("STEAD_LEDGER_KEY", self.directory.path().join(key));
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run(&self, stack: &str, key: &str, args: &str) -> (i32, String) {
        let output = self.command(stack, key, args).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code().unwrap(), text.concat())
    }

    fn ok(&self, stack: &str, key: &str, args: &str) -> String {
        let (code, text) = self.run(stack, key, args);
        assert_eq!(code, 0, "{args} of {stack}: {text}");
        text
    }

    /// Runs a command that is killed before a message; tells whether it was.
    fn killed(&self, at: u32, stack: &str, key: &str, args: &str) -> bool {
        self.gate.kill(self.command(stack, key, args), at)
    }

    /// Begins a ledger without MACs that owns something.
    fn begin(&self, stack: &str) {
        let directory = self.directory.path().join(stack);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("stead.yaml"), format!("stead: 1\nstack: {stack}\n")).unwrap();
        std::fs::write(directory.join("copy.json"), copy(stack)).unwrap();
        self.ok(stack, "", "state push copy.json --yes");
    }

    /// What a killed run left is one of two, and a second run finishes.
    fn is_finished(&self, stack: &str, before: &str, args: &str, to: &str) {
        let (was, _) = self.run(stack, before, "state list");
        let (is, text) = self.run(stack, to, "state verify");
        assert!(is == 0 || text.contains("has no MACs") || text.contains("have MACs of the key"), "{text}");
        assert!(was == 0 || is == 0, "{stack}: neither as before nor as afterwards");
        if !self.ends_locks {
            let (code, text) =
                self.run(stack, if is == 0 { to } else { before }, "lock break --reason x --yes");
            assert_eq!(code, 0, "{text}");
        }
        self.ok(stack, to, args);
        assert!(self.ok(stack, to, "state verify").contains("intact"));
        assert!(self.ok(stack, to, "state list").contains("vpc.v"));
    }

    /// The story of a place.
    fn tell(&self) {
        self.begin("refused");
        for args in ["state list", "state verify", "history"] {
            let (code, text) = self.run("refused", "one", args);
            assert!(code == 1 && text.contains("has no MACs"), "{args}: {text}");
        }
        let (code, text) = self.run("refused", "one", "state seal");
        assert!(code == 64 && text.contains("vpc.v"), "{text}");
        self.ok("refused", "one", "state pull -o backup.json");
        let mut deaths = 0;
        for at in (0..).step_by(usize::try_from(EACH).unwrap()) {
            let stack = format!("added{at}");
            self.begin(&stack);
            let died = self.killed(at, &stack, "one", "state seal --yes");
            self.is_finished(&stack, "", "state seal --yes", "one");
            if !died {
                break;
            }
            deaths += 1;
        }
        let change =
            format!("state seal --yes --previous-key {}", self.directory.path().join("one").display());
        for at in (1..).step_by(usize::try_from(EACH).unwrap()) {
            let stack = format!("changed{at}");
            self.begin(&stack);
            self.ok(&stack, "one", "state seal --yes");
            let died = self.killed(at, &stack, "two", &change);
            self.is_finished(&stack, "one", &change, "two");
            assert_eq!(self.run(&stack, "one", "state list").0, 1, "the old key is worth nothing");
            if !died {
                break;
            }
            deaths += 1;
        }
        assert!(deaths > 5, "only {deaths} deaths");
        println!("{deaths} deaths at {}: each as before or as afterwards", self.backend);
    }
}

/// A copy of a ledger that owns one object.
fn copy(stack: &str) -> Vec<u8> {
    let (stack, environment) = (stack.into(), "default".into());
    let key = FingerprintKey([7; 32]);
    let lineage = Uuid::new_v4();
    let mut ledger = Ledger::new(LedgerIdentity { lineage, stack, environment, account: None, key });
    let owned =
        OwnedObject { id: "x".into(), parent: None, project: None, created_at: None, provisional: false };
    let entry = Box::new(Entry {
        kind: "vpc".into(),
        current: Some(owned),
        deposed: Vec::new(),
        parent: None,
        applied: Attributes::new(),
        depends_on: Vec::new(),
        protect: false,
        keep_on_remove: false,
        delete_on_remove: false,
        unfinished: false,
        secret_lost: false,
        secret_origin: None,
        final_snapshot: false,
        verified: None,
    });
    apply_record(&mut ledger, &Record::Adopted { address: Address::new("vpc", "v"), entry }).unwrap();
    export::write_document(&ledger, None).unwrap()
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn macs_in_postgresql_survive_kills_and_detect_tampering() {
    let server = Database::shared();
    let direct = server.database("sealed");
    let (host, database) = direct.split_once('@').unwrap().1.split_once('/').unwrap();
    let (gate, port) = Gate::before(host);
    let place = Place::new(format!("postgres://postgres@127.0.0.1:{port}/{database}"), gate, true);
    place.tell();
    // Whoever can write the tables, and has not the key.
    let mac = "\",\"mac\":\"[0-9a-f]{64}\"";
    for (stack, with, why) in [
        ("added0", "\"", "it has no MAC"),
        ("changed1", &format!("\",\"mac\":\"{}\"", "0".repeat(64)), "its MAC does not match"),
    ] {
        let key = if stack == "added0" { "one" } else { "two" };
        let newest = format!("(select max(number) from stead_summaries where ledger = '{stack}/default')");
        let sql = format!(
            "update stead_summaries set summary = convert_to(regexp_replace(convert_from(summary, 'UTF8'), \
             '{mac}', '{with}'), 'UTF8') where ledger = '{stack}/default' and number = {newest}"
        );
        administer(&direct, &sql).await;
        let (code, text) = place.run(stack, key, "state verify");
        assert!(code == 1 && text.contains(why), "{stack}: {text}");
    }
}

#[cfg(feature = "s3")]
#[test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
fn macs_in_s3_survive_kills_and_detect_tampering() {
    crate::moto::bucket("sealed");
    let (gate, port) = Gate::before(crate::moto::address().trim_start_matches("http://"));
    let mut place = Place::new("s3://sealed/here".to_owned(), gate, true);
    place.variables = program::s3_variables(&format!("http://127.0.0.1:{port}")).into();
    place.tell();
}

/// A lock there has no end: a human breaks it before the second run.
#[test]
fn macs_at_a_state_server_survive_kills_and_detect_tampering() {
    let server = StateServer::new();
    let (gate, port) = Gate::before(server.address.trim_start_matches("http://"));
    let backend = format!("http://127.0.0.1:{port}/{{stack}}-{{environment}}");
    Place::new(backend, gate, false).tell();
}

/// Without a server: what is killed is in `ledger::seal`.
#[test]
fn macs_are_added_to_a_ledger_in_a_directory() {
    let place = Place::new("file:ledgers".to_owned(), Arc::new(Gate::default()), true);
    place.begin("added");
    assert_eq!(place.run("added", "one", "state list").0, 1);
    place.ok("added", "one", "state seal --yes");
    place.ok("added", "one", "state verify");
    assert!(Path::new(&place.directory.path().join("added/ledgers/added/default")).is_dir());
}
