//! Preflight: what the service would refuse is refused here, before any call, each cause with its code.
//!
//! `tests/corpus/rules/CODE.yaml` (or `CODE-what.yaml`) holds one cause: sections of a configuration,
//! each after a line that says what it is. `--- # refused: CODE` must be refused with this code and no
//! other, offline or by the plan; `--- # warned: CODE` is only warned of. `--- # accepted` is its nearest
//! legal neighbour: it is applied, and the service refuses nothing. Before them come the worlds in which
//! this is so: `--- # theirs` was applied by another stack, `--- # before` by this one (`, 24h pass`:
//! and then so much time).

mod causes;

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stead::kinds::REGISTRY;
use stead::ledger::journal::record::Record;
use stead::model::schema::{Kind, Registry};

use super::disaster::Outside;
use super::loading::{loaded, loaded_by, seed};
use super::process::{Aim, Run, beginning, identity, planning, process};
use causes::{CAUSES, Found};

/// One section of a corpus file.
struct Section<'a> {
    /// `refused`, `warned`, `accepted`, `theirs` or `before`.
    role: &'a str,
    /// What follows the role.
    word: &'a str,
    text: &'a str,
}

fn sections(file: &str) -> Vec<Section<'_>> {
    let parts = file.split("--- # ").skip(1);
    parts
        .map(|part| {
            let (head, text) = part.split_once('\n').unwrap();
            let (role, word) = head.split_once([':', ',']).unwrap_or((head, ""));
            Section { role, word: word.trim(), text }
        })
        .collect()
}

/// Returns all files: their names without the ending, and their texts.
fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/rules");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut all: Vec<_> = files
        .map(|path| {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (stem, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// The code that a file's name begins with.
fn code(stem: &str) -> &str {
    stem.split('-').next().unwrap()
}

/// Applies a configuration that must go through.
fn apply(outside: &Rc<Outside>, text: &str, story: &str) -> Run {
    let (stack, _) = loaded(text).unwrap_or_else(|codes| panic!("{story}: {codes:?}"));
    let run = process(outside, &Aim::build(stack), seed(outside)).unwrap();
    assert!(run.plan.blocks.is_empty(), "{story}: {:?}", run.plan.blocks);
    assert!(run.outcome.failed.is_empty(), "{story}: {:?}", run.outcome.failed);
    assert!(run.outcome.skipped.is_empty(), "{story}: {:?}", run.outcome.skipped);
    let refusals = outside.refusals.borrow();
    assert!(refusals.is_empty(), "{story}: {refusals:#?}");
    run
}

/// Returns why a configuration is not applied: codes of the loader, else of the plan's blocks.
fn refusals(outside: &Rc<Outside>, text: &str) -> BTreeSet<String> {
    let stack = match loaded(text) {
        Ok((stack, _)) => stack,
        Err(codes) => return codes,
    };
    let plan = planning(outside, &Aim::build(stack), seed(outside));
    let word = |block: &stead::plan::model::block::Blocker| {
        let rule = block.help.strip_prefix("Rule ").and_then(|rest| rest.split(':').next());
        rule.filter(|_| block.code == "rule").unwrap_or(&block.code).to_owned()
    };
    plan.blocks.iter().map(word).collect()
}

/// The world before a case: what others have made, and what this stack has.
fn world(sections: &[Section<'_>], story: &str) -> Rc<Outside> {
    let empty = loaded("vpc: {}\n").unwrap().0;
    let mut outside = Rc::new(beginning(&empty));
    for section in sections {
        match section.role {
            "theirs" => {
                apply(&outside, section.text, story);
                // Nobody here remembers it.
                let mut after = Outside::after(&outside.left_behind(0, "theirs"), Duration::from_mins(5));
                after.records = vec![Record::birth(&identity(&empty))].into();
                outside = Rc::new(after);
            }
            "before" => {
                apply(&outside, section.text, story);
                let pass = section.word.strip_suffix("h pass").map_or(0, |hours| hours.parse().unwrap());
                outside.machine.skip(Duration::from_hours(pass));
            }
            _ => {}
        }
    }
    outside
}

fn prove(stem: &str, file: &str) {
    let all = sections(file);
    let roles: Vec<&str> = all.iter().map(|section| section.role).collect();
    assert!(
        roles.ends_with(&["refused", "accepted"]) || roles.ends_with(&["warned", "accepted"]),
        "{stem}: {roles:?}"
    );
    let (given, cases) = all.split_at(all.len() - 2);
    assert!(given.iter().all(|section| matches!(section.role, "theirs" | "before")), "{stem}: {roles:?}");
    let (wrong, right) = (&cases[0], &cases[1]);
    assert_eq!(wrong.word, code(stem), "{stem}: its name says what it is refused with");
    let expected = BTreeSet::from([wrong.word.to_owned()]);
    if wrong.role == "warned" {
        assert_eq!(loaded(wrong.text).unwrap().1, expected, "{stem}");
    } else {
        assert_eq!(refusals(&world(given, stem), wrong.text), expected, "{stem}");
    }
    let (_, warnings) = loaded(right.text).unwrap_or_else(|codes| panic!("{stem}: {codes:?}"));
    assert!(!warnings.contains(wrong.word), "{stem}: the neighbour is warned of");
    apply(&world(given, stem), right.text, &format!("{stem}, the legal neighbour"));
}

#[test]
fn a_request_the_service_would_refuse_is_blocked_and_its_neighbor_is_not() {
    let failed: Vec<String> = corpus()
        .into_iter()
        .filter(|(stem, file)| {
            let proof = std::panic::AssertUnwindSafe(|| prove(stem, file));
            std::panic::catch_unwind(proof).is_err()
        })
        .map(|(stem, _)| stem)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn every_rule_has_an_example_and_every_example_a_known_cause() {
    let files: BTreeSet<String> = corpus().into_iter().map(|(stem, _)| stem).collect();
    let rules: BTreeSet<&str> =
        REGISTRY.kinds.iter().flat_map(|kind| kind.rules).map(|rule| rule.code).collect();
    for rule in &rules {
        assert!(files.contains(*rule), "{rule} has no file in tests/corpus/rules");
    }
    for file in files.iter().filter(|file| file.starts_with('R')) {
        assert!(rules.contains(code(file)), "{file}: there is no such rule");
    }
    let named: BTreeSet<&str> = CAUSES
        .iter()
        .flat_map(|cause| match cause.found {
            Found::Before(files) => files,
            Found::Sent(_) | Found::Asked(_) | Found::Unseen(_) => &[],
        })
        .copied()
        .collect();
    assert_eq!(named, files.iter().map(String::as_str).collect(), "causes and files");
}

#[test]
fn every_cause_has_a_location_and_a_check() {
    let mut seen = BTreeSet::new();
    for cause in CAUSES {
        assert!(seen.insert(cause.what), "{} stands twice", cause.what);
        assert!(
            !cause.place.is_empty() && matches!(cause.status, 400 | 402 | 403 | 409 | 412),
            "{}",
            cause.what
        );
        match cause.found {
            Found::Before(files) => assert!(!files.is_empty(), "{}", cause.what),
            Found::Sent(how) | Found::Asked(how) | Found::Unseen(how) => {
                assert!(how.ends_with('.'), "{how}");
            }
        }
    }
}

/// Rules of the language: the service takes what they refuse, and what comes of it is not what was meant.
/// And R0803, because a file cannot know the id of a person; and R0901, because pools are made one by one,
/// and only a change that takes workers away is refused.
const OF_THE_LANGUAGE: &[&str] = &["R0803", "R0901", "R1108", "R1401", "R1403", "R1701"];

/// The tables without their rules.
fn unruled() -> Registry {
    let bare =
        |kind: &&'static Kind| -> &'static Kind { Box::leak(Box::new(Kind { rules: &[], ..**kind })) };
    let kinds: Vec<&'static Kind> = REGISTRY.kinds.iter().map(bare).collect();
    Registry { kinds: kinds.leak(), ..REGISTRY }
}

/// Each rule is the service's own: without the rule, the service refuses the same.
#[test]
fn a_request_a_rule_rejects_is_refused_by_the_service() {
    let registry = unruled();
    let mut taken = Vec::new();
    for (stem, file) in corpus() {
        let all = sections(&file);
        if !stem.starts_with('R') || OF_THE_LANGUAGE.contains(&code(&stem)) {
            continue;
        }
        let (given, cases) = all.split_at(all.len() - 2);
        let outside = world(given, &stem);
        let (stack, _) =
            loaded_by(registry, cases[0].text).unwrap_or_else(|codes| panic!("{stem}: {codes:?}"));
        process(&outside, &Aim::build(stack), seed(&outside)).unwrap();
        let refusals = outside.refusals.take();
        let wrong = |told: &String| {
            !["400", "402", "403", "409", "412"].iter().any(|s| told.contains(&format!(" {s} ")))
        };
        if refusals.is_empty() || refusals.iter().any(wrong) {
            taken.push((stem, refusals));
        }
    }
    assert!(taken.is_empty(), "the service takes, or refuses otherwise: {taken:#?}");
}
