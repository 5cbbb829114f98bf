//! The stack, and each module instance that it uses, as a unit. In: merged blocks and a scope with values of
//! variables. Out: the unit's blocks, resources and declarations in `ResolvedUnits`, and the outputs of a module.
//! An instance is resolved in a scope of its own; its name is the prefix of its addresses. The order inside a unit
//! is: locals and module calls that need no live object, blocks, the other locals and calls, resources.

use std::collections::BTreeMap;

use super::values::module_inputs::ModuleInput;
use crate::config::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::input::gather::source_of;
use crate::config::keywords;
use crate::config::merge::blocks::{MergedDocuments, not_a_block};
use crate::config::resolve::blocks::expand::{
    BlockDeclarer, declare_blocks, declare_waiting, expand_block, resolve_known,
};
use crate::config::resolve::blocks::resource::resolve_blocks;
use crate::config::resolve::context::block_index::{BlockExpansion, Each, ModuleExpansion};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::resolved::ResolvedUnits;
use crate::config::resolve::context::scope::{EvaluationSite, LocalBinding, LocalValue, ModuleScope};
use crate::config::resolve::declarations::{read_moves, read_removals};
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::resolve::values::data_sources::{declared_lookups, resolve_lookups};
use crate::config::resolve::values::locals::LocalOrCall;
use crate::config::resolve::values::locals::{order_values, resolve_local};
use crate::config::resolve::values::module_inputs::{module_variables, resolve_inputs};
use crate::config::stack::module_path::is_taken;
use crate::config::syntax::document::{DocumentEntry, Node, named_entries};
use crate::config::syntax::limits::{MAX_INSTANCES, MAX_MODULE_DEPTH};
use crate::model::address::Name;
use crate::model::address::name_map::NameMap;
use crate::model::budget::BudgetCharge;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Maximum number of blocks in a stack, including those of its modules.
const MAX_BLOCKS: usize = 1_000_000;

/// Module instance that is to be resolved: its inputs and names, from the caller's scope.
struct ModuleInstance<'d> {
    /// Unit number of the module.
    module: usize,
    prefix: Name,
    name_prefix: Name,
    /// Names by which overrides refer to the instance; empty if none does.
    override_names: Vec<Name>,
    inputs: BTreeMap<Name, ModuleInput>,
    /// Budget charge of the inputs.
    cost: BudgetCharge,
    call: &'d DocumentEntry,
}

/// Resolves a stack or a module: its locals, its blocks, the modules that it uses, its resources. Adds its names to
/// `scope`, whose variables are already bound, and what it declares to `units`.
pub(in crate::config) fn resolve_unit<'d>(
    context: &ConfigContext<'d>,
    merged: &MergedDocuments<'d>,
    scope: &mut ModuleScope,
    units: &mut ResolvedUnits<'d>,
) {
    let ordered = order_values(context, &merged.locals, &merged.uses);
    for (name, value) in ordered.unresolved {
        scope.bind_unresolved(name, value);
    }
    for step in ordered.early {
        resolve_step(context, step, scope, units);
    }
    let own = units.blocks.blocks().len();
    // References to lookups are checked before the lookups' own attributes can be resolved.
    units.data.data.extend(declared_lookups(scope, &merged.data));
    let waiting = declare_blocks(&mut block_declarer(context, scope, units), merged);
    let own = own..units.blocks.blocks().len();
    for step in ordered.late {
        resolve_step(context, step, scope, units);
    }
    // The blocks of the modules come in between, so there are two ranges.
    let first = units.blocks.blocks().len();
    declare_waiting(&mut block_declarer(context, scope, units), waiting);
    // Taken out meanwhile, as the evaluator borrows the units.
    let mut resources = std::mem::take(&mut units.resources);
    for blocks in [own, first..units.blocks.blocks().len()] {
        resolve_blocks(&units.evaluator(context, scope), blocks, &mut resources);
    }
    units.resources = resources;
    let evaluator = units.evaluator(context, scope);
    let lookups = resolve_lookups(&evaluator, &merged.data);
    let ((moved, transfers), removed) = (read_moves(&evaluator, merged), read_removals(&evaluator, merged));
    units.data.data.extend(lookups);
    units.moved.extend(moved);
    units.transfers.extend(transfers);
    units.removed.extend(removed);
}

const fn block_declarer<'e, 'd>(
    context: &'e ConfigContext<'d>,
    scope: &'e ModuleScope,
    units: &'e mut ResolvedUnits<'d>,
) -> BlockDeclarer<'e, 'd> {
    BlockDeclarer { context, scope, data: &units.data, index: &mut units.blocks }
}

fn resolve_step<'d>(
    context: &ConfigContext<'d>,
    step: LocalOrCall<'d>,
    scope: &mut ModuleScope,
    units: &mut ResolvedUnits<'d>,
) {
    match step {
        LocalOrCall::Local(entry) => {
            let local = resolve_local(&units.evaluator(context, scope), entry);
            scope.bind_local(&entry.key, local);
        }
        LocalOrCall::Call(entry) => resolve_use(context, entry, scope, units),
    }
}

fn resolve_use<'d>(
    context: &ConfigContext<'d>,
    entry: &'d DocumentEntry,
    scope: &mut ModuleScope,
    units: &mut ResolvedUnits<'d>,
) {
    let value = if let Some(outputs) = resolve_call(context, entry, scope, units) {
        let known = context.known_now(&outputs, entry.key_span).unwrap_or_default();
        scope.use_values.insert(entry.key.clone(), known);
        LocalValue::Ready(outputs)
    } else {
        units.module_expansions.insert(prefix_of(scope, &entry.key, None), ModuleExpansion::Broken);
        LocalValue::Broken
    };
    scope.uses.insert(entry.key.clone(), LocalBinding { value, origin: None });
}

/// Resolves all instances of a module call. Returns its outputs: one map, or one for each key; `None` after a
/// problem that was reported.
fn resolve_call<'d>(
    context: &ConfigContext<'d>,
    entry: &'d DocumentEntry,
    scope: &mut ModuleScope,
    units: &mut ResolvedUnits<'d>,
) -> Option<Expression> {
    let Some(body) = named_entries(&entry.value) else {
        context.problems.push(not_a_block(&entry.key, &entry.value));
        return None;
    };
    let (module, with) = read_call(context, entry, body)?;
    let evaluator = units.evaluator(context, scope);
    let state = expand_block(&evaluator, &evaluator.scoped_address("use", &entry.key), None, body);
    let expansion = ModuleExpansion::from_state(state.as_ref());
    units.module_expansions.insert(prefix_of(scope, &entry.key, None), expansion);
    let call = ModuleCall { module, entry, body, with };
    match state? {
        BlockExpansion::Broken => None,
        BlockExpansion::Absent => {
            units.absent_modules.push(prefix_of(scope, &entry.key, None));
            Some(Expression::Map(NameMap::new()))
        }
        BlockExpansion::One => {
            let instance = bind_instance(&units.evaluator(context, scope), &call, None)?;
            resolve_instance(context, instance, scope.depth, units)
        }
        BlockExpansion::Keyed(keys) => {
            scope.keyed.insert(entry.key.clone());
            let mut outputs = Vec::new();
            for (key, each) in keys {
                let Some(each) = each else { continue };
                if is_taken(&context.registry, &key) {
                    context.problems.push(reserved_module_name(&key, entry.key_span));
                    return None;
                }
                let instance = bind_instance(&units.evaluator(context, scope), &call, Some((&key, &each)))?;
                outputs.push((key, resolve_instance(context, instance, scope.depth, units)?));
            }
            Some(Expression::Map(outputs.into()))
        }
    }
}

/// Call of a module (`use`) that was read.
struct ModuleCall<'d> {
    /// Unit number of the module.
    module: usize,
    entry: &'d DocumentEntry,
    body: &'d [DocumentEntry],
    /// Entries of `with`: the inputs.
    with: &'d [DocumentEntry],
}

/// Resolves the inputs and the names of one instance in the caller's scope. `each` is `None` without `for_each`.
/// Returns `None` after a problem that was reported.
fn bind_instance<'d>(
    evaluator: &Evaluator<'_, 'd>,
    call: &ModuleCall<'d>,
    each: Option<(&Name, &Each<'d>)>,
) -> Option<ModuleInstance<'d>> {
    let ModuleCall { module, entry, body, with } = *call;
    let (key, each) = each.unzip();
    let address = evaluator.scoped_address("use", &entry.key);
    let place = key.map_or_else(|| address.clone(), |key| address.join(key));
    let instance = InstanceContext { address: &place, key };
    let site = EvaluationSite { each, instance: Some(instance), early: None };
    let before = evaluator.context.budget.mark();
    let inputs = resolve_inputs(evaluator, module, with, &entry.key, site);
    let cost = evaluator.context.budget.cost_since(before);
    let name_prefix = instance_name_prefix(evaluator, entry, body, key, site)?;
    let prefix = prefix_of(evaluator.scope, &entry.key, key);
    let override_names =
        evaluator.context.overrides.instance_names(&evaluator.scope.override_names, &entry.key, key);
    Some(ModuleInstance { module, prefix, name_prefix, override_names, inputs, cost, call: entry })
}

fn prefix_of(scope: &ModuleScope, name: &Name, key: Option<&Name>) -> Name {
    let parts = [scope.prefix.as_str(), name, key.map_or("", Name::as_str)];
    Name::new(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("."))
}

/// Returns the name prefix of an instance's resources: its `name`, else the call's name and the instance's key,
/// after the prefix of the enclosing modules. `None` after a problem that was reported.
fn instance_name_prefix<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entry: &'d DocumentEntry,
    body: &'d [DocumentEntry],
    key: Option<&Name>,
    site: EvaluationSite<'_, 'd>,
) -> Option<Name> {
    let own_name = match body.iter().find(|word| word.key == "name") {
        Some(word) => {
            Some(module_name(evaluator, &word.value, EvaluationSite { early: Some("`name`"), ..site })?)
        }
        None => None,
    };
    let default = [Some(&entry.key), key].into_iter().flatten().map(Name::as_str);
    let last: Vec<&str> = own_name.as_ref().map_or_else(|| default.collect(), |name| vec![name.as_str()]);
    let parts =
        [evaluator.scope.name_prefix.as_str()].into_iter().chain(last).filter(|part| !part.is_empty());
    Some(Name::new(parts.collect::<Vec<_>>().join("-")))
}

fn module_name<'d>(
    evaluator: &Evaluator<'_, 'd>,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Option<Name> {
    match resolve_known(evaluator, node, site)? {
        Value::Text(name) => Some(name),
        Value::Integer(name) => Some(Name::new(name.to_string())),
        other => {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(codes::MODULE, "the `name` of a module is one text")
                    .with_label(node.span, "")
                    .detail(format!("This is {}.", other.type_name()))
                    .help("write the prefix of its resources' names: `name: shop`"),
            );
            None
        }
    }
}

/// Returns the unit number of a module call, and the entries of its `with`; empty if it has none. `None` after a
/// problem that was reported.
fn read_call<'d>(
    context: &ConfigContext<'d>,
    entry: &'d DocumentEntry,
    body: &'d [DocumentEntry],
) -> Option<(usize, &'d [DocumentEntry])> {
    for key in body.iter().filter(|key| keywords::find_word(keywords::USE, &key.key).is_none()) {
        context.problems.push(unknown_word(key, keywords::USE));
    }
    if is_taken(&context.registry, &entry.key) {
        context.problems.push(reserved_module_name(&entry.key, entry.key_span));
        return None;
    }
    let Some(source) = source_of(entry) else {
        context.problems.push(
            Diagnostic::error(codes::MODULE, "a `use` entry does not name its module")
                .with_label(entry.key_span, "")
                .help("add `source: ../modules/NAME`, a directory"),
        );
        return None;
    };
    let module = *context.module_calls.get(&source.span)?;
    let with = match body.iter().find(|key| key.key == "with") {
        Some(with) => {
            let entries = named_entries(&with.value);
            if entries.is_none() {
                context.problems.push(not_a_block("with", &with.value));
            }
            entries?
        }
        None => &[],
    };
    unknown_inputs(context, module, with, source);
    Some((module, with))
}

fn unknown_inputs<'d>(
    context: &ConfigContext<'d>,
    module: usize,
    with: &'d [DocumentEntry],
    source: &Node,
) {
    let Some(merged) = context.modules.get(module) else { return };
    for entry in with.iter().filter(|entry| !merged.vars.contains_key(&entry.key)) {
        let problem = Diagnostic::error(codes::UNDECLARED_VARIABLE, "this variable is not declared")
            .with_label(entry.key_span, "")
            .with_label(source.span, "by this module")
            .detail(format!("The module declares no variable `{}`.", entry.key));
        let known = merged.vars.keys().map(Name::as_str);
        context.problems.push(match nearest_name(&entry.key, known.clone()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")).fix(entry.key_span, near),
            None => problem.help(match known.collect::<Vec<_>>().as_slice() {
                [] => "it takes none: remove the line".to_owned(),
                known => format!("it takes: {}", known.join(", ")),
            }),
        });
    }
}

/// Resolves one instance of a module that a unit of depth `caller_depth` uses. Returns its outputs, those with a
/// problem as unknown values; `None` if a limit is exceeded, which is reported once.
fn resolve_instance<'d>(
    context: &ConfigContext<'d>,
    instance: ModuleInstance<'d>,
    caller_depth: usize,
    units: &mut ResolvedUnits<'d>,
) -> Option<Expression> {
    let ModuleInstance { module, prefix, name_prefix, override_names, inputs, cost, call } = instance;
    let depth = caller_depth + 1;
    if units.exhausted || context.problems.are_closed() {
        return None;
    }
    units.instances += 1;
    if depth > MAX_MODULE_DEPTH
        || units.instances > MAX_INSTANCES
        || units.blocks.blocks().len() > MAX_BLOCKS
    {
        // Reported once: otherwise each further instance would report it.
        if !std::mem::replace(&mut units.exhausted, true) {
            context.problems.push(too_much(depth, units.instances, call.key_span));
        }
        return None;
    }
    let merged = context.modules.get(module)?;
    let directory = context.module_dirs.get(module).cloned().unwrap_or_default();
    let files = context.root_files.in_dir(&directory.path());
    let mut scope = ModuleScope {
        prefix: prefix.clone(),
        name_prefix,
        override_names,
        files,
        directory,
        depth,
        cost,
        ..ModuleScope::default()
    };
    let names = units.blocks.enter_module(prefix.clone());
    context.problems.enter_instance(prefix, call.key_span);
    scope.variables = module_variables(&units.evaluator(context, &scope), &merged.vars, inputs, call);
    resolve_unit(context, merged, &mut scope, units);
    let mut outputs = Vec::new();
    let evaluator = units.evaluator(context, &scope);
    for (name, entry) in &merged.outputs {
        let resolved = resolve_untyped(&evaluator, &entry.value, EvaluationSite::top_level(None));
        // The problem was reported: an unknown value causes no further ones.
        let broken = || Expression::Value(Value::unknown(Vec::new()));
        outputs.push((name.clone(), resolved.map_or_else(broken, |resolved| resolved.expression)));
    }
    context.problems.leave_instance();
    units.blocks.leave_module(names);
    // The values in the scope end here; those that resources and outputs keep were charged on their own.
    context.budget.refund(scope.cost + scope.variables.cost);
    Some(Expression::Map(outputs.into()))
}

fn reserved_module_name(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::MODULE, "a module cannot have this name")
        .with_label(span, "")
        .detail(format!("`{name}` means something else at the beginning of an address."))
        .help(format!("write `{name}_module`, for example"))
}

fn too_much(depth: usize, instances: usize, span: Span) -> Diagnostic {
    let why = if depth > MAX_MODULE_DEPTH {
        format!("Modules can be nested at most {MAX_MODULE_DEPTH} levels deep.")
    } else if instances > MAX_INSTANCES {
        format!("A stack has at most {MAX_INSTANCES} instances of modules.")
    } else {
        format!("A stack has at most {MAX_BLOCKS} blocks, including those of its modules.")
    };
    Diagnostic::error(codes::MODULE_LIMIT, "there are too many modules")
        .with_label(span, "")
        .detail(why)
        .help("use `for_each` on blocks, or several stacks")
}
