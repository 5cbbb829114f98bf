//! The locals: named values that may use variables, each other and, once all blocks are declared,
//! live objects.

use std::collections::{BTreeMap, BTreeSet};

use super::codes;
use super::document::{Entry, Node, NodeValue};
use super::merge::Entries;
use super::resolver::{Frame, Local, LocalValue, Nothing, Resolver};
use super::template::Part;
use crate::model::address::Name;
use crate::model::cel::Segment;
use crate::model::diagnostic::Diagnostic;
use crate::model::graph::Graph;
use crate::model::value::Value;

/// Locals in an order in which each comes after those that it uses.
pub(super) struct Ordered<'d> {
    /// Those that can be computed at once.
    pub(super) early: Vec<&'d Entry>,
    /// Those that read live objects, themselves or through others.
    pub(super) late: Vec<&'d Entry>,
}

/// What a local names.
#[derive(Default)]
struct Uses {
    locals: BTreeSet<Name>,
    live: bool,
}

impl<'d> Resolver<'d> {
    /// Orders the locals. Circles become problems; their members are known to be broken.
    pub(super) fn order_locals(&mut self, locals: &Entries<'d>) -> Ordered<'d> {
        let uses: BTreeMap<&Name, Uses> =
            locals.iter().map(|(name, entry)| (name, self.uses(&entry.value))).collect();
        let mut graph = Graph::default();
        let nodes: BTreeMap<&Name, _> = locals.keys().map(|name| (name, graph.add(name))).collect();
        for (name, uses) in &uses {
            for used in &uses.locals {
                if let (Some(before), Some(after)) = (nodes.get(used), nodes.get(name)) {
                    graph.order(*before, *after);
                }
            }
        }
        let order = match graph.sorted() {
            Ok(order) => order,
            Err(knots) => {
                for knot in knots {
                    let names: Vec<&Name> = knot.iter().filter_map(|id| graph.get(*id).copied()).collect();
                    self.problems.push(circle(&names, locals, &uses));
                }
                for name in locals.keys() {
                    self.locals.insert(name.clone(), Local { value: LocalValue::Broken, origin: None });
                }
                return Ordered { early: Vec::new(), late: Vec::new() };
            }
        };
        let mut late = BTreeSet::new();
        let mut ordered = Ordered { early: Vec::new(), late: Vec::new() };
        for name in order.into_iter().filter_map(|id| graph.get(id).copied()) {
            let (Some(uses), Some(entry)) = (uses.get(name), locals.get(name)) else { continue };
            if uses.live || uses.locals.iter().any(|used| late.contains(used)) {
                late.insert(name.clone());
                self.locals.insert(name.clone(), Local { value: LocalValue::Later, origin: None });
                ordered.late.push(entry);
            } else {
                ordered.early.push(entry);
            }
        }
        ordered
    }

    /// Computes locals in order.
    pub(super) fn resolve_locals(&mut self, locals: &[&'d Entry]) {
        for entry in locals {
            let resolved = self.untyped(&entry.value, Frame::top(None));
            let known = resolved.as_ref().and_then(|resolved| resolved.expression.evaluate(&Nothing).ok());
            self.local_values.insert(entry.key.clone(), known.unwrap_or(Value::Null));
            let local = match resolved {
                Some(resolved) => {
                    Local { value: LocalValue::Ready(resolved.expression), origin: resolved.origin }
                }
                None => Local { value: LocalValue::Broken, origin: None },
            };
            self.locals.insert(entry.key.clone(), local);
        }
    }

    fn uses(&self, node: &Node) -> Uses {
        let mut uses = Uses::default();
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            match &node.value {
                NodeValue::Null | NodeValue::Bare => {}
                NodeValue::Sequence(items) => open.extend(items),
                NodeValue::Mapping(entries) => open.extend(entries.iter().map(|entry| &entry.value)),
                NodeValue::Scalar(scalar) => self.text_uses(&scalar.text, &mut uses),
            }
        }
        uses
    }

    fn text_uses(&self, text: &str, uses: &mut Uses) {
        use super::template::Template;
        let Ok(Some(template)) = Template::parse(text, |_| false) else { return };
        let mut name = |root: &Name, first: Option<&Name>| match (root.as_str(), first) {
            ("locals", Some(first)) => drop(uses.locals.insert(first.clone())),
            (root, _) => uses.live |= self.registry.top_level().any(|kind| kind.name == root),
        };
        for part in &template.parts {
            match part {
                Part::Text(_) => {}
                Part::Path(path) => {
                    if let Some(root) = path.first() {
                        name(root, path.get(1));
                    }
                }
                Part::Cel(source) => {
                    let Ok(program) = self.program(source) else { continue };
                    for path in program.paths() {
                        let first = match path.segments.first() {
                            Some(Segment::Name(first)) => Some(first),
                            _ => None,
                        };
                        name(&path.root, first);
                    }
                }
            }
        }
    }
}

fn circle(names: &[&Name], locals: &Entries<'_>, uses: &BTreeMap<&Name, Uses>) -> Diagnostic {
    let mut problem = Diagnostic::error(codes::LOCAL_CYCLE, "locals are defined by each other");
    let mut sorted = names.to_vec();
    sorted.sort();
    for name in &sorted {
        let next =
            sorted.iter().find(|other| uses.get(*name).is_some_and(|uses| uses.locals.contains(**other)));
        if let (Some(entry), Some(next)) = (locals.get(*name), next) {
            problem = problem.at(entry.value.span, format!("locals.{name} uses locals.{next}"));
        }
    }
    problem.help("give one of them a value that uses none of the others")
}
