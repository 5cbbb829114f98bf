//! `stead lock`: who has the ledger's lock, and taking it from them.

use std::time::Duration;

use crate::apply::context::Bounds;
use crate::cli::args::{Break, Lock, LockAction};
use crate::cli::command_context::Session;
use crate::cli::ledger::ledger_io::{self, Terms};
use crate::cli::ledger::open;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::stack::project::Project;
use crate::ledger::state::entry::Identity;
use crate::ledger::stores::any_store::{self, Looking};
use crate::ledger::stores::file::process;
use crate::ledger::stores::location::Place;
use crate::ledger::stores::shared::lease::{Held, Standing};
use crate::report::json;
use crate::report::views::history::{self, LockHolder};

/// Says who has the lock, or breaks it.
///
/// # Errors
/// When the stack has problems, or the ledger's place cannot be used.
pub(in crate::cli) async fn run(session: &Session, args: &Lock) -> Result<Exit, Failure> {
    let project = session.open()?;
    let place = session.ledger_location(&project)?;
    match &args.action {
        LockAction::Status => show_lock_status(session, &project, &place).await,
        LockAction::Break(args) => break_lock(session, args, &project, &place).await,
    }
}

async fn show_lock_status(session: &Session, project: &Project, place: &Place) -> Result<Exit, Failure> {
    let held = read_lock(session, project, place).await?;
    let holder = held.as_ref().map(to_lock_holder);
    let place = place.to_string();
    session.ui.write_result(&if session.ui.json {
        json::lock_document(holder.as_ref(), &place)
    } else {
        history::lock_page(holder.as_ref(), &place, session.ui.style)
    });
    Ok(if is_in_the_way(held.as_ref()) { Exit::Locked } else { Exit::Done })
}

async fn break_lock(
    session: &Session,
    args: &Break,
    project: &Project,
    place: &Place,
) -> Result<Exit, Failure> {
    let held = read_lock(session, project, place).await?;
    let Some(held) = held.as_ref().filter(|_| is_in_the_way(held.as_ref())) else {
        session.ui.report_done("The lock stands in nobody's way: nothing was broken.");
        return Ok(Exit::Done);
    };
    let who = held.holder.in_words();
    if matches!(place, Place::Directory(_)) {
        return Err(Failure::new(Exit::Locked, format!("the ledger is locked by {who}"))
            .help("This lock is its process's own: end the process, and the lock is gone with it."));
    }
    session.ui.write_message(&format!(
        "{who} has the lock. If it still runs, it can record nothing more; what became of"
    ));
    session.ui.write_message("its open requests is asked, and their resources wait for the answer.");
    if !session.confirm_action(args.yes, "Break the lock?").await? {
        return Ok(Exit::Failed);
    }
    let effect = Bounds::default().effect;
    let identity = ledger_io::new_identity(project);
    let terms = Terms { identity: &identity, effect, force: Some(&args.reason) };
    let key = open::key_as_found(project, place).await?;
    ledger_io::close_ledger(ledger_io::open_with(key.as_ref(), &session.who, place, &terms).await?).await?;
    session.ui.report_done("The lock is broken; the history keeps the reason.");
    session.next("plan", "shows what is open");
    Ok(Exit::Done)
}

/// Tells who has the lock; `None` when nobody has.
///
/// # Errors
/// When the place cannot be read.
pub(super) async fn read_lock(
    session: &Session,
    project: &Project,
    place: &Place,
) -> Result<Option<Held>, Failure> {
    let stack = &project.stack;
    let looking = Looking {
        identity: &Identity::new_placeholder(&stack.name, &stack.environment.name),
        holder: ledger_io::lock_holder(&session.who),
        effect: Bounds::default().effect,
        is_dead: &process::is_dead,
    };
    Ok(any_store::find_holder(place, &looking).await?)
}

fn is_in_the_way(held: Option<&Held>) -> bool {
    held.is_some_and(|held| matches!(held.standing, Standing::Held(_)))
}

fn to_lock_holder(held: &Held) -> LockHolder {
    let (standing, left) = match held.standing {
        Standing::Dead => ("dead", None),
        Standing::Free | Standing::RunOut => ("run_out", None),
        Standing::Held(left) => ("held", Some(left).filter(|left| *left < Duration::MAX)),
    };
    LockHolder {
        who: held.holder.who.clone(),
        since: held.holder.since,
        process: held.holder.process.as_ref().map(|process| process.id),
        standing,
        renewed: held.renewed.map(|age| age.as_secs()),
        left: left.map(|left| left.as_secs()),
    }
}
