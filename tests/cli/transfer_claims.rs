//! Moves between stacks that only one side declares, that two stacks claim, or whose stack was removed: nothing is deleted.

use std::fs;

use serde_json::Value;

use crate::case::{Case, Run};

const SHARED: &str = "vpc:\n  shared: { cidr: 10.9.0.0/16 }\n";
const VOLUME: &str = "volume:\n  data: { size: 10 }\n";

struct Repository(Case);

impl Repository {
    /// Writes stacks, and applies them.
    fn new(stacks: &[(&str, &str)]) -> Self {
        let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n").emulator();
        for (name, text) in stacks {
            case.write(&format!("{name}/stead.yaml"), format!("stead: 1\nstack: {name}\n{text}"));
        }
        let repository = Self(case);
        for (name, _) in stacks {
            repository.exits(0, &format!("-C {name} apply --yes"));
        }
        repository
    }

    fn exits(&self, code: i32, args: &str) -> Run {
        self.0.fails(code, args)
    }

    fn run(&self, args: &str) -> Run {
        self.0.run(args)
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(&format!("{name}/stead.yaml"), format!("stead: 1\nstack: {name}\n{text}"));
    }

    /// Returns the blockers of a unit as (code, address, text, help).
    fn blockers(plan: &Value, stack: &str) -> Vec<[String; 4]> {
        let units = plan["units"].as_array().unwrap();
        let unit = units.iter().find(|unit| unit["stack"] == stack).unwrap();
        let blocks = unit["plan"]["blocks"].as_array().unwrap_or_else(|| panic!("{unit}"));
        let text = |block: &Value, key: &str| block[key].as_str().unwrap_or_default().to_owned();
        blocks.iter().map(|block| ["code", "address", "text", "help"].map(|key| text(block, key))).collect()
    }

    /// Runs commands, and checks that no request changes anything.
    fn sends_nothing(&self, run: impl FnOnce(&Self)) {
        let last = self.0.cloud().last();
        run(self);
        assert_eq!(self.0.cloud().mutations_since(last), Vec::<String>::new());
    }

    fn count(&self, kind: &str) -> usize {
        self.0.cloud().list(&format!("/api/v1/{kind}")).len()
    }
}

fn has(blockers: &[[String; 4]], code: &str, words: &[&str]) {
    let fits = |[found, _, text, help]: &&[String; 4]| {
        found == code && words.iter().all(|word| text.contains(word) || help.contains(word))
    };
    assert!(blockers.iter().any(|one| fits(&one)), "{code} {words:?}: {blockers:#?}");
}

#[test]
fn a_removed_stack_keeps_what_another_one_claims_and_restoring_it_makes_the_move() {
    let repository = Repository::new(&[("a", VOLUME), ("b", "vpc: { nb: { cidr: 10.1.0.0/16 } }\n")]);
    repository.exits(0, "-C a mv volume.data --to-stack ../b --yes");
    let (a, b) = ("a/stead.yaml", "b/stead.yaml");
    let (files, claims) = (read(&repository, a), read(&repository, b));
    fs::remove_file(repository.0.path(a)).unwrap();
    // With the entry readable, in a stack with another error, and in one whose files are no valid YAML.
    let broken = [claims.clone(), format!("{claims}volume: {{}}\n"), format!("{claims}x: [\n")];
    for text in broken {
        repository.0.write(b, &text);
        repository.sends_nothing(|repository| {
            for flags in ["--remove a/default", "--stacks a/default --remove a/default"] {
                let plan = repository.0.run(&format!("plan --all {flags} --output json")).json();
                let blockers = Repository::blockers(&plan, "a");
                has(&blockers, "unit_conflict", &["volume.data would be deleted", "b"]);
                let fingerprint = plan["fingerprint"].as_str().unwrap();
                let run = repository.0.run(&format!("apply --all {flags} --expect {fingerprint}"));
                assert_ne!(run.code, 0, "{}", run.all());
            }
        });
        assert_eq!(repository.count("volumes"), 1);
    }
    // The remedy: the files, then the move, then the removal.
    repository.0.write(b, &claims);
    repository.exits(4, "plan --all --stacks a/default --remove a/default").says(&[
        "Restore the files of the stack in `a`",
        "from: volume.data",
        "stack: ../b",
    ]);
    repository.0.write(a, &files);
    repository
        .exits(0, "apply --all --stacks a/default --stacks b/default --yes")
        .says(&["Moved 1 resource"]);
    fs::remove_file(repository.0.path(a)).unwrap();
    repository.exits(0, "-C b fmt --prune");
    repository.exits(0, "plan --all --exit-code");
    assert_eq!(repository.count("volumes"), 1);
}

fn read(repository: &Repository, name: &str) -> String {
    fs::read_to_string(repository.0.path(name)).unwrap()
}

#[test]
fn a_move_that_only_the_target_declares_is_blocked_in_both_stacks() {
    let repository = Repository::new(&[("a", SHARED), ("b", VOLUME)]);
    repository.write("a", "");
    repository.write(
        "b",
        &format!("{VOLUME}{SHARED}moved:\n  - {{ from: vpc.shared, to: vpc.shared, from_stack: ../a }}\n"),
    );
    let missing = "{ from: vpc.shared, to: vpc.shared, stack: ../b }";
    repository.sends_nothing(|repository| {
        let plan = repository.exits(4, "plan --all --output json").json();
        let of_a = Repository::blockers(&plan, "a");
        has(
            &of_a,
            "unit_conflict",
            &["vpc.shared would be deleted", "b/default", "b/stead.yaml:", missing],
        );
        assert!(Repository::blockers(&plan, "b").iter().any(|one| one[3].contains(missing)));
        // The unit with the claim is not selected, and then has an error.
        repository.exits(4, "apply --all --stacks a --yes").says(&["b/default", missing]);
        repository.exits(4, "apply --all --stacks b --yes").says(&[missing]);
        repository.exits(4, "-C b apply --yes").says(&["would delete the object", missing]);
        let root = repository.0.path("").canonicalize().unwrap();
        let root = root.file_name().unwrap().to_str().unwrap();
        repository
            .exits(4, &format!("destroy --all --stacks a --yes --confirm {root}"))
            .says(&["vpc.shared would be deleted", "b/default"]);
        repository.0.edit("b/stead.yaml", "size: 10", "size: wrong");
        repository
            .exits(4, "apply --all --stacks a --yes")
            .says(&["the stack has errors", "-C b validate"]);
        repository.0.edit("b/stead.yaml", "size: wrong", "size: 10");
    });
    // The remedy.
    repository.write("a", &format!("moved: [{missing}]\n"));
    repository.exits(0, "apply --all --stacks a --stacks b --yes").says(&["Moved 1 resource"]);
    assert_eq!((repository.count("vpcs"), repository.count("volumes")), (1, 1));
    repository.exits(0, "plan --all --exit-code");
    // A move that is done needs no entry on the other side.
    repository.write("a", "");
    repository.exits(0, "plan --all --exit-code");
}

#[test]
fn a_move_that_only_the_source_declares_is_blocked_in_both_stacks() {
    let repository = Repository::new(&[("a", SHARED), ("b", VOLUME)]);
    repository.write("a", "moved:\n  - { from: vpc.shared, to: vpc.shared, stack: ../b }\n");
    repository.write("b", &format!("{VOLUME}{SHARED}"));
    let missing = "{ from: vpc.shared, to: vpc.shared, from_stack: ../a }";
    repository.sends_nothing(|repository| {
        let plan = repository.exits(4, "plan --all --output json").json();
        has(&Repository::blockers(&plan, "b"), "unit_conflict", &["would be created", missing]);
        assert!(Repository::blockers(&plan, "a").iter().any(|one| one[3].contains(missing)));
        repository.exits(4, "apply --all --stacks b --yes").says(&["would be created", missing]);
        repository.exits(4, "-C a apply --yes").says(&["second object", missing]);
    });
    repository.write("b", &format!("{VOLUME}{SHARED}moved: [{missing}]\n"));
    repository.exits(0, "apply --all --stacks a --stacks b --yes").says(&["Moved 1 resource"]);
    assert_eq!(repository.count("vpcs"), 1);
}

#[test]
fn two_stacks_that_claim_one_object_are_blocked_until_one_entry_is_removed() {
    let claim = |stack: &str| {
        format!(
            "moved:\n  - {{ from: vpc.shared, to: vpc.{stack}, from_stack: ../a }}\nvpc:\n  {stack}: {{ name: shared, cidr: 10.9.0.0/16 }}\n"
        )
    };
    let repository = Repository::new(&[("a", SHARED), ("b", ""), ("c", "")]);
    repository.write("a", "");
    repository.write("b", &claim("b"));
    repository.write("c", &claim("c"));
    repository.sends_nothing(|repository| {
        let plan = repository.exits(4, "plan --all --output json").json();
        for (stack, other) in [("b", "vpc.c of c/default"), ("c", "vpc.b of b/default")] {
            let blockers = Repository::blockers(&plan, stack);
            has(&blockers, "unit_conflict", &["one object: vpc.shared of a/default", other, "moved"]);
        }
        // With the entry of the first stack, the other claim is wrong, and the object still moves nowhere.
        repository.write(
            "a",
            "moved: [{ from: vpc.shared, to: vpc.b, stack: ../b }]
",
        );
        for args in ["validate --all", "-C c validate", "-C c plan"] {
            repository.exits(1, args).says(&["moves vpc.shared to `../b`, not here", "c/stead.yaml:"]);
        }
        let plan = repository.0.run("plan --all --output json").json();
        for stack in ["a", "b"] {
            has(&Repository::blockers(&plan, stack), "unit_conflict", &["c/default"]);
            repository.exits(4, &format!("apply --all --stacks {stack} --yes")).says(&["unit_conflict"]);
        }
        // Two entries that disagree about the address.
        repository.write("c", "");
        repository.0.edit("a/stead.yaml", "to: vpc.b", "to: vpc.x");
        repository.0.edit("b/stead.yaml", "  b: ", "  x: { cidr: 10.8.0.0/16 }\n  b: ");
        for args in ["-C a validate", "-C b validate", "validate --all"] {
            repository.exits(1, args).says(&["moves vpc.shared to vpc.", "moves vpc.shared to vpc."]);
        }
    });
    repository.write(
        "a",
        "moved: [{ from: vpc.shared, to: vpc.b, stack: ../b }]
",
    );
    repository.write("b", &claim("b"));
    repository.exits(0, "apply --all --stacks a --stacks b --stacks c --yes").says(&["Moved 1 resource"]);
    repository.exits(0, "plan --all --exit-code");
    assert_eq!(repository.count("vpcs"), 1);
}

#[test]
fn two_stacks_that_get_objects_of_one_stack_are_not_applied_at_the_same_time() {
    let given = "volume:\n  b: { size: 10 }\n  c: { size: 10 }\n";
    let repository = Repository::new(&[("a", given), ("b", ""), ("c", "")]);
    repository.exits(0, "-C a mv volume.b --to-stack ../b --yes");
    repository.exits(0, "-C a mv volume.c --to-stack ../c --yes");
    // Without the first stack, only its lease keeps the two apart.
    repository.exits(0, "apply --all --stacks b --stacks c --yes").says(&["Moved 1 resource"]);
    repository.exits(0, "plan --all --exit-code");
    assert_eq!(repository.count("volumes"), 2);
}

#[test]
fn a_second_move_waits_until_the_first_one_is_applied() {
    let repository = Repository::new(&[("a", SHARED), ("b", ""), ("c", "")]);
    repository.exits(0, "-C a mv vpc.shared --to-stack ../b --yes");
    let before = ["a", "b", "c"].map(|name| read(&repository, &format!("{name}/stead.yaml")));
    for (from, to) in [("b", "c"), ("a", "c"), ("b", "a")] {
        repository.exits(1, &format!("-C {from} mv vpc.shared --to-stack ../{to} --yes")).says(&[
            "pending move",
            "Apply the pending move first",
            "apply",
            "fmt --prune",
        ]);
    }
    let after = ["a", "b", "c"].map(|name| read(&repository, &format!("{name}/stead.yaml")));
    assert_eq!(before, after);
    // The remedy.
    repository.exits(0, "-C b apply --yes").says(&["Moved 1 resource"]);
    repository.exits(1, "-C b mv vpc.shared --to-stack ../c --yes").says(&["pending move"]);
    repository.exits(0, "-C b fmt --prune");
    // The other end of the move has an entry, too.
    repository.exits(1, "-C b mv vpc.shared --to-stack ../a --yes").says(&["stead -C ../a fmt --prune"]);
    repository.exits(0, "-C a fmt --prune");
    repository.exits(0, "-C b mv vpc.shared --to-stack ../c --yes");
    repository.exits(0, "apply --all --stacks b --stacks c --yes").says(&["Moved 1 resource"]);
    repository.exits(0, "plan --all --exit-code");
    assert_eq!(repository.count("vpcs"), 1);
}

#[test]
fn a_stack_alone_deletes_nothing_that_another_one_claims() {
    let repository = Repository::new(&[("a", VOLUME), ("b", "vpc: { nb: { cidr: 10.1.0.0/16 } }\n")]);
    repository.exits(0, "-C a mv volume.data --to-stack ../b --yes");
    let claims = read(&repository, "b/stead.yaml");
    let entry = "{ from: volume.data, to: volume.data, stack: ../b }";
    // The entry of `a` is gone.
    repository.write("a", "");
    let says = |run: &Run, words: &[&str]| {
        // Lines are wrapped at the width of a terminal.
        let all = run.all().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.iter().all(|word| all.contains(word)), "{words:?}: {all}");
    };
    let wanted = ["volume.data would be deleted", "an entry of b/default moves it there", entry];
    repository.sends_nothing(|repository| {
        for args in
            ["-C a plan", "-C a apply --yes", "-C a plan --destroy", "-C a destroy --yes --confirm a"]
        {
            says(&repository.exits(4, args), &wanted);
        }
        let mut inside = repository.0.command("plan");
        inside.current_dir(repository.0.path("a"));
        let run = Run::of(&inside.output().unwrap());
        assert_eq!(run.code, 4, "{}", run.all());
        says(&run, &wanted);
        let unknown = ["is not known", "stead -C b validate"];
        // A file that does not parse hides the files that it includes, and their entries.
        repository.0.write("moves.stead.yaml", claims.replace("stack: b\n", ""));
        repository.write("b", "include: [../moves.stead.yaml]\nx: [\n");
        says(&repository.exits(4, "-C a apply --yes"), &unknown);
        says(&repository.run("plan --all"), &unknown);
        repository.write("b", "include: [../moves.stead.yaml]\n");
        says(&repository.exits(4, "-C a apply --yes"), &wanted);
    });
    // The remedy: with the entry, the object moves. Then it is another one's, and the entry of `b` claims nothing.
    repository.write("a", &format!("moved: [{entry}]\n"));
    repository.exits(0, "-C b apply --yes");
    assert_eq!(repository.count("volumes"), 1);
    repository.write("a", &VOLUME.replace("size", "name: second, size"));
    repository.exits(0, "-C a apply --yes");
    repository.write("a", "");
    repository.exits(0, "-C a apply --yes --delete-data volume.data");
    assert_eq!(repository.count("volumes"), 1);
}

#[test]
fn a_destroy_of_both_stacks_of_a_pending_move_is_blocked_until_the_move_is_made() {
    let volumes = format!("{VOLUME}  other: {{ size: 10 }}\n");
    let repository = Repository::new(&[("a", &volumes), ("b", "vpc: { nb: { cidr: 10.1.0.0/16 } }\n")]);
    repository.exits(0, "-C a mv volume.data --to-stack ../b --yes");
    let root = repository.0.path("").file_name().unwrap().to_string_lossy().into_owned();
    let destroy = format!("destroy --all --yes --confirm {root}");
    let remedy = "apply --all --stacks a/default --stacks b/default";
    repository.sends_nothing(|repository| {
        let plan = repository.exits(4, "plan --all --destroy --output json").json();
        let blockers = Repository::blockers(&plan, "a");
        has(
            &blockers,
            "unit_conflict",
            &["volume.data would move to b/default as volume.data and stay there"],
        );
        has(&blockers, "unit_conflict", &[remedy]);
        let blockers = Repository::blockers(&plan, "b");
        has(&blockers, "unit_conflict", &["volume.data would be volume.data of a/default", remedy]);
        repository.exits(4, &destroy);
    });
    repository.exits(0, &format!("{remedy} --yes"));
    repository.exits(0, &destroy);
    assert_eq!((repository.count("volumes"), repository.count("vpcs")), (0, 0));
}

/// Two stacks, the second of which was never applied and gets a VM with a secret attribute.
fn first_move(target: &str) -> Case {
    let machine = "  web: { name: web, template: ubuntu-24.04, plan: std-1c-2g, user_data: one }\n";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("app/stead.yaml", format!("stead: 1\nstack: app\nvm:\n{machine}"))
        .file("web/stead.yaml", "stead: 1\nstack: web\n")
        .emulator();
    case.ok("-C app apply --yes");
    case.ok("mv -C app vm.web --to-stack ../web --yes");
    case.edit("web/stead.yaml", "vm:\n", &format!("vm:\n{target}"));
    case
}

#[test]
fn a_stack_that_was_never_applied_gets_an_object_with_a_secret_as_it_is() {
    let new = "  two: { name: two, template: ubuntu-24.04, plan: std-1c-2g, user_data: two }\n";
    for (target, created) in [("", 0), (new, 1)] {
        let case = first_move(target);
        let plan = case.ok("plan --all --output json").json();
        let summary = &plan["summary"];
        assert_eq!((&summary["replace"], &summary["move"]), (&0.into(), &1.into()), "{plan:#}");
        assert_eq!(summary["create"], created, "{plan:#}");
        let fingerprint = plan["fingerprint"].as_str().unwrap();
        assert_eq!(case.ok("plan --all --output json").json()["fingerprint"], fingerprint);
        case.ok(&format!("apply --all --expect {fingerprint}")).says(&["2 applied"]);
        case.ok("plan --all --exit-code");
        assert_eq!(case.cloud().list("/api/v1/vms").len(), 1 + created);
    }
}

#[test]
fn each_way_to_apply_the_first_objects_of_a_stack_applies_what_was_reviewed() {
    let new = "  two: { name: two, template: ubuntu-24.04, plan: std-1c-2g, user_data: two }\n";
    let ways = ["apply --yes", "apply --expect FINGERPRINT", "apply web.plan", "apply --all -o set"];
    for (way, updates) in ways.into_iter().flat_map(|way| [(way, 0), (way, 1)]) {
        let case = first_move(new);
        if updates > 0 {
            let size = "name: web, template: ubuntu-24.04, plan: std-";
            case.edit("web/stead.yaml", &format!("{size}1c-2g"), &format!("{size}2c-4g"));
        }
        // A second stack gives another VM, with the fingerprint of another key.
        case.write(
            "old/stead.yaml",
            "stead: 1\nstack: old\nvm:\n  own: { name: own, template: ubuntu-24.04, plan: std-1c-2g, user_data: own }\n",
        );
        case.ok("-C old apply --yes");
        case.ok("mv -C old vm.own --to-stack ../web --yes");
        let plan = case.ok("-C web plan --output json -o web.plan").json();
        let actions = ["create", "update", "replace", "delete"].map(|name| plan["summary"][name].clone());
        assert_eq!(actions, [1, updates, 0, 0].map(Value::from), "{plan:#}");
        if way.contains("--all") {
            case.ok("plan --all -o set");
            case.ok("apply set");
        } else {
            let fingerprint = plan["fingerprint"].as_str().unwrap();
            case.ok(&format!("-C web {}", way.replace("FINGERPRINT", fingerprint)));
            if way.contains("--expect") {
                case.ok(&format!("-C web {}", way.replace("FINGERPRINT", fingerprint)))
                    .says(&["Applied already: run 1"]);
            }
        }
        case.ok("plan --all --exit-code");
        assert_eq!(case.cloud().list("/api/v1/vms").len(), 3, "{way}");
    }
}

#[test]
fn a_secret_of_the_stack_that_a_resource_leaves_is_the_same_secret_as_its_output() {
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
    let recipient = case.ok("secret keygen --out ada").stdout.trim().to_owned();
    let machine = "vm: { d: { template: ubuntu-24.04, plan: std-1c-1g, user_data: $vars.pw } }\n";
    let source = format!(
        "stead: 1\nstack: app\nvars: {{ pw: {{ type: secret, generate: 32 }} }}\nsecrets: {{ recipients: [{recipient}] }}\noutputs: {{ pw: $vars.pw }}\n"
    );
    let case = case.file("app/stead.yaml", format!("{source}{machine}")).emulator();
    let with_identity = |args: &str| {
        let mut command = case.command(args);
        let run = Run::of(&command.env("STEAD_AGE_IDENTITY", case.path("ada")).output().unwrap());
        assert_eq!(run.code, 0, "{args}: {}", run.all());
        run
    };
    with_identity("-C app apply --yes");
    case.write("app/stead.yaml", format!("{source}moved: [{{ from: vm.d, to: vm.d, stack: ../web }}]\n"));
    let target = machine.replace("$vars.pw", "$stacks.app.pw");
    let entry = "moved: [{ from: vm.d, to: vm.d, from_stack: ../app }]\n";
    case.write(
        "web/stead.yaml",
        format!("stead: 1\nstack: web\nstacks: {{ app: ../app }}\n{target}{entry}"),
    );
    let plan = with_identity("plan --all --output json").json();
    assert_eq!((&plan["summary"]["replace"], &plan["summary"]["move"]), (&0.into(), &1.into()), "{plan:#}");
    with_identity(&format!("apply --all --expect {}", plan["fingerprint"].as_str().unwrap()));
    case.ok("plan --all --exit-code");
    assert_eq!(case.cloud().list("/api/v1/vms").len(), 1);
}

#[test]
fn a_resource_is_replaced_while_it_moves_with_what_uses_it() {
    let machine = "vm: { web: { template: ubuntu-24.04, plan: std-1c-1g } }\nvolume: { data: { size: 10, vm: $vm.web } }\n";
    let repository = Repository::new(&[("a", machine), ("b", "")]);
    let moved = |other: &str| {
        format!(
            "moved: [{{ from: vm.web, to: vm.web, {other} }}, {{ from: volume.data, to: volume.data, {other} }}]\n"
        )
    };
    repository.write("a", &moved("stack: ../b"));
    let machine = machine.replace("ubuntu-24.04", "debian-12");
    repository.write("b", &format!("{machine}{}", moved("from_stack: ../a")));
    let approved = "--replace b/default:vm.web";
    let plan = repository.exits(0, &format!("plan --all {approved} --output json")).json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    repository.exits(0, &format!("apply --all {approved} --expect {fingerprint}"));
    repository.exits(0, "plan --all --exit-code");
    assert_eq!((repository.count("vms"), repository.count("volumes")), (1, 1));
}

#[test]
fn neither_side_of_a_move_is_applied_while_the_other_is_blocked() {
    let case = first_move("");
    case.edit(
        "web/stead.yaml",
        "vm:\n",
        "policy: { no: { level: mandatory, deny: \"${true}\", message: No. } }\nvm:\n",
    );
    let run = case.fails(4, "plan --all");
    run.says(&["upstream", "web/default, with which it exchanges resources, cannot be applied."]);
    let fingerprint = case.fails(4, "plan --all --output json").json()["fingerprint"].clone();
    let last = case.cloud().last();
    case.fails(4, &format!("apply --all --expect {}", fingerprint.as_str().unwrap()));
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    case.ok("-C app ls").says(&["vm.web"]);
}
