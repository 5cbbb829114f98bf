//! `stead recover`: rebuilds a lost ledger from the configuration and the live objects. Objects are matched to
//! resources by their identifying attributes; an ambiguous match is never adopted without the user. Sends only
//! reads, and commits the ledger at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clap::Args;

use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ledger_io::{self, CommandJournal, ExpectedLedger};
use crate::cli::ledger::other_ledgers;
use crate::cli::planning::refresh::{self, RefreshResult};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::kinds::REGISTRY;
use crate::ledger::journal::record::Record;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_history::{Incident, IncidentKind};
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::plan::import::rebuild_ledger::{self, AmbiguousMatch, RebuiltLedger};
use crate::plan::inputs::{PlanInputs, PlanningOptions};
use crate::report::json;
use crate::report::text::phrases::count_noun;
use crate::report::views::recovery as page;

/// Command-line arguments of `stead recover`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead recover -e prod\n  stead recover --yes && stead plan")]
pub struct RecoverArgs {
    /// Adopt unambiguous matches without a prompt, and list the rest
    #[arg(long)]
    pub yes: bool,
}

/// Rebuilds a lost ledger from live objects. Returns `Exit::Blocked` if a match stays ambiguous, and `Exit::Failed`
/// if the user declines.
///
/// # Errors
/// When a ledger with content exists, the service cannot be read, or the ledger cannot be written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &RecoverArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let connection = session.connect(&project)?;
    if let Some(ledger) = ledger_io::find_ledger(&project, &connection.place).await? {
        refuse_unless_empty(&ledger)?;
    }
    let journal =
        ledger_io::open_journal(&project, &connection, &session.who, ExpectedLedger::LostOrEmpty).await?;
    let recovering =
        RecoverCommand { session, project: &project, connection: &connection, journal: &journal };
    let done = Box::pin(ledger_io::while_kept(&journal, recovering.run(args))).await;
    ledger_io::close_after(journal, done).await
}

fn refuse_unless_empty(ledger: &Ledger) -> Result<(), CliFailure> {
    if ledger_io::is_empty(ledger) {
        return Ok(());
    }
    Err(CliFailure::new(
        Exit::Failed,
        format!("the ledger exists, with {}", count_noun(ledger.entries.len(), "resource")),
    )
    .help("Nothing is lost: stead plan compares it with the live objects.")
    .help("To adopt single objects: stead apply --adopt ADDRESS=ID."))
}

/// State of one rebuild: the stack, the connection and the new ledger.
struct RecoverCommand<'a> {
    session: &'a CommandContext,
    project: &'a LoadedStack,
    connection: &'a StackConnection,
    journal: &'a CommandJournal,
}

impl RecoverCommand<'_> {
    async fn run(&self, args: &RecoverArgs) -> Result<Exit, CliFailure> {
        // Another process may have written the ledger meanwhile.
        refuse_unless_empty(&self.journal.ledger())?;
        let ui = &self.session.ui;
        let asks = ui.interactive && !args.yes;
        let (recovery, world) = self.match_objects(asks).await?;
        if ui.json {
            ui.write_result(&json::recovery_document(&recovery));
        } else {
            ui.write_result(&page::recovery_page(&recovery, ui.style));
        }
        let exit = if recovery.ties.is_empty() { Exit::Done } else { Exit::Blocked };
        if recovery.found.is_empty() {
            ui.write_message("Nothing was written.");
            return Ok(exit);
        }
        if !self.session.ui.confirm_action(args.yes, "Write this ledger?").await? {
            return Ok(Exit::Failed);
        }
        let count = count_noun(recovery.found.len(), "resource");
        self.write(recovery, world.snapshot.account).await?;
        ui.write_message(&format!("The ledger is rebuilt, with {count}."));
        if exit == Exit::Blocked {
            ui.write_message(
                "Ambiguous objects were left out: stead apply --adopt ADDRESS=ID adopts the right one.",
            );
        }
        self.session.next("plan", "shows what differs");
        Ok(exit)
    }

    /// Reads and matches, and asks about ambiguous matches if `asks` is set, until none is left or the
    /// user left it out.
    async fn match_objects(&self, asks: bool) -> Result<(RebuiltLedger, RefreshResult), CliFailure> {
        let mut chosen: BTreeMap<Address, Name> = BTreeMap::new();
        let mut left: BTreeSet<Address> = BTreeSet::new();
        loop {
            let ledger = self.journal.ledger().clone();
            let (recovery, world) =
                read_and_match(self.session, self.project, self.connection, &ledger, &chosen).await?;
            let tie = recovery.ties.iter().find(|tie| asks && !left.contains(&tie.address));
            let Some(tie) = tie else { return Ok((recovery, world)) };
            match self.choose(tie).await? {
                Some(id) => {
                    chosen.insert(tie.address.clone(), id);
                }
                None => {
                    left.insert(tie.address.clone());
                }
            }
        }
    }

    /// Asks for the object of an ambiguous match; `None` if the answer is not a number of the list.
    async fn choose(&self, tie: &AmbiguousMatch) -> Result<Option<Name>, CliFailure> {
        let ui = self.session.ui;
        ui.write_message(page::ambiguity_prompt(tie, ui.message_style).trim_end());
        let question = format!("A number from 1 to {}, or nothing to leave it out: ", tie.candidates.len());
        let answer = ui.ask_question(question).await?;
        let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        Ok(number.and_then(|at| tie.candidates.get(at)).map(|candidate| candidate.id.clone()))
    }

    /// Records all objects in one commit, so that no partial ledger exists, and advances the high-water mark.
    async fn write(&self, recovery: RebuiltLedger, account: Option<Name>) -> Result<(), CliFailure> {
        let what = IncidentKind::Recovered { objects: recovery.found.len() };
        let (at, who) = (self.connection.client.clock().now(), self.session.who.clone());
        let mut records = vec![Record::Noted(Incident { at, who, what, reason: None })];
        records.extend(account.map(|account| Record::Account { account }));
        let adopted = recovery.found.into_iter();
        records.extend(adopted.map(|found| Record::Adopted { address: found.address, entry: found.entry }));
        self.journal.commit(&records).await?;
        ledger_io::advance_marks(
            &ledger_io::high_water_marks(self.project, &self.connection.place)?,
            self.journal,
        );
        Ok(())
    }
}

/// Reads and matches until nothing more can be read: children once their parents are matched, and attributes that
/// lists omit once an object is matched. `chosen` has the ids that the user chose, by address. Objects of other
/// ledgers of the backend are never matched.
///
/// # Errors
/// When the service or another ledger cannot be read.
pub(in crate::cli) async fn read_and_match(
    session: &CommandContext,
    project: &LoadedStack,
    connection: &StackConnection,
    ledger: &Ledger,
    chosen: &BTreeMap<Address, Name>,
) -> Result<(RebuiltLedger, RefreshResult), CliFailure> {
    let stack = &project.stack;
    let foreign = other_ledgers::objects_of_other_ledgers(project, &connection.place).await?;
    let foreign = Arc::new(foreign);
    let options =
        |adopt| PlanningOptions { adopt, foreign: Arc::clone(&foreign), ..session.read_only_options() };
    let mut known = chosen.clone();
    loop {
        let (wanted, tables) = rebuild_ledger::rebuild_request(REGISTRY, stack, ledger, &options(known));
        let world = refresh::read_world(connection, &wanted, &tables, None).await?;
        let recovery = rebuild_ledger::rebuild_ledger(&PlanInputs {
            registry: REGISTRY,
            stack,
            ledger,
            snapshot: &world.snapshot,
            catalog: &world.catalog,
            pinned: None,
            options: &options(chosen.clone()),
            now: connection.client.clock().now(),
            nonce: connection.client.random().uuid(),
        });
        known = rebuild_ledger::known_ids(&recovery);
        let (next, _) = rebuild_ledger::rebuild_request(REGISTRY, stack, ledger, &options(known.clone()));
        let more = !next.parents.is_subset(&wanted.parents) || !next.details.is_subset(&wanted.details);
        if !more {
            return Ok((recovery, world));
        }
    }
}
