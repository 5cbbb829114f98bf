//! A law over generated edits: a stack whose configuration differs from the one at the base always counts as changed.
//! The digest of a full load in the working tree is compared with the digest of a full load at the base.
//!
//! `STEAD_CHANGES=10000` makes that many edits, `STEAD_CHANGES=5m` as many as fit; without it, a few hundred.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fixture::{Repository, SHOP, STACKS};
use crate::workspace::changes::compare::StackChange;

/// Edits in a run of all tests.
const NORMAL: u32 = 240;

/// Edits that are compared with one base.
const EDITS_PER_BASE: u32 = 48;

/// Files that an edit can write; most are read by a stack, or would be.
const PATHS: &[&str] = &[
    "stacks/alone/stead.yaml",
    "stacks/alone/more.stead.yaml",
    "stacks/alone/other.stead.kdl",
    "stacks/alone/notes.txt",
    "stacks/alone/stead.lock",
    "stacks/blog/stead.yaml",
    "stacks/blog/a.stead.yaml",
    "stacks/shop/stead.yaml",
    "stacks/shop/motd.txt",
    "stacks/shop/deep/note.txt",
    "stacks/shop/app/main.py",
    "stacks/shop/app/lib/util.py",
    "stacks/shop/app/lib/new.py",
    "stacks/shop/app/debug.log",
    "stacks/shop/app/build/out.o",
    "stacks/shop/app/.steadignore",
    "stacks/shop/app/x/y/z.txt",
    "stacks/shop/app/link",
    "modules/net/stead.yaml",
    "modules/net/b.stead.yaml",
    "modules/net/motd.txt",
    "modules/other/stead.yaml",
    "shared/common.stead.yaml",
    "shared/more.stead.yaml",
    "README.md",
    ".gitignore",
    "stacks/alone/x.local",
];

/// Directories that an edit can remove, rename or replace by a link.
const DIRECTORIES: &[&str] =
    &["stacks/shop/app/lib", "stacks/shop/deep", "modules/net", "modules", "shared", "stacks/blog"];

/// Lines of a stack's file. Together they may be valid or not.
const LINES: &[&str] = &[
    "outputs: { name: alone }",
    "outputs: { name: other }",
    "outputs: { name: '${file(\"notes.txt\")}' }",
    "outputs: { name: '${file(\"x.local\")}' }",
    "outputs: { name: '${false && file(\"none\") == \"x\"}' }",
    "outputs: { net: $use.net.cidr }",
    "use: { net: { source: ../../modules/net } }",
    "use: { net: { source: ../../modules/other } }",
    "include: [../../shared/common.stead.yaml]",
    "include: [../../shared/more.stead.yaml]",
    "locals: { cidr: 10.1.0.0/16 }",
    "locals: { cidr: 10.2.0.0/16 }",
    "outputs: { cidr: $locals.cidr }",
    "vars: { motd: { from_file: motd.txt } }",
    "outputs: { motd: $vars.motd }",
    "app: { web: { type: web, source_dir: app } }",
    "app: { web: { type: web, source_dir: . } }",
    "vm: { a: { template: debian-13, plan: s-1 } }",
    "# a comment",
    "locals: { team: blue }",
    "moved: []",
];

/// A source of choices that is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn of<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Returns the content of a file, for most files one that can be loaded.
    fn content(&mut self, path: &str) -> String {
        let extension = path.rsplit('.').next().unwrap();
        let original = SHOP.iter().find(|(known, _)| *known == path).map(|(_, text)| *text);
        if let Some(text) = original.filter(|_| self.below(2) == 0) {
            // One word or number of it changes, or a comment.
            let (from, to) = [
                ("10.1", "10.2"),
                ("blue", "red"),
                ("alone }", "other }"),
                ("hello", "bye"),
                ("1", "2"),
                ("stead", "# c\nstead"),
            ][self.below(6)];
            return text.replacen(from, to, 1);
        }
        if extension == "kdl" {
            return self.of(&["", "stead 1\n", "outputs { kdl 1 }\n", "locals { kdl 2 }\n"]).to_owned();
        }
        if path.ends_with("stead.lock") {
            return self
                .of(&["", "lock: 1\ncatalog: { read_at: 2026-11-20T08:00:00Z, tables: {} }\n"])
                .to_owned();
        }
        if extension != "yaml" {
            return self
                .of(&["", "one\n", "two\n", "*.py\n", "*.log\nlib/\n", "three\r\n", "link"])
                .to_owned();
        }
        let mut text = "stead: 1\n".to_owned();
        if let Some(name) = path.strip_prefix("stacks/").and_then(|rest| rest.strip_suffix("/stead.yaml")) {
            writeln!(text, "stack: {name}").unwrap();
        }
        let mut keys = Vec::new();
        for _ in 0..self.below(4) {
            let line = self.of(LINES);
            let key = line.split(':').next().unwrap();
            if !keys.contains(&key) {
                keys.push(key);
                writeln!(text, "{line}").unwrap();
            }
        }
        text
    }

    /// Makes one edit of the working tree; it may be none.
    fn edit(&mut self, shop: &Repository) {
        let path = self.of(PATHS);
        let full = shop.root.join(path);
        let is_writable = || full.ancestors().skip(1).all(|above| !above.is_file());
        match self.below(20) {
            0..12 if is_writable() && !full.is_dir() => {
                let _ = fs::remove_file(&full);
                let text = self.content(path);
                shop.write(path, text);
            }
            12 | 13 => drop(fs::remove_file(&full)),
            14 | 15 => {
                let mode = if self.below(2) == 0 { 0o755 } else { 0o644 };
                let is_file = fs::symlink_metadata(&full).is_ok_and(|data| data.is_file());
                if is_file {
                    fs::set_permissions(&full, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            16 if full.parent().is_some_and(Path::is_dir) => {
                let _ = fs::remove_file(&full);
                let _ = symlink(
                    self.of(&["main.py", "lib/util.py", "motd.txt", "stead.yaml", "/etc/hostname"]),
                    &full,
                );
            }
            17 | 18 => {
                let to = self.of(PATHS);
                let to_folder = shop.root.join(to).parent().map(PathBuf::from).unwrap();
                if full.is_file() && to_folder.is_dir() && !shop.root.join(to).exists() {
                    fs::rename(&full, shop.root.join(to)).unwrap();
                }
            }
            _ => {
                let folder = shop.root.join(self.of(DIRECTORIES));
                let aside = folder.with_extension("old");
                match self.below(3) {
                    0 => drop(fs::remove_dir_all(&folder)),
                    1 => drop(fs::create_dir_all(folder.join("empty"))),
                    _ if folder.is_dir() && !aside.exists() => {
                        fs::rename(&folder, &aside).unwrap();
                        let _ = symlink(aside.file_name().unwrap(), &folder);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Returns the digest of each stack's configuration; `None` for one that cannot be loaded.
fn digests(shop: &Repository) -> BTreeMap<&'static str, Option<String>> {
    let digest = |directory: &'static str| {
        let loaded = crate::cli::stack::project::LoadedStack::open(&shop.settings(directory));
        (directory, loaded.ok().map(|loaded| loaded.stack.digest))
    };
    STACKS.into_iter().map(digest).collect()
}

/// Restores the working tree of the last commit.
fn restore(shop: &Repository) {
    shop.git(&["reset", "-q", "--hard"]);
    shop.git(&["clean", "-q", "-dffx"]);
}

/// What the edits did.
#[derive(Debug, Default)]
struct Tally {
    edits: u32,
    /// Stacks whose configuration differs, and that count as changed.
    differing: u32,
    /// Stacks that cannot be loaded, and that count as changed.
    failing: u32,
    /// Stacks that do not count as changed.
    unchanged: u32,
    /// Stacks that count as changed although their configuration is the same, as after the edit of a comment.
    spurious: u32,
}

impl Tally {
    /// Compares the verdicts for the working tree with the digests of both loads.
    fn judge(&mut self, shop: &Repository, base: &str, at_base: &BTreeMap<&'static str, Option<String>>) {
        self.edits += 1;
        let changes = shop.changes(base, &STACKS).unwrap();
        for (directory, now) in digests(shop) {
            let change = &changes[directory];
            let differs = now.is_none() || now != at_base[directory];
            if differs {
                let missed = || shop.git(&["diff", base]);
                assert!(change.is_changed(), "edit {}: {directory} is missed:\n{}", self.edits, missed());
                *(if now.is_none() { &mut self.failing } else { &mut self.differing }) += 1;
            } else if *change == StackChange::Unchanged {
                self.unchanged += 1;
            } else {
                self.spurious += 1;
            }
        }
    }
}

/// Returns the number of edits, and the time after which they end.
fn extent(text: Option<&str>) -> (u32, Duration) {
    let Some(text) = text else { return (NORMAL, Duration::MAX) };
    if let Ok(most) = text.parse() {
        return (most, Duration::MAX);
    }
    let time: jiff::SignedDuration = text.parse().expect("STEAD_CHANGES is a number or a time like 5m");
    (u32::MAX, time.try_into().expect("STEAD_CHANGES is no negative time"))
}

#[test]
fn no_changed_configuration_is_missed() {
    let (most, time) = extent(std::env::var("STEAD_CHANGES").ok().as_deref());
    let (start, mut chance, mut tally) = (Instant::now(), Chance(7), Tally::default());
    while tally.edits < most && start.elapsed() < time {
        let shop = Repository::shop();
        // The base is the first commit, or one that some edits made.
        for _ in 0..chance.below(3) {
            chance.edit(&shop);
        }
        let base = shop.commit("base");
        restore(&shop);
        let at_base = digests(&shop);
        for n in 1..=EDITS_PER_BASE {
            chance.edit(&shop);
            tally.judge(&shop, &base, &at_base);
            match n % 12 {
                // Some edits add up in commits, so that `HEAD` is not the base.
                7 => drop(shop.commit("edit")),
                11 => drop(shop.git(&["reset", "-q", "--hard", &base])),
                3 | 5 => restore(&shop),
                _ => {}
            }
        }
    }
    println!("{tally:?} in {:?}", start.elapsed());
    let least = tally.edits / 20;
    assert!(tally.differing > least && tally.unchanged > least && tally.edits > 9, "{tally:?}");
}
