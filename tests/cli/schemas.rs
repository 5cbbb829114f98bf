//! JSON output of commands, checked against the schemas that `stead schema` prints.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use serde_json::{Value, json};

use crate::case::Case;

/// Validates each JSON document of an output against a schema; panics if there is none.
#[track_caller]
fn fits(case: &Case, schema: &str, text: &str) {
    let schema: Value = serde_json::from_str(&case.ok(&format!("schema {schema}")).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut count = 0;
    for document in documents {
        let document = document.unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
        count += 1;
    }
    assert!(count > 0, "{text}");
}

#[test]
fn json_output_matches_its_schema() {
    let case = Case::example("shop").emulator();
    let print = |args: &str| case.run(args).stdout;
    fits(&case, "plan", &print("plan --output json"));
    fits(&case, "plan-event", &print("plan -v --output ndjson"));
    fits(&case, "apply-event", &print("apply --yes --output ndjson"));
    let machine = case.cloud().list("/api/v1/vms")[0]["id"].as_str().unwrap().to_owned();
    case.cloud().mutate("vm", &machine, &json!({ "name": "renamed" }));
    fits(&case, "plan-event", &print("plan --output ndjson"));
    fits(&case, "drift", &print("drift --output json"));
    fits(&case, "drift", &print("drift --output json"));
    for args in ["ls --output json", "ls --unmanaged --output json"] {
        fits(&case, "ls", &print(args));
    }
    for args in ["history --output json", "lock status --output json"] {
        fits(&case, args.split(' ').next().unwrap(), &print(args));
    }
    fits(&case, "validate", &print("validate --output json"));
    fits(&case, "test", &print("test --output json"));
    for args in ["catalog", "catalog vm", "catalog ip", "catalog update --check"] {
        fits(&case, "catalog", &print(&format!("{args} --output json")));
    }
    for args in ["docs", "docs exit-codes", "docs rename a resource"] {
        fits(&case, "docs", &print(&format!("{args} --output json")));
    }
    for args in ["cost", "cost --vs prod", "cost --offline", "cost --offline --vs prod"] {
        fits(&case, "cost", &print(&format!("{args} --output json")));
    }
    for args in [
        "do reboot vm.web.a --yes",
        "do backup vm.web.a --name once",
        "do connection database.main",
        "do engines",
        "do events app.web",
    ] {
        for form in ["json", "ndjson"] {
            fits(&case, "do", &print(&format!("{args} --output {form}")));
        }
    }
    case.ok("plan --replace vm.web.a --report json=plan.json");
    fits(&case, "plan", &std::fs::read_to_string(case.path("plan.json")).unwrap());
    case.ok("apply --yes --replace vm.web.a --report json=apply.json");
    fits(&case, "plan", &std::fs::read_to_string(case.path("apply.json")).unwrap());
}
