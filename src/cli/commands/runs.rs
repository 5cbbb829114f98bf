//! `stead runs`: lists the runs that workers share, shows one, cancels one, and records that a worker is dead. Reads and
//! writes only the database of the runs.

use clap::{Args, Subcommand};

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::workspace::runs::open_board::{CommandBoard, open_board};
use crate::cli::workspace::runs::run_view::{self, listed_run};
use crate::cloud::system_clock::SystemClock;
use crate::ledger::runs::board::RunBoard;
use crate::ledger::runs::row::{RunRow, WorkerRow, parse_run_name};
use crate::ledger::stores::file::process;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::diagnostic::nearest_name;
use crate::report::units::runs::{run_document, run_page, runs_document, runs_table};

/// Command-line arguments of `stead runs`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead runs\n  stead runs show 4711\n  stead runs cancel 4711\n  stead runs dead 4711 5f0c2b1e\n\nThe numbers in the list are those of units, and of workers that are alive. The runs are in the PostgreSQL database of STEAD_RUNS, else of the backend."
)]
pub struct RunsArgs {
    /// What to do; without it, list the runs
    #[command(subcommand)]
    pub action: Option<RunsAction>,
}

/// Subcommands of `stead runs`.
#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum RunsAction {
    /// Show a run: its units, workers and events
    #[command(after_help = "Example:\n  stead runs show 4711 --output json")]
    Show(RunNameArgs),
    /// Let no more units of a run be started; those that are applied are finished
    #[command(after_help = "Example:\n  stead runs cancel 4711")]
    Cancel(RunNameArgs),
    /// State that a worker is dead, so that others take its units over at once
    Dead(DeadWorkerArgs),
}

/// The name of a run.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct RunNameArgs {
    /// Name of the run
    #[arg(value_name = "RUN", value_parser = parse_run_name)]
    pub run: Name,
}

/// Command-line arguments of `stead runs dead`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Example:\n  stead runs dead 4711 5f0c2b1e")]
pub struct DeadWorkerArgs {
    /// Name of the run
    #[arg(value_name = "RUN", value_parser = parse_run_name)]
    pub run: Name,
    /// Name of the worker, as `stead runs show` has it
    #[arg(value_name = "WORKER")]
    pub worker: String,
    /// Do not prompt for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// Lists the runs, or acts on one.
///
/// # Errors
/// When no database is configured or it cannot be used, or there is no such run or worker.
pub(in crate::cli) async fn run(session: &CommandContext, args: &RunsArgs) -> Result<Exit, CliFailure> {
    match &args.action {
        None => list_runs(session).await,
        Some(RunsAction::Show(args)) => show_run(session, &args.run).await,
        Some(RunsAction::Cancel(args)) => cancel_run(session, &args.run).await,
        Some(RunsAction::Dead(args)) => vouch_for_death(session, args).await,
    }
}

async fn list_runs(session: &CommandContext) -> Result<Exit, CliFailure> {
    let board = open_board(&session.settings, &Name::new("list"))?;
    let runs: Vec<_> = board.list().await?.iter().map(listed_run).collect::<Result<_, _>>()?;
    session.ui.write_result(&if session.ui.json {
        runs_document(&runs)
    } else {
        runs_table(&runs, SystemClock.now()).to_text("No run was begun yet.", session.ui.style)
    });
    Ok(Exit::Done)
}

/// Opens the rows of a run that exists.
async fn open_run(session: &CommandContext, name: &Name) -> Result<(CommandBoard, RunRow), CliFailure> {
    let board = open_board(&session.settings, name)?;
    if let Some(run) = board.run().await? {
        return Ok((board, run));
    }
    let known: Vec<String> = board.list().await?.iter().map(|one| one.run.name.to_string()).collect();
    let failure = CliFailure::new(Exit::Failed, format!("there is no run `{name}`"));
    Err(match nearest_name(name, known.iter().map(String::as_str)) {
        Some(near) => failure.help(format!("Did you mean `{near}`?")),
        None => failure.help("stead runs lists them."),
    })
}

async fn show_run(session: &CommandContext, name: &Name) -> Result<Exit, CliFailure> {
    let (board, run) = open_run(session, name).await?;
    let view = run_view::read_run(&board, &run).await?;
    session.ui.write_result(&if session.ui.json {
        run_document(&view)
    } else {
        run_page(&view, true, SystemClock.now(), session.ui.style)
    });
    Ok(Exit::Done)
}

async fn cancel_run(session: &CommandContext, name: &Name) -> Result<Exit, CliFailure> {
    let (board, _) = open_run(session, name).await?;
    if !board.cancel(&session.who).await? {
        return Err(CliFailure::new(Exit::Failed, format!("the run `{name}` has ended already")));
    }
    board.end().await?;
    session.ui.report_done(&format!("Canceled the run {name}: no more units are started."));
    show_document(session, &board).await
}

async fn vouch_for_death(session: &CommandContext, args: &DeadWorkerArgs) -> Result<Exit, CliFailure> {
    let (board, _) = open_run(session, &args.run).await?;
    let workers = board.workers().await?;
    let Some(worker) = workers.iter().find(|worker| worker.name == args.worker) else {
        let failure = CliFailure::new(
            Exit::Failed,
            format!("the run `{}` has no worker `{}`", args.run, args.worker),
        );
        let near = nearest_name(&args.worker, workers.iter().map(|worker| worker.name.as_str()));
        return Err(match near {
            Some(near) => failure.help(format!("Did you mean `{near}`?")),
            None => failure.help(format!("stead runs show {} lists them.", args.run)),
        });
    };
    reject_living(worker)?;
    let question = format!(
        "{} does not run any more, on no machine? If it does, a request of it may be sent twice.",
        worker.holder.in_words()
    );
    if !session.ui.confirm_action(args.yes, &question).await? {
        return Ok(Exit::Failed);
    }
    board.vouch(&args.worker, &session.who).await?;
    session.ui.report_done(&format!("Recorded that the worker {} is dead.", args.worker));
    show_document(session, &board).await
}

/// Refuses the statement that a process of this machine is dead while it runs.
fn reject_living(worker: &WorkerRow) -> Result<(), CliFailure> {
    let (Some(process), Some(here)) = (&worker.holder.process, process::current_process()) else {
        return Ok(());
    };
    let is_here = process.boot == here.boot && process.namespace == here.namespace;
    if is_here && !process::is_dead(process) {
        let what = format!("the worker {} runs on this machine, as process {}", worker.name, process.id);
        return Err(CliFailure::new(Exit::Failed, what).help("End it first: Ctrl-C, or kill."));
    }
    Ok(())
}

/// Prints the run as JSON, for a program.
async fn show_document(session: &CommandContext, board: &CommandBoard) -> Result<Exit, CliFailure> {
    if session.ui.json
        && let Some(run) = board.run().await?
    {
        let view = run_view::read_run(board, &run).await?;
        session.ui.write_result(&run_document(&view));
    }
    Ok(Exit::Done)
}
