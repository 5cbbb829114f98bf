//! Results of a stack's tests: as text, as JSON, and as JUnit XML for CI.

use std::time::Duration;

use serde::Serialize;

use crate::model::source::SourceLocation;
use crate::report::json;
use crate::report::text::junit_xml::{self, JunitCase, JunitSuite};
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::{TextRole, TextStyle};
use crate::report::text::{escape, phrases};

/// The result of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestResult {
    /// Name of the test.
    pub name: String,
    /// Path of the test file.
    pub file: String,
    /// Location of the test; `None` if not known.
    pub place: Option<SourceLocation>,
    /// Failed expectations; empty if the test passed.
    pub missed: Vec<TestFailure>,
    /// Duration of the test.
    pub took: Duration,
}

/// A failed expectation of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestFailure {
    /// Location of the expectation; `None` if not known.
    pub place: Option<SourceLocation>,
    /// The expected and the actual value, as a sentence.
    pub text: String,
}

/// Returns the results as text.
#[must_use]
pub fn test_run_page(tests: &[TestResult], style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    for test in tests {
        let (role, word) =
            if test.missed.is_empty() { (TextRole::Success, "ok   ") } else { (TextRole::Danger, "FAIL ") };
        let line = TextLine::indent(0)
            .push_styled(role, word)
            .push_styled(TextRole::Plain, escape::escape_line(&test.name));
        page.add_line(
            line.push_styled(TextRole::Faint, format!("  {}", test_location(test.place.as_ref()))),
        );
        for miss in &test.missed {
            let place = format!("{}  ", test_location(miss.place.as_ref()));
            page.add_line(
                TextLine::indent(5)
                    .push_styled(TextRole::Strong, place)
                    .push_styled(TextRole::Plain, escape::escape_line(&miss.text))
                    .continue_at(9),
            );
        }
    }
    let failed = tests.iter().filter(|test| !test.missed.is_empty()).count();
    let (role, passed) =
        (if failed == 0 { TextRole::Success } else { TextRole::Danger }, tests.len() - failed);
    page.add_line(TextLine::indent(0).push_styled(
        role,
        format!("{}: {passed} passed, {failed} failed", phrases::count_noun(tests.len(), "test")),
    ));
    page.finish()
}

fn test_location(place: Option<&SourceLocation>) -> String {
    place.map(|place| format!("{}:{}:{}", place.file, place.line, place.column)).unwrap_or_default()
}

/// The document of `stead test --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestRunDocument<'t> {
    schema_version: json::SchemaVersion,
    /// Number of tests that passed.
    passed: usize,
    /// Number of tests that failed.
    failed: usize,
    /// The tests, in the order of their files.
    tests: Vec<TestEntry<'t>>,
}

/// The result of one test.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TestEntry<'t> {
    /// Name of the test.
    name: &'t str,
    /// Path of the test file.
    file: &'t str,
    /// Line of the test, counted from 1.
    line: Option<u32>,
    /// Whether all expectations were met.
    passed: bool,
    /// Duration in seconds.
    seconds: f64,
    /// The expectations that were not met.
    failures: Vec<TestFailureEntry<'t>>,
}

/// An expectation that was not met.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TestFailureEntry<'t> {
    /// Line of the expectation, counted from 1.
    line: Option<u32>,
    /// Column in characters, counted from 1.
    column: Option<u32>,
    /// The expected and the actual value.
    text: &'t str,
}

/// Returns the results as a JSON document.
#[must_use]
pub fn test_run_document(tests: &[TestResult]) -> String {
    json::to_pretty(&TestRunDocument::new(tests))
}

impl<'t> TestRunDocument<'t> {
    /// Returns the document of some results.
    #[must_use]
    pub fn new(tests: &'t [TestResult]) -> Self {
        let failed = tests.iter().filter(|test| !test.missed.is_empty()).count();
        Self {
            schema_version: json::SCHEMA_VERSION,
            passed: tests.len() - failed,
            failed,
            tests: tests.iter().map(TestEntry::new).collect(),
        }
    }
}

impl<'t> TestEntry<'t> {
    fn new(test: &'t TestResult) -> Self {
        Self {
            name: &test.name,
            file: &test.file,
            line: test.place.as_ref().map(|place| place.line),
            passed: test.missed.is_empty(),
            seconds: test.took.as_secs_f64(),
            failures: test.missed.iter().map(TestFailureEntry::new).collect(),
        }
    }
}

impl<'t> TestFailureEntry<'t> {
    fn new(miss: &'t TestFailure) -> Self {
        Self {
            line: miss.place.as_ref().map(|place| place.line),
            column: miss.place.as_ref().map(|place| place.column),
            text: &miss.text,
        }
    }
}

/// Returns the results as JUnit XML, with one suite per file.
#[must_use]
pub fn test_run_junit(tests: &[TestResult]) -> String {
    let suites = tests.chunk_by(|a, b| a.file == b.file);
    let suite = |tests: &[TestResult]| JunitSuite {
        name: tests.first().map(|test| test.file.clone()).unwrap_or_default(),
        unit: None,
        cases: tests.iter().map(test_case).collect(),
    };
    junit_xml::junit_document(&suites.map(suite).collect::<Vec<_>>())
}

fn test_case(test: &TestResult) -> JunitCase {
    JunitCase {
        name: test.name.clone(),
        place: test.place.as_ref().map(|place| (test.file.clone(), place.line)),
        seconds: Some(test.took.as_secs_f64()),
        failures: test
            .missed
            .iter()
            .map(|miss| (miss.text.clone(), test_location(miss.place.as_ref())))
            .collect(),
        skipped: None,
        output: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Vec<TestResult> {
        let place = |line| Some(SourceLocation { file: "shop.test.yaml".into(), line, column: 3 });
        let tested = |name: &str, line, missed| TestResult {
            name: name.to_owned(),
            file: "shop.test.yaml".to_owned(),
            place: place(line),
            missed,
            took: Duration::from_millis(20),
        };
        let miss = TestFailure {
            place: place(9),
            text: "create: expected <a & b>, got \"none\"\u{1b}".to_owned(),
        };
        vec![tested("one machine", 2, Vec::new()), tested("two", 7, vec![miss])]
    }

    #[test]
    fn the_text_report_shows_locations_and_counts() {
        insta::assert_snapshot!(test_run_page(&run(), TextStyle::plain(100)), @r#"
    ok   one machine  shop.test.yaml:2:3
    FAIL two  shop.test.yaml:7:3
         shop.test.yaml:9:3  create: expected <a & b>, got "none"\u{1b}
    2 tests: 1 passed, 1 failed
    "#);
    }

    #[test]
    fn junit_is_escaped() {
        insta::assert_snapshot!(test_run_junit(&run()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="stead" tests="2" failures="1">
      <testsuite name="shop.test.yaml" tests="2" failures="1" time="0.040">
        <testcase name="one machine" classname="shop.test.yaml" file="shop.test.yaml" line="2" time="0.020"/>
        <testcase name="two" classname="shop.test.yaml" file="shop.test.yaml" line="7" time="0.020">
          <failure message="create: expected &lt;a &amp; b&gt;, got &quot;none&quot;\u{1b}">shop.test.yaml:9:3 create: expected &lt;a &amp; b&gt;, got &quot;none&quot;\u{1b}</failure>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
    }
}
