//! JUnit's XML, as CI systems read it.

use std::fmt::Write as _;

use super::escape;

/// Tests that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct JunitSuite {
    /// What they are of: a file, or a stack.
    pub name: String,
    /// The tests.
    pub cases: Vec<JunitCase>,
}

/// One test.
#[derive(Debug, Clone, PartialEq)]
pub struct JunitCase {
    /// What is tested.
    pub name: String,
    /// File and line.
    pub place: Option<(String, u32)>,
    /// How long it took, where that was measured.
    pub seconds: Option<f64>,
    /// Why it failed: what was wrong, and where, if that is known. None: it passed.
    pub failures: Vec<(String, String)>,
    /// Why it was not run at all. None: it was.
    pub skipped: Option<String>,
}

impl JunitCase {
    /// Returns a test that passed.
    #[must_use]
    pub fn new_passed(name: &str) -> Self {
        Self { name: name.to_owned(), place: None, seconds: None, failures: Vec::new(), skipped: None }
    }

    const fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }
}

/// Returns the document of some suites.
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
        for case in &suite.cases {
            write_case(&mut text, &name, case);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

/// Says how many tests were not run; nothing where all were.
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
        text.push_str("/>\n");
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

/// Returns a text as XML takes it. What acts or hides is written out, and nothing begins a runner's command:
/// whoever shows the document undoes XML's own escapes.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape::page_line(&text.replace(['\n', '\t'], " ")).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
