//! Services that differ from the emulator within the specification: records without a project, ids in another form,
//! and a lost response that contained a secret.

use std::fs;

use serde_json::{Value, json};

use crate::case::Case;
use crate::lying::{Liar, Lie};

const VOLUME: &str = "\
stead: 1
stack: media
environments: { prod: { default: true } }
volume:
  media: { size: 10 }
";

/// Short waiting bounds: an emulator on this machine shows every effect at once.
const BOUNDS: &str = "--effect-bound 100ms --listing-bound 100ms";

/// Removes the project from every record of a response.
fn without_project(mut body: Value) -> Value {
    let data = &mut body["data"];
    let rows = match data {
        Value::Array(rows) => rows.iter_mut().collect::<Vec<_>>(),
        record => vec![record],
    };
    rows.into_iter().filter_map(Value::as_object_mut).for_each(|row| drop(row.remove("project_id")));
    body
}

/// Replaces `ours` by another value in every record of a response.
fn with_other_texts(mut body: Value) -> Value {
    let rows = match body.get_mut("data") {
        Some(Value::Array(rows)) => rows.iter_mut().collect::<Vec<_>>(),
        record => record.into_iter().collect(),
    };
    let fields = rows.into_iter().filter_map(Value::as_object_mut).flat_map(|row| row.values_mut());
    fields.filter(|field| **field == "ours").for_each(|field| *field = "theirs".into());
    body
}

fn lists(line: &str) -> bool {
    line.starts_with("GET /api/v1/volumes?")
}

fn volumes(line: &str) -> bool {
    line.contains("/api/v1/volumes")
}

/// Returns a case with an unmanaged volume, and the volume's id.
fn with_volume() -> (Case, Liar, String) {
    let case = Case::new().file("stead.yaml", VOLUME).emulator();
    let liar = Liar::before(&case);
    let project = case.cloud().list("/api/v1/projects")[0]["id"].as_str().unwrap().to_owned();
    let made = case.cloud().make("/api/v1/volumes", &json!({"name": "media", "size": 10}), &project);
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    (case, liar, id)
}

#[test]
fn an_imported_object_is_changed_with_the_id_of_its_project() {
    let nowhere: [Lie; 2] = [
        |line, status, body| (status, if lists(line) { without_project(body) } else { body }),
        // Only the list that is filtered by the project shows in which it is.
        |line, status, body| (status, if volumes(line) { without_project(body) } else { body }),
    ];
    for lie in nowhere {
        let (case, liar, id) = with_volume();
        liar.tell(lie);
        let run = liar.run(&case, &format!("apply --yes --adopt volume.media={id}"));
        assert_eq!(run.code, 0, "{}", run.all());
        case.edit("stead.yaml", "size: 10", "size: 20");
        let run = liar.run(&case, &format!("apply --yes {BOUNDS}"));
        assert_eq!(run.code, 0, "{}", run.all());
        let live = case.cloud().list("/api/v1/volumes");
        assert_eq!((live.len(), &live[0]["size"]), (1, &json!(20)));
    }
}

#[test]
fn no_request_is_sent_with_a_guessed_project() {
    let (case, liar, id) = with_volume();
    liar.tell(|line, status, body| match body["data"].is_array() {
        true if lists(line) => (status, json!({"data": [], "total": 0})),
        _ if volumes(line) => (status, without_project(body)),
        _ => (status, body),
    });
    let run = liar.run(&case, &format!("apply --yes --adopt volume.media={id}"));
    assert_eq!(run.code, 0, "nothing had to be sent: {}", run.all());
    case.edit("stead.yaml", "size: 10", "size: 20");
    let before = case.cloud().last();
    let run = liar.run(&case, "apply --yes");
    assert_eq!(run.code, 4, "{}", run.all());
    run.says(&["project_unknown", "The project of volume.media", "stead rm volume.media --keep"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    let run = liar.run(&case, "rm volume.media --keep --yes");
    assert_eq!(run.code, 0, "{}", run.all());
    let run = liar.run(&case, "apply --yes");
    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
}

#[test]
fn a_database_is_adopted_by_its_short_id() {
    let stack = "stead: 1\nstack: shop\ndatabase: { main: { plan: pg-free } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let short = case.cloud().list("/api/v1/databases")[0]["database_id"].as_str().unwrap().to_owned();
    fs::remove_dir_all(case.path(".stead")).unwrap();
    let before = case.cloud().last();
    case.ok(&format!("apply --yes --adopt database.main={short}"));
    case.ok("plan --exit-code").says(&["No changes"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

/// Loses the response to the creation of an API key whose secret is delivered to a file; `beside` adds resources.
fn lost_answer(beside: &str) -> Case {
    let stack = format!(
        "stead: 1\nstack: keys\nenvironments: {{ prod: {{ default: true }} }}\n\
         api_key: {{ ci: {{ deliver_secret: {{ file: ./secret.txt }} }} }}\n{beside}"
    );
    let flags = ["--fail", "POST /api-keys=reset-after:1"];
    Case::new().file("stead.yaml", stack).emulator_with(&flags)
}

fn keys(case: &Case) -> Vec<String> {
    let named = |key: &Value| key["name"].as_str().is_some_and(|name| name.contains("ci"));
    let live = case.cloud().list("/api/v1/api-keys").into_iter().filter(named);
    live.map(|key| key["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the command that `resolve` prints for an answer.
fn printed(case: &Case, word: &str) -> String {
    let told = case.ok("resolve").stdout;
    let line = told.lines().find(|line| line.contains(&format!(" {word} "))).unwrap_or_default();
    line.trim().strip_prefix("stead ").unwrap_or_else(|| panic!("no {word}: {told}")).to_owned()
}

#[test]
fn a_key_with_a_lost_secret_is_an_ambiguous_intent() {
    let case = lost_answer("");
    case.fails(1, &format!("apply --yes {BOUNDS}")).says(&[
        "api_key.ci",
        "shown once, in a response that was lost",
        "stead resolve",
    ]);
    assert_eq!(keys(&case).len(), 1);
    // The rest goes on.
    let text = fs::read_to_string(case.path("stead.yaml")).unwrap();
    case.write("stead.yaml", format!("{text}vpc: {{ main: {{ cidr: 10.1.0.0/16 }} }}\n"));
    let run = case.run(&format!("apply --yes {BOUNDS}"));
    assert!(run.code != 0, "{}", run.all());
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1, "{}", run.all());
    assert_eq!(keys(&case).len(), 1, "it is frozen");
}

#[test]
fn a_key_with_a_lost_secret_can_be_replaced() {
    let case = lost_answer("");
    case.fails(1, &format!("apply --yes {BOUNDS}"));
    let first = keys(&case);
    case.ok(&printed(&case, "surplus"));
    case.ok(&format!("apply --yes {BOUNDS}"));
    let now = keys(&case);
    assert!(now.len() == 1 && now != first, "{first:?} {now:?}");
    assert!(fs::read_to_string(case.path("secret.txt")).unwrap().len() > 10);
    case.ok("plan --exit-code").says(&["No changes"]);
}

#[test]
fn a_key_with_a_lost_secret_can_be_kept_undelivered() {
    let case = lost_answer("");
    case.fails(1, &format!("apply --yes {BOUNDS}"));
    let first = keys(&case);
    case.ok(&printed(&case, "adopt"));
    case.ok(&format!("apply --yes {BOUNDS}"));
    assert_eq!(keys(&case), first);
    assert!(!case.path("secret.txt").exists());
    case.ok("plan --exit-code").says(&["No changes"]);
}

/// Configures a secret sink that runs a script.
fn sink(case: &Case, script: &str) {
    let text = format!("[profiles.default.sinks]\nvault = [\"/bin/sh\", \"-c\", \"{script}\"]\n");
    case.write(".config/stead/settings.toml", text);
}

/// Returns a key whose secret is lost in a ledger without an ambiguous intent, as earlier versions wrote it.
fn lost_without_a_question() -> Case {
    let stack = "stead: 1\nstack: keys\nenvironments: { prod: { default: true } }\n\
                 api_key: { ci: { deliver_secret: { sink: vault } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    sink(&case, "exit 7");
    case.fails(1, "apply --yes").says(&["could not be delivered"]);
    fs::remove_dir_all(case.path(".local/state/stead/rescue")).unwrap();
    sink(&case, &format!("cat > {}", case.path("stored").display()));
    case
}

#[test]
fn a_lost_secret_of_an_earlier_version_freezes_its_address_only() {
    let case = lost_without_a_question();
    let text = fs::read_to_string(case.path("stead.yaml")).unwrap();
    let beside =
        "vpc: { main: { cidr: 10.1.0.0/16 }, held: { cidr: 10.2.0.0/16, depends_on: [api_key.ci] } }\n";
    case.write("stead.yaml", format!("{text}{beside}"));
    case.fails(4, "plan").says(&["secret_lost", "api_key.ci was shown once"]);
    let run = case.run(&format!("apply --yes {BOUNDS}"));
    assert!(run.code != 0, "{}", run.all());
    let made = case.cloud().list("/api/v1/vpcs");
    let names: Vec<_> = made.iter().filter_map(|vpc| vpc["name"].as_str()).collect();
    assert_eq!(names, ["main"], "what needs the key waits: {}", run.all());
    let first = keys(&case);
    assert_eq!(first.len(), 1, "it is frozen");
    let document = case.ok("resolve --output json").json();
    assert_eq!(document["questions"][0]["handle"], json!("api_key.ci"));
    case.fails(1, "resolve api_key.ci absent").says(&["Its answers are: surplus"]);
    case.ok(&printed(&case, "surplus"));
    case.ok(&format!("apply --yes {BOUNDS}"));
    let now = keys(&case);
    assert!(now.len() == 1 && now != first, "{first:?} {now:?}");
    assert!(fs::read_to_string(case.path("stored")).unwrap().len() > 10);
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 2);
    case.ok("plan --exit-code").says(&["No changes"]);
}

#[test]
fn a_key_of_an_earlier_version_can_be_kept_undelivered() {
    let case = lost_without_a_question();
    let first = keys(&case);
    let told = case.run("plan").all().split_whitespace().collect::<Vec<_>>().join(" ");
    let remedy = printed(&case, "adopt");
    assert!(told.contains(&format!("stead {remedy}")), "{remedy}: {told}");
    case.ok(&remedy);
    case.ok("resolve").says(&["There is nothing to resolve"]);
    case.ok(&format!("apply --yes {BOUNDS}"));
    assert_eq!(keys(&case), first);
    assert!(!case.path("stored").exists());
    case.ok("plan --exit-code").says(&["No changes"]);
}

#[test]
fn an_attribute_that_the_service_does_not_return_is_unverified() {
    let case = Case::new().file("stead.yaml", VOLUME.replace("size: 10", "size: 10, billing_type: payg"));
    let case = case.emulator();
    let liar = Liar::before(&case);
    assert_eq!(liar.run(&case, "apply --yes").code, 0);
    liar.run(&case, "plan --exit-code").says(&["No changes"]);
    liar.tell(|line, status, mut body| {
        let rows = match body.get_mut("data") {
            Some(Value::Array(rows)) => rows.iter_mut().collect::<Vec<_>>(),
            record => record.into_iter().collect(),
        };
        for row in rows.into_iter().filter_map(Value::as_object_mut).filter(|_| volumes(line)) {
            row.remove("billing_type");
        }
        (status, body)
    });
    let run = liar.run(&case, "plan --exit-code");
    assert_eq!(run.code, 0, "{}", run.all());
    let said = "not verified, because the service does not return them: volume.billing_type (volume.media)";
    run.says(&["No changes", said]);
    let run = liar.run(&case, "drift --exit-code --report md=drift.md");
    assert_eq!(run.code, 0, "{}", run.all());
    run.says(&["no drift", said]);
    assert!(fs::read_to_string(case.path("drift.md")).unwrap().contains("not verified"));
    let notes = liar.run(&case, "drift --output json").json()["notes"].clone();
    assert_eq!((&notes[0]["code"], &notes[0]["text"]), (&json!("unverified"), &json!(said)));
}

/// Covers values that the service does not keep, one of which an apply sends again.
#[test]
fn a_value_that_the_service_does_not_keep_is_not_drift() {
    let stack = "stead: 1\nstack: shop\n\
                 app: { web: { type: web, image: \"x:1\", description: ours, start_command: ours } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let liar = Liar::before(&case);
    liar.tell(|_, status, body| (status, with_other_texts(body)));
    assert_eq!(liar.run(&case, &format!("apply --yes {BOUNDS}")).code, 1);
    let run = liar.run(&case, "drift --exit-code --report md=drift.md");
    assert_eq!(run.code, 0, "{}", run.all());
    let said = ["description", "start_command"].map(|name| {
        format!(
            "the service does not keep `app.web.{name}`: `ours` was sent, and the object shows `theirs`"
        )
    });
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in &said {
        assert!(words(&run.stdout).contains(said), "no {said} in {}", run.all());
    }
    run.says(&["no drift"]);
    assert!(fs::read_to_string(case.path("drift.md")).unwrap().contains("the service does not keep"));
    let document = liar.run(&case, "drift --output json").json();
    assert_eq!(document["drift"], json!([]));
    let notes = document["notes"].as_array().unwrap();
    let texts: Vec<_> = notes.iter().filter_map(|note| note["text"].as_str()).collect();
    assert_eq!(texts, said);
}

#[test]
fn an_attribute_ignored_at_creation_counts_as_never_shown() {
    let stack = "stead: 1\nstack: teams\n\
                 project: { team: { description: ours, lifecycle: { ignore_drift: [description] } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let liar = Liar::before(&case);
    liar.tell(|_, status, body| (status, with_other_texts(body)));
    assert_eq!(liar.run(&case, "apply --yes").code, 0);
    liar.run(&case, "plan --exit-code").says(&["No changes"]);
    case.edit("stead.yaml", ", lifecycle: { ignore_drift: [description] }", "");
    let run = liar.run(&case, "plan");
    run.says(&["theirs", "ours", "differs from what was applied"]);
    assert!(!run.all().contains("changed outside stead"), "{}", run.all());
}

/// Checks that the service refused almost no request for its rate. On a machine under load, requests leave late and
/// together; commands that share no state can have a fourth of them refused.
fn assert_within_the_limit(case: &Case) {
    let requests = case.cloud().requests();
    let refused = requests.iter().filter(|(_, _, status)| *status == 429).count();
    assert!(refused * 10 <= requests.len(), "{refused} of {} were refused", requests.len());
}

/// Applies VMs that a plan must read one by one.
fn machines() -> Case {
    let machine =
        |n| format!("  m{n}: {{ plan: std-1c-1g, template: ubuntu-24.04, console_require_mfa: false }}\n");
    let machines: String = (0..25).map(machine).collect();
    let case = Case::new().file("stead.yaml", format!("stead: 1\nstack: many\nvm:\n{machines}")).emulator();
    case.ok("apply --yes");
    case
}

#[test]
fn consecutive_commands_stay_within_the_rate_limit() {
    let case = machines();
    for _ in 0..10 {
        case.ok("plan --exit-code").says(&["No changes"]);
    }
    assert_within_the_limit(&case);
}

#[test]
fn concurrent_commands_stay_within_the_rate_limit() {
    let case = machines();
    let all: Vec<_> = (0..4)
        .map(|_| case.command("plan --exit-code").stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    for mut one in all {
        assert!(one.wait().unwrap().success());
    }
    assert_within_the_limit(&case);
}

#[test]
fn an_import_lists_omissions_and_the_entries_for_ids() {
    let case = Case::new().file("stead.yaml", "stead: 1\nstack: taken\n").emulator();
    let other = Case::new().file(
        "stead.yaml",
        "stead: 1\nstack: theirs\n\
         vm: { web: { plan: std-1c-1g, template: ubuntu-24.04, user_data: \"#!/bin/sh\" } }\n\
         volume: { media: { size: 10, vm: $vm.web } }\n",
    );
    let cloud = case.cloud();
    let run = other
        .command("apply --yes")
        .env("STEAD_API_URL", &cloud.url)
        .env("STEAD_API_KEY", &cloud.key)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let volume = cloud.list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    let vm = cloud.list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    let document = case.ok(&format!("import volume.media {volume} --observe --output json")).json();
    let suggestion = &document["suggestions"][0];
    for (key, wanted) in [
        ("address", "volume.media"),
        ("attribute", "vm"),
        ("kind", "vm"),
        ("id", &*vm),
        ("reference", "$vm.web"),
    ] {
        assert_eq!(suggestion[key], wanted, "{document}");
    }
    let run = case.ok(&format!("import volume.media {volume} --yes"));
    run.says(&["volume.media.vm is the id of the vm `web`", "write `$vm.web` in its place"]);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) = text.split_once("(stead ").unwrap();
    let (remedy, _) = rest.split_once(')').unwrap();
    case.ok(&format!("{remedy} --yes")).says(&["user_data", "The service does not show it"]);
    let file = ["stead.yaml", "volume.stead.yaml"]
        .into_iter()
        .find(|name| fs::read_to_string(case.path(name)).is_ok_and(|text| text.contains(&vm)));
    case.edit(file.unwrap(), &vm, "$vm.web");
    case.ok("plan --exit-code").says(&["No changes"]);
}
