//! The rate limit file: commands of one user on one machine share the rate limit of a key. In: a URL and a key. Out:
//! a small file in the user's state directory, read and written under a lock for each request. If it cannot be used,
//! a command uses only its own limiter, so that no request waits long for the file.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use rustix::fs::{FlockOperation, OFlags};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::cloud::http::https_transport::parse_origin;
use crate::cloud::http::rate_limit::{RateLimitState, SharedRateLimit};
use crate::ledger::stores::file::dir_handle::DirHandle;
use crate::model::clock::Random;
use crate::model::values::secret::Secret;

/// Number of attempts to take a held file lock.
const LOCK_ATTEMPTS: u32 = 50;
/// Delay between two of these attempts, which wait a tenth of a second in all.
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// Maximum number of bytes that are read of the file; a larger one cannot be parsed, and is ignored.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// Size of the user's salt, in bytes.
const SALT_BYTES: usize = 32;

/// The rate limit file for one URL and key.
pub(in crate::cli) struct RateLimitFile {
    folder: DirHandle,
    name: String,
    boot: String,
}

/// Content of the file. Times are relative to the machine's boot, so they are invalid after the next one.
#[derive(Serialize, Deserialize)]
struct RateLimitFileContent {
    boot: String,
    #[serde(flatten)]
    state: RateLimitState,
}

impl RateLimitFile {
    /// Returns the file for a URL and a key, or for requests without a key (`None`); `None` if no file can be
    /// shared: there is no state directory, other users can access it, or the system does not report its boot id.
    pub(in crate::cli) fn open(
        state: Option<&Path>,
        url: &str,
        key: Option<&Secret>,
        random: &impl Random,
    ) -> Option<Self> {
        let boot = read_boot_id()?;
        let folder = DirHandle::create_private_dir(&state?.join("limiter")).ok()?;
        let salt = read_salt(&folder, random)?;
        let mac = Hmac::<Sha256>::new_from_slice(&salt).ok()?;
        let key = key.and_then(Secret::expose).unwrap_or_default();
        let mac = mac.chain_update(parse_origin(url).ok()?).chain_update([0]).chain_update(key);
        let digest = mac.finalize().into_bytes();
        let name = digest.iter().fold(String::new(), |name, byte| name + &format!("{byte:02x}"));
        Some(Self { folder, name, boot })
    }

    fn read(&self, file: &mut File) -> Option<RateLimitState> {
        let content: RateLimitFileContent = serde_json::from_slice(&read_all(file)?).ok()?;
        (content.boot == self.boot).then_some(content.state)
    }
}

impl SharedRateLimit for RateLimitFile {
    fn update(&self, change: &mut dyn FnMut(Option<RateLimitState>) -> RateLimitState) {
        let Some(mut file) = open_locked(&self.folder, &self.name) else { return };
        let state = change(self.read(&mut file));
        let content = RateLimitFileContent { boot: self.boot.clone(), state };
        if let Ok(text) = serde_json::to_vec(&content) {
            // A partially written file is ignored: the next command starts with an empty one.
            let _ = replace_contents(&mut file, &text);
        }
    }
}

/// Returns the user's salt, creating it if necessary; with it, file names reveal nothing about keys. `None` if its
/// file cannot be used.
fn read_salt(folder: &DirHandle, random: &impl Random) -> Option<Vec<u8>> {
    let mut file = open_locked(folder, "salt")?;
    let salt = read_all(&mut file)?;
    if salt.len() == SALT_BYTES {
        return Some(salt);
    }
    let salt: Vec<u8> = [random.uuid(), random.uuid()].iter().flat_map(|id| *id.as_bytes()).collect();
    replace_contents(&mut file, &salt).ok()?;
    Some(salt)
}

/// Opens a file of the user and locks it until it is dropped; `None` if that takes too long, or other
/// users can access it.
fn open_locked(folder: &DirHandle, name: &str) -> Option<File> {
    let file = folder.open_file(name, OFlags::RDWR | OFlags::CREATE).ok()?;
    let data = file.metadata().ok()?;
    let others = data.mode() & 0o077;
    if !data.is_file() || data.uid() != rustix::process::geteuid().as_raw() || others != 0 {
        return None;
    }
    for _ in 0..LOCK_ATTEMPTS {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(file),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => sleep_before_relock(),
            Err(_) => return None,
        }
    }
    None
}

#[expect(clippy::disallowed_methods, reason = "a lock that is held for microseconds is worth no future")]
fn sleep_before_relock() {
    std::thread::sleep(LOCK_PAUSE);
}

fn read_all(file: &mut File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind().ok()?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn replace_contents(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    file.rewind()?;
    file.set_len(0)?;
    file.write_all(bytes)
}

/// Returns the id of the machine's current boot; `None` on a system other than Linux.
#[expect(clippy::disallowed_methods, reason = "the system's own file")]
fn read_boot_id() -> Option<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the tests lay out files")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::cloud::http::rate_limit::RateLimit;
    use crate::cloud::system_clock::SystemRandom;

    const URL: &str = "https://cloud.example.com/";

    fn file(state: &Path, key: Option<&str>) -> Option<RateLimitFile> {
        let key = key.map(Secret::new);
        RateLimitFile::open(Some(state), URL, key.as_ref(), &SystemRandom)
    }

    /// Takes a slot; `None` when the file cannot be used.
    fn take(file: &RateLimitFile, now: Duration) -> Option<bool> {
        let mut taken = None;
        file.update(&mut |state| {
            let mut limiter = RateLimit::default();
            state.inspect(|state| assert!(limiter.apply_shared_state(state, now)));
            taken = Some(limiter.admit(now).is_ok());
            limiter.state()
        });
        taken
    }

    #[test]
    fn processes_with_one_key_share_the_rate_limit_slots() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (file(dir.path(), Some("k1")).unwrap(), file(dir.path(), Some("k1")).unwrap());
        let second = file(dir.path(), Some("k2")).unwrap();
        assert_eq!(one.name, other.name);
        assert!(one.name != second.name && !one.name.contains("k1"));
        let now = Duration::from_secs(1_000);
        let admitted = |file: &RateLimitFile| (0..100).filter(|_| take(file, now) == Some(true)).count();
        let (first, rest) = (admitted(&one), admitted(&other));
        assert_eq!((first, rest), (87, 0), "29 and a burst of 58, whoever takes them");
        assert_eq!(admitted(&second), 87);
        let mode =
            std::fs::metadata(dir.path().join("limiter").join(&one.name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_implausible_rate_limit_file_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let one = file(dir.path(), Some("k1")).unwrap();
        let path = dir.path().join("limiter").join(&one.name);
        let now = Duration::from_secs(1_000);
        for content in ["", "{", "[]", "{\"boot\": \"another\", \"rate\": 1, \"hold\": 0}"] {
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            assert_eq!(take(&one, now), Some(true), "{content}");
        }
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert_eq!(take(&one, now), None, "no link is followed");
        assert!(!dir.path().join("elsewhere").exists());
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for_long() {
        let dir = tempfile::tempdir().unwrap();
        let one = file(dir.path(), Some("k1")).unwrap();
        let held = open_locked(&one.folder, &one.name).unwrap();
        assert_eq!(take(&one, Duration::from_secs(9)), None);
        drop(held);
        assert_eq!(take(&one, Duration::from_secs(9)), Some(true));
    }

    #[test]
    fn the_golden_limiter_file_is_read_and_written_as_before() {
        let golden = include_str!("../../../tests/golden/files/limiter.json").trim_end();
        let content: RateLimitFileContent = serde_json::from_str(golden).unwrap();
        assert_eq!(serde_json::to_string(&content).unwrap(), golden);
    }
}
