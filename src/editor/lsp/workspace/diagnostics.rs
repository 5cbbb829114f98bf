//! Diagnostics: runs the checks of `config` on the files of a directory, with the contents that the editor has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::slice;

use super::files::{TextFile, Workspace, WorkspaceDisk};
use super::multi_env_diagnostics::DiagnosticsByEnvironment;
use super::open_documents::normalize_path;
use crate::config::input::request::LoadRequest;
use crate::config::syntax::parse_cache::ParseCache;
use crate::config::{load, test_file};
use crate::editor::lsp::lines::LineIndex;
use crate::editor::lsp::protocol::{Location, LspDiagnostic, LspRange, RelatedInformation, TextEdit};
use crate::model::diagnostic::{Diagnostic, Label, Severity};
use crate::model::source::{SourceId, Sources, Span};

/// Codes that do not apply to a module's directory, which has no version, no name, and no values of variables.
const STACK_ONLY_CODES: &[&str] = &["S0233", "S0234", "S0251"];
/// Code for a missing value that only the command line can supply.
const MISSING_VALUE_CODE: &str = "S0251";

/// Severities of the protocol.
const ERROR: u8 = 1;
const WARNING: u8 = 2;
const INFORMATION: u8 = 3;

/// A problem in a file, with its fix.
#[derive(Debug)]
pub(in crate::editor::lsp) struct DiagnosticWithFix {
    /// The problem in the form of the protocol.
    pub(in crate::editor::lsp) problem: LspDiagnostic,
    /// The edit that fixes the problem; `None` if there is no safe one.
    pub(in crate::editor::lsp) fix: Option<QuickFix>,
}

/// A safe edit that fixes a problem.
#[derive(Debug)]
pub(in crate::editor::lsp) struct QuickFix {
    /// Title of the code action.
    pub(in crate::editor::lsp) title: String,
    /// File that the edit changes.
    pub(in crate::editor::lsp) file: PathBuf,
    pub(in crate::editor::lsp) edit: TextEdit,
    /// Whether the edit is certainly what the user meant.
    pub(in crate::editor::lsp) sure: bool,
}

/// The diagnostics of a directory's stack or module.
#[derive(Debug, Default)]
pub(in crate::editor::lsp) struct DirectoryDiagnostics {
    /// The problems by file; all of the directory's own files have an entry.
    pub(in crate::editor::lsp) found: BTreeMap<PathBuf, Vec<DiagnosticWithFix>>,
    /// The files that were read for the check: a change to one of them makes the check stale.
    pub(in crate::editor::lsp) read: BTreeSet<PathBuf>,
}

/// Size in bytes of a stack's sources up to which all environments are checked at the same time; above it a keystroke
/// would wait too long.
const MAX_COMBINED_BYTES: usize = 200_000;

/// Checks a directory: all environments of a small stack, else the selected one.
pub(in crate::editor::lsp) fn check_directory(
    workspace: &Workspace,
    directory: &Path,
    asked: (&LoadRequest, &mut DiagnosticsByEnvironment),
    disk: &dyn WorkspaceDisk,
    trees: &ParseCache,
) -> DirectoryDiagnostics {
    let (request, outlook) = asked;
    let texts = workspace.stack_texts(directory, disk);
    let looked = check_environment(workspace, directory, &texts, request, disk, trees);
    let denied = workspace.judge.zip(looked.stack.as_deref()).map(|(judge, stack)| judge(stack));
    let read = outlook.restart_with(looked, denied.unwrap_or_default());
    if read.iter().map(|(_, source)| source.text.len()).sum::<usize>() <= MAX_COMBINED_BYTES {
        while let Some(name) = outlook.next() {
            let request = LoadRequest { environment: Some(name.clone()), ..request.clone() };
            let looked = check_environment(workspace, directory, &texts, &request, disk, trees);
            outlook.add_environment(&name, looked.diagnostics);
        }
    }
    group_by_file(workspace, directory, (&texts, &read), outlook.diagnostics())
}

/// Checks the next environment of a directory; `None` if all are checked.
pub(in crate::editor::lsp) fn check_next(
    workspace: &Workspace,
    directory: &Path,
    asked: (&LoadRequest, &mut DiagnosticsByEnvironment),
    disk: &dyn WorkspaceDisk,
    trees: &ParseCache,
) -> Option<DirectoryDiagnostics> {
    let (request, outlook) = asked;
    let name = outlook.next()?;
    let texts = workspace.stack_texts(directory, disk);
    let request = LoadRequest { environment: Some(name.clone()), ..request.clone() };
    let looked = check_environment(workspace, directory, &texts, &request, disk, trees);
    outlook.add_environment(&name, looked.diagnostics);
    Some(group_by_file(workspace, directory, (&texts, &looked.sources), outlook.diagnostics()))
}

/// Checks a stack or module in one environment.
fn check_environment(
    workspace: &Workspace,
    directory: &Path,
    texts: &[TextFile],
    request: &LoadRequest,
    disk: &dyn WorkspaceDisk,
    trees: &ParseCache,
) -> load::CheckedConfig {
    let files = workspace.overlay(directory, disk);
    let request = LoadRequest { pinned: disk.locked_catalog(directory), ..request.clone() };
    let mut sources = Sources::default();
    for text in texts {
        sources.add(text.source());
    }
    load::check(workspace.registry, sources, &request, &files, trees)
}

/// Groups the problems by file, in the form of the protocol.
fn group_by_file(
    workspace: &Workspace,
    directory: &Path,
    (texts, read): (&[TextFile], &Sources),
    diagnostics: Vec<Diagnostic>,
) -> DirectoryDiagnostics {
    let is_module = !texts.iter().any(|text| says_stack(&text.text));
    let places = PositionMapper {
        workspace,
        directory,
        texts,
        read,
        lines: texts.iter().map(|text| LineIndex::new(&text.text)).collect(),
    };
    let mut found: BTreeMap<PathBuf, Vec<DiagnosticWithFix>> =
        texts.iter().map(|text| (text.path.clone(), Vec::new())).collect();
    for diagnostic in diagnostics {
        if is_module && STACK_ONLY_CODES.contains(&diagnostic.code) {
            continue;
        }
        let file = diagnostic.span().and_then(|span| places.file(span));
        // A problem without a location is shown at the top of the first file.
        let Some(file) = file.or_else(|| texts.first().map(|text| text.path.clone())) else { continue };
        found.entry(file).or_default().push(places.locate_problem(&diagnostic));
    }
    for text in workspace.tests(directory) {
        found.insert(text.path.clone(), of_tests(workspace, directory, &text));
    }
    let read = read.iter().map(|(_, source)| normalize_path(&directory.join(&source.path))).collect();
    DirectoryDiagnostics { found, read }
}

/// Returns the problems of a test file, which is parsed only: it is no part of the stack.
fn of_tests(workspace: &Workspace, directory: &Path, text: &TextFile) -> Vec<DiagnosticWithFix> {
    let diagnostics = test_file::read_tests(SourceId(0), &text.source()).err().unwrap_or_default();
    let (texts, read, lines) =
        (slice::from_ref(text), &Sources::default(), vec![LineIndex::new(&text.text)]);
    let places = PositionMapper { workspace, directory, texts, read, lines };
    diagnostics.iter().map(|diagnostic| places.locate_problem(diagnostic)).collect()
}

/// Returns whether a file declares a stack: a module has neither a version nor a name.
fn says_stack(text: &str) -> bool {
    text.lines().any(|line| {
        ["stead", "stack"]
            .iter()
            .any(|word| line.strip_prefix(word).is_some_and(|rest| rest.starts_with([':', ' '])))
    })
}

/// Converts spans to positions of the protocol. Source texts have redacted secrets, which changes character
/// counts: for such a file, the editor's own text is used.
struct PositionMapper<'c> {
    workspace: &'c Workspace,
    directory: &'c Path,
    texts: &'c [TextFile],
    read: &'c Sources,
    lines: Vec<LineIndex<'c>>,
}

impl PositionMapper<'_> {
    fn file(&self, span: Span) -> Option<PathBuf> {
        if let Some(text) = self.texts.get(span.source.0 as usize) {
            return Some(text.path.clone());
        }
        let shown = &self.read.get(span.source)?.path;
        Some(normalize_path(&self.directory.join(shown)))
    }

    fn range(&self, span: Span) -> LspRange {
        let (start, end) = (span.start as usize, span.end as usize);
        match (self.lines.get(span.source.0 as usize), self.read.get(span.source)) {
            (Some(lines), _) => lines.range(start, end),
            (None, Some(source)) => LineIndex::new(&source.text).range(start, end),
            (None, None) => LineIndex::new("").range(0, 0),
        }
    }

    fn locate_problem(&self, diagnostic: &Diagnostic) -> DiagnosticWithFix {
        let severity = match diagnostic.severity {
            _ if diagnostic.code == MISSING_VALUE_CODE => INFORMATION,
            Severity::Error => ERROR,
            Severity::Warning => WARNING,
        };
        let related = |label: &Label| {
            let uri = self.workspace.uri(&self.file(label.span)?);
            let message = if label.text.is_empty() { "see here".to_owned() } else { label.text.clone() };
            Some(RelatedInformation { location: Location { uri, range: self.range(label.span) }, message })
        };
        let top = LineIndex::new("").range(0, 0);
        let problem = LspDiagnostic {
            range: diagnostic.span().map_or(top, |span| self.range(span)),
            severity,
            code: diagnostic.code,
            source: "stead",
            message: format_message(diagnostic),
            related_information: diagnostic.labels.iter().skip(1).filter_map(related).collect(),
        };
        let fix = diagnostic.fix.as_ref().and_then(|fix| {
            let edit = TextEdit { range: self.range(fix.span), new_text: fix.replacement.clone() };
            Some(QuickFix {
                title: action_title(diagnostic, &fix.replacement),
                file: self.file(fix.span)?,
                edit,
                sure: fix.sure,
            })
        });
        DiagnosticWithFix { problem, fix }
    }
}

fn format_message(diagnostic: &Diagnostic) -> String {
    let mut text = diagnostic.summary.clone();
    let label = diagnostic.labels.first().map(|label| &label.text).filter(|text| !text.is_empty());
    for more in label.into_iter().chain(&diagnostic.detail) {
        text.push('\n');
        text.push_str(more);
    }
    if let Some(help) = &diagnostic.help {
        text.push_str("\nhelp: ");
        text.push_str(help);
    }
    text
}

fn action_title(diagnostic: &Diagnostic, replacement: &str) -> String {
    match replacement {
        "" => diagnostic.help.clone().unwrap_or_else(|| "Remove it".to_owned()),
        text if text.len() <= 60 && !text.contains('\n') => format!("Write `{text}`"),
        _ => diagnostic.help.clone().unwrap_or_else(|| "Mend it".to_owned()),
    }
}
