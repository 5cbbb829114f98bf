//! What an expression can name: values by root, files, and the budget that evaluation is charged to.

use std::collections::BTreeMap;

use super::item::CelValue;
use crate::model::address::Name;
use crate::model::budget::Budget;

/// A function that reads the file in `file("…")`; its error is a sentence.
pub type FileReader<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// The names that an expression can use, and their values.
#[derive(Default)]
pub struct ExpressionScope<'a> {
    /// Values by root: `vars`, `env`, a kind and so on.
    pub roots: BTreeMap<Name, CelValue<'a>>,
    /// Reads files for `file("…")`; `None` where an expression may not read files.
    pub read: Option<FileReader<'a>>,
    /// The budget for the evaluation's values; `None` gives the evaluation a budget of its own.
    pub budget: Option<&'a Budget>,
}

/// The binding that holds the texts read by `file("…")`, by path.
pub const FILES_BINDING: &str = "file";

/// Binds an item at a path below the roots, creating the maps on the path.
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
