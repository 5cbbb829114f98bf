//! JUnit XML, in the form that CI systems read: suites in, a document out. Escapes all names and messages.

use std::fmt::Write as _;

use super::escape;

/// A group of tests, usually of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct JunitSuite {
    /// Name of the file or stack that is tested.
    pub name: String,
    /// The unit that it is about, as `STACK/ENVIRONMENT`; `None` for tests of files.
    pub unit: Option<String>,
    /// The tests of the suite, in order.
    pub cases: Vec<JunitCase>,
}

/// A single test and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct JunitCase {
    /// Name of the test, unescaped.
    pub name: String,
    /// File and line of the test; `None` if not known.
    pub place: Option<(String, u32)>,
    /// Duration in seconds; `None` if it was not measured.
    pub seconds: Option<f64>,
    /// The failures: a message, and the location or an empty string. Empty if the test passed.
    pub failures: Vec<(String, String)>,
    /// Why the test was skipped; `None` if it ran.
    pub skipped: Option<String>,
    /// What a test that passed says, such as a warning; `None` if it says nothing.
    pub output: Option<String>,
}

impl JunitCase {
    /// Returns a test that passed, without location and duration.
    #[must_use]
    pub fn new_passed(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            place: None,
            seconds: None,
            failures: Vec::new(),
            skipped: None,
            output: None,
        }
    }

    const fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }
}

/// Returns the suites as a JUnit XML document. A suite's duration is given only if that of each test is known.
#[must_use]
pub fn junit_document(suites: &[JunitSuite]) -> String {
    let failed = |suite: &JunitSuite| suite.cases.iter().filter(|case| case.has_failed()).count();
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let failures: usize = suites.iter().map(failed).sum();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(text, "<testsuites name=\"stead\" tests=\"{tests}\" failures=\"{failures}\">");
    for suite in suites {
        let (name, count) = (escape_xml(&suite.name), suite.cases.len());
        let took: Option<f64> = suite.cases.iter().map(|case| case.seconds).sum();
        let took = format_seconds(took);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" tests=\"{count}\" failures=\"{}\"{}{took}>",
            failed(suite),
            skipped_attribute(suite)
        );
        if let Some(unit) = &suite.unit {
            let unit = escape_xml(unit);
            let _ =
                writeln!(text, "    <properties><property name=\"unit\" value=\"{unit}\"/></properties>");
        }
        for case in &suite.cases {
            write_case(&mut text, &name, case);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

/// Returns the attribute with the number of skipped tests, after a blank; empty if there are none.
fn skipped_attribute(suite: &JunitSuite) -> String {
    let count = suite.cases.iter().filter(|case| case.skipped.is_some()).count();
    if count > 0 { format!(" skipped=\"{count}\"") } else { String::new() }
}

fn write_case(text: &mut String, suite: &str, case: &JunitCase) {
    let name = escape_xml(&case.name);
    let place = case.place.as_ref();
    let place = place.map(|(file, line)| format!(" file=\"{}\" line=\"{line}\"", escape_xml(file)));
    let (place, took) = (place.unwrap_or_default(), format_seconds(case.seconds));
    let _ = write!(text, "    <testcase name=\"{name}\" classname=\"{suite}\"{place}{took}");
    if let Some(why) = &case.skipped {
        let _ = writeln!(text, "><skipped message=\"{}\"/></testcase>", escape_xml(why));
        return;
    }
    if !case.has_failed() {
        match &case.output {
            Some(said) => {
                let _ = writeln!(text, "><system-out>{}</system-out></testcase>", escape_xml(said));
            }
            None => text.push_str("/>\n"),
        }
        return;
    }
    text.push_str(">\n");
    for (said, at) in &case.failures {
        let (said, at) = (escape_xml(said), escape_xml(at));
        let blank = if at.is_empty() { "" } else { " " };
        let _ = writeln!(text, "      <failure message=\"{said}\">{at}{blank}{said}</failure>");
    }
    text.push_str("    </testcase>\n");
}

fn format_seconds(seconds: Option<f64>) -> String {
    seconds.map(|seconds| format!(" time=\"{seconds:.3}\"")).unwrap_or_default()
}

/// Returns whether a document of XML 1.0 may contain a character.
const fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Returns a string escaped for XML. Control and invisible characters are escaped, and it does not begin with a CI
/// runner's command, because a viewer of the document undoes the XML escapes.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape::page_line(&text.replace(['\n', '\t'], " ")).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if is_xml(c) => out.push(c),
            // Not even a reference to it is allowed.
            _ => out.push('\u{fffd}'),
        }
    }
    out
}
