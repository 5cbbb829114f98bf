//! Changes of names and owners: moves, removals, imports, renames; and policies that deny them.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use std::fs;

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: story
# the network of everything
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  frontend: # serves
    template: ubuntu-24.04
    plan: std-1c-1g
    vpc: $vpc.main
volume:
  data: { size: 20, vm: $vm.frontend }
  spare: { size: 10 }
";

fn applied() -> Case {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.ok("apply --yes");
    case
}

fn text(case: &Case) -> String {
    fs::read_to_string(case.path("stead.yaml")).unwrap()
}

fn no_changes(case: &Case) {
    let before = case.cloud().last();
    case.ok("apply --yes").says(&["No changes"]);
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new());
}

#[test]
fn a_renamed_resource_keeps_its_object() {
    let case = applied();
    case.fails(64, "mv vm.fronted vm.web --yes")
        .says(&["no resource vm.fronted in this stack; did you mean vm.frontend?"]);
    case.fails(64, "mv vm.frontend volume.web --yes").says(&["only a name"]);
    case.fails(64, "mv vpc.main vpc.main --yes").says(&["declared already"]);
    case.ok("mv vm.frontend vm.web --yes").says(&["-  frontend: # serves", "+  web: # serves", "$vm.web"]);
    assert!(text(&case).contains("# the network of everything") && text(&case).contains("name: frontend"));
    let before = case.cloud().last();
    case.ok("plan").says(&["vm.web", "move", "was vm.frontend", "1 move"]);
    let json = case.ok("plan --output json").json();
    assert_eq!(json["changes"][0]["was"], "vm.frontend");
    assert_eq!(json["summary"]["move"], 1);
    case.ok("apply --yes");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "only the ledger moves");
    no_changes(&case);
    case.ok("plan").says(&["No changes", "1 declaration has nothing left to do"]);
    assert_eq!(case.ok("plan").stdout.lines().count(), 1);
    case.ok("plan -v")
        .says(&["move of vm.frontend to vm.web has nothing left to do", "stead fmt --prune removes it"]);
}

#[test]
fn a_rename_with_a_change_that_only_the_ledger_records_keeps_its_object() {
    let app = |name: &str, more: &str| {
        format!(
            "stead: 1\nstack: shop\napp:\n  {name}: {{ name: web, type: web, repo: acme/web, branch: main, port: 80{more} }}\n"
        )
    };
    let case =
        Case::new().file("stead.yaml", app("old", ", description: Words, env_vars: { A: b }")).emulator();
    case.ok("apply --yes");
    // What the stack no longer says stays as it is, and is no longer in the ledger.
    let moved = "moved: [{ from: app.old, to: app.new }]\n";
    case.write("stead.yaml", app("new", "") + moved);
    case.ok("apply --yes").says(&["1 done"]);
    no_changes(&case);
    // A rename to and fro, with a protection.
    let back = "moved: [{ from: app.new, to: app.back }]\n";
    case.write("stead.yaml", app("back", ", lifecycle: { protect: true }") + back);
    case.ok("apply --yes").says(&["1 done"]);
    no_changes(&case);
    case.fails(4, "destroy --yes --confirm shop").says(&["protected"]);
    assert_eq!(case.cloud().list("/api/v1/apps/services").len(), 1);
}

#[test]
fn an_instance_gets_another_key_or_becomes_a_block() {
    let yaml = "stead: 1\nstack: story\nvpc: { main: { cidr: 10.1.0.0/16 } }\nvm:\n  web:\n    for_each: [a, b, c] # three\n    template: ubuntu-24.04\n    plan: std-1c-1g\n    vpc: $vpc.main\n    user_data: \"key ${each.key}\"\nvolume: { data: { size: 20, vm: $vm.web.a } }\n";
    let kdl = "stead 1\nstack story\nvpc main cidr=\"10.1.0.0/16\"\nvm web template=ubuntu-24.04 plan=std-1c-1g vpc=$vpc.main user_data=\"key ${each.key}\" {\n  for_each a b c\n}\nvolume data size=20 vm=$vm.web.a\n";
    for (name, text, moved, removed) in [
        ("stead.yaml", yaml, "- from: vm.web.a\n    to: vm.api", "- from: vm.web.c"),
        ("stead.kdl", kdl, "moved from=vm.web.a to=vm.api", "removed from=vm.web.c action=forget"),
    ] {
        let case = Case::new().file(name, text).emulator();
        case.ok("apply --yes");
        case.fails(64, "mv vm.web.a vpc.a --yes")
            .says(&["vm.web.a has the kind vm, which cannot become vpc"]);
        case.fails(64, "mv vm.web.a vm.web.b --yes").says(&["vm.web.b is declared already"]);
        let shown = case.ok("mv vm.web.a vm.api --yes");
        for part in ["$vm.api", "name", "web-a", "key a"] {
            shown.says(&[part]);
        }
        let before = case.cloud().last();
        case.ok("plan").says(&["was vm.web.a", "0 create", "0 delete", "1 move"]);
        case.ok("apply --yes");
        assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "only the ledger moves");
        no_changes(&case);
        case.ok("rm vm.web.c --keep --yes");
        case.ok("apply --yes").says(&["forget"]);
        case.fails(64, "rm vm.web.b --keep --yes")
            .says(&["the only instance of vm.web", "stead rm vm.web"]);
        case.ok("mv vm.web.b vm.web.z --yes");
        case.ok("plan").says(&["vm.web.z", "was vm.web.b", "0 create"]);
        let text = fs::read_to_string(case.path(name)).unwrap();
        assert!(text.contains(moved) && text.contains(removed), "{text}");
        assert!(text.contains("for_each z\n") || text.contains("for_each: [z] # three\n"), "{text}");
    }
    let case = Case::new().file(
        "stead.kdl",
        kdl.replace("for_each a b c", "for_each $vars.nodes")
            + "vars { nodes type=\"set(string)\" { default a b } }\n",
    );
    case.fails(64, "mv vm.web.a vm.api --yes").says(&[
        "the key of vm.web.a is computed by `$vars.nodes` at stead.kdl:5:12",
        "`moved from=vm.web.a to=vm.api`",
    ]);
    case.fails(64, "rm vm.web.a --keep --yes").says(&["`removed from=vm.web.a action=forget`"]);
    case.fails(64, "mv vars.nodes vars.keys --yes").says(&["is not a resource", "stead lsp"]);
}

#[test]
fn a_child_resource_is_inlined_into_the_block_of_its_parent() {
    for (name, text, gone, wanted) in [
        (
            "stead.yaml",
            "stead: 1\nstack: story\napp:\n  web: # serves\n    type: web\n    repo: acme/shop\n    branch: main\n    domains: { one: { domain: a.example.com }, two: { domain: b.example.com } }\n",
            "removed:\n  - from: app.web.domains.two\n    action: forget\n",
            "domains: { one: { domain: a.example.com }, two: { domain: b.example.com } }",
        ),
        (
            "stead.kdl",
            "stead 1\nstack story\napp web type=web repo=\"acme/shop\" branch=main {\n  domains {\n    one domain=a.example.com\n    two domain=b.example.com\n  }\n}\n",
            "removed from=app.web.domains.two action=forget\n",
            "    one domain=a.example.com\n    two domain=b.example.com\n",
        ),
    ] {
        let case = Case::new().file(name, text).emulator();
        case.ok("apply --yes");
        case.ok("rm app.web.domains.two --keep --yes");
        case.ok("apply --yes").says(&["forget"]);
        case.edit(name, gone, "");
        case.fails(64, "import app.wep.domains.two b.example.com --yes").says(&["neither is app.wep"]);
        case.fails(1, "import app.web.domains.two c.example.com --yes").says(&["there is no app_domain"]);
        case.fails(1, "import app.web.domains.three a.example.com --yes").says(&["belongs to"]);
        case.ok("import app.web.domains.two b.example.com --yes").says(&["1 object imported"]);
        let text = fs::read_to_string(case.path(name)).unwrap();
        assert!(text.contains(wanted), "{text}");
        no_changes(&case);
    }
}

#[test]
fn a_probable_rename_is_reported() {
    let case = applied();
    case.edit("stead.yaml", "  spare:", "  scratch:");
    case.fails(4, "plan")
        .says(&["look like a rename", "moved: [{ from: volume.spare, to: volume.scratch }]"]);
}

#[test]
fn a_removed_object_is_kept_or_deleted_and_can_be_declared_again() {
    let case = applied();
    case.fails(64, "rm volume.spare --yes");
    case.fails(1, "rm vm.frontend --keep --yes").says(&["vm.frontend"]);
    case.ok("rm volume.spare --keep --yes");
    case.ok("apply --yes").says(&["forget"]);
    let volumes = case.cloud().list("/api/v1/volumes");
    assert_eq!(volumes.len(), 2, "it stays live");
    case.ok("plan -v").says(&["removal of volume.spare has nothing left to do"]);
    let id =
        volumes.iter().find(|volume| volume["name"] == "spare").unwrap()["id"].as_str().unwrap().to_owned();
    let taken =
        volumes.iter().find(|volume| volume["name"] == "data").unwrap()["id"].as_str().unwrap().to_owned();
    case.edit("stead.yaml", "removed:\n  - from: volume.spare\n    action: forget\n", "");
    case.fails(1, &format!("import volume.other {taken} --yes")).says(&["belongs to volume.data already"]);
    case.ok(&format!("import volume.spare {id} --observe")).says(&["Nothing was written."]);
    case.ok(&format!("import volume.spare {id} --yes")).says(&["spare:", "size: 10"]);
    no_changes(&case);
    case.ok("rm volume.spare --delete --yes");
    case.ok("apply --yes");
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
}

#[test]
fn a_moved_resource_can_be_removed_before_and_after_the_apply() {
    for applied_between in [true, false] {
        let case = applied();
        case.ok("mv volume.spare volume.extra --yes");
        if applied_between {
            case.ok("apply --yes");
        }
        case.ok("rm volume.extra --keep --yes").says(&["removed"]);
        assert!(text(&case).contains("to: volume.extra"), "what is done is pruned by its own command");
        case.ok("validate");
        case.ok("apply --yes").says(&["forget"]);
        assert_eq!(case.cloud().list("/api/v1/volumes").len(), 2, "it stays live");
        no_changes(&case);
        case.ok("fmt --prune");
        assert!(!text(&case).contains("volume.extra"), "{}", text(&case));
        no_changes(&case);
        case.ok("mv volume.data volume.store --yes");
        if applied_between {
            case.ok("apply --yes");
        }
        case.ok("rm volume.store --delete --yes");
        case.ok("apply --yes").says(&["delete"]);
        assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
        no_changes(&case);
    }
}

#[test]
fn an_import_is_declared_and_reviewed() {
    let case = applied();
    let id = case.cloud().list("/api/v1/volumes").iter().find(|volume| volume["name"] == "spare").unwrap()
        ["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = Case::new().file(
        "stead.yaml",
        format!("stead: 1\nstack: other\nvolume: {{ spare: {{ size: 15 }} }}\nimport: [{{ to: volume.spare, id: {id} }}]\n"),
    );
    let cloud = case.cloud();
    let run = |args: &str| {
        let mut command = other.command(args);
        command.env("STEAD_API_URL", &cloud.url).env("STEAD_API_KEY", &cloud.key);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let plan = run("plan");
    assert!(plan.contains("adopt") && plan.contains("10 → 15"), "{plan}");
    run("apply --yes");
    let plan = run("plan -v");
    assert!(
        plan.contains("No changes") && plan.contains("import of volume.spare has nothing left to do"),
        "{plan}"
    );
}

#[test]
fn an_imported_account_has_an_empty_plan() {
    let case = applied();
    for format in ["yaml", "kdl"] {
        let other = Case::new();
        let cloud = case.cloud();
        let run = |args: &str| {
            let mut command = other.command(args);
            command.env("STEAD_API_URL", &cloud.url).env("STEAD_API_KEY", &cloud.key);
            let output = command.output().unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (text(output.stdout), text(output.stderr))
        };
        let before = cloud.last();
        let (told, _) = run(&format!("import --all --observe --format {format}"));
        assert!(told.contains("vpc.stead") && !other.path(&format!("stead.{format}")).exists(), "{told}");
        let (told, asides) = run(&format!("import --all --yes --format {format}"));
        assert!(asides.contains("are managed now"), "{told}\n{asides}");
        let machine = fs::read_to_string(other.path(&format!("vm.stead.{format}"))).unwrap();
        assert!(machine.contains("frontend") && machine.contains("$vpc.main"), "{machine}");
        let (plan, asides) = run("plan");
        assert!(plan.contains("No changes"), "{plan}\n{asides}");
        assert_eq!(cloud.mutations_since(before), Vec::<String>::new());
    }
}

#[test]
fn match_names_imports_the_object_of_each_block() {
    let case = applied();
    let other = Case::new().file("stead.yaml", STACK);
    let cloud = case.cloud();
    let run = |args: &str| {
        let mut command = other.command(args);
        command.env("STEAD_API_URL", &cloud.url).env("STEAD_API_KEY", &cloud.key);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    run("import --match-names --yes");
    let plan = run("plan");
    assert!(plan.contains("No changes"), "{plan}");
}

#[test]
fn a_policy_denies_until_it_is_overridden_with_a_reason() {
    let case = applied();
    let policy = "\
policy:
  small: { on: volume, deny: \"${self.size > 15}\", message: Volumes are small here. }
  calm: { deny: \"${plan.delete > 3}\", message: Not so many. }
";
    let with = text(&case) + policy;
    case.write("stead.yaml", &with);
    case.fails(4, "plan").says(&[
        "policy",
        "volume.data",
        "small: Volumes are small here.",
        "--override small",
    ]);
    case.edit("stead.yaml", "size: 10", "size: 12");
    let json = case.fails(4, "plan --output json").json();
    assert_eq!(json["policy"][0]["verdict"], "deny");
    let fingerprint = json["fingerprint"].as_str().unwrap().to_owned();
    case.fails(4, "apply --yes");
    case.fails(4, "plan -o held.plan");
    case.fails(4, "apply held.plan").says(&["blocked"]);
    case.fails(64, "apply --yes --override small");
    case.fails(64, "apply --yes --override smal --reason because").says(&["Did you mean small?"]);
    let mut command =
        case.command(&format!("apply --yes --expect {fingerprint} --override small --reason"));
    assert!(command.arg("agreed with finance").status().unwrap().success());
    case.ok("history show").says(&["overridden", "small: agreed with finance"]);
}

#[test]
fn import_skips_and_lists_objects_that_the_stack_cannot_manage() {
    let stack = "\
stead: 1
stack: a
api_key: { ci: { role: admin, deliver_secret: { file: ./key } } }
volume: { v: { size: 9 } }
";
    let case = Case::new().emulator().file("a/stead.yaml", stack).file("b/notes", "");
    case.ok("apply -C a --yes --backend file:books");
    case.ok("import -C b --all --observe --backend file:books").says(&[
        "It belongs to api_key.ci of a/default.",
        "It belongs to the service",
        "It belongs to volume.v of a/default.",
    ]);
    let id = case.cloud().list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    case.fails(1, &format!("import -C b volume.v {id} --yes --backend file:books"))
        .says(&["belongs to volume.v of a/default already"]);
    let key = fs::read_to_string(case.path("a/key")).unwrap();
    let mut command = case.command("import -C b --all --observe");
    let output = command.env("STEAD_API_KEY", key.trim()).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("It is the API key in use") && told.contains("volume.stead.yaml"), "{told}");
    assert!(!told.contains("      ci:"), "{told}");
}

const LINKED: &str = "\
stead: 1
stack: story
project: { p: {} }
database:
  main: { engine: postgres, engine_version: 16, plan: pg-1c-2g, storage_gb: 40 }
app:
  web: { type: web, repo: a/b, branch: main, port: 80, databases: [$database.main], domains: [a.example.com] }
use: { m: { source: ./m } }
";

fn linked() -> Case {
    let module = "ssh_key: { k: { public_key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHEChLAFY9VYXIZ0Qk2lBfbPrZrnkRTsBbBjwqSVxSs k\" } }\n";
    Case::new().file("stead.yaml", LINKED).file("m/stead.yaml", module)
}

#[test]
fn a_rename_updates_the_keys_of_children_named_by_references() {
    let case = linked().emulator();
    case.ok("apply --yes");
    case.ok("mv database.main database.core --yes").says(&["app.web.databases.core"]);
    let before = case.cloud().last();
    case.ok("apply --yes");
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "only the ledger moves");
    no_changes(&case);
    case.edit("stead.yaml", "domains: [a.example.com]", "domains: [$locals.host]");
    case.edit("stead.yaml", "use:", "locals: { host: a.example.com }\nuse:");
    no_changes(&case);
}

#[test]
fn an_impossible_rename_or_removal_is_rejected() {
    let case = linked();
    let before = text(&case);
    case.fails(64, "mv m.ssh_key.k m.vm.k --yes")
        .says(&["m.ssh_key.k has the kind ssh_key", "only a name"]);
    case.fails(64, "mv app.web.domains.a-example-com app.web.domains.x --yes")
        .says(&["has its value as its name", "domains: { NAME: { domain: … } }"]);
    case.fails(1, "rm database.main --delete --yes").says(&[
        "database.main is not removed",
        "app.web.databases.main",
        "stead.yaml:7:",
    ]);
    assert_eq!(text(&case), before);
    case.ok("rm app.web.domains.a-example-com --delete --yes");
    assert!(
        text(&case).contains("domains: []") || !text(&case).contains("a.example.com]"),
        "{}",
        text(&case)
    );
}

/// An edit is one of the files, for all environments.
#[test]
fn an_edit_needs_no_environment() {
    let stack = |name: &str, block: &str| {
        let environments = "environments: { prod: { vars: { n: 1 } }, dev: { vars: { n: 2 } } }";
        format!("stead: 1\nstack: {name}\nvars: {{ n: {{ type: int }} }}\n{environments}\n{block}\n")
    };
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(
            "a/stead.yaml",
            stack("a", "vpc:\n  one: { name: \"one${vars.n}\", cidr: \"10.${vars.n}1.0.0/16\" }\n  two: { name: \"two${vars.n}\", cidr: \"10.${vars.n}2.0.0/16\" }"),
        )
        .file("b/stead.yaml", stack("b", "vpc:\n  three: { name: \"three${vars.n}\", cidr: \"10.${vars.n}3.0.0/16\" }"))
        .emulator();
    for directory in ["a", "b"] {
        for environment in ["prod", "dev"] {
            case.ok(&format!("-C {directory} -e {environment} apply --yes"));
        }
    }
    case.ok("-C a mv vpc.one vpc.first --yes").says(&["next: stead -C a plan -e dev  # shows the move"]);
    case.ok("-C a mv vpc.two --to-stack ../b --yes").says(&["plan -e dev", "apply it in either stack"]);
    case.ok("-C b rm vpc.three --keep --yes").says(&["next: stead -C b plan -e dev"]);
    for environment in ["prod", "dev"] {
        case.ok(&format!("-C a -e {environment} apply --yes"));
        case.ok(&format!("-C b -e {environment} apply --yes"));
        case.ok(&format!("plan --all -e {environment} --exit-code"));
    }
    assert_eq!(
        case.cloud().list("/api/v1/vpcs").iter().filter(|one| one["cidr"] != "10.0.0.0/16").count(),
        6
    );
}
