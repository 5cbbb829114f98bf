//! One edit each: which stacks change, and why.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::fixture::Repository;

#[test]
fn nothing_changed_without_an_edit() {
    let shop = Repository::shop();
    assert_eq!(shop.changed("main"), "");
    // Neither file is one that a stack reads.
    shop.write("README.md", "changed");
    shop.write("stacks/alone/notes.txt", "new");
    shop.write("modules/net/README.md", "new");
    shop.commit("prose");
    assert_eq!(shop.changed("main"), "");
}

/// Returns what an edit of the three stacks changes: before it is committed, and after.
fn changed_by(edit: impl Fn(&Repository)) -> String {
    let shop = Repository::shop();
    edit(&shop);
    let before = shop.changed("main");
    shop.commit("edit");
    assert_eq!(shop.changed("main"), before, "committed or not, the files are the same");
    before
}

#[test]
fn an_edit_changes_the_stacks_that_read_the_file() {
    insta::assert_snapshot!(changed_by(|shop| shop.write("modules/net/stead.yaml", "stead: 1\nlocals: { cidr: 10.2.0.0/16 }\noutputs: { cidr: $locals.cidr }\n")), @"
    stacks/blog: modules/net/stead.yaml modified
    stacks/shop: modules/net/stead.yaml modified
    ");
    insta::assert_snapshot!(changed_by(|shop| shop.write("shared/common.stead.yaml", "stead: 1\noutputs: { team: red }\n")), @"stacks/shop: shared/common.stead.yaml modified");
    insta::assert_snapshot!(changed_by(|shop| shop.write("stacks/shop/motd.txt", "bye")), @"stacks/shop: stacks/shop/motd.txt modified");
    insta::assert_snapshot!(changed_by(|shop| shop.write("stacks/shop/deep/note.txt", "bye")), @"stacks/shop: stacks/shop/deep/note.txt modified");
    insta::assert_snapshot!(changed_by(|shop| shop.write("stacks/shop/app/lib/util.py", "x = 2\n")), @"stacks/shop: stacks/shop/app/lib/util.py modified");
    insta::assert_snapshot!(changed_by(|shop| shop.write("stacks/shop/app/.steadignore", "*.log\n")), @"stacks/shop: stacks/shop/app/.steadignore modified");
}

#[test]
fn a_name_in_a_searched_directory_changes_the_stacks_that_search_it() {
    insta::assert_snapshot!(changed_by(|shop| shop.write("modules/net/more.stead.yaml", "stead: 1\n")), @"
    stacks/blog: modules/net/more.stead.yaml added
    stacks/shop: modules/net/more.stead.yaml added
    ");
    insta::assert_snapshot!(changed_by(|shop| shop.write("stacks/alone/more.stead.kdl", "stead 1\n")), @"stacks/alone: stacks/alone/more.stead.kdl added");
    insta::assert_snapshot!(changed_by(|shop| shop.write("stacks/shop/app/new/file.py", "")), @"stacks/shop: stacks/shop/app/new/file.py added");
    insta::assert_snapshot!(changed_by(|shop| shop.remove("stacks/shop/app/lib/util.py")), @"stacks/shop: stacks/shop/app/lib/util.py deleted");
    insta::assert_snapshot!(changed_by(|shop| { shop.git(&["mv", "stacks/shop/app/main.py", "stacks/shop/app/start.py"]); }), @"stacks/shop: stacks/shop/app/main.py deleted, stacks/shop/app/start.py added");
    insta::assert_snapshot!(changed_by(|shop| { shop.git(&["mv", "stacks/blog", "stacks/diary"]); }), @"stacks/blog: fails to load");
    // A name that only differs in case is another name.
    insta::assert_snapshot!(changed_by(|shop| { shop.git(&["mv", "stacks/shop/app/main.py", "stacks/shop/app/Main.py"]); }), @"stacks/shop: stacks/shop/app/Main.py added, stacks/shop/app/main.py deleted");
}

#[test]
fn a_file_that_a_module_reads_changes_the_stacks_that_use_it() {
    let shop = Repository::shop();
    let module = "stead: 1\nlocals: { text: '${file(\"cidr.txt\")}' }\noutputs: { cidr: $locals.text }\n";
    shop.write("modules/net/stead.yaml", module);
    shop.write("modules/net/cidr.txt", "10.1.0.0/16");
    shop.commit("a module that reads a file");
    assert_eq!(shop.changed("HEAD"), "");
    shop.write("modules/net/cidr.txt", "10.2.0.0/16");
    assert_eq!(
        shop.changed("HEAD"),
        "stacks/blog: modules/net/cidr.txt modified\nstacks/shop: modules/net/cidr.txt modified"
    );
}

#[test]
fn what_the_sources_leave_out_changes_nothing() {
    let edit = |shop: &Repository| {
        shop.write("stacks/shop/app/debug.log", "");
        shop.write("stacks/shop/app/build/a.o", "");
        fs::create_dir_all(shop.root.join("stacks/shop/app/empty/deep")).unwrap();
    };
    insta::assert_snapshot!(changed_by(edit), @"");
    let shop = Repository::shop();
    edit(&shop);
    shop.commit("left out");
    for name in ["debug.log", "build/a.o"] {
        shop.remove(&format!("stacks/shop/app/{name}"));
    }
    fs::remove_dir(shop.root.join("stacks/shop/app/build")).unwrap();
    assert_eq!(shop.changed("HEAD"), "", "they are left out at the base, too");
}

#[test]
fn a_mode_or_a_link_of_a_source_is_a_change() {
    insta::assert_snapshot!(changed_by(|shop| {
        let path = shop.root.join("stacks/shop/app/main.py");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }), @"stacks/shop: stacks/shop/app/main.py modified");
    insta::assert_snapshot!(changed_by(|shop| symlink("main.py", shop.root.join("stacks/shop/app/link")).unwrap()), @"stacks/shop: stacks/shop/app/link added");
    let shop = Repository::shop();
    symlink("main.py", shop.root.join("stacks/shop/app/link")).unwrap();
    shop.commit("link");
    assert_eq!(shop.changed("HEAD"), "");
    shop.remove("stacks/shop/app/link");
    symlink("lib/util.py", shop.root.join("stacks/shop/app/link")).unwrap();
    assert_eq!(shop.changed("HEAD"), "stacks/shop: stacks/shop/app/link modified");
    // A file of the same content as the link's target is another thing.
    shop.remove("stacks/shop/app/link");
    shop.write("stacks/shop/app/link", "main.py");
    assert_eq!(shop.changed("HEAD"), "stacks/shop: stacks/shop/app/link modified");
    // The mode of a file that is not uploaded is not read.
    shop.git(&["checkout", "-q", "."]);
    fs::set_permissions(shop.root.join("stacks/shop/motd.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(shop.changed("HEAD"), "");
}

#[test]
fn a_file_that_git_ignores_has_nothing_to_be_compared_with() {
    let shop = Repository::shop();
    shop.write(
        "stacks/alone/stead.yaml",
        "stead: 1\nstack: alone\noutputs: { x: '${file(\"x.local\")}' }\n",
    );
    shop.write("stacks/alone/x.local", "mine");
    shop.commit("reads an ignored file");
    assert_eq!(shop.changed("HEAD"), "stacks/alone: stacks/alone/x.local not in git");
    // A tracked file is in Git, whatever the ignore files say.
    shop.git(&["add", "-f", "stacks/alone/x.local"]);
    shop.commit("tracked");
    assert_eq!(shop.changed("HEAD"), "");
    assert_eq!(
        shop.changed("main"),
        "stacks/alone: stacks/alone/stead.yaml modified, stacks/alone/x.local added"
    );
}

#[test]
fn an_absent_file_that_appears_at_the_base_is_a_change() {
    let shop = Repository::shop();
    shop.remove("stacks/shop/app/.steadignore");
    shop.commit("no rules");
    assert_eq!(shop.changed("main"), "stacks/shop: stacks/shop/app/.steadignore deleted");
    assert_eq!(shop.changed("HEAD"), "");
    // So is one that appears now.
    shop.write(
        "stacks/alone/stead.lock",
        "lock: 1\ncatalog: { read_at: 2026-11-20T08:00:00Z, tables: {} }\n",
    );
    assert_eq!(shop.changed("HEAD"), "stacks/alone: stacks/alone/stead.lock added");
    shop.write("stacks/alone/stead.lock", "no lock file");
    assert_eq!(shop.changed("HEAD"), "stacks/alone: fails to load");
}

#[test]
fn a_variable_file_of_the_repository_is_read_by_the_load() {
    let shop = Repository::shop();
    shop.write("prod.yaml", "{}\n");
    shop.commit("variables");
    let change = |base: &str| {
        let opened = shop.open(Some(base)).unwrap();
        let mut settings = shop.settings("stacks/alone");
        settings.var_files = vec![shop.root.join("prod.yaml"), shop.beside("private.yaml")];
        fs::write(shop.beside("private.yaml"), "{}\n").unwrap();
        let (loaded, reads) = opened.load_stack(&settings);
        assert!(loaded.is_ok());
        format!("{:?}", opened.changed_stacks(&[("stacks/alone".into(), reads)]).unwrap())
    };
    assert!(change("HEAD").contains("Unchanged"), "{}", change("HEAD"));
    assert!(change("main").contains("prod.yaml"), "{}", change("main"));
}

#[test]
fn the_first_paths_are_named_and_the_others_counted() {
    let shop = Repository::shop();
    for n in 0..9 {
        shop.write(&format!("stacks/shop/app/{n}.py"), "");
    }
    let changed = shop.changed("main");
    assert!(changed.contains("stacks/shop/app/4.py added, 4 more"), "{changed}");
}
