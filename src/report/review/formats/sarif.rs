//! SARIF 2.1.0 report: findings for code scanning. The forge opens and closes alerts by comparing reports.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::plan::artifact::drift_history::RecordedDrift;
use crate::report::json::to_pretty;
use crate::report::review::finding::{FindingLevel, FindingLocation, ReviewFinding};
use crate::report::review::identity::finding_identities;

/// Returns the findings as a SARIF log with one run; `resolved` names the drift that is gone, in its properties.
pub(super) fn sarif_log(findings: &[ReviewFinding], resolved: &[RecordedDrift]) -> String {
    let mut rules: BTreeMap<&str, &ReviewFinding> = BTreeMap::new();
    for finding in findings {
        rules.entry(&finding.rule).or_insert(finding);
    }
    let numbers: BTreeMap<&str, usize> =
        rules.keys().zip(0..).map(|(rule, number)| (*rule, number)).collect();
    let results: Vec<Json> = findings
        .iter()
        .zip(finding_identities(findings))
        .map(|(finding, identity)| {
            json!({
                "ruleId": finding.rule,
                "ruleIndex": numbers.get(finding.rule.as_str()),
                "level": sarif_level(finding.level),
                "message": {"text": finding.text},
                "locations": [spot_location(&finding.place)],
                "partialFingerprints": {"stead/v1": identity},
            })
        })
        .collect();
    // Resolved drift is not a result: a forge closes a finding by itself when a report no longer contains it.
    let gone: Vec<&str> = resolved.iter().map(|gone| gone.name.as_str()).collect();
    let properties = if gone.is_empty() { json!({}) } else { json!({"resolved": gone}) };
    to_pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "stead",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.values().map(|finding| rule_entry(finding)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": properties,
        }],
    }))
}

/// Returns the entry of a rule. Its text describes the rule, not a single finding.
fn rule_entry(first: &ReviewFinding) -> Json {
    let text = match first.rule.split_once('/') {
        Some(("policy", name)) => format!("The stack's policy {name}"),
        Some(("apply", what)) => format!("Not completed by an apply: {what}"),
        Some(("blocked", code)) => format!("A plan cannot be applied: {code}"),
        _ => match first.rule.as_str() {
            "drift" => "A live object was changed outside stead".to_owned(),
            "replace" => "An object is replaced by a new one".to_owned(),
            "delete" => "An object is deleted".to_owned(),
            "unmanaged" => "A live object that no ledger manages".to_owned(),
            code if code.starts_with(|c: char| c.is_ascii_uppercase()) => {
                format!("{code}; see `stead explain {code}`")
            }
            action => format!("A change with effects: {action}"),
        },
    };
    json!({
        "id": first.rule,
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": sarif_level(first.level)},
    })
}

fn spot_location(spot: &FindingLocation) -> Json {
    let mut region = json!({"startLine": spot.line, "startColumn": spot.column});
    if let (Some((line, column)), Json::Object(region)) = (spot.end, &mut region) {
        region.insert("endLine".to_owned(), line.into());
        region.insert("endColumn".to_owned(), column.into());
    }
    json!({"physicalLocation": {"artifactLocation": {"uri": encode_uri(&spot.file)}, "region": region}})
}

/// Returns a path as a relative URI reference, without a leading `./`. Every byte except ASCII letters,
/// digits and `-._~/+@,=` is percent-encoded.
fn encode_uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+@,=".contains(&byte);
    let path = path.strip_prefix("./").unwrap_or(path);
    path.bytes().fold(String::with_capacity(path.len()), |mut text, byte| {
        if plain(byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

const fn sarif_level(level: FindingLevel) -> &'static str {
    match level {
        FindingLevel::Error => "error",
        FindingLevel::Warning => "warning",
        FindingLevel::Note => "note",
    }
}
