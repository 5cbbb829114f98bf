//! Many stacks of one repository: units, one plan, one apply.

use serde_json::Value;

use crate::case::{Case, Run};

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: { vars: { cidr: 10.40.0.0/16 } }, prod: {} }\nvars: { cidr: { default: 10.30.0.0/16 } }\nvpc: { main: { name: \"main-${env}\", cidr: $vars.cidr } }\noutputs: { vpc_id: $vpc.main, cidr: $vpc.main.cidr }\n";
const APP: &str = "stead: 1\nstack: app\nenvironments: { dev: {}, prod: {} }\nstacks: { net: ../net }\nvm: { web: { name: \"web-${env}\", template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\noutputs: { where: \"in ${stacks.net.cidr}\" }\n";
const LOG: &str = "stead: 1\nstack: log\nstacks: { app: { source: ../app, env: prod } }\nvolume: { v: { size: 10 } }\noutputs: { note: $stacks.app.where }\n";

/// Returns a repository with three stacks and five units, in three waves.
fn repository() -> Case {
    Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
        .file("log/stead.yaml", LOG)
}

fn unit<'j>(document: &'j Value, stack: &str, environment: &str) -> &'j Value {
    let units = document["units"].as_array().unwrap();
    let is_it = |unit: &&Value| unit["stack"] == stack && unit["environment"] == environment;
    units.iter().find(is_it).unwrap_or_else(|| panic!("no {stack}/{environment} in {document}"))
}

/// Applies the units by the fingerprint of their plan.
fn apply(case: &Case, flags: &str) -> Run {
    let plan = case.ok(&format!("plan --all {flags} --output json")).json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    case.ok(&format!("apply --all {flags} --expect {fingerprint}"))
}

#[test]
fn units_are_listed_by_wave_and_selected() {
    let case = repository();
    let list = case.ok("stacks --output json").json();
    let named = |list: &Value| -> Vec<String> {
        let units = list["units"].as_array().unwrap().iter();
        units
            .map(|unit| {
                format!(
                    "{}/{} {}",
                    unit["stack"].as_str().unwrap(),
                    unit["environment"].as_str().unwrap(),
                    unit["wave"]
                )
            })
            .collect()
    };
    assert_eq!(named(&list), ["net/dev 0", "net/prod 0", "app/dev 1", "app/prod 1", "log/default 2"]);
    assert_eq!(unit(&list, "app", "prod")["upstream"], serde_json::json!(["net/prod"]));
    case.ok("stacks -e prod").says(&["net/prod", "1 stack without environments left out"]);
    assert_eq!(named(&case.ok("stacks --stacks ./net --output json").json()), ["net/dev 0", "net/prod 0"]);
    let readers = case.ok("stacks --stacks net/prod --with-dependents --output json").json();
    assert_eq!(named(&readers), ["net/prod 0", "app/prod 1", "log/default 2"]);
    case.fails(64, "stacks --stacks nett").says(&["`nett` matches no unit", "Did you mean `net`?"]);
    case.fails(64, "plan --all -e prd --cloud local")
        .says(&["no stack has the environment `prd`", "`prod`"]);
    // The root is found from a directory inside of it.
    case.ok("stacks -C app --stacks app/dev").says(&["app/dev"]);
}

#[test]
fn units_are_written_as_a_matrix_and_drawn() {
    let case = repository();
    let run = case.ok("stacks --stacks app --output matrix");
    assert_eq!(run.stdout.lines().count(), 1, "a job's output is one line: {}", run.stdout);
    let matrix = run.json();
    assert_eq!(matrix["count"], 2);
    let entry =
        serde_json::json!({ "name": "app/dev", "units": ["app/dev"], "flags": "--stacks 'app/dev'" });
    assert_eq!(matrix["include"][0], entry);
    case.ok("stacks --stacks app/dev --stacks app/prod").says(&["app/dev", "app/prod"]);
    case.fails(64, "validate --all --output matrix").says(&["only `stead stacks`"]);
    let tree = case.ok("stacks --graph tree").stdout.replace("`- ", "└─ ").replace("|- ", "├─ ");
    assert_eq!(tree, "app/dev\n└─ net/dev\nlog/default\n└─ app/prod\n   └─ net/prod\n");
    // Each unit of a cycle is drawn, although all are read.
    let cycle = Case::new().file(".git/HEAD", "");
    for (own, other) in [("a", "b"), ("b", "a")] {
        let text = format!(
            "stead: 1\nstack: {own}\nstacks: {{ x: ../{other} }}\nlocals: {{ x: $stacks.x.o }}\noutputs: {{ o: 1 }}\n"
        );
        cycle.write(&format!("{own}/stead.yaml"), text);
    }
    let tree = cycle.fails(1, "stacks --graph tree").stdout;
    assert_eq!(
        tree.replace("`- ", "└─ ").replace("...", "…"),
        "a/default\n└─ b/default\n   └─ a/default …\n"
    );
    let mermaid = case.ok("stacks --graph mermaid").stdout;
    for line in ["flowchart LR", "  n0[\"net/dev\"]", "  n0 --> n2", "  n1 --> n3", "  n3 --> n4"] {
        assert!(mermaid.lines().any(|found| found == line), "{line}\n{mermaid}");
    }
    // A unit that is read but not selected is drawn as an outside one.
    let dot = case.ok("stacks --stacks log --graph dot").stdout;
    for line in
        ["  \"log/default\";", "  \"app/prod\" [style=dashed];", "  \"app/prod\" -> \"log/default\";"]
    {
        assert!(dot.lines().any(|found| found == line), "{line}\n{dot}");
    }
    let image = case.ok("stacks --graph svg").stdout;
    assert!(image.starts_with("<svg ") && image.ends_with("</svg>\n"), "{image}");
    assert_eq!(image.matches("<rect ").count(), 5, "{image}");
    assert_eq!(image.matches("<path ").count(), 3, "{image}");
    case.fails(64, "stacks --graph dot --output json").says(&["exclude each other"]);
}

#[test]
fn problems_between_stacks_are_found_offline() {
    let case = repository();
    case.ok("validate --all").says(&["5 units of 3 stacks are valid"]);
    case.edit("app/stead.yaml", "$stacks.net.vpc_id", "$stacks.net.vpcid");
    case.fails(1, "validate --all").says(&[
        "S0325",
        "app/stead.yaml:5:",
        "did you mean `$stacks.net.vpc_id`?",
    ]);
    case.edit("app/stead.yaml", "$stacks.net.vpcid", "$stacks.net.vpc_id");
    case.edit("net/stead.yaml", "vpc_id: $vpc.main,", "vpc_id: $ssh_key.ops,");
    case.write("net/key.stead.yaml", "ssh_key: { ops: { public_key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGGYP5EXrhNPjZBZDhXvUcBbRLj3g3XvbVVZYF2iEcZS ops\" } }\n");
    case.fails(1, "validate --all").says(&[
        "S0325",
        "wrong type",
        "the id of ssh_key.ops",
        "net/stead.yaml:6",
    ]);
    case.edit("net/stead.yaml", "vpc_id: $ssh_key.ops,", "vpc_id: $vpc.main,");
    case.edit("log/stead.yaml", "env: prod", "env: prd");
    case.fails(1, "validate --all").says(&["S0326", "did you mean `env: prod`?"]);
    case.edit("log/stead.yaml", "env: prd", "env: prod");
    case.edit("net/stead.yaml", "outputs:", "stacks: { app: ../app }\noutputs:");
    case.fails(1, "validate --all").says(&[
        "S0324",
        "net/dev reads app/dev (net/stead.yaml:6)",
        "(app/stead.yaml:4)",
    ]);
    case.edit("net/stead.yaml", "stacks: { app: ../app }\n", "");
    case.write("old/stead.yaml", NET);
    case.fails(1, "validate --all").says(&["S0323", "`net`", "also declared in `old`"]);
    // Neither of the two is planned: each would delete the objects of the other.
    case.fails(1, "plan --all --stacks net/* --cloud local").says(&["S0323"]);
    std::fs::remove_dir_all(case.path("old")).unwrap();
    case.write("bad/stead.yaml", "stead: 1\nstack: [\n");
    case.fails(1, "validate --all").says(&["bad/stead.yaml"]);
    case.write("bad/stead.yaml", "vars: { a: {} }\n");
    case.ok("validate --all").says(&["5 units of 3 stacks are valid"]);
    case.fails(64, "validate --all --var nothing=1").says(&["no stack declares it"]);
    let checked = case.ok("validate --all --output json").json();
    assert_eq!(unit(&checked, "net", "prod")["resources"], 2);
}

#[test]
fn an_output_of_the_wrong_type_is_found_offline_wherever_it_is_used() {
    let net = "stead: 1\nstack: net\nvpc: { main: { cidr: 10.1.0.0/16 } }\noutputs:\n  list: [a, b]\n  ids: [$vpc.main]\n  map: { a: b }\n  count: 3\n  nothing: null\n  text: hello\n  vpc: $vpc.main\n  cidr: $vpc.main.cidr\n";
    let case = Case::new().file(".git/HEAD", "").file("net/stead.yaml", net);
    let app = |env: &str| {
        format!(
            "stead: 1\nstack: app\nstacks: {{ net: ../net }}\napp:\n  web:\n    type: web\n    name: web\n    repo: acme/web\n    branch: main\n    port: 80\n    env_vars:\n      A: {env}\n"
        )
    };
    for (value, said) in [
        ("$stacks.net.list", "It takes a text, and this is a list"),
        ("$stacks.net.ids", "It takes a text, and this is a list"),
        ("\"in ${stacks.net.list}\"", "The output is a list, which cannot be inserted into a text"),
        ("\"in ${stacks.net.ids}\"", "The output is a list, which cannot be inserted into a text"),
        ("\"in ${stacks.net.map}\"", "The output is a map, which cannot be inserted into a text"),
        ("\"in ${stacks.net.nothing}\"", "The output is null, which cannot be inserted into a text"),
        ("\"${stacks.net.count + 'x'}\"", "`+` does not work on a whole number and a text"),
    ] {
        case.write("app/stead.yaml", app(value));
        case.fails(1, "validate --all").says(&[said, "app/stead.yaml:12:"]);
    }
    for value in [
        "$stacks.net.count",
        "$stacks.net.vpc",
        "\"${stacks.net.count} ${stacks.net.text} ${stacks.net.vpc}\"",
    ] {
        case.write("app/stead.yaml", app(value));
        case.ok("validate --all");
    }
    for (block, said) in [
        (
            "database: { x: { engine: postgres, plan: p, public_allowlist: [10.0.0.0/8, $stacks.net.list] } }",
            "this is a list",
        ),
        (
            "database: { x: { engine: postgres, plan: p, public_allowlist: [10.0.0.0/8, $stacks.net.text] } }",
            "this is `hello`",
        ),
        ("vm: { v: { template: t, plan: p, ssh_keys: [$stacks.net.vpc] } }", "the id of vpc.main, a vpc"),
        ("vm: { v: { template: t, plan: p, ssh_keys: [$stacks.net.count] } }", "this is a whole number"),
        ("vm: { v: { template: t, plan: p, vpc: $stacks.net.list } }", "this is a list"),
        ("volume: { v: { size: \"1${stacks.net.count}\" } }", "this is a text"),
        ("volume: { v: { size: 20, project: $stacks.net.vpc } }", "the id of vpc.main, a vpc"),
        ("outputs: { x: \"in ${stacks.net.list}\" }", "cannot be inserted into a text"),
    ] {
        case.write("app/stead.yaml", format!("stead: 1\nstack: app\nstacks: {{ net: ../net }}\n{block}\n"));
        // The project of a block has no place of its own.
        let is_project = block.contains("project:");
        let value = block.find('"').or(block.find("$stacks"));
        let column = if is_project { block.find("v:") } else { value }.unwrap() + 1;
        case.fails(1, "validate --all").says(&[said, &format!("app/stead.yaml:4:{column}]")]);
    }
}

#[test]
fn a_secret_output_is_not_read_by_another_stack() {
    let case = repository();
    case.edit("net/stead.yaml", "\nvars: {", "\nvars: { token: { type: secret, default: canary-88 },");
    case.edit("net/stead.yaml", "outputs: {", "outputs: { token: $vars.token,");
    case.edit("app/stead.yaml", "in ${stacks.net.cidr}", "in ${stacks.net.token}");
    let run = case.fails(1, "validate --all");
    run.says(&["S0325", "`net.token` contains a secret"]);
    assert!(!run.stderr.contains("canary-88"), "{}", run.stderr);
}

#[test]
fn one_plan_and_one_apply_replace_a_network_that_another_stack_uses() {
    let case = repository().emulator();
    apply(&case, "");
    case.ok("plan --all --exit-code").says(&["5 without changes"]);
    let before = case.cloud().list("/api/v1/vpcs");
    case.edit("net/stead.yaml", "prod: {}", "prod: { vars: { cidr: 10.50.0.0/16 } }");
    // The VM was not edited: another stack replaces it with its data, which is approved by its name.
    let run = case.fails(4, "plan --all");
    run.says(&["holds_data", "approve the replacement:", "--replace app/prod:vm.web."]);
    case.fails(64, "plan --all --replace vm.web").says(&["--replace STACK/ENVIRONMENT:vm.web"]);
    case.fails(64, "plan --all --replace app/prdo:vm.web").says(&["Did you mean `app/prod`?"]);
    case.fails(64, "plan --all --replace app/prod:vm.wbe").says(&["did you mean vm.web?"]);
    case.fails(64, "-C app -e prod plan --replace app/prod:vm.web").says(&["which needs --all"]);
    let flag = "--replace app/prod:vm.web";
    let run = case.ok(&format!("plan --all {flag}"));
    run.says(&[&format!("next: stead apply --all {flag} --expect ")]);
    let plan = case.fails(2, &format!("plan --all {flag} --exit-code --output json")).json();
    let vm = &unit(&plan, "app", "prod")["plan"]["changes"][0];
    assert_eq!((&vm["address"], &vm["action"]), (&"vm.web".into(), &"replace".into()));
    assert_eq!(unit(&plan, "app", "dev")["status"], "unchanged");
    let expected = format!("--expect {}", plan["fingerprint"].as_str().unwrap());
    case.fails(5, &format!("apply --all {expected}"));
    let run = case.ok(&format!("apply --all {flag} {expected}"));
    // The third only passes an output on, which changes, too.
    run.says(&["3 applied"]);
    assert!(run.stderr.contains("net/prod deleted what waited"), "{}", run.stderr);
    let after = case.cloud().list("/api/v1/vpcs");
    assert_eq!((before.len(), after.len()), (2, 2));
    assert!(after.iter().any(|vpc| vpc["cidr"] == "10.50.0.0/16"), "{after:?}");
    case.ok("plan --all --exit-code");
    // One plan shows and one apply makes it; a second apply of the same review sends nothing.
    let before = case.cloud().last();
    case.ok(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()))
        .says(&["Applied already: run "]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn conflicts_between_units_are_blockers_of_both() {
    let case = repository();
    case.edit("net/stead.yaml", "10.40.0.0/16", "10.30.128.0/17");
    let plan = case.fails(4, "plan --all --cloud local --output json").json();
    for environment in ["dev", "prod"] {
        let blocks = &unit(&plan, "net", environment)["plan"]["blocks"];
        assert_eq!(blocks[0]["code"], "unit_conflict", "{blocks}");
        // Its readers are blocked with it.
        let blocks = &unit(&plan, "app", environment)["plan"]["blocks"];
        assert_eq!(blocks[0]["code"], "upstream", "{blocks}");
    }
    assert_eq!(unit(&plan, "log", "default")["status"], "blocked");
    case.edit("net/stead.yaml", "10.30.128.0/17", "10.40.0.0/16");
    case.edit("app/stead.yaml", "web-${env}", "web");
    case.fails(4, "plan --all --cloud local").says(&["would have the same name", "vm.web of app/"]);
}

#[test]
fn an_object_that_another_unit_names_by_its_id_is_not_deleted() {
    let case = repository().emulator();
    apply(&case, "--stacks net");
    let vpcs = case.cloud().list("/api/v1/vpcs");
    let prod = vpcs.iter().find(|vpc| vpc["name"] == "main-prod").unwrap();
    let by_id = APP
        .replace("$stacks.net.vpc_id", prod["id"].as_str().unwrap())
        .replace("environments: { dev: {}, prod: {} }\n", "");
    case.write(
        "app/stead.yaml",
        by_id.replace("stacks: { net: ../net }\n", "").replace("in ${stacks.net.cidr}", "here"),
    );
    std::fs::remove_dir_all(case.path("log")).unwrap();
    apply(&case, "--stacks app");
    case.edit("net/stead.yaml", "prod: {}", "prod: { vars: { cidr: 10.50.0.0/16 } }");
    let run = case.fails(4, "plan --all");
    let text = run.all().split_whitespace().collect::<Vec<_>>().join(" ");
    for once in [
        "vpc.main would be deleted, and vm.web of app/default uses it.",
        "vm.web uses vpc.main of net/prod, which would be deleted.",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once}\n{text}");
    }
    assert_eq!(text.matches("unit_conflict").count(), 2, "{text}");
}

#[test]
fn approvals_name_what_they_approve() {
    let case = repository().emulator();
    case.fails(64, "apply --all").says(&["confirmation is required", "--expect FINGERPRINT"]);
    case.fails(64, "apply --all --yes").says(&["--yes approves one environment", "default, dev, prod"]);
    case.ok("apply --all -e dev --yes").says(&["2 applied"]);
    case.fails(64, "apply --all -e dev --yes --target vm.web")
        .says(&["--target names an address of one stack"]);
    case.fails(64, "destroy --all --yes").says(&["must be confirmed"]);
    case.fails(64, "destroy --all --yes --confirm nowhere").says(&["the repository's root is"]);
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    case.ok(&format!("destroy --all --yes --confirm {root}")).says(&["2 applied"]);
    assert!(case.cloud().list("/api/v1/vpcs").is_empty());
    case.ok(&format!("destroy --all --yes --confirm {root}"));
}

#[test]
fn a_failed_unit_skips_its_readers_only_and_a_second_run_continues() {
    let case = repository().emulator();
    let selection = "--stacks */prod --stacks log --stacks net";
    let plan = case.ok(&format!("plan --all {selection} --output json")).json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    case.cloud().faults(&["POST /vms=403:1"]);
    let run = case.fails(6, &format!("apply --all {selection} --expect {fingerprint} --output json"));
    let document = run.json();
    let status = |stack, environment| unit(&document, stack, environment)["status"].clone();
    assert_eq!(status("net", "prod"), "applied");
    assert_eq!(status("net", "dev"), "applied");
    assert_eq!(status("app", "prod"), "failed");
    assert_eq!(status("log", "default"), "skipped");
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 2);
    // The same review goes on, as often as it fails.
    case.cloud().faults(&["POST /vms=403:1"]);
    let again = case.fails(7, &format!("apply --all {selection} --expect {fingerprint}"));
    again.says(&["Continuing a review of 4 units: 2 not done, 1 of them begun."]);
    let next = format!("apply --all --stacks '*/prod' --stacks log --stacks net --expect {fingerprint}");
    assert!(again.stderr.contains(&format!("next: stead {next}  # continues")), "{}", again.stderr);
    case.cloud().faults(&[]);
    case.ok(&next.replace('\'', "")).says(&["2 applied"]);
    // It is done, whichever attempt did which unit.
    case.ok(&format!("apply --all {selection} --expect {fingerprint}")).says(&["Applied already: run "]);
    case.ok(&format!("plan --all {selection} --exit-code"));
}

#[test]
fn a_saved_set_of_plans_is_applied_as_it_is_and_continues_after_a_failure() {
    let case = repository().emulator();
    case.signing_key("plan", 7);
    case.signing_key("other", 8);
    case.ok("plan --all -o plans --sign-key plan.pem").says(&["5 with changes"]);
    case.fails(4, "apply plans --verify-key other.pub").says(&["plans/manifest.json"]);
    let file = case.path("plans/app.prod.plan");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("web-prod", "web-evil")).unwrap();
    case.fails(4, "apply plans --verify-key plan.pub").says(&["not the plan that the manifest names"]);
    std::fs::write(&file, text).unwrap();
    case.cloud().faults(&["POST /vms=403:1"]);
    case.fails(6, "apply plans --verify-key plan.pub");
    case.cloud().faults(&[]);
    let run = case.ok("apply plans --verify-key plan.pub");
    assert!(run.stderr.contains("checked"), "{}", run.stderr);
    case.ok("plan --all --exit-code");
    // All is done: the same set has nothing left to do.
    case.ok("apply plans").says(&["5 without changes"]);
    // A part of a set is not what was reviewed.
    let last = case.cloud().last();
    case.fails(64, "-e dev apply plans").says(&[
        "-e dev: the set has plans of",
        "app/prod",
        "plan --all -e dev -o",
    ]);
    for flag in
        ["--stacks app", "--changed", "--with-dependents", "--remove old/prod", "--force-readers app/prod"]
    {
        case.fails(64, &format!("apply plans {flag}")).says(&["cannot be used with"]);
    }
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // A configuration that is not the reviewed one is refused.
    case.edit("net/stead.yaml", "prod: {}", "prod: { vars: { cidr: 10.60.0.0/16 } }");
    case.fails(5, "apply plans").says(&["the configuration is not the reviewed one"]);
    // Nor is the set done where a later apply took its place.
    case.ok("plan --all -o later --replace app/prod:vm.web");
    case.ok("apply later");
    case.fails(5, "apply plans").says(&["net/prod: the configuration is not the reviewed one"]);
    case.fails(1, "apply nowhere").says(&["there is no file nowhere"]);
    std::fs::create_dir(case.path("empty")).unwrap();
    case.fails(1, "apply empty").says(&["empty has no set of saved plans"]);
}

#[test]
fn reports_of_many_units_are_one_file_where_the_format_allows_it() {
    let case = repository();
    case.edit("net/stead.yaml", "10.40.0.0/16", "10.30.128.0/17");
    let formats = ["md", "json", "sarif", "junit", "prom", "gitlab", "codequality", "tfjson"];
    let flags: Vec<String> =
        formats.iter().map(|format| format!(" --report {format}=out.{format}")).collect();
    let flags = flags.join("");
    case.fails(4, &format!("plan --all --cloud local{flags}"));
    let read = |name: &str| std::fs::read_to_string(case.path(name)).unwrap();
    let comment = read("out.md");
    assert!(comment.starts_with("<!-- stead:all -->\n<!-- stead-units:app/dev app/prod "), "{comment}");
    assert!(comment.contains("\n### ⛔ stead · 5 units"), "{comment}");
    assert!(comment.contains("| ⛔ | <code>net/prod</code>") || comment.contains("net/prod"), "{comment}");
    let sarif: Value = serde_json::from_str(&read("out.sarif")).unwrap();
    assert_eq!(sarif["runs"].as_array().unwrap().len(), 1);
    let texts = sarif["runs"][0]["results"].to_string();
    assert!(texts.contains("net/dev: vpc.main") && texts.contains("net/prod: vpc.main"), "{texts}");
    let metrics = read("out.prom");
    let heads: Vec<&str> = metrics.lines().filter(|line| line.starts_with("# TYPE")).collect();
    let mut unique = heads.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(heads.len(), unique.len(), "each family stands once");
    assert!(
        metrics.contains("stack=\"net\",env=\"prod\"") && metrics.contains("stack=\"app\",env=\"dev\"")
    );
    assert_eq!(read("out.junit").matches("<testsuite ").count(), 5);
    let sums: Value = serde_json::from_str(&read("out.gitlab")).unwrap();
    assert_eq!(sums["create"], 5);
    let document: Value = serde_json::from_str(&read("out.json")).unwrap();
    assert_eq!(document["units"].as_array().unwrap().len(), 5);
    assert!(case.path("out.app-prod.tfjson").exists());
}

/// Runs git in the case's directory, independent of the user's configuration.
fn git(case: &Case, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    command
        .current_dir(case.path(""))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn only_stacks_that_a_change_touches_are_planned() {
    let case = Case::new()
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
        .file("log/stead.yaml", LOG)
        .file(".gitignore", ".stead/\n");
    git(&case, &["init", "-q"]);
    git(&case, &["add", "."]);
    git(&case, &["commit", "-qm", "first"]);
    git(&case, &["checkout", "-qb", "feature"]);
    let none = case.ok("plan --all --changed=main --cloud local");
    assert!(none.stderr.contains("No selected stack changed since `main`"), "{}", none.stderr);
    assert!(none.stdout.contains("UNITS  none"), "{}", none.stdout);
    case.edit("log/stead.yaml", "size: 10", "size: 20");
    let list = case.ok("stacks --changed --output json").json();
    assert_eq!(list["units"].as_array().unwrap().len(), 1);
    assert_eq!(unit(&list, "log", "default")["changed"], true);
    case.edit("net/stead.yaml", "10.30.0.0/16", "10.31.0.0/16");
    let list = case.ok("stacks --changed=main --with-dependents -e prod --output json").json();
    assert_eq!(unit(&list, "app", "prod")["changed"], false);
    assert_eq!(unit(&list, "net", "prod")["changed"], true);
    case.fails(1, "stacks --changed=mian").says(&["mian", "main"]);
    git(&case, &["checkout", "-q", "main"]);
    case.fails(64, "stacks --changed").says(&["default branch"]);
}

const SITE: &str = "stead: 1\nstack: site\nenvironments: { dev: {}, prod: {} }\nstacks: { net: ../net }\nvars: { key: { type: secret, generate: 32 }, given: { type: secret, default: canary-given } }\napp: { web: { type: web, name: \"web-${env}\", repo: acme/web, branch: main, port: 80, env_vars: { NET: $stacks.net.cidr, KEY: $vars.key, BOTH: \"${stacks.net.cidr} ${vars.key}\" } } }\n";

#[test]
fn an_attribute_has_a_secret_and_an_output_of_another_stack() {
    let case = Case::new()
        .file(".git/HEAD", "")
        .file("net/stead.yaml", NET)
        .file("site/stead.yaml", SITE)
        .emulator();
    apply(&case, "").says(&["4 applied"]);
    case.ok("plan --all --exit-code").says(&["4 without changes"]);
    // A stack alone, too: its upstream stack is read from its ledger.
    case.edit("site/stead.yaml", "NET:", "NETWORK:");
    case.ok("-C site apply -e dev --yes").says(&["1 update"]);
    case.ok("-C site plan -e dev --exit-code");
}

#[test]
fn a_destroy_keeps_what_a_blocked_unit_uses() {
    let case = repository().emulator();
    case.edit(
        "app/stead.yaml",
        "vpc: $stacks.net.vpc_id",
        "vpc: $stacks.net.vpc_id, lifecycle: { protect: true }",
    );
    apply(&case, "").says(&["5 applied"]);
    let before = case.cloud().last();
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    // The reader of the blocked unit has a volume of its own, which nothing uses.
    case.fails(6, &format!("destroy --all --yes --confirm {root}"))
        .says(&["protect", "app/prod, which uses what this unit has, cannot be destroyed."]);
    let sent = case.cloud().mutations_since(before);
    assert!(sent.len() == 1 && sent[0].contains("/volumes/"), "{sent:?}");
}
