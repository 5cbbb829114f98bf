//! Paths as values: relative, below the stack's directory, and the same on every system.

use std::path::{Component, Path};

/// Returns why a path must not be used, as a clause; `None` when it may.
pub(in crate::config) fn path_refusal(path: &str) -> Option<&'static str> {
    if path.is_empty() || path.contains('\0') {
        return Some("the path is empty or holds a NUL character");
    }
    // A backslash separates on one system and not on another; `~` is a shell's.
    if path.contains('\\') || path.starts_with('~') {
        return Some("the path is not plain: use `/`, and no `~`");
    }
    let windows = path.as_bytes().get(1) == Some(&b':');
    let outside =
        Path::new(path).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir));
    (outside || windows)
        .then_some("the path leaves the stack's directory: it must be relative, without `..`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_confined() {
        for path in ["key.pub", "./keys/a.pub", "a/./b", "..a/b"] {
            assert_eq!(path_refusal(path), None, "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../../x", "~/x", "C:/x", "a\\..\\b", "a\0b"] {
            assert!(path_refusal(path).is_some(), "{path}");
        }
    }
}
