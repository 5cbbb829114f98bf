//! Code actions: the safe edits of diagnostics that have one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::editor::lsp::protocol::LspRange;
use crate::editor::lsp::workspace::diagnostics::{DiagnosticWithFix, DirectoryDiagnostics};
use crate::editor::lsp::workspace::files::{TextFile, Workspace};

/// Returns the edits for the diagnostics that a range touches, as the protocol's code actions; empty if none has one.
pub(in crate::editor::lsp) fn code_actions(
    workspace: &Workspace,
    text: &TextFile,
    range: LspRange,
    checked: &DirectoryDiagnostics,
) -> Vec<Value> {
    let touches = |found: &&DiagnosticWithFix| {
        let place = found.problem.range;
        place.start <= range.end && range.start <= place.end
    };
    let found = checked.found.get(&text.path).into_iter().flatten().filter(touches);
    let action = |found: &DiagnosticWithFix| {
        let fix = found.fix.as_ref()?;
        let changes = BTreeMap::from([(workspace.uri(&fix.file), vec![&fix.edit])]);
        Some(json!({
            "title": fix.title,
            "kind": "quickfix",
            "isPreferred": fix.sure,
            "diagnostics": [found.problem],
            "edit": { "changes": changes },
        }))
    };
    found.filter_map(action).collect()
}
