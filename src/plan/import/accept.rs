//! Acceptance of an import: the draft is parsed as configuration and planned against the live objects; lines that the
//! plan would change are left out, until the plan has nothing to do.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use super::draft::{ImportDraft, MarkOwner, PlaintextSecret, SecretVariable, can_miss, make_draft};
use super::draft_inputs::{DraftInputs, DraftOmissions, unmanageable_objects};
use super::suggestions::{self, ImportOmission, ReferenceSuggestion};
use crate::config::format::blocks::{self, MarkedText, PrintedBlock, PrintedEntry, PrintedValue};
use crate::config::input::request::{FilesRef, LoadRequest};
use crate::config::load::{LoadFailure, load};
use crate::config::stack::model::Stack;
use crate::config::syntax::document::Syntax;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::Entry as LedgerEntry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::Severity;
use crate::model::diagnostic::blocker_code;
use crate::model::live::snapshot::ObjectKey;
use crate::model::source::{Source, SourceId, Sources};
use crate::plan::inputs::{PlanInputs, PlanningOptions};
use crate::plan::model::change::{Action, Change, Plan};
use crate::plan::model::step::LedgerUpdate;
use crate::plan::pipeline::make_plan;

/// The limit on rounds of leaving lines out. Every round leaves out at least one line, and usually most of
/// them, so only a draft that does not converge reaches it.
pub(super) const MAX_ROUNDS: usize = 60;

/// The syntax of written files.
pub type ImportSyntax = Syntax;

/// The objects to import, and the existing stack.
#[derive(Clone, Copy)]
pub struct ImportRequest<'a> {
    /// The tables, the ledger, the live objects, the catalog and the time. Its stack is the existing one;
    /// its options name the project.
    pub inputs: PlanInputs<'a>,
    /// The stack's files; empty for a new stack.
    pub files: &'a Sources,
    /// The inputs of loading besides the files, such as variables from the environment.
    pub request: &'a LoadRequest,
    /// Reads files below the stack's directory.
    pub read: FilesRef<'a>,
    /// The syntax of the written files.
    pub format: ImportSyntax,
    /// Imports only this object, at this address; `None`: all objects that can be managed.
    pub only: Option<(&'a Address, &'a ObjectKey)>,
    /// Imports only objects of this project (its id); `None`: of all projects.
    pub project: Option<&'a Name>,
    /// Objects that must not be imported, with the reason as a sentence.
    pub kept_out: &'a BTreeMap<ObjectKey, String>,
    /// Keys of private map entries that must become secrets, whatever their values look like; `*` means all.
    pub hidden: &'a [String],
}

/// Configuration whose plan has nothing to do, once its objects are adopted.
#[derive(Debug)]
pub struct ImportResult {
    /// Files to write: name and content.
    pub files: Vec<(String, String)>,
    /// The same configuration as blocks, for a caller that writes them elsewhere.
    pub blocks: Vec<PrintedBlock>,
    /// The entries that the ledger must record, in the order of the plan.
    pub entries: Vec<(Address, Box<LedgerEntry>)>,
    /// Variables that replace secrets in the files.
    pub variables: Vec<SecretVariable>,
    /// Private values that are written in plain text.
    pub in_clear: Vec<PlaintextSecret>,
    /// Keys from `hidden` that no private value has.
    pub unmatched: Vec<String>,
    /// Objects and attributes that were left out, with the reasons.
    pub left: Vec<ImportOmission>,
    /// References that could replace ids in the files.
    pub suggestions: Vec<ReferenceSuggestion>,
    /// The stack loaded from the existing and the written files.
    pub stack: Stack,
}

/// Why an import is refused.
#[derive(Debug)]
pub enum ImportError {
    /// The existing stack has errors.
    Rejected(Box<LoadFailure>),
    /// The obstacle, as a sentence.
    Blocked(String),
}

/// A finding of a round: the object, its attribute (`None`: the object as a whole), and as a sentence why
/// the line cannot stay.
pub type DraftRejection = (ObjectKey, Option<Name>, String);

/// The addresses and names that are in use before anything is drafted.
pub(super) struct ImportContext {
    owned: HashMap<ObjectKey, Address>,
    taken: BTreeSet<Address>,
    home: Option<Name>,
    declared: BTreeSet<Name>,
}

impl ImportContext {
    /// Collects the used addresses and names of the stack and its ledger.
    pub(super) fn from_order(order: &ImportRequest<'_>) -> Self {
        let named = order.inputs.stack.named.keys().filter_map(|path| path.strip_prefix("vars."));
        Self {
            owned: owned_addresses(order.inputs.ledger),
            taken: taken_addresses(order),
            home: implied_project(order),
            declared: named.map(Name::new).collect(),
        }
    }

    /// Returns the inputs of a draft.
    pub(super) fn material<'a>(&'a self, order: &ImportRequest<'a>) -> DraftInputs<'a> {
        DraftInputs {
            registry: order.inputs.registry,
            snapshot: order.inputs.snapshot,
            catalog: order.inputs.catalog,
            owned: &self.owned,
            foreign: &order.inputs.options.foreign,
            taken: &self.taken,
            only: order.only,
            project: order.project,
            home: self.home.as_ref(),
            declared: &self.declared,
            hidden: order.hidden,
            listed: false,
        }
    }
}

/// Returns the refusal for a draft that did not converge within `MAX_ROUNDS`.
pub(super) fn unstable_draft_error() -> ImportError {
    ImportError::Blocked(format!(
        "after {MAX_ROUNDS} rounds, a plan of the imported files still has changes"
    ))
}

/// Imports the requested objects.
///
/// # Errors
/// When the existing stack does not load, when the requested object cannot be imported, or when a plan of the
/// drafted files still has changes after `MAX_ROUNDS` rounds.
pub fn accept_order(order: &ImportRequest<'_>) -> Result<ImportResult, ImportError> {
    let known = ImportContext::from_order(order);
    let material = known.material(order);
    let mut omitted = DraftOmissions { objects: order.kept_out.clone(), ..DraftOmissions::default() };
    for _ in 0..MAX_ROUNDS {
        let drafted = make_draft(&material, &omitted);
        let round = DraftRound { order, drafted: &drafted };
        match round.evaluate_draft()? {
            RoundOutcome::Fits(stack, entries) => {
                let (drafted, stack, entries) = match try_list_form(order, &known, &omitted, &entries)? {
                    Some(better) => better,
                    None => (drafted, stack, entries),
                };
                let files = draft_files(order, &drafted)
                    .into_iter()
                    .map(|(name, page)| (name, page.text))
                    .collect();
                let mut left = omitted_parts(omitted);
                let others = unmanageable_objects(&material).into_iter();
                left.extend(others.map(|(key, why)| ImportOmission { key, attribute: None, why }));
                left.extend(suggestions::hidden_attributes(&material, &drafted));
                let suggestions = suggestions::reference_suggestions(&material, &drafted);
                let unmatched = drafted.unmatched_keys(order.hidden);
                let ImportDraft { blocks, variables, in_clear, .. } = drafted;
                let stack = *stack;
                return Ok(ImportResult {
                    files,
                    blocks,
                    entries,
                    variables,
                    in_clear,
                    unmatched,
                    left,
                    suggestions,
                    stack,
                });
            }
            RoundOutcome::Rejects(told) => leave_out(&material, &mut omitted, told)?,
        }
    }
    Err(unstable_draft_error())
}

/// An accepted draft with its stack and the entries for the ledger.
type AcceptedDraft = (ImportDraft, Box<Stack>, Vec<(Address, Box<LedgerEntry>)>);

/// Writes children with a single attribute as lists; `None` where that does not give the same resources. This
/// is tried last: findings about a line with several children are less precise.
fn try_list_form(
    order: &ImportRequest<'_>,
    known: &ImportContext,
    omitted: &DraftOmissions,
    entries: &[(Address, Box<LedgerEntry>)],
) -> Result<Option<AcceptedDraft>, ImportError> {
    let material = DraftInputs { listed: true, ..known.material(order) };
    let drafted = make_draft(&material, omitted);
    let judged = DraftRound { order, drafted: &drafted }.evaluate_draft()?;
    Ok(match judged {
        RoundOutcome::Fits(stack, found) if entry_addresses(&found).eq(entry_addresses(entries)) => {
            Some((drafted, stack, found))
        }
        _ => None,
    })
}

fn entry_addresses(entries: &[(Address, Box<LedgerEntry>)]) -> impl Iterator<Item = &Address> {
    entries.iter().map(|(address, _)| address)
}

/// Leaves out the attributes of the findings, or whole objects where an attribute cannot be omitted.
///
/// # Errors
/// When the only requested object would be left out, or when the findings leave out nothing new: another round
/// would find the same.
pub(super) fn leave_out(
    material: &DraftInputs<'_>,
    omitted: &mut DraftOmissions,
    told: Vec<DraftRejection>,
) -> Result<(), ImportError> {
    let first = told.first().map(|(_, _, why)| why.clone()).unwrap_or_default();
    let mut more = false;
    for (key, attribute, why) in told {
        let kind = material.registry.kind(&key.kind);
        let attribute = attribute.filter(|name| {
            kind.and_then(|kind| kind.attribute(name)).is_some_and(can_miss)
                && !omitted.attributes.contains_key(&(key.clone(), name.clone()))
        });
        more |= match attribute {
            Some(name) => omitted.attributes.insert((key, name), why).is_none(),
            None => omitted.objects.insert(key, why).is_none(),
        };
    }
    let only = material.only.and_then(|(_, key)| omitted.objects.get(key));
    match (more, only) {
        (_, Some(why)) => Err(ImportError::Blocked(why.clone())),
        (false, None) => Err(ImportError::Blocked(first)),
        (true, None) => Ok(()),
    }
}

pub(super) fn omitted_parts(omitted: DraftOmissions) -> Vec<ImportOmission> {
    let objects =
        omitted.objects.into_iter().map(|(key, why)| ImportOmission { key, attribute: None, why });
    let attributes = omitted.attributes.into_iter();
    let attributes =
        attributes.map(|((key, name), why)| ImportOmission { key, attribute: Some(name), why });
    objects.chain(attributes).collect()
}

fn owned_addresses(ledger: &Ledger) -> HashMap<ObjectKey, Address> {
    let mut found = HashMap::new();
    for (address, entry) in &ledger.entries {
        for owned in entry.current.iter().chain(&entry.deposed) {
            found.insert(owned.key(&entry.kind), address.clone());
        }
    }
    found
}

/// Returns the addresses in use: blocks, entries, and whole blocks with `for_each`.
fn taken_addresses(order: &ImportRequest<'_>) -> BTreeSet<Address> {
    let known = order.inputs.stack.resources.keys().chain(order.inputs.ledger.entries.keys());
    let mut taken = BTreeSet::new();
    for address in known {
        let mut parts = address.segments();
        if let (Some(kind), Some(name)) = (parts.next(), parts.next()) {
            taken.insert(Address::new(kind, name));
        }
        taken.insert(address.clone());
    }
    if let Some((address, _)) = order.only {
        taken.remove(address);
    }
    taken
}

/// Returns the id of the project of resources that do not declare one; `None` if it does not exist yet or is not known.
fn implied_project(order: &ImportRequest<'_>) -> Option<Name> {
    let PlanInputs { stack, ledger, options, snapshot, .. } = &order.inputs;
    if let Some(address) = &stack.project {
        return ledger.entries.get(address)?.current.as_ref().map(|owned| owned.id.clone());
    }
    let named = options.project.as_ref().filter(|named| uuid::Uuid::parse_str(named).is_ok()).cloned();
    named.or_else(|| snapshot.default_project.clone())
}

/// The result of a round: the loaded stack with the entries for the ledger, or the findings.
pub(super) enum RoundOutcome {
    Fits(Box<Stack>, Vec<(Address, Box<LedgerEntry>)>),
    Rejects(Vec<DraftRejection>),
}

/// A draft that is checked.
pub(super) struct DraftRound<'r, 'a> {
    pub(super) order: &'r ImportRequest<'a>,
    pub(super) drafted: &'r ImportDraft,
}

impl DraftRound<'_, '_> {
    /// Parses the draft and plans it, twice: once with the adoptions, and once with them recorded.
    ///
    /// # Errors
    /// When the existing stack has errors, or a blocker concerns the plan as a whole.
    pub(super) fn evaluate_draft(&self) -> Result<RoundOutcome, ImportError> {
        let (stack, _) = match self.load() {
            Ok(read) => read,
            Err((rejected, told)) if told.is_empty() => return Err(ImportError::Rejected(rejected)),
            Err((_, told)) => return Ok(RoundOutcome::Rejects(told)),
        };
        let adopt = self.drafted.adopt.iter().map(|(address, key)| (address.clone(), key.id.clone()));
        let options = PlanningOptions { adopt: adopt.collect(), ..self.order.inputs.options.clone() };
        let plan = make_plan(&PlanInputs { stack: &stack, options: &options, ..self.order.inputs });
        let told = self.told_by(&plan, true)?;
        if !told.is_empty() {
            return Ok(RoundOutcome::Rejects(told));
        }
        let entries = self.planned_entries(&plan);
        // The proof: with that in the ledger, the next plan has nothing to do.
        let ledger = self.ledger_with_entries(&entries)?;
        let inputs = self.order.inputs;
        let next = make_plan(&PlanInputs { stack: &stack, ledger: &ledger, ..inputs });
        let told = self.told_by(&next, false)?;
        if !told.is_empty() {
            return Ok(RoundOutcome::Rejects(told));
        }
        Ok(RoundOutcome::Fits(Box::new(stack), entries))
    }

    fn load(&self) -> Result<(Stack, SourceId), (Box<LoadFailure>, Vec<DraftRejection>)> {
        let mut sources = self.order.files.clone();
        let first = sources.next();
        let mut pages: Vec<MarkedText> = Vec::new();
        for (name, page) in draft_files(self.order, self.drafted) {
            sources.add(Source::new(name, page.text.as_str()));
            pages.push(page);
        }
        let mut request = self.order.request.clone();
        let variables = self.drafted.variables.iter();
        request.env_vars.extend(variables.map(|secret| (secret.name.clone(), secret.value.clone())));
        let rejected = match load(self.order.inputs.registry, sources, &request, self.order.read) {
            Ok((stack, _)) => return Ok((stack, first)),
            Err(rejected) => rejected,
        };
        let mut told = Vec::new();
        for problem in rejected.diagnostics.iter().filter(|problem| problem.severity == Severity::Error) {
            let why = match &problem.detail {
                Some(detail) => format!("{}: {detail}", problem.summary),
                None => format!("{}.", problem.summary),
            };
            let spans = problem.labels.iter().map(|label| label.span).filter(|span| span.source >= first);
            let whose = spans.filter_map(|span| {
                let page = pages.get((span.source.0 - first.0) as usize)?;
                let line = rejected.sources.location_of(span)?.line as usize;
                self.drafted.marks.get(*page.marks.get(line.checked_sub(1)?)?)
            });
            let Some((key, attribute)): Option<&MarkOwner> = whose.into_iter().next() else { continue };
            told.push((key.clone(), attribute.map(|attribute| attribute.name.into()), why));
        }
        Err((rejected, told))
    }

    /// Returns a finding for each drafted line that the plan would change or block; with `adopting`, a pure
    /// adoption is no change.
    ///
    /// # Errors
    /// When a blocker concerns the plan as a whole.
    fn told_by(&self, plan: &Plan, adopting: bool) -> Result<Vec<DraftRejection>, ImportError> {
        let mut told = Vec::new();
        for block in &plan.blocks {
            match block.address.as_ref().map(|address| (address, self.drafted.adopt.get(address))) {
                Some((_, Some(key))) => told.push((key.clone(), None, block.text.clone())),
                // Problems of the existing stack are not decided here.
                Some((_, None)) => {}
                None if block.code == blocker_code::DELETION_BUDGET.code => {}
                None => return Err(ImportError::Blocked(block.text.clone())),
            }
        }
        for change in &plan.changes {
            let Some(key) = self.drafted.adopt.get(&change.address) else { continue };
            told.extend(told_of(change, key, adopting));
        }
        Ok(told)
    }

    fn planned_entries(&self, plan: &Plan) -> Vec<(Address, Box<LedgerEntry>)> {
        let adopted = plan.bookkeeping.iter().filter_map(|bookkeeping| match bookkeeping {
            LedgerUpdate::Remember(address, entry) if self.drafted.adopt.contains_key(address) => {
                Some((address.clone(), entry.clone()))
            }
            _ => None,
        });
        adopted.collect()
    }

    fn ledger_with_entries(&self, entries: &[(Address, Box<LedgerEntry>)]) -> Result<Ledger, ImportError> {
        let mut ledger = self.order.inputs.ledger.clone();
        for (address, entry) in entries {
            let record = Record::Adopted { address: address.clone(), entry: entry.clone() };
            apply_record(&mut ledger, &record)
                .map_err(|illegal| ImportError::Blocked(format!("{address}: {}", illegal.reason)))?;
        }
        Ok(ledger)
    }
}

/// Returns the findings that a change causes for an object that is imported as written.
fn told_of(change: &Change, key: &ObjectKey, adopting: bool) -> Vec<DraftRejection> {
    if adopting && change.action == Action::Adopt && change.attributes.is_empty() && change.steps.is_empty()
    {
        return Vec::new();
    }
    if change.attributes.is_empty() || matches!(change.action, Action::Create | Action::Delete) {
        let why = change.reason.clone().unwrap_or_else(|| "managing it would change it".to_owned());
        return vec![(key.clone(), None, format!("{}: {why}.", change.address))];
    }
    let attributes = change.attributes.iter().map(|attribute| {
        let name = attribute.path.split('.').next().unwrap_or_default();
        let why = format!("{}.{} would change.", change.address, attribute.path);
        (key.clone(), Some(Name::new(name)), why)
    });
    attributes.collect()
}

/// Returns the files of a draft: one for each kind, and the header of a new stack.
fn draft_files(order: &ImportRequest<'_>, drafted: &ImportDraft) -> Vec<(String, MarkedText)> {
    let ending = match order.format {
        Syntax::Yaml => "yaml",
        Syntax::Kdl => "kdl",
    };
    let there: BTreeSet<&str> =
        order.files.iter().map(|(_, source)| source.path.rsplit('/').next().unwrap_or_default()).collect();
    let free = |stem: &str| {
        let numbered = (2..).map(|number| format!("{stem}-{number}.stead.{ending}"));
        let mut names = std::iter::once(format!("{stem}.stead.{ending}")).chain(numbered);
        names.find(|name| !there.contains(name.as_str())).unwrap_or_default()
    };
    let variables = variable_blocks(drafted);
    let mut found = Vec::new();
    if there.is_empty() {
        let name = &order.inputs.stack.name;
        let head = match order.format {
            Syntax::Yaml => format!("stead: 1\nstack: {name}\n"),
            Syntax::Kdl => format!("stead 1\nstack {name}\n"),
        };
        found.push((
            format!("stead.{ending}"),
            blocks::print_blocks(order.format, &variables).prepend_header(&head),
        ));
    } else if !variables.is_empty() {
        found.push((free("variables"), blocks::print_blocks(order.format, &variables)));
    }
    let mut kinds: BTreeMap<&str, Vec<PrintedBlock>> = BTreeMap::new();
    for block in &drafted.blocks {
        kinds.entry(&block.word).or_default().push(block.clone());
    }
    let written =
        kinds.into_iter().map(|(kind, blocks)| (free(kind), blocks::print_blocks(order.format, &blocks)));
    found.extend(written);
    found
}

/// Returns the declarations of the variables that replace secrets.
fn variable_blocks(drafted: &ImportDraft) -> Vec<PrintedBlock> {
    let entry = |key: &str, value: Cow<'_, str>| PrintedEntry {
        key: key.to_owned(),
        value: PrintedValue::Text(value.into_owned()),
        mark: usize::MAX,
    };
    let block = |secret: &SecretVariable| PrintedBlock {
        word: "vars".to_owned(),
        name: secret.name.to_string(),
        entries: vec![
            entry("type", Cow::Borrowed("secret")),
            entry("description", Cow::Owned(format!("Live value of {}", secret.describe_uses()))),
        ],
        mark: usize::MAX,
    };
    drafted.variables.iter().map(block).collect()
}
