//! Classification of a response, or of a missing one, to a mutating request. Pure.
//!
//! Classified once and never guessed: only a complete 4xx response in the documented envelope means "no effect", only
//! bytes that were never sent mean "not sent", and everything else is unknown.

use serde_json::Value as Json;

use super::decode;
use super::message::{HttpResponse, TransportError};
use crate::cloud::error::{ApiError, MutationOutcome, OneTimeSecret};
use crate::model::address::Name;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Endpoint, Kind};

/// The outcome of a request, before its payload is decoded.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cloud) enum ResponseClass {
    /// 2xx without a reported failure; the body, where there is one.
    Success(Option<Json>),
    /// It ended without success.
    Failure(MutationOutcome),
}

fn unknown_outcome(reason: impl Into<String>, settled: bool) -> MutationOutcome {
    MutationOutcome::Unknown { reason: reason.into(), settled, answer: None }
}

/// Returns the refusal in a response with a complete error envelope.
pub(in crate::cloud) fn parse_refusal(answer: &HttpResponse) -> Option<ApiError> {
    let text = decode::error_text(&answer.body)?;
    Some(ApiError { status: answer.status, error: text.error, message: text.message, reason: text.reason })
}

/// Classifies the result of one exchange.
pub(in crate::cloud) fn classify_exchange(result: Result<HttpResponse, TransportError>) -> ResponseClass {
    let answer = match result {
        Ok(answer) => answer,
        Err(TransportError::NotSent { host, reason }) => {
            return ResponseClass::Failure(MutationOutcome::NotSent(format!(
                "cannot reach {host}: {reason}"
            )));
        }
        Err(error @ TransportError::Untrusted { .. }) => {
            return ResponseClass::Failure(MutationOutcome::NotSent(error.to_string()));
        }
        Err(TransportError::NotPermitted { reason }) => {
            return ResponseClass::Failure(MutationOutcome::NotSent(reason));
        }
        Err(lost @ TransportError::Lost { .. }) => {
            return ResponseClass::Failure(unknown_outcome(lost.to_string(), false));
        }
    };
    ResponseClass::Failure(match (answer.status, parse_refusal(&answer)) {
        (200..=299, _) => return classify_success(&answer),
        (408, _) => unknown_outcome("408, the service timed out waiting for the request", false),
        (400..=499 | 501, Some(refusal)) => MutationOutcome::Refused(refusal),
        (500..=599, Some(refusal)) => {
            MutationOutcome::Unknown { reason: refusal.to_string(), settled: true, answer: Some(refusal) }
        }
        (status @ 300..=399, _) => {
            unknown_outcome(format!("{status} is a redirect, which stead does not follow"), false)
        }
        (status, _) => unknown_outcome(format!("{status} without an error message of the service"), false),
    })
}

fn classify_success(answer: &HttpResponse) -> ResponseClass {
    if answer.body.is_empty() && answer.status != 200 {
        return ResponseClass::Success(None);
    }
    match decode::parse_json(&answer.body) {
        Ok(json) if decode::says_failure(&json) => ResponseClass::Failure(unknown_outcome(
            format!("{} that reports a failure", answer.status),
            false,
        )),
        Ok(json @ Json::Object(_)) => ResponseClass::Success(Some(json)),
        Ok(_) => ResponseClass::Failure(unknown_outcome("the answer is not an object", false)),
        Err(reason) => {
            ResponseClass::Failure(unknown_outcome(format!("{}, but {reason}", answer.status), false))
        }
    }
}

/// Returns the outcome of a creation: done only with an object that has a valid id.
pub(in crate::cloud) fn created_object(
    kind: &Kind,
    parent: Option<&Name>,
    json: Option<&Json>,
) -> MutationOutcome {
    let record = json.and_then(|json| decode::find_payload(json, kind.api.create.envelope));
    let Some(record) = record else {
        return unknown_outcome("created, but the answer holds no object", false);
    };
    match decode::parse_object(kind, record, parent, false) {
        Ok(object) => {
            let secret = decode::shown_once(kind, record).or_else(|| decode::shown_once(kind, json?));
            MutationOutcome::Done(Some(Box::new(object)), secret.map(OneTimeSecret))
        }
        Err(reason) => unknown_outcome(format!("created, but {reason}"), false),
    }
}

/// Returns the outcome of a call. A response about anything but the object itself (an invoice, an
/// attachment) is not an object.
pub(in crate::cloud) fn called_object(
    kind: &Kind,
    endpoint: Endpoint,
    key: &ObjectKey,
    json: Option<&Json>,
) -> MutationOutcome {
    let record = json.and_then(|json| decode::find_payload(json, endpoint.envelope));
    let object =
        record.and_then(|record| decode::parse_object(kind, record, key.parent.as_ref(), false).ok());
    let is_asked_for = |id: &Name| {
        *id == key.id || record.is_some_and(|record| decode::all_ids(kind, record).any(|id| id == key.id))
    };
    let object = object.filter(|object| is_asked_for(&object.id));
    MutationOutcome::Done(object.map(|object| Box::new(Object { id: key.id.clone(), ..object })), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    fn answer(status: u16, body: &str) -> HttpResponse {
        let body = body.as_bytes().to_vec();
        HttpResponse::new(status, body)
    }

    /// `done`, `refused`, `not sent`, `unknown`, `settled`.
    fn word(settled: &ResponseClass) -> &'static str {
        match settled {
            ResponseClass::Success(_) => "success",
            ResponseClass::Failure(MutationOutcome::Done(..)) => "done",
            ResponseClass::Failure(MutationOutcome::Refused(_)) => "refused",
            ResponseClass::Failure(MutationOutcome::NotSent(_)) => "not sent",
            ResponseClass::Failure(MutationOutcome::Unknown { settled: true, .. }) => "settled",
            ResponseClass::Failure(MutationOutcome::Unknown { .. }) => "unknown",
        }
    }

    #[test]
    fn responses_are_classified_by_status_and_body() {
        let envelope = r#"{"error": "E", "message": "m"}"#;
        let html = "<html>bad gateway</html>";
        let table = [
            (200, r#"{"success": true}"#, "success"),
            (201, r#"{"data": {}}"#, "success"),
            (204, "", "success"),
            (200, "", "unknown"),
            (200, html, "unknown"),
            (200, r#"{"data": {"id""#, "unknown"),
            (200, r#"{"success": false, "message": "no"}"#, "unknown"),
            (200, "[]", "unknown"),
            (301, envelope, "unknown"),
            (302, envelope, "unknown"),
            (303, "", "unknown"),
            (307, "", "unknown"),
            (308, envelope, "unknown"),
            (400, envelope, "refused"),
            (401, envelope, "refused"),
            (404, html, "unknown"),
            (408, envelope, "unknown"),
            (409, envelope, "refused"),
            (409, r#"{"error": "Conflict"}"#, "unknown"),
            (429, envelope, "refused"),
            (429, html, "unknown"),
            (500, envelope, "settled"),
            (500, html, "unknown"),
            (501, envelope, "refused"),
            (501, html, "unknown"),
            (503, envelope, "settled"),
            (504, html, "unknown"),
            (999, envelope, "unknown"),
        ];
        for (status, body, wanted) in table {
            assert_eq!(word(&classify_exchange(Ok(answer(status, body)))), wanted, "{status} {body}");
        }
        let (host, reason) = ("h".to_owned(), "r".to_owned());
        let not_sent = TransportError::NotSent { host: host.clone(), reason: reason.clone() };
        assert_eq!(word(&classify_exchange(Err(not_sent))), "not sent");
        assert_eq!(word(&classify_exchange(Err(TransportError::Lost { host, reason }))), "unknown");
    }

    #[test]
    fn a_create_response_needs_a_valid_id() {
        let vm = REGISTRY.kind("vm").unwrap();
        let done = |body: &str| {
            let json: Json = serde_json::from_str(body).unwrap();
            matches!(created_object(vm, None, Some(&json)), MutationOutcome::Done(Some(_), None))
        };
        assert!(done(r#"{"success": true, "data": {"id": "a1"}}"#));
        assert!(!done(r#"{"success": true, "data": {"id": "../a"}}"#));
        assert!(!done(r#"{"success": true, "data": {"name": "web"}}"#));
        assert!(!done(r#"{"success": true, "message": "ok"}"#));
        assert!(matches!(created_object(vm, None, None), MutationOutcome::Unknown { settled: false, .. }));
    }

    #[test]
    fn a_secret_in_a_response_is_returned_once() {
        let user = REGISTRY.kind("database_user").unwrap();
        let json = serde_json::json!({"data": {"name": "app", "password": "canary"}});
        let outcome = created_object(user, Some(&"db1".into()), Some(&json));
        assert!(!format!("{outcome:?}").contains("canary"));
        let MutationOutcome::Done(Some(object), Some(OneTimeSecret(secret))) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!((object.id.as_str(), secret.expose()), ("app", Some("canary")));
        assert!(!object.attributes.contains_key("password"));
    }

    #[test]
    fn a_response_about_another_object_is_not_the_object() {
        let volume = REGISTRY.kind("volume").unwrap();
        let key = ObjectKey { kind: "volume".into(), parent: None, id: "v1".into() };
        let call = volume.call("resize").unwrap();
        for (id, found) in [("v1", true), ("v2", false)] {
            let json = serde_json::json!({"success": true, "data": {"id": id}});
            let outcome = called_object(volume, call.endpoint, &key, Some(&json));
            assert_eq!(matches!(outcome, MutationOutcome::Done(Some(_), None)), found, "{id}");
        }
    }
}
