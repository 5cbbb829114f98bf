//! Applies and destroys of many units that are repeated: after a kill, after a failure, and after they were done.

use crate::case::{Case, Emulator};

fn volume(stack: &str) -> String {
    format!("stead: 1\nstack: {stack}\nvolume: {{ data: {{ name: {stack}-data, size: 20 }} }}\n")
}

fn repository() -> Case {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
    case.file("one/stead.yaml", volume("one")).file("two/stead.yaml", volume("two"))
}

#[test]
fn a_destroy_after_a_kill_opens_the_built_in_cloud_again() {
    let case = repository();
    let cloud =
        Emulator::start(&case.path(".stead"), &["--fail", "DELETE *=delay-60000ms", "--no-limiter"]);
    case.ok("apply --all --yes --cloud local");
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    let destroy = format!("destroy --all --yes --confirm {root} --cloud local");
    let mut killed = case.command(&destroy).spawn().unwrap();
    let is_sent = || cloud.list("/api/v1/volumes").iter().all(|volume| volume["status"] == "deleting");
    while !is_sent() && killed.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    assert!(is_sent(), "the destroy ended before it sent its requests");
    killed.kill().unwrap();
    killed.wait().unwrap();
    drop(cloud);
    let run = case.ok(&destroy);
    run.says(&["recovering"]);
    assert!(!run.all().contains("in use by another process"), "{}", run.all());
    case.ok("plan --all --destroy --cloud local").says(&["2 without changes"]);
}

#[test]
fn a_retry_is_suggested_only_for_what_the_review_has() {
    let case = repository().emulator();
    case.write("two/stead.yaml", "stead: 1\nstack: two\nvolume: { data: { size: $vars.none } }\n");
    let plan = case.fails(1, "plan --all --output json").json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    let run = case.fails(6, &format!("apply --all --expect {fingerprint}"));
    run.says(&["1 applied"]);
    assert!(!run.stderr.contains("next:"), "{}", run.stderr);
}

#[test]
fn a_repeated_apply_of_a_review_says_that_it_is_done_while_nothing_changed() {
    let home = |text: &str| {
        format!("stead: 1\nstack: home\nproject: {{ home: {{ name: home, description: {text} }} }}\n")
    };
    let case = repository().file("home/stead.yaml", home("one")).emulator();
    let plan = case.ok("plan --all --output json").json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    let again = format!("apply --all --expect {fingerprint}");
    case.ok(&again).says(&["3 applied"]);
    let before = case.cloud().last();
    let repeated = case.ok(&again);
    repeated.says(&["3 without changes", "Applied already: run ", "Nothing was sent."]);
    let document = case.ok(&format!("{again} --output json")).json();
    assert_eq!(document["units"][0]["status"], "unchanged");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    // A unit that is not selected: whether it is done is not known.
    let narrower = case.ok(&format!("{again} --stacks one"));
    narrower.says(&[
        "Applied already: run ",
        "Not selected, or applied by another run: 2 units of the review.",
    ]);
    let refused = |why: &str| {
        let run = case.fails(5, &again);
        assert!(!run.all().contains("Applied already"), "{why}: {}", run.all());
    };
    let projects = case.cloud().list("/api/v1/projects");
    let id = projects.iter().find(|one| one["name"] == "home").unwrap()["id"].as_str().unwrap();
    case.cloud().mutate("project", id, &serde_json::json!({ "description": "two" }));
    refused("a live object changed");
    case.write("home/stead.yaml", home("two"));
    refused("the configuration changed as the object did");
    case.write("home/stead.yaml", home("one"));
    case.ok("apply --all --yes");
    case.ok("plan --all --exit-code");
    let last = case.cloud().last();
    let later = case.ok(&again);
    later.says(&["Applied already", "applied by another run: 1 unit of the review."]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
}

#[test]
fn a_narrower_or_wider_repetition_of_a_review_is_done_or_still_blocked() {
    let case = repository().emulator();
    let fingerprint = |case: &Case, flags: &str| {
        let plan = case.run(&format!("plan --all {flags} --output json")).json();
        plan["fingerprint"].as_str().unwrap().to_owned()
    };
    let wide = fingerprint(&case, "");
    case.cloud().faults(&["POST /volumes=403:20"]);
    case.fails(7, &format!("apply --all --expect {wide}"));
    case.cloud().faults(&[]);
    for _ in 0..2 {
        case.ok(&format!("apply --all --stacks one --expect {wide}"));
    }
    let narrow = fingerprint(&case, "--stacks two");
    case.ok(&format!("apply --all --stacks two --expect {narrow}"));
    for _ in 0..2 {
        case.ok(&format!("apply --all --expect {wide}")).says(&["Applied already"]);
    }
    // A unit that is blocked stays so, and nothing else is left.
    case.edit("one/stead.yaml", "size: 20", "size: 30");
    case.edit("two/stead.yaml", "name: two-data", "name: two-disk");
    let blocked = fingerprint(&case, "");
    case.fails(6, &format!("apply --all --expect {blocked}")).says(&["1 blocked", "1 applied"]);
    let again = case.fails(4, &format!("apply --all --expect {blocked}"));
    again.says(&["Applied already", "Blocked as reviewed: 1 unit."]);
}

#[test]
fn a_reader_that_an_apply_did_not_finish_is_not_left_out() {
    let home = |text: &str| format!("stead: 1\nstack: one\noutputs: {{ t: {text} }}\n");
    let reader = "stead: 1\nstack: two\nstacks: { one: ../one }\n\
        project: { p: { name: alpha, description: $stacks.one.t } }\n";
    let case = repository().file("one/stead.yaml", home("a")).file("two/stead.yaml", reader).emulator();
    case.apply_all();
    case.edit("one/stead.yaml", "t: a", "t: b");
    let flags = "--stacks one --with-dependents";
    let plan = case.ok(&format!("plan --all {flags} --output json")).json();
    let command = format!("apply --all {flags} --expect {}", plan["fingerprint"].as_str().unwrap());
    case.cloud().faults(&["PUT /projects/*=403:20", "PATCH /projects/*=403:20"]);
    case.fails(6, &command).says(&["1 applied"]);
    case.cloud().faults(&[]);
    case.fails(2, &format!("plan --all {flags} --exit-code")).says(&["project.p"]);
    case.ok(&command).says(&["1 applied", "Continuing a review"]);
    for _ in 0..2 {
        case.ok(&command).says(&["Applied already"]);
    }
}

#[test]
fn a_repeated_apply_knows_that_a_unit_was_removed() {
    let case = repository().emulator();
    case.ok("apply --all --yes");
    std::fs::remove_file(case.path("two/stead.yaml")).unwrap();
    case.edit("one/stead.yaml", "size: 20", "size: 30");
    let plan = case.ok("plan --all --remove two/default --output json").json();
    let again =
        format!("apply --all --remove two/default --expect {}", plan["fingerprint"].as_str().unwrap());
    // A retry goes on with what is left of the review.
    case.cloud().faults(&["PATCH *=403:1"]);
    case.fails(6, &again).says(&["1 applied"]);
    case.cloud().faults(&[]);
    case.ok(&again).says(&["1 applied", "Continuing a review of 2 units: 1 not done"]);
    case.ok(&again).says(&["Applied already: run "]);
}
