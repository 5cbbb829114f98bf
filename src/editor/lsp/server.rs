//! `LanguageServer`: one session with an editor: takes each incoming message and returns the outgoing ones. Checks are
//! not done while a message is handled, but in `catch_up`, which the caller runs when no message waits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::features::{code_actions, complete, hover, navigate, rename};
use super::lines::LineIndex;
use super::protocol::{IncomingMessage, LspDiagnostic, MarkupContent, RequestParams};
use super::text_change;
use super::workspace::diagnostics::{self, DirectoryDiagnostics};
use super::workspace::files::{PolicyChecker, TextFile, Workspace, WorkspaceDisk};
use super::workspace::multi_env_diagnostics::DiagnosticsByEnvironment;
use crate::config::edit::EditableFile;
use crate::config::format;
use crate::config::input::discovery::{is_stack_file, is_test_file};
use crate::config::input::request::LoadRequest;
use crate::config::syntax::parse_cache::ParseCache;
use crate::model::schema::Registry;

/// Error codes of the protocol and of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const NOT_INITIALIZED: i32 = -32002;
const REQUEST_FAILED: i32 = -32803;

/// The sync mode in which the editor sends changes instead of whole texts.
const INCREMENTAL: u8 = 2;

/// Stage of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerLifecycle {
    Uninitialized,
    Initialized,
    ShutDown,
    Exited { in_order: bool },
}

/// A session with one editor.
#[derive(Debug)]
pub struct LanguageServer {
    workspace: Workspace,
    request: LoadRequest,
    stage: ServerLifecycle,
    /// Directories with texts that changed since the last check.
    behind: BTreeSet<PathBuf>,
    checked: BTreeMap<PathBuf, DirectoryDiagnostics>,
    /// Diagnostics of each directory's environments.
    outlooks: BTreeMap<PathBuf, DiagnosticsByEnvironment>,
    /// Parse cache by directory.
    trees: BTreeMap<PathBuf, ParseCache>,
    /// The diagnostics last sent for each file: an editor keeps them until it gets others.
    told: BTreeMap<PathBuf, Vec<LspDiagnostic>>,
}

/// An error response: the code and the message.
struct ResponseError(i32, String);

impl LanguageServer {
    /// Starts a session. `request` contains the settings besides the files, such as the environment.
    #[must_use]
    pub fn new(registry: Registry, request: LoadRequest) -> Self {
        Self {
            workspace: Workspace::new(registry),
            request,
            stage: ServerLifecycle::Uninitialized,
            behind: BTreeSet::new(),
            checked: BTreeMap::new(),
            outlooks: BTreeMap::new(),
            trees: BTreeMap::new(),
            told: BTreeMap::new(),
        }
    }

    /// Enables the check of policies by `judge`.
    #[must_use]
    pub fn judged_by(mut self, judge: PolicyChecker) -> Self {
        self.workspace.judge = Some(judge);
        self
    }

    /// Handles an incoming message, one JSON value without its header, and returns the outgoing messages: at most one
    /// response, and diagnostics. Never fails: a bad message gets an error response.
    pub fn handle(&mut self, message: &[u8], disk: &dyn WorkspaceDisk) -> Vec<String> {
        let incoming: IncomingMessage = match serde_json::from_slice(message) {
            Ok(incoming) => incoming,
            Err(error) => {
                return vec![error_response(&Value::Null, &ResponseError(PARSE_ERROR, error.to_string()))];
            }
        };
        let Some(method) = incoming.method else { return Vec::new() };
        let Some(id) = incoming.id else {
            self.handle_notification(&method, incoming.params);
            return Vec::new();
        };
        let mut answers = Vec::new();
        if method == "textDocument/codeAction" && !self.behind.is_empty() {
            // Code actions must use current diagnostics.
            answers.extend(self.catch_up(disk));
        }
        answers.push(match self.handle_request(&method, incoming.params, disk) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
            Err(failed) => error_response(&id, &failed),
        });
        answers
    }

    /// Returns whether `catch_up` has something to do.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.behind.is_empty() || self.outlooks.values().any(DiagnosticsByEnvironment::is_behind)
    }

    /// Checks the changed directories, else one more environment, and returns the new diagnostics as messages;
    /// empty if nothing changed.
    pub fn catch_up(&mut self, disk: &dyn WorkspaceDisk) -> Vec<String> {
        let mut touched = BTreeSet::new();
        let behind = std::mem::take(&mut self.behind);
        let later = self.outlooks.iter().find(|(_, outlook)| behind.is_empty() && outlook.is_behind());
        let later: Vec<PathBuf> = later.map(|(directory, _)| directory.clone()).into_iter().collect();
        for (directory, is_new) in
            behind.into_iter().map(|one| (one, true)).chain(later.into_iter().map(|one| (one, false)))
        {
            let trees = self.trees.entry(directory.clone()).or_default();
            let asked = (&self.request, self.outlooks.entry(directory.clone()).or_default());
            let new = if is_new {
                Some(diagnostics::check_directory(&self.workspace, &directory, asked, disk, trees))
            } else {
                diagnostics::check_next(&self.workspace, &directory, asked, disk, trees)
            };
            let Some(new) = new else { continue };
            touched.extend(new.found.keys().cloned());
            let old = self.checked.insert(directory, new);
            touched.extend(old.into_iter().flat_map(|old| old.found.into_keys()));
        }
        let mut messages = Vec::new();
        for file in touched {
            let problems = self.problems(&file);
            let is_new = match self.told.get(&file) {
                Some(told) => *told != problems,
                // A file that never had a diagnostic needs no message.
                None => !problems.is_empty() || self.is_open(&file),
            };
            if is_new {
                messages.push(self.publish_diagnostics(&file, &problems));
                self.told.insert(file, problems);
            }
        }
        messages
    }

    /// Returns the problems of a file from all stacks that read it, without duplicates, its own directory's first.
    fn problems(&self, file: &Path) -> Vec<LspDiagnostic> {
        let mut problems: Vec<LspDiagnostic> = Vec::new();
        let mut known = BTreeSet::new();
        // The problems from the file's own directory come first.
        let own = self.checked.iter().filter(|(directory, _)| file.parent() == Some(directory));
        let others = self.checked.iter().filter(|(directory, _)| file.parent() != Some(directory));
        for (n, (_, checked)) in own.chain(others).enumerate() {
            let found = checked.found.get(file).into_iter().flatten().map(|found| &found.problem);
            let new: Vec<&LspDiagnostic> = found
                .filter(|problem| n == 0 || !known.contains(&(problem.range.start, problem.code)))
                .collect();
            known.extend(new.iter().map(|problem| (problem.range.start, problem.code)));
            problems.extend(new.into_iter().cloned());
        }
        problems
    }

    /// Returns whether the session ended, and whether in the order that the protocol demands; `None` while it runs.
    #[must_use]
    pub fn exit_status(&self) -> Option<bool> {
        match self.stage {
            ServerLifecycle::Exited { in_order } => Some(in_order),
            _ => None,
        }
    }

    fn is_open(&self, file: &Path) -> bool {
        self.workspace.text(&self.workspace.uri(file)).is_some()
    }

    fn publish_diagnostics(&self, file: &Path, problems: &[LspDiagnostic]) -> String {
        let params = json!({ "uri": self.workspace.uri(file), "diagnostics": problems });
        json!({ "jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params })
            .to_string()
    }

    fn handle_notification(&mut self, method: &str, params: Value) {
        if method == "exit" {
            self.stage = ServerLifecycle::Exited { in_order: self.stage == ServerLifecycle::ShutDown };
            return;
        }
        if method == "workspace/didChangeWatchedFiles" {
            let all: Vec<PathBuf> = self.workspace.directories().map(Path::to_owned).collect();
            self.behind.extend(all);
            // The user may have fixed problems of files that are not open.
            let told =
                self.checked.iter().filter(|(_, checked)| !checked.found.values().all(Vec::is_empty));
            self.behind.extend(told.map(|(directory, _)| directory.clone()));
            return;
        }
        let Ok(about) = serde_json::from_value::<RequestParams>(params) else { return };
        let document = &about.text_document;
        let file = match method {
            "textDocument/didOpen" => self.workspace.open(&document.uri, &document.text),
            "textDocument/didChange" => self.workspace.change(&document.uri, &about.content_changes),
            "textDocument/didClose" => self.workspace.close(&document.uri),
            "textDocument/didSave" => {
                // Another stack may include the saved file.
                let all: Vec<PathBuf> = self.workspace.directories().map(Path::to_owned).collect();
                self.behind.extend(all);
                None
            }
            _ => None,
        };
        let Some(file) = file else { return };
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_stack_file(name) || is_test_file(name) {
            self.behind.extend(file.parent().map(Path::to_owned));
        }
        // Stacks that include or use the file must be checked with the new text.
        let readers = self.checked.iter().filter(|(_, checked)| checked.read.contains(&file));
        self.behind.extend(readers.map(|(directory, _)| directory.clone()));
    }

    fn handle_request(
        &mut self,
        method: &str,
        params: Value,
        disk: &dyn WorkspaceDisk,
    ) -> Result<Value, ResponseError> {
        match (method, self.stage) {
            ("initialize", ServerLifecycle::Uninitialized) => {
                self.stage = ServerLifecycle::Initialized;
                return Ok(server_capabilities());
            }
            (_, ServerLifecycle::Uninitialized) => {
                return Err(ResponseError(
                    NOT_INITIALIZED,
                    "`initialize` must be the first request".into(),
                ));
            }
            ("initialize", _) | (_, ServerLifecycle::ShutDown | ServerLifecycle::Exited { .. }) => {
                return Err(ResponseError(
                    INVALID_REQUEST,
                    "the session is already initialized or shut down".into(),
                ));
            }
            ("shutdown", _) => {
                self.stage = ServerLifecycle::ShutDown;
                return Ok(Value::Null);
            }
            _ => {}
        }
        let known =
            method.strip_prefix("textDocument/").filter(|method| SUPPORTED_REQUESTS.contains(method));
        let Some(method) = known else {
            return Err(ResponseError(METHOD_NOT_FOUND, format!("the method `{method}` is not supported")));
        };
        let about: RequestParams = serde_json::from_value(params)
            .map_err(|error| ResponseError(INVALID_PARAMS, error.to_string()))?;
        // A file that does not belong to a stack, or was never opened, has no result.
        let of_stacks = |text: &TextFile| is_stack_file(text.name());
        let of_tests = |text: &TextFile| text.has_tests() && TEST_FILE_REQUESTS.contains(&method);
        let text = self.workspace.text(&about.text_document.uri);
        let Some(text) = text.filter(|text| of_stacks(text) || of_tests(text)) else {
            return Ok(Value::Null);
        };
        self.handle_text_request(method, &about, &text, disk)
    }

    fn handle_text_request(
        &mut self,
        method: &str,
        about: &RequestParams,
        text: &TextFile,
        disk: &dyn WorkspaceDisk,
    ) -> Result<Value, ResponseError> {
        let directory = text.path.parent().unwrap_or(Path::new("")).to_owned();
        if !["formatting", "codeAction"].contains(&method) {
            self.workspace.index_names(&directory, disk);
        }
        if ["references", "prepareRename", "rename"].contains(&method) {
            self.workspace.learn_neighbours(&directory, disk);
        }
        let workspace = &self.workspace;
        let lines = LineIndex::new(&text.text);
        let offset = about.position.map_or(0, |position| lines.offset(position));
        match method {
            "completion" => {
                let offered = disk.known_catalog(&directory);
                let listing = complete::complete_at(workspace, text, offset, offered.as_ref());
                Ok(json!({ "isIncomplete": listing.more, "items": listing.items }))
            }
            "hover" => {
                let offered = disk.known_catalog(&directory);
                let said = hover::hover_text(workspace, text, offset, offered.as_ref());
                Ok(said.map_or(Value::Null, |said| json!({ "contents": MarkupContent::markdown(said) })))
            }
            "definition" => to_json(&navigate::find_definition(workspace, text, offset)),
            "references" => to_json(&navigate::find_references(
                workspace,
                text,
                offset,
                about.context.include_declaration,
            )),
            "prepareRename" => {
                let refused = |why| ResponseError(REQUEST_FAILED, why);
                let (at, name) = rename::prepare_rename(workspace, text, offset).map_err(refused)?;
                Ok(json!({ "range": lines.range(at.start, at.end), "placeholder": name }))
            }
            "rename" => {
                let changes = rename::rename_symbol(workspace, text, offset, &about.new_name);
                let changes = changes.map_err(|why| ResponseError(REQUEST_FAILED, why))?;
                Ok(json!({ "changes": changes }))
            }
            "formatting" => {
                let source = text.source();
                // A file that cannot be parsed is not formatted: its diagnostics give the reason.
                let new =
                    format::format_file(&EditableFile { source: &source, registry: &workspace.registry })
                        .ok();
                to_json(&new.map(|new| text_change::compute_edits(&text.text, &new)))
            }
            _ => {
                let whole = lines.range(0, text.text.len());
                let range = about.range.unwrap_or(whole);
                let checked = self.checked.get(&directory);
                Ok(checked.map_or(Value::Null, |checked| {
                    Value::Array(code_actions::code_actions(workspace, text, range, checked))
                }))
            }
        }
    }
}

/// Methods on a text that the server implements.
const SUPPORTED_REQUESTS: &[&str] = &[
    "codeAction",
    "completion",
    "definition",
    "formatting",
    "hover",
    "prepareRename",
    "references",
    "rename",
];

/// The subset that also works for test files, which contain addresses but no declarations.
const TEST_FILE_REQUESTS: &[&str] = &["codeAction", "completion", "definition", "hover", "references"];

fn server_capabilities() -> Value {
    json!({
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": { "openClose": true, "change": INCREMENTAL, "save": true },
            "completionProvider": { "triggerCharacters": ["$", ".", " ", "="] },
            "hoverProvider": true,
            "definitionProvider": true,
            "referencesProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentFormattingProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix"] },
        },
        "serverInfo": { "name": "stead", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn to_json(result: &impl Serialize) -> Result<Value, ResponseError> {
    serde_json::to_value(result).map_err(|error| ResponseError(REQUEST_FAILED, error.to_string()))
}

fn error_response(id: &Value, ResponseError(code, message): &ResponseError) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}
