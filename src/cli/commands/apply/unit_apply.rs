//! One apply of one stack under its open ledger: resolves what an earlier run left open, makes the plan, gets the approval
//! or compares the plan with the reviewed one, and runs it. In: a loaded stack, a connection and an open ledger. Out: the
//! exit code. Invariant: nothing is sent before the plan was approved.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use super::approval::{NO_LEDGER_EXPECT_NOTICE, RunApproval, ask_approval};
use super::request::{ApplyRequest, ReviewedUnit, apply_file_command};
use super::unit_outcome::{AppliedUnit, is_applied_already, report_outcome, show_outcome, show_unexpected};
use crate::apply::context::{ExecutionContext, TimingBounds};
use crate::apply::event::ApplyEvent;
use crate::apply::run;
use crate::cli::args::plan::ExecutionArgs;
use crate::cli::args::report;
use crate::cli::artifacts::report_files::ReportContext;
use crate::cli::artifacts::reviewed_plan::{refuse_blocked, refuse_new_blocks, refuse_stale, require_fit};
use crate::cli::command_context::CommandContext;
use crate::cli::commands::plan as planning;
use crate::cli::ledger::ledger_io::{self, CommandJournal};
use crate::cli::ledger::open::CommandStore;
use crate::cli::ledger::recovery_file::RecoveryFile;
use crate::cli::ledger::{ambiguous_intents, stack_origin, stack_transfers};
use crate::cli::planning::approval::{PolicyOverrides, plan_again};
use crate::cli::planning::progress::{DelayEventQueue, ProgressReporter};
use crate::cli::planning::refresh::{self, RefreshResult};
use crate::cli::planning::{data_consent, key_rights};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::signals::{self, SignalOutcome};
use crate::cli::secrets::kept_secrets::{self, Keyring};
use crate::cli::secrets::secret_sinks::{self, SecretSinks};
use crate::cli::secrets::{deferred_secrets, output_secrets};
use crate::cli::service::command_client::{CommandClock, CommandRandom, CommandTransport};
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::lock_file::{pin_catalog_names, read_pinned_names};
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::source_archives::SourceArchives;
use crate::cli::workspace::blockers::single_stack::with_other_stacks;
use crate::cli::workspace::git::working_tree;
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::ledger::journal::record::Record;
use crate::ledger::state::kept_secrets::OUTPUT_PREFIX;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::run_history::RunOrigin;
use crate::model::address::{Address, Name};
use crate::model::clock::Clock;
use crate::model::live::catalog::Catalog;
use crate::model::values::secret::Secret;
use crate::plan::artifact::recheck;
use crate::plan::artifact::saved_plan::{LiveCheckInputs, LocalCheckInputs as PlanOrigin, SavedPlan};
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::plan::model::step::LedgerUpdate;
use crate::report::run_report::RunReport;
use crate::workspace::fit::UnitPhase;

/// Inputs of one apply: the stack, the connection, the open ledger, the command's options, and the recovery file.
pub(super) struct ApplyCommand<'a> {
    session: &'a CommandContext,
    project: &'a LoadedStack,
    connection: &'a StackConnection,
    journal: &'a CommandJournal,
    running: &'a ExecutionArgs,
    overriding: PolicyOverrides<'a>,
    overwrite: &'a BTreeSet<Name>,
    /// Stack from which the secrets of a step are read: with what the plan read of lookups and other stacks.
    bound: &'a Stack,
    rescue: RecoveryFile,
    /// The unit, for an apply of many units; `None` for an apply of one stack.
    unit: Option<AppliedUnit<'a>>,
    /// How the plan was approved, for the history.
    approval: RunApproval,
    /// The command that goes on after a failure, without global flags; empty for `apply` or `destroy` alone.
    again: &'a str,
}

type CommandApplyContext<'a> =
    ExecutionContext<'a, CommandTransport, CommandClock, CommandRandom, CommandStore>;

impl<'a> ApplyCommand<'a> {
    pub(super) fn new(
        session: &'a CommandContext,
        project: &'a LoadedStack,
        connection: &'a StackConnection,
        journal: &'a CommandJournal,
        running: &'a ExecutionArgs,
        overwrite: &'a BTreeSet<Name>,
    ) -> Self {
        if let Some(bound) = running.listing_bound {
            connection.client.expect_lag(bound);
        }
        let rescue =
            RecoveryFile::new(session.settings.state.as_deref(), journal.ledger().identity.lineage);
        Self {
            session,
            project,
            connection,
            journal,
            running,
            overriding: PolicyOverrides::default(),
            overwrite,
            bound: &project.stack,
            rescue,
            unit: None,
            approval: RunApproval::default(),
            again: "",
        }
    }

    /// Returns the apply with policies that may be overridden, and with the command that goes on after a failure.
    pub(super) fn overriding(self, overriding: PolicyOverrides<'a>, again: &'a str) -> Self {
        Self { overriding, again, ..self }
    }

    /// Returns the apply with the approval of its plan, which the history records.
    pub(super) fn approved(self, approval: RunApproval) -> Self {
        Self { approval, ..self }
    }

    /// Returns the apply as that of one of many units.
    pub(super) fn of_unit(self, unit: AppliedUnit<'a>) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// Reads the live state and makes the plan, while the ledger stays locked. What the other stacks of the
    /// repository have to do with a unit was checked with the plans of all units.
    async fn read_and_plan(
        &self,
        ledger: &Ledger,
        options: &PlanningOptions,
        pinned: Option<&Catalog>,
    ) -> Result<(Plan, RefreshResult), CliFailure> {
        let Self { session, project, connection, .. } = self;
        let reading = async {
            let (plan, world) =
                refresh::read_and_plan(connection, project, ledger, options, pinned).await?;
            if self.unit.is_some() {
                return Ok((plan, world));
            }
            let sources = (&session.settings, &session.unit_settings);
            Ok((Box::pin(with_other_stacks(sources, (project, ledger), (plan, options))).await, world))
        };
        ledger_io::while_kept(self.journal, reading).await
    }

    /// Plans, shows the plan, asks for approval and runs it, under the open ledger.
    pub(super) async fn run_new_plan(&self, order: &ApplyRequest<'_>) -> Result<Exit, CliFailure> {
        let Self { session, project, connection, journal, .. } = self;
        self.resolve_open_intents().await?;
        let mut options = order.planning_options(session);
        let pinned = read_pinned_names(&connection.lock_file)?;
        let clock = connection.client.clock();
        let start = clock.elapsed();
        let ledger = journal.ledger().clone().for_plans();
        let (mut plan, mut world) = self.read_and_plan(&ledger, &options, pinned.as_ref()).await?;
        if order.yes.is_none()
            && let asking = data_consent::confirm_data_loss(&session.ui, &plan, &options.overrides)
            && let Some(agreed) = ledger_io::while_kept(journal, asking).await?
        {
            options.delete_data.extend(agreed);
            (plan, world) = self.read_and_plan(&ledger, &options, pinned.as_ref()).await?;
        }
        let terms = (order.scope.locked, !ledger.entries.is_empty());
        planning::check_lock(session, connection, &project.stack, &world.catalog, pinned.as_ref(), terms)?;
        let key = key_rights::add_key_notes(connection, &mut plan, &ledger, 0);
        let key = ledger_io::while_kept(journal, async { Ok(key.await) }).await?;
        let facts = planning::plan_details(&ledger, clock, start, &world);
        let blocked = plan.is_blocked(&options.overrides);
        let reports = session.report_files(&self.running.reports.wanted, &project.reads);
        reports.write_plan(&plan, ReportContext::with_values(&project.stack, &world.values))?;
        if blocked || !(session.ui.json || session.ui.ndjson) {
            planning::show_plan(session, &plan, &facts, Exit::Blocked);
        }
        planning::warn_of_contest(session, &plan, &ledger);
        if blocked {
            show_unexpected(session, order, &plan);
            return Ok(Exit::Blocked);
        }
        if is_applied_already(session, order, &plan, &ledger)? {
            return Ok(Exit::Done);
        }
        key.map_or(Ok(()), |key| key.require(&plan))?;
        if order.expected.is_some() && ledger.identity.key.is_none() {
            session.ui.hint(NO_LEDGER_EXPECT_NOTICE);
        }
        let pins = plan.bookkeeping.iter().any(|one| matches!(one, LedgerUpdate::PinRecipients(_)));
        let asks = pins || plan.has_changes();
        if asks && !ledger_io::while_kept(journal, ask_approval(session, project, &plan, order)).await? {
            let text = if order.destroy { "Nothing was deleted." } else { "Nothing was applied." };
            if session.ui.json || session.ui.ndjson {
                return Err(CliFailure::new(Exit::Failed, "canceled").help(text));
            }
            session.ui.write_message(text);
            return Ok(Exit::Failed);
        }
        let (plan, mut world) = self.with_own_key((plan, world), &options, pinned.as_ref()).await?;
        self.prepare_ledger(&world).await?;
        let exit = self.run_whole(&plan, &mut world).await?;
        pin_catalog_names(&project.stack, &connection.lock_file, &world.catalog, pinned.as_ref())?;
        Ok(exit)
    }

    /// Plans a unit again with what its upstream units have now, and runs the plan if it fits the reviewed one.
    ///
    /// # Errors
    /// When the plan is blocked now, or does not fit; nothing was sent then.
    pub(super) async fn run_reviewed(&self, reviewed: &ReviewedUnit<'_>) -> Result<Exit, CliFailure> {
        let Self { session, project, connection, journal, .. } = self;
        self.resolve_open_intents().await?;
        let options = reviewed.planning_options(session, self.overriding.policy_names());
        let pinned = read_pinned_names(&connection.lock_file)?;
        let ledger = journal.ledger().clone();
        let ledger =
            if stack_transfers::are_first_objects(project, &ledger) { ledger } else { ledger.for_plans() };
        let (mut plan, mut world) = self.read_and_plan(&ledger, &options, pinned.as_ref()).await?;
        let part = (reviewed.phase, reviewed.is_begun);
        require_fit(&session.ui, (reviewed.plan, &plan), part, &BTreeSet::new())?;
        self.require_rights(&mut plan).await?;
        self.prepare_ledger(&world).await?;
        let exit = self.run_whole(&plan, &mut world).await?;
        pin_catalog_names(&project.stack, &connection.lock_file, &world.catalog, pinned.as_ref())?;
        Ok(exit)
    }

    /// Computes the plan again and runs it if it equals the saved plan, under the open ledger. The computed plan is
    /// what runs; the file is only compared with it, so a forged file can prevent an apply but not change it.
    pub(super) async fn run_saved_plan(
        &self,
        (saved, path): (&SavedPlan, &Path),
    ) -> Result<Exit, CliFailure> {
        let Self { session, project, connection, journal, .. } = self;
        let (stack, ledger) = (&project.stack, journal.ledger().clone().for_plans());
        let recipients = planning::secret_recipients(stack);
        let origin = PlanOrigin {
            stack: &stack.name,
            environment: &stack.environment.name,
            config: &stack.digest,
            ledger: &ledger,
            recipients: &recipients,
        };
        // Before open intents are resolved: that commits records, and would make every saved plan outdated.
        saved.check_origin(&origin).map_err(|stale| plan_again(&stale))?;
        self.resolve_open_intents().await?;
        let ledger = journal.ledger().clone().for_plans();
        let mut options = saved.binding.to_options(saved.plan.base.destroy);
        options.project = session.settings.project.clone().or(options.project);
        options.overwrite_secrets.clone_from(self.overwrite);
        options.wants_values = report::shows_whole(&self.running.reports.wanted);
        options.overrides = self.overriding.policy_names();
        options.apply_command = session.command_line(&apply_file_command(path));
        let pinned = read_pinned_names(&connection.lock_file)?;
        let (mut plan, world) = self.read_and_plan(&ledger, &options, pinned.as_ref()).await?;
        let arrived = world.transfers.expected_ledger(&ledger);
        let facts = LiveCheckInputs {
            registry: REGISTRY,
            reads: &plan.base.reads,
            ledger: &arrived,
            snapshot: &world.snapshot,
        };
        refuse_new_blocks(&session.ui, (&saved.plan, &plan))?;
        let checked =
            saved.check_unchanged(&facts).and_then(|()| recheck::check_recomputed(&saved.plan, &plan));
        let checked = checked.and_then(|()| saved.check_secrets(world.secrets.as_deref()));
        checked.map_err(|stale| refuse_stale(&session.ui, (&saved.plan, &plan), &stale))?;
        // The ledger records the nonce of an applied plan, so that a saved plan is applied only once.
        plan.base.nonce = saved.plan.base.nonce;
        session
            .report_files(&self.running.reports.wanted, &project.reads)
            .write_plan(&plan, ReportContext::with_values(stack, &world.values))?;
        if plan.is_blocked(&options.overrides) {
            let blocks: Vec<&Blocker> = plan.blocks.iter().collect();
            return Err(refuse_blocked(&blocks, "the saved plan is blocked"));
        }
        self.require_rights(&mut plan).await?;
        let (plan, mut world) = self.with_own_key((plan, world), &options, pinned.as_ref()).await?;
        self.prepare_ledger(&world).await?;
        self.run_whole(&plan, &mut world).await
    }

    /// Returns the plan that runs: the approved one, unless the first objects of this ledger come from another stack. The
    /// approved plan compares their secrets by the key of the ledger that they leave, as before this ledger existed; what
    /// runs has the own key, and fits the approved one.
    async fn with_own_key(
        &self,
        (approved, world): (Plan, RefreshResult),
        options: &PlanningOptions,
        pinned: Option<&Catalog>,
    ) -> Result<(Plan, RefreshResult), CliFailure> {
        let ledger = self.journal.ledger().clone();
        if !stack_transfers::are_first_objects(self.project, &ledger) {
            return Ok((approved, world));
        }
        let (mut plan, world) = self.read_and_plan(&ledger, options, pinned).await?;
        let part = (UnitPhase::Changes, false);
        require_fit(&self.session.ui, (&approved, &plan), part, &options.overrides)?;
        (plan.base.nonce, plan.fingerprint) = (approved.base.nonce, approved.fingerprint);
        Ok((plan, world))
    }

    /// Refuses to run a plan that the API key may not run, or not for long enough.
    async fn require_rights(&self, plan: &mut Plan) -> Result<(), CliFailure> {
        let ledger = self.journal.ledger().clone();
        let review = key_rights::add_key_notes(self.connection, plan, &ledger, 0);
        let review = ledger_io::while_kept(self.journal, async { Ok(review.await) }).await?;
        review.map_or(Ok(()), |review| review.require(plan))
    }

    /// Runs a plan after every secret that it needs is read, so that no secret can be missing halfway.
    async fn run_whole(&self, plan: &Plan, world: &mut RefreshResult) -> Result<Exit, CliFailure> {
        if !plan.base.destroy {
            deferred_secrets::check_sinks(self.project)?;
        }
        let random = self.connection.client.random();
        if !plan.base.destroy {
            kept_secrets::warn_unauthenticated(&self.session.settings, &self.journal.ledger());
        }
        let sinks = SecretSinks { project: self.project, journal: self.journal, overwrite: self.overwrite };
        let whole =
            deferred_secrets::complete_secrets(sinks, plan, std::mem::take(&mut world.known), random)
                .await?;
        let project = whole.as_ref().unwrap_or(self.project);
        let bound = world.bound_stack(project, &self.journal.ledger(), plan.base.destroy)?;
        let (rescue, approval) = (self.rescue.clone(), self.approval.clone());
        ApplyCommand { project, bound: &bound, rescue, approval, ..*self }.run(plan).await
    }

    /// Records the origin of the stack, where a shared ledger does not know it; and makes the moves between stacks.
    async fn prepare_ledger(&self, world: &RefreshResult) -> Result<(), CliFailure> {
        let Self { session, project, connection, journal, .. } = self;
        let ledger = journal.ledger().clone();
        if let Some(here) = stack_origin::current_origin(project, &ledger)?
            && let Some(origins) = here.after_apply(&ledger.origins, ledger.owns_nothing())
        {
            journal.commit(&[Record::Origins { origins }]).await?;
        }
        let actor = (&session.ui, session.who.as_str());
        stack_transfers::make_moves(actor, project, connection, journal, &world.transfers).await
    }

    /// Resolves the intents that an earlier run left open, after the recovery file is replayed, which decides some.
    pub(super) async fn resolve_open_intents(&self) -> Result<(), CliFailure> {
        let Self { session, journal, .. } = self;
        self.rescue.replay(journal).await?;
        let actor = (&session.ui, session.who.as_str());
        stack_transfers::finish_interrupted(actor, self.project, self.connection, journal).await?;
        ambiguous_intents::warn_ambiguous_intents(&session.ui, &session.settings, &journal.ledger());
        if journal.ledger().intents.is_empty() {
            return Ok(());
        }
        let unit = self.unit.map(|unit| unit.name);
        let telling = self.session.progress_reporter(self.connection, None).for_unit(unit);
        match self
            .run_until_stopped(&telling, &RunOrigin::default(), async |context| {
                Box::pin(run::resolve_open_intents(context, &self.connection.preexisting)).await
            })
            .await?
        {
            SignalOutcome::Finished(result) => result.map_err(CliFailure::from),
            SignalOutcome::Abandoned => Err(self.release_ledger().await),
        }
    }

    /// Writes records that the ledger did not take to the recovery file.
    fn save_recovery_records(&self, records: &[Record]) {
        let ledger = self.journal.ledger();
        self.rescue
            .save_records(records, |op| ledger.intents.get(&op).map(|intent| intent.address.clone()));
    }

    /// Releases the ledger's lock within the time limit after the second stop signal; returns the failure to report.
    async fn release_ledger(&self) -> CliFailure {
        let released = self.journal.abandon();
        let time = self.connection.client.clock().sleep(ledger_io::RELEASE_TIMEOUT);
        futures_util::future::select(std::pin::pin!(released), std::pin::pin!(time)).await;
        let again = format!("Continue with: {}", self.session.command_line("apply"));
        CliFailure::new(Exit::Interrupted, "stopped at once")
            .help("Requests in progress are in the ledger: the next run determines their outcome.")
            .help(again)
    }

    /// Runs a plan and reports the outcome; returns its exit code.
    async fn run(&self, plan: &Plan) -> Result<Exit, CliFailure> {
        let unit = self.unit.map(|unit| unit.name);
        let telling = self.session.progress_reporter(self.connection, Some(plan)).for_unit(unit);
        let mut origin = working_tree::run_origin(plan, self.project, self.session.commit.as_ref());
        origin.approval.clone_from(&self.approval.approval);
        origin.common.clone_from(&self.approval.common);
        // An override that no denial needed is not recorded; one of a policy that a step decides may be needed.
        let mut overridden = plan.denying_policies();
        overridden.extend(plan.undecided.iter().filter(|one| one.is_overridden).map(|one| &one.name));
        origin.overridden = overridden.into_iter().cloned().collect();
        origin.reason = self.overriding.reason().filter(|_| !origin.overridden.is_empty());
        let ended = self
            .run_until_stopped(&telling, &origin, async |context| {
                Box::pin(run::run(context, &self.connection.preexisting, plan)).await
            })
            .await?;
        let (now, took) = (telling.finish(), telling.elapsed_time());
        let SignalOutcome::Finished(mut outcome) = ended else {
            let failure = self.release_ledger().await;
            let heard = telling.steps_so_far();
            let outcome = heard.interrupted_outcome(plan);
            self.report_outcome(plan, &RunReport::new(&outcome, &heard, (now, took), failure.exit.code()));
            return Err(failure);
        };
        let exit = Exit::of_outcome(&outcome);
        // Rotations end only after a complete apply: until then, an object may still use the old secret.
        if exit == Exit::Done && !plan.base.destroy {
            kept_secrets::finish_rotations(&self.session.ui, self.journal).await?;
        }
        if !plan.base.destroy {
            output_secrets::keep_outputs(self.bound, self.journal, &outcome.outputs).await?;
        }
        ledger_io::remember_ledger(self.project, &self.connection.place, self.journal);
        let heard = telling.steps_so_far();
        self.report_outcome(plan, &RunReport::new(&outcome, &heard, (now, took), exit.code()));
        show_outcome(self.session, self.unit, plan, &mut outcome, (&heard, now, took, exit), self.again);
        Ok(exit)
    }

    fn report_outcome(&self, plan: &Plan, ran: &RunReport<'_>) {
        let reports = (self.unit, &*self.running.reports.wanted);
        report_outcome(self.session, reports, (plan, self.project), ran);
    }

    /// Runs a future; the first stop signal lets it finish the steps in progress, the second abandons it.
    async fn run_until_stopped<T>(
        &self,
        telling: &ProgressReporter<'_, CommandClock>,
        origin: &RunOrigin,
        work: impl AsyncFnOnce(&CommandApplyContext<'_>) -> T,
    ) -> Result<SignalOutcome<T>, CliFailure> {
        let stop = Cell::new(false);
        let bound = self.bound;
        let secrets =
            |address: &Address, attribute: &str| match address.as_str().strip_prefix(OUTPUT_PREFIX) {
                Some(output) => Some(bound.outputs.get(output)?.expression.clone()),
                None => Some(bound.resources.get(address)?.attributes.get(attribute)?.expression.clone()),
            };
        let sinks = SecretSinks { project: self.project, journal: self.journal, overwrite: self.overwrite };
        let deliver = secret_sinks::to_sinks(sinks, &self.rescue);
        let delivers = secret_sinks::delivery_recorder(self.project, self.connection.client.random());
        let rescued = secret_sinks::undelivered_secrets(self.project, &self.rescue);
        let keyring = Keyring::new(&self.session.settings);
        let kept = |address: &Address, id: &str| {
            let in_ledger = || kept_secrets::of_object(&keyring, &self.journal.ledger(), address, id);
            rescued(address, id).or_else(in_ledger)
        };
        // A secret that cannot be encrypted is delivered without a copy in the ledger.
        let keep = |address: &Address, id: &str, secret: &Secret| {
            kept_secrets::kept_secret_record(&self.journal.ledger(), address.as_str(), Some(id), secret)
                .ok()
                .flatten()
        };
        let waits = DelayEventQueue::from_client(&self.connection.client);
        let told = || waits.take_events().iter().for_each(|wait| telling.report_event(wait));
        let sources = SourceArchives::from_project(self.project);
        let context = ExecutionContext {
            client: &self.connection.client,
            journal: self.journal,
            who: &self.session.who,
            origin,
            strict: self.journal.is_strict() || self.running.strict || self.session.settings.strict,
            secrets: &secrets,
            sources: &sources,
            deliver: &deliver,
            delivers: &delivers,
            wants_secret: &|address| secret_sinks::is_wanted(self.project, address),
            kept: &kept,
            keep: &keep,
            rescue: &|records| self.save_recovery_records(records),
            tell: &|event: ApplyEvent| {
                told();
                telling.report_event(&event);
            },
            stop: &stop,
            parallel: self.running.parallel,
            bounds: TimingBounds {
                effect: self.running.effect_bound.unwrap_or(self.connection.bounds.effect),
                listing: self.running.listing_bound.unwrap_or(self.connection.bounds.listing),
                sending: self.connection.bounds.sending,
            },
        };
        let tick = || {
            told();
            telling.tick();
        };
        let watched = signals::watch_stop_signals(work(&context), &stop, || telling.announce_stop(), tick);
        watched.await.map_err(|error| anyhow::Error::from(error).into())
    }
}
