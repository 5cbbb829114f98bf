//! JSON output of commands: the keys of each document and the types of their values. Every document is printed by the
//! real binary; ids, times and prices are not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use serde_json::{Deserializer, Value, json};
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::stores::file::process;
use stead::report::units::runs::{
    ListedRun, RunEventRow, RunUnit, RunView, RunWorker, run_document, runs_document,
};
use uuid::Uuid;

use crate::case::{Case, Run};
use crate::files;
use crate::mutants::Mutator;

/// Paths of keys with the types of their values.
#[derive(Default)]
struct Keys(BTreeMap<String, BTreeSet<&'static str>>);

impl Keys {
    fn add(&mut self, path: &str, value: &Value) {
        let mut note = |kind| self.0.entry(path.to_owned()).or_default().insert(kind);
        match value {
            Value::Null => drop(note("null")),
            Value::Bool(_) => drop(note("boolean")),
            Value::Number(_) => drop(note("number")),
            Value::String(_) => drop(note("string")),
            Value::Array(items) => {
                note("array");
                for item in items {
                    self.add(&format!("{path}[]"), item);
                }
            }
            Value::Object(map) => {
                note("object");
                for (key, item) in map {
                    let key = if is_id(key) { "{id}" } else { key };
                    self.add(&format!("{path}.{key}"), item);
                }
            }
        }
    }

    fn text(&self) -> String {
        let line = |(path, kinds): (&String, &BTreeSet<&str>)| {
            let kinds: Vec<_> = kinds.iter().copied().collect();
            format!("{path}: {}\n", kinds.join(" | "))
        };
        self.0.iter().map(line).collect()
    }
}

/// Returns whether a key is an id or a digest, which differs in each run.
fn is_id(key: &str) -> bool {
    key.len() >= 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Streams in which a step reports progress only if the machine is slow; `apply-events` has the keys of that event.
const SOMETIMES_SLOW: &[&str] = &["destroy-events", "apply-failed-events", "do-reboot-events"];

/// Compares the keys of all JSON values of an output with a golden file. Those of an event stream are grouped by event.
#[track_caller]
fn compare(name: &str, text: &str) {
    let mut keys = Keys::default();
    let mut count = 0;
    for document in Deserializer::from_str(text).into_iter::<Value>() {
        let document = document.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        let event = document.get("event").and_then(Value::as_str);
        if event.is_some_and(|event| event == "progress" && SOMETIMES_SLOW.contains(&name)) {
            continue;
        }
        let event = event.map(|event| format!("<{event}>"));
        keys.add(&event.unwrap_or_default(), &document);
        count += 1;
    }
    assert!(count > 0, "{name}: nothing was printed");
    if let Some(schema) = schema_of(name) {
        check_schema(schema, name, text);
    }
    files::assert_same(&format!("documents/{name}.keys"), &keys.text());
}

/// Returns the name of the schema of a golden document, or of the lines of a golden stream; some have none.
fn schema_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "plan-drift-events" | "plan-events" | "plan-units-events" | "show-events" | "failure-event" => {
            "plan-event"
        }
        "plan-create" | "plan-blocked" | "show" | "report-plan" | "report-apply" => "plan",
        "plan-difference" => "plan-difference",
        "plan-differences" => "plan-differences",
        "apply" => "apply-event",
        "drift-first" | "drift-again" => "drift",
        "ls" | "ls-unmanaged" => "ls",
        "test" => "test",
        "stacks" => "stacks",
        "runs" => "runs",
        "run-show" => "run",
        "validate-units" | "validate-units-failed" => "validate-units",
        "fmt-units" => "fmt-units",
        "cost-units" => "cost-units",
        "ls-units" => "ls-units",
        "output" => "output",
        "output-units" => "output-units",
        "test-units" => "test-units",
        "recover" => "recover",
        _ if name.split('-').next() == Some("error") => "error",
        "secret-get" | "secret-get-value" => "secret",
        _ if name.starts_with("units-") => "units",
        _ if name.ends_with("-events") && name.starts_with(['a', 'd']) && !name.starts_with("do-") => {
            "apply-event"
        }
        _ => *["do", "docs", "catalog", "cost", "validate", "history", "lock"]
            .iter()
            .find(|prefix| name.split('-').next() == Some(prefix))?,
    })
}

/// Checks that a schema accepts each document of a text, and rejects it after one violation of each of the schema's
/// rules.
#[track_caller]
fn check_schema(schema: &str, name: &str, text: &str) {
    let path = format!("{}/schemas/{schema}.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut mutator = Mutator::new(&schema);
    for document in Deserializer::from_str(text).into_iter::<Value>() {
        let document = document.unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}\n{document:#}");
        for mutant in mutator.mutants(&document) {
            assert!(
                !validator.is_valid(&mutant.document),
                "{name}: {}\n{:#}",
                mutant.rule,
                mutant.document
            );
        }
    }
}

/// Runs a command and compares what it prints.
#[track_caller]
fn prints(case: &Case, name: &str, code: i32, args: &str) -> Run {
    let run = case.run(args);
    assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
    compare(name, &run.stdout);
    run
}

#[test]
fn documents_of_a_stack_from_plan_to_destroy_keep_their_keys() {
    let case = Case::example("shop").emulator();
    prints(&case, "plan-create", 0, "plan --output json");
    prints(&case, "plan-events", 0, "plan -v --output ndjson");
    prints(&case, "apply-events", 0, "apply --yes --output ndjson");
    let machine = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &machine, &json!({ "name": "renamed" }));
    prints(&case, "drift-first", 0, "drift --output json");
    prints(&case, "drift-again", 0, "drift --output json");
    prints(&case, "plan-drift-events", 4, "plan --output ndjson");
    case.edit("shop.stead.yaml", "reporting: {} ", "other: {} ");
    case.edit("shop.stead.yaml", "default: 100,", "default: 120,");
    case.ok("plan --replace vm.web.a -o saved.plan --report json=report.json");
    case.edit("shop.stead.yaml", "default: 120,", "default: 130,");
    case.ok("plan --replace vm.web.a -o later.plan");
    prints(&case, "plan-difference", 0, "show later.plan --against saved.plan --output json");
    case.edit("shop.stead.yaml", "default: 130,", "default: 120,");
    compare("report-plan", &std::fs::read_to_string(case.path("report.json")).unwrap());
    prints(&case, "show", 0, "show saved.plan --output json");
    prints(&case, "show-events", 0, "show saved.plan --output ndjson");
    prints(&case, "apply", 0, "apply --yes --replace vm.web.a --output json --report json=applied.json");
    compare("report-apply", &std::fs::read_to_string(case.path("applied.json")).unwrap());
    prints(&case, "destroy-events", 0, "destroy --yes --confirm shop --output ndjson");
}

#[test]
fn documents_about_a_stack_keep_their_keys() {
    let case = Case::example("shop").emulator();
    prints(&case, "validate", 0, "validate --output json");
    prints(&case, "test", 0, "test --output json");
    prints(&case, "render", 0, "render --output json");
    prints(&case, "eval", 0, "eval 1+1 --output json");
    prints(&case, "graph", 0, "graph --output json");
    prints(&case, "fmt", 0, "fmt --check --output json");
    prints(&case, "explain-index", 0, "explain --output json");
    prints(&case, "explain-kind", 0, "explain vm --output json");
    prints(&case, "explain-attribute", 0, "explain vm.plan --output json");
    prints(&case, "explain-web", 0, "explain vm.plan --web --output json");
    prints(&case, "docs", 0, "docs --output json");
    prints(&case, "docs-page", 0, "docs exit-codes --output json");
    prints(&case, "docs-search", 0, "docs rename a resource --output json");
    prints(&case, "version", 0, "version --output json");
    prints(&case, "whoami", 0, "whoami --output json");
    prints(&case, "doctor", 0, "doctor --output json");
    for (name, args) in [
        ("catalog", "catalog"),
        ("catalog-table", "catalog vm"),
        ("catalog-entry", "catalog ip"),
        ("cost", "cost"),
        ("cost-vs", "cost --vs prod"),
        ("cost-offline", "cost --offline --vs prod"),
    ] {
        prints(&case, name, 0, &format!("{args} --output json"));
    }
    prints(&case, "catalog-update-check", 2, "catalog update --check --output json");
    prints(&case, "catalog-update", 0, "catalog update --output json");
    case.edit("shop.stead.yaml", "plan: $locals.pick.node", "plam: $locals.pick.node");
    prints(&case, "validate-problems", 1, "validate --output json");
    prints(&case, "failure", 1, "plan --output json");
    prints(&case, "failure-event", 1, "plan --output ndjson");
}

#[test]
fn documents_about_live_objects_keep_their_keys() {
    let case = Case::example("shop").emulator();
    case.ok("apply --yes");
    for (name, args) in [
        ("ls", "ls"),
        ("get", "get vm.web.a"),
        ("why", "why vm.web.a"),
        ("history", "history"),
        ("lock-free", "lock status"),
        ("state-list", "state list"),
        ("state-verify", "state verify"),
        ("state-pull", "state pull"),
        ("resolve", "resolve"),
        ("do-reboot", "do reboot vm.web.a --yes"),
        ("do-backup", "do backup vm.web.a --name once"),
        ("do-connection", "do connection database.main"),
        ("do-engines", "do engines"),
        ("do-events", "do events app.web"),
    ] {
        prints(&case, name, 0, &format!("{args} --output json"));
    }
    prints(&case, "do-reboot-events", 0, "do reboot vm.web.a --yes --output ndjson");
    prints(&case, "history-actions", 0, "history --output json");
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5M x@y";
    case.cloud().control("POST", "/api/v1/ssh-keys", &json!({ "name": "x", "public_key": key }));
    prints(&case, "ls-unmanaged", 0, "ls --unmanaged --output json");
}

#[test]
fn documents_of_ambiguous_intents_and_locks_keep_their_keys() {
    let stack =
        "stead: 1\nstack: story\nvpc:\n  main: { cidr: 10.1.0.0/16 }\nvolume:\n  data: { size: 20 }\n";
    let case =
        Case::new().file("stead.yaml", stack).emulator_with(&["--fail", "POST /volumes=reset-after:1"]);
    let bounds = "--effect-bound 100ms --listing-bound 100ms";
    prints(&case, "apply-question-events", 6, &format!("apply --yes --strict {bounds} --output ndjson"));
    let listed = prints(&case, "resolve-question", 0, "resolve --output json").json();
    let handle = listed["questions"][0]["handle"].as_str().unwrap().to_owned();
    prints(&case, "resolve-one", 0, &format!("resolve {handle} --output json"));
    prints(&case, "plan-blocked", 4, "plan --output json");
    let id = listed["questions"][0]["candidates"][0].as_str().unwrap();
    prints(&case, "resolve-answer", 0, &format!("resolve {handle} adopt {id} --output json"));
    // This process has the lock, and its name is in the file.
    let path = case.path(".stead/ledger/default/lock");
    let lock = std::fs::OpenOptions::new().write(true).truncate(true).open(&path).unwrap();
    lock.try_lock().unwrap();
    let since = "2026-11-20T08:00:00Z".parse().unwrap();
    let holder = LeaseHolder {
        session: Uuid::nil(),
        who: "ada@host".to_owned(),
        process: process::current_process(),
        since,
    };
    std::fs::write(&path, format!("ada@host\n{}\n", serde_json::to_string(&holder).unwrap())).unwrap();
    prints(&case, "lock-held", 8, "lock status --output json");
}

#[test]
fn documents_of_a_job_that_was_run_keep_their_keys() {
    let stack = "stead: 1\nstack: work\napp: { nightly: { type: job, image: \"busybox:1\" } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    prints(&case, "do-run", 0, "do run app.nightly --output json");
    prints(&case, "do-runs", 0, "do runs app.nightly --output json");
}

const STORY: &str = "\
stead: 1
stack: story
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  web: { template: ubuntu-24.04, plan: std-1c-2g, vpc: $vpc.main }
";

#[test]
fn events_of_a_failed_or_continued_apply_keep_their_keys() {
    let flags = ["--fail", "POST /vpcs=429:1", "--fail", "POST /vpcs=403:1"];
    let case = Case::new().file("stead.yaml", STORY).emulator_with(&flags);
    prints(&case, "apply-failed-events", 7, "apply --yes --output ndjson");

    let case = Case::new().file("stead.yaml", STORY).emulator_with(&["--fail", "POST /vpcs=delay-10s:1"]);
    let mut killed = case.command("apply --yes --output ndjson").stdout(Stdio::piped()).spawn().unwrap();
    let journal = case.path(".stead/ledger/default/journal-0.log");
    while !std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"record\":\"intent\"")) {
        assert!(killed.try_wait().unwrap().is_none(), "it ended before its request");
        std::thread::yield_now();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let bounds = "--effect-bound 100ms --listing-bound 100ms";
    let events = case.ok(&format!("apply --yes {bounds} --output ndjson"));
    // Whether a wait is seen depends on the machine: other documents hold these events.
    let lines = events.stdout.lines().filter(|line| !line.contains(r#""event":"progress""#));
    compare("apply-recovering-events", &lines.collect::<Vec<_>>().join("\n"));
}

const TWO_MACHINES: &str = "\
stead: 1
stack: story
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  a: { template: ubuntu-24.04, plan: std-1c-2g }
  b: { template: ubuntu-24.04, plan: std-1c-2g }
";

#[test]
fn documents_of_a_rebuilt_and_a_repaired_ledger_keep_their_keys() {
    let case = Case::new().file("stead.yaml", TWO_MACHINES).emulator();
    case.ok("apply --yes");
    let files = std::fs::read_dir(case.path(".stead/ledger/default")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let journal = files.max_by_key(|path| std::fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&journal, bytes).unwrap();
    prints(&case, "state-verify-damaged", 1, "state verify --output json");
    prints(&case, "state-repair", 0, "state repair --yes --output json");
    prints(&case, "history-incident", 0, "history --output json");
    let vms = case.cloud().list("/api/v1/vms");
    let b = vms.iter().find(|vm| vm["name"] == "b").unwrap()["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &b, &json!({ "name": "a" }));
    std::fs::remove_dir_all(case.path(".stead/ledger")).unwrap();
    prints(&case, "recover", 4, "recover --yes --output json");
}

#[test]
fn documents_of_imports_and_edits_keep_their_keys() {
    let case = Case::new().emulator_with(&["--seed", "shop"]);
    for directory in ["stack", "other"] {
        std::fs::create_dir(case.path(directory)).unwrap();
    }
    prints(&case, "import-all-observe", 0, "-C other import --all --observe --output json");
    prints(&case, "import-all", 0, "-C stack import --all --yes --output json");
    prints(&case, "init", 0, "init --template minimal third --output json");
    prints(&case, "mv", 0, "-C third mv vm.web vm.front --yes --output json");
    let text = std::fs::read_to_string(case.path("third/stead.yaml")).unwrap();
    case.write("third/stead.yaml", text.split("\noutputs:").next().unwrap());
    prints(&case, "rm", 0, "-C third rm vm.front --keep --yes --output json");
    prints(&case, "doctor-api", 0, "doctor --api --output json");
    prints(&case, "ci-init", 0, "ci init github -C third --output json");
    case.write("compose/docker-compose.yml", "services:\n  web: { image: nginx, ports: ['8080:80'] }\n");
    prints(&case, "convert", 0, "convert compose/docker-compose.yml -o made.yaml --output json");
}

#[test]
fn documents_of_one_import_and_of_accepted_drift_keep_their_keys() {
    let stack = "stead: 1\nstack: demo\nvpc:\n  net: { cidr: 10.0.0.0/16, name: main }\nvolume:\n  media: { size: 10 }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let project = case.cloud().list("/api/v1/projects")[0]["id"].as_str().unwrap().to_owned();
    let made =
        case.cloud().make("/api/v1/vpcs", &json!({ "name": "main", "cidr": "10.0.0.0/16" }), &project);
    let id = made["data"]["id"].as_str().unwrap();
    prints(&case, "import-observe", 0, &format!("import vpc.net {id} --observe --output json"));
    prints(&case, "import-one", 0, &format!("import vpc.net {id} --yes --output json"));
    case.ok("apply --yes");
    let volume = case.cloud().list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("volume", &volume, &json!({ "size": 25 }));
    prints(&case, "drift-accept", 0, "drift --accept volume.media.size --yes --output json");
}

#[test]
fn documents_of_kept_secrets_keep_their_keys() {
    let case = Case::new();
    let key = prints(&case, "secret-keygen", 0, "secret keygen --out ada --output json").json();
    let other = case.ok("secret keygen --out bob").stdout;
    let recipient = key["recipient"].as_str().unwrap_or_else(|| panic!("{key}")).to_owned();
    let stack = |recipients: &str| {
        format!(
            "stead: 1\nstack: shop\nproject: {{ shop: {{}} }}\nvars: {{ token: {{ type: secret, generate: 32 }} }}\n\
             app:\n  web: {{ type: web, repo: acme/shop, branch: main, port: 8080, env_vars: {{ T: $vars.token }} }}\n\
             secrets: {{ recipients: [{recipients}] }}\n"
        )
    };
    let case = case.file("stead.yaml", stack(&recipient)).emulator();
    case.ok("apply --yes");
    let with_identity = |name: &str, args: &str| {
        let mut command = case.command(args);
        let run = Run::of(&command.env("STEAD_AGE_IDENTITY", case.path("ada")).output().unwrap());
        assert_eq!(run.code, 0, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        compare(name, &run.stdout);
    };
    with_identity("secret-get", "secret get --output json");
    with_identity("secret-get-value", "secret get vars.token --show --output json");
    with_identity("secret-rotate", "secret rotate vars.token --yes --output json");
    case.write("stead.yaml", stack(&format!("{recipient}, {}", other.trim())));
    with_identity("secret-rekey", "secret rekey --yes --output json");
}

#[test]
fn documents_of_many_units_keep_their_keys() {
    let net = "stead: 1\nstack: net\nenvironments: { dev: {}, prod: { vars: { cidr: 10.2.0.0/16 } } }\nvars: { cidr: { default: 10.1.0.0/16 } }\nvpc: { main: { name: \"main-${env}\", cidr: $vars.cidr } }\noutputs: { vpc: $vpc.main }\n";
    let app = "stead: 1\nstack: app\nstacks: { net: { source: ../net, env: prod } }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc } }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", net)
        .file("app/stead.yaml", app)
        .emulator();
    prints(&case, "stacks", 0, "stacks --output json");
    prints(&case, "validate-units", 0, "validate --all --output json");
    let plan = prints(&case, "units-plan", 0, "plan --all --output json").json();
    let expected = plan["fingerprint"].as_str().unwrap();
    prints(&case, "plan-units-events", 0, "plan --all -v --output ndjson");
    case.cloud().faults(&["POST /vpcs=403:2"]);
    let failed = format!("apply --all --expect {expected} --output ndjson");
    prints(&case, "apply-units-failed-events", 7, &failed);
    case.cloud().faults(&[]);
    prints(&case, "units-apply", 0, &format!("apply --all --expect {expected} --output json"));
    prints(&case, "units-drift", 0, "drift --all --output json");
    prints(&case, "ls-units", 0, "ls --all --output json");
    prints(&case, "output", 0, "-C net -e prod output --output json");
    prints(&case, "output-units", 0, "output --all -e prod --output json");
    prints(&case, "cost-units", 0, "cost --all --output json");
    case.edit("app/stead.yaml", "std-1c-1g", "std-2c-4g");
    case.ok("plan --all -o reviewed");
    case.edit("app/stead.yaml", "std-2c-4g", "cpu-4c-8g");
    case.ok("plan --all -o later");
    prints(&case, "plan-differences", 0, "show later --against reviewed --output json");
    let other = format!("apply --all --against reviewed --expect {} --output json", "0".repeat(64));
    prints(&case, "error-differences", 5, &other);
    case.edit("app/stead.yaml", "cpu-4c-8g", "std-1c-1g");
    let test =
        "test:\n  a network:\n    given: { env: prod }\n    plan: { create: [vpc.main, vpc.other] }\n";
    case.write("net/net.test.yaml", test);
    case.write("app/app.test.yaml", "test: [\n");
    prints(&case, "test-units", 1, "test --all --output json");
    case.write("bad/stead.yaml", "stead: 1\nstack: [\n");
    prints(&case, "fmt-units", 1, "fmt --all --check --output json");
    prints(&case, "error-configuration", 1, "-C bad plan --output json");
    std::fs::remove_dir_all(case.path("bad")).unwrap();
    prints(&case, "error", 64, "plan --all --stacks nope --output json");
    case.edit("app/stead.yaml", "vpc: $stacks.net.vpc", "vpc: $stacks.net.cidr");
    prints(&case, "validate-units-failed", 1, "validate --all --output json");
    prints(&case, "units-failed", 1, "plan --all --output json");
}

/// A run needs a database, so its documents are made from rows here.
#[test]
fn documents_of_runs_keep_their_keys() {
    let at = "2026-11-26T12:00:00Z".parse().unwrap();
    let listed = ListedRun {
        run: "4711".to_owned(),
        status: "running".to_owned(),
        started: at,
        ended: Some(at),
        fingerprint: "f".repeat(64),
        commit: Some("0123abc".to_owned()),
        waiting: 1,
        running: 2,
        done: 3,
        failed: 0,
        workers: 2,
    };
    compare("runs", &runs_document(&[listed]));
    let view = RunView {
        run: "4711".to_owned(),
        status: "ended".to_owned(),
        canceled: false,
        started: at,
        ended: Some(at),
        fingerprint: "f".repeat(64),
        commit: Some("0123abc".to_owned()),
        exit: Some(6),
        message: String::new(),
        units: vec![RunUnit {
            unit: "shop/prod".to_owned(),
            state: "partly".to_owned(),
            exit: Some(6),
            message: "it waits for net/prod, which was not applied".to_owned(),
            worker: Some("5f0c2b1e".to_owned()),
        }],
        workers: vec![RunWorker {
            worker: "5f0c2b1e".to_owned(),
            who: "ada@host".to_owned(),
            process: Some(71),
            state: "left".to_owned(),
            seen_seconds: 3,
        }],
        events: vec![RunEventRow { at, worker: "5f0c2b1e".to_owned(), event: "joined".to_owned() }],
    };
    compare("run-show", &run_document(&view));
}

/// Every schema belongs to at least one golden file, so that a new document is not forgotten here.
#[test]
fn every_schema_has_a_golden_document() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".schema.json").filter(|name| *name != "stack") else {
            continue;
        };
        let command = name.trim_end_matches("-event");
        let events = name != command;
        let golden =
            std::fs::read_dir(files::path("documents")).unwrap().map(|entry| entry.unwrap().file_name());
        let covers = |file: &str| file.starts_with(command) && file.contains("events") == events;
        assert!(golden.map(|file| file.into_string().unwrap()).any(|file| covers(&file)), "{name}");
    }
}

#[test]
fn every_event_of_the_schemas_is_in_a_golden_stream() {
    let mut seen = String::new();
    for entry in std::fs::read_dir(files::path("documents")).unwrap() {
        seen += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for schema in ["plan-event", "apply-event"] {
        let path = format!("{}/schemas/{schema}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let events = events_of(&serde_json::from_str(&text).unwrap());
        assert!(!events.is_empty(), "{schema}");
        for event in events {
            assert!(seen.contains(&format!("<{event}>: object")), "no golden stream has the event {event}");
        }
    }
}

/// Returns the names of the events in a schema.
fn events_of(schema: &Value) -> BTreeSet<String> {
    let own = schema.pointer("/properties/event/const").or_else(|| schema.pointer("/event/const"));
    let own = own.and_then(Value::as_str).map(str::to_owned);
    let below: Vec<&Value> = match schema {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    own.into_iter().chain(below.into_iter().flat_map(events_of)).collect()
}
