//! The transport against a small server that can misbehave.

use std::cell::RefCell;
use std::io::Write as _;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::model::redact::SentSecrets;

/// What the server sends, and whether it then closes the connection.
type Reply = (Vec<u8>, bool);

/// What came in: the connection's number, and the whole request.
type Log = RefCell<Vec<(usize, String)>>;

fn ok(body: &str) -> Reply {
    (format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes(), false)
}

async fn one_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .split_once("content-length: ")
                .map_or(0, |(_, rest)| rest.lines().next().unwrap_or_default().parse().unwrap());
            if body.len() >= length {
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn connection(mut stream: TcpStream, number: usize, reply: &dyn Fn(&str) -> Reply, log: &Log) {
    while let Some(request) = one_request(&mut stream).await {
        let (bytes, close) = reply(&request);
        log.borrow_mut().push((number, request));
        if stream.write_all(&bytes).await.is_err() || close {
            return;
        }
    }
}

async fn serve(listener: TcpListener, reply: &dyn Fn(&str) -> Reply, log: &Log) {
    let mut open = FuturesUnordered::new();
    for number in 0.. {
        let stream = loop {
            tokio::select! {
                accepted = listener.accept() => break accepted.unwrap().0,
                Some(()) = open.next() => {}
            }
        };
        open.push(connection(stream, number, reply, log));
    }
}

fn request(method: Method, path: &str) -> HttpRequest {
    let body = method.mutates().then(|| serde_json::json!({"name": "web"}));
    HttpRequest {
        method,
        path: path.to_owned(),
        query: vec![],
        project: Some("p1".into()),
        body,
        secrets: SentSecrets::default(),
        deadline: Duration::from_secs(5),
    }
}

fn cloud(base: &str) -> HttpsTransport {
    HttpsTransport::new(&TransportOptions::new(base, Some(SecretString::from("canary-key")))).unwrap()
}

/// Sends requests one after the other to a server that replies so.
async fn talk(
    requests: &[HttpRequest],
    reply: &dyn Fn(&str) -> Reply,
) -> (Vec<Result<HttpResponse, TransportError>>, Vec<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cloud = cloud(&format!("http://{}", listener.local_addr().unwrap()));
    let log = Log::default();
    let answers = async {
        let mut answers = Vec::new();
        for request in requests {
            answers.push(cloud.exchange(request).await);
        }
        answers
    };
    let answers = tokio::select! {
        answers = answers => answers,
        () = serve(listener, reply, &log) => panic!("the server ended"),
    };
    (answers, log.into_inner())
}

#[tokio::test]
async fn requests_and_responses_are_sent_over_http() {
    let headers = "HTTP/1.1 201 Created\r\nretry-after: 3\r\nx-ratelimit-limit: 30\r\nx-ratelimit-remaining: 7\r\n\
                   date: Sat, 01 Jan 2026 00:00:00 GMT\r\ncontent-length: 2\r\n\r\n{}";
    let mut list = request(Method::Get, "/api/v1/vms");
    list.query = vec![("limit", "100".to_owned()), ("offset", "0".to_owned())];
    let requests =
        [request(Method::Post, "/api/v1/vms"), list, request(Method::Get, "/api/v1/public/regions")];
    let (answers, log) = talk(&requests, &|_| (headers.into(), false)).await;
    let answer = answers[0].as_ref().unwrap();
    assert_eq!((answer.status, answer.retry_after), (201, Some(3)));
    assert_eq!((answer.limit, answer.remaining), (Some(30), Some(7)));
    assert_eq!(
        (answer.date.as_deref(), &answer.body[..]),
        (Some("Sat, 01 Jan 2026 00:00:00 GMT"), &b"{}"[..])
    );
    let created = log[0].1.to_lowercase();
    assert!(created.starts_with("post /api/v1/vms http/1.1\r\n"), "{created}");
    for header in ["x-api-key: canary-key", "x-project-id: p1", "content-type: application/json"] {
        assert!(created.contains(header), "{header}");
    }
    assert!(created.ends_with("{\"name\":\"web\"}") && !created.contains("expect:"));
    assert!(log[1].1.starts_with("GET /api/v1/vms?limit=100&offset=0 HTTP/1.1\r\n"), "{}", log[1].1);
    assert!(!log[2].1.contains("canary-key"), "the catalog needs no key");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = elsewhere.local_addr().unwrap();
    for status in [301, 302, 303, 307, 308] {
        for target in [format!("http://{other}/api/v1/vms"), "/api/v1/other".to_owned()] {
            let reply =
                format!("HTTP/1.1 {status} Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            let requests = [request(Method::Get, "/api/v1/vms"), request(Method::Post, "/api/v1/vms")];
            let (answers, log) = talk(&requests, &|_| (reply.clone().into_bytes(), false)).await;
            assert!(answers.iter().all(|answer| answer.as_ref().unwrap().status == status));
            assert_eq!(log.len(), 2, "nothing was asked for again");
        }
    }
    let nobody = tokio::time::timeout(Duration::from_millis(1), elsewhere.accept()).await;
    assert!(nobody.is_err(), "nobody came to the other host");
}

#[tokio::test]
async fn a_mutating_request_uses_a_new_connection_and_is_not_retried() {
    // Every connection is closed without an answer after its first request: a kept one that
    // a read would silently replace.
    let requests: Vec<_> = [Method::Get, Method::Get, Method::Post, Method::Delete, Method::Patch]
        .map(|method| request(method, "/api/v1/vms"))
        .into();
    let (_, log) = talk(&requests, &|_| ok("{}")).await;
    let numbers: Vec<_> = log.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 0, 1, 2, 3], "reads share a connection, changes do not");
    let (answers, log) = talk(&requests[2..], &|_| (Vec::new(), true)).await;
    assert_eq!(log.len(), 3, "sent once each");
    for answer in answers {
        assert!(matches!(answer, Err(TransportError::Lost { .. })), "{answer:?}");
    }
}

#[tokio::test]
async fn a_truncated_response_is_a_lost_response() {
    let get = [request(Method::Get, "/api/v1/vms")];
    for reply in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"a\"",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n",
        "HTTP/1.1 2",
        "garbage\r\n\r\n",
    ] {
        let (answers, _) = talk(&get, &|_| (reply.into(), true)).await;
        assert!(matches!(&answers[0], Err(TransportError::Lost { .. })), "{reply:?}: {answers:?}");
    }
}

#[tokio::test]
async fn a_deadline_ends_a_request() {
    let mut slow = request(Method::Get, "/api/v1/vms");
    slow.deadline = Duration::from_millis(50);
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{";
    for reply in ["", half] {
        let (answers, _) = talk(std::slice::from_ref(&slow), &|_| (reply.into(), false)).await;
        let Err(TransportError::Lost { reason, .. }) = &answers[0] else { panic!("{answers:?}") };
        assert_eq!(reason, "no answer in time");
    }
}

/// Sixteen megabytes of zeros, as gzip stores them without compression: more than it is allowed to be.
fn bomb() -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for _ in 0..=(MAX_BODY_BYTES / 65_535) {
        out.extend([0, 0xff, 0xff, 0, 0]);
        out.extend(std::iter::repeat_n(b' ', 65_535));
    }
    out
}

#[tokio::test]
async fn the_size_of_a_response_body_is_limited() {
    let get = [request(Method::Get, "/api/v1/vms")];
    let huge = |body: Vec<u8>, encoding: &str| {
        let mut reply = Vec::new();
        write!(reply, "HTTP/1.1 200 OK\r\n{encoding}content-length: {}\r\n\r\n", body.len()).unwrap();
        reply.extend(body);
        reply
    };
    for (reply, fits) in [
        (huge(vec![b' '; MAX_BODY_BYTES], ""), true),
        (huge(vec![b' '; MAX_BODY_BYTES + 1], ""), false),
        (huge(bomb(), "content-encoding: gzip\r\n"), false),
    ] {
        let (answers, _) = talk(&get, &|_| (reply.clone(), false)).await;
        match &answers[0] {
            Ok(answer) => assert!(fits && answer.body.len() == MAX_BODY_BYTES),
            Err(error) => assert!(!fits && error.to_string().contains("larger than 16 MiB"), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_refused_connection_means_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let refused = cloud(&format!("http://{address}")).exchange(&request(Method::Post, "/api/v1/vms")).await;
    let Err(TransportError::NotSent { host, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!(*host, address.to_string());
}

#[tokio::test]
async fn a_failed_tls_handshake_means_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cloud = cloud(&format!("https://{}", listener.local_addr().unwrap()));
    let post = request(Method::Post, "/api/v1/vms");
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = Vec::new();
        stream.read_buf(&mut hello).await.unwrap();
        assert!(!String::from_utf8_lossy(&hello).contains("canary"));
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    };
    let (answer, ()) = tokio::join!(cloud.exchange(&post), server);
    assert!(matches!(answer, Err(TransportError::NotSent { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_request_whose_path_leaves_the_base_url_is_not_sent() {
    let cloud = cloud("https://api.example.test/base");
    for path in
        ["/api/v1/../keys", "/api/v1/%2e%2e/keys", "api", "/a?b", "/a#b", "//evil.test/x/..", "/a\\b"]
    {
        let answer = cloud.exchange(&request(Method::Delete, path)).await;
        assert!(matches!(answer, Err(TransportError::NotSent { .. })), "{path}: {answer:?}");
    }
    let mut odd = request(Method::Delete, "/api/v1/vms/a");
    odd.project = Some("p\r\nx: y".into());
    assert!(matches!(cloud.exchange(&odd).await, Err(TransportError::NotSent { .. })));
}

#[test]
fn only_safe_base_urls_are_accepted() {
    for good in [
        "https://api.example.test",
        "https://api.example.test/prefix/",
        "http://127.0.0.1:8080",
        "http://[::1]:8080",
        "http://localhost:1",
    ] {
        assert!(parse_base_url(good).is_ok(), "{good}");
    }
    for (bad, reason) in [
        ("http://api.example.test", "http is for this machine only; use https"),
        ("http://127.0.0.1.evil.test", "http is for this machine only; use https"),
        ("https://user:hunter2@api.example.test", "it holds a user or a password"),
        ("https://api.example.test?x=1", "it has a query or a fragment"),
        ("ftp://api.example.test", "it must begin with https://"),
        ("api.example.test", "it is not a URL"),
    ] {
        let error = parse_base_url(bad).unwrap_err();
        assert!(error.to_string().ends_with(reason), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn the_api_key_is_never_printed() {
    let options = TransportOptions::new("https://api.example.test", Some(SecretString::from("canary-key")));
    let cloud = HttpsTransport::new(&options).unwrap();
    let headers = cloud.headers(&request(Method::Get, "/api/v1/vms")).unwrap();
    assert!(!format!("{options:?} {headers:?}").contains("canary"));
    let odd = TransportOptions::new("https://api.example.test", Some(SecretString::from("canary\nkey")));
    let error = HttpsTransport::new(&odd).err().unwrap();
    assert!(!format!("{error} {error:?}").contains("canary"));
}
