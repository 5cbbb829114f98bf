//! A directory with a stack in it, a service of its own, and the real binary run on both.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::layer::Variation;
use crate::loopback::{KEY, Loopback};

/// Bounds that fit a service on this machine.
pub const BOUNDS: &str = "--effect-bound 100ms --listing-bound 100ms";

/// What a run of the binary printed: both streams.
pub struct Run {
    pub code: i32,
    pub all: String,
}

/// The directory and the service, and what was wrong so far.
pub struct Here {
    pub world: Loopback,
    pub wrong: Vec<String>,
    dir: TempDir,
    speaks: bool,
}

impl Here {
    pub fn new(variation: &'static Variation, stack: &str) -> Self {
        let speaks = std::env::var("STEAD_WORLD").is_ok();
        let here = Self {
            world: Loopback::new(variation),
            wrong: Vec::new(),
            dir: TempDir::new().unwrap(),
            speaks,
        };
        here.write("stead.yaml", stack);
        here
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file; it must be there.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Replaces a text in a file; it must be there.
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}:\n{text}");
        self.write(name, &text.replacen(from, to, 1));
    }

    pub fn run(&self, args: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
        command.current_dir(self.dir.path()).args(args.split_whitespace()).stdin(Stdio::null());
        let is_setting =
            |name: &str| name.starts_with("STEAD_") || name.starts_with("XDG_") || name == "CI";
        for (name, _) in std::env::vars().filter(|(name, _)| is_setting(name)) {
            command.env_remove(name);
        }
        command.env("HOME", self.dir.path()).env("USER", "tester");
        command.env("STEAD_API_URL", &self.world.url).env("STEAD_API_KEY", KEY);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap_or(-1);
        if self.speaks {
            println!("$ stead {args}\n{all}exit {code}\n");
        }
        Run { code, all }
    }

    pub fn wrong(&mut self, what: impl Into<String>) {
        self.wrong.push(what.into());
    }

    /// Runs a command that ends with a code and says all of this.
    pub fn expect(&mut self, code: i32, args: &str, says: &[&str]) -> Run {
        let run = self.run(args);
        if run.code != code {
            self.wrong(format!("`stead {args}` ends with {}, not {code}:\n{}", run.code, run.all));
        }
        for word in says.iter().filter(|word| !run.all.contains(**word)) {
            self.wrong(format!("`stead {args}` does not say `{word}`:\n{}", run.all));
        }
        run
    }

    /// Runs a command that is printed as what comes next.
    pub fn follow(&mut self, printed: &Run, remedy: &str, more: &str, code: i32) -> Run {
        if !printed.all.contains(&format!("next: stead {remedy}")) {
            self.wrong(format!("`stead {remedy}` is not proposed:\n{}", printed.all));
        }
        self.expect(code, &format!("{remedy} {more}"), &[])
    }

    /// Fails with everything that was wrong.
    pub fn assert_right(&self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n\n"));
    }
}
