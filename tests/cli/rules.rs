//! The eighteen rules of the language, each with its own test through the binary; in both syntaxes where a rule
//! concerns both.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use std::fs;

use serde_json::{Value, json};

use crate::case::Case;

/// Runs a test on a stack in YAML, and again on the same stack in KDL.
fn in_both(yaml: &str, test: impl Fn(&Case, &str)) {
    in_both_of(Case::new, yaml, test);
}

fn in_both_of(case: impl Fn() -> Case, yaml: &str, test: impl Fn(&Case, &str)) {
    let text = format!("stead: 1\nstack: rules\n{yaml}");
    test(&case().file("stead.yaml", &text), "yaml");
    let other = case().file("from.yaml", &text);
    other.ok("convert from.yaml --to kdl -o stead.kdl");
    test(&other, "kdl");
}

/// Returns the values of a resolved stack by path.
fn rendered(case: &Case, flags: &str) -> Value {
    let document = case.ok(&format!("render --output json {flags}")).json();
    let values = document["values"].as_array().unwrap().iter();
    values.map(|value| (value["path"].as_str().unwrap().to_owned(), value["value"].clone())).collect()
}

/// Returns the codes of a stack's problems, in the order of their locations.
fn codes(case: &Case) -> Vec<String> {
    let document = case.run("validate --output json").json();
    let problems = document["diagnostics"].as_array().unwrap().iter();
    problems.map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
}

const VM: &str = "template: ubuntu-24.04, plan: std-1c-1g";

#[test]
fn rule_01_an_attribute_has_the_same_path_everywhere() {
    in_both(&format!("vm: {{ web: {{ for_each: [a, b], {VM} }} }}\n"), |case, syntax| {
        let values = rendered(case, "");
        assert_eq!(values["vm.web.a.name"], "web-a", "{syntax}");
        case.ok("apply --yes --cloud local").says(&["vm.web.a", "vm.web.b"]);
        case.ok("get vm.web.b --cloud local").says(&["web-b"]);
        case.ok("plan --target vm.web.a --cloud local").says(&["No changes"]);
    });
}

#[test]
fn rule_02_children_are_declared_inside_their_parent() {
    let stack = "database: { main: { engine: postgres, plan: pg-1c-2g, users: { one: {} } } }\n";
    in_both_of(
        || Case::new().emulator(),
        stack,
        |case, syntax| {
            case.ok("apply --yes").says(&["database.main.users.one"]);
            let file = format!("stead.{syntax}");
            let text = fs::read_to_string(case.path(&file)).unwrap();
            let more = if syntax == "yaml" {
                text.replace("one: {}", "one: {}, two: {}")
            } else {
                text.replace("one", "one; two")
            };
            assert_ne!(text, more, "{text}");
            case.write(&file, more);
            let plan = case.ok("plan --output json").json();
            let changes = plan["changes"].as_array().unwrap();
            assert_eq!(changes.len(), 1, "the parent is not touched: {plan}");
            assert_eq!(changes[0]["address"], "database.main.users.two");
        },
    );
}

#[test]
fn rule_03_references_keep_their_type_and_cel_computes_the_rest() {
    let stack = "vars: { n: { type: int, default: 2 }, set: { type: set(string), default: [b, a] } }
locals: { map: { one: 1 }, name: \"n-${vars.n}\", price: $$5 }
outputs: { n: $vars.n, sum: \"${vars.n + 1}\", name: $locals.name, price: $locals.price, one: $locals.map.one,
  got: \"${get(locals.map, 'two', 7)}\", keys: \"${keys(locals.map)}\", joined: \"${join(vars.set, '+')}\", net: \"${cidr_subnet('10.0.0.0/16', 8, 1)}\" }
";
    in_both(stack, |case, syntax| {
        let values = rendered(case, "");
        for (path, wanted) in [
            ("n", json!(2)),
            ("sum", json!(3)),
            ("name", json!("n-2")),
            ("price", json!("$5")),
            ("one", json!(1)),
            ("got", json!(7)),
            ("keys", json!(["one"])),
            ("joined", json!("a+b")),
            ("net", json!("10.0.1.0/24")),
        ] {
            assert_eq!(values[format!("outputs.{path}")], wanted, "{syntax} {path}: {values}");
        }
    });
}

#[test]
fn rule_04_references_are_checked_offline() {
    for (stack, code, help) in [
        (
            format!("vpc: {{ main: {{ cidr: 10.0.0.0/16 }} }}\nvm: {{ w: {{ {VM}, vpc: $vpc.mian }} }}\n"),
            "S0201",
            "did you mean `$vpc.main`?",
        ),
        (
            format!("volume: {{ v: {{ size: 9 }} }}\nvm: {{ w: {{ {VM}, vpc: $volume.v }} }}\n"),
            "S0203",
            "volume.v is a volume",
        ),
        (format!("vm: {{ w: {{ {VM} }} }}\noutputs: {{ o: $vm.w.adress }}\n"), "S0202", "no `adress`"),
        (
            "volume: { v: { size: 9, depends_on: [volume.w] }, w: { size: 9, depends_on: [volume.v] } }\n"
                .to_owned(),
            "S0206",
            "volume.w depends on volume.v",
        ),
        (
            format!(
                "vm: {{ w: {{ {VM} }} }}\nvolume: {{ v: {{ size: 9, when: \"${{vm.w.status == 'x'}}\" }} }}\n"
            ),
            "S0208",
            "evaluated while the configuration is loaded",
        ),
    ] {
        in_both(&stack, |case, syntax| {
            assert_eq!(codes(case), [code], "{syntax} {stack}");
            case.fails(1, "validate").says(&[help]);
        });
    }
}

#[test]
fn rule_05_a_value_known_after_apply_can_be_used() {
    let stack = format!(
        "vm: {{ w: {{ {VM} }} }}\noutputs: {{ url: \"http://${{vm.w.public_ipv4_address}}\" }}\nvolume: {{ v: {{ size: 9, vm: $vm.w }} }}\n"
    );
    in_both(&stack, |case, syntax| {
        let plan = case.ok("plan --cloud local --output json").json();
        let changes = plan["changes"].as_array().unwrap();
        let volume = changes.iter().find(|change| change["address"] == "volume.v").unwrap();
        let attributes = volume["attributes"].as_array().unwrap();
        let vm = attributes.iter().find(|attribute| attribute["path"] == "vm").unwrap();
        assert_eq!(vm["unknown"], json!(["vm.w"]), "{syntax} {vm}");
        case.ok("plan --cloud local").says(&["known once vm.w is applied"]);
        case.ok("apply --cloud local --yes").says(&["http://198."]);
    });
}

#[test]
fn rule_06_environments_only_set_variables_and_exact_paths() {
    let stack = "vars: { size: { type: int, default: 10 } }
environments: { dev: { default: true }, prod: { vars: { size: 20 }, set: { volume.b.size: 30 } } }
volume: { a: { size: $vars.size }, b: { size: $vars.size } }
";
    in_both(stack, |case, syntax| {
        let sizes = |flags: &str| {
            let values = rendered(case, flags);
            (values["volume.a.size"].clone(), values["volume.b.size"].clone())
        };
        assert_eq!(sizes(""), (json!(10), json!(10)), "{syntax}");
        assert_eq!(sizes("-e prod"), (json!(20), json!(30)), "{syntax}");
        case.ok("render -e prod --why volume.b.size").says(&["environments.prod.set"]);
        let print = |flags: &str| case.ok(&format!("plan --cloud local --output json {flags}")).json();
        let (dev, prod) = (print(""), print("-e prod"));
        assert_eq!((&dev["env"], &prod["env"]), (&json!("dev"), &json!("prod")));
        assert_ne!(dev["fingerprint"], prod["fingerprint"]);
        case.fails(1, "validate -e prdo").says(&["did you mean `prod`?"]);
    });
    in_both(
        "environments: { e: { set: { volume.b.siz: 30 } } }\nvolume: { b: { size: 1 } }\n",
        |case, _| {
            assert_eq!(codes(case), ["S0318"]);
        },
    );
}

#[test]
fn rule_07_for_each_has_stable_keys_and_when_is_zero_or_one() {
    let stack = "vars: { on: { type: bool, default: false }, keys: { type: set(string), default: [b, a] } }
volume: { v: { for_each: $vars.keys, size: 9, name: \"x-${each.key}\" }, w: { for_each: { k: 5, l: 6 }, size: $each.value }, z: { when: \"${vars.on}\", size: 7 } }
";
    in_both(stack, |case, syntax| {
        let values = rendered(case, "");
        assert_eq!(values["volume.v.a.name"], "x-a", "{syntax}");
        assert_eq!((&values["volume.w.k.size"], &values["volume.w.l.size"]), (&json!(5), &json!(6)));
        assert_eq!(values.get("volume.z.size"), None);
        assert_eq!(rendered(case, "--var on=true")["volume.z.size"], 7);
    });
    in_both("volume: { v: { count: 2, size: 9 } }\n", |case, _| {
        assert_eq!(codes(case), ["S0220"]);
        case.fails(1, "validate").says(&["for_each"]);
    });
    in_both("volume: { v: { for_each: [A b], size: 9 } }\n", |case, _| assert_eq!(codes(case), ["S0261"]));
}

#[test]
fn rule_08_only_declared_attributes_are_managed() {
    let stack = "app: { web: { type: web, image: nginx, port: 8080, env_vars: { A: one } } }\n";
    in_both_of(
        || Case::new().emulator(),
        stack,
        |case, syntax| {
            case.ok("apply --yes");
            let cloud = case.cloud();
            let id = cloud.list("/api/v1/apps/services")[0]["id"].as_str().unwrap().to_owned();
            cloud.mutate(
                "app",
                &id,
                &json!({"description": "by hand", "env_vars": {"A": "one", "B": "two"}}),
            );
            case.ok("plan").says(&["No changes"]);
            case.ok("drift").says(&["no drift"]);
            let file = format!("stead.{syntax}");
            let (from, to) = if syntax == "yaml" {
                ("port: 8080", "port: 8080, description: null")
            } else {
                ("port=8080", "port=8080 description=#null")
            };
            case.edit(&file, from, to);
            case.ok("plan").says(&["app.web", "description", "by hand"]);
            case.ok("apply --yes");
            case.ok("plan").says(&["No changes"]);
        },
    );
}

#[test]
fn rule_09_the_schema_types_the_source_text() {
    let yaml = Case::new().file("stead.yaml", "stead: 1\nstack: rules\nx: &x { size: 016 }\nvolume: { v: { size: 9, name: 13:30 } }\ndatabase: { d: { engine: postgres, plan: pg-1c-2g, engine_version: 9.10, name: no } }\n");
    let problems = codes(&yaml);
    assert_eq!(problems, ["S0230"], "an anchor needs a block that is one");
    yaml.edit("stead.yaml", "x: &x { size: 016 }\n", "");
    let values = rendered(&yaml, "");
    assert_eq!(values["database.d.engine_version"], "9.10");
    assert_eq!((&values["database.d.name"], &values["volume.v.name"]), (&json!("no"), &json!("13:30")));
    let kdl = Case::new().file("stead.kdl", "stead 1\nstack rules\nvolume v size=9 name=\"13:30\"\ndatabase d engine=postgres plan=pg-1c-2g engine_version=9.10 name=no\n");
    assert_eq!(rendered(&kdl, ""), values, "both syntaxes say the same");
    for (yaml, kdl, code) in [
        ("volume: { v: { size: nine } }", "volume v size=nine", "S0222"),
        ("volume: { v: { siez: 9, size: 9 } }", "volume v siez=9 size=9", "S0220"),
        ("volume: { v: { size: 9, size: 10 } }", "volume v size=9 { size 10 }", "S0106"),
    ] {
        for (file, head, text) in
            [("stead.yaml", "stead: 1\nstack: r\n", yaml), ("stead.kdl", "stead 1\nstack r\n", kdl)]
        {
            let case = Case::new().file(file, format!("{head}{text}\n"));
            let found = codes(&case);
            assert!(found.len() == 1 && (found[0] == code || code == "S0106"), "{text}: {found:?}");
        }
    }
    let anchors = Case::new().file(
        "stead.yaml",
        "stead: 1\nstack: r\nvolume: { a: &a { size: 9 }, b: { <<: *a, name: bee }, c: *a }\n",
    );
    let values = rendered(&anchors, "");
    assert_eq!((&values["volume.b.size"], &values["volume.c.size"]), (&json!(9), &json!(9)));
}

#[test]
fn rule_10_secrets_are_a_type() {
    let stack = format!(
        "vars: {{ key: {{ type: secret }} }}
locals: {{ url: \"https://u:${{vars.key}}@h\" }}
app: {{ web: {{ type: web, image: nginx, port: 8080, env_vars: {{ URL: $locals.url }} }} }}
vm: {{ w: {{ {VM} }} }}
outputs: {{ key: $locals.url }}
"
    );
    in_both(&stack, |case, syntax| {
        let run = |args: &str| {
            let mut command = case.command(args);
            let output = command.env("STEAD_VAR_KEY", "canary-rule-10").output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
        };
        for args in [
            "plan --cloud local",
            "plan --cloud local --output json -v",
            "apply --yes --cloud local",
            "render",
            "eval $locals.url",
            "get app.web --cloud local",
        ] {
            let told = run(args);
            assert!(!told.contains("canary"), "{syntax} {args}: {told}");
        }
        let ledger = all_below(&case.path(".stead/local"));
        assert!(ledger.contains("app.web") && !ledger.contains("canary"), "{syntax}");
        case.fails(1, "validate").says(&["STEAD_VAR_KEY"]);
    });
    in_both(
        "database: { d: { engine: postgres, plan: pg-1c-2g, users: { u: { deliver_secret: { file: ../x } } } } }\n",
        |case, _| {
            assert_eq!(codes(case), ["S0273"], "a sink is confined to the stack");
        },
    );
}

fn all_below(path: &std::path::Path) -> String {
    let Ok(entries) = fs::read_dir(path) else {
        return fs::read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
    };
    entries.map(|entry| all_below(&entry.unwrap().path())).collect()
}

#[test]
fn rule_11_lifecycle_attributes_control_deletion_and_replacement() {
    let stack = "volume: { kept: { size: 9, lifecycle: { on_remove: keep } }, held: { size: 9, name: one, lifecycle: { protect: true, ignore_drift: [name], timeouts: { create: 5m } }, depends_on: [volume.kept] } }\n";
    in_both_of(
        || Case::new().emulator(),
        stack,
        |case, syntax| {
            case.ok("apply --yes");
            let id =
                case.cloud().list("/api/v1/volumes").iter().find(|v| v["name"] == "one").unwrap()["id"]
                    .as_str()
                    .unwrap()
                    .to_owned();
            case.cloud().mutate("volume", &id, &json!({"name": "two"}));
            case.ok("plan").says(&["left alone"]);
            let file = format!("stead.{syntax}");
            let head = if syntax == "yaml" { "stead: 1\nstack: rules\n" } else { "stead 1\nstack rules\n" };
            case.write(&file, head);
            let plan = case.fails(4, "plan");
            plan.says(&["volume.held", "protect"]).says(&["volume.kept"]);
            case.fails(4, "destroy --yes --confirm rules");
            assert_eq!(case.cloud().list("/api/v1/volumes").len(), 2, "{syntax}");
        },
    );
}

#[test]
fn rule_12_moved_import_and_removed_are_declarations() {
    let before = "volume: { old: { size: 9, name: v }, gone: { size: 9 } }\n";
    in_both_of(
        || Case::new().emulator(),
        before,
        |case, syntax| {
            case.ok("apply --yes");
            let made = json!({"name": "foreign", "size": 9});
            let other = Case::new()
                .file("stead.yaml", "stead: 1\nstack: other\nvolume: { foreign: { size: 9 } }\n");
            let mut command = other.command("apply --yes");
            command.env("STEAD_API_URL", &case.cloud().url).env("STEAD_API_KEY", &case.cloud().key);
            assert!(command.output().unwrap().status.success(), "{made}");
            let id = case.cloud().list("/api/v1/volumes").iter().find(|v| v["name"] == "foreign").unwrap()
                ["id"]
                .as_str()
                .unwrap()
                .to_owned();
            let after = if syntax == "yaml" {
                format!(
                    "stead: 1\nstack: rules\nvolume: {{ new: {{ size: 9, name: v }}, foreign: {{ size: 9 }} }}\nmoved: [{{ from: volume.old, to: volume.new }}]\nimport: [{{ to: volume.foreign, id: {id} }}]\nremoved: [{{ from: volume.gone, action: forget }}]\n"
                )
            } else {
                format!(
                    "stead 1\nstack rules\nvolume new size=9 name=v\nvolume foreign size=9\nmoved from=volume.old to=volume.new\nimport to=volume.foreign id=\"{id}\"\nremoved from=volume.gone action=forget\n"
                )
            };
            case.write(&format!("stead.{syntax}"), after);
            let sent = case.cloud().last();
            let summary = case.ok("plan --output json").json()["summary"].clone();
            assert_eq!(
                (&summary["move"], &summary["adopt"], &summary["forget"]),
                (&json!(1), &json!(1), &json!(1)),
                "{summary}"
            );
            case.ok("apply --yes");
            assert_eq!(case.cloud().mutations_since(sent), Vec::<String>::new());
            case.ok("plan -v").says(&["No changes", "has nothing left to do"]);
            case.ok("fmt --prune").says(&["obsolete: removed"]);
        },
    );
}

#[test]
fn rule_13_include_and_use_make_configuration_reusable() {
    let stack = "include: [../shared/net.stead.yaml]\nuse: { eu: { source: ../modules/site, with: { size: 9 } } }\noutputs: { name: $use.eu.name }\n";
    let around = || {
        Case::new().file(".git", "").file("shared/net.stead.yaml", "locals: { word: shared }\n").file(
            "modules/site/stead.kdl",
            "vars { size type=int }\nvolume v size=$vars.size\noutputs name=$volume.v.name\n",
        )
    };
    let text = format!("stead: 1\nstack: rules\n{stack}");
    for syntax in ["yaml", "kdl"] {
        let case = around().file("from.yaml", &text);
        if syntax == "yaml" {
            case.write("shop/stead.yaml", &text);
        } else {
            fs::create_dir_all(case.path("shop")).unwrap();
            case.ok("convert from.yaml --to kdl -o shop/stead.kdl");
        }
        let values = rendered(&case, "-C shop");
        assert_eq!((&values["eu.volume.v.size"], &values["eu.volume.v.name"]), (&json!(9), &json!("eu-v")));
        case.ok("eval $locals.word -C shop").says(&["shared"]);
        case.edit("modules/site/stead.kdl", "size=$vars.size", "size=nine");
        case.fails(1, "validate -C shop").says(&["modules/site/stead.kdl:2", "used here as eu"]);
    }
}

const NETWORK: &str = "stead: 1\nstack: net\nvpc: { main: { cidr: 10.30.0.0/16 } }\noutputs: { id: $vpc.main, cidr: $vpc.main.cidr }\n";

#[test]
fn rule_14_remote_stack_outputs_are_read_and_enter_the_fingerprint() {
    let shop = format!(
        "stacks: {{ net: ../net }}\nvm: {{ w: {{ {VM}, vpc: $stacks.net.id }} }}\noutputs: {{ cidr: $stacks.net.cidr }}\n"
    );
    let case = Case::new().emulator().file(".git", "").file("net/stead.yaml", NETWORK);
    case.write("shop/stead.yaml", format!("stead: 1\nstack: rules\n{shop}"));
    case.ok("apply -C net --yes");
    case.ok("convert shop/stead.yaml --to kdl -o kdl/stead.kdl");
    let fingerprint =
        |stack: &str| case.ok(&format!("plan -C {stack} --output json")).json()["fingerprint"].clone();
    let before = fingerprint("shop");
    assert_eq!(fingerprint("kdl"), before, "both syntaxes read the same");
    case.ok("plan -C shop -o shop.plan");
    case.edit("net/stead.yaml", "cidr: $vpc.main.cidr", "cidr: moved");
    case.ok("apply -C net --yes");
    assert_ne!(fingerprint("shop"), before);
    case.fails(5, "apply shop.plan -C shop").says(&["remote stack outputs"]);
    case.ok("plan -C shop -o shop.plan");
    case.ok("apply shop.plan -C shop").says(&["moved"]);
}

#[test]
fn rule_15_existing_objects_are_found_and_not_managed() {
    let shop = format!(
        "stead: 1\nstack: rules\ndata: {{ vpc: {{ shared: {{ name: main }} }} }}\nvm: {{ w: {{ {VM}, vpc: $data.vpc.shared }} }}\n"
    );
    let case = Case::new().emulator().file("net/stead.yaml", NETWORK).file("shop/stead.yaml", &shop);
    fs::create_dir_all(case.path("kdl")).unwrap();
    case.ok("convert shop/stead.yaml --to kdl -o kdl/stead.kdl");
    for stack in ["shop", "kdl"] {
        case.fails(1, &format!("plan -C {stack}")).says(&["there is no vpc with name `main`"]);
    }
    case.ok("apply -C net --yes");
    case.ok("apply -C kdl --yes");
    case.ok("destroy -C kdl --yes --confirm rules");
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), 1);
    let more = "vpc: { main: { cidr: 10.30.0.0/16 }, twin: { cidr: 10.31.0.0/16 } }";
    case.edit("net/stead.yaml", "vpc: { main: { cidr: 10.30.0.0/16 } }", more);
    case.ok("apply -C net --yes");
    let vpcs = case.cloud().list("/api/v1/vpcs");
    let twin = vpcs.iter().find(|vpc| vpc["name"] == "twin").unwrap();
    case.cloud().mutate("vpc", twin["id"].as_str().unwrap(), &json!({"name": "main"}));
    case.fails(1, "plan -C shop").says(&["finds several objects"]);
}

#[test]
fn rule_16_the_kdl_mapping_is_complete() {
    let kdl = Case::new().file("stead.kdl", "stead 1\nstack rules\nvars { on type=bool default=#true; tags type=\"list(string)\" { default a b } }\nvpc main cidr=\"10.0.0.0/16\"\ndatabase d engine=postgres {\n  plan pg-1c-2g\n  vpc $vpc.main\n  public_access #true\n  public_allowlist \"203.0.113.0/24\"\n  users { u; v name=vee }\n}\nvolume v size=9\nmoved from=volume.a to=volume.v\nmoved from=vpc.b to=vpc.main\n");
    let yaml = Case::new().file("stead.yaml", "stead: 1\nstack: rules\nvars: { on: { type: bool, default: true }, tags: { type: list(string), default: [a, b] } }\nvpc: { main: { cidr: 10.0.0.0/16 } }\ndatabase: { d: { engine: postgres, plan: pg-1c-2g, vpc: $vpc.main, public_access: true, public_allowlist: [203.0.113.0/24], users: { u: {}, v: { name: vee } } } }\nvolume: { v: { size: 9 } }\nmoved: [{ from: volume.a, to: volume.v }, { from: vpc.b, to: vpc.main }]\n");
    assert_eq!(rendered(&kdl, ""), rendered(&yaml, ""));
    let case = Case::new().emulator();
    for (from, syntax) in [(&kdl, "kdl"), (&yaml, "yaml")] {
        let text = fs::read_to_string(from.path(&format!("stead.{syntax}"))).unwrap();
        case.write(&format!("{syntax}/stead.{syntax}"), text);
    }
    let plan =
        |stack: &str| case.ok(&format!("plan -C {stack} --output json")).json()["fingerprint"].clone();
    assert_eq!(plan("kdl"), plan("yaml"));
    for (text, words) in [("volume v size=(u8)9", "annotation"), ("volume v size=true", "#true")] {
        let case = Case::new().file("stead.kdl", format!("stead 1\nstack rules\n{text}\n"));
        assert!(case.fails(1, "validate").all().contains(words), "{text}");
    }
}

#[test]
fn rule_17_frequent_mistakes_get_one_error_with_the_correct_text() {
    for (file, text, right) in [
        ("stead.kdl", "stead 1\nstack r\nvpc main cidr=10.0.0.0/16\n", "\"10.0.0.0/16\""),
        (
            "stead.kdl",
            "stead 1\nstack r\ndatabase d engine=postgres plan=pg-1c-2g ha_enabled=true\n",
            "#true",
        ),
        (
            "stead.kdl",
            "stead 1\nstack r\napp w type=web image=nginx port=8080 health_check_path=/healthz\n",
            "\"/healthz\"",
        ),
        ("stead.yaml", "stead: 1\nstack: r\nlocals:\n  a: ${env == 'x' ? 'b' : 'c'}\n", "quotes"),
        ("stead.yaml", "stead: 1\nstack: r\nvolume: { v: { size: ${1 + 2} } }\n", "\"${1 + 2}\""),
        (
            "stead.yaml",
            "stead: 1\nstack: r\napp:\n  c: { type: cron, image: x, cron_schedule: */5 * * * * }\n",
            "quotes",
        ),
        ("stead.yaml", "stead: 1\nstack: r\nvolume:\n\tv: { size: 9 }\n", "spaces"),
    ] {
        let case = Case::new().file(file, text);
        assert_eq!(codes(&case).len(), 1, "{text}: {}", case.run("validate").all());
        let told = case.fails(1, "validate").all();
        assert!(told.contains(right), "{text}: {told}");
    }
}

#[test]
fn rule_18_requests_the_service_would_refuse_are_reported_before_any_call() {
    let db = "engine: postgres, plan: pg-1c-2g";
    for (stack, code) in [
        ("vpc: { a: { cidr: 10.0.0.0/16 }, b: { cidr: 10.0.1.0/24 } }\n".to_owned(), "overlap"),
        ("app: { w: { type: web, image: nginx, port: 8008 } }\n".to_owned(), "8008"),
        ("app: { c: { type: cron, image: x, cron_schedule: \"61 * * * *\" } }\n".to_owned(), "cron"),
        ("app: { c: { type: cron, image: x, cron_schedule: \"* * * * *\", cron_timezone: Mars/Base } }\n".to_owned(), "zone"),
        ("app: { w: { type: worker, image: x, autoscaling: { min_replicas: 1, max_replicas: 2, metric: concurrency, target: 9 } } }\n".to_owned(), "worker"),
        ("app: { w: { type: web, image: x, port: 8080, instances: 7 } }\n".to_owned(), "6"),
        (format!("database: {{ d: {{ {db}, public_access: true, public_allowlist: [0.0.0.0/0] }} }}\n"), "0.0.0.0/0"),
        (format!("database: {{ d: {{ {db}, users: {{ app_x: {{}} }} }} }}\n"), "app_"),
        ("spend_settings: { cap: { enabled: true, monthly_cap_usd: 0, cap_action: pause } }\n".to_owned(), "1"),
    ] {
        in_both(&stack, |case, syntax| {
            let found = codes(case);
            assert!(!found.is_empty(), "{syntax} {stack}");
            let told = case.fails(1, "validate").all();
            assert!(told.contains(code), "{syntax} {stack}: {told}");
        });
    }
}
