//! `stead get ADDRESS`: one object's live fields beside what was last applied.

use crate::cli::actions::target::{Ground, Named};
use crate::cli::args::Get;
use crate::cli::commands::ls;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::reading;
use crate::cli::session::Session;
use crate::ledger::entry::Ledger;
use crate::model::snapshot::Object;
use crate::model::value::Attributes;
use crate::plan::compare::sealed_like;
use crate::plan::cost::Prices;
use crate::report::{json, list};

/// Shows one object.
///
/// # Errors
/// When the address owns nothing, or the service or the ledger cannot be read.
pub(in crate::cli) async fn run(session: &Session, args: &Get) -> Result<Exit, Failure> {
    let named = Named::parse(&args.address)?;
    if let Named::Kind(kind) = named {
        return Err(Failure::new(Exit::Usage, format!("which {}?", kind.name))
            .help(format!("Name a resource, {0}.NAME, or an object by id, {0}:ID.", kind.name)));
    }
    let ground = Ground::open(session, matches!(named, Named::Resource(_))).await?;
    let target = ground.target(&named)?;
    let object = match &target.key {
        Some(key) => ground.client().get(key).await?,
        None => None,
    };
    let Some(object) = object else {
        return Err(match &target.address {
            Some(address) => Failure::new(Exit::Failed, format!("the object of {address} is gone"))
                .help("stead plan shows what an apply would do about it."),
            None => Failure::new(Exit::Failed, format!("there is no {}", target.shown()))
                .help("stead ls --unmanaged lists what nobody manages."),
        });
    };
    let (lock_file, ledger) = match &ground {
        Ground::Stack(stack) => (&stack.connection.lock_file, Some(&stack.ledger)),
        Ground::Bare(link) => (&link.lock_file, None),
    };
    let (applied, live) = match ledger {
        Some(ledger) => veiled(ledger, &object),
        None => (Attributes::new(), object.attributes.clone()),
    };
    let catalog = reading::pinned(lock_file)?.unwrap_or_default();
    let row = ls::row(target.address.as_ref(), &object, &Prices::new(&catalog));
    session.ui.out(&if session.ui.json {
        json::object(&row, &applied, &live)
    } else {
        let name = target.address.as_ref().map(|address| format!("{address} · ")).unwrap_or_default();
        let head = format!("{name}{} {}\n", object.kind, object.id);
        head + &list::attributes(&applied, &live).text("", session.ui.style)
    });
    Ok(Exit::Done)
}

/// Returns what was last applied to an object, and what is live, with a seal wherever a secret was applied:
/// the service shows it as any other text.
fn veiled(ledger: &Ledger, object: &Object) -> (Attributes, Attributes) {
    let owner = ledger.entries.values().find(|entry| {
        let mut owned = entry.current.iter().chain(&entry.deposed);
        entry.kind == object.kind && owned.any(|owned| owned.key(&entry.kind) == object.key())
    });
    let Some(entry) = owner else { return (Attributes::new(), object.attributes.clone()) };
    let key = &ledger.identity.key;
    let seal = |(name, live): (&_, &_)| {
        let sealed = entry.applied.get(name).map(|applied| sealed_like(applied, live, key));
        (Clone::clone(name), sealed.unwrap_or_else(|| Clone::clone(live)))
    };
    (entry.applied.clone(), object.attributes.iter().map(seal).collect())
}
