//! `stead get ADDRESS`: one object's live fields beside what was last applied.

use crate::cli::args::Get;
use crate::cli::books;
use crate::cli::commands::ls;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::reading;
use crate::cli::session::Session;
use crate::model::address::Address;
use crate::model::diagnostic::nearest;
use crate::plan::cost::Prices;
use crate::report::{json, list};

/// Shows one object.
///
/// # Errors
/// When the address owns nothing, or the service or the ledger cannot be read.
pub(in crate::cli) async fn run(session: &Session, args: &Get) -> Result<Exit, Failure> {
    let project = session.open()?;
    let connection = session.connect(&project)?;
    let ledger = books::read_ledger(&project, &connection).await?;
    let address = &args.address;
    let found = ledger.entries.get(address).and_then(|entry| Some((entry, entry.current.as_ref()?)));
    let Some((entry, owned)) = found else {
        let failure = Failure::new(Exit::Failed, format!("{address} owns no object"));
        let near = nearest(address.as_str(), ledger.entries.keys().map(Address::as_str));
        return Err(match near {
            Some(near) => failure.help(format!("Did you mean {near}?")),
            None => failure.help("stead ls lists what is managed."),
        });
    };
    let Some(object) = connection.client.get(&owned.key(&entry.kind)).await? else {
        return Err(Failure::new(Exit::Failed, format!("the object of {address}, {}, is gone", owned.id))
            .help("stead plan shows what an apply would do about it."));
    };
    let catalog = reading::pinned(&connection.lock_file)?.unwrap_or_default();
    let row = ls::row(Some(address), &object, &Prices::new(&catalog));
    session.ui.out(&if session.ui.json {
        json::object(&row, &entry.applied, &object.attributes)
    } else {
        let head = format!("{address} · {} {}\n", object.kind, object.id);
        head + &list::attributes(&entry.applied, &object.attributes).text("", session.ui.style)
    });
    Ok(Exit::Done)
}
