//! Expansion of `for_each` and `when`: the instances that each block declares. In: the blocks of a unit. Out: each
//! block in the index, with its keys. Keys must be known before any resource exists, and must not be secret,
//! because they are part of addresses. A block with a problem is in the index as broken, so that references to it
//! are not reported as well.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::expansion_diagnostics::{describe_wait, for_each_problem, illegal_key, not_a_list};
use crate::config::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::merge::blocks::{MergedDocuments, illegal_name, no_names, not_a_block};
use crate::config::resolve::blocks::plain_entries::{by_value, is_new};
use crate::config::resolve::context::block_index::{
    BlockExpansion, BlockIndex, DeclaredBlock, Each, EachValue, ParentInstance, PendingBlock,
};
use crate::config::resolve::context::data_index::DataSources;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, ModuleScope};
use crate::config::resolve::references::resolve_path;
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, named_entries};
use crate::config::syntax::quoting;
use crate::config::types::scalar;
use crate::model::address::{Address, Name, OrderedMap, is_legal_segment};
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::schema::Presence;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Nodes of the budget that a block is charged, besides its address.
const BLOCK_NODES: usize = 4;
/// Nodes of the budget that each key of a `for_each` is charged.
const INSTANCE_NODES: usize = 2;

/// Expands the blocks of one unit and adds them to the index. The only step that writes to the index.
pub(in crate::config) struct BlockDeclarer<'e, 'd> {
    pub(in crate::config) context: &'e ConfigContext<'d>,
    pub(in crate::config) scope: &'e ModuleScope,
    pub(in crate::config) data: &'e DataSources,
    pub(in crate::config) index: &'e mut BlockIndex<'d>,
}

impl<'d> BlockDeclarer<'_, 'd> {
    /// Returns the evaluator over the blocks that are declared so far.
    const fn evaluator(&self) -> Evaluator<'_, 'd> {
        Evaluator { context: self.context, scope: self.scope, blocks: self.index, data: self.data }
    }
}

/// Declares every block of a unit, and the children in its instances. Returns the plain entries whose address
/// derives from a value that is not known before all other blocks are declared.
pub(in crate::config) fn declare_blocks<'d>(
    declarer: &mut BlockDeclarer<'_, 'd>,
    merged: &MergedDocuments<'d>,
) -> Vec<PendingBlock<'d>> {
    let mut next = declarer.index.blocks().len();
    let count = merged.blocks.values().map(|(_, entries)| entries.len()).sum();
    declarer.index.reserve(count);
    let written = merged.blocks.values().flat_map(|(kind, entries)| {
        entries.values().map(|entry| PendingBlock {
            kind,
            address: declarer.evaluator().scoped_address(kind.name, &entry.key),
            entry,
            parent: None,
        })
    });
    let mut blocks = Vec::with_capacity(count);
    blocks.extend(written);
    declare_in_turn(declarer, blocks);
    let mut waiting = Vec::new();
    while next < declarer.index.blocks().len() {
        let children = instance_children(&declarer.evaluator(), next);
        next += 1;
        for child in children {
            match by_value(&declarer.evaluator(), &child) {
                Some(address) => declare_child(declarer, PendingBlock { address, ..child }),
                None => waiting.push(child),
            }
        }
    }
    waiting
}

/// Declares the children that `declare_blocks` returned. One whose value is still unknown keeps the
/// address of its expression.
pub(in crate::config) fn declare_waiting<'d>(
    declarer: &mut BlockDeclarer<'_, 'd>,
    waiting: Vec<PendingBlock<'d>>,
) {
    for child in waiting {
        let address = by_value(&declarer.evaluator(), &child).unwrap_or_else(|| child.address.clone());
        declare_child(declarer, PendingBlock { address, ..child });
    }
}

fn declare_child<'d>(declarer: &mut BlockDeclarer<'_, 'd>, child: PendingBlock<'d>) {
    if is_new(&declarer.evaluator(), &child) {
        declare_block(declarer, child);
    }
}

/// Declares top-level blocks, each after the block over whose instances it iterates. Blocks in a cycle
/// are reported, and broken.
fn declare_in_turn<'d>(declarer: &mut BlockDeclarer<'_, 'd>, blocks: Vec<PendingBlock<'d>>) {
    let mut waiting: HashMap<Address, Vec<PendingBlock<'d>>> = HashMap::new();
    let mut ready = Vec::with_capacity(blocks.len());
    let declared: HashSet<Address> = blocks.iter().map(|block| block.address.clone()).collect();
    for block in blocks {
        if let Some(other) =
            goes_through(&declarer.evaluator(), &block).filter(|other| declared.contains(other))
        {
            waiting.entry(other).or_default().push(block);
        } else {
            ready.push(block);
        }
    }
    while let Some(block) = ready.pop() {
        let address = block.address.clone();
        declare_block(declarer, block);
        ready.extend(waiting.remove(&address).unwrap_or_default());
    }
    // The blocks that remain are in a dependency cycle, or depend on one.
    for block in waiting.into_values().flatten() {
        declarer.context.problems.push(
            Diagnostic::error(codes::DEPENDENCY_CYCLE, "blocks iterate over each other's instances")
                .with_label(
                    block.entry.key_span,
                    format!("the `for_each` of {} depends on this one", block.address),
                )
                .help("give one of the blocks keys of its own"),
        );
        insert_block(declarer, block, BlockExpansion::Broken);
    }
}

/// Returns the block over whose instances a block iterates: `for_each: $vm.web`. `None` for any other `for_each`.
/// It is read from the text, because nothing can be resolved before the order is known.
fn goes_through<'d>(evaluator: &Evaluator<'_, 'd>, block: &PendingBlock<'d>) -> Option<Address> {
    let node = named_entries(&block.entry.value)?.iter().find(|entry| entry.key == "for_each")?;
    let path = node.value.scalar()?.text.strip_prefix('$')?;
    let (root, name) = path.split_once('.')?;
    let known = evaluator.context.registry.top_level().any(|kind| kind.name == root);
    (known && is_legal_segment(name)).then(|| evaluator.scoped_address(root, name))
}

fn insert_block<'d>(
    declarer: &mut BlockDeclarer<'_, 'd>,
    block: PendingBlock<'d>,
    state: BlockExpansion<'d>,
) {
    let context = declarer.context;
    let PendingBlock { kind, address, entry, parent } = block;
    // Once the budget is exhausted, the block counts as broken: it must be in the index for references to it.
    let charged = context
        .budget
        .charge_nodes(BLOCK_NODES)
        .and_then(|()| context.budget.charge_text(address.as_str().len()));
    let state = context
        .report_exceeded(charged, entry.key_span, EvaluationSite::top_level(None))
        .map_or(BlockExpansion::Broken, |()| state);
    declarer.index.insert(DeclaredBlock { kind, address, entry, parent, state });
}

fn declare_block<'d>(declarer: &mut BlockDeclarer<'_, 'd>, block: PendingBlock<'d>) {
    let state = if let Some(body) = named_entries(&block.entry.value) {
        {
            let each = block.parent.as_ref().and_then(|parent| parent.each.as_ref());
            expand_block(&declarer.evaluator(), &block.address, each, body)
                .unwrap_or(BlockExpansion::Broken)
        }
    } else {
        declarer.context.problems.push(no_body(&block));
        BlockExpansion::Broken
    };
    insert_block(declarer, block, state);
}

/// Returns the children in the instances of the block with index `n`. Names that are no address segments are
/// reported; once the budget is exceeded, the children so far.
fn instance_children<'d>(evaluator: &Evaluator<'_, 'd>, n: usize) -> Vec<PendingBlock<'d>> {
    let Some(block) = evaluator.blocks.block_at(n) else { return Vec::new() };
    let mut children = Vec::new();
    for kind in evaluator.context.registry.children(block.kind.name) {
        let Some((_, collection)) = kind.child_of() else { continue };
        let Some(entry) = block.get(collection) else { continue };
        let Some(entries) = named_entries(&entry.value) else {
            evaluator.context.problems.push(match kind.plain_entry {
                Some(_) => not_a_list(&entry.key, &entry.value),
                None => no_names(&entry.key, &entry.value),
            });
            continue;
        };
        let (good, bad): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| is_legal_segment(&entry.key));
        for entry in bad {
            let problem = illegal_name(entry);
            evaluator.context.problems.push(match kind.plain_entry {
                Some(attribute) => not_plain(problem, entry, collection, attribute),
                None => problem,
            });
        }
        for (address, _, each) in block.instances() {
            let each_value = each.map(|each| &each.value);
            let charged = good.iter().try_for_each(|_| match each_value {
                Some(EachValue::Known(value)) => evaluator.context.budget.charge_value(value),
                _ => Ok(()),
            });
            if evaluator
                .context
                .report_exceeded(charged, entry.key_span, EvaluationSite::top_level(None))
                .is_none()
            {
                return children;
            }
            children.extend(good.iter().map(|entry| PendingBlock {
                kind,
                address: address.join(collection).join(&entry.key),
                entry,
                parent: Some(ParentInstance { address: address.clone(), each: each.cloned() }),
            }));
        }
    }
    children
}

/// Returns the instances that a block or a module call declares. `address` is the block's own, `outer` the `each`
/// of its parent. `None` after a problem that was reported.
pub(in crate::config) fn expand_block<'d>(
    evaluator: &Evaluator<'_, 'd>,
    address: &Address,
    outer: Option<&Each<'d>>,
    body: &'d [DocumentEntry],
) -> Option<BlockExpansion<'d>> {
    let find = |key: &str| body.iter().find(|entry| entry.key == key);
    let instance = InstanceContext { address, key: None };
    let site = EvaluationSite { each: outer, instance: Some(instance), early: Some("`for_each`") };
    let Some(for_each) = find("for_each") else {
        let when = match find("when") {
            Some(when) => {
                resolve_when(evaluator, &when.value, EvaluationSite { early: Some("`when`"), ..site })?
            }
            None => true,
        };
        return Some(if when { BlockExpansion::One } else { BlockExpansion::Absent });
    };
    let keys = for_each_keys(evaluator, &for_each.value, site)?;
    evaluator.context.report_exceeded(
        evaluator.context.budget.charge_nodes(INSTANCE_NODES * keys.len()),
        for_each.value.span,
        site,
    )?;
    let mut members = OrderedMap::default();
    members.reserve(keys.len());
    let mut good = true;
    // All keys are checked, also after a wrong one, so that a list is corrected at once.
    for (each, span) in keys {
        if !is_legal_segment(&each.key) {
            evaluator.context.problems.push(illegal_key(&each.key, span));
            good = false;
            continue;
        }
        let key = each.key.clone();
        let present = match find("when") {
            Some(when) => {
                let address = address.join(&key);
                let instance = InstanceContext { address: &address, key: Some(&key) };
                let site =
                    EvaluationSite { each: Some(&each), instance: Some(instance), early: Some("`when`") };
                let Some(present) = resolve_when(evaluator, &when.value, site) else {
                    good = false;
                    continue;
                };
                present
            }
            None => true,
        };
        if members.insert(key.clone(), present.then_some(each)).is_some() {
            evaluator.context.problems.push(
                Diagnostic::error(codes::INSTANCE_KEY, "a key occurs twice in `for_each`")
                    .with_label(span, "")
                    .detail(format!("The key `{key}` names two instances of {address}.")),
            );
            good = false;
        }
    }
    good.then_some(BlockExpansion::Keyed(members))
}

/// Returns the keys of a `for_each` in order, with their values and spans, duplicates included. `None` after a
/// problem that was reported.
fn for_each_keys<'d>(
    evaluator: &Evaluator<'_, 'd>,
    node: &'d Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<Vec<(Each<'d>, Span)>> {
    if node.value == NodeValue::Bare {
        evaluator.context.report_problem(site, for_each_problem(&Value::Null, node.span));
        return None;
    }
    if let NodeValue::Mapping(entries) = &node.value {
        let each = |entry: &'d DocumentEntry| {
            (Each { key: entry.key.clone(), value: EachValue::Written(&entry.value) }, entry.key_span)
        };
        return Some(entries.iter().map(each).collect());
    }
    if let Some(path) = node.scalar().and_then(|scalar| scalar.text.strip_prefix('$')) {
        let root = path.split('.').next().unwrap_or_default();
        if evaluator.context.registry.top_level().any(|kind| kind.name == root) {
            // The keys of another block are known, although its objects are not.
            let site = EvaluationSite { early: None, ..site };
            return each_instance(evaluator, path, node, site);
        }
    }
    if let NodeValue::Sequence(items) = &node.value {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let value = resolve_known(evaluator, item, site)?;
            keys.push((each_text(evaluator.context, value, item.span, site)?, item.span));
        }
        return Some(keys);
    }
    match resolve_known(evaluator, node, site)? {
        Value::Map(map) => Some(
            map.into_iter()
                .map(|(key, value)| (Each { key, value: EachValue::Known(value) }, node.span))
                .collect(),
        ),
        Value::List(items) => items
            .into_iter()
            .map(|item| Some((each_text(evaluator.context, item, node.span, site)?, node.span)))
            .collect(),
        Value::Text(text) if node.scalar().is_some_and(|scalar| scalar.sole_argument) => {
            Some(vec![(each_text(evaluator.context, Value::Text(text), node.span, site)?, node.span)])
        }
        other => {
            evaluator.context.report_problem(site, for_each_problem(&other, node.span));
            None
        }
    }
}

fn each_text<'d>(
    context: &ConfigContext<'d>,
    value: Value,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<Each<'d>> {
    match value {
        Value::Text(_) | Value::Integer(_) => {
            let key = Name::new(value.to_string());
            Some(Each { value: EachValue::Known(Value::Text(key.clone())), key })
        }
        other => {
            context.report_problem(site, for_each_problem(&other, span));
            None
        }
    }
}

/// Returns the keys of another block's instances, each with the instance as its value. `path` has no `$`. `None`
/// after a problem that was reported.
fn each_instance<'d>(
    evaluator: &Evaluator<'_, 'd>,
    path: &str,
    node: &'d Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<Vec<(Each<'d>, Span)>> {
    let names: Vec<Name> = path.split('.').map(Name::new).collect();
    let Expression::List(parts) = resolve_path(evaluator, &names, node.span, site)?.expression else {
        evaluator.context.report_problem(
            site,
            Diagnostic::error(codes::FOR_EACH, "`for_each` needs a collection to iterate over")
                .with_label(node.span, "")
                .detail(format!("`${path}` is one resource, or an attribute that is not known yet."))
                .help("name a block that has `for_each` itself, or a variable or local"),
        );
        return None;
    };
    let each = |part| match part {
        Expression::Reference(reference) => {
            let key = Name::new(reference.address.last());
            Some((Each { key, value: EachValue::Instance(reference.address) }, node.span))
        }
        _ => None,
    };
    Some(parts.into_iter().filter_map(each).collect())
}

/// Resolves a node that decides which resources exist: its value must be known, and not secret. `None` after a
/// problem that was reported.
pub(in crate::config) fn resolve_known<'d>(
    evaluator: &Evaluator<'_, 'd>,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<Value> {
    let expression = resolve_untyped(evaluator, node, site)?.expression;
    match expression {
        Expression::Value(value) if value.is_secret() && !value.is_unknown() => {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(codes::SECRET_DECIDES, "a secret determines which resources exist")
                    .with_label(node.span, "")
                    .detail("Addresses and plans would show it.")
                    .help("use a value that is not secret"),
            );
            None
        }
        Expression::Value(value) if !value.is_unknown() => Some(value),
        expression => {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(codes::NOT_KNOWN_YET, "this must be known before any resource exists")
                    .with_label(node.span, "")
                    .detail(describe_wait(&expression))
                    .help("use a variable, or a local that refers to no resource"),
            );
            None
        }
    }
}

/// Resolves `when`, which is true or false. `None` after a problem that was reported.
pub(in crate::config) fn resolve_when<'d>(
    evaluator: &Evaluator<'_, 'd>,
    node: &'d Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<bool> {
    let value = resolve_known(evaluator, node, site)?;
    if let Value::Bool(when) = value {
        return Some(when);
    }
    let problem = Diagnostic::error(codes::WHEN, "`when` is true or false").with_label(node.span, "");
    let problem = problem.detail(format!("This is {}.", value.type_name()));
    let condition = match &value {
        Value::Text(text) if !text.contains(['\\', '$']) && text.contains([' ', '=']) => {
            let text = text.replace('"', "'");
            evaluator.context.parse_program(&text).is_ok().then(|| format!("\"${{{text}}}\""))
        }
        Value::Text(text) if matches!(text.as_str(), "true" | "false") => Some(text.to_string()),
        _ => None,
    };
    evaluator.context.report_problem(
        site,
        match condition {
            Some(right) => problem.help(format!("write `{right}`")).fix(node.span, right),
            None => problem.help("write an expression such as `${env == 'prod'}`"),
        },
    );
    None
}

/// Returns the diagnostic of a block that is no map: often it is an attribute of the kind with too little indentation.
fn no_body(block: &PendingBlock<'_>) -> Diagnostic {
    let (key, kind) = (&block.entry.key, block.kind);
    let scalar = block.entry.value.scalar();
    let problem = not_a_block(key, &block.entry.value);
    match (scalar, kind.attribute(key)) {
        (Some(scalar), Some(attribute)) if attribute.is_writable() && block.parent.is_none() => problem
            .detail(format!("`{key}` is an attribute of a {}, but a name is expected here.", kind.name))
            .help(format!(
                "indent it below the name of its block: `{}: {{ NAME: {{ {key}: {} }} }}`",
                kind.name,
                quoting::quote_yaml(&scalar.text, true)
            )),
        _ if problem.help.as_ref().is_some_and(|help| help.contains("NAME: …")) => {
            let first = kind.attributes.iter().find(|one| one.presence == Presence::Required);
            let first = first.map_or("ATTRIBUTE", |attribute| attribute.name);
            problem
                .detail(format!(
                    "{} holds attributes, each with its value.",
                    scalar::with_article(kind.name)
                ))
                .help(format!("write `{key}: {{ {first}: … }}`"))
        }
        _ => problem,
    }
}

/// Replaces the hint of an illegal name: a plain entry is listed, or gets a name of its own.
fn not_plain(problem: Diagnostic, entry: &DocumentEntry, collection: &str, attribute: &str) -> Diagnostic {
    let said = entry.value.entries().and_then(|inner| inner.iter().find(|inner| inner.key == attribute));
    let text = said.and_then(|said| said.value.scalar()).map_or(&entry.key, |scalar| &scalar.text);
    let text = if text.is_empty() { "…".to_owned() } else { quoting::quote_yaml(text, true) };
    let problem = Diagnostic { fix: None, ..problem };
    problem.help(format!(
        "list the values, `{collection}: [{text}]`, or give them names: `{collection}: {{ NAME: {{ {attribute}: {text} }} }}`"
    ))
}
