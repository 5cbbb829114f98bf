//! Invented sources, one rule each: what counts as a dependency, what does not, and what the checks report.

use crate::dependencies::Dependencies;
use crate::order;

fn measure(files: &[(&str, &str)]) -> Dependencies {
    let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Dependencies::measure(&files)
}

/// Returns each dependency of the sources as `from -> to`, sorted.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let dependencies = measure(files);
    let name = |index: usize| dependencies.modules.all[index].name();
    let all = dependencies.edges.iter().flat_map(|(from, to)| to.keys().map(|to| (*from, *to)));
    let mut found: Vec<_> = all.map(|(from, to)| format!("{} -> {}", name(from), name(to))).collect();
    found.sort();
    found
}

/// Returns the names of the modules of each cycle, the largest cycle first.
fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let dependencies = measure(files);
    let names =
        |group: &Vec<usize>| group.iter().map(|index| dependencies.modules.all[*index].name()).collect();
    dependencies.cycles().iter().map(names).collect()
}

#[test]
fn two_files_that_import_each_other_are_a_cycle() {
    let files = [
        ("top/a.rs", "use super::b::B; pub struct A(B);"),
        ("top/b.rs", "use crate::top::a::A; pub struct B(Box<A>);"),
        ("top/c.rs", "use super::a::A; pub struct C(A);"),
    ];
    assert_eq!(cycles(&files), [["top::a", "top::b"]]);
    assert_eq!(
        measure(&files).describe(&measure(&files).cycles()[0]),
        "2 modules of top:\n  a -> b (B)\n  b -> a (A)\n"
    );
    assert!(cycles(&files[..1]).is_empty());
}

#[test]
fn every_form_of_import_is_followed() {
    for import in [
        "use super::b::B;",
        "use super::{b::{B}};",
        "use crate::top::{b::{self, B}};",
        "use super::b::B as Other;",
        "use super::b as other;",
        "use super::b::{self}; fn f() -> b::B { todo!() }",
        "use super::b::*;",
        "use self::super::b::B;",
        "fn f() { use super::b::B; }",
        "fn f() -> super::b::B { todo!() }",
        "fn f() { assert!(super::b::B::new() == 1) }",
        "#[serde(with = \"super::b::text\")] struct A;",
        "macro_rules! m { () => { $crate::top::b::B } }",
        "mod inner { use super::super::b::B; }",
    ] {
        let files = [("top/a.rs", import), ("top/b.rs", "pub struct B; pub mod text {}")];
        assert_eq!(edges(&files), ["top::a -> top::b"], "{import}");
    }
}

#[test]
fn names_that_only_look_alike_are_not_a_dependency() {
    for text in [
        "use b::B;",
        "use ::c::C;",
        "use other::b::B;",
        "//! [`super::b::B`]\nfn f() { \"super::b::B\"; }",
        "pub(super) struct B;",
        "pub(in crate::top) struct B;",
        "fn f(b: u8) -> u8 { b }",
    ] {
        let files = [
            ("top.rs", "mod a; mod b;"),
            ("top/a.rs", text),
            ("top/a/c.rs", "pub struct C;"),
            ("top/b.rs", "pub struct B;"),
        ];
        assert!(edges(&files).is_empty(), "{text}");
    }
}

#[test]
fn a_path_through_an_imported_parent_is_a_dependency_on_the_child() {
    let files = [
        ("top/a.rs", "use super::part; pub struct A; fn f() { part::child::run(); }"),
        ("top/part/mod.rs", "pub mod child;"),
        ("top/part/child.rs", "use crate::top::a::A; pub fn run() {}"),
    ];
    assert_eq!(cycles(&files), [["top::a", "top::part::child"]]);
}

#[test]
fn a_parent_file_that_uses_its_child_depends_on_it() {
    let child = ("top/part/child.rs", "use super::Part; pub fn run(_: Part) {}");
    for parent in [
        "mod child; pub struct Part; fn f() { child::run(Part); }",
        "mod child; use self::child::run; pub struct Part;",
        "mod child; pub use self::child::run; pub struct Part; fn f() { run(Part); }",
    ] {
        assert_eq!(
            cycles(&[("top/part.rs", parent), child]),
            [["top::part", "top::part::child"]],
            "{parent}"
        );
    }
    for parent in [
        "mod child; pub struct Part;",
        "mod child; pub use child::run; pub struct Part;",
        "mod child; pub(crate) use child::*; pub struct Part; fn f(run: u8) -> u8 { run }",
        "mod child; pub use child::run; pub struct Part; fn f() { assert!(Vec::<u8>::run()) }",
    ] {
        assert_eq!(edges(&[("top/part.rs", parent), child]), ["top::part::child -> top::part"], "{parent}");
    }
}

#[test]
fn a_re_export_is_followed_to_the_module_that_defines_the_item() {
    let files = [
        ("top/mod.rs", "mod a; mod b; pub use a::A; pub use self::b::*;"),
        ("top/a.rs", "use super::B; pub struct A;"),
        ("top/b.rs", "use crate::top::A as Other; pub struct B;"),
        ("user/mod.rs", "pub use crate::top::A as Renamed;"),
        ("user/c.rs", "use super::Renamed;"),
    ];
    assert_eq!(edges(&files), ["top::a -> top::b", "top::b -> top::a", "user::c -> top::a"]);
}

#[test]
fn the_module_file_of_a_folder_counts_only_for_what_it_defines() {
    let map = ("top/mod.rs", "mod a; mod b; pub use a::A; pub const LIMIT: u8 = 1;");
    let a = ("top/a.rs", "pub struct A;");
    assert_eq!(edges(&[map, a, ("top/b.rs", "use super::A as _; use crate::top;")]), ["top::b -> top::a"]);
    assert_eq!(
        edges(&[map, a, ("top/b.rs", "use crate::top; const B: u8 = top::LIMIT;")]),
        ["top::b -> top"]
    );
    let list = ("top/mod.rs", "mod a; pub const ALL: &[u8] = &[a::A];");
    assert_eq!(edges(&[list, ("top/a.rs", "pub const A: u8 = 1;")]), ["top -> top::a"]);
}

#[test]
fn a_call_of_a_method_that_another_file_defines_is_a_dependency() {
    let method =
        ("top/b.rs", "use super::a::A; impl A { pub fn run(&self) {} pub fn make() -> Self { A } }");
    for caller in [
        "pub struct A; fn f(a: &A) { a.run(); }",
        "pub struct A; impl A { fn f(&self) { self.run(); } }",
        "pub struct A; impl A { fn f() { Self::make(); } }",
        "pub struct A; fn f() { A::make(); }",
        "pub struct A; fn f() { for a in list() { a.run(); } }",
        "pub struct A; fn f() { assert!(list()[0].run()); }",
    ] {
        assert_eq!(cycles(&[("top/a.rs", caller), method]), [["top::a", "top::b"]], "{caller}");
    }
}

#[test]
fn an_ambiguous_method_name_is_not_a_dependency() {
    let a = ("top/a.rs", "pub struct A; fn f() { list()[0].run(); }");
    let b = ("top/b.rs", "use super::a::A; impl A { pub fn run(&self) {} }");
    let other = ("top/c.rs", "pub struct C; impl C { pub fn run(&self) {} }");
    assert_eq!(edges(&[a, b, other]), ["top::b -> top::a"]);
    // A parameter's type says which method it is.
    let exact = ("top/a.rs", "pub struct A; fn f(a: &mut A) { a.run(); }");
    assert_eq!(edges(&[exact, b, other]), ["top::a -> top::b", "top::b -> top::a"]);
    let own = ("top/a.rs", "pub struct A; impl A { fn f(&self) { self.run(); } }");
    assert_eq!(edges(&[own, b, other]), ["top::a -> top::b", "top::b -> top::a"]);
    // So does the type of a field.
    let field = ("top/a.rs", "pub struct A; struct Owner { a: A } fn f(owner: &Owner) { owner.a.run(); }");
    assert_eq!(edges(&[field, b, other]), ["top::a -> top::b", "top::b -> top::a"]);
    // A method for tests is not one of the candidates.
    let for_tests = ("top/c.rs", "pub struct C; impl C { #[cfg(test)] pub fn run(&self) {} }");
    assert_eq!(edges(&[a, b, for_tests]), ["top::a -> top::b", "top::b -> top::a"]);
    // Most calls of `len` are calls of the standard library.
    let length = ("top/b.rs", "use super::a::A; impl A { pub fn len(&self) -> usize { 0 } }");
    assert_eq!(
        edges(&[("top/a.rs", "pub struct A; fn f() { list().len(); }"), length]),
        ["top::b -> top::a"]
    );
    // In another top folder the name says nothing.
    let elsewhere = ("user/c.rs", "fn f() { list()[0].run(); }");
    assert_eq!(edges(&[("top/a.rs", "pub struct A;"), b, elsewhere]), ["top::b -> top::a"]);
}

#[test]
fn code_for_tests_is_not_counted() {
    for text in [
        "#[cfg(test)] mod tests { use super::super::b::B; }",
        "#[cfg(test)] use super::b::B;",
        "#[cfg(all(test, unix))] fn f() -> super::b::B {}",
        "#[test] fn f() { super::b::B::new(); }",
        "struct A; impl A { #[cfg(test)] fn f() { super::b::B::new(); } }",
        "struct A { #[cfg(test)] b: super::b::B }",
        "#![cfg(test)] use super::b::B;",
    ] {
        assert!(edges(&[("top/a.rs", text), ("top/b.rs", "pub struct B;")]).is_empty(), "{text}");
    }
    let test = "use crate::top::b::B;";
    for path in ["top/tests.rs", "top/a/tests.rs", "top/tests/a.rs", "top/fixture.rs"] {
        let files = [
            ("top/mod.rs", "mod b; #[cfg(test)] mod fixture;"),
            ("top/b.rs", "pub struct B;"),
            (path, test),
        ];
        assert!(edges(&files).is_empty(), "{path}");
    }
    let product = "#[cfg(not(test))] use super::b::B;";
    assert_eq!(edges(&[("top/a.rs", product), ("top/b.rs", "pub struct B;")]), ["top::a -> top::b"]);
}

#[test]
fn an_inherent_impl_belongs_to_the_file_of_its_type_or_its_children() {
    let misplaced = |files: &[(&str, &str)]| {
        let dependencies = measure(files);
        let path = |index: usize| dependencies.modules.all[index].file_path.clone();
        dependencies.misplaced_impls().iter().map(|found| path(found.file)).collect::<Vec<_>>()
    };
    let block = "use crate::top::a::A; impl<'a> A<'a> { pub fn run(&self) {} }";
    assert_eq!(misplaced(&[("top/a.rs", "pub struct A<'a>(&'a u8);"), ("top/b.rs", block)]), ["top/b.rs"]);
    assert!(misplaced(&[("top/a.rs", "pub struct A<'a>(&'a u8);"), ("top/a/b.rs", block)]).is_empty());
    let user = "mod b; pub struct A<'a>(&'a u8); fn f(a: &A<'_>) { a.run(); }";
    assert_eq!(misplaced(&[("top/a.rs", user), ("top/a/b.rs", block)]), ["top/a/b.rs"]);
    assert!(misplaced(&[("top/a.rs", "pub struct A; impl A { fn f(&self) {} }")]).is_empty());
    let implementation = "use super::a::A; impl Clone for A { fn clone(&self) -> Self { A } }";
    assert!(misplaced(&[("top/a.rs", "pub struct A;"), ("top/b.rs", implementation)]).is_empty());
    let declared = "macro_rules! tables { () => { pub struct A; } } tables! {}";
    let plain = "use super::a::A; impl A { fn f(&self) {} }";
    assert_eq!(misplaced(&[("top/a.rs", declared), ("top/b.rs", plain)]), ["top/b.rs"]);
}

#[test]
fn a_dependency_against_the_layer_order_is_an_error() {
    let dependencies = measure(&[
        ("top/mod.rs", "mod low; mod high;"),
        ("top/low/mod.rs", "pub mod part;"),
        ("top/low/part.rs", "use crate::top::high::High; pub struct Part;"),
        ("top/high.rs", "use super::low::part::Part; pub struct High;"),
    ]);
    let right = order::violations(&dependencies, &[("top", &["low", "high"])]);
    assert_eq!(right, ["top: `low` is left of `high`, but top::low::part depends on top::high (High)"]);
    let left = order::violations(&dependencies, &[("top", &["high", "low"])]);
    assert_eq!(left, ["top: `high` is left of `low`, but top::high depends on top::low::part (Part)"]);
    assert!(order::violations(&dependencies, &[("top/low", &["part"])]).is_empty());
}

#[test]
fn the_layer_order_lists_exactly_the_existing_folders() {
    let dependencies = measure(&[("top/a.rs", ""), ("top/b/mod.rs", "mod c;"), ("top/b/c.rs", "")]);
    assert!(order::violations(&dependencies, &[("top", &["a", "b"])]).is_empty());
    let found = order::violations(&dependencies, &[("top", &["a", "gone"]), ("lost", &["a"])]);
    assert_eq!(
        found,
        [
            "top: `gone` is listed, but does not exist",
            "top: `b` is not listed",
            "lost: `a` is listed, but does not exist"
        ]
    );
}
