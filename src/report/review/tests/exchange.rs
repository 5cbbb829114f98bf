//! Formats that other people's tools read: Terraform's JSON, SARIF, JUnit and Prometheus' text.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{format, reviewed};
use crate::model::address::{Address, Name};
use crate::model::values::value::{Attributes, Value};
use crate::plan::model::change::{Drift, DriftClass, Plan};
use crate::plan::model::output::{OutputCause, PlannedOutput};
use crate::plan::model::resource_values::{PlanValues, ResourceValues, WrittenValue};
use crate::report::review::PlanReview;
use crate::report::tests::plans::{self, address, sealed};

fn attributes(of: &[(&str, Value)]) -> Attributes {
    of.iter().map(|(name, value)| (Name::new(name), value.clone())).collect()
}

fn resource(kind: &str, before: Option<Attributes>, after: Option<Attributes>) -> ResourceValues {
    ResourceValues {
        kind: kind.into(),
        parent: None,
        key: None,
        before,
        after,
        written: BTreeMap::new(),
        depends_on: Vec::new(),
        is_declared: true,
    }
}

fn references(names: &[&str]) -> WrittenValue {
    WrittenValue::References(names.iter().map(Name::new).collect())
}

/// A machine that is replaced, one that stays, a child, and a module.
fn values() -> PlanValues {
    let unknown = |text: &str| Value::unknown(vec![address(text)]);
    let machine = |ip: Value| attributes(&[("id", Value::text("v")), ("ip", ip), ("note", Value::Null)]);
    let mut replaced =
        resource("vm", Some(machine(Value::text("10.0.0.1"))), Some(machine(unknown("vm.web.a"))));
    replaced.written = BTreeMap::from([
        ("plan".into(), WrittenValue::Constant(Value::text("std-1c-1g"))),
        ("vpc".into(), references(&["vars.key", "vpc.main", "vpc.main.id"])),
    ]);
    let same = attributes(&[
        ("id", Value::text("n")),
        ("cidr", Value::text("10.0.0.0/16")),
        ("labels", Value::Map([("a.b".into(), sealed("ab12")), ("plain".into(), Value::text("x"))].into())),
        ("list", Value::List(vec![Value::text("x"), sealed("cd34")])),
    ]);
    let network = resource("vpc", Some(same.clone()), Some(same));
    let mut pool =
        resource("node_pool", None, Some(attributes(&[("id", unknown("cluster.jobs.node_pools.batch"))])));
    pool.parent = Some(address("cluster.jobs"));
    let resources = [
        ("vm.web.a", replaced.clone()),
        ("vpc.main", network.clone()),
        ("cluster.jobs.node_pools.batch", pool.clone()),
        ("cluster.jobs.node_pools.web", pool),
        ("sites.eu.vpc.main", network.clone()),
        ("sites.us.vpc.main", network.clone()),
        ("shop.inner.vpc.vpc", network),
    ];
    PlanValues {
        resources: resources.into_iter().map(|(text, values)| (address(text), values)).collect(),
        modules: ["sites.eu", "sites.us", "shop", "shop.inner"].map(Name::new).to_vec(),
        outputs: BTreeMap::from([
            ("ip".into(), references(&["vm.web.a", "vm.web.a.ip"])),
            (
                "pools".into(),
                references(&["cluster.jobs.node_pools.batch.id", "cluster.jobs.node_pools.web"]),
            ),
        ]),
    }
}

fn output(
    name: &str,
    before: Option<Value>,
    after: Option<Value>,
    cause: Option<OutputCause>,
) -> PlannedOutput {
    PlannedOutput {
        name: name.into(),
        before,
        after,
        cause,
        because: Vec::new(),
        readers: Vec::new(),
        possible_readers: Vec::new(),
        is_live: false,
        source: None,
    }
}

/// A plan with an output of each kind.
fn with_outputs() -> Plan {
    let cause = Some(OutputCause::Config);
    let text = |text: &str| Some(Value::text(text));
    let planned_outputs = vec![
        output("changed", text("a"), text("b"), cause),
        output("gone", text("a"), None, cause),
        output(
            "ip",
            text("10.0.0.1"),
            Some(Value::unknown(vec![address("vm.web.a")])),
            Some(OutputCause::Upstream),
        ),
        output("list", None, Some(Value::List(vec![Value::Integer(1), Value::text("x")])), cause),
        output("same", text("a"), text("a"), None),
        output("secret", Some(sealed("ab12")), Some(sealed("cd34")), Some(OutputCause::Outside)),
    ];
    Plan { planned_outputs, ..plans::full() }
}

fn whole(plan: &Plan) -> Json {
    let values = values();
    let of = PlanReview { values: Some(&values), ..reviewed(plan) };
    serde_json::from_str(&format("tfjson").render_plan(&of)).unwrap()
}

fn found<'j>(document: &'j Json, list: &str, address: &str) -> &'j Json {
    let all = document[list].as_array().unwrap();
    all.iter().find(|one| one["address"] == address).unwrap_or_else(|| panic!("{address}: {all:#?}"))
}

#[test]
fn tfjson_has_all_resources_with_whole_values() {
    let document = whole(&with_outputs());
    assert_eq!((&document["format_version"], &document["errored"]), (&json!("1.2"), &json!(false)));
    assert!(document["terraform_version"].as_str().unwrap().starts_with("1."));
    let machine = found(&document, "resource_changes", "vm.web[\"a\"]");
    assert_eq!(
        (&machine["type"], &machine["name"], &machine["index"]),
        (&json!("vm"), &json!("web"), &json!("a"))
    );
    let change = &machine["change"];
    assert_eq!(change["actions"], json!(["create", "delete"]));
    assert_eq!(change["before"], json!({"id": "v", "ip": "10.0.0.1", "note": null}));
    assert_eq!(change["after"], json!({"id": "v", "note": null}));
    assert_eq!(change["after_unknown"], json!({"ip": true}));
    let network = found(&document, "resource_changes", "vpc.main");
    assert_eq!(network["change"]["actions"], json!(["no-op"]));
    assert_eq!(network["change"]["before"], network["change"]["after"]);
    // A secret is null and sensitive, part by part.
    assert_eq!(network["change"]["after"]["labels"], json!({"a.b": null, "plain": "x"}));
    assert_eq!(
        network["change"]["after_sensitive"],
        json!({"labels": {"a.b": true}, "list": [false, true]})
    );
    let pool = found(&document, "resource_changes", "node_pool.jobs[\"batch\"]");
    assert_eq!(
        (&pool["change"]["before"], &pool["change"]["before_sensitive"]),
        (&Json::Null, &json!(false))
    );
    let site = found(&document, "resource_changes", "module.sites[\"eu\"].vpc.main");
    assert_eq!(site["module_address"], "module.sites[\"eu\"]");
    let inner = found(&document, "resource_changes", "module.shop.module.inner.vpc.vpc");
    assert_eq!(inner["module_address"], "module.shop.module.inner");
    // A deleted resource is there without values.
    assert_eq!(found(&document, "resource_changes", "volume.old")["change"]["after"], Json::Null);
}

#[test]
fn tfjson_has_the_states_and_the_configuration() {
    let document = whole(&with_outputs());
    let (planned, prior) = (&document["planned_values"], &document["prior_state"]["values"]);
    let addresses = |module: &Json| -> Vec<String> {
        let all = module["resources"].as_array().unwrap().iter();
        all.map(|one| one["address"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        addresses(&planned["root_module"]),
        ["node_pool.jobs[\"batch\"]", "node_pool.jobs[\"web\"]", "vm.web[\"a\"]", "vpc.main"]
    );
    assert_eq!(addresses(&prior["root_module"]), ["vm.web[\"a\"]", "vpc.main"]);
    let machine = &planned["root_module"]["resources"][2];
    assert_eq!(
        (&machine["values"], &machine["schema_version"]),
        (&json!({"id": "v", "note": null}), &json!(0))
    );
    let children: Vec<&Json> = planned["root_module"]["child_modules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["address"])
        .collect();
    assert_eq!(children, ["module.shop", "module.sites[\"eu\"]", "module.sites[\"us\"]"]);
    assert_eq!(
        planned["outputs"],
        json!({
            "changed": {"sensitive": false, "type": "string", "value": "b"},
            "ip": {"sensitive": false},
            "list": {"sensitive": false, "type": ["tuple", ["number", "string"]], "value": [1, "x"]},
            "same": {"sensitive": false, "type": "string", "value": "a"},
            "secret": {"sensitive": true, "value": null},
        })
    );
    assert_eq!(prior["outputs"]["ip"], json!({"sensitive": false, "type": "string", "value": "10.0.0.1"}));
    let root = &document["configuration"]["root_module"];
    let machine =
        root["resources"].as_array().unwrap().iter().find(|one| one["address"] == "vm.web").unwrap();
    assert_eq!(
        machine["expressions"],
        json!({
            "plan": {"constant_value": "std-1c-1g"},
            "vpc": {"references": ["vpc.main.id", "vpc.main", "var.key"]},
        })
    );
    assert!(machine.get("depends_on").is_none(), "only what the block names is there: {machine}");
    let references = |name: &str| root["outputs"][name]["expression"]["references"].clone();
    assert_eq!(references("ip"), json!(["vm.web[\"a\"].ip", "vm.web[\"a\"]", "vm.web"]));
    assert_eq!(references("pools"), json!(["node_pool.jobs"]), "an expression over all instances");
    let pool = root["resources"].as_array().unwrap().iter().find(|one| one["type"] == "node_pool").unwrap();
    assert_eq!(pool["expressions"]["parent"]["references"], json!(["cluster.jobs.id", "cluster.jobs"]));
    let sites = &root["module_calls"]["sites"]["module"];
    assert_eq!(addresses(sites), ["vpc.main"]);
}

#[test]
fn tfjson_has_the_changes_of_all_outputs() {
    let changes = whole(&with_outputs())["output_changes"].clone();
    let actions = |name: &str| changes[name]["actions"][0].as_str().unwrap().to_owned();
    let all = ["changed", "gone", "ip", "list", "same", "secret"].map(actions);
    assert_eq!(all, ["update", "delete", "update", "create", "no-op", "update"]);
    assert_eq!((&changes["ip"]["after"], &changes["ip"]["after_unknown"]), (&Json::Null, &json!(true)));
    assert_eq!((&changes["gone"]["before"], &changes["gone"]["after"]), (&json!("a"), &Json::Null));
    assert_eq!(
        (&changes["secret"]["after"], &changes["secret"]["after_sensitive"]),
        (&Json::Null, &json!(true))
    );
    assert!(!changes.to_string().contains("cd34"), "a secret has no fingerprint here: {changes}");
}

#[test]
fn tfjson_groups_the_drift_of_an_object() {
    let drift = |path: &str, was: &str| Drift {
        address: address("vpc.main"),
        path: Some(path.into()),
        last_applied: Value::text(was),
        live: Value::text("live"),
        class: DriftClass::Reverted,
        leave: None,
        acceptable: false,
        unconfirmed: false,
        blocked_by: None,
        source: None,
    };
    let plan = Plan { drift: vec![drift("cidr", "c"), drift("labels.plain", "p")], ..plans::empty() };
    let document = whole(&plan);
    let all = document["resource_drift"].as_array().unwrap();
    let [one] = all.as_slice() else { panic!("{all:#?}") };
    assert_eq!(
        (&one["change"]["before"]["cidr"], &one["change"]["after"]["cidr"]),
        (&json!("c"), &json!("live"))
    );
    assert_eq!(one["change"]["before"]["labels"]["plain"], "p");
    assert_eq!(one["change"]["before"]["id"], "n");
}

#[test]
fn sarif_names_the_analysis_the_unit_and_the_help_and_keeps_to_the_limit() {
    let log = |plan: &Plan| -> Json {
        serde_json::from_str(&format("sarif").render_plan(&reviewed(plan))).unwrap()
    };
    let full = log(&plans::full());
    let run = &full["runs"][0];
    assert_eq!(run["automationDetails"]["id"], "stead/acme/infra/shop/prod/");
    for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
        let help = rule["helpUri"].as_str().unwrap();
        assert!(help.starts_with("https://docs.example.com/"), "{help}");
    }
    let result = &run["results"][0];
    let logical = result["locations"][0]["logicalLocations"].as_array().unwrap();
    assert_eq!(logical[0]["fullyQualifiedName"], "shop/prod");
    assert_eq!(
        result["partialFingerprints"]["primaryLocationLineHash"],
        result["partialFingerprints"]["stead/v1"]
    );
    // 30,000 differences, and a blocker that must not be among those that are left out.
    let mut many = plans::full();
    let one = many.drift.iter().find(|drift| drift.class == DriftClass::Reverted).unwrap().clone();
    let copy = |n: usize| Drift { address: Address::new("vm", &format!("n{n}")), ..one.clone() };
    many.drift = (0..30_000).map(copy).collect();
    let large = log(&many);
    let run = &large["runs"][0];
    assert_eq!(run["results"].as_array().unwrap().len(), 25_000);
    assert_eq!(run["results"][0]["level"], "error");
    let left_out = run["properties"]["leftOut"].as_u64().unwrap();
    assert!(left_out > 5_000, "{left_out}");
    let said = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap();
    assert!(said.starts_with(&format!("{left_out} findings left out")), "{said}");
}

#[test]
fn junit_and_metrics_are_readable_whatever_a_name_contains() {
    let mut plan = plans::full();
    plan.base.stack = "a\"b\\c\nd\re\u{1}\u{fffe}\u{85}<&".into();
    let xml = format("junit").render_plan(&reviewed(&plan));
    let is_xml = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(is_xml), "{xml:?}");
    assert!(
        format("junit")
            .render_plan(&reviewed(&plans::full()))
            .contains("<property name=\"unit\" value=\"shop/prod\"/>")
    );
    let metrics = format("prom").render_plan(&reviewed(&plan));
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.starts_with("stead_") && !line.chars().any(char::is_control), "{line:?}");
        assert!(line.contains("stack=\"a\\\"b\\\\c\\nd"), "{line}");
    }
    let plain = format("prom").render_plan(&reviewed(&plans::full()));
    assert!(
        plain.contains("stead_output_changes{stack=\"shop\",env=\"prod\",unit=\"shop/prod\"} 0"),
        "{plain}"
    );
}
