//! Stored API keys: one file that only its owner can read, with each key bound to one origin, so that no other
//! service receives it. For a key in the system's keychain the file records only its existence.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::cli::files::stack_files;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::profile::DEFAULT;
use crate::ledger::stores::file::dir_handle::{DirHandle, read_bounded};
use crate::model::address::Name;
use crate::model::values::secret::Secret;

/// File name in the user's directory.
const FILE: &str = "credentials.json";

/// Version of the file's format.
const SCHEMA_VERSION: u32 = 1;

/// Maximum size of the file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Maximum length of a key, in bytes.
const MAX_KEY_LENGTH: usize = 4096;

/// Content of the file. Not `Debug`, because it contains keys.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialsFile {
    schema_version: u32,
    keys: Vec<StoredKey>,
}

/// A key with the service and the profile that may use it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    /// Only origin that the key is sent to: scheme, host and port.
    origin: String,
    /// Profile that the key was stored for; `None` for the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<Name>,
    /// The key; `None` if it is in the keychain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Whether the key is in the system's keychain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keychain: bool,
}

/// Location of a stored key.
#[derive(Debug)]
pub(in crate::cli) enum KeyStorage {
    /// The key, from the file.
    InFile(Secret),
    /// The key is in the system's keychain.
    Keychain,
}

impl StoredKey {
    fn into_key_source(self) -> KeyStorage {
        self.key.map_or(KeyStorage::Keychain, |key| KeyStorage::InFile(Secret::new(key)))
    }
}

/// Origin and profile of a key: it is sent only to this origin, and used only by this profile.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct CredentialScope<'a> {
    /// Scheme, host and port of the service.
    pub(in crate::cli) origin: &'a str,
    /// Name of the profile; `None` for the default one.
    pub(in crate::cli) profile: Option<&'a Name>,
}

impl CredentialScope<'_> {
    fn matches_key(&self, stored: &StoredKey) -> bool {
        stored.origin == self.origin
            && non_default_profile(stored.profile.as_ref()) == non_default_profile(self.profile)
    }
}

/// Returns a profile's name, or `None` for the default one, so that a stored key stays valid when a block for the
/// default profile is added to the settings or removed.
pub(in crate::cli) fn non_default_profile(profile: Option<&Name>) -> Option<&Name> {
    profile.filter(|name| *name != DEFAULT)
}

/// Returns whether a string can be a key: valid in an HTTP header, without blanks, and at most `MAX_KEY_LENGTH` long.
pub(in crate::cli) fn is_key(text: &str) -> bool {
    (1..=MAX_KEY_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the stored key for an origin and profile, or that the keychain has it; `None` if none is stored.
///
/// # Errors
/// When other users can read or change the file, it is damaged or too new, or it is a link.
pub(in crate::cli) fn find_stored_key(
    directory: &Path,
    place: CredentialScope<'_>,
) -> Result<Option<KeyStorage>, CliFailure> {
    let Some(stored) = load_keys(directory)? else { return Ok(None) };
    Ok(stored.keys.into_iter().find(|stored| place.matches_key(stored)).map(StoredKey::into_key_source))
}

/// Stores a key for an origin and profile, replacing an older one; `None` records that the keychain has it.
/// Returns the file's path.
///
/// # Errors
/// Those of `find_stored_key`, or when it cannot be written.
pub(in crate::cli) fn store_key(
    directory: &Path,
    place: CredentialScope<'_>,
    key: Option<&str>,
) -> Result<PathBuf, CliFailure> {
    let mut stored = load_keys(directory)?
        .unwrap_or(CredentialsFile { schema_version: SCHEMA_VERSION, keys: Vec::new() });
    stored.keys.retain(|stored| !place.matches_key(stored));
    stored.keys.push(StoredKey {
        origin: place.origin.to_owned(),
        profile: place.profile.cloned(),
        key: key.map(str::to_owned),
        keychain: key.is_none(),
    });
    save_keys(directory, &stored)
}

/// Removes the stored key for an origin and profile; returns `false` if there was none. A key in
/// the keychain stays there.
///
/// # Errors
/// Those of `store_key`.
pub(in crate::cli) fn forget_key(directory: &Path, place: CredentialScope<'_>) -> Result<bool, CliFailure> {
    let Some(mut stored) = load_keys(directory)? else { return Ok(false) };
    let before = stored.keys.len();
    stored.keys.retain(|stored| !place.matches_key(stored));
    if stored.keys.len() == before {
        return Ok(false);
    }
    save_keys(directory, &stored).map(|_| true)
}

/// Returns the path of the key file in the user's directory.
pub(in crate::cli) fn key_file_path(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// Returns the origins with a stored key for this profile; empty without a file.
///
/// # Errors
/// Those of `find_stored_key`.
pub(in crate::cli) fn stored_origins(
    directory: &Path,
    profile: Option<&Name>,
) -> Result<Vec<String>, CliFailure> {
    let stored = load_keys(directory)?;
    let keys = stored.into_iter().flat_map(|stored| stored.keys);
    Ok(keys
        .filter(|key| non_default_profile(key.profile.as_ref()) == non_default_profile(profile))
        .map(|key| key.origin)
        .collect())
}

/// Writes the file atomically, so that a crash loses no key.
fn save_keys(directory: &Path, stored: &CredentialsFile) -> Result<PathBuf, CliFailure> {
    let path = directory.join(FILE);
    let text = serde_json::to_vec_pretty(stored).map_err(anyhow::Error::from)?;
    let written = DirHandle::create_private_dir(directory)
        .and_then(|folder| folder.replace(FILE, 0o600, |file| file.write_all(&text)));
    written.map_err(|error| unusable_key_file(&path, &error.to_string(), "Nothing was stored."))?;
    Ok(path)
}

/// Reads the file; `None` if it does not exist.
fn load_keys(directory: &Path) -> Result<Option<CredentialsFile>, CliFailure> {
    let path = directory.join(FILE);
    let remedy = "Repair it, or remove it and run `stead login` again.";
    let opened =
        DirHandle::open_private_dir(directory).and_then(|folder| folder.open_file(FILE, OFlags::RDONLY));
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable_key_file(&path, &error.to_string(), remedy)),
    };
    let data = file.metadata().map_err(|error| unusable_key_file(&path, &error.to_string(), remedy))?;
    if data.uid() != rustix::process::geteuid().as_raw() {
        return Err(unusable_key_file(&path, "it belongs to another user", remedy));
    }
    if data.mode() & 0o077 != 0 {
        let remedy = format!(
            "Others may have read the key: make a new one, then chmod 600 {} and log in again.",
            stack_files::display_path(&path)
        );
        return Err(unusable_key_file(&path, "other users can read or write it", &remedy));
    }
    let bytes = read_bounded(file, MAX_FILE_BYTES)
        .map_err(|error| unusable_key_file(&path, &error.to_string(), remedy))?;
    // The parser's message could quote a key.
    let stored: CredentialsFile =
        serde_json::from_slice(&bytes).map_err(|_| unusable_key_file(&path, "it is damaged", remedy))?;
    if stored.keys.iter().any(|stored| stored.key.is_none() != stored.keychain) {
        return Err(unusable_key_file(&path, "it is damaged", remedy));
    }
    if stored.schema_version != SCHEMA_VERSION {
        return Err(unusable_key_file(&path, "it was written by a newer version", "Use that version."));
    }
    Ok(Some(stored))
}

fn unusable_key_file(path: &Path, why: &str, remedy: &str) -> CliFailure {
    CliFailure::new(
        Exit::Failed,
        format!("the stored keys in {} cannot be used: {why}", stack_files::display_path(path)),
    )
    .help(remedy)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the tests lay out files")]

    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const HERE: CredentialScope<'static> =
        CredentialScope { origin: "https://api.example.com", profile: None };

    fn found(directory: &Path, place: CredentialScope<'_>) -> Option<String> {
        find_stored_key(directory, place).unwrap().map(|kept| match kept {
            KeyStorage::InFile(key) => key.expose().unwrap().to_owned(),
            KeyStorage::Keychain => "(keychain)".to_owned(),
        })
    }

    #[test]
    fn a_key_belongs_to_one_origin_and_one_profile() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("stead");
        assert_eq!(found(&directory, HERE), None);
        assert!(!directory.exists(), "looking makes nothing");
        let work = Name::new("work");
        let there = CredentialScope { profile: Some(&work), ..HERE };
        store_key(&directory, HERE, Some("first")).unwrap();
        let path = store_key(&directory, HERE, Some("second")).unwrap();
        store_key(&directory, there, Some("third")).unwrap();
        assert_eq!(found(&directory, HERE).as_deref(), Some("second"));
        assert_eq!(found(&directory, there).as_deref(), Some("third"));
        for origin in [
            "https://api.example.com:8443",
            "http://api.example.com",
            "https://example.com",
            "https://api.example.com.evil.test",
            "https://x.api.example.com",
        ] {
            assert_eq!(found(&directory, CredentialScope { origin, profile: None }), None, "{origin}");
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert!(forget_key(&directory, HERE).unwrap() && !forget_key(&directory, HERE).unwrap());
        assert_eq!((found(&directory, HERE), found(&directory, there).is_some()), (None, true));
        store_key(&directory, there, None).unwrap();
        assert_eq!(found(&directory, there).as_deref(), Some("(keychain)"));
        assert!(!fs::read_to_string(&path).unwrap().contains("third"), "it is in one place");
        let text = fs::read_to_string(&path).unwrap().replace("true", "false");
        fs::write(&path, text).unwrap();
        assert!(find_stored_key(&directory, there).unwrap_err().message.contains("it is damaged"));
    }

    #[test]
    fn the_default_profile_and_no_profile_share_one_key() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("stead");
        let default = Name::new("default");
        let named = CredentialScope { profile: Some(&default), ..HERE };
        store_key(&directory, HERE, Some("first")).unwrap();
        assert_eq!(found(&directory, named).as_deref(), Some("first"));
        store_key(&directory, named, Some("second")).unwrap();
        assert_eq!(found(&directory, HERE).as_deref(), Some("second"), "one key, not two");
        assert_eq!(stored_origins(&directory, Some(&default)).unwrap(), [HERE.origin]);
        assert!(forget_key(&directory, HERE).unwrap() && !forget_key(&directory, named).unwrap());
    }

    #[test]
    fn a_key_file_readable_by_others_is_rejected() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("stead");
        let path = store_key(&directory, HERE, Some("canary")).unwrap();
        let refused = |why: &str| {
            let error = find_stored_key(&directory, HERE).unwrap_err();
            assert!(error.message.contains(why), "{}", error.message);
            assert!(!format!("{error:?}").contains("canary") && !error.help.is_empty());
        };
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o666, 0o610] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            refused("other users can read or write it");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
        refused("every user can write to it");
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        fs::write(&path, "{\"canary\": 1}").unwrap();
        refused("it is damaged");
        let elsewhere = root.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        refused("symbolic link");
        fs::remove_file(&path).unwrap();
        fs::rename(&directory, root.path().join("aside")).unwrap();
        symlink(root.path().join("aside"), &directory).unwrap();
        refused("it is a symbolic link, or not a directory");
    }

    /// Root may give files away; other users cannot, and then there is nothing to try.
    #[test]
    fn another_users_file_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("stead");
        let path = store_key(&directory, HERE, Some("canary")).unwrap();
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        assert!(find_stored_key(&directory, HERE).unwrap_err().message.contains("another user"));
    }

    #[test]
    fn a_key_is_printable_ascii_of_limited_length() {
        assert!(is_key("sk_live-1.2"));
        for bad in ["", "a b", "a\nb", "ü", "a\u{7f}", &"a".repeat(5000)] {
            assert!(!is_key(bad), "{bad:?}");
        }
    }

    #[test]
    fn the_golden_file_of_keys_is_read_and_written_as_before() {
        let golden = include_str!("../../../tests/golden/files/credentials.json");
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("stead");
        let work = Name::new("work");
        store_key(&directory, HERE, Some("sk_1")).unwrap();
        let path = store_key(&directory, CredentialScope { profile: Some(&work), ..HERE }, None).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), golden);
        fs::write(&path, golden).unwrap();
        assert_eq!(found(&directory, HERE).as_deref(), Some("sk_1"));
        assert_eq!(
            found(&directory, CredentialScope { profile: Some(&work), ..HERE }).as_deref(),
            Some("(keychain)")
        );
    }
}
