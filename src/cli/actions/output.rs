//! Output of an action's response: printed with its secrets redacted, or written to the file that the user named. A
//! secret reaches standard output only on a terminal with `--show`, or when the user names `-` as its destination.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::documents::ActionResult;
use super::invocation::ActionInvocation;
use super::kubeconfig::KubeconfigContext;
use super::registry::KindAction;
use super::target::ActionScope;
use super::wait::{self, WaitOutcome};
use crate::cli::actions::command_line::DoArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::files::{stack_files, write_files};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::redaction::redact_applied_and_live;
use crate::cloud::http::decode;
use crate::kinds::REGISTRY;
use crate::model::diagnostic::nearest_name;
use crate::model::live::snapshot::Object;
use crate::model::schema::{ActionCompletion, DocumentMerge, ResponseShape};
use crate::model::values::value::Value;
use crate::report::json::{self as documents, SCHEMA_VERSION};
use crate::report::views::action_output::{ActionOutput, laid_out};

/// File name that means standard output.
const STDOUT: &str = "-";

/// The response of an action, and the result of the wait for it.
pub(in crate::cli) struct CompletedAction<'a> {
    /// The action that was sent.
    pub(in crate::cli) scene: ActionInvocation<'a>,
    /// Complete response body, secrets included; `None` if the response has no body.
    pub(in crate::cli) answer: Option<&'a Json>,
    /// Result of the wait.
    pub(in crate::cli) over: &'a WaitOutcome,
}

/// Checks, before anything is sent, that no secret is printed where it could be stored by accident (a pipe, a log),
/// and that a document has a destination.
///
/// # Errors
/// When `--show` is given without a terminal, or a document has no destination.
pub(in crate::cli) fn reject_unsafe_output(
    session: &CommandContext,
    deed: KindAction,
    args: &DoArgs,
) -> Result<(), CliFailure> {
    if args.show && !session.ui.shows {
        return Err(CliFailure::new(
            Exit::Usage,
            "--show shows secrets on a terminal only, and this is not a terminal",
        )
        .help("--to FILE writes it to a file that only you can read.")
        .help(
            "--to - writes it to standard output anyway: the program that reads it must keep it secret.",
        ));
    }
    let goes = args.show || args.to.is_some() || args.merge.is_some();
    if matches!(deed.action.answer, ResponseShape::Document { .. }) && !goes {
        let failure = CliFailure::new(Exit::Usage, format!("the {} needs a destination", deed.action.name))
            .help("--to FILE writes it to a file that only you can read; --show shows it on a terminal.");
        return Err(match deed.action.answer {
            ResponseShape::Document { merge: Some(_), .. } => {
                failure.help("--merge puts it into the file that kubectl reads.")
            }
            _ => failure,
        });
    }
    Ok(())
}

impl CompletedAction<'_> {
    /// Returns the content of the response, secrets included: the record of a finished run, else the payload without
    /// its envelope, else null.
    fn payload(&self) -> Json {
        if let Some(record) = &self.over.record {
            return record.clone();
        }
        let Some(answer) = self.answer else { return Json::Null };
        decode::find_payload(answer, self.scene.order.endpoint.envelope).unwrap_or(answer).clone()
    }

    /// Returns the response for display; secrets are redacted unless the user asked to show them.
    pub(in crate::cli) fn view(&self) -> ActionOutput {
        // `-` as a destination counts as a request to show the secret.
        let reveal = self.scene.args.show || self.goes_to(STDOUT);
        let mut payload = self.payload();
        if !(reveal && self.is_secret()) {
            self.scene.ground.client().redact_json(&mut payload);
        }
        ActionOutput::new(self.scene.deed.action.answer, &payload, self.is_secret(), reveal)
            .wide(self.scene.session.ui.verbose)
    }

    fn is_secret(&self) -> bool {
        self.scene.deed.is_secret(REGISTRY)
    }

    fn goes_to(&self, name: &str) -> bool {
        self.scene.args.to.as_deref() == Some(Path::new(name))
    }

    /// Writes the response to its destination, prints the rest, and returns the exit code of the action.
    ///
    /// # Errors
    /// When the response is an unsafe kubeconfig, lacks the requested field, or cannot be written to its file.
    pub(in crate::cli) async fn write_output(&self) -> Result<Exit, CliFailure> {
        // An unsafe kubeconfig fails here, before anything is written or printed.
        let connection = self.read_connection()?;
        let written = self.hand_over(connection.as_ref()).await?;
        let (ui, view) = (&self.scene.session.ui, self.view());
        if ui.json {
            ui.write_result(&documents::to_pretty(&self.document(&view)));
        } else if ui.ndjson {
            ui.write_result(&(documents::to_compact(&self.document(&view)) + "\n"));
        } else if let (Some(path), false) = (&self.scene.args.field, written) {
            ui.write_result(&(Self::public_field(&view, path)? + "\n"));
        } else if self.scene.args.csv {
            let text = view.to_csv();
            ui.write_result(&if ui.shows { laid_out(&text) } else { text });
        } else if !written {
            ui.write_result(&self.text(&view));
        }
        self.print_hints(&view, written);
        Ok(self.over.exit.unwrap_or(Exit::Done))
    }

    /// Parses the response if it is a kubeconfig; `None` for another response. A kubeconfig with fields that do more
    /// than connect is an error and is not written anywhere.
    fn read_connection(&self) -> Result<Option<KubeconfigContext>, CliFailure> {
        if !matches!(
            self.scene.deed.action.answer,
            ResponseShape::Document { merge: Some(DocumentMerge::Kubeconfig), .. }
        ) {
            return Ok(None);
        }
        KubeconfigContext::parse(&self.file_text()?).map(Some).map_err(|why| {
            CliFailure::new(Exit::Failed, format!("the service's kubeconfig is refused: {why}")).help(
                "kubectl runs programs and reads files that a kubeconfig names. Nothing was written; ask the service's support.",
            )
        })
    }

    /// Writes the secret part to the destination that the user named; returns whether nothing else remains to print.
    async fn hand_over(&self, connection: Option<&KubeconfigContext>) -> Result<bool, CliFailure> {
        let (session, args) = (self.scene.session, self.scene.args);
        if let (Some(path), Some(connection)) = (&args.merge, connection) {
            let path = path.clone().or_else(|| session.settings.kubeconfig.clone()).ok_or_else(|| {
                CliFailure::new(Exit::Usage, "there is no default file to merge into")
                    .help("Name it: --merge=FILE")
            })?;
            return self.merge_into_kubeconfig(connection, &path).await;
        }
        let text = || match connection {
            Some(connection) => connection
                .to_kubeconfig(&self.context_name())
                .map_err(|why| CliFailure::new(Exit::Failed, why)),
            None => self.file_text(),
        };
        let is_document = matches!(self.scene.deed.action.answer, ResponseShape::Document { .. });
        match &args.to {
            Some(path) if path != Path::new(STDOUT) => write_private_output(session, path, &text()?),
            Some(_) if !session.ui.json && !session.ui.ndjson => {
                session.ui.write_result(&text()?);
                Ok(true)
            }
            None if is_document && args.show => {
                session.ui.write_result(&laid_out(&text()?));
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Merges a connection into a kubeconfig, which need not exist, and asks before it overwrites another entry.
    /// Returns true even if the user declines: nothing remains to print.
    async fn merge_into_kubeconfig(
        &self,
        connection: &KubeconfigContext,
        path: &Path,
    ) -> Result<bool, CliFailure> {
        let (session, args, name) = (self.scene.session, self.scene.args, self.context_name());
        let left = |why: String| {
            CliFailure::new(Exit::Failed, format!("{}: {why}", stack_files::display_path(path)))
                .help("It was not changed.")
        };
        let old = stack_files::read_optional(path)?;
        let is_new = old.is_none();
        let new = connection.merge_into(&old.unwrap_or_default(), &name, args.use_context).map_err(left)?;
        let question = format!("Replace {name} in {}?", stack_files::display_path(path));
        if new.replaces && !session.ui.confirm_action(args.yes, &question).await? {
            return Ok(true);
        }
        if is_new {
            write_private_output(session, path, &new.text)?;
        } else {
            write_files::rewrite_private(path, new.text.as_bytes()).map_err(|error| {
                left(error.to_string()).help("Name the file itself, not a link to it: --merge=FILE")
            })?;
            session.ui.write_message(&format!(
                "Written to {}, readable by you only.",
                stack_files::display_path(path)
            ));
        }
        if !args.use_context {
            session.ui.hint(&format!("Use it with: kubectl --context {name}"));
        }
        Ok(true)
    }

    /// Returns the name of the kubeconfig's entries: stack, environment and address for a resource,
    /// else the object's id.
    fn context_name(&self) -> String {
        let ActionInvocation { target, ground, .. } = &self.scene;
        let id = || target.key.as_ref().map(|key| key.id.to_string()).unwrap_or_default();
        let name = match (ground, &target.address) {
            (ActionScope::Stack(stack), Some(address)) => {
                let of = &stack.project.stack;
                format!("{}/{}/{address}", of.name, of.environment.name)
            }
            _ => format!("stead-{}", id()),
        };
        // The name is part of a command line that the user may copy, so it has only characters that need no quotes.
        name.chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_./".contains(c) { c } else { '-' })
            .collect()
    }

    /// Returns the text for a file, secrets included: the document, the requested field, the only secret field, or
    /// the whole record as JSON.
    fn file_text(&self) -> Result<String, CliFailure> {
        let payload = self.payload();
        let hidden = ActionOutput::new(self.scene.deed.action.answer, &payload, self.is_secret(), false);
        let field = match (self.scene.deed.action.answer, &self.scene.args.field, hidden.hidden_paths()) {
            (ResponseShape::Document { field, .. }, ..) => Some(field.to_owned()),
            (_, Some(field), _) => Some(field.clone()),
            (_, None, [only]) => Some(only.clone()),
            _ => None,
        };
        let Some(field) = field else { return Ok(documents::to_pretty(&payload)) };
        match ActionOutput::text_field(&payload, &field) {
            Some(Json::String(text)) => Ok(format!("{}\n", text.trim_end_matches('\n'))),
            Some(other) if !other.is_null() => Ok(format!("{other}\n")),
            _ => Err(CliFailure::new(Exit::Failed, format!("the answer has no {field}"))),
        }
    }

    /// Returns one field for display. A secret field is an error, as is one that the response lacks.
    fn public_field(view: &ActionOutput, path: &str) -> Result<String, CliFailure> {
        if view.hidden_paths().iter().any(|hidden| hidden == path) {
            return Err(CliFailure::new(Exit::Usage, format!("{path} is secret")).help(
                "--show shows it on a terminal, --to FILE writes it to a file that only you can read.",
            ));
        }
        match ActionOutput::text_field(view.json(), path) {
            Some(Json::String(text)) => Ok(laid_out(text).trim_end().to_owned()),
            Some(other) if !other.is_null() => Ok(documents::to_compact(other)),
            _ => {
                let failure = CliFailure::new(Exit::Failed, format!("the answer has no {path}"));
                let known: Vec<&str> =
                    view.json().as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                Err(match nearest_name(path, known.iter().copied()) {
                    Some(near) => failure.help(format!("Did you mean {near}?")),
                    None => failure.help(format!("It has: {}", known.join(", "))),
                })
            }
        }
    }

    fn text(&self, view: &ActionOutput) -> String {
        let style = self.scene.session.ui.style;
        if let Some(record) = &self.over.record {
            return ActionOutput::new(ResponseShape::Record(&[]), record, false, false).text(style);
        }
        match (self.scene.deed.action.answer, &self.over.object) {
            (ResponseShape::Empty, object) => {
                let status = object.as_ref().and_then(object_status).map(|status| format!(", {status}"));
                let word =
                    if self.scene.args.no_wait && self.scene.deed.needs_wait() { "sent" } else { "done" };
                let text = format!(
                    "{} {}: {word}{}\n",
                    self.scene.deed.action.name,
                    self.scene.target.display_name(),
                    status.unwrap_or_default()
                );
                laid_out(&self.scene.ground.client().redact(&text))
            }
            (ResponseShape::Object, Some(object)) => {
                let name = object.attributes.get("name").and_then(Value::as_text).unwrap_or_default();
                let words = [
                    &format!("{}:{}", object.kind, object.id),
                    name,
                    &object_status(object).unwrap_or_default(),
                ];
                let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                laid_out(&format!(
                    "{} {}: {}\n",
                    self.scene.deed.action.name,
                    self.scene.target.display_name(),
                    self.scene.ground.client().redact(&words.join("  "))
                ))
            }
            _ => view.text(style),
        }
    }

    fn document<'v>(&'v self, view: &'v ActionOutput) -> ActionResult<'v> {
        let object = self.over.object.as_ref();
        let key = self.scene.target.key.as_ref();
        let answer = match self.scene.deed.action.answer {
            ResponseShape::Empty => Json::Null,
            ResponseShape::Object => object.map_or(Json::Null, |object| self.object_json(object)),
            ResponseShape::Record(_)
            | ResponseShape::Rows(_)
            | ResponseShape::Feed { .. }
            | ResponseShape::QueryResult
            | ResponseShape::Document { .. } => view.json().clone(),
        };
        ActionResult {
            action: self.scene.deed.action.name,
            address: self.scene.target.address.as_ref(),
            answer,
            event: "ended",
            hidden: view.hidden_paths(),
            id: key.map(|key| &key.id),
            kind: self.scene.target.kind.name,
            run: self.over.record.as_ref(),
            schema_version: SCHEMA_VERSION,
            status: object.and_then(object_status).map(|text| self.scene.ground.client().redact(&text)),
            waited: !self.scene.args.no_wait && self.scene.deed.needs_wait(),
        }
    }

    /// Returns an object for JSON output, with its secret attributes redacted.
    fn object_json(&self, object: &Object) -> Json {
        let ledger = match self.scene.ground {
            ActionScope::Stack(stack) => Some(&stack.ledger),
            ActionScope::ServiceOnly(_) => None,
        };
        let (_, live) = redact_applied_and_live(ledger, object);
        let attributes: serde_json::Map<String, Json> =
            live.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_wire()?))).collect();
        let mut attributes = Json::Object(attributes);
        self.scene.ground.client().redact_json(&mut attributes);
        json!({"kind": object.kind, "id": object.id, "attributes": attributes})
    }

    /// Prints hints about secrets and truncation, and the reason why a run failed.
    fn print_hints(&self, view: &ActionOutput, written: bool) {
        let ui = &self.scene.session.ui;
        if !written && !view.hidden_paths().is_empty() && !ui.json && !ui.ndjson {
            ui.hint(
                "Secrets are redacted: --show shows them on a terminal, --to FILE writes them to a file that only you can read.",
            );
        }
        if view.json().get("truncated") == Some(&Json::Bool(true)) {
            ui.write_message("note: the service truncated the result; there are more rows.");
        }
        if let (ActionCompletion::RunFinished(run), Some(record)) =
            (self.scene.deed.action.until, &self.over.record)
            && let Some(reason) = wait::run_failure_reason(run, record)
        {
            ui.write_message(laid_out(&format!("It failed: {reason}")).trim_end());
        }
    }
}

/// Writes a file that only the user can read; returns true, because nothing remains to print.
fn write_private_output(session: &CommandContext, path: &Path, text: &str) -> Result<bool, CliFailure> {
    write_files::write_private(path, text.as_bytes()).map_err(|error| {
        CliFailure::new(Exit::Failed, format!("{error:#}"))
            .help("The output was not shown; it is not lost if it can be read again.")
    })?;
    let told = laid_out(&format!("Written to {}, readable by you only.", stack_files::display_path(path)));
    session.ui.write_message(told.trim_end());
    Ok(true)
}

/// Returns the object's status; `None` if its kind has no status attribute, or the object has none.
fn object_status(object: &Object) -> Option<String> {
    let ready = REGISTRY.kind(&object.kind)?.api.ready?;
    object.status(ready.attribute).map(str::to_owned)
}
