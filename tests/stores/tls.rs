//! TLS to a database: only a server that is vouched for by name is talked to.

use std::path::Path;
use std::process::Command;

use stead::ledger::stores::postgres::backend::PostgresBackend;
use stead::ledger::stores::shared::backend::{BackendError, SharedBackend};

use crate::contract::lease;
use crate::postgres::administer;
use crate::server::{Database, give};

fn openssl(folder: &Path, arguments: &str) {
    let made = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
    let made = made.expect("install openssl: apt-get install openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Makes an authority, and a certificate of its for `localhost`.
fn certify(folder: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(folder, &format!("req -x509 {key} -keyout ca.key -out ca.crt -days 2 -subj /CN=authority"));
    openssl(folder, &format!("req -new {key} -keyout server.key -out server.csr -subj /CN=localhost"));
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt",
    );
    for name in ["server.key", "server.crt"] {
        give(&folder.join(name));
    }
}

async fn tried(address: &str) -> String {
    let shelf = match PostgresBackend::new(address, "shop", "prod") {
        Ok(shelf) => shelf,
        Err(error) => return error.to_string(),
    };
    match shelf.lease().await {
        Ok(_) => "good".to_owned(),
        Err(BackendError::Failed { reason, .. }) => reason,
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn only_a_server_with_a_trusted_certificate_is_used() {
    let server = Database::start();
    let folder = server.folder().to_owned();
    certify(&folder);
    let plain = server.database("safe");
    let set =
        |name: &str, file: &str| format!("alter system set {name} = '{}'", folder.join(file).display());
    administer(&plain, &set("ssl_cert_file", "server.crt")).await;
    administer(&plain, &set("ssl_key_file", "server.key")).await;
    administer(&plain, "alter system set ssl = on").await;
    administer(&plain, "select pg_reload_conf()").await;
    let name = plain.replace("127.0.0.1", "localhost");
    let authorities = format!("sslrootcert={}", folder.join("ca.crt").display());
    let good = format!("{name}?sslmode=verify-full&{authorities}");
    // The server takes its new settings when it comes to it.
    while tried(&good).await.contains("ssl = on") {
        tokio::task::yield_now().await;
    }
    assert_eq!(tried(&good).await, "good");
    let shelf = PostgresBackend::new(&good, "shop", "prod").unwrap();
    shelf.put_lease(&lease(1), None).await.unwrap();
    shelf.put_line(1, 1, &vec![7; 1 << 20]).await.unwrap();
    assert_eq!(shelf.lines(0).await.unwrap().len(), 1);

    let by_number = tried(&format!("{plain}?{authorities}")).await;
    assert!(by_number.contains("not valid for name"), "{by_number}");
    let stranger = tried(&format!("{name}?sslmode=require")).await;
    assert!(stranger.contains("invalid peer certificate"), "{stranger}");
    let none = tried(&format!("{name}?sslrootcert=/nowhere.pem")).await;
    assert!(none.contains("the certificate authorities in /nowhere.pem cannot be used"), "{none}");
}
