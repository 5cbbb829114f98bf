//! The network of a simulation: requests travel by themselves, whatever becomes of their sender, and
//! what goes wrong on the way is the schedule's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use stead::cloud::http::message::{HttpRequest, HttpResponse, Transport, TransportError};
use stead::kinds::REGISTRY;
use stead::model::schema::Method;

use super::super::machine::wall;
use super::oracle::{Key, Made, created_by, payload};
use super::people::Act;
use super::process::Process;
use super::schedule::{Fault, Network, Reading, millis};
use super::universe::{Event, Sent, Universe};

/// One way through the network.
const WAY: Duration = Duration::from_millis(20);

/// What a sender never sees the end of.
const NEVER: Duration = Duration::from_secs(59);

#[derive(Clone)]
pub struct Wire(pub Rc<Universe>, pub Rc<Process>);

impl Transport for Wire {
    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        if request.method.mutates() { self.change(request).await } else { self.read(request).await }
    }
}

impl Wire {
    async fn read(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let Self(universe, process) = self;
        let number = universe.reads.get();
        universe.reads.set(number + 1);
        process.point(universe, "read").await;
        if universe.is_limited() {
            universe.machine.sleep(WAY).await;
            return Ok(limited(universe, true));
        }
        let fault = universe.faults().find_map(|fault| match fault {
            Fault::Read(at, how) if *at == number => Some(*how),
            _ => None,
        });
        if let Some(fault) = fault {
            universe
                .note(|| format!("p{} {} {}: {fault:?}", process.number, request.method, request.path), 3);
        }
        match fault {
            Some(Reading::Slow(time)) => universe.machine.sleep(millis(time)).await,
            Some(Reading::Lost) => {
                universe.machine.sleep(WAY).await;
                return Err(lost());
            }
            Some(Reading::Limited(times, tells)) => {
                universe.limited.set(times - 1);
                universe.machine.sleep(WAY).await;
                return Ok(limited(universe, tells));
            }
            _ => {}
        }
        universe.machine.sleep(WAY).await;
        let mut answer = universe.read(request);
        match fault {
            Some(Reading::Status(status)) => answer = envelope(universe, status),
            Some(Reading::Page(status)) => answer = page(universe, status),
            Some(Reading::Truncated) => answer.body.truncate(answer.body.len() / 2),
            Some(Reading::SaysFailed) => answer.body = NO.to_vec(),
            _ => {}
        }
        universe.machine.sleep(WAY).await;
        Ok(answer)
    }

    async fn change(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let Self(universe, process) = self;
        let number = universe.changes.get();
        universe.changes.set(number + 1);
        process.leaving(universe).await;
        let fault = universe.faults().find_map(|fault| match fault {
            Fault::Change(at, how) if *at == number => Some(*how),
            _ => None,
        });
        if fault == Some(Network::NotSent) {
            universe.machine.sleep(WAY).await;
            let (host, reason) = ("simulation".to_owned(), "refused".to_owned());
            return Err(TransportError::NotSent { host, reason });
        }
        let op = universe.leaves(process.number, request, process.plan.borrow().as_ref());
        universe.twins(number, request);
        let sent = Rc::new(Sent { request: request.clone(), op, number, answer: RefCell::default() });
        if let Some(fault) = fault {
            universe.note(|| format!("change {number}: {fault:?}"), 5);
        }
        self.travel(&sent, fault).await
    }

    /// The request goes its way, and the answer comes back, as far as they do.
    async fn travel(
        &self,
        sent: &Rc<Sent>,
        fault: Option<Network>,
    ) -> Result<HttpResponse, TransportError> {
        let Self(universe, process) = self;
        if let Some(early) = self.turned_away(sent, fault) {
            let never = matches!(fault, Some(Network::LostBefore));
            universe.machine.sleep(if never { NEVER } else { 2 * WAY }).await;
            return early;
        }
        universe.happens(universe.now() + WAY, Event::Arrival(Rc::clone(sent)));
        if let Some(Network::Slow(time)) = fault {
            universe.machine.sleep(millis(time)).await;
        }
        universe.machine.sleep(WAY).await;
        process.point(universe, "on the way").await;
        universe.machine.sleep(WAY).await;
        let Some(mut answer) = sent.answer.take() else { return Err(lost()) };
        match fault {
            Some(Network::LostAfter) => return Err(lost()),
            Some(Network::Truncated) => answer.body.truncate(answer.body.len() / 2),
            Some(Network::Malformed) => answer.body = b"{\"success\":tru".to_vec(),
            Some(Network::Envelope(status, true)) => answer = envelope(universe, status),
            Some(Network::SaysFailed(false)) => answer.body = NO.to_vec(),
            Some(how @ (Network::Another | Network::AnothersId)) => universe.mix_up(sent, how, &mut answer),
            _ => {}
        }
        process.point(universe, "answered").await;
        Ok(answer)
    }

    /// Returns what comes back of a request that is not answered by the world; it may arrive all the
    /// same, at another time.
    fn turned_away(
        &self,
        sent: &Rc<Sent>,
        fault: Option<Network>,
    ) -> Option<Result<HttpResponse, TransportError>> {
        let universe = &self.0;
        let arrives = |time: u64| {
            universe.happens(universe.now() + millis(time), Event::Arrival(Rc::clone(sent)));
        };
        if universe.is_limited() {
            universe.came_back(sent.op);
            return Some(Ok(limited(universe, false)));
        }
        match fault? {
            Network::Limited(times, tells) => {
                universe.came_back(sent.op);
                universe.limited.set(times - 1);
                Some(Ok(limited(universe, tells)))
            }
            Network::LostBefore => Some(Err(lost())),
            Network::Late(time) => {
                arrives(time);
                Some(Err(lost()))
            }
            Network::Refused(status) | Network::Envelope(status, false) => {
                Some(Ok(envelope(universe, status)))
            }
            Network::SaysFailed(true) => Some(Ok(answer(universe, 200, NO.to_vec()))),
            Network::Page(status, effect) => {
                effect.into_iter().for_each(arrives);
                Some(Ok(page(universe, status)))
            }
            Network::DoneLater(time) if sent.request.method == Method::Delete => {
                arrives(time);
                Some(Ok(answer(universe, 200, br#"{"success":true,"message":"deleting"}"#.to_vec())))
            }
            _ => None,
        }
    }
}

/// Says that it failed, with a status that does not.
const NO: &[u8] = br#"{"success":false,"message":"no"}"#;

fn lost() -> TransportError {
    TransportError::Lost { host: "simulation".to_owned(), reason: "the connection was reset".to_owned() }
}

fn answer(universe: &Universe, status: u16, body: Vec<u8>) -> HttpResponse {
    let date = wall(universe.now()).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
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

fn envelope(universe: &Universe, status: u16) -> HttpResponse {
    answer(universe, status, br#"{"error":"No","message":"the simulation says no"}"#.to_vec())
}

fn page(universe: &Universe, status: u16) -> HttpResponse {
    answer(universe, status, b"<html>something went wrong</html>".to_vec())
}

fn limited(universe: &Universe, tells: bool) -> HttpResponse {
    HttpResponse { retry_after: tells.then_some(3), ..envelope(universe, 429) }
}

impl Universe {
    /// Tells whether the limiter's storm still goes on.
    fn is_limited(&self) -> bool {
        let left = self.limited.get();
        self.limited.set(left.saturating_sub(1));
        left > 0 && !self.calm.get()
    }

    /// Someone makes the same object as this creation.
    fn twins(&self, number: usize, request: &HttpRequest) {
        let Some((kind, _)) = created_by(request) else { return };
        for fault in self.faults() {
            match fault {
                Fault::Twin(at, after) if *at == number => {
                    let act = Act::Make { kind: kind.name, request: request.clone() };
                    self.happens(self.now() + millis(*after), Event::Act(act));
                }
                _ => {}
            }
        }
    }

    /// A request of ours arrives, and has its effect.
    pub fn arrive(&self, sent: &Sent) {
        self.touches(sent);
        let response = self.serve(&sent.request);
        let (request, status) = (&sent.request, response.status);
        self.note(|| format!("{} {} arrives: {status}", request.method, request.path), status.into());
        if let Some((kind, parent)) = created_by(request).filter(|_| status < 300) {
            let json: Json = serde_json::from_slice(&response.body).unwrap_or_default();
            let id = payload(&json).and_then(|data| data.get(kind.api.id)?.as_str()).unwrap_or_default();
            let key: Key = (kind.name, parent, id.to_owned());
            let secret = payload(&json).and_then(|data| data.get("password")?.as_str());
            self.oracle.borrow_mut().secrets.extend(secret.map(str::to_owned));
            if let Some(op) = sent.op {
                self.oracle.borrow_mut().made.insert(key, Made { op, at: self.now() });
            }
            self.falter(kind.name, id, sent.number);
        }
        *sent.answer.borrow_mut() = Some(answer(self, response.status, response.body));
    }

    /// A new object comes to another status than it should.
    fn falter(&self, kind: &'static str, id: &str, number: usize) {
        let ready = REGISTRY.kind(kind).and_then(|kind| kind.api.ready);
        let Some(ready) = ready.filter(|ready| !ready.wanted.is_empty()) else { return };
        for fault in self.faults() {
            let Fault::Status(at, status, seconds) = fault else { continue };
            if *at == number {
                let (id, wanted) = (id.to_owned(), ready.wanted[0]);
                let now = self.now();
                self.happens(now, Event::Status { kind, id: id.clone(), status });
                self.happens(
                    now + Duration::from_secs(1 + seconds),
                    Event::Status { kind, id, status: wanted },
                );
            }
        }
    }

    /// Answers a read, with the lag of lists and the pages that the schedule wants.
    fn read(&self, request: &HttpRequest) -> HttpResponse {
        let mut request = request.clone();
        if let Some(rows) = self.schedule.page.filter(|_| !self.calm.get()) {
            let limit = request.query.iter_mut().filter(|(key, _)| *key == "limit");
            limit.for_each(|(_, value)| *value = rows.to_string());
        }
        let response = self.serve(&request);
        let young = self.too_young(&request);
        if response.status != 200 || young.is_empty() {
            return answer(self, response.status, response.body);
        }
        answer(self, 200, self.without(&request, &young))
    }

    /// Returns the objects that a list does not show yet.
    fn too_young(&self, request: &HttpRequest) -> Vec<String> {
        let (now, lag) = (self.now(), millis(self.schedule.lag));
        let lists = |kind: &str| REGISTRY.kind(kind).is_some_and(|kind| kind.api.list.path == request.path);
        let oracle = self.oracle.borrow();
        let young = oracle.made.iter().filter(|((kind, ..), made)| made.at + lag > now && lists(kind));
        young.map(|((_, _, id), _)| id.clone()).collect()
    }

    /// Lists without some objects. A list that lags is a whole one, only an older one: its pages and its
    /// total leave the same objects out. (Pages of all objects, some of which are then left out, would
    /// show rows twice and not at all, and no reader could ever tell that from a list that changes.)
    fn without(&self, request: &HttpRequest, young: &[String]) -> Vec<u8> {
        let asked = |name: &str| {
            let found = request.query.iter().find(|(key, _)| *key == name);
            found.and_then(|(_, value)| value.parse::<usize>().ok())
        };
        let mut whole = request.clone();
        // No simulation makes more objects of a kind.
        whole.query = vec![("limit", "100".to_owned()), ("offset", "0".to_owned())];
        let mut json: Json = serde_json::from_slice(&self.serve(&whole).body).unwrap_or_default();
        let rows = json["data"].as_array().cloned().unwrap_or_default();
        let is_shown = |row: &Json| row["id"].as_str().is_none_or(|id| young.iter().all(|y| y != id));
        let shown: Vec<Json> = rows.into_iter().filter(is_shown).collect();
        json["total"] = json!(shown.len());
        let (offset, limit) = (asked("offset").unwrap_or(0), asked("limit").unwrap_or(20).min(100));
        json["data"] = shown.into_iter().skip(offset).take(limit).collect();
        json.to_string().into_bytes()
    }

    /// Puts an older object of the kind into a creation's answer, or only its id.
    fn mix_up(&self, sent: &Sent, how: Network, answer: &mut HttpResponse) {
        let Some((kind, _)) = created_by(&sent.request) else { return };
        let (_, listed) = self.ask(Method::Get, kind.api.list.path, None, None);
        let Ok(mut json) = serde_json::from_slice::<Json>(&answer.body) else { return };
        let own = payload(&json).and_then(|data| data.get("id")?.as_str()).map(str::to_owned);
        let others = listed["data"].as_array().cloned().unwrap_or_default();
        let oracle = self.oracle.borrow();
        let ours = oracle.made.iter().map(|((.., id), made)| (id.as_str(), made.at));
        let theirs = oracle.strangers.iter().map(|((.., id), at)| (id.as_str(), *at));
        let born: BTreeMap<&str, Duration> = ours.chain(theirs).collect();
        // Whatever was born since the request first left, no list before it can have shown.
        let Some(left) = sent.op.and_then(|op| oracle.ops.get(&op)?.left) else { return };
        let is_older = |id: &str| born.get(id).is_none_or(|at| *at + Duration::from_secs(1) < left);
        let other = others
            .into_iter()
            .find(|row| row["id"].as_str().is_some_and(|id| Some(id) != own.as_deref() && is_older(id)));
        let Some(other) = other else { return };
        let key = if json.get("data").is_some() { "data" } else { "database" };
        match how {
            Network::Another => json[key] = other,
            _ => json[key]["id"] = other["id"].clone(),
        }
        answer.body = json.to_string().into_bytes();
    }
}
