//! `EndpointRequest`: a request that a table names, and its answer in the service's own words: actions, and reads
//! that no refresh needs.

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
use crate::model::redact::SentSecrets;
use crate::model::schema::Method;
use crate::model::snapshot::Object;
use crate::model::value::Value;

/// Most pages of one list.
const MAX_ACTION_PAGES: usize = 1_000;

/// A request that a table names.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointRequest {
    /// The verb.
    pub method: Method,
    /// The path, filled.
    pub path: String,
    /// Query parameters.
    pub query: Vec<(&'static str, String)>,
    /// The value of `X-Project-ID`.
    pub project: Option<Name>,
    /// The JSON body.
    pub body: Option<Json>,
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionResult {
    /// 2xx and no word of failure; the body, where there is one.
    Done(Option<Json>),
    /// It ended without a success; never `Done`.
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

/// Sends what changes nothing, whatever its verb, and returns its whole answer: again while that can
/// help.
///
/// # Errors
/// When it is refused, or has no usable answer.
pub(in crate::cloud) async fn send_query<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    ask: &EndpointRequest,
) -> Result<Json, ReadError> {
    Ok(send::read_as(requests, &ask.to_request()).await?.0)
}

/// Returns the records of a list, page by page, as far as `enough` lets it; `None` when the answer is
/// no list. A record that moved from one page to the next while it was read may stand twice or not at
/// all: it is for looking.
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
        // A list that says nothing of its length, or that has no pages, shows all at once.
        let more = total.is_some_and(|total| (rows.len() as u64) < total);
        if count == 0 || !more || enough(&rows) {
            break;
        }
    }
    Ok(Some(rows))
}

/// Returns the id of a project by its name or id; of the account's default one without either.
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

/// Sends an action once; again only when the limiter refused it, for then it had no effect.
pub async fn send_action<C: Transport, K: Clock, R: Random>(
    changes: &MutationClient<'_, C, K, R>,
    ask: &EndpointRequest,
) -> ActionResult {
    match send::send_mutation(&changes.reader.requests, &ask.to_request(), changes.gate, changes.back).await
    {
        ResponseClass::Failure(mutation) => ActionResult::Failed(mutation),
        ResponseClass::Success(json) => ActionResult::Done(json),
    }
}
