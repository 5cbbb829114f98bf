//! `stead ls`: lists managed or unmanaged objects. In: the ledger and the live objects. Out: a table. `drift`,
//! `cost` and `get` use its rows.

mod all;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use clap::{Args, ValueEnum};
use futures_util::future::{join, join_all};

pub(in crate::cli) use self::rows::{managed_rows, object_row, redact_secrets};
use crate::cli::args::workspace::UnitArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::ledger::{ambiguous_intents, ledger_io, other_ledgers};
use crate::cli::planning::refresh::{self, RefreshResult};
use crate::cli::planning::{claims, inventory};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::lock_file::read_pinned_names;
use crate::cloud::error::ReadError;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::nearest_name;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, KindScope, Price};
use crate::plan::join::prices::ObjectPrices;
use crate::plan::join::project_scope::{ObjectScope, ProjectScope};
use crate::plan::pipeline;
use crate::report::json;
use crate::report::text::{escape, phrases};
use crate::report::views::list::{self, ObjectSummary};

/// Command-line arguments of `stead ls`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead ls -o wide\n  stead ls --unmanaged --output json\n  stead ls --all -e prod"
)]
pub struct LsArgs {
    /// Columns to print
    #[arg(short = 'o', value_name = "COLUMNS", default_value = "short")]
    pub columns: ListColumns,
    /// List unmanaged live objects of every kind, in the stack's projects and outside of projects
    #[arg(long, conflicts_with = "all")]
    pub unmanaged: bool,
    /// Also those of every other project of the account
    #[arg(long, requires = "unmanaged")]
    pub all_projects: bool,
    /// Only this kind; repeatable
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<Name>,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
}

/// Selection of columns of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListColumns {
    /// The most important columns only.
    Short,
    /// All columns of the list.
    Wide,
}

/// Maximum number of parents, per kind, whose children are read when their kind was not requested.
const MAX_PARENTS: usize = 50;

/// Lists the managed objects, or with `--unmanaged` the live objects that no ledger of the backend owns.
///
/// # Errors
/// When a kind does not exist, the stack has problems, or the service or a ledger cannot be read.
pub(in crate::cli) async fn run(session: &CommandContext, args: &LsArgs) -> Result<Exit, CliFailure> {
    check_kinds(&args.kinds)?;
    if args.units.all {
        let wide = session.ui.json || args.columns == ListColumns::Wide;
        return Box::pin(all::list_all(session, &args.units, (&args.kinds, wide))).await;
    }
    Box::pin(list_stack(session, args)).await
}

async fn list_stack(session: &CommandContext, args: &LsArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let connection = session.connect(&project)?;
    let ledger = ledger_io::read_ledger(&project, &connection).await?;
    ambiguous_intents::warn_ambiguous_intents(&session.ui, &session.settings, &ledger);
    let pinned = read_pinned_names(&connection.lock_file)?;
    let options = session.read_only_options();
    let (plan, mut world) =
        refresh::read_and_plan(&connection, &project, &ledger, &options, pinned.as_ref()).await?;
    let of_kind = |row: &ObjectSummary| args.kinds.is_empty() || args.kinds.contains(&row.kind);
    let (mut strangers, mut others) = (0, 0);
    let (key, table, nothing) = if args.unmanaged {
        let reach = ProjectScope::from_plan(&plan, &ledger);
        if args.all_projects {
            let (mut wanted, tables) =
                pipeline::refresh_request(REGISTRY, &project.stack, &ledger, &options);
            wanted.projects = None;
            world = refresh::read_world(&connection, &wanted, &tables, pinned.as_ref()).await?;
        }
        let of = (!args.all_projects).then_some(&reach);
        add_unused_kinds(session, &connection, (of, &args.kinds, false), &mut world).await?;
        add_children(session, &connection, of, &args.kinds, &mut world).await?;
        redact_secrets(&connection, &mut world);
        let claimed = claims::claimed_objects(&connection, &world.snapshot).await?;
        let mut found = unmanaged_objects(&ledger, &world, &reach);
        found.leave_out_keys_in_use(&connection, &world);
        let owned_elsewhere = other_ledgers::objects_of_other_ledgers(&project, &connection.place).await?;
        found.leave_out_owned(&owned_elsewhere);
        others = if args.all_projects { 0 } else { found.projects };
        let mut rows = found.rows(args.all_projects);
        let owners = owner_addresses(&ledger);
        for row in &mut rows {
            row.of = belongs_to(&owners, &claimed, row);
        }
        rows.retain(of_kind);
        strangers = rows.len();
        ("unmanaged", list::unmanaged_table(&rows), "Everything in the project is managed.")
    } else {
        redact_secrets(&connection, &mut world);
        let mut rows = managed_rows(&ledger, &world.snapshot, &world.catalog);
        rows.retain(of_kind);
        let wide = session.ui.json || args.columns == ListColumns::Wide;
        ("resources", list::managed_table(&rows, wide), "Nothing is managed yet.")
    };
    session.ui.write_result(&if session.ui.json {
        json::list_document(key, &table)
    } else {
        table.to_text(nothing, session.ui.style)
    });
    if others > 0 {
        let others = phrases::count_noun(others, "other project");
        session.ui.hint(&format!("note: {others} of the account left out: --all-projects lists them, too"));
    }
    if strangers > 0 {
        session.next("plan --adopt KIND.NAME=ID", "adopts an object that the configuration describes");
    }
    Ok(Exit::Done)
}

fn check_kinds(kinds: &[Name]) -> Result<(), CliFailure> {
    let Some(wrong) = kinds.iter().find(|kind| REGISTRY.kind(kind).is_none()) else { return Ok(()) };
    let failure = CliFailure::new(Exit::Usage, format!("there is no kind `{wrong}`"));
    Err(match nearest_name(wrong, REGISTRY.kinds.iter().map(|kind| kind.name)) {
        Some(near) => failure.help(format!("Did you mean {near}?")),
        None => failure,
    })
}

/// Adds the objects of kinds that the stack does not use, as `list_unused_kinds`; prints a note for each list that the key
/// may not read.
pub(in crate::cli) async fn add_unused_kinds(
    session: &CommandContext,
    connection: &StackConnection,
    selection: (Option<&ProjectScope>, &[Name], bool),
    world: &mut RefreshResult,
) -> Result<(), CliFailure> {
    for (kind, why) in list_unused_kinds(connection, selection, world).await? {
        session.ui.write_message(&format!("note: {kind} is left out: {}", escape::escape_line(&why)));
    }
    Ok(())
}

/// Adds the objects of kinds that the stack does not use, with their prices: of the kinds in `wanted`, or of all if
/// it is empty; with `only_in_projects`, without kinds of the account. `reach` narrows the lists to its only
/// project; `None` reads all projects. Returns the kinds whose lists the key may not read, with the service's reason.
pub(in crate::cli) async fn list_unused_kinds(
    connection: &StackConnection,
    (reach, wanted, only_in_projects): (Option<&ProjectScope>, &[Name], bool),
    world: &mut RefreshResult,
) -> Result<Vec<(Name, String)>, CliFailure> {
    let listed = world.snapshot.listed.clone();
    let more = REGISTRY.top_level().filter(|kind| {
        let has = |name: &Name| REGISTRY.children(kind.name).any(|child| child.name == *name);
        let is_wanted = wanted.is_empty() || wanted.iter().any(|name| name == kind.name || has(name));
        let is_wanted = is_wanted && (!only_in_projects || kind.scope == KindScope::Project);
        is_wanted && kind.api.absent_when.is_none() && !listed.contains(kind.name)
    });
    let more: Vec<&'static Kind> = more.collect();
    let client = &connection.client;
    let lists = join_all(more.iter().map(async |kind| {
        let project =
            reach.filter(|_| kind.scope == KindScope::Project).and_then(ProjectScope::only_project);
        client.list(kind, None, project).await
    }));
    let tables: BTreeSet<&str> = more.iter().flat_map(|kind| priced_by(kind)).collect();
    let (lists, catalog) = join(lists, client.catalog(&tables)).await;
    let mut refused = Vec::new();
    for (kind, objects) in more.iter().zip(lists) {
        match objects {
            Ok(objects) => {
                world.snapshot.objects.extend(objects.into_iter().map(|object| (object.key(), object)));
            }
            Err(error @ ReadError::Refused { .. }) => {
                refused.push((Name::new_static(kind.name), error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    world.catalog.extend_with(catalog?);
    Ok(refused)
}

/// Adds the children of the live objects that can have some. Each parent costs a request: if a kind has more than
/// `MAX_PARENTS`, its children are read only if their kind was requested.
async fn add_children(
    session: &CommandContext,
    connection: &StackConnection,
    reach: Option<&ProjectScope>,
    wanted: &[Name],
    world: &mut RefreshResult,
) -> Result<(), CliFailure> {
    let mut under: Vec<(&'static Kind, Name)> = Vec::new();
    for kind in REGISTRY.kinds {
        let Some((of, _)) = kind.child_of() else { continue };
        let is_wanted = wanted.iter().any(|name| name == kind.name);
        let here = |object: &&Object| {
            let side = |reach: &ProjectScope| reach.side_of(REGISTRY, &world.snapshot, object);
            !matches!(reach.map(side), Some(ObjectScope::OtherProject(_)))
        };
        let parents: Vec<Name> =
            world.snapshot.of_kind(of).filter(here).map(|object| object.id.clone()).collect();
        if parents.len() > MAX_PARENTS && !is_wanted {
            let count = parents.len();
            session.ui.write_message(&format!(
                "note: {} of {count} objects is left out; --kind {0} reads it",
                kind.name
            ));
        } else if wanted.is_empty() || is_wanted {
            under.extend(parents.into_iter().map(|parent| (*kind, parent)));
        }
    }
    let lists =
        join_all(under.iter().map(|(kind, parent)| connection.client.list(kind, Some(parent), None)));
    for objects in lists.await {
        match objects {
            Ok(objects) => {
                world.snapshot.objects.extend(objects.into_iter().map(|object| (object.key(), object)));
            }
            // The parent was deleted meanwhile, or the key may not read its children.
            Err(ReadError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the catalog tables that determine a kind's price; empty for a free one.
fn priced_by(kind: &Kind) -> Vec<&'static str> {
    match kind.price {
        Price::Free => Vec::new(),
        Price::Sum(terms) => terms.iter().map(|term| term.table).collect(),
    }
}

/// Unmanaged live objects, by location.
#[derive(Debug, Default)]
pub(in crate::cli) struct UnmanagedObjects {
    /// Objects in the projects of the stack.
    pub(in crate::cli) here: Vec<ObjectSummary>,
    /// Objects of the account outside of any project.
    pub(in crate::cli) account: Vec<ObjectSummary>,
    /// Objects in other projects, with those projects.
    elsewhere: Vec<ObjectSummary>,
    /// Number of other projects that have unmanaged objects.
    pub(in crate::cli) projects: usize,
}

impl UnmanagedObjects {
    /// Removes the API keys in use from the objects of the account: managing one could lock this program out.
    pub(in crate::cli) fn leave_out_keys_in_use(
        &mut self,
        connection: &StackConnection,
        world: &RefreshResult,
    ) {
        let opens = |beginning: &str| connection.client.cloud().opens_with(beginning);
        let in_use = inventory::in_use(&world.snapshot, opens);
        self.account.retain(|row| !in_use.contains_key(&row.key()));
    }

    /// Removes objects that other ledgers own, and objects inside them.
    pub(in crate::cli) fn leave_out_owned(&mut self, owned: &BTreeMap<ObjectKey, Name>) {
        let parent = |row: &ObjectSummary| {
            let (of, _) = REGISTRY.kind(&row.kind)?.child_of()?;
            Some(ObjectKey { kind: Name::new_static(of), parent: None, id: row.parent.clone()? })
        };
        let is_owned = |row: &ObjectSummary| {
            owned.contains_key(&row.key()) || parent(row).is_some_and(|parent| owned.contains_key(&parent))
        };
        for rows in [&mut self.here, &mut self.account, &mut self.elsewhere] {
            rows.retain(|row| !is_owned(row));
        }
    }

    /// Returns the rows sorted by key: those that this stack may be responsible for, or all.
    fn rows(self, all: bool) -> Vec<ObjectSummary> {
        let elsewhere = self.elsewhere.into_iter().filter(|_| all);
        let mut rows: Vec<ObjectSummary> =
            self.here.into_iter().chain(self.account).chain(elsewhere).collect();
        rows.sort_by_key(ObjectSummary::key);
        rows
    }
}

/// Returns the live objects that this ledger does not own, except those that the service provides with an account.
pub(in crate::cli) fn unmanaged_objects(
    ledger: &Ledger,
    world: &RefreshResult,
    reach: &ProjectScope,
) -> UnmanagedObjects {
    let owned: BTreeSet<ObjectKey> = ledger.owned_keys().collect();
    let prices = ObjectPrices::new(&world.catalog).beside(&world.snapshot, &|_| true);
    let (mut found, mut projects) = (UnmanagedObjects::default(), BTreeSet::new());
    for object in world.snapshot.objects.values() {
        let side = reach.side_of(REGISTRY, &world.snapshot, object);
        let given = REGISTRY.kind(&object.kind).is_some_and(|kind| kind.is_given(&object.attributes));
        if given || owned.contains(&object.key()) {
            continue;
        }
        if let ObjectScope::OtherProject(Some(project)) = &side {
            projects.insert(project.clone());
        }
        let rows = match side {
            ObjectScope::InScope => &mut found.here,
            ObjectScope::Account => &mut found.account,
            ObjectScope::OtherProject(_) => &mut found.elsewhere,
        };
        rows.push(object_row(None, object, &prices));
    }
    found.projects = projects.len();
    found
}

/// Returns the address of every owned object, deposed ones included.
fn owner_addresses(ledger: &Ledger) -> BTreeMap<ObjectKey, &Address> {
    let entries = ledger.entries.iter();
    let owned = entries.flat_map(|(address, entry)| {
        let all = entry.current.iter().chain(&entry.deposed);
        all.map(move |owned| (owned.key(&entry.kind), address))
    });
    owned.collect()
}

/// Returns the object that claimed an object, else its parent: its address if it is managed, else `KIND:ID`. `None`
/// if the object has neither.
fn belongs_to(
    owners: &BTreeMap<ObjectKey, &Address>,
    claimed: &BTreeMap<ObjectKey, ObjectKey>,
    row: &ObjectSummary,
) -> Option<Name> {
    let kind = REGISTRY.kind(&row.kind)?;
    let owner = match (claimed.get(&row.key()), kind.child_of(), &row.parent) {
        (Some(owner), ..) => owner.clone(),
        (None, Some((of, _)), Some(parent)) => {
            ObjectKey { kind: Name::new_static(of), parent: None, id: parent.clone() }
        }
        _ => return None,
    };
    Some(owners.get(&owner).map_or_else(
        || Name::new(format!("{}:{}", owner.kind, owner.id)),
        |address| Name::new(address.as_str()),
    ))
}
