//! `merge`: the entry point of the phase. In: the parsed documents. Out: `MergedConfig`, one set of blocks for the stack
//! and one for each module, and the chosen environment. It borrows from the documents.

use super::blocks::{MergedDocuments, merge_documents, merge_module};
use super::header::{ChosenEnvironment, HeaderSettings, choose_environment, resolve_header};
use crate::config::diagnostics::collector::DiagnosticCollector;
use crate::config::syntax::document::Document;
use crate::model::address::Name;
use crate::model::schema::Registry;

/// Blocks of the stack and of its modules, and the chosen environment. After a problem it is complete, but may have
/// no name or no environment.
pub(in crate::config) struct MergedConfig<'d> {
    /// Blocks of the stack itself.
    pub(in crate::config) stack: MergedDocuments<'d>,
    /// Blocks of the modules, by unit number; number 0 is the stack, and empty here.
    pub(in crate::config) modules: Vec<MergedDocuments<'d>>,
    pub(in crate::config) header: HeaderSettings,
    pub(in crate::config) environment: ChosenEnvironment<'d>,
}

/// Merges the documents of each unit, the stack's first. `requested` is the environment that was asked for;
/// `None` chooses the default.
pub(in crate::config) fn merge_config<'d>(
    registry: &Registry,
    units: &'d [Vec<Document>],
    requested: Option<&Name>,
    problems: &DiagnosticCollector,
) -> MergedConfig<'d> {
    let (own, others) = units.split_first().map_or((&[][..], &[][..]), |(own, others)| (own, others));
    let stack = merge_documents(registry, own, problems);
    // Module calls hold unit numbers, in which the stack itself is 0: a placeholder keeps the indices aligned.
    let mut modules = vec![MergedDocuments::default()];
    modules.extend(others.iter().map(|documents| merge_module(registry, documents, problems)));
    let header = resolve_header(&stack, problems);
    let environment = choose_environment(&stack.environments, requested, problems);
    MergedConfig { stack, modules, header, environment }
}
