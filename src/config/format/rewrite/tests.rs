//! The canonical form, and both syntaxes of one file, by table and by property.
#![allow(clippy::disallowed_methods, reason = "how many cases there are is said in the environment")]

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::kinds::REGISTRY;

fn formatted(path: &str, text: &str) -> String {
    let source = Source::new(path, text);
    format_file(&EditableFile { source: &source, registry: &REGISTRY }).unwrap_or_else(|refusal| {
        panic!("{path}: {:?}\n{text}\n-----\n{}", refusal.0, shown(path, text, None))
    })
}

fn converted(path: &str, text: &str, to: Syntax) -> String {
    let source = Source::new(path, text);
    convert_file(&EditableFile { source: &source, registry: &REGISTRY }, to)
        .unwrap_or_else(|refusal| {
            panic!("{path}: {:?}\n{text}\n-----\n{}", refusal.0, shown(path, text, Some(to)))
        })
        .0
}

/// Formats a file, or converts it to another syntax.
fn shown(path: &str, text: &str, to: Option<Syntax>) -> String {
    let source = Source::new(path, text);
    let file = EditableFile { source: &source, registry: &REGISTRY };
    let from = syntax_of(path).unwrap();
    let outline = read_outline(&file, from).unwrap();
    match to {
        None => write_outline(&outline, from, true, &REGISTRY, &BTreeSet::new()),
        Some(to) => convert_outline(outline, from, to, &file).0,
    }
}

#[track_caller]
fn settles(path: &str, text: &str, wanted: &str) {
    let once = formatted(path, text);
    assert_eq!(once, wanted);
    assert_eq!(formatted(path, &once), once);
}

#[test]
fn yaml_has_one_canonical_format() {
    settles(
        "a.yaml",
        "# head\n\n\n\nstead:   1   # c\nvpc:\n    main: {cidr: '10.0.0.0/8',name:   x}   # d\n\n    # about b\n    b:\n        - x\n        -   y: 1\n            z:   |\n                 t\n                   u\n# foot\n\n",
        "# head\n\nstead: 1     # c\nvpc:\n  main: { cidr: \"10.0.0.0/8\", name: x }  # d\n\n  # about b\n  b:\n    - x\n    - y: 1\n      z: |\n        t\n          u\n# foot\n",
    );
    settles(
        "a.yaml",
        "a: [\n  x, # c\n  y ]\nb: &n\n  c:\nd: *n\ne: { <<: *n, f: }\n",
        "a: [\n  x, # c\n  y,\n]\nb: &n\n  c:\nd: *n\ne: { <<: *n, f: }\n",
    );
}

#[test]
fn trailing_blank_lines_of_a_block_scalar_are_kept() {
    settles("a.yaml", "o:\n  a: |+\n    k\n\n  b: |+\n    l\n", "o:\n  a: \"k\\n\\n\"\n  b: |\n    l\n");
}

#[test]
fn kdl_has_one_canonical_format() {
    settles(
        "a.kdl",
        "// head\n\n\nstead   1\nvpc main   cidr=\"10.0.0.0/8\"   // c\nvm web {\n      plan  a;  template b\n   /- dropped { x }\n      tags { - a; - b }\n   // foot\n}\nusers {a;b}\n",
        "// head\n\nstead 1\nvpc main cidr=\"10.0.0.0/8\"     // c\nvm web {\n  plan a\n  template b\n  /- dropped { x }\n  tags { - a; - b }\n  // foot\n}\nusers { a; b }\n",
    );
}

#[test]
fn comments_inside_a_line_stay_with_their_node() {
    let kdl = "vm a \\ // why\n  plan=x \\ // small\n  /* this */ template=b // end\nvm b /* c */ plan=z\n";
    let settled =
        "// why\n// small\n// /* this */\nvm a plan=x template=b // end\n// /* c */\nvm b plan=z\n";
    settles("a.kdl", kdl, settled);
    let yaml = "# why\nvm:\n  a: # end\n    plan: x # small\n    # /* this */\n    template: b\n  # /* c */\n  b: { plan: z }\n";
    assert_eq!(converted("a.kdl", kdl, Syntax::Yaml), yaml);
}

#[test]
fn single_keys_empty_lists_and_numbers_convert_between_syntaxes() {
    for (yaml, kdl) in [
        ("vm:\n  a: { for_each: [x] }\n", "vm a {\n  for_each x\n}\n"),
        ("vm:\n  a: { for_each: $vars.x }\n", "vm a for_each=$vars.x\n"),
        ("use:\n  m: { source: a, for_each: [x] }\n", "use {\n  m source=a {\n    for_each x\n  }\n}\n"),
        ("outputs:\n  o: [3, -0.5]\n", "outputs {\n  o 3 -0.5\n}\n"),
    ] {
        assert_eq!(converted("a.yaml", yaml, Syntax::Kdl), kdl);
        let back = converted("a.kdl", kdl, Syntax::Yaml);
        assert_eq!(converted("a.yaml", &back, Syntax::Kdl), kdl, "{back}");
        assert_eq!(back.contains("[x]"), yaml.contains("[x]"), "{back}");
    }
    assert_eq!(
        converted("a.yaml", "stead: 1\n# none\nremoved: []\noutputs: { o: [+3, -.5] }\n", Syntax::Kdl),
        "stead 1\n// none\noutputs {\n  o 3 -0.5\n}\n"
    );
    // A value of one's own is no instance.
    assert_eq!(
        converted("a.kdl", "locals { x { for_each a } }\n", Syntax::Yaml),
        "locals:\n  x: { for_each: a }\n"
    );
}

#[test]
fn every_example_has_the_same_meaning_in_the_other_syntax() {
    for (yaml, kdl) in [
        (
            include_str!("../../../../examples/shop/shop.stead.yaml"),
            include_str!("../../../../examples/shop-kdl/shop.stead.kdl"),
        ),
        (
            include_str!("../../../../examples/apps/stead.yaml"),
            include_str!("../../../../examples/apps-kdl/stead.kdl"),
        ),
        (
            include_str!("../../../../examples/databases/stead.yaml"),
            include_str!("../../../../examples/databases-kdl/stead.kdl"),
        ),
        (
            include_str!("../../../../examples/kubernetes/stead.yaml"),
            include_str!("../../../../examples/kubernetes-kdl/stead.kdl"),
        ),
        (
            include_str!("../../../../examples/minimal/stead.yaml"),
            include_str!("../../../../examples/minimal-kdl/stead.kdl"),
        ),
        (
            include_str!("../../../../examples/team/stead.yaml"),
            include_str!("../../../../examples/team-kdl/stead.kdl"),
        ),
    ] {
        for (path, text, to, other) in
            [("a.yaml", yaml, Syntax::Kdl, "b.kdl"), ("a.kdl", kdl, Syntax::Yaml, "b.yaml")]
        {
            let once = formatted(path, text);
            assert_eq!(formatted(path, &once), once);
            let there = converted(path, text, to);
            assert_eq!(formatted(other, &there), there, "a conversion is in canonical form");
            let back = if to == Syntax::Kdl { Syntax::Yaml } else { Syntax::Kdl };
            let back = converted(other, &there, back);
            assert_eq!(comments(&back), comments(text), "{there}\n{back}");
        }
    }
}

/// The comments of a text without their marks, sorted.
fn comments(text: &str) -> Vec<String> {
    let is_mark =
        |line: &str, mark: &str| line.find(mark).map(|at| line[at + mark.len()..].trim().to_owned());
    let mut all: Vec<String> = text
        .lines()
        .filter_map(|line| is_mark(line, "// ").or_else(|| is_mark(line, "# ")))
        .filter(|comment| !comment.is_empty())
        .collect();
    all.sort();
    all
}

/// The generated comments of a text, sorted.
fn marks(text: &str) -> Vec<&str> {
    let mut all: Vec<_> =
        text.split('⟨').skip(1).filter_map(|rest| Some(rest.split_once('⟩')?.0)).collect();
    all.sort_unstable();
    all
}

#[test]
fn yaml_becomes_idiomatic_kdl() {
    let kdl = converted(
        "a.yaml",
        "stead: 1\nmoved:\n  - { from: vm.a, to: vm.b }\n\n# two\nvpc:\n  main: { cidr: 10.0.0.0/8 } # c\n  other:\ndatabase:\n  main:\n    engine: postgres\n    # who\n    public_allowlist: [a]\n    users: { x: {} }\nlocals:\n  a: [1]\n  b: [1, 2]\n  t: |\n    x\n    y\n",
        Syntax::Kdl,
    );
    assert_eq!(
        kdl,
        "stead 1\nmoved from=vm.a to=vm.b\n\n// two\nvpc main cidr=\"10.0.0.0/8\" // c\nvpc other\ndatabase main engine=postgres {\n  // who\n  public_allowlist a\n  users {\n    x\n  }\n}\nlocals {\n  a {\n    - 1\n  }\n  b 1 2\n  t \"\"\"\n    x\n    y\n\n    \"\"\"\n}\n"
    );
}

/// A file of either syntax, as lines with comments.
fn entries() -> impl Strategy<Value = Vec<(String, ConfigLiteral, u8)>> {
    let word = "[a-z][a-z_]{0,6}";
    let scalar = prop_oneof![
        Just(ConfigLiteral::Null),
        any::<bool>().prop_map(ConfigLiteral::Boolean),
        "(0|[1-9][0-9]{0,3})(\\.[0-9]{1,2})?".prop_map(|text| ConfigLiteral::Number(text.into())),
        word.prop_map(|text| ConfigLiteral::Text(text.into())),
        "[ -~é]{0,12}".prop_map(|text| ConfigLiteral::Text(text.into())),
        "[a-z #:]{1,8}\n[a-z \"\\\\]{0,8}\n?".prop_map(|text| ConfigLiteral::Text(text.into())),
    ];
    let tree = scalar.prop_recursive(3, 24, 4, move |inner| {
        let entry = (word.prop_map(Name::from), inner.clone());
        prop_oneof![
            vec(inner, 0..4).prop_map(ConfigLiteral::List),
            vec(entry, 1..4).prop_map(|mut entries| {
                let mut seen = BTreeSet::new();
                entries.retain(|(key, _)| seen.insert(key.clone()));
                ConfigLiteral::Map(entries)
            })
        ]
    });
    vec((word, tree, any::<u8>()), 1..6).prop_map(|mut entries| {
        let mut seen = BTreeSet::new();
        entries.retain(|(key, ..)| seen.insert(key.clone()));
        entries
    })
}

/// Writes entries with comments above and behind them.
fn file(entries: &[(String, ConfigLiteral, u8)], syntax: Syntax) -> String {
    let mark = if syntax == Syntax::Yaml { "#" } else { "//" };
    let mut text = String::new();
    for (n, (key, value, dice)) in entries.iter().enumerate() {
        if dice & 1 > 0 {
            text.extend(format!("{mark} ⟨above {n}⟩\n").chars());
        }
        if dice & 2 > 0 {
            text.push_str("\n\n");
        }
        let written =
            write_new_file(syntax, &[(Name::new(format!("k{n}{key}")), value.clone())], &REGISTRY);
        if dice & 4 > 0 && written.lines().count() == 1 {
            let line = written.trim_end_matches('\n');
            text.extend([line, &format!("   {mark} ⟨behind {n}⟩\n")]);
        } else {
            text.push_str(&written);
        }
    }
    text.extend(format!("{mark} ⟨foot⟩\n").chars());
    text
}

fn cases() -> u32 {
    std::env::var("STEAD_EDIT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn formatting_is_idempotent_and_conversion_keeps_the_meaning(entries in entries()) {
        let yaml = formatted("a.yaml", &file(&entries, Syntax::Yaml));
        prop_assert_eq!(&formatted("a.yaml", &yaml), &yaml);
        let kdl = formatted("a.kdl", &file(&entries, Syntax::Kdl));
        prop_assert_eq!(&formatted("a.kdl", &kdl), &kdl);
        let there = converted("a.yaml", &yaml, Syntax::Kdl);
        let back = converted("a.kdl", &there, Syntax::Yaml);
        prop_assert_eq!(marks(&back), marks(&yaml));
        prop_assert_eq!(marks(&there), marks(&yaml));
        converted("a.kdl", &kdl, Syntax::Yaml);
    }
}
