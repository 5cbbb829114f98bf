//! Digests in ledgers and saved plans: of the ledger, of the configuration, and of expressions over secrets. They are
//! computed from the JSON of types, so a renamed field gives another digest, and a plan that compares it with a
//! recorded one would show a change without a cause.

use std::fmt::Write;

use serde_json::Value as Json;
use stead::ledger::state::ledger::Ledger;
use stead::model::cel::{CelProgram, CelValue, ExpressionScope, evaluate_program};
use stead::model::values::secret::{FingerprintKey, Secret};
use stead::model::values::value::{Value, ValueMap};
use stead::plan::artifact::binding::ledger_digest;

use crate::case::Case;
use crate::files;

/// One expression for each form.
const EXPRESSIONS: [&str; 10] = [
    "vars.s + 'x'",
    "vars['s'] + 'x'",
    "vars.s == 'a' ? 'yes' : 'no'",
    "[vars.s, 'x'][0] + 'y'",
    "{'key': vars.s}['key'] + 'y'",
    "size(vars.s) > 2 && !(1.5 < 2.0)",
    "vars.s.startsWith('a') || vars.s in ['b']",
    "[1, 2].map(n, string(n) + vars.s)",
    "has(vars.s) ? vars.s + string(-1) : ''",
    "['a'].all(part, part != vars.s)",
];

#[test]
fn ids_of_expressions_over_secrets_stay_the_same() {
    let secret = Value::Secret(Secret::new("abc").named_after("vars.s"));
    let vars: ValueMap = [("s".into(), secret)].into();
    let mut text = String::new();
    for source in EXPRESSIONS {
        let mut scope = ExpressionScope::default();
        scope.roots.insert("vars".into(), CelValue::of_map(&vars));
        match evaluate_program(&CelProgram::parse(source).unwrap(), &scope) {
            Ok(Value::Secret(Secret::Derived(derived))) => {
                writeln!(text, "{source}\t{}", derived.id(&FingerprintKey([7; 32]))).unwrap();
            }
            other => panic!("{source}: {other:?}"),
        }
    }
    files::assert_same("derived-ids.txt", &text);
}

#[test]
fn fingerprints_of_secrets_stay_the_same() {
    let print = Secret::new("abc").fingerprint(&FingerprintKey([7; 32])).unwrap();
    files::assert_same("fingerprint.txt", &format!("{print}\n"));
}

#[test]
fn the_digest_of_a_ledger_stays_the_same() {
    let mut text = String::new();
    for name in ["checkpoint.json", "checkpoint-with-mac.json", "ledger-directory/ledger-63.json"] {
        let mut checkpoint: Json = serde_json::from_str(&files::read(name)).unwrap();
        let ledger: Ledger = serde_json::from_value(checkpoint["ledger"].take()).unwrap();
        writeln!(text, "{name}\t{}", ledger_digest(&ledger).unwrap()).unwrap();
    }
    files::assert_same("ledger-digests.txt", &text);
}

#[test]
fn the_digest_of_a_configuration_stays_the_same() {
    let case = Case::new().file("stead.yaml", files::read("digested.stead.yaml")).emulator();
    let plan = case.run("plan --output json").json();
    let digest = plan["base"]["config"].as_str().unwrap_or_else(|| panic!("{plan:#}"));
    files::assert_same("config-digest.txt", &format!("{digest}\n"));
}
