//! The service of a simulation: `emulator::world` behind a network that delays and loses messages. It checks for every
//! mutating request that its intent is durable.

use std::rc::Rc;
use std::time::Duration;

use serde_json::Value as Json;
use stead::cloud::http::message::{HttpRequest, HttpResponse, SignedUpload, Transport, TransportError};
use stead::emulator::world::{self, World};
use stead::kinds::REGISTRY;
use stead::ledger::journal::replay::load_ledger;
use stead::ledger::state::entry::{Intent, IntentAction};
use stead::model::redact::SentSecrets;
use stead::model::schema::Method;

use super::disaster::Outside;
use super::machine::wall;

/// The key of the simulated account.
pub const KEY: &str = "sim-key";

/// Latency of one direction.
const WAY: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub struct SimCloud(pub Rc<Outside>);

impl Transport for SimCloud {
    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        if request.method.mutates() { change(&self.0, request).await } else { read(&self.0, request).await }
    }

    async fn upload(&self, upload: &SignedUpload) -> Result<HttpResponse, TransportError> {
        let outside = &self.0;
        outside.point("before an upload").await;
        outside.machine.sleep(WAY).await;
        let (path, query) = upload.url.expose().split_once('?').unwrap();
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
        let request = world::ApiRequest {
            method: Method::Put,
            path: path[path.find("/uploads/").unwrap()..].to_owned(),
            query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            api_key: None,
            project: None,
            body: upload.into_chunks().collect::<Vec<_>>().concat(),
        };
        outside.uploads.set(outside.uploads.get() + 1);
        let answer = arrived(outside, &request, outside.machine.elapsed());
        outside.point("after an upload").await;
        outside.machine.sleep(WAY).await;
        if outside.lose_upload.replace(false) { Err(lost()) } else { Ok(answer) }
    }
}

/// Answers a read. It has no effect, so one crash point during it is enough.
async fn read(outside: &Outside, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
    outside.machine.sleep(WAY).await;
    outside.point(&format!("during {} {}", request.method, request.path)).await;
    let answer = arrive(outside, request);
    outside.machine.sleep(WAY).await;
    Ok(answer)
}

async fn change(outside: &Outside, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
    let name = format!("{} {}", request.method, request.path);
    outside.point(&format!("before {name}")).await;
    assert_intended(outside, request);
    assert!(!outside.is_taken(), "{name} leaves after the ledger was taken over");
    let number = outside.changes.get();
    if let Some((_, happens)) = outside.before_change.filter(|(before, _)| *before == number) {
        happens(outside);
    }
    outside.changes.set(number + 1);
    if let Some((_, status)) = outside.refuse.filter(|(refused, _)| *refused == number) {
        let body = serde_json::json!({"error": "Refused", "message": "not today"}).to_string().into_bytes();
        return Ok(HttpResponse::new(status, body));
    }
    if let Some((_, by)) = outside.delay.filter(|(delayed, _)| *delayed == number) {
        outside.late.borrow_mut().push((outside.machine.elapsed() + by, request.clone()));
        return Err(lost());
    }
    outside.in_flight.borrow_mut().push(request.clone());
    outside.machine.sleep(WAY).await;
    outside.point(&format!("on the way {name}")).await;
    outside.in_flight.borrow_mut().retain(|other| other != request);
    let untouched = outside.swallow.filter(|swallowed| *swallowed == number).map(|_| copy(outside));
    let mut answer = arrive(outside, request);
    if let Some(untouched) = untouched {
        outside.thaw();
        outside.world.replace(untouched);
    }
    if let Some((_, another)) = outside.misname.filter(|(misnamed, _)| *misnamed == number) {
        let mut json: Json = serde_json::from_slice(&answer.body).unwrap();
        json["data"]["id"] = another(outside).into();
        answer.body = json.to_string().into_bytes();
    }
    outside.point(&format!("after {name}")).await;
    outside.machine.sleep(WAY).await;
    if outside.lose.contains(&number) { Err(lost()) } else { Ok(answer) }
}

fn copy(outside: &Outside) -> World {
    serde_json::from_slice(&serde_json::to_vec(&*outside.world.borrow()).unwrap()).unwrap()
}

fn lost() -> TransportError {
    TransportError::Lost { host: "simulation".to_owned(), reason: "the connection was reset".to_owned() }
}

/// Delivers a request to the service, after the late ones that are due.
fn arrive(outside: &Outside, request: &HttpRequest) -> HttpResponse {
    let now = outside.machine.elapsed();
    deliver_late(outside, now);
    let mut answer = serve(outside, request, now);
    if let Some((name, value)) = &outside.shows
        && request.path.starts_with("/api/v1/volumes")
        && let Ok(mut json) = serde_json::from_slice::<Json>(&answer.body)
    {
        let shown = |row: &mut Json| row.get_mut(*name).into_iter().for_each(|slot| *slot = value.clone());
        match &mut json["data"] {
            Json::Array(rows) => rows.iter_mut().for_each(shown),
            row => shown(row),
        }
        answer.body = json.to_string().into_bytes();
    }
    answer
}

/// Delivers the late requests that are due by a time.
pub fn deliver_late(outside: &Outside, upto: Duration) {
    let (due, later): (Vec<_>, Vec<_>) = outside.late.take().into_iter().partition(|(at, _)| *at <= upto);
    outside.late.replace(later);
    for (at, late) in due {
        serve(outside, &late, at);
    }
}

/// Sends a request outside the client and its network, as another user does.
pub fn meddle(outside: &Outside, method: Method, path: &str, project: Option<&str>, body: Json) -> Json {
    let request = HttpRequest {
        method,
        path: path.to_owned(),
        query: Vec::new(),
        project: project.map(Into::into),
        body: Some(body),
        secrets: SentSecrets::default(),
        deadline: Duration::from_secs(1),
    };
    let answer = serve(outside, &request, outside.machine.elapsed());
    assert!(answer.status < 300, "{path}: {}", String::from_utf8_lossy(&answer.body));
    serde_json::from_slice(&answer.body).unwrap()
}

fn serve(outside: &Outside, request: &HttpRequest, now: Duration) -> HttpResponse {
    let request_of_world = world::ApiRequest {
        method: request.method,
        path: request.path.clone(),
        query: request.query.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
        api_key: Some(KEY.to_owned()),
        project: request.project.as_ref().map(ToString::to_string),
        body: request.body.as_ref().map(|body| body.to_string().into_bytes()).unwrap_or_default(),
    };
    let mut answer = arrived(outside, &request_of_world, now);
    if !outside.lag.is_zero() {
        answer.body = lagged(outside, request, now, answer.body);
    }
    answer
}

/// Returns the world's response at a time.
fn arrived(outside: &Outside, request: &world::ApiRequest, now: Duration) -> HttpResponse {
    outside.thaw();
    let mut service = outside.service.borrow_mut();
    let world::ApiResponse { status, body, .. } =
        service(&mut outside.world.borrow_mut(), request, wall(now));
    if status >= 400 && (request.method.mutates() || status != 404) {
        let (method, path, why) = (request.method, &request.path, String::from_utf8_lossy(&body));
        outside.refusals.borrow_mut().push(format!("{method} {path} {status} {why}"));
    }
    let date = wall(now).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    HttpResponse {
        status,
        retry_after: None,
        limit: None,
        remaining: None,
        date: Some(date.as_str().into()),
        request_id: None,
        body,
    }
}

/// Remembers what is made, and takes out of lists what is too young for them.
fn lagged(outside: &Outside, request: &HttpRequest, now: Duration, body: Vec<u8>) -> Vec<u8> {
    let mut json: Json = serde_json::from_slice(&body).unwrap();
    let made = json.get("data").or_else(|| json.get("database")).and_then(|data| data.get("id")?.as_str());
    if let Some(id) = made.filter(|_| request.method.mutates()) {
        outside.born.borrow_mut().entry(id.to_owned()).or_insert(now);
    }
    let Some(rows) = json["data"].as_array_mut() else { return body };
    let born = outside.born.borrow();
    let shown = |row: &Json| {
        let at = row["id"].as_str().and_then(|id| born.get(id));
        at.is_none_or(|at| *at + outside.lag <= now)
    };
    rows.retain(shown);
    let total = rows.len();
    json["total"] = total.into();
    json.to_string().into_bytes()
}

/// No request that changes something leaves before its intent is durable. Leave to upload changes
/// nothing.
fn assert_intended(outside: &Outside, request: &HttpRequest) {
    if request.path.ends_with("/source-upload") {
        return;
    }
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    assert!(
        ledger.intents.values().any(|intent| means(intent, request)),
        "{} {} leaves without an intent; open: {:?}",
        request.method,
        request.path,
        ledger.intents.values().map(|intent| intent.address.as_str()).collect::<Vec<_>>()
    );
}

fn means(intent: &Intent, request: &HttpRequest) -> bool {
    let kind = REGISTRY.kind(&intent.kind).unwrap();
    let (endpoint, id) = match &intent.action {
        IntentAction::Create { .. } => (kind.api.create, ""),
        IntentAction::Update { id, call, .. } => (kind.call(call).unwrap().endpoint, id.as_str()),
        IntentAction::Delete { object } => (kind.api.delete, object.id.as_str()),
    };
    let parent = intent.parent.as_deref().unwrap_or_default();
    let path = endpoint.path.replace("{id}", id).replace("{parent}", parent);
    let sent = |name: &str| request.body.as_ref().and_then(|body| body.get(name)?.as_str());
    let named = match &intent.action {
        IntentAction::Create { expected, .. } => {
            expected.get("name").is_none_or(|name| sent("name") == name.as_text())
        }
        _ => true,
    };
    endpoint.method == request.method && path == request.path && named
}
