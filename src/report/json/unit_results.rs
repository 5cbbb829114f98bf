//! The JSON documents of commands that do the same for each unit or stack of a repository: `fmt`, `cost`, `ls` and `test`
//! with `--all`. Each result is the document of the command for that unit alone.

use rust_decimal::Decimal;
use serde::Serialize;

use super::units::UnitErrorEntry;
use crate::model::address::Name;
use crate::report::json_value::JsonDecimal;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::units::review::UnitFailure;

/// How a command ended for a unit, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It has no result, or the result is that something is wrong.
    Failed,
    /// It changed files, or would.
    Changed,
    /// It is done, and there was nothing to change.
    Done,
}

/// The result of a command for one unit, or for one stack if environments make no difference.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnitResult<'a, R> {
    /// Name of the stack; null if its files cannot be read.
    pub stack: Option<&'a Name>,
    /// Name of the environment; null if the result is that of the stack in all environments.
    pub environment: Option<&'a Name>,
    /// Directory relative to the root of the repository; null for a unit whose stack or environment is gone.
    pub directory: Option<&'a Name>,
    /// How the command ended.
    pub status: ResultStatus,
    /// Exit code that the command would have for this unit alone.
    pub exit: u8,
    /// The result; null if there is none.
    pub result: Option<R>,
    /// Why there is no result; null if there is one.
    error: Option<UnitErrorEntry<'a>>,
}

impl<'a, R> UnitResult<'a, R> {
    /// Returns the result of a stack in an environment; `environment` is `None` for all of them.
    #[must_use]
    pub const fn new(
        (stack, environment, directory): (Option<&'a Name>, Option<&'a Name>, Option<&'a Name>),
        (status, exit): (ResultStatus, u8),
        result: Option<R>,
    ) -> Self {
        Self { stack, environment, directory, status, exit, result, error: None }
    }

    /// Returns it with the reason why there is no result.
    #[must_use]
    pub fn failed_because(self, failure: UnitFailure<'a>) -> Self {
        Self { error: Some(UnitErrorEntry::new(failure)), ..self }
    }
}

/// The document of a command over many units.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnitResultsDocument<'a, S, R> {
    schema_version: SchemaVersion,
    summary: &'a S,
    /// The units, worst first.
    units: &'a [UnitResult<'a, R>],
}

/// Returns the document of a command over many units.
#[must_use]
pub fn unit_results_document<S: Serialize, R: Serialize>(
    summary: &S,
    units: &[UnitResult<'_, R>],
) -> String {
    to_pretty(&UnitResultsDocument { schema_version: SCHEMA_VERSION, summary, units })
}

/// What the stacks of `stead fmt --all` have together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FmtSummary {
    /// Number of stacks.
    pub stacks: usize,
    /// Number of stacks with a file that cannot be formatted; none of their files is changed.
    pub failed: usize,
    /// Number of files that are not in canonical form.
    pub files: usize,
    /// Whether they were rewritten.
    pub written: bool,
}

/// The files of a stack that are not in canonical form.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FormattedFiles<'a> {
    /// Their paths.
    pub files: Vec<&'a str>,
}

/// What the units of `stead cost --all` cost together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CostSummary {
    /// Number of units.
    pub units: usize,
    /// Number of units whose cost is not known.
    pub failed: usize,
    /// Dollars a month before an apply; null with `--offline`.
    monthly_before: Option<JsonDecimal>,
    /// Dollars a month after an apply.
    monthly_after: JsonDecimal,
    /// Number of billed resources without a known price; they are in no sum.
    pub unpriced: usize,
}

impl CostSummary {
    /// Returns the summary of some units; `before` is `None` if that is not known.
    #[must_use]
    pub fn new(
        (units, failed): (usize, usize),
        before: Option<Decimal>,
        (after, unpriced): (Decimal, usize),
    ) -> Self {
        Self {
            units,
            failed,
            monthly_before: before.map(JsonDecimal),
            monthly_after: JsonDecimal(after),
            unpriced,
        }
    }
}

/// What the units of `stead ls --all` have together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListSummary {
    /// Number of units.
    pub units: usize,
    /// Number of units whose objects cannot be listed.
    pub failed: usize,
    /// Number of managed objects.
    pub objects: usize,
}

/// How the tests of all stacks ended.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestSummary {
    /// Number of stacks.
    pub stacks: usize,
    /// Number of stacks with a failed test, or whose tests cannot be read.
    pub failed: usize,
    /// Number of stacks without a test.
    pub untested: usize,
    /// Number of tests that passed.
    pub tests_passed: usize,
    /// Number of tests that failed.
    pub tests_failed: usize,
}
