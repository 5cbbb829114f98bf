//! Cache of the catalog tables that commands read last, by service, in the user's state directory. The language server
//! completes names from it without a request. The file is optional, and a damaged one counts as missing.

use std::path::{Path, PathBuf};

use crate::cli::files::{stack_files, write_files};
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cloud::http::https_transport::parse_origin;
use crate::model::live::catalog::Catalog;

/// Directory name in the user's state directory.
const CATALOG_DIR: &str = "offers";

/// Returns the cache file for a service; `None` for a user without a state directory, for an invalid URL, or if the
/// command must not write.
pub(in crate::cli) fn tables_path(settings: &Settings) -> Option<PathBuf> {
    let service = match &settings.cloud {
        CloudEndpoint::Remote(url) => parse_origin(url).ok()?,
        CloudEndpoint::Local | CloudEndpoint::Unset => "local".to_owned(),
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = service.chars().map(plain).take(100).collect();
    let folder = settings.state.as_deref().filter(|_| !settings.untrusted)?.join(CATALOG_DIR);
    Some(folder.join(format!("{name}.json")))
}

/// Returns the tables that were read last; `None` if the file is missing or damaged.
pub(in crate::cli) fn read_tables(path: &Path) -> Option<Catalog> {
    let text = stack_files::read_optional(path).ok()??;
    serde_json::from_str(&text).ok()
}

/// Stores tables, replacing those of the same names; other tables stay. `None` stores nothing. An error is ignored,
/// because the cache is optional.
pub(in crate::cli) fn save_tables(path: Option<&Path>, read_now: &Catalog) {
    let Some(path) = path.filter(|_| !read_now.tables.is_empty()) else { return };
    let mut all = read_tables(path).unwrap_or_default();
    let tables = read_now.tables.iter().map(|(name, records)| (name.clone(), records.clone()));
    let before = all.tables.clone();
    all.tables.extend(tables);
    if all.tables == before {
        return;
    }
    all.read_at = read_now.read_at;
    let write = || -> anyhow::Result<()> {
        if let Some(folder) = path.parent() {
            stack_files::make_private_directory(folder)?;
        }
        write_files::write_state(path, serde_json::to_string(&all)?.as_bytes())
    };
    let _ = write();
}
