//! Removed units: stacks and environments that the repository has no longer, and whose ledgers still have objects.

use std::fs;

use serde_json::Value;

use crate::case::{Case, Run};
use crate::{moto, server};

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: { vars: { cidr: 10.40.0.0/16 } }, prod: {} }\nvars: { cidr: { default: 10.30.0.0/16 } }\nvpc: { main: { name: \"main-${env}\", cidr: $vars.cidr } }\noutputs: { vpc_id: $vpc.main }\n";
const APP: &str = "stead: 1\nstack: app\nenvironments: { dev: {}, prod: {} }\nstacks: { net: ../net }\nvm: { web: { name: \"web-${env}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\n";
const LOG: &str = "stead: 1\nstack: log\nvolume: { v: { size: 10 } }\n";
const GIT: &str = "[remote \"origin\"]\n\turl = git@github.com:acme/infra.git\n";

/// A repository whose ledgers are in one shared directory, or in those of the stacks.
struct Repository {
    case: Case,
    /// Backend of the ledgers; `None` for the directories of the stacks.
    backend: Option<String>,
}

impl Repository {
    fn new(is_shared: bool) -> Self {
        let repository = Self::with_backend(None);
        let backend = is_shared.then(|| format!("file:{}", repository.case.path("ledgers").display()));
        Self { backend, ..repository }
    }

    fn with_backend(backend: Option<String>) -> Self {
        let case = Case::new()
            .file("infra/.git/HEAD", "ref: refs/heads/main\n")
            .file("infra/.git/config", GIT)
            .file("infra/net/stead.yaml", NET)
            .file("infra/app/stead.yaml", APP)
            .file("infra/log/stead.yaml", LOG)
            .emulator();
        Self { case, backend }
    }

    fn exits_in(&self, directory: &str, code: i32, args: &str) -> Run {
        let mut command = self.case.command(args);
        command.current_dir(self.case.path(directory));
        if let Some(backend) = &self.backend {
            command.env("STEAD_BACKEND", backend);
        }
        if self.backend.as_ref().is_some_and(|backend| backend.starts_with("s3:")) {
            command
                .env("AWS_ENDPOINT_URL", moto::address())
                .env("AWS_ACCESS_KEY_ID", "test")
                .env("AWS_SECRET_ACCESS_KEY", "test")
                .env("AWS_REGION", "us-east-1");
        }
        let run = Run::of(&command.output().unwrap());
        assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    fn exits(&self, code: i32, args: &str) -> Run {
        self.exits_in("infra", code, args)
    }

    fn apply(&self, flags: &str) -> Run {
        let plan = self.exits(0, &format!("plan --all {flags} --output json")).json();
        self.exits(0, &format!("apply --all {flags} --expect {}", plan["fingerprint"].as_str().unwrap()))
    }

    fn names(&self) -> Vec<String> {
        let list = self.exits(0, "stacks --output json").json();
        let units = list["units"].as_array().unwrap().iter();
        let name = |unit: &Value, key: &str| unit[key].as_str().unwrap().to_owned();
        units.map(|unit| format!("{}/{}", name(unit, "stack"), name(unit, "environment"))).collect()
    }

    fn count(&self, collection: &str) -> usize {
        self.case.cloud().list(&format!("/api/v1/{collection}")).len()
    }
}

fn unit<'j>(document: &'j Value, name: &str) -> &'j Value {
    let (stack, environment) = name.split_once('/').unwrap();
    let units = document["units"].as_array().unwrap();
    let is_it = |unit: &&Value| unit["stack"] == stack && unit["environment"] == environment;
    units.iter().find(is_it).unwrap_or_else(|| panic!("no {name} in {document}"))
}

/// Checks that the commands which only read know the objects of removed units: two VMs and a network.
fn list_removed_units(repository: &Repository) {
    let list = repository.exits(0, "ls --all --output json").json();
    assert_eq!(list["summary"]["objects"], 5, "{list}");
    assert!(unit(&list, "app/dev")["directory"].is_null());
    let list = repository.exits(0, "ls --all -e dev --output json").json();
    assert_eq!(
        (list["summary"]["units"].as_u64(), list["summary"]["objects"].as_u64()),
        (Some(2), Some(2))
    );
    let cost = repository.exits(0, "cost --all --output json").json();
    assert!(unit(&cost, "app/prod")["directory"].is_null(), "{cost}");
    repository.exits(0, "cost --all --offline");
    let drift = repository.exits(0, "drift --all --output json").json();
    assert_eq!(unit(&drift, "app/prod")["status"], "unchanged", "{drift}");
    let run = repository.exits(0, "drift --all");
    run.says(&[
        "nothing unmanaged",
        "app/prod  not applied as configured: its stack or environment was removed",
    ]);
    // Also where the selection has none of them.
    repository.exits(0, "drift --all --stacks net/prod").says(&["nothing unmanaged"]);
}

/// Removes a stack and an environment, and checks each step until their objects are deleted.
fn remove_units(repository: &Repository) {
    repository.apply("");
    assert_eq!((repository.count("vpcs"), repository.count("vms"), repository.count("volumes")), (2, 2, 1));
    // The whole stack `app`, and one environment of `net`, on which it depends.
    fs::remove_file(repository.case.path("infra/app/stead.yaml")).unwrap();
    if repository.backend.is_some() {
        fs::remove_dir_all(repository.case.path("infra/app")).unwrap();
    }
    repository.case.edit(
        "infra/net/stead.yaml",
        "{ dev: { vars: { cidr: 10.40.0.0/16 } }, prod: {} }",
        "{ prod: {} }",
    );
    assert_eq!(repository.names(), ["app/dev", "app/prod", "log/default", "net/dev", "net/prod"]);
    let list = repository.exits(0, "stacks --output json").json();
    assert!(unit(&list, "app/dev")["directory"].is_null() && unit(&list, "net/dev")["directory"].is_null());
    assert_eq!(unit(&list, "net/prod")["directory"], "net");
    assert_eq!(repository.exits(0, "stacks --output matrix").json()["count"], 2);

    // Nothing deletes them without being told so.
    let last = repository.case.cloud().last();
    let plan = repository.exits(4, "plan --all --output json").json();
    for (name, text) in [("app/prod", "has no stack `app`"), ("net/dev", "has no environment `dev`")] {
        let removed = unit(&plan, name);
        assert_eq!(removed["status"], "blocked", "{removed}");
        assert!(removed["directory"].is_null());
        assert_eq!(removed["plan"]["blocks"][0]["code"], "removed_unit", "{removed}");
        assert!(removed["plan"]["blocks"][0]["text"].as_str().unwrap().contains(text), "{removed}");
        assert_eq!(removed["plan"]["changes"][0]["action"], "delete");
    }
    assert_eq!(unit(&plan, "net/prod")["status"], "unchanged");
    repository
        .exits(4, "apply --all -e prod --stacks app --yes")
        .says(&["-e prod plan --all --remove app/prod"]);
    assert_eq!(repository.case.cloud().mutations_since(last), Vec::<String>::new());

    // A selection has them if their names match; they are in no directory.
    for (flags, expected) in [
        ("-e prod", &["app/prod", "net/prod"][..]),
        ("--stacks */prod --stacks log", &["app/prod", "log/default", "net/prod"]),
        ("--stacks app --stacks net -e dev", &["app/dev", "net/dev"]),
    ] {
        let plan = repository.exits(4, &format!("plan --all {flags} --output json")).json();
        let count = plan["units"].as_array().unwrap().len();
        assert!(
            count == expected.len() && expected.iter().all(|name| unit(&plan, name)["plan"].is_object())
        );
    }
    for flags in ["--stacks ./log", "--stacks ./*", "--stacks net/prod"] {
        repository.exits(0, &format!("plan --all {flags} --exit-code"));
    }
    list_removed_units(repository);
    repository.exits(4, "plan --all --stacks app").says(&["app/dev", "removed_unit"]);
    repository.exits(64, "plan --all --remove app/prdo").says(&["app/prdo", "Did you mean `app/prod`?"]);
    repository.exits(64, "plan --all --remove net/prod").says(&["its stack is in `net`", "stead destroy"]);
    repository.exits(64, "plan --all --remove app").says(&["STACK/ENVIRONMENT"]);

    // The network of a removed environment is used by a VM of a removed stack, which stays.
    repository
        .exits(4, "plan --all --stacks net/dev --remove net/dev --stacks app/dev")
        .says(&["outside_reader", "which was removed from the repository"]);
    // A destroy of units that are there leaves a removed one as it is.
    repository.exits(4, "plan --all --destroy -e prod").says(&[
        "vm.web of app/prod, which was removed from the repository, uses",
        "Delete its objects first",
        "app/prod was removed from the repository, and keeps its objects.",
    ]);
    // An apply of the removal of what a removed unit uses names that one, too.
    let needs = "--stacks log --remove net/dev";
    repository.exits(4, &format!("plan --all {needs}")).says(&["app/dev", "Delete its objects, too"]);
    // Only what is named is deleted, readers first; a run that is repeated has nothing to do.
    let run = repository.apply("--stacks log --remove app/dev --remove net/dev");
    run.says(&["2 applied"]);
    let (first, second) = (run.stderr.find("app/dev destroyed"), run.stderr.rfind("net/dev "));
    assert!(first.is_some() && first < second, "{}", run.stderr);
    assert_eq!((repository.count("vpcs"), repository.count("vms")), (1, 1));
    assert_eq!(repository.names(), ["app/prod", "log/default", "net/prod"]);
    repository.exits(0, "plan --all --stacks log --remove app/dev --exit-code");
    repository.apply("--remove app/prod");
    assert_eq!((repository.count("vpcs"), repository.count("vms")), (1, 0));
    assert_eq!(repository.names(), ["log/default", "net/prod"]);
    repository.exits(0, "plan --all --exit-code");
}

#[test]
fn removed_units_of_a_shared_backend_are_deleted_only_by_name() {
    remove_units(&Repository::new(true));
}

#[test]
fn removed_units_with_ledgers_in_their_directories_are_deleted_only_by_name() {
    remove_units(&Repository::new(false));
}

#[test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
fn removed_units_in_postgres_are_deleted_only_by_name() {
    let server = server::Database::shared();
    remove_units(&Repository::with_backend(Some(server.database("cli_removed"))));
}

#[test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
fn removed_units_in_s3_are_deleted_only_by_name() {
    moto::bucket("cli-removed");
    remove_units(&Repository::with_backend(Some("s3://cli-removed/ledgers".to_owned())));
}

#[test]
fn ledgers_of_other_repositories_and_of_moved_stacks_are_never_touched() {
    let repository = Repository::new(true);
    repository.apply("");
    let case = &repository.case;
    // Another repository with the same backend has none of these stacks.
    case.write("other/.git/HEAD", "ref: refs/heads/main\n");
    case.write("other/.git/config", GIT.replace("infra", "other"));
    case.write("other/own/stead.yaml", LOG.replace("log", "own").replace("size:", "name: own, size:"));
    repository.exits_in("other", 2, "plan --all --exit-code").says(&["own/default", "1 with changes"]);
    repository
        .exits_in("other", 64, "plan --all --remove app/dev")
        .says(&["no removed unit has this name"]);
    // A stack that was moved to another directory is no removed unit.
    fs::rename(case.path("infra/log"), case.path("infra/logs")).unwrap();
    repository.exits(0, "plan --all --exit-code");
    assert_eq!(repository.names().len(), 5);
    // A stack whose files are broken may be the one of the ledger.
    case.write("infra/logs/stead.yaml", "stead: 1\nstack: [\n");
    let run = repository.exits(1, "stacks --output json");
    assert!(!run.stdout.contains("\"log\""), "{}", run.stdout);
    fs::rename(case.path("infra/logs"), case.path("infra/log")).unwrap();
    repository
        .exits(1, "plan --all")
        .says(&["Whether log/default is a unit that was removed is not known"]);
    // Without a remote, the ledger may be that of another repository.
    fs::remove_dir_all(case.path("infra/log")).unwrap();
    case.write("infra/.git/config", "");
    repository
        .exits(0, "stacks")
        .says(&["log/default is a unit that was removed is not known", "STEAD_ORIGIN"]);
    assert_eq!(repository.count("volumes"), 1);
}

#[test]
fn protection_holds_for_a_removed_unit_and_a_saved_set_removes_one() {
    let repository = Repository::new(true);
    let case = &repository.case;
    case.edit("infra/log/stead.yaml", "size: 10", "size: 10, lifecycle: { protect: true }");
    repository.apply("");
    let log = fs::read(case.path("infra/log/stead.yaml")).unwrap();
    fs::remove_dir_all(case.path("infra/log")).unwrap();
    repository.exits(4, "plan --all --remove log/default").says(&["volume.v is protected"]);
    // The remedy: the block is written again without protection, and removed then.
    case.write("infra/log/stead.yaml", log);
    case.edit("infra/log/stead.yaml", "protect: true", "protect: false");
    repository.apply("--stacks log");
    fs::remove_dir_all(case.path("infra/log")).unwrap();
    let run = repository.exits(0, "plan --all -o plans --remove log/default");
    run.says(&["volume.v", "delete"]);
    repository.exits(0, "apply plans").says(&["1 applied"]);
    assert_eq!(repository.count("volumes"), 0);
    repository.exits(0, "apply plans");
}

#[test]
fn a_backend_that_cannot_list_its_ledgers_says_so() {
    let repository = Repository::new(false);
    let mut command = repository.case.command("stacks");
    command
        .current_dir(repository.case.path("infra"))
        .env("STEAD_BACKEND", "http://127.0.0.1:9/{stack}/{env}");
    Run::of(&command.output().unwrap()).says(&["net/dev", "cannot list its ledgers"]);
}

/// Returns the commands of the remedies in an output, each on one line.
fn move_commands(document: &Value) -> Vec<String> {
    let units = document["units"].as_array().unwrap().iter();
    let blocks = units.flat_map(|unit| unit["plan"]["blocks"].as_array().unwrap());
    let misplaced = blocks.filter(|block| block["code"] == "ledger_place");
    let help = misplaced.map(|block| block["help"].as_str().unwrap());
    help.map(|help| help.strip_prefix("Move the ledger: ").unwrap().to_owned()).collect()
}

#[test]
fn a_renamed_directory_whose_ledger_stayed_creates_nothing_twice() {
    let repository = Repository::new(false);
    repository.apply("");
    // As git does it, which ignores the ledgers.
    for (from, to) in [("log", "logs"), ("app", "apps")] {
        fs::create_dir(repository.case.path(&format!("infra/{to}"))).unwrap();
        let file = |name: &str| repository.case.path(&format!("infra/{name}/stead.yaml"));
        fs::rename(file(from), file(to)).unwrap();
    }
    let run_moves = |commands: &[String]| {
        for command in commands {
            let mut shell = std::process::Command::new("sh");
            let status = shell.args(["-ec", command]).current_dir(repository.case.path("infra")).status();
            assert!(status.unwrap().success(), "{command}");
        }
    };
    let last = repository.case.cloud().last();
    let plan = repository.exits(4, "plan --all --output json").json();
    let commands = move_commands(&plan);
    assert_eq!(commands.len(), 3, "{commands:?}");
    let mv = "mkdir -p logs/.stead/ledger && mv log/.stead/ledger/default logs/.stead/ledger/default";
    assert!(commands.iter().any(|command| command == mv), "{commands:?}");
    repository.exits(4, "plan --all --stacks log").says(&["ledger_place", "in `log`"]);
    for args in ["-C logs plan", "-C logs apply --yes", "-C apps -e dev plan"] {
        repository.exits(4, args).says(&["ledger_place", "Move the ledger: "]);
    }
    repository.exits(4, "apply --all --stacks log --yes");
    assert_eq!(repository.case.cloud().mutations_since(last), Vec::<String>::new());
    // The apply has made an empty ledger, which is in the way.
    let commands = move_commands(&repository.exits(4, "plan --all --output json").json());
    assert!(commands.iter().any(|command| command.starts_with("rm -r logs/")), "{commands:?}");
    run_moves(&commands);
    repository.exits(0, "plan --all --exit-code");
    repository.exits(0, "-C logs plan --exit-code");
    assert_eq!((repository.count("vms"), repository.count("volumes")), (2, 1));
}
