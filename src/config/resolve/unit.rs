//! `use`: a directory as a block. Each instance is resolved in a scope of its own, and leaves its
//! resources, with its name in front of their addresses, and its outputs.

use std::collections::BTreeMap;

use super::values::module_inputs::ModuleInput;
use crate::config::check::declarations::declarations_here;
use crate::config::diagnostics::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::input::gather::source_of;
use crate::config::keywords;
use crate::config::merge::blocks::{MergedDocuments, not_a_block};
use crate::config::resolve::block_index::{BlockExpansion, Each, ModuleExpansion};
use crate::config::resolve::blocks::expand::{
    declare_blocks, declare_waiting, expand_block, resolve_known,
};
use crate::config::resolve::blocks::resource::resolve_blocks;
use crate::config::resolve::evaluator::Evaluator;
use crate::config::resolve::scope::{EvaluationSite, LocalBinding, LocalValue, ModuleScope};
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::resolve::values::data_sources::{declare_data, resolve_data};
use crate::config::resolve::values::locals::LocalOrCall;
use crate::config::resolve::values::locals::{order_values, resolve_local};
use crate::config::resolve::values::module_inputs::{module_variables, resolve_inputs};
use crate::config::stack::module_path::is_taken;
use crate::config::syntax::document::{DocumentEntry, Node, named_entries};
use crate::model::address::Name;
use crate::model::budget::BudgetCharge;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Maximum nesting of modules.
const MAX_MODULE_DEPTH: usize = 16;
/// Maximum number of module instances in a stack.
const MAX_INSTANCES: usize = 10_000;
/// Maximum number of blocks in a stack, including those of its modules.
const MAX_BLOCKS: usize = 1_000_000;

/// Module instance that is being resolved.
struct ModuleInstance<'d> {
    module: usize,
    prefix: Name,
    front: Name,
    spoken: Vec<Name>,
    inputs: BTreeMap<Name, ModuleInput>,
    /// Budget charge of the inputs.
    cost: BudgetCharge,
    call: &'d DocumentEntry,
}

/// Resolves a stack or a module: its locals, its blocks, the modules that it uses, its resources.
pub(in crate::config) fn resolve_unit<'d>(evaluator: &mut Evaluator<'d>, merged: &MergedDocuments<'d>) {
    let ordered = order_values(evaluator, &merged.locals, &merged.uses);
    for step in ordered.early {
        resolve_step(evaluator, step);
    }
    evaluator.scope.first_block = evaluator.index.blocks().len();
    declare_data(evaluator, &merged.data);
    let waiting = declare_blocks(evaluator, merged);
    let own = evaluator.scope.first_block..evaluator.index.blocks().len();
    for step in ordered.late {
        resolve_step(evaluator, step);
    }
    // The blocks of the modules come in between, so there are two ranges.
    let first = evaluator.index.blocks().len();
    declare_waiting(evaluator, waiting);
    for blocks in [own, first..evaluator.index.blocks().len()] {
        let resources = resolve_blocks(evaluator, blocks);
        evaluator.made.extend(resources);
    }
    resolve_data(evaluator, &merged.data);
    declarations_here(evaluator, merged);
}

fn resolve_step<'d>(evaluator: &mut Evaluator<'d>, step: LocalOrCall<'d>) {
    match step {
        LocalOrCall::Local(entry) => resolve_local(evaluator, entry),
        LocalOrCall::Call(entry) => resolve_use(evaluator, entry),
    }
}

fn resolve_use<'d>(evaluator: &mut Evaluator<'d>, entry: &'d DocumentEntry) {
    let value = if let Some(outputs) = resolve_call(evaluator, entry) {
        let known = evaluator.known_now(&outputs, entry.key_span).unwrap_or_default();
        evaluator.scope.use_values.insert(entry.key.clone(), known);
        LocalValue::Ready(outputs)
    } else {
        evaluator.used.insert(prefix_of(evaluator, &entry.key, None), ModuleExpansion::Broken);
        LocalValue::Broken
    };
    evaluator.scope.uses.insert(entry.key.clone(), LocalBinding { value, origin: None });
}

fn resolve_call<'d>(evaluator: &mut Evaluator<'d>, entry: &'d DocumentEntry) -> Option<Expression> {
    let Some(body) = named_entries(&entry.value) else {
        evaluator.problems.push(not_a_block(&entry.key, &entry.value));
        return None;
    };
    let (module, with) = read_call(evaluator, entry, body)?;
    let address = evaluator.scoped_address("use", &entry.key);
    let state = expand_block(evaluator, &address, None, body);
    evaluator
        .used
        .insert(prefix_of(evaluator, &entry.key, None), ModuleExpansion::from_state(state.as_ref()));
    let state = state?;
    let instances: Vec<(Option<Name>, Option<Each<'d>>)> = match state {
        BlockExpansion::Broken => return None,
        BlockExpansion::Absent => {
            evaluator.left_out.push(prefix_of(evaluator, &entry.key, None));
            Vec::new()
        }
        BlockExpansion::One => vec![(None, None)],
        BlockExpansion::Keyed(keys) => {
            evaluator.scope.keyed.insert(entry.key.clone());
            keys.into_iter().filter_map(|(key, each)| Some((Some(key), Some(each?)))).collect()
        }
    };
    let keyed = evaluator.scope.keyed.contains(&entry.key);
    let mut found = BTreeMap::new();
    for (key, each) in instances {
        if let Some(key) = key.as_ref().filter(|key| is_taken(&evaluator.registry, key)) {
            evaluator.problems.push(reserved_module_name(key, entry.key_span));
            return None;
        }
        let place = key.as_ref().map_or_else(|| address.clone(), |key| address.join(key));
        let instance = InstanceContext { address: &place, key: key.as_ref() };
        let frame = EvaluationSite { each: each.as_ref(), instance: Some(instance), early: None };
        let before = evaluator.budget.mark();
        let inputs = resolve_inputs(evaluator, module, with, &entry.key, frame);
        let cost = evaluator.budget.cost_since(before);
        let front = name_prefix(evaluator, entry, body, key.as_ref(), frame)?;
        let prefix = prefix_of(evaluator, &entry.key, key.as_ref());
        let spoken = evaluator.overrides.instance_names(&evaluator.scope.spoken, &entry.key, key.as_ref());
        let instance = ModuleInstance { module, prefix, front, spoken, inputs, cost, call: entry };
        let outputs = resolve_instance(evaluator, instance)?;
        match key {
            Some(key) => drop(found.insert(key, outputs)),
            None => return Some(outputs),
        }
    }
    debug_assert!(keyed || found.is_empty());
    Some(Expression::Map(found))
}

fn prefix_of(evaluator: &Evaluator<'_>, name: &Name, key: Option<&Name>) -> Name {
    let parts = [evaluator.scope.prefix.as_str(), name, key.map_or("", Name::as_str)];
    Name::new(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("."))
}

/// Returns the name prefix of an instance's resources: its `name`, else the instance's own name and
/// key, prefixed with those of the enclosing modules.
fn name_prefix<'d>(
    evaluator: &Evaluator<'d>,
    entry: &'d DocumentEntry,
    body: &'d [DocumentEntry],
    key: Option<&Name>,
    frame: EvaluationSite<'_, 'd>,
) -> Option<Name> {
    let said = match body.iter().find(|word| word.key == "name") {
        Some(word) => {
            Some(module_name(evaluator, &word.value, EvaluationSite { early: Some("`name`"), ..frame })?)
        }
        None => None,
    };
    let own = [Some(&entry.key), key].into_iter().flatten().map(Name::as_str);
    let own: Vec<&str> = said.as_ref().map_or_else(|| own.collect(), |said| vec![said.as_str()]);
    let parts = [evaluator.scope.front.as_str()].into_iter().chain(own).filter(|part| !part.is_empty());
    Some(Name::new(parts.collect::<Vec<_>>().join("-")))
}

fn module_name<'d>(evaluator: &Evaluator<'d>, node: &Node, frame: EvaluationSite<'_, 'd>) -> Option<Name> {
    match resolve_known(evaluator, node, frame)? {
        Value::Text(name) => Some(name),
        Value::Integer(name) => Some(Name::new(name.to_string())),
        other => {
            evaluator.report_problem(
                frame,
                Diagnostic::error(codes::MODULE, "the `name` of a module is one text")
                    .with_label(node.span, "")
                    .detail(format!("This is {}.", other.type_name()))
                    .help("write the prefix of its resources' names: `name: shop`"),
            );
            None
        }
    }
}

/// Returns the unit of a module call, and the inputs.
fn read_call<'d>(
    evaluator: &Evaluator<'d>,
    entry: &'d DocumentEntry,
    body: &'d [DocumentEntry],
) -> Option<(usize, &'d [DocumentEntry])> {
    for key in body.iter().filter(|key| keywords::find_word(keywords::USE, &key.key).is_none()) {
        evaluator.problems.push(unknown_word(key, keywords::USE));
    }
    if is_taken(&evaluator.registry, &entry.key) {
        evaluator.problems.push(reserved_module_name(&entry.key, entry.key_span));
        return None;
    }
    let Some(source) = source_of(entry) else {
        evaluator.problems.push(
            Diagnostic::error(codes::MODULE, "a `use` entry does not name its module")
                .with_label(entry.key_span, "")
                .help("add `source: ../modules/NAME`, a directory"),
        );
        return None;
    };
    let module = *evaluator.calls.get(&source.span)?;
    let with = match body.iter().find(|key| key.key == "with") {
        Some(with) => {
            let entries = named_entries(&with.value);
            if entries.is_none() {
                evaluator.problems.push(not_a_block("with", &with.value));
            }
            entries?
        }
        None => &[],
    };
    unknown_inputs(evaluator, module, with, source);
    Some((module, with))
}

fn unknown_inputs<'d>(evaluator: &Evaluator<'d>, module: usize, with: &'d [DocumentEntry], source: &Node) {
    let Some(merged) = evaluator.modules.get(module) else { return };
    for entry in with.iter().filter(|entry| !merged.vars.contains_key(&entry.key)) {
        let problem = Diagnostic::error(codes::UNDECLARED_VARIABLE, "this variable is not declared")
            .with_label(entry.key_span, "")
            .with_label(source.span, "by this module")
            .detail(format!("The module declares no variable `{}`.", entry.key));
        let known = merged.vars.keys().map(Name::as_str);
        evaluator.problems.push(match nearest_name(&entry.key, known.clone()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")).fix(entry.key_span, near),
            None => problem.help(match known.collect::<Vec<_>>().as_slice() {
                [] => "it takes none: remove the line".to_owned(),
                known => format!("it takes: {}", known.join(", ")),
            }),
        });
    }
}

/// Resolves one instance. Returns its outputs.
fn resolve_instance<'d>(evaluator: &mut Evaluator<'d>, instance: ModuleInstance<'d>) -> Option<Expression> {
    let ModuleInstance { module, prefix, front, spoken, inputs, cost, call } = instance;
    let depth = evaluator.scope.depth + 1;
    if evaluator.exhausted || evaluator.problems.are_closed() {
        return None;
    }
    evaluator.instances += 1;
    if depth > MAX_MODULE_DEPTH
        || evaluator.instances > MAX_INSTANCES
        || evaluator.index.blocks().len() > MAX_BLOCKS
    {
        // Reported once: otherwise each further instance would report it.
        if !std::mem::replace(&mut evaluator.exhausted, true) {
            evaluator.problems.push(too_much(depth, evaluator.instances, call.key_span));
        }
        return None;
    }
    let merged = evaluator.modules.get(module)?;
    let place = evaluator.places.get(module).cloned().unwrap_or_default();
    let files = evaluator.read.in_dir(&place.path());
    let scope = ModuleScope {
        prefix: prefix.clone(),
        front,
        spoken,
        files,
        place,
        depth,
        cost,
        ..ModuleScope::default()
    };
    let caller = std::mem::replace(&mut evaluator.scope, scope);
    let names = evaluator.index.enter_module(prefix.clone());
    evaluator.problems.enter_instance(prefix, call.key_span);
    module_variables(evaluator, &merged.vars, inputs, call);
    resolve_unit(evaluator, merged);
    let mut outputs = BTreeMap::new();
    for (name, entry) in &merged.outputs {
        let resolved = resolve_untyped(evaluator, &entry.value, EvaluationSite::top_level(None));
        // The problem was reported: an unknown value causes no further ones.
        let broken = || Expression::Value(Value::Unknown(Vec::new()));
        outputs.insert(name.clone(), resolved.map_or_else(broken, |resolved| resolved.expression));
    }
    evaluator.problems.leave_instance();
    evaluator.index.leave_module(names);
    evaluator.budget.refund(evaluator.scope.cost);
    evaluator.scope = caller;
    Some(Expression::Map(outputs))
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
