//! Requests of the probe: a bounded number of GETs from the registry, through the usual rate limiter.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value as Json;

use super::observations::{Observation, Observations, ProbePurpose, ProbeResponse};
use crate::cloud::capabilities::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, ServiceCapabilities};
use crate::cloud::error::ReadError;
use crate::cloud::http::decode;
use crate::cloud::http::message::{HttpRequest, Transport};
use crate::cloud::http::requests::Requests;
use crate::cloud::http::send;
use crate::cloud::http::url_path::fill_path;
use crate::cloud::read::object_project;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::redact::SentSecrets;
use crate::model::schema::{
    Action, Attribute, Endpoint, Kind, KindScope, Method, ParameterPresence, Presence, Registry,
};

/// Page sizes to try when a service refuses the usual one.
const FALLBACK_PAGE_SIZES: [usize; 3] = [50, 25, 20];

/// Number of characters of a short id.
const SHORT_ID_CHARS: usize = 8;

/// Timeout of one request.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// One planned request of the probe.
struct ProbeRequest {
    asked: ProbePurpose,
    path: String,
    query: Vec<(&'static str, String)>,
    project: Option<Name>,
}

impl ProbeRequest {
    fn new(asked: ProbePurpose, path: impl Into<String>) -> Self {
        Self { asked, path: path.into(), query: Vec::new(), project: None }
    }

    fn with_limit(mut self, limit: &str) -> Self {
        self.query = vec![("limit", limit.to_owned()), ("offset", "0".to_owned())];
        self
    }
}

/// An object found in a list.
struct ProbedObject {
    kind: &'static Kind,
    id: Name,
    parent: Option<Name>,
    row: Json,
}

/// Reads everything that the service shows of the contract: lists, one object of each kind, catalog tables, and
/// responses to invalid requests. Sends only GETs.
///
/// # Errors
/// When the service refuses the key or does not answer at all.
pub(in crate::cloud) async fn collect_evidence<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    registry: Registry,
) -> Result<Observations, ReadError> {
    let mut evidence =
        Observations { page: largest_page(requests, registry).await?, ..Observations::default() };
    let page = evidence.page;
    let kinds = registry.top_level();
    let lists = kinds.map(|kind| top_level(kind, page));
    let tables =
        registry.catalogs.iter().map(|table| ProbeRequest::new(ProbePurpose::Table(table), table.path));
    run_requests(
        requests,
        &mut evidence,
        lists.chain(tables.map(|plan| plan.with_limit(&page.to_string()))).collect(),
    )
    .await;
    let found = first_objects(&evidence, None);
    let mut plans: Vec<ProbeRequest> =
        found.iter().flat_map(|found| object_requests(&requests.random, found)).collect();
    plans.extend(registry.kinds.iter().flat_map(|kind| without_object(kind)));
    for found in &found {
        let children = registry.children(found.kind.name);
        plans.extend(children.filter_map(|kind| children_of(kind, &found.id, page)));
    }
    let before = evidence.seen.len();
    run_requests(requests, &mut evidence, plans).await;
    let children = first_objects(&evidence, Some(before));
    let mut plans: Vec<ProbeRequest> =
        children.iter().flat_map(|found| object_requests(&requests.random, found)).collect();
    plans.extend(edge_case_requests(&requests.random, registry, &evidence));
    run_requests(requests, &mut evidence, plans).await;
    evidence.learned = learn_capabilities(&evidence);
    Ok(evidence)
}

/// Finds a page that the service does not refuse.
async fn largest_page<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    registry: Registry,
) -> Result<usize, ReadError> {
    let Some(kind) = object_project::project_kind(registry) else { return Ok(DEFAULT_PAGE_SIZE) };
    let mut sizes = std::iter::once(DEFAULT_PAGE_SIZE).chain(FALLBACK_PAGE_SIZES);
    loop {
        let Some(size) = sizes.next() else {
            return Ok(FALLBACK_PAGE_SIZES[FALLBACK_PAGE_SIZES.len() - 1]);
        };
        let query = vec![("limit", size.to_string()), ("offset", "0".to_owned())];
        match send::read(requests, kind.api.list.path, query, None).await {
            Ok(_) => return Ok(size),
            Err(ReadError::Refused { refusal, .. }) if refusal.status == 400 => {}
            Err(error) => return Err(error),
        }
    }
}

async fn run_requests<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    evidence: &mut Observations,
    plans: Vec<ProbeRequest>,
) {
    evidence.seen.extend(join_all(plans.into_iter().map(|plan| run_request(requests, plan))).await);
}

async fn run_request<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    plan: ProbeRequest,
) -> Observation {
    let request = HttpRequest {
        method: Method::Get,
        path: plan.path,
        query: plan.query,
        project: plan.project,
        body: None,
        secrets: SentSecrets::default(),
        deadline: REQUEST_DEADLINE,
    };
    let reply = send::send_get(requests, &request).await.map(|answer| ProbeResponse {
        status: answer.status,
        json: decode::parse_json(&answer.body).ok(),
        date: answer.date,
        limit: answer.limit,
        remaining: answer.remaining,
    });
    Observation { asked: plan.asked, request: format!("GET {}", request.path), reply }
}

/// Returns the requests about one object: the object by both ids, and all its reads.
fn object_requests<R: Random>(random: &R, found: &ProbedObject) -> Vec<ProbeRequest> {
    let ProbedObject { kind, id, parent, row } = found;
    let at = |endpoint: Endpoint, id: &str| fill_path(endpoint.path, Some(id), parent.as_deref()).ok();
    let mut plans = Vec::new();
    if let Some(read) = kind.api.read {
        let whole =
            at(read, id).map(|path| ProbeRequest::new(ProbePurpose::Read { kind, id: id.clone() }, path));
        let short = short_id(kind, row).and_then(|short| at(read, &short));
        let short =
            short.map(|path| ProbeRequest::new(ProbePurpose::ShortId { kind, id: id.clone() }, path));
        let nobody = at(read, &random.uuid().to_string()).filter(|_| kind.api.id == "id");
        plans.extend(whole.into_iter().chain(short));
        plans.extend(nobody.map(|path| ProbeRequest::new(ProbePurpose::UnknownId(kind), path)));
    }
    let actions = read_only_actions(kind).filter(|action| action.needs_object());
    plans.extend(actions.filter_map(|action| {
        let path = at(action.endpoint()?, id)?;
        Some(ProbeRequest::new(ProbePurpose::Action(kind, action), path))
    }));
    plans
}

/// Returns edge-case requests for the longest list: without a limit, above the maximum, with an
/// invalid limit, for another project.
fn edge_case_requests<R: Random>(
    random: &R,
    registry: Registry,
    evidence: &Observations,
) -> Vec<ProbeRequest> {
    let length = |kind: &Kind| {
        let totals = evidence.lists_of(kind).filter_map(Observation::rows);
        totals.map(|(rows, total)| total.unwrap_or(rows.len() as u64)).max()
    };
    let of = |only_projects: bool| {
        let kinds = registry.top_level().filter(|kind| kind.api.absent_when.is_none());
        let kinds = kinds.filter(|kind| !only_projects || kind.scope == KindScope::Project);
        kinds.filter_map(|kind| Some((length(kind)?, kind))).max_by_key(|(length, _)| *length)
    };
    let mut plans = Vec::new();
    if let Some((_, kind)) = of(false) {
        let path = kind.api.list.path;
        plans.push(ProbeRequest::new(ProbePurpose::NoLimit(kind), path));
        plans.push(
            ProbeRequest::new(ProbePurpose::OversizedLimit(kind), path)
                .with_limit(&MAX_PAGE_SIZE.to_string()),
        );
        plans.push(ProbeRequest::new(ProbePurpose::BadLimit(kind), path).with_limit("many"));
    }
    if let Some((_, kind)) = of(true) {
        let project = Some(Name::new(random.uuid().to_string()));
        let plan = ProbeRequest::new(ProbePurpose::UnknownProject(kind), kind.api.list.path)
            .with_limit(&evidence.page.to_string());
        plans.push(ProbeRequest { project, ..plan });
    }
    plans
}

fn top_level(kind: &'static Kind, page: usize) -> ProbeRequest {
    match kind.api.absent_when {
        Some(_) => ProbeRequest::new(ProbePurpose::Singleton(kind), kind.api.list.path),
        None => ProbeRequest::new(ProbePurpose::List { kind, limit: page }, kind.api.list.path)
            .with_limit(&page.to_string()),
    }
}

fn children_of(kind: &'static Kind, parent: &Name, page: usize) -> Option<ProbeRequest> {
    let path = fill_path(kind.api.list.path, None, Some(parent)).ok()?;
    Some(ProbeRequest::new(ProbePurpose::List { kind, limit: page }, path).with_limit(&page.to_string()))
}

/// Returns the reads of a kind that need no object.
fn without_object(kind: &'static Kind) -> impl Iterator<Item = ProbeRequest> {
    read_only_actions(kind).filter(|action| !action.needs_object()).filter_map(move |action| {
        let path = fill_path(action.endpoint()?.path, None, None).ok()?;
        Some(ProbeRequest::new(ProbePurpose::Action(kind, action), path))
    })
}

/// Returns the read-only actions without secrets and without required parameters.
pub(super) fn read_only_actions(kind: &'static Kind) -> impl Iterator<Item = &'static Action> {
    kind.actions.iter().filter(|action| {
        let asks = action.parameters.iter().any(|parameter| parameter.need == ParameterPresence::Required);
        let reads = |endpoint: Endpoint| endpoint.method == Method::Get && !endpoint.secret;
        !asks && action.endpoint().is_some_and(reads)
    })
}

/// Returns the first object of each list, from a position in the evidence on.
fn first_objects(evidence: &Observations, from: Option<usize>) -> Vec<ProbedObject> {
    let lists = evidence.seen.iter().skip(from.unwrap_or(0));
    lists
        .filter_map(|seen| {
            let ProbePurpose::List { kind, .. } = seen.asked else { return None };
            let (rows, _) = seen.rows()?;
            let row = rows.into_iter().next()?;
            let id = decode::parse_id(kind, row.get(kind.api.id)?)?;
            let parent = kind.child_of().and_then(|_| parent_of(kind, &seen.request));
            Some(ProbedObject { kind, id, parent, row })
        })
        .collect()
}

/// Returns the value of `{parent}` in the path of a list.
fn parent_of(kind: &Kind, request: &str) -> Option<Name> {
    let at = kind.api.list.path.split('/').position(|part| part == "{parent}")?;
    request.strip_prefix("GET ")?.split('/').nth(at).map(Name::new)
}

/// Returns the short id of an object: eight letters and digits assigned by the service.
fn short_id(kind: &Kind, row: &Json) -> Option<String> {
    let is_short = |text: &&str| {
        text.len() == SHORT_ID_CHARS
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let given = |attribute: &&Attribute| {
        matches!(attribute.presence, Presence::Computed) && attribute.returned.ends_with("_id")
    };
    let mut named = kind.attributes.iter().filter(given);
    named.find_map(|attribute| row.get(attribute.returned)?.as_str().filter(is_short).map(str::to_owned))
}

/// Returns the capabilities that the evidence shows.
fn learn_capabilities(evidence: &Observations) -> ServiceCapabilities {
    let lists = evidence.seen.iter().filter(|seen| matches!(seen.asked, ProbePurpose::List { .. }));
    let reads = evidence.seen.iter().filter_map(|seen| {
        let (ProbePurpose::Read { kind, .. } | ProbePurpose::Singleton(kind)) = seen.asked else {
            return None;
        };
        let own = kind.api.read.unwrap_or(kind.api.list).envelope.key()?;
        seen.body().filter(|body| body.get(own).is_none())
    });
    ServiceCapabilities {
        page_limit: most_rows(evidence),
        rate: stated_rate(evidence),
        list_key: common_key(lists.filter_map(Observation::body), Json::is_array),
        object_key: common_key(reads, Json::is_object),
    }
}

/// Returns the only key under which all responses without `data` have their payload.
fn common_key<'e>(bodies: impl Iterator<Item = &'e Json>, is_it: fn(&Json) -> bool) -> Option<String> {
    let keys = |body: &'e Json| {
        let map = body.as_object().filter(|map| !map.contains_key("data"))?;
        let named = map.iter().filter(|(key, json)| is_it(json) && is_plain(key));
        Some(named.map(|(key, _)| key.as_str()).collect::<BTreeSet<_>>())
    };
    let common = bodies.filter_map(keys).reduce(|common, keys| &common & &keys)?;
    let mut common = common.into_iter();
    common.next().filter(|_| common.next().is_none()).map(str::to_owned)
}

/// Returns whether a key is a plain word.
fn is_plain(key: &str) -> bool {
    (1..=64).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the maximum number of rows per page, where a longer list proves that it is the maximum.
fn most_rows(evidence: &Observations) -> Option<usize> {
    let clamped = evidence.seen.iter().filter_map(|seen| {
        let asked = match seen.asked {
            ProbePurpose::List { limit, .. } => limit,
            ProbePurpose::OversizedLimit(_) => MAX_PAGE_SIZE,
            _ => return None,
        };
        let (rows, total) = seen.rows()?;
        let cut = total? > rows.len() as u64 && rows.len() < asked && !rows.is_empty();
        cut.then_some(rows.len())
    });
    let largest = evidence.seen.iter().filter(|seen| matches!(seen.asked, ProbePurpose::OversizedLimit(_)));
    let larger = largest
        .filter_map(Observation::rows)
        .map(|(rows, _)| rows.len())
        .find(|rows| *rows > evidence.page);
    let refused = (evidence.page < DEFAULT_PAGE_SIZE).then_some(evidence.page);
    clamped.min().or(larger.map(|rows| rows.min(MAX_PAGE_SIZE))).or(refused)
}

/// Returns the rate limit that the service reports for the key, in requests per second.
fn stated_rate(evidence: &Observations) -> Option<u32> {
    let keyed = evidence.seen.iter().filter(|seen| !matches!(seen.asked, ProbePurpose::Table(_)));
    keyed.filter_map(|seen| seen.reply.as_ref().ok()?.limit).next_back()
}
