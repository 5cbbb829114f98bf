//! Finds declarations (`moved`, `import`, `removed`) that have no effect left in any environment, by reading the
//! ledgers, and removes them from the files in memory. A declaration in a shared file stays: other stacks can need it.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::files::stack_files;
use crate::cli::ledger::ledger_io;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::rewrite_files;
use crate::config::edit::{Edit, EditableFile, apply_edits, entry_at};
use crate::config::stack::declarations::Declarations;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::source::{Source, SourceId, Span};
use crate::plan::moves::ledger_moves;

/// Files without the obsolete declarations.
#[derive(Debug)]
pub(in crate::cli) struct PrunedDeclarations {
    /// The stack's own files, each before and after the removal; unchanged ones, too.
    pub(in crate::cli) files: Vec<(Source, Source)>,
    /// Description of each removed declaration; empty if none was obsolete.
    pub(in crate::cli) dropped: Vec<String>,
    /// Obsolete declarations in shared files, which are not edited, each with its file.
    pub(in crate::cli) kept: Vec<String>,
}

/// Status of the declarations according to the ledgers that were read so far.
#[derive(Debug, Default)]
struct DeclarationStatuses {
    // A declaration can be in both maps: done in one environment, open in another.
    done: BTreeMap<Span, String>,
    /// Declarations that some environment still needs.
    open: BTreeSet<Span>,
}

/// Removes the obsolete declarations from a stack's files, in memory. One that some environment still needs stays.
///
/// # Errors
/// When the stack has errors in one of its environments, a ledger cannot be read, or a declaration cannot be removed
/// without another change.
pub(in crate::cli) async fn prune_declarations(
    settings: &Settings,
) -> Result<PrunedDeclarations, CliFailure> {
    let own = stack_files::read_stack(&settings.dir)?.sources;
    let project = LoadedStack::open(&LoadedStack::in_some_environment(settings)?.settings)?;
    let mut verdicts = DeclarationStatuses::default();
    for environment in &project.stack.environments {
        let settings = Settings { env: Some(environment.clone()), ..settings.clone() };
        verdicts.read_ledger_declarations(&LoadedStack::open(&settings)?).await?;
    }
    if project.stack.environments.is_empty() {
        verdicts.read_ledger_declarations(&project).await?;
    }
    let mut found: BTreeMap<SourceId, Vec<Span>> = BTreeMap::new();
    let mut pruned = PrunedDeclarations { files: Vec::new(), dropped: Vec::new(), kept: Vec::new() };
    for (span, text) in verdicts.done {
        if verdicts.open.contains(&span) {
            continue;
        }
        if own.get(span.source).is_some() {
            found.entry(span.source).or_default().push(span);
            pruned.dropped.push(text);
        } else {
            let path = project.stack.sources.get(span.source).map_or("", |source| source.path.as_str());
            pruned.kept.push(format!("{text}, in {path}"));
        }
    }
    for (id, source) in own.iter() {
        let spans = found.remove(&id).unwrap_or_default();
        pruned.files.push((source.clone(), remove_spans(source, &spans)?));
    }
    Ok(pruned)
}

/// Returns a file without the entries at these spans, which are in file order.
fn remove_spans(source: &Source, spans: &[Span]) -> Result<Source, CliFailure> {
    let file = EditableFile { source, registry: &REGISTRY };
    // Removed from last to first, so that the indices of the earlier entries stay valid.
    let removals: Vec<Edit> =
        spans.iter().rev().filter_map(|span| entry_at(&file, *span)).map(Edit::Remove).collect();
    let text =
        apply_edits(&file, &removals).map_err(|refusal| rewrite_files::edit_failure(source, refusal))?;
    Ok(Source::new(source.path.as_str(), text))
}

impl DeclarationStatuses {
    /// Adds the status according to an environment's ledger; a missing ledger counts as empty.
    async fn read_ledger_declarations(&mut self, project: &LoadedStack) -> Result<(), CliFailure> {
        let place =
            ledger_settings::ledger_location(&project.settings, &project.stack, &project.directory)?;
        let ledger = ledger_io::find_ledger(project, &place).await?.map(Ledger::for_plans);
        // If nothing was ever applied, there is nothing to move or to remove, but objects may still be adopted.
        // A stack whose last object moved to another one was applied.
        let unborn =
            ledger.as_ref().is_none_or(|ledger| ledger.entries.is_empty() && ledger.history.is_empty());
        let done = ledger
            .map(|ledger| ledger_moves::finished_declarations(&project.stack, &ledger))
            .unwrap_or_default();
        let spans: BTreeSet<Span> = done.iter().map(|done| done.span).collect();
        let Declarations { moved, imports, removed, transfers } = &project.stack.declarations;
        let needed = moved.iter().map(|moved| moved.span).chain(removed.iter().map(|removed| removed.span));
        let needed = needed.chain(transfers.iter().map(|transfer| transfer.span));
        let needed = needed.filter(|_| !unborn).chain(imports.iter().map(|import| import.span));
        self.open.extend(needed.filter(|span| !spans.contains(span)));
        self.done.extend(done.into_iter().map(|done| (done.span, done.text)));
        Ok(())
    }
}
