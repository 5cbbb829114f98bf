//! Moves of whole modules, and declarations inside of modules: what they mean, and the message of every mistake.

use super::{Config, yaml};

const SHOP: &str = "vars: { keys: { type: set(string), default: [] } }
crane: { web: {}, many: { for_each: $vars.keys }, off: { when: false } }
use: { cache: { source: ./cache } }
";
const CACHE: &str = "crane: { net: {} }\n";
const USES: &str = "
crane: { own: {} }
use:
  eu: { source: ../../shop }
  fleet: { for_each: [a, b], source: ../../shop }
  none: { when: false, source: ../../shop }
";

fn uses(more: &str) -> Config {
    in_module(more, "")
}

fn in_module(more: &str, said: &str) -> Config {
    yaml(&format!("{USES}{more}\n"))
        .shared("shop/stead.yaml", &format!("{SHOP}{said}\n"))
        .shared("shop/cache/stead.yaml", CACHE)
}

fn shown(config: &Config) -> String {
    let moved = config.stack().declarations.moved;
    let shown = moved.iter().map(|moved| {
        let whole = if moved.whole { " (whole)" } else { "" };
        let module =
            if moved.module.is_empty() { String::new() } else { format!(", says {}", moved.module) };
        format!("{} > {}{whole}{module}", moved.from, moved.to)
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn whole_modules_and_resources_in_them_are_moved() {
    let config = uses(
        "moved:
  - { from: us, to: eu }
  - { from: ships, to: fleet }
  - { from: fleet.c, to: fleet.a }
  - { from: eu.store, to: eu.cache }
  - { from: crane.web, to: eu.crane.web }
  - { from: eu.crane.gone, to: crane.own }
  - { from: very.old, to: older }
  - { from: older, to: us }
  - { from: crane.x, to: us.crane.many }
  - { from: lost, to: none }
removed: [{ from: dead, action: forget }, { from: eu.crane.dead, action: delete }]",
    );
    insta::assert_snapshot!(shown(&config), @"
    us > eu
    ships > fleet (whole)
    fleet.c > fleet.a
    eu.store > eu.cache
    crane.web > eu.crane.web
    eu.crane.gone > crane.own
    very.old > older
    older > us
    crane.x > us.crane.many (whole)
    ");
    let kdl = "stead 1\nstack test\ncrane own\nuse eu source=\"../../shop\"\nmoved from=us to=eu\nmoved from=eu.store to=eu.cache\n";
    let kdl = yaml("")
        .without_yaml()
        .file("a.stead.kdl", kdl)
        .shared("shop/stead.yaml", SHOP)
        .shared("shop/cache/stead.yaml", CACHE);
    assert_eq!(shown(&kdl), "us > eu\neu.store > eu.cache");
}

#[test]
fn a_moved_entry_in_a_module_applies_to_each_caller() {
    let config = in_module(
        "moved: [{ from: us, to: eu }]",
        "moved: [{ from: crane.old, to: crane.web }, { from: store, to: cache }, { from: crane.many.x, to: crane.many.y }]",
    );
    insta::assert_snapshot!(shown(&config), @"
    fleet.a.crane.old > fleet.a.crane.web, says fleet.a
    fleet.a.store > fleet.a.cache, says fleet.a
    fleet.b.crane.old > fleet.b.crane.web, says fleet.b
    fleet.b.store > fleet.b.cache, says fleet.b
    eu.crane.old > eu.crane.web, says eu
    eu.store > eu.cache, says eu
    us > eu
    ");
    let kept = in_module("", "moved: [{ from: crane.web, to: crane.new }]");
    insta::assert_snapshot!(kept.problems(), @"S0291 4:9 an address still has its block [2:10 fleet.a.crane.web is declared here] [7:3 used here as fleet.a] | The entry moves or removes fleet.a.crane.web, but a block still declares it. | rename the block, or remove this entry");
}

#[test]
fn a_moved_entry_with_a_declared_target_ends_the_chain() {
    let config = uses(
        "moved: [{ from: fleet, to: fleet.a }, { from: fleet.c, to: fleet.b }, { from: crane.x, to: fleet.b.crane.web }]",
    );
    insta::assert_snapshot!(shown(&config), @"
    fleet > fleet.a
    fleet.c > fleet.b
    crane.x > fleet.b.crane.web
    ");
    let config = uses("moved: [{ from: ships, to: ships.a }, { from: ships.a, to: fleet.a }]");
    insta::assert_snapshot!(shown(&config), @"
    ships > ships.a
    ships.a > fleet.a
    ");
    let config = uses("moved: [{ from: us, to: eu }, { from: crane.x, to: us.crane.lost }]");
    insta::assert_snapshot!(config.problems(), @"S0292 9:31 a declaration names an unknown address | No block declares eu.crane.lost. | did you mean `eu.crane.web`? If not, write its block, or remove the entry");
}

#[test]
fn a_removed_entry_of_the_caller_overrides_that_of_the_module() {
    let said = "removed: [{ from: crane.dead, action: forget }, { from: store, action: delete }]";
    let config = in_module("removed: [{ from: eu.crane.dead, action: delete }]", said);
    let removed = config.stack().declarations.removed;
    let shown =
        removed.iter().map(|one| format!("{} {:?} {}", one.from, one.action, one.module).trim().to_owned());
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @"
    fleet.a.crane.dead Forget fleet.a
    fleet.a.store Delete fleet.a
    fleet.b.crane.dead Forget fleet.b
    fleet.b.store Delete fleet.b
    eu.store Delete eu
    eu.crane.dead Delete
    ");
    let config = in_module("", "removed: [{ from: crane.web, action: forget }]");
    insta::assert_snapshot!(config.problems(), @"S0291 4:11 an address still has its block [2:10 fleet.a.crane.web is declared here] [7:3 used here as fleet.a] | The entry moves or removes fleet.a.crane.web, but a block still declares it. | remove the block, or this entry");
}

#[test]
fn every_moved_error_in_a_module_is_reported_once() {
    let cases = [
        "moved: [{ from: eu, to: fleet.a }]",
        "moved: [{ from: fleet, to: eu }]",
        "moved: [{ from: fleet.a, to: fleet.b }]",
        "moved: [{ from: none, to: eu }]",
        "moved: [{ from: us, to: ue }]",
        "moved: [{ from: us, to: eu.cash }]",
        "moved: [{ from: us, to: fleet.c }]",
        "moved: [{ from: us, to: crane.own }]",
        "moved: [{ from: crane.x, to: eu }]",
        "moved: [{ from: us.crane.x, to: eu.yard.x }]",
        "moved: [{ from: us.crane, to: eu }]",
        "moved: [{ from: us, to: us }]",
        "moved: [{ from: $us, to: eu }]",
        "moved: [{ from: us, to: eu.crane.wep }]",
        "moved: [{ from: crane.x, to: eu.crane.wep }]",
        "moved: [{ from: us, to: uk }, { from: uk, to: us }]",
        "moved: [{ from: us, to: uk.one }, { from: uk, to: us }]",
        "moved: [{ from: us, to: eu }, { from: us, to: fleet.a }]",
        "moved: [{ from: us, to: eu }, { from: uk, to: eu }]",
        "removed: [{ from: eu, action: forget }]",
        "removed: [{ from: fleet, action: forget }]",
        "import: [{ to: eu, id: x }]",
    ];
    let table = cases.map(|case| format!("# {case}\n{}", uses(case).problems()));
    insta::assert_snapshot!(table.join("\n"), @"
    # moved: [{ from: eu, to: fleet.a }]
    S0291 9:9 an address still has its block [6:3 eu is used here] | The entry moves or removes eu, but a `use` block still declares it. | rename the block, or remove this entry
    # moved: [{ from: fleet, to: eu }]
    S0291 9:9 an address still has its block [7:3 fleet is used here] | The entry moves or removes fleet, but a `use` block still declares it. | rename the block, or remove this entry
    # moved: [{ from: fleet.a, to: fleet.b }]
    S0291 9:9 an address still has its block [7:3 fleet.a is used here] | The entry moves or removes fleet.a, but a `use` block still declares it. | rename the block, or remove this entry
    # moved: [{ from: none, to: eu }]
    S0291 9:9 an address still has its block | The entry moves or removes none, but a `use` block still declares it. | rename the block, or remove this entry
    # moved: [{ from: us, to: ue }]
    S0292 9:9 a declaration names an unknown address | No `use` block declares ue. | did you mean `eu`? If not, write its block, or remove the entry
    # moved: [{ from: us, to: eu.cash }]
    S0292 9:9 a declaration names an unknown address | No `use` block declares eu.cash. | did you mean `eu.cache`? If not, write its block, or remove the entry
    # moved: [{ from: us, to: fleet.c }]
    S0292 9:9 a declaration names an unknown address | No `use` block declares fleet.c. | did you mean `fleet`? If not, write its block, or remove the entry
    # moved: [{ from: us, to: crane.own }]
    S0290 9:9 a declaration is wrong | us is a module, and crane.own a crane. | an object cannot change its kind: name two addresses of one kind
    # moved: [{ from: crane.x, to: eu }]
    S0290 9:9 a declaration is wrong | crane.x is a crane, and eu a module. | an object cannot change its kind: name two addresses of one kind
    # moved: [{ from: us.crane.x, to: eu.yard.x }]
    S0290 9:9 a declaration is wrong | us.crane.x is a crane, and eu.yard.x a yard. | an object cannot change its kind: name two addresses of one kind
    # moved: [{ from: us.crane, to: eu }]
    S0290 9:17 a declaration is wrong | `us.crane` does not begin with a kind of resource. | an address begins with a kind: `vm.web`
    # moved: [{ from: us, to: us }]
    S0290 9:9 a declaration is wrong | us moves to its own address. | remove the entry
    # moved: [{ from: $us, to: eu }]
    S0290 9:17 a declaration is wrong | It takes an address, not a reference, so it has no `$`. | write `us` | fix: us
    # moved: [{ from: us, to: eu.crane.wep }]
    S0290 9:9 a declaration is wrong | us is a module, and eu.crane.wep a crane. | an object cannot change its kind: name two addresses of one kind
    # moved: [{ from: crane.x, to: eu.crane.wep }]
    S0292 9:9 a declaration names an unknown address | No block declares eu.crane.wep. | did you mean `eu.crane.web`? If not, write its block, or remove the entry
    # moved: [{ from: us, to: uk }, { from: uk, to: us }]
    S0293 9:9 the `moved` entries form a cycle [9:9 us moves to uk] [9:31 uk moves to us] | remove one of the entries; to swap two resources, apply a move to a third address first
    # moved: [{ from: us, to: uk.one }, { from: uk, to: us }]
    S0293 9:9 the `moved` entries form a cycle [9:9 us moves to uk.one] [9:35 uk moves to us] | remove one of the entries; to swap two resources, apply a move to a third address first
    # moved: [{ from: us, to: eu }, { from: us, to: fleet.a }]
    S0294 9:31 two declarations contradict each other [9:31 declared again here] [9:9 declared here first] | us moves to two addresses. | keep one of the two
    # moved: [{ from: us, to: eu }, { from: uk, to: eu }]
    S0294 9:31 two declarations contradict each other [9:31 declared again here] [9:9 declared here first] | Two addresses move to eu. | keep one of the two
    # removed: [{ from: eu, action: forget }]
    S0291 9:11 an address still has its block [6:3 eu is used here] | The entry moves or removes eu, but a `use` block still declares it. | remove the block, or this entry
    # removed: [{ from: fleet, action: forget }]
    S0291 9:11 an address still has its block [7:3 fleet is used here] | The entry moves or removes fleet, but a `use` block still declares it. | remove the block, or this entry
    # import: [{ to: eu, id: x }]
    S0290 9:16 a declaration is wrong | `eu` does not begin with a kind of resource. | an address begins with a kind: `vm.web`
    ");
}

#[test]
fn a_renamed_module_keeps_the_names_of_its_resources() {
    let named = yaml(
        "use: { eu: { source: ../../shop, name: shop_eu }, fleet: { for_each: [a], source: ../../shop, name: \"ship-${each.key}\" }, bare: { source: ../../shop, name: \"\" } }",
    )
    .shared("shop/stead.yaml", "crane: { web: {}, said: { name: \"${module}-x\" } }\nuse: { in: { source: ./cache } }\n")
    .shared("shop/cache/stead.yaml", CACHE);
    insta::assert_snapshot!(named.resolved(), @"
    bare.crane.said name=-x
    bare.crane.web name=web
    bare.in.crane.net name=in-net
    eu.crane.said name=shop_eu-x
    eu.crane.web name=shop_eu-web
    eu.in.crane.net name=shop_eu-in-net
    fleet.a.crane.said name=ship-a-x
    fleet.a.crane.web name=ship-a-web
    fleet.a.in.crane.net name=ship-a-in-net
    ");
    for text in [
        "use: { eu: { source: ../../shop, name: [x] } }",
        "crane: { a: { note: $module }, b: { note: \"${module + 'x'}\" } }",
    ] {
        let config = yaml(text).shared("shop/stead.yaml", CACHE);
        assert!(!config.problems().is_empty(), "{text}");
    }
    insta::assert_snapshot!(yaml("crane: { a: { note: $module }, b: { note: \"${module + 'x'}\" } }").problems(), @"
    S0211 3:21 this name means nothing here | `module` is the prefix of the names of a module's resources, and this is not a module. | write the name itself
    S0211 3:43 this name means nothing here | `module` is the prefix of the names of a module's resources, and this is not a module. | write the name itself
    ");
}

/// Returns the configuration in a directory below the root for shared configuration.
fn below_root(config: Config) -> Config {
    config.shared("shop/stead.yaml", SHOP)
}

#[test]
fn moves_between_stacks_name_the_other_stack_in_both_syntaxes() {
    let shown = |config: &Config| {
        let transfers = config.stack().declarations.transfers;
        let one = transfers.iter().map(|one| {
            format!("{:?} {} > {} {} {}", one.direction, one.from, one.to, one.directory, one.shown)
        });
        one.collect::<Vec<_>>()
    };
    let wanted = [
        "Outgoing crane.gone > crane.x stacks/other ../other",
        "Incoming crane.far > crane.own stacks/other ../other",
    ];
    let text = "crane: { own: {} }
moved: [{ from: crane.gone, to: crane.x, stack: ../other }, { from: crane.far, from_stack: ../other, to: crane.own }]";
    assert_eq!(shown(&below_root(yaml(text))), wanted);
    let text = "crane \"own\"
moved from=crane.gone to=crane.x stack=\"../other\"
moved from=crane.far from_stack=\"../other\" to=crane.own";
    let text = format!("stead 1\nstack \"shop\"\n{text}\n");
    assert_eq!(shown(&below_root(yaml("").without_yaml().file("a.stead.kdl", &text))), wanted);
}

#[test]
fn each_wrong_move_between_stacks_is_reported() {
    for (entry, word) in [
        ("{ from: crane.a, to: crane.b, stack: ../o, from_stack: ../o }", "not both"),
        ("{ from: crane.a, to: crane.b, stack: /abs }", "relative path"),
        ("{ from: crane.a, to: crane.b, stack: $vars.x }", "as a literal"),
        ("{ from: crane.a, to: yard.b, stack: ../o }", "cannot change its kind"),
        ("{ from: crane.own, to: crane.b, stack: ../o }", "still declares"),
        ("{ from: crane.a, to: crane.none, from_stack: ../o }", "No block declares crane.none"),
        (
            "{ from: crane.a, to: crane.b, stack: ../o }, { from: crane.a, to: crane.c, stack: ../p }",
            "moves to two addresses",
        ),
        (
            "{ from: crane.a, to: crane.own, from_stack: ../o }, { from: crane.b, to: crane.own }",
            "Two addresses move to crane.own",
        ),
    ] {
        let text = below_root(yaml(&format!("crane: {{ own: {{}} }}\nmoved: [{entry}]\n"))).problems();
        assert!(text.contains(word), "{entry}: {text}");
    }
    let inside = in_module("", "moved: [{ from: crane.a, to: crane.web, from_stack: ../o }]");
    assert!(inside.problems().contains("A module does not know the stacks"));
}
