//! Properties of every command: output formats, exit codes, help, completion.

use serde_json::{Value, json};

use crate::case::Case;

/// Returns a stack that is applied to the embedded emulator.
fn applied() -> Case {
    let case = Case::example("minimal");
    case.ok("apply --cloud local --yes");
    case
}

#[test]
fn piped_output_is_not_truncated_to_a_width() {
    let case = applied();
    let run = case.ok("ls -o wide --cloud local");
    let (head, rows) = run.stdout.split_once('\n').unwrap();
    assert!(head.ends_with("CREATED_AT"), "{head}");
    for row in rows.lines() {
        assert!(row.len() > 100 && row.ends_with('Z'), "{row}");
    }
    for args in ["history --cloud local", "state list -v --cloud local", "catalog vm --cloud local"] {
        let mut command = case.command(args);
        let narrow = command.env("COLUMNS", "40").output().unwrap().stdout;
        assert_eq!(String::from_utf8(narrow).unwrap(), case.ok(args).stdout, "{args}");
    }
}

/// Each command that ends without input, with its exit code on an applied stack.
const COMMANDS: &[(i32, &str)] = &[
    (64, "runs"),
    (0, "validate"),
    (0, "fmt --check"),
    (0, "convert stead.yaml"),
    (0, "render"),
    (0, "eval env"),
    (0, "explain"),
    (0, "explain vm.plan"),
    (0, "docs"),
    (0, "docs plan"),
    (0, "docs rename a resource"),
    (0, "explain R0301 --web"),
    (0, "graph"),
    (0, "why vm.web"),
    (0, "plan --cloud local"),
    (0, "plan --cloud local --exit-code"),
    (0, "apply --cloud local --yes"),
    (0, "drift --cloud local --exit-code"),
    (0, "import --all --observe --cloud local"),
    (0, "ls --cloud local"),
    (0, "ls --unmanaged --cloud local"),
    (0, "output --cloud local"),
    (0, "output --all --cloud local"),
    (0, "get vm.web --cloud local"),
    (0, "resolve --cloud local"),
    (0, "catalog"),
    (0, "cost --cloud local"),
    (0, "cost --offline"),
    (0, "catalog vm --cloud local"),
    (0, "catalog update --check --cloud local"),
    (0, "do engines --cloud local"),
    (0, "history --cloud local"),
    (0, "history show 1 --cloud local"),
    (0, "lock status --cloud local"),
    (0, "state list --cloud local"),
    (0, "state verify --cloud local"),
    (0, "version"),
    (0, "stacks"),
    (0, "validate --all"),
    (0, "fmt --all --check"),
    (0, "plan --all --cloud local"),
    (0, "drift --all --cloud local --exit-code"),
    (0, "ls --all --cloud local"),
    (0, "cost --all --cloud local"),
    (0, "cost --all --offline"),
    (1, "test --all"),
];

#[test]
fn every_command_has_json_and_ndjson_output_or_documents_that_it_has_none() {
    let case = applied();
    for (code, args) in COMMANDS {
        let run = case.fails(*code, &format!("{args} --output json"));
        let document = run.json();
        // An apply without a plan file tells its outcome as an event.
        let named = document["schema_version"] == json!(1) || document["event"] == json!("outcome");
        assert!(named, "{args}: {document}");
        let run = case.fails(*code, &format!("{args} --output ndjson"));
        assert!(!run.stdout.is_empty(), "{args}");
        for line in run.stdout.lines() {
            let read: Result<Value, _> = serde_json::from_str(line);
            assert!(read.is_ok_and(|value| value.is_object()), "{args}: {line}");
        }
    }
    let fresh = Case::new()
        .file("stead.yaml", "stead: 1\nstack: s\nvpc: { main: { cidr: 10.0.0.0/16 } }\n")
        .emulator();
    fresh.ok("apply --yes");
    let id = fresh.cloud().list("/api/v1/vpcs")[0]["id"].as_str().unwrap().to_owned();
    let taker = Case::new()
        .file("stead.yaml", "stead: 1\nstack: t\nvpc: { net: { cidr: 10.0.0.0/16, name: main } }\n");
    let mut command = taker.command(&format!("import vpc.net {id} --observe --output json"));
    let cloud = fresh.cloud();
    let output =
        command.env("STEAD_API_URL", &cloud.url).env("STEAD_API_KEY", &cloud.key).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["address"], &document["id"]), (&json!("vpc.net"), &json!(id)));
    for args in ["completions bash", "schema stack"] {
        case.fails(64, &format!("{args} --output json")).says(&["takes no --output"]);
        let mut command = case.command(args);
        assert!(command.env("STEAD_OUTPUT", "json").output().unwrap().status.success(), "{args}");
    }
    case.fails(64, "graph --format svg --output json").says(&["exclude each other"]);
    let run = case.ok("init --template minimal other --output json").json();
    assert!(run["files"].as_array().unwrap().iter().any(|file| file == "other/stead.yaml"), "{run}");
}

#[test]
fn quiet_prints_results_and_warnings() {
    let case = applied();
    assert!(case.ok("plan -q --cloud local").stdout.contains("No changes"));
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    let (loud, quiet) = (case.ok("plan --cloud local"), case.ok("plan -q --cloud local"));
    assert!(loud.stderr.contains("next:") && !quiet.all().contains("next:"), "{}", quiet.all());
    assert!(quiet.stdout.contains("REPLACE") && quiet.stdout.contains("fingerprint"), "{}", quiet.stdout);
    let case = Case::new()
        .file("stead.yaml", "stead: 1\nstack: s\nvars: { key: { type: secret, default: hunter2 } }\n");
    case.ok("validate -q").says(&["S0255"]);
}

#[test]
fn an_unknown_address_gets_the_same_error_in_every_command() {
    let case = applied();
    let answer = "no resource vm.wbe in this stack; did you mean vm.web?";
    for args in [
        "get vm.wbe --cloud local",
        "why vm.wbe",
        "graph --focus vm.wbe",
        "plan --target vm.wbe --cloud local",
        "plan --exclude vm.wbe --cloud local",
        "plan --replace vm.wbe --cloud local",
        "apply --target vm.wbe --yes --cloud local",
        "destroy --target vm.wbe --yes --confirm minimal --cloud local",
        "do reboot vm.wbe --yes --cloud local",
        "resolve vm.wbe --cloud local",
        "mv vm.wbe vm.other --yes",
        "rm vm.wbe --keep --yes",
    ] {
        case.fails(64, args).says(&[answer]);
    }
    case.fails(64, "render --why vm.wbe").says(&["vm.wbe in this stack; did you mean vm.web?"]);
    let fresh = Case::example("minimal");
    fresh.fails(1, "get vm.web --cloud local").says(&["vm.web owns no object yet"]);
}

#[test]
fn exit_codes_match_the_readme() {
    let case = applied();
    for (code, args) in COMMANDS {
        case.fails(*code, args);
    }
    case.edit("stead.yaml", "ubuntu-24.04", "debian-12");
    let broken = Case::new().file("stead.yaml", "stead: 1\nstack: s\nvms: {}\n");
    let empty = Case::new();
    let table = [
        (&case, 2, "plan --cloud local --exit-code"),
        (&case, 4, "apply --cloud local --yes=create"),
        (&case, 64, "do reboot vm.web --cloud local"),
        (&case, 64, "apply --cloud local --no-input"),
        (&case, 5, &format!("apply --cloud local --expect {}", "0".repeat(64))),
        (&case, 5, &format!("apply --cloud local --expect {} --yes", "0".repeat(64))),
        (&case, 64, "apply --cloud local --expect 0000-0000"),
        (&case, 64, "plan --nope"),
        (&case, 64, "plan -e nowhere --output yaml"),
        (&case, 64, "do"),
        (&case, 64, "lock"),
        (&case, 64, ""),
        (&case, 0, "help"),
        (&case, 0, "help do reboot"),
        (&case, 1, "history show 9 --cloud local"),
        (&case, 64, "ls --kind nope --cloud local"),
        (&case, 64, "catalog nope --cloud local"),
        (&case, 64, "explain nope"),
        (&case, 64, "whoami --cloud local"),
        (&case, 1, "show none.plan"),
        (&case, 1, "validate -e nowhere"),
        (&broken, 1, "validate"),
        (&broken, 1, "plan --cloud local"),
        (&broken, 1, "graph"),
        (&empty, 1, "validate"),
        (&empty, 1, "plan --cloud local"),
        (&empty, 1, "ls --cloud local"),
        (&empty, 1, "fmt"),
        (&empty, 1, "test"),
        (&empty, 1, "convert none.yaml"),
    ];
    for (case, code, args) in table {
        let run = case.fails(code, args);
        assert!(code == 0 || code == 2 || !run.all().trim().is_empty(), "{args}");
    }
}

#[test]
fn diagnostics_are_printed_before_the_next_step() {
    let case = Case::new().file("stead.yaml", "stead: 1\nstack: s\nvpc: { main: { cdir: 10.0.0.0/16 } }\n");
    let run = case.fails(1, "validate");
    run.says(&["S0220", "1 error", "next: stead validate --fix"]);
    assert_eq!(run.all().matches("1 error").count(), 1, "{}", run.all());
}

#[test]
fn verbose_output_has_more_detail() {
    let case = Case::example("minimal");
    let lines = |args: &str| case.ok(args).stdout.lines().count();
    let (plain, more, most) =
        (lines("plan --cloud local"), lines("plan --cloud local -v"), lines("plan --cloud local -vv"));
    assert!(plain < more && more < most, "{plain} {more} {most}");
    case.ok("plan --cloud local -v").says(&["STEPS", "create vm.web", "POST /api/v1/vms", "after"]);
    case.ok("plan --cloud local -vv").says(&["at most", "BASE", "requests", "ledger"]);
    case.ok("apply --cloud local --yes");
    case.ok("plan --cloud local -v").says(&["live object", "No changes"]);
}

#[test]
fn the_format_of_another_tool_is_detected_by_its_content() {
    let case = Case::new()
        .file("docker-compose.yml", "services:\n  web: { image: nginx, ports: ['8080:80'] }\n")
        .file("render.yaml", "services:\n  - { type: web, name: shop, image: { url: nginx } }\n")
        .file("app.yaml", "name: shop\nservices:\n  - { name: web, image: { repository: nginx } }\n");
    for (file, what) in
        [("docker-compose.yml", "compose"), ("render.yaml", "render"), ("app.yaml", "app-spec")]
    {
        let run = case.ok(&format!("convert {file}"));
        assert!(run.stderr.contains(&format!("--from {what}")), "{file}: {}", run.stderr);
        assert_eq!(run.stdout, case.ok(&format!("convert --from {what} {file}")).stdout);
    }
    let run = case.ok("convert docker-compose.yml -o stead.yaml --output json").json();
    assert_eq!(run["file"], "stead.yaml");
    assert!(run["notes"].is_array());
}

#[test]
fn shells_complete_what_each_position_accepts() {
    let case = Case::example("shop");
    let offers = |at: usize, words: &str| {
        let run = case.ok(&format!("__complete {at} stead {words}"));
        run.stdout.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let table = [
        (1, "pl", "plan"),
        (2, "do rebo", "reboot"),
        (3, "do reboot vm", "vm.web.a"),
        (2, "get data", "database.main"),
        (3, "plan --target vm.", "vm.web.a"),
        (2, "-e st", "staging"),
        (2, "explain lifec", "lifecycle"),
        (2, "explain R03", "R0301"),
        (2, "catalog kub", "kubernetes"),
        (3, "ls --kind vol", "volume"),
        (2, "plan --exit", "--exit-code"),
        (2, "apply pro", ":files"),
    ];
    for (at, words, wanted) in table {
        let offered = offers(at, words);
        assert!(offered.iter().any(|word| word == wanted), "{words}: {offered:?}");
    }
    assert!(offers(3, "do reboot data").is_empty(), "a database is not rebooted by this");
    case.write("shop.stead.yaml", "stead: 1\nstack: s\nvm: { web: {} }\nenvironments: { prod: {} }\n");
    assert_eq!(offers(2, "get v"), ["vm.web"], "a stack that does not hold together");
    for shell in ["bash", "zsh", "fish"] {
        case.ok(&format!("completions {shell}")).says(&["__complete"]);
    }
    case.ok("completions powershell").says(&["stead"]);
}

#[test]
fn every_action_takes_yes() {
    let case = applied();
    case.ok("do engines --yes --cloud local");
    let written = Case::example("minimal");
    written.edit("stead.yaml", "template:", "power: on\n    template:");
    written.ok("apply --cloud local --yes");
    written.ok("do stop vm.web --yes --cloud local").says(&["power of vm.web is managed"]);
}

#[test]
fn a_volume_claimed_by_a_cluster_is_not_unmanaged() {
    let stack = "stead: 1\nstack: s\ncluster: { jobs: { version: \"1.31\", node_pools: { a: { plan: std-2c-4g, node_count: 2 } } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let cloud = case.cloud();
    let cluster = cloud.list("/api/v1/k8s/clusters")[0]["id"].as_str().unwrap().to_owned();
    cloud.mutate("cluster", &cluster, &json!({ "claims": { "data-0": 20 } }));
    let volume = cloud.list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    let rows = case.ok("ls --unmanaged --output json").json();
    let rows = rows["unmanaged"].as_array().unwrap();
    let row = rows.iter().find(|row| row["kind"] == "volume").unwrap();
    assert_eq!((&row["id"], &row["belongs_to"]), (&json!(volume), &json!("cluster.jobs")));
    let drift = case.ok("drift --output json").json();
    assert_eq!(drift["unmanaged"], json!([]), "{drift}");
    case.fails(1, &format!("import volume.data {volume} --yes")).says(&["belongs to the cluster jobs"]);
    let all = case.ok("import --all --yes --output json").json();
    assert!(!all.to_string().contains("volume.data"), "{all}");
    let left = case.ok("import --all --observe");
    left.says(&["left out volume", "belongs to the cluster jobs: a workload there claimed it"]);
    assert!(!case.ok("ls").stdout.contains("volume"), "it is not managed");
}

#[test]
fn imported_configuration_is_idiomatic() {
    let case = Case::new().emulator_with(&["--seed", "objects=60"]);
    std::fs::create_dir(case.path("stack")).unwrap();
    case.ok("-C stack import --all --yes");
    let read =
        |kind: &str| std::fs::read_to_string(case.path(&format!("stack/{kind}.stead.yaml"))).unwrap();
    let schedules = read("backup_schedule");
    assert!(schedules.contains("  machine-0-daily:\n    vm: $vm.machine-0\n"), "{schedules}");
    let (apps, clusters) = (read("app"), read("cluster"));
    for usual in ["cron_", "port: 8080", "instances: 1", "app-xs"] {
        assert!(!apps.contains(usual), "{usual}: {apps}");
    }
    assert!(!clusters.contains("maintenance"), "{clusters}");
    assert!(!read("database").contains("storage_gb"), "it is what the plans bring along");
    case.ok("-C stack plan").says(&["No changes"]);
}

#[test]
fn imported_configuration_keeps_secrets_out_and_lists_plaintext_values() {
    let case = Case::new().emulator_with(&["--seed", "shop"]);
    for directory in ["stack", "other"] {
        std::fs::create_dir(case.path(directory)).unwrap();
    }
    let hidden = case.ok("-C other import --all --observe --secret *");
    hidden.says(&["APP_ENV: $vars.app_env"]);
    assert!(!hidden.stdout.contains("in clear"), "{}", hidden.stdout);
    let json = case.ok("-C other import --all --observe --output json").json();
    assert_eq!(json["in_clear"][0]["key"], "APP_ENV", "{json}");
    let told = case.ok("-C other import --all --observe --secret AP_ENV --secret SESSION_KEY");
    told.says(&["--secret AP_ENV  no imported object", "did you mean APP_ENV?"]);
    assert!(!told.stdout.contains("--secret SESSION_KEY"), "{}", told.stdout);
    let told = case.ok("-C stack import --all --yes --secrets-to secrets.yaml");
    told.says(&["The secrets are in secrets.yaml", "next: stead -C stack --var-file secrets.yaml plan"]);
    let kept = std::fs::metadata(case.path("secrets.yaml")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&kept.permissions()) & 0o777, 0o600);
    case.ok("-C stack --var-file secrets.yaml plan").says(&["No changes"]);
    case.fails(1, "-C other import --all --yes --secrets-to secrets.yaml").says(&["exists already"]);
    assert!(
        std::fs::read_dir(case.path("other")).unwrap().all(|found| found.unwrap().file_name() == ".stead")
    );
    told.says(&["app.web.env_vars.SESSION_KEY, app.worker.env_vars.SESSION_KEY are one variable now"]);
    told.says(&["STEAD_VAR_SESSION_KEY", "in clear app.web.env_vars  APP_ENV", "--secret APP_ENV"]);
    let read = |name: &str| std::fs::read_to_string(case.path(&format!("stack/{name}.yaml"))).unwrap();
    let (apps, head) = (read("app.stead"), read("stead"));
    // One secret of two apps is one variable, and what says one thing is a list.
    assert_eq!(apps.matches("SESSION_KEY: $vars.session_key\n").count(), 2, "{apps}");
    assert_eq!(head.matches("type: secret").count(), 2, "{head}");
    assert_eq!(apps.matches("databases: [$database.main]\n").count(), 2, "{apps}");
    assert!(apps.contains("domains: [staging.shop.example.com]\n"), "{apps}");
}

#[test]
fn objects_that_expire_are_imported_only_by_name() {
    let case = Case::new().emulator_with(&["--seed", "shop"]);
    std::fs::create_dir(case.path("stack")).unwrap();
    // Two days later the schedule has made a backup, which goes when its time is over.
    case.cloud().control("POST", "/_emulator/clock", &json!({ "advance_seconds": 172_800 }));
    let backups = case.cloud().list("/api/v1/backups");
    let id = backups[0]["id"].as_str().unwrap();
    case.ok("-C stack import --all --observe")
        .says(&["left out backup:", "The service deletes it when it expires"]);
    let named = case.ok(&format!("-C stack import backup.kept {id} --observe"));
    assert!(named.stdout.contains("backup:"), "{}", named.stdout);
}
