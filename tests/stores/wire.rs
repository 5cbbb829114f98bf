//! The smallest HTTP server and client that tests need: one request a connection, everything in memory.
//! What a real server would never do is done here on purpose.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// An answer; none at all when `status` is 0.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// Returns a parameter of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self
    }
}

impl Answer {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// Returns no answer: the connection ends.
    pub fn lost() -> Self {
        Self::default()
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// Serves until the test ends; returns the address.
pub fn serve(handle: impl Fn(Request) -> Answer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let handle = Arc::new(handle);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let handle = Arc::clone(&handle);
            std::thread::spawn(move || {
                let Some(request) = read_request(&stream) else { return };
                write_answer(&stream, &handle(request));
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    });
    address
}

/// Sends a request on to another server, as it is.
pub fn forward(to: &str, request: &Request) -> Answer {
    let stream = TcpStream::connect(to.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut text = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    for (name, value) in &request.headers {
        if !["connection", "content-length", "expect"].contains(&name.to_ascii_lowercase().as_str()) {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
    }
    write!(text, "content-length: {}\r\nconnection: close\r\n\r\n", request.body.len()).unwrap();
    (&stream).write_all(text.as_bytes()).unwrap();
    (&stream).write_all(&request.body).unwrap();
    let mut reader = BufReader::new(&stream);
    let first = line(&mut reader).unwrap();
    let status = first.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = headers(&mut reader);
    let body = body(&mut reader, &headers, request.method == "HEAD" || status == 204);
    Answer { status, headers, body }
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers = headers(&mut reader);
    let has_none = !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let body = body(&mut reader, &headers, has_none);
    Some(Request { method, target, headers, body })
}

fn write_answer(mut stream: &TcpStream, answer: &Answer) {
    if answer.status == 0 {
        return;
    }
    let mut text = format!("HTTP/1.1 {} X\r\n", answer.status);
    for (name, value) in &answer.headers {
        if !["connection", "content-length", "transfer-encoding"]
            .contains(&name.to_ascii_lowercase().as_str())
        {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
    }
    write!(text, "content-length: {}\r\nconnection: close\r\n\r\n", answer.body.len()).unwrap();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(&answer.body));
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    Some(line.trim_end().to_owned())
}

fn headers(reader: &mut impl BufRead) -> Vec<(String, String)> {
    let lines = std::iter::from_fn(|| line(reader).filter(|line| !line.is_empty()));
    lines
        .filter_map(|line| line.split_once(':').map(|(n, v)| (n.to_owned(), v.trim().to_owned())))
        .collect()
}

fn body(reader: &mut impl BufRead, headers: &[(String, String)], is_empty: bool) -> Vec<u8> {
    let mut body = Vec::new();
    if is_empty {
        return body;
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.map_or(u64::MAX, |(_, value)| value.parse().unwrap());
    reader.take(length).read_to_end(&mut body).unwrap();
    body
}
