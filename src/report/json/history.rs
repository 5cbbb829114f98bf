//! The JSON documents of `history` and `lock`.

use serde::Serialize;

use super::writer::{SCHEMA_VERSION, to_pretty};
use crate::model::address::Name;
use crate::report::views::history::{IncidentRecord, LockHolder, RunRecord};

#[derive(Serialize)]
struct HistoryDocument<'a> {
    schema_version: u32,
    stack: &'a Name,
    env: &'a Name,
    runs: Vec<RunEntry<'a>>,
    incidents: Vec<IncidentEntry<'a>>,
}

#[derive(Serialize)]
struct RunEntry<'a> {
    n: usize,
    run: &'a str,
    at: String,
    ended: Option<String>,
    who: &'a str,
    commit: Option<&'a str>,
    plan: Option<&'a str>,
    config: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overridden: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    outcome: &'static str,
    done: usize,
    failed: usize,
    skipped: usize,
    questions: usize,
}

#[derive(Serialize)]
struct IncidentEntry<'a> {
    at: String,
    what: &'a str,
    who: &'a str,
    reason: Option<&'a str>,
}

/// Returns the JSON document of a history, or of one of its runs.
#[must_use]
pub fn history_document(
    stack: &Name,
    env: &Name,
    runs: &[RunRecord],
    incidents: &[IncidentRecord],
) -> String {
    to_pretty(&HistoryDocument {
        schema_version: SCHEMA_VERSION,
        stack,
        env,
        runs: runs.iter().map(RunEntry::from_run).collect(),
        incidents: incidents.iter().map(IncidentEntry::from_incident).collect(),
    })
}

impl<'a> RunEntry<'a> {
    fn from_run(past: &'a RunRecord) -> Self {
        let [done, failed, skipped, questions] = past.tally;
        Self {
            n: past.number,
            run: &past.run,
            at: past.at.to_string(),
            ended: past.ended.map(|at| at.to_string()),
            who: &past.who,
            commit: past.commit.as_deref(),
            plan: past.plan.as_deref(),
            config: past.config.as_deref(),
            overridden: past.overridden.as_ref().map(|(policies, _)| policies.as_str()),
            reason: past.overridden.as_ref().map(|(_, why)| why.as_str()),
            outcome: past.outcome.as_text(),
            done,
            failed,
            skipped,
            questions,
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

#[derive(Serialize)]
struct LockDocument<'a> {
    schema_version: u32,
    place: &'a str,
    lock: Option<LockHolderEntry<'a>>,
}

#[derive(Serialize)]
struct LockHolderEntry<'a> {
    who: &'a str,
    since: String,
    process: Option<u32>,
    standing: &'static str,
    renewed_seconds_ago: Option<u64>,
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
