//! Run records: executions, such as deployments, that the service lists for each object.

use serde_json::Value as Json;

use crate::cloud::error::{MutationOutcome, ReadError};
use crate::cloud::http::message::{JsonBody, Transport};
use crate::cloud::http::requests::Requests;
use crate::cloud::http::response_class::{ResponseClass, called_object};
use crate::cloud::http::url_path::fill_path;
use crate::cloud::http::{decode, send};
use crate::cloud::write::mutation::MutationClient;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::{Action, ApiCall, Kind, RunSchema};

/// Maximum length of a record's id.
const MAX_ID_CHARS: usize = 128;

/// Maximum number of characters of a record's text in a message.
const MAX_ERROR_CHARS: usize = 500;

/// Maximum number of log lines in a message; the most recent ones are shown.
const TAIL_WORDS: usize = 3;

/// Number of records that are read from the list, newest first.
const RECORD_LIMIT: &str = "100";

/// Sends one call that starts a run record, and also returns its id, where the response has one.
pub async fn begin_run<C: Transport, K: Clock, R: Random>(
    changes: &MutationClient<'_, C, K, R>,
    kind: &'static Kind,
    call: &'static ApiCall,
    (object, project): (&ObjectKey, Option<&Name>),
    run: &RunSchema,
    body: impl Into<JsonBody>,
) -> (MutationOutcome, Option<Name>) {
    let path = fill_path(call.endpoint.path, Some(&object.id), object.parent.as_deref());
    match changes.send_mutation(call.endpoint, path, project, body).await {
        ResponseClass::Failure(mutation) => (mutation, None),
        ResponseClass::Success(json) => {
            let record = json.as_ref().and_then(|json| decode::find_payload(json, call.endpoint.envelope));
            let id = record.and_then(|record| text_field(record, run.id)).map(Name::new);
            (called_object(kind, call.endpoint, object, json.as_ref()), id)
        }
    }
}

/// A run record, in progress or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRun {
    /// The id of the run.
    pub id: Name,
    /// The status of the run, in the service's words.
    pub status: Name,
    /// The reason of its failure, in the service's words.
    pub error: Option<String>,
}

/// Reads the status of a record of an object; `None` when its list does not show it.
///
/// # Errors
/// When the service cannot be read.
pub(in crate::cloud) async fn read_run_status<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    kind: &'static Kind,
    object: &ObjectKey,
    run: &RunSchema,
    id: &str,
) -> Result<Option<ServiceRun>, ReadError> {
    let found = read_runs(requests, kind, object, run).await?.into_iter();
    Ok(found.filter(|record| record.id == id).last())
}

/// Reads the newest records of an object, newest first; none when the service keeps no such list.
///
/// # Errors
/// When the service cannot be read.
pub(in crate::cloud) async fn read_runs<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    kind: &'static Kind,
    object: &ObjectKey,
    run: &RunSchema,
) -> Result<Vec<ServiceRun>, ReadError> {
    let rows = rows_of(requests, kind, object, (run.listed_by, RECORD_LIMIT)).await?;
    let record = |row: &Json| {
        Some(ServiceRun {
            id: Name::new(text_field(row, run.id)?),
            status: Name::new(text_field(row, run.status)?),
            error: run.error.and_then(|field| display_text(row, field)),
        })
    };
    Ok(rows.iter().filter_map(record).collect())
}

/// Reads the last log lines of an object's records, oldest first.
///
/// # Errors
/// When the service cannot be read.
pub(in crate::cloud) async fn read_run_tail<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    kind: &'static Kind,
    object: &ObjectKey,
    run: &RunSchema,
) -> Result<Vec<String>, ReadError> {
    let Some((action, field)) = run.told_by else { return Ok(Vec::new()) };
    let rows = rows_of(requests, kind, object, (action, RECORD_LIMIT)).await?;
    let mut tail: Vec<String> =
        rows.iter().filter_map(|row| display_text(row, field)).take(TAIL_WORDS).collect();
    tail.reverse();
    Ok(tail)
}

async fn rows_of<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    kind: &'static Kind,
    object: &ObjectKey,
    (action, most): (&str, &str),
) -> Result<Vec<Json>, ReadError> {
    let Some(endpoint) = kind.action(action).and_then(Action::endpoint) else {
        return Ok(Vec::new());
    };
    let fail = |reason| ReadError::Failed { request: format!("GET {}", endpoint.path), reason };
    let path = fill_path(endpoint.path, Some(&object.id), object.parent.as_deref());
    let path = path.map_err(|error| fail(error.to_string()))?;
    let (json, _) = send::read(requests, &path, vec![("limit", most.to_owned())], None).await?;
    Ok(decode::parse_page(json).map_err(fail)?.rows)
}

/// Returns the text of a field for display, truncated if it is long.
fn display_text(record: &Json, field: &str) -> Option<String> {
    let text = record.get(field)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.chars().take(MAX_ERROR_CHARS).collect())
}

fn text_field<'a>(record: &'a Json, field: &str) -> Option<&'a str> {
    record.get(field)?.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_ID_CHARS)
}
