//! The connector for requests to S3 and to its credential providers. It adds the server's time to every response and
//! reduces an error response to its code: no key, no signature.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::{Client, Url};
use thiserror::Error;

use crate::ledger::stores::https::{self, ConnectionMode};

/// Maximum size of a response: a checkpoint of a very large ledger.
const MAX_RESPONSE_BYTES: usize = 1 << 30;

/// Maximum number of bytes read of an error response.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Timeout until the response to a small request begins.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for requests to the machine's own platform: on other machines that address does not respond.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);

/// Assumed bytes per second of a slow connection.
const MIN_BYTES_PER_SECOND: usize = 100_000;

/// Link-local addresses at which AWS gives a machine its credentials, without TLS.
const METADATA_ADDRESSES: [&str; 5] =
    ["169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"];

/// The time of a response, by the server's own clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerTime(pub(super) Timestamp);

/// A complete response that refuses the request, also if it is repeated.
#[derive(Debug, Error)]
#[error("the answer is {status} {code}")]
pub(super) struct S3Refusal {
    status: u16,
    code: String,
}

impl S3Refusal {
    /// Returns whether such a response caused a failed request.
    pub(super) fn is_cause_of(error: &object_store::Error) -> bool {
        error_chain(error).any(<dyn Error>::is::<Self>)
    }
}

/// A factory for the clients of one bucket.
#[derive(Debug)]
pub(super) struct S3Connector {
    way: ConnectionMode,
}

impl S3Connector {
    /// Returns a connector to an endpoint; `is_here`: it is on this machine.
    pub(super) fn new(is_here: bool) -> Self {
        Self { way: if is_here { ConnectionMode::DirectTls } else { ConnectionMode::Tls } }
    }
}

impl HttpConnector for S3Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |reason: String| object_store::Error::Generic { store: "S3", source: reason.into() };
        // A machine without root certificates may still use plain HTTP to itself.
        let secure = https::build_client(self.way);
        let plain = https::build_client(ConnectionMode::DirectPlaintext).map_err(failed)?;
        Ok(HttpClient::new(S3HttpService { secure, plain }))
    }
}

/// An HTTP service that selects the transport by the address of each request.
#[derive(Debug)]
struct S3HttpService {
    secure: Result<Client, String>,
    plain: Client,
}

impl S3HttpService {
    fn client_for(&self, url: &Url) -> Result<&Client, HttpError> {
        let refused = |reason: String| HttpError::new_boxed(HttpErrorKind::Unknown, reason.into());
        match url.scheme() {
            "https" => {
                self.secure.as_ref().map_err(|reason| refused(format!("cannot start HTTPS: {reason}")))
            }
            "http" if https::is_loopback(url) || is_metadata(url) => Ok(&self.plain),
            _ => Err(refused("plain http is for this machine only".to_owned())),
        }
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let url = Url::parse(&request.uri().to_string())
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let client = self.client_for(&url)?;
        let length = request.body().content_length();
        let least = if is_metadata(&url) { METADATA_TIMEOUT } else { RESPONSE_TIMEOUT };
        let allowed = least + Duration::from_secs((length / MIN_BYTES_PER_SECOND) as u64);
        let answer = tokio::time::timeout(allowed, send_http_request(client, url, request)).await;
        let late = |_| HttpError::new_boxed(HttpErrorKind::Timeout, "no answer in time".into());
        let mut answer = answer.map_err(late)??;
        let date = answer.headers().get("date").and_then(|value| value.to_str().ok());
        if let Some(at) = date.and_then(http_date) {
            answer.extensions_mut().insert(ServerTime(at));
        }
        let (parts, body) = answer.into_parts();
        if parts.status.is_success() {
            return Ok(HttpResponse::from_parts(parts, limit_body(body)));
        }
        let code = error_code(body).await;
        match parts.status.as_u16() {
            // The object store library handles these statuses itself.
            401 | 403 | 404 | 408 | 409 | 412 | 429 | 500 | 502.. => {
                Ok(HttpResponse::from_parts(parts, code.into()))
            }
            status => Err(HttpError::new(HttpErrorKind::Unknown, S3Refusal { status, code })),
        }
    }
}

impl HttpService for S3HttpService {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.send(request))
    }
}

/// Sends one request; returns before the response's body is read.
async fn send_http_request(
    client: &Client,
    url: Url,
    request: HttpRequest,
) -> Result<HttpResponse, HttpError> {
    let (parts, body) = request.into_parts();
    let mut sent = reqwest::Request::new(parts.method, url);
    *sent.headers_mut() = parts.headers;
    *sent.body_mut() = Some(body.collect().await?.to_bytes().into());
    let answer = client.execute(sent).await.map_err(to_http_error)?;
    let (parts, body) = hyper::http::Response::<reqwest::Body>::from(answer).into_parts();
    Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body.map_err(to_http_error))))
}

/// Classifies a failure for the object store library, without the address.
fn to_http_error(error: reqwest::Error) -> HttpError {
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_decode() {
        HttpErrorKind::Decode
    } else {
        error_chain(&error).find_map(kind_of_cause).unwrap_or(HttpErrorKind::Unknown)
    };
    HttpError::new(kind, error.without_url())
}

/// Returns the error kind for a cause that interrupted the exchange.
fn kind_of_cause(cause: &(dyn Error + 'static)) -> Option<HttpErrorKind> {
    if let Some(cause) = cause.downcast_ref::<hyper::Error>() {
        let is_cut = cause.is_closed() || cause.is_incomplete_message() || cause.is_body_write_aborted();
        return is_cut.then_some(HttpErrorKind::Request);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        ErrorKind::TimedOut => Some(HttpErrorKind::Timeout),
        ErrorKind::ConnectionAborted
        | ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some(HttpErrorKind::Interrupted),
        _ => None,
    }
}

/// Returns an error and its causes, outermost first.
fn error_chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (**error).source())
}

fn is_metadata(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let ip: Option<IpAddr> = host.parse().ok();
    ip.is_some_and(|ip| METADATA_ADDRESSES.iter().any(|known| known.parse() == Ok(ip)))
}

/// Parses the time of a response, with a precision of one second.
fn http_date(text: &str) -> Option<Timestamp> {
    Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp())
}

fn limit_body(body: HttpResponseBody) -> HttpResponseBody {
    let limited = Limited::new(body, MAX_RESPONSE_BYTES);
    HttpResponseBody::new(limited.map_err(|error| HttpError::new_boxed(HttpErrorKind::Decode, error)))
}

/// Reduces an error response to its code: the rest may repeat the request, its signature included.
async fn error_code(body: HttpResponseBody) -> String {
    let bytes =
        Limited::new(body, MAX_ERROR_BYTES).collect().await.map(http_body_util::Collected::to_bytes);
    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    code_in(&text).unwrap_or_default().to_owned()
}

fn code_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let legal = code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    legal.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_s3_error_is_reduced_to_its_code() {
        let body = "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code>\
                    <AWSAccessKeyId>AKIA</AWSAccessKeyId><StringToSign>x</StringToSign></Error>";
        assert_eq!(code_in(body), Some("SignatureDoesNotMatch"));
        for odd in ["", "<Code>", "<Code>a b</Code>", "<Code>\u{1b}[31m</Code>", "<html>AKIA</html>"] {
            assert_eq!(code_in(odd), None, "{odd}");
        }
    }

    #[test]
    fn plain_http_is_used_only_for_localhost() {
        let service = S3HttpService {
            secure: Err("none".to_owned()),
            plain: https::build_client(ConnectionMode::DirectPlaintext).unwrap(),
        };
        for (url, allowed) in [
            ("http://127.0.0.1:5000/b", true),
            ("http://169.254.169.254/latest/api/token", true),
            ("http://[fd00:ec2::23]/v1/credentials", true),
            ("http://169.254.1.1/", false),
            ("http://s3.example.com/", false),
            ("https://s3.example.com/", false),
        ] {
            assert_eq!(service.client_for(&Url::parse(url).unwrap()).is_ok(), allowed, "{url}");
        }
    }

    #[test]
    fn a_date_header_is_parsed_to_the_second() {
        let at = http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(at, "1994-11-06T08:49:37Z".parse().unwrap());
        assert_eq!(http_date("yesterday"), None);
    }
}
