//! The types with which commands reach a service: one transport and one clock, for a service behind an address, and for
//! an emulated cloud in this process. As single types, the protocols of plan and apply are built once.

use std::time::Duration;

use jiff::Timestamp;

use super::in_process_cloud::{InProcessTransport, KEY};
#[cfg(test)]
use super::test_transport::TestCloud;
use super::virtual_time::VirtualTime;
use crate::cloud::client::Client;
use crate::cloud::http::https_transport::HttpsTransport;
use crate::cloud::http::message::{HttpRequest, HttpResponse, SignedUpload, Transport, TransportError};
use crate::cloud::system_clock::{SystemClock, SystemRandom};
use crate::model::clock::Clock;

/// The client type of all commands.
pub(in crate::cli) type CommandClient = Client<CommandTransport, CommandClock, CommandRandom>;

/// The random source type of all commands.
pub(in crate::cli) type CommandRandom = SystemRandom;

/// The transport of all commands.
pub(in crate::cli) enum CommandTransport {
    /// Sends over HTTPS.
    Https(Box<HttpsTransport>),
    /// Calls an emulated cloud of this process.
    Emulated(InProcessTransport),
    /// Calls the cloud of the thread.
    #[cfg(test)]
    Test(TestCloud),
}

impl CommandTransport {
    /// Returns whether the API key begins so.
    pub(in crate::cli) fn opens_with(&self, beginning: &str) -> bool {
        match self {
            Self::Https(https) => https.opens_with(beginning),
            Self::Emulated(_) => KEY.starts_with(beginning),
            #[cfg(test)]
            Self::Test(_) => KEY.starts_with(beginning),
        }
    }
}

impl Transport for CommandTransport {
    async fn exchange(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        match self {
            Self::Https(https) => https.exchange(request).await,
            Self::Emulated(cloud) => Ok(cloud.exchange(request)),
            #[cfg(test)]
            Self::Test(cloud) => cloud.send(request).await,
        }
    }

    async fn upload(&self, upload: &SignedUpload) -> Result<HttpResponse, TransportError> {
        match self {
            Self::Https(https) => https.upload(upload).await,
            Self::Emulated(cloud) => cloud.upload(upload),
            #[cfg(test)]
            Self::Test(_) => Err(TransportError::NotPermitted {
                reason: "no test of whole commands uploads anything".to_owned(),
            }),
        }
    }
}

/// The clock of all commands.
#[derive(Clone)]
pub(in crate::cli) enum CommandClock {
    /// Time of this machine.
    System,
    /// Time of an emulated cloud in this process.
    Virtual(VirtualTime),
}

impl Clock for CommandClock {
    fn now(&self) -> Timestamp {
        match self {
            Self::System => SystemClock.now(),
            Self::Virtual(time) => time.now(),
        }
    }

    fn elapsed(&self) -> Duration {
        match self {
            Self::System => SystemClock.elapsed(),
            Self::Virtual(time) => time.elapsed(),
        }
    }

    async fn sleep(&self, duration: Duration) {
        match self {
            Self::System => SystemClock.sleep(duration).await,
            Self::Virtual(time) => time.sleep(duration).await,
        }
    }
}
