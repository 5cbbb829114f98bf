//! The sockets: accepts connections, reads requests, and sends, delays or breaks off responses as `HttpService`
//! decides. A response is sent only when the rows that it reports are on disk.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the emulator's sockets, their clock and their tasks are an edge"
)]

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming as RequestBody, SizeHint};
use hyper::header::{CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response as HttpResponse};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::console;
use super::faults::Fault;
use super::http_service::handle_incoming;
use super::message::{IncomingRequest, OutgoingResponse, RequestTimes};
use super::service_state::HttpService;
use super::store::wait_until_durable;
use super::world::{ApiResponse, ArchiveReceiver, LARGEST_ARCHIVE, ReceivedArchive, UPLOADS};

/// Limit on the body of a request, in bytes.
const MAX_BODY_BYTES: usize = 16 << 20;
/// Limit on the body of an import, in bytes; an import carries a whole world.
const MAX_IMPORT_BYTES: usize = 1 << 30;
/// How long requests in progress may still take when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// State that all connections share.
struct ServerState {
    shell: RefCell<HttpService>,
    began: Instant,
    /// Whether the server listens on a loopback address, which only this machine can reach.
    loopback: bool,
}

/// The error that ends a connection without a response, because a fault rule demands it.
#[derive(Debug, thiserror::Error)]
#[error("the connection is reset by a rule of the fault plan")]
struct ConnectionReset;

/// Serves until `stop` is set; then gives the requests in progress `SHUTDOWN_GRACE` to finish. Returns at once if
/// the runtime does not accept the listener.
pub(super) async fn run(
    listener: std::net::TcpListener,
    shell: HttpService,
    loopback: bool,
    mut stop: watch::Receiver<bool>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let shared = Rc::new(ServerState { shell: RefCell::new(shell), began: Instant::now(), loopback });
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                connections.spawn_local(handle_connection(shared.clone(), stream, peer, stop.clone()));
            }
            // The process is most likely out of file descriptors: let connections end before the next attempt.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // Requests that take longer are cut off: they were not answered, so nothing was promised.
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, all).await;
}

async fn handle_connection(
    shared: Rc<ServerState>,
    stream: TcpStream,
    peer: SocketAddr,
    mut stop: watch::Receiver<bool>,
) {
    // Responses are small and written in one piece: Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| serve_request(shared.clone(), request, peer));
    let connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // Errors are clients that disconnected, or requested resets: there is no one to report them to.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn serve_request(
    shared: Rc<ServerState>,
    request: Request<RequestBody>,
    peer: SocketAddr,
) -> Result<HttpResponse<ResponseBody>, ConnectionReset> {
    let read = read_request(&shared, request, peer).await;
    let moment = RequestTimes { real: Timestamp::now(), elapsed: shared.began.elapsed() };
    let incoming = match read {
        Ok(incoming) => incoming,
        // The request was not handled, so no rule of the fault plan and no log entry applies to it.
        Err(refused) => return Ok(to_http_response(refused, moment.real, None)),
    };
    // The borrow ends before the first `await`: other connections handle their requests while this one waits.
    let (outgoing, progress) = {
        let mut shell = shared.shell.borrow_mut();
        let outgoing = handle_incoming(&mut shell, incoming, moment);
        (outgoing, shell.journal.watch_progress())
    };
    let OutgoingResponse { mut response, date, fault, sequence } = outgoing;
    if let Err(reason) = wait_until_durable(progress, sequence).await {
        response = ApiResponse::error(
            500,
            "Internal Server Error",
            &format!("the emulator cannot store its data: {reason}"),
        );
    }
    match fault {
        Some(Fault::ResetBefore | Fault::ResetAfter) => return Err(ConnectionReset),
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    Ok(to_http_response(response, date, fault))
}

async fn read_request(
    shared: &ServerState,
    request: Request<RequestBody>,
    peer: SocketAddr,
) -> Result<IncomingRequest, ApiResponse> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let (body, archive) = match parts.method == Method::PUT && path.starts_with(UPLOADS) {
        true => (Vec::new(), Some(receive_archive(body).await?)),
        false if path == "/_emulator/import" => (collect_body(body, MAX_IMPORT_BYTES).await?, None),
        false => (collect_body(body, MAX_BODY_BYTES).await?, None),
    };
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(IncomingRequest {
        method: parts.method.as_str().to_owned(),
        query: parse_query(parts.uri.query().unwrap_or_default()),
        api_key: text("x-api-key"),
        project: text("x-project-id"),
        host: text("host"),
        peer: peer.ip().to_string(),
        // With another machine's address the `Host` proves nothing: the emulator's own endpoints are closed there.
        trusted: !console::is_own(&path) || (shared.loopback && is_local(&path, &parts.headers)),
        path,
        body,
        archive,
    })
}

/// Reads a whole body of at most `most` bytes into memory; a longer one gives the response 413.
async fn collect_body(body: RequestBody, most: usize) -> Result<Vec<u8>, ApiResponse> {
    match Limited::new(body, most).collect().await {
        Ok(body) => Ok(body.to_bytes().to_vec()),
        Err(error) => Err(body_error_response(error.as_ref(), most)),
    }
}

/// Reads an archive in chunks: it may have 100 MB, and only its digest and size are needed.
async fn receive_archive(body: RequestBody) -> Result<ReceivedArchive, ApiResponse> {
    // A client that announces the size gets its answer before it sends the archive.
    if body.size_hint().lower() > LARGEST_ARCHIVE as u64 {
        return Err(too_large(LARGEST_ARCHIVE));
    }
    let mut body = Limited::new(body, LARGEST_ARCHIVE);
    let mut arriving = ArchiveReceiver::default();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| body_error_response(error.as_ref(), LARGEST_ARCHIVE))?;
        if let Some(bytes) = frame.data_ref() {
            arriving.add_bytes(bytes);
        }
    }
    Ok(arriving.finish())
}

/// Returns the response to a body that was not read to its end: 413 for one above `most` bytes, 400 otherwise.
fn body_error_response(
    error: &(dyn std::error::Error + Send + Sync + 'static),
    most: usize,
) -> ApiResponse {
    if error.is::<LengthLimitError>() {
        return too_large(most);
    }
    ApiResponse::error(400, "Bad Request", &format!("the body ended early: {error}"))
}

fn too_large(most: usize) -> ApiResponse {
    let message = format!("a request's body may have {} MiB at most", most >> 20);
    ApiResponse::error(413, "Payload Too Large", &message)
}

/// Returns whether a request comes from a program on this machine or from the emulator's own page. It rejects
/// other pages in a browser, even those of this machine, and requests under a foreign host name that resolves
/// to this machine (DNS rebinding). A request without `Host`, `Origin` and `Sec-Fetch-Site` is no browser's.
fn is_local(path: &str, headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| {
        headers.get(name).map(|value: &hyper::header::HeaderValue| value.to_str().unwrap_or_default())
    };
    let host = text(HOST);
    if !host.is_none_or(is_loopback) {
        return false;
    }
    // A link from anywhere may open the page itself: it contains no data, and other pages cannot frame it.
    let site = text(HeaderName::from_static("sec-fetch-site"));
    let same_site = path == "/" || site.is_none_or(|site| matches!(site, "same-origin" | "none"));
    let same_origin = text(ORIGIN).is_none_or(|origin| origin.strip_prefix("http://") == host);
    same_site && same_origin
}

fn is_loopback(authority: &str) -> bool {
    let authority: Result<hyper::http::uri::Authority, _> = authority.parse();
    authority.is_ok_and(|authority| {
        let host = authority.host().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

fn parse_query(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_query_text(name), decode_query_text(value))
        })
        .collect()
}

/// Decodes `%41` and `+` in a query; keeps an invalid escape unchanged and replaces bytes that are not UTF-8.
fn decode_query_text(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if code.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Builds the HTTP response; `Malformed` and `Truncate` damage its body, other faults change nothing here.
fn to_http_response(
    response: ApiResponse,
    date: Timestamp,
    fault: Option<Fault>,
) -> HttpResponse<ResponseBody> {
    let mut body = response.body;
    if matches!(fault, Some(Fault::Malformed)) {
        // Without the last brace the body is no longer valid JSON.
        body.pop();
    }
    let cut = matches!(fault, Some(Fault::Truncate)).then_some(body.len() / 2);
    let stated = response.headers.iter().any(|(name, _)| *name == CONTENT_TYPE.as_str());
    let mut built = HttpResponse::builder()
        .status(response.status)
        .header(DATE, date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    if !stated {
        built = built.header(CONTENT_TYPE, "application/json");
    }
    for (name, value) in response.headers {
        built = built.header(name, value);
    }
    let text = |cut| ResponseBody { bytes: Bytes::from(body), cut, sent: false, waited: false };
    built.body(text(cut)).unwrap_or_else(|_| HttpResponse::new(ResponseBody::default()))
}

/// A response body that is sent in full, or up to the byte `cut`, where the connection breaks. Its size hint is
/// always the full length, so that a client can see that bytes are missing.
#[derive(Default)]
struct ResponseBody {
    bytes: Bytes,
    cut: Option<usize>,
    sent: bool,
    waited: bool,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if !self.sent {
            self.sent = true;
            let end = self.cut.unwrap_or(self.bytes.len());
            return Poll::Ready(Some(Ok(Frame::data(self.bytes.slice(..end)))));
        }
        if self.cut.is_none() {
            return Poll::Ready(None);
        }
        if !self.waited {
            // Lets the first half reach the socket before the connection breaks.
            self.waited = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.sent && self.cut.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let read = parse_query("limit=2&&name=a%20b+c&odd=%zz%4&empty");
        let pairs: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("limit", "2"), ("name", "a b c"), ("odd", "%zz%4"), ("empty", "")]);
    }

    #[test]
    fn only_local_requests_from_the_own_page_are_trusted() {
        let local = |path: &str, host: &'static str, others: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            for (name, value) in others {
                headers.insert(*name, value.parse().unwrap());
            }
            is_local(path, &headers)
        };
        let call = "/_emulator/mutate";
        for (host, headers, wanted) in [
            ("127.0.0.1:8080", &[][..], true),
            ("[::1]:80", &[], true),
            ("localhost:1", &[("origin", "http://localhost:1"), ("sec-fetch-site", "same-origin")], true),
            ("127.0.0.1:1", &[("sec-fetch-site", "none")], true),
            ("evil.example", &[], false),
            ("127.0.0.1.evil.example:1", &[], false),
            ("evil.example@127.0.0.1.evil.example", &[], false),
            ("", &[], false),
            (
                "evil.example:1",
                &[("origin", "http://evil.example:1"), ("sec-fetch-site", "same-origin")],
                false,
            ),
            ("127.0.0.1:1", &[("origin", "https://evil.example")], false),
            ("127.0.0.1:1", &[("origin", "http://127.0.0.1:1.evil.example")], false),
            ("127.0.0.1:1", &[("origin", "http://127.0.0.1:2")], false),
            ("127.0.0.1:1", &[("origin", "http://localhost:1")], false),
            ("127.0.0.1:1", &[("origin", "null")], false),
            ("127.0.0.1:1", &[("origin", "")], false),
            ("127.0.0.1:1", &[("sec-fetch-site", "same-site")], false),
            ("127.0.0.1:1", &[("sec-fetch-site", "cross-site")], false),
        ] {
            assert_eq!(local(call, host, headers), wanted, "{host} {headers:?}");
        }
        assert!(local("/", "127.0.0.1:1", &[("sec-fetch-site", "cross-site")]), "a link to the page");
        assert!(!local("/", "evil.example", &[]));
    }
}
