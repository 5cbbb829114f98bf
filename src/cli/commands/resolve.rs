//! `stead resolve`: lists open questions, or answers one: which live object a lost request made, if any.

use uuid::Uuid;

use crate::cli::args::{Answer, Resolve};
use crate::cli::books::{self, Book};
use crate::cli::connect::Connection;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::ledger::entry::{Ledger, Owned, Question};
use crate::ledger::record::{Answer as Said, Record};
use crate::model::address::Name;
use crate::model::snapshot::ObjectKey;
use crate::report::escape;

/// Lists or answers.
///
/// # Errors
/// When there is no such question, the object is not live, or the ledger cannot be written.
pub(in crate::cli) async fn run(session: &Session, args: &Resolve) -> Result<Exit, Failure> {
    let project = session.open()?;
    let connection = session.connect(&project)?;
    let Some(op) = &args.operation else {
        list(session, &books::read_ledger(&project, &connection).await?);
        return Ok(Exit::Done);
    };
    let journal = books::open_journal(&project, &connection, &session.who).await?;
    let done = answer(session, args, op, &connection, &journal).await;
    books::close_after(journal, done).await
}

async fn answer(
    session: &Session,
    args: &Resolve,
    op: &Uuid,
    connection: &Connection,
    journal: &Book,
) -> Result<Exit, Failure> {
    let question = journal.ledger().questions.get(op).cloned();
    let question = question.ok_or_else(|| {
        Failure::new(Exit::Failed, format!("there is no open question {op}"))
            .help("stead resolve without arguments lists them.")
    })?;
    let answer = match &args.answer {
        Some(Answer::Adopt { id }) => {
            let key = key(&question, id);
            let found = connection.client.get(&key).await?.ok_or_else(|| {
                Failure::new(Exit::Failed, format!("there is no live {} {id}", key.kind))
                    .help("Nothing was recorded.")
            })?;
            let taken = journal.ledger().entries.values().any(|entry| {
                entry.current.iter().chain(&entry.deposed).any(|owned| owned.key(&entry.kind) == key)
            });
            if taken {
                return Err(Failure::new(
                    Exit::Failed,
                    format!("{id} belongs to another resource already"),
                )
                .help("Nothing was recorded."));
            }
            let object = Owned {
                id: found.id,
                parent: found.parent,
                project: found.project.or_else(|| question.intent.project.clone()),
                created_at: found.created_at,
                provisional: false,
            };
            Said::Made { object }
        }
        Some(Answer::Absent) => Said::Nothing,
        None => {
            session.ui.out(&told(&question));
            return Ok(Exit::Done);
        }
    };
    journal.commit(&[Record::Answered { op: *op, answer }]).await?;
    session.ui.say(&format!("Recorded. {} is no longer frozen.", question.intent.address));
    session.next("apply", "");
    Ok(Exit::Done)
}

fn key(question: &Question, id: &Name) -> ObjectKey {
    let intent = &question.intent;
    ObjectKey { kind: intent.kind.clone(), parent: intent.parent.clone(), id: id.clone() }
}

fn list(session: &Session, ledger: &Ledger) {
    if ledger.questions.is_empty() {
        session.ui.out("There are no open questions.\n");
    }
    for question in ledger.questions.values() {
        session.ui.out(&told(question));
    }
}

fn told(question: &Question) -> String {
    let op = question.intent.op;
    let adopt = |candidate: &Name| format!("  stead resolve {op} adopt {}", escape::line(candidate));
    let head = format!("{} {}", question.intent.address, escape::line(&question.text));
    let lines: Vec<_> = std::iter::once(head)
        .chain(question.candidates.iter().map(adopt))
        .chain([format!("  stead resolve {op} absent\n")])
        .collect();
    lines.join("\n")
}
