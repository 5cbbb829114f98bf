//! Redaction of addresses for messages: removes the password, also from an address that cannot be parsed.
//!
//! In: the address of a backend or a server as the user wrote it. Out: the parts that cannot be confidential. In
//! doubt a part is replaced by `…`: a message that shows too little is better than one with a password.

/// Schemes whose address has a role as its user: the name is not secret and distinguishes two addresses.
const SCHEMES_WITH_PUBLIC_USER: &[&str] = &["mysql", "postgres", "postgresql"];

/// The replacement for a part that may be a password.
const ELIDED: &str = "…";

/// Returns an address for messages: without password, query and fragment. Parts that cannot be distinguished from a
/// password are removed, too.
#[must_use]
pub fn redact_address(text: &str) -> String {
    let bare = |text: &str| !text.contains(['@', '?', '#']);
    let Some((scheme, rest)) = text.split_once(':') else {
        return if bare(text) { text.to_owned() } else { ELIDED.to_owned() };
    };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if scheme.is_empty() || !scheme.chars().all(is_scheme) {
        return ELIDED.to_owned();
    }
    let Some(rest) = rest.strip_prefix("//") else {
        let names_a_file = matches!(scheme, "file" | "s3") && bare(rest);
        return if names_a_file { text.to_owned() } else { format!("{scheme}:{ELIDED}") };
    };
    let Some((user, place)) = rest.rsplit_once('@') else {
        return format!("{scheme}://{}", safe_host(rest));
    };
    // The part after the last `@` may be the end of a password in a query parameter.
    let place = if user.contains(['?', '#']) { ELIDED } else { safe_host(place) };
    let user = user.split([':', '/', '\\', '?', '#', '@']).next().unwrap_or_default();
    if SCHEMES_WITH_PUBLIC_USER.contains(&scheme) && !user.is_empty() {
        format!("{scheme}://{user}@{place}")
    } else {
        format!("{scheme}://{place}")
    }
}

/// Returns host, port and path of the part of an address after the scheme and user, without query and fragment. If the
/// port is not a number, it may be part of a password: then returns `…`.
fn safe_host(place: &str) -> &str {
    let place = place.split(['?', '#']).next().unwrap_or_default();
    let authority = place.split(['/', '\\']).next().unwrap_or_default();
    let port = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) => rest.strip_prefix(':').unwrap_or(rest),
        None => authority.split_once(':').map_or("", |(_, port)| port),
    };
    if port.bytes().all(|byte| byte.is_ascii_digit()) { place } else { ELIDED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("postgres://me:hunter2@db:5432/x?sslmode=require", "postgres://me@db:5432/x"),
            ("postgres://me@[::1]:1/x", "postgres://me@[::1]:1/x"),
            ("postgres://:hunter2@db/x", "postgres://db/x"),
            ("https://me:hunter2@host/state/", "https://host/state/"),
            ("https://hunter2@host/state/", "https://host/state/"),
            ("https://host/state?token=hunter2", "https://host/state"),
            ("https://host/state#hunter2", "https://host/state"),
            ("s3://AKIA:hunter2@bucket/p", "s3://bucket/p"),
            ("s3://bucket/prefix", "s3://bucket/prefix"),
            ("file:/var/lib/stead", "file:/var/lib/stead"),
            ("states", "states"),
            ("", ""),
        ] {
            assert_eq!(redact_address(text), shown, "{text}");
        }
    }

    #[test]
    fn an_invalid_address_is_shown_without_a_possible_password() {
        for text in [
            "me:hunter2@host/db",
            "me:hunter2",
            "hunter2@host",
            "postgres:me:hunter2@host/db",
            "postgres:/me:hunter2@host/db",
            "postgres:hunter2",
            "postgres://me:hunter2",
            "postgres://me:hunter2/db",
            "postgres://me:hunter2%40host/db",
            "postgres://me:hun@ter2@host:hunter2/db",
            "postgres://me@db/x?password=a@hunter2",
            "https://me:hunter2\\@host/",
            "https:\\\\me:hunter2@host/",
            "https:me:hunter2@host",
            "s3:hunter2@bucket",
            "?password=hunter2",
            "host#hunter2",
            "my host:hunter2@x",
            "://hunter2",
        ] {
            let shown = redact_address(text);
            assert!(!shown.contains("hunter2") && !shown.contains("ter2"), "{text}: {shown}");
        }
    }
}
