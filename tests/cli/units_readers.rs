//! Units that are not selected, and that use what a selected one deletes.

use crate::case::{Case, Run};

const NET: &str = "stead: 1\nstack: net\nvpc: { main: { name: main, cidr: 10.30.0.0/16 } }\noutputs: { vpc_id: $vpc.main, label: blue }\n";
const APP: &str = "stead: 1\nstack: app\nstacks: { net: ../net }\nvm: { web: { name: web, template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\n";
const LOG: &str = "stead: 1\nstack: log\nstacks: { net: ../net }\nvolume: { v: { name: \"v-${stacks.net.label}\", size: 10 } }\n";

fn repository() -> Case {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", NET)
        .file("app/stead.yaml", APP)
        .file("log/stead.yaml", LOG)
        .emulator();
    let plan = case.ok("plan --all");
    let next = plan.stderr.lines().find_map(|line| line.strip_prefix("next: stead ")).unwrap();
    case.ok(next);
    case
}

fn destroy(case: &Case, code: i32, flags: &str) -> Run {
    let root = case.path("").file_name().unwrap().to_string_lossy().into_owned();
    case.fails(code, &format!("destroy --all {flags} --yes --confirm {root}"))
}

#[test]
fn a_destroy_is_refused_while_a_reader_outside_of_the_selection_has_objects() {
    let case = repository();
    let last = case.cloud().last();
    let run = destroy(&case, 4, "--stacks net");
    run.says(&["outside_reader", "vm.web of app/default, which is not selected, uses vpc.main."]);
    run.says(&["log/default, which is not selected, has 1 object and reads outputs of this unit."]);
    run.says(&["--force-readers log/default", "Readers in other repositories are not known."]);
    case.fails(4, "plan --all --destroy --stacks net").says(&["outside_reader"]);
    destroy(&case, 64, "--stacks net --force-readers log/defautl").says(&["Did you mean `log/default`?"]);
    // A unit that is named may lose what it reads, and no other.
    destroy(&case, 4, "--stacks net --force-readers log/default").says(&["app/default"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // A reader whose objects are gone does not count.
    destroy(&case, 0, "--stacks app");
    destroy(&case, 4, "--stacks net").says(&["log/default"]);
    destroy(&case, 0, "--stacks net --force-readers log/default").says(&["1 applied"]);
    assert!(case.cloud().list("/api/v1/vpcs").is_empty());
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 1);
    destroy(&case, 0, "");
    assert!(case.cloud().list("/api/v1/volumes").is_empty());
}

#[test]
fn a_reader_with_errors_still_reads_and_still_uses_objects() {
    let case = repository();
    let last = case.cloud().last();
    // What it needs is missing, and its files say what it reads.
    case.edit("app/stead.yaml", "stacks:", "vars: { size: { type: string } }\nstacks:");
    let run = destroy(&case, 4, "--stacks net --force-readers log/default");
    run.says(&["vm.web of app/default, which is not selected, uses vpc.main."]);
    let whole = "plan --all --destroy";
    case.fails(1, whole).says(&["vm.web of app/default, whose configuration has errors, uses vpc.main."]);
    case.edit("net/stead.yaml", "10.30.0.0/16", "10.31.0.0/16");
    case.fails(1, "plan --all").says(&["app/default, whose configuration has errors, uses vpc.main."]);
    case.edit("net/stead.yaml", "10.31.0.0/16", "10.30.0.0/16");
    case.edit("net/stead.yaml", "vpc_id: $vpc.main, ", "");
    for plan in ["plan --all --stacks net", "-C net plan"] {
        case.fails(4, plan).says(&["output_read", "app/default, whose configuration has"]);
    }
    case.edit("net/stead.yaml", "outputs: { ", "outputs: { vpc_id: $vpc.main, ");
    // Without a syntax, it may read anything.
    case.edit("app/stead.yaml", "stack: app", "  stack: [");
    destroy(&case, 4, "--stacks net --force-readers log/default").says(&[
        "outside_reader",
        "The stack in `app` cannot be read, so whether it uses what this unit has",
    ]);
    case.fails(1, whole).says(&["The stack in `app` cannot be read"]);
    case.edit("net/stead.yaml", "vpc_id: $vpc.main, ", "");
    for plan in ["plan --all --stacks net", "-C net plan"] {
        case.fails(4, plan).says(&["output_read", "the stack in `app`, which cannot be read,"]);
    }
    // An output that is kept is of no interest to a stack that cannot be read.
    case.edit("net/stead.yaml", "outputs: { ", "outputs: { vpc_id: $vpc.main, ");
    case.ok("-C net plan");
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
}

#[test]
fn an_apply_does_not_replace_what_a_unit_outside_of_the_selection_uses() {
    let case = repository();
    case.edit("net/stead.yaml", "10.30.0.0/16", "10.31.0.0/16");
    let last = case.cloud().last();
    let run = case.fails(4, "plan --all --stacks net");
    run.says(&[
        "vm.web of app/default, which is not selected, uses vpc.main.",
        "Apply it, too: --stacks app/default",
    ]);
    assert!(!run.stdout.contains("log/default"), "{}", run.stdout);
    case.fails(4, "apply --all --stacks net --yes").says(&["outside_reader"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    case.ok("plan --all --stacks net --stacks app/default --replace app/default:vm.web");
    // The service would refuse the deletion of the old VPC after the new one exists, so no flag allows the loss.
    assert!(!run.all().contains("--force-readers"), "{}", run.all());
    run.says(&["The service refuses the deletion", "while vm.web uses it", "vm.web of app/default,"]);
    let rule = "A VPC can be deleted only when no VM, database or cluster is in it";
    for forced in ["plan --all --stacks net --force-readers app/default", "-C net plan"] {
        case.fails(4, forced).says(&[rule, "the vm"]);
    }
    case.fails(4, "-C net apply --yes").says(&[rule]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
}

#[test]
fn a_replacement_reads_what_may_use_the_old_object_and_a_plan_without_one_does_not() {
    let case = repository();
    let lists = |command: &str| {
        let last = case.cloud().last();
        case.run(command);
        let requests = case.cloud().requests().into_iter();
        let requests = requests.filter(|(seq, line, _)| *seq > last && line == "GET /api/v1/vms");
        requests.count()
    };
    assert_eq!(lists("-C net plan"), 0);
    case.edit("net/stead.yaml", "10.30.0.0/16", "10.31.0.0/16");
    assert_eq!(lists("-C net plan"), 1);
    assert_eq!(lists("plan --all --stacks net"), 1);
}

/// Two stacks that are applied, of which the second looks up what the first has.
fn looked_up(home: &str, eye: &str) -> Case {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("home/stead.yaml", home)
        .file("eye/stead.yaml", eye)
        .emulator();
    case.ok("-C home apply --yes");
    case.ok("-C eye apply --yes");
    case
}

#[test]
fn a_change_of_what_another_unit_looks_up_is_a_conflict() {
    let home = "stead: 1\nstack: home\nproject: { p: { name: alpha } }\n";
    let eye = "stead: 1\nstack: eye\ndata: { project: { p: { name: alpha } } }\n\
        vpc: { v: { name: v, cidr: 10.40.0.0/16, project: $data.project.p } }\n";
    let case = looked_up(home, eye);
    case.edit("home/stead.yaml", "name: alpha", "name: beta");
    case.fails(4, "plan --all").says(&[
        "unit_conflict",
        "data.project.p finds project.p of home/default by its name, which",
        "project.p would have another name, by which data.project.p of",
    ]);
    let run = case.fails(4, "plan --all --stacks home");
    run.says(&["outside_reader", "data.project.p of eye/default, which is not selected, finds project.p"]);
    // To select the other unit would be a conflict, so it is no remedy.
    run.says(&["Change or remove data.project.p in eye/default first."]);
    run.says(&["until its lookup is changed: --force-readers eye/default."]);
    assert!(!run.all().contains("Apply it, too"), "{}", run.all());
    case.fails(4, "plan --all").says(&[
        "Or apply --stacks",
        "home/default --force-readers eye/default, and change the lookup after that.",
    ]);
    case.ok("plan --all --stacks home --force-readers eye/default");
    // A change of what it neither looks for nor reads is none.
    case.edit("home/stead.yaml", "name: beta", "name: alpha, description: x");
    let plan = case.ok("plan --all");
    plan.says(&["project.p"]);
    assert!(!plan.all().contains("data.project.p"), "{}", plan.all());
}

#[test]
fn a_second_object_for_a_lookup_of_another_unit_is_a_conflict() {
    let home = "stead: 1\nstack: home\nvolume: { v: { name: vol, size: 10 } }\n";
    let eye = "stead: 1\nstack: eye\ndata: { volume: { v: { size: 10 } } }\n\
        project: { p: { name: alpha, description: $data.volume.v.name } }\n";
    let case = looked_up(home, eye);
    let new = "stead: 1\nstack: new\nvolume: { w: { name: w, size: 10 }, x: { name: x, size: 5 } }\n";
    case.write("new/stead.yaml", new);
    let run = case.fails(4, "plan --all");
    run.says(&["unit_conflict", "volume.w would have the size by which data.volume.v of eye/default"]);
    run.says(&["unit_conflict", "data.volume.v would find a second object: volume.w of new/default"]);
    case.fails(4, "plan --all --stacks new")
        .says(&["outside_reader", "data.volume.v of eye/default, which is not selected, finds another"]);
    // A lookup by more than the size does not find it, and an update makes one, too.
    case.edit("eye/stead.yaml", "{ size: 10 }", "{ name: vol, size: 10 }");
    case.ok("plan --all");
    case.edit("eye/stead.yaml", "{ name: vol, size: 10 }", "{ size: 10 }");
    case.edit("new/stead.yaml", "w: { name: w, size: 10 }, ", "");
    case.ok("-C new apply --yes");
    case.edit("new/stead.yaml", "size: 5", "size: 10");
    case.fails(4, "plan --all").says(&["volume.x would have the size by which"]);
    // What a stack declares itself, it does not look up.
    case.write("eye/stead.yaml", format!("{eye}volume: {{ own: {{ name: own, size: 10 }} }}\n"));
    case.fails(1, "-C eye plan")
        .says(&["a lookup would find several objects", "and volume.own of this stack has the"]);
}

/// The name of an object says nothing of the objects in another account.
#[test]
fn a_lookup_in_another_account_is_not_broken() {
    let home = "stead: 1\nstack: home\nproject: { p: { name: alpha } }\n";
    let eye = "stead: 1\nstack: eye\ndata: { project: { p: { name: alpha } } }\n\
        vpc: { v: { name: v, cidr: 10.40.0.0/16, project: $data.project.p } }\n";
    let case = looked_up(home, eye);
    case.edit("home/stead.yaml", "name: alpha", "name: beta");
    case.fails(4, "plan --all --stacks home").says(&["outside_reader"]);
    case.write(
        ".config/stead/settings.toml",
        "[profiles.other]\nkey_command = [\"false\"]\n[[units]]\nmatch = \"eye/default\"\nprofile = \"other\"\n",
    );
    case.ok("plan --all --stacks home");
}

#[test]
fn a_change_of_what_a_lookup_of_another_unit_reads_is_noted() {
    let home = "stead: 1\nstack: home\nvolume: { v: { name: vol, size: 10 } }\n";
    let eye = "stead: 1\nstack: eye\ndata: { volume: { v: { name: vol } } }\n\
        project: { p: { name: alpha, description: \"${data.volume.v.size} GB\" } }\n";
    let case = looked_up(home, eye);
    case.edit("home/stead.yaml", "size: 10", "size: 20");
    let plan = case.ok("plan --all");
    plan.says(&["data.volume.v finds volume.v of home/default", "which changes its size"]);
    let document = case.ok("plan --all --output json").json();
    let units = document["units"].as_array().unwrap();
    let eye = units.iter().find(|unit| unit["stack"] == "eye").unwrap();
    assert_eq!(eye["plan"]["notes"][0]["code"], "stale_read", "{eye}");
    case.apply_all();
    // The plan after it shows what follows.
    case.fails(2, "plan --all --exit-code").says(&["project.p", "20 GB"]);
}

const CHAIN: &[(&str, &str)] = &[
    (
        "net",
        "stead: 1\nstack: net\nvpc: { main: { name: main, cidr: 10.30.0.0/16 } }\noutputs: { vpc_id: $vpc.main, cidr: $vpc.main.cidr, label: blue }\n",
    ),
    (
        "app",
        "stead: 1\nstack: app\nstacks: { net: ../net }\nvm: { web: { name: web, template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\noutputs: { fixed: red, moves: $stacks.net.cidr }\n",
    ),
    (
        "log",
        "stead: 1\nstack: log\nstacks: { net: ../net }\nvpc: { v: { name: \"v-${stacks.net.label}\", cidr: 10.98.0.0/16 } }\n",
    ),
    (
        "top",
        "stead: 1\nstack: top\nstacks: { app: ../app }\nvpc: { t: { name: \"t-${stacks.app.fixed}\", cidr: 10.99.0.0/16 } }\n",
    ),
    (
        "eye",
        "stead: 1\nstack: eye\nstacks: { app: ../app, log: ../log }\nssh_key: { k: { name: \"k ${stacks.app.moves}\", public_key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGGYP5EXrhNPjZBZDhXvUcBbRLj3g3XvbVVZYF2iEcZS ops\" } }\n",
    ),
];

/// Returns the names of the units that a plan with these flags covers.
fn covered(case: &Case, flags: &str) -> Vec<String> {
    let plan = case.ok(&format!("plan --all {flags} --output json")).json();
    let units = plan["units"].as_array().unwrap().iter();
    let mut names: Vec<String> = units.map(|unit| unit["stack"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn dependents_are_added_where_what_they_read_changes() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
    for (name, text) in CHAIN {
        case.write(&format!("{name}/stead.yaml"), text);
    }
    let plan = case.ok("plan --all");
    let next = plan.stderr.lines().find_map(|line| line.strip_prefix("next: stead ")).unwrap();
    case.ok(next);
    // Nothing changes: all four readers are left out.
    let run = case.ok("plan --all --stacks net --with-dependents");
    run.says(&["4 readers left out: what they read does not change"]);
    assert_eq!(covered(&case, "--stacks net --with-dependents"), ["net"]);
    // The list of units does not plan, so it has all readers.
    assert_eq!(
        case.ok("stacks --stacks net --with-dependents --output json").json()["units"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    // A label changes: only its reader is added.
    case.edit("net/stead.yaml", "label: blue", "label: green");
    assert_eq!(covered(&case, "--stacks net --with-dependents"), ["log", "net"]);
    let plan = case.ok("plan --all --stacks net --with-dependents");
    plan.says(&["3 readers left out"]);
    let next = plan.stderr.lines().find_map(|line| line.strip_prefix("next: stead ")).unwrap();
    case.ok(next).says(&["applied"]);
    let networks = case.cloud().list("/api/v1/vpcs");
    assert!(networks.iter().any(|network| network["name"] == "v-green"), "{networks:?}");
    // The network is replaced: its id is not known, and its range changes, also through a reader of it.
    case.edit("net/stead.yaml", "10.30.0.0/16", "10.31.0.0/16");
    let dependents = "--stacks net --with-dependents --replace app/default:vm.web";
    assert_eq!(covered(&case, dependents), ["app", "eye", "net"]);
    // The same fingerprint as over all units: the others have nothing to do.
    let of =
        |flags: &str| case.ok(&format!("plan --all {flags} --output json")).json()["fingerprint"].clone();
    assert_eq!(of(dependents), of("--replace app/default:vm.web"));
    case.ok(&format!("plan --all {dependents}")).says(&["2 readers left out"]);
}

#[test]
fn an_output_keeps_the_type_that_its_readers_need() {
    let case = repository();
    case.edit("net/stead.yaml", "vpc_id: $vpc.main", "vpc_id: [$vpc.main]");
    for plan in ["-C net plan", "plan --all --stacks net"] {
        case.fails(4, plan)
            .says(&["output_read", "app/default reads an output of this unit that does not fit"]);
    }
    let last = case.cloud().last();
    case.fails(4, "-C net apply --yes");
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    // Each output counts for its own unit, and the parts of a map for themselves.
    case.edit("net/stead.yaml", "vpc_id: [$vpc.main]", "vpc_id: $vpc.main, parts: { k: bl }");
    case.edit("log/stead.yaml", "v-${stacks.net.label}", "v-${stacks.net.parts.k}${stacks.net2.tail}");
    case.edit("log/stead.yaml", "{ net: ../net }", "{ net: ../net, net2: ../net2 }");
    case.write("net2/stead.yaml", "stead: 1\nstack: net2\noutputs: { tail: ue }\n");
    case.apply_all();
    case.edit("net2/stead.yaml", "tail: ue", "tail: [ue]");
    case.edit("net/stead.yaml", "label: blue", "label: green");
    let run = case.fails(1, "plan --all");
    assert_eq!(run.all().matches("output_read").count(), 1, "{}", run.all());
    case.ok("plan --all --stacks net");
    case.fails(4, "plan --all --stacks net2").says(&["output_read", "log/default reads an output"]);
    case.edit("net2/stead.yaml", "tail: [ue]", "tail: ue");
    case.edit("net/stead.yaml", "parts: { k: bl }", "parts: { j: bl }");
    case.fails(4, "-C net plan").says(&["output_read", "log/default reads an output"]);
    case.edit("net/stead.yaml", "parts: { j: bl }", "parts: { k: bl }");
    case.edit("net/stead.yaml", "label: green", "label: blue");
    case.edit("net/stead.yaml", "vpc_id: $vpc.main, parts", "vpc_id: [$vpc.main], parts");
    // Another output of the unit may change, and what no longer reads the output does not need its type.
    case.edit("net/stead.yaml", "vpc_id: [$vpc.main]", "vpc_id: $vpc.main");
    case.edit("net/stead.yaml", "label: blue", "label: [blue]");
    case.ok("-C net plan");
}

#[test]
fn the_remedy_of_a_selection_by_environment_keeps_what_it_selects() {
    let net = "stead: 1\nstack: net\nenvironments: { dev: {} }\nvpc: { main: { name: main, cidr: 10.30.0.0/16 } }\noutputs: { vpc_id: $vpc.main }\n";
    let app = APP.replace("stack: app\n", "stack: app\nenvironments: { dev: {} }\n");
    let tools = "stead: 1\nstack: tools\ndata: { vpc: { main: { name: main } } }\nvm: { t: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $data.vpc.main } }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("net/stead.yaml", net)
        .file("app/stead.yaml", app)
        .emulator();
    case.apply_all();
    case.write("tools/stead.yaml", tools);
    case.ok("-C tools apply --yes");
    let run = case.fails(4, "plan --all --destroy -e dev");
    run.says(&["Destroy it, too: --stacks '*/dev' --stacks tools/default in place of -e"]);
    case.ok("plan --all --destroy --stacks */dev --stacks tools/default");
}

#[test]
fn a_unit_that_begins_to_read_the_value_that_it_had_is_known_as_reader_once_it_is_removed() {
    let case = repository();
    case.edit("log/stead.yaml", "v-${stacks.net.label}", "v-blue");
    case.apply_all();
    case.edit("log/stead.yaml", "v-blue", "v-${stacks.net.label}");
    case.ok("plan --all --exit-code").says(&["No changes"]);
    case.apply_all();
    std::fs::remove_file(case.path("log/stead.yaml")).unwrap();
    std::fs::remove_file(case.path("app/stead.yaml")).unwrap();
    destroy(&case, 4, "--stacks net").says(&["log/default, which was removed from the repository, has 1"]);
}

/// A file that cannot be read may be that of a reader, also for the destroy of one stack.
#[test]
fn the_destroy_of_one_stack_is_blocked_while_another_stack_cannot_be_read() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(
            "net/stead.yaml",
            "stead: 1\nstack: net\nvolume: { v: { name: v, size: 10 } }\noutputs: { n: $volume.v.id }\n",
        )
        .file(
            "app/stead.yaml",
            "stead: 1\nstack: app\nstacks: { net: ../net }\n\
             volume: { w: { name: \"w-${stacks.net.n == '' ? 'a' : 'b'}\", size: 10 } }\n",
        )
        .emulator();
    case.apply_all();
    case.edit("app/stead.yaml", "stead: 1", "foo: [\nstead: 1");
    let refused = case.fails(4, "-C net destroy --yes --confirm net");
    refused.says(&["outside_reader", "The stack in `app` cannot be read"]);
    assert_eq!(case.cloud().list("/api/v1/volumes").len(), 2);
}
