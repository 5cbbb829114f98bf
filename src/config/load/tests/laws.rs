//! Laws: the order of files and entries has no meaning, and the work is bounded by the size of the stack.

use proptest::prelude::*;

use super::yaml;

fn text(order: &[usize], keys: &[&str]) -> String {
    let blocks = [
        "yard: { main: { cidr: 10.0.0.0/16, gates: { n: {}, s: { crane: $crane.one } } } }".to_owned(),
        "crane: { one: { yard: $yard.main, tags: [b, a], note: '${vars.x + locals.l}' } }".to_owned(),
        format!(
            "vars: {{ x: {{ default: 1 }}, keys: {{ type: set(string), default: [{}] }} }}",
            keys.join(", ")
        ),
        "locals: { l: '${locals.k}', k: z }".to_owned(),
        "outputs: { o: $crane.one.address }".to_owned(),
        "project: { p: { } }".to_owned(),
    ];
    order.iter().map(|n| format!("{}\n", blocks[*n])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_order_of_blocks_does_not_matter(order in Just(vec![0usize, 1, 2, 3, 4, 5]).prop_shuffle(), keys in Just(vec!["a", "b", "c"]).prop_shuffle()) {
        let first = yaml(&text(&[0, 1, 2, 3, 4, 5], &["a", "b", "c"])).stack();
        let other = yaml(&text(&order, &keys)).stack();
        prop_assert_eq!(first.digest, other.digest);
    }

    #[test]
    fn several_files_form_one_stack(cut in 0usize..6) {
        let whole = yaml(&text(&[0, 1, 2, 3, 4, 5], &["a"])).stack();
        let order = [0, 1, 2, 3, 4, 5];
        let split = yaml(&text(&order[..cut], &["a"])).file("b.stead.yaml", &text(&order[cut..], &["a"])).stack();
        prop_assert_eq!(whole.digest, split.digest);
    }

    #[test]
    fn no_text_causes_a_panic(text in "[$a-z{}.'\"?:+\\[\\]() ]{0,40}") {
        let quoted = serde_json::to_string(&text).unwrap();
        yaml(&format!("crane: {{ a: {{ note: {quoted}, for_each: {quoted}, next: {quoted} }} }}\n")).problems();
    }
}

#[test]
fn the_digest_covers_the_desired_state_but_not_secrets() {
    let digest = |text: &str| yaml(text).stack().digest;
    let base = digest("crane: { a: { tons: 5 } }");
    assert_eq!(base.len(), 64);
    assert_eq!(base, digest("# a comment\ncrane:\n  a:\n    tons: 5\n"));
    for other in [
        "crane: { a: { tons: 6 } }",
        "crane: { b: { tons: 5 } }",
        "crane: { a: { tons: 5, lifecycle: { protect: true } } }",
        "crane: { a: { tons: 5, lifecycle: { on_remove: keep } } }",
        "crane: { a: { tons: 5, lifecycle: { on_remove: delete } } }",
        "crane: { a: { tons: 5 } }\noutputs: { o: 1 }",
    ] {
        assert_ne!(base, digest(other), "{other}");
    }
    let secret = |value: &str| {
        yaml("vars: { s: { type: secret } }\ncrane: { a: { key: $vars.s } }")
            .env_var("s", value)
            .stack()
            .digest
    };
    assert_eq!(secret("one"), secret("two"));
}

#[test]
fn deep_and_long_inputs_are_loaded_in_bounded_time() {
    let chain: String = (0..3000).map(|n| format!("  l{n}: $locals.l{}\n", n + 1)).collect();
    let last = yaml(&format!("locals:\n{chain}  l3000: end\noutputs: {{ o: $locals.l0 }}\n"));
    assert_eq!(last.resolved(), "output o=end");
    let cranes: String =
        (0..3000).map(|n| format!("  c{n}: {{ for_each: $crane.c{} }}\n", n + 1)).collect();
    let all = yaml(&format!("crane:\n{cranes}  c3000: {{ for_each: [k] }}\n")).stack();
    assert_eq!(all.resources.len(), 3001);
    for expression in [
        format!("{}1{}", "(".repeat(5000), ")".repeat(5000)),
        format!("{}1", "-".repeat(5000)),
        format!("{}true", "!".repeat(5000)),
        vec!["1"; 3000].join("+"),
        "true?".repeat(2000),
        "[".repeat(9000),
    ] {
        let problems = yaml(&format!("outputs: {{ o: '${{{expression}}}' }}\n")).problems();
        // An even number of signs has no effect, so it may be accepted; everything else is refused with one problem.
        assert!(
            problems.is_empty() || problems.starts_with("S0214") && problems.lines().count() == 1,
            "{problems}"
        );
    }
}
