//! Size: what is counted grows with the input, and large input ends in one message.

use super::render::{each, kdl, problems, read, yaml};
use crate::config::syntax::document::Document;
use crate::config::syntax::limits::MAX_DEPTH;

/// A stack of so many blocks, in YAML.
fn many_yaml(blocks: usize) -> String {
    let block = |n| {
        format!(
            "  v{n}:\n    cidr: 10.0.{n}.0/16\n    name: \"n {n}\"\n    labels: {{a: 1, b: [x, y]}}\n    lifecycle:\n      protect: true\n"
        )
    };
    (0..blocks).fold("vpc:\n".to_owned(), |text, n| text + &block(n))
}

/// The same in KDL.
fn many_kdl(blocks: usize) -> String {
    let block = |n| {
        format!(
            "vpc v{n} cidr=\"10.0.{n}.0/16\" name=\"n {n}\" {{\n  labels a=1 {{ b x y }}\n  lifecycle protect=#true\n}}\n"
        )
    };
    (0..blocks).fold(String::new(), |text, n| text + &block(n))
}

#[test]
fn the_number_of_entries_grows_linearly_with_the_blocks() {
    let count = |document: Document| {
        let mut count = 0;
        each(&document.root, &mut |_| count += 1);
        count
    };
    for blocks in [10, 1000, 3000] {
        assert_eq!(count(yaml(&many_yaml(blocks))), 1 + 8 * blocks);
        assert_eq!(count(kdl(&many_kdl(blocks))), 1 + 8 * blocks);
    }
}

#[test]
fn the_depth_limit_is_exact() {
    let flow = |depth: usize| format!("a: {}1{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert_eq!(problems("a.yaml", &flow(MAX_DEPTH)), "no problem");
    assert!(problems("a.yaml", &flow(MAX_DEPTH + 1)).starts_with("S0104 1:67 "));
    let block = |depth: usize| format!("{}{}", "a {".repeat(depth), "}".repeat(depth));
    assert_eq!(problems("a.kdl", &block(MAX_DEPTH)), "no problem");
    assert!(problems("a.kdl", &block(MAX_DEPTH + 1)).starts_with("S0104 1:195 "));
}

#[test]
fn large_invalid_input_produces_one_message() {
    let junk = "x".repeat(1_000_000);
    assert!(problems("a.yaml", &junk).starts_with("S0107 1:1 "));
    assert_eq!(read("a.kdl", &junk).map(|document| document.root.len()), Ok(1));
}
