//! Leads one request through rate limiter, fault plan and world, and logs it. All of it runs on one thread, which owns
//! the world; the server around it only reads and writes sockets.

use super::faults::Fault;
use super::limiter::RateLimitStatus;
use super::log::RequestLogEntry;
use super::message::{IncomingRequest, OutgoingResponse, RequestTimes};
use super::service_state::HttpService;
use super::world::{ApiRequest, ApiResponse, RateTier, handle_request, handle_upload, route_template};
use super::{console, control};
use crate::model::schema::Method;

/// Path of the OpenAPI document, which needs no API key and is neither logged nor limited.
const OPENAPI_PATH: &str = "/openapi.json";

/// Handles one request and returns what to send. The emulator's own endpoints and the OpenAPI document bypass log,
/// limiter and faults: they are no part of the service.
pub(super) fn handle_incoming(
    shell: &mut HttpService,
    incoming: IncomingRequest,
    moment: RequestTimes,
) -> OutgoingResponse {
    if console::is_own(&incoming.path) {
        let response = control::handle_control_request(shell, &incoming, moment);
        return finish_response(shell, response, None, moment);
    }
    if let Some(text) = shell.openapi.as_ref().filter(|_| incoming.path == OPENAPI_PATH) {
        let response = ApiResponse::from_json(200, text.clone().into_bytes());
        return finish_response(shell, response, None, moment);
    }
    let method = method_from_name(&incoming.method);
    let route = method.and_then(|method| route_template(method, &incoming.path)).unwrap_or_default();
    let entry = RequestLogEntry {
        seq: 0,
        time: moment.real,
        method: incoming.method.chars().take(16).collect(),
        route,
        path: incoming.path.clone(),
        status: 0,
        key_prefix: incoming.api_key.clone().unwrap_or_default(),
    };
    let (response, fault) = dispatch_incoming(shell, method, incoming, moment);
    let reset = matches!(fault, Some(Fault::ResetBefore | Fault::ResetAfter));
    let status = if reset { 0 } else { response.status };
    shell.log.add(RequestLogEntry { status, ..entry }, moment.elapsed);
    finish_response(shell, response, fault, moment)
}

fn finish_response(
    shell: &mut HttpService,
    response: ApiResponse,
    fault: Option<Fault>,
    moment: RequestTimes,
) -> OutgoingResponse {
    // Also for a read and for a refused request: any request can move the clock past events that are due.
    let rows = shell.world.take_rows();
    let sequence = shell.journal.submit(rows, None);
    OutgoingResponse { response, date: shell.clock.now(moment.real), fault, sequence }
}

fn dispatch_incoming(
    shell: &mut HttpService,
    method: Option<Method>,
    incoming: IncomingRequest,
    moment: RequestTimes,
) -> (ApiResponse, Option<Fault>) {
    let Some(method) = method else {
        return (ApiResponse::error(404, "Not Found", "route not found"), None);
    };
    // The limiter is asked first: a request over the limit must not use up a counted fault.
    let decision = admit(shell, &incoming, moment);
    if let Some(decision) = decision.filter(|decision| !decision.allowed) {
        return (add_rate_limit_headers(rate_limit_response(decision.limit), decision), None);
    }
    let fault = shell.faults.decide_fault(method, &incoming.path);
    let response = match fault {
        Some(Fault::Status(status)) => fault_response(status),
        Some(Fault::ResetBefore) => fault_response(500),
        _ => run(shell, method, incoming, moment),
    };
    (decision.map_or(response.clone(), |decision| add_rate_limit_headers(response, decision)), fault)
}

fn run(
    shell: &mut HttpService,
    method: Method,
    incoming: IncomingRequest,
    moment: RequestTimes,
) -> ApiResponse {
    let IncomingRequest { path, query, api_key, project, host, body, archive, .. } = incoming;
    let request = ApiRequest { method, path, query, api_key, project, body };
    let now = shell.clock.now(moment.real);
    if let Some(host) = host {
        shell.world.set_origin(&format!("http://{host}"));
    }
    match archive {
        Some(archive) => handle_upload(&mut shell.world, &request, &archive, now),
        None => handle_request(&mut shell.world, &request, now),
    }
}

/// Asks the limiter about a request; `None` for health checks. Each API key has its own limit;
/// requests without a valid key, and those to public catalogs, are limited by peer address: the service does not
/// publish a rule for them ("Limits").
fn admit(
    shell: &mut HttpService,
    incoming: &IncomingRequest,
    moment: RequestTimes,
) -> Option<RateLimitStatus> {
    if matches!(incoming.path.as_str(), "/health" | "/ready") {
        return None;
    }
    let Some(limiter) = shell.limiter.as_mut() else { return Some(RateLimitStatus::UNLIMITED) };
    let catalog = incoming.path.starts_with("/api/v1/public/");
    let key = incoming.api_key.as_deref().filter(|_| !catalog);
    let known = key.and_then(|key| Some((key, shell.world.tier_of(key)?)));
    let (caller, tier) = known.unwrap_or((&incoming.peer, RateTier::Standard));
    Some(limiter.admit(caller, tier, moment.elapsed))
}

fn method_from_name(method: &str) -> Option<Method> {
    let methods = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    methods.into_iter().find(|known| known.as_str() == method)
}

fn rate_limit_response(limit: usize) -> ApiResponse {
    let message =
        format!("at most {limit} requests per second are allowed for this key: wait, then try again");
    let mut response = ApiResponse::error(429, "Rate limit exceeded", &message);
    response.headers.push(("retry-after", "1".to_owned()));
    response
}

fn add_rate_limit_headers(mut response: ApiResponse, decision: RateLimitStatus) -> ApiResponse {
    response.headers.push(("x-ratelimit-limit", decision.limit.to_string()));
    response.headers.push(("x-ratelimit-remaining", decision.remaining.to_string()));
    response
}

fn fault_response(status: u16) -> ApiResponse {
    match status {
        402 => ApiResponse::error(
            402,
            "Payment Required",
            "insufficient balance: add funds, or a card to charge",
        ),
        403 => ApiResponse::error(403, "Forbidden", "access denied"),
        412 => ApiResponse::error(
            412,
            "Precondition Failed",
            "pay-as-you-go apps are paused by the monthly spend cap: raise it, or turn it off",
        ),
        429 => rate_limit_response(RateTier::Standard.bounds().0),
        503 => ApiResponse::error(
            503,
            "Service Unavailable",
            "resources are temporarily unavailable: try again later",
        ),
        _ => ApiResponse::error(
            500,
            "Internal Server Error",
            "something went wrong on our side: try again, or contact support",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::emulator::clock::VirtualClock;
    use crate::emulator::faults;
    use crate::emulator::limiter::ServerRateLimiter;
    use crate::emulator::log::RequestLog;
    use crate::emulator::store::WriteQueue;
    use crate::emulator::world::{World, WorldSetup, mutate};

    const FIRST: &str = "sk_first";

    fn shell() -> HttpService {
        let zero = Timestamp::UNIX_EPOCH;
        let setup = WorldSetup { seed: 1, api_key: FIRST.to_owned(), tier: RateTier::Standard };
        HttpService {
            world: World::new(&setup, zero),
            clock: VirtualClock::new(zero, 1.0).unwrap(),
            limiter: Some(ServerRateLimiter::default()),
            faults: faults::FaultPlan::default(),
            log: RequestLog::default(),
            journal: WriteQueue::in_memory(),
            openapi: None,
        }
    }

    fn send(shell: &mut HttpService, method: &str, key: &str, body: &str) -> ApiResponse {
        let incoming = IncomingRequest {
            method: method.to_owned(),
            path: "/api/v1/api-keys".to_owned(),
            query: Vec::new(),
            api_key: Some(key.to_owned()),
            project: None,
            peer: "peer".to_owned(),
            trusted: false,
            host: None,
            archive: None,
            body: body.as_bytes().to_vec(),
        };
        let moment = RequestTimes { real: Timestamp::UNIX_EPOCH, elapsed: Duration::ZERO };
        handle_incoming(shell, incoming, moment).response
    }

    /// Makes a key of a tier; returns its secret.
    fn key(shell: &mut HttpService, tier: &str) -> String {
        let body = format!(r#"{{"name": "a", "rate_limit_tier": "{tier}"}}"#);
        let answer = send(shell, "POST", FIRST, &body);
        let read: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        read["data"]["secret"].as_str().unwrap().to_owned()
    }

    #[test]
    fn without_a_limiter_responses_state_a_rate_that_does_not_hold_clients_back() {
        let mut shell = HttpService { limiter: None, ..shell() };
        for _ in 0..200 {
            let answer = send(&mut shell, "GET", FIRST, "");
            assert_eq!(answer.status, 200);
            for header in ["x-ratelimit-limit", "x-ratelimit-remaining"] {
                assert!(answer.headers.contains(&(header, "1000".to_owned())), "{:?}", answer.headers);
            }
        }
    }

    #[test]
    fn each_key_has_a_limit_of_its_own_tier() {
        let mut shell = shell();
        let set = serde_json::json!({"high_tier": true});
        mutate(&mut shell.world, "account", "", set.as_object().unwrap(), Timestamp::UNIX_EPOCH).unwrap();
        let keys = ["standard", "high", "standard"].map(|tier| key(&mut shell, tier));
        for (key, most) in keys.iter().zip([90, 300, 90]) {
            let storm = (0..400).map(|_| send(&mut shell, "GET", key, "").status);
            // Without a role it may see nothing, but it is known, and counts for itself.
            assert_eq!(storm.filter(|status| *status == 403).count(), most);
        }
        // Keys that are none share what their address has.
        let storm = ["sk_x", "sk_y"]
            .map(|key| (0..200).filter(|_| send(&mut shell, "GET", key, "").status == 401).count());
        assert_eq!(storm, [90, 0]);
    }
}
