//! An apply that is interrupted goes on with the same fingerprint: what is done stays done, what was begun is finished, and
//! nothing is sent that the review does not show.

use std::collections::BTreeMap;

use super::edits::edit;
use super::repository::{Dice, Repository};
use super::trial::{Review, Trial, UnitEnd, unreviewed_changes};
use super::{Counts, apply_round, numbers, run_virtually};
use crate::cli::commands::apply::units_review::{ApprovedPlans, ReviewFingerprints, find_review};
use crate::cli::process::exit_code::Exit;
use crate::cli::service::test_transport::Fault;
use crate::model::address::Name;

/// Attempts after the first one, of which all but the last may be interrupted.
const ATTEMPTS: usize = 3;

/// Runs work to its end; `None` if a fault kills the process on the way.
async fn until_killed<T>(trial: &Trial, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = trial.cloud.wait_for_death() => None,
    }
}

/// Applies a review that the ledgers keep; `None` if the process was killed on the way.
async fn apply_kept(trial: &Trial, review: &Review) -> Option<BTreeMap<String, UnitEnd>> {
    let approved = ApprovedPlans {
        fingerprints: Some(ReviewFingerprints::of_planned(&review.workspace, &review.planned)),
        ..ApprovedPlans::default()
    };
    until_killed(trial, trial.apply_approved(review, approved, false)).await
}

/// Goes on with a review as `apply --all --expect` does; the error is what keeps it from that.
async fn continue_review(
    trial: &Trial,
    fingerprint: &Name,
) -> Result<Option<BTreeMap<String, UnitEnd>>, String> {
    let now = trial.plan_for_apply(fingerprint).await.map_err(|failure| failure.message)?;
    if *fingerprint == now.planned.fingerprint {
        return Ok(apply_kept(trial, &now).await);
    }
    let kept = find_review(&now.workspace, &now.planned, fingerprint).map_err(|failure| {
        assert_eq!(failure.exit, Exit::OutOfDate, "{}", failure.message);
        failure.message
    })?;
    let Some(kept) = kept else { return Err("no ledger has the review".to_owned()) };
    Ok(until_killed(trial, trial.apply_approved(&now, kept.approved_plans(), false)).await)
}

/// Applies a repository with interruptions until it is done.
async fn run_interrupted(number: u64, verbose: bool, counts: &mut Counts) -> Result<(), String> {
    let mut dice = Dice::new(number ^ 0x9E7B);
    let mut repository = Repository::generate(&mut dice);
    let trial = Trial::new(number);
    if dice.below(3) > 0 {
        trial.write(&repository);
        if !apply_round(&trial, counts, false).await? {
            return Ok(());
        }
        for _ in 0..=dice.below(4) {
            edit(&mut repository, &mut dice);
        }
    }
    trial.write(&repository);
    let review = trial.plan(false).await.map_err(|failure| failure.message)?;
    if !review.obstacles().is_empty() || review.work().is_empty() {
        return Ok(());
    }
    if verbose {
        repository.files().iter().for_each(|(path, text)| println!("# {path}\n{text}"));
        println!("work {:#?}", review.work());
    }
    let fingerprint = Name::new(&review.planned.fingerprint);
    let before = trial.cloud.sent().len();
    let mut done = false;
    for attempt in 0..=ATTEMPTS {
        let fault = *dice.pick(&[Fault::Refused, Fault::DiesBefore, Fault::DiesAfter]).unwrap();
        let is_last = attempt == ATTEMPTS;
        let fault = (!is_last).then(|| (dice.below(6), fault));
        trial.cloud.set_fault(fault);
        let ends = match attempt {
            0 => apply_kept(&trial, &review).await,
            _ => continue_review(&trial, &fingerprint).await.map_err(|what| {
                format!("attempt {attempt}: {what}; sent: {:#?}", &trial.cloud.sent()[before..])
            })?,
        };
        if verbose {
            println!(
                "attempt {attempt}, fault {fault:?}: {ends:#?}\nsent {:#?}",
                &trial.cloud.sent()[before..]
            );
        }
        done = ends.as_ref().is_some_and(|ends| ends.values().all(|end| end.exit == Exit::Done));
        let is_refused = |end: &UnitEnd| matches!(end.exit, Exit::OutOfDate | Exit::Blocked);
        if let Some(ends) = ends.filter(|ends| ends.values().any(|end| end.was_started && is_refused(end)))
        {
            return Err(format!("attempt {attempt} does not fit: {ends:#?}"));
        }
        if done {
            break;
        }
        counts.refused += 1;
    }
    trial.cloud.set_fault(None);
    if !done {
        return Err("it is not done although nothing interrupts it".to_owned());
    }
    check_done(&trial, &review, before).await
}

/// Checks that a review is done, and that nothing else was sent after so many requests.
async fn check_done(trial: &Trial, review: &Review, before: usize) -> Result<(), String> {
    let wrong = unreviewed_changes(review, &trial.cloud.sent()[before..]);
    if !wrong.is_empty() {
        return Err(format!("sent although not reviewed: {wrong:?}"));
    }
    let after = trial.plan(false).await.map_err(|failure| failure.message)?;
    if !after.work().is_empty() {
        return Err(format!("left to do: {:#?}", after.work()));
    }
    let is_kept = after.planned.planned().any(|(_, unit)| unit.ledger.review.is_some());
    if is_kept { Err("a ledger still has the review".to_owned()) } else { Ok(()) }
}

#[test]
fn an_interrupted_apply_goes_on_with_the_same_fingerprint() {
    let (numbers, verbose) = numbers();
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    for number in numbers {
        let ended = run_virtually(async || Box::pin(run_interrupted(number, verbose, &mut counts)).await);
        wrong.extend(ended.err().map(|what| format!("repository {number}: {what}")));
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{} repositories failed:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(verbose || counts.refused > 0, "{counts:?}");
}

const NET: &str = "stead: 1\nstack: net\nenvironments: { prod: {} }\nvpc: { main: { name: main, cidr: 10.30.0.0/16 } }\noutputs: { id: $vpc.main }\n";
const APP: &str = "stead: 1\nstack: app\nenvironments: { prod: {} }\nstacks: { net: ../net }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.id } }\n";

/// Applies two stacks, of which the second fails; returns the trial and the fingerprint of the review.
async fn begun() -> (Trial, Name) {
    let trial = Trial::new(1);
    trial.write_files([("net/stead.yaml", NET), ("app/stead.yaml", APP)]);
    let review = trial.plan(false).await.map_err(|failure| failure.message).unwrap();
    trial.cloud.set_fault(Some((1, Fault::Refused)));
    let ends = apply_kept(&trial, &review).await.unwrap();
    assert_eq!(ends["net/prod"].exit, Exit::Done, "{ends:#?}");
    assert_ne!(ends["app/prod"].exit, Exit::Done, "{ends:#?}");
    (trial, Name::new(&review.planned.fingerprint))
}

#[test]
fn a_retry_applies_what_is_left_and_a_finished_review_is_forgotten() {
    run_virtually(async || {
        let (trial, fingerprint) = begun().await;
        let ends = continue_review(&trial, &fingerprint).await.unwrap().unwrap();
        assert_eq!(ends.keys().collect::<Vec<_>>(), ["app/prod"], "{ends:#?}");
        assert_eq!(ends["app/prod"].exit, Exit::Done, "{ends:#?}");
        let again = continue_review(&trial, &fingerprint).await;
        assert_eq!(again.unwrap_err(), "no ledger has the review");
    });
}

#[test]
fn a_retry_of_another_configuration_or_another_review_sends_nothing() {
    run_virtually(async || {
        let (trial, fingerprint) = begun().await;
        let sent = trial.cloud.sent();
        let other = Name::new("f".repeat(64));
        assert_eq!(continue_review(&trial, &other).await.unwrap_err(), "no ledger has the review");
        let larger = APP.replace("std-1c-1g", "std-2c-4g");
        trial.write_files([("app/stead.yaml", larger.as_str())]);
        let refused = continue_review(&trial, &fingerprint).await.unwrap_err();
        assert_eq!(refused, "app/prod: the configuration is not the reviewed one");
        // A unit that is done may not have anything else to do.
        let moved = NET.replace("10.30", "10.31");
        trial.write_files([("app/stead.yaml", APP), ("net/stead.yaml", moved.as_str())]);
        let refused = continue_review(&trial, &fingerprint).await.unwrap_err();
        assert!(refused.contains("net/prod has something to do"), "{refused}");
        assert_eq!(trial.cloud.sent(), sent);
        trial.write_files([("net/stead.yaml", NET)]);
        let ends = continue_review(&trial, &fingerprint).await.unwrap().unwrap();
        assert_eq!(ends["app/prod"].exit, Exit::Done, "{ends:#?}");
    });
}
