//! The plan's JSON document.
//!
//! Two runs over the same configuration, ledger and live objects give the same document. Facts of a single run
//! (times, the nonce, waits) and of a single spelling of the configuration (source locations) are only under
//! `details` and `source`, which are written on request only.

use std::io;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::run::RunOutcomeEntry;
use crate::model::address::{Address, Name};
use crate::model::schema::{Effect, Endpoint, Registry};
use crate::model::source::SourceLocation;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{
    Action, AttributeChange, Cause, Change, ChangeCost, Drift, NoteCode, Plan, PlanNote, PolicyResult,
    PolicyStatus,
};
use crate::plan::model::step::{Operation, Step};
use crate::report::json::writer::{SCHEMA_VERSION, SchemaVersion, pretty_to, to_pretty};
use crate::report::json_value::{JsonDecimal, JsonValue};
use crate::report::run_report::RunReport;
use crate::report::text::counts::ActionCounts;
use crate::report::text::phrases;

/// Optional parts of a plan's document.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanDocumentOptions<'a> {
    /// Whether to include source locations, and facts of this run only.
    pub details: bool,
    /// The result of the apply; `None` for a plan that was not applied.
    pub ran: Option<&'a RunReport<'a>>,
}

/// Returns the document of a plan.
#[must_use]
pub fn render_plan_document(plan: &Plan, registry: Registry, options: PlanDocumentOptions<'_>) -> String {
    to_pretty(&PlanDocument::new(plan, registry, options))
}

/// Writes the document of a plan to a stream: the document of a large plan need not fit into memory.
///
/// # Errors
/// When writing fails.
pub fn plan_to(
    out: &mut impl io::Write,
    plan: &Plan,
    registry: Registry,
    options: PlanDocumentOptions<'_>,
) -> io::Result<()> {
    pretty_to(out, &PlanDocument::new(plan, registry, options))
}

/// The keys that identify a plan.
#[derive(Serialize)]
pub(in crate::report::json) struct PlanHeader<'a> {
    schema_version: SchemaVersion,
    stead_version: &'static str,
    stack: &'a Name,
    env: &'a Name,
    account: &'a Name,
    base: BaseEntry<'a>,
    fingerprint: &'a str,
}

impl<'a> PlanHeader<'a> {
    /// Returns the identification of a plan.
    pub(in crate::report::json) fn from_plan(plan: &'a Plan) -> Self {
        let base = &plan.base;
        Self {
            schema_version: SCHEMA_VERSION,
            stead_version: env!("CARGO_PKG_VERSION"),
            stack: &base.stack,
            env: &base.environment,
            account: &base.account,
            base: BaseEntry::from_plan_base(plan),
            fingerprint: &plan.fingerprint,
        }
    }
}

#[derive(Serialize)]
struct PlanDocument<'a> {
    #[serde(flatten)]
    head: PlanHeader<'a>,
    summary: PlanSummary,
    changes: ChangeEntries<'a>,
    drift: Vec<DriftEntry<'a>>,
    blocks: Vec<BlockerEntry<'a>>,
    policy: Vec<PolicyResultEntry<'a>>,
    notes: Vec<NoteEntry<'a>>,
    cost: CostEntry<'a>,
    order: StepEntries<'a>,
    critical_path: CriticalPathEntry<'a>,
    requests: RequestStats,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<RunOutcomeEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<RunDetails>,
}

impl<'a> PlanDocument<'a> {
    fn new(plan: &'a Plan, registry: Registry, options: PlanDocumentOptions<'a>) -> Self {
        Self {
            head: PlanHeader::from_plan(plan),
            summary: PlanSummary::count_changes(plan),
            changes: ChangeEntries(&plan.changes, options),
            drift: plan.drift.iter().map(DriftEntry::from_drift).collect(),
            blocks: plan.blocks.iter().map(|block| BlockerEntry::from_blocker(block, options)).collect(),
            policy: plan
                .policy
                .iter()
                .map(|ruling| PolicyResultEntry::from_policy_result(ruling, options))
                .collect(),
            notes: plan.notes.iter().map(|note| NoteEntry::from_note(note, options)).collect(),
            cost: CostEntry::from_plan_cost(plan),
            order: StepEntries(&plan.steps, registry),
            critical_path: CriticalPathEntry::from_critical_path(plan),
            requests: RequestStats::from_request_count(plan),
            outcome: options.ran.map(RunOutcomeEntry::from_run),
            details: options.details.then(|| RunDetails::from_plan_run(plan)),
        }
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct BaseEntry<'a> {
    config: &'a str,
    serial: u64,
    project: Option<&'a Name>,
    destroy: bool,
}

impl<'a> BaseEntry<'a> {
    pub(in crate::report::json) fn from_plan_base(plan: &'a Plan) -> Self {
        let base = &plan.base;
        Self {
            config: &base.config,
            serial: base.serial,
            project: base.project.as_ref(),
            destroy: base.destroy,
        }
    }
}

/// Facts that apply to one run only.
#[derive(Serialize)]
struct RunDetails {
    made_at: Timestamp,
    nonce: Uuid,
    lineage: Uuid,
    priced_at: Option<Timestamp>,
    limited: u32,
    waited_ms: u64,
}

impl RunDetails {
    fn from_plan_run(plan: &Plan) -> Self {
        Self {
            made_at: plan.base.made_at,
            nonce: plan.base.nonce,
            lineage: plan.base.lineage,
            priced_at: plan.cost.priced_at,
            limited: plan.requests.limited,
            waited_ms: plan.requests.waited_ms,
        }
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct PlanSummary {
    create: usize,
    update: usize,
    replace: usize,
    delete: usize,
    adopt: usize,
    r#move: usize,
    forget: usize,
    unchanged: usize,
}

impl PlanSummary {
    pub(in crate::report::json) fn count_changes(plan: &Plan) -> Self {
        let counts = ActionCounts::from_plan(plan);
        Self {
            create: counts.get(Action::Create),
            update: counts.get(Action::Update),
            replace: counts.get(Action::Replace),
            delete: counts.get(Action::Delete),
            adopt: counts.get(Action::Adopt),
            r#move: counts.get(Action::Move),
            forget: counts.get(Action::Forget),
            unchanged: plan.unchanged,
        }
    }
}

/// Serializes changes one by one, so that not all entries are in memory at the same time.
struct ChangeEntries<'a>(&'a [Change], PlanDocumentOptions<'a>);

impl Serialize for ChangeEntries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|change| ChangeEntry::from_change(change, self.1)))
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct ChangeEntry<'a> {
    address: &'a Address,
    kind: &'a Name,
    id: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<&'a Address>,
    action: &'static str,
    create_first: Option<bool>,
    cause: Cause,
    reason: Option<&'a str>,
    attributes: Vec<AttributeEntry<'a>>,
    effects: Vec<EffectEntry<'a>>,
    cost: ChangeCostEntry,
    hits: &'a [Address],
    steps: &'a [usize],
    seconds: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

impl<'a> ChangeEntry<'a> {
    pub(in crate::report::json) fn from_change(
        change: &'a Change,
        options: PlanDocumentOptions<'_>,
    ) -> Self {
        Self {
            address: &change.address,
            kind: &change.kind,
            id: change.id.as_ref(),
            was: change.was.as_ref().map(|was| &was.address),
            action: phrases::action_keyword(change.action),
            create_first: change.create_first,
            cause: change.cause,
            reason: change.reason.as_deref(),
            attributes: change
                .attributes
                .iter()
                .map(|a| AttributeEntry::from_attribute(a, options))
                .collect(),
            effects: change.effects.iter().map(|e| EffectEntry { code: e.code, text: &e.text }).collect(),
            cost: ChangeCostEntry::from_cost(&change.cost),
            hits: &change.hits,
            steps: &change.steps,
            seconds: change.seconds,
            source: change.source.as_ref().filter(|_| options.details),
        }
    }
}

#[derive(Serialize)]
struct AttributeEntry<'a> {
    path: &'a Name,
    before: JsonValue<'a>,
    after: JsonValue<'a>,
    unknown: Vec<Address>,
    secret: bool,
    forces_replacement: bool,
    cause: Cause,
    last_applied: Option<JsonValue<'a>>,
    set_by: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

impl<'a> AttributeEntry<'a> {
    fn from_attribute(attribute: &'a AttributeChange, options: PlanDocumentOptions<'_>) -> Self {
        Self {
            path: &attribute.path,
            before: JsonValue(&attribute.before),
            after: JsonValue(&attribute.after),
            unknown: attribute.after.waits_for(),
            secret: attribute.before.is_secret() || attribute.after.is_secret(),
            forces_replacement: attribute.forces_replacement,
            cause: attribute.cause,
            last_applied: attribute.last_applied.as_ref().map(JsonValue),
            set_by: attribute.set_by.as_ref(),
            source: attribute.source.as_ref().filter(|_| options.details),
        }
    }
}

#[derive(Serialize)]
struct EffectEntry<'a> {
    code: Effect,
    text: &'a str,
}

#[derive(Serialize)]
struct ChangeCostEntry {
    monthly_before: Option<JsonDecimal>,
    monthly_after: Option<JsonDecimal>,
}

impl ChangeCostEntry {
    fn from_cost(cost: &ChangeCost) -> Self {
        Self {
            monthly_before: cost.monthly_before.map(JsonDecimal),
            monthly_after: cost.monthly_after.map(JsonDecimal),
        }
    }
}

/// One difference, as `plan` and `drift` write it.
#[derive(Serialize)]
pub(in crate::report::json) struct DriftEntry<'a> {
    address: &'a Address,
    path: Option<&'a Name>,
    last_applied: JsonValue<'a>,
    live: JsonValue<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unconfirmed: bool,
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_drift: Option<IgnoreDriftEntry<'a>>,
}

/// The effect of `ignore_drift` on a difference.
#[derive(Serialize)]
struct IgnoreDriftEntry<'a> {
    reason: Option<&'a str>,
    until: Option<&'a Name>,
    ended: bool,
}

impl<'a> DriftEntry<'a> {
    /// Returns the entry of a difference.
    pub(in crate::report::json) fn from_drift(drift: &'a Drift) -> Self {
        Self {
            address: &drift.address,
            path: drift.path.as_ref(),
            last_applied: JsonValue(&drift.last_applied),
            live: JsonValue(&drift.live),
            unconfirmed: drift.unconfirmed,
            class: phrases::drift_class(drift.class),
            blocked_by: drift.blocked_by.as_ref(),
            ignore_drift: drift.leave.as_ref().map(|leave| IgnoreDriftEntry {
                reason: leave.reason.as_deref(),
                until: leave.until.as_ref(),
                ended: leave.ended,
            }),
        }
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct BlockerEntry<'a> {
    code: &'a Name,
    address: Option<&'a Address>,
    text: &'a str,
    help: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

impl<'a> BlockerEntry<'a> {
    pub(in crate::report::json) fn from_blocker(
        block: &'a Blocker,
        options: PlanDocumentOptions<'_>,
    ) -> Self {
        Self {
            code: &block.code,
            address: block.address.as_ref(),
            text: &block.text,
            help: &block.help,
            source: block.source.as_ref().filter(|_| options.details),
        }
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct PolicyResultEntry<'a> {
    name: &'a Name,
    address: Option<&'a Address>,
    verdict: PolicyStatus,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

impl<'a> PolicyResultEntry<'a> {
    pub(in crate::report::json) fn from_policy_result(
        ruling: &'a PolicyResult,
        options: PlanDocumentOptions<'_>,
    ) -> Self {
        Self {
            name: &ruling.name,
            address: ruling.address.as_ref(),
            verdict: ruling.verdict,
            message: &ruling.message,
            source: ruling.source.as_ref().filter(|_| options.details),
        }
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct NoteEntry<'a> {
    code: NoteCode,
    text: &'a str,
    help: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

impl<'a> NoteEntry<'a> {
    pub(in crate::report::json) fn from_note(note: &'a PlanNote, options: PlanDocumentOptions<'_>) -> Self {
        Self {
            code: note.code,
            text: &note.text,
            help: &note.help,
            source: note.source.as_ref().filter(|_| options.details),
        }
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct CostEntry<'a> {
    monthly_before: JsonDecimal,
    monthly_after: JsonDecimal,
    delta: JsonDecimal,
    unpriced: usize,
    moved: Vec<PriceChangeEntry<'a>>,
}

#[derive(Serialize)]
struct PriceChangeEntry<'a> {
    name: &'a str,
    pinned: JsonDecimal,
    now: JsonDecimal,
}

impl<'a> CostEntry<'a> {
    pub(in crate::report::json) fn from_plan_cost(plan: &'a Plan) -> Self {
        let cost = &plan.cost;
        let moved = cost
            .moved
            .iter()
            .map(|(name, pinned, now)| PriceChangeEntry {
                name,
                pinned: JsonDecimal(*pinned),
                now: JsonDecimal(*now),
            })
            .collect();
        Self {
            monthly_before: JsonDecimal(cost.monthly_before),
            monthly_after: JsonDecimal(cost.monthly_after),
            delta: JsonDecimal(cost.monthly_after - cost.monthly_before),
            unpriced: cost.unpriced,
            moved,
        }
    }
}

/// Serializes steps one by one.
struct StepEntries<'a>(&'a [Step], Registry);

impl Serialize for StepEntries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.0.iter().enumerate().map(|(at, step)| StepEntry::from_step(at, step, self.1)))
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct StepEntry<'a> {
    step: usize,
    address: &'a Address,
    operation: &'static str,
    request: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    then: Vec<String>,
    after: &'a [usize],
    seconds: u32,
}

impl<'a> StepEntry<'a> {
    pub(in crate::report::json) fn from_step(number: usize, step: &'a Step, registry: Registry) -> Self {
        let mut requests = step_requests(step, registry).into_iter();
        Self {
            step: number,
            address: &step.address,
            operation: phrases::operation_keyword(&step.operation),
            request: requests.next(),
            then: requests.collect(),
            after: &step.after,
            seconds: step.seconds,
        }
    }
}

/// Returns the requests that a step sends, such as `POST /api/v1/…`, in order.
#[must_use]
pub fn step_requests(step: &Step, registry: Registry) -> Vec<String> {
    let Some(kind) = registry.kind(&step.kind) else { return Vec::new() };
    let text = |endpoint: Endpoint| format!("{} {}", endpoint.method, endpoint.path);
    match &step.operation {
        Operation::Create { .. } => vec![text(kind.api.create)],
        Operation::Delete { .. } => vec![text(kind.api.delete)],
        Operation::Update { calls, .. } => calls
            .iter()
            .filter_map(|planned| kind.call(&planned.call))
            .map(|call| text(call.endpoint))
            .collect(),
    }
}

#[derive(Serialize)]
pub(in crate::report::json) struct CriticalPathEntry<'a> {
    steps: &'a [usize],
    seconds: u32,
}

#[derive(Serialize)]
pub(in crate::report::json) struct RequestStats {
    sent: u32,
    pages: u32,
}

impl<'a> CriticalPathEntry<'a> {
    pub(in crate::report::json) fn from_critical_path(plan: &'a Plan) -> Self {
        Self { steps: &plan.critical_path.steps, seconds: plan.critical_path.seconds }
    }
}

impl RequestStats {
    pub(in crate::report::json) const fn from_request_count(plan: &Plan) -> Self {
        Self { sent: plan.requests.sent, pages: plan.requests.pages }
    }
}
