//! HTTPS client for shared backends: follows no redirect, sends nothing twice, allows plain HTTP only on this machine,
//! and uses no proxy for connections to this machine.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Url, redirect, retry};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::model::crypto::roots;

/// Timeout for the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum pause while a response is read.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The transport of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionMode {
    /// TLS, through a proxy if the machine's settings name one.
    Tls,
    /// TLS without a proxy, for this machine.
    DirectTls,
    /// Plain HTTP without a proxy, for this machine.
    DirectPlaintext,
}

impl ConnectionMode {
    /// Returns the transport for an address.
    pub(crate) fn for_url(url: &Url) -> Self {
        match (url.scheme(), is_loopback(url)) {
            ("https", false) => Self::Tls,
            ("https", true) => Self::DirectTls,
            _ => Self::DirectPlaintext,
        }
    }
}

/// Parses an address to which a key or a ledger may be sent.
///
/// # Errors
/// When it is none, or what is sent there could be read on the way.
pub(crate) fn parse_server_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "it is not a URL")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user or a password");
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err("plain http is for this machine only; use https"),
        _ => Err("it must begin with https://"),
    }
}

/// Returns whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Returns an HTTP client for a transport.
///
/// # Errors
/// When TLS cannot start.
pub(crate) fn build_client(way: ConnectionMode) -> Result<Client, String> {
    let builder = Client::builder()
        .tls_backend_preconfigured(http_tls_config(way)?)
        .http1_only()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .user_agent(concat!("stead/", env!("CARGO_PKG_VERSION")));
    let builder = match way {
        ConnectionMode::Tls => builder.https_only(true),
        ConnectionMode::DirectTls => builder.https_only(true).no_proxy(),
        ConnectionMode::DirectPlaintext => builder.no_proxy(),
    };
    builder.build().map_err(|error| root_cause_text(&error))
}

/// Returns the TLS settings with the platform's roots. Plain HTTP needs none, and works without them.
fn http_tls_config(way: ConnectionMode) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    if way == ConnectionMode::DirectPlaintext {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    platform_verified(builder).map_err(|error| error.to_string())
}

/// Returns TLS settings that trust the platform's authorities, or the built-in ones where it has none.
pub(in crate::ledger) fn platform_verified(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
) -> Result<ClientConfig, rustls::Error> {
    let platform = match builder.clone().with_platform_verifier() {
        Ok(builder) => Ok(builder.with_no_client_auth()),
        Err(error) => Err(error),
    };
    roots::tls_with_fallback(builder, platform, some_are_named())
}

/// Returns whether the environment names authorities to use instead of the platform's.
#[allow(clippy::disallowed_methods, reason = "the platform's verifier reads the same variables")]
fn some_are_named() -> bool {
    roots::CA_VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
}

/// Returns the innermost cause of an error: it states what happened, without the address.
pub(crate) fn root_cause_text(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Returns a server's text for display: one line, no control characters, limited length.
pub(crate) fn sanitize_server_text(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().filter(|c| !hidden(*c)).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_is_used_for_remote_hosts() {
        for (text, wanted) in [
            ("https://states.example.com/a?ref=x", Ok(ConnectionMode::Tls)),
            ("https://127.0.0.1:9000", Ok(ConnectionMode::DirectTls)),
            ("http://127.0.0.1:9000", Ok(ConnectionMode::DirectPlaintext)),
            ("http://[::1]:9000/x", Ok(ConnectionMode::DirectPlaintext)),
            ("http://localhost/x", Ok(ConnectionMode::DirectPlaintext)),
            ("http://169.254.169.254/", Err("plain http is for this machine only; use https")),
            ("http://localhost.example.com/", Err("plain http is for this machine only; use https")),
            ("https://me:pw@example.com/", Err("it holds a user or a password")),
            ("https://me@example.com/", Err("it holds a user or a password")),
            ("ftp://example.com/", Err("it must begin with https://")),
            ("states", Err("it is not a URL")),
        ] {
            assert_eq!(parse_server_url(text).map(|url| ConnectionMode::for_url(&url)), wanted, "{text}");
        }
    }

    #[test]
    fn server_text_is_sanitized_to_one_line() {
        assert_eq!(sanitize_server_text("ada\r\n\u{1b}[31m@host\u{202e}"), "ada[31m@host");
        assert_eq!(sanitize_server_text(&"x".repeat(500)).len(), 200);
    }
}
