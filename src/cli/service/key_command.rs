//! `key_command`: a program of the user's settings that prints the key. It sees nothing of the
//! environment but what it needs to find the user's keyring.

use std::time::Duration;

use super::credentials::is_key;
use crate::cli::process::env::Variables;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::Failure;
use crate::cli::process::helper_program::{PATIENCE, Program};
use crate::model::secret::Secret;

/// Runs a program and returns the key that it prints.
///
/// # Errors
/// When it cannot be run, fails, takes too long, or prints no key. What it prints is never shown.
pub(in crate::cli) fn run(words: &[String], environment: &Variables) -> Result<Secret, Failure> {
    run_within(words, environment, PATIENCE)
}

fn run_within(words: &[String], environment: &Variables, patience: Duration) -> Result<Secret, Failure> {
    let program = Program::new(words, &[], environment);
    let bytes =
        program.capture_output(patience).map_err(|why| key_command_failure(program.name(), &why))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let key = text.trim_end_matches(['\r', '\n']);
    if is_key(key) {
        Ok(Secret::new(key))
    } else {
        Err(key_command_failure(program.name(), "what it prints is no key"))
    }
}

fn key_command_failure(program: &str, why: &str) -> Failure {
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
