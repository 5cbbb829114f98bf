//! The commands in a message: with the directory, the environment and the other global flags of the stack that the message is
//! about, so that they work where they are read. In: a text for people, and the flags. Out: the text with longer commands. Pure.

use crate::report::text::escape;

/// Commands on one stack.
const COMMANDS: &[&str] = &[
    "apply", "cost", "destroy", "do", "drift", "fmt", "get", "history", "import", "lock", "ls", "mv",
    "output", "plan", "recover", "resolve", "rm", "secret", "state", "validate", "why",
];

/// What closes a command or its sentence.
const ENDS: [char; 6] = ['`', '.', ',', ';', ':', ')'];

/// Returns a command line with these global flags, escaped, so that the user can copy it.
pub(in crate::cli) fn command_line(global_flags: &[String], command: &str) -> String {
    let flags = global_flags.iter().map(String::as_str);
    let words: Vec<&str> = ["stead"].into_iter().chain(flags).chain([command]).collect();
    escape::escape_line(words.join(" ").trim_end()).into_owned()
}

/// Returns the global flags without those of these names, such as `-C`: they are those of another stack, or of none.
pub(in crate::cli) fn flags_except(global_flags: &[String], names: &[&str]) -> Vec<String> {
    let name_of = |flag: &str| flag.split([' ', '=']).next().unwrap_or_default().to_owned();
    global_flags.iter().filter(|flag| !names.contains(&name_of(flag).as_str())).cloned().collect()
}

/// Returns a text whose commands on one stack have the stack's global flags; one that has flags already, or covers all
/// stacks, stays as it is.
pub(in crate::cli) fn add_global_flags(text: &str, global_flags: &[String]) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| flag_line(line, global_flags)).collect();
    lines.join("\n")
}

fn flag_line(line: &str, global_flags: &[String]) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut completed: Vec<String> = Vec::with_capacity(words.len());
    let mut after_stead = false;
    for (position, word) in words.iter().enumerate() {
        let is_command = after_stead && COMMANDS.contains(&without_end(word));
        after_stead = bare(word) == "stead";
        if is_command && !covers_all(&words[position..]) {
            let quote = opening(&completed.pop().unwrap_or_default()).to_owned();
            // It reads the files only.
            let is_needed = |flag: &&String| *word != "fmt" || flag.starts_with("-C ");
            let flags: Vec<String> = global_flags.iter().filter(is_needed).cloned().collect();
            completed.push(quote + &command_line(&flags, word));
        } else {
            completed.push((*word).to_owned());
        }
    }
    completed.join(" ")
}

/// Returns whether a command, of which these are the first and all later words of its text, covers all stacks.
fn covers_all(words: &[&str]) -> bool {
    let is_last = |word: &&str| word.ends_with(ENDS);
    let end = words.iter().position(is_last).map_or(words.len(), |last| last + 1);
    words[..end].iter().any(|word| without_end(word) == "--all")
}

/// Returns a word without what closes a command or its sentence.
pub(in crate::cli) fn without_end(word: &str) -> &str {
    word.trim_end_matches(ENDS)
}

/// Returns a word without an opening quote or parenthesis.
pub(in crate::cli) fn bare(word: &str) -> &str {
    word.trim_start_matches(['`', '('])
}

/// Returns the quotes and parentheses at the beginning of a word.
pub(in crate::cli) fn opening(word: &str) -> &str {
    &word[..word.len() - bare(word).len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_on_one_stack_gets_its_global_flags() {
        let flags = ["-C a".to_owned(), "-e prod".to_owned()];
        for (help, complete) in [
            (
                "Run: stead secret set vars.a < FILE; or not.",
                "Run: stead -C a -e prod secret set vars.a < FILE; or not.",
            ),
            ("(`stead drift --accept a` does)", "(`stead -C a -e prod drift --accept a` does)"),
            (
                "`stead ls`, or `stead recover`.",
                "`stead -C a -e prod ls`, or `stead -C a -e prod recover`.",
            ),
            (
                "stead does it: stead apply --all --stacks a.",
                "stead does it: stead apply --all --stacks a.",
            ),
            ("stead -C b apply", "stead -C b apply"),
            ("(stead fmt --prune)", "(stead -C a fmt --prune)"),
        ] {
            assert_eq!(add_global_flags(help, &flags), complete);
        }
    }
}
