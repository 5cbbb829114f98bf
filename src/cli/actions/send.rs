//! Sends the request of an action. A read is sent directly. A change of a managed object holds the ledger's lock,
//! and its intent is in the ledger before the request is sent. A change of any other object has no ledger, so it is
//! sent without a lock. No mutating request is sent twice.

use std::time::Duration;

use serde_json::Value as Json;
use uuid::Uuid;

use super::invocation::ActionInvocation;
use super::registry::KindAction;
use super::target::{ActionScope, ActionTarget, StackContext};
use crate::cli::ledger::ledger_io::{self, CommandJournal, ExpectedLedger};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::error::MutationOutcome;
use crate::cloud::write::action_request::{self, ActionResult};
use crate::ledger::journal::record::Record;
use crate::ledger::state::run_history::{ActionOutcome as End, Incident, IncidentKind};
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::schema::{Method, ResponseShape};
use crate::report::views::apply_outcome::{self, FailureContext};

/// Time by which the remaining lease must exceed the longest duration of the request.
const LOCK_MARGIN: Duration = Duration::from_secs(5);

/// Sends the request and returns the response; `None` if it has no body.
///
/// # Errors
/// When the service refuses the request, its outcome is not known, the ledger cannot be opened, or another process
/// holds its lock.
pub(in crate::cli) async fn send_action(scene: &ActionInvocation<'_>) -> Result<Option<Json>, CliFailure> {
    if !scene.order.mutates {
        return Ok(Some(read_answer(scene).await?));
    }
    if let (ActionScope::Stack(stack), Some(address)) = (scene.ground, &scene.target.address) {
        let journal = ledger_io::open_journal(
            &stack.project,
            &stack.connection,
            &scene.session.who,
            ExpectedLedger::Newest,
        )
        .await?;
        let done = under_lock(scene, stack, &journal, address).await;
        return ledger_io::close_after(journal, done).await;
    }
    let acted =
        // The object is in no ledger, so there is no lock that could be lost meanwhile.
        action_request::send_action(&scene.ground.client().changes(&|_| Ok(())), &scene.order.ask).await;
    action_answer(acted, scene.deed, scene.target)
}

/// Sends a read: all pages of a list. An action with a table as its answer can also get a single record.
async fn read_answer(scene: &ActionInvocation<'_>) -> Result<Json, CliFailure> {
    let (client, ask) = (scene.ground.client(), &scene.order.ask);
    let is_list = matches!(scene.deed.action.answer, ResponseShape::Rows(_) | ResponseShape::Feed { .. });
    if is_list
        && ask.method == Method::Get
        && let Some(rows) = client.ask_rows(ask, |_| false).await?
    {
        return Ok(Json::Array(rows));
    }
    Ok(client.send_query(ask).await?)
}

/// Sends a mutating request under the ledger's lock. Errors if the address owns another object than when the target
/// was resolved without the lock.
async fn under_lock(
    scene: &ActionInvocation<'_>,
    stack: &StackContext,
    journal: &CommandJournal,
    address: &Address,
) -> Result<Option<Json>, CliFailure> {
    let client = &stack.connection.client;
    let key = journal
        .ledger()
        .entries
        .get(address)
        .and_then(|entry| entry.current.as_ref().map(|owned| owned.key(&entry.kind)));
    // The target was resolved without the lock: another process may have replaced the object since.
    if key != scene.target.key {
        return Err(CliFailure::new(Exit::OutOfDate, format!("{address} owns another object by now"))
            .help("Nothing was sent. Check the object, and repeat the command."));
    }
    // Identifies the record of the start and the record of the end as one action.
    let op = client.random().uuid();
    let note = async |end: End| {
        if !scene.deed.action.recorded {
            return Ok(());
        }
        journal.commit(&[action_record(scene, address, op, end)]).await
    };
    note(End::Open).await?;
    let gate = |whole: Duration| match journal.held_for() {
        Some(left) if left < whole + LOCK_MARGIN => Err(format!(
            "this process holds the ledger's lock for only {} s more, which is too short",
            left.as_secs()
        )),
        _ => Ok(()),
    };
    // A lost lease ends the wait, not the request: it may have taken effect, so its outcome is unknown.
    let changes = client.changes(&gate);
    let acted = tokio::select! {
        acted = action_request::send_action(&changes, &scene.order.ask) => acted,
        lost = journal.keep_lease() => {
            ActionResult::Failed(MutationOutcome::Unknown { reason: lost.to_string(), settled: false, answer: None })
        }
    };
    let end = match &acted {
        ActionResult::Done(_) => End::Done,
        ActionResult::Failed(MutationOutcome::Unknown { .. }) => End::Unknown,
        ActionResult::Failed(_) => End::Refused,
    };
    let written = note(end).await;
    let done = action_answer(acted, scene.deed, scene.target)?;
    // The outcome is reported even if the ledger could not record it.
    if let Err(error) = written {
        scene.session.ui.write_message(&format!("note: the history could not be written: {error}"));
    }
    Ok(done)
}

/// Returns the history record that an action started (`End::Open`) or ended.
fn action_record(scene: &ActionInvocation<'_>, address: &Address, op: Uuid, end: End) -> Record {
    let (action, on) = (Name::new_static(scene.deed.action.name), Name::new(address.as_str()));
    let what = IncidentKind::Acted { op, action, on, end };
    let at = scene.ground.client().clock().now();
    Record::Noted(Incident { at, who: scene.session.who.clone(), what, reason: None })
}

/// Returns the response, or the failure with what is known about the request's outcome.
fn action_answer(
    acted: ActionResult,
    deed: KindAction,
    target: &ActionTarget,
) -> Result<Option<Json>, CliFailure> {
    let what = format!("{} {}", deed.action.name, target.display_name());
    let mutation = match acted {
        ActionResult::Done(json) => return Ok(json),
        ActionResult::Failed(mutation) => mutation,
    };
    Err(match mutation {
        MutationOutcome::Done(..) => return Ok(None),
        MutationOutcome::Refused(refusal) => {
            CliFailure::refused_action(&what, &refusal, "Nothing was changed.")
        }
        MutationOutcome::NotSent(reason) => CliFailure::unsent_action(&what, &reason),
        MutationOutcome::Unknown { reason, settled, answer } => {
            let broken =
                answer.map(|answer| apply_outcome::describe_refusal(&answer, FailureContext::Action));
            let (reason, means) = broken.map_or((reason, ""), |words| (words.what, words.means));
            let failure = CliFailure::new(Exit::Failed, format!("{what}: {reason}"))
                .help(means)
                .help("The outcome of the request is not known, so stead does not send it again.");
            let failure = failure.help(if settled {
                "The service has responded: the request is no longer in progress."
            } else {
                "It may still be in progress."
            });
            match &target.address {
                Some(address) => failure.help(format!("Look at it first: stead get {address}")),
                None => failure.help("Look at the object first, then decide whether to repeat it."),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::error::ApiError;
    use crate::kinds::REGISTRY;

    #[test]
    fn an_action_outcome_reports_only_what_is_known() {
        let kind = REGISTRY.kind("vm").expect("a kind");
        let deed = KindAction { kind, action: kind.action("reboot").expect("an action") };
        let target =
            ActionTarget { address: Some(Address::new("vm", "web")), kind, key: None, project: None };
        let said = |mutation: MutationOutcome| match action_answer(
            ActionResult::Failed(mutation),
            deed,
            &target,
        ) {
            Ok(_) => panic!("it did not end well"),
            Err(failure) => (failure.exit, failure.message, failure.help.join(" ")),
        };
        let (exit, message, help) = said(MutationOutcome::Unknown {
            reason: "no answer from h: reset".into(),
            settled: false,
            answer: None,
        });
        assert_eq!((exit, message.as_str()), (Exit::Failed, "reboot vm.web: no answer from h: reset"));
        assert!(help.contains("does not send it again") && help.contains("stead get vm.web"), "{help}");
        let refusal = |status| ApiError { status, error: "E".into(), message: "m".into(), reason: None };
        assert_eq!(said(MutationOutcome::Refused(refusal(409))).0, Exit::Failed);
        assert_eq!(said(MutationOutcome::Refused(refusal(412))).0, Exit::Refused);
        let answer = Some(refusal(503));
        let (_, message, help) =
            said(MutationOutcome::Unknown { reason: "503 E: m".into(), settled: true, answer });
        assert!(message == "reboot vm.web: 503 m" && help.contains("has no room"), "{message} {help}");
        assert!(said(MutationOutcome::NotSent("cannot reach h".into())).2.contains("not sent"));
    }
}
