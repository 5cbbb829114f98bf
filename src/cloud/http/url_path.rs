//! Request paths: fills an endpoint's `{id}` and `{parent}` with segments that cannot change the path's structure.

use std::fmt::Write;

use thiserror::Error;

/// The reason why a path cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlPathError {
    /// The id is invalid or could address another path.
    #[error("`{0}` is not a valid id for a path")]
    Unsafe(String),
    /// The endpoint needs an id that is missing.
    #[error("{0} needs an id")]
    Missing(&'static str),
}

/// Maximum length of an id in a path.
const MAX_ID_CHARS: usize = 255;

/// Returns the path of an endpoint for an object and its parent.
///
/// # Errors
/// When an id is missing, empty, too long, a dot segment, or holds a control character or a slash.
pub fn fill_path(
    path: &'static str,
    id: Option<&str>,
    parent: Option<&str>,
) -> Result<String, UrlPathError> {
    fill_all(path, |name| match name {
        "id" => id,
        "parent" => parent,
        _ => None,
    })
}

/// Returns the path of an endpoint with all its placeholders filled.
///
/// # Errors
/// The errors of `fill_path`.
pub fn fill_all<'a>(
    path: &'static str,
    named: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, UrlPathError> {
    let mut filled = String::with_capacity(path.len() + 48);
    for segment in path.split('/').skip(1) {
        filled.push('/');
        match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => encode_segment(named(name).ok_or(UrlPathError::Missing(path))?, &mut filled)?,
            None => filled.push_str(segment),
        }
    }
    Ok(filled)
}

/// Returns whether a string is an id of the service: a UUID or a short id.
#[must_use]
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Returns whether a string can be the name that identifies an object.
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_ID_CHARS && !text.chars().any(char::is_control)
}

/// Returns whether a string is safe as one segment of a path.
#[must_use]
pub fn is_segment(text: &str) -> bool {
    let dots = text == "." || text == "..";
    // Encoding would make it harmless, but a proxy that decodes twice turns `%2f` into a slash.
    let hostile = |c: char| c.is_control() || matches!(c, '/' | '\\' | '%');
    !text.is_empty() && text.len() <= MAX_ID_CHARS && !dots && !text.chars().any(hostile)
}

fn encode_segment(text: &str, into: &mut String) -> Result<(), UrlPathError> {
    if !is_segment(text) {
        return Err(UrlPathError::Unsafe(text.chars().take(64).collect()));
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            into.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USERS: &str = "/api/v1/databases/{parent}/users/{id}";

    #[test]
    fn path_templates_are_filled_and_percent_encoded() {
        let path = fill_path(USERS, Some("read only?"), Some("db1")).unwrap();
        assert_eq!(path, "/api/v1/databases/db1/users/read%20only%3F");
        assert_eq!(fill_path("/api/v1/vms", None, None).unwrap(), "/api/v1/vms");
        assert_eq!(
            fill_path("/api/v1/vms/{id}", None, None),
            Err(UrlPathError::Missing("/api/v1/vms/{id}"))
        );
        assert_eq!(fill_path("/x/{other}", Some("a"), None), Err(UrlPathError::Missing("/x/{other}")));
        let named = |name: &str| (name == "preview").then_some("p 1");
        assert_eq!(fill_all("/x/{preview}", named).unwrap(), "/x/p%201");
    }

    #[test]
    fn an_id_that_could_change_the_path_is_rejected() {
        for id in ["", ".", "..", "../api-keys", "..%2fapi-keys", "a/b", "a\\b", "a\r\nb", "\0"] {
            assert!(fill_path(USERS, Some(id), Some("db1")).is_err(), "{id:?}");
            assert!(fill_path(USERS, Some("x"), Some(id)).is_err(), "{id:?}");
        }
        assert!(fill_path(USERS, Some(&"a".repeat(256)), Some("db1")).is_err());
    }

    proptest! {
        #[test]
        fn a_filled_path_stays_under_its_prefix(id in any::<String>()) {
            if let Ok(path) = fill_path("/api/v1/vms/{id}/start", Some(&id), None) {
                let rest = path.strip_prefix("/api/v1/vms/").unwrap();
                let (segment, tail) = rest.split_once('/').unwrap();
                prop_assert_eq!(tail, "start");
                prop_assert!(!segment.is_empty() && segment != "." && segment != "..");
                prop_assert!(segment.bytes().all(|b| b.is_ascii_graphic() && !b"?#/\\".contains(&b)));
            }
        }
    }
}
