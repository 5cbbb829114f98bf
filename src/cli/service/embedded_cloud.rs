//! The embedded cloud of `--cloud local`: this process runs it, or one that `stead emulator` already
//! serves from the same data.
//!
//! Where a served one listens stands in a note in the user's own state directory, never in a repository, whose
//! author could send requests elsewhere with it. The note counts only while somebody holds the data's lock, and
//! whoever takes the lock removes it first: so it is of the process that holds the lock.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::http::https_transport::TransportOptions;
use crate::emulator::server::{self, EmulatorHandle, ServeError};
use crate::emulator::store::WorldStoreError;
use crate::model::hex::encode_hex;

/// The directory of what stead keeps beside a stack, or at a repository's root.
const DATA_DIR_NAME: &str = ".stead";

/// The name of the cloud's data in it.
const DATA_FILE: &str = "cloud.db";

/// The directory of notes in the user's state directory.
const EMULATORS_DIR: &str = "emulators";

/// How many times as fast as life the embedded cloud runs: a database takes seconds.
pub(in crate::cli) const SPEED: f64 = 20.0;

/// How long a command waits before it tries again to open the data of the embedded cloud, and how often it does.
const OPEN_RETRY_INTERVAL: Duration = Duration::from_millis(100);
const ATTEMPTS: u32 = 100;

/// Where a served emulator can be reached, for commands that use the same data.
#[derive(Debug, Serialize, Deserialize)]
struct EmulatorEndpoint {
    address: SocketAddr,
    api_key: String,
    /// How fast its clock ran when it began.
    #[serde(default)]
    speed: Option<f64>,
}

/// Returns the directory of the embedded cloud's data: one for the repository, so that its stacks live in one cloud;
/// or the stack's own, where its data is there already or no repository is around it.
pub(in crate::cli) fn data_directory(stack: &Path) -> PathBuf {
    let own = stack.join(DATA_DIR_NAME);
    if stack_files::path_exists(&own.join(DATA_FILE)) {
        return own;
    }
    let root = SharedRoot::find_root(stack, false).root;
    if stack_files::path_exists(&root.join(".git")) { root.join(DATA_DIR_NAME) } else { own }
}

/// Returns the way to the embedded cloud whose data is in `folder`, the cloud itself when this process runs it, and
/// how many times as fast as ours its clock runs.
///
/// # Errors
/// When its data cannot be used, or another command uses it for long.
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
        // A command of another stack of the repository runs the cloud: most end soon.
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
/// When its data or address cannot be used.
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
    // The lock is ours: what an emulator left that was killed is nobody's address, or somebody else's by now.
    take_note(folder, state);
    Ok(running)
}

fn serve_failure(error: &ServeError) -> CliFailure {
    CliFailure::new(Exit::Failed, error.to_string())
}

fn is_locked(error: &ServeError) -> bool {
    matches!(error, ServeError::Store(WorldStoreError::Locked { .. }))
}

/// Leaves a note where the served emulator can be reached.
///
/// # Errors
/// When it cannot be written.
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
    stack_files::write_state(&path, serde_json::to_string(&note)?.as_bytes())
}

/// Takes the note away.
pub(in crate::cli) fn take_note(folder: &Path, state: Option<&Path>) {
    if let Some(path) = note_path(folder, state) {
        stack_files::remove_file(&path);
    }
}

/// Returns the file of a note: of the data's real directory, by whatever path it is named.
fn note_path(folder: &Path, state: Option<&Path>) -> Option<PathBuf> {
    let full = stack_files::real_path(folder)?;
    let digest = encode_hex(&Sha256::digest(full.as_os_str().as_encoded_bytes()));
    Some(state?.join(EMULATORS_DIR).join(format!("{digest}.json")))
}

/// Returns the note of the emulator that holds the data. One that others could write counts as none.
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
