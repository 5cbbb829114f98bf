//! `stead get ADDRESS`: one object's live fields beside what was last applied.

use crate::cli::actions::target::{Ground, Named};
use crate::cli::args::Get;
use crate::cli::commands::ls;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::reading;
use crate::cli::session::Session;
use crate::kinds::REGISTRY;
use crate::ledger::entry::{Entry, Ledger};
use crate::model::address::Name;
use crate::model::secret::FingerprintKey;
use crate::model::snapshot::Object;
use crate::model::value::{Attributes, Value};
use crate::plan::compare::shielded;
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
    let (applied, live) = veiled(ledger, &object);
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

/// Returns what was last applied to an object, and what is live, with a seal wherever a secret was applied or
/// somebody else may have one: the service shows it as any other text.
fn veiled(ledger: Option<&Ledger>, object: &Object) -> (Attributes, Attributes) {
    let owns = |entry: &&Entry| {
        let mut owned = entry.current.iter().chain(&entry.deposed);
        entry.kind == object.kind && owned.any(|owned| owned.key(&entry.kind) == object.key())
    };
    let entry = ledger.and_then(|ledger| ledger.entries.values().find(owns));
    let applied = entry.map(|entry| entry.applied.clone()).unwrap_or_default();
    let key = ledger.map_or(&FingerprintKey::NONE, |ledger| &ledger.identity.key);
    let kind = REGISTRY.kind(&object.kind);
    let seal = |(name, live): (&Name, &Value)| {
        let attribute = kind.and_then(|kind| kind.attribute(name));
        let seal = |attribute| shielded(attribute, [applied.get(name), None], live, key);
        (name.clone(), attribute.map_or_else(|| live.clone(), seal))
    };
    let live = object.attributes.iter().map(seal).collect();
    (applied, live)
}
