//! Real processes that want the same ledger at the same moment: one gets it. And holders that are killed,
//! or stopped and woken after someone else took over.
//!
//! The other process is this very program, told its role by the environment.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use stead::cloud::system_clock::{SystemClock, SystemRandom};
use stead::ledger::journal::error::StoreError;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::store::Store;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::state::ledger::Ledger;
use stead::ledger::state::run_history::RunOrigin;
use stead::ledger::stores::any_store::AnyStore;
use stead::ledger::stores::file::process;
use stead::ledger::stores::location::LedgerLocation;
use stead::ledger::stores::open_options::OpenOptions;
use stead::model::clock::{Clock, Random};

use crate::server::{Bouncer, Database};

/// What the environment calls the place that a child uses.
const ROLE: &str = "STEAD_TEST_ROLE";

/// Races for each store; `STEAD_RACES` says otherwise.
const RACES: usize = 40;

type Kept = AnyStore<SystemClock>;

async fn open(place: &LedgerLocation, environment: &str, force: Option<&str>) -> Result<Kept, StoreError> {
    let holder = LeaseHolder {
        session: SystemRandom.uuid(),
        who: format!("racer{}@host", std::process::id()),
        process: process::current_process(),
        since: SystemClock.now(),
    };
    let opening = OpenOptions {
        seal: None,
        identity: &LedgerIdentity::new_random("shop", environment, &SystemRandom),
        holder,
        effect: Duration::from_mins(1),
        is_dead: &process::is_dead,
        force,
    };
    AnyStore::open(place, SystemClock, &opening).await
}

/// A record that tells who wrote it.
fn record() -> Record {
    Record::Begin {
        run: SystemRandom.uuid(),
        plan: SystemRandom.uuid(),
        who: std::process::id().to_string(),
        at: SystemClock.now(),
        origin: RunOrigin::default(),
    }
}

async fn ledger(place: &LedgerLocation, environment: &str) -> Ledger {
    Kept::read(place, "shop", environment, None).await.unwrap().unwrap()
}

/// The child: does what it is told, line by line, and answers each line with one that begins with `@`.
#[test]
fn child_process_of_the_race_tests() {
    let Ok(place) = std::env::var(ROLE) else { return };
    let place = LedgerLocation::parse(&place).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut held: Option<Kept> = None;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let answer = runtime.block_on(async {
            match words.as_slice() {
                ["open", environment] => match open(&place, environment, None).await {
                    Ok(store) => {
                        held = Some(store);
                        "held".to_owned()
                    }
                    Err(StoreError::Locked { .. }) => "locked".to_owned(),
                    Err(error) => format!("failed: {error}"),
                },
                // The marker is the machine's own proof that nobody else holds it.
                ["mark", marker] => match std::fs::File::create_new(marker) {
                    Ok(_) => "marked".to_owned(),
                    Err(error) => format!("failed: {error}"),
                },
                ["append"] => match held.as_ref().unwrap().append(&[record()]).await {
                    Ok(()) => "written".to_owned(),
                    Err(StoreError::Displaced { .. }) => "displaced".to_owned(),
                    Err(error) => format!("failed: {error}"),
                },
                ["release", marker] => {
                    std::fs::remove_file(marker).unwrap();
                    match held.take().unwrap().release().await {
                        Ok(()) => "released".to_owned(),
                        Err(error) => format!("failed: {error}"),
                    }
                }
                other => panic!("{other:?}"),
            }
        });
        println!("@{answer}");
    }
}

/// Another process that can hold the ledger.
struct Racer {
    child: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Racer {
    fn start(place: &str, environment: &[(&str, String)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "races::child_process_of_the_race_tests", "--nocapture", "--test-threads=1"])
            .envs(environment.iter().cloned())
            .env(ROLE, place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, orders, answers }
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        self.orders.flush().unwrap();
    }

    fn answer(&mut self) -> String {
        loop {
            let line = self.answers.next().expect("the other process ended").unwrap();
            // The test runner's own words stand before the first answer.
            if let Some((_, answer)) = line.split_once('@') {
                return answer.to_owned();
            }
        }
    }

    fn ask(&mut self, order: &str) -> String {
        self.tell(order);
        self.answer()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Racer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rounds() -> usize {
    std::env::var("STEAD_RACES").ok().map_or(RACES, |text| text.parse().unwrap())
}

/// Two processes race for a ledger again and again: every other time for one that does not exist yet.
pub async fn one_of_two_gets_it(place: &str, environment: &[(&str, String)]) {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("held");
    let mut racers = [Racer::start(place, environment), Racer::start(place, environment)];
    let rounds = rounds();
    for round in 0..rounds {
        let name = if round % 2 == 0 { "again".to_owned() } else { format!("new{round}") };
        // Whoever is told last must not always lose.
        racers.swap(0, 1);
        for racer in &mut racers {
            racer.tell(&format!("open {name}"));
        }
        let answers = [racers[0].answer(), racers[1].answer()];
        let winners: Vec<_> = (0..2).filter(|n| answers[*n] == "held").collect();
        assert_eq!(winners.len(), 1, "round {round}: {answers:?}");
        assert!(answers.contains(&"locked".to_owned()), "round {round}: {answers:?}");
        win(&mut racers[winners[0]], &marker);
    }
    let place = LedgerLocation::parse(place).unwrap();
    let again = ledger(&place, "again").await;
    assert_eq!((again.epoch, again.holder.is_none()), (rounds.div_ceil(2) as u64, true));
    assert_eq!(again.history.len(), rounds.div_ceil(2).min(stead::ledger::state::run_history::MAX_RUNS));
    for round in (1..rounds).step_by(2) {
        let new = ledger(&place, &format!("new{round}")).await;
        assert_eq!((new.epoch, new.history.len()), (1, 1), "round {round}");
    }
    println!("{rounds} races at {place}: 0 double holders");
}

fn win(racer: &mut Racer, marker: &Path) {
    let marker = marker.display();
    assert_eq!(racer.ask(&format!("mark {marker}")), "marked", "two held it");
    assert_eq!(racer.ask("append"), "written");
    assert_eq!(racer.ask(&format!("release {marker}")), "released");
}

/// A holder that is killed is proven dead: the next one need not wait.
pub async fn the_dead_are_succeeded_at_once(place: &str, environment: &[(&str, String)]) {
    let mut racer = Racer::start(place, environment);
    assert_eq!(racer.ask("open killed"), "held");
    assert_eq!(racer.ask("append"), "written");
    let place = LedgerLocation::parse(place).unwrap();
    let early = open(&place, "killed", None).await;
    assert!(matches!(early, Err(StoreError::Locked { .. })), "the living are not dead");
    racer.signal("-KILL");
    racer.child.wait().unwrap();
    let next = open(&place, "killed", None).await.unwrap();
    next.append(&[record()]).await.unwrap();
    next.release().await.unwrap();
    assert_eq!(ledger(&place, "killed").await.history.len(), 2);
}

/// A holder that slept through a take-over writes nothing when it wakes.
pub async fn a_sleeper_wakes_to_nothing(place: &str, environment: &[(&str, String)]) {
    let mut racer = Racer::start(place, environment);
    assert_eq!(racer.ask("open asleep"), "held");
    assert_eq!(racer.ask("append"), "written");
    racer.signal("-STOP");
    let place = LedgerLocation::parse(place).unwrap();
    let locked = open(&place, "asleep", None).await;
    assert!(matches!(locked, Err(StoreError::Locked { .. })), "the sleeping are not dead");
    let next = open(&place, "asleep", Some("it sleeps")).await.unwrap();
    next.append(&[record()]).await.unwrap();
    racer.signal("-CONT");
    assert_eq!(racer.ask("append"), "displaced");
    next.append(&[record()]).await.unwrap();
    next.release().await.unwrap();
    let ledger = ledger(&place, "asleep").await;
    let ours = std::process::id().to_string();
    let by_us = ledger.history.iter().filter(|run| run.who == ours).count();
    assert_eq!((ledger.history.len(), by_us), (3, 2));
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn races_in_postgresql() {
    let server = Database::shared();
    let address = server.database("races");
    one_of_two_gets_it(&address, &[]).await;
    the_dead_are_succeeded_at_once(&address, &[]).await;
    a_sleeper_wakes_to_nothing(&address, &[]).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL and pgbouncer; .ci/run brings what it needs and runs it"]
async fn races_in_postgresql_behind_a_pooler() {
    let server = Database::shared();
    let pooler = Bouncer::start(&server);
    let address = pooler.address(&server.database("pooled_races"));
    one_of_two_gets_it(&address, &[]).await;
    the_dead_are_succeeded_at_once(&address, &[]).await;
    a_sleeper_wakes_to_nothing(&address, &[]).await;
}
