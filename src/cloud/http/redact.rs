//! Redaction of the service's error responses, before any other code reads them: the secrets of this run are removed,
//! and a response that repeats a part of a secret from its request is replaced by our own text.
//!
//! Every response passes through here (`Client::send`). A success is data, not text: its texts are
//! redacted where they are displayed.

use serde_json::{Value as Json, json};

use super::decode;
use super::message::{HttpRequest, HttpResponse};
use crate::model::redact::Redactor;

/// Maximum size of a refusal that is compared with the secrets of its request; a longer one counts as a repetition.
const MAX_COMPARED_BYTES: usize = 64 << 10;

/// Values of the envelope's `error` that only name the kind of failure.
const KNOWN_ERRORS: &[&str] = &[
    "Bad Gateway",
    "Bad Request",
    "Billing validation failed",
    "Conflict",
    "Forbidden",
    "Gateway Timeout",
    "Internal Server Error",
    "Method Not Allowed",
    "Not Found",
    "Not Implemented",
    "Payload Too Large",
    "Payment Required",
    "Precondition Failed",
    "Request Timeout",
    "Service Unavailable",
    "Too Many Requests",
    "Unauthorized",
    "Unprocessable Entity",
];

/// Values of the envelope's `reason` that contain no data.
const KNOWN_REASONS: &[&str] = &["banned"];

/// Returns a response that is safe to read.
pub(in crate::cloud) fn redact_answer(
    answer: HttpResponse,
    request: &HttpRequest,
    redactor: &Redactor,
) -> HttpResponse {
    if matches!(answer.status, 200..=299) {
        return answer;
    }
    let repeats =
        || answer.body.len() > MAX_COMPARED_BYTES || request.secrets.are_repeated_in(&answer.body);
    if !request.secrets.is_empty() && repeats() {
        let body = replaced_refusal(&answer, request).map(|json| json.to_string().into_bytes());
        return HttpResponse { body: body.unwrap_or_default(), ..answer };
    }
    let Ok(mut json) = decode::parse_json(&answer.body) else { return answer };
    redactor.redact_json(&mut json);
    HttpResponse { body: json.to_string().into_bytes(), ..answer }
}

/// Returns a replacement for the envelope of a refusal that repeats a secret; `None` if the body is not
/// a complete error envelope.
fn replaced_refusal(answer: &HttpResponse, request: &HttpRequest) -> Option<Json> {
    let text = decode::error_text(&answer.body)?;
    let known =
        |list: &[&'static str], given: &str| list.iter().copied().find(|word| same_words(word, given));
    let error = known(KNOWN_ERRORS, &text.error).unwrap_or("Error");
    let reason = text.reason.as_deref().map(|given| known(KNOWN_REASONS, given).unwrap_or("not shown"));
    let fields = named_fields(&answer.body, request);
    let names = match fields.len() {
        0 => String::new(),
        _ => format!(" It names {}.", fields.join(", ")),
    };
    let message =
        format!("The message is not shown: it repeats a part of a secret that the request carried.{names}");
    let mut envelope = json!({"error": error, "message": message});
    if let Some(reason) = reason {
        envelope["reason"] = reason.into();
    }
    Some(envelope)
}

/// Returns whether two spellings are equivalent: `bad_request` is `Bad Request`.
fn same_words(known: &str, given: &str) -> bool {
    let letters = |c: &char| c.is_ascii_alphanumeric();
    let lower = |c: char| c.to_ascii_lowercase();
    known.chars().filter(letters).map(lower).eq(given.chars().filter(letters).map(lower))
}

/// Returns the fields of the request that a response names. Only field names of the tables are used: the keys of maps
/// inside them are the user's.
fn named_fields(answer: &[u8], request: &HttpRequest) -> Vec<String> {
    let text = String::from_utf8_lossy(answer);
    let fields = request.body.as_ref().and_then(Json::as_object).into_iter().flatten();
    let fields = fields.map(|(name, _)| name).filter(|name| is_named(&text, name));
    fields.map(|name| format!("`{name}`")).collect()
}

/// Returns whether a string contains a whole word.
fn is_named(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside) && !word.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::redact::SentSecrets;
    use crate::model::schema::Method;

    const SECRET: &str = "#!/bin/sh\nexport TOKEN=canary-42";

    fn request() -> HttpRequest {
        let mut secrets = SentSecrets::default();
        secrets.push(SECRET);
        HttpRequest {
            method: Method::Post,
            path: "/api/v1/vms".to_owned(),
            query: Vec::new(),
            project: None,
            body: Some(json!({"name": "web", "user_data": SECRET})),
            secrets,
            deadline: Duration::from_secs(1),
        }
    }

    fn answer(status: u16, body: &str) -> HttpResponse {
        let body = body.as_bytes().to_vec();
        HttpResponse::new(status, body)
    }

    fn text(answer: &HttpResponse) -> String {
        String::from_utf8_lossy(&answer.body).into_owned()
    }

    #[test]
    fn an_error_response_with_a_secret_is_replaced_by_a_generic_text() {
        let echo = request().body.unwrap().to_string();
        for (status, body) in [
            (400, json!({"error": "bad_request", "message": format!("user_data is wrong: {SECRET}")})),
            (
                422,
                json!({"error": "Unprocessable Entity", "message": "wrong", "details": {"user_data": SECRET}}),
            ),
            (503, json!({"error": "canary-42", "message": echo})),
            (403, json!({"error": "Billing validation failed", "message": "x", "reason": "canary-42"})),
            (409, json!({"error": "Conflict", "message": "m", "canary-42": 1})),
        ] {
            let redacted =
                redact_answer(answer(status, &body.to_string()), &request(), &Redactor::default());
            let text = text(&redacted);
            assert!(!text.contains("canary") && !text.contains("TOKEN"), "{text}");
            let words = decode::error_text(&redacted.body).unwrap();
            assert!(words.message.starts_with("The message is not shown"), "{text}");
            assert_eq!(words.reason.is_some(), status == 403, "{text}");
            assert_eq!(
                words.message.contains("`user_data`"),
                body.to_string().contains("user_data"),
                "{text}"
            );
            assert_eq!(words.error == "Error", status == 503, "{text}");
        }
        let page =
            redact_answer(answer(502, &format!("<pre>{SECRET}</pre>")), &request(), &Redactor::default());
        assert_eq!(text(&page), "");
        let long = format!("{}{SECRET}", " ".repeat(MAX_COMPARED_BYTES));
        assert_eq!(text(&redact_answer(answer(502, &long), &request(), &Redactor::default())), "");
    }

    #[test]
    fn other_error_responses_keep_their_text() {
        let mut redactor = Redactor::default();
        redactor.add_secret("known-to-the-run");
        let body = r#"{"error":"Bad Request","message":"name: 1 to 63 characters"}"#;
        assert_eq!(text(&redact_answer(answer(400, body), &request(), &redactor)), body);
        let body = r#"{"error":"Bad Request","message":"name: known-to-the-run"}"#;
        let redacted = text(&redact_answer(answer(400, body), &request(), &redactor));
        assert_eq!(redacted, r#"{"error":"Bad Request","message":"name: (secret)"}"#);
        assert_eq!(
            text(&redact_answer(answer(200, body), &request(), &redactor)),
            body,
            "an answer's data"
        );
    }
}
