//! `TestCloud`: the cloud of a thread, in tests of whole commands. Where a thread has one, a request of its commands is a
//! function call, which takes no time and can be refused, or never be answered.

use std::cell::RefCell;
use std::rc::Rc;

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};
use tokio::sync::Notify;

use super::in_process_cloud::{KEY, api_request};
use crate::cloud::http::message::{HttpRequest, HttpResponse, TransportError};
use crate::cloud::system_clock::SystemClock;
use crate::emulator::world::{self, ApiRequest, RateTier, World, WorldSetup};
use crate::model::clock::Clock;
use crate::model::schema::Method;

thread_local! {
    static CLOUD: RefCell<Option<TestCloud>> = const { RefCell::new(None) };
}

/// A request that may have changed something.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct SentChange {
    pub(in crate::cli) method: Method,
    pub(in crate::cli) path: String,
    /// Status of the service's response, also of one that did not arrive; `None` if the request did not reach it.
    pub(in crate::cli) status: Option<u16>,
}

/// What happens to a changing request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Fault {
    /// The service refuses it.
    Refused,
    /// The process is killed before it is sent.
    DiesBefore,
    /// The process is killed when it has had its effect.
    DiesAfter,
}

/// The cloud of a thread; clones share it.
#[derive(Clone)]
pub(in crate::cli) struct TestCloud(Rc<RefCell<CloudState>>);

struct CloudState {
    world: World,
    sent: Vec<SentChange>,
    /// Number of changing requests before the one with a fault.
    fault: Option<(usize, Fault)>,
    /// Percentage by which catalog prices differ from those of the world.
    price_rise: i32,
    /// Tells that the process is to be killed.
    death: Rc<Notify>,
}

impl TestCloud {
    /// Returns the cloud of this thread; `None` if it has none.
    pub(in crate::cli) fn of_this_thread() -> Option<Self> {
        CLOUD.with_borrow(Clone::clone)
    }

    /// Returns the cloud's response, unless the request meets a fault.
    pub(in crate::cli) async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(self.exchange(api_request(request)).await)
    }

    /// Makes an empty account the cloud of this thread.
    pub(in crate::cli) fn start(seed: u64) -> Self {
        let now = SystemClock.now();
        let setup = WorldSetup { seed, api_key: KEY.to_owned(), tier: RateTier::Standard };
        let mut world = World::new(&setup, now);
        let rich: Map<String, Json> = [("balance".to_owned(), json!(1_000_000))].into_iter().collect();
        world::mutate(&mut world, "account", "", &rich, now).unwrap();
        let state =
            CloudState { world, sent: Vec::new(), fault: None, price_rise: 0, death: Rc::default() };
        let cloud = Self(Rc::new(RefCell::new(state)));
        CLOUD.set(Some(cloud.clone()));
        cloud
    }

    /// Returns the changing requests so far.
    pub(in crate::cli) fn sent(&self) -> Vec<SentChange> {
        self.0.borrow().sent.clone()
    }

    /// Lets the changing request after this many more meet a fault.
    pub(in crate::cli) fn set_fault(&self, fault: Option<(usize, Fault)>) {
        self.0.borrow_mut().fault = fault;
    }

    /// Waits until a fault kills the process: the caller drops the work then.
    pub(in crate::cli) async fn wait_for_death(&self) {
        let death = Rc::clone(&self.0.borrow().death);
        death.notified().await;
    }

    /// Raises the prices that the catalog shows, in percent.
    pub(in crate::cli) fn raise_prices(&self, percent: i32) {
        self.0.borrow_mut().price_rise = percent;
    }

    /// Changes a record behind the client's back.
    pub(in crate::cli) fn mutate(&self, kind: &str, id: &str, set: &Json) {
        let set = set.as_object().unwrap();
        world::mutate(&mut self.0.borrow_mut().world, kind, id, set, SystemClock.now()).unwrap();
    }

    /// Sends a request of somebody else; returns the status and the body.
    pub(in crate::cli) fn ask(&self, method: Method, path: &str, project: Option<&str>) -> (u16, Json) {
        let query = vec![("limit".to_owned(), "100".to_owned())];
        let response = self.handle(&ApiRequest {
            method,
            path: path.to_owned(),
            query: if method == Method::Get { query } else { Vec::new() },
            api_key: Some(KEY.to_owned()),
            project: project.map(str::to_owned),
            body: Vec::new(),
        });
        (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
    }

    fn handle(&self, request: &ApiRequest) -> HttpResponse {
        let now = SystemClock.now();
        let mut state = self.0.borrow_mut();
        let response = world::handle_request(&mut state.world, request, now);
        let mut body = response.body;
        if state.price_rise != 0 && request.path.contains("/public/pricing/") {
            body = with_raised_prices(&body, state.price_rise);
        }
        HttpResponse {
            status: response.status,
            retry_after: None,
            limit: None,
            remaining: None,
            date: Some(http_date(now).into()),
            request_id: None,
            body,
        }
    }

    /// Returns the fault of the next changing request.
    fn next_fault(&self) -> Option<Fault> {
        let mut state = self.0.borrow_mut();
        match &mut state.fault {
            Some((0, fault)) => {
                let fault = *fault;
                state.fault = None;
                Some(fault)
            }
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        }
    }

    async fn exchange(&self, request: ApiRequest) -> HttpResponse {
        if !request.method.mutates() {
            return self.handle(&request);
        }
        let fault = self.next_fault();
        let response = match fault {
            Some(Fault::Refused) => Some(HttpResponse {
                status: 403,
                retry_after: None,
                limit: None,
                remaining: None,
                date: Some(http_date(SystemClock.now()).into()),
                request_id: None,
                body: br#"{"error":"forbidden","message":"not today"}"#.to_vec(),
            }),
            Some(Fault::DiesBefore) => None,
            Some(Fault::DiesAfter) | None => Some(self.handle(&request)),
        };
        let status = response.as_ref().map(|response| response.status);
        self.0.borrow_mut().sent.push(SentChange { method: request.method, path: request.path, status });
        if let Some(response) = response.filter(|_| fault != Some(Fault::DiesAfter)) {
            return response;
        }
        self.0.borrow().death.notify_one();
        std::future::pending().await
    }
}

fn http_date(now: Timestamp) -> String {
    now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Returns a list of the catalog with all its amounts raised.
fn with_raised_prices(body: &[u8], percent: i32) -> Vec<u8> {
    fn raise(value: &mut Json, is_price: bool, percent: i32) {
        match value {
            Json::Number(number) if is_price => {
                let raised = number.as_f64().unwrap_or_default() * (100.0 + f64::from(percent)) / 100.0;
                *value = json!((raised * 10_000.0).round() / 10_000.0);
            }
            Json::String(text) if is_price => {
                if let Ok(amount) = text.parse::<f64>() {
                    *text = format!("{:.4}", amount * (100.0 + f64::from(percent)) / 100.0);
                }
            }
            Json::Object(map) => {
                map.iter_mut().for_each(|(name, part)| raise(part, name.contains("price"), percent));
            }
            Json::Array(items) => items.iter_mut().for_each(|item| raise(item, is_price, percent)),
            _ => {}
        }
    }
    let mut json: Json = serde_json::from_slice(body).unwrap_or_default();
    raise(&mut json, false, percent);
    json.to_string().into_bytes()
}
