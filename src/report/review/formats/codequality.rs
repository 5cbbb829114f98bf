//! GitLab code quality report: findings that a merge request shows beside its lines. GitLab compares the fingerprints
//! with those of the target branch to tell new findings from fixed ones.

use serde_json::{Value as Json, json};

use crate::report::json::to_pretty;
use crate::report::review::finding::{FindingLevel, ReviewFinding};
use crate::report::review::identity::finding_identities;
use crate::report::text::escape;

/// Returns the code quality report as JSON.
pub(super) fn code_quality_json(findings: &[ReviewFinding]) -> String {
    let entries: Vec<Json> = findings
        .iter()
        .zip(finding_identities(findings))
        .map(|(finding, identity)| {
            json!({
                "description": escape::escape_line(&finding.text),
                "check_name": finding.rule,
                "fingerprint": identity,
                "severity": match finding.level {
                    FindingLevel::Error => "critical",
                    FindingLevel::Warning => "major",
                    FindingLevel::Note => "info",
                },
                "location": {"path": finding.place.file, "lines": {"begin": finding.place.line}},
            })
        })
        .collect();
    to_pretty(&entries)
}
