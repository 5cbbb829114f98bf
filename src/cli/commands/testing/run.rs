//! Runs one test: creates its initial state, then compares its plan and its apply with the expectations. A test has
//! a cloud and a ledger of its own, both in memory, so tests do not affect each other.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::assertions::{self, GIVEN_APPLIED_VARS_STEM, GIVEN_VARS_STEM};
use super::outcome::AssertionFailure;
use crate::apply::context::{DEFAULT_CONCURRENCY, ExecutionContext, TimingBounds};
use crate::apply::event::Outcome;
use crate::apply::protocol::preexisting::PreexistingObjects;
use crate::apply::run;
use crate::cli::ledger::ledger_io::CommandJournal;
use crate::cli::ledger::open::CommandStore;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::{CloudEndpoint, PolicySettings, Settings};
use crate::cli::service::command_client::{CommandClient, CommandClock, CommandTransport};
use crate::cli::service::in_process_cloud::InProcessTransport;
use crate::cli::service::virtual_time::VirtualTime;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::source_archives::SourceArchives;
use crate::cloud::client::Client;
use crate::cloud::system_clock::SystemRandom;
use crate::config::load::LoadFailure;
use crate::config::resolve::late_binding::{self, LateBindingInputs};
use crate::config::stack::model::Stack;
use crate::config::test_file::StackTest;
use crate::kinds::REGISTRY;
use crate::ledger::journal::handle::Journal;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::run_history::RunOrigin;
use crate::ledger::stores::memory::MemoryStore;
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::diagnostic::blocker_code::HOLDS_DATA;
use crate::model::live::snapshot::Snapshot;
use crate::model::values::value::{Attributes, Value};
use crate::plan::inputs::{PlanInputs, PlanningOptions, PolicyContext};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::plan::pipeline;

/// State of one test: the emulated cloud, and the ledger of its stack.
struct TestFixture {
    client: CommandClient,
    journal: CommandJournal,
    /// Kinds whose objects the test counts, in all projects; names that are no kinds are ignored.
    counted: BTreeSet<Name>,
    /// Whether the test expects the blocker for objects that hold data; otherwise their deletion needs no approval,
    /// because the test created all of them.
    guards_data: bool,
    /// What the test says that policies read.
    policy: PolicyContext,
    /// Outputs of other stacks, by their names under `stacks`; empty if the stack must not read any.
    outputs: BTreeMap<Name, Attributes>,
}

/// A plan with its inputs.
struct TestPlan {
    plan: Plan,
    snapshot: Snapshot,
    stack: Stack,
}

/// Runs a test of the stack of a directory; returns the failed expectations, none if the test passed.
///
/// # Errors
/// When its cloud or its initial state cannot be created, a file of the stack cannot be read, or it waits forever.
pub(in crate::cli) fn run(
    settings: &Settings,
    directory: &Path,
    test: &StackTest,
) -> Result<Vec<AssertionFailure>, CliFailure> {
    let now = match open_test_stack(settings, directory, test, &[]) {
        Ok(project) => project,
        Err(CliFailure { rejected: Some(rejected), .. }) => {
            return Ok(assertions::check_rejected(test, &rejected));
        }
        Err(failure) => return Err(failure),
    };
    let before = match &test.given.applied {
        Some(applied) => Some(open_test_stack(settings, directory, test, &applied.vars)?),
        None => None,
    };
    let time = VirtualTime::default();
    let seed = test.given.world.as_ref().map(|world| world.value.as_str());
    let cloud = InProcessTransport::new(&time, seed.filter(|seed| *seed != "empty"), directory)?;
    let work = async {
        let counted = test.apply.iter().flat_map(|apply| apply.objects.keys().cloned()).collect();
        let mut stage = TestFixture::set_up(cloud, &time, &now.stack, &counted).await?;
        let blocks = test.plan.as_ref().and_then(|plan| plan.blocks.as_ref());
        stage.guards_data =
            blocks.is_some_and(|blocks| blocks.value.iter().any(|code| code == HOLDS_DATA.code));
        if let Some(before) = &before {
            stage.apply_given(before).await?;
        }
        let given = &test.given;
        stage.policy = PolicyContext {
            time: given.now,
            actor: given.actor.clone(),
            branch: given.branch.clone(),
            ..PolicyContext::default()
        };
        stage.run_stages(&now, test).await
    };
    let stuck = || Err(CliFailure::new(Exit::Failed, "the test waits for an event that never happens"));
    time.run(work).unwrap_or_else(stuck)
}

/// Makes the plan of a stack in an empty emulated cloud, so that everything is created; uses no account. The outputs of
/// other stacks are unknown values if `is_unit` is set.
///
/// # Errors
/// When the stack has errors, or reads an object; or another stack, unless `is_unit` is set.
pub(in crate::cli) fn plan_empty_world(settings: &Settings, is_unit: bool) -> Result<Plan, CliFailure> {
    let settings =
        Settings { cloud: CloudEndpoint::Unset, api_key: None, project: None, ..settings.clone() };
    let project = LoadedStack::open_with_vars(&settings, Vec::new())?;
    let time = VirtualTime::default();
    let cloud = InProcessTransport::new(&time, None, &settings.dir)?;
    let work = async {
        let mut stage = TestFixture::set_up(cloud, &time, &project.stack, &BTreeSet::new()).await?;
        if is_unit {
            stage.outputs = unknown_outputs(&project.stack);
        }
        stage.make_plan(&project).await.map(|planned| planned.plan)
    };
    let stuck = || Err(CliFailure::new(Exit::Failed, "the plan waits for an event that never happens"));
    time.run(work).unwrap_or_else(stuck)
}

/// Returns an unknown value for each output of another stack that a stack reads.
fn unknown_outputs(stack: &Stack) -> BTreeMap<Name, Attributes> {
    let unknown = |alias: &Name| Value::unknown(vec![Address::new("stacks", alias)]);
    let outputs = stack.stacks.iter().map(|(alias, other)| {
        (alias.clone(), other.reads.keys().map(|name| (name.clone(), unknown(alias))).collect())
    });
    outputs.collect()
}

/// Opens the stack with the test's variables, and without any setting of the user or the machine; `over` has
/// variables that take precedence over them.
fn open_test_stack(
    settings: &Settings,
    directory: &Path,
    test: &StackTest,
    over: &[(&str, String)],
) -> Result<LoadedStack, CliFailure> {
    let settings = Settings {
        dir: directory.to_owned(),
        env: test.given.environment.clone(),
        vars: BTreeMap::new(),
        env_vars: BTreeMap::new(),
        var_files: Vec::new(),
        cloud: CloudEndpoint::Unset,
        api_key: None,
        project: None,
        backend: None,
        policy: PolicySettings::default(),
        ..settings.clone()
    };
    let files =
        test.given.vars.iter().map(|(ending, text)| (format!("{GIVEN_VARS_STEM}.{ending}"), text.clone()));
    let over =
        over.iter().map(|(ending, text)| (format!("{GIVEN_APPLIED_VARS_STEM}.{ending}"), text.clone()));
    LoadedStack::open_with_vars(&settings, files.chain(over).collect())
}

impl TestFixture {
    async fn set_up(
        cloud: InProcessTransport,
        time: &VirtualTime,
        stack: &Stack,
        counted: &BTreeSet<Name>,
    ) -> Result<Self, CliFailure> {
        let identity = LedgerIdentity::new_random(&stack.name, &stack.environment.name, &SystemRandom);
        let transport = CommandTransport::Emulated(cloud);
        Ok(Self {
            client: Client::new(transport, CommandClock::Virtual(time.clone()), SystemRandom, REGISTRY),
            journal: Journal::open(CommandStore::Memory(Box::new(MemoryStore::new(&identity)))).await?,
            counted: counted.clone(),
            guards_data: false,
            policy: PolicyContext::default(),
            outputs: BTreeMap::new(),
        })
    }

    /// Applies the initial state of the test; a blocker or an error of that apply is an error of the test. Policies do not judge
    /// it: it is the state of another time and of other people.
    async fn apply_given(&self, project: &LoadedStack) -> Result<(), CliFailure> {
        let planned = self.make_plan(project).await?;
        let wrong = |why: String| {
            CliFailure::new(Exit::Failed, format!("the test's initial state cannot be applied: {why}"))
        };
        let prevents = |block: &&Blocker| !block.only_freezes() && !block.is_ruling();
        if let Some(block) = planned.plan.blocks.iter().find(prevents) {
            return Err(wrong(block.text.clone()));
        }
        match assertions::failure_messages(&self.apply_plan(project, &planned).await).first() {
            Some(why) => Err(wrong(why.clone())),
            None => Ok(()),
        }
    }

    /// Plans and, if expected, applies and plans again: the second plan must be empty.
    async fn run_stages(
        &self,
        project: &LoadedStack,
        test: &StackTest,
    ) -> Result<Vec<AssertionFailure>, CliFailure> {
        let planned = self.make_plan(project).await?;
        let mut missed = assertions::check_plan(test, project, &planned.plan);
        let Some(wanted) = &test.apply else { return Ok(missed) };
        if planned.plan.is_blocked(&BTreeSet::new()) {
            missed.push(AssertionFailure::new(wanted.span, "expected an apply; the plan is blocked"));
            return Ok(missed);
        }
        let outcome = self.apply_plan(project, &planned).await;
        missed.extend(assertions::check_apply_outcome(wanted, &outcome));
        let after = self.make_plan(project).await?;
        missed.extend(assertions::check_after_apply(wanted, &after.plan, &after.snapshot));
        Ok(missed)
    }

    async fn make_plan(&self, project: &LoadedStack) -> Result<TestPlan, CliFailure> {
        let ledger = self.journal.ledger().clone().for_plans();
        let options = PlanningOptions {
            // A test states the deletions that it expects.
            allow_deletes: true,
            is_rehearsal: !self.guards_data,
            policy: self.policy.clone(),
            ..PlanningOptions::default()
        };
        let (mut wanted, tables) = pipeline::refresh_request(REGISTRY, &project.stack, &ledger, &options);
        wanted.everywhere.extend(self.counted.iter().filter(|kind| REGISTRY.kind(kind).is_some()).cloned());
        let snapshot = self.client.refresh(&wanted).await?;
        let catalog = self.client.catalog(&tables).await?;
        let owned = ledger.entries.iter().flat_map(|(address, entry)| {
            let objects = entry.current.iter().chain(&entry.deposed);
            objects.map(|owned| (owned.key(&entry.kind), address.clone()))
        });
        let read = LateBindingInputs {
            snapshot: &snapshot,
            owned: owned.collect(),
            outputs: self.outputs.clone(),
            apply_commands: BTreeMap::new(),
        };
        let sources = || project.stack.sources.clone();
        let stack = late_binding::bind_lookups(&project.stack, &read)
            .map_err(|diagnostics| Box::new(LoadFailure::new(sources(), diagnostics)))?
            .into_owned();
        let plan = pipeline::make_plan(&PlanInputs {
            registry: REGISTRY,
            stack: &stack,
            ledger: &ledger,
            snapshot: &snapshot,
            catalog: &catalog,
            pinned: None,
            options: &options,
            now: self.client.clock().now(),
            nonce: self.client.random().uuid(),
        });
        Ok(TestPlan { plan, snapshot, stack })
    }

    async fn apply_plan(&self, project: &LoadedStack, planned: &TestPlan) -> Outcome {
        let resources = &planned.stack.resources;
        let secrets = |address: &Address, attribute: &str| {
            Some(resources.get(address)?.attributes.get(attribute)?.expression.clone())
        };
        let context = ExecutionContext {
            client: &self.client,
            journal: &self.journal,
            who: "stead test",
            origin: &RunOrigin::default(),
            strict: false,
            secrets: &secrets,
            sources: &SourceArchives::from_project(project),
            // One-time secrets of a test have no use.
            deliver: &|_, _, _| Ok(()),
            wants_secret: &|_| false,
            kept: &|_, _| None,
            delivers: &|_, _| None,
            keep: &|_, _, _| None,
            rescue: &|_| {},
            tell: &|_| {},
            stop: &Cell::new(false),
            parallel: DEFAULT_CONCURRENCY,
            bounds: TimingBounds::default(),
        };
        run::run(&context, &PreexistingObjects::default(), &planned.plan).await
    }
}
