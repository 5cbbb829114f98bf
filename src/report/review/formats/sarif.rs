//! SARIF 2.1.0 report: findings for code scanning. The forge opens and closes alerts by comparing reports of the same
//! analysis, which is named after the repository and the environment, and recognizes a finding by its fingerprint.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::plan::artifact::drift_history::RecordedDrift;
use crate::report::json::to_pretty;
use crate::report::review::finding::{FindingLevel, FindingLocation, ReviewFinding};
use crate::report::review::identity::finding_identities;
use crate::report::review::view::RepositoryRoot;
use crate::report::text::{escape, phrases};

/// Limit on the results of a run: GitHub rejects a report with more.
const MAX_RESULTS: usize = 25_000;

/// Where the documentation is published, unless the settings name a copy.
const DOCUMENTATION: &str = "https://stead.dev/docs";

/// What a log is about.
pub(super) struct SarifSubject<'a> {
    /// Where the repository is, and its documentation.
    pub(super) root: &'a RepositoryRoot,
    /// Stack and environment, the title of a selection of units, or `validate`.
    pub(super) title: &'a str,
    /// Drift that is gone since the last check.
    pub(super) resolved: &'a [RecordedDrift],
    /// Whether everything that the title names was analyzed. Otherwise a forge must not take a missing finding for a
    /// solved one.
    pub(super) is_complete: bool,
}

/// Returns the findings as a SARIF log with one run; the worst come first, and those above the limit are counted.
pub(super) fn sarif_log(findings: &[ReviewFinding], of: &SarifSubject<'_>) -> String {
    let identities = finding_identities(findings);
    let mut shown: Vec<(&ReviewFinding, &String)> = findings.iter().zip(&identities).collect();
    let left_out = shown.len().saturating_sub(MAX_RESULTS);
    if left_out > 0 {
        shown.sort_by_key(|(finding, _)| finding.level as u8);
        shown.truncate(MAX_RESULTS);
    }
    let mut rules: BTreeMap<&str, &ReviewFinding> = BTreeMap::new();
    for (finding, _) in &shown {
        rules.entry(&finding.rule).or_insert(finding);
    }
    let numbers: BTreeMap<&str, usize> =
        rules.keys().zip(0..).map(|(rule, number)| (*rule, number)).collect();
    let results: Vec<Json> = shown
        .iter()
        .map(|(finding, identity)| result(finding, identity, numbers.get(finding.rule.as_str())))
        .collect();
    to_pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "stead",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": documentation(of.root),
                "rules": rules.values().map(|finding| rule_entry(finding, of.root)).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": analysis_id(of)},
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation(of.is_complete, left_out)],
            "results": results,
            "properties": properties(of.resolved, left_out),
        }],
    }))
}

/// Returns the name of the analysis. What follows its last `/` would name a single run, and is empty.
fn analysis_id(of: &SarifSubject<'_>) -> String {
    let parts = ["stead", of.root.name.as_str(), of.title];
    let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    known.join("/") + "/"
}

fn result(finding: &ReviewFinding, identity: &str, rule: Option<&usize>) -> Json {
    let mut location = spot_location(&finding.place);
    let logical = logical_locations(finding);
    if !logical.is_empty() {
        location["logicalLocations"] = logical.into();
    }
    json!({
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": sarif_level(finding.level),
        "message": {"text": escape_links(&escape::escape_line(&finding.text))},
        "locations": [location],
        // The first is the one that GitHub compares.
        "partialFingerprints": {"primaryLocationLineHash": identity, "stead/v1": identity},
    })
}

/// Returns a text in which nothing is a link: `[text](target)` in a message would be one.
fn escape_links(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns the unit that a finding is about, and what of it.
fn logical_locations(finding: &ReviewFinding) -> Vec<Json> {
    let Some(unit) = &finding.unit else { return Vec::new() };
    let mut found = vec![json!({"name": unit, "fullyQualifiedName": unit, "kind": "module"})];
    let subject = finding.subject.strip_prefix(unit.as_str()).unwrap_or(&finding.subject).trim();
    if !subject.is_empty() {
        let full = format!("{unit} {subject}");
        found.push(json!({"name": subject, "fullyQualifiedName": full, "kind": "resource"}));
    }
    found
}

/// Returns how the run went, and how many findings the report lacks.
fn invocation(is_complete: bool, left_out: usize) -> Json {
    let mut invocation = json!({"executionSuccessful": is_complete});
    if left_out > 0 {
        let text = format!(
            "{} left out: a report has at most {MAX_RESULTS}. The report `json` has all.",
            phrases::count_noun(left_out, "finding")
        );
        invocation["toolExecutionNotifications"] = json!([{"level": "warning", "message": {"text": text}}]);
    }
    invocation
}

/// Returns the resolved drift, and the number of findings above the limit. Resolved drift is not a result: a forge closes a
/// finding by itself when a report no longer contains it.
fn properties(resolved: &[RecordedDrift], left_out: usize) -> Json {
    let mut properties = json!({});
    if !resolved.is_empty() {
        let gone: Vec<&str> = resolved.iter().map(|gone| gone.name.as_str()).collect();
        properties["resolved"] = json!(gone);
    }
    if left_out > 0 {
        properties["leftOut"] = left_out.into();
    }
    properties
}

/// Returns the entry of a rule, with the texts that GitHub requires. They describe the rule, not a single finding.
fn rule_entry(first: &ReviewFinding, root: &RepositoryRoot) -> Json {
    let (short, topic) = describe_rule(&first.rule);
    let page = format!("{}/{}/", documentation(root), rule_page(&first.rule));
    let help = match topic {
        Some(topic) => format!("`stead explain {topic}` and {page} say what it means and what to do."),
        None => format!("{page} says what it means and what to do."),
    };
    json!({
        "id": first.rule,
        "shortDescription": {"text": short},
        "fullDescription": {"text": format!("{short}. {help}")},
        "help": {"text": help},
        "helpUri": page,
        "defaultConfiguration": {"level": sarif_level(first.level)},
    })
}

/// Returns what a rule is about, and its topic for `stead explain`; `None` if it has none.
fn describe_rule(rule: &str) -> (String, Option<&str>) {
    match rule.split_once('/') {
        Some(("policy", name)) => (format!("The stack's policy {name}"), None),
        Some(("exposure", code)) => (format!("The exposure {code}"), Some(code)),
        Some(("apply", what)) => (format!("Not completed by an apply: {what}"), None),
        Some(("blocked", code)) => (format!("A plan cannot be applied: {code}"), Some(code)),
        _ => match rule {
            "drift" => ("A live object was changed outside stead".to_owned(), None),
            "replace" => ("An object is replaced by a new one".to_owned(), None),
            "delete" => ("An object is deleted".to_owned(), None),
            "unmanaged" => ("A live object that no ledger manages".to_owned(), None),
            "unit" => ("A unit that could not be planned".to_owned(), None),
            code if code.starts_with(|c: char| c.is_ascii_uppercase()) => {
                (format!("The diagnostic {code}"), Some(code))
            }
            action => (format!("A change with effects: {action}"), None),
        },
    }
}

fn documentation(root: &RepositoryRoot) -> &str {
    if root.documentation.is_empty() { DOCUMENTATION } else { &root.documentation }
}

/// Returns the page of the documentation that explains a rule.
fn rule_page(rule: &str) -> String {
    match rule.split_once('/') {
        Some(("blocked", code)) => format!("reference/plan-codes/{}", encode_uri(code)),
        Some(("policy", _)) => "how-to/budgets-and-freezes".to_owned(),
        Some(_) => "how-to/find-what-is-wrong".to_owned(),
        None if rule.starts_with(|c: char| c.is_ascii_uppercase()) => {
            format!("reference/diagnostics/{}", encode_uri(rule))
        }
        None if matches!(rule, "drift" | "unmanaged") => "how-to/drift-as-a-cron".to_owned(),
        None => "explanation/how-a-plan-is-made".to_owned(),
    }
}

fn spot_location(spot: &FindingLocation) -> Json {
    let mut region = json!({"startLine": spot.line, "startColumn": spot.column});
    if let (Some((line, column)), Json::Object(region)) = (spot.end, &mut region) {
        region.insert("endLine".to_owned(), line.into());
        region.insert("endColumn".to_owned(), column.into());
    }
    let file = json!({"uri": encode_uri(&spot.file), "uriBaseId": "%SRCROOT%"});
    json!({"physicalLocation": {"artifactLocation": file, "region": region}})
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
