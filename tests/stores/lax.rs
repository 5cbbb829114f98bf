//! Databases that were made not to keep their word, and what a ledger does with them: nothing.

use std::time::Duration;

use stead::cloud::system_clock::{SystemClock, SystemRandom};
use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::store::Store;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::stores::open_options::OpenOptions;
use stead::ledger::stores::postgres::backend::PostgresBackend;
use stead::ledger::stores::shared::store::SharedStore;
use stead::model::clock::{Clock, Random};

use crate::postgres::{administer, ask};
use crate::server::Database;

type Kept = SharedStore<PostgresBackend, SystemClock>;

fn shelf(address: &str) -> PostgresBackend {
    PostgresBackend::new(address, "shop", "prod").unwrap()
}

async fn open(address: &str) -> Result<Kept, StoreError> {
    let holder = LeaseHolder {
        session: SystemRandom.uuid(),
        who: "ada@host".to_owned(),
        process: None,
        since: SystemClock.now(),
    };
    let opening = OpenOptions {
        seal: None,
        identity: &LedgerIdentity::new_random("shop", "prod", &SystemRandom),
        holder,
        effect: Duration::from_mins(1),
        is_dead: &|_| false,
        force: None,
    };
    SharedStore::open(shelf(address), SystemClock, &opening).await
}

fn trigger(table: &str, on: &str, body: &str) -> String {
    format!(
        "create function lax() returns trigger language plpgsql as $$ begin {body} return new; end $$;
         create trigger lax before {on} on {table} for each row execute function lax()"
    )
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_database_that_ignores_a_condition_is_refused() {
    let server = Database::shared();
    let over = "delete from stead_lines where ledger = new.ledger and number = new.number;";
    let stale = "new.epoch := old.epoch; new.version := old.version;";
    let anew = "delete from stead_leases where ledger = new.ledger;";
    for (name, sql, wanted) in [
        ("lax_lines", trigger("stead_lines", "insert", over), "it overwrote a line"),
        (
            "lax_anew",
            trigger("stead_leases", "insert", anew),
            "it accepted the creation of an object that existed already",
        ),
        ("lax_stale", trigger("stead_leases", "update", stale), "it replaced an object that had changed"),
        ("lax_key", "alter table stead_lines drop constraint stead_lines_pkey".to_owned(), "(42P10)"),
    ] {
        let address = server.database(name);
        open(&address).await.unwrap().release().await.unwrap();
        administer(&address, &sql).await;
        let error = open(&address).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(wanted), "{name}: {error}");
        let holder = ask(&address, "select coalesce(lease::json->>'holder', 'nobody') from stead_leases");
        assert_eq!(holder.await, "nobody", "{name}: it is given back");
    }
}

/// The first lease of a place is probed like every other.
#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn a_database_is_probed_for_broken_guarantees_at_the_first_lease() {
    let server = Database::shared();
    let address = server.database("lax_first");
    administer(&address, &stead::ledger::stores::postgres::tables::setup_script(None, "postgres")).await;
    administer(&address, &trigger("stead_leases", "update", "new.version := old.version;")).await;
    assert!(matches!(open(&address).await.err(), Some(StoreError::Lax { .. })));
}
