//! Declarations: what they mean in both syntaxes, and the message of every mistake in one.

use super::yaml;
use crate::config::stack::declarations::Declarations;

/// Returns declarations in a short form, one in each line: `from > to`, `to < id`, `from Action`.
fn shown(declarations: &Declarations) -> String {
    let moved = declarations.moved.iter().map(|moved| {
        let whole = if moved.whole { " (whole)" } else { "" };
        format!("{} > {}{whole}", moved.from, moved.to)
    });
    let imports = declarations.imports.iter().map(|import| format!("{} < {}", import.to, import.id));
    let removed =
        declarations.removed.iter().map(|removed| format!("{} {:?}", removed.from, removed.action));
    moved.chain(imports).chain(removed).collect::<Vec<_>>().join("\n")
}

const YARDS: &str = "
yard: { main: { cidr: 10.0.0.0/16, gates: { north: {} } } }
crane: { web: { for_each: [a, b] }, one: {}, off: { when: false } }
";

const ALL: &str = "
vars: { old: { default: k-7 } }
moved:
  - { from: yard.old, to: yard.main }
  - { from: crane.x, to: crane.y }
  - { from: crane.y, to: crane.one }
  - { from: crane.www, to: crane.web }
  - { from: crane.web, to: crane.web.a }
  - { from: crane.gone, to: crane.off }
  - { from: yard.main.gates.south, to: yard.main.gates.north }
import:
  - { to: crane.one, id: 42 }
  - { to: crane.web.b, id: $vars.old, when: \"${env == 'default'}\" }
  - { to: yard.main, id: y-1, when: false }
removed: [{ from: crane.legacy, action: forget }, { from: yard.spare, action: delete }]
";

#[test]
fn declarations_are_resolved_against_the_blocks() {
    let declarations = yaml(&format!("{YARDS}{ALL}")).stack().declarations;
    insta::assert_snapshot!(shown(&declarations), @r#"
    yard.old > yard.main
    crane.x > crane.y
    crane.y > crane.one
    crane.www > crane.web
    crane.web > crane.web.a
    yard.main.gates.south > yard.main.gates.north
    crane.one < 42
    crane.web.b < k-7
    crane.legacy Forget
    yard.spare Delete
    "#);
}

#[test]
fn both_syntaxes_resolve_to_the_same_declarations() {
    let kdl = "
stead 1
stack test
yard main cidr=\"10.0.0.0/16\" { gates { north } }
crane web { for_each a b }
crane one
crane off when=#false
vars { old default=k-7 }
moved from=yard.old to=yard.main
moved from=crane.x to=crane.y
moved { from crane.y; to crane.one }
moved from=crane.www to=crane.web
moved from=crane.web to=crane.web.a
moved from=crane.gone to=crane.off
moved from=yard.main.gates.south to=yard.main.gates.north
import to=crane.one id=42
import to=crane.web.b id=$vars.old when=\"${env == 'default'}\"
import to=yard.main id=y-1 when=#false
removed from=crane.legacy action=forget
removed from=yard.spare action=delete
";
    let yaml = yaml(&format!("{YARDS}{ALL}"));
    let read = super::yaml("").without_yaml().file("a.stead.kdl", kdl);
    assert_eq!(shown(&read.stack().declarations), shown(&yaml.stack().declarations));
    assert_eq!(read.stack().digest, yaml.stack().digest);
}

#[test]
fn every_declaration_error_is_reported_once() {
    let cases = [
        "moved: { from: crane.x, to: crane.one }",
        "moved: [crane.x]",
        "moved: [{ from: crane.x }]",
        "moved: [{ from: crane.x, two: crane.one, to: crane.one }]",
        "moved: [{ from: $crane.x, to: crane.one }]",
        "moved: [{ from: cranes.x, to: crane.one }]",
        "moved: [{ from: Crane.X, to: crane.one }]",
        "moved: [{ from: crane, to: crane.one }]",
        "moved: [{ from: yard.x, to: crane.one }]",
        "moved: [{ from: crane.one, to: crane.one }]",
        "moved: [{ from: crane.one, to: crane.web.a }]",
        "moved: [{ from: crane.web, to: crane.one }]",
        "moved: [{ from: crane.off, to: crane.one }]",
        "moved: [{ from: crane.x, to: crane.on }]",
        "moved: [{ from: crane.x, to: crane.y }, { from: crane.y, to: crane.z }]",
        "moved: [{ from: crane.x, to: crane.y }, { from: crane.y, to: crane.x }]",
        "moved: [{ from: crane.x, to: crane.one }, { from: crane.x, to: crane.web.a }]",
        "moved: [{ from: crane.x, to: crane.one }, { from: crane.y, to: crane.one }]",
        "import: [{ to: crane.one }]",
        "import: [{ to: crane.web, id: x }]",
        "import: [{ to: crane.two, id: x }]",
        "import: [{ to: crane.one, id: '' }]",
        "import: [{ to: crane.one, id: $crane.web.a }]",
        "import: [{ to: crane.one, id: a }, { to: crane.one, id: b }]",
        "import: [{ to: crane.one, id: a, when: maybe }]",
        "removed: [{ from: crane.one, action: forget }]",
        "removed: [{ from: crane.x, action: keep }]",
        "removed: [{ from: crane.x, action: forget }, { from: crane.x, action: delete }]",
    ];
    let table = cases.map(|case| format!("# {case}\n{}", yaml(&format!("{YARDS}{case}\n")).problems()));
    insta::assert_snapshot!(table.join("\n"), @"
    # moved: { from: crane.x, to: crane.one }
    S0290 6:8 a declaration is wrong | `moved` is a list. | write `moved: [{ from: …, to: … }]`
    # moved: [crane.x]
    S0290 6:9 a declaration is wrong | Each entry of `moved` is a map. | write `moved: [{ from: …, to: … }]`
    # moved: [{ from: crane.x }]
    S0290 6:9 a declaration is wrong | This entry of `moved` has no `to`. | write `moved: [{ from: …, to: … }]`
    # moved: [{ from: crane.x, two: crane.one, to: crane.one }]
    S0220 6:26 this key is not known | There is no `two` here. | did you mean `to`?
    # moved: [{ from: $crane.x, to: crane.one }]
    S0290 6:17 a declaration is wrong | It takes an address, not a reference, so it has no `$`. | write `crane.x` | fix: crane.x
    # moved: [{ from: cranes.x, to: crane.one }]
    S0290 6:17 a declaration is wrong | `cranes.x` does not begin with a kind of resource. | did you mean `crane.x`?
    # moved: [{ from: Crane.X, to: crane.one }]
    S0290 6:17 a declaration is wrong | `Crane.X` is not an address: each part holds a-z, 0-9, _ and - only, and is not empty. | write `vm.web`, for example
    # moved: [{ from: crane, to: crane.one }]
    S0290 6:17 a declaration is wrong | `crane` is not an address: it has the form KIND.NAME. | write `vm.web`, for example
    # moved: [{ from: yard.x, to: crane.one }]
    S0290 6:9 a declaration is wrong | yard.x is a yard, and crane.one a crane. | an object cannot change its kind: name two addresses of one kind
    # moved: [{ from: crane.one, to: crane.one }]
    S0290 6:9 a declaration is wrong | crane.one moves to its own address. | remove the entry
    # moved: [{ from: crane.one, to: crane.web.a }]
    S0291 6:9 an address still has its block [5:37 crane.one is declared here] | The entry moves or removes crane.one, but a block still declares it. | rename the block, or remove this entry
    # moved: [{ from: crane.web, to: crane.one }]
    S0291 6:9 an address still has its block [5:10 crane.web is declared here] | The entry moves or removes crane.web, but a block still declares it. | rename the block, or remove this entry
    # moved: [{ from: crane.off, to: crane.one }]
    S0291 6:9 an address still has its block [5:46 crane.off is declared here] | The entry moves or removes crane.off, but a block still declares it. | rename the block, or remove this entry
    # moved: [{ from: crane.x, to: crane.on }]
    S0292 6:9 a declaration names an unknown address | No block declares crane.on. | did you mean `crane.one`? If not, write its block, or remove the entry
    # moved: [{ from: crane.x, to: crane.y }, { from: crane.y, to: crane.z }]
    S0292 6:41 a declaration names an unknown address | No block declares crane.z. | did you mean `crane.one`? If not, write its block, or remove the entry
    # moved: [{ from: crane.x, to: crane.y }, { from: crane.y, to: crane.x }]
    S0293 6:9 the `moved` entries form a cycle [6:9 crane.x moves to crane.y] [6:41 crane.y moves to crane.x] | remove one of the entries; to swap two resources, apply a move to a third address first
    # moved: [{ from: crane.x, to: crane.one }, { from: crane.x, to: crane.web.a }]
    S0294 6:43 two declarations contradict each other [6:43 declared again here] [6:9 declared here first] | crane.x moves to two addresses. | keep one of the two
    # moved: [{ from: crane.x, to: crane.one }, { from: crane.y, to: crane.one }]
    S0294 6:43 two declarations contradict each other [6:43 declared again here] [6:9 declared here first] | Two addresses move to crane.one. | keep one of the two
    # import: [{ to: crane.one }]
    S0290 6:10 a declaration is wrong | This entry of `import` has no `id`. | write `import: [{ to: …, id: … }]`
    # import: [{ to: crane.web, id: x }]
    S0290 6:16 a declaration is wrong | crane.web has `for_each`. | name one instance: `crane.web.KEY`
    # import: [{ to: crane.two, id: x }]
    S0292 6:16 a declaration names an unknown address | No block declares crane.two. | did you mean `crane.one`? If not, write its block, or remove the entry
    # import: [{ to: crane.one, id: '' }]
    S0290 6:31 a declaration is wrong | An `id` is one text. | write an id that `stead ls --unmanaged` shows
    # import: [{ to: crane.one, id: $crane.web.a }]
    S0208 6:31 this must be known before any resource exists | an `import` is evaluated while the configuration is loaded, and attributes of a crane are known only later. | use a variable, or a local that refers to no resource
    # import: [{ to: crane.one, id: a }, { to: crane.one, id: b }]
    S0294 6:36 two declarations contradict each other [6:36 declared again here] [6:10 declared here first] | crane.one is imported twice. | keep one of the two
    # import: [{ to: crane.one, id: a, when: maybe }]
    S0262 6:40 `when` is true or false | This is a text. | write an expression such as `${env == 'prod'}`
    # removed: [{ from: crane.one, action: forget }]
    S0291 6:11 an address still has its block [5:37 crane.one is declared here] | The entry moves or removes crane.one, but a block still declares it. | remove the block, or this entry
    # removed: [{ from: crane.x, action: keep }]
    S0290 6:36 a declaration is wrong | `action` is one of two words. | write `forget` (the object stays live) or `delete` (it is deleted)
    # removed: [{ from: crane.x, action: forget }, { from: crane.x, action: delete }]
    S0294 6:46 two declarations contradict each other [6:46 declared again here] [6:11 declared here first] | crane.x is removed twice. | keep one of the two
    ");
}
