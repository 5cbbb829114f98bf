//! `key_command`: a program of the user's settings that prints the key. It sees nothing of the
//! environment but what it needs to find the user's keyring, and its output and time are bounded.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::credentials::is_key;
use super::exit::Exit;
use super::failure::Failure;
use super::settings::Variables;
use crate::cloud::system::SystemClock;
use crate::model::clock::Clock;
use crate::model::secret::Secret;

/// Time that it has: enough for a person to unlock a keyring.
const PATIENCE: Duration = Duration::from_mins(1);

/// Bytes that are read of it.
const MOST_BYTES: usize = 8192;

/// Longest sleep between two looks at a program that ends.
const NAP: Duration = Duration::from_millis(5);

/// Variables that it is given, where they are set: what finds programs, keyrings and agents. No
/// variable of stead's, no CI secret, nothing that changes what other programs load.
pub(super) const GIVEN: &[&str] = &[
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

/// Runs a program and returns the key that it prints.
///
/// # Errors
/// When it cannot be run, fails, takes too long, or prints no key. What it prints is never shown.
pub(super) fn run(words: &[String], environment: &Variables) -> Result<Secret, Failure> {
    run_within(words, environment, PATIENCE)
}

fn run_within(words: &[String], environment: &Variables, patience: Duration) -> Result<Secret, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(failed("", "it names no program"));
    };
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.iter().filter(|(name, _)| GIVEN.contains(&name.as_str())))
        // In the user's place, not in a stack's: `./key` of a stranger is not what was meant.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let mut child = child.map_err(|error| failed(program, &format!("it cannot be run: {error}")))?;
    let ended = watch(&mut child, SystemClock.elapsed() + patience);
    if ended.is_err() {
        // It may have ended by itself meanwhile.
        let _ = child.kill();
        let _ = child.wait();
    }
    let bytes = ended.map_err(|why| failed(program, &why))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let key = text.trim_end_matches(['\r', '\n']);
    if is_key(key) { Ok(Secret::new(key)) } else { Err(failed(program, "what it prints is no key")) }
}

/// Reads what a program prints until it ends well.
fn watch(child: &mut Child, deadline: Duration) -> Result<Vec<u8>, String> {
    let mut out = child.stdout.take().ok_or_else(|| "its output is lost".to_owned())?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    let left = || {
        let left = deadline.saturating_sub(SystemClock.elapsed());
        if left.is_zero() { Err("it takes too long".to_owned()) } else { Ok(left) }
    };
    loop {
        let mut ready = [PollFd::new(&out, PollFlags::IN)];
        wait(&mut ready, left()?)?;
        if ready[0].revents().is_empty() {
            continue;
        }
        let count = out.read(&mut chunk).map_err(|error| error.to_string())?;
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..count]);
        if bytes.len() > MOST_BYTES {
            return Err(format!("it prints more than {MOST_BYTES} bytes"));
        }
    }
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(bytes),
            Some(status) => return Err(format!("it failed: {status}")),
            None => wait(&mut [], left()?.min(NAP))?,
        }
    }
}

/// Waits for one of these, or for the time to pass.
fn wait(ready: &mut [PollFd<'_>], time: Duration) -> Result<(), String> {
    let time = Timespec::try_from(time).map_err(|error| error.to_string())?;
    match poll(ready, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn failed(program: &str, why: &str) -> Failure {
    Failure::new(Exit::Refused, format!("key_command `{program}` gives no key: {why}")).help(
        "It stands in the user's settings.toml; try it in a shell: it prints the key and nothing else.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<String, Failure> {
        let words = ["/bin/sh", "-c", script].map(str::to_owned);
        let given = [("PATH", "/usr/bin:/bin"), ("STEAD_API_KEY", "canary"), ("LD_PRELOAD", "x")];
        let environment = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        run_within(&words, &environment, patience).map(|key| key.expose().unwrap().to_owned())
    }

    #[test]
    fn it_prints_the_key() {
        assert_eq!(shell("echo sk_1", PATIENCE).unwrap(), "sk_1");
        assert_eq!(shell("printf 'sk_1\\r\\n'", PATIENCE).unwrap(), "sk_1");
    }

    #[test]
    fn it_sees_little() {
        assert_eq!(shell("echo x${STEAD_API_KEY}${LD_PRELOAD}", PATIENCE).unwrap(), "x");
        assert_eq!(shell("read line; echo x$line", PATIENCE).unwrap(), "x", "nobody types for it");
        assert_eq!(shell("pwd", PATIENCE).unwrap(), "/");
    }

    #[test]
    fn what_goes_wrong_is_said_without_its_output() {
        let short = Duration::from_millis(50);
        for (script, patience, why) in [
            ("echo canary; exit 3", PATIENCE, "exit status: 3"),
            ("echo canary two", PATIENCE, "no key"),
            ("true", PATIENCE, "no key"),
            ("yes canary", PATIENCE, "more than 8192 bytes"),
            ("echo canary; exec sleep 600", short, "too long"),
            ("echo canary; exec >&-; exec sleep 600", short, "too long"),
        ] {
            let error = shell(script, patience).unwrap_err();
            assert!(error.message.contains(why), "{script}: {}", error.message);
            assert!(!format!("{error:?}").contains("canary"), "{script}");
        }
        let nothing = run(&["/no/such/program".to_owned()], &Variables::new()).unwrap_err();
        assert!(nothing.message.contains("cannot be run"));
    }
}
