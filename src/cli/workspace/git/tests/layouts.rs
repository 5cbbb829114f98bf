//! Forms of repositories: worktrees, submodules, other hashes, packed and borrowed objects, partial clones.

use std::fs;
use std::os::unix::fs::symlink;

use super::fixture::{Repository, SHOP, STACKS, git};

const NET: &str = "stead: 1\nlocals: { cidr: 10.9.0.0/16 }\noutputs: { cidr: $locals.cidr }\n";

#[test]
fn a_linked_worktree_compares_its_own_files() {
    let shop = Repository::shop();
    let tree = Repository::at(shop.beside("tree"));
    shop.git(&["worktree", "add", "-q", tree.root.to_str().unwrap(), "-b", "linked"]);
    assert_eq!(tree.changed("main"), "");
    tree.write("stacks/alone/stead.yaml", "stead: 1\nstack: alone\n");
    assert_eq!(tree.changed("main"), "stacks/alone: stacks/alone/stead.yaml modified");
    assert_eq!(shop.changed("main"), "");
    // Paths can be relative to the worktree.
    tree.git(&["commit", "-qam", "own"]);
    let pointer = fs::read_to_string(tree.root.join(".git")).unwrap();
    fs::write(tree.root.join(".git"), pointer.replace(shop.root.to_str().unwrap(), "../repository"))
        .unwrap();
    assert_eq!(tree.changed("main"), "stacks/alone: stacks/alone/stead.yaml modified");
}

#[test]
fn objects_may_be_named_by_sha_256() {
    let shop = Repository::with_format(SHOP, "sha256");
    shop.git(&["checkout", "-q", "-b", "work"]);
    assert_eq!(shop.changed("main"), "");
    shop.write("shared/common.stead.yaml", "stead: 1\n");
    assert_eq!(shop.changed("main"), "stacks/shop: shared/common.stead.yaml modified");
    shop.git(&["gc", "-q"]);
    assert_eq!(shop.changed("main"), "stacks/shop: shared/common.stead.yaml modified");
    let commit = shop.git(&["rev-parse", "main"]);
    assert_eq!((commit.len(), shop.changed(&commit[..9])), (64, shop.changed("main")));
}

#[test]
fn objects_may_be_packed_or_borrowed() {
    let shop = Repository::shop();
    for n in 0..20 {
        // Deltas: each file is almost the one before.
        shop.write("stacks/shop/app/long.txt", format!("{}{n}", "a line of many\n".repeat(500)));
        shop.commit("more");
    }
    let changed = shop.changed("main");
    assert_eq!(changed, "stacks/shop: stacks/shop/app/long.txt added");
    shop.git(&["repack", "-q", "-a", "-d", "-f", "--depth=50", "--write-midx"]);
    shop.git(&["prune-packed"]);
    assert_eq!(shop.changed("main"), changed);
    assert_eq!(shop.changed("HEAD"), "");
    let borrower = Repository::at(shop.beside("borrower"));
    git(
        &shop.root,
        &["clone", "-q", "--shared", shop.root.to_str().unwrap(), borrower.root.to_str().unwrap()],
    );
    assert_eq!(borrower.changed("origin/main"), changed);
}

#[test]
fn a_submodule_is_compared_at_the_commit_of_the_base() {
    let module = SHOP.iter().find(|(path, _)| *path == "modules/net/stead.yaml").unwrap().1;
    let net = Repository::new(&[("stead.yaml", module), ("README.md", "a module\n")]);
    let shop = Repository::new(SHOP);
    shop.git(&["rm", "-q", "-r", "modules/net"]);
    shop.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        net.root.to_str().unwrap(),
        "modules/net",
    ]);
    shop.commit("submodule");
    shop.git(&["checkout", "-q", "-b", "work"]);
    assert_eq!(shop.changed("main"), "");
    // Another commit with the same stack files is no change of the stacks.
    let below = Repository::at(shop.root.join("modules/net"));
    below.write("README.md", "a better module\n");
    below.commit("prose");
    shop.commit("newer submodule");
    assert_eq!(shop.changed("main"), "");
    below.write("stead.yaml", NET);
    let modified =
        "stacks/blog: modules/net/stead.yaml modified\nstacks/shop: modules/net/stead.yaml modified";
    assert_eq!(shop.changed("main"), modified);
    below.commit("module");
    shop.commit("newer submodule");
    assert_eq!(shop.changed("main"), modified);
    below.write("more.stead.yaml", "stead: 1\n");
    assert!(
        shop.changed("HEAD").contains("stacks/blog: modules/net/more.stead.yaml added"),
        "{}",
        shop.changed("HEAD")
    );
    below.remove("more.stead.yaml");
    // The submodule's own history was fetched without the commit of the base.
    let objects = shop.root.join(".git/modules/modules/net/objects");
    assert!(objects.exists());
    let clone = Repository::at(shop.beside("clone"));
    git(&shop.root, &["clone", "-q", shop.root.to_str().unwrap(), clone.root.to_str().unwrap()]);
    fs::remove_dir_all(clone.root.join("modules/net")).unwrap();
    clone.write_all(&[("modules/net/stead.yaml", NET)]);
    assert_eq!(
        clone.changed("origin/main"),
        "stacks/blog: modules/net submodule's commit at the base not fetched, modules/net/stead.yaml submodule's commit \
         at the base not fetched\nstacks/shop: modules/net submodule's commit at the base not fetched, \
         modules/net/stead.yaml submodule's commit at the base not fetched"
    );
}

#[test]
fn a_directory_that_was_a_link_or_a_file_is_a_change() {
    let shop = Repository::shop();
    fs::rename(shop.root.join("modules"), shop.root.join("library")).unwrap();
    symlink("library", shop.root.join("modules")).unwrap();
    shop.commit("a link, which is not followed");
    shop.remove("modules");
    fs::rename(shop.root.join("library"), shop.root.join("modules")).unwrap();
    assert_eq!(
        shop.changed("HEAD"),
        "stacks/blog: modules/net modified, modules/net/stead.yaml modified\nstacks/shop: modules/net modified, \
         modules/net/stead.yaml modified"
    );
    assert_eq!(shop.changed("main"), "");
}

#[test]
fn a_stack_is_found_through_a_link_to_its_directory() {
    let shop = Repository::shop();
    symlink("stacks/shop", shop.root.join("short")).unwrap();
    assert_eq!(shop.changed_of("main", &["short"]), "");
    shop.write("stacks/shop/motd.txt", "bye");
    assert_eq!(shop.changed_of("main", &["short"]), "short: stacks/shop/motd.txt modified");
}

#[test]
fn what_a_partial_clone_does_not_have_is_an_error() {
    let shop = Repository::shop();
    shop.write("stacks/alone/stead.yaml", "stead: 1\nstack: alone\n");
    shop.commit("edit");
    shop.git(&["config", "uploadpack.allowFilter", "true"]);
    let cloned = |filter: &str| {
        let clone = Repository::at(shop.beside(filter.split(':').next().unwrap()));
        let (from, to) = (format!("file://{}", shop.root.display()), clone.root.display().to_string());
        git(&shop.root, &["clone", "-q", &format!("--filter={filter}"), &from, &to]);
        clone
    };
    // Contents of files are not needed.
    assert_eq!(
        cloned("blob:none").changed("origin/main"),
        "stacks/alone: stacks/alone/stead.yaml modified"
    );
    let clone = cloned("tree:0");
    let failure = super::fixture::describe(&clone.changes("origin/main", &STACKS).unwrap_err());
    assert!(failure.starts_with("1: the tree `") && failure.contains("is not in this clone"), "{failure}");
    let (_, rest) = failure.split_once("with: git ").unwrap();
    let (command, _) = rest.split_once(". ").unwrap();
    clone.git(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(clone.changed("origin/main"), "stacks/alone: stacks/alone/stead.yaml modified");
}

#[test]
fn an_unknown_format_is_refused() {
    let shop = Repository::shop();
    let config = shop.root.join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[extensions]\n\trefStorage = reftable\n")).unwrap();
    insta::assert_snapshot!(shop.failure(Some("main")), @"
    1: the repository stores its references in the format `reftable`, which stead does not read
    Convert them: git refs migrate --ref-format=files
    ");
    fs::write(&config, format!("{text}[extensions]\n\tobjectFormat = blake3\n")).unwrap();
    insta::assert_snapshot!(shop.failure(Some("main")), @"
    1: the repository names its objects by `blake3`, which stead does not read
    Run it without `--changed`: every stack is planned.
    ");
}

#[test]
fn a_damaged_object_is_an_error() {
    let shop = Repository::shop();
    let tree = shop.git(&["rev-parse", "main^{tree}"]);
    let path = shop.root.join(".git/objects").join(&tree[..2]).join(&tree[2..]);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "no object").unwrap();
    let failure = super::fixture::describe(&shop.changes("main", &STACKS).unwrap_err());
    assert!(failure.contains(&format!("1: the tree `{tree}` is damaged")), "{failure}");
}
