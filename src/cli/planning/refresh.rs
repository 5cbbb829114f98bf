//! Reads the live state for a stack, and makes its plan. In: the stack, its ledger and the plan's options. Out: the
//! plan, and all that was read for it. Sends only reads, and writes no ledger.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::try_join;

use super::claims;
use crate::cli::files::git_origin;
use crate::cli::ledger::{other_ledgers, remote_stacks, stack_origin, stack_transfers};
use crate::cli::planning::remedies;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::settings::CloudEndpoint;
use crate::cli::secrets::deferred_secrets::{self, AvailableSecrets};
use crate::cli::secrets::kept_secrets::{self, Keyring};
use crate::cli::secrets::{output_secrets, secret_sinks};
use crate::cli::service::catalog_cache;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::unknown_addresses;
use crate::config::stack::model::{Resource, Stack};
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::address::name_map::NameMap;
use crate::model::clock::{Clock, Random};
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::{ObjectKey, RefreshRequest, Snapshot};
use crate::model::values::value::{Attributes, Value};
use crate::plan::artifact::binding;
use crate::plan::artifact::redaction::redact_plan;
use crate::plan::inputs::{PlanInputs, PlanningOptions, PolicyContext};
use crate::plan::model::change::Plan;
use crate::plan::model::resource_values::PlanValues;
use crate::plan::model::transfers::StackTransfers;
use crate::plan::pipeline;

/// The live state at the time of one command, with the catalog and the available secrets.
pub(in crate::cli) struct RefreshResult {
    /// Live objects, read at one time.
    pub(in crate::cli) snapshot: Snapshot,
    /// Names and prices of the catalog tables that were read; ids are the pinned ones.
    pub(in crate::cli) catalog: Catalog,
    /// Available secrets that are not written in a file of the stack; empty for a destroy or a read-only command.
    pub(in crate::cli) known: AvailableSecrets,
    /// Digest of the secrets' values under the key of a saved plan; `None` unless the plan is saved
    /// before the ledger exists.
    pub(in crate::cli) secrets: Option<String>,
    /// Moves between the stack and others, which an apply of the plan makes first.
    pub(in crate::cli) transfers: StackTransfers,
    /// Outputs of other stacks, by their names under `stacks`.
    pub(in crate::cli) outputs: BTreeMap<Name, Attributes>,
    /// The values of all resources; empty unless the options of the plan ask for them.
    pub(in crate::cli) values: PlanValues,
}

impl RefreshResult {
    /// Returns what was read of the service, without secrets, moves and outputs.
    pub(in crate::cli) fn from_live(snapshot: Snapshot, catalog: Catalog) -> Self {
        Self {
            snapshot,
            catalog,
            known: AvailableSecrets::default(),
            secrets: None,
            transfers: StackTransfers::default(),
            outputs: BTreeMap::new(),
            values: PlanValues::default(),
        }
    }

    /// Returns the stack with what was read of lookups and other stacks. A destroy sends no values, and needs none.
    ///
    /// # Errors
    /// When a value does not exist, or does not fit.
    pub(in crate::cli) fn bound_stack<'p>(
        &self,
        project: &'p LoadedStack,
        ledger: &Ledger,
        destroy: bool,
    ) -> Result<Cow<'p, Stack>, CliFailure> {
        if destroy {
            return Ok(Cow::Borrowed(&project.stack));
        }
        remote_stacks::bind_read_values(project, ledger, &self.snapshot, &self.outputs)
    }
}

/// Reads the live objects and the catalog tables that a plan needs; pinned ids replace those of the catalog.
/// Secrets are not read.
///
/// # Errors
/// When the service refuses a read or does not respond.
pub(in crate::cli) async fn read_world(
    connection: &StackConnection,
    wanted: &RefreshRequest,
    tables: &BTreeSet<&str>,
    pinned: Option<&Catalog>,
) -> Result<RefreshResult, CliFailure> {
    let client = &connection.client;
    let (snapshot, mut catalog) = try_join!(client.refresh(wanted), client.catalog(tables))?;
    catalog_cache::save_tables(connection.catalogs.as_deref(), &catalog);
    if let Some(pinned) = pinned {
        catalog.pin_ids(pinned);
    }
    Ok(RefreshResult::from_live(snapshot, catalog))
}

/// Reads the live state and makes the plan of a stack.
///
/// # Errors
/// When the plan is limited to an address that does not exist, a secret or another ledger that it needs cannot be
/// read, or the service refuses a read or does not respond.
pub(in crate::cli) async fn read_and_plan(
    connection: &StackConnection,
    project: &LoadedStack,
    ledger: &Ledger,
    options: &PlanningOptions,
    pinned: Option<&Catalog>,
) -> Result<(Plan, RefreshResult), CliFailure> {
    let planning = pipeline::make_plan_with_outputs;
    let read = with_inputs(connection, project, ledger, (options, pinned), planning).await;
    let (mut planned, mut world) = read?;
    // What a replacement deletes may be in use: only now it is known what has to be read for that.
    let arrived = world.transfers.expected_ledger(ledger);
    let wider = pipeline::widen_for_deletions(REGISTRY, &project.stack, &arrived, options, &planned.plan);
    if let Some(wider) = wider {
        let read = with_inputs(connection, project, ledger, (&wider, pinned), planning).await;
        (planned, world) = read?;
    }
    world.values = planned.values;
    let mut plan = redact_plan(planned.plan, &mut world.values, &|text| connection.client.redact(text));
    remedies::complete_commands(&mut plan, &project.settings);
    Ok((plan, world))
}

/// Reads the live state and passes all inputs of a plan to a function.
///
/// # Errors
/// Those of `read_and_plan`.
pub(in crate::cli) async fn with_inputs<T>(
    connection: &StackConnection,
    project: &LoadedStack,
    ledger: &Ledger,
    (options, pinned): (&PlanningOptions, Option<&Catalog>),
    decide: impl FnOnce(&PlanInputs<'_>) -> T,
) -> Result<(T, RefreshResult), CliFailure> {
    let options = &Box::pin(prepare_options(connection, project, ledger, options, None)).await?;
    // What a plan needs of the ledger is read as if the moves between stacks were made.
    let arrived = options.transfers.expected_ledger(ledger);
    let (wanted, tables) = pipeline::refresh_request(REGISTRY, &project.stack, &arrived, options);
    let mut world = Box::pin(read_world(connection, &wanted, &tables, pinned)).await?;
    let live = LiveInputs { snapshot: &world.snapshot, catalog: &world.catalog, shared: None };
    let decided =
        Box::pin(with_live_state(connection, project, ledger, (options, pinned), live, decide)).await?;
    (world.known, world.secrets, world.outputs) = (decided.known, decided.secrets, decided.outputs);
    world.transfers = options.transfers.clone();
    Ok((decided.decided, world))
}

/// What a command that plans many units has read for all of them, so that no unit reads it again.
#[derive(Clone, Copy)]
pub(in crate::cli) struct SharedInputs<'a> {
    /// Outputs of the stack's upstream units, by their names under `stacks`: planned ones, or those of a ledger.
    pub(in crate::cli) outputs: &'a BTreeMap<Name, Attributes>,
    /// Objects of all ledgers that were read, with their owners.
    pub(in crate::cli) owners: &'a Arc<BTreeMap<ObjectKey, Name>>,
}

/// What was read of the service before a plan is made.
#[derive(Clone, Copy)]
pub(in crate::cli) struct LiveInputs<'a> {
    pub(in crate::cli) snapshot: &'a Snapshot,
    pub(in crate::cli) catalog: &'a Catalog,
    /// Inputs that many units share; `None` for a plan of one stack.
    pub(in crate::cli) shared: Option<SharedInputs<'a>>,
}

/// The result of a decision, with the secrets that were found for it.
pub(in crate::cli) struct DecidedPlan<T> {
    pub(in crate::cli) decided: T,
    /// Available secrets that are not written in a file of the stack; empty for a destroy or a read-only command.
    pub(in crate::cli) known: AvailableSecrets,
    /// Digest of the secrets' values under the key of a saved plan; `None` unless the plan is saved
    /// before the ledger exists.
    pub(in crate::cli) secrets: Option<String>,
    /// Outputs of other stacks, by their names under `stacks`.
    pub(in crate::cli) outputs: BTreeMap<Name, Attributes>,
}

/// Checks the options of a plan, and adds the facts about this machine and the ledger's location to them. Sends no
/// request to the service.
///
/// # Errors
/// When the plan is limited to an address that does not exist, or another ledger or a program that it needs is missing.
pub(in crate::cli) async fn prepare_options(
    connection: &StackConnection,
    project: &LoadedStack,
    ledger: &Ledger,
    options: &PlanningOptions,
    shared: Option<SharedInputs<'_>>,
) -> Result<PlanningOptions, CliFailure> {
    let options = &*Box::pin(stack_transfers::with_transfers(project, ledger, options)).await?;
    let ledger = &*options.transfers.expected_ledger(ledger);
    unknown_addresses::reject_unknown_scope(project, ledger, options)?;
    let options = Box::pin(with_surroundings(connection, project, ledger, options, shared)).await?;
    // Early: otherwise a missing sink program would be noticed only after its secret is generated.
    if !(options.destroy || options.only_looks || project.settings.untrusted) {
        deferred_secrets::check_sinks(project)?;
    }
    Ok(options)
}

/// Passes all inputs of a plan to a function, with live objects that were read before. `options` are those of
/// `prepare_options`.
///
/// # Errors
/// When a secret or another ledger that the plan needs cannot be read.
pub(in crate::cli) async fn with_live_state<T>(
    connection: &StackConnection,
    project: &LoadedStack,
    ledger: &Ledger,
    (options, pinned): (&PlanningOptions, Option<&Catalog>),
    LiveInputs { snapshot, catalog, shared }: LiveInputs<'_>,
    decide: impl FnOnce(&PlanInputs<'_>) -> T,
) -> Result<DecidedPlan<T>, CliFailure> {
    let before = ledger;
    let ledger = &*options.transfers.expected_ledger(before);
    let (mut whole, mut known) = (None, AvailableSecrets::default());
    if !(options.destroy || options.only_looks) {
        known = deferred_secrets::collect_available_secrets(project, ledger, snapshot)?;
        if !project.stack.deferred_secrets.is_empty() {
            whole = Some(Box::new(project.with_secrets(&known.secrets)?));
        }
    }
    let (claimed, foreign) =
        Box::pin(read_byproducts(connection, project, (ledger, options), snapshot, shared)).await?;
    let options = &PlanningOptions {
        claimed,
        foreign,
        lost_secrets: known.lost.clone(),
        locked_secrets: options.locked_secrets.union(&known.locked).cloned().collect(),
        allowed_recipients: project.settings.allowed_recipients.clone(),
        policy: policy_context(connection, project),
        ..options.clone()
    };
    let project = whole.as_deref().unwrap_or(project);
    // A destroy or a drift check does not need remote stack outputs.
    let is_optional = options.destroy || options.only_looks;
    let outputs = match shared {
        Some(shared) => Ok(shared.outputs.clone()),
        None => Box::pin(read_outputs(project)).await,
    };
    if let Ok(outputs) = &outputs {
        learn_output_secrets(connection, outputs);
    }
    let bound = outputs.and_then(|outputs| {
        let stack = remote_stacks::bind_read_values(project, ledger, snapshot, &outputs)?;
        Ok((stack, outputs))
    });
    let (stack, outputs) = match bound {
        Err(_) if is_optional => (Cow::Borrowed(&project.stack), BTreeMap::new()),
        bound => bound?,
    };
    let options = &match shared {
        Some(_) => options.clone(),
        None => Box::pin(with_owners(connection, project, (&stack, ledger, snapshot), options)).await,
    };
    let options = &with_locked_outputs(project, &outputs, options);
    let key = options.image_key.as_ref().filter(|_| ledger.identity.key.is_none());
    let secrets =
        key.map(|key| binding::secrets_digest(&stack, key)).transpose().map_err(anyhow::Error::from)?;
    let decided = decide(&PlanInputs {
        registry: REGISTRY,
        stack: &stack,
        ledger: before,
        snapshot,
        catalog,
        pinned,
        options,
        now: connection.client.clock().now(),
        nonce: connection.client.random().uuid(),
    });
    Ok(DecidedPlan { decided, known, secrets, outputs })
}

/// Returns what policies may read besides the stack and the plan.
fn policy_context(connection: &StackConnection, project: &LoadedStack) -> PolicyContext {
    let settings = &project.settings.policy;
    let branch = || git_origin::checked_out_branch(&project.directory);
    PolicyContext {
        actor: settings.actor.clone(),
        branch: settings.branch.clone().or_else(branch).unwrap_or_default(),
        time: connection.client.service_time(),
        privileged_roles: settings
            .privileged_roles
            .clone()
            .unwrap_or_else(|| PolicyContext::default().privileged_roles),
    }
}

/// Returns the outputs of other stacks from their ledgers, by their names under `stacks`; secrets that the ledgers keep are
/// decrypted.
async fn read_outputs(project: &LoadedStack) -> Result<BTreeMap<Name, Attributes>, CliFailure> {
    let keyring = Keyring::new(&project.settings);
    let mut outputs = BTreeMap::new();
    for (alias, ledger) in remote_stacks::read_all_ledgers(project).await? {
        let reads = project.stack.stacks.get(&alias).into_iter().flat_map(|other| other.reads.keys());
        if let Some(given) = output_secrets::open_outputs(&keyring, (&alias, reads.clone()), &ledger)? {
            if reads.into_iter().any(|name| given.get(name).is_some_and(Value::is_secret)) {
                kept_secrets::warn_unauthenticated(&project.settings, &ledger);
            }
            outputs.insert(alias, given);
        }
    }
    Ok(outputs)
}

/// Tells the client the secrets that were read: the service may return those that an earlier run sent.
fn learn_output_secrets(connection: &StackConnection, outputs: &BTreeMap<Name, Attributes>) {
    for value in outputs.values().flat_map(NameMap::values) {
        value.each_secret(&mut |secret| connection.client.learn_secret(secret));
    }
}

/// Adds the secret outputs of other stacks that no identity of this run decrypts to the secrets that nothing may need.
fn with_locked_outputs(
    project: &LoadedStack,
    outputs: &BTreeMap<Name, Attributes>,
    options: &PlanningOptions,
) -> PlanningOptions {
    let mut options = options.clone();
    for (alias, other) in &project.stack.stacks {
        let Some(given) = outputs.get(alias) else { continue };
        let locked = other
            .reads
            .keys()
            .filter(|name| matches!(given.get(*name), Some(Value::Secret(secret)) if secret.is_withheld()));
        options.locked_secrets.extend(locked.map(|name| output_secrets::read_path(alias, name)));
    }
    options
}

/// Adds the owners of live objects that have the names of new ones: an object of another ledger must not be proposed
/// for adoption. Unreadable ledgers are ignored here; an adoption reports them.
async fn with_owners(
    connection: &StackConnection,
    project: &LoadedStack,
    (stack, ledger, snapshot): (&Stack, &Ledger, &Snapshot),
    options: &PlanningOptions,
) -> PlanningOptions {
    let is_new = |resource: &&Resource| {
        ledger.entries.get(&resource.address).is_none_or(|entry| entry.current.is_none())
    };
    let is_taken = |resource: &Resource| {
        let name = resource.attributes.get("name").and_then(|setting| setting.expression.known_value());
        let mut live = snapshot.of_kind(resource.kind.name);
        name.is_some_and(|name| live.any(|object| object.attributes.get("name") == Some(name)))
    };
    let needless = options.destroy || options.only_looks || !options.foreign.is_empty();
    // For an untrusted stack, no other ledger is read.
    let skips = needless || project.settings.untrusted;
    if skips || !stack.resources.values().filter(is_new).any(is_taken) {
        return options.clone();
    }
    let foreign =
        other_ledgers::objects_of_other_ledgers(project, &connection.place).await.unwrap_or_default();
    PlanningOptions { foreign: foreign.into(), ..options.clone() }
}

/// Returns the volume claims and the objects of other ledgers, which tell objects derived from the stack's objects
/// from unrelated ones in a destroy. Reads nothing if there are no candidates.
async fn read_byproducts(
    connection: &StackConnection,
    project: &LoadedStack,
    (ledger, options): (&Ledger, &PlanningOptions),
    snapshot: &Snapshot,
    shared: Option<SharedInputs<'_>>,
) -> Result<(BTreeMap<ObjectKey, ObjectKey>, Arc<BTreeMap<ObjectKey, Name>>), CliFailure> {
    if !options.destroy || ledger.entries.is_empty() {
        return Ok((BTreeMap::new(), options.foreign.clone()));
    }
    let owned: BTreeSet<ObjectKey> = ledger
        .entries
        .values()
        .flat_map(|entry| entry.current.iter().chain(&entry.deposed).map(|one| one.key(&entry.kind)))
        .collect();
    let may_claim = ledger
        .entries
        .values()
        .any(|entry| REGISTRY.kind(&entry.kind).is_some_and(|kind| kind.claims.is_some()));
    let claimed =
        if may_claim { claims::claimed_objects(connection, snapshot).await? } else { BTreeMap::new() };
    let is_copy = |key: &ObjectKey| REGISTRY.kind(&key.kind).is_some_and(|kind| !kind.copy_of.is_empty());
    let mut others = snapshot.objects.keys().filter(|key| !owned.contains(*key));
    if !others.any(|key| is_copy(key) || claimed.contains_key(key)) {
        return Ok((claimed, options.foreign.clone()));
    }
    if let Some(shared) = shared {
        return Ok((claimed, Arc::clone(shared.owners)));
    }
    let foreign = match other_ledgers::objects_of_other_ledgers(project, &connection.place).await {
        // Without the flag, only a note depends on these ledgers.
        Err(_) if !options.with_leftovers => Arc::clone(&options.foreign),
        read => read?.into(),
    };
    Ok((claimed, foreign))
}

/// Adds to a plan's options the facts about this machine and the ledger's location; reads other ledgers
/// only for an adoption.
async fn with_surroundings(
    connection: &StackConnection,
    project: &LoadedStack,
    ledger: &Ledger,
    options: &PlanningOptions,
    shared: Option<SharedInputs<'_>>,
) -> Result<PlanningOptions, CliFailure> {
    let adopts = !options.adopt.is_empty()
        || !options.taken_back.is_empty()
        || !project.stack.declarations.imports.is_empty();
    let foreign = match shared {
        Some(shared) => Arc::clone(shared.owners),
        None if adopts => other_ledgers::objects_of_other_ledgers(project, &connection.place).await?.into(),
        None => Arc::clone(&options.foreign),
    };
    secret_sinks::check_named(project, &options.overwrite_secrets)?;
    let occupied_sinks = if options.destroy {
        BTreeMap::new()
    } else {
        secret_sinks::occupied_sinks(project, ledger, &options.overwrite_secrets)
    };
    Ok(PlanningOptions {
        foreign,
        directory: stack_origin::current_origin(project, ledger)?,
        undelivered: secret_sinks::undelivered_resources(project, ledger),
        occupied_sinks,
        // Secrets that a run on the built-in cloud delivers are not real.
        on_runner: project.settings.ci && project.settings.cloud != CloudEndpoint::Local,
        ..options.clone()
    })
}
