//! What an expression can name: values by root, files, and the budget that evaluation is charged to.

use std::collections::BTreeMap;

use super::item::CelValue;
use crate::model::address::Name;
use crate::model::budget::Budget;

/// Reads a file that `file("…")` names; the error is a sentence.
pub type FileReader<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// What an expression can name.
#[derive(Default)]
pub struct ExpressionScope<'a> {
    /// Values by root: `vars`, `env`, a kind …
    pub roots: BTreeMap<Name, CelValue<'a>>,
    /// Reads files; `None` where no file may be read.
    pub read: Option<FileReader<'a>>,
    /// What its values are charged to; `None` gives the evaluation a budget of its own.
    pub budget: Option<&'a Budget>,
}

/// The binding under which the texts that `file("…")` read are kept, by path.
pub const FILES_BINDING: &str = "file";

/// Puts an item at a path below the roots, making maps on the way.
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
