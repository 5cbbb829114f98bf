//! Report formats: one table of their names, their subjects, and the functions that write them. The flag `--report`,
//! its help and its messages derive from it. Each format is one file below this one.

mod codequality;
mod gitlab;
mod html;
mod junit;
mod markdown;
mod mermaid;
mod prometheus;
mod sarif;
mod svg;
mod tfjson;
mod units;

use std::fmt;

pub use self::markdown::{
    comment_marker, difference_markdown, digests_of, fingerprint_of, has_digest_line, marker_of, units_of,
};
pub use self::units::UnitsReport;
use super::finding::{ReviewDiagnostics, plan_findings};
use super::view::PlanReview;
use crate::report::json::{self, PlanDocumentOptions};

/// A format of a review report: one row of `ReviewFormat::ALL`.
#[derive(Debug, Clone, Copy)]
pub struct ReviewFormat {
    /// Name on the command line.
    name: &'static str,
    /// What the format is meant for, as `--help` says it, if the name does not.
    purpose: Option<&'static str>,
    /// What the report contains and who reads it, as sentences.
    summary: &'static str,
    /// Whether a report of an apply contains its outcome; otherwise it describes only the plan.
    has_outcome: bool,
    /// Whether the report shows all attributes of all resources, unchanged ones too.
    is_whole: bool,
    plan: fn(&PlanReview<'_>) -> String,
    /// `None` if the format does not support the problems of a configuration.
    problems: Option<fn(&ReviewDiagnostics<'_>) -> String>,
    /// The report of many units; `None` if the format shows one plan, so that each unit has a file of its own.
    units: Option<fn(&UnitsReport<'_>) -> String>,
}

impl ReviewFormat {
    /// The format of comments on pull requests and of issues: Markdown, within GitHub's size limit.
    pub const MARKDOWN: Self = Self {
        name: "md",
        purpose: Some("for a pull request"),
        summary: "Markdown for a comment on a pull request: blockers, dangerous changes, each change, drift and the order. It stays below the size that GitHub accepts, and says what it leaves out. Its first line, such as `<!-- stead:shop/prod -->`, finds the comment again.",
        has_outcome: true,
        is_whole: false,
        plan: markdown::markdown_report,
        problems: None,
        units: Some(units::units_markdown),
    };

    /// All formats, in the order in which messages list them.
    pub const ALL: &'static [Self] = &[
        Self::MARKDOWN,
        Self {
            name: "html",
            purpose: None,
            summary: "A page that loads nothing from elsewhere: filter to dangerous changes, search, keys `j` and `k`, a map, times and costs, and the plan's JSON inside. For many units, one page: the graph of units with what changes where, then each unit's changes.",
            has_outcome: true,
            is_whole: false,
            plan: html::html_report,
            problems: None,
            units: Some(html::units_html),
        },
        Self {
            name: "json",
            purpose: None,
            summary: "The plan's JSON document (`stead schema plan`) with source locations, or that of the diagnostics.",
            has_outcome: true,
            is_whole: false,
            plan: plan_json,
            problems: Some(|of| json::diagnostics_document(of.diagnostics, of.sources)),
            units: Some(units::units_json),
        },
        Self {
            name: "tfjson",
            purpose: None,
            summary: "The plan in the form of Terraform's JSON (format 1.2), for tools that read that form: all resources with all attributes, before and after; secrets are null and marked as sensitive. Of a saved plan, `show` has only what changes. For many units, a file each: `tfjson=DIR/` names a directory.",
            has_outcome: false,
            is_whole: true,
            plan: tfjson::tfjson_plan,
            problems: None,
            units: None,
        },
        Self {
            name: "sarif",
            purpose: None,
            summary: "SARIF for code scanning: policies, blockers, drift and dangerous changes at their line and column; their identities outlive edits above them.",
            has_outcome: true,
            is_whole: false,
            plan: plan_sarif,
            problems: Some(problems_sarif),
            units: Some(units::units_sarif),
        },
        Self {
            name: "junit",
            purpose: None,
            summary: "JUnit XML, for anything that shows tests: each finding is a failed test.",
            has_outcome: true,
            is_whole: false,
            plan: junit::plan_junit,
            problems: Some(junit::problems_junit),
            units: Some(units::units_junit),
        },
        Self {
            name: "gitlab",
            purpose: None,
            summary: "The number of changes, as GitLab shows it on a merge request.",
            has_outcome: false,
            is_whole: false,
            plan: |of| gitlab::gitlab_report(of.plan),
            problems: None,
            units: Some(units::units_gitlab),
        },
        Self {
            name: "codequality",
            purpose: None,
            summary: "GitLab's code quality report: policies, blockers, drift and dangerous changes at their line.",
            has_outcome: true,
            is_whole: false,
            plan: |of| codequality::code_quality_json(&plan_findings(of)),
            problems: Some(|of| codequality::code_quality_json(&of.findings())),
            units: Some(units::units_code_quality),
        },
        Self {
            name: "prom",
            purpose: None,
            summary: "Metrics in Prometheus' text format, for a text-file collector; written atomically.",
            has_outcome: true,
            is_whole: false,
            plan: prometheus::plan_metrics,
            problems: None,
            units: Some(units::units_metrics),
        },
        Self {
            name: "svg",
            purpose: None,
            summary: "A picture of the plan as a terminal shows it, in color, for documents and slides.",
            has_outcome: false,
            is_whole: false,
            plan: svg::plan_picture,
            problems: None,
            units: None,
        },
        Self {
            name: "mermaid",
            purpose: None,
            summary: "A Mermaid flow chart of the steps and their order.",
            has_outcome: false,
            is_whole: false,
            plan: |of| mermaid::plan_flowchart(of.plan),
            problems: None,
            units: None,
        },
    ];

    /// Returns the formats that support the problems of a configuration.
    pub fn for_diagnostics() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|format| format.problems.is_some())
    }

    /// Returns the format's name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns what the format is meant for, if the name does not say it.
    #[must_use]
    pub const fn purpose(self) -> Option<&'static str> {
        self.purpose
    }

    /// Returns what the report contains and who reads it, as sentences.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.summary
    }

    /// Returns whether a report of an apply contains its outcome; otherwise it describes only the plan.
    #[must_use]
    pub const fn has_outcome(self) -> bool {
        self.has_outcome
    }

    /// Returns whether the report shows all attributes of all resources, unchanged ones too.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.is_whole
    }

    /// Returns the report of a plan in this format. Untrusted text in it is escaped for the format.
    #[must_use]
    pub fn render_plan(self, of: &PlanReview<'_>) -> String {
        (self.plan)(of)
    }

    /// Returns the report of many units; `None` if the format shows one plan only.
    #[must_use]
    pub fn render_units(self, of: &UnitsReport<'_>) -> Option<String> {
        self.units.map(|render| render(of))
    }

    /// Returns the report of a configuration's problems; `None` if the format does not support them.
    #[must_use]
    pub fn render_problems(self, of: &ReviewDiagnostics<'_>) -> Option<String> {
        self.problems.map(|render| render(of))
    }
}

/// Names are unique, and function pointers have no reliable equality.
impl PartialEq for ReviewFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Display for ReviewFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn plan_json(of: &PlanReview<'_>) -> String {
    let options = PlanDocumentOptions { details: true, ran: of.run_report() };
    json::render_plan_document(of.plan, of.registry, options)
}

fn plan_sarif(of: &PlanReview<'_>) -> String {
    let resolved = of.drift_result().map(|found| found.memory.resolved.as_slice()).unwrap_or_default();
    let subject = sarif::SarifSubject { root: of.root, title: &of.title(), resolved, is_complete: true };
    sarif::sarif_log(&plan_findings(of), &subject)
}

fn problems_sarif(of: &ReviewDiagnostics<'_>) -> String {
    let subject =
        sarif::SarifSubject { root: of.root, title: "validate", resolved: &[], is_complete: true };
    sarif::sarif_log(&of.findings(), &subject)
}
