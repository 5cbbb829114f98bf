//! Uploads to signed URLs: the API key is not sent, no redirect is followed, and the URL must have a host name and TLS,
//! or be on this machine if the service is.

use std::io::{Read, Write};

use bytes::Bytes;
use secrecy::SecretString;
use stead::cloud::http::https_transport::{HttpsTransport, TransportOptions};
use stead::cloud::http::message::{HttpResponse, SignedUpload, SignedUrl, Transport, TransportError};
use stead::kinds::REGISTRY;

use crate::trap::{KEY, Trap, head};

/// The signature in the query of a signed URL, a secret.
const SIGNATURE: &str = "canary-signature-0123456789";

fn options(base: &str) -> TransportOptions {
    TransportOptions::new(base, Some(SecretString::from(KEY)))
}

fn put(options: &TransportOptions, url: &str) -> Result<HttpResponse, TransportError> {
    let cloud = HttpsTransport::new(options).unwrap();
    let pieces = vec![Bytes::from_static(b"first,"), Bytes::from_static(b"second")];
    let upload = SignedUpload::new(SignedUrl::new(format!("{url}?signature={SIGNATURE}")), pieces);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(cloud.upload(&upload))
}

fn reply(status: u16, more: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{more}connection: close\r\n\r\n").into_bytes()
}

/// Starts a server that reads the whole upload before it responds.
fn store() -> Trap {
    Trap::raw("127.0.0.2", |stream| {
        let head = head(stream);
        let mut body = [0; 12];
        stream.read_exact(&mut body).unwrap();
        stream.write_all(&reply(200, "")).unwrap();
        head + &String::from_utf8_lossy(&body)
    })
}

#[test]
fn an_upload_carries_its_bytes_and_no_credentials() {
    let (service, store) = (Trap::new("127.0.0.1", |_| reply(500, "")), store());
    let url = format!("http://{}/bucket/app", store.address);
    let answer = put(&options(&format!("http://{}", service.address)), &url).unwrap();
    assert_eq!(answer.status, 200);
    let seen = store.seen().concat();
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "first,second");
    let mut lines = head.split("\r\n");
    assert_eq!(lines.next(), Some(&*format!("PUT /bucket/app?signature={SIGNATURE} HTTP/1.1")));
    let mut names: Vec<_> = lines.map(|line| line.split_once(':').unwrap().0.to_lowercase()).collect();
    names.sort();
    assert_eq!(names, ["accept", "content-length", "content-type", "host"]);
    assert!(head.to_lowercase().contains("content-length: 12"), "{head}");
    assert!(!seen.contains(KEY), "{seen}");
    assert_eq!(service.seen(), Vec::<String>::new());
}

#[test]
fn an_upload_is_not_redirected() {
    for status in [301, 302, 303, 307, 308] {
        let other = store();
        let target = format!("http://{}/elsewhere", other.address);
        let first = Trap::raw("127.0.0.1", move |stream| {
            let head = head(stream);
            let mut body = [0; 12];
            stream.read_exact(&mut body).unwrap();
            stream.write_all(&reply(status, &format!("location: {target}\r\n"))).unwrap();
            head
        });
        let url = format!("http://{}/x", first.address);
        assert_eq!(put(&options("http://127.0.0.1:1"), &url).unwrap().status, status);
        assert_eq!((first.seen().len(), other.seen().len()), (1, 0), "{status}");
    }
}

#[test]
fn an_upload_is_sent_only_to_a_safe_address() {
    for url in [
        "http://store.example/x",
        "http://10.0.0.1/x",
        "https://10.0.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[2001:db8::1]/x",
        "https://0x7f000001.example@127.0.0.1/x",
        "https://user:password@store.example/x",
        "ftp://store.example/x",
        "file:///etc/passwd",
        "data:text/plain,x",
        "//store.example/x",
        "",
    ] {
        let error = put(&options("https://api.example"), url).unwrap_err();
        assert!(matches!(error, TransportError::NotPermitted { .. }), "{url}: {error}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(SIGNATURE) && !shown.contains("password@"), "{shown}");
    }
}

#[test]
fn a_remote_service_cannot_direct_an_upload_to_localhost() {
    let here = Trap::new("127.0.0.1", |_| reply(200, ""));
    let port = here.address.port();
    for url in [
        format!("http://127.0.0.1:{port}/x"),
        format!("https://127.0.0.1:{port}/x"),
        format!("http://localhost:{port}/x"),
        format!("http://2130706433:{port}/x"),
        format!("http://0x7f.1:{port}/x"),
        format!("https://[::1]:{port}/x"),
    ] {
        let error = put(&options("https://api.example"), &url).unwrap_err();
        assert!(matches!(error, TransportError::NotPermitted { .. }), "{url}: {error}");
    }
    assert_eq!(here.seen(), Vec::<String>::new());
}

#[test]
fn a_read_only_run_uploads_nothing() {
    let store = store();
    let looks = TransportOptions { only_looks: Some(REGISTRY), ..options("http://127.0.0.1:1") };
    assert!(put(&looks, &format!("http://{}/x", store.address)).is_err());
    assert_eq!(store.seen(), Vec::<String>::new());
}

#[test]
fn an_upload_error_shows_no_signature() {
    let closed = Trap::raw("127.0.0.1", |_| String::new());
    let error = put(&options("http://127.0.0.1:1"), &format!("http://{}/x", closed.address)).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains(&closed.address.to_string()), "the host is shown: {shown}");
    assert!(!shown.contains(SIGNATURE), "{shown}");
}
