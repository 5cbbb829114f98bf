//! Which file depends on which, and why.
//!
//! A file depends on another one if it imports an item that the other defines or writes its path, through whatever
//! alias or re-export; if it imports the other as a module (the module file of a folder excepted: it is a map); and if
//! it calls an inherent method that the other defines for a type of a third file. `mod` lines count as nothing, and so
//! does a `pub use` in the module file of a folder, or of what is below the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::facts::{Import, Receiver};
use crate::modules::{Meaning, Modules};

/// Methods of the standard library: a call by such a name does not show which file defines the method.
#[rustfmt::skip]
const STANDARD_METHODS: &[&str] = &[
    "all", "and_then", "any", "as_bytes", "as_deref", "as_mut", "as_ref", "as_slice", "as_str", "borrow",
    "borrow_mut", "by_ref", "chain", "chars", "chunks", "clear", "clone", "cloned", "cmp", "collect",
    "contains", "contains_key", "copied", "count", "cycle", "dedup", "drain", "drop", "elapsed",
    "ends_with", "entry", "enumerate", "eq", "err", "expect", "extend", "filter", "filter_map", "find",
    "find_map", "finish", "first", "flat_map", "flatten", "flush", "fold", "for_each", "get", "get_mut",
    "get_or_insert_with", "insert", "inspect", "into", "into_inner", "into_iter", "into_keys",
    "into_values", "is_empty", "is_err", "is_none", "is_ok", "is_some", "is_some_and", "iter", "iter_mut",
    "join", "keys", "last", "len", "lines", "lock", "map", "map_err", "map_or", "map_or_else", "max",
    "max_by", "max_by_key", "min", "min_by", "min_by_key", "next", "next_back", "nth", "ok", "ok_or",
    "ok_or_else", "or", "or_default", "or_else", "or_insert", "or_insert_with", "parse", "partition",
    "peek", "peekable", "poll", "pop", "pop_front", "position", "push", "push_back", "push_str", "range",
    "read", "recv", "remove", "repeat", "replace", "reserve", "resize", "retain", "rev", "rposition",
    "scan", "send", "set", "skip", "skip_while", "sort", "sort_by", "sort_by_key", "split", "split_at",
    "split_first", "split_last", "split_once", "starts_with", "step_by", "strip_prefix", "strip_suffix",
    "sum", "swap", "take", "take_while", "then", "then_some", "to_lowercase", "to_owned", "to_string",
    "to_vec", "trim", "truncate", "try_from", "try_into", "unwrap_or", "unwrap_or_default",
    "unwrap_or_else", "unzip", "values", "values_mut", "wait", "windows", "write", "write_all", "zip",
];

/// A type, as the module that defines it and its name.
type TypeId = (usize, String);

/// An inherent `impl` block in another file than its type.
pub struct ForeignImpl {
    pub file: usize,
    pub type_file: usize,
    pub type_name: String,
}

/// The modules, and the dependencies between their files.
pub struct Dependencies {
    pub modules: Modules,
    /// Dependencies from file to file by index, with the names that cause each.
    pub edges: BTreeMap<usize, BTreeMap<usize, BTreeSet<String>>>,
    pub foreign_impls: Vec<ForeignImpl>,
    /// The file that defines an inherent function of a type.
    functions: BTreeMap<(TypeId, String), usize>,
    /// By top folder and method name: the files that define a method of that name.
    methods: BTreeMap<(String, String), BTreeSet<usize>>,
}

impl Dependencies {
    /// Measures source files, given as `(path below src, text)`.
    pub fn measure(files: &[(String, String)]) -> Self {
        let mut this = Self {
            modules: Modules::parse(files),
            edges: BTreeMap::new(),
            foreign_impls: Vec::new(),
            functions: BTreeMap::new(),
            methods: BTreeMap::new(),
        };
        this.collect_methods();
        let mut found = Vec::new();
        for (index, module) in this.modules.all.iter().enumerate() {
            for import in &module.facts.imports {
                found.extend(this.import_edges(index, import));
            }
            for path in &module.facts.paths {
                found.extend(this.path_edges(index, path));
            }
            for (receiver, name) in &module.facts.calls {
                found.extend(this.call_edge(index, receiver.as_ref(), name));
            }
        }
        for (from, to, name) in found {
            if from != to && !this.modules.all[to].file_path.is_empty() {
                this.edges.entry(from).or_default().entry(to).or_default().insert(name);
            }
        }
        this
    }

    fn collect_methods(&mut self) {
        for (index, module) in self.modules.all.iter().enumerate() {
            let mut add = |name: &String| {
                let key = (module.top().to_owned(), name.clone());
                self.methods.entry(key).or_default().insert(module.file);
            };
            module.facts.other_methods.iter().for_each(&mut add);
            for block in &module.facts.inherent {
                block.methods.iter().for_each(&mut add);
                let Some(type_id) = self.modules.resolve(index, &block.self_type).item else { continue };
                for name in &block.functions {
                    self.functions.insert((type_id.clone(), name.clone()), module.file);
                }
                let type_file = self.modules.all[type_id.0].file;
                if type_file != module.file {
                    self.foreign_impls.push(ForeignImpl {
                        file: module.file,
                        type_file,
                        type_name: type_id.1,
                    });
                }
            }
        }
    }

    fn file_of(&self, module: usize) -> usize {
        self.modules.all[module].file
    }

    /// Returns the dependency on a module that is named without an item in it; `None` for the module file of a folder.
    fn module_edge(&self, from: usize, to: usize) -> Option<(usize, usize, String)> {
        let file = self.file_of(to);
        let is_map = self.modules.all[file].is_folder();
        (!is_map).then(|| (self.file_of(from), file, "self".to_owned()))
    }

    fn import_edges(&self, from: usize, import: &Import) -> Vec<(usize, usize, String)> {
        let meaning = self.modules.resolve(from, &import.segments);
        let file = self.file_of(from);
        let is_map_line = |to: usize| {
            import.is_reexport && (self.modules.all[file].is_folder() || self.modules.is_below(to, file))
        };
        let target = meaning.item.as_ref().map(|item| item.0).or(meaning.module);
        if target.is_none_or(is_map_line) {
            return Vec::new();
        }
        self.meaning_edges(from, &meaning)
    }

    fn path_edges(&self, from: usize, path: &[String]) -> Vec<(usize, usize, String)> {
        let meaning = self.modules.resolve(from, path);
        if path.len() == 1 && meaning.item.is_none() {
            return Vec::new();
        }
        self.meaning_edges(from, &meaning)
    }

    fn meaning_edges(&self, from: usize, meaning: &Meaning) -> Vec<(usize, usize, String)> {
        let Some((module, name)) = &meaning.item else {
            return meaning.module.and_then(|module| self.module_edge(from, module)).into_iter().collect();
        };
        let mut edges = vec![(self.file_of(from), self.file_of(*module), name.clone())];
        if let Some(function) = meaning.rest.first() {
            edges.extend(self.function_edge(from, &(*module, name.clone()), function));
        }
        edges
    }

    /// Returns the dependency on the file that defines an inherent function; `None` if that is the type's own file.
    fn function_edge(&self, from: usize, type_id: &TypeId, name: &str) -> Option<(usize, usize, String)> {
        let file = *self.functions.get(&(type_id.clone(), name.to_owned()))?;
        (file != self.file_of(type_id.0)).then(|| (self.file_of(from), file, format!(".{name}()")))
    }

    /// Returns the type of a receiver; `None` if it is unknown or from another crate.
    fn receiver_type(&self, from: usize, receiver: &Receiver) -> Option<TypeId> {
        let type_id = self.modules.resolve(from, &receiver.variable).item?;
        let Some(field) = &receiver.field else { return Some(type_id) };
        let (module, name) = type_id;
        let field_type = self.modules.all[module].facts.fields.get(&(name, field.clone()))?;
        self.modules.resolve(module, field_type).item
    }

    /// Returns the dependency that a method call causes, if any. Where the type of the receiver is known, so is the
    /// method; else the name decides, if exactly one file of the top folder defines a method of that name.
    fn call_edge(
        &self,
        from: usize,
        receiver: Option<&Receiver>,
        name: &str,
    ) -> Option<(usize, usize, String)> {
        if let Some(type_id) = receiver.and_then(|receiver| self.receiver_type(from, receiver)) {
            return self.function_edge(from, &type_id, name);
        }
        if STANDARD_METHODS.contains(&name) {
            return None;
        }
        let key = (self.modules.all[from].top().to_owned(), name.to_owned());
        let files = self.methods.get(&key)?;
        let file = files.first().filter(|_| files.len() == 1)?;
        let is_foreign = self.functions.iter().any(|((type_id, function), at)| {
            at == file && function == name && self.file_of(type_id.0) != *file
        });
        is_foreign.then(|| (self.file_of(from), *file, format!(".{name}()")))
    }

    /// Returns the foreign `impl` blocks that break the rule: they are not in a file below the folder of their type's
    /// file, or the type's file uses that file.
    pub fn misplaced_impls(&self) -> Vec<&ForeignImpl> {
        let uses =
            |from: usize, to: usize| self.edges.get(&from).is_some_and(|edges| edges.contains_key(&to));
        let is_allowed = |found: &ForeignImpl| {
            self.modules.is_below(found.file, found.type_file) && !uses(found.type_file, found.file)
        };
        self.foreign_impls.iter().filter(|found| !is_allowed(found)).collect()
    }

    /// Returns the groups of files that depend on each other in cycles, the largest first.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let edges = self.edges.iter().flat_map(|(from, to)| to.keys().map(|to| (*from, *to)));
        let graph = petgraph::graph::DiGraph::<(), (), usize>::from_edges(edges);
        let components = petgraph::algo::tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
        let mut groups: Vec<Vec<usize>> = components
            .map(|group| group.into_iter().map(petgraph::graph::NodeIndex::index).collect())
            .collect();
        for group in &mut groups {
            group.sort_unstable_by_key(|index| &self.modules.all[*index].path);
        }
        groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), self.modules.all[group[0]].name()));
        groups
    }

    /// Describes a cycle: each file with the files of the cycle that it depends on, and the names that cause it.
    pub fn describe(&self, group: &[usize]) -> String {
        let mut prefix = self.modules.all[group[0]].path.clone();
        for index in group {
            let path = &self.modules.all[*index].path;
            let common =
                prefix.iter().zip(&path[..path.len().saturating_sub(1)]).take_while(|(a, b)| a == b);
            prefix.truncate(common.count());
        }
        let short = |index: usize| self.modules.all[index].path[prefix.len()..].join("::");
        let mut text = format!("{} modules of {}:\n", group.len(), prefix.join("::"));
        for from in group {
            let Some(edges) = self.edges.get(from) else { continue };
            let ties: Vec<_> = edges
                .iter()
                .filter(|(to, _)| group.contains(to))
                .map(|(to, names)| format!("{} ({})", short(*to), abbreviate(names)))
                .collect();
            let _ = writeln!(text, "  {} -> {}", short(*from), ties.join(", "));
        }
        text
    }
}

/// Lists the first names of a set and counts the rest.
fn abbreviate(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 3;
    let first: Vec<_> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more == 0 { first.join(" ") } else { format!("{} +{more}", first.join(" ")) }
}
