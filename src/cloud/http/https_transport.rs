//! `HttpsTransport`: the HTTPS transport. It adds the API key to requests.
//!
//! It sends the key to one host only: no redirect is followed, the host is from trusted settings, and a path that would
//! leave the base address is not sent. A mutating request has a connection of its own, so that no lower
//! layer can send it twice.
#![allow(clippy::disallowed_types, reason = "the edge where sockets are opened")]

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Body, Client, ClientBuilder, Response, Url, redirect, retry};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::{BuilderVerifierExt, Verifier};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::certificate_errors;
use super::decode::MAX_BODY_BYTES;
use super::message::{HttpRequest, HttpResponse, SignedUpload, Transport, TransportError, is_public};
use crate::model::address::Name;
use crate::model::crypto::roots::{self, TrustRoots};
use crate::model::redact::redact_address;
use crate::model::schema::{Method, Registry};

/// The address of the service and the API key, from flags, the environment or the user's own settings,
/// never from a stack's files.
#[derive(Debug, Clone)]
pub struct TransportOptions {
    /// The base address: https, or http on the loopback interface.
    pub base_url: String,
    /// The API key; `None` can read the public catalog only.
    pub api_key: Option<SecretString>,
    /// Timeout for the connection.
    pub connect_timeout: Duration,
    /// Root certificates that are trusted in addition to the platform's.
    pub roots: CaBundle,
    /// For an untrusted stack: only reads are sent, and no read in these tables whose response has a secret.
    pub only_looks: Option<Registry>,
}

/// Certificates of authorities from a file of the user.
#[derive(Debug, Clone, Default)]
pub struct CaBundle(Vec<CertificateDer<'static>>);

impl CaBundle {
    /// Parses certificates in PEM format.
    ///
    /// # Errors
    /// When there is none, or one of them is damaged.
    pub fn parse(pem: &[u8]) -> Result<Self, &'static str> {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match all {
            Ok(all) if !all.is_empty() => Ok(Self(all)),
            Ok(_) => Err("it holds no certificate in PEM form"),
            Err(_) => Err("a certificate in it is damaged"),
        }
    }
}

/// Returns the origin of an address: scheme, host and port only. A stored key belongs to one origin.
///
/// # Errors
/// When the address is one that no key may be sent to.
pub fn parse_origin(base_url: &str) -> Result<String, SetupError> {
    Ok(parse_base_url(base_url)?.origin().ascii_serialization())
}

impl TransportOptions {
    /// Returns options with the usual connection timeout.
    #[must_use]
    pub fn new(base_url: impl Into<String>, api_key: Option<SecretString>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key,
            connect_timeout: Duration::from_secs(10),
            roots: CaBundle::default(),
            only_looks: None,
        }
    }
}

/// The value of the `User-Agent` header.
const USER_AGENT: &str = concat!("stead/", env!("CARGO_PKG_VERSION"));

/// The reason why a client cannot be created.
#[derive(Debug, Error)]
pub enum SetupError {
    /// The base address is invalid or unsafe.
    #[error("`{url}` is not a valid address of the service: {reason}")]
    Address {
        /// The given address, without the part before an `@`.
        url: String,
        /// A description of the error.
        reason: &'static str,
    },
    /// The key has characters that are not allowed in a header.
    #[error("the API key has a character that is not allowed in a header")]
    Key,
    /// TLS or the HTTP client cannot start.
    #[error("cannot start HTTPS")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The transport to the service over HTTPS.
pub struct HttpsTransport {
    base: Url,
    /// Host and port (`host:port`), for messages.
    host: String,
    key: Option<HeaderValue>,
    roots: CaBundle,
    connect_timeout: Duration,
    only_looks: Option<Registry>,
    /// The client for reads, which reuses connections.
    reads: Client,
    /// The client for changes, with a new connection for every request: a reused one that turns out to be closed is
    /// silently replaced, and the request sent again.
    changes: Client,
}

impl HttpsTransport {
    /// Returns whether the API key begins with this text: the service shows only the beginning of its keys.
    #[must_use]
    pub fn opens_with(&self, beginning: &str) -> bool {
        let begins = |key: &HeaderValue| key.as_bytes().starts_with(beginning.as_bytes());
        !beginning.is_empty() && self.key.as_ref().is_some_and(begins)
    }

    /// Returns a transport to the service at an address.
    ///
    /// # Errors
    /// When the address is unsafe, the key cannot be sent, or TLS cannot start.
    pub fn new(options: &TransportOptions) -> Result<Self, SetupError> {
        let base = parse_base_url(&options.base_url)?;
        let host = host_of(&base);
        let key = options.api_key.as_ref().map(|key| {
            let mut value = HeaderValue::from_str(key.expose_secret()).map_err(|_| SetupError::Key)?;
            value.set_sensitive(true);
            Ok(value)
        });
        let tls = tls_config(&base, &options.roots)?;
        let builder = || client_builder(&base, tls.clone(), options.connect_timeout).user_agent(USER_AGENT);
        let started =
            |builder: ClientBuilder| builder.build().map_err(|error| SetupError::Tls(error.into()));
        Ok(Self {
            host,
            key: key.transpose()?,
            roots: options.roots.clone(),
            connect_timeout: options.connect_timeout,
            only_looks: options.only_looks,
            reads: started(builder().pool_idle_timeout(Duration::from_secs(30)))?,
            changes: started(builder().pool_max_idle_per_host(0))?,
            base,
        })
    }

    /// Returns the URL of a request; `None` when URL normalization would change its path.
    fn request_url(&self, request: &HttpRequest) -> Option<Url> {
        let mut url = self.base.clone();
        let path = format!("{}{}", self.base.path().trim_end_matches('/'), request.path);
        url.set_path(&path);
        let kept =
            url.path() == path && url.origin() == self.base.origin() && request.path.starts_with('/');
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        kept.then_some(url)
    }

    fn headers(&self, request: &HttpRequest) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Some(key) = self.key.as_ref().filter(|_| !is_public(&request.path)) {
            headers.insert("x-api-key", key.clone());
        }
        if let Some(project) = &request.project {
            headers.insert("x-project-id", HeaderValue::from_str(project).ok()?);
        }
        headers.insert("accept", HeaderValue::from_static("application/json"));
        Some(headers)
    }

    /// Returns whether a read-only client may send a request.
    fn may_send(&self, request: &HttpRequest) -> bool {
        let Some(registry) = self.only_looks else { return true };
        let mut endpoints = registry.kinds.iter().flat_map(|kind| kind.endpoints());
        let secret = endpoints
            .any(|known| known.secret && known.method == request.method && known.fits(&request.path));
        !request.method.mutates() && !secret
    }

    fn not_sent(&self, reason: impl Into<String>) -> TransportError {
        TransportError::NotSent { host: self.host.clone(), reason: reason.into() }
    }
}

impl Transport for HttpsTransport {
    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        if !self.may_send(request) {
            return Err(self.not_sent("this command is read-only"));
        }
        let url = self
            .request_url(request)
            .ok_or_else(|| self.not_sent("the path could lead to another endpoint"))?;
        let headers = self
            .headers(request)
            .ok_or_else(|| self.not_sent("the project's id is not allowed in a header"))?;
        let client = if request.method.mutates() { &self.changes } else { &self.reads };
        let mut builder = client
            .request(to_reqwest_method(request.method), url)
            .headers(headers)
            .timeout(request.deadline);
        if let Some(body) = &request.body {
            builder = builder.header("content-type", "application/json").body(body.to_string());
        }
        let response = builder.send().await.map_err(|error| classify_failure(&self.host, &error))?;
        read_answer(&self.host, response).await
    }

    async fn upload(&self, upload: &SignedUpload) -> Result<HttpResponse, TransportError> {
        if self.only_looks.is_some() {
            return Err(self.not_sent("this command is read-only"));
        }
        let held = |reason: &str| TransportError::NotPermitted {
            reason: format!("nothing is uploaded: {reason}"),
        };
        let url = upload_url(upload.url.expose(), &self.base).map_err(held)?;
        let host = host_of(&url);
        // A separate client without the key and without reused connections.
        let started = tls_config(&url, &self.roots).map_err(|error| held(&error.to_string()))?;
        let client = client_builder(&url, started, self.connect_timeout);
        let client = client
            .pool_max_idle_per_host(0)
            .no_gzip()
            .build()
            .map_err(|error| held(&innermost_cause(&error)))?;
        let pieces = stream::iter(upload.into_chunks().map(Ok::<_, Infallible>));
        let request = client
            .put(url)
            .timeout(upload.deadline)
            .header(CONTENT_TYPE, "application/gzip")
            .header(CONTENT_LENGTH, upload.length())
            .body(Body::wrap_stream(pieces));
        let response = request.send().await.map_err(|error| classify_failure(&host, &error))?;
        read_answer(&host, response).await
    }
}

fn lost_response(host: &str, reason: impl Into<String>) -> TransportError {
    TransportError::Lost { host: host.to_owned(), reason: reason.into() }
}

/// Returns the error of a request. Only a failure to connect proves that nothing was sent.
fn classify_failure(host: &str, error: &reqwest::Error) -> TransportError {
    if let Some(reason) = certificate_errors::rejection_reason(error) {
        return TransportError::Untrusted { host: host.to_owned(), reason };
    }
    let reason = innermost_cause(error);
    if error.is_connect() || error.is_builder() {
        return TransportError::NotSent { host: host.to_owned(), reason };
    }
    lost_response(host, reason)
}

/// Maximum length of a request id that is kept.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// Returns the response to a request that was sent.
async fn read_answer(host: &str, mut response: Response) -> Result<HttpResponse, TransportError> {
    let text = |name: &str| response.headers().get(name)?.to_str().ok();
    let number = |name: &str| text(name)?.trim().parse().ok();
    let date = text("date");
    let request_id = text("x-request-id").filter(|id| (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()));
    let mut answer = HttpResponse {
        status: response.status().as_u16(),
        retry_after: number(RETRY_AFTER.as_str()),
        limit: number("x-ratelimit-limit"),
        remaining: number("x-ratelimit-remaining"),
        date: date.filter(|text| text.len() <= 64).map(Name::new),
        request_id: request_id.map(Name::new),
        body: Vec::new(),
    };
    answer.body = read_body(host, &mut response).await?;
    Ok(answer)
}

/// Reads a whole body, with a limit after decompression.
async fn read_body(host: &str, response: &mut Response) -> Result<Vec<u8>, TransportError> {
    let mut body = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| lost_response(host, innermost_cause(&error)))?
    {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(lost_response(
                host,
                format!("the answer is larger than {} MiB", MAX_BODY_BYTES >> 20),
            ));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn to_reqwest_method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}

/// Returns the TLS settings with the platform's roots and the user's. Plain HTTP needs none, and works without them.
fn tls_config(base: &Url, roots: &CaBundle) -> Result<rustls::ClientConfig, SetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Tls(error.into()))?;
    if base.scheme() == "http" {
        return Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth());
    }
    if !roots.0.is_empty() {
        let verifier = Verifier::new_with_extra_roots(roots.0.iter().cloned(), provider)
            .map_err(|error| SetupError::Tls(error.into()))?;
        // The verification is as strict as usual: the same verifier, with more roots.
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        return Ok(builder.with_no_client_auth());
    }
    let platform = match builder.clone().with_platform_verifier() {
        Ok(builder) => Ok(builder.with_no_client_auth()),
        Err(error) => Err(error),
    };
    roots::tls_with_fallback(builder, platform, some_are_named())
        .map_err(|error| SetupError::Tls(error.into()))
}

/// Returns whether the environment names authorities to use instead of the platform's.
#[allow(clippy::disallowed_methods, reason = "the platform's verifier reads the same variables")]
fn some_are_named() -> bool {
    roots::CA_VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
}

/// Returns the trusted authorities where no file of them is set.
#[must_use]
pub fn default_authorities() -> TrustRoots {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    roots::choose_authorities(Verifier::new(provider).is_ok(), some_are_named())
}

fn client_builder(base: &Url, tls: rustls::ClientConfig, connect_timeout: Duration) -> ClientBuilder {
    let builder = ClientBuilder::new()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .connect_timeout(connect_timeout);
    // Connections to this machine must not use a proxy.
    if is_loopback(base) { builder.no_proxy() } else { builder.https_only(true) }
}

/// Checks the base address, so that no part of it can send the key to another host.
fn parse_base_url(text: &str) -> Result<Url, SetupError> {
    let fail =
        |reason| SetupError::Address { url: redact_address(text).chars().take(200).collect(), reason };
    let url = Url::parse(text).map_err(|_| fail("it is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fail("it holds a user or a password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fail("it has a query or a fragment"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(fail("http is for this machine only; use https")),
        _ => Err(fail("it must begin with https://")),
    }
}

/// Checks the upload address from the service: a host by name, over TLS. Only a service on this
/// machine may name this machine.
fn upload_url(text: &str, base: &Url) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "the address that the service signed is not a URL")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address that the service signed holds a user or a password");
    }
    if is_loopback(&url) {
        let good = is_loopback(base) && matches!(url.scheme(), "http" | "https");
        return if good {
            Ok(url)
        } else {
            Err("the address that the service signed points to this machine")
        };
    }
    match (url.scheme(), url.domain()) {
        ("https", Some(_)) => Ok(url),
        ("https", None) => {
            Err("the address that the service signed has an IP address instead of a host name")
        }
        _ => Err("the address that the service signed is not https"),
    }
}

/// Returns `host:port`, for messages.
fn host_of(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Returns the innermost cause of an error: it states what happened, without the address.
fn innermost_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
