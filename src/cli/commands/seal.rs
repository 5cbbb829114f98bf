//! `stead state seal`: adds MACs to a ledger without them, or replaces their key. In: the present ledger, shown and
//! confirmed. Out: the same ledger with MACs under the key. If the process is killed, the ledger is in either the
//! old or the new state.

use std::path::PathBuf;

use clap::Args;

use super::ledger_copy::missing_ledger;
use crate::apply::context::TimingBounds;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::high_water_mark::HighWaterMarkStore;
use crate::cli::ledger::ledger_io::{self, CommandJournal, LedgerOpenOptions};
use crate::cli::ledger::open::CommandStore;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::unit_header::UnitHeader;
use crate::cloud::system_clock::SystemClock;
use crate::ledger::journal::error::{MacError, StoreError};
use crate::ledger::journal::mac::MacKey;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::clock::Clock;
use crate::report::text::escape;
use crate::report::text::phrases::count_noun;

/// Command-line arguments of `stead state seal`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead state pull -o ledger-backup.json && stead state seal\n  STEAD_LEDGER_KEY=new.key stead state seal --previous-key old.key\n\nThe key is in the file that STEAD_LEDGER_KEY names. From then on the ledger is not read with that key unless MACs\nof it cover every record, and not written without it. It can be repeated after any interruption."
)]
pub struct StateSealArgs {
    /// Key of the present MACs; they are replaced by MACs under STEAD_LEDGER_KEY
    #[arg(long, value_name = "FILE")]
    pub previous_key: Option<PathBuf>,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Maximum number of objects that the summary names.
const MAX_LISTED_OBJECTS: usize = 20;

/// State of one run: the stack, the location and the new key.
struct SealCommand<'a> {
    session: &'a CommandContext,
    args: &'a StateSealArgs,
    unit: &'a UnitHeader<'a>,
    place: &'a LedgerLocation,
    key: MacKey,
}

/// Adds MACs, or replaces their key; returns `Exit::Failed` if the user declines.
///
/// # Errors
/// When there is no key or no ledger, the ledger lost MACs that this machine has seen, the previous key is wrong, or
/// the ledger cannot be written.
pub(super) async fn run(
    session: &CommandContext,
    args: &StateSealArgs,
    unit: &UnitHeader<'_>,
    place: &LedgerLocation,
) -> Result<Exit, CliFailure> {
    let key = crate::cli::ledger::open::seal_key(&session.settings)?.ok_or_else(|| {
        CliFailure::new(Exit::Usage, "`STEAD_LEDGER_KEY` is not set: it must name the file of the key")
            .help("A key for ledgers: (umask 077; openssl rand -base64 48 > ledger.key)")
    })?;
    SealCommand { session, args, unit, place, key }.run().await
}

impl SealCommand<'_> {
    async fn run(&self) -> Result<Exit, CliFailure> {
        let previous =
            self.args.previous_key.as_deref().map(crate::cli::ledger::open::key_of_file).transpose()?;
        match (self.read(&self.key).await, previous) {
            (Ok(None), _) => Err(missing_ledger(self.place)),
            (Ok(Some(ledger)), _) => Ok(self.report_unchanged(&ledger)),
            (Err(StoreError::Sealed(MacError::MissingMacs)), None) => self.add_macs().await,
            (Err(StoreError::Sealed(MacError::MissingMacs)), Some(_)) => {
                let what = "the ledger has no MACs, so it cannot be verified with the previous key";
                Err(CliFailure::new(Exit::Blocked, what).help(
                    "If it had MACs of that key, somebody removed them: restore a copy that has them.",
                ))
            }
            (Err(StoreError::Sealed(MacError::WrongKey { .. })), Some(previous)) => {
                self.replace_key(&previous).await
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Reads the ledger with a key; `None` if it does not exist.
    async fn read(&self, key: &MacKey) -> Result<Option<Ledger>, StoreError> {
        let unit = self.unit;
        CommandStore::read(self.place, &unit.stack, &unit.environment, Some(key)).await
    }

    fn report_unchanged(&self, ledger: &Ledger) -> Exit {
        self.session.ui.report_done(match ledger.sealed {
            Some(_) => "The ledger has MACs of this key already: nothing was changed.",
            None => "The ledger is empty: its MACs begin with the first apply. Nothing was changed.",
        });
        Exit::Done
    }

    /// Adds MACs to a ledger without them, unless this machine has seen some: then someone removed them.
    async fn add_macs(&self) -> Result<Exit, CliFailure> {
        let lenient = self.key.accepting_unsealed();
        let found = self.read(&lenient).await?.ok_or_else(|| missing_ledger(self.place))?;
        if self.marks(self.key.clone()).saw_macs(Some(&found))? {
            let what = "the ledger has no MACs, and it had them when this machine last saw it";
            return Err(CliFailure::new(Exit::Blocked, what)
                .help("Somebody removed them, and can have changed anything in it: stead does not add them here.")
                .help("Restore a copy that has them: remove the ledger from its location, then stead state push FILE."));
        }
        // Records can have MACs although an earlier checkpoint has none.
        let open = found.sealed.is_some().then_some(&lenient);
        let journal = self.open(open).await?;
        let work = self.write_macs(&journal, "has no MACs: a change to it cannot be detected");
        let done = ledger_io::while_kept(&journal, Box::pin(work)).await;
        ledger_io::close_after(journal, done).await
    }

    /// Replaces the key of the MACs; the ledger is verified with the previous one.
    async fn replace_key(&self, previous: &MacKey) -> Result<Exit, CliFailure> {
        let journal = self.open(Some(previous)).await?;
        let rolled_back =
            self.marks(previous.clone()).detect_rollback(Some((&journal.ledger(), &journal.trail())));
        let done = match rolled_back {
            Ok(None) => {
                let was = format!("has MACs of the key {}", previous.id());
                ledger_io::while_kept(&journal, Box::pin(self.write_macs(&journal, &was))).await
            }
            Ok(Some(objection)) => Err(objection.into()),
            Err(error) => Err(error.into()),
        };
        ledger_io::close_after(journal, done).await
    }

    async fn open(&self, key: Option<&MacKey>) -> Result<CommandJournal, CliFailure> {
        let identity = ledger_io::new_identity(self.unit);
        let terms = LedgerOpenOptions {
            identity: &identity,
            effect: TimingBounds::default().effect,
            force: None,
            vouched: &[],
        };
        ledger_io::open_with(key, &self.session.who, self.place, &terms).await
    }

    /// Returns the high-water marks of the ledger, as records with MACs under the key have them.
    fn marks(&self, key: MacKey) -> HighWaterMarkStore {
        let unit = self.unit;
        HighWaterMarkStore::new(
            &self.session.settings,
            Some(key),
            self.place,
            (&unit.stack, &unit.environment),
        )
    }

    /// Shows the ledger, asks for confirmation, and writes it; `was` describes its present state.
    async fn write_macs(&self, journal: &CommandJournal, was: &str) -> Result<Exit, CliFailure> {
        let ui = self.session.ui;
        ui.write_message(&self.summary(&journal.ledger(), was));
        let question = format!("Add MACs of the key {} to it?", self.key.id());
        if !self.session.ui.confirm_action(self.args.yes, &question).await? {
            return Ok(Exit::Failed);
        }
        journal.enable_macs(&self.key, &self.session.who, SystemClock.now()).await?;
        ledger_io::advance_marks(&self.marks(self.key.clone()), journal);
        ui.report_done(&format!(
            "The ledger has MACs of the key {}. It is not written without the key.",
            self.key.id()
        ));
        self.session.next("plan", "compares it with the live objects");
        Ok(Exit::Done)
    }

    /// Returns the summary, escaped, by which a user can recognize a ledger that stead did not write.
    fn summary(&self, ledger: &Ledger, was: &str) -> String {
        let unit = self.unit;
        let mut lines =
            vec![format!("The ledger of {}/{} at {} {was}.", unit.stack, unit.environment, self.place)];
        let applied = ledger.history.back().map_or_else(
            || "never applied".to_owned(),
            |run| format!("last applied {} by {}", run.at, escape::escape_line(&run.who)),
        );
        let (lineage, serial, count) =
            (ledger.identity.lineage, ledger.serial, count_noun(ledger.entries.len(), "resource"));
        lines.push(format!("Lineage {lineage}, record {serial}, {count}, {applied}:"));
        let objects = ledger.entries.iter().flat_map(|(address, entry)| {
            let objects = entry.current.iter().chain(&entry.deposed);
            objects.map(move |object| {
                format!("  {}  {}", escape::escape_line(address.as_str()), escape::escape_line(&object.id))
            })
        });
        let objects: Vec<String> = objects.collect();
        let more = objects.len().saturating_sub(MAX_LISTED_OBJECTS);
        lines.extend(objects.into_iter().take(MAX_LISTED_OBJECTS));
        if more > 0 {
            lines.push(format!("  and {more} more: stead state pull shows all"));
        }
        let backup = self.session.command_line("state pull -o ledger-backup.json");
        lines.push(format!(
            "Everyone who could write there can have changed it: compare these ids with the live objects. Save a copy first: {backup}"
        ));
        lines.join("\n")
    }
}
