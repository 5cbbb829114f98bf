//! YAML → tree.

use insta::assert_snapshot;

use super::render::{self, each, problems, tree, yaml};
use crate::model::source::Span;

fn t(text: &str) -> String {
    tree(&yaml(text))
}

#[test]
fn scalars_keep_their_source_text() {
    assert_snapshot!(t("a: 9.10\nb: no\nc: 13:30\nd: 016\ne: 1_000\nf: plain text # c\ng: http://x/y:z"), @"{a: 9.10, b: no, c: 13:30, d: 016, e: 1_000, f: plain text, g: http://x/y:z}");
    assert_snapshot!(t("a: \"x\\ty\"\nb: 'it''s'\nc: |\n  one\n  two\nd: >-\n  one\n  two"), @r#"{a: "x\ty", b: "it's", c: "one\ntwo\n", d: "one two"}"#);
    assert_snapshot!(t("a:\nb: ~\nc: null\nd: ''\ne: Null\nf: '~'\ng: nil"), @r#"{a: null, b: null, c: null, d: "", e: null, f: "~", g: nil}"#);
}

#[test]
fn collections_nest_in_both_styles() {
    assert_snapshot!(t("a:\n  b: [x, {y: 1, z: [ ]}]\n  c:\n  - 1\n  - d: 2\n    e: 3\n  - - 4\n    - 5\nf: {}"), @"{a: {b: [x, {y: 1, z: []}], c: [1, {d: 2, e: 3}, [4, 5]]}, f: {}}");
    assert_snapshot!(t("vm: { web: { plan: $locals.pick.node, n: $vars.x } }"), @"{vm: {web: {plan: $locals.pick.node, n: $vars.x}}}");
    assert_snapshot!(t("pick: ${locals.sizes[vars.size]}"), @"{pick: ${locals.sizes[vars.size]}}");
}

#[test]
fn an_empty_file_is_an_empty_mapping() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "~", "%YAML 1.2\n---\n"] {
        assert_eq!(t(text), "{}", "{text:?}");
    }
}

#[test]
fn many_comments_are_accepted() {
    assert_eq!(t(&format!("{}a: 1", "# c\n".repeat(1000))), "{a: 1}");
}

#[test]
fn windows_line_ends_are_not_part_of_values() {
    assert_snapshot!(t("a: 1\r\nb:\r\n  c: x y\r\n  d: \"q\"\r\n"), @r#"{a: 1, b: {c: x y, d: "q"}}"#);
    assert_snapshot!(t("a: |\r\n  one\r\n  two\r\n"), @r#"{a: "one\ntwo\n"}"#);
}

#[test]
fn anchors_and_merge_keys_are_resolved() {
    assert_snapshot!(t("a: &x {k: 1, l: [2]}\nb: *x\nc: *x"), @"{a: {k: 1, l: [2]}, b: ^{k: ^1, l: ^[^2]}, c: ^{k: ^1, l: ^[^2]}}");
    assert_snapshot!(t("base: &base {k: 1, l: 2}\nd:\n  <<: *base\n  l: 3\n  m: 4"), @"{base: {k: 1, l: 2}, d: {l: 3, m: 4, k: ^1}}");
    assert_snapshot!(t("a: &a {k: 1}\nb: &b {k: 2, l: 3}\nc: {<<: [*a, *b], m: 4}"), @"{a: {k: 1}, b: {k: 2, l: 3}, c: {m: 4, k: ^1, l: ^3}}");
    assert_snapshot!(t("c: {<<: {k: 1}, \"<<\": 2}"), @"{c: {<<: 2, k: ^1}}");
    assert_snapshot!(t("a: &x 1\nb: &x 2\nc: *x"), @"{a: 1, b: 2, c: ^2}");
    assert_snapshot!(t("a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y}"), @"{a: {k: 1}, b: {l: 2, k: ^1}, c: {l: ^2, k: ^1}}");
}

#[test]
fn an_aliased_value_records_both_locations() {
    let text = "a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  d: 2\n";
    let document = yaml(text);
    let mut seen = Vec::new();
    each(&document.root, &mut |entry| {
        let at = |span: Span| &text[span.start as usize..span.end as usize];
        if let Some(through) = entry.value.through {
            seen.push((entry.key.to_string(), at(entry.value.span), through.start, at(through)));
        }
    });
    let expected = [("b", "{k: 1}", 16, "*x"), ("k", "1", 16, "*x"), ("k", "1", 28, "*x")];
    let expected: Vec<_> = expected.map(|(k, v, n, t)| (k.to_owned(), v, n, t)).into();
    assert_eq!(seen, expected);
}

#[test]
fn duplicate_keys_show_both_lines() {
    assert_snapshot!(problems("a.yaml", "a: 1\nb: {x: 1, x: 2}\na: 3"), @r"
    S0106 2:11 Duplicate key | Remove one of the two, or rename it.
    S0106 3:1 Duplicate key | Remove one of the two, or rename it.
    ");
    let problem = &render::read("a.yaml", "a: 1\nb: 2\na: 3").unwrap_err()[0];
    assert_eq!(problem.labels.iter().map(|label| label.span.start).collect::<Vec<_>>(), [10, 0]);
}

#[test]
fn spans_are_byte_ranges_without_line_ends() {
    let text = "é: x y  # c\r\n\"k\": 'ü'\r\nl:\r\n  - 漢 字\r\nm: one\r\n  two\r\n";
    let document = yaml(text);
    let at = |span: Span| &text[span.start as usize..span.end as usize];
    let mut seen = Vec::new();
    each(&document.root, &mut |entry| seen.push((at(entry.key_span), at(entry.value.span))));
    assert_eq!(seen, [("é", "x y"), ("\"k\"", "'ü'"), ("l", "- 漢 字"), ("m", "one\r\n  two")]);
}
