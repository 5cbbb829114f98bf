//! Shared ledgers on real servers: runners that start and end, one that is killed, one that is suspended, and the
//! migration from a directory.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::case::{Case, Run};
use crate::{moto, server};

const STACK: &str = "\
stead: 1
stack: story
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }
";

/// A stack whose ledger is on a shared server.
struct Shared {
    case: Case,
    place: String,
}

impl Shared {
    fn new(place: &str, speed: &str) -> Self {
        let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--speed", speed]);
        Self { case, place: place.to_owned() }
    }

    fn command(&self, args: &str) -> Command {
        let needs_moto = self.place.starts_with("s3:") || args.contains("s3:");
        let mut command = self.case.command(args);
        command
            .env("STEAD_BACKEND", &self.place)
            .env("AWS_ENDPOINT_URL", if needs_moto { moto::address() } else { "" })
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-east-1");
        command
    }

    fn exits(&self, code: i32, args: &str) -> Run {
        let run = Run::of(&self.command(args).output().unwrap());
        assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    /// Starts an apply and waits until it has requested the VM.
    fn applying(&self) -> Child {
        let mut child =
            self.command("apply --yes").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let asked = |requests: Vec<String>| requests.iter().any(|line| line == "POST /api/v1/vms");
        while !asked(self.case.cloud().mutations_since(0)) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it asked for anything");
            std::thread::yield_now();
        }
        child
    }

    /// Runners share only the ledger; a killed one does not block the others.
    fn runners_come_and_go(&self) {
        self.exits(0, "lock status").says(&["is free"]);
        let mut first = self.applying();
        self.exits(8, "apply --yes").says(&["locked by tester@", "lock status"]);
        self.exits(8, "lock status").says(&["tester@", "runs out in"]);
        first.kill().unwrap();
        first.wait().unwrap();
        self.exits(0, "lock status").says(&["its process is gone"]);
        self.exits(0, "apply --yes");
        assert_eq!(self.case.cloud().list("/api/v1/vms").len(), 1, "the lost answer was found again");
        // The next runner starts with an empty disk.
        fs::remove_dir_all(self.case.path(".stead")).unwrap_or_default();
        self.exits(0, "apply --yes").says(&["No changes"]);
        self.exits(0, "lock status").says(&["is free"]);
        self.exits(0, "state verify").says(&["is intact"]);
        self.exits(0, "history").says(&["done"]);
    }

    fn signal(child: &Child, name: &str) {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    }

    /// A holder that is suspended while its lock is broken records nothing afterwards.
    fn a_broken_lock_fences_off_its_holder(&self) {
        let holder = self.applying();
        Self::signal(&holder, "-STOP");
        self.exits(64, "lock break --reason stuck").says(&["--yes"]);
        self.exits(0, "lock break --reason stuck --yes").says(&["the history keeps the reason"]);
        self.exits(0, "history").says(&["was broken", "tester@", "stuck"]);
        Self::signal(&holder, "-CONT");
        let ended = holder.wait_with_output().unwrap();
        let said =
            String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.code(), Some(8), "{said}");
        assert!(said.contains("taken over"), "{said}");
        assert_eq!(self.case.cloud().list("/api/v1/vms").len(), 1);
    }
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn runners_share_a_ledger_in_postgres() {
    let server = server::Database::shared();
    Shared::new(&server.database("cli_runners"), "20").runners_come_and_go();
}

/// Kept secrets, in a ledger with a MAC: stored, rekeyed and rotated by runners that share nothing but the ledger.
fn secrets_are_kept(place: &str) {
    let shared = Shared::new(place, "1000");
    let case = &shared.case;
    let make =
        |name: &str| shared.exits(0, &format!("secret keygen --out {name}")).stdout.trim().to_owned();
    let (ada, bob, eve) = (make("ada"), make("bob"), make("eve"));
    let write = |one: &str, other: &str| {
        let user_data = "user_data: \"key ${vars.token}\"";
        let text = STACK.replace("vpc: $vpc.main", &format!("vpc: $vpc.main, {user_data}"));
        let vars = "vars: { token: { type: secret, generate: 32 } }\napi_key: { ci: { role: admin } }\n";
        case.write("stead.yaml", format!("{text}{vars}secrets: {{ recipients: [{one}, {other}] }}\n"));
    };
    let key = case.path("key");
    case.write("key", "k".repeat(48));
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&key, private).unwrap();
    let exits = |code: i32, args: &str| {
        let _ = fs::remove_dir_all(case.path(".stead"));
        let mut command = shared.command(args);
        command.env("STEAD_LEDGER_KEY", &key).env("STEAD_AGE_IDENTITY", case.path("ada"));
        let run = Run::of(&command.output().unwrap());
        assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        run
    };
    write(&ada, &bob);
    exits(0, "apply --yes");
    let value = || exits(0, "secret get vars.token --show");
    let first = value().stdout;
    assert!(!value().all().contains("not authenticated"));
    exits(0, "plan").says(&["No changes"]);
    write(&ada, &eve);
    exits(4, "plan").says(&["recipients_changed"]);
    exits(0, "secret rekey --yes");
    assert_eq!(value().stdout, first);
    let shown = exits(0, "secret get api_key.ci --show").stdout;
    for address in ["vars.token", "api_key.ci"] {
        exits(0, &format!("secret rotate {address} --yes"));
    }
    assert!(value().stdout != first && exits(0, "secret get api_key.ci --show").stdout != shown);
    exits(0, "plan").says(&["No changes"]);
    exits(0, "state verify");
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn secrets_are_kept_in_postgres() {
    let server = server::Database::shared();
    secrets_are_kept(&server.database("cli_secrets"));
}

#[test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
fn secrets_are_kept_in_a_bucket() {
    moto::bucket("cli-secrets");
    secrets_are_kept("s3://cli-secrets/ledgers");
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn a_lock_in_postgres_is_broken() {
    let server = server::Database::shared();
    Shared::new(&server.database("cli_broken"), "20").a_broken_lock_fences_off_its_holder();
}

#[test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
fn runners_share_a_ledger_in_a_bucket() {
    moto::bucket("cli-runners");
    Shared::new("s3://cli-runners/ledgers", "20").runners_come_and_go();
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer and an S3 server (moto); .ci/run brings what it needs and runs it"]
fn a_ledger_migrates_from_a_directory_to_a_database_to_a_bucket() {
    let server = server::Database::shared();
    let database = server.database("cli_moves");
    moto::bucket("cli-moves");
    let mut shared = Shared::new("file:start", "1000");
    shared.exits(0, "apply --yes");
    for place in [database.as_str(), "s3://cli-moves"] {
        shared.exits(0, &format!("state migrate --to {place} --yes")).says(&["The ledger is at", place]);
        shared.exits(1, "plan").says(&["was moved to", place]);
        shared.exits(0, &format!("state migrate --to {place} --yes")).says(&["already"]);
        shared.place = place.to_owned();
        shared.exits(0, "apply --yes").says(&["No changes"]);
    }
    shared.exits(0, "state pull").says(&["\"stack\":\"story\""]);
    shared.exits(0, "history").says(&["done"]);
}
