//! `stead resolve`: lists ambiguous intents and lost secrets, or resolves one: the user states which live object a
//! lost request created, if any. Each answer is checked against the live objects and becomes one ledger record; no
//! change is sent to the service.

use clap::Args;
use uuid::Uuid;

use crate::cli::command_context::CommandContext;
use crate::cli::ledger::ambiguous_intents::ResolveAction;
use crate::cli::ledger::ledger_io::{self, CommandJournal, ExpectedLedger};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::lost_secrets::{self, LostSecret};
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unknown_addresses;
use crate::ledger::journal::record::{IntentResolution as Said, Record};
use crate::ledger::state::ambiguous_intent;
use crate::ledger::state::entry::{Entry, Intent, IntentAction, OwnedObject};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::ObjectKey;
use crate::report::json::{self, AmbiguousIntentEntry};
use crate::report::text::escape;

/// Command-line arguments of `stead resolve`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead resolve\n  stead resolve 3f0e8c52 adopt 5b1e09c2-…\n  stead resolve 3f0e8c52 absent"
)]
pub struct ResolveArgs {
    /// The first digits of the ambiguous intent's request, or its resource; all ambiguous intents when omitted
    pub operation: Option<String>,
    /// How to resolve the ambiguous intent
    #[command(subcommand)]
    pub answer: Option<ResolveAction>,
}

/// Status of a request that is presumed to have had no effect.
const PRESUMED_ABSENT: &str = "presumed without effect, and watched for a late effect";

/// Status of a request whose object was found and bound, and not yet confirmed.
const BOUND_UNCONFIRMED: &str = "bound to the object that was found, and watched for a second one";

/// Returns the status of a request that is watched for a late effect.
fn watch_status(ledger: &Ledger, intent: &Intent) -> &'static str {
    let object = ledger.entries.get(&intent.address).and_then(|entry| entry.current.as_ref());
    if object.is_some_and(|object| object.provisional) { BOUND_UNCONFIRMED } else { PRESUMED_ABSENT }
}

/// Lists or resolves ambiguous intents. Without an answer on a terminal, prompts for it; otherwise
/// only shows the intent.
///
/// # Errors
/// When there is no such intent, the named object cannot be the result of the request, or the ledger cannot be
/// written.
pub(in crate::cli) async fn run(session: &CommandContext, args: &ResolveArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let connection = session.connect(&project)?;
    let ledger = ledger_io::read_ledger(&project, &connection).await?;
    let lost = lost_secrets::find_lost_secrets(&project, &ledger);
    let Some(asked) = &args.operation else {
        let page = || session.settings.with_global_flags(&render_open_intents(&ledger, &lost));
        session.ui.write_result(&if session.ui.json { intents_document(&ledger, &lost) } else { page() });
        return Ok(Exit::Done);
    };
    if let Some(lost) = lost.iter().find(|lost| lost.address.as_str() == asked) {
        let Some(answer) = &args.answer else {
            let lost = std::slice::from_ref(lost);
            let text =
                || session.settings.with_global_flags(&lost.iter().map(told_lost).collect::<String>());
            session.ui.write_result(&if session.ui.json {
                intents_document(&ledger, lost)
            } else {
                text()
            });
            return Ok(Exit::Done);
        };
        let record = lost.answer_record(answer)?;
        let journal =
            ledger_io::open_journal(&project, &connection, &session.who, ExpectedLedger::Newest).await?;
        let done = journal.commit(&[record]).await.map_err(CliFailure::from);
        ledger_io::close_after(journal, done).await?;
        return Ok(tell_recorded(session, (asked, lost.address), answer));
    }
    let op = if asked.contains('.') {
        of_resource(&project, &ledger, asked)?
    } else {
        find_intent(&ledger, asked)?
    };
    let Some(answer) = choose_answer(session, &ledger, op, args.answer.as_ref())? else {
        session.ui.write_result(&if session.ui.json {
            intents_document(&ledger, &[])
        } else {
            session.settings.with_global_flags(&render_intent(&ledger, op))
        });
        return Ok(Exit::Done);
    };
    let journal =
        ledger_io::open_journal(&project, &connection, &session.who, ExpectedLedger::Newest).await?;
    let done = record_answer(&connection, &journal, op, &answer).await;
    let address = ledger_io::close_after(journal, done).await?;
    Ok(tell_recorded(session, (&op.to_string(), &address), &answer))
}

/// Prints that an answer is recorded.
fn tell_recorded(
    session: &CommandContext,
    (operation, address): (&str, &Address),
    answer: &ResolveAction,
) -> Exit {
    if session.ui.json || session.ui.ndjson {
        let recorded = serde_json::json!({
            "schema_version": json::SCHEMA_VERSION,
            "operation": operation,
            "address": address,
            "answer": answer_keyword(answer),
        });
        session.ui.write_result(&json::to_pretty(&recorded));
    } else {
        session.ui.report_done(&format!("Recorded. {address} is no longer frozen."));
    }
    session.next("plan", "");
    Exit::Done
}

/// Returns the keyword of a resolution.
const fn answer_keyword(answer: &ResolveAction) -> &'static str {
    match answer {
        ResolveAction::Adopt { .. } => "adopt",
        ResolveAction::Absent => "absent",
        ResolveAction::Forget => "forget",
        ResolveAction::Surplus { .. } => "surplus",
    }
}

/// Records a resolution under the ledger's lock; returns the address of the intent.
///
/// # Errors
/// When another user resolved it meanwhile, the answer does not fit, or the ledger cannot be written.
async fn record_answer(
    connection: &StackConnection,
    journal: &CommandJournal,
    op: Uuid,
    answer: &ResolveAction,
) -> Result<Address, CliFailure> {
    let ledger = journal.ledger().clone();
    let intent = answerable_intent(&ledger, op)?;
    let answer =
        ledger_io::while_kept(journal, resolve_answer(connection, &ledger, &intent, answer)).await?;
    let mut records = vec![Record::Answered { op, answer: answer.clone() }];
    records.extend(without_secret(connection, &intent, &answer));
    journal.commit(&records).await?;
    Ok(intent.address)
}

/// Returns the record that keeps an object without its secret: the response that contained the secret is lost, and a
/// user who keeps the object accepts that it is never delivered. `None` if no secret was lost.
fn without_secret(connection: &StackConnection, intent: &Intent, answer: &Said) -> Option<Record> {
    let (IntentAction::Create { entry, .. }, Said::Made { .. }) = (&intent.action, answer) else {
        return None;
    };
    let kind = connection.client.registry().kind(&intent.kind)?;
    let lost = entry.secret_lost && kind.shown_once.is_some() && kind.reveal().is_none();
    let entry = Box::new(Entry { secret_lost: false, ..(**entry).clone() });
    lost.then(|| Record::Applied { address: intent.address.clone(), entry })
}

/// Returns the only ambiguous or watched intent of a resource; none or several are an error.
fn of_resource(project: &LoadedStack, ledger: &Ledger, asked: &str) -> Result<Uuid, CliFailure> {
    let questions = ledger.questions.iter().map(|(op, question)| (op, &question.intent));
    let all = questions.chain(ledger.watched.iter());
    let ops: Vec<Uuid> =
        all.filter(|(_, intent)| intent.address.as_str() == asked).map(|(op, _)| *op).collect();
    let declared = project.stack.resources.keys().chain(ledger.entries.keys()).map(Address::as_str);
    match ops[..] {
        [op] => Ok(op),
        [] if !declared.clone().any(|known| known == asked) => {
            Err(unknown_addresses::unknown_address(asked, declared))
        }
        [] => Err(CliFailure::new(Exit::Failed, format!("there is nothing to resolve for {asked}"))
            .help("stead resolve without arguments lists them.")),
        _ => Err(CliFailure::new(Exit::Usage, format!("there are several intents to resolve for {asked}"))
            .help("Name one by its first digits: stead resolve lists them.")),
    }
}

fn find_intent(ledger: &Ledger, asked: &str) -> Result<Uuid, CliFailure> {
    ambiguous_intent::find_by_prefix(ledger, asked).map_err(|unfound| {
        CliFailure::new(Exit::Failed, unfound.to_string())
            .help("stead resolve without arguments lists them.")
    })
}

/// Returns an intent that can still be resolved. Another user may have resolved it since the ledger was read.
fn answerable_intent(ledger: &Ledger, op: Uuid) -> Result<Intent, CliFailure> {
    let asked = ledger.questions.get(&op).map(|question| &question.intent);
    asked.or_else(|| ledger.watched.get(&op)).cloned().ok_or_else(|| {
        CliFailure::new(Exit::Failed, "another user resolved it meanwhile").help("Nothing was recorded.")
    })
}

/// Returns the resolution from the command line, or prompts for it. `None` if there is no terminal, or
/// the user postpones it.
fn choose_answer(
    session: &CommandContext,
    ledger: &Ledger,
    op: Uuid,
    given: Option<&ResolveAction>,
) -> Result<Option<ResolveAction>, CliFailure> {
    if given.is_some() || !session.ui.interactive {
        return Ok(given.cloned());
    }
    session.ui.write_message(render_intent(ledger, op).trim_end());
    let answers = possible_answers(ledger, op);
    let choices: Vec<&str> = std::iter::once("later").chain(answers.iter().map(String::as_str)).collect();
    let at = session.ui.choose("What was its outcome?", &choices).map_err(anyhow::Error::from)?;
    let words: Vec<&str> = choices[at].split(' ').collect();
    Ok(match words[..] {
        ["adopt", id] => Some(ResolveAction::Adopt { id: id.into() }),
        ["surplus", id] => Some(ResolveAction::Surplus { id: id.into() }),
        ["absent"] => Some(ResolveAction::Absent),
        ["forget"] => Some(ResolveAction::Forget),
        _ => None,
    })
}

/// Returns the record's form of a resolution, after checking that the named object fits the request.
async fn resolve_answer(
    connection: &StackConnection,
    ledger: &Ledger,
    intent: &Intent,
    answer: &ResolveAction,
) -> Result<Said, CliFailure> {
    let names_object = matches!(answer, ResolveAction::Adopt { .. } | ResolveAction::Surplus { .. });
    if names_object && !matches!(intent.action, IntentAction::Create { .. }) {
        let text = format!("the request for {} was not a creation: it created no object", intent.address);
        return Err(CliFailure::new(Exit::Failed, text).help("Its answers are: absent, forget."));
    }
    Ok(match answer {
        ResolveAction::Adopt { id } => {
            Said::Made { object: read_candidate(connection, ledger, intent, id).await? }
        }
        ResolveAction::Surplus { id } => {
            Said::Surplus { object: read_candidate(connection, ledger, intent, id).await? }
        }
        ResolveAction::Absent if ledger.watched.contains_key(&intent.op) => {
            return Err(CliFailure::new(Exit::Failed, format!("the request is {PRESUMED_ABSENT}"))
                .help("It counts as absent already. To stop watching it: forget."));
        }
        ResolveAction::Absent => Said::Nothing,
        ResolveAction::Forget => Said::Dropped,
    })
}

/// Returns the ledger's record of a live object, after checking that the request can have created it: it is not
/// owned, did not exist before, and is in the project of the request.
async fn read_candidate(
    connection: &StackConnection,
    ledger: &Ledger,
    intent: &Intent,
    id: &Name,
) -> Result<OwnedObject, CliFailure> {
    let key = ObjectKey { kind: intent.kind.clone(), parent: intent.parent.clone(), id: id.clone() };
    let fail = |text: String| CliFailure::new(Exit::Failed, text).help("Nothing was recorded.");
    let Some(object) = connection.client.get(&key).await? else {
        return Err(fail(format!("there is no live {} {id}", key.kind)));
    };
    let mut owners = ledger.entries.iter().filter(|(_, entry)| {
        entry.current.iter().chain(&entry.deposed).any(|owned| owned.key(&entry.kind) == key)
    });
    if let Some((owner, _)) = owners.next() {
        return Err(fail(format!("{id} belongs to {owner} already")));
    }
    if matches!(&intent.action, IntentAction::Create { baseline, .. } if baseline.contains(id)) {
        return Err(fail(format!("{id} existed before the request, which cannot have created it")));
    }
    let elsewhere = object.project.as_ref().zip(intent.project.as_ref()).is_some_and(|(a, b)| a != b);
    if elsewhere {
        return Err(fail(format!("{id} is in another project than the one that the request was for")));
    }
    Ok(OwnedObject {
        id: object.id,
        parent: object.parent,
        project: object.project.or_else(|| intent.project.clone()),
        created_at: object.created_at,
        provisional: false,
    })
}

/// Returns the arguments of each possible resolution; `ID` stands for an id that is not known.
fn possible_answers(ledger: &Ledger, op: Uuid) -> Vec<String> {
    match (ledger.questions.get(&op), ledger.watched.get(&op)) {
        (Some(question), _) => {
            ambiguous_intent::possible_answers(ledger, &question.intent, &question.candidates)
        }
        (None, Some(_)) => vec!["adopt ID".to_owned(), "surplus ID".to_owned(), "forget".to_owned()],
        (None, None) => Vec::new(),
    }
}

fn render_open_intents(ledger: &Ledger, lost: &[LostSecret<'_>]) -> String {
    if ledger.questions.is_empty() && ledger.watched.is_empty() && lost.is_empty() {
        return "There is nothing to resolve.\n".to_owned();
    }
    let requests =
        ledger.questions.keys().chain(ledger.watched.keys()).map(|op| render_intent(ledger, *op));
    requests.chain(lost.iter().map(told_lost)).collect()
}

/// Returns the description of a lost secret, escaped, with one command line for each possible resolution.
fn told_lost(lost: &LostSecret<'_>) -> String {
    let line =
        |words: &String| format!("  stead resolve {} {}\n", lost.address, escape::escape_line(words));
    let lines: String = lost.answers().iter().map(line).collect();
    format!("{}\n{lines}", escape::escape_line(&lost.text()))
}

/// Returns the description of an ambiguous intent or a watched request, escaped, with one command line for each
/// possible resolution; empty if it is neither.
fn render_intent(ledger: &Ledger, op: Uuid) -> String {
    let text = match (ledger.questions.get(&op), ledger.watched.get(&op)) {
        (Some(question), _) => question.text.clone(),
        (None, Some(intent)) => format!("{}: {}", intent.address, watch_status(ledger, intent)),
        (None, None) => return String::new(),
    };
    let handle = ambiguous_intent::short_handle(ledger, op);
    let answers = possible_answers(ledger, op);
    let lines =
        answers.iter().map(|words| format!("  stead resolve {handle} {}\n", escape::escape_line(words)));
    format!("{}\n", escape::escape_line(&text)) + &lines.collect::<String>()
}

fn intents_document(ledger: &Ledger, lost: &[LostSecret<'_>]) -> String {
    fn intent_entry<'a>(
        ledger: &Ledger,
        intent: &'a Intent,
        text: &'a str,
        candidates: &'a [Name],
    ) -> AmbiguousIntentEntry<'a> {
        AmbiguousIntentEntry {
            operation: intent.op.to_string(),
            handle: ambiguous_intent::short_handle(ledger, intent.op),
            address: &intent.address,
            kind: &intent.kind,
            text,
            candidates,
            answers: possible_answers(ledger, intent.op),
        }
    }
    let questions = ledger.questions.values();
    let texts: Vec<(String, Vec<Name>)> =
        lost.iter().map(|lost| (lost.text(), vec![lost.id().clone()])).collect();
    let of_lost = lost.iter().zip(&texts).map(|(lost, (text, candidates))| AmbiguousIntentEntry {
        operation: lost.address.to_string(),
        handle: lost.address.to_string(),
        address: lost.address,
        kind: lost.kind(),
        text,
        candidates,
        answers: lost.answers(),
    });
    let questions = questions.map(|q| intent_entry(ledger, &q.intent, &q.text, &q.candidates));
    let questions: Vec<_> = questions.chain(of_lost).collect();
    let watched: Vec<_> = ledger
        .watched
        .values()
        .map(|intent| intent_entry(ledger, intent, watch_status(ledger, intent), &[]))
        .collect();
    json::questions_document(&questions, &watched)
}
