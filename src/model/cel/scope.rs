//! What an expression can name: values by root, files, and the budget that evaluation is charged to.

use std::collections::BTreeMap;

use super::item::Item;
use crate::model::address::Name;
use crate::model::budget::Budget;

/// Reads a file that `file("…")` names; the error is a sentence.
pub type ReadText<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// What an expression can name.
#[derive(Default)]
pub struct Scope<'a> {
    /// Values by root: `vars`, `env`, a kind …
    pub roots: BTreeMap<Name, Item<'a>>,
    /// Reads files; `None` where no file may be read.
    pub read: Option<ReadText<'a>>,
    /// What its values are charged to; `None` gives the evaluation a budget of its own.
    pub budget: Option<&'a Budget>,
}

/// The binding under which the texts that `file("…")` read are kept, by path.
pub const FILES: &str = "file";

/// Puts an item at a path below the roots, making maps on the way.
pub fn bind_path<'a, 'p>(
    roots: &mut BTreeMap<Name, Item<'a>>,
    mut path: impl Iterator<Item = &'p str>,
    item: Item<'a>,
) {
    let Some(first) = path.next() else { return };
    let mut place = roots.entry(Name::new(first)).or_insert_with(Item::empty_map);
    for segment in path {
        let Some(map) = place.map_mut() else { return };
        place = map.entry(Name::new(segment)).or_insert_with(Item::empty_map);
    }
    *place = item;
}
