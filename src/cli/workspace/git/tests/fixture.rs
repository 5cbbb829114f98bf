//! A repository in a temporary directory, made by the real Git with no settings of the user.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::args::GlobalArgs;
use crate::cli::process::env::EnvVariables;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::profile::Profiles;
use crate::cli::process::settings::{self, Settings};
use crate::cli::workspace::git::changed_stacks::ChangeBase;
use crate::workspace::changes::compare::StackChange;
use crate::workspace::changes::recorded_reads::RecordedReads;

/// A repository, or a directory next to one.
pub(super) struct Repository {
    _directory: Option<tempfile::TempDir>,
    pub(super) root: PathBuf,
}

/// The files of a repository with three stacks: one alone, one with a module, an included file, a file that it reads
/// and a directory of sources, and one with the same module.
pub(super) const SHOP: &[(&str, &str)] = &[
    ("stacks/alone/stead.yaml", "stead: 1\nstack: alone\noutputs: { name: alone }\n"),
    (
        "stacks/shop/stead.yaml",
        "stead: 1\nstack: shop\ninclude: [../../shared/common.stead.yaml]\nuse:\n  net: { source: ../../modules/net }\n\
         vars:\n  motd: { from_file: motd.txt }\noutputs: { motd: $vars.motd, net: $use.net.cidr, text: '${file(\"deep/note.txt\")}' }\n\
         app: { web: { type: web, source_dir: app } }\n",
    ),
    ("stacks/shop/motd.txt", "hello\n"),
    ("stacks/shop/deep/note.txt", "note\n"),
    ("stacks/shop/app/main.py", "print(1)\n"),
    ("stacks/shop/app/lib/util.py", "x = 1\n"),
    ("stacks/shop/app/.steadignore", "*.log\nbuild/\n"),
    (
        "stacks/blog/stead.yaml",
        "stead: 1\nstack: blog\nuse:\n  net: { source: ../../modules/net }\n\
         outputs: { net: $use.net.cidr }\n",
    ),
    (
        "modules/net/stead.yaml",
        "stead: 1\nlocals: { cidr: 10.1.0.0/16 }\noutputs: { cidr: $locals.cidr }\n",
    ),
    ("shared/common.stead.yaml", "stead: 1\nlocals: { team: blue }\noutputs: { team: $locals.team }\n"),
    ("README.md", "three stacks\n"),
    (".gitignore", "*.local\n*.log\n"),
];

/// The directories of its stacks.
pub(super) const STACKS: [&str; 3] = ["stacks/alone", "stacks/blog", "stacks/shop"];

/// Runs Git, which must succeed, and returns its output.
pub(super) fn git(directory: &Path, words: &[&str]) -> String {
    let output = git_command(directory, words).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?} in {}: {errors}", directory.display());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn git_command(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).args(words).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.com"),
        ("GIT_COMMITTER_NAME", "ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.com"),
        ("GIT_ALLOW_PROTOCOL", "file"),
        ("HOME", "/nonexistent"),
    ] {
        command.env(name, value);
    }
    command
}

impl Repository {
    /// Returns a repository on the branch `main` whose first commit has these files.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        Self::with_format(files, "sha1")
    }

    pub(super) fn with_format(files: &[(&str, &str)], format: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap().join("repository");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q", "-b", "main", &format!("--object-format={format}")]);
        let this = Self { _directory: Some(directory), root };
        this.write_all(files);
        this.commit("first");
        this
    }

    /// Returns the three stacks of `SHOP`, on the branch `work` beside `main`.
    pub(super) fn shop() -> Self {
        let this = Self::new(SHOP);
        this.git(&["checkout", "-q", "-b", "work"]);
        this
    }

    /// Returns a directory that something else made, such as a clone.
    pub(super) fn at(root: PathBuf) -> Self {
        Self { _directory: None, root }
    }

    /// Returns a path next to the repository.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.root.parent().unwrap().join(name)
    }

    pub(super) fn git(&self, words: &[&str]) -> String {
        git(&self.root, words)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn write_all(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            self.write(path, text);
        }
    }

    pub(super) fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    /// Commits all files, and returns the commit.
    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(super) fn settings(&self, directory: &str) -> Settings {
        let flags = GlobalArgs::default();
        let merged =
            settings::merge(flags, &EnvVariables::new(), &Profiles::none("settings.toml")).unwrap();
        Settings { dir: self.root.join(directory), ..merged }
    }

    pub(super) fn open(&self, base: Option<&str>) -> Result<ChangeBase, CliFailure> {
        ChangeBase::open(&self.root, base, &EnvVariables::new())
    }

    /// Loads stacks and compares them.
    pub(super) fn changes(
        &self,
        base: &str,
        stacks: &[&str],
    ) -> Result<BTreeMap<String, StackChange>, CliFailure> {
        let opened = self.open(Some(base))?;
        let read =
            |directory: &&str| (PathBuf::from(directory), opened.load_stack(&self.settings(directory)).1);
        let reads: Vec<(PathBuf, RecordedReads)> = stacks.iter().map(read).collect();
        let found = opened.changed_stacks(&reads)?;
        Ok(found.into_iter().map(|(path, change)| (path.display().to_string(), change)).collect())
    }

    /// Returns the changed stacks of `SHOP`, each with its paths and reasons, one line each.
    pub(super) fn changed(&self, base: &str) -> String {
        self.changed_of(base, &STACKS)
    }

    /// Returns the changed ones of these stacks.
    pub(super) fn changed_of(&self, base: &str, stacks: &[&str]) -> String {
        let lines = self.changes(base, stacks).unwrap().into_iter().filter_map(|(directory, change)| {
            let (paths, more) = match change {
                StackChange::Unchanged => return None,
                StackChange::FailsToLoad => return Some(format!("{directory}: fails to load")),
                StackChange::Changed { paths, more } => (paths, more),
            };
            let mut words: Vec<String> =
                paths.iter().map(|one| format!("{} {}", one.path.display(), one.reason)).collect();
            words.extend((more > 0).then(|| format!("{more} more")));
            Some(format!("{directory}: {}", words.join(", ")))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the message and the help of the failure that a base has.
    pub(super) fn failure(&self, base: Option<&str>) -> String {
        describe(&self.open(base).err().expect("a failure"))
    }
}

/// Returns the exit code, the message and the help of a failure.
pub(super) fn describe(failure: &CliFailure) -> String {
    let help = failure.help.iter().map(|line| format!("\n{line}"));
    format!("{}: {}{}", failure.exit.code(), failure.message, help.collect::<String>())
}
