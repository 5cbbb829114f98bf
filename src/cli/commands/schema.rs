//! `stead schema`: prints schemas for other tools, which are files of the repository. Tests derive them: those of
//! configuration and of the API from the tables of the kinds, those of the output from its types.

use clap::{Args, ValueEnum};

#[cfg(test)]
use crate::cli::actions::documents::DoDocument;
use crate::cli::command_context::CommandContext;
#[cfg(test)]
use crate::cli::commands::{
    catalog::CatalogDocument,
    output::{OutputsDocument, OutputsSummary},
    secret::SecretDocument,
};
use crate::cli::process::exit_code::Exit;
#[cfg(test)]
use crate::cli::service::builtin_catalog;
#[cfg(test)]
use crate::editor::stack_schema;
use crate::guide::embedded;
#[cfg(test)]
use crate::guide::page_list::DocsDocument;
#[cfg(test)]
use crate::kinds::REGISTRY;
#[cfg(test)]
use crate::report::{
    json::{self, derived_schema},
    units::{list, runs},
    views::{cost, test_run},
};

/// Command-line arguments of `stead schema`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead schema stack > stack.schema.json\n  stead schema openapi > cloud.openapi.json\n  \
    stead schema plan > plan.schema.json\n\n\
    An editor checks and completes a YAML file whose first line is\n  \
    # yaml-language-server: $schema=./stack.schema.json"
)]
pub struct SchemaArgs {
    /// Document to print
    pub document: SchemaDocument,
}

/// A schema that `stead schema` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaDocument {
    /// Files of a stack, as JSON Schema, draft 7.
    Stack,
    /// API of the service, as OpenAPI 3.1.
    Openapi,
    /// JSON output of `plan` and `show`.
    Plan,
    /// One line of the NDJSON output of `plan` and `show`.
    PlanEvent,
    /// One line of the NDJSON output of `apply` and `destroy`; one stack that is blocked prints `plan-event`.
    ApplyEvent,
    /// JSON output of `show --against`.
    PlanDifference,
    /// JSON output of `show DIRECTORY --against`.
    PlanDifferences,
    /// JSON output of `drift`.
    Drift,
    /// JSON output of `ls`.
    Ls,
    /// JSON output of `output`.
    Output,
    /// JSON output of `do`, and one line of its NDJSON output.
    Do,
    /// JSON output of `catalog`.
    Catalog,
    /// JSON output of `cost`.
    Cost,
    /// JSON output of `docs`.
    Docs,
    /// JSON output of `test`.
    Test,
    /// JSON output of `validate`.
    Validate,
    /// JSON output of `history`.
    History,
    /// JSON output of `plan`, `apply`, `destroy` and `drift` with `--all`.
    Units,
    /// JSON output of `validate --all`.
    ValidateUnits,
    /// JSON output of `fmt --all`.
    FmtUnits,
    /// JSON output of `cost --all`.
    CostUnits,
    /// JSON output of `ls --all`.
    LsUnits,
    /// JSON output of `output --all`.
    OutputUnits,
    /// JSON output of `test --all`.
    TestUnits,
    /// JSON output of `stacks`.
    Stacks,
    /// JSON output of `runs`.
    Runs,
    /// JSON output of `runs show`, and of `apply --join`.
    Run,
    /// JSON output of `lock status`.
    Lock,
    /// JSON output of `recover`.
    Recover,
    /// JSON output of `secret get`.
    Secret,
    /// JSON output of a command that ends without a result.
    Error,
}

/// Prints the requested schema.
pub(in crate::cli) fn run(session: &CommandContext, args: &SchemaArgs) -> Exit {
    session.ui.write_result(args.document.committed_schema());
    Exit::Done
}

/// Declares the documents that commands print: the variant, the name of its file in `schemas/`, the title, and the
/// type that writes it.
macro_rules! printed_documents {
    ($($document:ident, $name:literal, $title:literal, $type:ty;)*) => {
        impl SchemaDocument {
            /// Returns the text of the schema's file.
            pub(super) fn committed_schema(self) -> &'static str {
                match self {
                    Self::Stack => embedded::SCHEMAS.text("stack.schema"),
                    Self::Openapi => embedded::SCHEMAS.text("cloud.openapi"),
                    $(Self::$document => embedded::SCHEMAS.text(concat!($name, ".schema")),)*
                }
            }
        }

        /// Returns the schemas that the types derive, by name.
        #[cfg(test)]
        fn derived_schemas() -> Vec<(&'static str, String)> {
            vec![$(($name, derived_schema::render_schema::<$type>($name, $title)),)*]
        }
    };
}

printed_documents! {
    Plan, "plan", "stead plan", json::PlanDocument<'_>;
    PlanEvent, "plan-event", "stead plan event", json::PlanStreamLine<'_>;
    ApplyEvent, "apply-event", "stead apply event", json::ApplyStreamLine<'_>;
    PlanDifference, "plan-difference", "stead show --against", json::PlanDifferenceDocument<'_>;
    PlanDifferences, "plan-differences", "stead show DIRECTORY --against", json::UnitsDifferenceDocument<'_>;
    Drift, "drift", "stead drift", json::DriftDocument<'_>;
    Ls, "ls", "stead ls", json::LsDocument;
    Output, "output", "stead output", OutputsDocument<'_>;
    Do, "do", "stead do", DoDocument<'_>;
    Catalog, "catalog", "stead catalog", CatalogDocument<'_>;
    Cost, "cost", "stead cost", cost::CostDocument<'_>;
    Docs, "docs", "stead docs", DocsDocument;
    Test, "test", "stead test", test_run::TestRunDocument<'_>;
    Validate, "validate", "stead validate", json::DiagnosticsDocument<'_>;
    History, "history", "stead history", json::HistoryDocument<'_>;
    Units, "units", "stead plan --all", json::UnitsDocument<'_>;
    ValidateUnits, "validate-units", "stead validate --all", json::CheckedUnitsDocument<'_>;
    FmtUnits, "fmt-units", "stead fmt --all", json::UnitResultsDocument<'_, json::FmtSummary, json::FormattedFiles<'_>>;
    CostUnits, "cost-units", "stead cost --all", json::UnitResultsDocument<'_, json::CostSummary, cost::CostDocument<'_>>;
    LsUnits, "ls-units", "stead ls --all", json::UnitResultsDocument<'_, json::ListSummary, json::LsDocument>;
    OutputUnits, "output-units", "stead output --all", json::UnitResultsDocument<'_, OutputsSummary, OutputsDocument<'_>>;
    TestUnits, "test-units", "stead test --all", json::UnitResultsDocument<'_, json::TestSummary, test_run::TestRunDocument<'_>>;
    Stacks, "stacks", "stead stacks", list::StacksDocument<'_>;
    Runs, "runs", "stead runs", runs::RunsDocument<'_>;
    Run, "run", "stead runs show", runs::RunDocument<'_>;
    Lock, "lock", "stead lock status", json::LockDocument<'_>;
    Recover, "recover", "stead recover", json::RecoveryDocument<'_>;
    Secret, "secret", "stead secret get", SecretDocument<'_>;
    Error, "error", "stead: a command without a result", json::FailureDocument<'_>;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the committed schema is a file")]

    use super::*;

    #[test]
    fn every_committed_schema_can_be_printed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
        let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        for name in all.map(|name| name.into_string().unwrap()) {
            let file = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
            let document = name.strip_suffix(".schema.json").unwrap_or("openapi");
            let document = <SchemaDocument as ValueEnum>::from_str(document, false).unwrap();
            assert!(document.committed_schema() == file, "{name}");
        }
    }

    #[test]
    fn committed_schemas_are_those_that_the_types_and_tables_derive() {
        let catalogs = builtin_catalog::of_the_built_in_cloud(&REGISTRY);
        let stack = ("stack", stack_schema::render_schema(&REGISTRY, &catalogs));
        for (name, derived) in derived_schemas().into_iter().chain([stack]) {
            let path = format!("{}/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("STEAD_BLESS_GOLDEN").is_some_and(|value| value == "1") {
                std::fs::write(&path, &derived).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap();
            assert!(
                committed == derived,
                "`STEAD_BLESS_GOLDEN=1 cargo test --lib schemas` renews schemas/{name}.schema.json"
            );
        }
    }
}
