//! `moved`, `import` and `removed`: what becomes of addresses and objects besides what blocks say.
//!
//! Here they are read and held against the blocks; against the ledger they are held by the plan.

use std::collections::{BTreeMap, HashMap};

use super::attributes::unknown_word;
use super::codes;
use super::document::{Entry, Node, NodeValue};
use super::index::State;
use super::language::{self, Word, Words};
use super::merge::Merged;
use super::resolver::{Frame, Resolver};
use super::stack::Resource;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, nearest};
use crate::model::schema::{Kind, Registry};
use crate::model::source::Span;
use crate::model::value::Value;

/// Most addresses that a suggestion is looked for among.
const MOST_CANDIDATES: usize = 1_000;

/// What becomes of addresses and objects besides what blocks say. All of it fits the blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declarations {
    /// New addresses of what has another one in the ledger.
    pub moved: Vec<Moved>,
    /// Live objects that become a resource's. Those whose `when` is false are left out.
    pub imports: Vec<Import>,
    /// What becomes of objects whose block is gone.
    pub removed: Vec<Removed>,
}

/// A new address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The address that the ledger may still have.
    pub from: Address,
    /// The next one: a resource, a whole block with `for_each`, or the `from` of another entry.
    pub to: Address,
    /// The kind of both.
    pub kind: &'static Kind,
    /// `to` is a whole block with `for_each`: each instance goes to the one with its key.
    pub whole: bool,
    /// The entry.
    pub span: Span,
}

/// An object to take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The resource that it becomes.
    pub to: Address,
    /// Its id; for a kind without ids, what it is known by.
    pub id: Name,
    /// The entry.
    pub span: Span,
}

/// What becomes of objects whose block is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// A resource, or a whole block with `for_each`.
    pub from: Address,
    /// What becomes of its objects.
    pub action: RemovedAction,
    /// The entry.
    pub span: Span,
}

/// What becomes of an object whose block is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedAction {
    /// It stays live.
    Forget,
    /// It goes, whatever `on_remove` said.
    Delete,
}

/// How an address stands to the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is one resource.
    One,
    /// It is a block with `for_each`.
    Several,
    /// It is written, but left out of this environment.
    Absent,
    /// What is wrong with it was said already.
    Broken,
    /// No block declares it.
    Nowhere,
}

/// The resources by address, and how an address stands to the blocks.
struct Ground<'g, 'd> {
    resolver: &'g Resolver<'d>,
    resources: HashMap<&'g Address, &'g Resource>,
}

impl<'d> Resolver<'d> {
    /// Reads all declarations, and holds them against the blocks.
    pub(super) fn declarations(&self, merged: &Merged<'d>, resources: &[Resource]) -> Declarations {
        let resources = resources.iter().map(|resource| (&resource.address, resource)).collect();
        let ground = Ground { resolver: self, resources };
        let moved = self.items(&merged.moved, language::MOVED);
        let moved = moved.into_iter().filter_map(|item| self.moved(&item)).collect();
        let imports = self.items(&merged.imports, language::IMPORT);
        let imports = imports.into_iter().filter_map(|item| self.import(&item, &ground)).collect();
        let removed = self.items(&merged.removed, language::REMOVED);
        let removed = removed.into_iter().filter_map(|item| self.removed(&item, &ground)).collect();
        Declarations {
            moved: ground.moves(moved),
            imports: self.each_once(imports, |import| (&import.to, import.span), "imported"),
            removed: self.each_once(removed, |removed| (&removed.from, removed.span), "removed"),
        }
    }

    /// Returns the entries of all lists of one word, with the keys that they must and may have.
    fn items(&self, lists: &[&'d Entry], words: Words) -> Vec<Item<'d>> {
        let mut found = Vec::new();
        for list in lists {
            let nodes = match &list.value.value {
                NodeValue::Sequence(nodes) => nodes.as_slice(),
                NodeValue::Null => &[],
                _ => {
                    let example = format!("write `{}: [{{ {} }}]`", list.key, example(words));
                    self.misdeclared(list.value.span, format!("`{}` is a list.", list.key), example);
                    continue;
                }
            };
            found.extend(nodes.iter().filter_map(|node| self.item(&list.key, node, words)));
        }
        found
    }

    fn item(&self, word: &str, node: &'d Node, words: Words) -> Option<Item<'d>> {
        let example = || format!("write `{word}: [{{ {} }}]`", example(words));
        let Some(entries) = node.entries() else {
            self.misdeclared(node.span, format!("Each entry of `{word}` is a map."), example());
            return None;
        };
        let mut good = true;
        for entry in entries.iter().filter(|entry| language::find(words, &entry.key).is_none()) {
            self.problems.push(unknown_word(entry, words));
            good = false;
        }
        let is_missing = |word: &&Word| word.needed && !entries.iter().any(|entry| entry.key == word.name);
        let missing = words.iter().find(is_missing).map(|word| word.name);
        if let Some(missing) = missing.filter(|_| good) {
            self.misdeclared(node.span, format!("This entry of `{word}` has no `{missing}`."), example());
            good = false;
        }
        good.then_some(Item { entries, span: node.span })
    }

    fn misdeclared(&self, span: Span, detail: String, help: String) {
        let problem = Diagnostic::error(codes::DECLARATION, "a declaration is wrong").at(span, "");
        self.problems.push(problem.detail(detail).help(help));
    }

    /// Reads an address, and the kind that stands there.
    fn place(&self, node: &Node) -> Option<(Address, &'static Kind)> {
        let written = node.scalar().map(|scalar| scalar.text.as_str());
        let Some(written) = written else {
            let help = "write an address, such as `vm.web`".to_owned();
            self.misdeclared(node.span, "An address is one text.".to_owned(), help);
            return None;
        };
        if let Some(bare) = written.strip_prefix('$').filter(|bare| Address::parse(bare).is_ok()) {
            let problem = Diagnostic::error(codes::DECLARATION, "a declaration is wrong")
                .at(node.span, "")
                .detail("It names an address, not what is there: it has no `$`.")
                .help(format!("write `{bare}`"));
            self.problems.push(problem.fix(node.span, bare));
            return None;
        }
        let address = match Address::parse(written) {
            Ok(address) => address,
            Err(error) => {
                self.misdeclared(node.span, format!("{error}."), "write `vm.web`, for example".to_owned());
                return None;
            }
        };
        if let Some(kind) = kind_at(&self.registry, &address) {
            return Some((address, kind));
        }
        let known = self.registry.top_level().map(|kind| kind.name);
        let help = nearest(address.root(), known).map_or_else(
            || "an address begins with a kind: `vm.web`".to_owned(),
            |near| {
                let rest = address.as_str().split_once('.').map_or("", |(_, rest)| rest);
                format!("did you mean `{near}.{rest}`?")
            },
        );
        self.misdeclared(node.span, format!("No kind of resource stands at `{address}`."), help);
        None
    }

    fn moved(&self, item: &Item<'d>) -> Option<Moved> {
        let (from, to) = (self.place(item.get("from")?), self.place(item.get("to")?));
        let ((from, kind), (to, other)) = from.zip(to)?;
        if kind.name != other.name {
            let detail = format!("{from} is a {}, and {to} a {}.", kind.name, other.name);
            self.misdeclared(
                item.span,
                detail,
                "an object stays what it is: name two of one kind".to_owned(),
            );
            return None;
        }
        if from == to {
            let help = "remove the entry".to_owned();
            self.misdeclared(item.span, format!("{from} moves to where it is."), help);
            return None;
        }
        Some(Moved { from, to, kind, whole: false, span: item.span })
    }

    fn import(&self, item: &Item<'d>, ground: &Ground<'_, 'd>) -> Option<Import> {
        let early = Frame::top(Some("an `import`"));
        let wanted = match item.get("when") {
            Some(when) => self.when(when, early)?,
            None => true,
        };
        let node = item.get("to")?;
        let (to, _) = self.place(node)?;
        let id = match self.known(item.get("id")?, early)? {
            Value::Text(id) if !id.is_empty() => id,
            Value::Integer(id) => Name::new(id.to_string()),
            _ => {
                let help = "write what `stead ls --unmanaged` shows".to_owned();
                self.misdeclared(item.get("id")?.span, "An `id` is one text.".to_owned(), help);
                return None;
            }
        };
        let import = Import { to, id, span: item.span };
        match ground.standing(&import.to) {
            Standing::One => wanted.then_some(import),
            Standing::Absent | Standing::Broken => None,
            Standing::Several => {
                let help = format!("name one instance: `{}.KEY`", import.to);
                self.misdeclared(node.span, format!("{} has `for_each`.", import.to), help);
                None
            }
            Standing::Nowhere => {
                ground.undeclared(&import.to, node.span, "write its block, or remove the entry");
                None
            }
        }
    }

    fn removed(&self, item: &Item<'d>, ground: &Ground<'_, 'd>) -> Option<Removed> {
        let (from, _) = self.place(item.get("from")?)?;
        let node = item.get("action")?;
        let action = match node.scalar().map(|scalar| scalar.text.as_str()) {
            Some("forget") => RemovedAction::Forget,
            Some("delete") => RemovedAction::Delete,
            _ => {
                let help = "write `forget` (the object stays live) or `delete` (it goes)".to_owned();
                self.misdeclared(node.span, "`action` is one of two words.".to_owned(), help);
                return None;
            }
        };
        if ground.standing(&from) != Standing::Nowhere {
            ground.still_declared(&from, item.span, "remove the block, or this entry");
            return None;
        }
        Some(Removed { from, action, span: item.span })
    }

    /// Reports what is said a second time of one address.
    fn each_once<T>(&self, all: Vec<T>, of: impl Fn(&T) -> (&Address, Span), what: &str) -> Vec<T> {
        let mut first: HashMap<&Address, Span> = HashMap::new();
        for item in &all {
            let (address, span) = of(item);
            if let Some(before) = first.insert(address, span) {
                self.problems.push(twice(&format!("{address} is {what} twice."), before, span));
            }
        }
        all
    }
}

impl Ground<'_, '_> {
    fn standing(&self, address: &Address) -> Standing {
        if self.resources.contains_key(address) {
            return Standing::One;
        }
        let index = &self.resolver.index;
        let mut end = Some(address.as_str().len());
        // What stands inside of something that is left out is left out with it.
        while let Some(at) = end {
            let part = &address.as_str()[..at];
            if let Some(block) = index.get(part) {
                let rest = address.as_str()[at..].trim_start_matches('.');
                let key = rest.split('.').next().unwrap_or_default();
                return match &block.state {
                    State::Broken => Standing::Broken,
                    State::Absent => Standing::Absent,
                    State::Keyed(_) if rest.is_empty() => Standing::Several,
                    State::Keyed(keys) if matches!(keys.get(key), Some(None)) => Standing::Absent,
                    State::One if rest.is_empty() => Standing::Broken,
                    State::One | State::Keyed(_) => Standing::Nowhere,
                };
            }
            end = part.rfind('.');
        }
        Standing::Nowhere
    }

    fn undeclared(&self, address: &Address, span: Span, help: &str) {
        let known = self.resources.keys().map(|known| known.as_str()).take(MOST_CANDIDATES);
        let mut known: Vec<&str> = known.collect();
        known.sort_unstable();
        let problem = Diagnostic::error(codes::NOT_DECLARED, "a declaration leads nowhere")
            .at(span, "")
            .detail(format!("No block declares {address}."));
        self.resolver.problems.push(match nearest(address.as_str(), known) {
            Some(near) => problem.help(format!("did you mean `{near}`? Else {help}")),
            None => problem.help(help),
        });
    }

    fn still_declared(&self, address: &Address, span: Span, help: &str) {
        let problem = Diagnostic::error(codes::STILL_DECLARED, "an address still has its block")
            .at(span, "")
            .detail(format!("{address} is to be left, and a block declares it."))
            .help(help);
        let block = self.resolver.index.of_instance(address);
        self.resolver.problems.push(match block {
            Some(block) => problem.at(block.entry.key_span, format!("{} is declared here", block.address)),
            None => problem,
        });
    }

    /// Follows all moves to their ends, and keeps those that lead to a resource.
    fn moves(&self, moved: Vec<Moved>) -> Vec<Moved> {
        let problems = &self.resolver.problems;
        let (mut by_from, mut by_to) = (BTreeMap::new(), HashMap::new());
        for (n, step) in moved.iter().enumerate() {
            if let Some(first) = by_from.insert(step.from.clone(), n) {
                let text = format!("{} moves to two addresses.", step.from);
                problems.push(twice(&text, moved[first].span, step.span));
            }
            if let Some(first) = by_to.insert(&step.to, n) {
                let text = format!("Two addresses move to {}.", step.to);
                problems.push(twice(&text, moved[first].span, step.span));
            }
        }
        let ends = self.ends(&moved, &by_from);
        let mut kept = Vec::with_capacity(moved.len());
        for (step, end) in moved.into_iter().zip(ends) {
            let Some((end, is_last)) = end else { continue };
            let into_itself = step.to.is_within(&step.from);
            let standing = self.standing(&step.from);
            if standing != Standing::Nowhere && !(standing == Standing::Several && into_itself) {
                self.still_declared(&step.from, step.span, "rename the block, or remove this entry");
                continue;
            }
            match self.standing(&end) {
                Standing::One => kept.push(step),
                Standing::Several => kept.push(Moved { whole: true, ..step }),
                Standing::Nowhere if is_last => {
                    self.undeclared(&end, step.span, "write its block, or remove the entry");
                }
                Standing::Absent | Standing::Broken | Standing::Nowhere => {}
            }
        }
        kept
    }

    /// Returns where each move ends, and whether it is itself the last one on the way; `None` for those
    /// that lead round in a circle, which is reported once.
    fn ends(&self, moved: &[Moved], by_from: &BTreeMap<Address, usize>) -> Vec<Option<(Address, bool)>> {
        let mut ends: Vec<Option<Option<Address>>> = vec![None; moved.len()];
        for start in 0..moved.len() {
            let mut way: Vec<usize> = Vec::new();
            let mut n = start;
            let end = loop {
                if let Some(known) = &ends[n] {
                    break known.clone();
                }
                if let Some(at) = way.iter().position(|m| *m == n) {
                    self.circle(moved, &way[at..]);
                    break None;
                }
                way.push(n);
                match by_from.get(&moved[n].to) {
                    Some(next) => n = *next,
                    None => break Some(moved[n].to.clone()),
                }
            };
            for m in way {
                ends[m] = Some(end.clone());
            }
        }
        let last = |n: usize| !by_from.contains_key(&moved[n].to);
        let ends = ends.into_iter().enumerate();
        ends.map(|(n, end)| end.flatten().map(|end| (end, last(n)))).collect()
    }

    fn circle(&self, moved: &[Moved], way: &[usize]) {
        let mut problem = Diagnostic::error(codes::MOVED_IN_CIRCLE, "moves lead round in a circle");
        for n in way {
            let Moved { from, to, span, .. } = &moved[*n];
            problem = problem.at(*span, format!("{from} moves to {to}"));
        }
        let help =
            "remove one of the entries; to swap two resources, apply a move to a third address first";
        self.resolver.problems.push(problem.help(help));
    }
}

/// One entry of a list.
struct Item<'d> {
    entries: &'d [Entry],
    span: Span,
}

impl<'d> Item<'d> {
    fn get(&self, key: &str) -> Option<&'d Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

fn example(words: Words) -> String {
    let needed = words.iter().filter(|word| word.needed);
    needed.map(|word| format!("{}: …", word.name)).collect::<Vec<_>>().join(", ")
}

fn twice(text: &str, first: Span, again: Span) -> Diagnostic {
    Diagnostic::error(codes::SAID_TWICE, "two declarations contradict each other")
        .at(again, "said again here")
        .at(first, "said here first")
        .detail(text)
        .help("keep one of the two")
}

/// Returns the kind of what stands at an address: a resource, an instance or a whole block.
#[must_use]
pub fn kind_at(registry: &Registry, address: &Address) -> Option<&'static Kind> {
    let parts: Vec<&str> = address.segments().collect();
    let mut kind = registry.top_level().find(|kind| kind.name == parts[0])?;
    let mut at = 2;
    loop {
        let child = |at: usize| {
            let named = parts.len() > at + 1;
            parts.get(at).filter(|_| named).and_then(|collection| registry.child(kind.name, collection))
        };
        // A key may stand before the collection.
        let next = child(at).map(|kind| (kind, at)).or_else(|| child(at + 1).map(|kind| (kind, at + 1)));
        match next {
            Some((child, place)) => (kind, at) = (child, place + 2),
            None => return (parts.len() >= at && parts.len() <= at + 1).then_some(kind),
        }
    }
}
