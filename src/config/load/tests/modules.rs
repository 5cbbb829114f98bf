//! Included files and modules: the blocks and outputs that they add, and the message of every mistake.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;

use proptest::prelude::*;

use super::{Config, DirectoryEntry, DirectoryEntryKind, Files, Name, yaml};

/// A repository in memory, with the stack at `stacks/shop`.
#[derive(Debug, Clone, Default)]
pub(super) struct Repository {
    pub(super) files: BTreeMap<String, String>,
    /// Directory to which `read` is relative; empty for the stack itself, whose files then begin with `/`.
    below: String,
}

impl Repository {
    fn text(&self, path: &str) -> io::Result<Vec<u8>> {
        let text = self.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.clone().into_bytes())
    }
}

impl Files for Repository {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.text(&format!("{}/{}", self.below, path.to_str().unwrap()))
    }

    fn path_from_root(&self) -> Vec<Name> {
        vec!["stacks".into(), "shop".into()]
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.text(path.to_str().unwrap())
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let within = format!("{}/", path.to_str().unwrap());
        let names = self.files.keys().filter_map(|file| file.strip_prefix(&within));
        let names: Vec<String> = names.filter(|rest| !rest.contains('/')).map(str::to_owned).collect();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names) }
    }

    fn in_dir(&self, path: &Path) -> Option<Rc<dyn Files>> {
        Some(Rc::new(Self { below: path.to_str().unwrap().to_owned(), ..self.clone() }))
    }

    fn list(&self, _path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        Ok(vec![DirectoryEntry { name: "none".into(), what: DirectoryEntryKind::Special }])
    }
}

fn shop(text: &str) -> Config {
    yaml(text).shared("stacks/shop/motd.txt", "of the stack")
}

const BERTH: &str = "vars: { tons: { type: int, default: 5 }, at: { type: string }, cidr: { type: cidr, default: 10.1.0.0/16 } }
yard: { own: { cidr: $vars.cidr } }
crane: { lift: { tons: $vars.tons, yard: $vars.at, note: \"${crane.other.address}\" }, other: { yard: $yard.own } }
outputs: { address: $crane.lift.address, yard: $yard.own, tons: $vars.tons, words: \"t${vars.tons}\" }
";

#[test]
fn included_files_are_part_of_the_stack() {
    let config = shop("include: [../shared/net.stead.yaml]\ncrane: { a: { yard: $yard.main } }")
        .shared(
            "stacks/shared/net.stead.yaml",
            "include: more/tags.stead.kdl\nyard: { main: { cidr: 10.0.0.0/16 } }",
        )
        .shared(
            "stacks/shared/more/tags.stead.kdl",
            "locals {\n tag hello\n}\noutputs {\n tag $locals.tag\n}",
        );
    insta::assert_snapshot!(config.resolved(), @r#"
    crane.a name=a yard=$yard.main
    yard.main cidr=10.0.0.0/16 name=main
    output tag=hello
    "#);
}

#[test]
fn both_syntaxes_include_and_use_the_same_files() {
    let more = |config: Config| {
        config
            .shared("stacks/net/a.stead.yaml", "yard: { main: { cidr: 10.0.0.0/16 } }")
            .shared("m/stead.yaml", BERTH)
    };
    let yaml = more(shop(
        "include: [../net/a.stead.yaml]\nuse: { east: { source: ../../m, with: { tons: 7, at: $yard.main } } }\noutputs: { o: $use.east.address }",
    ));
    let kdl = more(shop("").without_yaml().file(
        "a.stead.kdl",
        "stead 1\nstack test\ninclude \"../net/a.stead.yaml\"\nuse east source=\"../../m\" {\n with tons=7 at=$yard.main\n}\noutputs {\n o $use.east.address\n}\n",
    ));
    assert_eq!(yaml.stack().digest, kdl.stack().digest);
    assert_eq!(yaml.resolved(), kdl.resolved());
}

#[test]
fn a_module_is_a_block_with_inputs_and_outputs() {
    let config = shop(
        "vars: { t: { type: int, default: 6 } }
yard: { main: { cidr: 10.0.0.0/16 } }
use: { east: { source: ../../m, with: { tons: $vars.t, at: $yard.main } }, west: { source: ../../m, with: { at: $use.east.yard, cidr: 10.2.0.0/16 } } }
crane: { last: { yard: $use.east.yard, note: \"${use.west.words + use.east.address}\" } }
outputs: { known: $use.east.tons, later: $use.west.address }",
    )
    .shared("m/stead.yaml", BERTH);
    insta::assert_snapshot!(config.resolved(), @r#"
    crane.last name=last note=cel(use.west.words + use.east.address | use: { east: { }, west: { words: t5 } } |  use.east.address=$east.crane.lift:address) yard=$east.yard.own
    east.crane.lift name=east-lift note=$east.crane.other:address tons=6 yard=$yard.main
    east.crane.other name=east-other yard=$east.yard.own
    east.yard.own cidr=10.1.0.0/16 name=east-own
    west.crane.lift name=west-lift note=$west.crane.other:address tons=5 yard=$east.yard.own
    west.crane.other name=west-other yard=$west.yard.own
    west.yard.own cidr=10.2.0.0/16 name=west-own
    yard.main cidr=10.0.0.0/16 name=main
    output known=6
    output later=$west.crane.lift:address
    "#);
}

#[test]
fn modules_can_be_instantiated_and_nested() {
    let config = shop(
        "use: { fleet: { for_each: [a, b], when: \"${each.key != 'b'}\", source: ../../outer, with: { name: $each.key } }, none: { when: false, source: ../../outer, with: { name: x } } }
outputs: { deep: $use.fleet.a.deep, all: \"${use.fleet.a.deep + 'x'}\" }",
    )
    .shared("outer/stead.kdl", "vars {\n name type=string\n}\nuse inner source=\"./inner\" {\n with motd=\"${vars.name + '!'}\"\n}\noutputs {\n deep $use.inner.said\n}")
    .shared("outer/inner/stead.yaml", "vars: { motd: {} }\ncrane: { c: { note: \"${vars.motd + file('motd.txt')}\" } }\noutputs: { said: $vars.motd }")
    .shared("outer/inner/motd.txt", "of the module");
    insta::assert_snapshot!(config.resolved(), @r#"
    fleet.a.inner.crane.c name=fleet-a-inner-c note=a!of the module
    output all=a!x
    output deep=a!
    "#);
}

#[test]
fn secrets_stay_sensitive_through_modules() {
    let config = shop(
        "vars: { s: { type: secret } }\nuse: { m: { source: ../../m, with: { plain: $vars.s, marked: \"a${crane.x.address}\" } } }\ncrane: { x: {}, y: { key: $use.m.out } }\noutputs: { o: $use.m.out, p: $use.m.later }",
    )
    .shared("m/stead.yaml", "vars: { plain: { type: string }, marked: { type: secret } }\noutputs: { out: \"x${vars.plain}\", later: $vars.marked }")
    .env_var("s", "canary-1");
    let stack = config.stack();
    let text = format!("{:?}", stack.outputs);
    assert!(!text.contains("canary"), "{text}");
    assert!(stack.outputs.values().all(|output| output.expression.is_secret()), "{text}");
}

#[test]
fn an_error_in_a_module_shows_the_line_and_the_call() {
    let bad = "vars: { n: { type: int, check: \"${self > 1}\" } }\ncrane: { c: { tons: many, yard: $yard.nil } }\nspare: {}\n";
    let config = shop("use: { one: { source: ../../bad, with: { n: 1 } }, two: { source: ../../bad, with: { m: 3 } } }\ncrane: { c: { note: $use.one.x } }")
        .shared("bad/stead.yaml", bad);
    insta::assert_snapshot!(config.problems(), @"
    S0254 3:45 a variable's value is not allowed [1:32 this check fails] [3:8 used here as one] | vars.n, set by use.one, is `1`.
    S0251 3:52 a module call lacks required variables [1:9 declared here without a default] | `n` takes a whole number. | add to the call: `with: { n: … }`
    S0252 3:86 this variable is not declared [3:67 by this module] | The module declares no variable `m`. | it takes: n
    S0317 4:30 there is no output of this name | The module `one` has no outputs: its `when` is false, or it declares no `outputs`.
    S0222 2:21 this value has the wrong type [3:52 used here as two] | It takes a whole number (t), and this is `many`. | write one whole number, in decimal digits
    S0201 2:39 there is no resource of this name [3:52 used here as two] | No block declares yard.nil. | the stack declares no yard
    S0230 3:1 this block is not known | There is no block `spare`. | blocks are: backend, crane, data, environments, import, include, locals, moved, outputs, policy, project, removed, secrets, stack, stacks, stead, use, vars, yard
    ");
}

#[test]
fn every_mistake_of_an_include_has_one_message() {
    for (text, files, wanted) in [
        (
            "include: [../none.stead.yaml]",
            &[][..],
            "S0310 3:11 a file cannot be read | `../none.stead.yaml` cannot be read: entity not found. | paths start at the directory of the file that they are written in",
        ),
        (
            "include: [../../../x.stead.yaml]",
            &[],
            "S0312 3:11 a path is outside of the root directory | `../../../x.stead.yaml` is outside of the directories that this stack may read. | move it below the root (the directory of `.git`, else the stack's own), or give `--allow-outside`",
        ),
        (
            "include: [/etc/x.stead.yaml]",
            &[],
            "S0312 3:11 this is not a path | It takes a relative path with `/` between its parts, as a literal. | write, for example, `../shared/network.stead.yaml`",
        ),
        (
            "include: [../secret.txt]",
            &[],
            "S0310 3:11 only stack files are included | `secret.txt` does not have the name of a stack file. | name the file `NAME.stead.yaml` or `NAME.stead.kdl`; for a directory, write `use`",
        ),
        (
            "include: [\"../${env}.stead.yaml\"]",
            &[],
            "S0310 3:11 `include` takes paths of files | They are literals, without `$`: the files of a stack cannot depend on values. | write `include: [../shared/network.stead.yaml]`, or in KDL `include \"../shared/network.stead.kdl\"`",
        ),
        (
            "include: [../a.stead.yaml, ./../a.stead.yaml]",
            &[("stacks/a.stead.yaml", "")],
            "S0310 3:28 a file is read twice [3:11 included here first] | All files of a stack or module form one configuration: each is read once. | remove one of the two",
        ),
        (
            "include: [a.stead.yaml]",
            &[],
            "S0311 3:11 files include each other in a cycle [3:11 closes the cycle] | remove this one: the file is part of the stack already",
        ),
        (
            "include: [../a.stead.yaml]",
            &[
                ("stacks/a.stead.yaml", "include: [b.stead.yaml]"),
                ("stacks/b.stead.yaml", "include: [a.stead.yaml]"),
            ],
            "S0311 1:11 files include each other in a cycle [1:11 closes the cycle] [1:11 is part of the cycle] | remove this one: the file is part of the stack already",
        ),
    ] {
        let config = files.iter().fold(shop(text), |config, (path, text)| config.shared(path, text));
        assert_eq!(config.problems(), wanted, "{text}");
    }
}

#[test]
fn every_mistake_of_a_module_has_one_message() {
    let problems = |text: &str, files: &[(&str, &str)]| {
        files.iter().fold(shop(text), |config, (path, text)| config.shared(path, text)).problems()
    };
    let m = ("m/stead.yaml", "vars: { size: {} }\noutputs: { url: $vars.size }\n");
    insta::assert_snapshot!(
        [
            problems("use: { a: {} }", &[]),
            problems("use: { a: { source: ../../none } }", &[]),
            problems("use: { a: { source: ../../../x } }", &[]),
            problems("use: { a: { source: ../../m } }", &[m]),
            problems("use: { a: { source: ../../m, with: { sise: 1 } } }", &[m]),
            problems("use: { a: { source: ../../m, wiht: { } } }", &[m]),
            problems("use: { crane: { source: ../../m, with: { size: x } } }", &[m]),
            problems("use: { a: { source: ../../m, with: { size: x } } }\noutputs: { o: $use.a.ulr, p: $use.b.url, q: \"${use.a.ulr + 'x'}\", r: $a.vm.x }", &[m]),
            problems("use: { a: { source: ../../m, with: { size: $crane.c.address } } }\ncrane: { c: { }, d: { for_each: \"${[use.a.url]}\" } }", &[m]),
            problems("use: { a: { source: ../../m } }", &[("m/stead.yaml", "use: { b: { source: ../n } }"), ("n/stead.yaml", "use: { c: { source: ../m } }")]),
            problems("use: { a: { source: . } }", &[]),
            problems("use: { a: { source: ../../m } }", &[("m/stead.yaml", "stack: x\nenvironments: { e: {} }")]),
            problems("use: { a: { source: ../../m, with: { size: $use.b.url } }, b: { source: ../../m, with: { size: $use.a.url } } }", &[m]),
            problems("use: { a: { source: ../../m } }", &[("m/stead.yaml", "vars: { n: { default: a } }\ncrane: { c: { for_each: [$vars.n, A] } }")]),
        ]
        .join("\n"), @"
    S0313 3:8 a `use` entry does not name its module | add `source: ../modules/NAME`, a directory
    S0313 3:21 this directory is not a module | `../../none` cannot be read: entity not found. | a module is a directory with a `stead.yaml`, `stead.kdl`, `*.stead.yaml` or `*.stead.kdl`
    S0312 3:21 a path is outside of the root directory | `../../../x` is outside of the directories that this stack may read. | move it below the root (the directory of `.git`, else the stack's own), or give `--allow-outside`
    S0251 3:8 a module call lacks required variables [1:9 declared here without a default] | `size` takes a text. | add to the call: `with: { size: … }`
    S0252 3:38 this variable is not declared [3:21 by this module] | The module declares no variable `sise`. | did you mean `size`? | fix: size
    S0220 3:30 this key is not known | There is no `wiht` here. | did you mean `with`? | fix: with
    S0313 3:8 a module cannot have this name | `crane` means something else at the beginning of an address. | write `crane_module`, for example
    S0317 4:22 there is no output of this name | The module `a` has no output `ulr`. | did you mean `url`? | fix: url
    S0317 4:35 there is no module of this name | No `use` block declares `b`. | known names: a
    S0317 4:54 there is no output of this name | The module `a` has no output `ulr`. | did you mean `url`? | fix: url
    S0211 4:70 this name means nothing here | `a` is not a kind, and not one of data, each, env, locals, module, stack, stacks, use, vars. | read an output of the module: `$use.a.OUTPUT`
    S0208 4:33 this must be known before any resource exists | `for_each` is evaluated while the configuration is loaded, and attributes of a resource of a module are known only later. | use a variable, or a local that refers to no resource
    S0314 1:21 modules use each other in a cycle [1:21 uses ../../n] [1:21 uses ../../m] | A module would contain itself without end. | move what both need into a separate module
    S0314 3:21 modules use each other in a cycle [3:21 uses .] | A module would contain itself without end. | move what both need into a separate module
    S0315 1:1 only a stack has this block | This directory is used as a module, and a module has no `stack`. | pass values to a module by `with`, and read its values from `outputs`
    S0315 2:1 only a stack has this block | This directory is used as a module, and a module has no `environments`. | pass values to a module by `with`, and read its values from `outputs`
    S0207 3:11 inputs of modules depend on their own outputs [3:11 use.a uses use.b] [3:63 use.b uses use.a] | give one of them a value that does not use the others
    S0261 2:35 this key cannot be part of an address [3:8 used here as a] | `A` has characters other than a-z, 0-9, _ and -. | write `a`; put a text that must not change into the values of a map: `for_each: { a: … }`
    ");
}

#[test]
fn exponential_module_nesting_is_rejected() {
    let mut config = shop("use: { a: { source: ../../m0 }, b: { source: ../../m0 } }");
    for n in 0..40 {
        let next = n + 1;
        config = config.shared(
            &format!("m{n}/stead.yaml"),
            &format!("use: {{ a: {{ source: ../m{next} }}, b: {{ source: ../m{next} }} }}"),
        );
    }
    let config = config.shared("m40/stead.yaml", "crane: { c: { } }");
    let problems = config.problems();
    assert!(problems.starts_with("S0316") && problems.lines().count() <= 2, "{problems}");
    let wide = shop("use: { a: { for_each: $locals.keys, source: ../../m } }\nlocals: { keys: \"${[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, string(a) + '-' + string(b))).map(x, x[0])}\" }")
        .shared("m/stead.yaml", "use: { b: { for_each: [a, b, c], source: ../n } }").shared("n/stead.yaml", "crane: { c: { } }");
    assert_eq!(wide.stack().resources.len(), 30);
    let files: String = (0..1200).map(|n| format!("../f{n}.stead.yaml, ")).collect();
    let many = (0..1200).fold(shop(&format!("include: [{files}]")), |config, n| {
        config.shared(&format!("stacks/f{n}.stead.yaml"), "")
    });
    assert_eq!(many.problems().lines().count(), 1);
}

#[test]
fn ten_thousand_resources_load_through_a_hundred_modules() {
    let keys: Vec<String> = (0..100).map(|n| format!("k{n}: 10.{n}.0.0/16")).collect();
    let blocks: String =
        (0..100).map(|n| format!("  c{n}: {{ yard: $yard.own, tons: $vars.tons }}\n")).collect();
    let config = shop(&format!(
        "use: {{ m: {{ for_each: {{ {} }}, source: ../../m, with: {{ tons: 6, cidr: $each.value }} }} }}",
        keys.join(", ")
    ))
    .shared(
        "m/stead.yaml",
        &format!(
            "vars: {{ tons: {{ type: int }}, cidr: {{ type: cidr }} }}\nyard: {{ own: {{ cidr: $vars.cidr }} }}\ncrane:\n{blocks}"
        ),
    );
    let stack = config.stack();
    assert_eq!(stack.resources.len(), 100 * 101);
    assert_eq!(
        stack.resources["m.k7.crane.c9"].attributes["tons"].set_by.as_ref().map(|by| by.as_str()),
        Some("vars.tons, given by use.m")
    );
}

#[test]
fn an_environment_replaces_exactly_one_path() {
    let text = "environments: { dev: { default: true }, prod: { set: { crane.a.tons: 9, crane.a.labels.x: two, use.m.with.size: big } } }
crane: { a: { tons: 5, labels: { x: one, y: y } } }
use: { m: { source: ../../m, with: { size: small } } }
outputs: { size: $use.m.size }";
    let m = "vars: { size: {} }\noutputs: { size: $vars.size }";
    let dev = shop(text).shared("m/stead.yaml", m);
    insta::assert_snapshot!(dev.resolved(), @r#"
    crane.a labels={ x: one, y: y } name=a tons=5
    output size=small
    "#);
    let prod = dev.env("prod");
    insta::assert_snapshot!(prod.resolved(), @r#"
    crane.a labels={ x: two, y: y } name=a tons=9
    output size=big
    "#);
    assert_eq!(
        prod.stack().resources["crane.a"].attributes["tons"].set_by.as_ref().map(|by| by.as_str()),
        Some("environments.prod.set")
    );
    let problems = |set: &str| {
        shop(&format!("environments: {{ e: {{ set: {{ {set} }} }} }}\ncrane: {{ a: {{ tons: 5 }} }}\nlocals: {{ l: 1 }}")).problems()
    };
    insta::assert_snapshot!(
        ["crane.a.ton: 6", "crane.aa.tons: 6", "crane.a.note: x", "crane.a: 6", "locals.l: 2", "tons: 3", "crane.a.tons: many"].map(problems).join("\n"), @r#"
    S0318 3:29 there is nothing at this path | crane.a has no `ton`, and `set` replaces only existing values. | did you mean `crane.a.tons`?
    S0318 3:29 there is nothing at this path | crane has no `aa`, and `set` replaces only existing values. | write `aa` there, with the value for the other environments
    S0318 3:29 there is nothing at this path | crane.a has no `note`, and `set` replaces only existing values. | write `note` there, with the value for the other environments
    S0318 3:29 this path cannot be replaced | `set` replaces only values of a block or of the `with` of a module. | write the path of one value: `database.main.storage_gb`, `use.shop.with.size`, or `use.shop.vm.web.plan`
    S0318 3:29 this path cannot be replaced | `set` replaces only values of a block or of the `with` of a module. | write the path of one value: `database.main.storage_gb`, `use.shop.with.size`, or `use.shop.vm.web.plan`
    S0318 3:29 this path cannot be replaced | `set` replaces only values of a block or of the `with` of a module. | write the path of one value: `database.main.storage_gb`, `use.shop.with.size`, or `use.shop.vm.web.plan`
    S0222 3:43 this value has the wrong type | It takes a whole number (t), and this is `many`. | write one whole number, in decimal digits
    "#);
}

#[test]
fn a_module_lists_all_its_missing_inputs() {
    let config =
        shop("use: { m: { source: ../../m } }").shared("m/stead.yaml", "vars: { a: {}, b: { type: int } }");
    insta::assert_snapshot!(config.problems(), @r#"
    S0251 3:8 a module call lacks required variables [1:9 declared here without a default] [1:16 declared here without a default] | `a` takes a text. `b` takes a whole number. | add to the call: `with: { a: …, b: … }`
    "#);
}

#[test]
fn a_whole_resource_can_be_passed_to_a_module() {
    let config = shop("crane: { c: {} }\nuse: { m: { source: ../../m, with: { it: $crane.c, many: [$crane.c.address, x] } } }")
        .shared("m/stead.kdl", "vars {\n it\n many type=\"list(string)\"\n}\ncrane c note=$vars.it.address next=$vars.it\ncrane d note=\"${vars.it.address + vars.many[1]}\"\n");
    insta::assert_snapshot!(config.resolved(), @r#"
    crane.c name=c
    m.crane.c name=m-c next=$crane.c note=$crane.c:address
    m.crane.d name=m-d note=cel(vars.it.address + vars.many[1] | vars: { } | crane.c vars.it=$crane.c vars.many=list($crane.c:address, x))
    "#);
    let wrong = shop("crane: { c: {} }\nuse: { m: { source: ../../m, with: { it: $crane.c } } }")
        .shared("m/stead.kdl", "vars {\n it\n}\ncrane c yard=$vars.it tons=$vars.it.adress\n");
    insta::assert_snapshot!(wrong.problems(), @r#"
    S0203 4:14 a reference has the wrong kind or type [3:10 crane.c is declared here] [4:8 used here as m] | It takes a reference to a yard, and crane.c is a crane.
    S0202 4:37 there is no attribute of this name [4:8 used here as m] | A crane has no `adress`. | did you mean `address`? | fix: address
    "#);
}

#[test]
fn a_value_that_a_module_reads_from_a_file_is_in_no_message() {
    let stack = |rule: &str| {
        shop("use: { inner: { source: ../../inner } }")
            .shared("inner/token.txt", "hunter2-from-a-file")
            .shared(
                "inner/stead.yaml",
                &format!("vars: {{ t: {{ from_file: token.txt, {rule} }} }}\noutputs: {{ t: $vars.t }}"),
            )
    };
    for rule in ["one_of: [a, b]", "check: '${size(self) < 3}'"] {
        let problems = stack(rule).problems();
        assert!(problems.contains("a variable's value is not allowed"), "{problems}");
        assert!(problems.contains("vars.t, set by from_file"), "{problems}");
        assert!(!problems.contains("hunter2"), "{problems}");
    }
}

#[test]
fn secrets_that_are_given_to_modules_are_in_no_excerpt() {
    let config = shop("use: { m: { source: ../../m, with: { s: canary-7, n: x } } }")
        .shared("m/stead.yaml", "vars: { s: { type: secret, default: canary-8 }, n: { type: int } }");
    let (_, problems, sources) = config.load();
    assert!(!problems.is_empty());
    assert!(sources.iter().all(|(_, source)| !source.text.contains("canary")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_order_of_files_and_blocks_does_not_matter(
        here in proptest::collection::vec(any::<bool>(), 6),
        order in Just(vec![0usize, 1, 2, 3, 4, 5]).prop_shuffle(),
    ) {
        let blocks = [
            "yard: { main: { cidr: 10.0.0.0/16 } }",
            "crane: { one: { yard: $yard.main, note: '${use.m2.words + locals.l}' } }",
            "use: { m: { for_each: $locals.k, source: /M, with: { tons: 3, at: $yard.main } }, m2: { source: /M, with: { at: $yard.main } } }",
            "locals: { l: z, k: [] }",
            "outputs: { o: $crane.one.address }",
            "vars: { spare: { default: x } }",
        ];
        let text = |inside: bool, up: &str| -> String {
            let chosen = order.iter().filter(|n| here[**n] == inside);
            chosen.map(|n| blocks[*n].replace("/M", up) + "\n").collect()
        };
        let whole: String = blocks
            .iter()
            .map(|block| block.replace("/M", "../../m") + "\n")
            .collect();
        let one = shop(&whole).shared("m/stead.yaml", BERTH).stack();
        let split = shop(&format!("include: [../../deep/er/a.stead.yaml]\n{}", text(true, "../../m")))
            .shared("deep/er/a.stead.yaml", &text(false, "../../m"))
            .shared("m/stead.yaml", BERTH)
            .stack();
        prop_assert_eq!(one.digest, split.digest);
    }
}

#[test]
fn a_module_output_known_early_can_be_used_in_for_each() {
    let m = "vars: { n: { type: list(string) }, at: { default: '' } }\nyard: { own: { cidr: 10.1.0.0/16 } }\noutputs: { keys: $vars.n, fence: $yard.own.fence }";
    let config = shop("use: { m: { source: ../../m, with: { n: [a, b] } } }\nlocals: { k: $use.m.keys }\ncrane: { c: { for_each: $use.m.keys, when: \"${size(locals.k) > 1}\", note: $each.key } }")
        .shared("m/stead.yaml", m);
    insta::assert_snapshot!(config.resolved(), @r#"
    crane.c.a name=c-a note=a
    crane.c.b name=c-b note=b
    m.yard.own cidr=10.1.0.0/16 name=m-own
    "#);
    let later = shop("use: { m: { source: ../../m, with: { n: [a], at: $yard.y.fence } } }\nyard: { y: { cidr: 10.2.0.0/16 } }\ncrane: { c: { for_each: $use.m.keys }, d: { for_each: [$use.n.fence] } }\nlocals: { later: $use.m.keys }")
        .shared("m/stead.yaml", m);
    insta::assert_snapshot!(later.problems(), @"
    S0208 5:25 this must be known before any resource exists | `for_each` is evaluated while the configuration is loaded, and attributes of a resource of a module are known only later. | use a variable, or a local that refers to no resource
    S0317 5:61 there is no module of this name | No `use` block declares `n`. | known names: m
    ");
}

#[test]
fn a_hint_inside_a_module_is_valid_inside_the_module() {
    let module = "crane: { a: { for_each: [x, y] }, b: { note: \"${crane.a.z.name}\" } }\n";
    let problems = shop("use: { m: { source: ../../m } }\n").shared("m/stead.yaml", module).problems();
    assert!(problems.contains("write `$crane.a.x`"), "{problems}");
}
