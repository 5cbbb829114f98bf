//! Groups of equal changes: what is one entry, what is not, and the size of what is shown.

use proptest::prelude::*;

use super::plans;
use crate::model::schema::Effect;
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, Change, ChangeEffect, Plan};
use crate::report::groups::{PlanEntry, plan_entries};
use crate::report::terminal::{PlanContext, plan_page};
use crate::report::text::style::TextStyle;

fn shown(plan: &Plan, verbose: bool) -> String {
    plan_page(plan, &PlanContext::default(), verbose, TextStyle::plain(110))
}

fn titles(plan: &Plan) -> Vec<String> {
    plan_entries(plan, &|_| String::new()).iter().map(PlanEntry::title).collect()
}

fn in_module(address: &str, kind: &str, name: &str) -> Change {
    Change {
        kind: kind.into(),
        attributes: vec![
            plans::attribute("name", Value::Null, Value::text(name)),
            plans::attribute("size", Value::Null, Value::Integer(1)),
        ],
        ..plans::change(Action::Create, address)
    }
}

/// A plan with a replacement, deletions and creations, as the planner orders them.
pub(super) fn mixed(deletions: usize, creations: usize) -> Plan {
    let mut changes = vec![plans::full().changes.remove(0)];
    changes.extend((0..deletions).map(|number| Change {
        id: Some(format!("id-{number}").into()),
        ..plans::change(Action::Delete, &format!("volume.old.n{number}"))
    }));
    changes.extend(plans::many(creations).changes);
    Plan { changes, ..plans::empty() }
}

#[test]
fn changes_that_differ_only_in_their_key_are_one_entry() {
    let mut plan = mixed(4, 5);
    plan.changes[7].attributes[1].after = Value::text("cpu-8c-16g");
    insta::assert_snapshot!(shown(&plan, false), @"
    shop/prod · config 3f9c2e1
    CHANGES  most dangerous first
      ± vm.web.a                  REPLACE, new one first                                           $0.00    ~4 min
          the API cannot change template in place                                               shop.stead.yaml:20
          template             ubuntu-22.04 → ubuntu-24.04  forces the replacement              shop.stead.yaml:22
          public_ipv4_address  203.0.113.20 → (known once vm.web.a is applied)
          ! its address changes
          affects  volume.media, backup_schedule.nightly.a
      - volume.old (4 instances)  DELETE
          volume.old.n0, volume.old.n1, volume.old.n2 and 1 more
      + vm.web (4 instances)      create                                                         +$96.00    ~2 min
          vm.web.n00000, vm.web.n00001, vm.web.n00003 and 1 more
          plan cpu-4c-8g · template ubuntu-24.04 · user_data (secret) · vpc (known once vpc.main is applied)
      + vm.web.n00002             create                                                         +$24.00    ~2 min
          plan cpu-8c-16g · template ubuntu-24.04 · user_data (secret) · vpc (known once vpc.main is applied)
    PLAN   5 create · 0 update · 1 replace · 4 delete · 41 unchanged                         fingerprint 7f3a-c91e
    ");
    let verbose = shown(&plan, true);
    for change in &plan.changes {
        assert!(verbose.contains(change.address.as_str()), "{verbose}");
    }
}

#[test]
fn a_module_whose_instances_are_equal_is_one_entry() {
    let mut changes = Vec::new();
    for key in ["ap", "eu", "us"] {
        changes.push(in_module(&format!("shop.{key}.database.main"), "database", &format!("shop-{key}")));
        for number in ["1", "2"] {
            let name = format!("shop-{key}-web-{number}");
            changes.push(in_module(&format!("shop.{key}.vm.web.{number}"), "vm", &name));
        }
    }
    changes.push(in_module("shop.xx.database.main", "database", "another"));
    let plan = Plan { changes, ..plans::empty() };
    insta::assert_snapshot!(shown(&plan, false), @"
    shop/prod · config 3f9c2e1
    CHANGES  most dangerous first
      + shop (3 instances)     create 3 resources each
          shop.ap, shop.eu, shop.us; in each:
          + database.main
              name shop-{key} · size 1
          + vm.web (2 instances)
              name shop-{key}-web-{key} · size 1
      + shop.xx.database.main  create
          name another · size 1
    PLAN   10 create · 0 update · 0 replace · 0 delete · 41 unchanged                        fingerprint 7f3a-c91e
    ");
    assert_eq!(titles(&plan), ["shop (3 instances)", "shop.xx.database.main"]);
}

/// Makes the name of a resource from the key of its module and its own.
type MakeName = fn(&str, &str) -> String;

/// The key of a module and that of a resource in it can be equal, and both can be words of the names.
#[test]
fn instances_of_a_module_are_one_entry_whatever_their_keys_are() {
    let plan = |keys: &[&str], numbers: &[&str], name: &dyn Fn(&str, &str) -> String| {
        let one = |key: &str, number: &str| {
            in_module(&format!("shop.{key}.vm.web.{number}"), "vm", &name(key, number))
        };
        let changes = keys.iter().flat_map(|key| numbers.iter().map(|number| one(key, number)));
        Plan { changes: changes.collect(), ..plans::empty() }
    };
    let names: [(MakeName, &str); 5] = [
        (|_, number| format!("x-{number}"), "x-{key}"),
        (|key, _| format!("w-{key}-{key}"), "w-{key}-{key}"),
        (|key, number| format!("w-{key}-{number}-{key}"), "w-{key}-{key}-{key}"),
        (|key, number| format!("{number}-w-10-{key}"), "{key}-w-10-{key}"),
        (|_, _| "w-1-10".to_owned(), "w-1-10"),
    ];
    let keys: [&[&str]; 4] = [&["1", "2"], &["1", "10", "w", "7"], &["a", "w", "b"], &["eu", "us", "ap"]];
    for (name, form) in names {
        for modules in keys {
            for numbers in keys {
                let plan = plan(modules, numbers, &name);
                let about = format!("{form} {modules:?} {numbers:?}");
                assert_eq!(titles(&plan), [format!("shop ({} instances)", modules.len())], "{about}");
                let text = shown(&plan, false);
                assert!(text.contains(&format!("name {form} ·")), "{about}\n{text}");
            }
        }
    }
}

/// Resources in a module whose own keys are made from the module's key.
#[test]
fn addresses_with_the_key_of_their_module_are_one_entry() {
    let plan = |keys: &[&str]| {
        let one = |key: &str, block: &str| {
            let address = format!("shop.{key}.vm.{block}.n-{key}");
            let mut change = in_module(&address, "vm", &format!("{block}-{key}-{key}"));
            change.attributes[1].after = Value::Integer(block.len().try_into().unwrap());
            change
        };
        let changes = keys.iter().flat_map(|key| [one(key, "db"), one(key, "web")]);
        Plan { changes: changes.collect(), ..plans::empty() }
    };
    for keys in [["eu", "us", "ap"], ["eu", "web", "ap"], ["db", "web", "ap"]] {
        assert_eq!(titles(&plan(&keys)), ["shop (3 instances)"], "{keys:?}");
        let text = shown(&plan(&keys), false);
        for block in ["db", "web"] {
            assert!(text.contains(&format!("+ vm.{block}.n-{{key}}")), "{text}");
            assert!(text.contains(&format!("name {block}-{{key}}-{{key}} ·")), "{text}");
        }
    }
}

#[test]
fn dangerous_changes_share_an_entry_only_with_their_like() {
    let effect = |code, text: &str| ChangeEffect { code, text: text.into() };
    let update = |key: &str, effects: Vec<ChangeEffect>| Change {
        attributes: vec![plans::attribute("size", Value::Integer(1), Value::Integer(2))],
        effects,
        ..plans::change(Action::Update, &format!("vm.web.{key}"))
    };
    let restarts = || vec![effect(Effect::Restart, "it restarts")];
    let changes = vec![
        plans::change(Action::Delete, "vm.web.a"),
        plans::change(Action::Delete, "vm.web.b"),
        update("c", restarts()),
        update("d", restarts()),
        update("e", Vec::new()),
        update("f", Vec::new()),
    ];
    let mut plan = Plan { changes, ..plans::empty() };
    assert_eq!(titles(&plan), ["vm.web (2 instances)"; 3]);
    // A blocker of one of them is a reason to look at it.
    let mut block = plans::full().blocks.remove(0);
    block.address = Some(plans::address("vm.web.b"));
    plan.blocks.push(block);
    assert_eq!(titles(&plan)[..2], ["vm.web.a", "vm.web.b"]);
}

#[test]
fn ten_thousand_changes_fit_a_screen_or_two() {
    let text = shown(&plans::many(10_000), false);
    assert!(text.lines().count() <= 200, "{}", text.lines().count());
    assert!(text.contains("vm.web (10000 instances)"), "{text}");
    let text = shown(&mixed(123, 10_000), false);
    let first_screen: String = text.lines().take(24).collect::<Vec<_>>().join("\n");
    assert!(text.lines().count() <= 200, "{text}");
    assert!(
        first_screen.contains("vm.web.a") && first_screen.contains("volume.old (123 instances)"),
        "{text}"
    );
    // Creations that are like no other are counted beyond some, and the verbose output has them.
    let distinct = plans::distinct(10_000);
    let text = shown(&distinct, false);
    assert!(
        text.lines().count() <= 200 && text.contains("9940 creations more"),
        "{}",
        text.lines().count()
    );
    assert!(shown(&distinct, true).contains("vm.web.n09999"));
}

proptest! {
    #[test]
    fn each_change_is_in_one_entry(picks in prop::collection::vec((0usize..4, 0usize..3, 0usize..3, 0u8..3), 0..60)) {
        let mut changes: Vec<Change> = Vec::new();
        for (module, name, key, size) in picks {
            let module = ["", "shop.eu.", "shop.us.", "shop_ap."][module];
            let address = format!("{module}vm.{}.{}", ["web", "db", "job"][name], ["a", "b", "web"][key]);
            if changes.iter().all(|change| change.address.as_str() != address) {
                let mut change = in_module(&address, "vm", &address.replace('.', "-"));
                change.attributes[1].after = Value::Integer(size.into());
                changes.push(change);
            }
        }
        let plan = Plan { changes, ..plans::empty() };
        let mut seen: Vec<&str> = Vec::new();
        let entries = plan_entries(&plan, &|_| String::new());
        for entry in &entries {
            let members = entry.members();
            prop_assert_eq!(members.len(), entry.resource_count());
            for change in members.iter().filter(|_| matches!(entry, PlanEntry::Group(_))) {
                // What is equal in a group but for the key is equal here.
                prop_assert_eq!(&change.attributes[1].after, &members[0].attributes[1].after);
            }
            seen.extend(members.iter().map(|change| change.address.as_str()));
        }
        seen.sort_unstable();
        let mut all: Vec<&str> = plan.changes.iter().map(|change| change.address.as_str()).collect();
        all.sort_unstable();
        prop_assert_eq!(seen, all);
    }
}
