//! Paths that a stack's files may name: relative, and below the stack's directory.

use std::path::{Component, Path};

use super::load::ReadFile;

/// Largest file that an expression may read.
const MOST_BYTES: usize = 1 << 20;

/// Tells why a path may not be used; `None` when it may.
pub(super) fn refused(path: &str) -> Option<&'static str> {
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

/// Reads a text file below the stack's directory.
pub(super) fn read_text(read: ReadFile<'_>, path: &str) -> Result<String, String> {
    if let Some(why) = refused(path) {
        return Err(format!("`{path}` cannot be read: {why}"));
    }
    let bytes = read(Path::new(path)).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    if bytes.len() > MOST_BYTES {
        return Err(format!("`{path}` is larger than {MOST_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_confined() {
        for path in ["key.pub", "./keys/a.pub", "a/./b", "..a/b"] {
            assert_eq!(refused(path), None, "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../../x", "~/x", "C:/x", "a\\..\\b", "a\0b"] {
            assert!(refused(path).is_some(), "{path}");
        }
    }

    #[test]
    fn only_small_texts_are_read() {
        let read = |path: &Path| match path.to_str() {
            Some("big") => Ok(vec![b'a'; MOST_BYTES + 1]),
            Some("bytes") => Ok(vec![0xff]),
            Some("good") => Ok(b"hello".to_vec()),
            _ => Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        };
        assert_eq!(read_text(&read, "good"), Ok("hello".into()));
        for path in ["big", "bytes", "none", "../good"] {
            assert!(read_text(&read, path).is_err(), "{path}");
        }
    }
}
