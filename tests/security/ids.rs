//! Hostile ids: whatever the service returns, requests stay below the path of their kind.

use std::cell::RefCell;
use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value as Json, json};
use stead::cloud::client::Client;
use stead::cloud::http::message::{HttpRequest, HttpResponse, Transport, TransportError};
use stead::cloud::system_clock::{SystemClock, SystemRandom};
use stead::kinds::REGISTRY;
use stead::model::live::snapshot::{ObjectKey, RefreshRequest};

/// Ids that a path must not contain unescaped.
const HOSTILE: &[&str] = &[
    "../hidden-place",
    "..",
    ".",
    "",
    "/",
    "a/b",
    "a/../../hidden-place",
    "..%2fhidden-place",
    "%2e%2e",
    "%2e%2e%2fhidden-place",
    "a%2fb",
    "a\\b",
    "..\\hidden-place",
    "a?x=1",
    "a#b",
    "a;b",
    "a b",
    "a\tb",
    "a\r\nX-Api-Key: x",
    "a\0b",
    "\u{202e}a",
    "http://evil.test/",
    "//evil.test",
    "@evil.test",
    ":80",
    "\u{2025}/x",
    "\u{ff0e}\u{ff0e}",
    "ü",
    "*",
    "{id}",
    "a&b=c",
    "%",
    "%0d%0a",
    "~",
    "-",
];

/// A service in which every record has a hostile id.
struct Hostile<'a> {
    id: &'a str,
    seen: RefCell<Vec<HttpRequest>>,
}

impl Transport for &Hostile<'_> {
    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.seen.borrow_mut().push(request.clone());
        let record = json!({
            "id": self.id, "name": self.id, "project_id": self.id, "vm_id": self.id, "vpc_id": self.id,
            "created_at": self.id, "status": self.id, "is_default": true, "cidr": self.id,
        });
        let list = request.query.iter().any(|(name, _)| *name == "offset");
        let body: Json = if list {
            json!({"data": [record], "total": 1})
        } else {
            json!({"success": true, "data": record})
        };
        let (retry_after, limit, remaining, date) = (None, None, None, None);
        Ok(HttpResponse {
            status: 200,
            retry_after,
            limit,
            remaining,
            date,
            request_id: None,
            body: body.to_string().into_bytes(),
        })
    }
}

/// Sends every kind of request for the found objects and for the id itself.
async fn ask(service: &Hostile<'_>) {
    let client = Client::new(service, SystemClock, SystemRandom, REGISTRY);
    let mut keys: BTreeSet<ObjectKey> = BTreeSet::new();
    for kind in REGISTRY.kinds {
        for parent in [None, Some("db1".into()), Some(service.id.into())] {
            if let Ok(found) = client.list(kind, parent.as_ref(), None).await {
                keys.extend(found.iter().map(stead::model::live::snapshot::Object::key));
            }
            keys.insert(ObjectKey { kind: kind.name.into(), parent, id: service.id.into() });
        }
    }
    for key in &keys {
        // Most of these are refused before anything is sent.
        let _ = client.get(key).await;
        let kind = REGISTRY.kind(&key.kind).unwrap();
        let _ = client.changes(&|_| Ok(())).delete(kind, key, Some(&service.id.into())).await;
    }
    let wanted = RefreshRequest {
        kinds: REGISTRY.kinds.iter().map(|kind| kind.name.into()).collect(),
        projects: Some(vec![service.id.into()]),
        owned: keys.iter().cloned().collect(),
        adopted: BTreeSet::new(),
        homeless: BTreeSet::new(),
        details: keys.clone(),
        parents: keys.iter().map(|key| (key.kind.clone(), key.id.clone())).collect(),
        choices: BTreeSet::new(),
        applied: std::collections::BTreeMap::new(),
        everywhere: REGISTRY.kinds.iter().map(|kind| kind.name.into()).collect(),
    };
    let _ = client.refresh(&wanted).await;
}

#[tokio::test]
async fn a_hostile_id_never_changes_the_request_path() {
    let templates: Vec<_> = REGISTRY.kinds.iter().flat_map(|kind| kind.endpoints()).collect();
    // At once: each has a limiter of its own to wait for.
    let services = HOSTILE.iter().map(async |id| {
        let service = Hostile { id, seen: RefCell::default() };
        ask(&service).await;
        (id, service.seen.into_inner())
    });
    for (id, seen) in join_all(services).await {
        assert!(!seen.is_empty());
        for request in seen {
            let path = &request.path;
            let known = templates.iter().any(|known| known.method == request.method && known.fits(path));
            assert!(known, "{id:?}: {} {path}", request.method);
            let plain = path.bytes().all(|b| b.is_ascii_graphic() && !b"?#\\".contains(&b));
            assert!(plain && !path.split('/').any(|part| part == "." || part == ".."), "{id:?}: {path}");
            assert!(
                !path.to_lowercase().contains("%2f") && !path.contains("hidden-place"),
                "{id:?}: {path}"
            );
        }
    }
}
