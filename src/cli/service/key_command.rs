//! Runs `key_command`, a program of the user's settings that prints the API key. Its environment has only what it
//! needs to find the user's keyring.

use std::time::Duration;

use super::credentials::is_key;
use crate::cli::process::env::EnvVariables;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::helper_program::{HELPER_TIMEOUT, HelperProgram};
use crate::model::values::secret::Secret;

/// Runs a program and returns the key that it prints, without its line end.
///
/// # Errors
/// When it cannot be run, fails, takes too long, or prints no key. The message never contains its output.
pub(in crate::cli) fn run(words: &[String], environment: &EnvVariables) -> Result<Secret, CliFailure> {
    run_within(words, environment, HELPER_TIMEOUT)
}

fn run_within(
    words: &[String],
    environment: &EnvVariables,
    patience: Duration,
) -> Result<Secret, CliFailure> {
    let program = HelperProgram::new(words, &[], environment);
    let bytes =
        program.capture_output(patience).map_err(|why| key_command_failure(program.name(), &why))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let key = text.trim_end_matches(['\r', '\n']);
    if is_key(key) {
        Ok(Secret::new(key))
    } else {
        Err(key_command_failure(program.name(), "its output is not a key"))
    }
}

fn key_command_failure(program: &str, why: &str) -> CliFailure {
    CliFailure::new(Exit::Refused, format!("key_command `{program}` returned no key: {why}")).help(
        "It is defined in the user's settings.toml; run it in a shell: it must print the key and nothing else.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<String, CliFailure> {
        let words = ["/bin/sh", "-c", script].map(str::to_owned);
        let given = [("PATH", "/usr/bin:/bin"), ("STEAD_API_KEY", "canary"), ("LD_PRELOAD", "x")];
        let environment = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        run_within(&words, &environment, patience).map(|key| key.expose().unwrap().to_owned())
    }

    #[test]
    fn the_output_of_the_key_command_is_the_key() {
        assert_eq!(shell("echo sk_1", HELPER_TIMEOUT).unwrap(), "sk_1");
        assert_eq!(shell("printf 'sk_1\\r\\n'", HELPER_TIMEOUT).unwrap(), "sk_1");
    }

    #[test]
    fn the_key_command_gets_a_minimal_environment() {
        assert_eq!(shell("echo x${STEAD_API_KEY}${LD_PRELOAD}", HELPER_TIMEOUT).unwrap(), "x");
        assert_eq!(shell("read line; echo x$line", HELPER_TIMEOUT).unwrap(), "x", "nobody types for it");
        assert_eq!(shell("pwd", HELPER_TIMEOUT).unwrap(), "/");
    }

    #[test]
    fn a_failing_key_command_is_reported_without_its_output() {
        let short = Duration::from_millis(50);
        for (script, patience, why) in [
            ("echo canary; exit 3", HELPER_TIMEOUT, "exit status: 3"),
            ("echo canary two", HELPER_TIMEOUT, "no key"),
            ("true", HELPER_TIMEOUT, "no key"),
            ("yes canary", HELPER_TIMEOUT, "more than 8192 bytes"),
            ("echo canary; exec sleep 600", short, "too long"),
            ("echo canary; exec >&-; exec sleep 600", short, "too long"),
        ] {
            let error = shell(script, patience).unwrap_err();
            assert!(error.message.contains(why), "{script}: {}", error.message);
            assert!(!format!("{error:?}").contains("canary"), "{script}");
        }
        let nothing = run(&["/no/such/program".to_owned()], &EnvVariables::new()).unwrap_err();
        assert!(nothing.message.contains("cannot be run"));
    }
}
