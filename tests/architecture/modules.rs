//! The tree of modules, and what a path means in it.
//!
//! In: source files as `(path below src, text)`. Out: `Modules`, whose `resolve` follows a path as the compiler does,
//! through imports, renames, globs and re-exports, to the module that defines the item. A path that leaves the crate
//! resolves to nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{Facts, Segments};

/// One module: a file, an inline module, or a folder that has no module file.
#[derive(Default)]
pub struct Module {
    pub path: Segments,
    pub facts: Facts,
    /// Index of the module whose file contains this one: itself, except for inline modules.
    pub file: usize,
    /// Path of the file below `src`; empty for a folder without a module file.
    pub file_path: String,
    children: BTreeMap<String, usize>,
    parent: Option<usize>,
}

impl Module {
    /// Returns the path as text, such as `plan::guards`.
    pub fn name(&self) -> String {
        if self.path.is_empty() { "lib".to_owned() } else { self.path.join("::") }
    }

    /// Returns whether this is the module file of a folder: `mod.rs`, `lib.rs`, or none.
    pub fn is_folder(&self) -> bool {
        self.file_path.is_empty() || self.file_path.ends_with("mod.rs") || self.file_path == "lib.rs"
    }

    /// Returns the folder of `src` that the module is in.
    pub fn top(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }
}

/// What a path resolves to; empty if it leaves the crate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meaning {
    pub module: Option<usize>,
    /// The module that defines the item, and the item's name there.
    pub item: Option<(usize, String)>,
    /// What follows the item in the path: a variant or an associated function.
    pub rest: Segments,
}

/// Index of the crate's root.
const ROOT: usize = 0;

/// All modules.
pub struct Modules {
    pub all: Vec<Module>,
    index: BTreeMap<Segments, usize>,
}

impl Modules {
    /// Parses the files, except for test files and modules that are declared for tests only.
    pub fn parse(files: &[(String, String)]) -> Self {
        let mut modules = Self { all: Vec::new(), index: BTreeMap::new() };
        modules.add_path(&[]);
        let files: Vec<_> = files.iter().filter(|(path, _)| !is_test_file(path)).collect();
        for ((file_path, _), parsed) in files.iter().zip(parse_all(&files)) {
            let path = module_path(file_path);
            let mut file = None;
            for facts in parsed {
                let full: Segments = path.iter().chain(&facts.inline_path).cloned().collect();
                let index = modules.add_path(&full);
                let module = &mut modules.all[index];
                module.file = *file.get_or_insert(index);
                module.file_path.clone_from(file_path);
                module.facts = facts;
            }
        }
        modules.remove_test_modules();
        modules
    }

    /// Returns the index of a module; adds it and its parents if they are missing.
    fn add_path(&mut self, path: &[String]) -> usize {
        if let Some(&index) = self.index.get(path) {
            return index;
        }
        let parent = path.split_last().map(|(_, above)| self.add_path(above));
        let index = self.all.len();
        if let (Some(parent), Some(name)) = (parent, path.last()) {
            self.all[parent].children.insert(name.clone(), index);
        }
        self.index.insert(path.to_vec(), index);
        self.all.push(Module { path: path.to_vec(), file: index, parent, ..Module::default() });
        index
    }

    fn remove_test_modules(&mut self) {
        let mut removed: Vec<usize> = Vec::new();
        for module in &self.all {
            removed.extend(module.facts.test_modules.iter().filter_map(|name| module.children.get(name)));
        }
        while let Some(index) = removed.pop() {
            removed.extend(self.all[index].children.values());
            self.all[index].facts = Facts::default();
            self.all[index].file_path = String::new();
        }
    }

    /// Returns the modules that are files.
    pub fn files(&self) -> impl Iterator<Item = (usize, &Module)> {
        self.all
            .iter()
            .enumerate()
            .filter(|(index, module)| module.file == *index && !module.file_path.is_empty())
    }

    /// Returns whether a module is another one or below it.
    pub fn is_below(&self, index: usize, above: usize) -> bool {
        self.all[index].path.starts_with(&self.all[above].path)
    }

    /// Resolves a path that is written in the module `from`.
    pub fn resolve(&self, from: usize, segments: &[String]) -> Meaning {
        Search { modules: self, active: BTreeSet::new() }.resolve(from, segments)
    }
}

/// One search for the meaning of a path.
struct Search<'a> {
    modules: &'a Modules,
    /// The lookups in progress: an import may lead back to itself.
    active: BTreeSet<(usize, &'a str)>,
}

impl Search<'_> {
    fn resolve(&mut self, from: usize, segments: &[String]) -> Meaning {
        let Some((first, rest)) = segments.split_first() else { return Meaning::default() };
        let module = &self.modules.all[from];
        let start = match first.as_str() {
            "crate" => Some(ROOT),
            "self" => Some(from),
            "super" => module.parent,
            "stead" if module.file_path == "main.rs" => Some(ROOT),
            _ => return self.follow(from, segments),
        };
        let Some(start) = start else { return Meaning::default() };
        match rest.first().map(String::as_str) {
            None => Meaning { module: Some(start), ..Meaning::default() },
            Some("super") => self.resolve(start, rest),
            Some(_) => self.follow(start, rest),
        }
    }

    fn follow(&mut self, mut module: usize, segments: &[String]) -> Meaning {
        for (at, name) in segments.iter().enumerate() {
            let rest = &segments[at + 1..];
            if rest.is_empty() {
                return self.look_up(module, name);
            }
            if let Some(&child) = self.modules.all[module].children.get(name) {
                module = child;
                continue;
            }
            let meaning = self.look_up(module, name);
            if let Some(next) = meaning.module {
                module = next;
            } else {
                let rest = meaning.rest.iter().chain(rest).cloned().collect();
                return Meaning { rest, ..meaning };
            }
        }
        Meaning::default()
    }

    /// Resolves a name in a module.
    fn look_up(&mut self, index: usize, name: &str) -> Meaning {
        let module = &self.modules.all[index];
        let mut meaning = Meaning { module: module.children.get(name).copied(), ..Meaning::default() };
        if module.facts.items.contains(name) {
            meaning.item = Some((index, name.to_owned()));
        }
        for import in &module.facts.imports {
            if import.is_glob || import.name != name || !self.active.insert((index, &import.name)) {
                continue;
            }
            let imported = self.resolve(index, &import.segments);
            self.active.remove(&(index, import.name.as_str()));
            meaning.module = meaning.module.or(imported.module);
            if meaning.item.is_none() {
                (meaning.item, meaning.rest) = (imported.item, imported.rest);
            }
        }
        if meaning == Meaning::default() { self.look_up_in_globs(index, name) } else { meaning }
    }

    fn look_up_in_globs(&mut self, index: usize, name: &str) -> Meaning {
        if !self.active.insert((index, "*")) {
            return Meaning::default();
        }
        let mut meaning = Meaning::default();
        for import in self.modules.all[index].facts.imports.iter().filter(|import| import.is_glob) {
            if meaning == Meaning::default()
                && let Some(from) = self.resolve(index, &import.segments).module
            {
                meaning = self.look_up(from, name);
            }
        }
        self.active.remove(&(index, "*"));
        meaning
    }
}

/// Parses the files on all cores: parsing takes most of the test's time.
fn parse_all(files: &[&(String, String)]) -> Vec<Vec<Facts>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let parse = |part: &[&(String, String)]| -> Vec<Vec<Facts>> {
        part.iter().map(|(path, text)| Facts::parse(path, text)).collect()
    };
    std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(cores).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || parse(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Returns whether a file contains tests: its name is `tests.rs`, or it is in a folder `tests`.
pub fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// Returns the path of the module that a file defines.
fn module_path(file: &str) -> Segments {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let mut path: Segments = stem.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod") || stem == "lib" {
        path.pop();
    }
    path
}
