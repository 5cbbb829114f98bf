//! `DiagnosticCollector`: the collector of diagnostics. It reports each mistake once, however many instances of
//! a block or module have it, adds the module calls that lead to it, and orders diagnostics by location.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::config::codes;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue};
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::source::Span;

/// Maximum number of instance keys that one message names.
const MAX_KEYS: usize = 5;
/// Maximum number of enclosing module calls that a message shows.
const MAX_CALLS: usize = 12;

/// Diagnostics collected so far. Interior mutability lets all resolving code share one collector.
#[derive(Debug, Default)]
pub(in crate::config) struct DiagnosticCollector {
    found: RefCell<BTreeMap<ProblemKey, CollectedProblem>>,
    /// Spans of module calls, by the address prefix of the module instance.
    calls: RefCell<BTreeMap<Name, Span>>,
    /// Address prefixes of the module instances that are being resolved, innermost last.
    inside: RefCell<Vec<Name>>,
    /// The diagnostic that the values exceed the stack's budget; `None` while they do not. Later findings would
    /// be unreliable and are dropped.
    last: RefCell<Option<Diagnostic>>,
}

/// Identity of a mistake: span and code; without a label, also the detail.
type ProblemKey = (Option<Span>, &'static str, String);

#[derive(Debug)]
struct CollectedProblem {
    diagnostic: Diagnostic,
    keys: Vec<Name>,
    block: Option<Name>,
}

/// Instance for which an expression is resolved.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct InstanceContext<'a> {
    /// Address of the instance or of the resource.
    pub(in crate::config) address: &'a Address,
    /// Key of the instance; `None` for a block without `for_each`.
    pub(in crate::config) key: Option<&'a Name>,
}

impl DiagnosticCollector {
    /// Adds a problem that belongs to no instance.
    pub(in crate::config) fn push(&self, diagnostic: Diagnostic) {
        self.push_in(None, diagnostic);
    }

    /// Adds a problem of an instance. The same one of another instance only adds its key.
    pub(in crate::config) fn push_in(&self, instance: Option<InstanceContext<'_>>, diagnostic: Diagnostic) {
        if self.are_closed() {
            return;
        }
        if diagnostic.code == codes::TOO_LARGE {
            let diagnostic = self.with_call_trace(instance, diagnostic);
            self.last.replace(Some(diagnostic));
            return;
        }
        let mut found = self.found.borrow_mut();
        let words = if diagnostic.labels.is_empty() {
            diagnostic.detail.clone().unwrap_or_default()
        } else {
            String::new()
        };
        let problem =
            found.entry((diagnostic.span(), diagnostic.code, words)).or_insert_with(|| CollectedProblem {
                diagnostic: self.with_call_trace(instance, diagnostic),
                keys: Vec::new(),
                block: None,
            });
        if let Some(InstanceContext { address, key: Some(key) }) = instance {
            problem.keys.push(key.clone());
            problem.block.get_or_insert_with(|| {
                let text = address.as_str();
                Name::new(text.strip_suffix(key.as_str()).map_or(text, |block| block.trim_end_matches('.')))
            });
        }
    }

    /// Returns whether the values exceed the stack's budget: nothing more is resolved then.
    pub(in crate::config) fn are_closed(&self) -> bool {
        self.last.borrow().is_some()
    }

    /// Runs `attempt` and discards its problems, which are reported elsewhere or do not matter. An exceeded
    /// budget is not discarded.
    pub(in crate::config) fn without_reporting<T>(&self, attempt: impl FnOnce() -> T) -> T {
        let before = self.found.take();
        let outcome = attempt();
        self.found.replace(before);
        outcome
    }

    /// Marks that the following problems belong to a module instance, which `call` uses.
    pub(in crate::config) fn enter_instance(&self, prefix: Name, call: Span) {
        self.calls.borrow_mut().insert(prefix.clone(), call);
        self.inside.borrow_mut().push(prefix);
    }

    /// Ends the innermost `enter_instance`.
    pub(in crate::config) fn leave_instance(&self) {
        self.inside.borrow_mut().pop();
    }

    /// Runs `say` so that its problems belong to a module instance that is already resolved; an empty prefix
    /// is the stack itself.
    pub(in crate::config) fn in_instance(&self, prefix: &Name, say: impl FnOnce()) {
        if prefix.is_empty() {
            return say();
        }
        self.inside.borrow_mut().push(prefix.clone());
        say();
        self.leave_instance();
    }

    /// Returns the span of the call of a module instance; for a whole block with `for_each`, of its first
    /// instance. `None` if nothing is called there.
    pub(in crate::config) fn call_span(&self, place: &str) -> Option<Span> {
        let calls = self.calls.borrow();
        let first = calls.range::<str, _>((Bound::Included(place), Bound::Unbounded)).next();
        let is_it = |name: &Name| name == place || name.rsplit_once('.').is_some_and(|(at, _)| at == place);
        first.filter(|(name, _)| is_it(name)).map(|(_, call)| *call)
    }

    /// Returns the spans of the calls of all module instances, by address prefix.
    pub(in crate::config) fn call_spans(&self) -> BTreeMap<Name, Span> {
        self.calls.borrow().clone()
    }

    /// Adds the chain of module calls that leads to a problem.
    fn with_call_trace(
        &self,
        instance: Option<InstanceContext<'_>>,
        mut diagnostic: Diagnostic,
    ) -> Diagnostic {
        let calls = self.calls.borrow();
        if calls.is_empty() {
            return diagnostic;
        }
        let inside = self.inside.borrow();
        let mut way = match (inside.last(), instance) {
            (Some(prefix), _) => prefix.as_str(),
            (None, Some(instance)) => instance.address.as_str(),
            (None, None) => return diagnostic,
        };
        for _ in 0..MAX_CALLS {
            let call = calls.get(way);
            let told = |call: &&Span| diagnostic.labels.iter().any(|label| label.span == **call);
            if let Some(call) = call.filter(|call| !told(call)) {
                diagnostic = diagnostic.with_label(*call, format!("used here as {way}"));
            }
            let Some((outer, _)) = way.rsplit_once('.') else { break };
            way = outer;
        }
        diagnostic
    }

    /// Removes suggestions that would write a key twice in one map: such a file does not parse.
    pub(in crate::config) fn correct_once(&self, units: &[Vec<Document>]) {
        let mut found = self.found.borrow_mut();
        let fixes = found.values().filter_map(|problem| problem.diagnostic.fix.as_ref());
        let wanted: BTreeMap<Span, String> =
            fixes.map(|fix| (fix.span, fix.replacement.trim_matches('"').to_owned())).collect();
        if wanted.is_empty() {
            return;
        }
        let mut again = BTreeSet::new();
        for document in units.iter().flatten() {
            written_again(&document.root, &wanted, &mut again);
        }
        for problem in found.values_mut() {
            problem.diagnostic.fix = problem.diagnostic.fix.take().filter(|fix| !again.contains(&fix.span));
        }
    }

    /// Returns whether a problem of severity error was added.
    pub(in crate::config) fn any_error(&self) -> bool {
        let is_error = |problem: &CollectedProblem| problem.diagnostic.severity == Severity::Error;
        self.are_closed() || self.found.borrow().values().any(is_error)
    }

    /// Returns all problems, ordered by location: those without a location first, an exceeded budget last.
    pub(in crate::config) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let found = self.found.into_inner().into_values().map(CollectedProblem::into_diagnostic);
        found.chain(self.last.into_inner()).collect()
    }
}

/// Collects the keys whose suggestion equals another key of the same map, or another suggestion in it.
fn written_again(entries: &[DocumentEntry], wanted: &BTreeMap<Span, String>, again: &mut BTreeSet<Span>) {
    let mut keys: Option<BTreeSet<&str>> = None;
    for entry in entries {
        if let Some(right) = wanted.get(&entry.key_span) {
            let keys = keys.get_or_insert_with(|| entries.iter().map(|entry| entry.key.as_str()).collect());
            if !keys.insert(right) {
                again.insert(entry.key_span);
            }
        }
        collect_rewritten_keys(&entry.value, wanted, again);
    }
}

fn collect_rewritten_keys(node: &Node, wanted: &BTreeMap<Span, String>, again: &mut BTreeSet<Span>) {
    match &node.value {
        NodeValue::Mapping(entries) => written_again(entries, wanted, again),
        NodeValue::Sequence(items) => {
            for item in items {
                collect_rewritten_keys(item, wanted, again);
            }
        }
        _ => {}
    }
}

impl CollectedProblem {
    fn into_diagnostic(self) -> Diagnostic {
        let Some(block) = self.block else { return self.diagnostic };
        let mut keys: Vec<&str> = self.keys.iter().map(Name::as_str).collect();
        keys.sort_unstable();
        keys.dedup();
        let more = keys.len().saturating_sub(MAX_KEYS);
        keys.truncate(MAX_KEYS);
        let word = if keys.len() == 1 { "key" } else { "keys" };
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let place = format!("in {block} ({word} {}{more})", keys.join(", "));
        let mut diagnostic = self.diagnostic;
        match diagnostic.labels.first_mut() {
            Some(label) if label.text.is_empty() => label.text = place,
            Some(label) => label.text = format!("{}, {place}", label.text),
            None => diagnostic.detail = Some(place),
        }
        diagnostic
    }
}
