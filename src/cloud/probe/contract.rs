//! The contract's assumptions about the service as a whole, as a table: each line with its source and its check.
//! Assumptions that no GET can check are listed, too.

use jiff::Timestamp;
use serde_json::Value as Json;
use uuid::Uuid;

use super::finding::{ContractCheckResult, ProbeFinding};
use super::observations::{Observation, Observations, ProbePurpose, ProbeResponse};
use crate::cloud::capabilities::MAX_PAGE_SIZE;
use crate::cloud::http::decode;
use crate::cloud::http::message::is_public;
use crate::model::schema::{Kind, Provenance};

/// Assumed number of rows of a page without a limit.
const DEFAULT_PAGE_ROWS: u64 = 20;

/// Assumed maximum number of rows of a page.
const MAX_PAGE_ROWS: usize = 100;

/// Requests per second of the documented tiers.
const RATE_TIERS: [u32; 2] = [30, 100];

/// One line of the table: what the contract assumes about the service, its source, and its check.
struct ContractAssumption {
    subject: &'static str,
    says: &'static str,
    place: &'static str,
    provenance: Provenance,
    /// The check; `None` where no GET can show it.
    judge: Option<fn(&Observations) -> ContractCheckResult>,
}

const fn documented_line(
    subject: &'static str,
    says: &'static str,
    judge: fn(&Observations) -> ContractCheckResult,
) -> ContractAssumption {
    ContractAssumption {
        subject,
        says,
        place: "contract, 1",
        provenance: Provenance::Documented,
        judge: Some(judge),
    }
}

const fn assumed_line(
    subject: &'static str,
    says: &'static str,
    judge: fn(&Observations) -> ContractCheckResult,
) -> ContractAssumption {
    ContractAssumption { provenance: Provenance::Assumed, ..documented_line(subject, says, judge) }
}

const fn untested_line(
    subject: &'static str,
    says: &'static str,
    place: &'static str,
) -> ContractAssumption {
    ContractAssumption { subject, says, place, provenance: Provenance::Assumed, judge: None }
}

/// All assumptions about the service.
const ASSUMPTIONS: &[ContractAssumption] = &[
    documented_line("list envelope", "a list is {data, total}", list_envelope),
    documented_line(
        "object envelope",
        "an object is under data, or under the key of its endpoint",
        object_envelope,
    ),
    documented_line("page by default", "20 rows without a limit", default_page),
    assumed_line("largest page", "100 rows; a larger limit counts as 100", largest_page),
    assumed_line("total", "it counts the rows of all pages", check_total),
    assumed_line("bad limit", "a limit that is not a number is answered with 400", bad_limit),
    assumed_line("list order", "newest first by created_at, then by id", check_order),
    documented_line("error envelope", "an error is {error, message}", error_envelope),
    assumed_line("unknown id", "404 with the error Not Found", unknown_id),
    assumed_line(
        "rate limit headers",
        "every answer has the limit, 30 or 100 requests per second, and the remaining requests",
        rate_headers,
    ),
    assumed_line("date header", "every answer has the service's time", check_date_header),
    assumed_line("unknown project", "with an unknown X-Project-ID a list is empty", unknown_project),
    assumed_line("all projects", "without X-Project-ID a list spans all projects", all_projects),
    assumed_line("ids", "an id is a UUID", check_ids),
    assumed_line("short ids", "a path accepts the short id, too", short_ids),
    documented_line("public catalog", "paths below /api/v1/public need no key", check_public_access),
    untested_line(
        "project header",
        "changes to snapshots and schedules need it; changes to databases, apps and functions do not",
        "contract, 1, project",
    ),
    untested_line("created", "a creation answers 201", "contract, 1, created"),
    untested_line(
        "deleted",
        "a deletion is answered with {success, message}; after that, the object is answered with 404",
        "contract, 1, delete",
    ),
    untested_line("unknown field", "an unknown field of a body is ignored", "contract, 1"),
    untested_line("malformed body", "400, and the message names the missing field", "contract, 1"),
    untested_line(
        "catalog limiter",
        "the rate limit of the catalog is per client address",
        "contract, 1, catalog",
    ),
    untested_line("unique names", "a taken name is answered with 409", "contract, 1, names"),
    untested_line("provisioning", "the states, and their durations", "contract, 2"),
    untested_line(
        "deletions take time",
        "listed as deleting, then 404; a second one is answered with 409",
        "contract, 6.1",
    ),
    untested_line("keyed catalog", "plans, versions and sizes need a key", "contract, 6.2"),
    untested_line("wrong state", "409, and 404 for an unknown id in a body", "contract, 6.3"),
    untested_line(
        "the objects that are deleted with another",
        "a deletion of a cluster also deletes its pools, one of a VM its schedules",
        "contract, 6.4 and 6.5",
    ),
    untested_line("unsettled parents", "a child of one is refused with 409", "contract, 6.6"),
    untested_line("whole maps", "env_vars are replaced as a whole", "contract, 6.7"),
    untested_line("deployments", "which changes start a deployment", "contract, 6.8 and 6.9"),
    untested_line("restored databases", "a new one is named NAME-restored-N", "contract, 6.13"),
    untested_line("limiter", "in real time; a refused request does not count", "contract, 6.16"),
    untested_line(
        "scheduler",
        "it names its backups auto-…, and keeps the configured number",
        "contract, 6.17",
    ),
];

/// Checks every assumption about the service against the observations.
pub(super) fn check_contract(evidence: &Observations) -> Vec<ProbeFinding> {
    let verdict = |line: &ContractAssumption| match line.judge {
        Some(judge) => judge(evidence),
        None => ContractCheckResult::NotSeen("no GET shows it".to_owned()),
    };
    let finding = |line: &ContractAssumption| ProbeFinding {
        subject: line.subject.to_owned(),
        says: line.says.to_owned(),
        place: line.place.to_owned(),
        provenance: line.provenance,
        verdict: verdict(line),
    };
    ASSUMPTIONS.iter().map(finding).collect()
}

/// Returns the responses to requests of one sort.
fn replies_to<'e>(
    evidence: &'e Observations,
    is_it: impl Fn(&ProbePurpose) -> bool + 'e,
) -> impl Iterator<Item = (&'e Observation, &'e ProbeResponse)> {
    let seen = evidence.seen.iter().filter(move |seen| is_it(&seen.asked));
    seen.filter_map(|seen| Some((seen, seen.reply.as_ref().ok()?)))
}

/// Returns the bodies of successful responses of one sort.
fn success_bodies<'e>(
    evidence: &'e Observations,
    is_it: impl Fn(&ProbePurpose) -> bool + 'e,
) -> impl Iterator<Item = (&'e Observation, &'e Json)> {
    evidence
        .seen
        .iter()
        .filter(move |seen| is_it(&seen.asked))
        .filter_map(|seen| Some((seen, seen.body()?)))
}

const fn is_list(asked: &ProbePurpose) -> bool {
    matches!(asked, ProbePurpose::List { .. })
}

fn list_envelope(evidence: &Observations) -> ContractCheckResult {
    let judge = |(seen, body): (&Observation, &Json)| {
        let request = &seen.request;
        let Json::Object(map) = body else { return Err(format!("{request} answers without an envelope")) };
        if !map.get("data").is_some_and(Json::is_array) {
            let key = map.iter().find(|(_, json)| json.is_array()).map(|(key, _)| truncate_word(key));
            return Err(match key {
                Some(key) => format!("{request} has its list under {key}"),
                None => format!("{request} has no list"),
            });
        }
        if map.get("total").is_some_and(Json::is_u64) {
            Ok(())
        } else {
            Err(format!("{request} has no total"))
        }
    };
    ContractCheckResult::from_observations(
        success_bodies(evidence, is_list).map(judge),
        "no list request was successful",
    )
}

fn object_envelope(evidence: &Observations) -> ContractCheckResult {
    let judge = |(seen, body): (&Observation, &Json)| {
        let (ProbePurpose::Read { kind, .. } | ProbePurpose::Singleton(kind)) = &seen.asked else {
            return Ok(());
        };
        let endpoint = kind.api.read.unwrap_or(kind.api.list);
        let wanted = endpoint.envelope.key().unwrap_or("data");
        if body.get(wanted).is_some_and(Json::is_object) {
            return Ok(());
        }
        let key = body.as_object().and_then(|map| map.iter().find(|(_, json)| json.is_object()));
        Err(match key {
            Some((key, _)) => {
                format!(
                    "{} answers with the object under {}, not {wanted}",
                    endpoint.path,
                    truncate_word(key)
                )
            }
            None => format!("{} answers without {wanted}", endpoint.path),
        })
    };
    let reads = success_bodies(evidence, |asked| {
        matches!(asked, ProbePurpose::Read { .. } | ProbePurpose::Singleton(_))
    });
    ContractCheckResult::from_observations(reads.map(judge), "there is no object to read")
}

fn default_page(evidence: &Observations) -> ContractCheckResult {
    let pages = evidence.seen.iter().filter(|seen| matches!(seen.asked, ProbePurpose::NoLimit(_)));
    let judged = pages.filter_map(|seen| {
        let (rows, total) = seen.rows()?;
        let (rows, total) = (rows.len() as u64, total?);
        match rows {
            DEFAULT_PAGE_ROWS if total > DEFAULT_PAGE_ROWS => Some(Ok(())),
            rows if rows < total || rows > DEFAULT_PAGE_ROWS => {
                Some(Err(format!("{rows} of {total} rows were returned")))
            }
            _ => None,
        }
    });
    ContractCheckResult::from_observations(judged, "no list is long enough to show it")
}

fn largest_page(evidence: &Observations) -> ContractCheckResult {
    if evidence.page < MAX_PAGE_ROWS {
        return ContractCheckResult::Different(format!(
            "a limit of {MAX_PAGE_ROWS} is refused, one of {} is not",
            evidence.page
        ));
    }
    let judged = evidence.seen.iter().filter_map(|seen| {
        let asked = match seen.asked {
            ProbePurpose::List { limit, .. } => limit,
            ProbePurpose::OversizedLimit(_) => MAX_PAGE_SIZE,
            _ => return None,
        };
        if let (ProbePurpose::OversizedLimit(_), Ok(reply)) = (&seen.asked, &seen.reply)
            && !reply.is_success()
        {
            return Some(Err(format!("a limit of {asked} is answered with {}", reply.status)));
        }
        let (rows, total) = seen.rows()?;
        let (rows, total) = (rows.len(), total?);
        match rows {
            MAX_PAGE_ROWS if total > MAX_PAGE_ROWS as u64 && asked > MAX_PAGE_ROWS => Some(Ok(())),
            rows if rows > MAX_PAGE_ROWS => Some(Err(format!("{rows} rows were returned at once"))),
            rows if rows < MAX_PAGE_ROWS && (rows as u64) < total => {
                Some(Err(format!("{rows} rows at most")))
            }
            _ => None,
        }
    });
    ContractCheckResult::from_observations(judged, "no list is long enough to show it")
}

fn check_total(evidence: &Observations) -> ContractCheckResult {
    let judged = evidence.seen.iter().filter(|seen| is_list(&seen.asked)).filter_map(|seen| {
        let (rows, total) = seen.rows()?;
        let (rows, total) = (rows.len(), total?);
        // A full page shows nothing about the rows after it.
        if rows < evidence.page && rows as u64 != total && evidence.learned.page_limit != Some(rows) {
            return Some(Err(format!("{} has the total {total}, but {rows} rows", seen.request)));
        }
        (rows as u64 <= total).then_some(Ok(()))
    });
    ContractCheckResult::from_observations(judged, "no list shows it")
}

fn bad_limit(evidence: &Observations) -> ContractCheckResult {
    let judged =
        replies_to(evidence, |asked| matches!(asked, ProbePurpose::BadLimit(_))).map(|(_, reply)| {
            match reply.status {
                400 => Ok(()),
                status => Err(format!("it is answered with {status}")),
            }
        });
    ContractCheckResult::from_observations(judged, "no list request was successful")
}

fn check_order(evidence: &Observations) -> ContractCheckResult {
    let judged = evidence.seen.iter().filter(|seen| is_list(&seen.asked)).filter_map(|seen| {
        let (rows, _) = seen.rows()?;
        let born = |row: &Json| row.get("created_at")?.as_str()?.parse::<Timestamp>().ok();
        let born: Option<Vec<Timestamp>> = rows.iter().map(born).collect();
        let born = born.filter(|born| born.len() > 1)?;
        Some(if born.is_sorted_by(|newer, older| newer >= older) {
            Ok(())
        } else {
            Err(format!("{} is in another order", seen.request))
        })
    });
    ContractCheckResult::from_observations(judged, "no list has two rows with a time")
}

fn error_envelope(evidence: &Observations) -> ContractCheckResult {
    let refused = |(_, reply): &(&Observation, &ProbeResponse)| matches!(reply.status, 400..=499);
    let judged = replies_to(evidence, |_| true).filter(refused).map(|(_, reply)| {
        let has =
            |key: &str| reply.json.as_ref().and_then(|json| json.get(key)).is_some_and(Json::is_string);
        match (has("error"), has("message")) {
            (true, true) => Ok(()),
            (error, _) => {
                let lacks = if error { "message" } else { "error" };
                Err(format!("an answer with {} has no {lacks}", reply.status))
            }
        }
    });
    ContractCheckResult::from_observations(judged, "no request was refused")
}

fn unknown_id(evidence: &Observations) -> ContractCheckResult {
    let judged = replies_to(evidence, |asked| matches!(asked, ProbePurpose::UnknownId(_))).filter_map(
        |(seen, reply)| {
            let ProbePurpose::UnknownId(kind) = seen.asked else { return None };
            let error = || reply.json.as_ref()?.get("error")?.as_str();
            match (reply.status, error()) {
                (404, Some("Not Found")) => Some(Ok(())),
                (404, Some(error)) => Some(Err(format!("404 with the error {}", truncate_word(error)))),
                (404, None) => Some(Err("404 without an error's name".to_owned())),
                (401 | 402 | 403 | 429 | 500..=599, _) => None,
                (status, _) => Some(Err(format!("{} answers {status}", kind.api.read?.path))),
            }
        },
    );
    ContractCheckResult::from_observations(judged, "there is no object to read, and so no path to try")
}

fn rate_headers(evidence: &Observations) -> ContractCheckResult {
    let judged =
        replies_to(evidence, |asked| !matches!(asked, ProbePurpose::Table(_))).map(|(_, reply)| {
            match (reply.limit, reply.remaining) {
                (Some(limit), Some(_)) if RATE_TIERS.contains(&limit) => Ok(()),
                (Some(limit), Some(_)) => Err(format!("{limit} requests a second")),
                (Some(_), None) => Err("an answer does not have the remaining requests".to_owned()),
                (None, _) => Err("an answer does not have it".to_owned()),
            }
        });
    ContractCheckResult::from_observations(judged, "no request was answered")
}

fn check_date_header(evidence: &Observations) -> ContractCheckResult {
    let judged = replies_to(evidence, |_| true).map(|(_, reply)| match &reply.date {
        Some(date) if jiff::fmt::rfc2822::parse(date).is_ok() => Ok(()),
        Some(_) => Err("the time in an answer is not valid".to_owned()),
        None => Err("an answer does not have it".to_owned()),
    });
    ContractCheckResult::from_observations(judged, "no request was answered")
}

fn unknown_project(evidence: &Observations) -> ContractCheckResult {
    let judged = evidence.seen.iter().filter_map(|seen| {
        let ProbePurpose::UnknownProject(kind) = seen.asked else { return None };
        let reply = seen.reply.as_ref().ok()?;
        if !reply.is_success() {
            return Some(Err(format!("{} answers {}", seen.request, reply.status)));
        }
        let (rows, _) = seen.rows()?;
        if !rows.is_empty() {
            return Some(Err(format!(
                "{} has {} rows: X-Project-ID does not filter",
                seen.request,
                rows.len()
            )));
        }
        // An empty list of an empty kind proves no filter.
        (!evidence.rows(kind).is_empty()).then_some(Ok(()))
    });
    ContractCheckResult::from_observations(judged, "no list of a project's objects has rows")
}

fn all_projects(evidence: &Observations) -> ContractCheckResult {
    let judged = evidence.seen.iter().filter(|seen| is_list(&seen.asked)).filter_map(|seen| {
        let (rows, _) = seen.rows()?;
        let mut projects = rows.iter().filter_map(|row| row.get("project_id")?.as_str());
        let first = projects.next()?;
        projects.any(|project| project != first).then_some(Ok(()))
    });
    ContractCheckResult::from_observations(judged, "no list has objects of two projects")
}

fn check_ids(evidence: &Observations) -> ContractCheckResult {
    let judged = evidence.seen.iter().filter_map(|seen| {
        let ProbePurpose::List { kind, .. } = seen.asked else { return None };
        let (rows, _) = seen.rows()?;
        if kind.api.id != "id" || rows.is_empty() {
            return None;
        }
        let is_uuid =
            |row: &Json| row.get("id").and_then(Json::as_str).is_some_and(|id| Uuid::parse_str(id).is_ok());
        Some(if rows.iter().all(is_uuid) {
            Ok(())
        } else {
            Err(format!("the id of a {} is not a UUID", kind.name))
        })
    });
    ContractCheckResult::from_observations(judged, "no list has rows")
}

fn short_ids(evidence: &Observations) -> ContractCheckResult {
    let judged = replies_to(evidence, |asked| matches!(asked, ProbePurpose::ShortId { .. })).filter_map(
        |(seen, reply)| {
            let ProbePurpose::ShortId { kind, id } = &seen.asked else { return None };
            let path = kind.api.read?.path;
            if !reply.is_success() {
                return Some(Err(format!("{path} answers {}", reply.status)));
            }
            Some(if is_of(kind, seen, id) {
                Ok(())
            } else {
                Err(format!("{path} answers with another object"))
            })
        },
    );
    ContractCheckResult::from_observations(judged, "no object has a short id")
}

fn is_of(kind: &Kind, seen: &Observation, id: &str) -> bool {
    let envelope = kind.api.read.unwrap_or(kind.api.list).envelope;
    let found = seen.body().and_then(|body| decode::find_payload(body, envelope));
    found.and_then(|object| object.get(kind.api.id)).and_then(Json::as_str) == Some(id)
}

fn check_public_access(evidence: &Observations) -> ContractCheckResult {
    let judged =
        replies_to(evidence, |asked| matches!(asked, ProbePurpose::Table(table) if is_public(table.path)));
    let judged = judged.filter_map(|(seen, reply)| match reply.status {
        200..=299 => Some(Ok(())),
        401 | 403 => Some(Err(format!("{} answers {}", seen.request, reply.status))),
        _ => None,
    });
    ContractCheckResult::from_observations(judged, "no request for a table was answered")
}

/// Returns a word of a response, truncated.
fn truncate_word(word: &str) -> String {
    word.chars().take(40).collect()
}
