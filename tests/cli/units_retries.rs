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
    let cloud = Emulator::start(&case.path(".stead"), &["--fail", "DELETE *=delay-60000ms"]);
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
