//! Ledgers on a state server: one that keeps its word, and ones that do not.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::replay::load_ledger;
use stead::ledger::journal::store::Store;
use stead::ledger::state::ledger::Ledger;
use stead::ledger::stores::http::store::{HttpStore, StateServerSettings};
use stead::ledger::stores::open_options::OpenOptions;
use stead::ledger::stores::store_access::StoreAccess;

use crate::people::{self, TestClock, identity};
use crate::state_server::{Laxity, Mishap, StateServer};
use crate::wire::{self, Answer};

type Opened = Result<HttpStore<TestClock>, StoreError>;

fn settings(address: &str) -> StateServerSettings {
    StateServerSettings::new(&format!("{address}/state"), ("shop", "prod"), [])
}

async fn open_with(settings: &StateServerSettings, session: u128, force: Option<&str>) -> Opened {
    let identity = identity();
    let holder = people::holder(session);
    let opening = OpenOptions { force, ..OpenOptions::new(&identity, holder, Duration::ZERO) };
    HttpStore::open(settings, TestClock::default(), &opening).await
}

async fn open(server: &StateServer, session: u128) -> Opened {
    open_with(&settings(&server.address), session, None).await
}

async fn read(server: &StateServer) -> Option<Ledger> {
    HttpStore::<TestClock>::read(&settings(&server.address), "shop", "prod", None).await.unwrap()
}

fn account(name: &str) -> Record {
    Record::Account { account: name.into() }
}

fn is_unlocked(server: &StateServer) -> bool {
    server.world().locks.is_empty()
}

#[tokio::test]
async fn a_ledger_is_created_written_read_and_unlocked() {
    for rewrites in [false, true] {
        let server = StateServer::new();
        server.world().rewrites = rewrites;
        assert!(read(&server).await.is_none());
        let store = open(&server, 1).await.unwrap();
        assert!(store.is_strict() && store.held_for().is_none());
        let held = open(&server, 2).await.map(|_| ()).unwrap_err();
        assert!(held.to_string().contains("ada@host"), "{held}");
        store.append(&[account("a")]).await.unwrap();
        let ledger = load_ledger(store.load().await.unwrap()).unwrap();
        store.condense(&ledger).await.unwrap();
        store.append(&[account("a")]).await.unwrap();
        store.release().await.unwrap();
        assert!(is_unlocked(&server));
        let ledger = read(&server).await.unwrap();
        assert_eq!((ledger.identity.account.as_deref(), ledger.epoch, ledger.holder), (Some("a"), 1, None));
        let again = open(&server, 2).await.unwrap();
        again.release().await.unwrap();
        assert_eq!(read(&server).await.unwrap().epoch, 2);
    }
}

#[tokio::test]
async fn another_stacks_ledger_is_left_alone() {
    let server = StateServer::new();
    open(&server, 1).await.unwrap().release().await.unwrap();
    let before = server.world().documents.clone();
    let other = stead::ledger::state::entry::LedgerIdentity { stack: "blog".into(), ..identity() };
    let opening = OpenOptions::new(&other, people::holder(2), Duration::ZERO);
    let refused = HttpStore::open(&settings(&server.address), TestClock::default(), &opening).await;
    assert!(matches!(refused.map(|_| ()), Err(StoreError::Foreign { .. })));
    assert!(is_unlocked(&server) && server.world().documents == before);
}

#[tokio::test]
async fn a_lock_is_broken_only_explicitly_and_its_holder_is_fenced_off() {
    let server = StateServer::new();
    let first = open(&server, 1).await.unwrap();
    let second = open_with(&settings(&server.address), 2, Some("its runner is gone")).await.unwrap();
    let refused = first.append(&[account("late")]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Displaced { .. }), "{refused}");
    assert!(matches!(first.append(&[account("later")]).await, Err(StoreError::Poisoned)));
    let records = second.load().await.unwrap();
    let took = records.last().unwrap();
    assert!(matches!(took, Record::Took { proven: false, reason: Some(_), epoch: 2, .. }), "{took:?}");
    second.release().await.unwrap();
    assert!(is_unlocked(&server));
    assert!(read(&server).await.unwrap().identity.account.is_none());
}

#[tokio::test]
async fn a_broken_lock_is_detected_during_an_apply() {
    let server = StateServer::new();
    let first = open(&server, 1).await.unwrap();
    let second = open_with(&settings(&server.address), 2, Some("in a hurry")).await.unwrap();
    assert!(matches!(first.keep_lease().await, StoreError::Displaced { .. }));
    second.release().await.unwrap();
}

#[tokio::test]
async fn a_server_that_violates_the_protocol_is_rejected() {
    for lax in [
        Laxity::NoLocks(404),
        Laxity::NoLocks(405),
        Laxity::NoLocks(501),
        Laxity::SecondLock,
        Laxity::AnyUnlock,
        Laxity::SilentUnlock,
        Laxity::AnyWrite,
        Laxity::LoudWrite,
        Laxity::NoWrite,
        Laxity::Yes,
    ] {
        let server = StateServer::lax(lax);
        let refused = open(&server, 1).await.map(|_| ()).unwrap_err();
        assert!(matches!(refused, StoreError::Lax { .. }), "{lax:?}: {refused}");
        assert!(read(&server).await.is_none(), "{lax:?}: something was written");
        // The next time is no better, though a document may be there now.
        let again = open(&server, 2).await.map(|_| ()).unwrap_err();
        assert!(matches!(again, StoreError::Lax { .. }), "{lax:?}: {again}");
    }
    for text in ["{}", "<html>", "[]", r#"{"version":4,"serial":3,"lineage":"x","resources":[]}"#] {
        let server = StateServer::lax(Laxity::Reads(text));
        let refused = open(&server, 1).await.map(|_| ()).unwrap_err();
        assert!(matches!(refused, StoreError::Corrupt { .. }), "{text}: {refused}");
        assert!(is_unlocked(&server) && server.world().documents.is_empty());
    }
    for status in [200, 500, 503, 302, 401] {
        let address = wire::serve(move |_| Answer::new(status, "").with("location", "/elsewhere"));
        assert!(open_with(&settings(&address), 1, None).await.is_err(), "{status}");
    }
}

#[tokio::test]
async fn a_write_with_a_lost_response_counts_once_and_a_lost_write_not_at_all() {
    let server = StateServer::new();
    let store = open(&server, 1).await.unwrap();
    server.world().mishap = Some(Mishap::After);
    store.append(&[account("a")]).await.unwrap();
    assert_eq!(read(&server).await.unwrap().identity.account.as_deref(), Some("a"));
    server.world().mishap = Some(Mishap::Before);
    assert!(store.append(&[account("a")]).await.is_err());
    assert!(matches!(store.append(&[account("a")]).await, Err(StoreError::Poisoned)));
    // It may still arrive: without the lock it would replace what someone else writes then.
    let left = store.release().await.unwrap_err().to_string();
    assert!(left.contains("may still arrive"), "{left}");
    assert!(!is_unlocked(&server) && read(&server).await.unwrap().holder.is_some());
    let next = open_with(&settings(&server.address), 2, Some("after one minute")).await.unwrap();
    next.release().await.unwrap();
}

#[tokio::test]
async fn every_document_carries_its_digest_and_its_lock() {
    let server = StateServer::new();
    let store = open(&server, 1).await.unwrap();
    store.append(&[account("a")]).await.unwrap();
    store.release().await.unwrap();
    let world = server.world();
    let posts: Vec<_> = world.requests.iter().filter(|request| request.method == "POST").collect();
    assert!(posts.len() >= 3);
    assert!(posts.iter().all(|post| post.header("content-md5").is_some() && post.query("ID").is_some()));
    let serials = posts.iter().skip(1).map(|post| {
        serde_json::from_slice::<serde_json::Value>(&post.body).unwrap()["serial"].as_u64().unwrap()
    });
    assert!(serials.eq(1..posts.len() as u64), "the serial goes up by one");
}

#[tokio::test]
async fn the_http_methods_of_gitlab_can_be_configured() {
    let server = StateServer::new();
    let lock = format!("{}/{{stack}}/lock", server.address);
    let variables = [
        ("STEAD_HTTP_LOCK_ADDRESS", lock.as_str()),
        ("STEAD_HTTP_LOCK_METHOD", "POST"),
        ("STEAD_HTTP_UNLOCK_METHOD", "DELETE"),
        ("STEAD_HTTP_USERNAME", "ci"),
        ("STEAD_HTTP_PASSWORD", "hunter2"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings =
        StateServerSettings::new(&format!("{}/{{stack}}", server.address), ("shop", "prod"), variables);
    let store = open_with(&settings, 1, None).await.unwrap();
    store.release().await.unwrap();
    let world = server.world();
    assert!(world.documents.contains_key("/shop") && world.locks.is_empty());
    let basic = Some("Basic Y2k6aHVudGVyMg==");
    assert!(world.requests.iter().all(|request| request.header("authorization") == basic));
}

#[tokio::test]
async fn the_password_is_sent_only_to_its_server_and_is_in_no_error() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let elsewhere = wire::serve(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Answer::new(200, "")
    });
    for status in [301, 302, 303, 307, 308, 401, 403] {
        let elsewhere = elsewhere.clone();
        let address =
            wire::serve(move |_| Answer::new(status, "hunter2").with("location", elsewhere.clone()));
        let mut settings = settings(&address);
        (settings.username, settings.password) = (Some("ci".to_owned()), Some("hunter2".into()));
        let error = open_with(&settings, 1, None).await.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(&status.to_string()) && !error.contains("hunter2"), "{error}");
        let read = HttpStore::<TestClock>::read(&settings, "shop", "prod", None).await.unwrap_err();
        assert!(!read.to_string().contains("hunter2"), "{read}");
    }
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    for address in ["http://states.example.com", "https://ci:hunter2@states.example.com"] {
        let error = open_with(&settings(address), 1, None).await.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("states.example.com") && !error.contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn an_endless_response_is_truncated() {
    let address = wire::serve(|_| Answer::new(200, vec![b' '; 17 << 20]));
    let error = HttpStore::<TestClock>::read(&settings(&address), "shop", "prod", None).await.unwrap_err();
    assert!(error.to_string().contains("larger than 16384 KiB"), "{error}");
}

#[tokio::test]
async fn the_lock_of_another_run_is_described_on_request() {
    let server = StateServer::new();
    let ask = || async {
        let identity = identity();
        let options = OpenOptions::new(&identity, people::holder(9), Duration::ZERO);
        let held = settings(&server.address).find_holder(&options).await.unwrap();
        held.map(|held| held.holder.who)
    };
    assert_eq!(ask().await, None);
    assert!(is_unlocked(&server));
    server.send("LOCK", "/state", r#"{"ID":"7","Who":"bob@host","Operation":"OperationTypeApply"}"#);
    assert_eq!(ask().await.as_deref(), Some("bob@host"));
}

/// Our server is one to Terraform too, where that is installed: what is refused and accepted above is
/// what the protocol says.
#[test]
fn terraform_accepts_the_test_server_as_its_backend() {
    if Command::new("terraform").arg("version").output().is_err() {
        return;
    }
    let server = StateServer::new();
    let directory = tempfile::tempdir().unwrap();
    let address = format!("{}/tf", server.address);
    let text = format!(
        "terraform {{\n  backend \"http\" {{\n    address = \"{address}\"\n    lock_address = \"{address}\"\n    \
         unlock_address = \"{address}\"\n  }}\n}}\nresource \"terraform_data\" \"x\" {{\n  input = \"1\"\n}}\n"
    );
    std::fs::write(directory.path().join("main.tf"), text).unwrap();
    let terraform = |arguments: &[&str]| {
        let mut command = Command::new("terraform");
        command.args(arguments).current_dir(directory.path()).env("CHECKPOINT_DISABLE", "1");
        let output = command.output().unwrap();
        (output.status.success(), format!("{output:?}"))
    };
    let (done, text) = terraform(&["init", "-input=false", "-no-color"]);
    assert!(done, "{text}");
    let (done, text) = terraform(&["apply", "-auto-approve", "-input=false", "-no-color"]);
    assert!(done, "{text}");
    assert!(server.world().documents.contains_key("/tf") && is_unlocked(&server));
    // A ledger is a state that manages nothing.
    let ledger = StateServer::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { open(&ledger, 1).await.unwrap().release().await.unwrap() });
    let state = server.world().documents["/tf"].clone();
    server.world().documents.insert("/tf".to_owned(), ledger.world().documents["/state"].clone());
    let (done, text) = terraform(&["state", "pull"]);
    assert!(done && text.contains(&identity().lineage.to_string()), "{text}");
    server.world().documents.insert("/tf".to_owned(), state);
    server.send("LOCK", "/tf", r#"{"ID":"7","Who":"bob@host"}"#);
    let (done, text) =
        terraform(&["apply", "-auto-approve", "-input=false", "-no-color", "-lock-timeout=0s"]);
    assert!(!done && text.contains("already locked: ID=7"), "{text}");
}
