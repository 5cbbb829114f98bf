//! A repository of somebody else: its settings, hooks, filters and attributes start nothing, and its `.git` leads
//! nowhere else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::fixture::{Repository, STACKS};

/// Settings of Git that make it run a program, for most of what it does.
fn write_hostile_settings(shop: &Repository) -> std::path::PathBuf {
    let (marker, program) = (shop.beside("marker"), shop.beside("program"));
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >>{}\n", marker.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = program.display();
    let settings = format!(
        "[core]\n\trepositoryformatversion = 1\n\tfsmonitor = {run}\n\tsshCommand = {run}\n\thooksPath = {hooks}\n\
         \tpager = {run}\n\teditor = {run}\n\taskPass = {run}\n\tgitProxy = {run}\n\
         \talternateRefsCommand = {run}\n\
         [extensions]\n\tpartialClone = evil\n\
         [remote \"evil\"]\n\turl = ext::{run} fetch\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\tuploadpack = {run}\n\
         [include]\n\tpath = {included}\n\
         [alias]\n\trev-parse = !{run}\n\tcat-file = !{run}\n\tls-tree = !{run}\n\tmerge-base = !{run}\n\
         [diff]\n\texternal = {run}\n[diff \"x\"]\n\ttextconv = {run}\n\
         [filter \"x\"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n\trequired = true\n\
         [credential]\n\thelper = !{run}\n[gpg]\n\tprogram = {run}\n[log]\n\tshowSignature = true\n",
        hooks = shop.beside("hooks").display(),
        included = shop.beside("included").display(),
    );
    fs::write(shop.beside("included"), format!("[core]\n\tfsmonitor = {run}\n")).unwrap();
    fs::create_dir(shop.beside("hooks")).unwrap();
    for hook in
        ["post-checkout", "pre-commit", "reference-transaction", "post-index-change", "fsmonitor-watchman"]
    {
        for folder in [shop.beside("hooks"), shop.root.join(".git/hooks")] {
            fs::create_dir_all(&folder).unwrap();
            fs::copy(&program, folder.join(hook)).unwrap();
        }
    }
    fs::write(shop.root.join(".git/config"), settings).unwrap();
    fs::write(shop.root.join(".git/info/attributes"), "* filter=x diff=x\n").unwrap();
    shop.write(".gitattributes", "* filter=x diff=x text eol=crlf\n");
    marker
}

#[test]
fn no_setting_of_a_repository_starts_a_program() {
    let shop = Repository::shop();
    shop.write("stacks/alone/stead.yaml", "stead: 1\nstack: alone\n");
    shop.commit("edit");
    let hidden = shop.git(&["rev-parse", "main:stacks/shop"]);
    let marker = write_hostile_settings(&shop);
    assert_eq!(shop.changed("main"), "stacks/alone: stacks/alone/stead.yaml modified");
    assert!(shop.failure(Some("mian")).contains("Did you mean `main`?"));
    // A missing object is not fetched from a remote that is a program.
    fs::remove_file(shop.root.join(".git/objects").join(&hidden[..2]).join(&hidden[2..])).unwrap();
    assert!(shop.changes("main", &STACKS).is_err());
    assert!(!marker.exists(), "{}", fs::read_to_string(&marker).unwrap());
    // The settings are dangerous: Git itself runs the program.
    let _ = std::process::Command::new("git").current_dir(&shop.root).args(["status"]).output().unwrap();
    assert!(marker.exists(), "the settings of this test start nothing, whatever reads them");
}

#[test]
fn references_do_not_lead_out_of_the_git_directory() {
    let shop = Repository::shop();
    let commit = shop.git(&["rev-parse", "main"]);
    fs::write(shop.beside("outside"), format!("{commit}\n")).unwrap();
    for name in ["../../../outside", "refs/../../../outside", "/etc/passwd", "refs//../../../outside"] {
        let failure = shop.failure(Some(name));
        assert!(failure.starts_with("1: "), "{name}: {failure}");
    }
    fs::write(shop.root.join(".git/refs/heads/loop"), "ref: refs/heads/loop\n").unwrap();
    assert!(shop.failure(Some("loop")).contains("`loop` does not exist in this clone"));
    fs::write(shop.root.join(".git/refs/heads/odd"), "ref: ../../outside\n").unwrap();
    assert!(shop.failure(Some("odd")).contains("`odd` does not exist in this clone"));
}

#[test]
fn a_link_in_the_repository_reveals_nothing_of_its_target() {
    let shop = Repository::shop();
    fs::write(shop.beside("secret"), "stead: 1\n").unwrap();
    symlink(shop.beside("secret"), shop.root.join("stacks/alone/stead.lock")).unwrap();
    let changed = shop.changed("main");
    assert!(changed.starts_with("stacks/alone: "), "{changed}");
    assert!(!changed.contains("secret"), "{changed}");
}
