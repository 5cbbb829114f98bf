//! Tests of redaction: all supported encodings, short secrets, many secrets, and repetitive text.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::*;
use crate::model::crypto::hex::encode_hex;

const SECRET: &str = "Hunter2 \"quoted\" & <b> é\nsecond-line-of-it";

fn url(text: &str) -> String {
    text.bytes().fold(String::new(), |text, byte| text + &format!("%{byte:02X}"))
}

/// Returns a secret in every encoding that `redact` decodes.
fn encodings(secret: &str) -> Vec<String> {
    let json = serde_json::to_string(secret).unwrap();
    let escaped = secret.encode_utf16().fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"));
    let html: String = secret
        .chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&#62;".to_owned(),
            '"' => "&#x22;".to_owned(),
            c => c.to_string(),
        })
        .collect();
    let mut all = vec![
        secret.to_owned(),
        json.trim_matches('"').to_owned(),
        escaped,
        html,
        url(secret),
        url(secret).replace("%20", "+"),
        encode_hex(secret.as_bytes()),
        encode_hex(secret.as_bytes()).to_uppercase(),
        serde_json::to_string(&json).unwrap(),
        STANDARD.encode(json.as_bytes()),
        url(&STANDARD.encode(secret)),
    ];
    for before in ["", "x", "xy"] {
        let text = format!("{before}{secret}{before}");
        all.extend([STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)]);
        let wrapped: Vec<String> = STANDARD
            .encode(&text)
            .as_bytes()
            .chunks(20)
            .map(|c| String::from_utf8_lossy(c).into())
            .collect();
        all.push(wrapped.join("\n"));
        all.push(wrapped.join("\r\n"));
    }
    all
}

#[test]
fn a_secret_is_redacted_in_every_encoding() {
    let mut redactor = Redactor::default();
    redactor.add_secret(SECRET);
    for text in encodings(SECRET) {
        for (before, after) in [("", ""), ("the value `", "` is wrong"), ("größe: ", "→")] {
            let redacted = redactor.redact(&format!("{before}{text}{after}")).into_owned();
            assert!(redacted.contains(REDACTED), "{text}: {redacted}");
            assert!(redacted.starts_with(before) && redacted.ends_with(after), "{text}: {redacted}");
            assert!(redacted.len() <= before.len() + after.len() + 3 * REDACTED.len() + 8, "{redacted}");
        }
    }
}

#[test]
fn each_line_of_a_secret_is_redacted() {
    let mut redactor = Redactor::default();
    redactor.add_secret("first line of it\n  second line of it\nshort");
    let text = "1: second line of it, 2: short, 3: first line of it.";
    assert_eq!(redactor.redact(text), "1: (secret), 2: short, 3: (secret).");
}

#[test]
fn short_secrets_are_not_redacted() {
    let mut redactor = Redactor::default();
    for secret in ["", "a", "dev", "1234567", "\n\n\n", "   a   "] {
        redactor.add_secret(secret);
    }
    let text = "a dev at 1234567 said dev-a, and a deviation";
    assert_eq!(redactor.redact(text), text);
}

#[test]
fn overlapping_secrets_are_redacted_completely() {
    let mut redactor = Redactor::default();
    for secret in ["password", "password-one", "password-one-and-more", "one-and-more-yet", "pass-through"]
    {
        redactor.add_secret(secret);
    }
    assert_eq!(redactor.redact("<password-one-and-no>"), "<(secret)-and-no>");
    assert_eq!(redactor.redact("<password-one-and-more-yet>"), "<(secret)>");
    assert_eq!(redactor.redact("<passwords>, <passwor>"), "<(secret)s>, <passwor>");
}

#[test]
fn keys_and_values_of_a_document_are_redacted() {
    let mut redactor = Redactor::default();
    redactor.add_secret("canary-0123456789");
    let mut json = serde_json::json!({"a": ["x canary-0123456789", 1], "canary-0123456789": {"b": null}});
    redactor.redact_json(&mut json);
    assert_eq!(json, serde_json::json!({"a": ["x (secret)", 1], "(secret)": {"b": null}}));
}

#[test]
fn redaction_of_repetitive_text_takes_linear_time() {
    let mut redactor = Redactor::default();
    redactor.add_secret(&"a".repeat(50_000));
    redactor.add_secret(&format!("{}b", "a".repeat(40_000)));
    assert_eq!(redactor.redact(&"a".repeat(200_000)), REDACTED);
}

fn sent(texts: &[&str]) -> SentSecrets {
    let mut sent = SentSecrets::default();
    for text in texts {
        sent.push(text);
    }
    sent
}

#[test]
fn six_consecutive_bytes_of_a_secret_count_as_a_repetition() {
    let one = sent(&[SECRET]);
    for text in encodings(SECRET) {
        assert!(one.are_repeated_in(format!("refused: {text}").as_bytes()), "{text}");
    }
    for text in ["Hunter", "HUNTER2", "2retnuH", "ond-li", "\"message\": \"Hun\\u0074er\"", "SHVudGVyMg"] {
        assert!(one.are_repeated_in(text.as_bytes()), "{text}");
    }
    for text in ["Hunte", "the request is wrong: user_data", ""] {
        assert!(!one.are_repeated_in(text.as_bytes()), "{text}");
    }
    // Other base64 characters may precede it, so the position of its groups is not known.
    for before in ["", "A", "AB", "ABC"] {
        let part = STANDARD.encode(format!("xy{}", &SECRET[1..SECRET.len() - 1]));
        assert!(one.are_repeated_in(format!("{before}{part}").as_bytes()), "{before}{part}");
    }
    // A request may send a script as base64, and the response quote its decoded text.
    assert!(sent(&[&STANDARD.encode("#!/bin/sh canary")]).are_repeated_in(b"line 1: sh canary: not found"));
    assert!(!SentSecrets::default().are_repeated_in(b"anything at all"));
}

#[test]
fn debug_output_shows_no_secret() {
    let mut redactor = Redactor::default();
    let mut sent = sent(&["canary-0123456789"]);
    sent.push_private("canary-private");
    sent.register_secrets(&mut redactor);
    assert!(!format!("{sent:?} {redactor:?}").contains("canary"));
    assert_eq!(redactor.redact("canary-0123456789 canary-private"), "(secret) canary-private");
}
