//! `PgConnection`: one connection to the database, opened on demand and reopened after a failure.
//!
//! It repeats no statement that may have had an effect. A statement succeeds, is refused by the server, or is lost:
//! then it is unknown whether it had its effect.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::TryStreamExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{PostgresAddress, ServerHost};
use super::error::StatementError;
use crate::ledger::stores::https::platform_verified;
use crate::model::redact::SentSecrets;

/// Timeout for the first response, and between two rows.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Minimum transfer rate in bytes per second.
const MIN_BYTES_PER_SECOND: u64 = 256 << 10;

/// A parameter with its type, so that a statement needs no preparation.
pub(super) type SqlParam<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection to a database, open or not.
pub(super) struct PgConnection {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    connect_timeout: Duration,
    /// The password, which the server may repeat in its messages.
    password: SentSecrets,
    /// Held by the statement in progress. A statement that does not succeed closes the connection.
    wire: Mutex<Option<OpenConnection>>,
}

struct OpenConnection {
    client: Client,
    /// The future that transfers the data while it is polled; ends with the connection.
    pump: Pin<Box<dyn Future<Output = Result<(), Error>>>>,
}

impl PgConnection {
    /// Returns a connection that is not open yet.
    pub(super) fn new(address: &PostgresAddress, password: Option<&SecretString>) -> Result<Self, String> {
        let mut config = Config::new();
        match &address.host {
            ServerHost::Tcp(name) => config.host(name),
            ServerHost::Socket(directory) => config.host_path(directory),
        };
        config.port(address.port).dbname(&address.database).application_name("stead");
        if let Some(user) = &address.user {
            config.user(user);
        }
        let mut sent = SentSecrets::default();
        if let Some(password) = password {
            sent.push(password.expose_secret());
            config.password(password.expose_secret());
        }
        config.ssl_mode(if address.tls { SslMode::Require } else { SslMode::Disable });
        config.connect_timeout(address.connect_timeout);
        config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(4).tcp_user_timeout(RESPONSE_TIMEOUT);
        let tls = address.tls.then(|| postgres_tls_config(address)).transpose()?;
        Ok(Self {
            config,
            tls,
            connect_timeout: address.connect_timeout,
            password: sent,
            wire: Mutex::new(None),
        })
    }

    /// Runs one statement that takes effect completely or not at all. Returns its rows.
    pub(super) async fn run(
        &self,
        sql: &str,
        params: &[SqlParam<'_>],
        size: usize,
    ) -> Result<Vec<Row>, StatementError> {
        let mut slot = self.wire.lock().await;
        let mut wire = self.healthy_connection(slot.take()).await?;
        let rows = wire
            .query_rows(sql, params, size)
            .await
            .map_err(|fault| fault.redact_password(&self.password))?;
        *slot = Some(wire);
        Ok(rows)
    }

    /// Runs one read-only statement. A broken connection is reopened once.
    pub(super) async fn read(
        &self,
        sql: &str,
        params: &[SqlParam<'_>],
        size: usize,
    ) -> Result<Vec<Row>, StatementError> {
        match self.run(sql, params, size).await {
            Err(StatementError::ConnectionLost(_)) => self.run(sql, params, size).await,
            done => done,
        }
    }

    /// Runs several statements without parameters as one message, which is one transaction.
    pub(super) async fn script(&self, sql: &str) -> Result<(), StatementError> {
        let mut slot = self.wire.lock().await;
        let mut wire = self.healthy_connection(slot.take()).await?;
        let OpenConnection { client, pump } = &mut wire;
        let done = drive_connection(pump, client.batch_execute(sql), RESPONSE_TIMEOUT).await;
        done.map_err(|fault| fault.redact_password(&self.password))?;
        *slot = Some(wire);
        Ok(())
    }

    /// Returns an open connection without a known failure.
    async fn healthy_connection(
        &self,
        kept: Option<OpenConnection>,
    ) -> Result<OpenConnection, StatementError> {
        let Some(mut wire) = kept else { return self.connect().await };
        // Yields once, so that a closed connection is detected before it is used.
        tokio::task::yield_now().await;
        let ended = poll_fn(|cx| Poll::Ready(wire.pump.as_mut().poll(cx).is_ready())).await;
        if ended { self.connect().await } else { Ok(wire) }
    }

    async fn connect(&self) -> Result<OpenConnection, StatementError> {
        let connecting = async {
            if let Some(tls) = &self.tls {
                let (client, connection) = self.config.connect(tls.clone()).await?;
                return Ok(OpenConnection { client, pump: Box::pin(connection) });
            }
            let (client, connection) = self.config.connect(NoTls).await?;
            Ok(OpenConnection { client, pump: Box::pin(connection) })
        };
        match timeout(self.connect_timeout, connecting).await {
            Ok(Ok(wire)) => Ok(wire),
            Ok(Err(error)) => {
                Err(StatementError::from_connect_error(&error).redact_password(&self.password))
            }
            Err(_) => Err(StatementError::NotConnected("the server does not answer in time".to_owned())),
        }
    }
}

impl OpenConnection {
    async fn query_rows(
        &mut self,
        sql: &str,
        params: &[SqlParam<'_>],
        size: usize,
    ) -> Result<Vec<Row>, StatementError> {
        let Self { client, pump } = self;
        let within = RESPONSE_TIMEOUT + Duration::from_secs(size as u64 / MIN_BYTES_PER_SECOND);
        let params = params.iter().map(|(value, kind)| (*value, kind.clone()));
        let rows = drive_connection(pump, client.query_typed_raw(sql, params), within).await?;
        let mut rows = pin!(rows);
        let mut all = Vec::new();
        while let Some(row) = drive_connection(pump, rows.try_next(), within).await? {
            all.push(row);
        }
        Ok(all)
    }
}

/// Runs a future while the connection's data is transferred.
async fn drive_connection<T>(
    pump: &mut Pin<Box<dyn Future<Output = Result<(), Error>>>>,
    work: impl Future<Output = Result<T, Error>>,
    within: Duration,
) -> Result<T, StatementError> {
    let mut work = pin!(work);
    let both = poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(done.map_err(|error| StatementError::from_statement_error(&error)));
        }
        let Poll::Ready(ended) = pump.as_mut().poll(cx) else { return Poll::Pending };
        // The response may have arrived together with the end; otherwise the connection's error is more specific.
        match (work.as_mut().poll(cx), ended) {
            (Poll::Ready(Ok(done)), _) => Poll::Ready(Ok(done)),
            (_, Err(error)) => Poll::Ready(Err(StatementError::from_lost_connection(&error))),
            (Poll::Ready(Err(error)), Ok(())) => {
                Poll::Ready(Err(StatementError::from_statement_error(&error)))
            }
            (Poll::Pending, Ok(())) => {
                Poll::Ready(Err(StatementError::ConnectionLost("the connection ended".to_owned())))
            }
        }
    });
    match timeout(within, both).await {
        Ok(done) => done,
        Err(_) => Err(StatementError::ConnectionLost("the server does not answer in time".to_owned())),
    }
}

/// Returns the TLS settings with the platform's authorities, or with those of a file instead.
fn postgres_tls_config(address: &PostgresAddress) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot start: {error}"))?;
    let Some(file) = &address.authorities else {
        let verified = platform_verified(builder).map_err(|error| format!("TLS cannot start: {error}"))?;
        return Ok(MakeRustlsConnect::new(verified));
    };
    let unusable = |reason: &dyn std::fmt::Display| {
        format!("the certificate authorities in {} cannot be used: {reason}", file.display())
    };
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"there is none"));
    }
    Ok(MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
