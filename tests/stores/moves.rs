//! Moves between stacks whose ledgers are in real servers: the apply is killed before its messages to them. In between, no
//! plan creates or deletes what moves; afterwards one ledger owns it.

use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;

use crate::cloud::Served;
use crate::gate::Gate;
use crate::moto;
use crate::program;
use crate::server::Database;

/// Every third message of the program is one before which it is killed.
const EACH: usize = 3;

/// The fewest kills of a test.
const FEWEST: usize = 6;

/// Two stacks, each with a network of its own; a protected volume moves between them.
struct Movers {
    directory: TempDir,
    cloud: Served,
    gate: Arc<Gate>,
    s3: String,
}

impl Movers {
    /// Applies the stacks `a` and `b`, whose ledgers are in these backends.
    fn new(gate: Arc<Gate>, s3: String, [of_a, of_b]: [&str; 2]) -> Self {
        let directory = TempDir::new().unwrap();
        let settings = directory.path().join(".config/stead");
        std::fs::create_dir_all(&settings).unwrap();
        let text = format!(
            "[profiles.a]\nbackend = \"{of_a}\"\n[profiles.b]\nbackend = \"{of_b}\"\n\
             [[units]]\nmatch = \"a/*\"\nprofile = \"a\"\n[[units]]\nmatch = \"b/*\"\nprofile = \"b\"\n"
        );
        std::fs::write(settings.join("settings.toml"), text).unwrap();
        let root = directory.path().join("repository");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let volume = "volume: { d: { size: 10, lifecycle: { protect: true } } }\n";
        for (number, (name, more)) in [("a", volume), ("b", "")].into_iter().enumerate() {
            std::fs::create_dir_all(root.join(name)).unwrap();
            let text = format!(
                "stead: 1\nstack: {name}\nvpc: {{ {name}: {{ cidr: 10.{number}.0.0/16 }} }}\n{more}"
            );
            std::fs::write(root.join(name).join("stead.yaml"), text).unwrap();
        }
        let cloud = Served::start(&directory.path().join("cloud"));
        let movers = Self { directory, cloud, gate, s3 };
        movers.exits(0, ".", "apply --all --yes");
        movers
    }

    fn command(&self, stack: &str, args: &str) -> Command {
        let mut command = program::stead(self.directory.path());
        command
            .current_dir(self.directory.path().join("repository").join(stack))
            .args(args.split(' '))
            .env("STEAD_API_URL", &self.cloud.url)
            .env("STEAD_API_KEY", &self.cloud.key)
            .envs(program::s3_variables(&self.s3));
        command
    }

    fn exits(&self, code: i32, stack: &str, args: &str) -> String {
        let Output { status, stdout, stderr } = self.command(stack, args).output().unwrap();
        let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(status.code(), Some(code), "{stack}: {args}: {}", text.concat());
        let [out, _] = text;
        out
    }

    /// Returns the ids of the volumes that a stack's ledger owns.
    fn volumes(&self, stack: &str) -> Vec<String> {
        let document: Value = serde_json::from_str(&self.exits(0, stack, "state pull")).unwrap();
        let entries = document["ledger"]["entries"].as_object().unwrap();
        let volumes = entries.values().filter(|entry| entry["kind"] == "volume");
        volumes.map(|entry| entry["current"]["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Checks that no plan creates, replaces or deletes anything.
    fn plans_only_moves(&self, story: &str) {
        let commands = [("a", "plan"), ("b", "plan"), (".", "plan --all")];
        for (stack, args) in commands.map(|(stack, args)| (stack, format!("{args} --output json"))) {
            // It is blocked while the move is interrupted.
            let output = self.command(stack, &args).output().unwrap();
            let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
            let units = plan["units"].as_array().cloned().unwrap_or_else(|| vec![plan.clone()]);
            let plans = units.iter().map(|unit| unit.get("plan").unwrap_or(unit));
            for change in plans.flat_map(|plan| plan["changes"].as_array().into_iter().flatten()) {
                assert_eq!(change["action"], "move", "{story}: {plan:#}");
            }
        }
    }

    /// Moves the volume to and fro; each apply is killed a little later, until one ends.
    fn survive_kills(&self) {
        let ids = self.volumes("a");
        let (live, _) = self.cloud.live();
        let mut kills = 0;
        for (round, at) in (0..).step_by(EACH).enumerate() {
            let (from, to) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
            // An apply of either stack makes the move, and one of the other or of both finishes it.
            let (one, all) = ("apply --yes", "apply --all --yes");
            let [(first, args), (second, next)] = match (round / 2) % 3 {
                0 => [(from, one), (to, one)],
                1 => [(to, one), (from, one)],
                _ => [(".", all), (".", all)],
            };
            let story = format!("from {from} to {to}, the apply in {first} is killed before message {at}");
            self.exits(0, from, &format!("mv volume.d --to-stack ../{to} --yes"));
            let was_killed = self.gate.kill(self.command(first, args), at.try_into().unwrap());
            self.plans_only_moves(&story);
            self.exits(0, second, next);
            self.exits(0, ".", "plan --all --exit-code");
            for stack in [from, to] {
                self.exits(0, stack, "fmt --prune");
            }
            self.exits(0, ".", "plan --all --exit-code");
            assert_eq!((self.volumes(from), self.volumes(to)), (vec![], ids.clone()), "{story}");
            assert_eq!(self.cloud.live().0, live, "{story}");
            if !was_killed {
                break;
            }
            kills += 1;
        }
        assert!(kills >= FEWEST, "only {kills} kills");
        println!("{kills} kills: one owner each time");
    }
}

#[test]
#[ignore = "needs moto; .ci/run brings what it needs and runs it"]
fn killed_moves_between_ledgers_in_s3_leave_one_owner() {
    moto::bucket("moves");
    let (gate, port) = Gate::before(moto::address().trim_start_matches("http://"));
    let s3 = format!("http://127.0.0.1:{port}");
    Movers::new(gate, s3, ["s3://moves/all", "s3://moves/all"]).survive_kills();
}

#[test]
#[ignore = "needs PostgreSQL and moto; .ci/run brings what it needs and runs it"]
fn killed_moves_between_s3_and_postgresql_leave_one_owner() {
    moto::bucket("moves-of-both");
    let server = Database::shared();
    let direct = server.database("moves");
    let (host, database) = direct.split_once('@').unwrap().1.split_once('/').unwrap();
    let (gate, port) = Gate::before(moto::address().trim_start_matches("http://"));
    let s3 = format!("http://127.0.0.1:{port}");
    let postgres = format!("postgres://postgres@127.0.0.1:{}/{database}", gate.listen(host));
    Movers::new(gate, s3, ["s3://moves-of-both/all", &postgres]).survive_kills();
}
