//! `Problems`: everything found wrong, each mistake once, however many instances it touches.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::source::Span;

/// Most instance keys that one message names.
const MOST_KEYS: usize = 5;

/// Problems so far. Shared by all who resolve, hence the cell.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: RefCell<BTreeMap<Key, Problem>>,
}

/// What makes two problems the same mistake: place and code; without a place, the words.
type Key = (Option<Span>, &'static str, String);

#[derive(Debug)]
struct Problem {
    diagnostic: Diagnostic,
    keys: Vec<Name>,
    block: Option<Name>,
}

/// The instance in whose name something is resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instance<'a> {
    /// The instance's or the resource's address.
    pub(super) address: &'a Address,
    /// Its key, with `for_each`.
    pub(super) key: Option<&'a Name>,
}

impl Problems {
    /// Adds a problem.
    pub(super) fn push(&self, diagnostic: Diagnostic) {
        self.push_in(None, diagnostic);
    }

    /// Adds a problem of an instance. The same one of another instance only adds its key.
    pub(super) fn push_in(&self, instance: Option<Instance<'_>>, diagnostic: Diagnostic) {
        let mut found = self.found.borrow_mut();
        let words = if diagnostic.labels.is_empty() {
            diagnostic.detail.clone().unwrap_or_default()
        } else {
            String::new()
        };
        let problem = found.entry((diagnostic.span(), diagnostic.code, words)).or_insert(Problem {
            diagnostic,
            keys: Vec::new(),
            block: None,
        });
        if let Some(Instance { address, key: Some(key) }) = instance {
            problem.keys.push(key.clone());
            problem.block.get_or_insert_with(|| {
                let text = address.as_str();
                Name::new(text.strip_suffix(key.as_str()).map_or(text, |block| block.trim_end_matches('.')))
            });
        }
    }

    /// Tells whether an error is among them.
    pub(super) fn any_error(&self) -> bool {
        self.found.borrow().values().any(|problem| problem.diagnostic.severity == Severity::Error)
    }

    /// Returns all problems in the order of their places.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found.into_inner().into_values().map(Problem::into_diagnostic).collect()
    }
}

impl Problem {
    fn into_diagnostic(self) -> Diagnostic {
        let Some(block) = self.block else { return self.diagnostic };
        let mut keys: Vec<&str> = self.keys.iter().map(Name::as_str).collect();
        keys.sort_unstable();
        keys.dedup();
        let more = keys.len().saturating_sub(MOST_KEYS);
        keys.truncate(MOST_KEYS);
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
