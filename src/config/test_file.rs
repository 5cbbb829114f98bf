//! Tests of a stack (`*.test.yaml`, `*.test.kdl`): preconditions, and expectations about the plan and the
//! apply. In: a test file. Out: `StackTest`s, or its problems.

use std::collections::BTreeMap;

use super::codes;
use super::diagnostics::messages::unknown_key;
use super::keywords::{
    Keywords, TEST, TEST_APPLIED, TEST_APPLY, TEST_BILL, TEST_FILE, TEST_GIVEN, TEST_PLAN, word_names,
};
use super::syntax::document::{DocumentEntry, Node, NodeValue, Scalar, ScalarForm};
use super::syntax::parse_source::parse;
use super::syntax::quoting;
use super::types::scalar::infer_value;
use crate::model::address::Name;
use crate::model::cel::policy::CHANGE_ACTIONS;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Span};
use crate::model::values::value::{Value, ValueMap};

/// Keywords for the actions of a plan that a test may expect.
pub const ACTIONS: [&str; 8] = CHANGE_ACTIONS;

/// One test of a test file.
#[derive(Debug, Clone, PartialEq)]
pub struct StackTest {
    /// Name of the test, as its author describes it.
    pub name: Name,
    /// Span of the test's name.
    pub span: Span,
    /// Preconditions: variables and live objects.
    pub given: TestSetup,
    /// Expectations about the plan; `None` if there are none.
    pub plan: Option<PlanExpectation>,
    /// Expectations about an apply; `None` if the test has none.
    pub apply: Option<ApplyExpectation>,
}

/// Preconditions of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestSetup {
    /// Environment of the test; `None` selects the default one.
    pub environment: Option<Name>,
    /// The test's variables, as at most two variable files: extension without the dot, and content. Values that may be
    /// a list of one are in the KDL file, all others in the YAML file; empty if the test sets none.
    pub vars: Vec<(&'static str, String)>,
    /// Live objects in the emulator's seed format; `None` for an empty account.
    pub world: Option<Spanned<Name>>,
    /// An apply that precedes the plan, possibly with other variables; `None` if the plan is the first.
    pub applied: Option<PriorApply>,
    /// The time that policies read; `None` uses that of the test's cloud.
    pub now: Option<jiff::Timestamp>,
    /// The actor that policies read; empty if the test sets none.
    pub actor: Name,
    /// The branch that policies read; empty if the test sets none.
    pub branch: Name,
}

/// Apply that precedes the plan of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriorApply {
    /// Variable files that override those of the test, each with its extension and its content.
    pub vars: Vec<(&'static str, String)>,
}

/// A written value with its span.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    /// Value as the test states it.
    pub value: T,
    /// Span of the value in its file.
    pub span: Span,
}

/// Expectations about a plan. What is not written is not checked, except that no blocker may occur.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanExpectation {
    /// Span of the keyword in its file.
    pub span: Span,
    /// By action, the exact set of addresses.
    pub actions: BTreeMap<&'static str, Spanned<Vec<Name>>>,
    /// By action, or `unchanged`, the number of resources.
    pub count: BTreeMap<Name, Spanned<i64>>,
    /// Monthly bill in USD after the plan is applied; `None` is not checked.
    pub monthly: Option<Spanned<MonthlyCostExpectation>>,
    /// The exact set of blocker codes; `None` expects no blocker.
    pub blocks: Option<Spanned<Vec<Name>>>,
    /// Expected results of policies: `pass`, `deny` or `unknown`.
    pub policy: BTreeMap<Name, Spanned<Name>>,
    /// The exact set of diagnostic codes of the configuration, including warnings; `None` is not checked.
    pub problems: Option<Spanned<Vec<Name>>>,
}

impl PlanExpectation {
    /// Returns the default expectations, without any that are written.
    #[must_use]
    pub const fn new_empty(span: Span) -> Self {
        Self {
            span,
            actions: BTreeMap::new(),
            count: BTreeMap::new(),
            monthly: None,
            blocks: None,
            policy: BTreeMap::new(),
            problems: None,
        }
    }
}

/// A monthly bill in dollars.
#[derive(Debug, Clone, PartialEq)]
pub enum MonthlyCostExpectation {
    /// Exactly this amount in dollars.
    Exactly(Name),
    /// Between these amounts, inclusive; `None` is no bound.
    Within(Option<Name>, Option<Name>),
}

/// Expectations about an apply. It must succeed, and the plan after it must be empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplyExpectation {
    /// Span of the keyword in its file.
    pub span: Span,
    /// Expected values of outputs, by name.
    pub outputs: BTreeMap<Name, Spanned<Value>>,
    /// Number of live objects of each kind afterwards, including those of the precondition.
    pub objects: BTreeMap<Name, Spanned<i64>>,
}

/// Reads the tests of a file; empty for a file of an unknown extension.
///
/// # Errors
/// All its problems together.
pub fn read_tests(id: SourceId, source: &Source) -> Result<Vec<StackTest>, Vec<Diagnostic>> {
    let document = match parse(id, source, &|word| word == "test") {
        Some(parsed) => parsed?,
        None => return Ok(Vec::new()),
    };
    let mut reader = TestFileReader { problems: Vec::new() };
    let mut tests = Vec::new();
    for entry in &document.root {
        if entry.key != "test" {
            reader.problems.push(unknown_test_key(entry, TEST_FILE));
            continue;
        }
        for test in
            reader.expect_entries(&entry.value, "`test` holds named tests", "test: { NAME: { plan: … } }")
        {
            tests.extend(reader.read_test(test));
        }
    }
    if reader.problems.is_empty() { Ok(tests) } else { Err(reader.problems) }
}

struct TestFileReader {
    problems: Vec<Diagnostic>,
}

impl TestFileReader {
    fn report_test_problem(&mut self, span: Span, detail: &str, help: &str) {
        let problem = Diagnostic::error(codes::TEST, "a test is wrong").with_label(span, "");
        self.problems.push(problem.detail(format!("{detail}.")).help(format!("write `{help}`")));
    }

    fn expect_entries<'n>(&mut self, node: &'n Node, detail: &str, help: &str) -> &'n [DocumentEntry] {
        match node.entries() {
            Some(entries) => entries,
            None if node.value == NodeValue::Null => &[],
            None => {
                self.report_test_problem(node.span, detail, help);
                &[]
            }
        }
    }

    fn read_test(&mut self, entry: &DocumentEntry) -> Option<StackTest> {
        let mut test = StackTest {
            name: entry.key.clone(),
            span: entry.key_span,
            given: TestSetup::default(),
            plan: None,
            apply: None,
        };
        for part in
            self.expect_entries(&entry.value, "A test is a map", "NAME: { given: …, plan: …, apply: … }")
        {
            match part.key.as_str() {
                "given" => test.given = self.read_given(&part.value),
                "plan" => test.plan = Some(self.read_plan(part)),
                "apply" => test.apply = Some(self.read_apply(part)),
                _ => self.problems.push(unknown_test_key(part, TEST)),
            }
        }
        if test.plan.is_none() && test.apply.is_none() {
            self.report_test_problem(
                entry.key_span,
                "This test checks nothing",
                "plan: { create: [ADDRESS] }",
            );
            return None;
        }
        Some(test)
    }

    fn read_given(&mut self, node: &Node) -> TestSetup {
        let mut given = TestSetup::default();
        for part in self.expect_entries(node, "`given` is a map", "given: { vars: { NAME: VALUE } }") {
            match part.key.as_str() {
                "env" => given.environment = self.read_word(&part.value).map(|said| said.value),
                "vars" => given.vars = self.read_vars(&part.value),
                "world" => given.world = self.read_word(&part.value),
                "applied" => given.applied = self.read_applied(&part.value),
                "now" => given.now = self.read_time(&part.value),
                "actor" => {
                    given.actor = self.read_word(&part.value).map(|said| said.value).unwrap_or_default();
                }
                "branch" => {
                    given.branch = self.read_word(&part.value).map(|said| said.value).unwrap_or_default();
                }
                _ => self.problems.push(unknown_test_key(part, TEST_GIVEN)),
            }
        }
        given
    }

    /// Reads a time, or a day, which begins at midnight (UTC).
    fn read_time(&mut self, node: &Node) -> Option<jiff::Timestamp> {
        let text = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
        let time = text.parse().ok().or_else(|| day().map(|day| day.timestamp()));
        if time.is_none() {
            self.report_test_problem(node.span, "`now` is a time", "now: 2026-12-24T10:00:00Z");
        }
        time
    }

    /// Reads `applied: true`, or `applied: { vars: … }`; `None` for `false`.
    fn read_applied(&mut self, node: &Node) -> Option<PriorApply> {
        match node.scalar().map(|scalar| scalar.text.as_str()) {
            Some("true") => return Some(PriorApply::default()),
            Some("false") => return None,
            _ => {}
        }
        let mut applied = PriorApply::default();
        for part in
            self.expect_entries(node, "`applied` is true, or a map", "applied: { vars: { NAME: VALUE } }")
        {
            match part.key.as_str() {
                "vars" => applied.vars = self.read_vars(&part.value),
                _ => self.problems.push(unknown_test_key(part, TEST_APPLIED)),
            }
        }
        Some(applied)
    }

    /// Returns the content of variable files, by their extensions. A value that may be a list of one, as KDL
    /// has it, stays one.
    fn read_vars(&mut self, node: &Node) -> Vec<(&'static str, String)> {
        let (mut yaml, mut kdl) = (String::new(), String::new());
        for entry in self.expect_entries(node, "`vars` is a map", "vars: { NAME: VALUE }") {
            if let Some(scalar) = entry.value.scalar().filter(|scalar| scalar.sole_argument) {
                let value = match scalar.form {
                    ScalarForm::Boolean => format!("#{}", scalar.text),
                    ScalarForm::Number => scalar.text.to_string(),
                    ScalarForm::Plain | ScalarForm::Text => quoting::kdl_quoted(&scalar.text),
                };
                kdl.extend([&quoting::kdl_quoted(&entry.key), " ", &value, "\n"]);
            } else {
                let (key, value) = (quoting::yaml_double(&entry.key), node_as_yaml(&entry.value));
                yaml.extend([&key, ": ", &value, "\n"]);
            }
        }
        [("yaml", yaml), ("kdl", kdl)].into_iter().filter(|(_, text)| !text.is_empty()).collect()
    }

    fn read_plan(&mut self, entry: &DocumentEntry) -> PlanExpectation {
        let mut wanted = PlanExpectation::new_empty(entry.key_span);
        for part in self.expect_entries(&entry.value, "`plan` is a map", "plan: { create: [ADDRESS] }") {
            let node = &part.value;
            if let Some(action) = ACTIONS.into_iter().find(|action| part.key == *action) {
                wanted.actions.insert(action, self.read_words(node));
                continue;
            }
            match part.key.as_str() {
                "count" => wanted.count = self.read_counts(node),
                "monthly" => wanted.monthly = self.read_monthly(node),
                "blocks" => wanted.blocks = Some(self.read_words(node)),
                "policy" => {
                    for part in self.expect_entries(node, "`policy` is a map", "policy: { NAME: deny }") {
                        let said = self.read_word(&part.value);
                        let verdict = said.filter(|said| {
                            ["pass", "warn", "deny", "unknown"].contains(&said.value.as_str())
                        });
                        match verdict {
                            Some(said) => drop(wanted.policy.insert(part.key.clone(), said)),
                            None => self.report_test_problem(
                                part.value.span,
                                "A policy result is pass, warn, deny or unknown",
                                "NAME: deny",
                            ),
                        }
                    }
                }
                "problems" => wanted.problems = Some(self.read_words(node)),
                _ => self.problems.push(unknown_test_key(part, TEST_PLAN)),
            }
        }
        for (word, said) in &wanted.count {
            if word != "unchanged" && !ACTIONS.contains(&word.as_str()) {
                self.report_test_problem(
                    said.span,
                    "`count` takes actions, and `unchanged`",
                    "count: { create: 2, unchanged: 5 }",
                );
            }
        }
        wanted
    }

    fn read_monthly(&mut self, node: &Node) -> Option<Spanned<MonthlyCostExpectation>> {
        let span = node.span;
        if let Some(scalar) = node.scalar() {
            let amount = self.read_amount(scalar, span)?;
            return Some(Spanned { value: MonthlyCostExpectation::Exactly(amount), span });
        }
        let (mut min, mut max) = (None, None);
        for part in self.expect_entries(node, "`monthly` is an amount, or a map", "monthly: { max: 50 }") {
            let amount = part.value.scalar().and_then(|scalar| self.read_amount(scalar, part.value.span));
            match part.key.as_str() {
                "min" => min = amount,
                "max" => max = amount,
                _ => self.problems.push(unknown_test_key(part, TEST_BILL)),
            }
        }
        Some(Spanned { value: MonthlyCostExpectation::Within(min, max), span })
    }

    fn read_amount(&mut self, scalar: &Scalar, span: Span) -> Option<Name> {
        if scalar.text.parse::<rust_decimal::Decimal>().is_ok() {
            return Some(scalar.text.clone());
        }
        self.report_test_problem(span, "An amount is a number of dollars a month", "monthly: 43.50");
        None
    }

    fn read_apply(&mut self, entry: &DocumentEntry) -> ApplyExpectation {
        let mut wanted =
            ApplyExpectation { span: entry.key_span, outputs: BTreeMap::new(), objects: BTreeMap::new() };
        for part in
            self.expect_entries(&entry.value, "`apply` is a map", "apply: { outputs: { NAME: VALUE } }")
        {
            match part.key.as_str() {
                "outputs" => {
                    for part in
                        self.expect_entries(&part.value, "`outputs` is a map", "outputs: { NAME: VALUE }")
                    {
                        let said =
                            Spanned { value: untyped_node_value(&part.value), span: part.value.span };
                        wanted.outputs.insert(part.key.clone(), said);
                    }
                }
                "objects" => wanted.objects = self.read_counts(&part.value),
                _ => self.problems.push(unknown_test_key(part, TEST_APPLY)),
            }
        }
        wanted
    }

    fn read_counts(&mut self, node: &Node) -> BTreeMap<Name, Spanned<i64>> {
        let mut counts = BTreeMap::new();
        for part in self.expect_entries(node, "Counts are a map", "count: { create: 2 }") {
            let number = part.value.scalar().and_then(|scalar| scalar.text.parse().ok());
            match number.filter(|number| *number >= 0) {
                Some(value) => {
                    counts.insert(part.key.clone(), Spanned { value, span: part.value.span });
                }
                None => {
                    self.report_test_problem(
                        part.value.span,
                        "A count is a whole number",
                        &format!("{}: 2", part.key),
                    );
                }
            }
        }
        counts
    }

    fn read_word(&mut self, node: &Node) -> Option<Spanned<Name>> {
        let Some(scalar) = node.scalar() else {
            self.report_test_problem(node.span, "This must be one word", "env: prod");
            return None;
        };
        Some(Spanned { value: scalar.text.clone(), span: node.span })
    }

    /// Reads a list of words; in KDL, one word is a list of one.
    fn read_words(&mut self, node: &Node) -> Spanned<Vec<Name>> {
        let one =
            node.scalar().filter(|scalar| scalar.sole_argument).map(|scalar| vec![scalar.text.clone()]);
        let items = match &node.value {
            NodeValue::Sequence(items) => {
                items.iter().map(|item| item.scalar().map(|scalar| scalar.text.clone())).collect()
            }
            NodeValue::Bare => Some(Vec::new()),
            _ => one,
        };
        if items.is_none() {
            self.report_test_problem(
                node.span,
                "This must be a list of words",
                "create: [ADDRESS, ADDRESS]",
            );
        }
        Spanned { value: items.unwrap_or_default(), span: node.span }
    }
}

fn unknown_test_key(entry: &DocumentEntry, known: Keywords) -> Diagnostic {
    unknown_key(entry, &word_names(known).collect::<Vec<_>>())
}

/// Returns a value without a schema: scalars by their form.
fn untyped_node_value(node: &Node) -> Value {
    match &node.value {
        NodeValue::Null => Value::Null,
        NodeValue::Bare => Value::Map(ValueMap::new()),
        NodeValue::Scalar(scalar) => infer_value(scalar),
        NodeValue::Sequence(items) => Value::List(items.iter().map(untyped_node_value).collect()),
        NodeValue::Mapping(entries) => Value::Map(
            entries.iter().map(|entry| (entry.key.clone(), untyped_node_value(&entry.value))).collect(),
        ),
    }
}

/// Returns a value as YAML on one line; numbers and strings keep their types.
fn node_as_yaml(node: &Node) -> String {
    let all = |parts: Vec<String>| parts.join(", ");
    match &node.value {
        NodeValue::Null => "null".to_owned(),
        NodeValue::Bare => "{}".to_owned(),
        NodeValue::Scalar(scalar) => match scalar.form {
            ScalarForm::Number | ScalarForm::Boolean => scalar.text.to_string(),
            ScalarForm::Plain if !matches!(infer_value(scalar), Value::Text(_)) => scalar.text.to_string(),
            ScalarForm::Plain => quoting::quote_yaml(&scalar.text, true),
            ScalarForm::Text => quoting::yaml_double(&scalar.text),
        },
        NodeValue::Sequence(items) => format!("[{}]", all(items.iter().map(node_as_yaml).collect())),
        NodeValue::Mapping(entries) => {
            let entry = |entry: &DocumentEntry| {
                format!("{}: {}", quoting::yaml_double(&entry.key), node_as_yaml(&entry.value))
            };
            format!("{{ {} }}", all(entries.iter().map(entry).collect()))
        }
    }
}

#[cfg(test)]
mod tests;
