//! Proxies of the environment: they are used for tunnels only, and never for this machine.

use std::process::{Command, Output};

use secrecy::SecretString;
use stead::cloud::http::https_transport::{HttpsTransport, TransportOptions};
use stead::model::schema::Method;

use crate::trap::{KEY, Trap, request, send};

/// Variables that name a proxy.
const VARIABLES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Sends a request in a process whose environment names a proxy.
#[test]
#[ignore = "runs in a process of its own, with other variables"]
fn child_process_that_sends_one_request() {
    let url = std::env::var("SECURITY_URL").unwrap();
    let cloud = HttpsTransport::new(&TransportOptions::new(url, Some(SecretString::from(KEY)))).unwrap();
    for method in [Method::Get, Method::Post] {
        match send(&cloud, &request(method)) {
            Ok(answer) => println!("answer {}", answer.status),
            Err(error) => println!("error {error}"),
        }
    }
}

fn run(url: &str, proxy: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "proxy::child_process_that_sends_one_request", "--ignored", "--nocapture"]);
    for name in VARIABLES {
        command.env(name, proxy);
    }
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    command.env("SECURITY_URL", url).output().unwrap()
}

#[test]
fn a_proxy_receives_only_a_connect_request() {
    let refuses =
        |_: &str| b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec();
    let proxy = Trap::new("127.0.0.1", refuses);
    let address = format!("http://user:hunter2@{}", proxy.address);
    let output = run("https://api.example.test", &address);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.matches("error cannot reach api.example.test:443").count(), 2, "{said}");
    assert!(!said.contains("hunter2") && !said.contains(KEY), "{said}");
    let seen = proxy.seen();
    assert!(!seen.is_empty());
    for head in seen {
        assert!(head.starts_with("CONNECT api.example.test:443 HTTP/1.1\r\n"), "{head}");
        assert!(!head.contains(KEY) && !head.to_lowercase().contains("x-api-key"), "{head}");
    }
}

#[test]
fn requests_to_localhost_do_not_use_a_proxy() {
    let ok = |_: &str| b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_vec();
    let (proxy, service) = (Trap::new("127.0.0.1", ok), Trap::new("127.0.0.1", ok));
    let address = format!("http://{}", proxy.address);
    for host in ["127.0.0.1", "localhost"] {
        let output = run(&format!("http://{host}:{}", service.address.port()), &address);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said.matches("answer 200").count(), 2, "{said}");
    }
    assert_eq!(proxy.seen(), Vec::<String>::new());
    assert_eq!(service.seen().len(), 4);
}
