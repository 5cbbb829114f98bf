//! Saved plans: parsed, checked against a ledger and live objects, and rendered.

use serde_json::Value as Json;
use stead::kinds::REGISTRY;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::ledger::Ledger;
use stead::model::live::snapshot::Snapshot;
use stead::plan::artifact::binding::{PlanBinding, ledger_digest};
use stead::plan::artifact::saved_plan::{LiveCheckInputs, LocalCheckInputs, SavedPlan};
use stead::plan::model::change::Plan;
use stead::report::text::style::TextStyle;
use stead::report::{json, terminal};

use super::output::{assert_harmless, assert_json};

pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(saved) = SavedPlan::parse(text, REGISTRY) {
        holds(&saved);
    }
    // The digest keeps all but a forger out: here is one.
    let Ok(mut document) = serde_json::from_str::<Json>(text) else { return };
    let Some(plan) = document.get_mut("plan").map(Json::take) else { return };
    let Ok(plan) = serde_json::from_value::<Plan>(plan) else { return };
    let ledger = ledger_digest(&ledger_of(&plan)).expect("a ledger can be written");
    let binding = PlanBinding { ledger, ..PlanBinding::default() };
    let forged = SavedPlan::new(plan, binding, "0.0.0").expect("a plan can be written");
    let text = forged.to_text().expect("a plan can be written");
    // One whose changes are not what its steps do is refused.
    let Ok(saved) = SavedPlan::parse(&text, REGISTRY) else { return };
    assert_eq!(saved.to_text().expect("a plan can be written"), text);
    holds(&saved);
}

/// Returns a ledger that the plan may have been made from.
fn ledger_of(plan: &Plan) -> Ledger {
    let base = &plan.base;
    let mut ledger = Ledger::new(LedgerIdentity::new_placeholder(&base.stack, &base.environment));
    ledger.identity.lineage = base.lineage;
    ledger.serial = base.serial;
    ledger
}

fn holds(saved: &SavedPlan) {
    let base = &saved.plan.base;
    let ledger = ledger_of(&saved.plan);
    let snapshot = Snapshot { account: Some(base.account.clone()), ..Snapshot::default() };
    let facts = LiveCheckInputs { registry: REGISTRY, reads: "", ledger: &ledger, snapshot: &snapshot };
    assert!(
        base.objects.is_empty() || saved.check_unchanged(&facts).is_err(),
        "an object that is gone is seen"
    );
    let mut applied = ledger.clone();
    applied.applied_plans.insert(base.nonce);
    let origin = LocalCheckInputs {
        stack: &base.stack,
        environment: &base.environment,
        config: &base.config,
        ledger: &applied,
        recipients: &[],
    };
    assert!(saved.check_origin(&origin).is_err(), "a plan is applied once");
    let shown = terminal::PlanContext { saved: true, ..terminal::PlanContext::default() };
    assert_harmless(&terminal::plan_page(&saved.plan, &shown, true, TextStyle::plain(80)));
    assert_json(
        &json::render_plan_document(
            &saved.plan,
            REGISTRY,
            json::PlanDocumentOptions { details: true, ran: None },
        ),
        false,
    );
}
