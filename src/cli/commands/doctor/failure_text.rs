//! The text of a check: a failure as a full sentence, and its remedy.

use crate::cli::process::failure::CliFailure;
use crate::report::text::phrases::count_noun;

/// Returns a failure's message as a sentence, and its remedy, which is empty if the failure has no help. Of a stack
/// with errors, only the number of problems is stated.
pub(super) fn failure_and_remedy(failure: &CliFailure) -> (String, String) {
    let detail = match &failure.rejected {
        Some(rejected) => {
            format!("{}: {}", failure.message, count_noun(rejected.diagnostics.len(), "problem"))
        }
        None => failure.message.clone(),
    };
    (to_sentence(&detail), failure.help.join(" "))
}

/// Returns a phrase with a capital letter at the start and a period at the end. A path or URL at the start
/// stays as it is.
pub(super) fn to_sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    // The first letter of a path or a URL must not change.
    let begins_with_word =
        text.split([' ', ':']).next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    let text = if begins_with_word { first + letters.as_str() } else { text.to_owned() };
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}
