//! Saved plans, their signatures and the history of drift: every change, step, note and expression.

use std::collections::BTreeSet;

use stead::model::expression::Expression;
use stead::model::schema::Effect;
use stead::plan::artifact::drift_history::{DriftHistory, DriftHistoryDiff};
use stead::plan::artifact::saved_plan::SavedPlan;
use stead::plan::artifact::signature::{SignedPlanText, SigningKey, VerifyingKeys};
use stead::plan::model::change::{Action, Cause, DriftClass, PolicyStatus};
use stead::plan::model::note::NoteCode;
use stead::plan::model::step::{LedgerUpdate, Operation, TargetProject};

use crate::case::Case;
use crate::coverage::Coverage;
use crate::files;

const SAVED: [&str; 2] = ["saved-plan-full.json", "saved-plan-empty.json"];

/// Reads a saved plan by its type: `SavedPlan::parse` also requires changes that fit the steps, and no valid plan has
/// all of them.
fn saved(name: &str) -> SavedPlan {
    serde_json::from_str(&files::read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_saved_plan_is_read_and_written_as_before() {
    for name in SAVED {
        let read = saved(name);
        // The digest is computed again, so the content that it is made over is compared, too.
        let written = SavedPlan::new(read.plan.clone(), read.binding.clone(), read.stead_version.clone());
        files::assert_same(name, &written.unwrap().to_text().unwrap());
    }
}

#[test]
fn the_golden_plans_hold_every_variant_and_field() {
    let mut coverage = Coverage::default();
    for name in SAVED {
        coverage.add(&saved(name));
    }
    coverage.assert_fields_are_complete();
    coverage.assert_variants::<Operation>(Some("do"));
    coverage.assert_variants::<Action>(None);
    coverage.assert_variants::<LedgerUpdate>(None);
    coverage.assert_variants::<Cause>(None);
    coverage.assert_variants::<DriftClass>(None);
    coverage.assert_variants::<Effect>(None);
    coverage.assert_variants::<Expression>(None);
    coverage.assert_variants::<NoteCode>(None);
    coverage.assert_variants::<TargetProject>(None);
    coverage.assert_variants::<PolicyStatus>(None);
}

#[test]
fn a_plan_that_stead_saved_is_accepted() {
    let registry = stead::kinds::REGISTRY;
    let saved = SavedPlan::parse(&files::read("saved-plan.json"), registry).unwrap();
    files::assert_same("saved-plan.json", &saved.to_text().unwrap());
    files::assert_same("saved-plan.fingerprint", &format!("{}\n", saved.plan.fingerprint));
    let made: BTreeSet<_> = saved.plan.changes.iter().map(|change| change.action).collect();
    assert!(made.contains(&Action::Create), "{made:?}");
}

#[test]
fn a_signature_is_read_and_written_as_before() {
    let case = Case::new();
    case.signing_key("ours", 1);
    let key = SigningKey::parse(&std::fs::read(case.path("ours.pem")).unwrap()).unwrap();
    let plan = files::read("saved-plan.json");
    files::assert_same("saved-plan-signed.json", &key.sign(&plan).unwrap());
    let signed = SignedPlanText::parse(&files::read("saved-plan-signed.json"));
    assert_eq!(signed.text, plan);
    let keys = VerifyingKeys::parse(&std::fs::read(case.path("ours.pub")).unwrap()).unwrap();
    assert_eq!(keys.verify_signature(&signed).as_ref(), Ok(key.id()));
}

#[test]
fn drift_history_is_read_and_written_as_before() {
    let history: DriftHistory = files::round_trip("drift-history.json");
    let seen = |key: &str| (key.to_owned(), "size of vm.web".to_owned());
    let now = "2026-11-21T08:00:00Z".parse().unwrap();
    let (memory, next) = DriftHistoryDiff::new_with_history(Some(history), [seen("vm.web.size")], now);
    assert_eq!(memory.first_seen("vm.web.size"), Some("2026-11-20T08:00:00Z".parse().unwrap()));
    assert_eq!(serde_json::to_value(next).unwrap()["version"], 1);
}
