//! Claims about many stacks that were wrong: what uses a removed unit, which environment is read, what a failed unit has, and
//! how an apply that failed goes on.
#![allow(clippy::disallowed_methods, reason = "tests read the files that commands leave")]

use crate::case::Case;

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: {}, qa: {} }\nvars: { e: { type: string, default: x } }\n\
    vpc: { v: { name: \"v-${env}\", cidr: \"${env == 'qa' ? '10.1.0.0/16' : '10.2.0.0/16'}\" } }\n\
    outputs: { h: \"net-${env}\" }\n";
const SHOP: &str = "stead: 1\nstack: shop\nenvironments: { dev: {}, qa: {} }\nstacks: { net: ../net }\n\
    project: { p: { name: \"p-${env}\", description: $stacks.net.h } }\n";

fn repository(net: &str, shop: &str) -> Case {
    Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", net)
        .file("shop/stead.yaml", shop)
        .emulator()
}

#[test]
fn a_removed_unit_keeps_its_objects_while_another_unit_reads_its_outputs() {
    let case = repository(NET, SHOP);
    case.apply_all();
    let before = case.cloud().list("/api/v1/vpcs").len();
    case.edit("net/stead.yaml", ", qa: {} }\nvars", " }\nvars");
    case.fails(1, "stacks").says(&["net/qa", "(removed)", "shop/qa", "net/qa"]);
    for selection in ["--stacks net", "--stacks net --stacks shop", ""] {
        let plan = case.run(&format!("plan --all --remove net/qa {selection}"));
        assert!([1, 4].contains(&plan.code), "{selection}: {}", plan.all());
        plan.says(&["outside_reader", "shop/qa", "reads outputs of"]);
        let applied = case.run(&format!("apply --all --remove net/qa {selection} -e qa --yes"));
        assert_ne!(applied.code, 0, "{}", applied.all());
    }
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), before);
    // The whole stack is gone.
    std::fs::remove_file(case.path("net/stead.yaml")).unwrap();
    let plan = case.run("plan --all --remove net/qa --remove net/dev --stacks net");
    assert_eq!(plan.code, 4, "{}", plan.all());
    plan.says(&["shop/dev", "reads outputs of"]);
    // What no longer reads it does not hold it.
    case.edit("shop/stead.yaml", "stacks: { net: ../net }\n", "");
    case.edit("shop/stead.yaml", "$stacks.net.h", "alone");
    let plan = case.ok("plan --all --remove net/qa --remove net/dev --output json").json();
    let removal = "apply --all --remove net/qa --remove net/dev";
    case.ok(&format!("{removal} --expect {}", plan["fingerprint"].as_str().unwrap()));
    assert_eq!(case.cloud().list("/api/v1/vpcs").len(), before - 2);
}

#[test]
fn another_environment_is_read_only_if_the_stack_names_it() {
    let one = NET.replace("dev: {}, qa: {}", "qa: {}");
    let case = repository(&one, SHOP);
    let says = ["The stack in `../net` has no environment `dev`", "env: …", "it has qa"];
    case.fails(1, "validate --all").says(&says);
    case.fails(1, "plan --all -e dev").says(&says);
    let alone = ["has no environment `dev`", "env: …", "It has qa"];
    case.fails(1, "-C shop -e dev plan").says(&alone);
    // The remedy of the message.
    case.edit("shop/stead.yaml", "net: ../net", "net: { source: ../net, env: qa }");
    case.ok("validate --all");
    case.ok("stacks").says(&["shop/dev", "net/qa"]);
    // A stack without environments has no name of its own to look for.
    case.write(
        "lone/stead.yaml",
        "stead: 1\nstack: lone\nstacks: { net: ../net }\noutputs: { h: $stacks.net.h }\n",
    );
    case.ok("validate --all");
}

#[test]
fn what_cannot_be_read_is_not_called_missing_or_empty() {
    let case = repository(NET, SHOP);
    case.apply_all();
    case.write("net/stead.yaml", "stead: 1\nstack: net\nvpc: {{{\n");
    let run = case.fails(1, "validate --all");
    run.says(&["another stack cannot be read", "stack files in `../net` have errors"]);
    assert!(!run.all().contains("no directory of a stack"), "{}", run.all());
    let listed = case.fails(1, "ls --all");
    assert!(!listed.all().contains("Nothing is managed"), "{}", listed.all());
}

#[test]
fn each_report_says_what_is_wrong_in_a_configuration() {
    let case = repository(NET, &SHOP.replace("description", "descripton"));
    case.fails(1, "plan --all --report md=p.md --report junit=p.xml --report sarif=p.sarif");
    for file in ["p.md", "p.xml", "p.sarif"] {
        let text = std::fs::read_to_string(case.path(file)).unwrap();
        assert!(text.contains("S0220") && text.contains("descripton"), "{file}: {text}");
        assert!(text.replace("&#58;", ":").contains("shop/stead.yaml:5"), "{file}: {text}");
    }
}

#[test]
fn an_apply_that_failed_names_the_command_with_its_approvals() {
    let stack = "stead: 1\nstack: f\nvm: { w: { template: ubuntu-24.04, plan: std-1c-2g }, x: { template: ubuntu-24.04, plan: std-1c-2g } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.write("stead.yaml", stack.replace("ubuntu-24.04", "debian-12"));
    case.cloud().faults(&["POST /vms=403:100%"]);
    let failed = case.fails(7, "apply --target vm.w --yes");
    failed.says(&["fix what failed, then stead apply --target vm.w"]);
    case.write(".git/HEAD", "ref: refs/heads/main\n");
    let plan = case.ok("plan --all --output json").json();
    let expected = format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap());
    let failed = case.run(&expected);
    assert!([1, 6, 7].contains(&failed.code), "{}", failed.all());
    failed.says(&["next: stead apply --all", "--expect", "continues with what is not done"]);
    assert!(!failed.all().contains("then stead apply:"), "{}", failed.all());
}

#[test]
fn a_stack_that_is_destroyed_alone_keeps_what_others_read() {
    let case = repository(NET, SHOP);
    // A reader without objects loses nothing.
    case.ok("-C net -e dev apply --yes");
    case.ok("-C net -e dev destroy --yes --confirm net").says(&["Destroyed"]);
    case.apply_all();
    let refused = case.fails(4, "-C net -e dev destroy --yes --confirm net");
    refused.says(&["outside_reader", "shop/dev has 1 object and reads outputs of this unit"]);
    case.fails(4, "-C net -e dev plan --destroy").says(&["outside_reader"]);
    // The remedies of the message.
    let text: String = refused.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = |before: &str| {
        let after = text.split(before).nth(1).unwrap_or_else(|| panic!("{text}"));
        after.split(". ").next().unwrap().trim_end_matches('.').trim_start_matches("stead ").to_owned()
    };
    let (both, forced) = (command("Destroy both: "), command("lose what it reads: "));
    case.ok(&format!("{both} --plan-only")
        .replace("destroy", "plan --destroy")
        .replace(" --plan-only", ""));
    let root = case.path(".").canonicalize().unwrap();
    let root = root.file_name().unwrap().to_string_lossy().into_owned();
    case.ok(&format!("{forced} --yes --confirm {root}")).says(&["net/dev"]);
    case.ok("-C net -e qa plan");
}

#[test]
fn a_move_to_another_project_is_refused_before_the_files_change() {
    let stack = |name: &str, rest: &str| {
        format!("stead: 1\nstack: {name}\nproject: {{ {name}p: {{ name: {name}p }} }}\n{rest}")
    };
    let volume = "volume:\n  d: { size: 10 }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", stack("a", volume))
        .file("b/stead.yaml", stack("b", ""))
        .file("c/stead.yaml", "stead: 1\nstack: c\n")
        .emulator();
    let before = std::fs::read_to_string(case.path("a/stead.yaml")).unwrap();
    let refused = case.fails(1, "-C a mv volume.d --to-stack ../b --yes");
    refused.says(&[
        "volume.d is in project.ap of this stack",
        "project.bp of the stack in ../b",
        "Nothing was written",
    ]);
    assert_eq!(std::fs::read_to_string(case.path("a/stead.yaml")).unwrap(), before);
    // The remedy of the message.
    case.apply_all();
    case.ok("-C a mv project.ap --to-stack ../c --yes");
    case.ok("-C a mv volume.d --to-stack ../c --yes");
    case.apply_all();
    case.ok("plan --all --exit-code");
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
    // A stack that has nothing left was applied, so that its moves are known to be done.
    for directory in ["a", "c"] {
        case.ok(&format!("-C {directory} fmt --prune"));
        let text = std::fs::read_to_string(case.path(&format!("{directory}/stead.yaml"))).unwrap();
        assert!(!text.contains("moved"), "{text}");
    }
    std::fs::remove_file(case.path("c/stead.yaml")).unwrap();
    case.ok("-C a validate");
}

const MACHINES: &str = "stead: 1\nstack: net\nvm:\n  g: { name: gold, template: ubuntu-24.04, plan: std-1c-1g }\n  \
    h: { name: hold, template: ubuntu-24.04, plan: std-1c-1g }\n";
const DISKS: &str = "stead: 1\nstack: app\ndata: { vm: { g: { name: gold } } }\nvolume:\n  \
    v: { name: v, size: 10, vm: $data.vm.g }\n  w: { name: w, size: 10 }\n";

/// Two stacks, one of which attaches its volume to a VM of the other, found by its name.
fn attached() -> Case {
    let case = repository(MACHINES, "").file("app/stead.yaml", DISKS);
    std::fs::remove_dir_all(case.path("shop")).unwrap();
    case.ok("-C net apply --yes");
    case.ok("-C app apply --yes");
    case
}

/// As `attached`; the VM is then removed, and the volume attached to the other one, in the files.
fn moved_to_another_vm() -> Case {
    let case = attached();
    case.edit("net/stead.yaml", "  g: { name: gold, template: ubuntu-24.04, plan: std-1c-1g }\n", "");
    case.edit("net/stead.yaml", "stack: net\n", "stack: net\nremoved: [{ from: vm.g, action: delete }]\n");
    case.edit("app/stead.yaml", "name: gold", "name: hold");
    case
}

#[test]
fn a_destroy_keeps_what_a_protected_object_of_another_unit_is_attached_to() {
    let case = attached();
    case.edit("app/stead.yaml", "vm: $data.vm.g }", "vm: $data.vm.g, lifecycle: { protect: true } }");
    case.ok("-C app apply --yes");
    let last = case.cloud().last();
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    case.fails(4, "plan --all --destroy").says(&["app/default, which uses what this unit has"]);
    case.fails(4, &format!("destroy --all --yes --confirm {root}"));
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
}

#[test]
fn a_deletion_waits_for_the_unit_that_detaches_its_object() {
    let case = moved_to_another_vm();
    let plan = case.ok("plan --all --output json").json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    // The detachment fails, so the VM stays.
    case.cloud().faults(&["POST /volumes/*/detach=403:20"]);
    case.fails(6, &format!("apply --all --expect {fingerprint}"));
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 2);
    case.cloud().faults(&[]);
    case.ok(&format!("apply --all --expect {fingerprint}"));
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1);
    case.ok("plan --all --exit-code");
}

#[test]
fn a_unit_that_is_blocked_keeps_what_its_object_is_attached_to() {
    let case = moved_to_another_vm();
    case.edit("app/stead.yaml", "name: w,", "name: w9,");
    let last = case.cloud().last();
    case.fails(4, "plan --all").says(&["holds_data", "app/default, which uses what this unit deletes"]);
    case.fails(4, "apply --all --yes");
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
}

#[test]
fn a_removed_unit_holds_what_it_is_attached_to_and_what_it_read() {
    let case = attached();
    let net = "stead: 1\nstack: home\nvpc: { main: { name: main, cidr: 10.30.0.0/16 } }\noutputs: { label: blue }\n";
    let log = "stead: 1\nstack: log\nstacks: { home: ../home }\n\
        volume: { v: { name: \"v-${stacks.home.label}\", size: 10 } }\n";
    let case = case.file("home/stead.yaml", net).file("log/stead.yaml", log);
    case.ok("-C home apply --yes");
    case.ok("-C log apply --yes");
    std::fs::remove_file(case.path("log/stead.yaml")).unwrap();
    std::fs::remove_file(case.path("app/stead.yaml")).unwrap();
    // However narrow the selection: the ledgers of removed units are read.
    case.edit("net/stead.yaml", "gold, template: ubuntu-24.04", "gold, template: debian-12");
    for selection in ["", " --stacks net", " --stacks net/default"] {
        let plan = case.fails(4, &format!("plan --all{selection} --replace net/default:vm.g"));
        plan.says(&["outside_reader", "volume.v of app/default, which was removed"]);
    }
    let last = case.cloud().last();
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    for selection in ["", "--stacks home/default "] {
        let run = case.fails(4, &format!("destroy --all {selection}--yes --confirm {root}"));
        run.says(&["log/default, which was removed from the repository, has 1"]);
    }
    let mutations = case.cloud().mutations_since(last);
    assert!(mutations.iter().all(|line| !line.contains("/vpcs")), "{mutations:?}");
    let refused = case.fails(64, "plan --all --destroy --remove log/default");
    refused.says(&["--remove cannot be used with --destroy", "stead plan --all --remove log/default"]);
    // The remedies, in this order.
    let plan = case.ok("plan --all --stacks home --remove log/default --output json").json();
    let fingerprint = plan["fingerprint"].as_str().unwrap().to_owned();
    case.ok(&format!("apply --all --stacks home --remove log/default --expect {fingerprint}"));
    case.ok(&format!("destroy --all --stacks home/default --yes --confirm {root}"));
}

/// Without a backend each stack has its ledger in its own directory: a command on one of them reads those of the others before
/// it takes an object.
#[test]
fn one_stack_takes_no_object_that_another_stack_of_the_repository_owns() {
    let stack = |name: &str, more: &str| format!("stead: 1\nstack: {name}\n{more}");
    let volume = |key: &str| format!("volume: {{ {key}: {{ name: one, size: 20 }} }}\n");
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("a/stead.yaml", stack("va", &volume("x")))
        .file("e/stead.yaml", stack("ve", ""))
        .emulator();
    case.ok("-C a apply --yes");
    let id = case.cloud().list("/api/v1/volumes")[0]["id"].as_str().unwrap().to_owned();
    let import = format!("import: [{{ to: volume.y, id: {id} }}]\n{}", volume("y"));
    case.write("c/stead.yaml", stack("vc", &import));
    let owner = format!("{id} belongs to volume.x of va/default already");
    for command in ["-C c plan", "-C c apply --yes"] {
        let run = case.fails(4, command);
        let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&owner), "{command}: {}", run.all());
    }
    case.write("c/stead.yaml", stack("vc", &volume("y")));
    assert!(
        case.fails(4, &format!("-C c plan --adopt volume.y={id}"))
            .stdout
            .contains("volume.x of va/default")
    );
    let unmanaged = case.ok("-C c ls --unmanaged").stdout;
    assert!(!unmanaged.contains(&id), "{unmanaged}");
    let refused = case.run(&format!("-C e import volume.y {id} --yes"));
    assert_ne!(refused.code, 0, "{}", refused.all());
    case.run("-C e import --all --yes");
    assert!(!case.ok("ls --all").stdout.contains("ve/default  volume"), "{}", case.ok("ls --all").stdout);
    case.ok("-C a plan --exit-code");
}
