//! Certificates: bad ones are refused before a byte of the request is sent, and a good one is accepted.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use secrecy::SecretString;
use stead::cloud::http::https_transport::{CaBundle, HttpsTransport, TransportOptions};
use stead::cloud::http::message::TransportError;
use stead::model::schema::Method;

use crate::trap::{KEY, Trap, head, request, send};

/// The reason for an unknown issuer.
const UNKNOWN: Option<&str> = Some("its issuer is not trusted on this machine");

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Starts a server with a certificate; it records the requests that it could read.
fn server(certificate: &str, key: &KeyPair) -> Trap {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    Trap::raw("127.0.0.1", move |stream| {
        let connection = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let head = head(&mut stream);
        // The other side may have gone: that is what most of these tests want.
        let _ = stream.write_all(OK).and_then(|()| stream.flush());
        head
    })
}

fn leaf(issuer: &CertifiedIssuer<'static, KeyPair>, name: &str, expired: bool) -> (String, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if expired {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    }
    (params.signed_by(&key, issuer).unwrap().pem(), key)
}

fn cloud(trap: &Trap, roots: &str) -> HttpsTransport {
    let url = format!("https://localhost:{}", trap.address.port());
    let mut options = TransportOptions::new(url, Some(SecretString::from(KEY)));
    if !roots.is_empty() {
        options.roots = CaBundle::parse(roots.as_bytes()).unwrap();
    }
    HttpsTransport::new(&options).unwrap()
}

/// Checks that nothing was sent or read; with `why`, that the certificate was the reason.
fn refused(trap: &Trap, roots: &str, why: Option<&str>) {
    for method in [Method::Get, Method::Post] {
        let answer = send(&cloud(trap, roots), &request(method));
        match (why, answer) {
            (None, Err(TransportError::NotSent { .. })) => {}
            (Some(why), Err(TransportError::Untrusted { reason, .. })) => assert_eq!(reason, why),
            (why, answer) => panic!("{why:?}: {answer:?}"),
        }
    }
    assert!(trap.seen().iter().all(|seen| !seen.contains(KEY)), "{why:?}");
}

#[test]
fn a_rejected_certificate_is_explained_and_not_retried() {
    let authority = authority();
    let (old, key) = leaf(&authority, "localhost", true);
    let trap = server(&old, &key);
    let case = crate::case::Case::new()
        .file("stead.yaml", "stead: 1\nstack: shop\nvpc: { net: { cidr: 10.9.0.0/16 } }\n")
        .file("ca.pem", authority.pem());
    let mut command = case.command("plan --ca-file ca.pem");
    command.env("STEAD_API_URL", format!("https://localhost:{}", trap.address.port()));
    let run = crate::case::Run::of(&command.env("STEAD_API_KEY", KEY).output().unwrap());
    assert_eq!(run.code, 1, "{}", run.all());
    run.says(&["certificate of localhost", "is not accepted: it has expired", "--ca-file FILE"]);
    assert!(
        !run.all().contains("trying again") && !run.all().contains("InvalidCertificate"),
        "{}",
        run.all()
    );
}

#[test]
fn a_certificate_of_a_trusted_authority_is_accepted() {
    let authority = authority();
    let (certificate, key) = leaf(&authority, "localhost", false);
    let trap = server(&certificate, &key);
    let answer = send(&cloud(&trap, &authority.pem()), &request(Method::Get)).unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, &b"{}"[..]));
    let both = format!("{}\n{}", self::authority().pem(), authority.pem());
    assert_eq!(send(&cloud(&trap, &both), &request(Method::Get)).unwrap().status, 200);
}

#[test]
fn other_certificates_are_refused() {
    let authority = authority();
    let root = authority.pem();
    let (good, key) = leaf(&authority, "localhost", false);
    refused(&server(&good, &key), "", UNKNOWN);
    refused(&server(&good, &key), &self::authority().pem(), Some("it is not signed by a trusted issuer"));
    let (old, key) = leaf(&authority, "localhost", true);
    refused(&server(&old, &key), &root, Some("it has expired"));
    let (other, key) = leaf(&authority, "localhost.example.test", false);
    refused(&server(&other, &key), &root, Some("it is for another host name"));
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    refused(&server(&own.pem(), &key), &root, Some("it is not signed by a trusted issuer"));
}

/// The server supports TLS 1.1 or 1.0 at most, as its first message shows.
#[test]
fn old_tls_versions_are_rejected() {
    for minor in [1, 2] {
        let trap = Trap::raw("127.0.0.1", move |stream: &mut TcpStream| {
            let mut hello = [0; 2048];
            let count = stream.read(&mut hello).unwrap();
            let mut answer = vec![0x16, 3, minor, 0, 42, 2, 0, 0, 38, 3, minor];
            answer.extend([7; 32]);
            answer.extend([0, 0, 0x2f, 0]);
            let _ = stream.write_all(&answer);
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            String::from_utf8_lossy(&[&hello[..count], &rest].concat()).into_owned()
        });
        refused(&trap, "", None);
    }
}

#[test]
fn a_file_of_root_certificates_must_contain_certificates() {
    for (text, why) in [
        ("", "no certificate"),
        ("hello", "no certificate"),
        ("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", "damaged"),
    ] {
        let error = CaBundle::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}
