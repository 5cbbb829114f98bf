//! `moved`, `import` and `removed`: declarations about the past of addresses and objects.
//!
//! In: the lists of the stack and of its modules. Out: `Declarations` that are consistent with the blocks; a wrong
//! entry is reported, and absent. The plan compares them with the ledger later.

use foldhash::{HashMap, HashMapExt};

use super::address_status::{AddressIndex, AddressStatus, duplicate_declaration};
use super::moves::resolve_moves;
use super::transfers::check_transfers;
use crate::config::keywords::{self};
use crate::config::merge::blocks::MergedDocuments;
use crate::config::resolve::blocks::expand::resolve_known;
use crate::config::resolve::blocks::expand::resolve_when;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::resolved::ResolvedConfig;
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::resolve::declarations::{
    DeclarationItem, read_list_items, report_invalid_declaration, resource_at,
};
use crate::config::stack::declarations::{Declarations, ImportDeclaration, RemovedDeclaration};
use crate::model::address::{Address, Name};
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Reads the `import` entries of the stack, and checks them and the `moved` and `removed` entries of all
/// units against the blocks.
pub(in crate::config) fn read_declarations<'d>(
    context: &ConfigContext<'d>,
    merged: &MergedDocuments<'d>,
    resolved: &ResolvedConfig<'d>,
) -> Declarations {
    let evaluator = &resolved.units.evaluator(context, &resolved.scope);
    let addresses = AddressIndex::new(context, &resolved.units);
    let imports = read_list_items(evaluator.context, &merged.imports, keywords::IMPORT);
    let imports =
        imports.into_iter().filter_map(|item| read_import(evaluator, &item, &addresses)).collect();
    // Before the checks, so that an entry that is overridden is not reported.
    let removed = drop_overridden_removals(resolved.units.removed.clone()).into_iter();
    let removed: Vec<RemovedDeclaration> = removed.filter(|removed| is_gone(&addresses, removed)).collect();
    let mut removed =
        each_once(evaluator.context, removed, |removed| (&removed.from, removed.span), "removed");
    let (moved, left) = resolve_moves(&addresses, resolved.units.moved.clone(), &removed);
    removed.extend(left);
    let transfers = check_transfers(&addresses, &resolved.units.transfers, &moved, &removed);
    Declarations {
        transfers,
        moved,
        imports: each_once(evaluator.context, imports, |import| (&import.to, import.span), "imported"),
        removed,
    }
}

/// Reads an entry of `import`. `None` after a problem that was reported, and if its `when` is false or this
/// environment leaves the resource out: the entry is checked in these cases, too.
fn read_import<'d>(
    evaluator: &Evaluator<'_, 'd>,
    item: &DeclarationItem<'d>,
    addresses: &AddressIndex<'_, 'd>,
) -> Option<ImportDeclaration> {
    // The id of an object to adopt cannot depend on objects that the apply creates.
    let early = EvaluationSite::top_level(Some("an `import`"));
    let wanted = match item.get("when") {
        Some(when) => resolve_when(evaluator, when, early)?,
        None => true,
    };
    let node = item.get("to")?;
    let to = resource_at(evaluator.context, node)?;
    let id = match resolve_known(evaluator, item.get("id")?, early)? {
        Value::Text(id) if !id.is_empty() => id,
        Value::Integer(id) => Name::new(id.to_string()),
        _ => {
            let help = "write an id that `stead ls --unmanaged` shows".to_owned();
            report_invalid_declaration(
                evaluator.context,
                item.get("id")?.span,
                "An `id` is one text.".to_owned(),
                help,
            );
            return None;
        }
    };
    let import = ImportDeclaration { to, id, span: item.span };
    match addresses.address_status(&import.to) {
        AddressStatus::One => wanted.then_some(import),
        AddressStatus::Absent | AddressStatus::Broken => None,
        AddressStatus::Many => {
            let help = format!("name one instance: `{}.KEY`", import.to);
            report_invalid_declaration(
                evaluator.context,
                node.span,
                format!("{} has `for_each`.", import.to),
                help,
            );
            None
        }
        AddressStatus::Undeclared => {
            addresses.report_undeclared(&import.to, node.span, "write its block, or remove the entry");
            None
        }
    }
}

/// Reports each entry for an address that an earlier entry names. Returns all entries: no later phase
/// runs after the error.
fn each_once<T>(
    context: &ConfigContext<'_>,
    all: Vec<T>,
    of: impl Fn(&T) -> (&Address, Span),
    what: &str,
) -> Vec<T> {
    let mut first: HashMap<&Address, Span> = HashMap::new();
    for item in &all {
        let (address, span) = of(item);
        if let Some(before) = first.insert(address, span) {
            context.problems.push(duplicate_declaration(
                &format!("{address} is {what} twice."),
                before,
                span,
            ));
        }
    }
    all
}

/// Returns whether no block declares what a `removed` entry names; reports an entry whose block exists, even if
/// this environment leaves it out.
fn is_gone(addresses: &AddressIndex<'_, '_>, removed: &RemovedDeclaration) -> bool {
    let is_gone = addresses.address_status(&removed.from) == AddressStatus::Undeclared;
    if !is_gone {
        let told =
            || addresses.still_declared(&removed.from, removed.span, "remove the block, or this entry");
        addresses.context.problems.in_instance(&removed.module, told);
    }
    is_gone
}

/// Drops a module's entry for an address for which its caller has an entry, too: the outermost entry wins, because
/// a caller cannot edit the module.
fn drop_overridden_removals(mut removed: Vec<RemovedDeclaration>) -> Vec<RemovedDeclaration> {
    let mut sayers: HashMap<Address, Name> = HashMap::new();
    for one in &removed {
        let sayer = sayers.entry(one.from.clone()).or_insert_with(|| one.module.clone());
        if one.module.len() < sayer.len() {
            *sayer = one.module.clone();
        }
    }
    removed.retain(|one| sayers.get(&one.from) == Some(&one.module));
    removed
}
