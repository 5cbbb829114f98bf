//! Reads a whole account: all lists, all children, and the attributes that lists omit. An import needs all of them:
//! an object that is missing here could be referred to by one that is imported.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;

use super::refresh::RefreshResult;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::output::Ui;
use crate::cli::service::connection::StackConnection;
use crate::cli::stack::project::LoadedStack;
use crate::cloud::error::ReadError;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::live::snapshot::{Object, ObjectKey, RefreshRequest, Snapshot};
use crate::model::schema::{Attribute, Kind};
use crate::model::values::value::Value;
use crate::plan::inputs::PlanningOptions;
use crate::plan::pipeline;
use crate::report::text::escape;

/// Attribute with the first characters of an API key; only the kind of API keys has it.
const KEY_PREFIX_ATTRIBUTE: &str = "key_prefix";

/// Returns the API keys that may be the one in use, each with the reason, as a sentence, why it is not managed: an
/// apply that changes this key could lock the program out. `opens` returns whether the key in use has this prefix.
pub(in crate::cli) fn in_use(
    snapshot: &Snapshot,
    opens: impl Fn(&str) -> bool,
) -> BTreeMap<ObjectKey, String> {
    let keys = REGISTRY.top_level().filter(|kind| kind.attribute(KEY_PREFIX_ATTRIBUTE).is_some());
    let objects = keys.flat_map(|kind| snapshot.of_kind(kind.name));
    let used = objects.filter(|object| {
        let beginning = object.attributes.get(KEY_PREFIX_ATTRIBUTE).and_then(Value::as_text);
        beginning.is_some_and(&opens)
    });
    let why = "It is the API key in use, or has the same prefix: changing it could lock you out.";
    used.map(|object| (object.key(), why.to_owned())).collect()
}

/// Reads all objects of the account in addition to those of the stack. A list that the key may not read is
/// skipped with a note.
///
/// # Errors
/// When the service refuses another read or does not respond.
pub(in crate::cli) async fn read_inventory(
    ui: &Ui,
    connection: &StackConnection,
    project: &LoadedStack,
    ledger: &Ledger,
    options: &PlanningOptions,
) -> Result<RefreshResult, CliFailure> {
    let client = &connection.client;
    let (mut wanted, _) = pipeline::refresh_request(REGISTRY, &project.stack, ledger, options);
    wanted.projects = None;
    let single = REGISTRY.top_level().filter(|kind| kind.api.absent_when.is_some());
    wanted.kinds.extend(single.map(|kind| Name::new(kind.name)));
    let mut snapshot = client.refresh(&wanted).await?;
    let listed = snapshot.listed.clone();
    let more: Vec<&'static Kind> =
        REGISTRY.top_level().filter(|kind| !listed.contains(kind.name)).collect();
    let lists = join_all(more.iter().map(|kind| client.list(kind, None, None))).await;
    for (kind, objects) in more.iter().zip(lists) {
        match objects {
            Ok(objects) => {
                snapshot.objects.extend(objects.into_iter().map(|object| (object.key(), object)));
                snapshot.listed.insert(kind.name.into());
            }
            Err(error @ ReadError::Refused { .. }) => {
                let why = escape::escape_line(&error.to_string()).into_owned();
                ui.write_message(&format!("note: {} is left out: {why}", kind.name));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let children = |kind: &Kind| REGISTRY.children(kind.name).map(|child| child.name).collect::<Vec<_>>();
    let mut parents = BTreeSet::new();
    for kind in REGISTRY.top_level() {
        for child in children(kind) {
            parents.extend(snapshot.of_kind(kind.name).map(|object| (Name::new(child), object.id.clone())));
        }
    }
    let below =
        RefreshRequest { parents, details: keys_without_details(&snapshot), ..RefreshRequest::default() };
    merge_snapshot(&mut snapshot, client.refresh(&below).await?);
    // The children were listed only now, so their omitted attributes need another read.
    let below = RefreshRequest { details: keys_without_details(&snapshot), ..RefreshRequest::default() };
    if !below.details.is_empty() {
        merge_snapshot(&mut snapshot, client.refresh(&below).await?);
    }
    let tables: BTreeSet<&str> = REGISTRY.catalogs.iter().map(|table| table.name).collect();
    Ok(RefreshResult::from_live(snapshot, client.catalog(&tables).await?))
}

/// Reads each object that `taken` selects by its id, unless it was read so already. Returns the objects that could
/// not be read, each with the reason as a sentence.
///
/// # Errors
/// When the service does not respond.
pub(in crate::cli) async fn read_whole(
    connection: &StackConnection,
    snapshot: &mut Snapshot,
    taken: impl Fn(&Object) -> bool,
) -> Result<BTreeMap<ObjectKey, String>, CliFailure> {
    let readable =
        |object: &&Object| REGISTRY.kind(&object.kind).is_some_and(|kind| kind.api.read.is_some());
    let listed =
        snapshot.objects.values().filter(readable).filter(|object| !object.detailed && taken(object));
    let keys: Vec<ObjectKey> = listed.map(Object::key).collect();
    let read = join_all(keys.iter().map(|key| connection.client.get(key))).await;
    let mut unread = BTreeMap::new();
    for (key, object) in keys.into_iter().zip(read) {
        match object {
            Ok(Some(object)) => drop(snapshot.objects.insert(key, object)),
            Ok(None) => drop(unread.insert(key, "It does not exist any more.".to_owned())),
            Err(error @ ReadError::Refused { .. }) => {
                let why =
                    format!("It cannot be read by its id: {}.", escape::escape_line(&error.to_string()));
                unread.insert(key, why);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(unread)
}

/// Returns the objects that have more attributes when read by id, and were only listed so far.
fn keys_without_details(snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
    let unlisted = |attribute: &Attribute| !attribute.listed && attribute.is_readable();
    let short = REGISTRY
        .kinds
        .iter()
        .filter(|kind| kind.api.read.is_some() && kind.attributes.iter().any(unlisted));
    let objects = short.flat_map(|kind| snapshot.of_kind(kind.name));
    objects.filter(|object| !object.detailed).map(Object::key).collect()
}

/// Adds a snapshot to another; a complete object is never replaced by a listed one.
fn merge_snapshot(into: &mut Snapshot, more: Snapshot) {
    for (key, object) in more.objects {
        let keeps = into.objects.get(&key).is_some_and(|known| known.detailed && !object.detailed);
        if !keeps {
            into.objects.insert(key, object);
        }
    }
    into.listed.extend(more.listed);
    into.absent.extend(more.absent);
}

/// Returns the id of a project, given its name or id; the name itself if there is no kind of projects.
///
/// # Errors
/// When there is none, or several have the name.
pub(in crate::cli) fn find_project(snapshot: &Snapshot, named: &Name) -> Result<Name, CliFailure> {
    let kind = REGISTRY.top_level().find(|kind| kind.attribute("is_default").is_some());
    let Some(kind) = kind else { return Ok(named.clone()) };
    find_object(snapshot, kind, named).map(|key| key.id)
}

/// Returns the object with an id, or with a name that is unique within its kind. An id takes precedence over a name.
///
/// # Errors
/// When there is none, or several have the name.
pub(in crate::cli) fn find_object(
    snapshot: &Snapshot,
    kind: &Kind,
    named: &Name,
) -> Result<ObjectKey, CliFailure> {
    let all = || snapshot.of_kind(kind.name);
    let name = |value: Option<&Value>| value.and_then(Value::as_text) == Some(named);
    let is_id = |object: &&Object| {
        let mut others = kind.api.other_ids.iter();
        object.id == *named || others.any(|field| name(object.attributes.get(*field)))
    };
    if let Some(object) = all().find(is_id) {
        return Ok(object.key());
    }
    let by_name: Vec<_> = all().filter(|object| name(object.attributes.get("name"))).collect();
    match by_name.as_slice() {
        [object] => Ok(object.key()),
        [] => Err(CliFailure::new(
            Exit::Failed,
            format!("there is no {} with the id or name {named}", kind.name),
        )
        .help("List the unmanaged objects: stead ls --unmanaged")),
        several => {
            let ids: Vec<&str> = several.iter().take(5).map(|object| object.id.as_str()).collect();
            Err(CliFailure::new(
                Exit::Failed,
                format!("{} of kind {} are called {named}", several.len(), kind.name),
            )
            .help(format!("Name one by its id: {}.", ids.join(", "))))
        }
    }
}
