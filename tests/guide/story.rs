//! A page as a story: its blocks run one after the other in a home directory of their own.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use stead::guide::document::{ConsoleLine, console_lines};
use tempfile::TempDir;

use crate::compare;
use crate::page::{Action, Page, Step};

/// Port that pages name for a server of the reader; each story uses a free one.
const PORT_IN_PAGES: &str = "8377";
/// Home directory that pages show.
const HOME_IN_PAGES: &str = "/home/ada";
/// Timeout of one block or server, in seconds.
const COMMAND_TIMEOUT_SECS: &str = "300";
/// Timeout of one server's start.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(30);

/// What became of a page.
#[derive(Default)]
pub struct Story {
    pub commands: usize,
    pub configurations: usize,
    pub failures: Vec<String>,
    blessed: Vec<(std::ops::Range<usize>, String)>,
}

struct Sandbox {
    home: TempDir,
    port: String,
    servers: Vec<Child>,
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let group = format!("-{}", server.id());
            let _ = Command::new("kill").args(["-TERM", "--", &group]).stderr(Stdio::null()).status();
            let _ = server.wait();
        }
    }
}

/// Returns the binary under test; `STEAD_BIN` names another one.
fn stead() -> PathBuf {
    std::env::var_os("STEAD_BIN").map_or_else(|| env!("CARGO_BIN_EXE_stead").into(), PathBuf::from)
}

/// Returns a port that no server uses: below the range from which the system takes the ports of clients, since one of
/// those could take it before the server does.
fn free_port() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 100).unwrap() * 100;
    let ports = (0..1_000).map(|_| first + NEXT.fetch_add(1, Ordering::Relaxed));
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.into_iter().find(is_free).expect("a free port").to_string()
}

impl Story {
    /// Runs the blocks of a page; with `STEAD_BLESS_GUIDE`, writes what the commands print into the page.
    pub fn run(page: &Page, path: &Path) -> Self {
        let mut story = Self { failures: page.problems.clone(), ..Self::default() };
        let mut sandbox = Sandbox::new();
        for step in &page.steps {
            if let Err(failure) = story.run_step(page, step, &mut sandbox) {
                story.failures.push(format!("{}:{}: {failure}", page.name, step.line));
            }
        }
        if std::env::var_os("STEAD_BLESS_GUIDE").is_some() && !story.blessed.is_empty() {
            let mut text = fs::read_to_string(path).unwrap();
            for (range, block) in story.blessed.drain(..).rev() {
                text.replace_range(range, &block);
            }
            fs::write(path, text).unwrap();
        }
        story
    }

    fn run_step(&mut self, page: &Page, step: &Step, sandbox: &mut Sandbox) -> Result<(), String> {
        match &step.action {
            Action::Console { background: true, .. } => {
                self.commands += 1;
                sandbox.start_server(&step.text)
            }
            Action::Console { exit, .. } => self.run_console(step, *exit, sandbox),
            Action::Script => {
                let (code, output) = sandbox.shell(&step.text);
                if code == 0 { Ok(()) } else { Err(format!("the script ended with {code}:\n{output}")) }
            }
            Action::Write(name) => {
                let path = sandbox.path(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, &step.text).unwrap();
                Ok(())
            }
            Action::Patch(name) => sandbox.patch(name, &step.text),
            Action::Validate { kdl, inside, wrong } => {
                self.configurations += 1;
                sandbox.validate(&step.text, *kdl, inside.as_deref(), wrong.as_deref())
            }
            Action::Json => {
                let parsed: Result<serde_json::Value, _> = serde_json::from_str(&step.text);
                parsed.map(drop).map_err(|error| format!("{}: {error}", page.name))
            }
            Action::Nothing => Ok(()),
        }
    }

    fn run_console(&mut self, step: &Step, exit: i32, sandbox: &mut Sandbox) -> Result<(), String> {
        let commands = split_commands(&step.text)?;
        let last = commands.len() - 1;
        let (mut block, mut failures, mut is_new) = (String::new(), Vec::new(), false);
        for (at, (command, shown)) in commands.iter().enumerate() {
            self.commands += 1;
            let (code, printed) = sandbox.shell(command);
            let wanted = if at == last { exit } else { 0 };
            if code != wanted {
                failures
                    .push(format!("`{command}` ended with {code}, not {wanted}, and printed:\n{printed}"));
            }
            let same = compare::is_as_shown(shown, &printed);
            let can_bless = !compare::has_omission(shown);
            if !same && (!can_bless || std::env::var_os("STEAD_BLESS_GUIDE").is_none()) {
                failures.push(format!("`{command}` printed\n{printed}\nnot\n{shown}"));
            }
            is_new |= !same && can_bless;
            let lines: Vec<_> = command.lines().collect();
            let output = if same || !can_bless { shown.clone() } else { printed };
            block = format!("{block}$ {}\n{output}", lines.join("\n> "));
        }
        if is_new {
            self.blessed.push((step.range.clone(), block));
        }
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
    }
}

/// Splits a block into its commands, each with the output that is shown. A line that begins with `> ` continues a
/// command.
fn split_commands(block: &str) -> Result<Vec<(String, String)>, String> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for (kind, line) in console_lines(block) {
        match (kind, line.strip_prefix("$ "), commands.last_mut()) {
            (ConsoleLine::Command, Some(command), _) => commands.push((command.to_owned(), String::new())),
            (ConsoleLine::Command, None, Some((command, _))) => {
                command.push('\n');
                command.push_str(&line[2..]);
            }
            (_, _, Some((_, output))) => {
                output.push_str(line);
                output.push('\n');
            }
            (_, _, None) => return Err("the block does not begin with `$ `".to_owned()),
        }
    }
    if commands.is_empty() { Err("the block has no command".to_owned()) } else { Ok(commands) }
}

impl Sandbox {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        let sandbox = Self { home, port: free_port(), servers: Vec::new() };
        for folder in [".state", "bin"] {
            fs::create_dir_all(sandbox.home.path().join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(stead(), sandbox.home.path().join("bin/stead")).unwrap();
        sandbox
    }

    /// Returns the path of a file that a page names: below the home directory with `~/`, else in the directory in
    /// which the last command ended.
    fn path(&self, name: &str) -> PathBuf {
        match name.strip_prefix("~/") {
            Some(rest) => self.home.path().join(rest),
            None => self.directory().join(name),
        }
    }

    fn directory(&self) -> PathBuf {
        let noted = fs::read_to_string(self.home.path().join(".state/directory"));
        noted
            .map_or_else(|_| self.home.path().to_owned(), |path| PathBuf::from(path.trim_end_matches('\n')))
    }

    /// Returns a shell that goes on where the last one ended: same directory, same variables.
    fn command(&self, script: &str) -> Command {
        let home = self.home.path().display();
        let around = format!(
            "[ -f '{home}/.state/variables' ] && . '{home}/.state/variables'\n\
             cd \"$(cat '{home}/.state/directory' 2>/dev/null || echo '{home}')\"\n\
             trap 'code=$?; pwd > \"{home}/.state/directory\"; export -p > \"{home}/.state/variables\"; exit $code' EXIT\n\
             {}\n",
            script.replace(PORT_IN_PAGES, &self.port).replace(HOME_IN_PAGES, &home.to_string())
        );
        let mut command = Command::new("timeout");
        command.args([COMMAND_TIMEOUT_SECS, "bash", "-c", &around]).env_clear().stdin(Stdio::null());
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("PATH", format!("{home}/bin:{path}"))
            .env("HOME", self.home.path())
            .env("USER", "ada")
            .env("LANG", "C.UTF-8")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.com")
            .env("GIT_COMMITTER_NAME", "Ada")
            .env("GIT_COMMITTER_EMAIL", "ada@example.com")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
    }

    /// Runs a script; returns its exit code and what it printed, as a page would show it.
    fn shell(&self, script: &str) -> (i32, String) {
        let output = self.command(&format!("exec 2>&1\n{script}")).output().unwrap();
        (output.status.code().unwrap_or(-1), self.as_in_pages(&String::from_utf8_lossy(&output.stdout)))
    }

    fn as_in_pages(&self, text: &str) -> String {
        let text = text.replace(&*self.home.path().to_string_lossy(), HOME_IN_PAGES);
        let mut text = text.replace(&self.port, PORT_IN_PAGES);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// Starts a server, and waits until it has printed what the page shows.
    fn start_server(&mut self, block: &str) -> Result<(), String> {
        let [(command, shown)] = &split_commands(block)?[..] else {
            return Err("a block in the background has one command".to_owned());
        };
        // The emulator's own default is the port that pages name.
        let is_default = command.contains("stead emulator") && !command.contains("--port");
        let port = if is_default { format!(" --port {PORT_IN_PAGES}") } else { String::new() };
        let mut shell = self.command(&format!("exec 2>&1\nexec {command}{port}"));
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut child = shell.stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        self.servers.push(child);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut printed = String::new();
        while let Ok(line) = lines.recv_timeout(SERVER_START_TIMEOUT) {
            printed.push_str(&line);
            printed.push('\n');
            if compare::is_as_shown(shown, &self.as_in_pages(&printed)) {
                return Ok(());
            }
        }
        Err(format!("`{command}` printed\n{}\nnot\n{shown}", self.as_in_pages(&printed)))
    }

    /// Applies a difference: the unchanged and removed lines of each of its parts stand in the file once, and are
    /// replaced by the unchanged and added ones.
    fn patch(&self, name: &str, difference: &str) -> Result<(), String> {
        let path = self.path(name);
        let mut text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let is_heading =
            |line: &&str| line.starts_with("@@") || line.starts_with("---") || line.starts_with("+++");
        let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
        for line in difference.lines() {
            if is_heading(&line) { parts.push(Vec::new()) } else { parts.last_mut().unwrap().push(line) }
        }
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let without = |sign: char| -> String {
                let kept = part.iter().filter(|line| !line.starts_with(sign));
                kept.fold(String::new(), |all, line| all + line.get(1..).unwrap_or("") + "\n")
            };
            let (old, new) = (without('+'), without('-'));
            let at_line_start = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
            let places: Vec<usize> =
                text.match_indices(&old).map(|(at, _)| at).filter(at_line_start).collect();
            let [at] = places[..] else {
                return Err(format!("{name} has these lines {} times:\n{old}", places.len()));
            };
            text.replace_range(at..at + old.len(), &new);
        }
        fs::write(path, text).map_err(|error| format!("{name}: {error}"))
    }

    fn validate(
        &self,
        text: &str,
        kdl: bool,
        inside: Option<&str>,
        wrong: Option<&str>,
    ) -> Result<(), String> {
        let ending = if kdl { "kdl" } else { "yaml" };
        let scratch = TempDir::new().unwrap();
        let is_test = text.lines().any(|line| line.starts_with("test"));
        let whole = text.lines().any(|line| line.starts_with("stead:") || line.starts_with("stead 1"));
        let head = match (whole || is_test || inside.is_some(), kdl) {
            (true, _) => "",
            (false, true) => "stead 1\nstack example\n",
            (false, false) => "stead: 1\nstack: example\n",
        };
        if let Some(inside) = inside {
            let from = self.path(inside).display().to_string();
            let copied =
                Command::new("cp").args(["-r", &format!("{from}/."), "."]).current_dir(&scratch).status();
            assert!(copied.unwrap().success(), "{from}");
        } else if is_test {
            return Err("a test of a stack needs `in=DIR`".to_owned());
        }
        let name = if is_test { format!("page.test.{ending}") } else { format!("page.stead.{ending}") };
        fs::write(scratch.path().join(name), format!("{head}{text}")).unwrap();
        let command = if is_test { "stead test" } else { "stead validate --output json" };
        let (code, output) = self.shell(&format!("(cd '{}' && {command})", scratch.path().display()));
        let Some(wrong) = wrong else {
            return if code == 0 { Ok(()) } else { Err(format!("the block is not valid:\n{output}")) };
        };
        let document: serde_json::Value =
            serde_json::from_str(&output).map_err(|error| format!("{error}: {output}"))?;
        let codes = document["diagnostics"].as_array().into_iter().flatten();
        let errors: BTreeSet<&str> = codes
            .filter(|one| one["severity"] == "error" || one["code"] == wrong)
            .filter_map(|one| one["code"].as_str())
            .collect();
        if errors == BTreeSet::from([wrong]) {
            Ok(())
        } else {
            Err(format!("the block gives {errors:?}, not {wrong}:\n{output}"))
        }
    }
}
