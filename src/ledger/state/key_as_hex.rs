//! Serialization of a fingerprint key as 64 hexadecimal digits.

use serde::{Deserialize, Deserializer, Serializer, de};

use crate::model::crypto::hex::encode_hex;
use crate::model::values::secret::FingerprintKey;

/// Returns the key as 64 hexadecimal digits.
pub fn to_hex(key: &FingerprintKey) -> String {
    encode_hex(&key.0)
}

/// Parses 64 hexadecimal digits; `None` for other texts.
pub fn parse(text: &str) -> Option<FingerprintKey> {
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; 32];
    for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(FingerprintKey(key))
}

/// Serde adapter for the hexadecimal form of the key.
pub fn serialize<S: Serializer>(key: &FingerprintKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_hex(key))
}

/// Serde adapter for the hexadecimal form of the key.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FingerprintKey, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| de::Error::custom("the key is not 64 hexadecimal digits"))
}
