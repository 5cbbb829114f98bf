//! The order of the parts inside a folder: a part may depend on those before it only.

use std::collections::BTreeSet;

use crate::dependencies::Dependencies;

/// One row of the table: a folder below `src`, and its entries, lower parts first.
pub type Row<'a> = (&'a str, &'a [&'a str]);

/// Returns what violates the table: a dependency to the right, an entry or a folder that does not exist, and an
/// entry that a listed folder does not list. Empty if nothing does.
pub fn violations(dependencies: &Dependencies, order: &[Row<'_>]) -> Vec<String> {
    order.iter().flat_map(|row| row_violations(dependencies, row)).collect()
}

fn row_violations(dependencies: &Dependencies, (folder, listed): &Row<'_>) -> Vec<String> {
    let folder_path: Vec<_> = folder.split('/').map(str::to_owned).collect();
    let entry_of = |index: usize| {
        let path = &dependencies.modules.all[index].path;
        path.strip_prefix(folder_path.as_slice()).and_then(|below| below.first()).map(String::as_str)
    };
    let position =
        |index: usize| entry_of(index).and_then(|name| listed.iter().position(|entry| *entry == name));
    let present: BTreeSet<_> =
        dependencies.modules.files().filter_map(|(index, _)| entry_of(index)).collect();
    let mut found = Vec::new();
    for entry in listed.iter().filter(|entry| !present.contains(*entry)) {
        found.push(format!("{folder}: `{entry}` is listed, but does not exist"));
    }
    for entry in present.iter().filter(|entry| !listed.contains(entry)) {
        found.push(format!("{folder}: `{entry}` is not listed"));
    }
    for (from, edges) in &dependencies.edges {
        for (to, names) in edges {
            let (Some(left), Some(right)) = (position(*from), position(*to)) else { continue };
            if right > left {
                let name = |index: usize| dependencies.modules.all[index].name();
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                found.push(format!(
                    "{folder}: `{}` is left of `{}`, but {} depends on {} ({})",
                    listed[left],
                    listed[right],
                    name(*from),
                    name(*to),
                    names.join(" ")
                ));
            }
        }
    }
    found
}
