//! Reads golden files and compares values with them.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the path of a golden file.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/files").join(name)
}

/// Returns the text of a golden file.
pub fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares the current output with a golden file. With `STEAD_BLESS_GOLDEN=1` it replaces the file instead: only for
/// a new format, or a part of one that no release has written.
pub fn assert_same(name: &str, written: &str) {
    if std::env::var_os("STEAD_BLESS_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(path(name), written).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(path(name)).unwrap_or_default();
    if let Some((number, (old, new))) =
        golden.lines().zip(written.lines()).enumerate().find(|(_, (old, new))| old != new)
    {
        let at = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let around = |text: &str| -> String {
            let tail: String = text.chars().skip(at.saturating_sub(60)).collect();
            tail.chars().take(160).collect()
        };
        panic!("{name}, line {}, byte {at}:\n  file: {}\n  now:  {}", number + 1, around(old), around(new));
    }
    assert_eq!(golden.len(), written.len(), "{name}: one of the two is longer");
}

/// Reads a golden file as a value, and checks that the value serializes to the same bytes.
pub fn round_trip<T: Serialize + DeserializeOwned>(name: &str) -> T {
    let value: T = serde_json::from_str(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_same(name, &format!("{}\n", serde_json::to_string(&value).unwrap()));
    value
}
