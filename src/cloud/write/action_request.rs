//! `EndpointRequest`: a request from the tables, and its raw response: actions, and reads that no refresh needs.

use serde_json::Value as Json;

use super::mutation::{MUTATION_DEADLINE, MutationClient};
use crate::cloud::error::{MutationOutcome, ReadError};
use crate::cloud::http::decode;
use crate::cloud::http::message::{HttpRequest, Transport};
use crate::cloud::http::requests::Requests;
use crate::cloud::http::response_class::ResponseClass;
use crate::cloud::http::send::{self, READ_DEADLINE};
use crate::cloud::read::object_project::{is_default_project, project_kind};
use crate::cloud::read::object_reader::ObjectReader;
use crate::cloud::read::paging::{ListScope, list_consistently};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::Object;
use crate::model::redact::SentSecrets;
use crate::model::schema::Method;
use crate::model::values::value::Value;

/// Maximum number of pages of one list; the records after it are left out without an error.
const MAX_ACTION_PAGES: usize = 1_000;

/// A request for an action or an additional read.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointRequest {
    /// The HTTP method of the request.
    pub method: Method,
    /// The path, with all placeholders filled.
    pub path: String,
    /// The parameters of the query string.
    pub query: Vec<(&'static str, String)>,
    /// The value of `X-Project-ID`; `None` sends no such header.
    pub project: Option<Name>,
    /// The JSON body; `None` sends no body.
    pub body: Option<Json>,
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionResult {
    /// 2xx without a reported failure; the response body, `None` where it is empty.
    Done(Option<Json>),
    /// It ended without success; never `Done`.
    Failed(MutationOutcome),
}

impl EndpointRequest {
    fn to_request(&self) -> HttpRequest {
        HttpRequest {
            method: self.method,
            path: self.path.clone(),
            query: self.query.clone(),
            project: self.project.clone(),
            body: self.body.clone(),
            secrets: SentSecrets::default(),
            deadline: if self.method.mutates() { MUTATION_DEADLINE } else { READ_DEADLINE },
        }
    }
}

/// Sends a request that changes nothing, whatever its method, and returns its whole response. Retries
/// while that can help.
///
/// # Errors
/// When it is refused, or has no usable answer.
pub(in crate::cloud) async fn send_query<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    ask: &EndpointRequest,
) -> Result<Json, ReadError> {
    Ok(send::read_as(requests, &ask.to_request()).await?.0)
}

/// Returns the records of a list, page by page, until `enough` is satisfied; `None` when the response is not a
/// list. A record that moved between pages during the read may be duplicated or missing: the
/// result is for display only.
///
/// # Errors
/// When it is refused, or has no usable answer.
pub(in crate::cloud) async fn ask_rows<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    ask: &EndpointRequest,
    enough: impl Fn(&[Json]) -> bool,
) -> Result<Option<Vec<Json>>, ReadError> {
    let mut rows = Vec::new();
    for _ in 0..MAX_ACTION_PAGES {
        let mut request = ask.to_request();
        request
            .query
            .extend([("limit", requests.page.get().to_string()), ("offset", rows.len().to_string())]);
        let (json, _) = send::read_as(requests, &request).await?;
        let Ok(page) = decode::parse_page(json) else { return Ok(None) };
        let (count, total) = (page.rows.len(), page.total);
        rows.extend(page.rows);
        // A list without a total, or without pages, shows all records at once.
        let more = total.is_some_and(|total| (rows.len() as u64) < total);
        if count == 0 || !more || enough(&rows) {
            break;
        }
    }
    Ok(Some(rows))
}

/// Returns the id of a project by its name or id; with `named` as `None`, of the account's default one. `None` when no
/// project matches, or the registry has no kind for projects.
///
/// # Errors
/// When projects cannot be listed.
pub(in crate::cloud) async fn resolve_named_project<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    named: Option<&Name>,
) -> Result<Option<Name>, ReadError> {
    let Some(kind) = project_kind(reader.registry) else { return Ok(None) };
    let projects = list_consistently(reader, &ListScope { kind, parent: None, project: None }).await?;
    let is_named = |object: &Object, named: &Name| {
        object.id == *named || object.attributes.get("name").and_then(Value::as_text) == Some(named)
    };
    let found = projects.into_iter().find(|object| match named {
        Some(named) => is_named(object, named),
        None => is_default_project(object),
    });
    Ok(found.map(|object| object.id))
}

/// Sends an action once; again only when the rate limit refused it, because then it had no effect.
pub async fn send_action<C: Transport, K: Clock, R: Random>(
    changes: &MutationClient<'_, C, K, R>,
    ask: &EndpointRequest,
) -> ActionResult {
    let (gate, told) = (changes.gate, (changes.back, changes.seen));
    match send::send_mutation(&changes.reader.requests, &ask.to_request(), gate, told).await {
        ResponseClass::Failure(mutation) => ActionResult::Failed(mutation),
        ResponseClass::Success(json) => ActionResult::Done(json),
    }
}
