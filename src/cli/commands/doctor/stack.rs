//! Checks of the stack: its files, its project, its ledger and lock, its pinned names. All of them only read: a
//! check must not take the lock of a ledger that another process uses.

use super::failure_text::failure_and_remedy;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::{catalog, repair};
use crate::cli::files::stack_files;
use crate::cli::ledger::held_lock;
use crate::cli::ledger::inspection::{self, LedgerReadResult};
use crate::cli::ledger::ledger_io;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::ServiceConnection;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cli::stack::project::LoadedStack;
use crate::kinds::REGISTRY;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;
use crate::ledger::stores::shared::lease::{LeaseInfo, LeaseStatus};
use crate::plan::pipeline;
use crate::report::text::phrases::count_noun;
use crate::report::views::doctor::DoctorCheck;

/// Result of reading the stack's directory.
pub(super) enum StackLoadResult {
    /// The directory has no stack file.
    NoStack,
    /// A stack without errors.
    Loaded(Box<LoadedStack>),
    /// A stack with errors.
    Invalid(CliFailure),
}

/// Reads and resolves the stack, if the directory has one. A directory that cannot be read counts as
/// a stack with errors.
pub(super) fn open_stack(session: &CommandContext) -> StackLoadResult {
    let is_empty = |files: stack_files::StackFiles| files.sources.iter().next().is_none();
    if stack_files::read_stack(&session.settings.dir).is_ok_and(is_empty) {
        return StackLoadResult::NoStack;
    }
    match LoadedStack::open(&session.settings) {
        Ok(project) => StackLoadResult::Loaded(Box::new(project)),
        Err(failure) => StackLoadResult::Invalid(failure),
    }
}

/// Checks that the stack's files are valid.
pub(super) fn check_configuration(opened: &StackLoadResult) -> DoctorCheck {
    const NAME: &str = "stack";
    match opened {
        StackLoadResult::NoStack => {
            DoctorCheck::new_skipped(NAME, "There is none in this directory.").with_remedy("stead init")
        }
        StackLoadResult::Invalid(failure) => {
            let (detail, _) = failure_and_remedy(failure);
            DoctorCheck::new_failed(NAME, detail).with_remedy("stead validate")
        }
        StackLoadResult::Loaded(project) => {
            let stack = &project.stack;
            let detail = format!(
                "{}/{}: {}, {}.",
                stack.name,
                stack.environment.name,
                count_noun(stack.resources.len(), "resource"),
                count_noun(project.warnings.len(), "warning")
            );
            if project.warnings.is_empty() {
                DoctorCheck::new_ok(NAME, detail)
            } else {
                DoctorCheck::new_warning(NAME, detail).with_remedy("stead validate")
            }
        }
    }
}

/// Checks that the project of the resources exists and the key has access to it. `link` is `None` if
/// there is no connection.
pub(super) async fn check_project(
    session: &CommandContext,
    opened: &StackLoadResult,
    link: Option<&ServiceConnection>,
) -> DoctorCheck {
    const NAME: &str = "project";
    if let StackLoadResult::Loaded(project) = opened
        && let Some(address) = &project.stack.project
    {
        return DoctorCheck::new_ok(NAME, format!("The stack creates its own project: {address}."));
    }
    let Some(link) = link else {
        return DoctorCheck::new_skipped(NAME, "Not checked: there is no connection to the service.");
    };
    let named = session.settings.project.as_ref();
    match (link.client.resolve_named_project(named).await, named) {
        (Ok(Some(id)), Some(name)) => DoctorCheck::new_ok(NAME, format!("{name} exists: {id}.")),
        (Ok(Some(id)), None) => DoctorCheck::new_ok(NAME, format!("The account's default one: {id}.")),
        (Ok(None), Some(name)) => {
            DoctorCheck::new_failed(NAME, format!("The key has no access to a project {name}."))
                .with_remedy(
                    "Correct STEAD_PROJECT (or --project), or give the key access to that project.",
                )
        }
        (Ok(None), None) => DoctorCheck::new_warning(NAME, "The key has no access to a default project.")
            .with_remedy("Name one: STEAD_PROJECT, or a project block in the stack."),
        (Err(error), _) => {
            let (detail, remedy) = failure_and_remedy(&CliFailure::from(error));
            DoctorCheck::new_failed(NAME, detail).with_remedy(remedy)
        }
    }
}

/// Returns the checks of the stack's ledger, its open requests, its lock and its pinned names, in this order.
pub(super) async fn check_ledger_state(
    session: &CommandContext,
    opened: &StackLoadResult,
    link: Option<&ServiceConnection>,
) -> Vec<DoctorCheck> {
    let StackLoadResult::Loaded(project) = opened else {
        let skipped = |name| DoctorCheck::new_skipped(name, "Not checked: the configuration has errors.");
        return ["ledger", "open requests", "lock", "pinned names"].map(skipped).to_vec();
    };
    let place = match session.ledger_location(project) {
        Ok(place) => place,
        Err(failure) => {
            let (detail, remedy) = failure_and_remedy(&failure);
            let mut checks = vec![DoctorCheck::new_failed("ledger", detail).with_remedy(remedy)];
            let skipped = |name| DoctorCheck::new_skipped(name, "The ledger's location is not known.");
            checks.extend(["open requests", "lock"].map(skipped));
            checks.push(check_pinned_names(session, project, None, link).await);
            return checks;
        }
    };
    let (check, found) = check_ledger(project, &place).await;
    let open = match (&found, &check.verdict) {
        (Some(ledger), _) => check_open_requests(ledger),
        (None, _) => DoctorCheck::new_skipped("open requests", "There is no ledger that can be read."),
    };
    let lock = check_lock_status(project, &place).await;
    let pins = check_pinned_names(session, project, found.as_ref(), link).await;
    vec![check, open, lock, pins]
}

/// Checks that the ledger can be read, is undamaged, and is not older than the last one seen on this machine.
/// Returns the ledger, too; `None` if there is none yet or it cannot be read.
async fn check_ledger(project: &LoadedStack, place: &LedgerLocation) -> (DoctorCheck, Option<Ledger>) {
    const NAME: &str = "ledger";
    let failed = |failure: &CliFailure| {
        let (detail, remedy) = failure_and_remedy(failure);
        DoctorCheck::new_failed(NAME, detail).with_remedy(remedy)
    };
    let (found, unproven) = match inspection::inspect_ledger(project, place).await {
        Ok(LedgerReadResult { found: Some(ledger), unproven }) => (ledger, unproven),
        Ok(LedgerReadResult { found: None, .. }) => {
            let detail = format!("There is no ledger at {place} yet; the first apply creates one.");
            return (DoctorCheck::new_ok(NAME, detail), None);
        }
        Err(failure) => return (failed(&failure), None),
    };
    let flaws = match repair::read_checked(&project.into(), place).await {
        Ok(checked) => checked.found.flaws,
        Err(failure) => return (failed(&failure), Some(found)),
    };
    if let Some(first) = flaws.first() {
        let detail = format!(
            "It is damaged in {}, first at {}: {}.",
            count_noun(flaws.len(), "place"),
            first.place,
            first.reason
        );
        return (
            DoctorCheck::new_failed(NAME, detail)
                .with_remedy("stead state verify, then stead state repair"),
            Some(found),
        );
    }
    let check = match ledger_io::detect_rollback(project, place).await {
        Ok(None) if unproven => {
            let detail = format!(
                "{} {}",
                describe_intact_ledger(&found, place),
                super::failure_text::to_sentence(inspection::UNPROVEN)
            );
            DoctorCheck::new_warning(NAME, detail)
                .with_remedy("Set STEAD_LEDGER_KEY to the file of its key.")
        }
        Ok(None) => DoctorCheck::new_ok(NAME, describe_intact_ledger(&found, place)),
        Ok(Some(objection)) => {
            let text = format!("{}: {}", objection.what, objection.means);
            DoctorCheck::new_failed(NAME, super::failure_text::to_sentence(&text))
                .with_remedy(objection.remedy)
        }
        Err(failure) => DoctorCheck::new_warning(NAME, super::failure_text::to_sentence(&failure.message)),
    };
    (check, Some(found))
}

/// Returns a sentence about an intact ledger and the guarantees of its location.
fn describe_intact_ledger(ledger: &Ledger, place: &LedgerLocation) -> String {
    let probed = match place {
        LedgerLocation::Directory(_) => "its lock works on this machine only",
        // Testing the backend needs a write. An apply does it, and refuses a backend that breaks a guarantee.
        _ => "each apply tests the guarantees of this location before it sends a request",
    };
    let (serial, entries) = (ledger.serial, count_noun(ledger.entries.len(), "resource"));
    let sealed = if ledger.sealed.is_some() { " and MACs" } else { "" };
    format!("At {place}, intact up to record {serial}, with {entries}{sealed}; {probed}.")
}

/// Checks for requests whose outcome is unknown: those that only the user can resolve, else those that
/// the next apply resolves.
fn check_open_requests(ledger: &Ledger) -> DoctorCheck {
    const NAME: &str = "open requests";
    let (questions, intents, watched) =
        (ledger.questions.len(), ledger.intents.len(), ledger.watched.len());
    if questions > 0 {
        return DoctorCheck::new_warning(
            NAME,
            format!("Ambiguous intents that only you can resolve: {questions}."),
        )
        .with_remedy("stead resolve");
    }
    if intents > 0 {
        return DoctorCheck::new_warning(NAME, format!("{intents} have an outcome that is not known yet."))
            .with_remedy("stead apply resolves them before it does anything else.");
    }
    match watched {
        0 => DoctorCheck::new_ok(NAME, "There are none."),
        watched => DoctorCheck::new_ok(NAME, format!("None; {watched} are watched for late effects.")),
    }
}

/// Checks whether another process holds the lock.
async fn check_lock_status(project: &LoadedStack, place: &LedgerLocation) -> DoctorCheck {
    const NAME: &str = "lock";
    if matches!(place, LedgerLocation::Http(_)) {
        // A state server reports its lock only to a client that tries to take it.
        return DoctorCheck::new_skipped(
            NAME,
            "A state server reports its lock only to a process that tries to take it.",
        )
        .with_remedy("stead lock status");
    }
    match held_lock::read_lock(&project.into(), place).await {
        Ok(None) => DoctorCheck::new_ok(NAME, "It is free."),
        Ok(Some(held)) => check_lock_holder(&held),
        Err(failure) => {
            let (detail, remedy) = failure_and_remedy(&failure);
            DoctorCheck::new_failed(NAME, detail).with_remedy(remedy)
        }
    }
}

fn check_lock_holder(held: &LeaseInfo) -> DoctorCheck {
    const NAME: &str = "lock";
    let who = held.holder.in_words();
    match held.standing {
        LeaseStatus::Held(_) => DoctorCheck::new_warning(NAME, format!("{who} has it.")).with_remedy(
            "Wait for it to end. If it can no longer release the lock: stead lock break --reason TEXT",
        ),
        LeaseStatus::Free => DoctorCheck::new_ok(NAME, "It is free."),
        LeaseStatus::HolderDead => {
            DoctorCheck::new_ok(NAME, format!("{who} had it and has ended: the next apply takes it."))
        }
        LeaseStatus::Expired => {
            DoctorCheck::new_ok(NAME, format!("{who} had it until it expired: the next apply takes it."))
        }
    }
}

/// Checks that the pinned names still have the same ids and prices in the catalog. `ledger` is `None` if there is none.
async fn check_pinned_names(
    session: &CommandContext,
    project: &LoadedStack,
    ledger: Option<&Ledger>,
    link: Option<&ServiceConnection>,
) -> DoctorCheck {
    const NAME: &str = "pinned names";
    let Some(link) = link else {
        return DoctorCheck::new_skipped(NAME, "Not checked: there is no connection to the service.");
    };
    let failed = |failure: &CliFailure| {
        let (detail, remedy) = failure_and_remedy(failure);
        DoctorCheck::new_failed(NAME, detail).with_remedy(remedy)
    };
    let old = match read_pinned_names(&link.lock_file) {
        Ok(Some(old)) => old,
        Ok(None) => return DoctorCheck::new_ok(NAME, "None yet; the first apply pins them in stead.lock."),
        Err(failure) => return failed(&failure),
    };
    let stack = &project.stack;
    let unborn = || Ledger::new(LedgerIdentity::new_placeholder(&stack.name, &stack.environment.name));
    let ledger = ledger.cloned().map_or_else(unborn, Ledger::for_plans);
    let (_, tables) = pipeline::refresh_request(REGISTRY, stack, &ledger, &session.read_only_options());
    let live = match link.client.catalog(&tables).await {
        Ok(live) => live,
        Err(error) => return failed(&CliFailure::from(error)),
    };
    let renewal = catalog::compare_pins(stack, &old, &live);
    let file = stack_files::display_path(&link.lock_file);
    if let Some(lost) = renewal.lost.first() {
        let count = renewal.lost.len();
        return DoctorCheck::new_warning(
            NAME,
            format!("Names of {file} that are not in the catalog any more: {count}, first {lost}."),
        )
        .with_remedy("Use another name for new objects; live objects keep their pinned id.");
    }
    match renewal.lines.len() {
        0 => DoctorCheck::new_ok(NAME, format!("The names of {file} have the same ids and prices.")),
        count => DoctorCheck::new_warning(
            NAME,
            format!("Names of {file} that differ from the current catalog: {count}."),
        )
        .with_remedy("stead catalog update --check, then stead catalog update"),
    }
}
