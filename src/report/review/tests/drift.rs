//! Reports of a drift check.

use super::{format, parsed, reviewed};
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::model::change::Plan;
use crate::report::review::{PlanReview, ReviewSubject};
use crate::report::tests::plans;
use crate::report::views::drift::{DriftReport, OtherProjectCounts};
use crate::report::views::list::ObjectSummary;

#[test]
fn a_drift_report_does_not_mention_an_apply() {
    let plan = Plan { drift: Vec::new(), ..plans::empty() };
    let nothing = DriftHistoryDiff::default();
    let found = found(&plan, &[], &nothing);
    let of = PlanReview { told: ReviewSubject::Drift(&found), ..reviewed(&plan) };
    assert!(format("md").render_plan(&of).contains("✅ stead · shop/prod · no drift\n"));
    let metrics = format("prom").render_plan(&of);
    assert!(!metrics.contains("stead_changes") && metrics.contains("stead_drift"), "{metrics}");
}

fn found<'a>(
    plan: &'a Plan,
    unmanaged: &'a [ObjectSummary],
    memory: &'a DriftHistoryDiff,
) -> DriftReport<'a> {
    DriftReport {
        stack: &plan.base.stack,
        environment: &plan.base.environment,
        drift: &plan.drift,
        unmanaged,
        managed: 40,
        elsewhere: OtherProjectCounts { projects: 2, account: 1, unread: false, by_account: false },
        memory,
        notes: &plan.notes,
        exposures: &[],
        verbose: false,
    }
}

#[test]
fn a_drift_report_lists_new_unmanaged_and_resolved_drift() {
    let plan = Plan { drift: plans::full().drift, ..plans::empty() };
    let stranger = [ObjectSummary {
        kind: "vm".into(),
        id: "9c41".into(),
        name: Some("test-box<b>".into()),
        monthly: Some(12.into()),
        ..ObjectSummary::default()
    }];
    let nothing = DriftHistoryDiff::default();
    let first = found(&plan, &[], &nothing);
    let seen =
        first.observed_items().skip(1).chain([("vpc.old.name".to_owned(), "vpc.old.name".to_owned())]);
    let (_, before) = DriftHistoryDiff::new_with_history(None, seen, plans::time(0));
    let all = found(&plan, &stranger, &nothing);
    let (memory, _) =
        DriftHistoryDiff::new_with_history(Some(before), all.observed_items(), plans::time(3 * 86_400));
    let all = DriftReport { memory: &memory, ..all };
    let of = PlanReview { told: ReviewSubject::Drift(&all), ..reviewed(&plan) };
    let page = format("md").render_plan(&of);
    for said in [
        "drift: 3 differences · 1 unmanaged · new 2, known 4, resolved 1",
        " · NEW",
        " · first seen 3 days ago",
        "vm test-box<b> 9c41   $12.00 a month   NEW",
        "Resolved since the last check: 1",
        "vpc.old.name",
        "also in this account: 2 other projects, 1 object in no project",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    let html = format("html").render_plan(&of);
    assert!(html.contains("test-box&lt;b&gt;") && html.contains("vpc.old.name"), "{html}");
    let log = parsed(&format("sarif").render_plan(&of));
    assert_eq!(log["runs"][0]["properties"]["resolved"], serde_json::json!(["vpc.old.name"]));
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["ruleId"] == "unmanaged" && result["level"] == "note"));
    let xml = format("junit").render_plan(&of);
    assert!(xml.contains("unmanaged vm test-box") && xml.contains("resolved vpc.old.name"), "{xml}");
    let metrics = format("prom").render_plan(&of);
    assert!(
        metrics.contains("stead_unmanaged_objects{stack=\"shop\",env=\"prod\",unit=\"shop/prod\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("since_last_look=\"resolved\"} 1"), "{metrics}");
}
