//! What the cloud's tests share: virtual time, counted chance, and a service that is a closure.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use uuid::Uuid;

use super::client::Client;
use super::http::message::{HttpRequest, HttpResponse, Transport, TransportError};
use crate::kinds::REGISTRY;
use crate::model::clock::{Clock, Random};
use crate::model::schema::Kind;

/// Time that passes only when everyone waits.
#[derive(Clone, Default)]
pub(super) struct VirtualClock(Rc<Time>);

#[derive(Default)]
struct Time {
    now: Cell<Duration>,
    count: Cell<u64>,
    sleepers: RefCell<BTreeMap<(Duration, u64), Waker>>,
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.elapsed()
    }

    fn elapsed(&self) -> Duration {
        self.0.now.get()
    }

    async fn sleep(&self, duration: Duration) {
        let until = self.elapsed() + duration;
        self.0.count.set(self.0.count.get() + 1);
        let name = (until, self.0.count.get());
        std::future::poll_fn(|context| {
            if self.elapsed() >= until {
                return Poll::Ready(());
            }
            self.0.sleepers.borrow_mut().insert(name, context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a future to its end in virtual time.
pub(super) fn run<T>(clock: &VirtualClock, future: impl Future<Output = T>) -> T {
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut future = pin!(future);
    loop {
        if flag.0.swap(false, Ordering::Relaxed) {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return value;
            }
            continue;
        }
        let next = clock.0.sleepers.borrow_mut().pop_first();
        let ((at, _), sleeper) = next.expect("everyone waits for nothing");
        clock.0.now.set(at.max(clock.elapsed()));
        sleeper.wake();
    }
}

/// A random source that counts up, so that ids are predictable.
#[derive(Default)]
pub(super) struct Counted(Cell<u128>);

impl Random for Counted {
    fn uuid(&self) -> Uuid {
        self.0.set(self.0.get() + 1);
        Uuid::from_u128(self.0.get())
    }

    fn fraction(&self) -> f64 {
        0.0
    }
}

/// Requests, and when they arrived.
pub(super) type Log = Rc<RefCell<Vec<(Duration, HttpRequest)>>>;

type Handler<'a> = dyn FnMut(&HttpRequest) -> Result<HttpResponse, TransportError> + 'a;

/// A service that answers what its closure says, after a while.
pub(super) struct FakeCloud<'a> {
    clock: VirtualClock,
    handler: RefCell<Box<Handler<'a>>>,
    latency: Box<dyn Fn() -> Duration + 'a>,
    pub(super) log: Log,
}

impl Transport for FakeCloud<'_> {
    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        self.clock.sleep((self.latency)()).await;
        self.log.borrow_mut().push((self.clock.elapsed(), request.clone()));
        let answer = (self.handler.borrow_mut())(request);
        self.clock.sleep(Duration::from_millis(20)).await;
        answer
    }
}

pub(super) type FakeClient<'a> = Client<FakeCloud<'a>, VirtualClock, Counted>;

/// Returns a client of a service that is a closure, 40 ms away.
pub(super) fn client<'a>(
    handler: impl FnMut(&HttpRequest) -> Result<HttpResponse, TransportError> + 'a,
) -> (FakeClient<'a>, VirtualClock, Log) {
    client_with(handler, || Duration::from_millis(20))
}

/// The same with another way to the service.
pub(super) fn client_with<'a>(
    handler: impl FnMut(&HttpRequest) -> Result<HttpResponse, TransportError> + 'a,
    latency: impl Fn() -> Duration + 'a,
) -> (FakeClient<'a>, VirtualClock, Log) {
    let clock = VirtualClock::default();
    let log = Rc::default();
    let cloud = FakeCloud {
        clock: clock.clone(),
        handler: RefCell::new(Box::new(handler)),
        latency: Box::new(latency),
        log: Rc::clone(&log),
    };
    (Client::new(cloud, clock.clone(), Counted::default(), REGISTRY), clock, log)
}

pub(super) fn kind(name: &str) -> &'static Kind {
    REGISTRY.kind(name).unwrap()
}

pub(super) fn answer(status: u16, body: &Json) -> Result<HttpResponse, TransportError> {
    raw(status, body.to_string().into_bytes())
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a service's closure returns")]
pub(super) fn raw(status: u16, body: impl Into<Vec<u8>>) -> Result<HttpResponse, TransportError> {
    let date = Some("Sat, 01 Jan 2026 00:00:00 GMT".into());
    let retry_after = (status == 429).then_some(1);
    Ok(HttpResponse {
        status,
        retry_after,
        limit: None,
        remaining: None,
        date,
        request_id: None,
        body: body.into(),
    })
}

pub(super) fn error(status: u16) -> Result<HttpResponse, TransportError> {
    answer(status, &json!({"error": "E", "message": "no"}))
}

/// Answers a list request with a page of these records, newest first.
pub(super) fn page(
    request: &HttpRequest,
    records: &[Json],
    largest: usize,
) -> Result<HttpResponse, TransportError> {
    answer(200, &json!({"data": slice(request, records, largest), "total": records.len()}))
}

pub(super) fn slice<T: Clone>(request: &HttpRequest, records: &[T], largest: usize) -> Vec<T> {
    let number = |name: &str| {
        let found = request.query.iter().find(|(key, _)| *key == name);
        found.and_then(|(_, value)| value.parse::<usize>().ok())
    };
    let limit = number("limit").unwrap_or(20).min(largest);
    records.iter().skip(number("offset").unwrap_or(0)).take(limit).cloned().collect()
}
