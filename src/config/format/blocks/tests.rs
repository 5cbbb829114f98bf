//! Written text is read back as it was meant.

use proptest::prelude::*;

use super::{MarkedText, PrintedBlock, PrintedEntry, PrintedValue, print_blocks};
use crate::config::resolve::template;
use crate::config::syntax::document::{Document, NodeValue, Syntax};
use crate::config::syntax::{kdl, yaml};
use crate::model::source::{Source, SourceId};

fn entry(key: &str, value: PrintedValue) -> PrintedEntry {
    PrintedEntry { key: key.into(), value, mark: 0 }
}

fn text(text: &str) -> PrintedValue {
    PrintedValue::Text(text.into())
}

fn sample() -> Vec<PrintedBlock> {
    let rig = PrintedValue::Map(vec![
        entry("hook", text("a b")),
        entry("length", PrintedValue::Number("3".into())),
    ]);
    let entries = vec![
        entry("name", text("Web: $1 #2")),
        entry("vpc", PrintedValue::Reference("$vpc.main".into())),
        entry("version", text("1.31")),
        entry("painted", PrintedValue::Bool(true)),
        entry("power", text("off")),
        entry("note", PrintedValue::Null),
        entry("tags", PrintedValue::List(vec![text("a"), text("203.0.113.0/24"), text("{x}")])),
        entry("keys", PrintedValue::List(vec![text(&"k".repeat(60)), text(&"l".repeat(60))])),
        entry("none", PrintedValue::List(Vec::new())),
        entry("rig", rig),
        entry("users", PrintedValue::Map(vec![entry("reporting", PrintedValue::Map(Vec::new()))])),
    ];
    let block =
        |name: &str, entries| PrintedBlock { word: "vm".into(), name: name.into(), entries, mark: 7 };
    vec![block("web", entries), block("bare", Vec::new())]
}

#[test]
fn generated_blocks_are_idiomatic_in_both_syntaxes() {
    let yaml = print_blocks(Syntax::Yaml, &sample()).text;
    let head = "vm:\n  web:\n    name: \"Web: $$1 #2\"\n    vpc: $vpc.main\n    version: \"1.31\"\n";
    assert!(yaml.starts_with(head), "{yaml}");
    for part in [
        "    painted: true\n    power: \"off\"\n    note: null\n    tags: [a, 203.0.113.0/24, \"{x}\"]\n",
        "    keys:\n      - kkk",
        "    none: []\n    rig:\n      hook: a b\n      length: 3\n    users:\n      reporting: {}\n  bare: {}\n",
    ] {
        assert!(yaml.contains(part), "{yaml}");
    }
    let kdl = print_blocks(Syntax::Kdl, &sample()).text;
    let head = "vm web {\n  name \"Web: $$1 #2\"\n  vpc $vpc.main\n  version \"1.31\"\n  painted #true\n  power off\n";
    assert!(kdl.starts_with(head), "{kdl}");
    for part in [
        "  note #null\n  tags a \"203.0.113.0/24\" \"{x}\"\n  keys kkk",
        "  none\n  rig {\n    hook \"a b\"\n    length 3\n  }\n  users {\n    reporting\n  }\n}\nvm bare\n",
    ] {
        assert!(kdl.contains(part), "{kdl}");
    }
    let page = print_blocks(Syntax::Yaml, &sample());
    assert_eq!(page.marks.len(), page.text.lines().count());
    assert_eq!(page.marks[..3], [7, 7, 0]);
    assert_eq!(
        MarkedText::prepend_header(page, "a\nb\n").marks.len(),
        print_blocks(Syntax::Yaml, &sample()).marks.len() + 2
    );
}

fn read(syntax: Syntax, text: &str) -> Document {
    let parsed = match syntax {
        Syntax::Yaml => yaml::parse(SourceId(0), &Source::new("a.yaml", text)),
        Syntax::Kdl => kdl::parse(SourceId(0), &Source::new("a.kdl", text), &|word| word == "vm"),
    };
    parsed.unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"))
}

fn words(value: &NodeValue, into: &mut Vec<String>) {
    match value {
        NodeValue::Scalar(scalar) => into.push(scalar.text.to_string()),
        NodeValue::Sequence(items) => items.iter().for_each(|item| words(&item.value, into)),
        NodeValue::Mapping(entries) => entries.iter().for_each(|entry| {
            into.push(entry.key.to_string());
            words(&entry.value.value, into);
        }),
        NodeValue::Null | NodeValue::Bare => {}
    }
}

proptest! {
    #[test]
    fn any_text_round_trips_as_value_item_and_key(all in prop::collection::vec("\\PC{1,12}|[ -~\\n\\t]{0,12}|\\x{1b}|true|1e3|-|\u{202e}x", 1..5)) {
        let entries = vec![
            entry("one", text(&all[0])),
            entry("many", PrintedValue::List(all.iter().map(|item| text(item)).collect())),
            entry("map", PrintedValue::Map(vec![entry(&all[0], text("v"))])),
        ];
        let block = PrintedBlock { word: "vm".into(), name: "web".into(), entries, mark: 0 };
        let doubled = |text: &String| template::escape_literal(text);
        let mut wanted = vec!["vm".to_owned(), "web".into(), "one".into(), doubled(&all[0]), "many".into()];
        wanted.extend(all.iter().map(doubled));
        wanted.extend(["map".to_owned(), all[0].clone(), "v".into()]);
        for syntax in [Syntax::Yaml, Syntax::Kdl] {
            let page = print_blocks(syntax, std::slice::from_ref(&block));
            let document = read(syntax, &page.text);
            let mut found = Vec::new();
            words(&NodeValue::Mapping(document.root), &mut found);
            prop_assert_eq!(&found, &wanted, "{}", page.text);
        }
    }
}
