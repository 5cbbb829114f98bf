//! Declarations applied to a ledger: which objects are adopted, and which declarations have nothing left to do.
//! Run after the moves, as `import` names new addresses.

use std::borrow::Cow;

use foldhash::{HashSet, HashSetExt};

use crate::config::stack::declarations::{
    ImportDeclaration, MovedDeclaration, RemovedDeclaration, TransferDeclaration, TransferDirection,
};
use crate::config::stack::model::Stack;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::source::Span;
use crate::plan::inputs::PlanningOptions;

/// Adds the objects that declarations adopt to a plan's options. The command line takes precedence for an
/// address, and a destroy adopts nothing.
pub(in crate::plan) fn with_declared_adoptions<'o>(
    stack: &Stack,
    ledger: &Ledger,
    options: &'o PlanningOptions,
) -> Cow<'o, PlanningOptions> {
    let open = |import: &&ImportDeclaration| {
        !is_imported(ledger, import) && !options.adopt.contains_key(&import.to)
    };
    let imports = stack.declarations.imports.iter().filter(open);
    let imports = imports.map(|import| (import.to.clone(), import.id.clone()));
    let mut imports = imports.chain(taken_back(ledger, options)).peekable();
    if options.destroy || imports.peek().is_none() {
        return Cow::Borrowed(options);
    }
    let mut all = options.clone();
    all.adopt.extend(imports);
    Cow::Owned(all)
}

/// Returns the forgotten objects that must be adopted again (`taken_back`), with their ids; for a
/// resource also its children.
fn taken_back(ledger: &Ledger, options: &PlanningOptions) -> impl Iterator<Item = (Address, Name)> {
    let is_meant = |address: &Address| {
        let within = options.taken_back.iter().any(|wanted| address.is_within(wanted));
        within && !ledger.entries.contains_key(address) && !options.adopt.contains_key(address)
    };
    let kept = ledger.kept.iter().filter(move |(address, _)| is_meant(address));
    kept.map(|(address, kept)| (address.clone(), kept.id.clone()))
}

fn is_imported(ledger: &Ledger, import: &ImportDeclaration) -> bool {
    let current = ledger.entries.get(&import.to).and_then(|entry| entry.current.as_ref());
    current.is_some_and(|owned| owned.id == import.id)
}

/// Returns whether a move between two stacks has nothing left to do here: this ledger has nothing to give any more, or has
/// what it gets.
fn is_transferred(ledger: &Ledger, transfer: &TransferDeclaration) -> bool {
    let own = transfer.own_address();
    let has_any = ledger.entries.keys().any(|address| address.is_within(own));
    let is_held = ledger.transfers.holding(own).is_some();
    !is_held && has_any == (transfer.direction == TransferDirection::Incoming)
}

/// A declaration that has nothing left to do and can be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedDeclaration {
    /// The declaration as a phrase: `import of database.main`.
    pub text: String,
    /// The span of the entry.
    pub span: Span,
    /// Whether a module declares it: then it stays for all users of the module.
    pub in_module: bool,
}

/// Returns the declarations that have nothing left to do in this environment, in the order of the files. Other
/// environments may still need them.
#[must_use]
pub fn finished_declarations(stack: &Stack, ledger: &Ledger) -> Vec<CompletedDeclaration> {
    // Before the first apply there is nothing that could have moved.
    if ledger.entries.is_empty() && ledger.history.is_empty() {
        return Vec::new();
    }
    let declarations = &stack.declarations;
    let is_left = |from: &Address| {
        let first = ledger
            .entries
            .range::<str, _>((std::ops::Bound::Included(from.as_str()), std::ops::Bound::Unbounded));
        first
            .map(|(address, _)| address)
            .take_while(|address| address.as_str().starts_with(from.as_str()))
            .any(|address| address.is_within(from) && !stack.resources.contains_key(address))
    };
    let mut found = Vec::new();
    // A module's entry is done when it is for each instance of the module; a stack's own entry, for each address.
    let key = |span: &Span, module: &Name, said: &Address| (*span, module.is_empty().then(|| said.clone()));
    let moved = declarations.moved.iter().map(|MovedDeclaration { from, to, span, module, .. }| {
        let text = format!("move of {from} to {to}");
        (
            from,
            key(span, module, to),
            CompletedDeclaration { text, span: *span, in_module: !module.is_empty() },
        )
    });
    let removed = declarations.removed.iter().map(|RemovedDeclaration { from, span, module, .. }| {
        let text = format!("removal of {from}");
        (
            from,
            key(span, module, from),
            CompletedDeclaration { text, span: *span, in_module: !module.is_empty() },
        )
    });
    let all: Vec<_> = moved.chain(removed).collect();
    let open: HashSet<_> =
        all.iter().filter(|(from, ..)| is_left(from)).map(|(_, key, _)| key.clone()).collect();
    let mut told = HashSet::new();
    found.extend(all.into_iter().filter_map(|(_, key, done)| {
        let is_done = !open.contains(&key) && told.insert(key);
        is_done.then_some(done)
    }));
    let transfers = declarations.transfers.iter().filter(|transfer| is_transferred(ledger, transfer));
    found.extend(transfers.map(|transfer| {
        let TransferDeclaration { from, to, shown, span, .. } = transfer;
        let text = match transfer.direction {
            TransferDirection::Outgoing => format!("move of {from} to {to} of {shown}"),
            TransferDirection::Incoming => format!("move of {from} of {shown} to {to}"),
        };
        CompletedDeclaration { text, span: *span, in_module: false }
    }));
    for import in declarations.imports.iter().filter(|import| is_imported(ledger, import)) {
        let text = format!("import of {}", import.to);
        found.push(CompletedDeclaration { text, span: import.span, in_module: false });
    }
    found.sort_by_key(|done| (done.span.source, done.span.start));
    found
}
