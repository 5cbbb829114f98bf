//! Rebuilds the global flags of a command line, so that a suggested next command can be copied as it is. Environment
//! variables and the user's settings are left out, since they apply to the next command anyway. Pure.

use crate::cli::args::CloudChoice;
use crate::cli::args::GlobalArgs;

/// Returns the global flags as the user would type them, one item per flag, quoted for a shell, without those that
/// only change the output. The values of `--var` are replaced by `…`.
pub(in crate::cli) fn format_flags(given: &GlobalArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut flag = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("{name} {}", quote_shell_word(value))));
    };
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    flag("-C", given.dir.as_deref().map(path).as_deref());
    flag("-p", given.profile.as_deref());
    flag("-e", given.env.as_deref());
    flag("--cloud", given.cloud.map(|CloudChoice::Local| "local"));
    flag("--api-url", given.api_url.as_deref());
    flag("--ca-file", given.ca_file.as_deref().map(path).as_deref());
    flag("--project", given.project.as_deref());
    // The settings refuse a URL with a password before this runs, so none is printed.
    flag("--backend", given.backend.as_deref());
    for file in &given.var_files {
        flag("--var-file", Some(&path(file)));
    }
    if given.allow_outside {
        words.push("--allow-outside".to_owned());
    }
    // Values of variables can be confidential, and suggestions end up in logs.
    words.extend(given.vars.iter().map(|(name, _)| format!("--var {name}=…")));
    words
}

/// Returns a word with the single quotes that a POSIX shell needs; a plain word stays as it is.
pub(in crate::cli) fn quote_shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:@=,+-%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::dispatch::command_line::Cli;

    #[test]
    fn suggested_commands_repeat_only_the_flags_that_select_the_stack() {
        let said = |line: &[&str]| format_flags(&Cli::try_parse_from(line).unwrap().global).join(" ");
        let line = [
            "stead",
            "apply",
            "-C",
            "my stack",
            "-e",
            "prod",
            "-p",
            "work",
            "--cloud",
            "local",
            "-q",
            "--backend",
            "s3://bucket/prefix",
            "--var",
            "token=canary",
            "--output",
            "json",
            "--var-file",
            "a.yaml",
            "--project",
            "it's",
        ];
        assert_eq!(
            said(&line),
            r"-C 'my stack' -p work -e prod --cloud local --project 'it'\''s' --backend s3://bucket/prefix --var-file a.yaml --var token=…"
        );
        assert_eq!(said(&["stead", "plan"]), "");
    }
}
