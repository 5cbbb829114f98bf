//! Single stories of the binary in a world that changes between two commands, or that loses an answer.

use serde_json::{Value as Json, json};
use stead::model::schema::Method;

use crate::here::{BOUNDS, Here};
use crate::layer::{Asked, Effect, Seen, Told, Variation};
use crate::representation::PLAIN;

const VM: &str = "\
stead: 1
stack: shop
environments: { prod: { default: true } }
vm: { web: { plan: std-1c-1g, template: ubuntu-24.04, console_require_mfa: true } }
";

/// The policy of consoles is neither taken nor shown.
static WITHOUT_POLICIES: Variation = Variation {
    name: "without policies",
    effect: Effect::Hides(&["vm.console_require_mfa"]),
    ask: |_: &mut Seen, asked: &mut Asked| {
        if let Some(body) = asked.body.as_mut().and_then(Json::as_object_mut) {
            body.remove("console_require_mfa");
        }
    },
    tell: |_: &mut Seen, asked: &Asked, told: &mut Told| {
        told.records(asked, |_, record, _| {
            if let Some(map) = record.as_object_mut() {
                map.remove("console_require_mfa");
            }
        });
    },
};

#[test]
fn a_change_that_never_took_effect_is_not_drift() {
    let mut here = Here::new(&WITHOUT_POLICIES, VM);
    here.expect(0, &format!("apply --yes {BOUNDS}"), &[]);
    let unverified =
        ["No changes", "not verified, because the service does not return them: vm.console_require_mfa"];
    here.expect(0, "plan --exit-code", &unverified);
    here.world.vary(&PLAIN);
    for (code, command) in [(2, "plan --exit-code"), (3, "drift --exit-code")] {
        let run = here.expect(code, command, &["vm.web", "console_require_mfa"]);
        if run.all.contains("changed outside stead") {
            here.wrong(format!("{command}: somebody is said to have changed it:\n{}", run.all));
        }
    }
    here.expect(0, "plan", &["differs from what was applied"]);
    here.expect(3, "drift --exit-code", &["no earlier read confirmed"]);
    here.expect(0, &format!("apply --yes {BOUNDS}"), &["1 done"]);
    here.expect(0, "plan --exit-code", &["No changes"]);
    let vm = here.world.rows("/api/v1/vms").remove(0);
    let path = format!("/api/v1/vms/{}", vm["id"].as_str().unwrap());
    let (_, json) = here.world.ask(Method::Get, &path, None, &Json::Null);
    assert_eq!(json["data"]["console_require_mfa"], true);
    // Now it was shown, and somebody does change it.
    let path = format!("{path}/console-policy");
    let off = json!({"console_require_mfa": false});
    here.world.ask(Method::Patch, &path, vm["project_id"].as_str(), &off);
    here.expect(3, "drift --exit-code", &["vm.web.console_require_mfa"]);
    here.expect(2, "plan --exit-code", &["changed outside stead"]);
    here.assert_right();
}

const KEYS: &str = "\
stead: 1
stack: keys
environments: { prod: { default: true } }
api_key: { ci: { deliver_secret: { file: ./secrets/ci } } }
";

#[test]
fn a_key_with_a_lost_secret_can_be_resolved_as_surplus_or_adopted() {
    for (word, is_new) in [("surplus", true), ("adopt", false)] {
        let mut here = Here::new(&PLAIN, KEYS);
        here.world.lose_next("/api/v1/api-keys");
        here.expect(1, &format!("apply --yes {BOUNDS}"), &["api_key.ci", "stead resolve"]);
        let ids = |here: &Here| -> Vec<Json> {
            let rows = here.world.rows("/api/v1/api-keys").into_iter();
            rows.filter(|row| row["name"].as_str().is_some_and(|name| name.contains("ci")))
                .map(|row| row["id"].clone())
                .collect()
        };
        let first = ids(&here);
        let told = here.expect(0, "resolve", &[]).all;
        let line = told.lines().find(|line| line.contains(&format!(" {word} "))).unwrap_or_default();
        let remedy = line.trim().strip_prefix("stead ").unwrap_or_else(|| panic!("no {word}: {told}"));
        here.expect(0, remedy, &[]);
        here.expect(0, &format!("apply --yes {BOUNDS}"), &[]);
        here.expect(0, "plan --exit-code", &["No changes"]);
        let now = ids(&here);
        assert_eq!((now.len(), now != first), (1, is_new), "{word}: {first:?} {now:?}");
        here.assert_right();
    }
}
