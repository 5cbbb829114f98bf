//! Asking: a bounded number of GETs that the registry names, through the usual limiter.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value as Json;

use super::observations::{Asked, Evidence, Reply, Seen};
use crate::cloud::capabilities::{LARGEST_PAGE, Learned, USUAL_PAGE};
use crate::cloud::error::ReadError;
use crate::cloud::http::decode;
use crate::cloud::http::message::{Cloud, Request};
use crate::cloud::http::requests::Requests;
use crate::cloud::http::send;
use crate::cloud::http::url_path::fill_path;
use crate::cloud::read::object_project;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::redact::SentSecrets;
use crate::model::schema::{Action, Attribute, Endpoint, Kind, Method, Need, Presence, Registry, Scope};

/// Pages that are tried where a service refuses the usual one.
const SMALLER: [usize; 3] = [50, 25, 20];

/// Letters of a short id.
const SHORT: usize = 8;

/// Whole time of one request.
const DEADLINE: Duration = Duration::from_secs(30);

/// One request that is to be sent.
struct Plan {
    asked: Asked,
    path: String,
    query: Vec<(&'static str, String)>,
    project: Option<Name>,
}

impl Plan {
    fn new(asked: Asked, path: impl Into<String>) -> Self {
        Self { asked, path: path.into(), query: Vec::new(), project: None }
    }

    fn with_limit(mut self, limit: &str) -> Self {
        self.query = vec![("limit", limit.to_owned()), ("offset", "0".to_owned())];
        self
    }
}

/// An object that a list had.
struct Found {
    kind: &'static Kind,
    id: Name,
    parent: Option<Name>,
    row: Json,
}

/// Reads what a service shows of the contract: lists, one object of each kind, tables, and what is
/// answered to requests that fit nothing. Nothing but GETs.
///
/// # Errors
/// When the service refuses the key or does not answer at all.
pub(in crate::cloud) async fn collect_evidence<C: Cloud, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    registry: Registry,
) -> Result<Evidence, ReadError> {
    let mut evidence = Evidence { page: largest_page(requests, registry).await?, ..Evidence::default() };
    let page = evidence.page;
    let kinds = registry.top_level();
    let lists = kinds.map(|kind| top_level(kind, page));
    let tables = registry.catalogs.iter().map(|table| Plan::new(Asked::Table(table), table.path));
    run_requests(
        requests,
        &mut evidence,
        lists.chain(tables.map(|plan| plan.with_limit(&page.to_string()))).collect(),
    )
    .await;
    let found = first_objects(&evidence, None);
    let mut plans: Vec<Plan> =
        found.iter().flat_map(|found| object_requests(&requests.random, found)).collect();
    plans.extend(registry.kinds.iter().flat_map(|kind| without_object(kind)));
    for found in &found {
        let children = registry.children(found.kind.name);
        plans.extend(children.filter_map(|kind| children_of(kind, &found.id, page)));
    }
    let before = evidence.seen.len();
    run_requests(requests, &mut evidence, plans).await;
    let children = first_objects(&evidence, Some(before));
    let mut plans: Vec<Plan> =
        children.iter().flat_map(|found| object_requests(&requests.random, found)).collect();
    plans.extend(edge_case_requests(&requests.random, registry, &evidence));
    run_requests(requests, &mut evidence, plans).await;
    evidence.learned = learn_capabilities(&evidence);
    Ok(evidence)
}

/// Finds a page that the service does not refuse.
async fn largest_page<C: Cloud, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    registry: Registry,
) -> Result<usize, ReadError> {
    let Some(kind) = object_project::project_kind(registry) else { return Ok(USUAL_PAGE) };
    let mut sizes = std::iter::once(USUAL_PAGE).chain(SMALLER);
    loop {
        let Some(size) = sizes.next() else { return Ok(SMALLER[SMALLER.len() - 1]) };
        let query = vec![("limit", size.to_string()), ("offset", "0".to_owned())];
        match send::read(requests, kind.api.list.path, query, None).await {
            Ok(_) => return Ok(size),
            Err(ReadError::Refused { refusal, .. }) if refusal.status == 400 => {}
            Err(error) => return Err(error),
        }
    }
}

async fn run_requests<C: Cloud, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    evidence: &mut Evidence,
    plans: Vec<Plan>,
) {
    evidence.seen.extend(join_all(plans.into_iter().map(|plan| run_request(requests, plan))).await);
}

async fn run_request<C: Cloud, K: Clock, R: Random>(requests: &Requests<C, K, R>, plan: Plan) -> Seen {
    let request = Request {
        method: Method::Get,
        path: plan.path,
        query: plan.query,
        project: plan.project,
        body: None,
        secrets: SentSecrets::default(),
        deadline: DEADLINE,
    };
    let reply = send::send_get(requests, &request).await.map(|answer| Reply {
        status: answer.status,
        json: decode::parse_json(&answer.body).ok(),
        date: answer.date,
        limit: answer.limit,
        remaining: answer.remaining,
    });
    Seen { asked: plan.asked, request: format!("GET {}", request.path), reply }
}

/// Returns what is asked about one object: itself, by both ids, and everything that can be read of it.
fn object_requests<R: Random>(random: &R, found: &Found) -> Vec<Plan> {
    let Found { kind, id, parent, row } = found;
    let at = |endpoint: Endpoint, id: &str| fill_path(endpoint.path, Some(id), parent.as_deref()).ok();
    let mut plans = Vec::new();
    if let Some(read) = kind.api.read {
        let whole = at(read, id).map(|path| Plan::new(Asked::Read { kind, id: id.clone() }, path));
        let short = short_id(kind, row).and_then(|short| at(read, &short));
        let short = short.map(|path| Plan::new(Asked::ShortId { kind, id: id.clone() }, path));
        let nobody = at(read, &random.uuid().to_string()).filter(|_| kind.api.id == "id");
        plans.extend(whole.into_iter().chain(short));
        plans.extend(nobody.map(|path| Plan::new(Asked::Nobody(kind), path)));
    }
    let actions = read_only_actions(kind).filter(|action| action.needs_object());
    plans.extend(actions.filter_map(|action| {
        let path = at(action.endpoint()?, id)?;
        Some(Plan::new(Asked::Action(kind, action), path))
    }));
    plans
}

/// Returns what is asked of the longest list: without a limit, above it, with a bad one, elsewhere.
fn edge_case_requests<R: Random>(random: &R, registry: Registry, evidence: &Evidence) -> Vec<Plan> {
    let length = |kind: &Kind| {
        let totals = evidence.lists_of(kind).filter_map(Seen::rows);
        totals.map(|(rows, total)| total.unwrap_or(rows.len() as u64)).max()
    };
    let of = |only_projects: bool| {
        let kinds = registry.top_level().filter(|kind| kind.api.absent_when.is_none());
        let kinds = kinds.filter(|kind| !only_projects || kind.scope == Scope::Project);
        kinds.filter_map(|kind| Some((length(kind)?, kind))).max_by_key(|(length, _)| *length)
    };
    let mut plans = Vec::new();
    if let Some((_, kind)) = of(false) {
        let path = kind.api.list.path;
        plans.push(Plan::new(Asked::NoLimit(kind), path));
        plans.push(Plan::new(Asked::Large(kind), path).with_limit(&LARGEST_PAGE.to_string()));
        plans.push(Plan::new(Asked::BadLimit(kind), path).with_limit("many"));
    }
    if let Some((_, kind)) = of(true) {
        let project = Some(Name::new(random.uuid().to_string()));
        let plan =
            Plan::new(Asked::Elsewhere(kind), kind.api.list.path).with_limit(&evidence.page.to_string());
        plans.push(Plan { project, ..plan });
    }
    plans
}

fn top_level(kind: &'static Kind, page: usize) -> Plan {
    match kind.api.absent_when {
        Some(_) => Plan::new(Asked::Only(kind), kind.api.list.path),
        None => {
            Plan::new(Asked::List { kind, limit: page }, kind.api.list.path).with_limit(&page.to_string())
        }
    }
}

fn children_of(kind: &'static Kind, parent: &Name, page: usize) -> Option<Plan> {
    let path = fill_path(kind.api.list.path, None, Some(parent)).ok()?;
    Some(Plan::new(Asked::List { kind, limit: page }, path).with_limit(&page.to_string()))
}

/// Returns the reads of a kind that need no object.
fn without_object(kind: &'static Kind) -> impl Iterator<Item = Plan> {
    read_only_actions(kind).filter(|action| !action.needs_object()).filter_map(move |action| {
        let path = fill_path(action.endpoint()?.path, None, None).ok()?;
        Some(Plan::new(Asked::Action(kind, action), path))
    })
}

/// Returns the actions that only read, show no secret, and ask for nothing.
pub(super) fn read_only_actions(kind: &'static Kind) -> impl Iterator<Item = &'static Action> {
    kind.actions.iter().filter(|action| {
        let asks = action.parameters.iter().any(|parameter| parameter.need == Need::Required);
        let reads = |endpoint: Endpoint| endpoint.method == Method::Get && !endpoint.secret;
        !asks && action.endpoint().is_some_and(reads)
    })
}

/// Returns the first object of each list, of those from a place in the evidence on.
fn first_objects(evidence: &Evidence, from: Option<usize>) -> Vec<Found> {
    let lists = evidence.seen.iter().skip(from.unwrap_or(0));
    lists
        .filter_map(|seen| {
            let Asked::List { kind, .. } = seen.asked else { return None };
            let (rows, _) = seen.rows()?;
            let row = rows.into_iter().next()?;
            let id = decode::parse_id(kind, row.get(kind.api.id)?)?;
            let parent = kind.child_of().and_then(|_| parent_of(kind, &seen.request));
            Some(Found { kind, id, parent, row })
        })
        .collect()
}

/// Returns what stands for `{parent}` in the path of a list.
fn parent_of(kind: &Kind, request: &str) -> Option<Name> {
    let at = kind.api.list.path.split('/').position(|part| part == "{parent}")?;
    request.strip_prefix("GET ")?.split('/').nth(at).map(Name::new)
}

/// Returns the short id of an object: eight letters and digits that the service gave it.
fn short_id(kind: &Kind, row: &Json) -> Option<String> {
    let is_short = |text: &&str| {
        text.len() == SHORT && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let given = |attribute: &&Attribute| {
        matches!(attribute.presence, Presence::Computed) && attribute.returned.ends_with("_id")
    };
    let mut named = kind.attributes.iter().filter(given);
    named.find_map(|attribute| row.get(attribute.returned)?.as_str().filter(is_short).map(str::to_owned))
}

/// Returns what makes later requests fit the service.
fn learn_capabilities(evidence: &Evidence) -> Learned {
    let lists = evidence.seen.iter().filter(|seen| matches!(seen.asked, Asked::List { .. }));
    let reads = evidence.seen.iter().filter_map(|seen| {
        let (Asked::Read { kind, .. } | Asked::Only(kind)) = seen.asked else { return None };
        let own = kind.api.read.unwrap_or(kind.api.list).envelope.key()?;
        seen.body().filter(|body| body.get(own).is_none())
    });
    Learned {
        page_limit: most_rows(evidence),
        rate: stated_rate(evidence),
        list_key: common_key(lists.filter_map(Seen::body), Json::is_array),
        object_key: common_key(reads, Json::is_object),
    }
}

/// Returns the only key under which all answers without `data` have what they should.
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

/// Tells whether a key is a plain word.
fn is_plain(key: &str) -> bool {
    (1..=64).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the most rows that a page had, where a list with more of them shows that it is the most.
fn most_rows(evidence: &Evidence) -> Option<usize> {
    let clamped = evidence.seen.iter().filter_map(|seen| {
        let asked = match seen.asked {
            Asked::List { limit, .. } => limit,
            Asked::Large(_) => LARGEST_PAGE,
            _ => return None,
        };
        let (rows, total) = seen.rows()?;
        let cut = total? > rows.len() as u64 && rows.len() < asked && !rows.is_empty();
        cut.then_some(rows.len())
    });
    let largest = evidence.seen.iter().filter(|seen| matches!(seen.asked, Asked::Large(_)));
    let larger =
        largest.filter_map(Seen::rows).map(|(rows, _)| rows.len()).find(|rows| *rows > evidence.page);
    let refused = (evidence.page < USUAL_PAGE).then_some(evidence.page);
    clamped.min().or(larger.map(|rows| rows.min(LARGEST_PAGE))).or(refused)
}

/// Returns the requests a second that the service says the key may send.
fn stated_rate(evidence: &Evidence) -> Option<u32> {
    let keyed = evidence.seen.iter().filter(|seen| !matches!(seen.asked, Asked::Table(_)));
    keyed.filter_map(|seen| seen.reply.as_ref().ok()?.limit).next_back()
}
