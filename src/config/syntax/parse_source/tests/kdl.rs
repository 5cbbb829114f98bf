//! KDL → tree.

use insta::assert_snapshot;

use super::render::{self, kdl, problems, tree};
use crate::model::source::Span;

fn t(text: &str) -> String {
    tree(&kdl(text))
}

#[test]
fn the_argument_of_a_kind_is_a_name_and_of_a_keyword_a_value() {
    assert_snapshot!(t("stead 1; stack shop; vpc main"), @r#"{stead: #1., stack: "shop"., vpc: {main: bare}}"#);
    assert_snapshot!(t("vpc main cidr=\"10.20.0.0/16\"\nvm web plan=$locals.pick\nvpc other { cidr \"10.0.0.0/8\" }"), @r#"{vpc: {main: {cidr: "10.20.0.0/16"}, other: {cidr: "10.0.0.0/8".}}, vm: {web: {plan: "$locals.pick"}}}"#);
    assert_snapshot!(t("vpc { main cidr=a; other }\nvpc third"), @r#"{vpc: {main: {cidr: "a"}, other: bare, third: bare}}"#);
    assert_snapshot!(t("project shop name=\"shop-${env}\""), @r#"{project: {shop: {name: "shop-${env}"}}}"#);
    assert_snapshot!(t("policy budget deny=\"x\" message=m\npolicy other { deny y }"), @r#"{policy: {budget: {deny: "x", message: "m"}, other: {deny: "y".}}}"#);
}

#[test]
fn arguments_properties_and_blocks_become_entries() {
    assert_snapshot!(t("vars { a type=int; b default=small { one_of small large }; c; d 1; e 1 2; f {} }"), @r#"{vars: {a: {type: "int"}, b: {default: "small", one_of: ["small", "large"]}, c: bare, d: #1., e: [#1, #2], f: {}}}"#);
    assert_snapshot!(t("a { - 1; - x=1; - { y 2 }; - 3 4; - }"), @"{a: [#1., {x: #1}, {y: #2.}, [#3, #4], bare]}");
    assert_snapshot!(t("a #true #false #null\nb #null\nc \"true\" x"), @r#"{a: [#true, #false, null], b: null, c: ["true", "x"]}"#);
    assert_snapshot!(t("a key=1 {\n  other 2\n}"), @"{a: {key: #1, other: #2.}}");
}

#[test]
fn moved_import_and_removed_are_lists() {
    assert_snapshot!(t("moved from=vm.a to=vm.b\nmoved from=vm.c to=vm.d\nremoved { - from=vm.x; - from=vm.y }"), @r#"{moved: [{from: "vm.a", to: "vm.b"}, {from: "vm.c", to: "vm.d"}], removed: [{from: "vm.x"}, {from: "vm.y"}]}"#);
}

#[test]
fn numbers_keep_their_text() {
    assert_snapshot!(t("a 9.10 016 1_000 0xFF 0o17 0b101 -0x10 +5 1.5e3 -1.0E-3"), @"{a: [#9.10, #016, #1000, #255, #15, #5, #-16, #5, #1.5e3, #-1.0E-3]}");
    assert_snapshot!(t("a 0xffffffffffffffffffffffffffffffffffff"), @"{a: #0xffffffffffffffffffffffffffffffffffff.}");
}

#[test]
fn string_literals_of_every_form_are_decoded() {
    assert_snapshot!(t("a \"x\\ty\\u{e9}\" #\"raw \\ \"q\" \"# bare-word.x $vars.y"), @r#"{a: ["x\tyé", "raw \\ \"q\" ", "bare-word.x", "$vars.y"]}"#);
    assert_snapshot!(t("a \"\"\"\n    one\n      two\n    \"\"\""), @r#"{a: "one\n  two".}"#);
    assert_snapshot!(t("a \"\"\"\r\n  one\r\n  two\r\n  \"\"\"\r\n"), @r#"{a: "one\ntwo".}"#);
}

#[test]
fn comments_and_slashdash_are_skipped() {
    assert_snapshot!(t("// c\na 1 /* x */ 2 // d\n/- b { c d=1 d=1 }\nc /- 1 2 /-k=v { /- x 1; y 2 }\n/-\nd"), @"{a: [#1, #2], c: {2: {y: #2.}}}");
    assert_snapshot!(t("a 1 \\\n  2 \\ // c\n 3"), @"{a: [#1, #2, #3]}");
    assert_snapshot!(t("a 1 \\\r\n  2 \\ // c\r\n 3\r\nb 4"), @"{a: [#1, #2, #3], b: #4.}");
    assert_snapshot!(t("a /-{ x 1 } { y 2 } /-{ z 3 }"), @"{a: {y: #2.}}");
    assert_snapshot!(t("a k = 1 l= 2 m =3"), @"{a: {k: #1, l: #2, m: #3}}");
    assert_eq!(t(""), "{}");
    assert_eq!(t(&"// c\n".repeat(1000)), "{}");
}

#[test]
fn duplicates_are_reported_with_both_locations() {
    assert_snapshot!(problems("a.kdl", "a { x 1; x 2 }\nb k=1 k=2\nc k=1 { k 2 }\nstack s\nstack t\nvpc m\nvpc m\nvpc m"), @r"
    S0106 1:10 Duplicate key | Remove one of the two, or rename it.
    S0106 2:7 Duplicate key | Remove one of the two, or rename it.
    S0106 3:9 Duplicate key | Remove one of the two, or rename it.
    S0106 5:1 Duplicate key | Remove one of the two, or rename it.
    S0106 7:5 Duplicate key | Remove one of the two, or rename it.
    ");
}

#[test]
fn ambiguous_node_shapes_are_errors() {
    assert_snapshot!(problems("a.kdl", "vars { a 1 b=2; b 1 { c 2 } }"), @r"
    S0139 1:10 Value and block at once | Keep the value, or write all of it as keys: `a { key value }`; a map of named blocks is `a { first { … }; second { … } }`.
    S0139 1:19 Value and block at once | Keep the value, or write all of it as keys: `b { key value }`; a map of named blocks is `b { first { … }; second { … } }`.
    ");
    assert_snapshot!(problems("a.kdl", "vpc cidr=a\nvpc a b\nvpc #true\nvpc { - a }"), @r"
    S0140 1:5 Block without exactly one name | Write `vpc NAME key=value { … }`.
    S0140 2:7 Block without exactly one name | Write `vpc NAME key=value { … }`.
    S0140 3:5 Block without exactly one name | Write `vpc NAME key=value { … }`.
    S0140 4:7 Block without exactly one name | Write `vpc NAME key=value { … }`.
    ");
    assert_snapshot!(problems("a.kdl", "a { - 1; b 2 }"), @"S0143 1:5 List items beside keys | Give the list a name of its own.");
    assert_snapshot!(problems("a.kdl", "a (u8)1\n(t)b k=(y)2\nc #inf"), @r"
    S0138 1:3 Type annotation | Remove the parentheses and their content.
    S0138 2:1 Type annotation | Remove the parentheses and their content.
    S0138 2:8 Type annotation | Remove the parentheses and their content.
    S0144 3:3 Not a finite number | Write a number.
    ");
}

#[test]
fn spans_are_byte_ranges_without_line_ends() {
    let text = "é \"ü\" // c\r\n\"k\" x = 漢 \\\r\n  y=#\"q\"#\r\nvpc m { a 1 \"2\"\r\n}\r\n";
    let document = kdl(text);
    let at = |span: Span| &text[span.start as usize..span.end as usize];
    let mut seen = Vec::new();
    render::each(&document.root, &mut |entry| {
        seen.push((at(entry.key_span), at(entry.value.span)));
    });
    assert_eq!(
        seen,
        [
            ("é", "\"ü\""),
            ("\"k\"", "x = 漢 \\\r\n  y=#\"q\"#"),
            ("x", "漢"),
            ("y", "#\"q\"#"),
            ("vpc", "m { a 1 \"2\"\r\n}"),
            ("m", "{ a 1 \"2\"\r\n}"),
            ("a", "1 \"2\""),
        ]
    );
}
