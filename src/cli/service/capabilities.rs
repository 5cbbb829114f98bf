//! Stores the service capabilities that `doctor --api` detected, by service and profile, in the user's state
//! directory. They only tune later commands: everything works without them, and a damaged file counts as missing.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cli::files::stack_files;
use crate::cli::files::write_files;
use crate::cli::process::settings::Settings;
use crate::cloud::http::https_transport::parse_origin;
use crate::cloud::probe::ServiceCapabilities;
use crate::model::address::Name;

/// Version of the file's format.
const SCHEMA_VERSION: u32 = 1;

/// Detected capabilities, with the service, the profile and the time of the probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cli) struct CapabilitiesFile {
    schema_version: u32,
    origin: String,
    profile: Option<Name>,
    at: Timestamp,
    learned: ServiceCapabilities,
}

impl CapabilitiesFile {
    /// Returns the capabilities for the client.
    pub(in crate::cli) fn service_capabilities(&self) -> &ServiceCapabilities {
        &self.learned
    }

    /// Returns a sentence for a person; not escaped.
    pub(in crate::cli) fn in_words(&self) -> String {
        let all = in_words(&self.learned);
        let what = if all.is_empty() { "nothing special".to_owned() } else { all.join(", ") };
        format!("Of {} on {}: {what}.", self.origin, self.at.strftime("%Y-%m-%d"))
    }
}

/// Returns a short description of each capability; empty if the service has no special ones.
pub(in crate::cli) fn in_words(learned: &ServiceCapabilities) -> Vec<String> {
    let pages = learned.page_limit.map(|rows| format!("pages of {rows} rows"));
    let rate = learned.rate.map(|rate| format!("{rate} requests a second"));
    let list = learned.list_key.as_ref().map(|key| format!("lists under {key}"));
    let object = learned.object_key.as_ref().map(|key| format!("objects under {key}"));
    [pages, rate, list, object].into_iter().flatten().collect()
}

/// Returns the stored capabilities of the service at a URL; `None` if there are none, or they are of another
/// service, profile or version of the format.
///
/// # Errors
/// When the file exists and cannot be read or parsed.
pub(in crate::cli) fn read_capabilities(
    settings: &Settings,
    url: &str,
) -> anyhow::Result<Option<CapabilitiesFile>> {
    let Some((path, origin)) = file_and_origin(settings, url) else { return Ok(None) };
    let Some(text) = stack_files::read_optional(&path)? else { return Ok(None) };
    let note: CapabilitiesFile = serde_json::from_str(&text)
        .map_err(|error| anyhow::anyhow!("{} is damaged: {error}", stack_files::display_path(&path)))?;
    // Two names can map to the same file name, so the origin in the file must match.
    let fits =
        note.schema_version == SCHEMA_VERSION && note.origin == origin && note.profile == settings.profile;
    Ok(fits.then_some(note))
}

/// Stores the capabilities of the service at a URL; returns the path, or `None` for a user without a state directory.
///
/// # Errors
/// When they cannot be written.
pub(in crate::cli) fn write_capabilities(
    settings: &Settings,
    url: &str,
    learned: &ServiceCapabilities,
    at: Timestamp,
) -> anyhow::Result<Option<PathBuf>> {
    let Some((path, origin)) = file_and_origin(settings, url) else { return Ok(None) };
    let profile = settings.profile.clone();
    let note =
        CapabilitiesFile { schema_version: SCHEMA_VERSION, origin, profile, at, learned: learned.clone() };
    if let Some(folder) = path.parent() {
        stack_files::make_private_directory(folder)?;
    }
    write_files::write_state(&path, serde_json::to_string(&note)?.as_bytes())?;
    Ok(Some(path))
}

/// Removes the capabilities of the service at a URL; returns whether they are gone, false without a state directory.
pub(in crate::cli) fn forget_capabilities(settings: &Settings, url: &str) -> bool {
    file_and_origin(settings, url).is_some_and(|(path, _)| {
        stack_files::remove_file(&path);
        !stack_files::path_exists(&path)
    })
}

/// Returns the file's path, and the service's origin; `None` for an invalid URL, or without a state directory.
fn file_and_origin(settings: &Settings, url: &str) -> Option<(PathBuf, String)> {
    let origin = parse_origin(url).ok()?;
    let profile = settings.profile.as_deref().unwrap_or("-");
    Some((capabilities_path(settings.state.as_deref()?, profile, &origin), origin))
}

fn capabilities_path(state: &Path, profile: &str, origin: &str) -> PathBuf {
    let plain = |text: &str| -> String {
        text.chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(100)
            .collect()
    };
    state.join("services").join(format!("{}.{}.json", plain(origin), plain(profile)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capabilities_file_name_contains_no_path_separators() {
        let path = capabilities_path(Path::new("/s"), "../x/é", "https://api.example.com:8443");
        assert_eq!(path, Path::new("/s/services/https___api_example_com_8443.___x__.json"));
    }

    #[test]
    fn service_capabilities_render_as_a_sentence() {
        let note = |page_limit, rate| CapabilitiesFile {
            schema_version: 1,
            origin: "https://h".into(),
            profile: None,
            at: "2026-11-21T12:00:00Z".parse().unwrap(),
            learned: ServiceCapabilities { page_limit, rate, ..ServiceCapabilities::default() },
        };
        let told = note(Some(50), Some(30)).in_words();
        assert_eq!(told, "Of https://h on 2026-11-21: pages of 50 rows, 30 requests a second.");
        assert_eq!(note(None, None).in_words(), "Of https://h on 2026-11-21: nothing special.");
    }

    #[test]
    fn the_golden_service_capabilities_are_read_and_written_as_before() {
        let golden = include_str!("../../../tests/golden/files/service-profile.json").trim_end();
        let notes: Vec<CapabilitiesFile> = serde_json::from_str(golden).unwrap();
        assert_eq!(serde_json::to_string(&notes).unwrap(), golden);
    }
}
