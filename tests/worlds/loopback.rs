//! A layer over a world, served on this machine in scaled time: the real binary runs against every variation.
//! Requests of others go past the layer, straight to the world.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::DATE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request as HttpRequest, Response as HttpResponse};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::Value as Json;
use stead::emulator::world::{
    ApiRequest, ApiResponse, RateTier, Time, World, WorldSetup, handle_request, mutate,
};
use stead::model::schema::Method;
use tokio::sync::oneshot;

use crate::layer::{Layer, Sent, Variation};

/// The key that the binary uses.
pub const KEY: &str = "loopback-key";

/// Virtual seconds in a real one, as the emulator of the other tests.
const SPEED: u32 = 1_000;

/// More requests a second than a test sends: what is tested here is not the limiter.
const RATE: &str = "1000";

const VERBS: [Method; 5] = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];

/// What is served.
struct Served {
    world: World,
    layer: Layer,
    begun: (Timestamp, Instant),
    /// The answer to the next changing request to this path is lost.
    lost: Option<&'static str>,
}

impl Served {
    fn now(&self) -> Time {
        let (at, begun) = self.begun;
        at + begun.elapsed() * SPEED
    }
}

/// A running server. Dropping it stops it.
pub struct Loopback {
    pub url: String,
    served: Arc<Mutex<Served>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Serves an empty account through a variation, on a free port.
    pub fn new(variation: &'static Variation) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let at = Timestamp::now();
        let mut world =
            World::new(&WorldSetup { seed: 7, api_key: KEY.to_owned(), tier: RateTier::Standard }, at);
        world.set_origin(&url);
        let rich = [("balance".to_owned(), 1_000_000.into())].into_iter().collect();
        mutate(&mut world, "account", "", &rich, at).unwrap();
        let begun = (at, Instant::now());
        let served = Served { world, layer: Layer::new(variation), begun, lost: None };
        let served = Arc::new(Mutex::new(served));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let shared = served.clone();
        let thread = thread::spawn(move || runtime.block_on(serve(listener, shared, stopped)));
        Self { url, served, stop: Some(stop), thread: Some(thread) }
    }

    /// Sends a request past the layer.
    pub fn ask(&self, method: Method, path: &str, project: Option<&str>, body: &Json) -> (u16, Json) {
        let query = vec![("limit".to_owned(), "100".to_owned())];
        let request = ApiRequest {
            method,
            path: path.to_owned(),
            query: if method == Method::Get { query } else { Vec::new() },
            api_key: Some(KEY.to_owned()),
            project: project.map(str::to_owned),
            body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
        };
        let mut served = lock(&self.served);
        let now = served.now();
        let response = handle_request(&mut served.world, &request, now);
        (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
    }

    /// Returns the world's records of a collection.
    pub fn rows(&self, path: &str) -> Vec<Json> {
        let (_, json) = self.ask(Method::Get, path, None, &Json::Null);
        json["data"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the changing requests that came through the layer.
    pub fn sent(&self) -> Vec<Sent> {
        lock(&self.served).layer.sent.clone()
    }

    /// Serves through another variation from now on.
    pub fn vary(&self, variation: &'static Variation) {
        lock(&self.served).layer.variation = variation;
    }

    /// Loses the answer to the next changing request to a path: the world has done what it asked for.
    pub fn lose_next(&self, path: &'static str) {
        lock(&self.served).lost = Some(path);
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        // A test that failed says so itself.
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "the server panicked");
    }
}

fn lock(served: &Mutex<Served>) -> MutexGuard<'_, Served> {
    served.lock().expect("no answer panicked")
}

/// Serves one connection after another, each on a task of its own, until it is stopped.
async fn serve(listener: TcpListener, served: Arc<Mutex<Served>>, mut stop: oneshot::Receiver<()>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            _ = &mut stop => return,
        };
        stream.set_nodelay(true).unwrap();
        let served = served.clone();
        let service = service_fn(move |request| answer(served.clone(), request));
        // A connection that breaks is the end of a command.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    served: Arc<Mutex<Served>>,
    request: HttpRequest<Incoming>,
) -> io::Result<HttpResponse<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let verb = VERBS.into_iter().find(|verb| verb.to_string() == parts.method.as_str());
    let request = ApiRequest {
        method: verb.unwrap(),
        path: parts.uri.path().to_owned(),
        query: query(parts.uri.query().unwrap_or_default()),
        api_key: text("x-api-key"),
        project: text("x-project-id"),
        body: body.collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default(),
    };
    let mut served = lock(&served);
    let now = served.now();
    let Served { world, layer, lost, .. } = &mut *served;
    let response = layer.handle(world, &request, now);
    if request.method.mutates() && lost.take_if(|path| request.path == **path).is_some() {
        return Err(io::Error::other("this answer is lost"));
    }
    Ok(http(response, now))
}

fn http(response: ApiResponse, now: Time) -> HttpResponse<Full<Bytes>> {
    let mut built = HttpResponse::builder()
        .status(response.status)
        .header(DATE, now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
        .header("x-ratelimit-limit", RATE);
    for (name, value) in response.headers {
        built = built.header(name, value);
    }
    built.body(Full::new(Bytes::from(response.body))).unwrap()
}

/// Decodes a query; the client sends plain words and UUIDs, and escapes nothing in them.
fn query(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| {
            assert!(!value.contains(['%', '+']), "an escape in a query: {text}");
            (name.to_owned(), value.to_owned())
        })
        .collect()
}
