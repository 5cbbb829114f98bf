//! `stead ls`: what is managed, or what nobody manages.

use std::collections::BTreeSet;

use crate::cli::args::{Columns, Ls};
use crate::cli::books;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::questions;
use crate::cli::reading::{self, World};
use crate::cli::session::Session;
use crate::kinds::REGISTRY;
use crate::ledger::entry::Ledger;
use crate::model::address::{Address, Name};
use crate::model::snapshot::{Object, ObjectKey};
use crate::model::value::Value;
use crate::plan::cost::Prices;
use crate::report::json;
use crate::report::list::{self, Listed};

/// Lists.
///
/// # Errors
/// When the stack has problems, or the service or the ledger cannot be read.
pub(in crate::cli) async fn run(session: &Session, args: &Ls) -> Result<Exit, Failure> {
    let project = session.open()?;
    let connection = session.connect(&project)?;
    let ledger = books::read_ledger(&project, &connection).await?;
    questions::remind(session, &ledger);
    let pinned = reading::pinned(&connection.lock_file)?;
    let options = session.looking();
    let (plan, world) = reading::plan(&connection, &project, &ledger, &options, pinned.as_ref()).await?;
    let (key, table, nothing) = if args.unmanaged {
        let rows = unmanaged(&ledger, &world, plan.base.project.as_ref());
        ("unmanaged", list::unmanaged(&rows), "Everything in the project is managed.")
    } else {
        (
            "resources",
            list::managed(&managed(&ledger, &world), session.ui.json || args.columns == Columns::Wide),
            "Nothing is managed yet.",
        )
    };
    session.ui.out(&if session.ui.json {
        json::list(key, &table)
    } else {
        table.text(nothing, session.ui.style)
    });
    Ok(Exit::Done)
}

/// Returns the rows of all owned objects, deposed ones included.
pub(in crate::cli) fn managed(ledger: &Ledger, world: &World) -> Vec<Listed> {
    let prices = Prices::new(&world.catalog);
    let mut rows = Vec::new();
    for (address, entry) in &ledger.entries {
        for owned in entry.current.iter().chain(&entry.deposed) {
            let key = owned.key(&entry.kind);
            rows.push(match world.snapshot.objects.get(&key) {
                Some(object) => row(Some(address), object, &prices),
                None => Listed {
                    address: Some(address.clone()),
                    kind: entry.kind.clone(),
                    id: owned.id.clone(),
                    status: Some(Name::new_static("gone")),
                    ..Listed::default()
                },
            });
        }
    }
    rows
}

/// Returns the rows of live objects that no address owns, of the kinds and the project in use.
pub(in crate::cli) fn unmanaged(ledger: &Ledger, world: &World, project: Option<&Name>) -> Vec<Listed> {
    let owned: BTreeSet<ObjectKey> = ledger
        .entries
        .values()
        .flat_map(|entry| entry.current.iter().chain(&entry.deposed).map(|owned| owned.key(&entry.kind)))
        .collect();
    let prices = Prices::new(&world.catalog);
    let is_default = |object: &Object| world.snapshot.default_project.as_ref() == Some(&object.id);
    world
        .snapshot
        .objects
        .values()
        .filter(|object| !owned.contains(&object.key()) && !is_default(object))
        .filter(|object| {
            object.project.is_none() || project.is_none() || object.project.as_ref() == project
        })
        .map(|object| row(None, object, &prices))
        .collect()
}

/// Returns the row of a live object.
pub(in crate::cli) fn row(address: Option<&Address>, object: &Object, prices: &Prices<'_>) -> Listed {
    let kind = REGISTRY.kind(&object.kind);
    let text = |name: &str| object.attributes.get(name).and_then(Value::as_text).map(Name::new);
    Listed {
        address: address.cloned(),
        kind: object.kind.clone(),
        id: object.id.clone(),
        name: text("name"),
        status: kind.and_then(|kind| kind.api.ready).and_then(|ready| text(ready.attribute)),
        monthly: kind.and_then(|kind| prices.monthly(kind, &object.attributes)),
        project: object.project.clone(),
        created_at: object.created_at.clone(),
    }
}
