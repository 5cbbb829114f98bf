//! Saved plans and fingerprints: what an attacker cannot do who edits the file, or live objects between plan and
//! apply.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use stead::kinds::REGISTRY;
use stead::ledger::integrity::export;
use stead::ledger::state::ledger::Ledger;
use stead::model::expression::Expression;
use stead::plan::artifact::saved_plan::SavedPlan;
use stead::plan::artifact::signature::SignedPlanText;
use stead::plan::model::step::{CriticalPath, Operation};

use crate::case::{Case, Run};

const STACK: &str = "\
stead: 1
stack: saved
project:
  home: { name: home, description: one }
";

const SECRET: &str = "\
stead: 1
stack: saved
vars: { word: { type: secret } }
project: { p: {} }
app: { web: { type: web, image: nginx, port: 80, env_vars: { TOKEN: $vars.word } } }
";

fn small() -> Case {
    Case::new().file("stead.yaml", STACK).emulator()
}

/// Edits a saved plan and recomputes its digest, which needs no key; returns its fingerprint.
fn forge(case: &Case, from: &str, to: &str, edit: impl FnOnce(&mut SavedPlan)) -> String {
    let text = SignedPlanText::parse(&fs::read_to_string(case.path(from)).unwrap()).text;
    let mut saved = SavedPlan::parse(&text, REGISTRY).unwrap();
    edit(&mut saved);
    let saved = SavedPlan::new(saved.plan, saved.binding, saved.stead_version).unwrap();
    case.write(to, saved.to_text().unwrap());
    saved.plan.fingerprint
}

/// Replaces the description that the first step sends.
fn redirect(saved: &mut SavedPlan) {
    let Operation::Create { desired, .. } = &mut saved.plan.steps[0].operation else {
        panic!("no creation")
    };
    desired.insert("description".into(), Expression::Value("evil".into()));
}

/// Runs a command that must be refused without a mutating request.
fn refused(case: &Case, code: i32, args: &str) -> Run {
    let before = case.cloud().last();
    let run = case.fails(code, args);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "{args}");
    run
}

fn fingerprint(case: &Case, args: &str) -> String {
    case.ok(args).json()["fingerprint"].as_str().unwrap().to_owned()
}

/// Writes a key pair as `NAME.pem` and `NAME.pub`.
fn key(case: &Case, name: &str, seed: u8) {
    let pem = |kind: &str, der: &[u8]| {
        format!("-----BEGIN {kind} KEY-----\n{}\n-----END {kind} KEY-----\n", STANDARD.encode(der))
    };
    let mut private = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    private.extend([seed; 32]);
    let mut public = vec![0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
    public.extend(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap().public_key().as_ref());
    case.write(&format!("{name}.pem"), pem("PRIVATE", &private));
    case.write(&format!("{name}.pub"), pem("PUBLIC", &public));
    fs::set_permissions(case.path(&format!("{name}.pem")), fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_step_that_was_edited_is_neither_shown_nor_applied() {
    let case = small();
    case.ok("plan -o a.plan");
    let reviewed = fingerprint(&case, "show a.plan --output json");
    // The step alone: what is shown would not be what runs.
    forge(&case, "a.plan", "step.plan", redirect);
    case.fails(1, "show step.plan")
        .says(&["project.home.description is not what its step says", "plan -o"]);
    refused(&case, 1, "apply step.plan").says(&["project.home.description"]);
    // Step and change: it shows what it holds, under another fingerprint, and the configuration says otherwise.
    forge(&case, "a.plan", "both.plan", |saved| {
        redirect(saved);
        let all = saved.plan.changes.iter_mut().flat_map(|change| &mut change.attributes);
        all.filter(|one| one.path == "description").for_each(|one| one.after = "evil".into());
    });
    assert_ne!(fingerprint(&case, "show both.plan --output json"), reviewed);
    case.ok("show both.plan").says(&["evil"]);
    refused(&case, 5, &format!("apply both.plan --expect {reviewed}"));
    refused(&case, 5, "apply both.plan")
        .says(&["differs from the saved one: project.home", "Make a new plan"]);
    // A step less, and what only the texts of a plan say.
    forge(&case, "a.plan", "less.plan", |saved| {
        saved.plan.steps.clear();
        saved.plan.changes.clear();
        saved.plan.critical_path = CriticalPath::default();
    });
    refused(&case, 5, "apply less.plan");
    forge(&case, "a.plan", "cheap.plan", |saved| {
        saved.plan.cost.monthly_after += rust_decimal::Decimal::ONE;
    });
    refused(&case, 5, "apply cheap.plan").says(&["the prices"]);
    case.ok(&format!("apply a.plan --expect {reviewed}"));
}

#[test]
fn a_saved_plan_is_applied_once_even_if_it_is_edited() {
    let case = small();
    case.ok("plan -o a.plan");
    forge(&case, "a.plan", "b.plan", |saved| saved.plan.base.nonce = uuid::Uuid::from_u128(1));
    case.ok("apply a.plan");
    refused(&case, 5, "apply b.plan");
    // What another apply recorded meanwhile makes every plan of before an old one.
    case.edit("stead.yaml", "description: one", "description: two");
    case.ok("plan -o c.plan");
    forge(&case, "c.plan", "d.plan", |saved| saved.plan.base.serial = 0);
    case.edit("stead.yaml", "description: two", "description: three");
    case.ok("apply --yes");
    case.edit("stead.yaml", "description: three", "description: two");
    for plan in ["c.plan", "d.plan"] {
        refused(&case, 5, &format!("apply {plan}")).says(&["the ledger changed since the plan was made"]);
    }
}

#[test]
fn a_plan_expires() {
    let case = small();
    case.ok("plan -o a.plan --expires 1m");
    case.ok("show a.plan").says(&["EXPIRES"]);
    let back = |saved: &mut SavedPlan, by: SignedDuration| {
        saved.plan.base.made_at = saved.plan.base.made_at.checked_sub(by).unwrap();
    };
    forge(&case, "a.plan", "old.plan", |saved| {
        back(saved, SignedDuration::from_hours(8 * 24));
        saved.binding.expires =
            saved.binding.expires.checked_sub(SignedDuration::from_hours(8 * 24)).unwrap();
    });
    refused(&case, 5, "apply old.plan").says(&["the plan expired at", "Make a new plan"]);
    case.ok("show old.plan");
    forge(&case, "a.plan", "lasting.plan", |saved| back(saved, SignedDuration::from_hours(31 * 24)));
    refused(&case, 5, "apply lasting.plan").says(&["which is not a valid lifetime"]);
    case.ok("plan -o week.plan");
    let text = fs::read_to_string(case.path("week.plan")).unwrap();
    let saved = SavedPlan::parse(&text, REGISTRY).unwrap();
    let lifetime = saved.plan.base.made_at.duration_until(saved.binding.expires);
    assert_eq!(lifetime, SignedDuration::from_hours(7 * 24));
    for (flags, why) in [("-o x --expires 59s", "from 1m to 30d"), ("-o x --expires 31d", "from 1m to 30d")]
    {
        case.fails(64, &format!("plan {flags}")).says(&[why]);
    }
    case.fails(64, "plan --expires 1h");
}

#[test]
fn a_saved_plan_of_the_first_format_is_rejected() {
    let case = small();
    case.ok("plan -o a.plan");
    let text = fs::read_to_string(case.path("a.plan")).unwrap();
    case.write("old.plan", text.replacen("\"schema\":2", "\"schema\":1", 1));
    for command in ["show", "apply"] {
        refused(&case, 1, &format!("{command} old.plan")).says(&["form 1", "plan again"]);
    }
    // Nor is anything read that stead does not write itself.
    case.write("more.plan", text.replacen("{\"schema\"", "{\"note\":1,\"schema\"", 1));
    case.write("inner.plan", text.replacen("\"plan\":{", "\"plan\":{\"fingerprint\":\"7f3a\",", 1));
    for plan in ["more.plan", "inner.plan"] {
        refused(&case, 1, &format!("apply {plan}"));
    }
}

#[test]
fn only_a_full_fingerprint_is_accepted_as_an_argument() {
    let case = small();
    let whole = fingerprint(&case, "plan --output json");
    assert_eq!(whole.len(), 64);
    let short = format!("{}-{}", &whole[..4], &whole[4..8]);
    case.ok("plan").says(&[&format!("fingerprint {short}")]);
    case.ok("plan -v").says(&[&whole]);
    for eight in [short.clone(), whole[..8].to_owned()] {
        refused(&case, 64, &format!("apply --yes --expect {eight}"))
            .says(&["eight digits are for display only", "64 hexadecimal digits"]);
    }
    for other in [&whole[..63], &whole[..16], "x"] {
        refused(&case, 64, &format!("apply --yes --expect {other}"))
            .says(&["not the fingerprint of a plan"]);
    }
    let other = format!("{}{}", &whole[..63], if whole.ends_with('0') { '1' } else { '0' });
    refused(&case, 5, &format!("apply --yes --expect {other}")).says(&[&whole]);
    case.ok(&format!("apply --expect {whole}"));
}

#[test]
fn integrity_fingerprint_and_signature_are_checked_together() {
    let case = small();
    key(&case, "ours", 1);
    key(&case, "theirs", 2);
    case.ok("plan -o a.plan --sign-key ours.pem");
    let right = fingerprint(&case, "show a.plan --output json");
    let wrong = "0".repeat(64);
    refused(&case, 5, &format!("apply a.plan --expect {wrong} --verify-key ours.pub")).says(&[&right]);
    refused(&case, 4, &format!("apply a.plan --expect {right} --verify-key theirs.pub"));
    forge(&case, "a.plan", "unsigned.plan", |_| {});
    refused(&case, 4, &format!("apply unsigned.plan --expect {right} --verify-key ours.pub"));
    let mut command = case.command(&format!("apply unsigned.plan --expect {right}"));
    let run = Run::of(&command.env("STEAD_PLAN_VERIFY_KEY", case.path("ours.pub")).output().unwrap());
    assert_eq!(run.code, 4, "{}", run.all());
    case.ok(&format!("apply a.plan --expect {right} --verify-key ours.pub")).says(&["checked"]);
}

#[test]
fn a_first_apply_imports_exactly_the_reviewed_object() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    let project = |case: &Case| {
        let all = case.cloud().list("/api/v1/projects");
        all.into_iter().find(|one| one["name"] == "home").unwrap()["id"].as_str().unwrap().to_owned()
    };
    let id = project(&case);
    fs::remove_dir_all(case.path(".stead")).unwrap();
    case.write("stead.yaml", format!("{STACK}import: [{{ to: project.home, id: {id} }}]\n"));
    case.ok("plan -o a.plan").says(&["contains a new fingerprint key"]);
    case.cloud().mutate("project", &id, &json!({ "description": "moved" }));
    refused(&case, 5, "apply a.plan").says(&["project.home", "description"]);
    // Nothing was recorded: it is still to be adopted.
    assert_eq!(case.ok("plan --output json").json()["changes"][0]["action"], "adopt");
    case.cloud().mutate("project", &id, &json!({ "description": "one" }));
    case.ok("apply a.plan");
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn without_a_ledger_a_saved_plan_binds_the_values_of_secrets() {
    let case = Case::new().file("stead.yaml", SECRET).emulator();
    let with =
        |word: &str, args: &str| Run::of(&case.command(args).env("STEAD_VAR_WORD", word).output().unwrap());
    let planned = with("canary-one", "plan -o a.plan");
    planned.says(&["keep the file as private as the ledger"]);
    let file = fs::metadata(case.path("a.plan")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(case.path("a.plan")).unwrap();
    assert!(!text.contains("canary") && text.contains("\"unborn\""));
    let before = case.cloud().last();
    let run = with("canary-two", "apply a.plan");
    assert_eq!(run.code, 5, "{}", run.all());
    run.says(&["the value of a secret changed since the plan was made"]);
    // Without the key nothing is compared, and so nothing is applied.
    forge(&case, "a.plan", "b.plan", |saved| saved.binding.unborn = None);
    assert_eq!(with("canary-one", "apply b.plan").code, 5);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
    let whole: Value = serde_json::from_str(&with("canary-one", "plan --output json").stdout).unwrap();
    let expect = format!("apply --expect {}", whole["fingerprint"].as_str().unwrap());
    with("canary-one", &expect)
        .says(&["covers the expressions and the names of secrets, but not their values"]);
    // From then on the ledger's key binds them, and no file has one.
    case.edit("stead.yaml", "port: 80", "port: 81");
    assert!(!with("canary-one", "plan -o c.plan").all().contains("key of its own"));
    assert!(!fs::read_to_string(case.path("c.plan")).unwrap().contains("\"unborn\""));
    assert_eq!(with("canary-one", "apply c.plan").code, 0);
}

#[test]
fn a_saved_plan_is_not_written_through_a_symlink() {
    let case = small();
    case.write("victim", "precious");
    symlink(case.path("victim"), case.path("a.plan")).unwrap();
    case.run("plan -o a.plan");
    assert_eq!(fs::read_to_string(case.path("victim")).unwrap(), "precious");
    fs::remove_file(case.path("a.plan")).unwrap();
    case.write("a.plan", "older");
    fs::set_permissions(case.path("a.plan"), fs::Permissions::from_mode(0o644)).unwrap();
    case.ok("plan -o a.plan");
    let file = fs::symlink_metadata(case.path("a.plan")).unwrap();
    assert!(file.is_file());
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

/// Fingerprints of earlier versions have 16 digits. They are accepted, and the next apply replaces them.
#[test]
fn short_fingerprints_in_a_ledger_match_and_are_replaced() {
    let case = Case::new().file("stead.yaml", SECRET).emulator();
    let with = |word: &str, args: &str| {
        let run = Run::of(&case.command(args).env("STEAD_VAR_WORD", word).output().unwrap());
        assert_eq!(run.code, 0, "{args}: {}", run.all());
        run
    };
    let ledger = || {
        with("canary-one", "state pull -o ledger.json");
        export::parse(&fs::read(case.path("ledger.json")).unwrap(), "it", None).unwrap()
    };
    let token = |ledger: &Ledger| {
        let applied = serde_json::to_value(&ledger.entries["app.web"].applied["env_vars"]).unwrap();
        applied["TOKEN"]["fingerprint"].as_str().unwrap().to_owned()
    };
    with("canary-one", "apply --yes");
    let now = ledger();
    let print = token(&now);
    assert_eq!(print.len(), 64);
    // As an earlier version recorded it.
    let text = serde_json::to_string(&now).unwrap().replace(&print, &print[..16]);
    let mut old: Ledger = serde_json::from_str(&text).unwrap();
    // Or it would be the same, and nothing would be written.
    old.history.clear();
    assert_eq!(token(&old), print[..16]);
    case.write("old.json", export::write_document(&old, None).unwrap());
    with("canary-one", "state push old.json --force --yes");
    with("canary-one", "plan").says(&["No changes"]);
    with("canary-two", "plan").says(&["app.web", "TOKEN"]);
    assert_eq!(token(&ledger()), print[..16], "a plan records nothing");
    with("canary-one", "apply --yes --accept-older-ledger").says(&["No changes"]);
    assert_eq!(token(&ledger()), print);
    with("canary-one", "plan").says(&["No changes"]);
}

/// Every fingerprint and digest in every document is complete.
#[test]
fn no_document_contains_a_shortened_fingerprint() {
    let case = Case::new().file("stead.yaml", SECRET).emulator();
    let with = |args: &str| {
        let run = Run::of(&case.command(args).env("STEAD_VAR_WORD", "canary-one").output().unwrap());
        assert_eq!(run.code, 0, "{args}: {}", run.all());
        run.stdout
    };
    let mut documents = vec![
        with("plan -o a.plan --output json --report json=r.json --report md=r.md --report html=r.html"),
        with("plan -v --output ndjson"),
        with("show a.plan --output json"),
        with("apply --yes --output ndjson"),
        with("history --output json"),
        with("plan --output json"),
    ];
    documents.extend(["a.plan", "r.json"].map(|name| fs::read_to_string(case.path(name)).unwrap()));
    let mut seen = 0;
    for text in &documents {
        for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            whole(&document.unwrap(), &mut seen);
        }
    }
    assert!(seen >= 8, "{seen}");
    let print = documents[2].split("\"fingerprint\": \"").nth(1).unwrap().split('"').next().unwrap();
    for name in ["r.md", "r.html"] {
        let text = fs::read_to_string(case.path(name)).unwrap();
        assert!(text.contains(print), "{name}");
    }
    let report = fs::read_to_string(case.path("r.md")).unwrap();
    assert!(report.contains(&format!("apply --expect {print}")), "{report}");
}

/// Checks the length of every value whose key names a fingerprint or digest.
fn whole(value: &Value, seen: &mut usize) {
    match value {
        Value::Object(map) => {
            for (key, part) in map {
                let named = ["fingerprint", "digest", "config", "plan_fingerprint"].contains(&key.as_str());
                if let (true, Some(text)) = (named, part.as_str()) {
                    let is_hex = text.bytes().all(|b| b.is_ascii_hexdigit());
                    assert!(text.len() == 64 && is_hex, "{key}: {text}");
                    *seen += 1;
                }
                whole(part, seen);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| whole(item, seen)),
        _ => {}
    }
}
