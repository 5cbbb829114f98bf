//! The Kubernetes versions of the catalog, and the allowed upgrades between them.

use crate::emulator::world::engine::json_writer::JsonObjectWriter;

/// A Kubernetes version, in the form `1.minor.patch`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KubernetesVersion {
    pub(crate) id: i64,
    minor: i64,
    patch: i64,
}

const fn new_version(id: i64, minor: i64, patch: i64) -> KubernetesVersion {
    KubernetesVersion { id, minor, patch }
}

/// The versions, oldest first: the searches below rely on the order. The numbers are invented, like the
/// rest of the catalog.
pub(crate) static VERSIONS: [KubernetesVersion; 10] = [
    new_version(811, 31, 9),
    new_version(812, 31, 14),
    new_version(821, 32, 6),
    new_version(822, 32, 11),
    new_version(831, 33, 2),
    new_version(832, 33, 5),
    new_version(833, 33, 7),
    new_version(841, 34, 1),
    new_version(842, 34, 3),
    new_version(851, 35, 1),
];

/// Id of the version that the catalog marks as the default.
const DEFAULT_VERSION_ID: i64 = 842;

impl KubernetesVersion {
    /// Returns the version in the form `1.minor.patch`.
    pub(crate) fn text(&self) -> String {
        format!("1.{}.{}", self.minor, self.patch)
    }

    /// Returns whether one upgrade can lead from this version to `later`: a later patch, or any patch
    /// of the next minor version.
    fn leads_to(&self, later: &Self) -> bool {
        let patch = later.minor == self.minor && later.patch > self.patch;
        patch || later.minor == self.minor + 1
    }

    /// Returns the newest later patch of the same minor version; `None` if this is the newest.
    pub(in crate::emulator::world) fn newest_patch(&self) -> Option<&'static Self> {
        VERSIONS.iter().rfind(|later| later.minor == self.minor && later.patch > self.patch)
    }

    /// Returns the newest patch of the next minor version; `None` if the catalog has no next one.
    pub(in crate::emulator::world) fn next_minor(&self) -> Option<&'static Self> {
        VERSIONS.iter().rfind(|later| later.minor == self.minor + 1)
    }
}

/// Returns the catalog's version with an id; `None` if there is none.
pub(in crate::emulator::world) fn find_version(id: i64) -> Option<&'static KubernetesVersion> {
    VERSIONS.iter().find(|version| version.id == id)
}

/// Returns the versions that a cluster of a version can be upgraded to, oldest first; empty for an unknown id.
pub(in crate::emulator::world) fn possible_upgrades(id: i64) -> Vec<&'static KubernetesVersion> {
    let Some(current) = find_version(id) else { return Vec::new() };
    VERSIONS.iter().filter(|later| current.leads_to(later)).collect()
}

/// Writes the catalog's representation of a version.
pub(in crate::emulator::world) fn write_version(
    fields: &mut JsonObjectWriter<'_>,
    version: &KubernetesVersion,
) {
    fields.write_field("id", &version.id);
    fields.write_field("version", &version.text());
    fields.write_field("is_default", &(version.id == DEFAULT_VERSION_ID));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order_with_ids_of_their_own() {
        let sorted = VERSIONS.windows(2).all(|pair| {
            let key = |version: &KubernetesVersion| (version.minor, version.patch);
            key(&pair[0]) < key(&pair[1]) && pair[0].id < pair[1].id
        });
        assert!(sorted);
        assert!(find_version(DEFAULT_VERSION_ID).is_some());
    }

    #[test]
    fn no_upgrade_skips_a_minor_version_or_downgrades() {
        let ids = |id| possible_upgrades(id).iter().map(|version| version.id).collect::<Vec<_>>();
        assert_eq!(ids(811), [812, 821, 822]);
        assert_eq!(ids(833), [841, 842]);
        assert_eq!(ids(851), [0; 0]);
        assert_eq!(ids(1), [0; 0]);
    }

    #[test]
    fn every_version_but_the_last_has_an_upgrade() {
        for version in &VERSIONS[..VERSIONS.len() - 1] {
            assert!(!possible_upgrades(version.id).is_empty(), "{}", version.text());
        }
        let first = &VERSIONS[0];
        assert_eq!(first.newest_patch().map(|version| version.id), Some(812));
        assert_eq!(first.next_minor().map(|version| version.id), Some(822));
        assert_eq!(VERSIONS[9].newest_patch(), None);
        assert_eq!(VERSIONS[9].next_minor(), None);
    }
}
