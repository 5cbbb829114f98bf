//! A plan against the reviewed one: what differs, which side moved, and what does not void a review.
#![allow(clippy::disallowed_methods, reason = "tests read the files that commands leave")]

use std::fs;

use crate::case::{Case, Run};

const STACK: &str = "\
stead: 1
stack: review
project:
  home: { name: home, description: one }
vpc:
  main: { cidr: 10.0.0.0/16 }
";

/// Returns an applied stack.
fn applied() -> Case {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    case
}

fn fingerprint(case: &Case) -> String {
    case.ok("plan --output json").json()["fingerprint"].as_str().unwrap().to_owned()
}

#[test]
fn show_names_each_difference_and_the_side_that_moved() {
    let case = applied();
    case.edit("stead.yaml", "description: one", "description: two");
    case.ok("plan -o old.plan");
    case.edit("stead.yaml", "description: two", "description: three");
    case.edit("stead.yaml", "  main: { cidr", "  other: { cidr: 10.9.0.0/16 }\n  main: { cidr");
    case.ok("plan -o new.plan");
    let shown = case.ok("show new.plan --against old.plan");
    shown.says(&[
        "2 resources decided differently",
        "project.home",
        "two",
        "three",
        "the configuration changed",
    ]);
    shown.says(&["vpc.other", "action"]);
    let document = case.ok("show new.plan --against old.plan --output json").json();
    assert_eq!(document["same"], false);
    assert_eq!(document["schema_version"], 1);
    let resources = document["resources"].as_array().unwrap();
    let names: Vec<&str> = resources.iter().map(|one| one["address"].as_str().unwrap()).collect();
    assert_eq!(names, ["project.home", "vpc.other"]);
    assert_eq!(resources[0]["parts"][0]["part"], "description (planned)");
    assert_eq!(resources[0]["parts"][0]["moved"], serde_json::json!(["configuration"]));
    case.ok("show new.plan --against old.plan --report md=difference.md --report json=difference.json");
    let markdown = fs::read_to_string(case.path("difference.md")).unwrap();
    assert!(markdown.contains("| `vpc.other` | action |"), "{markdown}");
    case.fails(64, "show new.plan --against old.plan --report html=x.html").says(&["md and json"]);
    case.ok("show old.plan --against old.plan").says(&["the plans decide the same"]);
    case.fails(1, "show new.plan --against none.plan").says(&["none.plan"]);
}

#[test]
fn an_apply_that_does_not_fit_says_what_differs() {
    let case = applied();
    case.edit("stead.yaml", "description: one", "description: two");
    case.ok("plan -o old.plan --report md=reviewed.md");
    let reviewed = fingerprint(&case);
    case.edit("stead.yaml", "description: two", "description: three");
    let refused = case.fails(5, &format!("apply --expect {reviewed} --against old.plan"));
    refused.says(&["project.home", "two", "three", "the configuration changed", "Nothing was sent"]);
    // The comment alone names the address, and has no value of it.
    let refused = case.fails(5, &format!("apply --expect {reviewed} --against reviewed.md"));
    refused.says(&["1 resource decided differently", "project.home"]);
    case.fails(5, "apply old.plan").says(&["a variable", "make a new plan"]);
    // Somebody else's edit of the live object is named as such.
    case.edit("stead.yaml", "description: three", "description: two");
    let id = case.cloud().list("/api/v1/projects").iter().find(|one| one["name"] == "home").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    case.cloud().mutate("project", &id, &serde_json::json!({ "description": "by hand" }));
    let refused = case.fails(5, &format!("apply --expect {reviewed} --against old.plan"));
    refused.says(&["project.home", "by hand", "the live object changed"]);
    case.fails(64, "apply --against old.plan --yes");
}

#[test]
fn a_merge_of_something_else_does_not_void_a_review() {
    let case = applied();
    case.edit("stead.yaml", "  main: { cidr", "  mine: { cidr: 10.8.0.0/16 }\n  main: { cidr");
    let reviewed = fingerprint(&case);
    // Another request is merged and applied first.
    case.edit("stead.yaml", "  mine: { cidr: 10.8.0.0/16 }\n", "");
    case.edit("stead.yaml", "  main: { cidr", "  theirs: { cidr: 10.9.0.0/16 }\n  main: { cidr");
    case.ok("apply --yes");
    case.edit("stead.yaml", "  main: { cidr", "  mine: { cidr: 10.8.0.0/16 }\n  main: { cidr");
    assert_eq!(fingerprint(&case), reviewed);
    case.ok(&format!("apply --expect {reviewed}"));
    // What touches the plan voids it.
    case.edit("stead.yaml", "description: one", "description: two");
    let reviewed = fingerprint(&case);
    case.edit("stead.yaml", "description: two", "description: three");
    case.fails(5, &format!("apply --expect {reviewed}"));
}

#[test]
fn a_first_plan_has_no_digests_because_there_is_no_key() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("plan -o new.plan --report md=reviewed.md");
    let markdown = fs::read_to_string(case.path("reviewed.md")).unwrap();
    assert!(!markdown.contains("stead-digests"), "{markdown}");
    assert!(markdown.contains("no key before the first apply"), "{markdown}");
    case.ok("show new.plan --against reviewed.md").says(&["the plans decide the same"]);
    case.edit("stead.yaml", "description: one", "description: two");
    case.ok("plan -o other.plan");
    case.fails(1, "show other.plan --against reviewed.md").says(&["without digests"]);
}

#[test]
fn a_comment_without_digests_decides_nothing() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    // A ledger has no key before the first apply.
    case.ok("plan --report md=first.md");
    let reviewed = fingerprint(&case);
    case.edit("stead.yaml", "description: one", "description: two");
    let refused = case.fails(5, &format!("apply --expect {reviewed} --against first.md"));
    refused.says(&["first.md is a comment without digests", "fingerprint"]);
    case.edit("stead.yaml", "description: two", "description: one");
    case.ok(&format!("apply --expect {reviewed} --against first.md")).says(&["Applied"]);
}

#[test]
fn a_comment_names_the_outputs_that_differ() {
    let case = applied();
    case.edit("stead.yaml", "vpc:", "outputs: { greet: one, kept: same }\nvpc:");
    case.ok("plan --report md=second.md -o second.plan");
    let markdown = fs::read_to_string(case.path("second.md")).unwrap();
    assert!(markdown.contains("stead-digests") && !markdown.contains("no digests"), "{markdown}");
    let reviewed = fingerprint(&case);
    case.ok("show second.plan --against second.md").says(&["the plans decide the same"]);
    case.edit("stead.yaml", "greet: one", "greet: two, more: 1");
    let refused = case.fails(5, &format!("apply --expect {reviewed} --against second.md"));
    refused.says(&["2 outputs decided differently", "output greet", "output more", "Nothing was sent"]);
    assert!(!refused.all().contains("output kept"), "{}", refused.all());
    case.ok("plan -o third.plan");
    let document = case.ok("show third.plan --against second.md --output json").json();
    assert_eq!((&document["same"], &document["resources"]), (&false.into(), &serde_json::json!([])));
    let parts: Vec<&str> =
        document["whole"].as_array().unwrap().iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(parts, ["output greet", "output more"]);
    case.edit("stead.yaml", "greet: two, more: 1", "greet: one");
    case.ok(&format!("apply --expect {reviewed} --against second.md"));
}

#[test]
fn a_comment_of_many_units_names_the_outputs_of_each() {
    let net = "stead: 1\nstack: net\nvpc: { main: { cidr: 10.1.0.0/16 } }\noutputs: { label: blue }\n";
    let app = "stead: 1\nstack: app\nstacks: { net: ../net }\nproject: { p: { name: p } }\noutputs: { seen: $stacks.net.label }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", net)
        .file("app/stead.yaml", app)
        .emulator();
    let plan = |flags: &str| case.ok(&format!("plan --all --output json {flags}")).json();
    let fingerprint = |document: &serde_json::Value| document["fingerprint"].as_str().unwrap().to_owned();
    let first = fingerprint(&plan(""));
    case.ok(&format!("apply --all --expect {first}"));
    case.edit("net/stead.yaml", "label: blue", "label: green");
    let reviewed = fingerprint(&plan("--report md=reviewed.md"));
    case.edit("net/stead.yaml", "label: green", "label: red");
    let refused = case.fails(5, &format!("apply --all --expect {reviewed} --against reviewed.md"));
    refused.says(&["net/default  1 output decided differently", "output label"]);
    refused.says(&["app/default  1 output decided differently", "output seen"]);
    // An expression with the value that it had is no change of an output, but another plan.
    case.edit("net/stead.yaml", "label: red", "label: \"${'gre' + 'en'}\"");
    let run = case.run(&format!("apply --all --expect {reviewed} --against reviewed.md"));
    assert!(run.code == 0 || run.all().contains("net/default"), "{}", run.all());
}

#[test]
fn a_plan_that_is_blocked_since_its_review_says_what_differs() {
    let case = applied();
    case.edit("stead.yaml", "description: one", "description: two");
    case.ok("plan -o old.plan --report md=reviewed.md");
    let reviewed = fingerprint(&case);
    case.edit("stead.yaml", "vpc:\n  main: { cidr: 10.0.0.0/16 }\n", "volume: { d: { size: 10 } }\n");
    case.ok("apply --yes --target volume.d");
    case.edit("stead.yaml", "volume: { d: { size: 10 } }\n", "");
    let refused = case.fails(4, &format!("apply --expect {reviewed} --against reviewed.md"));
    refused.says(&["resources decided differently", "volume.d", "vpc.main"]);
    let refused = case.fails(4, &format!("apply --expect {reviewed} --against old.plan"));
    refused.says(&["volume.d", "holds_data"]);
}

#[test]
fn plans_that_differ_in_an_output_are_not_the_same_for_a_comment() {
    let case = applied();
    case.edit("stead.yaml", "description: one", "description: two");
    case.edit("stead.yaml", "vpc:", "outputs: { greet: one, kept: same }\nvpc:");
    case.ok("plan -o old.plan --report md=old.md");
    case.edit("stead.yaml", "greet: one", "greet: two");
    case.ok("plan -o new.plan");
    let shown = case.ok("show new.plan --against old.md");
    shown.says(&["1 output decided differently", "output greet"]);
    assert_eq!(case.ok("show new.plan --against old.md --output json").json()["same"], false);
    let shown =
        case.ok("show new.plan --against old.plan").says(&["output greet", "one", "two"]).stdout.clone();
    assert!(!shown.contains("kept"), "{shown}");
    // What an apply made in the meantime is no change of the configuration.
    case.ok("apply --yes");
    case.edit("stead.yaml", "greet: two", "greet: three");
    case.ok("plan -o last.plan");
    let shown = case.ok("show last.plan --against new.plan").stdout;
    assert!(shown.contains("the ledger changed") && !shown.contains("kept"), "{shown}");
}

#[test]
fn a_verdict_over_the_branch_is_no_difference() {
    let policy =
        "policy: { frozen: { level: advisory, deny: \"${branch != 'main'}\", message: Frozen. } }\n";
    let policy = policy.replace("level: advisory, ", "");
    let case = Case::new().file("stead.yaml", format!("{STACK}{policy}")).emulator();
    let plan = |branch: &str, file: &str| {
        let mut command = case.command(&format!("plan -o {file}"));
        command.env("GITHUB_REF_NAME", branch).status().unwrap();
    };
    plan("main", "one.plan");
    plan("dev", "two.plan");
    case.ok("show two.plan --against one.plan").says(&["the plans decide the same"]);
}

#[test]
fn another_secret_is_no_change_of_a_live_object() {
    let stack = "stead: 1\nstack: s\nvars: { s: { type: secret } }\noutputs: { s: $vars.s }\n\
                 app: { a: { type: web, repo: acme/shop, branch: main, port: 8080, env_vars: { S: $vars.s } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let run = |secret: &str, args: &str| {
        Run::of(&case.command(args).env("STEAD_VAR_S", secret).output().unwrap())
    };
    assert_eq!(run("secret-value-1", "apply --yes").code, 0);
    for (secret, file) in [("secret-value-2", "2.plan"), ("secret-value-3", "3.plan")] {
        assert_eq!(run(secret, &format!("plan -o {file}")).code, 0);
    }
    let shown = case.ok("show 3.plan --against 2.plan");
    shown.says(&["env_vars.S", "the configuration changed"]);
    assert!(!shown.all().contains("live object"), "{}", shown.all());
}

#[test]
fn the_document_of_a_refusal_has_the_differences() {
    let case = applied();
    case.edit("stead.yaml", "description: one", "description: two");
    case.ok("plan -o old.plan --report md=reviewed.md");
    let reviewed = fingerprint(&case);
    case.edit("stead.yaml", "description: two", "description: three");
    for against in ["old.plan", "reviewed.md"] {
        let apply = format!("apply --expect {reviewed} --against {against} --output");
        let refused = case.fails(5, &format!("{apply} json")).json();
        let [difference] = refused["differences"].as_array().unwrap().as_slice() else {
            panic!("{refused:#}")
        };
        assert_eq!(difference["unit"], "review/default");
        assert_eq!(difference["resources"][0]["address"], "project.home", "{refused:#}");
        let events = case.fails(5, &format!("{apply} ndjson")).stdout;
        let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
        assert_eq!(last["differences"], refused["differences"]);
    }
    let refused = case.fails(5, "apply old.plan --output json").json();
    assert!(refused["differences"].is_null(), "another configuration is known without a plan: {refused:#}");
}

#[test]
fn a_comment_names_a_policy_that_denies_only_one_of_the_plans() {
    let case = applied();
    case.edit("stead.yaml", "description: one", "description: two");
    let reviewed = fingerprint(&case);
    case.ok("plan --report md=reviewed.md");
    case.edit(
        "stead.yaml",
        "vpc:",
        "policy: { few: { deny: \"${plan.update > 0}\", message: No. } }\nvpc:",
    );
    let refused = case.fails(4, &format!("apply --expect {reviewed} --against reviewed.md"));
    refused.says(&["policy few: it denies only one of the plans"]);
    case.fails(4, "plan -o denied.plan");
    // A damaged comment is not one without digests.
    let comment = fs::read_to_string(case.path("reviewed.md")).unwrap();
    case.write("bad.md", comment.replace("stead-digests:", "stead-digests:AA"));
    case.fails(1, &format!("apply --expect {reviewed} --against bad.md"))
        .says(&["bad.md is a comment whose digests are damaged"]);
}

/// A boot script is sensitive, and before the first apply no secret has a fingerprint: a text of the configuration is known by
/// its digest.
#[test]
fn a_review_of_a_new_stack_covers_the_boot_script() {
    let stack = |script: &str| {
        format!(
            "stead: 1\nstack: q\nvpc: {{ v: {{ cidr: 10.0.0.0/16 }} }}\nvm:\n  web:\n    for_each: [a, b, c, d]\n    \
             name: \"q-${{each.key}}\"\n    template: ubuntu-24.04\n    plan: std-1c-2g\n    user_data: \"{script}\"\n"
        )
    };
    for (one, other) in [
        ("echo safe", "curl evil.example"),
        ("${file('safe.sh')}", "${file('evil.sh')}"),
        ("echo ${vpc.v.cidr}", "curl ${vpc.v.cidr}"),
        ("echo ${vpc.v.id}", "curl ${vpc.v.id}"),
        ("${[1, 2].map(n, string(n)).join('')}", "${[1, 3].map(n, string(n)).join('')}"),
    ] {
        let case = Case::new()
            .file("safe.sh", "echo safe")
            .file("evil.sh", "curl evil.example")
            .file("stead.yaml", stack(one))
            .emulator();
        let reviewed = fingerprint(&case);
        case.ok("plan -o old.plan --report md=old.md").says(&["vm.web (4 instances)"]);
        case.write("stead.yaml", stack(other));
        case.fails(5, &format!("apply --expect {reviewed} --against old.plan"))
            .says(&["vm.web", "Nothing was sent"]);
        assert_eq!(case.cloud().list("/api/v1/vms").len(), 0);
        case.write("stead.yaml", stack(one));
        case.ok(&format!("apply --expect {reviewed}"));
    }
}

/// A change by hand adds steps, which moves the numbers of all others: the refusal names the resource that differs.
#[test]
fn a_saved_plan_that_is_stale_names_the_resource_that_differs() {
    let stack = "stead: 1\nstack: o\nproject: { p: { name: op } }\nvolume: { data: { size: 10 } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "size: 10", "size: 20");
    case.ok("plan -o saved.plan");
    let projects = case.cloud().list("/api/v1/projects");
    let id = projects.iter().find(|one| one["name"] == "op").unwrap()["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("project", &id, &serde_json::json!({ "name": "by-hand" }));
    case.fails(5, "apply saved.plan").says(&["project.p", "differs from the saved one: project.p"]);
}

/// A deletion shows no attribute of its object. So the plans cannot show whether the object or the catalog has another price, and
/// the price after it is none.
#[test]
fn a_deletion_of_a_larger_object_is_not_a_change_of_the_catalog() {
    let stack = "stead: 1\nstack: a\nvolume: { keep: { size: 10 } }\n";
    let case = Case::new().file("stead.yaml", stack.replace(" } }", " }, gone: { size: 10 } }")).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack);
    case.ok("plan --delete-data volume.gone -o old.plan");
    let volumes = case.cloud().list("/api/v1/volumes");
    let id = volumes.iter().find(|one| one["name"] == "gone").unwrap()["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("volume", &id, &serde_json::json!({ "size": 20 }));
    case.ok("plan --delete-data volume.gone -o new.plan");
    let shown = case.ok("show new.plan --against old.plan");
    shown.says(&["monthly price", "$0.00 instead of $", "the live object or the catalog"]);
    assert!(!shown.all().contains("not known"), "{}", shown.all());
}

/// A set has no plan of a unit without changes: what it changes now was not reviewed, and is named.
#[test]
fn the_changes_of_a_unit_outside_of_the_reviewed_set_are_named() {
    let stack = |name: &str| format!("stead: 1\nstack: {name}\nvolume: {{ {name}: {{ size: 10 }} }}\n");
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", stack("a"))
        .file("b/stead.yaml", stack("b"))
        .emulator();
    case.ok("-C b apply --yes");
    case.ok("plan --all -o old");
    let fingerprint =
        case.ok("plan --all --output json").json()["fingerprint"].as_str().unwrap().to_owned();
    case.edit("b/stead.yaml", "size: 10", "size: 20");
    let refused = case.fails(5, &format!("apply --all --expect {fingerprint} --against old"));
    refused.says(&["b/default  was not reviewed: update volume.b"]);
}

#[test]
fn the_document_of_two_sets_has_each_unit() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", "stead: 1\nstack: a\nvpc: { v: { name: one, cidr: 10.1.0.0/16 } }\n")
        .file("b/stead.yaml", "stead: 1\nstack: b\nvpc: { v: { name: two, cidr: 10.2.0.0/16 } }\n")
        .emulator();
    case.ok("plan --all -o old");
    case.edit("a/stead.yaml", "name: one", "name: uno");
    case.ok("-C b apply --yes");
    case.write("c/stead.yaml", "stead: 1\nstack: c\nvpc: { v: { name: three, cidr: 10.3.0.0/16 } }\n");
    case.ok("plan --all -o new");
    let document = case.ok("show new --against old --output json").json();
    assert_eq!(document["same"], false, "{document:#}");
    assert_eq!(document["units"][0]["unit"], "a/default");
    assert_eq!(document["units"][0]["resources"][0]["parts"][0]["part"], "name (planned)", "{document:#}");
    assert_eq!(document["not_reviewed"], serde_json::json!(["c/default"]));
    assert_eq!(document["nothing_to_do"], serde_json::json!(["b/default"]));
    case.ok("show new --against old --report json=difference.json");
    let written = fs::read_to_string(case.path("difference.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), document);
    case.fails(64, "show new --against old --report md=x.md").says(&["there is json"]);
    assert_eq!(case.ok("show new --against new --output json").json()["same"], true);
    case.ok("show new --against old")
        .says(&["c/default  was not reviewed: create vpc.v", "has no plan in this set"]);
}
