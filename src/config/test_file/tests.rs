//! Test files: both syntaxes, and what is reported about wrong ones.

use super::*;

fn read(path: &str, text: &str) -> Result<Vec<StackTest>, Vec<String>> {
    let found = read_tests(SourceId(0), &Source::new(path, text));
    found.map_err(|problems| problems.into_iter().map(|problem| problem.help.unwrap_or_default()).collect())
}

#[test]
fn every_action_is_a_keyword_of_a_test_plan() {
    assert!(ACTIONS.iter().all(|action| word_names(TEST_PLAN).any(|word| word == *action)));
}

/// A test without its places, which no two syntaxes share.
fn said(path: &str, text: &str) -> String {
    let shown = format!("{:?}", read(path, text).unwrap());
    let span = regex::Regex::new(r"Span \{[^}]*\}").unwrap();
    span.replace_all(&shown, "-").into_owned()
}

#[test]
fn both_syntaxes_parse_to_the_same_test() {
    let yaml = "
test:
  two machines:
    given: { env: prod, vars: { nodes: [a, b], size: 2, word: \"3\" }, world: shop, applied: { vars: { size: 1 } } }
    plan: { create: [vm.b, vm.c], count: { update: 1 }, monthly: { max: 50.5 }, blocks: [], policy: { budget: pass } }
    apply: { outputs: { size: 2 }, objects: { vm: 2 } }
";
    let kdl = "
test \"two machines\" {
    given env=prod world=shop {
        vars size=2 word=\"3\" { nodes a b }
        applied { vars size=1 }
    }
    plan { create vm.b vm.c; count update=1; monthly max=50.5; blocks; policy budget=pass }
    apply { outputs size=2; objects vm=2 }
}
";
    let sorted = |text: String| text.replace("\\\"nodes\\\": [a, b]\\n", "");
    let (yaml, kdl) = (said("a.yaml", yaml), said("a.kdl", kdl));
    assert!(yaml.contains(r#"\"word\": \"3\""#) && yaml.contains(r#"\"size\": 2"#), "{yaml}");
    assert_eq!(sorted(yaml), sorted(kdl.replace(r#"[\"a\", \"b\"]"#, "[a, b]")));
}

#[test]
fn an_invalid_test_file_gets_a_hint() {
    for (text, help) in [
        ("tests: {}", "did you mean `test`?"),
        ("test: { a: {} }", "write `plan: { create: [ADDRESS] }`"),
        ("test: { a: { plan: { crate: [] } } }", "did you mean `create`?"),
        ("test: { a: { plan: { create: vm.a } } }", "write `create: [ADDRESS, ADDRESS]`"),
        ("test: { a: { plan: { count: { create: x } } } }", "write `create: 2`"),
        ("test: { a: { plan: { monthly: cheap } } }", "write `monthly: 43.50`"),
        ("test: { a: { plan: { policy: { p: no } } } }", "write `NAME: deny`"),
        ("test: { a: { given: { now: soon }, plan: {} } }", "write `now: 2026-12-24T10:00:00Z`"),
        ("test: { a: { apply: { object: {} } } }", "did you mean `objects`?"),
        (
            "test: { a: { given: { environment: x }, plan: {} } }",
            "keys are: env, vars, world, applied, now, actor, branch",
        ),
    ] {
        assert_eq!(read("a.yaml", text), Err(vec![help.to_owned()]), "{text}");
    }
}
