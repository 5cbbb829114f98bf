//! `Trap`: a listener that answers every connection the same way and records what it received.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use stead::cloud::http::https_transport::HttpsTransport;
use stead::cloud::http::message::{HttpRequest, HttpResponse, Transport, TransportError};
use stead::model::redact::SentSecrets;
use stead::model::schema::Method;

/// All HTTP methods.
pub const VERBS: [Method; 5] = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];

/// The API key, which only the service may receive.
pub const KEY: &str = "canary-key-0123456789";

/// A listener on its own thread, which ends with the process.
pub struct Trap {
    pub address: SocketAddr,
    seen: Arc<Seen>,
}

/// What each connection sent; `None` while it is open.
#[derive(Default)]
struct Seen {
    texts: Mutex<Vec<Option<String>>>,
    ended: Condvar,
}

impl Trap {
    /// Listens on an address of this machine; `answer` gets the head of each request.
    pub fn new(ip: &str, answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        Self::raw(ip, move |stream| {
            let head = head(stream);
            stream.write_all(&answer(&head)).ok();
            head
        })
    }

    /// Listens on an address; `talk` handles each connection and returns what it received.
    pub fn raw(ip: &str, talk: impl Fn(&mut TcpStream) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let kept = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                // Noted before the answer is out, so that whoever has the answer finds the note.
                let at = kept.texts.lock().unwrap().len();
                kept.texts.lock().unwrap().push(None);
                let text = talk(&mut stream);
                kept.texts.lock().unwrap()[at] = Some(text);
                kept.ended.notify_all();
            }
        });
        Self { address, seen }
    }

    /// Returns what was received, one string per connection; waits up to 20 seconds for open ones.
    pub fn seen(&self) -> Vec<String> {
        let texts = self.seen.texts.lock().unwrap();
        let open = |texts: &mut Vec<Option<String>>| texts.iter().any(Option::is_none);
        let (texts, _) = self.seen.ended.wait_timeout_while(texts, Duration::from_secs(20), open).unwrap();
        texts.iter().map(|text| text.clone().unwrap_or_default()).collect()
    }
}

/// Reads and returns the head of a request.
pub fn head(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn request(method: Method) -> HttpRequest {
    HttpRequest {
        method,
        path: "/api/v1/vms".to_owned(),
        query: vec![],
        project: None,
        body: None,
        secrets: SentSecrets::default(),
        deadline: Duration::from_secs(20),
    }
}

/// Sends one request on a runtime of its own.
pub fn send(cloud: &HttpsTransport, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(cloud.exchange(request))
}
