//! `use`: a directory as a block. Each instance is resolved in a scope of its own, and leaves its
//! resources, with its name in front of their addresses, and its outputs.

use std::collections::BTreeMap;

use super::values::module_inputs::ModuleInput;
use crate::config::diagnostics::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::input::gather::source_of;
use crate::config::keywords;
use crate::config::merge::blocks::{MergedDocuments, not_a_block};
use crate::config::resolve::block_index::{BlockExpansion, Each, ModuleExpansion};
use crate::config::resolve::evaluator::Evaluator;
use crate::config::resolve::scope::{EvaluationSite, LocalBinding, LocalValue, ModuleScope};
use crate::config::resolve::values::locals::LocalOrCall;
use crate::config::stack::module_path::is_taken;
use crate::config::syntax::document::{DocumentEntry, Node, named_entries};
use crate::model::address::Name;
use crate::model::budget::BudgetCharge;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Expression;
use crate::model::source::Span;
use crate::model::value::Value;

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

impl<'d> Evaluator<'d> {
    /// Resolves a stack or a module: its locals, its blocks, the modules that it uses, its resources.
    pub(in crate::config) fn resolve_unit(&mut self, merged: &MergedDocuments<'d>) {
        let ordered = self.order_values(&merged.locals, &merged.uses);
        for step in ordered.early {
            self.resolve_step(step);
        }
        self.scope.first_block = self.index.blocks().len();
        self.declare_data(&merged.data);
        let waiting = self.declare_blocks(merged);
        let own = self.scope.first_block..self.index.blocks().len();
        for step in ordered.late {
            self.resolve_step(step);
        }
        // The blocks of the modules come in between, so there are two ranges.
        let first = self.index.blocks().len();
        self.declare_waiting(waiting);
        for blocks in [own, first..self.index.blocks().len()] {
            let resources = self.resolve_blocks(blocks);
            self.made.extend(resources);
        }
        self.resolve_data(&merged.data);
        self.declarations_here(merged);
    }

    fn resolve_step(&mut self, step: LocalOrCall<'d>) {
        match step {
            LocalOrCall::Local(entry) => self.resolve_local(entry),
            LocalOrCall::Call(entry) => self.resolve_use(entry),
        }
    }

    fn resolve_use(&mut self, entry: &'d DocumentEntry) {
        let value = if let Some(outputs) = self.resolve_call(entry) {
            let known = self.known_now(&outputs, entry.key_span).unwrap_or_default();
            self.scope.use_values.insert(entry.key.clone(), known);
            LocalValue::Ready(outputs)
        } else {
            self.used.insert(self.prefix_of(&entry.key, None), ModuleExpansion::Broken);
            LocalValue::Broken
        };
        self.scope.uses.insert(entry.key.clone(), LocalBinding { value, origin: None });
    }

    fn resolve_call(&mut self, entry: &'d DocumentEntry) -> Option<Expression> {
        let Some(body) = named_entries(&entry.value) else {
            self.problems.push(not_a_block(&entry.key, &entry.value));
            return None;
        };
        let (module, with) = self.read_call(entry, body)?;
        let address = self.scoped_address("use", &entry.key);
        let state = self.expand_block(&address, None, body);
        self.used.insert(self.prefix_of(&entry.key, None), ModuleExpansion::from_state(state.as_ref()));
        let state = state?;
        let instances: Vec<(Option<Name>, Option<Each<'d>>)> = match state {
            BlockExpansion::Broken => return None,
            BlockExpansion::Absent => {
                self.left_out.push(self.prefix_of(&entry.key, None));
                Vec::new()
            }
            BlockExpansion::One => vec![(None, None)],
            BlockExpansion::Keyed(keys) => {
                self.scope.keyed.insert(entry.key.clone());
                keys.into_iter().filter_map(|(key, each)| Some((Some(key), Some(each?)))).collect()
            }
        };
        let keyed = self.scope.keyed.contains(&entry.key);
        let mut found = BTreeMap::new();
        for (key, each) in instances {
            if let Some(key) = key.as_ref().filter(|key| is_taken(&self.registry, key)) {
                self.problems.push(reserved_module_name(key, entry.key_span));
                return None;
            }
            let place = key.as_ref().map_or_else(|| address.clone(), |key| address.join(key));
            let instance = InstanceContext { address: &place, key: key.as_ref() };
            let frame = EvaluationSite { each: each.as_ref(), instance: Some(instance), early: None };
            let before = self.budget.mark();
            let inputs = self.resolve_inputs(module, with, &entry.key, frame);
            let cost = self.budget.cost_since(before);
            let front = self.name_prefix(entry, body, key.as_ref(), frame)?;
            let prefix = self.prefix_of(&entry.key, key.as_ref());
            let spoken = self.overrides.instance_names(&self.scope.spoken, &entry.key, key.as_ref());
            let instance = ModuleInstance { module, prefix, front, spoken, inputs, cost, call: entry };
            let outputs = self.resolve_instance(instance)?;
            match key {
                Some(key) => drop(found.insert(key, outputs)),
                None => return Some(outputs),
            }
        }
        debug_assert!(keyed || found.is_empty());
        Some(Expression::Map(found))
    }

    fn prefix_of(&self, name: &Name, key: Option<&Name>) -> Name {
        let parts = [self.scope.prefix.as_str(), name, key.map_or("", Name::as_str)];
        Name::new(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("."))
    }

    /// Returns the name prefix of an instance's resources: its `name`, else the instance's own name and
    /// key, prefixed with those of the enclosing modules.
    fn name_prefix(
        &self,
        entry: &'d DocumentEntry,
        body: &'d [DocumentEntry],
        key: Option<&Name>,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<Name> {
        let said = match body.iter().find(|word| word.key == "name") {
            Some(word) => {
                Some(self.module_name(&word.value, EvaluationSite { early: Some("`name`"), ..frame })?)
            }
            None => None,
        };
        let own = [Some(&entry.key), key].into_iter().flatten().map(Name::as_str);
        let own: Vec<&str> = said.as_ref().map_or_else(|| own.collect(), |said| vec![said.as_str()]);
        let parts = [self.scope.front.as_str()].into_iter().chain(own).filter(|part| !part.is_empty());
        Some(Name::new(parts.collect::<Vec<_>>().join("-")))
    }

    fn module_name(&self, node: &Node, frame: EvaluationSite<'_, 'd>) -> Option<Name> {
        match self.resolve_known(node, frame)? {
            Value::Text(name) => Some(name),
            Value::Integer(name) => Some(Name::new(name.to_string())),
            other => {
                self.report_problem(
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
    fn read_call(
        &self,
        entry: &'d DocumentEntry,
        body: &'d [DocumentEntry],
    ) -> Option<(usize, &'d [DocumentEntry])> {
        for key in body.iter().filter(|key| keywords::find_word(keywords::USE, &key.key).is_none()) {
            self.problems.push(unknown_word(key, keywords::USE));
        }
        if is_taken(&self.registry, &entry.key) {
            self.problems.push(reserved_module_name(&entry.key, entry.key_span));
            return None;
        }
        let Some(source) = source_of(entry) else {
            self.problems.push(
                Diagnostic::error(codes::MODULE, "a `use` entry does not name its module")
                    .with_label(entry.key_span, "")
                    .help("add `source: ../modules/NAME`, a directory"),
            );
            return None;
        };
        let module = *self.calls.get(&source.span)?;
        let with = match body.iter().find(|key| key.key == "with") {
            Some(with) => {
                let entries = named_entries(&with.value);
                if entries.is_none() {
                    self.problems.push(not_a_block("with", &with.value));
                }
                entries?
            }
            None => &[],
        };
        self.unknown_inputs(module, with, source);
        Some((module, with))
    }

    fn unknown_inputs(&self, module: usize, with: &'d [DocumentEntry], source: &Node) {
        let Some(merged) = self.modules.get(module) else { return };
        for entry in with.iter().filter(|entry| !merged.vars.contains_key(&entry.key)) {
            let problem = Diagnostic::error(codes::UNDECLARED_VARIABLE, "this variable is not declared")
                .with_label(entry.key_span, "")
                .with_label(source.span, "by this module")
                .detail(format!("The module declares no variable `{}`.", entry.key));
            let known = merged.vars.keys().map(Name::as_str);
            self.problems.push(match nearest_name(&entry.key, known.clone()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")).fix(entry.key_span, near),
                None => problem.help(match known.collect::<Vec<_>>().as_slice() {
                    [] => "it takes none: remove the line".to_owned(),
                    known => format!("it takes: {}", known.join(", ")),
                }),
            });
        }
    }

    /// Resolves one instance. Returns its outputs.
    fn resolve_instance(&mut self, instance: ModuleInstance<'d>) -> Option<Expression> {
        let ModuleInstance { module, prefix, front, spoken, inputs, cost, call } = instance;
        let depth = self.scope.depth + 1;
        if self.exhausted || self.problems.are_closed() {
            return None;
        }
        self.instances += 1;
        if depth > MAX_MODULE_DEPTH
            || self.instances > MAX_INSTANCES
            || self.index.blocks().len() > MAX_BLOCKS
        {
            // Reported once: otherwise each further instance would report it.
            if !std::mem::replace(&mut self.exhausted, true) {
                self.problems.push(too_much(depth, self.instances, call.key_span));
            }
            return None;
        }
        let merged = self.modules.get(module)?;
        let place = self.places.get(module).cloned().unwrap_or_default();
        let files = self.read.in_dir(&place.path());
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
        let caller = std::mem::replace(&mut self.scope, scope);
        let names = self.index.enter_module(prefix.clone());
        self.problems.enter_instance(prefix, call.key_span);
        self.module_variables(&merged.vars, inputs, call);
        self.resolve_unit(merged);
        let mut outputs = BTreeMap::new();
        for (name, entry) in &merged.outputs {
            let resolved = self.resolve_untyped(&entry.value, EvaluationSite::top_level(None));
            // The problem was reported: an unknown value causes no further ones.
            let broken = || Expression::Value(Value::Unknown(Vec::new()));
            outputs.insert(name.clone(), resolved.map_or_else(broken, |resolved| resolved.expression));
        }
        self.problems.leave_instance();
        self.index.leave_module(names);
        self.budget.refund(self.scope.cost);
        self.scope = caller;
        Some(Expression::Map(outputs))
    }

    /// Returns an output of a module; reports an output or instance that does not exist.
    pub(in crate::config) fn module_output(
        &self,
        name: &Name,
        steps: &[Option<&Name>],
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<&Expression> {
        let Some(call) = self.scope.uses.get(name) else {
            let known = self.scope.uses.keys();
            let detail = format!("No `use` block declares `{name}`.");
            self.report_problem(frame, self.not_given(name, "module", detail, known, span));
            return None;
        };
        let outputs = self.ready_value(&call.value, "resource of a module", span, frame)?;
        let keyed = self.scope.keyed.contains(name);
        let mut here = outputs;
        let levels: &[&str] = if keyed { &["instance", "output"] } else { &["output"] };
        for (step, what) in steps.iter().zip(levels) {
            let (Some(step), Expression::Map(map)) = (step, here) else { break };
            let Some(next) = map.get(*step) else {
                let detail = if map.is_empty() && !keyed {
                    format!(
                        "The module `{name}` has no outputs: its `when` is false, or it declares no `outputs`."
                    )
                } else {
                    format!("The module `{name}` has no {what} `{step}`.")
                };
                self.report_problem(frame, self.not_given(step, what, detail, map.keys(), span));
                return None;
            };
            here = next;
        }
        Some(outputs)
    }

    fn not_given<'n>(
        &self,
        name: &Name,
        what: &str,
        detail: String,
        known: impl Iterator<Item = &'n Name>,
        span: Span,
    ) -> Diagnostic {
        let place = self.part_within(span, name);
        let known: Vec<&str> = known.map(Name::as_str).take(1000).collect();
        let problem = Diagnostic::error(codes::UNKNOWN_OUTPUT, format!("there is no {what} of this name"))
            .with_label(place, "")
            .detail(detail);
        match (nearest_name(name, known.iter().copied()), known.len()) {
            (Some(near), _) if place != span => {
                problem.help(format!("did you mean `{near}`?")).fix(place, near)
            }
            (Some(near), _) => problem.help(format!("did you mean `{near}`?")),
            (None, 0) => problem,
            (None, 1..=20) => problem.help(format!("known names: {}", known.join(", "))),
            (None, _) => problem.help(format!("known names include: {}", known[..20].join(", "))),
        }
    }
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
