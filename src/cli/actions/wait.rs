//! Waits until an action is complete: an object is ready, a record is gone, or a run has ended. In: the response of the
//! action. Out: the object or record that it led to. Only reads are sent, so a wait can be interrupted at any time.

use std::time::Duration;

use serde_json::Value as Json;

use super::invocation::ActionInvocation;
use super::registry::KindAction;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::http::decode;
use crate::cloud::http::url_path::fill_all;
use crate::cloud::write::action_request::EndpointRequest;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{ActionCompletion, Kind, ResponseShape, RunSchema, Type};
use crate::report::views::action_output::ActionOutput;

/// Longest interval between two polls of a list; a followed feed is polled at exactly this interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Lower bound of the default timeout of a wait for an object; `--timeout` overrides it.
const MIN_WAIT: Duration = Duration::from_mins(10);

/// Factor from the kind's estimated duration, in seconds, to the default timeout.
const ESTIMATE_FACTOR: u32 = 20;

/// Result of the wait; all fields are `None` if the response described nothing to wait for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::cli) struct WaitOutcome {
    /// The object that became ready, or that the response describes.
    pub(in crate::cli) object: Option<Object>,
    /// Last record of a run that ended, redacted.
    pub(in crate::cli) record: Option<Json>,
    /// Exit code of a run that ended, successful or not; `None` if the action is not a run, or was not waited for.
    pub(in crate::cli) exit: Option<Exit>,
}

/// Condition to wait for, and the callbacks that report progress.
pub(in crate::cli) struct ActionWaiter<'a> {
    /// The action that was sent.
    pub(in crate::cli) scene: ActionInvocation<'a>,
    /// The object before the action, if the action changes the object's status; `None` otherwise.
    pub(in crate::cli) before: Option<&'a Object>,
    /// Callback for each new status of the object or run; the status is not escaped.
    pub(in crate::cli) status: &'a dyn Fn(&str),
    /// Callback for each new record of a feed, oldest first.
    pub(in crate::cli) news: &'a dyn Fn(&Json),
}

impl ActionWaiter<'_> {
    /// Waits until the action is complete, starting from its response. Returns at once with `--no-wait`.
    ///
    /// # Errors
    /// When it is not complete within the timeout, or its state cannot be read. A run that failed is not an error:
    /// its exit code says so.
    pub(in crate::cli) async fn wait_until_over(
        &self,
        answer: Option<&Json>,
    ) -> Result<WaitOutcome, CliFailure> {
        let object = self.answered_object(answer);
        if self.scene.args.no_wait {
            return Ok(WaitOutcome { object, ..WaitOutcome::default() });
        }
        match self.scene.deed.action.until {
            ActionCompletion::OnResponse => Ok(WaitOutcome { object, ..WaitOutcome::default() }),
            ActionCompletion::ObjectReady(feed) => {
                let Some(key) = self.scene.target.key.clone() else { return Ok(WaitOutcome::default()) };
                let settled = self.wait_until_ready(self.scene.target.kind, &key);
                let object = match feed {
                    None => settled.await?,
                    Some(feed) => tokio::select! {
                        object = settled => object?,
                        never = self.follow_named(feed) => return Err(never),
                    },
                };
                Ok(WaitOutcome { object: Some(object), ..WaitOutcome::default() })
            }
            ActionCompletion::LinkedObjectReady(attributes) => self.wait_for_linked(attributes).await,
            ActionCompletion::ReturnedObjectReady => match object {
                Some(object) => {
                    let object = self.wait_until_ready(self.scene.order.answers, &object.key()).await?;
                    Ok(WaitOutcome { object: Some(object), ..WaitOutcome::default() })
                }
                None => Ok(WaitOutcome::default()),
            },
            ActionCompletion::RecordDeleted { listed_by, parameter } => {
                self.wait_until_gone(listed_by, parameter).await
            }
            ActionCompletion::RunFinished(run) => self.wait_until_finished(run, answer).await,
        }
    }

    /// Returns the object that the response describes; `None` if it describes none, or cannot be decoded.
    fn answered_object(&self, answer: Option<&Json>) -> Option<Object> {
        if self.scene.deed.action.answer != ResponseShape::Object {
            return None;
        }
        let record = decode::find_payload(answer?, self.scene.order.endpoint.envelope)?;
        let kind = self.scene.order.answers;
        let parent = self.scene.target.key.as_ref().and_then(|key| key.parent.clone());
        decode::parse_object(kind, record, parent.as_ref(), false).ok()
    }

    async fn wait_until_ready(&self, kind: &'static Kind, key: &ObjectKey) -> Result<Object, CliFailure> {
        let estimate = kind.estimate.create.max(kind.estimate.update).saturating_mul(ESTIMATE_FACTOR);
        let usual = MIN_WAIT.max(Duration::from_secs(estimate.into()));
        let within = self.scene.args.timeout.unwrap_or(usual);
        let client = self.scene.ground.client();
        let project = self.scene.order.ask.project.as_ref();
        // A read right after the request can still show the old ready state, so one that equals
        // `before` does not count.
        let settled = match self.before.filter(|before| before.key() == *key) {
            Some(before) => {
                client.settled_after_change((kind, key), project, within, before, self.status).await
            }
            None => client.wait_until_ready(kind, key, project, within, self.status).await,
        };
        settled.map_err(|error| {
            CliFailure::new(Exit::Failed, format!("{} {}: {error}", kind.name, key.id)).help(
                "The service accepted the request. Check the object: stead does not repeat the request.",
            )
        })
    }

    /// Waits until the object that this object refers to is ready: the first of the attributes that is set counts.
    async fn wait_for_linked(&self, attributes: &[&str]) -> Result<WaitOutcome, CliFailure> {
        let Some(key) = &self.scene.target.key else { return Ok(WaitOutcome::default()) };
        let Some(object) = self.scene.ground.client().get(key).await? else {
            return Ok(WaitOutcome::default());
        };
        let link = attributes.iter().find_map(|name| {
            let Type::Reference(kind) = self.scene.target.kind.attribute(name)?.ty else { return None };
            let id = Name::new(object.attributes.get(*name)?.as_text()?);
            Some((REGISTRY.kind(kind)?, ObjectKey { kind: Name::new_static(kind), parent: None, id }))
        });
        let Some((kind, key)) = link else { return Ok(WaitOutcome::default()) };
        let object = self.wait_until_ready(kind, &key).await?;
        Ok(WaitOutcome { object: Some(object), ..WaitOutcome::default() })
    }

    /// Waits until a list no longer contains a record; returns at once if the table has no such list.
    async fn wait_until_gone(
        &self,
        listed_by: &'static str,
        parameter: &str,
    ) -> Result<WaitOutcome, CliFailure> {
        let id = self.scene.args.given.get(parameter).and_then(|given| given.last());
        let (Some(id), Some(ask)) = (id, self.list_request(listed_by)) else {
            return Ok(WaitOutcome::default());
        };
        let started = self.elapsed();
        loop {
            let rows = self.read_rows(&ask, |rows| find_row(rows, "id", id).is_some()).await?;
            if find_row(&rows, "id", id).is_none() {
                return Ok(WaitOutcome::default());
            }
            self.pause(started, "it is still listed").await?;
        }
    }

    /// Waits until the run that the response describes has ended. A run that the list does not
    /// contain counts as running.
    ///
    /// # Errors
    /// When the response names no run, the list cannot be read, or the timeout is over.
    async fn wait_until_finished(
        &self,
        run: &'static RunSchema,
        answer: Option<&Json>,
    ) -> Result<WaitOutcome, CliFailure> {
        let begun =
            answer.and_then(|answer| decode::find_payload(answer, self.scene.order.endpoint.envelope));
        let id = begun.and_then(|record| record.get(run.id)).and_then(Json::as_str);
        let (Some(mut record), Some(id), Some(ask)) =
            (begun.cloned(), id, self.list_request(run.listed_by))
        else {
            return Err(CliFailure::new(
                Exit::Failed,
                "the response does not name the run that it started",
            )
            .help("The run has started. Look for it in the list of runs."));
        };
        let started = self.elapsed();
        let mut told = String::new();
        loop {
            let status = record.get(run.status).and_then(Json::as_str).unwrap_or("not listed").to_owned();
            if status != told {
                (self.status)(&status);
                told.clone_from(&status);
            }
            if let Some(exit) = end_of(run, &record, &status) {
                return Ok(WaitOutcome {
                    record: Some(record),
                    exit: Some(exit),
                    ..WaitOutcome::default()
                });
            }
            self.pause(started, &format!("it is still {status}")).await?;
            let rows = self.read_rows(&ask, |rows| find_row(rows, run.id, id).is_some()).await?;
            if let Some(found) = find_row(&rows, run.id, id) {
                record = found.clone();
            }
        }
    }

    /// Reports new records of a feed until the feed cannot be read; returns the failure that ended it. `id` is the
    /// field that identifies a record, `known` the records that are not reported again.
    pub(in crate::cli) async fn follow_feed(
        &self,
        ask: &EndpointRequest,
        id: &str,
        mut known: Vec<Json>,
    ) -> CliFailure {
        let client = self.scene.ground.client();
        loop {
            client.clock().sleep(POLL_INTERVAL).await;
            let seen =
                |rows: &[Json]| rows.iter().any(|row| known.iter().any(|old| old.get(id) == row.get(id)));
            let rows = match self.read_rows(ask, seen).await {
                Ok(rows) => rows,
                Err(failure) => return failure,
            };
            // The service lists the newest first; a log is read oldest first.
            let news: Vec<Json> = rows
                .into_iter()
                .rev()
                .filter(|row| !known.iter().any(|old| old.get(id) == row.get(id)))
                .collect();
            for row in &news {
                (self.news)(row);
            }
            // A record that has left the first page does not return to it, so a bounded memory is enough.
            let surplus = (known.len() + news.len()).saturating_sub(1_000);
            known.drain(..surplus.min(known.len()));
            known.extend(news);
        }
    }

    /// Follows a feed of the object during another wait. Never returns: only the other wait can end.
    async fn follow_named(&self, feed: &'static str) -> CliFailure {
        let id = match self.scene.deed.kind.action(feed).map(|action| action.answer) {
            Some(ResponseShape::Feed { id, .. }) => id,
            _ => "id",
        };
        let Some(ask) = self.list_request(feed) else { return std::future::pending().await };
        let known = self.read_rows(&ask, |_| true).await.unwrap_or_default();
        // The feed is optional: a failure to read it does not end the wait.
        self.follow_feed(&ask, id, known).await;
        std::future::pending().await
    }

    /// Returns the request for a list action of the kind, for this object; `None` if the kind has no such action, or
    /// its path needs more than the object.
    fn list_request(&self, action: &str) -> Option<EndpointRequest> {
        let action = self.scene.deed.kind.action(action)?;
        let endpoint = KindAction { kind: self.scene.deed.kind, action }.endpoint(REGISTRY)?;
        let key = self.scene.target.key.as_ref();
        let path = fill_all(endpoint.path, |name| match name {
            "id" => key.map(|key| key.id.as_str()),
            "parent" => key.and_then(|key| key.parent.as_deref()),
            _ => None,
        });
        Some(EndpointRequest {
            method: endpoint.method,
            path: path.ok()?,
            query: Vec::new(),
            project: None,
            body: None,
        })
    }

    /// Reads the rows of a list, redacted; `enough` ends the read before the last page.
    async fn read_rows(
        &self,
        ask: &EndpointRequest,
        enough: impl Fn(&[Json]) -> bool,
    ) -> Result<Vec<Json>, CliFailure> {
        let client = self.scene.ground.client();
        let mut rows = client.ask_rows(ask, enough).await?.ok_or_else(|| {
            CliFailure::new(Exit::Failed, format!("GET {}: the response contains no list", ask.path))
        })?;
        for row in &mut rows {
            client.redact_json(row);
        }
        Ok(rows)
    }

    fn elapsed(&self) -> Duration {
        self.scene.ground.client().clock().elapsed()
    }

    /// Sleeps until the next poll; fails once `--timeout` is over. Without it there is no limit.
    async fn pause(&self, started: Duration, state: &str) -> Result<(), CliFailure> {
        let waited = self.elapsed().saturating_sub(started);
        if let Some(within) = self.scene.args.timeout.filter(|within| waited >= *within) {
            return Err(CliFailure::new(Exit::Failed, format!("{state} after {} s", within.as_secs()))
                .help("It continues on the service: only the wait ended."));
        }
        // Short actions end early: the first polls have a shorter interval.
        self.scene
            .ground
            .client()
            .clock()
            .sleep(POLL_INTERVAL.min(waited / 4 + Duration::from_millis(200)))
            .await;
        Ok(())
    }
}

fn find_row<'a>(rows: &'a [Json], field: &str, id: &str) -> Option<&'a Json> {
    rows.iter().find(|row| row.get(field).and_then(Json::as_str) == Some(id))
}

/// Returns the exit code of a run that has ended, `Done` if it succeeded; `None` while it is running.
fn end_of(run: &RunSchema, record: &Json, status: &str) -> Option<Exit> {
    let code = run.exit_code.and_then(|field| record.get(field)).and_then(Json::as_i64);
    if run.done.contains(&status) {
        return Some(code.map_or(Exit::Done, Exit::of_job));
    }
    // A failed run never exits with 0, even if its recorded exit code is 0.
    run.failed.contains(&status).then(|| match code.map(Exit::of_job) {
        Some(Exit::Done) | None => Exit::Failed,
        Some(exit) => exit,
    })
}

/// Returns the reason for a run's failure, as the service states it, not escaped; `None` if it states none.
pub(in crate::cli) fn run_failure_reason(run: &RunSchema, record: &Json) -> Option<String> {
    let text = ActionOutput::text_field(record, run.error?)?.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RUN: RunSchema = RunSchema {
        listed_by: "runs",
        id: "id",
        status: "status",
        done: &["succeeded"],
        failed: &["failed", "canceled"],
        replaced: &[],
        exit_code: Some("exit_code"),
        error: Some("error"),
        told_by: None,
    };

    #[test]
    fn the_exit_code_of_a_job_run_is_the_exit_code_of_the_command() {
        let table = [
            ("queued", json!(null), None),
            ("running", json!(null), None),
            ("something_new", json!(0), None),
            ("succeeded", json!(0), Some(Exit::Done)),
            ("succeeded", json!(null), Some(Exit::Done)),
            ("failed", json!(3), Some(Exit::Job(3))),
            ("failed", json!(0), Some(Exit::Failed)),
            ("canceled", json!(null), Some(Exit::Failed)),
        ];
        for (status, code, exit) in table {
            assert_eq!(end_of(&RUN, &json!({"exit_code": code}), status), exit, "{status}");
        }
        assert_eq!(
            run_failure_reason(&RUN, &json!({"error": "out of memory"})).as_deref(),
            Some("out of memory")
        );
    }
}
