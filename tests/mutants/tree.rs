//! A copy of the sources in which one file at a time is mutated, with a target directory of its own: what does not
//! change is not built again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Time limit of a build or a run in seconds: a mutant that hangs is killed, too.
const PATIENCE: &str = "1800";

/// Exit code of `timeout` after the time limit.
const TIMED_OUT: i32 = 124;

/// Entries that are not copied.
const LEFT_OUT: [&str; 2] = [".git", "target"];

pub enum Verdict<'a> {
    /// This test run failed.
    Killed(&'a str),
    Survived,
    DoesNotCompile,
}

/// The copy of the sources.
pub struct Tree {
    at: PathBuf,
    target: PathBuf,
}

impl Tree {
    /// Copies the sources to a fixed directory, so that builds are incremental.
    pub fn copy_of(root: &Path) -> Self {
        let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
        let at = target.join("mutants");
        if at.exists() {
            fs::remove_dir_all(&at).unwrap();
        }
        copy(root, &at, &target);
        Self { at, target }
    }

    /// Runs `attempt` with a file mutated, and restores the file.
    pub fn with<T>(
        &self,
        file: &str,
        break_it: impl FnOnce(&str) -> String,
        attempt: impl FnOnce(&Self) -> T,
    ) -> T {
        let path = self.at.join(file);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, break_it(&whole)).unwrap();
        let result = attempt(self);
        fs::write(&path, whole).unwrap();
        result
    }

    /// Runs tests until one run fails.
    pub fn try_all<'a>(&self, tests: &'a [String]) -> Verdict<'a> {
        for tests in tests {
            if !self.builds(tests) {
                return Verdict::DoesNotCompile;
            }
            if self.fails(tests) {
                return Verdict::Killed(tests);
            }
        }
        Verdict::Survived
    }

    /// Returns whether a test run fails; panics if it does not build.
    pub fn fails(&self, tests: &str) -> bool {
        assert!(self.builds(tests), "`cargo test {tests}` does not build");
        !self.cargo(tests, &[]).success()
    }

    fn builds(&self, tests: &str) -> bool {
        let ended = self.cargo(tests, &["--no-run"]);
        assert_ne!(ended.code(), Some(TIMED_OUT), "building `cargo test {tests}` takes too long");
        ended.success()
    }

    fn cargo(&self, tests: &str, more: &[&str]) -> ExitStatus {
        // The options stand before the words that say which tests.
        let mut command = Command::new("timeout");
        command.arg(PATIENCE).arg(env!("CARGO")).args(["test", "--quiet", "--offline", "--locked"]);
        command.args(more).args(tests.split_whitespace());
        command.current_dir(&self.at).env("CARGO_TARGET_DIR", &self.target);
        command
            .env_remove("STEAD_MUTANTS")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().expect("`timeout` of coreutils is installed")
    }
}

fn copy(from: &Path, to: &Path, target: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        if LEFT_OUT.iter().any(|left_out| name == *left_out) || path == target {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&path, &to.join(name), target);
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}
