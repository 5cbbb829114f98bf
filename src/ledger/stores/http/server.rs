//! Requests to the state server: one function for each operation on the document and its lock.
#![allow(clippy::disallowed_methods, reason = "the edge to a state server, with pauses between tries")]

use std::fmt::Display;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use md5::{Digest, Md5};
use reqwest::{Client, Method, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::settings::StateServerSettings;
use crate::ledger::journal::error::StoreError;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::stores::https::{self, ConnectionMode, root_cause_text, sanitize_server_text};
use crate::ledger::stores::location::without_password;
use crate::model::redact::SentSecrets;

/// Timeout for a small request.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Assumed bytes per second of a slow connection.
const MIN_BYTES_PER_SECOND: usize = 100_000;

/// Number of attempts to read a document while the server is unavailable.
const MAX_READ_ATTEMPTS: u64 = 3;

/// Maximum number of bytes read of a lock's description.
const MAX_LOCK_BYTES: usize = 64 << 10;

/// A client of one state server.
pub(super) struct StateServer {
    client: Client,
    document: Url,
    lock: (Method, Url),
    unlock: (Method, Url),
    username: Option<String>,
    password: Option<SecretString>,
}

/// A lock's description, in the format of the protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct LockInfo {
    /// A unique id of the lock. A server that does not return it releases the lock without it.
    #[serde(rename = "ID", skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    operation: String,
    info: String,
    who: String,
    version: String,
    created: String,
    path: String,
}

/// The server's response to `LOCK`.
#[derive(Debug)]
pub(super) enum LockResponse {
    /// The lock was free and is now taken.
    Acquired,
    /// Another client holds the lock.
    Held(LockInfo),
    /// Any other response, with this status.
    Unknown(u16),
}

/// The status code of a server's response.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerStatus(pub(super) u16);

impl ServerStatus {
    /// Returns whether the server reported success.
    pub(super) fn is_done(self) -> bool {
        (200..300).contains(&self.0)
    }

    /// Returns whether the server refused this request, but not every request.
    pub(super) fn is_refusal(self) -> bool {
        (400..500).contains(&self.0) && !matches!(self.0, 401 | 404 | 405 | 407 | 408 | 429)
    }
}

impl LockInfo {
    /// Returns the lock description for a holder.
    pub(super) fn new(holder: &LeaseHolder, identity: &LedgerIdentity) -> Self {
        Self {
            id: holder.session.to_string(),
            operation: "apply".to_owned(),
            info: format!("stead, {}/{}", identity.stack, identity.environment),
            who: holder.who.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created: holder.since.to_string(),
            path: String::new(),
        }
    }

    /// Returns the description of a lock that no client holds.
    pub(super) fn with_new_id(&self) -> Self {
        let id = Uuid::try_parse(&self.id).unwrap_or_default().as_u128() ^ 1;
        Self { id: Uuid::from_u128(id).to_string(), ..self.clone() }
    }

    /// Returns the holder, as far as the server shows it. Its lock lasts until it is removed.
    pub(super) fn holder(&self) -> LeaseHolder {
        let since = self.created.parse().unwrap_or(Timestamp::UNIX_EPOCH);
        LeaseHolder { session: Uuid::nil(), who: sanitize_server_text(&self.who), process: None, since }
    }

    /// Returns the display text of the holder.
    pub(super) fn in_words(&self) -> String {
        let told = [("", &self.who), ("", &self.operation), ("since ", &self.created), ("lock ", &self.id)];
        let told = told.iter().filter(|(_, text)| !text.is_empty());
        let words: Vec<_> =
            told.map(|(before, text)| format!("{before}{}", sanitize_server_text(text))).collect();
        if words.is_empty() {
            "a holder that the server does not name".to_owned()
        } else {
            words.join(", ")
        }
    }
}

impl StateServer {
    /// Returns a client for the server in the settings.
    ///
    /// # Errors
    /// When an address is unsafe, a method is none, or TLS cannot start.
    pub(super) fn new(settings: &StateServerSettings) -> Result<Self, StoreError> {
        let failed = |place: &str, reason: &str| StoreError::Shared {
            action: "use",
            place: without_password(place),
            reason: reason.to_owned(),
        };
        let url = |text: &str| {
            https::parse_server_url(text).map_err(|reason| match reason {
                "it holds a user or a password" => failed(
                    text,
                    "it holds a user or a password: set STEAD_HTTP_USERNAME and STEAD_HTTP_PASSWORD",
                ),
                reason => failed(text, reason),
            })
        };
        let method = |name: &str, variable: &str| {
            let method = Method::from_bytes(name.as_bytes());
            method.map_err(|_| failed(&settings.address, &format!("{variable} is not an HTTP method")))
        };
        let document = url(&settings.address)?;
        let lock = (method(&settings.lock_method, "STEAD_HTTP_LOCK_METHOD")?, url(&settings.lock_address)?);
        let unlock =
            (method(&settings.unlock_method, "STEAD_HTTP_UNLOCK_METHOD")?, url(&settings.unlock_address)?);
        let ways = [&document, &lock.1, &unlock.1].map(ConnectionMode::for_url);
        if ways.iter().any(|way| *way != ways[0]) {
            return Err(failed(
                &settings.address,
                "the addresses of the document and its lock must both use https, or neither",
            ));
        }
        let client = https::build_client(ways[0]).map_err(|reason| failed(&settings.address, &reason))?;
        let (username, password) = (settings.username.clone(), settings.password.clone());
        Ok(Self { client, document, lock, unlock, username, password })
    }

    /// Returns the location for messages.
    pub(super) fn display_location(&self) -> String {
        without_password(self.document.as_str())
    }

    /// Returns the error of an action.
    pub(super) fn action_error(&self, action: &'static str, reason: &impl Display) -> StoreError {
        StoreError::Shared { action, place: self.display_location(), reason: reason.to_string() }
    }

    /// Returns the error for a response that the protocol does not define.
    pub(super) fn unexpected_status(&self, action: &'static str, status: u16) -> StoreError {
        let words = match status {
            300..=399 => "; stead does not follow redirects: set the address that it redirects to",
            401 | 403 => "; check STEAD_HTTP_USERNAME and STEAD_HTTP_PASSWORD",
            _ => "",
        };
        self.action_error(action, &format!("the answer is {status}{words}"))
    }

    /// Reads the document; `None` when there is none.
    pub(super) async fn get(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let mut tried = 0;
        loop {
            tried += 1;
            let answer = self.send(Method::GET, self.document.clone(), None).await;
            let last = tried == MAX_READ_ATTEMPTS;
            match answer {
                Ok(mut answer) => match answer.status().as_u16() {
                    200 => {
                        let body = self.read_body(&mut answer, MAX_DOCUMENT_BYTES).await?;
                        return Ok(Some(body).filter(|body| !body.is_empty()));
                    }
                    204 | 404 => return Ok(None),
                    502..=504 if !last => {}
                    status => return Err(self.unexpected_status("read", status)),
                },
                Err(reason) if last => return Err(self.action_error("read", &reason)),
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(300 * tried)).await;
        }
    }

    /// Replaces the document under the lock with this id.
    pub(super) async fn post_document(&self, body: &[u8], id: &str) -> Result<ServerStatus, StoreError> {
        let mut url = self.document.clone();
        url.query_pairs_mut().append_pair("ID", id);
        let answer = self.send(Method::POST, url, Some(body.to_vec())).await;
        let answer = answer.map_err(|reason| self.action_error("write", &reason))?;
        Ok(ServerStatus(answer.status().as_u16()))
    }

    /// Takes the lock with certainty: if the response is lost, the lock is released.
    pub(super) async fn take_lock(&self, lock: &LockInfo) -> Result<LockResponse, StoreError> {
        let answer = self.lock(lock).await;
        if answer.is_err() {
            // Report the first error, which is the cause.
            let _ = self.unlock(lock).await;
        }
        answer
    }

    /// Sends a request for the lock.
    pub(super) async fn lock(&self, lock: &LockInfo) -> Result<LockResponse, StoreError> {
        let (method, url) = self.lock.clone();
        let answer = self.send(method, url, Some(self.lock_body(lock)?)).await;
        let mut answer = answer.map_err(|reason| self.action_error("lock", &reason))?;
        match answer.status().as_u16() {
            200..=299 => Ok(LockResponse::Acquired),
            409 | 423 => {
                let body = self.read_body(&mut answer, MAX_LOCK_BYTES).await.unwrap_or_default();
                // A description that repeats the password is discarded.
                let text = self.redact_password(String::from_utf8_lossy(&body).into_owned());
                Ok(LockResponse::Held(serde_json::from_str(&text).unwrap_or_default()))
            }
            status => Ok(LockResponse::Unknown(status)),
        }
    }

    /// Releases a lock by its description.
    pub(super) async fn unlock(&self, lock: &LockInfo) -> Result<ServerStatus, StoreError> {
        let (method, url) = self.unlock.clone();
        let answer = self.send(method, url, Some(self.lock_body(lock)?)).await;
        let answer = answer.map_err(|reason| self.action_error("unlock", &reason))?;
        Ok(ServerStatus(answer.status().as_u16()))
    }

    /// Returns the server's text, unless it repeats a part of the password.
    fn redact_password(&self, text: String) -> String {
        let mut sent = SentSecrets::default();
        if let Some(password) = &self.password {
            sent.push(password.expose_secret());
        }
        sent.screen_text(text)
    }

    fn lock_body(&self, lock: &LockInfo) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(lock).map_err(|error| self.action_error("lock", &error))
    }

    async fn send(&self, method: Method, url: Url, body: Option<Vec<u8>>) -> Result<Response, String> {
        let length = body.as_ref().map_or(0, Vec::len);
        let allowed = REQUEST_TIMEOUT + Duration::from_secs((length / MIN_BYTES_PER_SECOND) as u64);
        let mut request = self.client.request(method, url).timeout(allowed);
        if let Some(username) = &self.username {
            let password = self.password.as_ref().map(ExposeSecret::expose_secret);
            request = request.basic_auth(username, password);
        }
        if let Some(body) = body {
            let digest = BASE64_STANDARD.encode(Md5::digest(&body));
            request = request.header("content-type", "application/json").header("content-md5", digest);
            request = request.body(body);
        }
        request.send().await.map_err(|error| describe_transport_error(&error))
    }

    /// Reads a whole body, with a limit after decompression.
    async fn read_body(&self, answer: &mut Response, most: usize) -> Result<Vec<u8>, StoreError> {
        let mut body = Vec::new();
        while let Some(chunk) = answer
            .chunk()
            .await
            .map_err(|error| self.action_error("read", &describe_transport_error(&error)))?
        {
            if body.len() + chunk.len() > most {
                return Err(
                    self.action_error("read", &format!("the answer is larger than {} KiB", most >> 10))
                );
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

fn describe_transport_error(error: &reqwest::Error) -> String {
    if error.is_timeout() { "no answer in time".to_owned() } else { root_cause_text(error) }
}

/// Maximum size of the document, for sending and receiving.
pub(super) const MAX_DOCUMENT_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_holder_is_described_with_the_fields_of_the_server() {
        let info = |text: &str| serde_json::from_str::<LockInfo>(text).unwrap().in_words();
        assert_eq!(info("{}"), "a holder that the server does not name");
        assert_eq!(
            info(r#"{"ID":"7","Who":"eve\u001b[2J\r\n@host","Operation":"","Created":"now","Extra":1}"#),
            "eve[2J@host, since now, lock 7"
        );
    }

    #[test]
    fn a_general_error_status_is_not_a_lock_conflict() {
        for (status, done, refusal) in [
            (200, true, false),
            (204, true, false),
            (307, false, false),
            (401, false, false),
            (404, false, false),
            (409, false, true),
            (423, false, true),
            (429, false, false),
            (500, false, false),
        ] {
            assert_eq!(
                (ServerStatus(status).is_done(), ServerStatus(status).is_refusal()),
                (done, refusal),
                "{status}"
            );
        }
    }

    #[test]
    fn the_golden_locks_are_read_and_written_as_before() {
        let golden = include_str!("../../../../tests/golden/files/state-server-lock.json").trim_end();
        let locks: Vec<LockInfo> = serde_json::from_str(golden).unwrap();
        assert_eq!(serde_json::to_string(&locks).unwrap(), golden);
    }
}
