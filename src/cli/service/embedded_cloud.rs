//! The built-in cloud of `--cloud local`: this process runs it, or uses one that `stead emulator` already
//! serves from the same data.
//!
//! The address of a served one is in a note in the user's own state directory. It is never in a repository, whose
//! author could redirect requests with it. The note is valid only while a process holds the lock of the data. A process
//! that takes the lock removes the note first, so that it always belongs to the present holder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::files::write_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::http::https_transport::TransportOptions;
use crate::emulator::server::{self, EmulatorHandle, ServeError};
use crate::emulator::store::WorldStoreError;
use crate::model::crypto::hex::encode_hex;

/// Directory for stead's files, in a stack's directory or at a repository's root.
const DATA_DIR_NAME: &str = ".stead";

/// File name of the cloud's data in that directory.
const DATA_FILE: &str = "cloud.db";

/// Directory of notes in the user's state directory.
const EMULATORS_DIR: &str = "emulators";

/// Speed of the built-in cloud's clock, as a multiple of real time; creating a database takes seconds.
pub(in crate::cli) const SPEED: f64 = 20.0;

/// Delay between two attempts to open the data of the built-in cloud.
const OPEN_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of these attempts: ten seconds in all.
const ATTEMPTS: u32 = 100;

/// Address of a served emulator, for commands that use the same data; contains its API key.
#[derive(Debug, Serialize, Deserialize)]
struct EmulatorEndpoint {
    address: SocketAddr,
    api_key: String,
    /// Speed of its clock when it was started; `None` in the note of an earlier version.
    #[serde(default)]
    speed: Option<f64>,
}

/// Returns the directory of the built-in cloud's data: that of the repository, so that its stacks share one cloud;
/// or the stack's own, if it has data already or is not in a repository.
pub(in crate::cli) fn data_directory(stack: &Path) -> PathBuf {
    let own = stack.join(DATA_DIR_NAME);
    if stack_files::path_exists(&own.join(DATA_FILE)) {
        return own;
    }
    let root = SharedRoot::find_root(stack, false).root;
    if stack_files::path_exists(&root.join(".git")) { root.join(DATA_DIR_NAME) } else { own }
}

/// Returns how to reach the built-in cloud with its data in `folder`, the cloud itself if this process runs it
/// (`None` if another one does), and the speed of its clock.
///
/// # Errors
/// When its data cannot be used, or another command keeps it open for about ten seconds.
pub(in crate::cli) fn open_embedded_cloud(
    folder: &Path,
    state: Option<&Path>,
) -> Result<(TransportOptions, Option<EmulatorHandle>, f64), CliFailure> {
    stack_files::make_private_directory(folder)?;
    let options = server::EmulatorOptions { speed: Some(SPEED), ..server::EmulatorOptions::default() };
    let mut attempts = ATTEMPTS;
    loop {
        let error = match spawn_server(&options, folder, state) {
            Ok(running) => {
                let key = SecretString::from(running.api_key.clone());
                return Ok((TransportOptions::new(running.base_url(), Some(key)), Some(running), SPEED));
            }
            Err(error) if is_locked(&error) => error,
            Err(error) => return Err(serve_failure(&error)),
        };
        if let Some(note) = read_running_note(folder, state) {
            let url = format!("http://{}", note.address);
            let speed = note.speed.unwrap_or(SPEED);
            return Ok((TransportOptions::new(url, Some(SecretString::from(note.api_key))), None, speed));
        }
        if attempts == 0 {
            return Err(serve_failure(&error));
        }
        attempts -= 1;
        // A command of another stack of the repository runs the cloud; most commands end soon.
        sleep_before_retry();
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing runs yet that could go on meanwhile")]
fn sleep_before_retry() {
    std::thread::sleep(OPEN_RETRY_INTERVAL);
}

/// Starts an emulator on the data in `folder`.
///
/// # Errors
/// When the data or the address cannot be used, or another process has the data open.
pub(in crate::cli) fn start_emulator(
    options: &server::EmulatorOptions,
    folder: &Path,
    state: Option<&Path>,
) -> Result<EmulatorHandle, CliFailure> {
    stack_files::make_private_directory(folder)?;
    spawn_server(options, folder, state).map_err(|error| serve_failure(&error))
}

fn spawn_server(
    options: &server::EmulatorOptions,
    folder: &Path,
    state: Option<&Path>,
) -> Result<EmulatorHandle, ServeError> {
    let options = server::EmulatorOptions { data: Some(folder.join(DATA_FILE)), ..options.clone() };
    let running = server::spawn_emulator(options)?;
    // This process has the lock, so an existing note is from a killed emulator; its address may
    // belong to another program now.
    take_note(folder, state);
    Ok(running)
}

fn serve_failure(error: &ServeError) -> CliFailure {
    CliFailure::new(Exit::Failed, error.to_string())
}

fn is_locked(error: &ServeError) -> bool {
    matches!(error, ServeError::Store(WorldStoreError::Locked { .. }))
}

/// Writes the note with the address and the key of the served emulator, readable only by the user.
///
/// # Errors
/// When there is no state directory, or the note cannot be written.
pub(in crate::cli) fn leave_note(
    folder: &Path,
    state: Option<&Path>,
    running: &EmulatorHandle,
    speed: Option<f64>,
) -> anyhow::Result<()> {
    let Some(path) = note_path(folder, state) else {
        anyhow::bail!("there is no directory for it: HOME is not set")
    };
    let note = EmulatorEndpoint { address: running.address, api_key: running.api_key.clone(), speed };
    if let Some(notes) = path.parent() {
        stack_files::make_private_directory(notes)?;
    }
    write_files::write_state(&path, serde_json::to_string(&note)?.as_bytes())
}

/// Removes the note with the address of the emulator whose data is in `folder`, if there is one. Without a state
/// directory, or if `folder` does not exist, it does nothing.
pub(in crate::cli) fn take_note(folder: &Path, state: Option<&Path>) {
    if let Some(path) = note_path(folder, state) {
        stack_files::remove_file(&path);
    }
}

/// Returns the path of the note, which is derived from the canonical path of the data; `None` without
/// data or state directory.
fn note_path(folder: &Path, state: Option<&Path>) -> Option<PathBuf> {
    let full = stack_files::real_path(folder)?;
    let digest = encode_hex(&Sha256::digest(full.as_os_str().as_encoded_bytes()));
    Some(state?.join(EMULATORS_DIR).join(format!("{digest}.json")))
}

/// Returns the note of the emulator that has the data open; `None` if there is none. A note that other users could
/// write, or whose address is not on this machine, is ignored.
fn read_running_note(folder: &Path, state: Option<&Path>) -> Option<EmulatorEndpoint> {
    let bytes = stack_files::read_own_secret(&note_path(folder, state)?).ok()?;
    serde_json::from_slice::<EmulatorEndpoint>(&bytes).ok().filter(|note| note.address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_addresses_of_emulators_are_read_and_written_as_before() {
        let golden = include_str!("../../../tests/golden/files/emulator-address.json").trim_end();
        let notes: Vec<EmulatorEndpoint> = serde_json::from_str(golden).unwrap();
        assert_eq!(serde_json::to_string(&notes).unwrap(), golden);
    }
}
