//! Whether what a stack reads has uncommitted changes.

use std::fs;

use super::fixture::{Repository, SHOP, git};
use crate::cli::stack::project::LoadedStack;
use crate::cli::workspace::git::working_tree::has_uncommitted_changes;

const FORMATS: [&str; 2] = ["sha1", "sha256"];

/// Returns whether a stack differs from the commit that is checked out.
fn is_dirty(repository: &Repository, stack: &str) -> Option<bool> {
    let settings = repository.settings(stack);
    let loaded = LoadedStack::open(&settings).unwrap_or_else(|_| panic!("{stack} loads"));
    let head = repository.git(&["rev-parse", "HEAD"]);
    has_uncommitted_changes(&settings.dir, &head, [&loaded.reads.expect("in a repository")])
}

#[test]
fn only_files_that_the_stack_reads_count() {
    for format in FORMATS {
        let shop = Repository::with_format(SHOP, format);
        let all = || ["stacks/alone", "stacks/blog", "stacks/shop"].map(|stack| is_dirty(&shop, stack));
        assert_eq!(all(), [Some(false); 3], "{format}");
        for unread in ["README.md", "stacks/alone/notes.txt", "modules/net/README.md"] {
            shop.write(unread, "changed");
        }
        assert_eq!(all(), [Some(false); 3]);
        shop.write("stacks/shop/app/lib/util.py", "x = 2\n");
        assert_eq!(all(), [Some(false), Some(false), Some(true)]);
        shop.git(&["add", "-A"]);
        assert_eq!(all(), [Some(false), Some(false), Some(true)], "what is added is not committed");
        shop.commit("edit");
        assert_eq!(all(), [Some(false); 3]);
        shop.write("modules/net/more.stead.yaml", "stead: 1\n");
        assert_eq!(all(), [Some(false), Some(true), Some(true)], "a new file of a module");
        shop.remove("modules/net/more.stead.yaml");
        shop.remove("stacks/shop/app/main.py");
        assert_eq!(all(), [Some(false), Some(false), Some(true)], "a removed file");
    }
}

#[test]
fn an_ignored_file_and_one_outside_of_the_repository_are_no_uncommitted_change() {
    let shop = Repository::shop();
    let stack = "stead: 1\nstack: alone\nvars: { a: { from_file: own.local } }\noutputs: { a: $vars.a }\n";
    shop.write("stacks/alone/stead.yaml", stack);
    shop.write("stacks/alone/own.local", "1");
    shop.commit("reads an ignored file");
    assert_eq!(is_dirty(&shop, "stacks/alone"), Some(false));
    shop.write("stacks/alone/own.local", "2");
    assert_eq!(is_dirty(&shop, "stacks/alone"), Some(false));
    shop.git(&["add", "-f", "stacks/alone/own.local"]);
    shop.git(&["commit", "-q", "-m", "tracked"]);
    assert_eq!(is_dirty(&shop, "stacks/alone"), Some(false));
    shop.write("stacks/alone/own.local", "3");
    assert_eq!(is_dirty(&shop, "stacks/alone"), Some(true));
}

#[test]
fn a_commit_that_cannot_be_compared_with_is_not_known() {
    let shop = Repository::shop();
    let settings = shop.settings("stacks/alone");
    let reads = || LoadedStack::open(&settings).ok().unwrap().reads.unwrap();
    for commit in ["0123456789abcdef0123456789abcdef01234567", "main", ""] {
        assert_eq!(has_uncommitted_changes(&settings.dir, commit, [&reads()]), None, "{commit}");
    }
    // No object of the commit is in the clone.
    let head = shop.git(&["rev-parse", "HEAD"]);
    fs::rename(shop.root.join(".git/objects"), shop.beside("objects")).unwrap();
    fs::create_dir(shop.root.join(".git/objects")).unwrap();
    assert_eq!(has_uncommitted_changes(&settings.dir, &head, [&reads()]), None);
    fs::remove_dir_all(shop.root.join(".git")).unwrap();
    assert!(LoadedStack::open(&settings).ok().unwrap().reads.is_none(), "outside of a repository");
}

#[test]
fn a_stack_whose_files_are_gone_differs_until_that_is_committed() {
    let shop = Repository::shop();
    let settings = shop.settings("stacks/alone");
    let is_dirty = || {
        let removed = LoadedStack::without_resources(&settings, "alone", "default").ok().unwrap();
        let head = git(&shop.root, &["rev-parse", "HEAD"]);
        has_uncommitted_changes(&settings.dir, &head, [&removed.reads.unwrap()])
    };
    shop.remove("stacks/alone/stead.yaml");
    assert_eq!(is_dirty(), Some(true));
    shop.commit("removed");
    assert_eq!(is_dirty(), Some(false));
}
