//! `PostgresBackend` against a real PostgreSQL, and through a real pgbouncer that gives every statement
//! another session.

use stead::ledger::stores::postgres::backend::PostgresBackend;
use stead::ledger::stores::shared::backend::{BackendError, LeaseVersion, SharedBackend};
use tokio_postgres::{Client, NoTls};

use crate::contract::{is_conflict, keeps_its_word, lease};
use crate::server::{Bouncer, Database};

fn shelf(address: &str) -> PostgresBackend {
    PostgresBackend::new(address, "shop", "prod").unwrap()
}

/// Runs statements as the administrator.
pub async fn administer(address: &str, sql: &str) {
    connected(address, async |client| client.batch_execute(sql).await.unwrap()).await;
}

/// Returns the first column of the first row, as text.
pub async fn ask(address: &str, sql: &str) -> String {
    connected(address, async |client| client.query_one(sql, &[]).await.unwrap().get(0)).await
}

async fn connected<T>(address: &str, work: impl AsyncFnOnce(&Client) -> T) -> T {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    let task = tokio::task::LocalSet::new();
    task.spawn_local(connection);
    task.run_until(work(&client)).await
}

fn reason<T: std::fmt::Debug>(result: Result<T, BackendError>) -> String {
    match result {
        Err(BackendError::Failed { action, reason }) => format!("{action}: {reason}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn postgresql_satisfies_the_contract() {
    let server = Database::shared();
    let address = server.database("contract");
    keeps_its_word(|| shelf(&address)).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn postgresql_behind_a_pooler_satisfies_the_contract() {
    let server = Database::shared();
    let pooler = Bouncer::start(&server);
    let direct = server.database("pooled");
    let address = pooler.address(&direct);
    administer(&direct, &stead::ledger::stores::postgres::tables::setup_script(None, "postgres")).await;
    administer(
        &direct,
        "create table seen (session int);
         create function see() returns trigger language plpgsql as $$ begin
           insert into seen values (pg_backend_pid()); return new;
         end $$;
         create trigger a after insert on stead_lines for each row execute function see()",
    )
    .await;
    // One session is busy while a second is opened: from then on they take turns.
    connected(&address, async |busy| {
        busy.batch_execute("begin").await.unwrap();
        shelf(&address).lease().await.unwrap();
        busy.batch_execute("commit").await.unwrap();
    })
    .await;
    keeps_its_word(|| shelf(&address)).await;
    assert_ne!(ask(&direct, "select count(distinct session)::text from seen").await, "1");
}

/// A sequence counts on where a transaction does not: so it tells how often a statement was tried.
#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_write_is_not_retried_when_its_connection_breaks() {
    let server = Database::shared();
    let address = server.database("lost");
    let shelf = shelf(&address);
    shelf.put_lease(&lease(1), None).await.unwrap();
    administer(
        &address,
        "create sequence tries;
         create function fall() returns trigger language plpgsql as $$ begin
           perform nextval('tries'), pg_terminate_backend(pg_backend_pid()); return new;
         end $$;
         create trigger a after insert on stead_lines for each row execute function fall()",
    )
    .await;
    let told = reason(shelf.put_line(1, 1, b"a").await);
    assert!(told.contains("the connection was lost before the server answered"), "{told}");
    assert_eq!(ask(&address, "select last_value::text from tries").await, "1");
    administer(&address, "drop trigger a on stead_lines").await;
    shelf.put_line(1, 1, b"a").await.unwrap();
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn reading_creates_no_tables() {
    let server = Database::shared();
    let address = server.database("read");
    let shelf = shelf(&address);
    assert_eq!(shelf.lease().await.unwrap(), None);
    assert_eq!(shelf.lines(0).await.unwrap(), vec![]);
    assert_eq!(shelf.summaries().await.unwrap(), Vec::<u64>::new());
    assert_eq!(shelf.summary(1).await.unwrap(), None);
    let tables = ask(&address, "select count(*)::text from pg_tables where tablename like 'stead%'").await;
    assert_eq!(tables, "0");
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn ledgers_in_one_schema_or_in_several_are_independent() {
    let server = Database::shared();
    let address = server.database("apart");
    administer(&address, "create schema books").await;
    let places = [
        shelf(&address),
        PostgresBackend::new(&address, "shop", "test").unwrap(),
        PostgresBackend::new(&format!("{address}?schema=books"), "shop", "prod").unwrap(),
    ];
    for shelf in &places {
        shelf.put_lease(&lease(1), None).await.unwrap();
        shelf.put_line(1, 1, shelf.display_location().as_bytes()).await.unwrap();
        shelf.put_summary(1, b"s").await.unwrap();
    }
    places[0].prune(2).await.unwrap();
    assert_eq!(places[0].lines(0).await.unwrap(), vec![]);
    for shelf in &places[1..] {
        assert_eq!(shelf.lines(0).await.unwrap(), vec![(1, shelf.display_location().into_bytes())]);
        assert_eq!(shelf.summaries().await.unwrap(), vec![1]);
    }
    assert_eq!(ask(&address, "select count(*)::text from books.stead_lines").await, "1");
    let by_socket = shelf(&server.socket("apart"));
    assert_eq!(by_socket.lease().await.unwrap().unwrap().lease, lease(1));
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_displaced_epoch_cannot_write_even_an_unused_line_number() {
    let server = Database::shared();
    let address = server.database("epochs");
    let (one, two) = (shelf(&address), shelf(&address));
    let mark = one.put_lease(&lease(1), None).await.unwrap();
    one.put_line(1, 1, b"a").await.unwrap();
    two.put_lease(&lease(2), Some(&mark)).await.unwrap();
    assert!(is_conflict(&one.put_line(2, 1, b"b").await));
    assert!(is_conflict(&one.put_line(2, 3, b"b").await), "an epoch that was never taken");
    two.put_line(2, 2, b"c").await.unwrap();
    assert_eq!(one.lines(1).await.unwrap(), vec![(2, b"c".to_vec())]);
    let older = two.put_lease(&lease(1), two.lease().await.unwrap().map(|s| s.mark).as_ref()).await;
    assert!(is_conflict(&older), "an older epoch took the lease: {older:?}");
}

/// The taker's statement is under way, not committed, when the displaced one's arrives: it waits, and
/// then finds its condition gone.
#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_write_during_a_takeover_waits_and_is_rejected() {
    let server = Database::shared();
    let address = server.database("meeting");
    let one = shelf(&address);
    one.put_lease(&lease(1), None).await.unwrap();
    connected(&address, async |taker| {
        taker.batch_execute("begin; update stead_leases set epoch = 2, version = 9").await.unwrap();
        let write = one.put_line(1, 1, b"late");
        let take = async {
            let waiting = "select pg_stat_clear_snapshot()::text, (select count(*) from \
                pg_locks where not granted)";
            while taker.query_one(waiting, &[]).await.unwrap().get::<_, i64>(1) == 0 {
                tokio::task::yield_now().await;
            }
            taker.batch_execute("commit").await.unwrap();
        };
        let (written, ()) = tokio::join!(write, take);
        assert!(is_conflict(&written), "{written:?}");
    })
    .await;
    assert_eq!(one.lines(0).await.unwrap(), vec![]);
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn the_age_of_a_lease_uses_the_clock_of_the_database() {
    let server = Database::shared();
    let address = server.database("age");
    let shelf = shelf(&address);
    shelf.put_lease(&lease(1), None).await.unwrap();
    administer(&address, "update stead_leases set written = written - interval '1 hour'").await;
    let age = shelf.lease().await.unwrap().unwrap().age.as_secs();
    assert!((3_600..3_900).contains(&age), "{age}");
    administer(&address, "update stead_leases set written = written + interval '2 hours'").await;
    assert_eq!(shelf.lease().await.unwrap().unwrap().age.as_secs(), 0, "a clock that was set back");
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_write_is_durable_even_with_synchronous_commit_off() {
    let server = Database::shared();
    let address = server.database("hasty");
    let shelf = shelf(&address);
    let mark = shelf.put_lease(&lease(1), None).await.unwrap();
    administer(
        &address,
        "create table seen (place text, mode text);
         create function see() returns trigger language plpgsql as $$ begin
           insert into seen values (tg_table_name, current_setting('synchronous_commit')); return new;
         end $$;
         create trigger a after insert or update on stead_leases for each row execute function see();
         create trigger a after insert on stead_lines for each row execute function see();
         create trigger a after insert on stead_summaries for each row execute function see();
         alter database hasty set synchronous_commit = off;
         alter database hasty set default_transaction_isolation = 'serializable'",
    )
    .await;
    let shelf = PostgresBackend::new(&address, "shop", "prod").unwrap();
    shelf.put_lease(&lease(1), Some(&mark)).await.unwrap();
    shelf.put_line(1, 1, b"a").await.unwrap();
    shelf.put_summary(1, b"a").await.unwrap();
    let seen = ask(&address, "select string_agg(place || '=' || mode, ' ' order by place) from seen").await;
    assert_eq!(seen, "stead_leases=on stead_lines=on stead_summaries=on");
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_role_without_create_privilege_uses_existing_tables() {
    let server = Database::shared();
    let address = server.database("least");
    administer(&address, "create role worker login").await;
    let worker = address.replace("postgres@", "worker@");
    let refused = reason(shelf(&worker).put_lease(&lease(1), None).await);
    assert!(
        refused.contains("permission denied for schema public (42501); an administrator must"),
        "{refused}"
    );
    administer(&address, &stead::ledger::stores::postgres::tables::setup_script(None, "worker")).await;
    keeps_its_word(|| shelf(&worker)).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn closed_connections_are_reopened() {
    let server = Database::start();
    let address = server.database("broken");
    let shelf = shelf(&address);
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'stead'";
    let mark = shelf.put_lease(&lease(1), None).await.unwrap();
    for number in 1..4 {
        shelf.put_line(number, 1, b"a").await.unwrap();
        administer(&address, end).await;
        assert_eq!(shelf.lines(0).await.unwrap().len() as u64, number);
    }
    // Also for a write, when the end was heard before anything was sent.
    administer(&address, end).await;
    shelf.put_lease(&lease(1), Some(&mark)).await.unwrap();
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn an_unreachable_server_is_reported_without_the_password() {
    let server = Database::start();
    let address = server.database("gone").replace("postgres@", "postgres:hunter2@");
    let shelf = shelf(&address);
    shelf.put_lease(&lease(1), None).await.unwrap();
    drop(server);
    let told = reason(shelf.put_line(1, 1, b"a").await)
        + &reason(shelf.lines(0).await)
        + &shelf.display_location();
    assert!(told.contains("write line 1: no connection: "), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn malformed_tables_and_rows_are_rejected() {
    let server = Database::shared();
    for (name, sql, wanted) in [
        ("no_lines", "drop table stead_lines", "does not exist (42P01); the tables are not the ones"),
        (
            "no_key",
            "alter table stead_lines drop constraint stead_lines_pkey",
            "(42P10); the tables are not",
        ),
        ("no_column", "alter table stead_lines drop column line", "(42703); the tables are not"),
        (
            "text",
            "alter table stead_lines alter line type text using 'x'",
            "the column `line` does not have the type that stead uses",
        ),
        ("broken", "update stead_leases set lease = '{'", "read the lease: its row is damaged"),
        ("forged", "update stead_leases set epoch = 7", "its row is damaged: two epochs"),
        ("no_age", "alter table stead_leases alter written type text", "the tables are not"),
        (
            "view",
            "drop table stead_lines; create view stead_lines as select 'shop/prod' as ledger, \
            1::bigint as number, 1::bigint as epoch, 'x'::text as line",
            "does not have the type that stead uses",
        ),
        (
            "below",
            "insert into stead_lines values ('shop/prod', 1, 1, ''); update stead_leases set \
            epoch = -1, lease = '{}'",
            "its row is damaged",
        ),
    ] {
        let address = server.database(name);
        let shelf = shelf(&address);
        shelf.put_lease(&lease(1), None).await.unwrap();
        administer(&address, sql).await;
        let mut told = Vec::new();
        told.extend(shelf.lease().await.err());
        told.extend(shelf.put_line(1, 1, b"x").await.err());
        told.extend(shelf.lines(0).await.err());
        let told: Vec<_> = told.into_iter().map(|error| error.to_string()).collect();
        assert!(told.iter().any(|text| text.contains(wanted)), "{name}: {told:#?}");
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_standby_and_a_foreign_database_have_their_own_errors() {
    let server = Database::shared();
    let address = server.database("standby");
    administer(&address, "alter database standby set default_transaction_read_only = on").await;
    let told = reason(shelf(&address).put_lease(&lease(1), None).await);
    assert!(told.contains("name the primary server"), "{told}");
    let told = reason(shelf(&address.replace("standby", "nowhere")).lease().await);
    assert!(told.contains("no connection: database \"nowhere\" does not exist (3D000)"), "{told}");
    let told = reason(shelf(&format!("{address}?sslmode=require")).lease().await);
    assert!(told.contains("ssl = on"), "{told}");
    let bad = PostgresBackend::new("postgres://u:hunter2@db/x?sslmode=prefer", "a", "b").err().unwrap();
    assert!(bad.to_string().contains("sslmode=verify-full") && !bad.to_string().contains("hunter2"));
    assert!(is_conflict(&shelf(&address).put_lease(&lease(1), Some(&LeaseVersion("x".to_owned()))).await));
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn the_ledgers_of_a_database_are_listed() {
    let server = Database::shared();
    let address = server.database("listed");
    assert_eq!(shelf(&address).list_ledgers().await.unwrap(), Vec::<String>::new(), "no table is there");
    for (stack, environment) in [("shop", "prod"), ("blog", "test")] {
        let shelf = PostgresBackend::new(&address, stack, environment).unwrap();
        shelf.put_lease(&lease(1), None).await.unwrap();
    }
    assert_eq!(shelf(&address).list_ledgers().await.unwrap(), ["blog/test", "shop/prod"]);
}
