//! Normalized path below the root within which configuration is shared. It has no `.` and no `..`, so two
//! spellings of one file are equal, and no path leaves the root.

use std::path::PathBuf;

use crate::model::address::Name;

/// A file or a directory below the root.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct ConfigPath(Vec<Name>);

/// Reason why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum ConfigPathError {
    /// The path is empty, absolute, or has characters that operating systems interpret differently.
    NotPlain,
    /// The path leads above the root.
    Outside,
}

impl ConfigPath {
    /// Returns the path with these components.
    pub(in crate::config) fn new(parts: Vec<Name>) -> Self {
        Self(parts)
    }

    /// Resolves a written path relative to this directory.
    ///
    /// # Errors
    /// When it is not plain, or leads above the root.
    pub(in crate::config) fn join(&self, path: &str) -> Result<Self, ConfigPathError> {
        let windows = path.as_bytes().get(1) == Some(&b':');
        if path.is_empty() || path.starts_with(['/', '~']) || path.contains(['\\', '\0']) || windows {
            return Err(ConfigPathError::NotPlain);
        }
        let mut parts = self.0.clone();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop().ok_or(ConfigPathError::Outside)?),
                name => parts.push(Name::new(name)),
            }
        }
        Ok(Self(parts))
    }

    /// Returns the directory that contains it; the root for the root.
    pub(in crate::config) fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// Returns the last segment of the path; empty for the root directory.
    pub(in crate::config) fn name(&self) -> &str {
        self.0.last().map_or("", Name::as_str)
    }

    /// Returns the path from the root; empty for the root.
    pub(in crate::config) fn path(&self) -> PathBuf {
        self.0.iter().map(Name::as_str).collect()
    }

    /// Returns the path relative to a directory, with `..` where necessary; `.` for the directory itself.
    pub(in crate::config) fn seen_from(&self, directory: &Self) -> String {
        let shared = self.0.iter().zip(&directory.0).take_while(|(a, b)| a == b).count();
        let up = std::iter::repeat_n("..", directory.0.len() - shared);
        let way: Vec<&str> = up.chain(self.0[shared..].iter().map(Name::as_str)).collect();
        if way.is_empty() { ".".to_owned() } else { way.join("/") }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_resolved_and_confined_to_the_root() {
        let shop = ConfigPath::new(vec!["stacks".into(), "shop".into()]);
        for (path, wanted) in [
            ("a.stead.yaml", Ok("stacks/shop/a.stead.yaml")),
            ("./x/../a", Ok("stacks/shop/a")),
            ("../../m//n/", Ok("m/n")),
            ("../..", Ok("")),
            ("../../..", Err(ConfigPathError::Outside)),
            ("../../../stacks/shop", Err(ConfigPathError::Outside)),
            ("/etc/passwd", Err(ConfigPathError::NotPlain)),
            ("", Err(ConfigPathError::NotPlain)),
            ("~/x", Err(ConfigPathError::NotPlain)),
            ("C:/x", Err(ConfigPathError::NotPlain)),
            ("a\\..\\b", Err(ConfigPathError::NotPlain)),
        ] {
            let found = shop.join(path).map(|place| place.path().to_string_lossy().into_owned());
            assert_eq!(found, wanted.map(str::to_owned), "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_relative_path_resolves_to_its_target(from in "[ab](/[ab]){0,3}", to in "[ab](/[ab]){0,3}") {
            let place = |text: &str| ConfigPath::default().join(text).unwrap();
            let (from, to) = (place(&from), place(&to));
            prop_assert_eq!(from.join(&to.seen_from(&from)), Ok(to));
        }
    }
}
