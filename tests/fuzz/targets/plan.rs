//! Saved plans: read, checked against a ledger and a world, and shown.

use serde_json::Value as Json;
use stead::kinds::REGISTRY;
use stead::ledger::entry::{Identity, Ledger};
use stead::model::snapshot::Snapshot;
use stead::plan::change::Plan;
use stead::plan::saved::{Facts, SavedPlan};
use stead::report::style::Style;
use stead::report::{json, terminal};

use super::output::{assert_harmless, assert_json};

pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(saved) = SavedPlan::parse(text) {
        holds(&saved);
    }
    // The digest keeps all but a forger out: here is one.
    let Ok(mut document) = serde_json::from_str::<Json>(text) else { return };
    let Some(plan) = document.get_mut("plan").map(Json::take) else { return };
    let Ok(plan) = serde_json::from_value::<Plan>(plan) else { return };
    let forged = SavedPlan::new(plan, "0.0.0");
    let text = forged.to_text().expect("a plan can be written");
    let saved = SavedPlan::parse(&text).expect("what was written can be read");
    assert_eq!(saved.to_text().expect("a plan can be written"), text);
    holds(&saved);
}

fn holds(saved: &SavedPlan) {
    let base = &saved.plan.base;
    let mut ledger = Ledger::new(Identity::unborn(&base.stack, &base.environment));
    ledger.identity.lineage = base.lineage;
    ledger.serial = base.serial;
    let snapshot = Snapshot { account: Some(base.account.clone()), ..Snapshot::default() };
    let facts = Facts {
        registry: REGISTRY,
        stack: &base.stack,
        environment: &base.environment,
        config: &base.config,
        reads: "",
        ledger: &ledger,
        snapshot: &snapshot,
    };
    let checked = saved.check(&facts);
    assert!(base.objects.is_empty() || checked.is_err(), "an object that is gone is seen");
    let wanted = saved.wanted(REGISTRY);
    assert!(wanted.owned.len() <= base.objects.len());
    let mut applied = ledger.clone();
    applied.applied_plans.insert(base.nonce);
    assert!(saved.check(&Facts { ledger: &applied, ..facts }).is_err(), "a plan is applied once");
    let shown = terminal::Facts { saved: true, ..terminal::Facts::default() };
    assert_harmless(&terminal::plan(&saved.plan, &shown, true, Style::plain(80)));
    assert_json(&json::plan(&saved.plan, REGISTRY, json::PlanOptions { details: true, ran: None }), false);
}
