//! `stead doctor`: a checklist with remedies; and `--api`: what the service shows of the contract.

mod account;
mod contract;
mod stack;
mod surroundings;

use crate::cli::args::Doctor;
use crate::cli::command_context::Session;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::process::settings::Cloud;
use crate::cli::service::api_key;
use crate::cli::service::connection::Link;
use crate::model::secret::Secret;
use crate::report::json;
use crate::report::views::doctor::{self, Check};

pub(in crate::cli) use self::surroundings::mend_settings;

/// Checks everything that a plan and an apply stand on, or what the service shows of the contract.
///
/// # Errors
/// With `--api`, when the service cannot be asked. Else what is wrong is a check that failed.
pub(in crate::cli) async fn run(session: &Session, args: &Doctor) -> Result<Exit, Failure> {
    if args.api {
        return contract::run(session).await;
    }
    let checks = checks(session, args.fix).await;
    let ui = &session.ui;
    ui.out(&if ui.json || ui.ndjson { json::doctor(&checks) } else { doctor::text(&checks, ui.style) });
    Ok(if doctor::any_failed(&checks) { Exit::Failed } else { Exit::Done })
}

async fn checks(session: &Session, fix: bool) -> Vec<Check> {
    let settings = &session.settings;
    let mut checks = vec![
        surroundings::program(),
        surroundings::settings(session),
        surroundings::service(settings),
        surroundings::proxy(settings),
        surroundings::key_file(settings, fix),
    ];
    let (check, key) = key(session);
    checks.push(check);
    let link = link(session, key.as_ref());
    let way = link.as_ref().map_err(|failure| doing(failure).0);
    checks.extend(account::checks(session, way.as_ref().ok().copied(), key.as_ref()).await);
    let opened = stack::open(session);
    checks.push(stack::parsed(&opened));
    checks.push(stack::project(session, &opened, way.as_ref().ok().copied()).await);
    checks.extend(stack::books(session, &opened, way.as_ref().ok().copied()).await);
    checks.push(surroundings::learned(settings, fix));
    checks
}

/// Finds the key: that there is one, and where it comes from.
fn key(session: &Session) -> (Check, Option<Secret>) {
    const NAME: &str = "key";
    let settings = &session.settings;
    let url = match &settings.cloud {
        Cloud::At(url) => url,
        Cloud::Local => return (Check::skipped(NAME, "The built-in cloud brings its own."), None),
        Cloud::Unset => return (Check::skipped(NAME, "No service is named."), None),
    };
    match api_key::found(settings, url) {
        Ok((key, origin)) => (surroundings::key(settings, url, origin), Some(key)),
        Err(failure) => {
            let (detail, remedy) = doing(&failure);
            (Check::failed(NAME, detail).remedy(remedy), None)
        }
    }
}

/// Opens a way to the service on which nothing but GETs can be sent.
fn link(session: &Session, key: Option<&Secret>) -> Result<Link, Failure> {
    let settings = &session.settings;
    if key.is_none() && settings.cloud != Cloud::Local {
        return Err(Failure::new(Exit::Refused, "There is no key to ask with."));
    }
    Link::looking(settings, &settings.dir, key.cloned())
}

/// Returns what a failure says, as a sentence, and its remedy.
fn doing(failure: &Failure) -> (String, String) {
    let detail = match &failure.rejected {
        Some(rejected) => format!("{}: {} problems", failure.message, rejected.diagnostics.len()),
        None => failure.message.clone(),
    };
    (sentence(&detail), failure.help.join(" "))
}

/// Returns a text that begins like a sentence and ends like one.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    // A path or an address keeps its first letter.
    let begins_with_word =
        text.split([' ', ':']).next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    let text = if begins_with_word { first + letters.as_str() } else { text.to_owned() };
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}
