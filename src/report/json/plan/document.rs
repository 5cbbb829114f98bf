//! The plan's JSON document.
//!
//! Two runs over the same configuration, ledger and live objects give the same document. Facts of a single run
//! (times, the nonce, waits) and of a single spelling of the configuration (source locations) are only under
//! `details` and `source`, which are written on request only.

use std::io;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::change_entry::{ChangeEntry, PlanDocumentOptions};
use super::cost_entry::CostEntry;
use super::output_entry::OutputEntry;
use super::run::RunOutcomeEntry;
use super::step_entry::{CriticalPathEntry, StepEntry};
use crate::model::address::{Address, Name};
use crate::model::cel::policy::{FactSource, PolicyLevel, find_fact};
use crate::model::schema::Registry;
use crate::model::source::SourceLocation;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Change, Drift, DriftClass, Plan, PolicyResult, PolicyStatus};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::step::Step;
use crate::report::json_value::JsonValue;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, pretty_to, to_pretty};
use crate::report::text::counts::ActionCounts;

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

/// What identifies a plan. The first line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct PlanHeader<'a> {
    schema_version: SchemaVersion,
    /// Version of the program that made the plan.
    stead_version: &'static str,
    /// Name of the stack.
    stack: &'a Name,
    /// Name of the environment.
    env: &'a Name,
    /// The account: the id of its default project.
    account: &'a Name,
    base: BaseEntry<'a>,
    /// SHA-256 of everything that the plan decides, for `apply --expect`.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-f]{64}$")))]
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

/// The document of `stead plan --output json` and `stead show --output json`. Without details it depends only on the
/// configuration, the ledger and the live objects, not on the syntax or the time.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanDocument<'a> {
    #[serde(flatten)]
    head: PlanHeader<'a>,
    summary: PlanSummary,
    /// Resources that change, the most dangerous change first.
    #[cfg_attr(test, schemars(with = "Vec<ChangeEntry<'a>>"))]
    changes: ChangeEntries<'a>,
    /// Outputs that change, or may change, by name.
    outputs: Vec<OutputEntry<'a>>,
    /// Differences between the last apply and the live objects.
    drift: Vec<DriftEntry<'a>>,
    /// Why the plan cannot be applied; empty if it can.
    blocks: Vec<BlockerEntry<'a>>,
    /// Results of the policies.
    policy: Vec<PolicyResultEntry<'a>>,
    /// Notes, which block nothing.
    notes: Vec<NoteEntry<'a>>,
    cost: CostEntry<'a>,
    /// The steps of the apply.
    #[cfg_attr(test, schemars(with = "Vec<StepEntry<'a>>"))]
    order: StepEntries<'a>,
    critical_path: CriticalPathEntry<'a>,
    requests: RequestStats,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<RunOutcomeEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<RunDetails>,
}

impl<'a> PlanDocument<'a> {
    /// Returns the document of a plan.
    pub(in crate::report::json) fn new(
        plan: &'a Plan,
        registry: Registry,
        options: PlanDocumentOptions<'a>,
    ) -> Self {
        Self {
            head: PlanHeader::from_plan(plan),
            summary: PlanSummary::count_changes(plan),
            changes: ChangeEntries(&plan.changes, options),
            outputs: plan
                .output_changes()
                .map(|output| OutputEntry::from_output(output, options))
                .collect(),
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
            outcome: options.ran.map(|ran| RunOutcomeEntry::from_run(ran, plan)),
            details: options.details.then(|| RunDetails::from_plan_run(plan)),
        }
    }
}

/// The state that the plan is based on.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report::json) struct BaseEntry<'a> {
    /// Digest of the resolved configuration.
    config: &'a str,
    /// Serial of the ledger.
    serial: u64,
    /// Id of the project of project-scoped resources; null if it does not exist yet.
    project: Option<&'a Name>,
    /// Whether the plan deletes everything that is not protected.
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

/// Facts that apply to one run only. Only with details.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RunDetails {
    /// When the plan was made.
    made_at: Timestamp,
    /// Random value because of which the plan can be applied once only.
    nonce: Uuid,
    /// Lineage of the ledger.
    lineage: Uuid,
    /// When the prices were read; null if that is not known.
    priced_at: Option<Timestamp>,
    /// Number of responses with status 429.
    limited: u32,
    /// Milliseconds for which the rate limiter delayed requests.
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

/// Number of resources for each action.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report::json) struct PlanSummary {
    /// Number of new objects.
    create: usize,
    /// Number of objects that change in place.
    update: usize,
    /// Number of objects that are deleted and created again.
    replace: usize,
    /// Number of objects that are deleted.
    delete: usize,
    /// Number of live objects that are taken into the ledger.
    adopt: usize,
    /// Number of resources that get a new address.
    r#move: usize,
    /// Number of objects that are removed from the ledger and stay live.
    forget: usize,
    /// Number of resources without a change.
    unchanged: usize,
    /// Number of resources that the command line left out: of these, the plan says nothing.
    left_out: usize,
    /// Number of outputs that change, or may change.
    outputs: usize,
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
            left_out: plan.left_out,
            outputs: plan.output_changes().count(),
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

/// A difference between the last apply and a live object.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct DriftEntry<'a> {
    /// Address of the resource.
    address: &'a Address,
    /// The attribute; null if the whole object is gone.
    path: Option<&'a Name>,
    /// The last applied value.
    last_applied: JsonValue<'a>,
    /// The live value.
    live: JsonValue<'a>,
    /// No earlier reading showed the applied value, so that nothing proves a change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, schemars(extend("const" = true)))]
    unconfirmed: bool,
    /// What the plan does about it.
    class: DriftClass,
    /// Code of the blocker because of which an apply does nothing about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_drift: Option<IgnoreDriftEntry<'a>>,
}

/// The `ignore_drift` entry that covers a difference.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IgnoreDriftEntry<'a> {
    /// The reason that the configuration gives.
    reason: Option<&'a str>,
    /// The last day on which the entry applies (UTC), as `YYYY-MM-DD`; null if it has no end.
    until: Option<&'a Name>,
    /// Whether that day is past, so that the difference counts again.
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
            class: drift.class,
            blocked_by: drift.blocked_by.as_ref(),
            ignore_drift: drift.leave.as_ref().map(|leave| IgnoreDriftEntry {
                reason: leave.reason.as_deref(),
                until: leave.until.as_ref(),
                ended: leave.ended,
            }),
        }
    }
}

/// A reason why the plan cannot be applied.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct BlockerEntry<'a> {
    /// Stable code of the blocker.
    code: &'a Name,
    /// Address of the resource; null if it is about the whole plan.
    address: Option<&'a Address>,
    /// What blocks the plan and why.
    text: &'a str,
    /// The remedy.
    help: &'a str,
    /// Location in the configuration. Only with details.
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

/// The result of a policy.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct PolicyResultEntry<'a> {
    /// Name of the policy.
    name: &'a Name,
    /// The evaluated resource; null for the plan as a whole.
    address: Option<&'a Address>,
    /// What a denial does.
    level: PolicyLevel,
    /// The result of the evaluation.
    verdict: PolicyStatus,
    /// Message of the policy.
    message: &'a str,
    /// The facts of the moment and of the environment that the result depends on. If there are any, it is not part of the
    /// fingerprint, and is decided again at apply.
    context: Vec<ContextEntry<'a>>,
    /// Location of the policy. Only with details.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceLocation>,
}

/// A fact of the moment or of the environment.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct ContextEntry<'a> {
    /// Name of the fact: `now`, `actor` or `branch`.
    fact: &'a Name,
    /// Whether it is only what the environment of the process claims.
    claimed: bool,
    /// The value. Only with details.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a Name>,
}

impl<'a> ContextEntry<'a> {
    fn new((fact, value): (&'a Name, &'a Name), options: PlanDocumentOptions<'_>) -> Self {
        let claimed = find_fact(fact).is_some_and(|fact| fact.source == FactSource::Environment);
        Self { fact, claimed, value: Some(value).filter(|_| options.details) }
    }
}

impl<'a> PolicyResultEntry<'a> {
    pub(in crate::report::json) fn from_policy_result(
        ruling: &'a PolicyResult,
        options: PlanDocumentOptions<'_>,
    ) -> Self {
        Self {
            name: &ruling.name,
            address: ruling.address.as_ref(),
            level: ruling.level,
            verdict: ruling.verdict,
            message: &ruling.message,
            context: ruling.context.iter().map(|fact| ContextEntry::new(fact, options)).collect(),
            source: ruling.source.as_ref().filter(|_| options.details),
        }
    }
}

/// A note, which blocks nothing.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct NoteEntry<'a> {
    /// Category of the note.
    code: NoteCode,
    /// What was found.
    text: &'a str,
    /// The remedy.
    help: &'a str,
    /// Location in the configuration. Only with details.
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

/// Serializes steps one by one.
struct StepEntries<'a>(&'a [Step], Registry);

impl Serialize for StepEntries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.0.iter().enumerate().map(|(at, step)| StepEntry::from_step(at, step, self.1)))
    }
}

/// Requests for reading the live objects.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report::json) struct RequestStats {
    /// Number of requests sent, including retries.
    sent: u32,
    /// Number of these that read a page of a list.
    pages: u32,
}

impl RequestStats {
    pub(in crate::report::json) const fn from_request_count(plan: &Plan) -> Self {
        Self { sent: plan.requests.sent, pages: plan.requests.pages }
    }
}
