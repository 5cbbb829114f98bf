//! `make`: the whole way from stack, ledger and snapshot to a `Plan`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::blocks::Blocks;
use super::bookkeeping::bookkeeping;
use super::byproducts;
use super::change::{Action, Base, Block, Bookkeeping, Change, Drift, DriftClass, Note, Plan};
use super::clash;
use super::classify::{self, classify};
use super::confirm;
use super::cost::Bill;
use super::cycle;
use super::declared::{self, Declared};
use super::drift::drift;
use super::effects::{Linked, effects};
use super::generated;
use super::guards;
use super::image::image;
use super::kept_secrets;
use super::leftovers::Leftovers;
use super::lines::{Facts, line};
use super::lost_ledger;
use super::observed;
use super::order::{Ordered, critical_path, order};
use super::origins;
use super::policy;
use super::project::Projects;
use super::renames;
use super::replace;
use super::rules;
use super::scope::Scope;
use super::sinks;
use super::survey::Survey;
use super::verdict::{Verdict, sealed_expression};
use crate::config::stack::Stack;
use crate::ledger::entry::Ledger;
use crate::ledger::origins::Here;
use crate::model::address::{Address, Name};
use crate::model::catalog::Catalog;
use crate::model::expression::Expression;
use crate::model::schema::{Effect, Registry};
use crate::model::secret::FingerprintKey;
use crate::model::snapshot::{ObjectKey, Snapshot};

pub use super::wanted::wanted;

/// Everything that a plan is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The tables.
    pub registry: Registry,
    /// What is wanted.
    pub stack: &'a Stack,
    /// What is remembered.
    pub ledger: &'a Ledger,
    /// What is live.
    pub snapshot: &'a Snapshot,
    /// Names and prices as read today.
    pub catalog: &'a Catalog,
    /// Names and prices as pinned in `stead.lock`.
    pub pinned: Option<&'a Catalog>,
    /// What was asked for on the command line.
    pub options: &'a Options,
    /// When the plan is made.
    pub now: Timestamp,
    /// Makes the plan applicable once.
    pub nonce: Uuid,
}

/// What was asked for on the command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Remove everything that is not protected.
    pub destroy: bool,
    /// The deletion budget does not count.
    pub allow_deletes: bool,
    /// Only these and what they need; empty for all.
    pub targets: BTreeSet<Address>,
    /// Not these, nor what needs them.
    pub excluded: BTreeSet<Address>,
    /// Objects that hold data and may be replaced all the same.
    pub replace: BTreeSet<Address>,
    /// Resources that no block declares any more and that may go with the data that they hold.
    pub delete_data: BTreeSet<Address>,
    /// A destroy also deletes what came of the stack's objects.
    pub with_leftovers: bool,
    /// Volumes that claims in clusters made, with the clusters.
    pub claimed: BTreeMap<ObjectKey, ObjectKey>,
    /// The stack runs on a cloud that is thrown away: no data is worth a consent.
    pub is_rehearsal: bool,
    /// Live objects to adopt, by id.
    pub adopt: BTreeMap<Address, Name>,
    /// Resources, or modules, whose objects were let go of and are to be taken back: the ledger knows which.
    pub taken_back: BTreeSet<Address>,
    /// Objects that another ledger owns, and whose: nobody takes them over.
    pub foreign: BTreeMap<ObjectKey, Name>,
    /// Policies whose no does not count.
    pub overrides: BTreeSet<Name>,
    /// Resources whose secrets did not reach their sinks, and are kept: nothing has to be made anew.
    pub undelivered: BTreeSet<Address>,
    /// Secrets whose sinks may hold anything.
    pub overwrite_secrets: BTreeSet<Name>,
    /// Sinks that hold content of somebody else, by the addresses of their secrets, and why they are left alone.
    pub occupied_sinks: BTreeMap<Name, String>,
    /// It is made on a CI runner, whose files are gone when its job ends.
    pub on_runner: bool,
    /// Generated variables whose value nobody has: their sinks and the ledger lost it.
    pub lost_secrets: BTreeSet<Name>,
    /// Addresses of secrets that the ledger keeps, and that no identity here opens.
    pub locked_secrets: BTreeSet<Name>,
    /// The only recipients that the user's settings allow.
    pub allowed_recipients: Option<BTreeSet<Name>>,
    /// The project of project-scoped resources of a stack without a `project` block: a name or id.
    pub project: Option<Name>,
    /// Where the stack is planned from; `None` where its ledger is not on a shared backend.
    pub directory: Option<Here>,
    /// Nothing is to be applied: what is looked up elsewhere may be missing.
    pub only_looks: bool,
    /// Key of the before-images in a plan that is saved before its ledger exists: the file's own.
    pub image_key: Option<FingerprintKey>,
}

/// Makes the plan. Problems that only the live world shows become `Block`s: the plan is always whole.
#[must_use]
pub fn make(inputs: &Inputs<'_>) -> Plan {
    make_plan(inputs, true)
}

/// Makes the plan; `finds_ways` tells whether ways out of a dependency cycle are looked for.
fn make_plan(inputs: &Inputs<'_>, finds_ways: bool) -> Plan {
    let original = inputs;
    let lost = lost_ledger::check(inputs);
    let mut declared = Declared::new(inputs.registry, inputs.stack, inputs.ledger);
    let mut ledger = declared.ledger(inputs.ledger);
    if let Some((extended, added)) = byproducts::adopt(inputs, &declared, &ledger) {
        ledger = Cow::Owned(extended);
        declared.added = added;
    }
    let options = declared::options(inputs.stack, &ledger, inputs.options);
    let inputs = Inputs { ledger: &ledger, options: &options, ..*inputs };
    let survey = Survey::new(inputs, &declared);
    let mut blocks = Blocks::new(&survey);
    declared::block(&survey, &mut blocks);
    let scope = Scope::new(&survey);
    let projects = Projects::new(&survey, &mut blocks);
    let leftovers = Leftovers::of(&survey);
    let verdicts = classify(&survey, &scope, &projects, &leftovers, &mut blocks);
    guards::check(&survey, &verdicts, &mut blocks);
    blocks.extend(lost);
    origins::check(&survey, &verdicts, &mut blocks);
    kept_secrets::check(&survey, &verdicts, &mut blocks);
    clash::collisions(&survey, &verdicts, &mut blocks);
    clash::rules(&survey, &verdicts, &mut blocks);
    rules::check(&survey, &verdicts, &mut blocks);
    let ordered = order(&survey, &verdicts, &leftovers);
    let rulings = policy::of_resources(&survey, &verdicts);
    let mut notes = declared::notes(&survey);
    notes.extend(renames::notes(&survey, &verdicts));
    notes.extend(generated::notes(&survey, &verdicts));
    notes.extend(classify::notes(&survey, &verdicts));
    notes.extend(byproducts::notes(&survey));
    notes.extend(guards::data::notes(&survey, &verdicts));
    notes.extend(sinks::check(&survey, &ordered.steps, &mut blocks));
    notes.extend(kept_secrets::notes(&survey));
    notes.extend(confirm::notes(&survey, &verdicts));
    notes.extend(observed::notes(&survey));
    notes.extend(replace::notes(&survey, &verdicts));
    if let Some(first) = ordered.cycle.first() {
        let plan_again = |inputs: &Inputs<'_>| make_plan(inputs, false);
        if finds_ways {
            cycle::block(&survey, &verdicts, &ordered.cycle, (original, &plan_again), &mut blocks);
        } else {
            blocks.about(cycle::CYCLE, &survey.subjects[first.n], None, String::new(), String::new());
        }
    }
    let base = base(&survey, &projects, &verdicts, &ordered);
    let plan = assemble(&survey, verdicts, ordered, base, Said { blocks: blocks.finish(), notes, scope });
    policy::judged(&survey, plan, rulings)
}

/// What is said of a plan besides its lines.
struct Said {
    blocks: Vec<Block>,
    notes: Vec<Note>,
    scope: Scope,
}

fn base(survey: &Survey<'_>, projects: &Projects, verdicts: &[Verdict<'_>], ordered: &Ordered) -> Base {
    let Inputs { stack, ledger, snapshot, options, .. } = survey.inputs;
    let touched = |n: &usize| !ordered.of[*n].is_empty() || survey.subjects[*n].adoption.is_some();
    let key = options.image_key.as_ref().filter(|_| survey.key().is_none()).unwrap_or(survey.key());
    let image = |n| image(&survey.subjects[n], &verdicts[n], key);
    Base {
        stack: stack.name.clone(),
        environment: stack.environment.name.clone(),
        account: snapshot.account.clone().unwrap_or_default(),
        project: projects.id(survey),
        lineage: ledger.identity.lineage,
        serial: ledger.serial,
        config: stack.digest.clone(),
        reads: stack.reads.clone(),
        objects: (0..survey.subjects.len()).filter(touched).filter_map(image).collect(),
        made_at: survey.inputs.now,
        nonce: survey.inputs.nonce,
        destroy: options.destroy,
        delete_data: options.delete_data.clone(),
    }
}

fn assemble(
    survey: &Survey<'_>,
    verdicts: Vec<Verdict<'_>>,
    ordered: Ordered,
    base: Base,
    said: Said,
) -> Plan {
    let linked = Linked::new(survey, &verdicts);
    let outputs = outputs(survey);
    let mut bill = Bill::new(survey);
    let (mut changes, mut drifts, mut corrections) = (Vec::new(), Vec::new(), Vec::new());
    let moves = &survey.declared.moves;
    corrections.extend((!moves.is_empty()).then(|| Bookkeeping::Move(moves.clone())));
    corrections.extend(kept_secrets::pin(survey));
    let added = survey.declared.added.iter();
    corrections
        .extend(added.map(|(to, added)| Bookkeeping::Remember(to.clone(), Box::new(added.entry.clone()))));
    let (mut unchanged, mut left_out) = (0, 0);
    for (n, (verdict, steps)) in verdicts.into_iter().zip(ordered.of).enumerate() {
        let subject = &survey.subjects[n];
        drifts.extend(drift(survey, subject, &verdict).into_iter().map(|drift| kept_back(drift, &said)));
        corrections.extend(bookkeeping(survey, subject, &verdict));
        let cost = bill.add(subject, &verdict);
        let facts = Facts { steps, effects: effects(survey, subject, &verdict, &linked, &cost), cost };
        match line(survey, n, verdict, facts, &ordered.steps) {
            Some(change) => changes.push(change),
            None if said.scope.contains(n) => unchanged += usize::from(subject.resource.is_some()),
            None => left_out += usize::from(subject.resource.is_some()),
        }
    }
    changes.sort_by_key(danger);
    Plan {
        base,
        changes,
        critical_path: critical_path(&ordered.steps),
        steps: ordered.steps,
        drift: drifts,
        cost: bill.finish(),
        unchanged,
        left_out,
        blocks: said.blocks,
        outputs,
        bookkeeping: corrections,
        policy: Vec::new(),
        notes: said.notes,
        requests: survey.inputs.snapshot.requests,
        fingerprint: String::new(),
    }
}

/// Adds to a difference that an apply would end what keeps that apply from it.
fn kept_back(drift: Drift, said: &Said) -> Drift {
    let ends = matches!(drift.class, DriftClass::Reverted | DriftClass::Gone | DriftClass::Replaced);
    let counts = |block: &&Block| match &block.address {
        Some(address) => *address == drift.address,
        None => !block.only_freezes(),
    };
    let blocked_by = said.blocks.iter().filter(|_| ends).find(counts).map(|block| block.code.clone());
    Drift { blocked_by, ..drift }
}

/// Returns what changes are ordered by: what ends objects comes first, and the worst of each sort before the
/// rest of it.
pub(super) fn danger(change: &Change) -> (Action, bool, Option<Effect>, Action) {
    let sort = match change.action {
        Action::Replace | Action::Delete => Action::Replace,
        action => action,
    };
    let worst = change.effects.first().map(|effect| effect.code);
    (sort, worst.is_none(), worst, change.action)
}

/// Returns the outputs, without the text of their secrets.
fn outputs(survey: &Survey<'_>) -> BTreeMap<Name, Expression> {
    if survey.inputs.options.destroy {
        return BTreeMap::new();
    }
    let all = survey.inputs.stack.outputs.iter();
    all.map(|(name, output)| (name.clone(), sealed_expression(&output.expression, survey.key()))).collect()
}
