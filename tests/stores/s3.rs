//! Ledgers in S3: against a real server, and against ones that do not keep their word.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::store::Store;
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::stores::open_options::OpenOptions;
use stead::ledger::stores::s3::backend::S3Backend;
use stead::ledger::stores::shared::backend::SharedBackend;
use stead::ledger::stores::shared::store::SharedStore;

use crate::contract;
use crate::people::{self, TestClock};
use crate::wire::{self, Answer, Request};
use crate::{moto, people::identity};

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

fn variables(endpoint: &str) -> Vec<(String, String)> {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", "FwoGZXIvYXdzEXAMPLE"),
        ("PATH", "/bin"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

async fn shelf(endpoint: &str, bucket: &str) -> S3Backend {
    S3Backend::open(bucket, "ledgers", ("shop", "prod"), variables(endpoint)).await.unwrap()
}

type Opened = Result<SharedStore<S3Backend, TestClock>, StoreError>;

async fn open(shelf: S3Backend, session: u128) -> Opened {
    open_as(shelf, &people::holder(session), None).await
}

async fn open_as(shelf: S3Backend, holder: &LeaseHolder, force: Option<&str>) -> Opened {
    let identity = identity();
    let effect = Duration::from_mins(1);
    let opening = OpenOptions {
        seal: None,
        identity: &identity,
        holder: holder.clone(),
        effect,
        is_dead: &|_| false,
        force,
    };
    SharedStore::open(shelf, TestClock::default(), &opening).await
}

/// A server before moto that does something else now and then.
fn before_moto(handle: impl Fn(Request) -> Answer + Send + Sync + 'static) -> String {
    moto::address();
    wire::serve(handle)
}

fn to_moto(request: &Request) -> Answer {
    wire::forward(moto::address(), request)
}

fn account(name: &str) -> Record {
    Record::Account { account: name.into() }
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_bucket_satisfies_the_contract() {
    moto::bucket("contract");
    let shelves: Vec<_> = {
        let mut shelves = Vec::new();
        for _ in 0..8 {
            shelves.push(shelf(moto::address(), "contract").await);
        }
        shelves
    };
    let shelves = Mutex::new(shelves);
    contract::keeps_its_word(|| shelves.lock().unwrap().pop().unwrap()).await;
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_ledger_is_created_written_read_and_unlocked() {
    moto::bucket("story");
    let new = || shelf(moto::address(), "story");
    assert!(SharedStore::<_, TestClock>::read(&new().await, "shop", "prod", None).await.unwrap().is_none());
    let store = open(new().await, 1).await.unwrap();
    let held = open(new().await, 2).await.map(|_| ()).unwrap_err();
    assert!(held.to_string().contains("ada@host"), "{held}");
    store.append(&[account("a")]).await.unwrap();
    let ledger = stead::ledger::journal::replay::load_ledger(store.load().await.unwrap()).unwrap();
    store.condense(&ledger).await.unwrap();
    store.release().await.unwrap();
    let read =
        SharedStore::<_, TestClock>::read(&new().await, "shop", "prod", None).await.unwrap().unwrap();
    assert_eq!((read.identity.account.as_deref(), read.epoch), (Some("a"), 1));
    let foreign = SharedStore::<_, TestClock>::read(&new().await, "shop", "test", None).await;
    assert!(matches!(foreign, Err(StoreError::Foreign { .. })));
    let again = open(new().await, 2).await.unwrap();
    again.release().await.unwrap();
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_displaced_holder_writes_nothing() {
    moto::bucket("displaced");
    let new = || shelf(moto::address(), "displaced");
    let first = open(new().await, 1).await.unwrap();
    let second = open_as(new().await, &people::holder(2), Some("it hangs")).await.unwrap();
    let refused = first.append(&[account("late")]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Displaced { .. }), "{refused}");
    second.append(&[account("mine")]).await.unwrap();
    second.release().await.unwrap();
    let read =
        SharedStore::<_, TestClock>::read(&new().await, "shop", "prod", None).await.unwrap().unwrap();
    assert_eq!(read.identity.account.as_deref(), Some("mine"));
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_bucket_without_conditional_writes_is_rejected() {
    for (bucket, header) in [("lax-new", "if-none-match"), ("lax-match", "if-match")] {
        moto::bucket(bucket);
        let address = before_moto(move |request| to_moto(&request.without(header)));
        // Whoever finds no lease has no stale mark to prove `If-Match` with: the second one has.
        let real = open(shelf(moto::address(), bucket).await, 1).await.unwrap();
        real.release().await.unwrap();
        let refused = open(shelf(&address, bucket).await, 2).await.map(|_| ()).unwrap_err();
        assert!(matches!(refused, StoreError::Lax { .. }), "{header}: {refused}");
    }
}

#[tokio::test]
async fn a_bucket_that_accepts_every_condition_is_rejected() {
    for tag in [true, false] {
        let address = wire::serve(move |_| {
            let answer = Answer::new(200, "").with("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
            let answer = answer.with("date", "Sun, 06 Nov 1994 08:49:37 GMT");
            if tag { answer.with("etag", "\"x\"") } else { answer }
        });
        assert!(open(shelf(&address, "any").await, 1).await.is_err(), "{tag}");
    }
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_stale_list_hides_no_record() {
    const EMPTY: &str = "<?xml version=\"1.0\"?><ListBucketResult><Name>lag</Name><KeyCount>0</KeyCount>\
                         <MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>";
    moto::bucket("lag");
    let address = before_moto(|request| match request.query("list-type") {
        Some(_) => Answer::new(200, EMPTY).with("content-type", "application/xml"),
        None => to_moto(&request),
    });
    let store = open(shelf(&address, "lag").await, 1).await.unwrap();
    store.append(&[account("a")]).await.unwrap();
    let ledger = stead::ledger::journal::replay::load_ledger(store.load().await.unwrap()).unwrap();
    store.condense(&ledger).await.unwrap();
    store.release().await.unwrap();
    let behind = shelf(&address, "lag").await;
    let full = shelf(moto::address(), "lag").await;
    assert_eq!(behind.summaries().await.unwrap(), full.summaries().await.unwrap());
    assert_eq!(behind.lines(0).await.unwrap(), full.lines(0).await.unwrap());
    let read = SharedStore::<_, TestClock>::read(&behind, "shop", "prod", None).await.unwrap().unwrap();
    assert_eq!((read.identity.account.as_deref(), read.holder), (Some("a"), None));
    // Nobody begins anew over it.
    let second = open(behind, 2).await.unwrap();
    second.release().await.unwrap();
}

/// Each write fails once in some way before it goes well.
async fn survives_each_write_failing_once(
    bucket: &'static str,
    fail: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) {
    moto::bucket(bucket);
    let puts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&puts);
    let seen = Mutex::new(std::collections::HashSet::new());
    let address = before_moto(move |request| {
        let is_new = request.method == "PUT" && {
            let condition = request.header("if-match").unwrap_or_default();
            seen.lock().unwrap().insert(format!("{} {condition}", request.target))
        };
        if is_new {
            count.fetch_add(1, Ordering::Relaxed);
            return fail(&request);
        }
        to_moto(&request)
    });
    for session in 1..=2 {
        let store = open(shelf(&address, bucket).await, session).await.unwrap();
        store.append(&[account("a")]).await.unwrap();
        let ledger = stead::ledger::journal::replay::load_ledger(store.load().await.unwrap()).unwrap();
        store.condense(&ledger).await.unwrap();
        store.release().await.unwrap();
    }
    assert!(puts.load(Ordering::Relaxed) >= 10);
    let read =
        SharedStore::<_, TestClock>::read(&shelf(&address, bucket).await, "shop", "prod", None).await;
    assert_eq!(read.unwrap().unwrap().epoch, 2);
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_write_with_a_lost_response_counts_once() {
    survives_each_write_failing_once("lost", |request| {
        to_moto(request);
        Answer::lost()
    })
    .await;
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_throttled_write_is_retried() {
    survives_each_write_failing_once("busy", |_| Answer::new(503, "<Error><Code>SlowDown</Code></Error>"))
        .await;
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_write_that_conflicts_with_a_concurrent_one_is_retried() {
    survives_each_write_failing_once("meets", |_| {
        Answer::new(409, "<Error><Code>ConditionalRequestConflict</Code></Error>")
    })
    .await;
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn a_renewal_with_a_lost_response_is_recognized_as_its_own() {
    moto::bucket("untold");
    let deaf = Arc::new(AtomicBool::new(false));
    let lost = Arc::clone(&deaf);
    let address = before_moto(move |request| {
        let answer = to_moto(&request);
        let is_lost = request.method == "PUT" && lost.load(Ordering::Relaxed);
        if is_lost { Answer::lost() } else { answer }
    });
    let ours = shelf(&address, "untold").await;
    let first = ours.put_lease(&contract::lease(1), None).await.unwrap();
    deaf.store(true, Ordering::Relaxed);
    assert!(ours.put_lease(&contract::lease(1), Some(&first)).await.is_err());
    deaf.store(false, Ordering::Relaxed);
    // The mark is stale, and yet nobody else wrote.
    let second = ours.put_lease(&contract::lease(1), Some(&first)).await.unwrap();
    deaf.store(true, Ordering::Relaxed);
    assert!(ours.put_lease(&contract::lease(1), Some(&second)).await.is_err());
    deaf.store(false, Ordering::Relaxed);
    let other = shelf(moto::address(), "untold").await;
    let found = other.lease().await.unwrap().unwrap();
    other.put_lease(&contract::lease(2), Some(&found.mark)).await.unwrap();
    let taken = ours.put_lease(&contract::lease(1), Some(&second)).await;
    assert!(contract::is_conflict(&taken), "{taken:?}");
}

#[tokio::test]
async fn credentials_are_read_from_the_source_that_the_variables_select() {
    const GIVEN: &str = r#"{"AccessKeyId":"ASIAGIVEN","SecretAccessKey":"given","Token":"session",
        "Expiration":"2099-01-01T00:00:00Z"}"#;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&seen);
    let address = wire::serve(move |request| {
        if request.path() == "/credentials" {
            assert_eq!(request.header("authorization"), Some("token"));
            return Answer::new(200, GIVEN).with("content-type", "application/json");
        }
        asked.lock().unwrap().push(request);
        Answer::new(404, "<Error><Code>NoSuchKey</Code></Error>")
    });
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "token").unwrap();
    let variables = [
        ("AWS_ENDPOINT_URL", address.clone()),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{address}/credentials")),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.display().to_string()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let shelf = S3Backend::open("b", "", ("shop", "prod"), variables).await.unwrap();
    assert_eq!(shelf.lease().await.unwrap(), None);
    let seen = seen.lock().unwrap();
    assert!(seen[0].header("authorization").unwrap().contains("Credential=ASIAGIVEN/"));
    assert_eq!(seen[0].header("x-amz-security-token"), Some("session"));
}

#[tokio::test]
async fn without_credentials_the_error_names_the_missing_variables() {
    let address = wire::serve(|_| Answer::new(404, ""));
    let variables = [("AWS_ENDPOINT_URL", address.clone()), ("AWS_METADATA_ENDPOINT", address)];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let error = S3Backend::open("b", "", ("shop", "prod"), variables).await.map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are missing"), "{text}");
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn the_age_of_a_lease_uses_the_clock_of_the_store() {
    moto::bucket("age");
    let real = shelf(moto::address(), "age").await;
    real.put_lease(&contract::lease(1), None).await.unwrap();
    assert!(real.lease().await.unwrap().unwrap().age < Duration::from_mins(1));
    let late = before_moto(|request| {
        let date = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(10);
        to_moto(&request).with("date", date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
    });
    let age = shelf(&late, "age").await.lease().await.unwrap().unwrap().age;
    assert!(age > Duration::from_mins(9) && age < Duration::from_mins(12), "{age:?}");
    let timeless = before_moto(|request| {
        let mut answer = to_moto(&request);
        answer.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
        answer
    });
    let error = shelf(&timeless, "age").await.lease().await.unwrap_err().to_string();
    assert!(error.contains("`Date`"), "{error}");
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn errors_give_the_cause_and_contain_no_key() {
    let refusing = wire::serve(|request| {
        let secrets = format!("{} {:?}", SECRET, request.headers);
        Answer::new(403, format!("<Error><Code>AccessDenied</Code><Message>{secrets}</Message></Error>"))
    });
    let error = shelf(&refusing, "b").await.lease().await.unwrap_err().to_string();
    assert!(error.contains("AccessDenied") && !error.contains("AKIA"), "{error}");
    assert!(!error.contains(SECRET) && !error.contains("FwoG"), "{error}");
    let missing = shelf(moto::address(), "no-such-bucket").await.lease().await.unwrap_err().to_string();
    assert_eq!(missing, "cannot read the lease: the bucket does not exist");
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let other = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&other);
    let elsewhere = wire::serve(move |_| {
        seen.fetch_add(1, Ordering::Relaxed);
        Answer::new(200, "{}")
    });
    for status in [300, 301, 302, 303, 304, 307, 308] {
        let elsewhere = elsewhere.clone();
        let address = wire::serve(move |_| Answer::new(status, "").with("location", elsewhere.clone()));
        let shelf = shelf(&address, "b").await;
        assert!(shelf.lease().await.is_err(), "{status}");
        assert!(shelf.put_line(1, 1, b"x").await.is_err(), "{status}");
    }
    assert_eq!(other.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn settings_that_are_missing_or_unsafe_are_named() {
    let all = [
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ];
    for (leave_out, set, wanted) in [
        ("AWS_REGION", "", "AWS_REGION is missing"),
        ("AWS_ACCESS_KEY_ID", "", "AWS_ACCESS_KEY_ID is missing"),
        ("AWS_SECRET_ACCESS_KEY", "", "AWS_SECRET_ACCESS_KEY is missing"),
        ("", "http://s3.example.com", "plain http is for this machine only"),
        ("", "https://me:hunter2@s3.example.com", "it holds a user or a password"),
    ] {
        let kept = all.iter().filter(|(name, _)| *name != leave_out).copied();
        let endpoint = Some(("AWS_ENDPOINT_URL", set)).filter(|(_, set)| !set.is_empty());
        let variables = kept.chain(endpoint).map(|(n, v)| (n.to_owned(), v.to_owned()));
        let error = S3Backend::open("b", "", ("shop", "prod"), variables).await.map(|_| ()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(wanted), "{text}");
        assert!(!text.contains(SECRET) && !text.contains("hunter2"), "{text}");
    }
    let odd = S3Backend::open("b", "", ("../shop", "prod"), variables("http://127.0.0.1:1")).await;
    assert!(matches!(odd, Err(StoreError::Shared { .. })));
}

#[tokio::test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
async fn the_ledgers_of_a_bucket_are_listed() {
    moto::bucket("listed");
    assert_eq!(shelf(moto::address(), "listed").await.list_ledgers().await.unwrap(), Vec::<String>::new());
    for (prefix, stack, environment) in [
        ("ledgers", "shop", "prod"),
        ("ledgers", "blog", "test"),
        ("others", "x", "y"),
        ("", "top", "prod"),
    ] {
        let variables = variables(moto::address());
        let shelf = S3Backend::open("listed", prefix, (stack, environment), variables).await.unwrap();
        shelf.put_lease(&contract::lease(1), None).await.unwrap();
    }
    assert_eq!(
        shelf(moto::address(), "listed").await.list_ledgers().await.unwrap(),
        ["blog/test", "shop/prod"]
    );
}
