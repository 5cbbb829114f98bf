//! `StackOrigin`: the repository and directory from which a stack is applied, and whether it is one that a ledger
//! remembers. Two stacks with the same name on one shared backend would share one ledger: the origin distinguishes
//! them. Pure; absolute paths are not compared.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::address::Name;

/// A directory of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackOrigin {
    /// Host and path of the remote `origin`.
    pub repository: Name,
    /// The directory relative to the repository's root, `.` for the root itself.
    pub directory: Name,
}

impl fmt::Display for StackOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.directory, self.repository)
    }
}

impl StackOrigin {
    /// Parses `REPOSITORY` or `REPOSITORY//DIRECTORY`, the format of `STEAD_ORIGIN`. The given directory is the default
    /// for the second part.
    #[must_use]
    pub fn parse(text: &str, directory: &str) -> Option<Self> {
        let start = text.find("://").map_or(0, |at| at + 3);
        let (repository, directory) = match text[start..].split_once("//") {
            Some((repository, directory)) => (&text[..start + repository.len()], directory),
            None => (text, directory),
        };
        let repository = repository_of(repository).or_else(|| {
            let plain = without_ends(repository);
            let host = plain.split('/').next().unwrap_or_default();
            (!plain.is_empty())
                .then(|| Name::new(format!("{}{}", host.to_lowercase(), &plain[host.len()..])))
        })?;
        Some(Self { repository, directory: normalize_relative_path(directory)? })
    }
}

/// Returns `HOST/PATH` of a remote's URL, so that all URLs of one repository are equal: without scheme, user, port and
/// `.git`, the host in lower case. `None` without a host or a path, and for a path on this machine, which may be
/// another repository on another machine.
#[must_use]
pub fn repository_of(url: &str) -> Option<Name> {
    let (authority, path) = match url.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => return None,
        Some((_, rest)) => rest.split_once('/')?,
        // `user@host:path`, unless a `/` before the colon shows that it is a path.
        None => url.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = port.map_or(host, |(host, _)| host).to_lowercase();
    let path = without_ends(path);
    // One letter before a colon is a Windows drive.
    (host.len() > 1 && !path.is_empty()).then(|| Name::new(format!("{host}/{path}")))
}

/// Returns a path without leading and trailing slashes and without `.git`.
fn without_ends(path: &str) -> &str {
    let path = path.trim().trim_matches('/');
    path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/')
}

/// Returns a relative path in normalized form; `None` for one that leaves the repository.
fn normalize_relative_path(path: &str) -> Option<Name> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return None;
    }
    Some(if parts.is_empty() { Name::new(".") } else { Name::new(parts.join("/")) })
}

/// The location from which a stack is planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurrentOrigin {
    /// The origin; `None` without a repository, or without a remote `origin`.
    pub origin: Option<StackOrigin>,
    /// Directories among the ledger's origins in which this checkout has no stack with this name.
    pub vacated: BTreeSet<Name>,
    /// The checkout is sparse, so that a missing directory proves nothing.
    pub sparse: bool,
}

/// The relation between a directory and the origins of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginMatch {
    /// The directory is one of the origins.
    Same,
    /// The stack was moved here from another directory of the repository.
    Moved,
    /// It cannot be decided: the ledger has no origin, or this directory has none.
    Unknown,
    /// Another directory of the repository has a stack with the same name.
    OtherDirectory,
    /// The ledger is applied from another repository.
    OtherRepository,
}

impl CurrentOrigin {
    /// Compares the directory with the origins in a ledger.
    #[must_use]
    pub fn compare(&self, known: &BTreeSet<StackOrigin>) -> OriginMatch {
        let Some(origin) = self.origin.as_ref().filter(|_| !known.is_empty()) else {
            return OriginMatch::Unknown;
        };
        if known.contains(origin) {
            return OriginMatch::Same;
        }
        let mut same = known.iter().filter(|one| one.repository == origin.repository).peekable();
        if same.peek().is_none() {
            OriginMatch::OtherRepository
        } else if !self.sparse && same.all(|one| self.vacated.contains(&one.directory)) {
            OriginMatch::Moved
        } else {
            OriginMatch::OtherDirectory
        }
    }

    /// Returns the origins of the ledger after an apply from this directory; `None` if they do not change, or if this
    /// directory's origin is unknown. After a move, the old directory is removed from them: a later copy
    /// in it is another stack.
    #[must_use]
    pub fn after_apply(
        &self,
        known: &BTreeSet<StackOrigin>,
        owns_nothing: bool,
    ) -> Option<BTreeSet<StackOrigin>> {
        let origin = self.origin.clone()?;
        let kept = match self.compare(known) {
            OriginMatch::Same => return None,
            _ if owns_nothing => BTreeSet::new(),
            OriginMatch::Moved => {
                known.iter().filter(|one| one.repository != origin.repository).cloned().collect()
            }
            _ => known.clone(),
        };
        Some(kept.into_iter().chain([origin]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(repository: &str, directory: &str) -> StackOrigin {
        StackOrigin { repository: repository.into(), directory: directory.into() }
    }

    #[test]
    fn every_spelling_of_a_url_is_one_repository() {
        for url in [
            "https://github.com/acme/infra",
            "https://github.com/acme/infra.git",
            "https://GitHub.com/acme/infra.git/",
            "https://token:x-oauth@github.com:443/acme/infra.git",
            "ssh://git@github.com:22/acme/infra.git",
            "git@github.com:acme/infra.git",
            "git@github.com:/acme/infra",
            "github.com:acme/infra",
        ] {
            assert_eq!(repository_of(url).as_deref(), Some("github.com/acme/infra"), "{url}");
        }
        for url in
            ["/srv/git/infra.git", "../infra", "./a:b", "file:///srv/git/infra", "C:/git/infra", "", "x"]
        {
            assert_eq!(repository_of(url), None, "{url}");
        }
    }

    #[test]
    fn an_origin_is_parsed_from_a_repository_and_a_directory() {
        let parsed = |text: &str| StackOrigin::parse(text, "below").map(|origin| origin.to_string());
        assert_eq!(parsed("GitHub.com/acme/infra").as_deref(), Some("below of github.com/acme/infra"));
        assert_eq!(
            parsed("git@github.com:acme/infra.git//a/b/").as_deref(),
            Some("a/b of github.com/acme/infra")
        );
        assert_eq!(
            parsed("https://github.com/acme/infra.git//").as_deref(),
            Some(". of github.com/acme/infra")
        );
        assert_eq!(parsed("infra").as_deref(), Some("below of infra"));
        assert_eq!(parsed("infra//../x"), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn a_directory_is_compared_with_the_recorded_origin() {
        let known = BTreeSet::from([origin("r", "a")]);
        let here = |repository: &str, directory: &str, vacated: &[&str], sparse| CurrentOrigin {
            origin: Some(origin(repository, directory)),
            vacated: vacated.iter().map(Name::new).collect(),
            sparse,
        };
        assert_eq!(here("r", "a", &[], false).compare(&known), OriginMatch::Same);
        assert_eq!(here("r", "b", &["a"], false).compare(&known), OriginMatch::Moved);
        assert_eq!(here("r", "b", &["a"], true).compare(&known), OriginMatch::OtherDirectory);
        assert_eq!(here("r", "b", &[], false).compare(&known), OriginMatch::OtherDirectory);
        assert_eq!(here("s", "a", &["a"], false).compare(&known), OriginMatch::OtherRepository);
        assert_eq!(here("s", "a", &[], false).compare(&BTreeSet::new()), OriginMatch::Unknown);
        assert_eq!(CurrentOrigin::default().compare(&known), OriginMatch::Unknown);
    }

    #[test]
    fn a_move_removes_the_old_directory_and_a_new_repository_removes_none() {
        let known = BTreeSet::from([origin("r", "a"), origin("s", "a")]);
        let moved =
            CurrentOrigin { origin: Some(origin("r", "b")), vacated: ["a".into()].into(), sparse: false };
        let after = moved.after_apply(&known, false).unwrap();
        assert_eq!(after, BTreeSet::from([origin("r", "b"), origin("s", "a")]));
        assert_eq!(moved.after_apply(&after, false), None);
        let copy = CurrentOrigin { origin: Some(origin("t", "a")), ..CurrentOrigin::default() };
        assert_eq!(copy.after_apply(&known, true), Some(BTreeSet::from([origin("t", "a")])));
        assert_eq!(CurrentOrigin::default().after_apply(&known, true), None);
    }
}
