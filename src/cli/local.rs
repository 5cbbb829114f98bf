//! The embedded cloud of `--cloud local`: this process runs it, or one that `stead emulator` already
//! serves from the same data.
#![allow(clippy::disallowed_types, reason = "asks whether an emulator is listening")]

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::exit::Exit;
use super::failure::Failure;
use super::files;
use crate::cloud::transport::Options;
use crate::emulator::server::{self, Running};

/// The name of the cloud's data in a stack's `.stead/`.
const DATA: &str = "cloud.db";

/// The name of the note that a served emulator leaves beside its data.
const NOTE: &str = "cloud.address";

/// How many times as fast as life the embedded cloud runs: a database takes seconds.
pub(super) const SPEED: f64 = 20.0;

/// Where a served emulator can be reached, for commands that use the same data.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    address: SocketAddr,
    api_key: String,
}

/// Returns the way to the embedded cloud whose data is in `folder`, and the cloud itself when this
/// process runs it.
///
/// # Errors
/// When its data cannot be used.
pub(super) fn open(folder: &Path) -> Result<(Options, Option<Running>), Failure> {
    if let Some(note) = served(folder)? {
        let url = format!("http://{}", note.address);
        return Ok((Options::new(url, Some(SecretString::from(note.api_key))), None));
    }
    let running = start(&server::Options { speed: Some(SPEED), ..server::Options::default() }, folder)?;
    let options = Options::new(running.base_url(), Some(SecretString::from(running.api_key.clone())));
    Ok((options, Some(running)))
}

/// Starts an emulator on the data in `folder`.
///
/// # Errors
/// When its data or address cannot be used.
pub(super) fn start(options: &server::Options, folder: &Path) -> Result<Running, Failure> {
    files::make_private_directory(folder)?;
    let options = server::Options { data: Some(folder.join(DATA)), ..options.clone() };
    server::spawn(options).map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}

/// Leaves a note where the served emulator can be reached.
///
/// # Errors
/// When it cannot be written.
pub(super) fn leave_note(folder: &Path, running: &Running) -> Result<(), Failure> {
    let note = Note { address: running.address, api_key: running.api_key.clone() };
    let text = serde_json::to_string(&note).map_err(anyhow::Error::from)?;
    Ok(files::write_private(&folder.join(NOTE), text.as_bytes())?)
}

/// Takes the note away.
pub(super) fn take_note(folder: &Path) {
    files::remove(&folder.join(NOTE));
}

/// Returns the note of an emulator that still listens. A note without one is left from a kill.
fn served(folder: &Path) -> Result<Option<Note>, Failure> {
    let Some(text) = files::read_optional(&folder.join(NOTE))? else { return Ok(None) };
    let note = serde_json::from_str::<Note>(&text).ok().filter(|note| note.address.ip().is_loopback());
    Ok(note.filter(|note| TcpStream::connect_timeout(&note.address, Duration::from_millis(500)).is_ok()))
}
