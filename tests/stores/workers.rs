//! Real workers: processes that apply the units of one approved plan together, with their runs and ledgers in a real
//! PostgreSQL, against an emulator process. Some are killed at random instants.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::cloud::Served;
use crate::moto;
use crate::program;
use crate::server::{Bouncer, Database};

/// Kills of one test; `STEAD_WORKER_KILLS` sets another number.
const KILLS: u32 = 12;

/// A repository, its cloud and the place of its ledgers and runs.
struct Team {
    directory: TempDir,
    cloud: Served,
    backend: String,
    /// Address of the database of runs; `None` if the backend has them, too.
    runs: Option<String>,
}

impl Team {
    /// Returns a team with `count` units of five objects in three waves.
    fn new(backend: String, count: usize, speed: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let root = directory.path().join("repository");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for number in 0..count {
            let name = format!("s{number:02}");
            std::fs::create_dir_all(root.join(&name)).unwrap();
            let above = match number {
                0 => String::new(),
                1..=4 => "stacks: { up: ../s00 }\n".to_owned(),
                _ => format!("stacks: {{ up: ../s{:02} }}\n", 1 + number % 4),
            };
            let vpc = if number == 0 { "$vpc.main" } else { "$stacks.up.vpc" };
            let text = format!(
                "stead: 1\nstack: {name}\n{above}\
                 vpc: {{ main: {{ name: \"n{number}\", cidr: 10.0.{number}.0/24 }} }}\n\
                 vm:\n  a: {{ name: \"a{number}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: {vpc} }}\n  \
                 b: {{ name: \"b{number}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: {vpc} }}\n\
                 volume:\n  a: {{ name: \"v{number}\", size: 10, vm: $vm.a }}\n  \
                 b: {{ name: \"w{number}\", size: 10, vm: $vm.b }}\noutputs: {{ vpc: $vpc.main }}\n"
            );
            std::fs::write(root.join(&name).join("stead.yaml"), text).unwrap();
        }
        let cloud = Served::start_at_speed(&directory.path().join("cloud"), speed);
        Self { directory, cloud, backend, runs: None }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = program::stead(self.directory.path());
        if let Some(runs) = &self.runs {
            command.env("STEAD_RUNS", runs).envs(program::s3_variables(moto::address()));
        }
        command
            .current_dir(self.directory.path().join("repository"))
            .args(args)
            .env("STEAD_API_URL", &self.cloud.url)
            .env("STEAD_API_KEY", &self.cloud.key)
            .env("STEAD_BACKEND", &self.backend)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String) {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (status.code().unwrap_or(-1), text)
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.command(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    fn fingerprint(&self) -> String {
        self.json(&["plan", "--all", "--output", "json"])["fingerprint"].as_str().unwrap().to_owned()
    }

    fn join(&self, run: &str, fingerprint: &str) -> Child {
        let mut command = self.command(&["apply", "--all", "--expect", fingerprint, "--join", run]);
        // A pipe that is not read would stop a worker.
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Checks that each object exists once, and that a second plan has nothing to do.
    fn check_complete(&self, count: usize) {
        let plan = self.json(&["plan", "--all", "--output", "json"]);
        let units = plan["units"].as_array().unwrap();
        assert_eq!(units.len(), count);
        assert!(units.iter().all(|unit| unit["status"] == "unchanged"), "{plan}");
        self.check_objects(count);
    }

    /// Checks that each object exists once.
    fn check_objects(&self, count: usize) {
        let (_, counts) = self.cloud.live();
        for (collection, each) in [("vpcs", 1), ("vms", 2), ("volumes", 2)] {
            let listed = counts.iter().find(|(name, _)| *name == collection).unwrap().1;
            assert_eq!(listed, (each * count) as u64, "{collection}: a duplicate or an orphan");
        }
    }
}

fn kills() -> u32 {
    std::env::var("STEAD_WORKER_KILLS").ok().map_or(KILLS, |text| text.parse().unwrap())
}

/// Workers are killed at random instants and replaced, until enough died; then the rest finishes.
fn survive_kills(team: &Team, count: usize, seed: u64) {
    let fingerprint = team.fingerprint();
    let mut workers: Vec<Child> = (0..3).map(|_| team.join("kills", &fingerprint)).collect();
    let (mut left, mut dice) = (kills(), seed);
    let mut codes = Vec::new();
    while !workers.is_empty() {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = usize::try_from(dice >> 33).unwrap() % workers.len();
        let until = Instant::now() + Duration::from_millis(300 + (dice >> 40) % 1_200);
        // The instant of a kill is a time: the run goes on meanwhile.
        while left > 0 && codes.is_empty() && Instant::now() < until {
            std::thread::yield_now();
        }
        if left > 0 && codes.is_empty() {
            workers[number].kill().unwrap();
            workers[number].wait().unwrap();
            workers[number] = team.join("kills", &fingerprint);
            left -= 1;
            continue;
        }
        codes.push(workers.remove(0).wait().unwrap().code());
    }
    assert!(left < kills(), "no worker was killed");
    assert!(
        codes.iter().all(|code| *code == Some(0)),
        "{codes:?}: {}",
        team.run(&["runs", "show", "kills"]).1
    );
    let shown = team.json(&["runs", "show", "kills", "--output", "json"]);
    assert_eq!((&shown["status"], &shown["exit"]), (&"ended".into(), &0.into()), "{shown}");
    assert_eq!(shown["units"].as_array().unwrap().len(), count);
    let dead =
        shown["workers"].as_array().unwrap().iter().filter(|worker| worker["state"] == "dead").count();
    assert!(dead > 0, "no worker was killed after it joined: {shown}");
    let runs = team.json(&["runs", "--output", "json"]);
    let listed = &runs["runs"][0];
    let numbers = ["done", "waiting", "running", "failed", "workers"].map(|name| listed[name].as_u64());
    let all = Some(u64::try_from(count).unwrap());
    assert_eq!(numbers, [all, Some(0), Some(0), Some(0), Some(0)], "{runs}");
    team.check_complete(count);
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn killed_workers_leave_no_duplicate_no_orphan_and_no_unit_undone() {
    let server = Database::shared();
    survive_kills(&Team::new(server.database("worker_kills"), 10, "60"), 10, 7);
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn killed_workers_behind_a_pooler_leave_nothing_undone() {
    let server = Database::shared();
    let pooler = Bouncer::start(&server);
    let direct = server.database("pooled_workers");
    survive_kills(&Team::new(pooler.address(&direct), 6, "60"), 6, 11);
}

#[test]
#[ignore = "needs PostgreSQL and moto; .ci/run brings what it needs and runs it"]
fn killed_workers_with_ledgers_in_s3_leave_nothing_undone() {
    let server = Database::shared();
    moto::bucket("workers");
    let team = Team::new("s3://workers/team".to_owned(), 6, "60");
    survive_kills(&Team { runs: Some(server.database("runs_of_s3")), ..team }, 6, 13);
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn a_worker_that_differs_claims_nothing() {
    let server = Database::shared();
    let team = Team::new(server.database("differs"), 3, "2000");
    let fingerprint = team.fingerprint();
    let args = ["apply", "--all", "--expect", &fingerprint, "--join", "run-1"];
    let (code, text) = team.run(&args);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("This is the worker") && text.contains("Run run-1: ended, exit code 0"),
        "{text}"
    );
    // A late worker of the same run has its result.
    let (code, text) = team.run(&args);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("The run run-1 has ended."), "{text}");
    team.check_complete(3);
    // Another run of the same plans has nothing left to do.
    let (code, text) = team.run(&["apply", "--all", "--expect", &fingerprint, "--join", "again"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Applied already: run run-1, ") && text.contains("Run again: ended"), "{text}");
    let other = "0".repeat(64);
    let (code, text) = team.run(&["apply", "--all", "--expect", &other, "--join", "run-1"]);
    assert_eq!(code, 5, "{text}");
    assert!(text.contains("has another fingerprint") && text.contains("claimed nothing"), "{text}");
    let stack = team.directory.path().join("repository/s01/stead.yaml");
    let before = std::fs::read_to_string(&stack).unwrap();
    std::fs::write(&stack, before.replace("size: 10", "size: 20")).unwrap();
    let (code, text) = team.run(&args);
    assert_eq!(code, 5, "{text}");
    assert!(text.contains("this worker has another configuration than the run run-1"), "{text}");
    // Another run: its fingerprint is not that of the plans now, for all of its workers.
    let late = ["apply", "--all", "--expect", &fingerprint, "--join", "run-2"];
    for _ in 0..2 {
        let (code, text) = team.run(&late);
        assert_eq!(code, 5, "{text}");
        assert!(text.contains("the plans together have the fingerprint"), "{text}");
    }
    let head = team.directory.path().join("repository/.git");
    std::fs::create_dir_all(head.join("refs/heads")).unwrap();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    std::fs::write(head.join("refs/heads/main"), format!("{commit}\n")).unwrap();
    let fingerprint = team.fingerprint();
    let next = ["apply", "--all", "--expect", &fingerprint, "--join", "run-3"];
    assert_eq!(team.run(&next).0, 0);
    std::fs::write(head.join("refs/heads/main"), format!("{}\n", commit.replace('0', "f"))).unwrap();
    let (code, text) = team.run(&next);
    assert_eq!(code, 5, "{text}");
    assert!(text.contains("another commit (f123") && text.contains(commit), "{text}");
    let runs = team.json(&["runs", "--output", "json"]);
    let names: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap()).collect();
    assert_eq!(names, ["run-3", "run-2", "again", "run-1"]);
    let (code, text) = team.run(&["runs", "show", "run-4"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("there is no run `run-4`") && text.contains("Did you mean `run-"), "{text}");
    let (code, text) = team.run(&["runs", "cancel", "run-1"]);
    assert!(code == 1 && text.contains("has ended already"), "{text}");
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn a_worker_without_a_secret_or_with_another_one_claims_nothing() {
    let server = Database::shared();
    let team = Team::new(server.database("secret_workers"), 2, "2000");
    let stack = team.directory.path().join("repository/s01/stead.yaml");
    let text = std::fs::read_to_string(&stack).unwrap();
    let text = text.replace("stack: s01\n", "stack: s01\nvars: { token: { type: secret } }\n");
    let text = text.replacen("plan: std-1c-1g", "plan: std-1c-1g, user_data: $vars.token", 1);
    std::fs::write(&stack, text).unwrap();
    let with = |token: Option<&str>, args: &[&str]| {
        let mut command = team.command(args);
        if let Some(token) = token {
            command.env("STEAD_VAR_TOKEN", token);
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    let (_, plan, told) = with(Some("canary-1"), &["plan", "--all", "--output", "json"]);
    let plan: Value = serde_json::from_str(&plan).unwrap_or_else(|error| panic!("{error}: {plan}{told}"));
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    let args = ["apply", "--all", "--expect", fingerprint, "--join", "secret"];
    let (code, out, told) = with(Some("canary-1"), &args);
    assert_eq!(code, Some(0), "{out}{told}");
    let (code, _, other) = with(Some("canary-2"), &args);
    assert!(code == Some(5) && other.contains("another value of a secret than the run secret"), "{other}");
    let (code, _, none) = with(None, &args);
    assert!(
        code == Some(5) && none.contains("STEAD_VAR_TOKEN") && none.contains("claimed nothing"),
        "{none}"
    );
    assert!(![out, told, other, none].concat().contains("canary"), "a secret was printed");
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn workers_share_an_override_and_one_without_it_claims_nothing() {
    let server = Database::shared();
    let team = Team::new(server.database("overriding"), 3, "2000");
    let stack = team.directory.path().join("repository/s01/stead.yaml");
    let text = std::fs::read_to_string(&stack).unwrap();
    let rule =
        "policy: { small: { on: volume, deny: \"${self.size > 5}\", message: Volumes are small. } }\n";
    std::fs::write(&stack, text + rule).unwrap();
    let with = |(run, fingerprint): (&str, &str), overrides: &[&str]| {
        let mut args = vec!["apply", "--all", "--expect", fingerprint, "--join", run];
        args.extend(overrides);
        team.run(&args)
    };
    // The policy denies one unit; the others do not wait for it.
    let (code, text) = with(("denied", &team.fingerprint()), &[]);
    assert_eq!(code, 6, "{text}");
    assert!(text.contains("its plan is blocked; stead plan --all shows why"), "{text}");
    let (_, text) = team.run(&["plan", "--all"]);
    assert!(text.contains("small: Volumes are small.") && text.contains("--override small"), "{text}");
    let overrides = ["--override", "small", "--reason", "agreed"];
    let run = ("overridden", &*team.fingerprint());
    let (code, text) = with(run, &overrides);
    assert_eq!(code, 0, "{text}");
    for (other, shown) in [(&[] as &[&str], " (none)"), (&["--override", "smal", "--reason", "x"], "")] {
        let (code, text) = with(run, other);
        assert!(code != 0, "{other:?}: {text}");
        assert!(
            shown.is_empty() && text.contains("Did you mean small?")
                || text.contains(&format!("another set of overridden policies{shown}"))
                    && text.contains("claimed nothing"),
            "{other:?}: {text}"
        );
    }
    let (code, text) = with(run, &overrides);
    assert!(code == 0 && text.contains("The run overridden has ended."), "{text}");
    let history = team.json(&["-C", "s01", "history", "show", "--output", "json"]);
    assert_eq!(history["runs"][0]["overridden"], "small", "{history}");
    assert_eq!(history["runs"][0]["reason"], "agreed", "{history}");
    team.check_objects(3);
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn a_canceled_run_finishes_what_runs_and_a_stopped_worker_gives_its_units_back() {
    let server = Database::shared();
    let team = Team::new(server.database("canceled"), 10, "30");
    let fingerprint = team.fingerprint();
    let mut stopped = team.join("stop", &fingerprint);
    wait_until(&team, "stop", |run| {
        run["units"].as_array().is_some_and(|units| units.iter().any(|unit| unit["state"] == "running"))
    });
    let sent = Command::new("kill").args(["-INT", &stopped.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert_eq!(stopped.wait().unwrap().code(), Some(130));
    let shown = team.json(&["runs", "show", "stop", "--output", "json"]);
    assert_eq!(shown["status"], "running", "{shown}");
    assert!(shown["units"].as_array().unwrap().iter().all(|unit| unit["state"] != "failed"), "{shown}");
    // Another worker goes on.
    let mut second = team.join("stop", &fingerprint);
    wait_until(&team, "stop", |run| {
        let units = run["units"].as_array().unwrap();
        units.iter().any(|unit| unit["state"] == "running")
            && units.iter().any(|unit| unit["state"] == "done")
    });
    let (code, text) = team.run(&["runs", "cancel", "stop"]);
    assert!(code == 0 && text.contains("no more units are started"), "{text}");
    let code = second.wait().unwrap().code();
    let shown = team.json(&["runs", "show", "stop", "--output", "json"]);
    assert_eq!((&shown["status"], &shown["canceled"]), (&"ended".into(), &true.into()), "{shown}");
    assert!(code == Some(6), "{code:?} {shown}");
    let states: Vec<&str> =
        shown["units"].as_array().unwrap().iter().map(|unit| unit["state"].as_str().unwrap()).collect();
    assert!(
        states.contains(&"done") && states.iter().all(|state| ["done", "waiting"].contains(state)),
        "{states:?}"
    );
    let (code, text) = team.run(&["runs", "dead", "stop", "nobody", "--yes"]);
    assert!(code == 1 && text.contains("has no worker `nobody`"), "{text}");
    // Another run goes on with the same review.
    assert_eq!(team.join("rest", &fingerprint).wait().unwrap().code(), Some(0));
    team.check_complete(10);
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn a_worker_stopped_before_its_first_unit_leaves_the_run_to_others() {
    let server = Database::shared();
    let team = Team::new(server.database("stopped_early"), 4, "2000");
    let fingerprint = team.fingerprint();
    let mut stopped = team.join("early", &fingerprint);
    wait_until(&team, "early", |run| run["status"] != Value::Null);
    let sent = Command::new("kill").args(["-TERM", &stopped.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert_eq!(stopped.wait().unwrap().code(), Some(130));
    assert_eq!(team.join("early", &fingerprint).wait().unwrap().code(), Some(0));
    team.check_complete(4);
}

/// Waits until a run is in a state; fails if it ends first.
fn wait_until(team: &Team, run: &str, is_there: impl Fn(&Value) -> bool) {
    loop {
        let output = team.command(&["runs", "show", run, "--output", "json"]).output().unwrap();
        let Ok(shown) = serde_json::from_slice::<Value>(&output.stdout) else { continue };
        if is_there(&shown) {
            return;
        }
        assert!(shown["status"] != "ended", "{shown}");
    }
}
