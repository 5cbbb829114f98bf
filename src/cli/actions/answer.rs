//! What becomes of an answer: shown without its secrets, or handed over where it was asked for.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::known::Deed;
use super::kubeconfig;
use super::scene::Scene;
use super::wait::{self, Over};
use crate::cli::args::Do;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::files;
use crate::cli::session::Session;
use crate::cloud::decode;
use crate::kinds::REGISTRY;
use crate::model::diagnostic::nearest;
use crate::model::schema::{Answer, Merge, Until};
use crate::model::snapshot::Object;
use crate::model::value::Value;
use crate::report::answer::{View, laid_out};
use crate::report::json::{self as documents, SCHEMA_VERSION};

/// The name of standard output where a file's is expected.
const STDOUT: &str = "-";

/// An answer, and what is known of how it ended.
pub(in crate::cli) struct Answered<'a> {
    /// What was done.
    pub(in crate::cli) scene: Scene<'a>,
    /// The whole answer.
    pub(in crate::cli) answer: Option<&'a Json>,
    /// How it is over.
    pub(in crate::cli) over: &'a Over,
}

/// Refuses, before anything is sent, to show a secret where it could be kept by accident, and to ask for
/// a document that would go nowhere.
///
/// # Errors
/// When it is so.
pub(in crate::cli) fn check(session: &Session, deed: Deed, args: &Do) -> Result<(), Failure> {
    if args.show && !session.ui.shows {
        return Err(Failure::new(
            Exit::Usage,
            "--show shows what is secret on a terminal, and this is none",
        )
        .help("--to FILE writes it to a file that only you can read.")
        .help("--to - writes it to standard output all the same: what reads it must keep it secret."));
    }
    let goes = args.show || args.to.is_some() || args.merge.is_some();
    if matches!(deed.action.answer, Answer::Document { .. }) && !goes {
        let failure = Failure::new(Exit::Usage, format!("say where the {} goes", deed.action.name))
            .help("--to FILE writes it to a file that only you can read; --show shows it on a terminal.");
        return Err(match deed.action.answer {
            Answer::Document { merge: Some(_), .. } => {
                failure.help("--merge puts it into the file that kubectl reads.")
            }
            _ => failure,
        });
    }
    Ok(())
}

impl Answered<'_> {
    /// Returns what the answer holds.
    fn payload(&self) -> Json {
        if let Some(record) = &self.over.record {
            return record.clone();
        }
        let Some(answer) = self.answer else { return Json::Null };
        decode::payload(answer, self.scene.order.endpoint.envelope).unwrap_or(answer).clone()
    }

    /// Returns the answer as it may be shown.
    pub(in crate::cli) fn view(&self) -> View {
        let reveal = self.scene.args.show || self.goes_to(STDOUT);
        View::new(self.scene.deed.action.answer, &self.payload(), self.is_secret(), reveal)
            .wide(self.scene.session.ui.verbose)
    }

    fn is_secret(&self) -> bool {
        self.scene.deed.is_secret(REGISTRY)
    }

    fn goes_to(&self, name: &str) -> bool {
        self.scene.args.to.as_deref() == Some(Path::new(name))
    }

    /// Hands the answer over, and says how the action ended.
    ///
    /// # Errors
    /// When what is secret cannot be written where it was asked for.
    pub(in crate::cli) fn tell(&self) -> Result<Exit, Failure> {
        let written = self.hand_over()?;
        let (ui, view) = (&self.scene.session.ui, self.view());
        if ui.json {
            ui.out(&documents::pretty(&self.document(&view)));
        } else if ui.ndjson {
            ui.out(&(documents::compact(&self.document(&view)) + "\n"));
        } else if let (Some(path), false) = (&self.scene.args.field, written) {
            ui.out(&(Self::field(&view, path)? + "\n"));
        } else if self.scene.args.csv {
            let text = view.csv();
            ui.out(&if ui.shows { laid_out(&text) } else { text });
        } else if !written {
            ui.out(&self.text(&view));
        }
        self.hint(&view, written);
        Ok(self.over.exit.unwrap_or(Exit::Done))
    }

    /// Writes what is secret where it was asked for; tells whether that was all that was wanted.
    fn hand_over(&self) -> Result<bool, Failure> {
        let session = self.scene.session;
        let text = || self.plain();
        if let Some(path) = &self.scene.args.merge {
            let path = path.clone().or_else(|| session.settings.kubeconfig.clone()).ok_or_else(|| {
                Failure::new(Exit::Usage, "there is no default file to merge into")
                    .help("Say it: --merge=FILE")
            })?;
            let old = files::read_optional(&path)?.unwrap_or_default();
            let new = match self.scene.deed.action.answer {
                Answer::Document { merge: Some(Merge::Kubeconfig), .. } => {
                    kubeconfig::merged(&old, &text()?)
                }
                _ => text().map_err(|failure| failure.message),
            };
            let new = new.map_err(|reason| {
                Failure::new(Exit::Failed, format!("{}: {reason}", files::shown(&path)))
                    .help("It was left as it is.")
            })?;
            return written(session, &path, &new);
        }
        let is_document = matches!(self.scene.deed.action.answer, Answer::Document { .. });
        match &self.scene.args.to {
            Some(path) if path != Path::new(STDOUT) => written(session, path, &text()?),
            Some(_) if !session.ui.json && !session.ui.ndjson => {
                session.ui.out(&text()?);
                Ok(true)
            }
            None if is_document && self.scene.args.show => {
                session.ui.out(&laid_out(&text()?));
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Returns what a file gets: the document, the one field that was asked for or that is secret, or the
    /// whole record as JSON.
    fn plain(&self) -> Result<String, Failure> {
        let payload = self.payload();
        let hidden = View::new(self.scene.deed.action.answer, &payload, self.is_secret(), false);
        let field = match (self.scene.deed.action.answer, &self.scene.args.field, hidden.hidden()) {
            (Answer::Document { field, .. }, ..) => Some(field.to_owned()),
            (_, Some(field), _) => Some(field.clone()),
            (_, None, [only]) => Some(only.clone()),
            _ => None,
        };
        let Some(field) = field else { return Ok(documents::pretty(&payload)) };
        match View::field(&payload, &field) {
            Some(Json::String(text)) => Ok(format!("{}\n", text.trim_end_matches('\n'))),
            Some(other) if !other.is_null() => Ok(format!("{other}\n")),
            _ => Err(Failure::new(Exit::Failed, format!("the answer has no {field}"))),
        }
    }

    fn field(view: &View, path: &str) -> Result<String, Failure> {
        if view.hidden().iter().any(|hidden| hidden == path) {
            return Err(Failure::new(Exit::Usage, format!("{path} is secret")).help(
                "--show shows it on a terminal, --to FILE writes it to a file that only you can read.",
            ));
        }
        match View::field(view.json(), path) {
            Some(Json::String(text)) => Ok(laid_out(text).trim_end().to_owned()),
            Some(other) if !other.is_null() => Ok(documents::compact(other)),
            _ => {
                let failure = Failure::new(Exit::Failed, format!("the answer has no {path}"));
                let known: Vec<&str> =
                    view.json().as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                Err(match nearest(path, known.iter().copied()) {
                    Some(near) => failure.help(format!("Did you mean {near}?")),
                    None => failure.help(format!("It has: {}", known.join(", "))),
                })
            }
        }
    }

    fn text(&self, view: &View) -> String {
        let style = self.scene.session.ui.style;
        if let Some(record) = &self.over.record {
            return View::new(Answer::Record(&[]), record, false, false).text(style);
        }
        match (self.scene.deed.action.answer, &self.over.object) {
            (Answer::Nothing, object) => {
                let status = object.as_ref().and_then(status).map(|status| format!(", {status}"));
                let word = if self.scene.args.no_wait && self.scene.deed.waits() { "sent" } else { "done" };
                let text = format!(
                    "{} {}: {word}{}\n",
                    self.scene.deed.action.name,
                    self.scene.target.shown(),
                    status.unwrap_or_default()
                );
                laid_out(&text)
            }
            (Answer::Object, Some(object)) => {
                let name = object.attributes.get("name").and_then(Value::as_text).unwrap_or_default();
                let words =
                    [&format!("{}:{}", object.kind, object.id), name, &status(object).unwrap_or_default()];
                let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                laid_out(&format!(
                    "{} {}: {}\n",
                    self.scene.deed.action.name,
                    self.scene.target.shown(),
                    words.join("  ")
                ))
            }
            _ => view.text(style),
        }
    }

    fn document(&self, view: &View) -> Json {
        let object = self.over.object.as_ref();
        let key = self.scene.target.key.as_ref();
        let answer = match self.scene.deed.action.answer {
            Answer::Nothing => Json::Null,
            Answer::Object => object.map_or(Json::Null, shown),
            Answer::Record(_)
            | Answer::Rows(_)
            | Answer::Feed { .. }
            | Answer::Grid
            | Answer::Document { .. } => view.json().clone(),
        };
        json!({
            "schema_version": SCHEMA_VERSION,
            "event": "ended",
            "action": self.scene.deed.action.name,
            "address": self.scene.target.address,
            "kind": self.scene.target.kind.name,
            "id": key.map(|key| &key.id),
            "waited": !self.scene.args.no_wait && self.scene.deed.waits(),
            "status": object.and_then(status),
            "run": self.over.record,
            "answer": answer,
            "hidden": view.hidden(),
        })
    }

    /// Says what else is worth knowing, to people.
    fn hint(&self, view: &View, written: bool) {
        let ui = &self.scene.session.ui;
        if !written && !view.hidden().is_empty() && !ui.json && !ui.ndjson {
            ui.hint(
                "Secrets are hidden: --show shows them on a terminal, --to FILE writes them for you only.",
            );
        }
        if view.json().get("truncated") == Some(&Json::Bool(true)) {
            ui.say("note: the service cut the result off; there are more rows.");
        }
        if let (Until::Finished(run), Some(record)) = (self.scene.deed.action.until, &self.over.record)
            && let Some(reason) = wait::reason(run, record)
        {
            ui.say(laid_out(&format!("It ended badly: {reason}")).trim_end());
        }
    }
}

fn written(session: &Session, path: &Path, text: &str) -> Result<bool, Failure> {
    files::write_private(path, text.as_bytes()).map_err(|error| {
        Failure::new(Exit::Failed, format!("{error:#}"))
            .help("What was to be written is not lost if it can be read again; it was not shown.")
    })?;
    let told = laid_out(&format!("Written to {}, readable by you only.", files::shown(path)));
    session.ui.say(told.trim_end());
    Ok(true)
}

fn status(object: &Object) -> Option<String> {
    let ready = REGISTRY.kind(&object.kind)?.api.ready?;
    object.status(ready.attribute).map(str::to_owned)
}

/// Returns an object as programs see it. Its decoded attributes hold no secret in the open.
fn shown(object: &Object) -> Json {
    let attributes: serde_json::Map<String, Json> = object
        .attributes
        .iter()
        .filter(|(_, value)| !value.is_secret())
        .filter_map(|(name, value)| Some((name.to_string(), value.to_wire()?)))
        .collect();
    json!({"kind": object.kind, "id": object.id, "attributes": attributes})
}
