//! Responses of the service: decoded alone, and received by the client in the middle of its work.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use jiff::Timestamp;
use serde_json::Value as Json;
use stead::cloud::client::Client;
use stead::cloud::error::MutationOutcome;
use stead::cloud::http::decode;
use stead::cloud::http::message::{HttpRequest, HttpResponse, Transport, TransportError};
use stead::cloud::http::url_path::{fill_path, is_segment};
use stead::kinds::REGISTRY;
use stead::model::clock::{Clock, Random};
use stead::model::live::snapshot::{Object, ObjectKey, RefreshRequest};
use stead::model::schema::{Envelope, Kind};
use uuid::Uuid;

const ENVELOPES: &[Envelope] = &[
    Envelope::Data,
    Envelope::Database,
    Envelope::Run,
    Envelope::Settings,
    Envelope::Pricing,
    Envelope::Message,
];

/// Decodes one body in every way in which a body can be decoded.
pub fn answer(bytes: &[u8]) {
    let error = decode::error_text(bytes);
    let Ok(json) = decode::parse_json(bytes) else {
        assert!(error.is_none(), "no words in what is no JSON");
        return;
    };
    let _ = decode::says_failure(&json);
    for kind in REGISTRY.kinds {
        record(kind, &json);
        for payload in ENVELOPES.iter().filter_map(|envelope| decode::find_payload(&json, *envelope)) {
            record(kind, payload);
        }
    }
    let Ok(page) = decode::parse_page(json) else { return };
    for row in &page.rows {
        REGISTRY.kinds.iter().for_each(|kind| record(kind, row));
    }
}

fn record(kind: &'static Kind, json: &Json) {
    let parent = kind.child_of().map(|_| "p-1".into());
    let secret = decode::shown_once(kind, json).and_then(|secret| secret.expose().map(str::to_owned));
    for detailed in [false, true] {
        if let Ok(object) = decode::parse_object(kind, json, parent.as_ref(), detailed) {
            object_holds(kind, &object);
            let text = serde_json::to_string(&object).expect("an object can be written");
            // What the answer says twice, in a name too, is no secret of that name.
            let once = |secret: &&String| json.to_string().matches(secret.as_str()).count() == 1;
            let shown = secret.as_ref().filter(|secret| secret.contains("canary")).filter(once);
            assert!(shown.is_none_or(|secret| !text.contains(secret)), "{text}");
        }
    }
}

/// An id fills exactly one segment of a path: one that cannot is refused.
fn object_holds(kind: &Kind, object: &Object) {
    assert!(kind.attributes.len() >= object.attributes.len());
    let Some(read) = kind.api.read else { return };
    let filled = fill_path(read.path, Some(&object.id), object.parent.as_deref());
    if !is_segment(&object.id) {
        assert!(filled.is_err(), "{:?}", object.id);
        return;
    }
    let path = filled.expect("a legal id fills a path");
    assert_eq!(path.matches('/').count(), read.path.matches('/').count(), "{path}");
    let fixed = read.path.split('{').next().unwrap_or_default();
    assert!(path.starts_with(fixed) && !path.contains("..") || object.id.contains(".."), "{path}");
    assert!(path.bytes().all(|b| b.is_ascii_graphic() && !b"?#\\\"<>".contains(&b)), "{path}");
}

/// Runs the client on a sequence of responses, one per line: a status, and the body. It must end with a result or an
/// error, never with a panic or an endless loop.
pub fn exchange(bytes: &[u8]) {
    let answers: Vec<(u16, &[u8])> = bytes.split(|b| *b == b'\n').take(64).map(status).collect();
    let vm =
        REGISTRY.kinds.iter().copied().find(|kind| kind.child_of().is_none() && kind.api.read.is_some());
    let vm = vm.expect("there is a kind that can be read by id");
    let child = REGISTRY.kinds.iter().copied().find(|kind| kind.shown_once.is_some());
    let client = || Client::new(Tape::new(&answers), Watch::default(), Watch::default(), REGISTRY);
    if let Ok(objects) = now(client().list(vm, None, None)) {
        assert_each_once(&objects);
    }
    if let Ok((objects, _)) = now(client().list_stable(vm, None, None)) {
        assert_each_once(&objects);
    }
    let key = ObjectKey { kind: vm.name.into(), parent: None, id: "a1".into() };
    if let Ok(Some(object)) = now(client().get(&key)) {
        assert_eq!(object.id, key.id, "the resolution of an intent for another object is none");
    }
    for kind in [Some(vm), child].into_iter().flatten() {
        let parent = kind.child_of().map(|_| "p-1".into());
        let body = serde_json::json!({"name": "a"});
        let made = now(client().changes(&|_| Ok(())).create(kind, parent.as_ref(), None, body));
        if let MutationOutcome::Done(object, secret) = &made {
            object_holds(kind, object.as_ref().expect("a creation is done with its object only"));
            let hidden = secret.as_ref().and_then(|secret| secret.0.expose()).unwrap_or_default();
            assert!(!hidden.contains("canary") || !format!("{made:?}").contains(hidden));
        }
    }
    let gone = now(client().changes(&|_| Ok(())).delete(vm, &key, None));
    assert!(!matches!(gone, MutationOutcome::Done(Some(_), _)));
    let tables: BTreeSet<&str> = REGISTRY.catalogs.iter().map(|table| table.name).collect();
    let _ = now(client().catalog(&tables));
    let kinds = REGISTRY.top_level().map(|kind| kind.name.into()).collect();
    let _ = now(client().refresh(&RefreshRequest { kinds, owned: vec![key], ..RefreshRequest::default() }));
}

fn assert_each_once(objects: &[Object]) {
    let ids: BTreeSet<_> = objects.iter().map(|object| &object.id).collect();
    assert_eq!(ids.len(), objects.len(), "each object once");
}

/// Parses a line such as `404 {…}`; one without a number is a lost response.
fn status(line: &[u8]) -> (u16, &[u8]) {
    let (word, body) = line.split_at_checked(4).unwrap_or((line, b""));
    let status = std::str::from_utf8(word).ok().and_then(|word| word.trim().parse().ok());
    (status.unwrap_or_default(), body)
}

/// Returns the result of a future that never has to wait; panics otherwise.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("nothing to wait for")
}

/// Returns the responses in turn, starting again after the last one, a bounded number of times.
struct Tape<'a> {
    answers: &'a [(u16, &'a [u8])],
    next: Cell<usize>,
}

impl<'a> Tape<'a> {
    fn new(answers: &'a [(u16, &'a [u8])]) -> Self {
        Self { answers, next: Cell::new(0) }
    }
}

impl Transport for Tape<'_> {
    async fn exchange(&self, _request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let next = self.next.replace(self.next.get() + 1);
        assert!(next < 20_000, "the client asks without end");
        match self.answers[next % self.answers.len()] {
            (0, _) => Err(TransportError::Lost { host: "h".to_owned(), reason: "reset".to_owned() }),
            (status, body) => {
                let date = Some("Sat, 21 Nov 2026 12:00:00 GMT".into());
                Ok(HttpResponse {
                    status,
                    retry_after: None,
                    limit: None,
                    remaining: None,
                    date,
                    request_id: None,
                    body: body.to_vec(),
                })
            }
        }
    }
}

/// A clock on which every wait ends at once, and a random source without randomness.
#[derive(Default)]
struct Watch(Cell<Duration>);

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        self.0.get()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.set(self.0.get() + duration);
    }
}

impl Random for Watch {
    fn uuid(&self) -> Uuid {
        Uuid::nil()
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}
