//! Code actions: the safe edit of every diagnostic that has one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::editor::lsp::protocol::Range;
use crate::editor::lsp::workspace::diagnostics::{Checked, Found};
use crate::editor::lsp::workspace::files::{Text, Workspace};

/// Returns the edits that mend what a range touches.
pub(in crate::editor::lsp) fn code_actions(
    workspace: &Workspace,
    text: &Text,
    range: Range,
    checked: &Checked,
) -> Vec<Value> {
    let touches = |found: &&Found| {
        let place = found.problem.range;
        place.start <= range.end && range.start <= place.end
    };
    let found = checked.found.get(&text.path).into_iter().flatten().filter(touches);
    let action = |found: &Found| {
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
