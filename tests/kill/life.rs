//! `Life`: one stack in rounds: each has a new configuration, some runs that are killed, a recovery, and a comparison
//! of the ledger with the live objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use stead::ledger::state::ledger::Ledger;
use stead::ledger::stores::file::store::FileStore;
use tempfile::TempDir;

use super::chance::Chance;
use super::cloud::{STEAD, Served};
use super::stack::Stack;

/// Limit on the runs that finish a round: with more, it would probably never end.
const MOST_RUNS: usize = 6;

/// The exit code of a plan that is blocked.
const BLOCKED: i32 = 4;

/// Interval of the checks whether a process still runs.
const TICK: Duration = Duration::from_millis(1);

/// How many processes ended in which way.
#[derive(Debug, Default, Clone, Copy)]
pub struct Deaths {
    /// Ended by SIGKILL.
    pub killed: u64,
    /// Ended by SIGTERM or SIGINT, some with a SIGKILL after it.
    pub told: u64,
    /// Finished before the signal.
    pub spared: u64,
    /// Left open intents in the ledger.
    pub open: u64,
    /// Number of comparisons.
    pub chapters: u64,
}

impl Deaths {
    pub fn and(self, other: Self) -> Self {
        Self {
            killed: self.killed + other.killed,
            told: self.told + other.told,
            spared: self.spared + other.spared,
            open: self.open + other.open,
            chapters: self.chapters + other.chapters,
        }
    }
}

impl fmt::Display for Deaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { killed, told, spared, open, chapters } = self;
        write!(
            f,
            "{killed} killed, {told} told to stop, {spared} done before; {open} left requests open; \
             {chapters} recoveries reckoned: 0 twice, 0 orphans, 0 lost"
        )
    }
}

/// A stack's directory, its service, and the results so far.
pub struct Life {
    directory: TempDir,
    served: Option<Served>,
    chance: Chance,
    stack: Stack,
    /// Estimated duration of a complete run: the kills are spread over it.
    span: Duration,
    deaths: Deaths,
}

impl Life {
    /// Returns a stack on an emulator process that survives each kill.
    pub fn served(chance: Chance) -> Self {
        let life = Self::embedded(chance);
        let served = Served::start(&life.directory.path().join("cloud"));
        Self { served: Some(served), span: Duration::from_millis(600), ..life }
    }

    /// Returns a stack on an embedded emulator, which is killed with the process.
    pub fn embedded(chance: Chance) -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            served: None,
            chance,
            stack: Stack::default(),
            span: Duration::from_secs(8),
            deaths: Deaths::default(),
        }
    }

    /// Runs rounds until `deaths` processes were ended by a signal.
    pub fn lead(mut self, deaths: u64) -> Deaths {
        while self.deaths.killed + self.deaths.told < deaths {
            self.chapter();
        }
        self.deaths
    }

    fn chapter(&mut self) {
        let before = self.stack.clone();
        self.stack = before.next(&mut self.chance);
        let written = if self.stack.is_nothing() { &before } else { &self.stack };
        if !written.is_nothing() {
            std::fs::write(self.directory.path().join("stead.yaml"), written.yaml()).unwrap();
        }
        if before.is_nothing() && self.stack.is_nothing() {
            return;
        }
        for _ in 0..=self.chance.below(3) {
            self.die();
        }
        self.recover();
        self.reckon();
    }

    /// Starts a run and kills it at a random moment.
    fn die(&mut self) {
        let mut child = self.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moment = self.chance.moment(self.span + self.span / 8);
        if lives_for(&mut child, moment) {
            let word = match self.chance.below(8) {
                0 => Some("TERM"),
                1 => Some("INT"),
                _ => None,
            };
            if let Some(word) = word {
                tell(&child, word);
                self.deaths.told += 1;
            } else {
                self.deaths.killed += 1;
            }
            // After a first word it may end well, within a while; some are not given that.
            let patience = self.span * u32::try_from(self.chance.below(3)).unwrap_or_default();
            if word.is_none() || lives_for(&mut child, patience) {
                child.kill().unwrap();
            }
        } else {
            self.deaths.spared += 1;
        }
        child.wait().unwrap();
        let open = self.ledger().is_some_and(|ledger| !ledger.intents.is_empty());
        self.deaths.open += u64::from(open);
    }

    /// Runs the command until it succeeds: the first run has to resolve what the killed ones left.
    fn recover(&mut self) {
        let mut said = Vec::new();
        for _ in 0..MOST_RUNS {
            let start = Instant::now();
            let output = self.command().output().unwrap();
            if output.status.success() {
                if said.is_empty() {
                    self.span = (self.span * 3 + start.elapsed()) / 4;
                }
                return;
            }
            self.own_up(&output);
            said.push(words(&output));
        }
        panic!("{:?} is not reached; kept at {}:\n{}", self.stack, self.keep(), said.join("\n----\n"));
    }

    /// Confirms objects that were bound by their properties alone: they are deleted only after a user confirmed them.
    fn own_up(&self, output: &Output) {
        if output.status.code() != Some(BLOCKED) {
            return;
        }
        let Some(ledger) = self.ledger() else { return };
        let found = ledger.entries.iter().filter_map(|(address, entry)| {
            let current = entry.current.as_ref().filter(|owned| owned.provisional)?;
            Some(format!("--adopt={address}={}", current.id))
        });
        let flags: Vec<String> = found.collect();
        if !flags.is_empty() {
            let _ = self.run("apply --yes --allow-deletes -q").args(&flags).output().unwrap();
        }
    }

    /// Compares the ledger with the live objects: no duplicate, no orphan, nothing missing.
    fn reckon(&mut self) {
        self.deaths.chapters += 1;
        let ledger = self.ledger().unwrap_or_else(|| panic!("the ledger is lost: {}", self.keep()));
        let mut owned: BTreeMap<String, String> = BTreeMap::new();
        for (address, entry) in &ledger.entries {
            assert!(entry.deposed.is_empty(), "{address} has deposed objects: {}", self.keep());
            if let Some(object) = &entry.current {
                let twice = owned.insert(format!("{}/{}", entry.kind, object.id), address.to_string());
                assert_eq!(twice, None, "{address} owns another's object: {}", self.keep());
            }
        }
        assert!(ledger.intents.is_empty() && ledger.questions.is_empty(), "left open: {}", self.keep());
        let owned: BTreeSet<String> = owned.into_keys().collect();
        let (live, counts) = self.live();
        assert_eq!(live, owned, "orphans, or lost objects: live, then owned; {}", self.keep());
        for (collection, count) in counts {
            assert_eq!(count, self.stack.count(collection), "{collection}: {}", self.keep());
        }
    }

    /// Returns the live objects; an embedded emulator's data is served for this call.
    fn live(&self) -> (BTreeSet<String>, Vec<(&'static str, u64)>) {
        match &self.served {
            Some(served) => served.live(),
            None => Served::start(&self.directory.path().join(".stead")).live(),
        }
    }

    fn ledger(&self) -> Option<Ledger> {
        let place = if self.served.is_some() { "ledger" } else { "local" };
        let directory = self.directory.path().join(".stead").join(place);
        FileStore::read(&directory, "kill", "default", None)
            .unwrap_or_else(|error| panic!("{error}: {}", self.keep()))
    }

    /// Returns the command of this round.
    fn command(&self) -> Command {
        if self.stack.is_nothing() {
            self.run("destroy --yes --confirm kill -q")
        } else {
            self.run("apply --yes --allow-deletes -q")
        }
    }

    fn run(&self, args: &str) -> Command {
        let mut command = Command::new(STEAD);
        command.current_dir(self.directory.path()).args(args.split(' ')).stdin(Stdio::null()).env_clear();
        command.args(["--effect-bound", "250ms", "--listing-bound", "50ms"]).env("USER", "tester");
        match &self.served {
            Some(served) => {
                command.env("STEAD_API_URL", &served.url).env("STEAD_API_KEY", &served.key);
            }
            None => _ = command.args(["--cloud", "local"]),
        }
        command
    }

    /// Keeps a copy of the directory for the analysis of a failure; returns its path.
    fn keep(&self) -> String {
        let from = self.directory.path();
        let kept = from.with_extension("kept");
        let _ = Command::new("cp").arg("-r").arg(from).arg(&kept).status();
        kept.display().to_string()
    }
}

fn words(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("exit {:?}\n{}{}", output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Sends a signal by its name.
fn tell(child: &Child, word: &str) {
    let line = format!("kill -{word} {}", child.id());
    // It may have ended just now.
    let _ = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status();
}

/// Returns whether a process still runs after `time`; returns as soon as it has ended.
fn lives_for(child: &mut Child, time: Duration) -> bool {
    let end = Instant::now() + time;
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let Some(left) = end.checked_duration_since(Instant::now()) else { return true };
        std::thread::sleep(left.min(TICK));
    }
}
