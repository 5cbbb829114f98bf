//! Exposures: each row with a warned, an allowed, an expired and a clean case, planned and live.

use serde_json::{Value as Json, json};

use super::shop;
use super::world::{SPAN, World};
use crate::config::stack::model::AllowedExposure;
use crate::model::address::Address;
use crate::model::schema::Effect;
use crate::plan::model::change::{Plan, PolicyStatus};
use crate::plan::model::note::NoteCode;

/// A stack with an API key and a database, and without the exposure that every VM begins with.
fn world() -> World {
    let mut world = shop();
    world.set("vm.web", "console_require_mfa", json!(true));
    world.write("api_key.ci", json!({"expires_at": "2026-12-01T00:00:00Z"}));
    world
}

fn allow(world: &mut World, address: &str, code: &str, until: &str) {
    world.block(address).allowed_exposures = vec![AllowedExposure {
        code: code.into(),
        reason: "agreed with Ada".to_owned(),
        until: Some(until.parse().unwrap()),
        span: SPAN,
    }];
}

/// Returns the exposures of a plan: code, verdict, address and message.
fn exposures(plan: &Plan) -> Vec<String> {
    let lines = plan.policy.iter().map(|result| {
        let address = result.address.as_ref().map(Address::as_str).unwrap_or_default();
        format!("{} {:?} {address}: {}", result.name, result.verdict, result.message)
    });
    lines.collect()
}

/// Returns what the changes of a plan open, in the order of the plan.
fn opened(plan: &Plan) -> Vec<String> {
    let of_change = plan.changes.iter().flat_map(|change| {
        let opens = change.effects.iter().filter(|effect| effect.code == Effect::Exposure);
        opens.map(|effect| format!("{} {}", change.address, effect.text))
    });
    of_change.collect()
}

/// A way to expose a resource, and one to close it: attribute and values.
type Case = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [(&'static str, &'static str)],
);

/// Each code that values of a block decide: the resource, the exposed and the clean values as JSON.
const CASES: &[Case] = &[
    (
        "X01",
        "database.main",
        &[("public_access", "true"), ("public_allowlist", "[]")],
        &[("public_access", "true"), ("public_allowlist", r#"["192.0.2.0/24"]"#)],
    ),
    (
        "X02",
        "database.main",
        &[("public_access", "true"), ("public_allowlist", r#"["10.0.0.0/15"]"#)],
        &[("public_access", "false"), ("public_allowlist", r#"["10.0.0.0/15"]"#)],
    ),
    (
        "X04",
        "api_key.ci",
        &[("expires_at", r#""2027-07-02T00:00:00Z""#)],
        &[("expires_at", r#""2027-06-30T00:00:00Z""#)],
    ),
    ("X05", "api_key.ci", &[("role", r#""admin""#)], &[("role", r#""reader""#)]),
];

fn with_values(address: &str, values: &[(&str, &str)]) -> World {
    let mut world = world();
    for (name, value) in values {
        let value: Json = serde_json::from_str(value).unwrap();
        world.set(address, name, value);
    }
    world
}

#[test]
fn each_code_warns_is_allowed_ends_and_is_clean() {
    for (code, address, exposed, clean) in CASES {
        let mut world = with_values(address, exposed);
        let plan = world.plan();
        let result = plan.policy.iter().find(|result| result.name == *code);
        assert_eq!(
            result.map(|result| result.verdict),
            Some(PolicyStatus::Warn),
            "{code}: {:?}",
            exposures(&plan)
        );
        assert!(plan.blocks.is_empty(), "it blocks nothing");
        assert_eq!(plan.changes[0].address.as_str(), *address, "what opens something comes first");
        assert!(opened(&plan)[0].starts_with(&format!("{address} {code}: ")), "{:?}", opened(&plan));
        allow(&mut world, address, code, "2026-07-01");
        let allowed = world.plan();
        let result = allowed.policy.iter().find(|result| result.name == *code).unwrap();
        assert_eq!(result.verdict, PolicyStatus::Allowed, "{code}");
        assert!(
            result.message.ends_with("; allowed until 2026-07-01: agreed with Ada"),
            "{}",
            result.message
        );
        assert_eq!(opened(&allowed), Vec::<String>::new(), "{code}");
        allow(&mut world, address, code, "2026-06-30");
        let ended = world.plan();
        let result = ended.policy.iter().find(|result| result.name == *code).unwrap();
        assert_eq!(result.verdict, PolicyStatus::Warn, "{code}");
        assert!(result.message.ends_with("; its allow_exposure ended on 2026-06-30"), "{}", result.message);
        assert_eq!((allowed.fingerprint, opened(&ended).len()), (ended.fingerprint.clone(), 1), "{code}");
        assert_eq!(exposures(&with_values(address, clean).plan()), Vec::<String>::new(), "{code}");
    }
}

#[test]
fn many_narrow_networks_are_wide_together() {
    let networks: Vec<String> = (0..17).map(|n| format!("10.{n}.0.0/16")).collect();
    let mut world = world();
    world.set("database.main", "public_access", json!(true)).set(
        "database.main",
        "public_allowlist",
        json!(networks),
    );
    assert_eq!(
        exposures(&world.plan())[0],
        "X02 Warn database.main: it is public, and its allowlist is very wide"
    );
    world.set("database.main", "public_allowlist", json!(networks[..16]));
    assert_eq!(exposures(&world.plan()), Vec::<String>::new());
}

#[test]
fn an_old_database_accepts_unencrypted_connections() {
    let mut world = world();
    world.settle();
    let live = |world: &mut World, created: &str| {
        world.mutate("database.main", "created_at", json!(created));
        exposures(&world.plan())
    };
    assert_eq!(
        live(&mut world, "2026-10-12T23:59:59Z"),
        ["X03 Warn database.main: it accepts unencrypted connections"]
    );
    assert_eq!(live(&mut world, "2026-10-13T00:00:00Z"), Vec::<String>::new());
    world.mutate("database.main", "created_at", json!("2026-10-12T23:59:59Z"));
    allow(&mut world, "database.main", "X03", "2027-01-31");
    assert!(exposures(&world.plan())[0].starts_with("X03 Allowed"));
    allow(&mut world, "database.main", "X03", "2026-01-31");
    assert!(exposures(&world.plan())[0].starts_with("X03 Warn"));
}

#[test]
fn a_console_without_a_code_is_no_opening_and_can_be_intended() {
    let mut world = world();
    world.unset("vm.web", "console_require_mfa");
    let plan = world.plan();
    assert_eq!(
        exposures(&plan),
        ["X06 Warn vm.web: its web console asks for no authenticator code by default"]
    );
    assert_eq!(opened(&plan), Vec::<String>::new(), "every VM begins with it");
    allow(&mut world, "vm.web", "X06", "2026-07-01");
    assert!(exposures(&world.plan())[0].starts_with("X06 Allowed"));
    allow(&mut world, "vm.web", "X06", "2026-06-30");
    assert!(exposures(&world.plan())[0].starts_with("X06 Warn"));
    world.set("vm.web", "console_require_mfa", json!(false));
    assert_eq!(exposures(&world.plan()), Vec::<String>::new(), "the stack says so on purpose");
}

#[test]
fn a_console_is_exposed_by_what_it_is_and_not_by_what_is_written() {
    const OPEN: &str = "X06 Warn vm.web: its web console asks for no authenticator code";
    let mut world = world();
    world.set("vm.web", "console_require_mfa", json!(true));
    world.settle();
    world.mutate("vm.web", "console_require_mfa", json!(false));
    assert_eq!(exposures(&world.plan()), Vec::<String>::new(), "the apply closes it");
    world.options.only_looks = true;
    assert_eq!(exposures(&world.plan()), [OPEN]);
    // The stack does not say anything: the live value decides, and the default where lists do not show it.
    world.unset("vm.web", "console_require_mfa");
    assert_eq!(exposures(&world.plan()), [OPEN]);
    world.options.only_looks = false;
    world.mutate("vm.web", "console_require_mfa", json!(true));
    assert_eq!(exposures(&world.plan()), Vec::<String>::new());
    world.mutate("vm.web", "console_require_mfa", json!(null));
    let assumed = format!("{OPEN} (assumed)");
    assert_eq!(exposures(&world.plan()), [assumed]);
}

#[test]
fn an_opening_by_hand_shows_in_the_live_objects_only() {
    let mut world = world();
    world.set("database.main", "public_access", json!(false));
    world.settle();
    world.mutate("database.main", "public_access", json!(true));
    assert_eq!(exposures(&world.plan()), Vec::<String>::new(), "the apply closes it");
    world.options.only_looks = true;
    let looked = world.plan();
    assert_eq!(exposures(&looked), ["X01 Warn database.main: it is public, and any address may connect"]);
    assert_eq!(opened(&looked), Vec::<String>::new());
}

#[test]
fn an_exposure_that_exists_already_is_no_effect() {
    let mut world = world();
    world.set("database.main", "public_access", json!(true));
    world.settle();
    world.set("database.main", "storage_gb", json!(60));
    let plan = world.plan();
    assert_eq!(exposures(&plan).len(), 1);
    assert_eq!(opened(&plan), Vec::<String>::new());
}

#[test]
fn the_settings_say_which_roles_are_privileged() {
    let mut world = world();
    world.write("project.shop.members.ci", json!({"api_key": "$api_key.ci", "role": "deployer"}));
    world.write("project.shop.members.ada", json!({"member": "m-1", "role": "deployer"}));
    assert_eq!(exposures(&world.plan()), Vec::<String>::new());
    world.options.policy.privileged_roles = vec!["deployer".into()];
    assert_eq!(
        exposures(&world.plan()),
        ["X05 Warn project.shop.members.ci: its role is a privileged one"],
        "the role of a person does not count"
    );
}

/// An allowance that matches nothing would silence the exposure of a later change.
#[test]
fn an_allowance_of_what_the_object_does_not_have_is_a_note() {
    let unused = |world: &World| {
        let notes = world.plan().notes.into_iter().filter(|note| note.code == NoteCode::NotExposed);
        notes.map(|note| note.text).collect::<Vec<_>>()
    };
    let mut world = world();
    world.set("database.main", "public_access", json!(false));
    allow(&mut world, "database.main", "X01", "2027-01-31");
    assert_eq!(unused(&world), ["database.main allows X01, which it does not have"]);
    world.set("database.main", "public_access", json!(true));
    world.set("database.main", "public_allowlist", json!([]));
    assert_eq!(unused(&world), Vec::<String>::new());
}
