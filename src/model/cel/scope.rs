//! `ExpressionScope`: the names that an expression can use, with their values, the reader of its files, and the budget
//! to which the evaluation is charged.

use std::collections::BTreeMap;

use super::item::CelValue;
use crate::model::address::Name;
use crate::model::budget::Budget;

/// A function that returns the text of the file in `file("…")`; its error is a sentence, which names the path.
pub type FileReader<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// The names that an expression can use, and their values.
#[derive(Default)]
pub struct ExpressionScope<'a> {
    /// Values by root, the first name of a path: `vars`, `env`, a kind.
    pub roots: BTreeMap<Name, CelValue<'a>>,
    /// Reads files for `file("…")`; `None` where an expression may not read files.
    pub read: Option<FileReader<'a>>,
    /// The budget for the evaluation's values; `None` gives the evaluation a budget of its own.
    pub budget: Option<&'a Budget>,
}

/// The root that has the contents of the files in `file("…")`, by path: a saved plan evaluates without the files.
pub const FILES_BINDING: &str = "file";

/// Binds a value at a path below the roots, creating the maps on the path. It replaces a value at that path, and a
/// scalar on the way; an empty path binds nothing.
pub fn bind_path<'a, 'p>(
    roots: &mut BTreeMap<Name, CelValue<'a>>,
    mut path: impl Iterator<Item = &'p str>,
    item: CelValue<'a>,
) {
    let Some(first) = path.next() else { return };
    let mut place = roots.entry(Name::new(first)).or_insert_with(CelValue::empty_map);
    for segment in path {
        let Some(map) = place.map_mut() else { return };
        place = map.entry(Name::new(segment)).or_insert_with(CelValue::empty_map);
    }
    *place = item;
}
