//! What the journal costs: the share of an apply's time that goes into durable writes.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde_json::json;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::store::Store;
use stead::ledger::state::entry::LedgerIdentity;
use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::stores::file::store::FileStore;
use stead::ledger::stores::open_options::OpenOptions;
use stead::model::clock::Random;
use uuid::Uuid;

use super::figure;
use super::live::Emulator;
use super::stacks::{self, STEAD};
use super::time::run;

/// Characters before the JSON of a journal's line.
const PREFIX: usize = 8 + 1 + 64 + 1;

/// Applies of 200 objects, 40 ms away: under the limiter of the service, and without it, where nothing
/// but the latency hides the journal.
pub fn journal() {
    measure("apply of 200", &[], "< 5 %");
    measure("apply of 200 without a limiter", &["--no-limiter"], "");
}

/// Applies, then makes the same appends once more, by the same store on the same disk, with a watch
/// beside them: they are made one after the other, and nothing else goes on meanwhile.
fn measure(what: &str, flags: &[&str], target: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("stead.yaml"), stacks::listed_yaml(200)).unwrap();
    let flags = [&["--speed", "1000"], flags].concat();
    let cloud = Emulator::start(&directory.path().join("cloud"), &flags);
    cloud.request("POST", "/_emulator/faults", &json!({ "rules": ["*=delay-40ms"] }));
    let wall = run(STEAD, &["apply", "--yes", "-q"], directory.path(), &cloud.environment()).wall;
    let lines = appends(&directory.path().join(".stead/ledger"));
    let written = again(&lines).as_secs_f64();
    figure(&format!("{what}: seconds"), &format!("{wall:.2}"), "");
    figure(
        &format!("{what}: appends, milliseconds in all"),
        &format!("{}, {:.0}", lines.len(), written * 1e3),
        "",
    );
    let by_hand = by_hand(&lines).as_secs_f64() * 1e3;
    figure(&format!("{what}: of that the disk's, milliseconds"), &format!("{by_hand:.0}"), "");
    figure(
        &format!("{what}: share of journal writes"),
        &format!("{:.1} %", written / wall * 100.0),
        target,
    );
}

/// The records of each append of a stack's first apply.
fn appends(ledgers: &Path) -> Vec<Vec<Record>> {
    let environment = fs::read_dir(ledgers).unwrap().next().unwrap().unwrap().path();
    let journal = fs::read_to_string(environment.join("journal-0.log")).unwrap();
    journal.lines().map(|line| serde_json::from_str(&line[PREFIX..]).unwrap()).collect()
}

/// How long the same appends take, beginning with a new ledger.
fn again(lines: &[Vec<Record>]) -> Duration {
    struct NoChance;
    impl Random for NoChance {
        fn uuid(&self) -> Uuid {
            Uuid::nil()
        }

        fn fraction(&self) -> f64 {
            0.0
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let identity = LedgerIdentity::new_random("figures", "default", &NoChance);
    let opening = OpenOptions::new(
        &identity,
        LeaseHolder {
            session: Uuid::nil(),
            who: "figures".into(),
            process: None,
            since: jiff::Timestamp::UNIX_EPOCH,
        },
        Duration::ZERO,
    );
    let store = FileStore::open(directory.path(), &opening).unwrap();
    let start = Instant::now();
    // The first one is the birth, which opening wrote.
    for records in lines.iter().skip(1) {
        store.append(records).now_or_never().expect("a file waits for nobody").unwrap();
    }
    start.elapsed()
}

/// How long the disk takes for as many writes of as many bytes, each made durable.
fn by_hand(lines: &[Vec<Record>]) -> Duration {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let sizes = lines.iter().skip(1).map(|records| PREFIX + serde_json::to_vec(records).unwrap().len());
    let lines: Vec<Vec<u8>> = sizes.map(|size| vec![b'x'; size]).collect();
    let start = Instant::now();
    for line in &lines {
        file.write_all(line).unwrap();
        file.as_file().sync_data().unwrap();
    }
    start.elapsed()
}
