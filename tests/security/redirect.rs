//! The redirect matrix: statuses x targets x methods. No redirect is followed, and the key reaches no other host.

use secrecy::SecretString;
use stead::cloud::http::https_transport::{HttpsTransport, TransportOptions};

use crate::trap::{KEY, Trap, VERBS, request, send};

#[test]
fn a_redirect_is_not_followed() {
    let ok = |_: &str| b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_vec();
    let (other_host, other_port) = (Trap::new("127.0.0.2", ok), Trap::new("127.0.0.1", ok));
    let (host, port) = (other_host.address, other_port.address);
    let targets = [
        format!("http://{host}/api/v1/vms"),
        format!("http://{port}/api/v1/vms"),
        format!("http://localhost:{}/api/v1/vms", port.port()),
        format!("http://api.localhost:{}/api/v1/vms", port.port()),
        format!("https://{port}/api/v1/vms"),
        format!("http://127.0.0.1@{port}/api/v1/vms"),
        format!("//{port}/api/v1/vms"),
        "/api/v1/api-keys".to_owned(),
        "../api-keys".to_owned(),
        "http://[::1".to_owned(),
        "file:///etc/passwd".to_owned(),
        String::new(),
    ];
    let mut cases = 0;
    for status in [301, 302, 303, 307, 308] {
        for target in &targets {
            let location = target.clone();
            let service = Trap::new("127.0.0.1", move |_| {
                let close = "content-length: 0\r\nconnection: close";
                format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\n{close}\r\n\r\n").into_bytes()
            });
            let options =
                TransportOptions::new(format!("http://{}", service.address), Some(SecretString::from(KEY)));
            let cloud = HttpsTransport::new(&options).unwrap();
            for verb in VERBS {
                let answer = send(&cloud, &request(verb)).unwrap();
                assert_eq!(answer.status, status, "{verb} {target}");
                cases += 1;
            }
            assert_eq!(service.seen().len(), VERBS.len(), "{status} {target}: each was sent once");
        }
    }
    assert!(cases >= 150, "{cases}");
    assert_eq!((other_host.seen(), other_port.seen()), (vec![], vec![]), "nobody came elsewhere");
}
