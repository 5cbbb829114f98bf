//! Uploads of bytes to an address that the service signs, without the API key.
//!
//! The address is often on another host, and its possession permits the upload: its query is never shown.

use serde_json::Value as Json;

use super::mutation::MutationClient;
use crate::cloud::error::MutationOutcome;
use crate::cloud::http::decode;
use crate::cloud::http::message::{
    HttpResponse, MAX_UPLOAD_KEY_BYTES, MAX_URL_BYTES, SignedUpload, SignedUrl, Transport, TransportError,
    UploadGrant,
};
use crate::cloud::http::requests::Requests;
use crate::cloud::http::response_class::ResponseClass;
use crate::cloud::http::url_path::fill_path;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::ApiCall;

/// The reason why an upload did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadError {
    /// Another attempt may succeed, with another grant.
    Transient(String),
    /// Another attempt would fail in the same way.
    Final(String),
}

/// Requests permission for an upload. It changes nothing, so a request without a response can be repeated.
///
/// # Errors
/// The outcome of a request that failed; `Unknown` when it succeeded but its answer has no valid address.
pub async fn request_grant<C: Transport, K: Clock, R: Random>(
    changes: &MutationClient<'_, C, K, R>,
    call: &'static ApiCall,
    object: &ObjectKey,
    project: Option<&Name>,
) -> Result<UploadGrant, MutationOutcome> {
    let path = fill_path(call.endpoint.path, Some(&object.id), object.parent.as_deref());
    match changes.send_mutation(call.endpoint, path, project, Json::Null).await {
        ResponseClass::Failure(mutation) => Err(mutation),
        ResponseClass::Success(json) => {
            json.as_ref().and_then(parse_grant).ok_or_else(|| MutationOutcome::Unknown {
                reason: "the answer has no upload address".to_owned(),
                settled: true,
                answer: None,
            })
        }
    }
}

/// Parses a grant from the top level of the response or from its `data`. `None` when a field is missing,
/// empty or too long.
fn parse_grant(json: &Json) -> Option<UploadGrant> {
    let inside = json.get("data").filter(|data| data.is_object()).unwrap_or(json);
    let text = |name: &str, most| {
        inside.get(name)?.as_str().filter(|text: &&str| !text.is_empty() && text.len() <= most)
    };
    Some(UploadGrant {
        url: SignedUrl::new(text("upload_url", MAX_URL_BYTES)?),
        key: text("blob_key", MAX_UPLOAD_KEY_BYTES)?.into(),
    })
}

/// Uploads to a signed address, once. The rate limit does not apply: this is another host.
///
/// # Errors
/// `Final` for a refusal that a new grant cannot change, otherwise `Transient`. Neither contains the signature.
pub(in crate::cloud) async fn upload<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    upload: &SignedUpload,
) -> Result<(), UploadError> {
    match requests.cloud.upload(upload).await {
        Ok(answer) => classify_upload(&answer, &upload.url),
        Err(TransportError::NotPermitted { reason }) => Err(UploadError::Final(reason)),
        Err(error) => Err(UploadError::Transient(error.to_string())),
    }
}

fn classify_upload(answer: &HttpResponse, url: &SignedUrl) -> Result<(), UploadError> {
    let words = decode::error_text(&answer.body).map(|text| format!(" {}: {}", text.error, text.message));
    let words = words.filter(|words| !url.leaks_in(words)).unwrap_or_default();
    match answer.status {
        200..=299 => Ok(()),
        status @ 300..=399 => {
            Err(UploadError::Final(format!("{status} is a redirect, which stead does not follow")))
        }
        // An expired grant, or an overloaded host.
        status @ (403 | 408 | 429 | 500..) => Err(UploadError::Transient(format!("{status}{words}"))),
        status => Err(UploadError::Final(format!("{status}{words}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_signed_url_is_not_printed() {
        let url = SignedUrl::new("https://user:canary-pw@store.example/app?sig=canary-sig#x");
        assert_eq!(format!("{url:?}"), r#"SignedUrl("store.example/app")"#);
        let upload = SignedUpload::new(url, vec![Bytes::from_static(b"ab")]);
        assert!(!format!("{upload:?}").contains("canary"));
        assert_eq!((upload.length(), upload.deadline), (2, Duration::from_mins(1)));
    }

    #[test]
    fn an_upload_grant_is_found_in_each_envelope() {
        let plain = json!({"success": true, "upload_url": "u", "blob_key": "k", "expires_in_seconds": 9});
        let inside = json!({"success": true, "data": {"upload_url": "u", "blob_key": "k"}});
        let grant = Some(UploadGrant { url: SignedUrl::new("u"), key: "k".into() });
        assert_eq!((parse_grant(&plain), parse_grant(&inside)), (grant.clone(), grant));
        for (name, value) in
            [("blob_key", json!("")), ("upload_url", json!(7)), ("blob_key", json!("k".repeat(2_000)))]
        {
            let mut bad = plain.clone();
            bad[name] = value;
            assert_eq!(parse_grant(&bad), None, "{bad}");
        }
    }

    #[test]
    fn an_upload_response_is_classified_without_repeating_the_signature() {
        let url = SignedUrl::new("https://h/x?signature=canary-0123456789");
        let judged = |status, body: Json| {
            let body = body.to_string().into_bytes();
            let answer = HttpResponse::new(status, body);
            classify_upload(&answer, &url)
        };
        let says = |message: &str| json!({"error": "E", "message": message});
        assert_eq!(judged(200, json!({})), Ok(()));
        let passing = |text: &str| Err(UploadError::Transient(text.to_owned()));
        let last = |text: &str| Err(UploadError::Final(text.to_owned()));
        assert_eq!(judged(403, says("it expired")), passing("403 E: it expired"));
        assert_eq!(judged(503, json!([])), passing("503"));
        assert_eq!(judged(403, says("signature=canary-0123456789 is wrong")), passing("403"));
        assert_eq!(judged(413, says("too large")), last("413 E: too large"));
        assert_eq!(judged(307, says("x")), last("307 is a redirect, which stead does not follow"));
    }

    #[test]
    fn uploaded_bytes_are_counted_as_they_are_sent() {
        let pieces = vec![Bytes::from_static(b"abc"), Bytes::from_static(b"de")];
        let upload = SignedUpload::new(SignedUrl::new("u"), pieces);
        for _ in 0..2 {
            let mut leaving = upload.into_chunks();
            assert_eq!(leaving.next().as_deref(), Some(&b"abc"[..]));
            assert_eq!(upload.sent.load(Ordering::Relaxed), 3);
            assert_eq!((leaving.count(), upload.sent.load(Ordering::Relaxed)), (1, 5));
        }
    }
}
