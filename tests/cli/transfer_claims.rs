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
