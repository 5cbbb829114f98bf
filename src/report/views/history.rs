//! The pages and table rows of `history` and `lock`.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::model::values::value::Value;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::style::{TextRole, TextStyle};
use crate::report::text::table::{ReportTable, TableCell, TableColumn};

/// One past apply, as the history shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunRecord {
    /// Number of the run in its ledger.
    pub number: u64,
    /// Id of the run.
    pub run: String,
    /// When the apply started.
    pub at: Timestamp,
    /// When the apply ended; `None` if no end is recorded.
    pub ended: Option<Timestamp>,
    /// The actor, as a name.
    pub who: String,
    /// Commit of the configuration; `None` if not known.
    pub commit: Option<String>,
    /// Fingerprint of the plan, if one was recorded.
    pub plan: Option<String>,
    /// Digest of the configuration, if one was recorded.
    pub config: Option<String>,
    /// Denials by policies that were overridden, and the reason given.
    pub overridden: Option<(String, String)>,
    /// How the apply ended.
    pub outcome: ApplyStatus,
    /// Counts of resources that were done, failed and skipped, and of ambiguous intents.
    pub tally: [usize; 4],
    /// How the plan was approved, if that was recorded.
    pub approval: Option<String>,
    /// Id of the run of many stacks to which it belongs.
    pub common: Option<String>,
    /// What it did to each resource; empty where only the summary is kept.
    pub resources: Vec<ResourceRecord>,
}

/// What a run did to one resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceRecord {
    /// Address of the resource.
    pub address: String,
    /// The planned action.
    pub action: String,
    /// How it ended: `done`, `failed` or `skipped`.
    pub result: &'static str,
    /// How long its steps took.
    pub took: Duration,
    /// Why it failed.
    pub error: Option<String>,
    /// The requests that changed its objects.
    pub requests: Vec<RequestRecord>,
}

/// A request of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestRecord {
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The status of the response; `None` without one.
    pub status: Option<u16>,
    /// The service's id of the request, if it sends one.
    pub request_id: Option<String>,
}

/// How a past apply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ApplyStatus {
    /// All steps of the apply succeeded.
    #[serde(rename = "done")]
    Done,
    /// Some steps did not succeed.
    #[serde(rename = "partly")]
    Partial,
    /// No end is recorded: the process was killed, or it is still running.
    #[default]
    #[serde(rename = "no end recorded")]
    Unfinished,
}

impl ApplyStatus {
    /// Returns the text for this ending.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partly",
            Self::Unfinished => "no end recorded",
        }
    }
}

/// An operation on the ledger itself, as the history shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRecord {
    /// When the operation took place.
    pub at: Timestamp,
    /// The actor, as a name.
    pub who: String,
    /// The operation in a few words.
    pub what: String,
    /// The reason that the actor gave, if any.
    pub reason: Option<String>,
}

/// Whether a lock blocks other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LockStatus {
    /// Its holder has it: other processes wait.
    Held,
    /// The process of its holder has ended: the next apply takes the lock over.
    Dead,
    /// It expired: the next apply takes the lock over.
    RunOut,
}

/// The holder of a lock, as `lock` shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct LockHolder {
    /// The actor, as a name.
    pub who: String,
    /// When the lock was taken, by the holder's clock.
    pub since: Timestamp,
    /// Process id of the holder; `None` if not known.
    pub process: Option<u32>,
    /// Status of the lock.
    pub standing: LockStatus,
    /// Seconds since the last renewal; `None` for a lock that needs no renewal.
    pub renewed: Option<u64>,
    /// Maximum number of seconds until the lock expires; `None` if it does not expire.
    pub left: Option<u64>,
}

/// Returns the table of past applies, one per row.
#[must_use]
pub fn runs_table(runs: &[RunRecord]) -> ReportTable {
    let columns = vec![
        TableColumn::number("n"),
        TableColumn::text("at"),
        TableColumn::text("outcome"),
        TableColumn::number("done"),
        TableColumn::number("failed"),
        TableColumn::number("skipped"),
        TableColumn::text("plan"),
        TableColumn::text("commit"),
        TableColumn::text("who"),
    ];
    let row = |past: &RunRecord| {
        let [done, failed, skipped, _] = past.tally.map(count_cell);
        vec![
            TableCell::Value(Value::Integer(i64::try_from(past.number).unwrap_or(i64::MAX))),
            TableCell::Text(format_time(past.at)),
            TableCell::Text(past.outcome.as_text().to_owned()),
            done,
            failed,
            skipped,
            TableCell::text(past.plan.as_deref().map(phrases::short_fingerprint)),
            TableCell::text(past.commit.as_deref().map(short_commit)),
            TableCell::Text(past.who.clone()),
        ]
    };
    ReportTable { rows: runs.iter().map(row).collect(), columns }
}

/// Returns the table of operations on the ledger itself.
#[must_use]
pub fn incidents_table(incidents: &[IncidentRecord]) -> ReportTable {
    let columns = vec![
        TableColumn::text("at"),
        TableColumn::text("what"),
        TableColumn::text("who"),
        TableColumn::text("reason"),
    ];
    let row = |happened: &IncidentRecord| {
        vec![
            TableCell::Text(format_time(happened.at)),
            TableCell::Text(happened.what.clone()),
            TableCell::Text(happened.who.clone()),
            TableCell::text(happened.reason.as_ref()),
        ]
    };
    ReportTable { rows: incidents.iter().map(row).collect(), columns }
}

/// Returns the page for one past apply.
#[must_use]
pub fn run_page(past: &RunRecord, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let [done, failed, skipped, questions] = past.tally;
    let counts = format!("{done} done, {failed} failed, {skipped} skipped, {questions} open questions");
    let took = past.ended.map(|end| end.duration_since(past.at).unsigned_abs());
    let rows = [
        ("number", Some(past.number.to_string())),
        ("run", Some(past.run.clone())),
        ("common run", past.common.clone()),
        ("began", Some(format_time(past.at))),
        ("ended", past.ended.map(format_time)),
        ("took", took.map(phrases::format_duration)),
        ("who", Some(past.who.clone())),
        ("commit", past.commit.clone()),
        ("plan", past.plan.clone()),
        ("configuration", past.config.clone()),
        ("approved by", past.approval.clone()),
        ("overridden", past.overridden.as_ref().map(|(policies, why)| format!("{policies}: {why}"))),
        ("outcome", Some(past.outcome.as_text().to_owned())),
        ("resources", past.ended.map(|_| counts)),
    ];
    for (name, text) in rows {
        let Some(text) = text else { continue };
        page.add_line(TextLine::indent(0).push_styled(TextRole::Faint, name).to_column(15).push_text(text));
    }
    if past.resources.is_empty() {
        if past.ended.is_some() && past.tally.iter().take(3).any(|count| *count > 0) {
            let text = "Only the summary of this run is kept.";
            page.add_line(TextLine::indent(0).push_styled(TextRole::Faint, text));
        }
        return page.finish();
    }
    let table = resources_table(&past.resources).to_text("", style);
    let mut text = page.finish() + "\n" + &table;
    let mut requests = TextPage::new(style);
    for resource in &past.resources {
        add_requests(&mut requests, resource);
    }
    let requests = requests.finish();
    if !requests.is_empty() {
        text.push('\n');
        text.push_str(&requests);
    }
    text
}

/// Returns the table of the resources of a run.
fn resources_table(resources: &[ResourceRecord]) -> ReportTable {
    let columns = vec![
        TableColumn::text("resource"),
        TableColumn::text("action"),
        TableColumn::text("result"),
        TableColumn::number("took"),
        TableColumn::number("requests"),
    ];
    let row = |resource: &ResourceRecord| {
        vec![
            TableCell::Text(resource.address.clone()),
            TableCell::Text(resource.action.clone()),
            TableCell::Text(resource.result.to_owned()),
            TableCell::Text(phrases::format_duration(resource.took)),
            count_cell(resource.requests.len()),
        ]
    };
    ReportTable { rows: resources.iter().map(row).collect(), columns }
}

/// Adds the requests of a resource, and its error; nothing if it has neither.
fn add_requests(page: &mut TextPage, resource: &ResourceRecord) {
    if resource.requests.is_empty() && resource.error.is_none() {
        return;
    }
    page.add_line(TextLine::indent(0).push_styled(TextRole::Strong, &resource.address));
    for request in &resource.requests {
        let status = request.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        let mut line = TextLine::indent(2)
            .push_text(format!("{} {} {status}", request.method, request.path))
            .continue_at(4);
        if let Some(id) = &request.request_id {
            line = line.push_styled(TextRole::Faint, format!(" request {id}"));
        }
        page.add_line(line);
    }
    if let Some(error) = &resource.error {
        page.add_line(TextLine::indent(2).push_styled(TextRole::Danger, error).continue_at(4));
    }
}

/// Returns the page on a ledger's lock: its holder, since when, and when it expires; `None` means
/// that the lock is free.
#[must_use]
pub fn lock_page(holder: Option<&LockHolder>, place: &str, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let Some(holder) = holder else {
        page.add_line(TextLine::indent(0).push_text(format!("The lock of {place} is free.")));
        return page.finish();
    };
    page.add_line(TextLine::indent(0).push_text(format!("{} has the lock of {place}.", holder.who)));
    let since = format!("since {} by its own clock", format_time(holder.since));
    page.add_line(TextLine::indent(2).push_text(match holder.process {
        Some(process) => format!("{since}, process {process}"),
        None => since,
    }));
    page.add_line(
        TextLine::indent(2).push_text(match (holder.standing, holder.left) {
            (LockStatus::Dead, _) => "its process is gone: the next apply takes the lock over".to_owned(),
            (LockStatus::RunOut, _) => {
                "it ran out: the next apply takes the lock over, and checks the outcome of its requests"
                    .to_owned()
            }
            (LockStatus::Held, Some(left)) => {
                format!("without a renewal it runs out in {left} s at the latest")
            }
            (LockStatus::Held, None) => "it lasts as long as its process".to_owned(),
        }),
    );
    page.finish()
}

/// Returns a time in a readable form, in UTC.
#[must_use]
pub fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Returns the short form of a commit id.
fn short_commit(commit: &str) -> String {
    commit.chars().take(12).collect()
}

fn count_cell(count: usize) -> TableCell {
    TableCell::Value(Value::Integer(i64::try_from(count).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past() -> RunRecord {
        RunRecord {
            number: 1,
            run: "7d0c".into(),
            at: "2026-11-21T12:00:00Z".parse().unwrap(),
            ended: Some("2026-11-21T12:02:31Z".parse().unwrap()),
            who: "ada@build-7 (https://ci/jobs/9)".into(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
            plan: Some("7f3a-c91e".into()),
            config: Some("3f9c2e1".into()),
            overridden: Some(("budget".into(), "agreed with finance".into())),
            outcome: ApplyStatus::Partial,
            tally: [4, 1, 2, 0],
            approval: Some("--yes".into()),
            common: None,
            resources: Vec::new(),
        }
    }

    #[test]
    fn a_run_is_shown_as_a_row_and_in_detail() {
        let open =
            RunRecord { number: 2, at: past().at, who: "evil\u{1b}[2J".into(), ..RunRecord::default() };
        let table = runs_table(&[past(), open]).to_text("", TextStyle::plain(200));
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["N", "AT", "OUTCOME", "DONE", "FAILED", "SKIPPED", "PLAN", "COMMIT", "WHO"]);
        assert_eq!(lines[1][..8].join(" "), "1 2026-11-21 12:00:00 UTC partly 4 1 2");
        assert!(table.contains("7f3a-c91e  0123456789ab  ada@build-7 (https://ci/jobs/9)"), "{table}");
        assert!(table.contains("no end recorded") && table.contains("evil\\u{1b}[2J"), "{table}");
        let page = run_page(&past(), TextStyle::plain(80));
        for text in [
            "took           2m31s",
            "4 done, 1 failed, 2 skipped, 0 open questions",
            "abcdef01234567",
            "budget: agreed with finance",
            "approved by    --yes",
            "Only the summary of this run is kept.",
        ] {
            assert!(page.contains(text), "{page}");
        }
    }

    #[test]
    fn a_run_lists_each_resource_with_its_requests() {
        let request = |status, request_id: Option<&str>| RequestRecord {
            method: "POST".into(),
            path: "/api/v1/vms".into(),
            status,
            request_id: request_id.map(Into::into),
        };
        let resource = ResourceRecord {
            address: "vm.web".into(),
            action: "create".into(),
            result: "failed",
            took: Duration::from_millis(1_500),
            error: Some("402 no money\u{1b}[2J".into()),
            requests: vec![request(None, None), request(Some(402), Some("req-7"))],
        };
        let page = run_page(&RunRecord { resources: vec![resource], ..past() }, TextStyle::plain(80));
        let rest = &page[page.find("RESOURCE").unwrap()..];
        insta::assert_snapshot!(rest, @r"
        RESOURCE  ACTION  RESULT  TOOK  REQUESTS
        vm.web    create  failed    1s         2

        vm.web
          POST /api/v1/vms no answer
          POST /api/v1/vms 402 request req-7
          402 no money\u{1b}[2J
        ");
    }

    #[test]
    fn a_lock_shows_its_holder_and_its_duration() {
        let holder = LockHolder {
            who: "ada@build-7".into(),
            since: past().at,
            process: Some(7),
            standing: LockStatus::Held,
            renewed: Some(10),
            left: Some(230),
        };
        let text = |holder: &LockHolder| lock_page(Some(holder), "s3://b/p", TextStyle::plain(100));
        assert_eq!(
            text(&holder),
            "ada@build-7 has the lock of s3://b/p.\n  since 2026-11-21 12:00:00 UTC by its own clock, process 7\n  \
             without a renewal it runs out in 230 s at the latest\n"
        );
        assert!(
            text(&LockHolder { standing: LockStatus::Dead, ..holder.clone() }).contains("process is gone")
        );
        assert!(
            text(&LockHolder { standing: LockStatus::RunOut, ..holder.clone() }).contains("it ran out")
        );
        assert!(text(&LockHolder { left: None, ..holder }).contains("as long as its process"));
        assert_eq!(lock_page(None, "file:x", TextStyle::plain(80)), "The lock of file:x is free.\n");
    }
}
