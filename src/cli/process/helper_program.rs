//! Runs helper programs from the user's own settings: key commands, secret sources and secret sinks. A stack can
//! only refer to them by name. A program gets a small environment, and its output and its time are limited; secrets
//! are passed by standard input and output, never by an argument, which other processes can read.

use std::io::{ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::env::EnvVariables;
use super::identity_source::AGE_IDENTITY;
use crate::cloud::system_clock::SystemClock;
use crate::model::clock::Clock;

/// Timeout of a program: enough for a person to unlock a keyring.
pub(in crate::cli) const HELPER_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum number of bytes read from a program; a longer output is an error.
const MAX_OUTPUT_BYTES: usize = 8192;

/// Maximum number of bytes written to a program: a pipe holds that many, so the write never blocks.
const MAX_INPUT_BYTES: usize = 4096;

/// Longest interval between two polls for the exit of a program that closed its output.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Variables that a program inherits, if set: those that locate programs, keyrings and agents. No variable of stead's,
/// no CI secret, and none that changes which libraries a program loads.
pub(in crate::cli) const INHERITED_VARIABLES: &[&str] = &[
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "GNUPGHOME",
    "GPG_TTY",
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PASSWORD_STORE_DIR",
    "PATH",
    "SSH_AUTH_SOCK",
    "TERM",
    "TMPDIR",
    "USER",
    "WAYLAND_DISPLAY",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// A program with its arguments and its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HelperProgram {
    /// The program's path, followed by its arguments; an empty list cannot be run.
    pub words: Vec<String>,
    /// Complete environment of the program; values can be secret.
    pub environment: EnvVariables,
}

impl HelperProgram {
    /// Returns a program whose environment has the inherited variables and those that the user named, as far as they
    /// are set. The age identity is never among them.
    pub(in crate::cli) fn new(words: &[String], named: &[String], variables: &EnvVariables) -> Self {
        let named = |name: &str| name != AGE_IDENTITY && named.iter().any(|known| known == name);
        let sees = |name: &str| INHERITED_VARIABLES.contains(&name) || named(name);
        let environment = variables.iter().filter(|(name, _)| sees(name));
        Self {
            words: words.to_vec(),
            environment: environment.map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }

    /// Returns the same program with one more variable.
    pub(in crate::cli) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Returns the program's name, for messages; empty if none is configured.
    pub(in crate::cli) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Runs the program without input and returns its output; waits at most `patience`.
    ///
    /// # Errors
    /// When it cannot be run, fails, takes too long or prints too much. The message never contains its output.
    pub(in crate::cli) fn capture_output(&self, patience: Duration) -> Result<Vec<u8>, String> {
        self.run(None, patience)
    }

    /// Runs the program with a secret as its standard input; its output is discarded.
    ///
    /// # Errors
    /// Those of `capture_output`, or when the input is too long.
    pub(in crate::cli) fn send_input(&self, text: &str, patience: Duration) -> Result<(), String> {
        if text.len() > MAX_INPUT_BYTES {
            return Err(format!("its input may have {MAX_INPUT_BYTES} bytes at most"));
        }
        self.run(Some(text), patience).map(drop)
    }

    fn run(&self, input: Option<&str>, patience: Duration) -> Result<Vec<u8>, String> {
        let (program, arguments) = self.words.split_first().ok_or("it names no program")?;
        let child = Command::new(program)
            .args(arguments)
            // The API key and the other variables of stead are not for these programs.
            .env_clear()
            .envs(&self.environment)
            // Not the stack's directory: a relative path such as `./key` must not run a program of an untrusted stack.
            .current_dir("/")
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        let mut child = child.map_err(|error| format!("it cannot be run: {error}"))?;
        let deadline = SystemClock.elapsed() + patience;
        let handed = write_input(child.stdin.take(), input);
        let ended = handed.and_then(|()| collect_output(&mut child, deadline));
        if ended.is_err() {
            // The program may have exited by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
        ended
    }
}

/// Writes the input to the pipe, which takes it without blocking. A program that does not read it is judged
/// by its exit status.
fn write_input(pipe: Option<ChildStdin>, input: Option<&str>) -> Result<(), String> {
    let (Some(mut pipe), Some(text)) = (pipe, input) else { return Ok(()) };
    match pipe.write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// Reads a program's output until it exits successfully; fails at the deadline.
fn collect_output(child: &mut Child, deadline: Duration) -> Result<Vec<u8>, String> {
    let mut out = child.stdout.take().ok_or_else(|| "its output is lost".to_owned())?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    let left = || {
        let left = deadline.saturating_sub(SystemClock.elapsed());
        if left.is_zero() { Err("it takes too long".to_owned()) } else { Ok(left) }
    };
    loop {
        let mut ready = [PollFd::new(&out, PollFlags::IN)];
        wait_for_fds(&mut ready, left()?)?;
        if ready[0].revents().is_empty() {
            continue;
        }
        let count = out.read(&mut chunk).map_err(|error| error.to_string())?;
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..count]);
        if bytes.len() > MAX_OUTPUT_BYTES {
            return Err(format!("it prints more than {MAX_OUTPUT_BYTES} bytes"));
        }
    }
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(bytes),
            Some(status) => return Err(format!("it failed: {status}")),
            None => wait_for_fds(&mut [], left()?.min(MAX_POLL_INTERVAL))?,
        }
    }
}

/// Waits until a file descriptor is ready, the timeout expires, or a signal arrives.
fn wait_for_fds(ready: &mut [PollFd<'_>], time: Duration) -> Result<(), String> {
    let time = Timespec::try_from(time).map_err(|error| error.to_string())?;
    match poll(ready, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> HelperProgram {
        let words = ["/bin/sh", "-c", script].map(str::to_owned);
        let given = [("PATH", "/usr/bin:/bin"), ("VAULT_TOKEN", "t"), ("STEAD_API_KEY", "canary")];
        let variables = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        HelperProgram::new(&words, &["VAULT_TOKEN".to_owned()], &variables)
    }

    #[test]
    fn the_age_identity_is_not_passed_to_helper_programs() {
        let variables = [(AGE_IDENTITY.to_owned(), "canary".to_owned())].into();
        let program = HelperProgram::new(&["true".to_owned()], &[AGE_IDENTITY.to_owned()], &variables);
        assert!(program.environment.is_empty());
    }

    #[test]
    fn a_helper_program_gets_the_secret_on_standard_input_and_prints_nothing() {
        let takes =
            shell(r#"read secret; test "$secret$VAULT_TOKEN$STEAD_API_KEY$STEAD_STACK" = hushtshop"#);
        assert_eq!(
            takes.clone().with_variable("STEAD_STACK", "shop").send_input("hush", HELPER_TIMEOUT),
            Ok(())
        );
        assert_eq!(takes.send_input("other", HELPER_TIMEOUT), Err("it failed: exit status: 1".to_owned()));
        assert_eq!(shell("true").send_input("hush", HELPER_TIMEOUT), Ok(()), "one that does not read it");
        assert!(shell("cat").send_input(&"x".repeat(5000), HELPER_TIMEOUT).is_err());
        let error = shell("cat; exit 3").send_input("canary", HELPER_TIMEOUT).unwrap_err();
        assert_eq!(error, "it failed: exit status: 3");
    }
}
