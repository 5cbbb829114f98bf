//! `moved`, `import` and `removed`: declarations about the past of addresses and objects.
//!
//! In: the lists of the stack and of its modules. Out: `Declarations` that are consistent with the blocks.
//! The plan compares them with the ledger later.

use std::collections::HashMap;

use super::address_status::{AddressIndex, AddressStatus, duplicate_declaration};
use super::moves::resolve_moves;
use crate::config::diagnostics::codes;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::keywords::{self, Keyword, Keywords};
use crate::config::merge::blocks::MergedDocuments;
use crate::config::resolve::blocks::expand::resolve_known;
use crate::config::resolve::blocks::expand::resolve_when;
use crate::config::resolve::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::resolved::ResolvedConfig;
use crate::config::resolve::scope::EvaluationSite;
use crate::config::stack::declarations::{
    Declarations, ImportDeclaration, MovedDeclaration, RemovedAction, RemovedDeclaration,
};
use crate::config::stack::module_path::{kind_at, module_of};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue};
use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::schema::Kind;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Reads all declarations of the stack, and checks them and those of its modules against the blocks.
pub(in crate::config) fn read_declarations<'d>(
    context: &ConfigContext<'d>,
    merged: &MergedDocuments<'d>,
    resolved: &ResolvedConfig<'d>,
) -> Declarations {
    let evaluator = &resolved.units.evaluator(context, &resolved.scope);
    let ground = AddressIndex::new(context, &resolved.units);
    let imports = read_list_items(evaluator.context, &merged.imports, keywords::IMPORT);
    let imports = imports.into_iter().filter_map(|item| read_import(evaluator, &item, &ground)).collect();
    let removed = drop_overridden_removals(resolved.units.removed.clone()).into_iter();
    let removed: Vec<RemovedDeclaration> = removed.filter(|removed| is_gone(&ground, removed)).collect();
    let mut removed =
        each_once(evaluator.context, removed, |removed| (&removed.from, removed.span), "removed");
    let (moved, left) = resolve_moves(&ground, resolved.units.moved.clone(), &removed);
    removed.extend(left);
    Declarations {
        moved,
        imports: each_once(evaluator.context, imports, |import| (&import.to, import.span), "imported"),
        removed,
    }
}

/// Returns the `moved` entries of a stack or of one module instance, with their addresses in the stack.
pub(in crate::config) fn read_moves<'d>(
    evaluator: &Evaluator<'_, 'd>,
    merged: &MergedDocuments<'d>,
) -> Vec<MovedDeclaration> {
    let items = read_list_items(evaluator.context, &merged.moved, keywords::MOVED);
    items.iter().filter_map(|item| read_move(evaluator, item)).collect()
}

/// Returns the `removed` entries of a stack or of one module instance, with their addresses in the stack.
pub(in crate::config) fn read_removals<'d>(
    evaluator: &Evaluator<'_, 'd>,
    merged: &MergedDocuments<'d>,
) -> Vec<RemovedDeclaration> {
    let items = read_list_items(evaluator.context, &merged.removed, keywords::REMOVED);
    items.iter().filter_map(|item| read_removal(evaluator, item)).collect()
}

/// Returns the entries of all lists of one keyword, and reports unknown and missing keys.
fn read_list_items<'d>(
    context: &ConfigContext<'d>,
    lists: &[&'d DocumentEntry],
    words: Keywords,
) -> Vec<DeclarationItem<'d>> {
    let mut found = Vec::new();
    for list in lists {
        let nodes = match &list.value.value {
            NodeValue::Sequence(nodes) => nodes.as_slice(),
            NodeValue::Null => &[],
            _ => {
                let example = format!("write `{}: [{{ {} }}]`", list.key, required_keys_example(words));
                report_invalid_declaration(
                    context,
                    list.value.span,
                    format!("`{}` is a list.", list.key),
                    example,
                );
                continue;
            }
        };
        found.extend(nodes.iter().filter_map(|node| read_list_item(context, &list.key, node, words)));
    }
    found
}

fn read_list_item<'d>(
    context: &ConfigContext<'d>,
    word: &str,
    node: &'d Node,
    words: Keywords,
) -> Option<DeclarationItem<'d>> {
    let example = || format!("write `{word}: [{{ {} }}]`", required_keys_example(words));
    let Some(entries) = node.entries() else {
        report_invalid_declaration(
            context,
            node.span,
            format!("Each entry of `{word}` is a map."),
            example(),
        );
        return None;
    };
    let mut good = true;
    for entry in entries.iter().filter(|entry| keywords::find_word(words, &entry.key).is_none()) {
        context.problems.push(unknown_word(entry, words));
        good = false;
    }
    let is_missing = |word: &&Keyword| word.needed && !entries.iter().any(|entry| entry.key == word.name);
    let missing = words.iter().find(is_missing).map(|word| word.name);
    if let Some(missing) = missing.filter(|_| good) {
        report_invalid_declaration(
            context,
            node.span,
            format!("This entry of `{word}` has no `{missing}`."),
            example(),
        );
        good = false;
    }
    good.then_some(DeclarationItem { entries, span: node.span })
}

fn report_invalid_declaration(context: &ConfigContext<'_>, span: Span, detail: String, help: String) {
    let problem = Diagnostic::error(codes::DECLARATION, "a declaration is wrong").with_label(span, "");
    context.problems.push(problem.detail(detail).help(help));
}

/// Reads the address of a resource or a module, with its kind if it is a resource.
fn parse_address(context: &ConfigContext<'_>, node: &Node) -> Option<(Address, Option<&'static Kind>)> {
    let written = node.scalar().map(|scalar| scalar.text.as_str());
    let Some(written) = written else {
        let help = "write an address, such as `vm.web`".to_owned();
        report_invalid_declaration(context, node.span, "An address is one text.".to_owned(), help);
        return None;
    };
    if let Some(bare) = written.strip_prefix('$').filter(|bare| Address::parse_path(bare).is_ok()) {
        let problem = Diagnostic::error(codes::DECLARATION, "a declaration is wrong")
            .with_label(node.span, "")
            .detail("It takes an address, not a reference, so it has no `$`.")
            .help(format!("write `{bare}`"));
        context.problems.push(problem.fix(node.span, bare));
        return None;
    }
    let is_kind = context.registry.top_level().any(|kind| kind.name == written);
    let is_name = is_legal_segment(written) && !is_kind;
    let address = match if is_name { Address::parse_path(written) } else { Address::parse(written) } {
        Ok(address) => address,
        Err(error) => {
            report_invalid_declaration(
                context,
                node.span,
                format!("{error}."),
                "write `vm.web`, for example".to_owned(),
            );
            return None;
        }
    };
    let kind = kind_at(&context.registry, &address);
    if kind.is_none() && !module_of(&context.registry, written).1.is_empty() {
        no_kind(context, node.span, &address);
        return None;
    }
    Some((address, kind))
}

/// Reads the address of a resource or of several.
fn resource_at(context: &ConfigContext<'_>, node: &Node) -> Option<Address> {
    let (address, kind) = parse_address(context, node)?;
    if kind.is_none() {
        no_kind(context, node.span, &address);
        return None;
    }
    Some(address)
}

fn no_kind(context: &ConfigContext<'_>, span: Span, address: &Address) {
    let known = context.registry.top_level().map(|kind| kind.name);
    let help = nearest_name(address.root(), known).map_or_else(
        || "an address begins with a kind: `vm.web`".to_owned(),
        |near| {
            let rest = address.as_str().split_once('.').map_or("NAME", |(_, rest)| rest);
            format!("did you mean `{near}.{rest}`?")
        },
    );
    report_invalid_declaration(
        context,
        span,
        format!("`{address}` does not begin with a kind of resource."),
        help,
    );
}

fn read_move<'d>(evaluator: &Evaluator<'_, 'd>, item: &DeclarationItem<'d>) -> Option<MovedDeclaration> {
    let (there, here) = (item.get("from")?, item.get("to")?);
    let ((from, kind), (to, other)) =
        parse_address(evaluator.context, there).zip(parse_address(evaluator.context, here))?;
    let module = &evaluator.scope.prefix;
    match (kind, other) {
        // A misspelt kind looks like the name of a module.
        (None, Some(_)) if from.as_str().contains('.') => no_kind(evaluator.context, there.span, &from),
        (Some(_), None) if to.as_str().contains('.') => no_kind(evaluator.context, here.span, &to),
        _ if kind.map(|kind| kind.name) != other.map(|kind| kind.name) => {
            let what = |kind: Option<&Kind>| kind.map_or("module", |kind| kind.name);
            let detail = format!("{from} is a {}, and {to} a {}.", what(kind), what(other));
            let help = "an object cannot change its kind: name two addresses of one kind".to_owned();
            report_invalid_declaration(evaluator.context, item.span, detail, help);
        }
        _ if from == to => {
            let help = "remove the entry".to_owned();
            report_invalid_declaration(
                evaluator.context,
                item.span,
                format!("{from} moves to its own address."),
                help,
            );
        }
        _ => {
            let (from, to) = (from.in_module(module), to.in_module(module));
            return Some(MovedDeclaration {
                from,
                to,
                kind,
                whole: false,
                module: module.clone(),
                span: item.span,
            });
        }
    }
    None
}

fn read_import<'d>(
    evaluator: &Evaluator<'_, 'd>,
    item: &DeclarationItem<'d>,
    ground: &AddressIndex<'_, 'd>,
) -> Option<ImportDeclaration> {
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
    match ground.address_status(&import.to) {
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
            ground.report_undeclared(&import.to, node.span, "write its block, or remove the entry");
            None
        }
    }
}

fn read_removal<'d>(
    evaluator: &Evaluator<'_, 'd>,
    item: &DeclarationItem<'d>,
) -> Option<RemovedDeclaration> {
    let (from, _) = parse_address(evaluator.context, item.get("from")?)?;
    let node = item.get("action")?;
    let action = match node.scalar().map(|scalar| scalar.text.as_str()) {
        Some("forget") => RemovedAction::Forget,
        Some("delete") => RemovedAction::Delete,
        _ => {
            let help = "write `forget` (the object stays live) or `delete` (it is deleted)".to_owned();
            report_invalid_declaration(
                evaluator.context,
                node.span,
                "`action` is one of two words.".to_owned(),
                help,
            );
            return None;
        }
    };
    let module = evaluator.scope.prefix.clone();
    Some(RemovedDeclaration { from: from.in_module(&module), action, module, span: item.span })
}

/// Reports the second and every later entry for the same address, and keeps the first.
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

/// Returns whether no block declares what a `removed` entry names; reports it otherwise.
fn is_gone(addresses: &AddressIndex<'_, '_>, removed: &RemovedDeclaration) -> bool {
    let is_gone = addresses.address_status(&removed.from) == AddressStatus::Undeclared;
    if !is_gone {
        let told =
            || addresses.still_declared(&removed.from, removed.span, "remove the block, or this entry");
        addresses.context.problems.in_instance(&removed.module, told);
    }
    is_gone
}

/// Drops a module's entry for an address for which its caller has an entry, too: the outermost entry wins.
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

/// One entry of a list.
struct DeclarationItem<'d> {
    entries: &'d [DocumentEntry],
    span: Span,
}

impl<'d> DeclarationItem<'d> {
    fn get(&self, key: &str) -> Option<&'d Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

fn required_keys_example(words: Keywords) -> String {
    let needed = words.iter().filter(|word| word.needed);
    needed.map(|word| format!("{}: …", word.name)).collect::<Vec<_>>().join(", ")
}
