//! `moved` and `removed` entries of one unit, and the list items and addresses of which declarations consist. In: the
//! merged lists. Out: entries whose addresses are those of the stack; a wrong entry is reported, and absent. Whether
//! they fit the blocks is checked when all units are resolved.

use crate::config::codes;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::input::config_path::ConfigPath;
use crate::config::keywords::{self, Keyword, Keywords};
use crate::config::merge::blocks::MergedDocuments;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::stack::declarations::{
    MovedDeclaration, RemovedAction, RemovedDeclaration, TransferDeclaration, TransferDirection,
};
use crate::config::stack::module_path::{kind_at, module_of};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue};
use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::schema::Kind;
use crate::model::source::Span;

/// Returns the `moved` entries of a stack or of one module instance, with their addresses in the stack: those within the
/// stack, and those that name another stack.
pub(in crate::config) fn read_moves<'d>(
    evaluator: &Evaluator<'_, 'd>,
    merged: &MergedDocuments<'d>,
) -> (Vec<MovedDeclaration>, Vec<TransferDeclaration>) {
    let items = read_list_items(evaluator.context, &merged.moved, keywords::MOVED);
    let (between, within): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| item.get("stack").or_else(|| item.get("from_stack")).is_some());
    let moves = within.iter().filter_map(|item| read_move(evaluator, item)).collect();
    (moves, between.iter().filter_map(|item| read_transfer(evaluator, item)).collect())
}

/// Reads a `moved` entry that names another stack. `None` after a problem that was reported.
fn read_transfer<'d>(
    evaluator: &Evaluator<'_, 'd>,
    item: &DeclarationItem<'d>,
) -> Option<TransferDeclaration> {
    let context = evaluator.context;
    let wrong = |span, detail: &str, help: &str| {
        report_invalid_declaration(context, span, detail.to_owned(), help.to_owned());
    };
    let (direction, node) = match (item.get("stack"), item.get("from_stack")) {
        (Some(node), None) => (TransferDirection::Outgoing, node),
        (None, Some(node)) => (TransferDirection::Incoming, node),
        _ => {
            let detail =
                "A resource moves to another stack (`stack`) or from one (`from_stack`), not both.";
            wrong(item.span, detail, "remove one of the two keys");
            return None;
        }
    };
    if !evaluator.scope.prefix.is_empty() {
        let detail =
            "A module does not know the stacks that use it, so none of its resources moves to another one.";
        wrong(
            item.span,
            detail,
            "write the entry in a file of the stack, with the module's name in the address",
        );
        return None;
    }
    let text = node.scalar().map(|scalar| scalar.text.clone()).filter(|text| !text.contains('$'));
    let Some(shown) = text else {
        wrong(node.span, "It takes the directory of a stack, as a literal.", "write `../web`, for example");
        return None;
    };
    let own = ConfigPath::new(context.root_files.path_from_root());
    let Ok(directory) = own.join(&shown) else {
        let detail = "It takes a relative path with `/` between its parts, within the root directory for shared configuration.";
        wrong(
            node.span,
            detail,
            "write `../web`, for example; `--allow-outside` permits other directories",
        );
        return None;
    };
    if directory.path() == own.path() {
        wrong(
            node.span,
            "This is the directory of the stack itself.",
            "leave the key out to move within the stack",
        );
        return None;
    }
    let (there, here) = (item.get("from")?, item.get("to")?);
    let ((from, kind), (to, other)) = parse_address(context, there).zip(parse_address(context, here))?;
    if kind.map(|kind| kind.name) != other.map(|kind| kind.name) {
        report_other_kind(context, item.span, (&from, kind), (&to, other));
        return None;
    }
    let directory = Name::new(directory.path().to_string_lossy());
    Some(TransferDeclaration { direction, from, to, kind, directory, shown, span: item.span })
}

/// Reports a move between addresses of different kinds.
fn report_other_kind(
    context: &ConfigContext<'_>,
    span: Span,
    (from, kind): (&Address, Option<&Kind>),
    (to, other): (&Address, Option<&Kind>),
) {
    let what = |kind: Option<&Kind>| kind.map_or("module", |kind| kind.name);
    let detail = format!("{from} is a {}, and {to} a {}.", what(kind), what(other));
    let help = "an object cannot change its kind: name two addresses of one kind".to_owned();
    report_invalid_declaration(context, span, detail, help);
}

/// Returns the `removed` entries of a stack or of one module instance, with their addresses in the stack.
pub(in crate::config) fn read_removals<'d>(
    evaluator: &Evaluator<'_, 'd>,
    merged: &MergedDocuments<'d>,
) -> Vec<RemovedDeclaration> {
    let items = read_list_items(evaluator.context, &merged.removed, keywords::REMOVED);
    items.iter().filter_map(|item| read_removal(evaluator, item)).collect()
}

/// Returns the entries of all lists of one keyword. An entry with an unknown key, or without one that it needs, is
/// reported and left out.
pub(in crate::config) fn read_list_items<'d>(
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
    // After an unknown key, the missing one is probably its correct spelling.
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

/// Reports what is wrong in a `moved`, `import` or `removed` entry.
pub(in crate::config) fn report_invalid_declaration(
    context: &ConfigContext<'_>,
    span: Span,
    detail: String,
    help: String,
) {
    let problem = Diagnostic::error(codes::DECLARATION, "a declaration is wrong").with_label(span, "");
    context.problems.push(problem.detail(detail).help(help));
}

/// Reads the address of a resource or a module. The kind is `None` for a module; the result is `None` after a
/// problem that was reported.
fn parse_address(context: &ConfigContext<'_>, node: &Node) -> Option<(Address, Option<&'static Kind>)> {
    let written = node.scalar().map(|scalar| scalar.text.as_str());
    let Some(written) = written else {
        let help = "write an address, such as `vm.web`".to_owned();
        report_invalid_declaration(context, node.span, "An address is one text.".to_owned(), help);
        return None;
    };
    // A reference would have to resolve, but the address of a removed block does not.
    if let Some(bare) = written.strip_prefix('$').filter(|bare| Address::parse_path(bare).is_ok()) {
        let problem = Diagnostic::error(codes::DECLARATION, "a declaration is wrong")
            .with_label(node.span, "")
            .detail("It takes an address, not a reference, so it has no `$`.")
            .help(format!("write `{bare}`"));
        context.problems.push(problem.fix(node.span, bare));
        return None;
    }
    let is_kind = context.registry.top_level().any(|kind| kind.name == written);
    // A single segment is the name of a module, unless it is a kind whose name is missing.
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

/// Reads the address of a resource, or of a whole block with `for_each`. `None` after a problem that was reported,
/// here if it is the address of a module.
pub(in crate::config) fn resource_at(context: &ConfigContext<'_>, node: &Node) -> Option<Address> {
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
            report_other_kind(evaluator.context, item.span, (&from, kind), (&to, other));
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

/// One entry of a `moved`, `import` or `removed` list. It has every key that its keyword needs, and no unknown one.
pub(in crate::config) struct DeclarationItem<'d> {
    entries: &'d [DocumentEntry],
    pub(in crate::config) span: Span,
}

impl<'d> DeclarationItem<'d> {
    /// Returns the value of a key; `None` if an optional key is not written.
    pub(in crate::config) fn get(&self, key: &str) -> Option<&'d Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

fn required_keys_example(words: Keywords) -> String {
    let needed = words.iter().filter(|word| word.needed);
    needed.map(|word| format!("{}: …", word.name)).collect::<Vec<_>>().join(", ")
}
