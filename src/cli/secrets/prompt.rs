//! Prompts for missing secret variables on a terminal, once, before any other work. The input is not echoed, and is
//! kept only in memory for this run.

use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::process::no_echo;
use crate::cli::process::settings::Settings;
use crate::config::load::LoadFailure;
use crate::model::address::Name;
use crate::model::diagnostic::Severity;
use crate::model::values::secret::Secret;

/// Opens the stack; if only secrets are missing, prompts for them and opens it with their values. Without a terminal
/// the first failure is returned.
///
/// # Errors
/// Those of `open`, or when the input cannot be read or is empty.
pub(in crate::cli) fn prompt_missing_secrets<T>(
    settings: &Settings,
    interactive: bool,
    open: impl Fn(&Settings) -> Result<T, CliFailure>,
) -> Result<T, CliFailure> {
    let failure = match open(settings) {
        Err(failure) if interactive => failure,
        opened => return opened,
    };
    let lacking = failure.rejected.as_deref().and_then(missing_secrets);
    let Some(names) = lacking else { return Err(failure) };
    let mut settings = settings.clone();
    for name in names {
        settings.env_vars.insert(name.clone(), prompt_secret(&name)?);
    }
    open(&settings)
}

/// Returns the missing secrets of a stack; `None` if it has other errors, too, or lacks none.
fn missing_secrets(rejected: &LoadFailure) -> Option<Vec<Name>> {
    let errors = rejected.diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
    errors.map(|problem| problem.asks.clone()).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

fn prompt_secret(name: &Name) -> Result<Secret, CliFailure> {
    let question = format!("Value of vars.{name} (it is not shown): ");
    let text = no_echo::ask_without_echo(&question, &format!("the value of vars.{name}"))?;
    if text.is_empty() {
        return Err(CliFailure::new(Exit::Usage, format!("nothing was typed for vars.{name}")).help(
            "Nothing was sent. STEAD_VAR_NAME, or a file that --var-file names, sets it without a prompt.",
        ));
    }
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::diagnostic::Diagnostic;
    use crate::model::source::Sources;

    #[test]
    fn a_secret_is_not_prompted_for_while_there_are_other_errors() {
        let names = |diagnostics: Vec<Diagnostic>| {
            missing_secrets(&LoadFailure::new(Sources::default(), diagnostics))
        };
        let lacks = |name: &str| Diagnostic::error("S0251", "a variable has no value").asks(name.into());
        let other = Diagnostic::error("S0201", "there is no resource of this name");
        let warning = Diagnostic::warning("S0255", "a secret is written in a file of the stack");
        assert_eq!(
            names(vec![lacks("a"), warning.clone(), lacks("b")]),
            Some(vec!["a".into(), "b".into()])
        );
        assert_eq!(names(vec![lacks("a"), other]), None);
        assert_eq!(names(vec![warning]), None);
    }
}
