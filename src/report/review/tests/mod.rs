//! Reports, read as those who get them read them: a Markdown reader, a browser's rules, a schema's keys.

mod drift;
mod exchange;
mod forms;
mod hostile;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::model::cel::policy::PolicyLevel;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Plan, PolicyResult, PolicyStatus};
use crate::report::review::{PlanReview, RepositoryRoot, ReviewFormat, ReviewSubject, ReviewedCommit};
use crate::report::tests::plans;

static ROOT: std::sync::LazyLock<RepositoryRoot> = std::sync::LazyLock::new(|| RepositoryRoot {
    repository: "/src/repo".into(),
    here: "infra".into(),
    name: "acme/infra".into(),
    documentation: "https://docs.example.com".into(),
});

/// The format of this name.
fn format(name: &str) -> ReviewFormat {
    *ReviewFormat::ALL.iter().find(|format| format.name() == name).unwrap()
}

fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

/// A commit that has all that was planned.
const fn commit(id: &str) -> ReviewedCommit<'_> {
    ReviewedCommit { id, dirty: false }
}

/// A plan under review, in a repository where its stack is not at the root.
fn reviewed(plan: &Plan) -> PlanReview<'_> {
    PlanReview {
        values: None,
        plan,
        registry: crate::kinds::REGISTRY,
        root: &ROOT,
        commit: Some(commit("3f9c2e1d00112233445566778899aabbccddeeff")),
        home: "shop.stead.yaml",
        command: Some(
            "stead -C infra -e prod apply --expect 7f3ac91e0123456789abcdef0123456789abcdef0123456789abcdef01234567",
        ),
        told: ReviewSubject::Plan,
    }
}

/// A full plan, and what a policy says of it.
fn judged() -> Plan {
    let ruling = |name: &str, verdict, message: &str| PolicyResult {
        name: name.into(),
        address: None,
        level: PolicyLevel::Overridable,
        verdict,
        message: message.into(),
        context: BTreeMap::new(),
        is_default: false,
        source: Some(plans::at(70)),
    };
    let policy = vec![
        ruling("budget", PolicyStatus::Deny, "Over the 400 USD budget: 412.40 > 400."),
        ruling("closed_db", PolicyStatus::Pass, "Public databases need an allowlist."),
    ];
    let mut plan = plans::full();
    // As the planner does: a policy's no is among what blocks, too.
    plan.blocks.push(Blocker {
        code: "policy".into(),
        address: None,
        text: "budget: Over the 400 USD budget: 412.40 > 400.".into(),
        help: "Lower the cost.".into(),
        source: Some(plans::at(70)),
    });
    Plan { policy, ..plan }
}
