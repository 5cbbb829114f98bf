//! Why a change is planned: what the files say, what changed outside stead, and what only follows from another resource.

use serde_json::{Value, json};

use crate::case::Case;

/// Returns the cause of a change in the plan, and those of its attributes.
fn causes(plan: &Value, address: &str) -> Vec<String> {
    let changes = plan["changes"].as_array().unwrap();
    let change = changes.iter().find(|change| change["address"] == address).unwrap();
    let attributes = change["attributes"].as_array().unwrap().iter();
    let all = std::iter::once(&change["cause"]).chain(attributes.map(|one| &one["cause"]));
    all.map(|cause| cause.as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_edited_key_of_a_map_is_a_change_of_the_configuration_whatever_another_key_refers_to() {
    let stack = "stead: 1\nstack: a\n\
        vm: { a: { name: a, template: ubuntu-24.04, plan: std-1c-1g } }\n\
        app: { w: { name: w, type: web, image: nginx, port: 80, size: app-s, env_vars: { IP: $vm.a.public_ipv4_address, L: lit } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "L: lit", "L: lit2");
    let policy = "policy: { freeze: { on: app, level: mandatory, deny: \"${self.cause == 'config'}\", message: No. } }\n";
    case.write("policy.stead.yaml", policy);
    let plan = case.fails(4, "plan --output json").json();
    assert_eq!(causes(&plan, "app.w"), ["config", "config"]);
    // What only follows from the address of the VM is not one.
    case.edit("stead.yaml", "L: lit2", "L: lit");
    case.edit("stead.yaml", "template: ubuntu-24.04", "template: debian-12");
    let plan = case.ok("plan --output json --replace vm.a").json();
    assert_eq!(causes(&plan, "app.w"), ["upstream", "upstream"]);
}

#[test]
fn an_object_that_was_deleted_by_hand_is_no_change_here_of_what_refers_to_it() {
    let stack = "stead: 1\nstack: a\n\
        vm: { a: { name: a, template: ubuntu-24.04, plan: std-1c-1g } }\n\
        volume: { v: { name: v, size: 10, vm: $vm.a } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let id = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().delete(&format!("/api/v1/vms/{id}"));
    let plan = case.ok("plan --output json").json();
    assert_eq!(causes(&plan, "volume.v"), ["upstream", "upstream"]);
    case.ok("plan").says(&["changed outside stead too; last applied"]);
    case.ok("apply --yes");
    case.ok("plan --exit-code");
}

/// Another object has the name of one that was deleted by hand: the printed adoption works.
#[test]
fn an_object_is_adopted_in_the_place_of_one_that_is_gone() {
    let stack = "stead: 1\nstack: a\nvpc: { n: { name: n, cidr: 10.9.0.0/16 } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    let cloud = case.cloud();
    let old = cloud.list("/api/v1/vpcs")[0].clone();
    cloud.delete(&format!("/api/v1/vpcs/{}", old["id"].as_str().unwrap()));
    let projects = cloud.list("/api/v1/projects");
    let project = projects[0]["id"].as_str().unwrap();
    let body = json!({ "name": "n", "cidr": "10.9.0.0/16", "region": "us-east" });
    cloud.make("/api/v1/vpcs", &body, project);
    let made = cloud.list("/api/v1/vpcs")[0].clone();
    let id = made["id"].as_str().unwrap();
    assert_ne!(made["id"], old["id"]);
    let refused = case.fails(4, "plan");
    let words = refused.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("Adopt it with --adopt vpc.n={id},")), "{words}");
    case.ok(&format!("apply --yes --adopt vpc.n={id}"));
    case.ok("plan --exit-code");
    assert_eq!(cloud.list("/api/v1/vpcs").len(), 1);
}

#[test]
fn nothing_restarts_a_vm_that_is_stopped() {
    let stack = "stead: 1\nstack: a\nvm: { a: { name: a, template: ubuntu-24.04, plan: std-1c-1g } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "std-1c-1g", "std-2c-4g");
    case.ok("plan").says(&["it restarts, because plan changes"]);
    let id = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &id, &json!({ "status": "stopped" }));
    let plan = case.ok("plan").stdout;
    assert!(!plan.contains("restarts"), "{plan}");
}

#[test]
fn an_edited_text_beside_a_reference_is_a_change_of_the_configuration() {
    let stack = "stead: 1\nstack: a\n\
        vm: { a: { name: a, template: ubuntu-24.04, plan: std-1c-1g } }\n\
        app: { w: { name: w, type: web, image: nginx, port: 80, size: app-s, env_vars: { URL: \"http://${vm.a.public_ipv4_address}/one\" } } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "template: ubuntu-24.04", "template: debian-12");
    let plan = case.ok("plan --output json --replace vm.a").json();
    assert_eq!(causes(&plan, "app.w"), ["upstream", "upstream"]);
    case.edit("stead.yaml", "/one", "/two");
    let plan = case.ok("plan --output json --replace vm.a").json();
    assert_eq!(causes(&plan, "app.w"), ["config", "config"]);
}
