//! Renamed modules: by `mv`, by hand, and by a module's own `moved` entries.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use std::fs;

use crate::case::Case;

const SITE: &str = "\
vars: { cidr: { type: cidr } }
vpc: { main: { cidr: $vars.cidr } }
vm:
  web: # serves
    template: ubuntu-24.04
    plan: std-1c-1g
    vpc: $vpc.main
use: { disk: { source: ../disk } }
outputs: { ip: $vm.web.public_ipv4_address, url: \"http://${vm.web.public_ipv4_address}\" }
";
const DISK: &str = "volume: { data: { size: 20 } }\n";
const SHOP: &str = "\
stead: 1
stack: shop
environments: { live: { set: { shop_eu.vm.web.plan: std-2c-4g, use.shop_eu.with.cidr: 10.9.0.0/16 } }, dev: { default: true } }
# where it is sold
use:
  shop_eu: { source: ../modules/site, with: { cidr: 10.1.0.0/16 } } # Europe
  fleet: { for_each: [a, b], source: ../modules/site, with: { cidr: \"${each.key == 'a' ? '10.2.0.0/16' : '10.3.0.0/16'}\" } }
outputs: { eu: \"at ${use.shop_eu.url}\" }
";
const SHOP_KDL: &str = "\
stead 1
stack shop
environments { live { set \"shop_eu.vm.web.plan\"=std-2c-4g; }; dev default=#true; }
// where it is sold
use shop_eu source=\"../modules/site\" {
  with cidr=\"10.1.0.0/16\"
}
use fleet source=\"../modules/site\" {
  for_each a b
  with cidr=\"${each.key == 'a' ? '10.2.0.0/16' : '10.3.0.0/16'}\"
}
outputs { eu \"at ${use.shop_eu.url}\"; }
";

fn applied(name: &str, text: &str) -> Case {
    let case = Case::new()
        .emulator()
        .file(".git", "")
        .file("modules/site/stead.yaml", SITE)
        .file("modules/disk/stead.yaml", DISK)
        .file(&format!("shop/{name}"), text);
    case.ok("apply -C shop --yes");
    case
}

fn read(case: &Case, name: &str) -> String {
    fs::read_to_string(case.path(name)).unwrap()
}

/// Applies changes of addresses and checks that no mutating request is sent.
fn only_moves(case: &Case, stack: &str) {
    let before = case.cloud().last();
    case.ok(&format!("apply -C {stack} --yes"));
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "only the ledger moves");
    case.ok(&format!("plan -C {stack} --exit-code")).says(&["No changes"]);
}

#[test]
fn a_renamed_module_keeps_the_objects_of_its_resources() {
    for (file, text, moved, named) in [
        (
            "stead.yaml",
            SHOP,
            "moved:\n  - from: shop_eu\n    to: shop_europe\n",
            "name: shop_eu } # Europe",
        ),
        ("stead.kdl", SHOP_KDL, "moved from=shop_eu to=shop_europe\n", "name shop_eu\n"),
    ] {
        let case = applied(file, text);
        case.fails(64, "mv -C shop shop_ue shop_europe --yes").says(&["did you mean shop_eu?"]);
        case.fails(64, "mv -C shop shop_eu fleet --yes").says(&["fleet.a is declared already"]);
        case.fails(64, "mv -C shop shop_eu fleet.c --yes").says(&["has another parent", "by hand"]);
        case.fails(64, "mv -C shop fleet.a fleet.c --yes")
            .says(&["one instance of the module fleet", "for_each"]);
        case.ok("mv -C shop shop_eu shop_europe --yes")
            .says(&["shop_europe.vm.web.plan", "use.shop_europe.url"]);
        let written = read(&case, &format!("shop/{file}"));
        assert!(written.contains(moved) && written.contains(named), "{written}");
        assert!(written.contains("where it is sold"), "{written}");
        let plan = case.ok("plan -C shop");
        plan.says(&["shop_europe", "move of 3 resources", "was shop_eu", "move"]);
        let (changes, _) = plan.stdout.split_once("POLICY").unwrap();
        assert!(!changes.contains("shop_europe.vm.web"), "{changes}");
        case.ok("plan -C shop -v").says(&["was shop_eu.disk.volume.data", "shop_europe.vm.web"]);
        let json = case.ok("plan -C shop --output json").json();
        let was: Vec<&str> = json["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|change| change["was"].as_str().unwrap())
            .collect();
        assert_eq!(was, ["shop_eu.disk.volume.data", "shop_eu.vm.web", "shop_eu.vpc.main"]);
        only_moves(&case, "shop");
        case.ok("fmt -C shop --prune").says(&["move of shop_eu to shop_europe"]);
        assert!(!read(&case, &format!("shop/{file}")).contains("moved"));
        case.ok("mv -C shop fleet ships --yes").says(&["fleet-${each.key}"]);
        case.ok("plan -C shop").says(&["move of 6 resources", "was fleet"]);
        only_moves(&case, "shop");
    }
}

#[test]
fn a_moved_entry_in_a_module_applies_to_every_caller() {
    let case = applied("stead.yaml", SHOP);
    case.write(
        "other/stead.yaml",
        "stead: 1\nstack: other\nuse: { one: { source: ../modules/site, with: { cidr: 10.7.0.0/16 } } }\n",
    );
    case.ok("apply -C other --yes");
    case.ok("mv -C shop shop_eu.vm.web shop_eu.vm.front --yes")
        .says(&["modules/site/stead.yaml", "${module}-web"]);
    let site = read(&case, "modules/site/stead.yaml");
    assert!(site.contains("$vm.front.public") && site.contains("from: vm.web\n    to: vm.front"), "{site}");
    assert!(read(&case, "shop/stead.yaml").contains("shop_eu.vm.front.plan"));
    case.ok("mv -C shop fleet.a.disk fleet.a.store --yes")
        .says(&["store: { source: ../disk, name: disk }"]);
    case.fails(64, "mv -C shop fleet.a.disk fleet.a.vault --yes").says(&["no resource fleet.a.disk"]);
    case.ok("plan -C shop").says(&["fleet.a, fleet.b; in each:", "vm.front", "was fleet.{key}.vm.web"]);
    case.ok("plan -C other").says(&["one.vm.front", "was one.vm.web"]);
    only_moves(&case, "shop");
    only_moves(&case, "other");
    // It stays for whoever has not applied it yet.
    case.ok("fmt -C shop --prune");
    assert!(read(&case, "modules/site/stead.yaml").contains("vm.front"));
}

#[test]
fn resources_move_into_and_out_of_modules() {
    let case = applied("stead.yaml", SHOP);
    case.edit("modules/site/stead.yaml", "use: { disk: { source: ../disk } }\n", "");
    case.edit(
        "shop/stead.yaml",
        "outputs:",
        "volume: { eu: { size: 20, name: shop_eu-disk-data } }\nmoved: [{ from: shop_eu.disk.volume.data, to: volume.eu }]\nremoved: [{ from: fleet.a.disk, action: forget }, { from: fleet.b.disk.volume.data, action: forget }]\noutputs:",
    );
    case.ok("plan -C shop").says(&[
        "volume.eu",
        "was shop_eu.disk.volume.data",
        "0 delete",
        "1 move",
        "2 forget",
    ]);
    only_moves(&case, "shop");
    case.write("modules/disk/stead.yaml", "volume: { data: { size: 20, name: shop_eu-disk-data } }\n");
    case.edit("shop/stead.yaml", "volume: { eu: { size: 20, name: shop_eu-disk-data } }\n", "");
    case.edit(
        "shop/stead.yaml",
        "shop_eu.disk.volume.data, to: volume.eu",
        "volume.eu, to: disk.volume.data",
    );
    case.edit("shop/stead.yaml", "use:\n", "use:\n  disk: { source: ../modules/disk }\n");
    case.ok("plan -C shop").says(&["disk.volume.data", "was volume.eu"]);
    only_moves(&case, "shop");
}

#[test]
fn a_module_renamed_by_hand_is_reported_once() {
    let case = applied("stead.yaml", SHOP);
    case.edit("shop/stead.yaml", "  shop_eu: {", "  shop_europe: {");
    case.edit(
        "shop/stead.yaml",
        "{ shop_eu.vm.web.plan: std-2c-4g, use.shop_eu.with.cidr: 10.9.0.0/16 }",
        "{}",
    );
    case.edit("shop/stead.yaml", "use.shop_eu.url", "use.shop_europe.url");
    let plan = case.run("plan -C shop");
    plan.says(&[
        "the deletion of all of shop_eu and the creation of shop_europe look like a rename",
        "`moved: [{ from: shop_eu, to: shop_europe }]`",
        "`name: shop_eu`",
    ]);
    assert_eq!(plan.all().matches("look like a rename").count(), 1, "{}", plan.all());
    case.edit("shop/stead.yaml", "outputs:", "moved: [{ from: shop_eu, to: shop_europe }]\noutputs:");
    case.edit("shop/stead.yaml", "  shop_europe: {", "  shop_europe: { name: shop_eu,");
    only_moves(&case, "shop");
    case.edit("shop/stead.yaml", "from: shop_eu, to: shop_europe", "from: shop_europe, to: fleet.a");
    case.fails(1, "plan -C shop").says(&["S0291", "a `use` block still declares it"]);
}

#[test]
fn a_move_or_removal_that_affects_other_files_is_rejected() {
    let case = Case::new()
        .file("m/stead.yaml", "volume: { x: { size: 10 }, many: { for_each: [a, b], size: 10 } }\n")
        .file("s/stead.yaml", "stead: 1\nstack: s\nuse: { m: { source: ../m } }\n")
        .file("inc/i.stead.yaml", "use: { \"n\": { source: ../m } }\n");
    case.fails(64, "mv -C s --allow-outside m.volume.x m.volume.y --yes")
        .says(&["m.volume.x is declared in m/stead.yaml", "by hand"]);
    case.fails(64, "rm -C s --allow-outside m.volume.x --keep --yes").says(&["`removed` entry beside it"]);
    case.write(".git", "");
    case.fails(64, "mv -C s m.volume.many.a m.volume.many.c --yes").says(&[
        "one instance of a block in the module m",
        "`moved: [{ from: volume.many.a, to: volume.many.c }]` beside it",
    ]);
    case.fails(64, "rm -C s m.volume.many.a --keep --yes").says(&[
        "one instance of a block in the module m",
        "`removed: [{ from: volume.many.a, action: forget }]`",
    ]);
    case.fails(64, "mv -C s m vm --yes").says(&["`vm` has another meaning"]);
    case.fails(64, "mv -C s m.volume.x volume.x --yes")
        .says(&["has another parent", "from: m.volume.x, to: volume.x"]);
    case.fails(64, "mv -C s m.volume.x m.volume.many --yes").says(&["m.volume.many.a is declared already"]);
    let before = read(&case, "m/stead.yaml");
    case.write("s/stead.yaml", "stead: 1\nstack: s\ninclude: [../inc/i.stead.yaml]\n");
    case.fails(64, "mv -C s n k --yes").says(&["n is declared in inc", "by hand"]);
    assert_eq!(read(&case, "m/stead.yaml"), before);
}

#[test]
fn modules_and_resources_in_them_are_removed() {
    for (file, text) in [("stead.yaml", SHOP), ("stead.kdl", SHOP_KDL)] {
        let case = applied(file, text);
        let (site, shop) = ("modules/site/stead.yaml", format!("shop/{file}"));
        case.fails(1, "rm -C shop fleet.a.vpc.main --keep --yes")
            .says(&["still references to it", "fleet.a.vm.web"]);
        case.fails(1, "rm -C shop shop_eu --keep --yes").says(&["shop_eu is not removed", "outputs.eu"]);
        case.fails(64, "rm -C shop fleet.a --keep --yes")
            .says(&["one instance of the module fleet", "fleet.a"]);
        assert_eq!((read(&case, site), read(&case, &shop)), (SITE.to_owned(), text.to_owned()));
        // A module in a module goes for everyone who uses that one.
        case.ok("rm -C shop fleet.a.disk --keep --yes").says(&[site]);
        assert!(
            read(&case, site).contains("removed:\n  - from: disk\n    action: forget"),
            "{}",
            read(&case, site)
        );
        assert!(read(&case, site).contains("web: # serves"), "{}", read(&case, site));
        case.ok("plan -C shop").says(&["fleet.a.disk.volume.data", "shop_eu.disk.volume.data", "3 forget"]);
        case.ok("apply -C shop --yes");
        case.ok("apply -C shop --yes").says(&["No changes"]);
        case.ok("rm -C shop fleet --delete --yes").says(&[&shop]);
        case.ok("plan -C shop --allow-deletes").says(&["fleet.b.vm.web", "4 delete"]);
        case.ok("apply -C shop --yes --allow-deletes");
        case.ok("apply -C shop --yes").says(&["No changes"]);
        // What the module says stays, for whoever has not applied it yet.
        case.ok("fmt -C shop --prune").says(&["removal of fleet"]);
        assert!(!read(&case, &shop).contains("removed") && read(&case, site).contains("removed"));
    }
}

#[test]
fn a_rename_keeps_object_names_in_every_environment() {
    let module = "volume:\n  w: { size: 10, name: fixed }\n  v: { size: 10, when: \"${env == 'prod'}\" }\n";
    let stack = "stead: 1\nstack: s\nenvironments: { staging: { default: true, set: { us.volume.u.name: said } }, prod: {} }\nuse:\n  eu: { source: ../m }\n  us: { source: ../n }\n  gb: { source: ../m, name: eu }\n";
    let case = Case::new()
        .emulator()
        .file(".git", "")
        .file("m/stead.yaml", module)
        .file("n/stead.yaml", "volume: { u: { size: 10, name: \"${module}-u\" } }\n")
        .file("s/stead.yaml", stack.replace("  gb: { source: ../m, name: eu }\n", ""));
    case.ok("apply -C s -e prod --yes");
    case.ok("mv -C s eu europe --yes").says(&["europe: { source: ../m, name: eu }"]);
    case.ok("mv -C s us america --yes").says(&["america: { source: ../n, name: us }"]);
    case.ok("plan -C s -e prod").says(&["0 replace", "3 move", "0 unchanged"]);
    // What has a name keeps it.
    case.write("s/stead.yaml", stack);
    case.ok("mv -C s gb britain --yes").says(&["britain: { source: ../m, name: eu }"]);
}
