//! The JSON documents of `history` and `lock`.

use serde::Serialize;

use crate::model::address::Name;
use crate::report::json_value::JsonValue;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::views::history::{
    ApplyStatus, BegunRecord, IncidentRecord, LockHolder, LockStatus, OutputRecord, OutputValue,
    PolicyRecord, RequestOutcome, RequestRecord, ResourceRecord, RunRecord,
};

/// The document of `stead history --output json`. With `show N`, `runs` contains that run only.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistoryDocument<'a> {
    schema_version: SchemaVersion,
    /// Name of the stack.
    stack: &'a Name,
    /// Name of the environment.
    env: &'a Name,
    /// Past applies, the latest first.
    runs: Vec<RunEntry<'a>>,
    /// Operations on the ledger itself, the latest first.
    incidents: Vec<IncidentEntry<'a>>,
}

/// One apply.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RunEntry<'a> {
    /// Number of the run in its ledger: 1, 2, and so on, never used again.
    n: u64,
    /// Id of the run.
    run: &'a str,
    /// When it started, RFC 3339.
    at: String,
    /// When it ended, RFC 3339; null if no end is recorded.
    ended: Option<String>,
    /// The actor, as user@host, with the job in CI.
    who: &'a str,
    /// Commit of the configuration, if known.
    commit: Option<&'a str>,
    /// Whether files that the stack reads differed from the commit; null if that is not known.
    dirty: Option<bool>,
    /// Fingerprint of the plan, 64 hexadecimal digits; earlier versions recorded eight of them.
    plan: Option<&'a str>,
    /// Digest of the resolved configuration.
    config: Option<&'a str>,
    /// Policies whose denial the user overrode.
    #[serde(skip_serializing_if = "Option::is_none")]
    overridden: Option<&'a str>,
    /// Why the user overrode them.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// How it ended.
    outcome: ApplyStatus,
    /// Number of resources whose steps all succeeded.
    done: usize,
    /// Number of resources with a failed step.
    failed: usize,
    /// Number of resources with a step that was not started.
    skipped: usize,
    /// Number of ambiguous intents at the end.
    questions: usize,
    /// How the plan was approved: `--yes`, `--expect`, `prompt`, `saved plan` or `--join`, if that was recorded.
    approval: Option<&'a str>,
    /// Id of the run of many stacks to which it belongs.
    common_run: Option<&'a str>,
    /// Each resource that changed. Only with `show N`, and not if only the summary of the run is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<ResourceRunEntry<'a>>>,
    /// Each output that it added, changed or removed. Only with `show N`, and not if it changed none, or only the summary
    /// of the run is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<OutputRunEntry<'a>>>,
    /// The requests that it began. Only with `show N`, for a run without a recorded end.
    #[serde(skip_serializing_if = "Option::is_none")]
    begun: Option<Vec<BegunRequestEntry<'a>>>,
    /// Results of the policies that the plan could not decide. Only with `show N`, and if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyRunEntry<'a>>,
}

/// An output that a run changed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OutputRunEntry<'a> {
    /// Name of the output.
    name: &'a str,
    /// What happened to it: `create`, `update` or `delete`.
    action: &'static str,
    /// The value before the run, a secret as its fingerprint; null if there was none, or it is not kept.
    before: Option<JsonValue<'a>>,
    /// The value after the run, a secret as its fingerprint; null if there is none, or it is not kept.
    after: Option<JsonValue<'a>>,
    /// Whether a value is too long for the history, and null for this reason.
    too_long: bool,
}

/// A request of a run without a recorded end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BegunRequestEntry<'a> {
    /// Address of the resource.
    address: &'a str,
    /// What the request does: `create`, `update` or `delete`.
    action: &'a str,
    /// Name of an update's call; null for others.
    call: Option<&'a str>,
    /// What the ledger records of its outcome.
    outcome: RequestOutcome,
}

/// The result of a policy that the plan could not decide, for the resources with the same result.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PolicyRunEntry<'a> {
    /// Name of the policy.
    name: &'a str,
    /// The result: `pass`, `warn`, `overridden`, `deny`, or `unknown` if it was never decided.
    verdict: &'a str,
    /// The first resources that it is about; empty for a policy over the plan.
    addresses: &'a [String],
    /// Number of further resources that it is about.
    more: usize,
    /// The step before which it was decided, such as `create vm.web`; of several, the first. Null if it was not.
    before: Option<&'a str>,
}

/// What a run did to one resource.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ResourceRunEntry<'a> {
    /// Address of the resource.
    address: &'a str,
    /// The planned action.
    action: &'a str,
    /// How it ended: `done`, `failed` or `skipped`.
    result: &'a str,
    /// Sum of the durations of its steps, in milliseconds.
    took_ms: u64,
    /// Why it failed.
    error: Option<&'a str>,
    /// The requests that changed its objects, in order.
    requests: Vec<RequestEntry<'a>>,
}

/// A request that a run sent.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RequestEntry<'a> {
    /// The HTTP method.
    method: &'a str,
    /// The path.
    path: &'a str,
    /// Status of the response; null without one.
    status: Option<u16>,
    /// The service's id of the request, if it sends one.
    request_id: Option<&'a str>,
}

/// An operation on the ledger itself.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IncidentEntry<'a> {
    /// When it took place, RFC 3339.
    at: String,
    /// The operation in a few words.
    what: &'a str,
    /// The actor, as user@host, with the job in CI.
    who: &'a str,
    /// The reason that the actor gave.
    reason: Option<&'a str>,
}

/// Returns the JSON document of a history, or of one of its runs: with `is_full` also what it did to each resource.
#[must_use]
pub fn history_document(
    stack: &Name,
    env: &Name,
    (runs, is_full): (&[RunRecord], bool),
    incidents: &[IncidentRecord],
) -> String {
    to_pretty(&HistoryDocument {
        schema_version: SCHEMA_VERSION,
        stack,
        env,
        runs: runs.iter().map(|past| RunEntry::from_run(past, is_full)).collect(),
        incidents: incidents.iter().map(IncidentEntry::from_incident).collect(),
    })
}

impl<'a> RunEntry<'a> {
    fn from_run(past: &'a RunRecord, is_full: bool) -> Self {
        let has_resources = is_full && !past.resources.is_empty();
        let has_outputs = is_full && !past.outputs.is_empty();
        let is_open = is_full && past.outcome == ApplyStatus::Unfinished;
        let [done, failed, skipped, questions] = past.tally;
        Self {
            n: past.number,
            run: &past.run,
            at: past.at.to_string(),
            ended: past.ended.map(|at| at.to_string()),
            who: &past.who,
            commit: past.commit.as_deref(),
            dirty: past.dirty,
            plan: past.plan.as_deref(),
            config: past.config.as_deref(),
            overridden: past.overridden.as_ref().map(|(policies, _)| policies.as_str()),
            reason: past.overridden.as_ref().map(|(_, why)| why.as_str()),
            outcome: past.outcome,
            done,
            failed,
            skipped,
            questions,
            approval: past.approval.as_deref(),
            common_run: past.common.as_deref(),
            resources: has_resources.then(|| past.resources.iter().map(ResourceRunEntry::new).collect()),
            outputs: has_outputs.then(|| past.outputs.iter().map(OutputRunEntry::new).collect()),
            begun: is_open.then(|| past.begun.iter().map(BegunRequestEntry::new).collect()),
            policies: past.policies.iter().filter(|_| is_full).map(PolicyRunEntry::new).collect(),
        }
    }
}

impl<'a> PolicyRunEntry<'a> {
    fn new(policy: &'a PolicyRecord) -> Self {
        Self {
            name: &policy.policy,
            verdict: &policy.verdict,
            addresses: &policy.addresses,
            more: policy.more,
            before: policy.before.as_deref(),
        }
    }
}

impl<'a> ResourceRunEntry<'a> {
    fn new(resource: &'a ResourceRecord) -> Self {
        let request = |request: &'a RequestRecord| RequestEntry {
            method: &request.method,
            path: &request.path,
            status: request.status,
            request_id: request.request_id.as_deref(),
        };
        Self {
            address: &resource.address,
            action: &resource.action,
            result: resource.result,
            took_ms: u64::try_from(resource.took.as_millis()).unwrap_or(u64::MAX),
            error: resource.error.as_deref(),
            requests: resource.requests.iter().map(request).collect(),
        }
    }
}

impl<'a> OutputRunEntry<'a> {
    fn new(output: &'a OutputRecord) -> Self {
        let value = |value: &'a OutputValue| match value {
            OutputValue::Kept(value) => Some(JsonValue(value)),
            OutputValue::Absent | OutputValue::TooLong => None,
        };
        let (before, after) = (&output.before, &output.after);
        Self {
            name: &output.name,
            action: match (before, after) {
                (OutputValue::Absent, _) => "create",
                (_, OutputValue::Absent) => "delete",
                _ => "update",
            },
            before: value(before),
            after: value(after),
            too_long: [before, after].contains(&&OutputValue::TooLong),
        }
    }
}

impl<'a> BegunRequestEntry<'a> {
    fn new(request: &'a BegunRecord) -> Self {
        Self {
            address: &request.address,
            action: &request.action,
            call: request.call.as_deref(),
            outcome: request.outcome,
        }
    }
}

impl<'a> IncidentEntry<'a> {
    fn from_incident(happened: &'a IncidentRecord) -> Self {
        Self {
            at: happened.at.to_string(),
            what: &happened.what,
            who: &happened.who,
            reason: happened.reason.as_deref(),
        }
    }
}

/// The document of `stead lock status --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LockDocument<'a> {
    schema_version: SchemaVersion,
    /// Where the ledger is stored, without a password.
    place: &'a str,
    /// The holder of the lock; null if the lock is free.
    lock: Option<LockHolderEntry<'a>>,
}

/// The holder of a lock.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LockHolderEntry<'a> {
    /// The actor, as user@host, with the job in CI.
    who: &'a str,
    /// When the lock was taken, by the holder's clock, RFC 3339.
    since: String,
    /// Process id of the holder, if known.
    process: Option<u32>,
    /// Whether the lock blocks other processes.
    standing: LockStatus,
    /// Seconds since the last renewal; null for a lock that needs no renewal.
    renewed_seconds_ago: Option<u64>,
    /// Maximum number of seconds until the lock expires; null for a lock that does not expire.
    left_seconds: Option<u64>,
}

/// Returns the JSON document of a lock; `lock` is `null` if no process holds it.
#[must_use]
pub fn lock_document(holder: Option<&LockHolder>, place: &str) -> String {
    to_pretty(&LockDocument {
        schema_version: SCHEMA_VERSION,
        place,
        lock: holder.map(LockHolderEntry::from_holder),
    })
}

impl<'a> LockHolderEntry<'a> {
    fn from_holder(holder: &'a LockHolder) -> Self {
        Self {
            who: &holder.who,
            since: holder.since.to_string(),
            process: holder.process,
            standing: holder.standing,
            renewed_seconds_ago: holder.renewed,
            left_seconds: holder.left,
        }
    }
}
