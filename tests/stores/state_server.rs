//! A state server that speaks the protocol of Terraform's http backend, and breaks its word in one way
//! when it is told to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::wire::{self, Answer, Request};

/// A way to break one's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Laxity {
    /// There are no locks, and this is the answer.
    NoLocks(u16),
    /// Everyone gets the lock.
    SecondLock,
    /// Everyone may give the lock back.
    AnyUnlock,
    /// Giving back another's lock does nothing, and is said to be done.
    SilentUnlock,
    /// Everyone may write.
    AnyWrite,
    /// Everyone is refused, and written for all the same.
    LoudWrite,
    /// What is written is thrown away.
    NoWrite,
    /// What is read is always this.
    Reads(&'static str),
    /// Everything is done.
    Yes,
}

/// What happens to a write on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// It arrives, and its answer is lost.
    After,
    /// It is lost.
    Before,
}

#[derive(Debug, Default)]
pub struct World {
    pub documents: BTreeMap<String, Vec<u8>>,
    /// The lock's description by path.
    pub locks: BTreeMap<String, serde_json::Value>,
    pub requests: Vec<Request>,
    pub lax: Option<Laxity>,
    /// For the next write.
    pub mishap: Option<Mishap>,
    /// Keeps documents as values, not as bytes.
    pub rewrites: bool,
}

/// A server that runs until the test ends.
#[derive(Debug, Clone)]
pub struct StateServer {
    pub address: String,
    world: Arc<Mutex<World>>,
}

impl StateServer {
    pub fn new() -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let served = Arc::clone(&world);
        let address = wire::serve(move |request| served.lock().unwrap().answer(&request));
        Self { address, world }
    }

    pub fn lax(laxity: Laxity) -> Self {
        let server = Self::new();
        server.world().lax = Some(laxity);
        server
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Sends a request of someone else.
    pub fn send(&self, method: &str, target: &str, body: &str) -> Answer {
        let headers = vec![("host".to_owned(), "localhost".to_owned())];
        let (method, target, body) = (method.to_owned(), target.to_owned(), body.as_bytes().to_vec());
        wire::forward(&self.address, &Request { method, target, headers, body })
    }
}

impl World {
    fn answer(&mut self, request: &Request) -> Answer {
        let path = request.path().trim_end_matches("/lock").to_owned();
        let is_lock = request.path().ends_with("/lock");
        self.requests.push(request.clone());
        if !is_digest_right(request) {
            return Answer::new(400, "the digest is another");
        }
        match (request.method.as_str(), is_lock) {
            ("GET", false) => self.read(&path),
            ("POST", false) => self.write(&path, request),
            // GitLab has its own methods.
            ("LOCK", _) | ("POST", true) => self.lock(&path, request),
            ("UNLOCK", _) | ("DELETE", true) => self.unlock(&path, request),
            _ => Answer::new(405, ""),
        }
    }

    fn read(&self, path: &str) -> Answer {
        match (self.lax, self.documents.get(path)) {
            (Some(Laxity::Reads(text)), _) => Answer::new(200, text),
            (_, Some(document)) => Answer::new(200, document.clone()),
            (_, None) => Answer::new(404, ""),
        }
    }

    fn write(&mut self, path: &str, request: &Request) -> Answer {
        let held = self.locks.get(path).map(|lock| lock["ID"].as_str().unwrap_or_default());
        let allowed = held.is_none_or(|id| request.query("ID") == Some(id));
        let trusting = matches!(self.lax, Some(Laxity::AnyWrite | Laxity::Yes));
        if !allowed && !trusting {
            if self.lax == Some(Laxity::LoudWrite) {
                self.documents.insert(path.to_owned(), request.body.clone());
            }
            return Answer::new(423, self.locks[path].to_string());
        }
        let mishap = self.mishap.take();
        if mishap != Some(Mishap::Before) && self.lax != Some(Laxity::NoWrite) {
            let value = || serde_json::from_slice::<serde_json::Value>(&request.body).unwrap();
            let kept = if self.rewrites {
                serde_json::to_vec_pretty(&value()).unwrap()
            } else {
                request.body.clone()
            };
            self.documents.insert(path.to_owned(), kept);
        }
        if mishap.is_some() { Answer::lost() } else { Answer::new(200, "") }
    }

    fn lock(&mut self, path: &str, request: &Request) -> Answer {
        if let Some(Laxity::NoLocks(status)) = self.lax {
            return Answer::new(status, "");
        }
        let trusting = matches!(self.lax, Some(Laxity::SecondLock | Laxity::Yes));
        if let Some(lock) = self.locks.get(path).filter(|_| !trusting) {
            return Answer::new(423, lock.to_string());
        }
        let lock = serde_json::from_slice(&request.body).unwrap();
        self.locks.insert(path.to_owned(), lock);
        Answer::new(200, "")
    }

    fn unlock(&mut self, path: &str, request: &Request) -> Answer {
        let asked: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        match self.locks.get(path) {
            Some(lock) if lock["ID"] != asked["ID"] => match self.lax {
                Some(Laxity::SilentUnlock | Laxity::Yes) => return Answer::new(200, ""),
                Some(Laxity::AnyUnlock) => {}
                _ => return Answer::new(409, lock.to_string()),
            },
            _ => {}
        }
        self.locks.remove(path);
        Answer::new(200, "")
    }
}

fn is_digest_right(request: &Request) -> bool {
    use base64::prelude::{BASE64_STANDARD, Engine};
    use md5::{Digest, Md5};
    request
        .header("content-md5")
        .is_none_or(|told| told == BASE64_STANDARD.encode(Md5::digest(&request.body)))
}
