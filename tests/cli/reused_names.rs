//! A name that one object gives up and another one takes in the same apply.

use crate::case::Case;

/// The name of a deleted object identifies the one that the same apply creates: it did not exist before.
#[test]
fn a_saved_query_takes_the_name_of_one_that_the_same_apply_deletes() {
    let stack = |queries: &str| {
        format!(
            "stead: 1\nstack: s\ndatabase: {{ main: {{ plan: pg-1c-2g, saved_queries: {{ {queries} }} }} }}\n"
        )
    };
    let case = Case::new().file("stead.yaml", stack("x: { name: a, query: SELECT 1 }")).emulator();
    case.ok("apply --yes");
    let case = case.file(
        "stead.yaml",
        stack("x: { name: b, query: SELECT 1 }, y: { name: a, query: SELECT 2 }, z: { name: c, query: SELECT 3 }"),
    );
    case.ok("apply --yes");
    case.ok("plan").says(&["No changes"]);
}
