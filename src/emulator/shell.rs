//! `Shell`: one request on its way through log, limiter, faults and world; the server around it only
//! reads and writes sockets. It owns the cloud, and runs on one thread.

use std::time::Duration;

use jiff::Timestamp;

use super::clock::VirtualClock;
use super::console;
use super::control;
use super::faults::{self, Fault};
use super::limiter::{Decision, Limiter};
use super::log::{Entry, Log};
use super::store::Journal;
use super::world::{
    Archive, Request, Response, Tier, World, handle_request, handle_upload, route_template,
};
use crate::model::schema::Method;

/// One request as it came from the socket.
pub(super) struct Incoming {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) api_key: Option<String>,
    pub(super) project: Option<String>,
    /// The address that the client reached this server at.
    pub(super) host: Option<String>,
    pub(super) peer: String,
    /// Whether the emulator's own calls are open to this request.
    pub(super) trusted: bool,
    pub(super) body: Vec<u8>,
    /// What the body was, where it is an archive.
    pub(super) archive: Option<Archive>,
}

/// The two times of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Wall time.
    pub(super) real: Timestamp,
    /// Time since the server began.
    pub(super) elapsed: Duration,
}

/// What is to be done with the socket.
pub(super) struct Outgoing {
    pub(super) response: Response,
    /// The world's time, for `Date`.
    pub(super) date: Timestamp,
    /// What goes wrong on the way out.
    pub(super) fault: Option<Fault>,
    /// What must be on the disk before the answer leaves.
    pub(super) sequence: u64,
}

/// The cloud, and what stands before it.
pub(super) struct Shell {
    pub(super) world: World,
    pub(super) clock: VirtualClock,
    pub(super) limiter: Option<Limiter>,
    pub(super) faults: faults::Plan,
    pub(super) log: Log,
    pub(super) journal: Journal,
    /// The description of the service's API.
    pub(super) openapi: Option<String>,
}

/// Where the service's API is described.
const OPENAPI: &str = "/openapi.json";

/// Begins the path of the emulator's own calls.
pub(super) const CONTROL: &str = "/_emulator/";

impl Shell {
    /// Answers one request.
    pub(super) fn handle_incoming(&mut self, incoming: Incoming, moment: Moment) -> Outgoing {
        if console::is_own(&incoming.path) {
            let response = control::handle_control_request(self, &incoming, moment);
            return self.finish_response(response, None, moment);
        }
        if let Some(text) = self.openapi.as_ref().filter(|_| incoming.path == OPENAPI) {
            let response = Response::from_json(200, text.clone().into_bytes());
            return self.finish_response(response, None, moment);
        }
        let method = method_from_name(&incoming.method);
        let route = method.and_then(|method| route_template(method, &incoming.path)).unwrap_or_default();
        let entry = Entry {
            seq: 0,
            time: moment.real,
            method: incoming.method.chars().take(16).collect(),
            route,
            path: incoming.path.clone(),
            status: 0,
            key_prefix: incoming.api_key.clone().unwrap_or_default(),
        };
        let (response, fault) = self.dispatch_incoming(method, incoming, moment);
        let reset = matches!(fault, Some(Fault::ResetBefore | Fault::ResetAfter));
        let status = if reset { 0 } else { response.status };
        self.log.add(Entry { status, ..entry }, moment.elapsed);
        self.finish_response(response, fault, moment)
    }

    fn finish_response(&mut self, response: Response, fault: Option<Fault>, moment: Moment) -> Outgoing {
        let rows = self.world.take_rows();
        let sequence = self.journal.submit(rows, None);
        Outgoing { response, date: self.clock.now(moment.real), fault, sequence }
    }

    fn dispatch_incoming(
        &mut self,
        method: Option<Method>,
        incoming: Incoming,
        moment: Moment,
    ) -> (Response, Option<Fault>) {
        let Some(method) = method else {
            return (Response::error(404, "Not Found", "route not found"), None);
        };
        let decision = self.admit(&incoming, moment);
        if let Some(decision) = decision.filter(|decision| !decision.allowed) {
            return (add_rate_limit_headers(rate_limit_response(decision.limit), decision), None);
        }
        let fault = self.faults.decide_fault(method, &incoming.path);
        let response = match fault {
            Some(Fault::Status(status)) => fault_response(status),
            Some(Fault::ResetBefore) => fault_response(500),
            _ => self.run(method, incoming, moment),
        };
        (decision.map_or(response.clone(), |decision| add_rate_limit_headers(response, decision)), fault)
    }

    fn run(&mut self, method: Method, incoming: Incoming, moment: Moment) -> Response {
        let Incoming { path, query, api_key, project, host, body, archive, .. } = incoming;
        let request = Request { method, path, query, api_key, project, body };
        let now = self.clock.now(moment.real);
        if let Some(host) = host {
            self.world.set_origin(&format!("http://{host}"));
        }
        match archive {
            Some(archive) => handle_upload(&mut self.world, &request, &archive, now),
            None => handle_request(&mut self.world, &request, now),
        }
    }

    /// Asks the limiter: a key counts for itself, everyone else by address. Health is free.
    fn admit(&mut self, incoming: &Incoming, moment: Moment) -> Option<Decision> {
        let limiter = self.limiter.as_mut()?;
        if matches!(incoming.path.as_str(), "/health" | "/ready") {
            return None;
        }
        let catalog = incoming.path.starts_with("/api/v1/public/");
        let key = incoming.api_key.as_deref().filter(|_| !catalog);
        let known = key.and_then(|key| Some((key, self.world.tier_of(key)?)));
        let (caller, tier) = known.unwrap_or((&incoming.peer, Tier::Standard));
        Some(limiter.admit(caller, tier, moment.elapsed))
    }
}

fn method_from_name(method: &str) -> Option<Method> {
    let methods = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    methods.into_iter().find(|known| known.as_str() == method)
}

fn rate_limit_response(limit: usize) -> Response {
    let message =
        format!("at most {limit} requests per second are allowed for this key: wait, then try again");
    let mut response = Response::error(429, "Rate limit exceeded", &message);
    response.headers.push(("retry-after", "1".to_owned()));
    response
}

fn add_rate_limit_headers(mut response: Response, decision: Decision) -> Response {
    response.headers.push(("x-ratelimit-limit", decision.limit.to_string()));
    response.headers.push(("x-ratelimit-remaining", decision.remaining.to_string()));
    response
}

fn fault_response(status: u16) -> Response {
    match status {
        402 => {
            Response::error(402, "Payment Required", "insufficient balance: add funds, or a card to charge")
        }
        403 => Response::error(403, "Forbidden", "access denied"),
        412 => Response::error(
            412,
            "Precondition Failed",
            "pay-as-you-go apps are paused by the monthly spend cap: raise it, or turn it off",
        ),
        429 => rate_limit_response(Tier::Standard.bounds().0),
        503 => Response::error(
            503,
            "Service Unavailable",
            "resources are temporarily unavailable: try again later",
        ),
        _ => Response::error(
            500,
            "Internal Server Error",
            "something went wrong on our side: try again, or contact support",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::world::Setup;

    const FIRST: &str = "sk_first";

    fn shell() -> Shell {
        let zero = Timestamp::UNIX_EPOCH;
        let setup = Setup { seed: 1, api_key: FIRST.to_owned(), tier: Tier::Standard };
        Shell {
            world: World::new(&setup, zero),
            clock: VirtualClock::new(zero, 1.0).unwrap(),
            limiter: Some(Limiter::default()),
            faults: faults::Plan::default(),
            log: Log::default(),
            journal: Journal::in_memory(),
            openapi: None,
        }
    }

    fn send(shell: &mut Shell, method: &str, key: &str, body: &str) -> Response {
        let incoming = Incoming {
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
        let moment = Moment { real: Timestamp::UNIX_EPOCH, elapsed: Duration::ZERO };
        shell.handle_incoming(incoming, moment).response
    }

    /// Makes a key of a tier; returns its secret.
    fn key(shell: &mut Shell, tier: &str) -> String {
        let body = format!(r#"{{"name": "a", "rate_limit_tier": "{tier}"}}"#);
        let answer = send(shell, "POST", FIRST, &body);
        let read: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        read["data"]["secret"].as_str().unwrap().to_owned()
    }

    #[test]
    fn each_key_has_a_limit_of_its_own_tier() {
        let mut shell = shell();
        let set = serde_json::json!({"high_tier": true});
        shell.world.mutate("account", "", set.as_object().unwrap(), Timestamp::UNIX_EPOCH).unwrap();
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
