//! What `apply --all` promises, on generated repositories: a review is applied as it was shown, nothing else is sent, and
//! nothing is left to do after it. All commands run in this process, with a clock that waits for nothing.
//!
//! `STEAD_REPOSITORIES=2000` runs so many repositories; `STEAD_REPOSITORY=N` runs one, and prints what happens.
#![allow(clippy::disallowed_methods, reason = "tests write files and read their own settings")]

mod disturbance;
mod edits;
mod examples;
mod repository;
mod retry;
mod trial;

use std::collections::BTreeMap;
use std::env;

use self::disturbance::{Verdict, disturb};
use self::edits::{edit, uses_data};
use self::repository::{Dice, Repository};
use self::trial::{Ledgers, Review, Trial, UnitEnd, unreviewed_changes};
use crate::cli::process::exit_code::Exit;
use crate::cloud::system_clock::virtual_clock;
use crate::model::address::Address;

/// Repositories of a usual run.
const USUAL_COUNT: u64 = 12;

/// Rounds of edits of each repository.
const ROUNDS: usize = 3;

/// What happened in some runs.
#[derive(Debug, Default)]
struct Counts {
    rounds: usize,
    applied: usize,
    blocked: usize,
    data: usize,
    sent: usize,
    destroyed: usize,
    /// Units that something from outside kept from being applied.
    refused: usize,
}

/// Runs work with the virtual clock of this thread.
fn run_virtually<T>(work: impl AsyncFnOnce() -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let ended = runtime.unwrap().block_on(async {
        virtual_clock::start("2026-07-01T12:00:00Z".parse().unwrap());
        work().await
    });
    virtual_clock::stop();
    ended
}

/// Returns the numbers of the repositories to run, and whether to print what happens.
fn numbers() -> (Vec<u64>, bool) {
    let read = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    match (read("STEAD_REPOSITORY"), read("STEAD_REPOSITORIES")) {
        (Some(one), _) => (vec![one], true),
        (None, count) => ((0..count.unwrap_or(USUAL_COUNT)).collect(), false),
    }
}

/// Applies a repository as it is, if nothing blocks it; returns the problems.
async fn apply_round(trial: &Trial, counts: &mut Counts, verbose: bool) -> Result<bool, String> {
    let review = trial.plan(false).await.map_err(|failure| failure.message)?;
    let obstacles = review.obstacles();
    if verbose {
        println!("obstacles {obstacles:#?}\nwork {:#?}", review.work());
    }
    let before = trial.cloud.sent().len();
    let again = trial.plan(false).await.map_err(|failure| failure.message)?;
    if again.planned.fingerprint != review.planned.fingerprint {
        return Err("two plans of the same state have two fingerprints".to_owned());
    }
    let ends = trial.apply(&again, false).await;
    let sent = trial.cloud.sent()[before..].to_vec();
    if verbose {
        println!("ends {ends:#?}\nsent {sent:#?}");
    }
    counts.sent += sent.len();
    if let Some(name) = ends.keys().find(|name| obstacles.contains_key(*name)) {
        return Err(format!("{name} was started although it is blocked"));
    }
    if ends.values().any(|end| end.exit != Exit::Done) {
        return Err(format!("not all is done: {ends:#?}"));
    }
    let wrong = unreviewed_changes(&review, &sent);
    if !wrong.is_empty() {
        return Err(format!("sent although not reviewed: {wrong:?}"));
    }
    let after = trial.plan(false).await.map_err(|failure| failure.message)?;
    check_after(&review, &after, &ends.keys().map(String::as_str).collect::<Vec<_>>())?;
    counts.rounds += 1;
    let is_open = obstacles.is_empty();
    counts.applied += usize::from(is_open && !ends.is_empty());
    counts.blocked += usize::from(!is_open);
    Ok(is_open)
}

/// Checks that the units that were applied have nothing left to do.
fn check_after(review: &Review, after: &Review, applied: &[&str]) -> Result<(), String> {
    let (left, obstacles) = (after.work(), review.obstacles());
    match left.iter().find(|(name, _)| !obstacles.contains_key(*name)) {
        Some((name, lines)) => {
            let was = if applied.contains(&name.as_str()) { "still has" } else { "has" };
            Err(format!("{name} {was} work after the apply: {lines:#?}"))
        }
        None => Ok(()),
    }
}

/// Runs one repository: applies it, then edits and applies it several times.
async fn run_repository(number: u64, verbose: bool, counts: &mut Counts) -> Result<(), String> {
    let mut dice = Dice::new(number);
    let mut repository = Repository::generate(&mut dice);
    let mut trial = Trial::new(number);
    let mut last: Option<Repository> = None;
    for round in 0..=ROUNDS {
        let mut edits = Vec::new();
        if round > 0 {
            for _ in 0..=dice.below(3) {
                edits.push(edit(&mut repository, &mut dice));
            }
        }
        trial.write(&repository);
        if verbose {
            println!("--- round {round}: {edits:?}");
            repository.files().iter().for_each(|(path, text)| println!("# {path}\n{text}"));
        }
        trial.allow_deletes = dice.below(4) > 0;
        counts.data += usize::from(uses_data(&repository));
        let ended = apply_round(&trial, counts, verbose).await;
        let is_open =
            ended.map_err(|what| format!("repository {number}, round {round}, {edits:?}: {what}"))?;
        if is_open {
            let blocks = repository.stacks.iter_mut().flat_map(|stack| &mut stack.blocks);
            blocks.for_each(|block| block.is_applied = true);
            repository.stacks.iter_mut().for_each(|stack| stack.moved.clear());
            last = Some(repository.clone());
        } else {
            // What is blocked is taken back; the directory of a new stack would stay.
            let count = repository.stacks.len();
            match last.clone().filter(|last| last.stacks.len() == count) {
                Some(last) => repository = last,
                None => return Ok(()),
            }
        }
    }
    if !number.is_multiple_of(3) {
        return Ok(());
    }
    destroy(&trial, counts).await.map_err(|what| format!("repository {number}, destroy: {what}"))
}

/// Destroys all units; nothing is left then, unless a plan is blocked.
async fn destroy(trial: &Trial, counts: &mut Counts) -> Result<(), String> {
    let review = trial.plan(true).await.map_err(|failure| failure.message)?;
    let obstacles = review.obstacles();
    let before = trial.cloud.sent().len();
    let ends = trial.apply(&review, true).await;
    let wrong = unreviewed_changes(&review, &trial.cloud.sent()[before..]);
    if !wrong.is_empty() {
        return Err(format!("sent although not reviewed: {wrong:?}"));
    }
    if ends.iter().any(|(name, end)| end.exit != Exit::Done || obstacles.contains_key(name)) {
        return Err(format!("{ends:#?}, obstacles {obstacles:#?}"));
    }
    if obstacles.is_empty() {
        counts.destroyed += 1;
        return match trial.count_objects() {
            0 => Ok(()),
            count => Err(format!("{count} objects are left")),
        };
    }
    Ok(())
}

/// Applies a repository, edits it, plans it, and lets others change something before the plans are applied.
async fn run_disturbed(number: u64, verbose: bool, counts: &mut Counts) -> Result<(), String> {
    let mut dice = Dice::new(number ^ 0xD157);
    let mut repository = Repository::generate(&mut dice);
    let trial = Trial::new(number);
    trial.write(&repository);
    if !apply_round(&trial, counts, false).await? {
        return Ok(());
    }
    for _ in 0..=dice.below(3) {
        edit(&mut repository, &mut dice);
    }
    trial.write(&repository);
    if verbose {
        repository.files().iter().for_each(|(path, text)| println!("# {path}\n{text}"));
    }
    let review = trial.plan(false).await.map_err(|failure| failure.message)?;
    if dice.once_in(4) {
        trial.cloud.raise_prices(10);
        let now = trial.plan(false).await.map_err(|failure| failure.message)?;
        let dearer = dearer_units(&review, &now);
        let ends = trial.apply(&review, false).await;
        if verbose {
            println!("work {:#?}\ndearer {dearer:?}\nends {ends:#?}", review.work());
        }
        return check_ends(&ends, &dearer, &[Exit::OutOfDate], counts);
    }
    let Some(disturbance) = disturb(&trial, &review, &mut dice) else { return Ok(()) };
    let before = trial.ledger_entries().await?;
    let ends = trial.apply(&review, false).await;
    if verbose {
        println!("work {:#?}\n{disturbance:?}\nends {ends:#?}", review.work());
    }
    let was_refused = ends.get(&disturbance.unit).is_some_and(|end| end.exit != Exit::Done);
    let refused = match disturbance.verdict {
        Verdict::Applied => Vec::new(),
        Verdict::Either if !was_refused => Vec::new(),
        Verdict::Either | Verdict::Refused => vec![disturbance.unit.clone()],
    };
    // A deletion that waits for other units is refused after the unit's other changes are made.
    check_ends(&ends, &refused, &[Exit::OutOfDate, Exit::Blocked, Exit::Partly], counts)
        .map_err(|what| format!("{disturbance:?}: {what}"))?;
    let after = trial.ledger_entries().await?;
    let is_partly = ends.get(&disturbance.unit).is_some_and(|end| end.exit == Exit::Partly);
    let owned = |ledgers: &Ledgers, name: &String| {
        ledgers.get(name)?.get(&disturbance.address)?.current.as_ref().map(|owned| owned.id.clone())
    };
    let is_kept = |name: &String| {
        if is_partly {
            owned(&before, name) == owned(&after, name)
        } else {
            before.get(name) == after.get(name)
        }
    };
    if !refused.iter().all(is_kept) {
        return Err(format!("{disturbance:?}: something was done"));
    }
    // What is planned anew mends it, unless that needs a decision.
    apply_round(&trial, counts, false)
        .await
        .map(drop)
        .map_err(|what| format!("{disturbance:?}, anew: {what}"))
}

/// Returns the units whose plans have a price that is higher now.
fn dearer_units(review: &Review, now: &Review) -> Vec<String> {
    let price = |review: &Review, unit: usize, address: &Address| {
        let (_, plan) = review.plans().find(|(number, _)| *number == unit)?;
        plan.changes.iter().find(|change| change.address == *address)?.cost.monthly_after
    };
    let rises = |number: usize, address: &Address| {
        price(review, number, address)
            .zip(price(now, number, address))
            .is_some_and(|(then, now)| now > then)
    };
    let dearer = review
        .plans()
        .filter(|(number, plan)| plan.changes.iter().any(|change| rises(*number, &change.address)));
    dearer.map(|(number, _)| review.name(number)).collect()
}

/// Checks that some units were refused if they were started, and that the others are done or wait for those.
fn check_ends(
    ends: &BTreeMap<String, UnitEnd>,
    refused: &[String],
    exits: &[Exit],
    counts: &mut Counts,
) -> Result<(), String> {
    for (name, end) in ends {
        let is_waiting = !end.was_started || end.message.starts_with("its deletions wait");
        let is_right = if refused.contains(name) {
            counts.refused += usize::from(exits.contains(&end.exit));
            exits.contains(&end.exit) || !end.was_started
        } else {
            end.exit == Exit::Done || (is_waiting && !refused.is_empty())
        };
        if !is_right {
            return Err(format!("{name}: {ends:#?}, to be refused: {refused:?}"));
        }
    }
    Ok(())
}

#[test]
fn what_moved_after_the_review_keeps_its_unit_from_being_applied() {
    let (numbers, verbose) = numbers();
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    for number in numbers {
        let ended = run_virtually(async || Box::pin(run_disturbed(number, verbose, &mut counts)).await);
        wrong.extend(ended.err().map(|what| format!("repository {number}: {what}")));
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{} repositories failed:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(verbose || counts.refused > 0, "{counts:?}");
}

#[test]
fn a_reviewed_plan_of_a_generated_repository_is_applied_and_leaves_nothing() {
    let (numbers, verbose) = numbers();
    let mut counts = Counts::default();
    let mut wrong = Vec::new();
    for number in numbers {
        let ended = run_virtually(async || Box::pin(run_repository(number, verbose, &mut counts)).await);
        wrong.extend(ended.err());
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{} repositories failed:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(verbose || counts.applied > 0 && counts.sent > 0, "{counts:?}");
}
