//! `BlockIndex`: every declared block with its instances. In: the blocks, as `expand` declares them, unit by unit.
//! Out: the target of a path such as `vm.web.a.disks.data`. An address is in the index once; the names in scope are
//! those of the unit that is being resolved, but the blocks of all units stay.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::config::codes;
use crate::config::stack::model::ExclusionReason;
use crate::config::syntax::document::{DocumentEntry, Node, named_entries};
use crate::model::address::{Address, Name, OrderedMap};
use crate::model::diagnostic::{Diagnostic, MAX_CANDIDATES, nearest_name};
use crate::model::schema::{Kind, Registry};
use crate::model::values::value::Value;

/// Values of `each` in one instance.
#[derive(Debug, Clone)]
pub(in crate::config) struct Each<'d> {
    /// The value of `each.key` in this instance.
    pub(in crate::config) key: Name,
    /// The value of `each.value` in this instance.
    pub(in crate::config) value: EachValue<'d>,
}

/// The value of `each.value`, or what it is resolved from when an expression reads it.
#[derive(Debug, Clone)]
pub(in crate::config) enum EachValue<'d> {
    /// A value that is already computed.
    Known(Value),
    /// An instance of another block: `for_each: $vm.web`.
    Instance(Address),
    /// The value of an entry of a map that the block writes out. It may refer to live objects, so it is resolved
    /// only when it is used.
    Written(&'d Node),
}

/// Instances that a block declares.
#[derive(Debug)]
pub(in crate::config) enum BlockExpansion<'d> {
    /// Unknown, because of a problem that was reported.
    Broken,
    /// None: its `when` is false.
    Absent,
    /// One, with its parent's `each`, if that has one.
    One,
    /// One for each key, in the order of the `for_each`; `None` where `when` is false.
    Keyed(OrderedMap<Name, Option<Each<'d>>>),
}

/// Block of a resource in the files, with the instances that it declares.
#[derive(Debug)]
pub(in crate::config) struct DeclaredBlock<'d> {
    pub(in crate::config) kind: &'static Kind,
    /// Address of the block, without an instance key.
    pub(in crate::config) address: Address,
    /// Entry of the block: its key and body.
    pub(in crate::config) entry: &'d DocumentEntry,
    /// Instance that contains it; `None` for a block at the top level.
    pub(in crate::config) parent: Option<ParentInstance<'d>>,
    /// Instances that it declares.
    pub(in crate::config) state: BlockExpansion<'d>,
}

/// Instance in which a child is written.
#[derive(Debug, Clone)]
pub(in crate::config) struct ParentInstance<'d> {
    pub(in crate::config) address: Address,
    /// Its `each`, which is in scope for its children; `None` without a `for_each`.
    pub(in crate::config) each: Option<Each<'d>>,
}

impl<'d> DeclaredBlock<'d> {
    /// Returns the entries of its body; none if the body is not a map.
    pub(in crate::config) fn body(&self) -> &'d [DocumentEntry] {
        named_entries(&self.entry.value).unwrap_or_default()
    }

    /// Returns an entry of its body; `None` if the key is not written.
    pub(in crate::config) fn get(&self, key: &str) -> Option<&'d DocumentEntry> {
        self.body().iter().find(|entry| entry.key == key)
    }

    /// Returns the addresses of all its instances, with their keys (`None` without `for_each`) and their `each`. A
    /// block that is broken or absent has none, and an instance whose `when` is false is left out.
    pub(in crate::config) fn instances(&self) -> Vec<(Address, Option<Name>, Option<&Each<'d>>)> {
        match &self.state {
            BlockExpansion::Broken | BlockExpansion::Absent => Vec::new(),
            BlockExpansion::One => {
                let each = self.parent.as_ref().and_then(|parent| parent.each.as_ref());
                vec![(self.address.clone(), None, each)]
            }
            BlockExpansion::Keyed(keys) => keys
                .iter()
                .filter_map(|(key, each)| {
                    Some((self.address.join(key), Some(key.clone()), Some(each.as_ref()?)))
                })
                .collect(),
        }
    }
}

/// Index of all declared blocks.
#[derive(Debug, Default)]
pub(in crate::config) struct BlockIndex<'d> {
    blocks: OrderedMap<Address, DeclaredBlock<'d>>,
    /// Names of the top-level blocks in the current unit, from which a similar name is suggested.
    names: BlockNames,
    /// Address prefix of the current unit; empty for the stack itself.
    prefix: Name,
}

/// Addresses of the top-level blocks of a unit, by kind and name.
type BlockNames = HashMap<&'static str, BTreeMap<Name, Address>>;

/// Saved scope of names, to restore when a module is left.
pub(in crate::config) struct OuterNames(BlockNames, Name);

/// One step of a path; `None` is a computed key that is not known.
pub(in crate::config) type PathStep = Option<Name>;

/// Target of a path.
#[derive(Debug)]
pub(in crate::config) enum PathTarget {
    /// These objects; the steps from `rest` on are inside of them.
    Objects {
        /// One object, or all instances of a block if the path names no key or one that is not known.
        addresses: Vec<Address>,
        /// Whether the path names a whole block with `for_each` instead of an instance.
        all: bool,
        kind: &'static Kind,
        /// Number of steps that address the objects, without the kind.
        rest: usize,
    },
    /// A block or an instance that this environment leaves out.
    Absent(Address),
    /// A block with a problem that was reported.
    Broken,
    /// No target; the diagnostic explains why.
    NotFound(Box<Diagnostic>),
}

impl<'d> BlockIndex<'d> {
    /// Starts the scope of a module instance, which has no names yet, and returns the previous scope.
    pub(in crate::config) fn enter_module(&mut self, prefix: Name) -> OuterNames {
        OuterNames(std::mem::take(&mut self.names), std::mem::replace(&mut self.prefix, prefix))
    }

    /// Restores the scope that `enter_module` returned.
    pub(in crate::config) fn leave_module(&mut self, outer: OuterNames) {
        OuterNames(self.names, self.prefix) = outer;
    }

    fn block_address(&self, kind: &str, name: &str) -> Address {
        Address::new(kind, name).in_module(&self.prefix)
    }

    /// Makes room for a number of blocks.
    pub(in crate::config) fn reserve(&mut self, blocks: usize) {
        self.blocks.reserve(blocks);
    }

    /// Adds a block. The name of a block without a parent becomes a name of the current unit.
    pub(in crate::config) fn insert(&mut self, block: DeclaredBlock<'d>) {
        if block.parent.is_none() {
            let names = self.names.entry(block.kind.name).or_default();
            names.insert(block.entry.key.clone(), block.address.clone());
        }
        self.blocks.insert(block.address.clone(), block);
    }

    /// Returns a block by its address without an instance key; `None` if no block has this address.
    pub(in crate::config) fn get(&self, address: &str) -> Option<&DeclaredBlock<'d>> {
        self.blocks.get(address)
    }

    /// Returns all blocks in declaration order.
    pub(in crate::config) fn blocks(&self) -> impl ExactSizeIterator<Item = &DeclaredBlock<'d>> {
        self.blocks.values()
    }

    /// Returns the block with the index `n` in declaration order; `None` beyond the last.
    pub(in crate::config) fn block_at(&self, n: usize) -> Option<&DeclaredBlock<'d>> {
        self.blocks.get_index(n).map(|(_, block)| block)
    }

    /// Returns the block to which the address of an instance, or the block's own address, belongs.
    pub(in crate::config) fn of_instance(&self, address: &Address) -> Option<&DeclaredBlock<'d>> {
        self.get(address.as_str())
            .or_else(|| self.get(address.as_str().rsplit_once('.').map(|(block, _)| block)?))
    }

    /// Returns, by address, the keyword (`when` or `for_each`) because of which a resource may not exist: for each
    /// block that is absent or has a `for_each`, and for each instance whose `when` is false.
    pub(in crate::config) fn left_out(&self) -> BTreeMap<Address, ExclusionReason> {
        let mut found = BTreeMap::new();
        for block in self.blocks() {
            let span = |word| block.get(word).map_or(block.entry.key_span, |entry| entry.value.span);
            let absent = ExclusionReason { keyed: false, span: span("when") };
            match &block.state {
                BlockExpansion::Absent => drop(found.insert(block.address.clone(), absent)),
                BlockExpansion::Keyed(keys) => {
                    let keyed = ExclusionReason { keyed: true, span: span("for_each") };
                    found.insert(block.address.clone(), keyed);
                    let gone = keys.iter().filter(|(_, each)| each.is_none());
                    found.extend(gone.map(|(key, _)| (block.address.join(key), absent)));
                }
                BlockExpansion::One | BlockExpansion::Broken => {}
            }
        }
        found
    }

    /// Resolves the steps of a path after its kind, in the current unit. The diagnostic of an unresolved path has
    /// no span yet: the caller knows which part of the source it is about.
    pub(in crate::config) fn follow_path(
        &self,
        registry: &Registry,
        kind: &'static Kind,
        steps: &[PathStep],
    ) -> PathTarget {
        let Some(Some(name)) = steps.first() else {
            return PathTarget::NotFound(Box::new(
                Diagnostic::error(codes::UNKNOWN_RESOURCE, "a reference names no resource")
                    .help(format!("write `{}.NAME`", kind.name)),
            ));
        };
        let Some(mut block) = self.get(self.block_address(kind.name, name).as_str()) else {
            return PathTarget::NotFound(Box::new(self.unknown_name(kind, name)));
        };
        let mut used = 1;
        loop {
            let address = match (&block.state, steps.get(used)) {
                (BlockExpansion::Broken, _) => return PathTarget::Broken,
                (BlockExpansion::Absent, _) => return PathTarget::Absent(block.address.clone()),
                (BlockExpansion::One, _) => block.address.clone(),
                (BlockExpansion::Keyed(keys), Some(Some(key))) => {
                    used += 1;
                    match keys.get(key) {
                        Some(Some(_)) => block.address.join(key),
                        Some(None) => return PathTarget::Absent(block.address.join(key)),
                        None => {
                            return PathTarget::NotFound(Box::new(self.which_instance(block, Some(key))));
                        }
                    }
                }
                // A key that is not known yet may be any: the expression depends on all instances.
                (BlockExpansion::Keyed(_), step) => {
                    let addresses = block.instances().into_iter().map(|(address, ..)| address).collect();
                    let rest = used + usize::from(step.is_some());
                    return PathTarget::Objects { addresses, all: step.is_none(), kind: block.kind, rest };
                }
            };
            let child = match (steps.get(used), steps.get(used + 1)) {
                (Some(Some(collection)), Some(Some(name))) => registry
                    .child(block.kind.name, collection)
                    .map(|kind| (kind, name, address.join(collection).join(name))),
                _ => None,
            };
            let Some((kind, name, child)) = child else {
                return PathTarget::Objects {
                    addresses: vec![address],
                    all: false,
                    kind: block.kind,
                    rest: used,
                };
            };
            match self.get(child.as_str()) {
                Some(found) => block = found,
                None => {
                    return PathTarget::NotFound(Box::new(
                        Diagnostic::error(codes::UNKNOWN_RESOURCE, "there is no resource of this name")
                            .detail(format!("{address} has no {} `{name}`.", kind.name)),
                    ));
                }
            }
            used += 2;
        }
    }

    fn unknown_name(&self, kind: &Kind, name: &str) -> Diagnostic {
        let problem = Diagnostic::error(codes::UNKNOWN_RESOURCE, "there is no resource of this name")
            .detail(format!("No block declares {}.{name}.", kind.name));
        let names = self.names.get(kind.name);
        let candidates = names.into_iter().flat_map(BTreeMap::keys).map(Name::as_str).take(MAX_CANDIDATES);
        let Some(near) = nearest_name(name, candidates) else {
            return match names.and_then(|names| names.keys().next()) {
                Some(first) => problem.help(format!("{0}.{first} is declared, for example", kind.name)),
                None => problem.help(format!("the stack declares no {}", kind.name)),
            };
        };
        let problem = problem.help(format!("did you mean `${}.{near}`?", kind.name));
        match self.get(self.block_address(kind.name, near).as_str()) {
            Some(block) => {
                problem.with_label(block.entry.key_span, format!("{} is declared here", block.address))
            }
            None => problem,
        }
    }

    /// Returns the problem of a path that must name an instance and does not: `key` does not exist, or is `None`
    /// because the path names the whole block. It has no label at the path yet.
    pub(in crate::config) fn which_instance(
        &self,
        block: &DeclaredBlock<'_>,
        key: Option<&Name>,
    ) -> Diagnostic {
        let keys: Vec<&str> = match &block.state {
            BlockExpansion::Keyed(keys) => keys.keys().map(Name::as_str).collect(),
            _ => Vec::new(),
        };
        let summary = match key {
            Some(_) => "there is no instance with this key",
            None => "a reference must name one instance",
        };
        let known = match keys.len() {
            0 => "it has no instances".to_owned(),
            n if n <= 20 => format!("its keys are {}", keys.join(", ")),
            n => format!("its {n} keys begin with {}", keys[..20].join(", ")),
        };
        let what = key.map(|key| format!(" has no key `{key}`")).unwrap_or_default();
        let problem = Diagnostic::error(codes::WHICH_INSTANCE, summary)
            .detail(
                format!("{}{what} has `for_each`: {known}.", block.address)
                    .replace("` has `for_each`", "`; it has `for_each`"),
            )
            .with_label(block.entry.key_span, format!("{} is declared here", block.address));
        let near = key.and_then(|key| nearest_name(key, keys.iter().copied()));
        let is_attribute = |name: &Name| name == "id" || block.kind.attribute(name).is_some();
        let attribute = key.filter(|key| near.is_none() && is_attribute(key));
        // A module's files do not contain the module's own address.
        let own = block.address.strip_module(&self.prefix).unwrap_or(block.address.as_str());
        match near.or_else(|| keys.first().copied()) {
            Some(first) if let Some(name) = attribute => problem.help(format!(
                "write `${own}.{first}.{name}` for one of them, or `${{values({own}).map(x, x.{name})}}` for all"
            )),
            Some(near) => problem.help(format!("write `${own}.{near}`")),
            None => problem,
        }
    }
}

/// Instances that a `use` block declares.
#[derive(Debug)]
pub(in crate::config) enum ModuleExpansion {
    /// Unknown, because of a problem that was reported.
    Broken,
    /// None: its `when` is false.
    Absent,
    /// Exactly one instance, without a key.
    One,
    /// One for each key; `false` where `when` is.
    Keyed(BTreeMap<Name, bool>),
}

impl ModuleExpansion {
    /// Returns the instances of a call from its expansion; `None`, an expansion that failed, counts as broken.
    pub(in crate::config) fn from_state(state: Option<&BlockExpansion<'_>>) -> Self {
        match state {
            None | Some(BlockExpansion::Broken) => Self::Broken,
            Some(BlockExpansion::Absent) => Self::Absent,
            Some(BlockExpansion::One) => Self::One,
            Some(BlockExpansion::Keyed(keys)) => {
                Self::Keyed(keys.iter().map(|(key, each)| (key.clone(), each.is_some())).collect())
            }
        }
    }
}

/// Block that is not yet in the index. The address of a plain entry may still change: it derives from a value.
pub(in crate::config) struct PendingBlock<'d> {
    pub(in crate::config) kind: &'static Kind,
    pub(in crate::config) address: Address,
    pub(in crate::config) entry: &'d DocumentEntry,
    pub(in crate::config) parent: Option<ParentInstance<'d>>,
}
