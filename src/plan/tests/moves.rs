//! A law over generated trees of modules: after any moves that the files say, nothing happens but moves, and the
//! ledger has the objects that it had.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use proptest::prelude::*;

use super::show;
use super::world::{World, is_empty};
use crate::config::input::files::Files;
use crate::config::input::request::LoadRequest;
use crate::config::load::{LoadFailure, load};
use crate::config::stack::model::Stack;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::source::{Source, Sources};
use crate::plan::model::change::Action;

/// What stands in one directory.
#[derive(Debug, Clone, Default)]
struct Unit {
    /// Volumes, by name, with the name that they say.
    volumes: BTreeMap<String, Option<String>>,
    /// Modules that the directory uses, by name.
    uses: BTreeMap<String, Use>,
    moved: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
struct Use {
    keys: Vec<&'static str>,
    /// What the names of its resources begin with, where it says so.
    name: Option<String>,
    unit: Unit,
}

/// Modules as deep as this.
const DEEP: u32 = 2;

/// Trees whose modules are called like this.
fn units(modules: &'static str) -> impl Strategy<Value = Unit> {
    let volumes = || prop::collection::btree_set("[a-c]", 1..3);
    let unit = |volumes: BTreeSet<String>, uses: BTreeMap<String, (usize, Unit)>| Unit {
        volumes: volumes.into_iter().map(|name| (name, None)).collect(),
        uses: uses
            .into_iter()
            .map(|(name, (keys, unit))| (name, Use { keys: ["k", "l"][..keys].to_vec(), name: None, unit }))
            .collect(),
        moved: Vec::new(),
    };
    let leaf = volumes().prop_map(move |volumes| unit(volumes, BTreeMap::new()));
    leaf.prop_recursive(DEEP, 12, 2, move |inner| {
        let uses = prop::collection::btree_map(modules, (0usize..3, inner), 1..3);
        (volumes(), uses).prop_map(move |(volumes, uses)| unit(volumes, uses))
    })
}

/// Makes one change somewhere, and says it there. `pick` decides what and where.
fn refactor(unit: &mut Unit, top: bool, mut pick: impl FnMut(usize) -> usize, n: usize) {
    let new = format!("new{n}");
    let choices = unit.volumes.len() + unit.uses.len();
    let chosen = pick(choices);
    if let Some(old) = unit.volumes.keys().nth(chosen).cloned() {
        let Some(said) = unit.volumes.remove(&old) else { return };
        let default = if top { old.clone() } else { format!("${{module}}-{old}") };
        unit.volumes.insert(new.clone(), Some(said.unwrap_or(default)));
        unit.moved.push((format!("volume.{old}"), format!("volume.{new}")));
        return;
    }
    let Some(old) = unit.uses.keys().nth(chosen - unit.volumes.len()).cloned() else { return };
    match pick(3) {
        0 => {
            let Some(mut called) = unit.uses.remove(&old) else { return };
            let default = if called.keys.is_empty() { old.clone() } else { format!("{old}-${{each.key}}") };
            called.name.get_or_insert(default);
            unit.uses.insert(new.clone(), called);
            // What got a key by a move that is not made yet goes on from there.
            let keyed = unit.moved.iter().any(|(_, to)| *to == format!("{old}.k"));
            unit.moved.push(if keyed { (format!("{old}.k"), format!("{new}.k")) } else { (old, new) });
        }
        1 => {
            let Some(called) = unit.uses.get_mut(&old) else { return };
            // Two moves that return to the first address before an apply form a cycle.
            if unit.moved.iter().any(|(_, to)| *to == old || *to == format!("{old}.k")) {
                return;
            }
            match called.keys.as_slice() {
                [] => {
                    called.keys = vec!["k"];
                    called.name.get_or_insert(old.clone());
                    unit.moved.push((old.clone(), format!("{old}.k")));
                }
                ["k"] => {
                    called.keys.clear();
                    let said = called.name.take().unwrap_or_else(|| format!("{old}-${{each.key}}"));
                    called.name = Some(said.replace("${each.key}", "k"));
                    unit.moved.push((format!("{old}.k"), old.clone()));
                }
                _ => {}
            }
        }
        _ => {
            if let Some(called) = unit.uses.get_mut(&old) {
                refactor(&mut called.unit, false, pick, n);
            }
        }
    }
}

/// Takes a volume of a module that has no keys out of it, as a block of the stack.
fn lift(unit: &mut Unit, n: usize) {
    let single = |called: &Use| called.keys.is_empty() && called.unit.volumes.len() > 1;
    let Some((name, called)) = unit.uses.iter_mut().find(|(_, called)| single(called)) else { return };
    let front = called.name.clone().unwrap_or_else(|| name.clone());
    let Some((volume, said)) = called.unit.volumes.pop_first() else { return };
    let said = said.unwrap_or_else(|| format!("${{module}}-{volume}")).replace("${module}", &front);
    let new = format!("up{n}");
    unit.moved.push((format!("{name}.volume.{volume}"), format!("volume.{new}")));
    unit.volumes.insert(new, Some(said));
}

/// The files of a tree, by their paths.
#[derive(Debug, Clone, Default)]
struct Texts(BTreeMap<String, String>);

impl Texts {
    fn of(unit: &Unit) -> Self {
        let mut texts = Self::default();
        texts.write(unit, "m", "stead: 1\nstack: shop\n");
        texts
    }

    fn write(&mut self, unit: &Unit, place: &str, head: &str) {
        let mut text = head.to_owned();
        let mut block = |word: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                writeln!(text, "{word}:\n{}", lines.join("\n")).unwrap();
            }
        };
        let name = |name: &Option<String>| {
            name.as_ref().map(|name| format!(", name: \"{name}\"")).unwrap_or_default()
        };
        let volumes =
            unit.volumes.iter().map(|(own, said)| format!("  {own}: {{ size: 10{} }}", name(said)));
        block("volume", volumes.collect());
        let uses = unit.uses.iter().map(|(own, called)| {
            let keys = called.keys.join(", ");
            let keys = if keys.is_empty() { String::new() } else { format!(", for_each: [{keys}]") };
            format!("  {own}: {{ source: ./{own}{keys}{} }}", name(&called.name))
        });
        block("use", uses.collect());
        let moved = unit.moved.iter().map(|(from, to)| format!("  - {{ from: {from}, to: {to} }}"));
        block("moved", moved.collect());
        self.0.insert(format!("{place}/stead.yaml"), text);
        for (own, called) in &unit.uses {
            self.write(&called.unit, &format!("{place}/{own}"), "");
        }
    }

    /// Returns the stack, or the problems of what is written.
    fn stack(&self) -> Result<Stack, String> {
        let mut sources = Sources::default();
        sources.add(Source::new("stead.yaml", self.0["m/stead.yaml"].as_str()));
        let loaded = load(REGISTRY, sources, &LoadRequest::default(), self);
        let told = |rejected: Box<LoadFailure>| format!("{:#?}\n{self:#?}", rejected.diagnostics);
        loaded.map(|(stack, _)| stack).map_err(told)
    }
}

impl Files for Texts {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = self.0.get(path.to_str().unwrap()).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.clone().into_bytes())
    }

    fn path_from_root(&self) -> Vec<Name> {
        vec!["m".into()]
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let file = path.join("stead.yaml");
        let there = self.0.contains_key(file.to_str().unwrap());
        if there { Ok(vec!["stead.yaml".to_owned()]) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn in_dir(&self, _path: &Path) -> Option<Rc<dyn Files>> {
        Some(Rc::new(self.clone()))
    }
}

fn stand(world: &mut World, stack: Stack) {
    world.stack = Stack { environment: world.stack.environment.clone(), ..stack };
}

fn ids(world: &World) -> BTreeSet<Name> {
    let owned = world.ledger.entries.values().filter_map(|entry| entry.current.as_ref());
    owned.map(|owned| owned.id.clone()).collect()
}

/// Applies a tree, changes it, and returns the world and what is written then.
fn changed(tree: &mut Unit, picks: Vec<usize>, changes: usize) -> (World, Texts) {
    let mut world = World::new();
    stand(&mut world, Texts::of(tree).stack().unwrap());
    world.settle();
    change(tree, picks, 0..changes);
    (world, Texts::of(tree))
}

fn change(tree: &mut Unit, picks: Vec<usize>, changes: Range<usize>) {
    let mut picks = picks.into_iter();
    for n in changes {
        if picks.next().unwrap_or(1).is_multiple_of(4) {
            lift(tree, n);
        } else {
            refactor(tree, true, |of| picks.next().unwrap_or(0) % of.max(1), n);
        }
    }
}

/// Holds that nothing happens but moves.
fn only_moves(world: &mut World, texts: &Texts) -> Result<(), TestCaseError> {
    let before = ids(world);
    let plan = world.plan();
    prop_assert!(plan.blocks.is_empty() && plan.steps.is_empty(), "{}\n{texts:#?}", show(&plan));
    prop_assert!(
        plan.changes.iter().all(|change| change.action == Action::Move),
        "{}\n{texts:#?}",
        show(&plan)
    );
    world.settle();
    prop_assert_eq!(before, ids(world));
    prop_assert!(world.stack.resources.keys().eq(world.ledger.entries.keys()), "{texts:#?}");
    prop_assert!(is_empty(&world.plan()), "{}\n{texts:#?}", show(&world.plan()));
    Ok(())
}

/// Returns files of a stack that uses a module, each as it is written below its head.
fn texts(stack: &str, (place, module): (&str, &str)) -> Texts {
    let stack = format!("stead: 1\nstack: shop\n{stack}");
    Texts([("m/stead.yaml".to_owned(), stack), (format!("m/{place}/stead.yaml"), module.to_owned())].into())
}

/// A volume is renamed in a module, then taken out of it, and then the module gets another place: the module's own
/// entry leads to an address that only the caller's entry for the earlier place takes further.
#[test]
fn a_resource_moved_out_of_a_module_is_found_after_the_module_moves() -> Result<(), TestCaseError> {
    let module = "volume: { b: { size: 10 } }\nmoved: [{ from: volume.a, to: volume.c }]\n";
    let earlier = [
        texts("use: { n: { source: ./n } }\n", ("n", "volume: { a: { size: 10 }, b: { size: 10 } }\n")),
        texts(
            "use: { n: { source: ./n } }\n",
            (
                "n",
                "volume: { b: { size: 10 }, c: { size: 10, name: \"${module}-a\" } }\n\
                 moved: [{ from: volume.a, to: volume.c }]\n",
            ),
        ),
        texts(
            "use: { n: { source: ./n } }\nvolume: { up: { size: 10, name: n-a } }\n\
             moved: [{ from: n.volume.c, to: volume.up }]\n",
            ("n", module),
        ),
    ];
    let moves = [
        ("new", "name: n", "{ from: n, to: new }"),
        ("new", "name: n", "{ from: n, to: o }, { from: o, to: new }"),
        ("n", "name: n, for_each: [k]", "{ from: n, to: n.k }"),
    ];
    for (at, words, moved) in moves {
        let last = texts(
            &format!(
                "use: {{ {at}: {{ source: ./{at}, {words} }} }}\nvolume: {{ up: {{ size: 10, name: n-a }} }}\n\
                 moved: [{{ from: n.volume.c, to: volume.up }}, {moved}]\n"
            ),
            (at, module),
        );
        // An environment may be behind: it was applied at any of the earlier states.
        for applied in &earlier {
            let mut world = World::new();
            stand(&mut world, applied.stack().unwrap());
            world.settle();
            stand(&mut world, last.stack().unwrap());
            only_moves(&mut world, &last)?;
            let plan = world.plan();
            let done =
                plan.notes.iter().filter(|note| note.text.contains("to volume.up has nothing left to do"));
            prop_assert_eq!(done.count(), 1, "{:#?}", &plan.notes);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn moving_modules_changes_only_addresses(
        mut tree in units("[m-o]"),
        picks in prop::collection::vec(0usize..60, 24),
        more in prop::collection::vec(0usize..60, 24),
        changes in 1usize..6,
    ) {
        let (mut world, texts) = changed(&mut tree, picks, changes);
        stand(&mut world, texts.stack().unwrap());
        only_moves(&mut world, &texts)?;
        // What is done stays in the files.
        change(&mut tree, more, 10..10 + changes);
        let texts = Texts::of(&tree);
        stand(&mut world, texts.stack().unwrap());
        only_moves(&mut world, &texts)?;
    }

    /// Where a module is called like a key, an address may mean two things: then nothing is done.
    #[test]
    fn modules_named_like_for_each_keys_are_moved_or_rejected(
        mut tree in units("[km]"),
        picks in prop::collection::vec(0usize..60, 24),
        changes in 1usize..6,
    ) {
        let (mut world, texts) = changed(&mut tree, picks, changes);
        let stack = match texts.stack() {
            Ok(stack) => stack,
            Err(told) => {
                prop_assert!(told.contains("code: \"S029"), "{told}");
                return Ok(());
            }
        };
        stand(&mut world, stack);
        let refused = world.plan().blocks;
        if refused.is_empty() {
            only_moves(&mut world, &texts)?;
        } else {
            prop_assert!(refused.iter().any(|block| block.code == "moved"), "{refused:#?}\n{texts:#?}");
        }
    }
}
