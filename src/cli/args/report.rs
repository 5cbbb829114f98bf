//! The flag `--report`: files that a run writes in addition to its output. Each command accepts only the formats
//! that can show its result.

use std::path::PathBuf;

use clap::Args;

use crate::model::diagnostic::{join_list, nearest_name};
use crate::report::review::ReviewFormat;

/// Format of a report, and the file to write it to.
pub type ReportTarget = (ReviewFormat, PathBuf);

/// Flag for reports of a plan.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct PlanReportArgs {
    /// Reports to write in addition to the output; the help lists the formats.
    #[arg(long = "report", value_name = "FORMAT=PATH", value_parser = of_plan, help = plan_help())]
    pub wanted: Vec<ReportTarget>,
}

/// Flag for reports of a configuration's diagnostics.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ProblemReportArgs {
    /// Reports to write in addition to the output; the help lists the formats.
    #[arg(long = "report", value_name = "FORMAT=PATH", value_parser = of_problems, help = problem_help())]
    pub wanted: Vec<ReportTarget>,
}

/// Returns whether a requested report shows all attributes of all resources.
#[must_use]
pub fn shows_whole(wanted: &[ReportTarget]) -> bool {
    wanted.iter().any(|(format, _)| format.is_whole())
}

fn plan_help() -> String {
    let name = |format: &ReviewFormat| match format.purpose() {
        Some(purpose) => format!("{} ({purpose})", format.name()),
        None => format.name().to_owned(),
    };
    let only_plan = ReviewFormat::ALL.iter().filter(|format| !format.has_outcome());
    format!(
        "Write a report, too: {}; repeatable. After an apply they contain its outcome, except {}, which describe only \
         a plan",
        join_list(&ReviewFormat::ALL.iter().map(name).collect::<Vec<_>>(), "or"),
        join_list(&only_plan.map(name).collect::<Vec<_>>(), "and")
    )
}

fn problem_help() -> String {
    let names: Vec<_> = ReviewFormat::for_diagnostics().map(ReviewFormat::name).collect();
    format!("Write a report, too: {}; repeatable", join_list(&names, "or"))
}

fn of_plan(text: &str) -> Result<ReportTarget, String> {
    parse_report_target(text, ReviewFormat::ALL)
}

fn of_problems(text: &str) -> Result<ReportTarget, String> {
    parse_report_target(text, &ReviewFormat::for_diagnostics().collect::<Vec<_>>())
}

/// Parses `FORMAT=PATH`; the path can contain `=`. Standard output (`-`) is refused, since it has the result.
fn parse_report_target(text: &str, legal: &[ReviewFormat]) -> Result<ReportTarget, String> {
    let names = || legal.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    let Some((name, path)) = text.split_once('=') else {
        return Err(format!(
            "write FORMAT=PATH, such as {}=report.{0}",
            legal.first().map_or("md", |f| f.name())
        ));
    };
    let Some(format) = legal.iter().copied().find(|format| format.name() == name) else {
        return Err(match nearest_name(name, legal.iter().map(|format| format.name())) {
            Some(near) => format!("there is no report format {name} here; did you mean {near}?"),
            None => format!("there is no report format {name} here; there are {}", names()),
        });
    };
    match path {
        "" => Err(format!("{name}= needs a path: {name}=report.{name}")),
        "-" => Err("a report needs the path of a file; --output selects the format of the result itself"
            .to_owned()),
        path => Ok((format, PathBuf::from(path))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_format() {
        assert_eq!(
            plan_help(),
            "Write a report, too: md (for a pull request), html, json, tfjson, sarif, junit, gitlab, codequality, \
             prom, svg or mermaid; repeatable. After an apply they contain its outcome, except tfjson, gitlab, svg and \
             mermaid, which describe only a plan"
        );
        assert_eq!(problem_help(), "Write a report, too: json, sarif, junit or codequality; repeatable");
    }

    #[test]
    fn a_report_argument_is_a_format_and_a_path() {
        assert_eq!(of_plan("md=a=b.md"), Ok((ReviewFormat::MARKDOWN, "a=b.md".into())));
        for (text, says) in [
            ("md", "FORMAT=PATH"),
            ("md=", "needs a path"),
            ("md=-", "needs the path of a file"),
            ("mdd=x", "did you mean md?"),
        ] {
            let error = of_plan(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let error = of_problems("html=x").unwrap_err();
        assert!(error.contains("there are json, sarif, junit, codequality"), "{error}");
    }
}
