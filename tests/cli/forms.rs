//! The encodings in which the tests search for a secret.

use std::fmt::Write as _;

/// Returns a secret in every encoding in which output could contain it, by name.
pub fn forms(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = secret.as_bytes();
    let written = |all: &mut dyn FnMut(&mut String, u8)| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            all(&mut text, *byte);
            text
        })
    };
    let hex = written(&mut |text, byte| _ = write!(text, "{byte:02x}"));
    let url = written(&mut |text, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    });
    let json = serde_json::to_string(secret).unwrap();
    let html =
        secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut forms: Vec<(&'static str, Vec<u8>)> = vec![
        ("raw", bytes.to_vec()),
        ("backwards", bytes.iter().rev().copied().collect()),
        ("backwards by characters", secret.chars().rev().collect::<String>().into()),
        ("JSON", json.trim_matches('"').into()),
        (
            "JSON in JSON",
            serde_json::to_string(&json).unwrap().trim_matches('"').trim_matches(['\\', '"']).into(),
        ),
        ("HTML", html.into()),
        ("URL", url.clone().into()),
        ("URL of a form", url.replace("%20", "+").into()),
        ("hex", hex.clone().into()),
        ("HEX", hex.to_uppercase().into()),
    ];
    for skip in 0..3 {
        let text = base64(&bytes[skip.min(bytes.len())..]);
        forms.push(("base64", text.clone().into()));
        forms.push(("base64url", text.replace('+', "-").replace('/', "_").into()));
    }
    forms
}

/// Returns the base64 of the complete groups of three bytes: what follows the secret does not change it.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks_exact(3) {
        let word = u32::from(chunk[0]) << 16 | u32::from(chunk[1]) << 8 | u32::from(chunk[2]);
        text.extend((0..4).rev().map(|at| char::from(DIGITS[(word >> (6 * at) & 63) as usize])));
    }
    text
}
