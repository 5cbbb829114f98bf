//! Edits by table, in both syntaxes: what comes out, to the byte.

use super::*;
use crate::config::edit::ConfigLiteral;
use crate::kinds::REGISTRY;

fn run(path: &str, text: &str, edits: &[Edit]) -> Result<String, String> {
    let source = Source::new(path, text);
    apply_edits(&EditableFile { source: &source, registry: &REGISTRY }, edits)
        .map_err(|refusal| format!("{} {}", refusal.0.code, refusal.0.help.unwrap_or_default()))
}

fn set(path: &str, literal: ConfigLiteral) -> Edit {
    Edit::Set(EditPath::from_text(path), literal)
}

fn number(text: &str) -> ConfigLiteral {
    ConfigLiteral::Number(text.into())
}

fn remove(path: &str) -> Edit {
    Edit::Remove(EditPath::from_text(path))
}

#[track_caller]
fn yaml(text: &str, edits: &[Edit], wanted: &str) {
    assert_eq!(run("a.yaml", text, edits).as_deref(), Ok(wanted));
    // The same with other line ends.
    let (text, wanted) = (text.replace('\n', "\r\n"), wanted.replace('\n', "\r\n"));
    assert_eq!(run("a.yaml", &text, edits).as_deref(), Ok(wanted.as_str()));
}

#[track_caller]
fn kdl(text: &str, edits: &[Edit], wanted: &str) {
    assert_eq!(run("a.kdl", text, edits).as_deref(), Ok(wanted));
    let (text, wanted) = (text.replace('\n', "\r\n"), wanted.replace('\n', "\r\n"));
    assert_eq!(run("a.kdl", &text, edits).as_deref(), Ok(wanted.as_str()));
}

#[test]
fn a_replaced_value_keeps_its_quoting_style() {
    let size = |n| set("volume.media.size", number(n));
    yaml(
        "volume:\n  media:\n    size:  100   # GB\n",
        &[size("200")],
        "volume:\n  media:\n    size:  200   # GB\n",
    );
    yaml(
        "volume: { media: { size: 100, name: 'a b' } }",
        &[size("7"), set("volume.media.name", ConfigLiteral::text("it's"))],
        "volume: { media: { size: 7, name: 'it''s' } }",
    );
    yaml(
        "a: \"x\"\nb: x\n",
        &[set("a", ConfigLiteral::text("y")), set("b", ConfigLiteral::text("no"))],
        "a: \"y\"\nb: \"no\"\n",
    );
    yaml("a:\nb: 1\n", &[set("a", number("2"))], "a: 2\nb: 1\n");
    yaml("a: |\n  x\n  y\n# c\nb: 1\n", &[set("a", ConfigLiteral::text("z"))], "a: z\n# c\nb: 1\n");
    yaml("a: &n 1\nb: 2\n", &[set("a", number("3"))], "a: &n 3\nb: 2\n");
    kdl(
        "volume media size=100 name=\"a\" // GB\n",
        &[size("200"), set("volume.media.name", ConfigLiteral::text("b"))],
        "volume media size=200 name=\"b\" // GB\n",
    );
    kdl("volume media {\n  size 100\n}\n", &[size("7")], "volume media {\n  size 7\n}\n");
    kdl("vm web tags=1", &[set("vm.web.tags", ConfigLiteral::Boolean(true))], "vm web tags=#true");
}

#[test]
fn collections_are_replaced_in_their_own_style() {
    let list =
        |words: &[&str]| ConfigLiteral::List(words.iter().map(|word| ConfigLiteral::text(*word)).collect());
    let hosts = |words: &[&str]| set("database.main.public_allowlist", list(words));
    yaml(
        "database:\n  main:\n    public_allowlist:\n      - 10.0.0.0/8 # a\n      - b\n    plan: c\n",
        &[hosts(&["x", "z"])],
        "database:\n  main:\n    public_allowlist:\n      - x\n      - z\n    plan: c\n",
    );
    yaml(
        "database: { main: { public_allowlist: [a], plan: c } }\n",
        &[hosts(&["x", "z"])],
        "database: { main: { public_allowlist: [x, z], plan: c } }\n",
    );
    yaml("a:\n  b: 1\nc: 2\n", &[set("a", number("1"))], "a: 1\nc: 2\n");
    yaml("a:\n  b: 1\nc: 2\n", &[set("a", list(&[]))], "a: []\nc: 2\n");
    kdl(
        "database main {\n  public_allowlist a b\n  plan c\n}\n",
        &[hosts(&["x"])],
        "database main {\n  public_allowlist x\n  plan c\n}\n",
    );
    kdl("locals {\n  a 1 2\n}\n", &[set("locals.a", list(&["x"]))], "locals {\n  a {\n    - x\n  }\n}\n");
    kdl(
        "database main public_access=#true\n",
        &[set("database.main.public_access", list(&["x", "y"]))],
        "database main {\n  public_access x y\n}\n",
    );
}

#[test]
fn new_entries_are_inserted_next_to_similar_ones() {
    let port = || set("app.web.port", number("80"));
    yaml(
        "app:\n  web:\n    type: web # c\n    # foot\n\nvm: {}\n",
        &[port()],
        "app:\n  web:\n    type: web # c\n    port: 80\n    # foot\n\nvm: {}\n",
    );
    yaml("app:\n  web: { type: web }", &[port()], "app:\n  web: { type: web, port: 80 }");
    yaml("app:\n  web:\n# end", &[port()], "app:\n  web:\n    port: 80\n# end");
    yaml("app: {}\n", &[port()], "app: { web: { port: 80 } }\n");
    yaml("a: 1\nstead: 1", &[port()], "a: 1\nstead: 1\napp:\n  web:\n    port: 80");
    assert_eq!(run("a.yaml", "", &[port()]).as_deref(), Ok("app:\n  web:\n    port: 80\n"));
    kdl("app web type=web // c\n", &[port()], "app web type=web port=80 // c\n");
    kdl("app web {\n    type web\n}\n", &[port()], "app web {\n    type web\n    port 80\n}\n");
    kdl("app web { type web }\n", &[port()], "app web { type web; port 80 }\n");
    kdl(
        "app web\n",
        &[set("app.web.env_vars", ConfigLiteral::map([("A", ConfigLiteral::text("b"))]))],
        "app web {\n  env_vars A=b\n}\n",
    );
    kdl("stead 1\n", &[port()], "stead 1\napp web port=80\n");
    kdl(
        "vars {\n  a type=int\n}\n",
        &[set("vars.b", ConfigLiteral::map([("type", ConfigLiteral::text("int"))]))],
        "vars {\n  a type=int\n  b type=int\n}\n",
    );
}

#[test]
fn a_removed_entry_is_removed_with_its_comments() {
    yaml(
        "# head\nvm:\n  # about a\n  a: 1 # a\n\n  # about b\n  b: 2\n  c: 3\n",
        &[remove("vm.b")],
        "# head\nvm:\n  # about a\n  a: 1 # a\n\n  c: 3\n",
    );
    yaml("vm:\n  a: 1\nvpc:\n  b: 2\n", &[remove("vm.a")], "vpc:\n  b: 2\n");
    yaml("a:\n  b:\n    c: 1 # x\n  d: 2\n", &[remove("a.b.c")], "a:\n  b: {}\n  d: 2\n");
    yaml("a: { b: 1, c: 2, d: 3 }\n", &[remove("a.b"), remove("a.d")], "a: { c: 2 }\n");
    yaml(
        "a:\n  - b: 1\n    c: 2\n",
        &[Edit::Remove(EditPath::from_text("a").with_item(0).with_key("b"))],
        "a:\n  - c: 2\n",
    );
    yaml(
        "moved:\n  - from: a\n  - from: b\n",
        &[Edit::Remove(EditPath::from_text("moved").with_item(0))],
        "moved:\n  - from: b\n",
    );
    yaml(
        "a: 1\nmoved: [{ from: a }]\n",
        &[Edit::Remove(EditPath::from_text("moved").with_item(0))],
        "a: 1\n",
    );
    kdl(
        "// head\nvm a // x\n// about b\nvm b {\n  c 1\n}\nvm d\n",
        &[remove("vm.b")],
        "// head\nvm a // x\nvm d\n",
    );
    kdl(
        "vm a x=1 y=2 {\n  z { p; q; r }\n}\n",
        &[remove("vm.a.x"), remove("vm.a.z.q")],
        "vm a y=2 {\n  z { p; r }\n}\n",
    );
    kdl(
        "vm a {\n  b 1 2\n}\n",
        &[Edit::Remove(EditPath::from_text("vm.a.b").with_item(0))],
        "vm a {\n  b { - 2 }\n}\n",
    );
    kdl(
        "moved from=a to=b\nmoved from=c to=d\nstead 1\n",
        &[Edit::Remove(EditPath::from_text("moved").with_item(1))],
        "moved from=a to=b\nstead 1\n",
    );
    kdl("vars { a; b }\nstead 1\n", &[remove("vars.a"), remove("vars.b")], "stead 1\n");
}

#[test]
fn an_emptied_block_keeps_its_own_comments() {
    yaml(
        "vm:\n  a: # why\n    # of b\n    b: 1 # c\nvpc: {}\n",
        &[remove("vm.a.b")],
        "vm:\n  a: {} # why\nvpc: {}\n",
    );
    kdl(
        "vm a { // why\n  // of b\n  b 1 // c\n\n  // last\n}\n// end\n",
        &[remove("vm.a.b")],
        "vm a { // why\n\n  // last\n}\n// end\n",
    );
    kdl("vm a {\n  // of b\n  b 1\n}\n", &[remove("vm.a.b")], "vm a {}\n");
}

#[test]
fn a_byte_order_mark_is_kept() {
    yaml(
        "\u{feff}# of a\na: 1 # c\nvm: { a: 1, b: 2 }\n",
        &[remove("a")],
        "\u{feff}# of a\nvm: { a: 1, b: 2 }\n",
    );
    yaml("\u{feff}vm:\n  a: 1\n  b: 2\n", &[remove("vm.a")], "\u{feff}vm:\n  b: 2\n");
    kdl("\u{feff}vm a plan=x // c\nvm b\n", &[remove("vm.a")], "\u{feff}vm b\n");
    kdl("\u{feff}// c\n\nvm a {\n  b 1\n}\nvm b\n", &[remove("vm.a")], "\u{feff}// c\n\nvm b\n");
}

#[test]
fn names_and_references_are_renamed_together() {
    let edits = [
        Edit::Rename(EditPath::from_text("vm.web"), "front".into()),
        Edit::Redirect(vec![("vm.web".into(), "vm.front".into())]),
    ];
    yaml(
        "vm:\n  web: { plan: a } # $vm.web\nvolume:\n  v: { vm: $vm.web, depends_on: [vm.web] }\noutputs:\n  o: \"${vm.web.ip + 'vm.web'}\"\n",
        &edits,
        "vm:\n  front: { plan: a } # $vm.web\nvolume:\n  v: { vm: $vm.front, depends_on: [vm.front] }\noutputs:\n  o: \"${vm.front.ip + 'vm.web'}\"\n",
    );
    kdl(
        "vm web plan=a // $vm.web\nvolume v vm=$vm.web { depends_on vm.web }\noutputs { o \"${vm.web.ip + 'vm.web'}\"; p #\"${vm.web[\"ip\"]}\"# }\n",
        &edits,
        "vm front plan=a // $vm.web\nvolume v vm=$vm.front { depends_on vm.front }\noutputs { o \"${vm.front.ip + 'vm.web'}\"; p #\"${vm.front[\"ip\"]}\"# }\n",
    );
}

#[test]
fn items_are_appended() {
    let moved = Edit::Append(
        EditPath::from_text("moved"),
        ConfigLiteral::map([("from", ConfigLiteral::text("vm.a")), ("to", ConfigLiteral::text("vm.b"))]),
    );
    yaml("stead: 1\n", std::slice::from_ref(&moved), "stead: 1\nmoved:\n  - from: vm.a\n    to: vm.b\n");
    yaml(
        "moved: [{ from: vm.x, to: vm.y }]\n",
        std::slice::from_ref(&moved),
        "moved: [{ from: vm.x, to: vm.y }, { from: vm.a, to: vm.b }]\n",
    );
    yaml(
        "moved:\n- from: vm.x\n  to: vm.y # c\nvm: {}\n",
        std::slice::from_ref(&moved),
        "moved:\n- from: vm.x\n  to: vm.y # c\n- from: vm.a\n  to: vm.b\nvm: {}\n",
    );
    kdl("stead 1\n", std::slice::from_ref(&moved), "stead 1\nmoved from=vm.a to=vm.b\n");
    kdl(
        "moved from=vm.x to=vm.y // c\nvm a\n",
        std::slice::from_ref(&moved),
        "moved from=vm.x to=vm.y // c\nmoved from=vm.a to=vm.b\nvm a\n",
    );
    kdl(
        "vars { n { default a } }\n",
        &[Edit::Append(EditPath::from_text("vars.n.default"), ConfigLiteral::text("b"))],
        "vars { n { default a b } }\n",
    );
}

#[test]
fn an_unsafe_edit_is_rejected() {
    let refused = |path, text, edit| run(path, text, &[edit]).unwrap_err();
    for (text, path, code) in [
        ("vm: { a: { plan: $vars.size } }", "vm.a.plan", "S0373 change the variable `size`"),
        ("vm: { a: { plan: \"x-${env}\" } }", "vm.a.plan", "S0373"),
        ("x: &n { plan: 1 }\nvm: { a: *n }", "vm.a.plan", "S0374"),
        ("x: &n { plan: 1 }\nvm: { a: { <<: *n } }", "vm.a.plan", "S0374"),
        ("x: &n { plan: 2 }\nvm: { a: *n }", "x.plan", "S0375"),
        ("vm: { a: b }", "vm.a.plan", "S0371"),
    ] {
        let refusal = refused("a.yaml", text, set(path, number("1")));
        assert!(refusal.starts_with(code), "{text}: {refusal}");
    }
    assert!(
        refused("a.kdl", "vm a plan=$locals.p.q", set("vm.a.plan", number("1")))
            .starts_with("S0373 change the local `p.q`")
    );
    assert!(
        refused("a.kdl", "vm a\nvm b", Edit::Rename(EditPath::from_text("vm.a"), "b".into()))
            .starts_with("S0372")
    );
    assert!(refused("a.yaml", "a: 1", remove("b")).starts_with("S0371"));
    assert!(refused("a.yaml", "a: [", remove("a")).starts_with("S01"));
    let redirect = Edit::Redirect(vec![("vm.web.a".into(), "vm.web.b".into())]);
    assert!(refused("a.yaml", "o: ${vm.web[vars.x].ip}", redirect).starts_with("S0375"));
}

/// What `rename` and `mv` ask for: each edit sees the ones before it, whether they are made at once or not.
fn move_web() -> Vec<Edit> {
    let entry = [("from", ConfigLiteral::text("vm.web")), ("to", ConfigLiteral::text("vm.front"))];
    vec![
        Edit::Rename(EditPath::from_text("vm.web"), "front".into()),
        Edit::Redirect(vec![("vm.web".into(), "vm.front".into())]),
        set("vm.front.name", ConfigLiteral::text("web")),
        Edit::Append(EditPath::from_text("moved"), ConfigLiteral::map(entry)),
    ]
}

#[test]
fn a_batch_of_edits_equals_the_same_edits_in_sequence() {
    for (path, text) in [
        ("a.yaml", "volume:\n  v: { vm: $vm.web }\nvm:\n  web:\n    plan: a\n"),
        ("a.yaml", "vm:\n  web:\n    plan: a"),
        ("a.yaml", "vm: { web: { plan: a } }\nmoved: [{ from: vm.x, to: vm.y }]\n"),
        (
            "a.yaml",
            "moved:\n  - from: vm.x\n    to: vm.y\nvm:\n  web: # c\n    plan: a # d\n  b: $vm.web\n",
        ),
        ("a.yaml", "environments: { p: { set: { vm.web.plan: b } } }\nvm:\n  web:\n    plan: a\n"),
        ("a.kdl", "volume v vm=$vm.web\nvm web plan=a\n"),
        ("a.kdl", "vm web {\n  plan a\n}\nvm b x=$vm.web\nmoved from=vm.x to=vm.y"),
    ] {
        let source = Source::new(path, text);
        let file = EditableFile { source: &source, registry: &REGISTRY };
        let at_once = apply_at_once(&file, &move_web(), &mut read_content(&file, &source).unwrap());
        let mut stepwise = text.to_owned();
        for step in move_web() {
            stepwise = run(path, &stepwise, &[step]).unwrap();
        }
        assert_eq!(at_once, Some(stepwise), "{text}");
    }
}

#[test]
fn overlapping_edits_are_applied_in_sequence() {
    let text = "a:\n  - x\n  - y\n  - z\nv: 1\n";
    let item = |n| Edit::Remove(EditPath::from_text("a").with_item(n));
    for (edits, wanted) in [
        (vec![item(0), item(0)], "a:\n  - z\nv: 1\n"),
        (vec![item(0), item(1)], "a:\n  - y\nv: 1\n"),
        (vec![set("v", number("2")), set("v", number("3"))], "a:\n  - x\n  - y\n  - z\nv: 3\n"),
        (
            vec![set("w.b", number("2")), set("w.c", number("3"))],
            "a:\n  - x\n  - y\n  - z\nv: 1\nw:\n  b: 2\n  c: 3\n",
        ),
        (
            vec![
                set("v", ConfigLiteral::text("$vm.web")),
                Edit::Redirect(vec![("vm.web".into(), "vm.front".into())]),
            ],
            "a:\n  - x\n  - y\n  - z\nv: $vm.front\n",
        ),
    ] {
        yaml(text, &edits, wanted);
    }
}
