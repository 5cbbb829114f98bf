//! Short strings that name something: locations of ledgers, URLs, ids in paths; and leases.

use stead::cloud::http::url_path::{fill_path, is_id, is_segment};
use stead::ledger::stores::location::LedgerLocation;
use stead::ledger::stores::shared::lease::Lease;
use stead::model::address::Address;

pub fn addresses(bytes: &[u8]) {
    lease(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    place(text);
    if let Ok(address) = Address::parse(text) {
        assert_eq!(address.as_str(), text);
        assert!(address.segments().count() >= 2 && address.is_within(&address));
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)), "{text}");
    }
    assert!(!is_id(text) || is_segment(text));
    if let Ok(path) = fill_path("/api/v1/databases/{parent}/users/{id}", Some(text), Some(text)) {
        assert!(is_segment(text));
        let segments: Vec<&str> = path.split('/').collect();
        assert_eq!(segments.len(), 7, "{path}");
        assert_eq!((segments[3], segments[5], segments[4]), ("databases", "users", segments[6]));
        assert!(!matches!(segments[4], "" | "." | ".."), "{path}");
        assert!(path.bytes().all(|b| b.is_ascii_graphic() && !b"?#\\".contains(&b)), "{path}");
    }
}

/// A ledger URL points to the location that it names, and no description of it shows a password.
fn place(text: &str) {
    let secret = text.split_once("://").and_then(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next()?;
        let (user, _) = authority.rsplit_once('@')?;
        user.split_once(':').map(|(_, password)| password)
    });
    let telling = secret.filter(|secret| secret.len() >= 6);
    match LedgerLocation::parse(text) {
        Ok(place) => location(&place, text),
        Err(bad) => {
            let rest = text.replacen(telling.unwrap_or_default(), "", 1);
            let told =
                telling.is_some_and(|secret| !rest.contains(secret) && bad.to_string().contains(secret));
            assert!(!told, "{bad}");
        }
    }
}

/// The parts of a location are those that its text may have.
fn location(place: &LedgerLocation, text: &str) {
    if let LedgerLocation::S3 { bucket, prefix } = place {
        assert!(!bucket.is_empty() && !bucket.contains('/'));
        assert!(prefix.split('/').all(|part| part != ".." && part != "."), "{prefix}");
    }
    if let LedgerLocation::Directory(directory) = place {
        assert!(!directory.as_os_str().is_empty());
    }
    if let LedgerLocation::Http(url) = place {
        assert!(url.starts_with("https:") || url.starts_with("http:"));
    }
    if let LedgerLocation::Postgres(url) = place {
        assert_eq!(url, text);
    }
}

/// A lease that can be read is written the same again.
fn lease(bytes: &[u8]) {
    let Ok(lease) = serde_json::from_slice::<Lease>(bytes) else { return };
    let written = serde_json::to_vec(&lease).expect("a lease can be written");
    assert_eq!(serde_json::from_slice::<Lease>(&written).expect("what was written can be read"), lease);
    let _ = lease.holder.as_ref().map(stead::ledger::state::holder::LeaseHolder::in_words);
}
