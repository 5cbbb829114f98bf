//! `stead version`: prints version, commit, and the versions of the language and the formats.

use serde::Serialize;

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::plan::artifact::saved_plan::SCHEMA_VERSION as PLAN_FORMAT;
use crate::report::json;

/// Version of the language and of the format of ledgers.
const FORMAT_VERSION: u32 = 1;

/// JSON output of `version`.
#[derive(Serialize)]
struct VersionDocument {
    schema_version: json::SchemaVersion,
    version: &'static str,
    /// Commit that the binary was built from; `None` unless the build set it, as for a release.
    commit: Option<&'static str>,
    /// Date of that commit; `None` without a commit.
    date: Option<&'static str>,
    language: u32,
    plan_format: u32,
    ledger_format: u32,
}

/// Prints name, version and commit.
pub(in crate::cli) fn run(session: &CommandContext) -> Exit {
    let document = VersionDocument {
        schema_version: json::SCHEMA_VERSION,
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("STEAD_BUILT_COMMIT"),
        date: option_env!("STEAD_BUILT_DATE"),
        language: FORMAT_VERSION,
        plan_format: PLAN_FORMAT,
        ledger_format: FORMAT_VERSION,
    };
    session.ui.write_result(&if session.ui.json {
        json::to_pretty(&document)
    } else {
        version_text(&document)
    });
    Exit::Done
}

fn version_text(document: &VersionDocument) -> String {
    let of = match (document.commit, document.date) {
        (Some(commit), Some(date)) => format!(", commit {commit} of {date}"),
        // A development build, or one from a package without a checkout, has no commit.
        _ => String::new(),
    };
    let VersionDocument { version, language, plan_format, ledger_format, .. } = document;
    format!(
        "stead {version}{of}\nlanguage {language}, plan format {plan_format}, ledger format {ledger_format}\n"
    )
}
