//! `stead do`: runs one action immediately: confirms it if it disrupts something, sends it, waits for it, and prints
//! the result. The output is checked before the request is sent: a secret that could not be shown would be lost.

use std::cell::Cell;

use serde_json::Value as Json;

use crate::cli::actions::command_line::{DELETE, DoArgs};
use crate::cli::actions::documents::{RecordEvent, StatusEvent};
use crate::cli::actions::invocation::ActionInvocation;
use crate::cli::actions::output::{self, CompletedAction};
use crate::cli::actions::registry::{self, KindAction};
use crate::cli::actions::target::{ActionScope, ActionTarget, TargetReference, is_name};
use crate::cli::actions::wait::{ActionWaiter, WaitOutcome};
use crate::cli::actions::{request, send};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::delete_object;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::signals::{self, SignalOutcome};
use crate::kinds::REGISTRY;
use crate::model::live::snapshot::Object;
use crate::model::schema::{ActionCompletion, Kind, ResponseShape, Type, UpdateStrategy};
use crate::model::values::value::Value;
use crate::report::json::{self as documents, SCHEMA_VERSION};
use crate::report::views::action_output::laid_out;

/// Runs the action that `stead do` names.
///
/// # Errors
/// When an argument is invalid, the action needs a confirmation and there is no terminal, the service refuses the
/// action, its outcome is not known, or it is interrupted.
pub(in crate::cli) async fn run(session: &CommandContext, args: &DoArgs) -> Result<Exit, CliFailure> {
    if args.action == DELETE {
        return Box::pin(delete_object::run(session, args)).await;
    }
    let named = parse_target(args)?;
    let ground = ActionScope::open(session, needs_stack(&named, args)).await?;
    let target = ground.resolve_target(&named)?;
    let deed = choose_action(args, &target)?;
    // Before the request: a secret that is shown once would be lost.
    output::reject_unsafe_output(session, deed, args)?;
    let order = request::build_action_request(session, &ground, deed, &target, args).await?;
    let scene = ActionInvocation { session, ground: &ground, deed, target: &target, args, order: &order };
    if !confirm_disruption(&scene).await? {
        return Ok(Exit::Interrupted);
    }
    let before = read_object_before(&scene).await;
    let stop = Cell::new(false);
    let told = || session.ui.write_message("Stopping after the response to the request.");
    let answer = match run_interruptible(send::send_action(&scene), &stop, told).await? {
        SignalOutcome::Finished(answer) => answer?,
        SignalOutcome::Abandoned => {
            return Err(interrupted_failure("the outcome of the request is not known"));
        }
    };
    warn_apply_reverts(&scene);
    if stop.get() {
        return Err(interrupted_failure("the service responded; stead does not wait for completion"));
    }
    let over = wait_for_action(scene, before.as_ref(), answer.as_ref()).await?;
    let answered = CompletedAction { scene, answer: answer.as_ref(), over: &over };
    let exit = answered.write_output().await?;
    match deed.action.answer {
        ResponseShape::Feed { id, .. } if args.follow => Err(follow_until_stopped(&answered, id).await),
        _ => Ok(exit),
    }
}

/// Runs a future until it ends or a stop signal arrives. With `stop` set already, the first signal abandons it;
/// otherwise the first sets `stop` and calls `told`, and the second abandons it.
async fn run_interruptible<T>(
    work: impl Future<Output = T>,
    stop: &Cell<bool>,
    told: impl Fn(),
) -> Result<SignalOutcome<T>, CliFailure> {
    Ok(signals::watch_stop_signals(work, stop, told, || {}).await.map_err(anyhow::Error::from)?)
}

fn interrupted_failure(what: &str) -> CliFailure {
    CliFailure::new(Exit::Interrupted, format!("interrupted: {what}"))
}

/// Returns the target that the user named; without one, the only kind with this action if it needs no object.
fn parse_target(args: &DoArgs) -> Result<TargetReference, CliFailure> {
    if let Some(text) = &args.target {
        return TargetReference::parse(text);
    }
    match registry::actions_by_name(REGISTRY).get(args.action.as_str()).map_or(&[][..], Vec::as_slice) {
        [only] if !only.action.needs_object() => Ok(TargetReference::Kind(only.kind)),
        many => {
            let kinds: Vec<&str> = many.iter().map(|deed| deed.kind.name).collect();
            Err(CliFailure::new(Exit::Usage, format!("{} needs an object", args.action))
                .help(format!("Name it: {}", kinds.join(", "))))
        }
    }
}

/// Returns whether the target or a parameter is an address, for which the stack and its ledger must be read.
fn needs_stack(named: &TargetReference, args: &DoArgs) -> bool {
    let is_resource = |text: &String| {
        is_name(text) && matches!(TargetReference::parse(text), Ok(TargetReference::Resource(_)))
    };
    let all = registry::actions_by_name(REGISTRY);
    let deeds = all.get(args.action.as_str()).map_or(&[][..], Vec::as_slice);
    let mut references = deeds
        .iter()
        .flat_map(|deed| deed.parameters(REGISTRY))
        .filter(|parameter| matches!(parameter.ty, Type::Reference(_)))
        .filter_map(|parameter| args.given.get(parameter.name));
    matches!(named, TargetReference::Resource(_)) || references.any(|given| given.iter().any(is_resource))
}

/// Returns the action of this name of the target's kind; an action that needs an object is an error for a whole kind.
fn choose_action(args: &DoArgs, target: &ActionTarget) -> Result<KindAction, CliFailure> {
    let kind: &'static Kind = target.kind;
    let Some(action) = kind.action(&args.action) else {
        let names: Vec<&str> = kind.actions.iter().map(|action| action.name).collect();
        let failure =
            CliFailure::new(Exit::Usage, format!("a {} has no action {}", kind.name, args.action));
        return Err(if names.is_empty() {
            failure.help("It has none.")
        } else {
            failure.help(format!("It has: {}", names.join(", ")))
        });
    };
    if action.needs_object() && target.key.is_none() {
        return Err(CliFailure::new(Exit::Usage, format!("{} which {}?", action.name, kind.name)).help(
            format!(
                "Name a resource of the stack, {}.NAME, or an object by id, {}:ID.",
                kind.name, kind.name
            ),
        ));
    }
    Ok(KindAction { kind, action })
}

/// Asks for confirmation of an action that disrupts something; returns whether to send it.
async fn confirm_disruption(scene: &ActionInvocation<'_>) -> Result<bool, CliFailure> {
    let (session, order) = (scene.session, scene.order);
    let disrupts = order.mutates && order.effects.iter().any(|effect| effect.disrupts());
    if !disrupts || scene.args.yes {
        return Ok(true);
    }
    let effects: Vec<&str> = order.effects.iter().map(|effect| effect.text()).collect();
    let what =
        format!("{} {}: {}", scene.deed.action.name, scene.target.display_name(), effects.join("; "));
    if !session.ui.interactive {
        return Err(CliFailure::new(
            Exit::Usage,
            format!("{what}. Confirmation is required, but this is not a terminal"),
        )
        .help("Pass --yes. Nothing was sent."));
    }
    session.ui.write_message(laid_out(&what).trim_end());
    session.ui.confirm_action(false, "Do it?").await
}

/// Warns that the next apply reverts the action, if the last apply set another value.
fn warn_apply_reverts(scene: &ActionInvocation<'_>) {
    let ActionInvocation { deed, args, .. } = scene;
    let (ActionScope::Stack(stack), Some(address), Some(attribute)) =
        (scene.ground, &scene.target.address, deed.managed_attribute())
    else {
        return;
    };
    let now = match attribute.change {
        UpdateStrategy::Switch(choices) => {
            let choice = choices.iter().find(|(_, call)| call.name == deed.action.name);
            choice.map(|(value, _)| Value::text(value))
        }
        _ => args.given.get(attribute.name).and_then(|given| given.last()).map(Value::text),
    };
    // An attribute that the configuration does not set is not managed, so no apply reverts it.
    let wanted = stack.ledger.entries.get(address).and_then(|entry| entry.applied.get(attribute.name));
    if now.is_some() && wanted.is_some() && wanted != now.as_ref() {
        scene.session.ui.write_message(&format!(
            "note: {} of {address} is managed: the next apply reverts it, unless the configuration changes.",
            attribute.name
        ));
    }
}

/// Returns the object before the action, if the action's own change is waited for: a read that returns the same
/// state afterwards may be outdated. `None` if there is no such wait, or the object cannot be read.
async fn read_object_before(scene: &ActionInvocation<'_>) -> Option<Object> {
    let waits = scene.order.mutates && !scene.args.no_wait;
    let key = scene.target.key.as_ref().filter(|_| waits)?;
    matches!(scene.deed.action.until, ActionCompletion::ObjectReady(_)).then_some(())?;
    scene.ground.client().get(key).await.ok().flatten()
}

/// Waits until the action is complete, and reports progress meanwhile: as JSON lines with `ndjson`, else as hints.
async fn wait_for_action(
    scene: ActionInvocation<'_>,
    before: Option<&Object>,
    answer: Option<&Json>,
) -> Result<WaitOutcome, CliFailure> {
    let (ui, shown) = (&scene.session.ui, scene.target.display_name());
    let (action, on, schema_version) = (scene.deed.action.name, shown.as_str(), SCHEMA_VERSION);
    let tell = |event: String, text: &str| {
        if ui.ndjson {
            ui.write_result(&(event + "\n"));
        } else {
            ui.hint(laid_out(text).trim_end());
        }
    };
    let redact = |text: &str| scene.ground.client().redact(text);
    let status = |status: &str| {
        let status = &redact(status);
        let event = StatusEvent { action, event: "status", on, schema_version, status };
        tell(documents::to_compact(&event), &redact(&format!("{shown}: {status}")));
    };
    let news = |record: &Json| {
        let event = RecordEvent { action, event: "news", on, record, schema_version };
        tell(documents::to_compact(&event), &format!("{shown}: {record}"));
    };
    let wait = ActionWaiter { scene, before, status: &status, news: &news };
    // The first signal ends only the wait: the action continues on the service.
    match run_interruptible(wait.wait_until_over(answer), &Cell::new(true), || {}).await? {
        SignalOutcome::Finished(over) => over,
        SignalOutcome::Abandoned => {
            Err(interrupted_failure("it continues on the service; only the wait ended"))
        }
    }
}

/// Prints new records until the feed cannot be read or a signal arrives; returns that as the failure.
async fn follow_until_stopped(answered: &CompletedAction<'_>, id: &str) -> CliFailure {
    let (scene, view) = (answered.scene, answered.view());
    let ui = &scene.session.ui;
    let known = view.json().as_array().cloned().unwrap_or_default();
    let news = |row: &Json| {
        ui.write_result(&if ui.json || ui.ndjson {
            documents::to_compact(row) + "\n"
        } else {
            view.render_rows(std::slice::from_ref(row), ui.style)
        });
    };
    let wait = ActionWaiter { scene, before: None, status: &|_| {}, news: &news };
    match run_interruptible(wait.follow_feed(&scene.order.ask, id, known), &Cell::new(true), || {}).await {
        Ok(SignalOutcome::Finished(failure)) | Err(failure) => failure,
        Ok(SignalOutcome::Abandoned) => interrupted_failure("stead no longer follows the output"),
    }
}
