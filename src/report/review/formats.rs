//! Report formats: their names, their subjects, and the function that writes each of them. A new format is a file and
//! a variant here; the command line and its help list `ReviewFormat::ALL`.

use std::fmt;

use super::finding::{ReviewDiagnostics, plan_findings};
use super::view::PlanReview;
use super::{codequality, gitlab, html, junit, markdown, mermaid, prometheus, sarif, tfjson};
use crate::report::json::{self, PlanDocumentOptions};

/// A format of a review report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewFormat {
    /// Markdown for a comment on a pull request, within GitHub's size limit of 65,536 characters.
    Markdown,
    /// A single HTML page that needs no network.
    Html,
    /// The plan's JSON document, `schemas/plan.schema.json`, with source locations.
    Json,
    /// The plan in the shape of Terraform's JSON, for tools that read it.
    Tfjson,
    /// SARIF findings for code scanning.
    Sarif,
    /// JUnit XML with findings as failed tests.
    Junit,
    /// Counts of changes, as GitLab shows them on a merge request.
    Gitlab,
    /// Findings as a GitLab code quality report.
    CodeQuality,
    /// Prometheus metrics for a text-file collector.
    Prometheus,
    /// A Mermaid flow chart of the order of the steps.
    Mermaid,
}

impl ReviewFormat {
    /// All formats, in the order in which messages list them.
    pub const ALL: &'static [Self] = &[
        Self::Markdown,
        Self::Html,
        Self::Json,
        Self::Tfjson,
        Self::Sarif,
        Self::Junit,
        Self::Gitlab,
        Self::CodeQuality,
        Self::Prometheus,
        Self::Mermaid,
    ];

    /// The formats that support the problems of a configuration.
    pub const FOR_DIAGNOSTICS: &'static [Self] = &[Self::Json, Self::Sarif, Self::Junit, Self::CodeQuality];

    /// Returns the format's name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Json => "json",
            Self::Tfjson => "tfjson",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Gitlab => "gitlab",
            Self::CodeQuality => "codequality",
            Self::Prometheus => "prom",
            Self::Mermaid => "mermaid",
        }
    }

    /// Returns the report of a plan in this format. Untrusted text in it is escaped for the format.
    #[must_use]
    pub fn render_plan(self, of: &PlanReview<'_>) -> String {
        match self {
            Self::Markdown => markdown::markdown_report(of),
            Self::Html => html::html_report(of),
            Self::Json => json::render_plan_document(
                of.plan,
                of.registry,
                PlanDocumentOptions { details: true, ran: of.run_report() },
            ),
            Self::Tfjson => tfjson::tfjson_plan(of),
            Self::Sarif => {
                let gone = of.drift_result().map(|found| found.memory.resolved.as_slice());
                sarif::sarif_log(&plan_findings(of), gone.unwrap_or_default())
            }
            Self::Junit => junit::plan_junit(of),
            Self::Gitlab => gitlab::gitlab_report(of.plan),
            Self::CodeQuality => codequality::code_quality_json(&plan_findings(of)),
            Self::Prometheus => prometheus::plan_metrics(of),
            Self::Mermaid => mermaid::plan_flowchart(of.plan),
        }
    }

    /// Returns the report of a configuration's problems; `None` if the format does not support them.
    #[must_use]
    pub fn render_problems(self, of: &ReviewDiagnostics<'_>) -> Option<String> {
        match self {
            Self::Json => Some(json::diagnostics_document(of.diagnostics, of.sources)),
            Self::Sarif => Some(sarif::sarif_log(&of.findings(), &[])),
            Self::Junit => Some(junit::problems_junit(of)),
            Self::CodeQuality => Some(codequality::code_quality_json(&of.findings())),
            Self::Markdown
            | Self::Html
            | Self::Tfjson
            | Self::Gitlab
            | Self::Prometheus
            | Self::Mermaid => None,
        }
    }
}

impl fmt::Display for ReviewFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
