//! The objects of each account that no ledger owns, and the units that are not applied as configured. In: the planned units
//! with the live state of their accounts. Out: what the reports show. Each kind that the units do not use is listed once
//! for each account. An object counts as unmanaged only if every ledger of the account's backends was read.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use crate::cli::commands::ls;
use crate::cli::ledger::backend_ledgers::{UnitLedger, read_backend_objects};
use crate::cli::ledger::open::{CommandStore, seal_key};
use crate::cli::ledger::other_ledgers;
use crate::cli::planning::refresh::RefreshResult;
use crate::cli::planning::{claims, inventory};
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::{CloudEndpoint, Settings};
use crate::cli::service::connection::StackConnection;
use crate::cli::workspace::loaded_unit::{WorkspaceUnit, loaded_stack};
use crate::cli::workspace::planned_units::{PlannedUnit, WorkspacePlan};
use crate::cli::workspace::units::Workspace;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::location::LedgerLocation;
use crate::model::address::Name;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::plan::join::prices::ObjectPrices;
use crate::plan::model::note::NoteCode;
use crate::report::units::accounts::{AccountReview, UnappliedReason};
use crate::report::views::list::ObjectSummary;
use crate::workspace::unit::UnitName;

/// Objects of all ledgers that could be read.
#[derive(Default)]
struct OwnedObjects {
    /// Those of the repository's units.
    own: BTreeSet<ObjectKey>,
    /// Those of other ledgers in the units' backends.
    others: BTreeSet<ObjectKey>,
    /// Why some ledgers are not known.
    unknown: Vec<String>,
}

impl OwnedObjects {
    fn contains(&self, key: &ObjectKey) -> bool {
        self.own.contains(key) || self.others.contains(key)
    }

    fn add_ledger(&mut self, ledger: Option<&Ledger>) {
        self.own.extend(ledger.into_iter().flat_map(other_ledgers::owned_objects).map(|(key, _)| key));
    }
}

/// Returns what each account has beside the objects of the units; takes the live state out of the plan. `lost` has the
/// units whose ledgers were lost.
pub(super) async fn review_accounts(
    workspace: &Workspace,
    planned: &mut WorkspacePlan,
    lost: &[UnitName],
) -> Vec<AccountReview> {
    let mut owned = read_all_ledgers(workspace, planned).await;
    owned.unknown.extend(lost.iter().map(|name| format!("the ledger of {name} was lost")));
    let accounts = mem::take(&mut planned.accounts);
    let mut reviews: Vec<AccountReview> = Vec::new();
    let mut seen: BTreeSet<(String, ObjectKey)> = BTreeSet::new();
    for (number, (state, connection)) in accounts {
        let units: Vec<usize> =
            planned.planned().filter(|(_, unit)| unit.account == number).map(|(unit, _)| unit).collect();
        let Some(first) = units.first() else { continue };
        let address = account_address(&workspace.units[*first].settings);
        let world = RefreshResult::from_live(state.snapshot, state.catalog);
        let mut review = review_account(&connection, world, &owned).await;
        // Two keys of one account show the same objects.
        review.unmanaged.retain(|object| seen.insert((address.clone(), object.key())));
        review.units = units.len();
        review.name = unused_name(&reviews, address);
        reviews.push(review);
    }
    add_unread_accounts(workspace, planned, &mut reviews);
    reviews
}

/// Adds an account for the addresses from which nothing was read.
fn add_unread_accounts(workspace: &Workspace, planned: &WorkspacePlan, reviews: &mut Vec<AccountReview>) {
    let failed = planned.units.iter().filter_map(|(number, result)| Some((number, result.as_ref().err()?)));
    for (number, failure) in failed {
        let one = &workspace.units[*number];
        let address = account_address(&one.settings);
        if reviews.iter().any(|review| review.name == address) {
            continue;
        }
        let reason = format!("its objects were not read: {}: {}", one.unit.name, failure.message);
        reviews.push(AccountReview {
            name: address,
            units: 0,
            unknown: vec![reason],
            ..Default::default()
        });
    }
}

fn account_address(settings: &Settings) -> String {
    match &settings.cloud {
        CloudEndpoint::Remote(url) => url.clone(),
        CloudEndpoint::Local => "the built-in cloud".to_owned(),
        CloudEndpoint::Unset => "no cloud".to_owned(),
    }
}

fn unused_name(reviews: &[AccountReview], address: String) -> String {
    let same = reviews
        .iter()
        .filter(|review| review.name == address || review.name.starts_with(&format!("{address} (")));
    match same.count() {
        0 => address,
        count => format!("{address} ({})", count + 1),
    }
}

/// Reads the ledgers of all units that were not read yet, and those that share a backend with one.
async fn read_all_ledgers(workspace: &Workspace, planned: &WorkspacePlan) -> OwnedObjects {
    let mut owned = OwnedObjects::default();
    let mut places = Vec::with_capacity(workspace.units.len());
    for (number, one) in workspace.units.iter().enumerate() {
        let name = &one.unit.name;
        let directory = workspace.root.join(one.unit.directory.as_str());
        let place =
            ledger_settings::place_of(&one.settings, (&name.stack, one.requires_backend()), &directory);
        let read = match &place {
            Ok(place) => add_unit_ledger(&mut owned, (number, one), planned, place).await,
            Err(failure) => Err(failure.clone()),
        };
        match read {
            Err(failure) => {
                owned.unknown.push(format!("the ledger of {name} cannot be read: {}", failure.message));
            }
            // An object that is being created is in no ledger yet.
            Ok(is_changing) if is_changing => {
                owned
                    .unknown
                    .push(format!("an apply of {name} may be running, or its results are not known"));
            }
            Ok(_) => {}
        }
        places.extend(place.ok().map(|place| UnitLedger {
            settings: &one.settings,
            stack: &name.stack,
            environment: &name.environment,
            place,
        }));
    }
    for unreadable in &workspace.unreadable {
        owned.unknown.push(format!("the stack in {} cannot be read", unreadable.directory));
    }
    let found = read_backend_objects(&places).await;
    owned.others.extend(found.owned);
    owned.unknown.extend(found.unknown);
    owned
}

/// Adds the objects of a unit's ledger. Returns whether it may be about to own more: it has requests whose results are not
/// recorded, or another process holds its lock.
async fn add_unit_ledger(
    owned: &mut OwnedObjects,
    (number, one): (usize, &WorkspaceUnit),
    planned: &WorkspacePlan,
    place: &LedgerLocation,
) -> Result<bool, CliFailure> {
    let has_intents = |ledger: Option<&Ledger>| ledger.is_some_and(|ledger| !ledger.intents.is_empty());
    if let Some(Ok(unit)) = planned.units.get(&number) {
        owned.add_ledger(Some(&unit.ledger));
        let is_locked = unit.plan.has_note(NoteCode::LockHeld);
        Ok(is_locked || has_intents(Some(&unit.ledger)))
    } else if let Some(ledger) = planned.others.get(&number) {
        owned.add_ledger(ledger.as_ref());
        Ok(has_intents(ledger.as_ref()))
    } else {
        let name = &one.unit.name;
        let key = seal_key(&one.settings)?;
        let ledger = CommandStore::read(place, &name.stack, &name.environment, key.as_ref()).await?;
        owned.add_ledger(ledger.as_ref());
        Ok(has_intents(ledger.as_ref()))
    }
}

/// Lists what the units of one account do not use, and returns what no ledger owns.
async fn review_account(
    connection: &StackConnection,
    mut world: RefreshResult,
    owned: &OwnedObjects,
) -> AccountReview {
    let mut review = AccountReview { unknown: owned.unknown.clone(), ..AccountReview::default() };
    match ls::list_unused_kinds(connection, (None, &[], false), &mut world).await {
        Ok(refused) => {
            review.left_out = refused.into_iter().map(|(kind, why)| (kind.to_string(), why)).collect();
        }
        Err(failure) => review.unknown.push(format!("a list cannot be read: {}", failure.message)),
    }
    ls::redact_secrets(connection, &mut world);
    let claimed = match claims::claimed_objects(connection, &world.snapshot).await {
        Ok(claimed) => claimed,
        Err(failure) => {
            let why = failure.message;
            review.unknown.push(format!("what the workloads of clusters made cannot be read: {why}"));
            BTreeMap::new()
        }
    };
    let in_use =
        inventory::in_use(&world.snapshot, |beginning| connection.client.cloud().opens_with(beginning));
    let prices = ObjectPrices::new(&world.catalog).beside(&world.snapshot, &|_| true);
    let mut unmanaged: Vec<ObjectSummary> = Vec::new();
    for (key, object) in &world.snapshot.objects {
        if owned.contains(key) {
            review.managed += 1;
        } else if !(is_of_service(object)
            || in_use.contains_key(key)
            || claimed.contains_key(key)
            || parent_key(object).is_some_and(|parent| owned.others.contains(&parent)))
        {
            unmanaged.push(ls::object_row(None, object, &prices));
        }
    }
    if review.is_known() {
        unmanaged.sort_by_key(|row| (row.project.clone(), row.key()));
        review.unmanaged = unmanaged;
    }
    review
}

/// Returns whether the service gives or makes an object, so that it is not meant to be managed.
fn is_of_service(object: &Object) -> bool {
    REGISTRY.kind(&object.kind).is_some_and(|kind| {
        kind.is_given(&object.attributes) || kind.is_made_by_service(&object.attributes)
    })
}

fn parent_key(object: &Object) -> Option<ObjectKey> {
    let (of, _) = REGISTRY.kind(&object.kind)?.child_of()?;
    Some(ObjectKey { kind: Name::new_static(of), parent: None, id: object.parent.clone()? })
}

/// Returns why a unit is not applied as its stack declares; `None` if it is, as far as its history and its plan say.
pub(super) fn unapplied_reason(one: &WorkspaceUnit, unit: &PlannedUnit) -> Option<UnappliedReason> {
    if one.unit.is_removed {
        return Some(UnappliedReason::Removed);
    }
    let stack = loaded_stack(one)?;
    let Some(last) = unit.ledger.history.back() else {
        let is_new = !stack.resources.is_empty() && unit.ledger.owns_nothing();
        return is_new.then_some(UnappliedReason::NeverApplied);
    };
    if !last.is_complete() {
        return Some(UnappliedReason::Incomplete);
    }
    let is_other = last.origin.config.as_deref().is_some_and(|config| config != stack.digest);
    (is_other && !unit.plan.changes.is_empty()).then_some(UnappliedReason::ConfigurationChanged)
}
