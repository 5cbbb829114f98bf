//! Determines what a shell can complete at a word of a command line. Pure: walks over the words with the same
//! declarations that parse them.

use clap::{Arg, Command};

/// What can be completed at one word, and what the words before it select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct CompletionContext {
    /// Subcommands so far, without the program: `do`, `reboot`.
    pub(in crate::cli) path: Vec<String>,
    /// Candidates from the command line's declaration, each with a description, which can be empty.
    pub(in crate::cli) words: Vec<(String, String)>,
    /// Further candidates, which depend on the stack.
    pub(in crate::cli) wants: CompletionSource,
    /// Flags with values before the word, as (id of the flag, value), in order.
    pub(in crate::cli) given: Vec<(String, String)>,
}

/// Candidates that the command line's declaration does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum CompletionSource {
    /// No candidates besides the declared ones.
    Nothing,
    /// Addresses of the stack, with or without an attribute.
    Address,
    /// Outputs of the stack.
    Output,
    /// Environments of the stack.
    Environment,
    /// Stacks of the repository and their units.
    Unit,
    /// Subjects of `explain`: kinds, keywords, codes.
    Subject,
    /// Kinds of resources, such as `vm`.
    Kind,
    /// Tables of the catalog.
    Table,
    /// Files of the shell's working directory.
    File,
}

/// Returns the completion context of the word at index `at`. `words` begins with the program; `at` can be its length.
pub(in crate::cli) fn completion_context(
    command: &Command,
    words: &[String],
    at: usize,
) -> CompletionContext {
    let mut walk = CommandLineCursor {
        command,
        path: Vec::new(),
        positions: 0,
        awaits: None,
        given: Vec::new(),
        only: false,
    };
    for word in words.iter().take(at).skip(1) {
        walk.consume_word(command, word);
    }
    let typed = words.get(at).map_or("", String::as_str);
    let (words, wants) = walk.word_candidates(command, typed);
    CompletionContext { path: walk.path, words, wants, given: walk.given }
}

/// Position in the command line: what the words read so far have selected.
struct CommandLineCursor<'c> {
    command: &'c Command,
    path: Vec<String>,
    /// Number of positional arguments of the current command so far.
    positions: usize,
    /// The flag whose value is the next word; `None` after a complete flag or another word.
    awaits: Option<&'c Arg>,
    /// Flags with values so far, as (id of the flag, value).
    given: Vec<(String, String)>,
    /// Whether `--` ended the flags: every later word is a positional argument.
    only: bool,
}

impl<'c> CommandLineCursor<'c> {
    /// Moves past one complete word before the cursor. Unknown flags are skipped, since the line may have a typo.
    fn consume_word(&mut self, root: &'c Command, word: &str) {
        // Some shells split words at `=`.
        if word == "=" {
            return;
        }
        if let Some(flag) = self.awaits.take() {
            self.given.push((flag.get_id().to_string(), word.to_owned()));
        } else if word == "--" {
            self.only = true;
        } else if let Some(flag) = word.strip_prefix('-').filter(|rest| !self.only && !rest.is_empty()) {
            self.consume_flag(root, flag);
        } else if let Some(next) = self.command.find_subcommand(word).filter(|_| !self.only) {
            (self.command, self.positions) = (next, 0);
            self.path.push(next.get_name().to_owned());
        } else {
            self.positions += 1;
        }
    }

    /// Processes a flag, written without its first dash: `-long`, `-long=value`, or a letter with an optional value.
    fn consume_flag(&mut self, root: &'c Command, text: &str) {
        let (name, value) = if let Some(long) = text.strip_prefix('-') {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            (self.find_long_flag(root, name), value)
        } else {
            let mut letters = text.chars();
            let letter = letters.next();
            let arg = self.all_args(root).find(|arg| letter.is_some() && arg.get_short() == letter);
            (arg, Some(letters.as_str()).filter(|rest| !rest.is_empty()))
        };
        let Some(arg) = name.filter(|arg| arg.get_action().takes_values()) else { return };
        match value {
            Some(value) => self.given.push((arg.get_id().to_string(), value.to_owned())),
            // With `require_equals`, the next word is never the value.
            None if arg.is_require_equals_set() => {}
            None => self.awaits = Some(arg),
        }
    }

    fn find_long_flag(&self, root: &'c Command, name: &str) -> Option<&'c Arg> {
        self.all_args(root).find(|arg| arg.get_long() == Some(name))
    }

    /// Returns the arguments of the command, and the global ones.
    fn all_args(&self, root: &'c Command) -> impl Iterator<Item = &'c Arg> + use<'c> {
        let own = self.command.get_arguments();
        own.chain(root.get_arguments().filter(|arg| arg.is_global_set()))
    }

    /// Returns the declared candidates for the word at the cursor, and the source of further ones.
    fn word_candidates(&self, root: &'c Command, typed: &str) -> (Vec<(String, String)>, CompletionSource) {
        if let Some(flag) = self.awaits {
            return value_candidates(flag, "");
        }
        if let Some((name, _)) = typed.strip_prefix("--").and_then(|long| long.split_once('=')) {
            let Some(flag) = self.find_long_flag(root, name) else {
                return (Vec::new(), CompletionSource::Nothing);
            };
            return value_candidates(flag, &format!("--{name}="));
        }
        if typed.starts_with('-') && !self.only {
            return (self.flags(root), CompletionSource::Nothing);
        }
        let below = self.command.get_subcommands().filter(|below| !below.is_hide_set());
        let mut words: Vec<(String, String)> =
            below.map(|below| (below.get_name().to_owned(), first_line(below.get_about()))).collect();
        let position = self.command.get_positionals().nth(self.positions);
        // The last positional argument can be repeatable.
        let last = self
            .command
            .get_positionals()
            .last()
            .filter(|arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1));
        let Some(arg) = position.or(last) else { return (words, CompletionSource::Nothing) };
        let (more, wants) = value_candidates(arg, "");
        words.extend(more);
        (words, wants)
    }

    /// Returns the long flags of the command, sorted, with the first line of their help.
    fn flags(&self, root: &'c Command) -> Vec<(String, String)> {
        let shown = self.all_args(root).filter(|arg| !arg.is_hide_set());
        let long =
            shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), first_line(arg.get_help()))));
        let mut found: Vec<_> = long.collect();
        found.push(("--help".to_owned(), "Print help".to_owned()));
        found.sort();
        found.dedup_by(|a, b| a.0 == b.0);
        found
    }
}

/// Returns the candidates for an argument's value; each begins with `before`, such as `--flag=`.
fn value_candidates(arg: &Arg, before: &str) -> (Vec<(String, String)>, CompletionSource) {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        let row = |value: &clap::builder::PossibleValue| {
            (format!("{before}{}", value.get_name()), first_line(value.get_help()))
        };
        return (shown.map(row).collect(), CompletionSource::Nothing);
    }
    let name = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    let wants = match (arg.get_id().as_str(), name) {
        ("env", _) => CompletionSource::Environment,
        (_, "OUTPUT") => CompletionSource::Output,
        ("patterns", "GLOB") => CompletionSource::Unit,
        ("accept" | "why" | "from" | "to" | "address" | "target", "PATH" | "ADDRESS" | "FROM" | "TO")
        | (_, "ADDRESS") => CompletionSource::Address,
        (_, "SUBJECT") => CompletionSource::Subject,
        (_, "KIND") => CompletionSource::Kind,
        (_, "TABLE") => CompletionSource::Table,
        (_, "FILE" | "DIR" | "INTO") => CompletionSource::File,
        _ => CompletionSource::Nothing,
    };
    (Vec::new(), wants)
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::dispatch::command_line::Cli;

    fn at(line: &str) -> CompletionContext {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut command = Cli::command();
        command.build();
        completion_context(&command, &words, words.len() - 1)
    }

    fn offers(line: &str, word: &str) -> bool {
        at(line).words.iter().any(|(known, _)| known == word)
    }

    #[test]
    fn declared_commands_and_flags_are_completed() {
        let table = [
            ("stead ", "apply", true),
            ("stead ", "__complete", false),
            ("stead -C x ", "apply", true),
            ("stead -e prod --cloud local state ", "migrate", true),
            ("stead do ", "reboot", true),
            ("stead plan --", "--exit-code", true),
            ("stead plan --", "--cloud", true),
            ("stead --output ", "ndjson", true),
            ("stead plan --output=", "--output=json", true),
            ("stead graph --format ", "svg", true),
            ("stead help ", "apply", true),
            ("stead plan -- --", "--exit-code", false),
            ("stead completions ", "zsh", true),
        ];
        for (line, word, wanted) in table {
            assert_eq!(offers(line, word), wanted, "{line}: {:?}", at(line));
        }
    }

    #[test]
    fn completion_queries_the_stack_for_addresses_and_environments() {
        let table = [
            ("stead -e ", CompletionSource::Environment),
            ("stead plan --env ", CompletionSource::Environment),
            ("stead plan --env = ", CompletionSource::Environment),
            ("stead plan --target ", CompletionSource::Address),
            ("stead get ", CompletionSource::Address),
            ("stead why ", CompletionSource::Address),
            ("stead do reboot ", CompletionSource::Address),
            ("stead mv vm.a ", CompletionSource::Address),
            ("stead rm --keep ", CompletionSource::Address),
            ("stead render --why ", CompletionSource::Address),
            ("stead drift --accept ", CompletionSource::Address),
            ("stead graph --focus ", CompletionSource::Address),
            ("stead import ", CompletionSource::Address),
            ("stead explain ", CompletionSource::Subject),
            ("stead ls --kind ", CompletionSource::Kind),
            ("stead catalog ", CompletionSource::Table),
            ("stead apply ", CompletionSource::File),
            ("stead show ", CompletionSource::File),
            ("stead -C ", CompletionSource::File),
            ("stead fmt a.yaml ", CompletionSource::File),
            ("stead get vm.a ", CompletionSource::Nothing),
            ("stead plan --var ", CompletionSource::Nothing),
        ];
        for (line, wants) in table {
            assert_eq!(at(line).wants, wants, "{line}: {:?}", at(line));
        }
        let place = at("stead -C infra --env=prod do reboot ");
        let given = [("dir", "infra"), ("env", "prod")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(
            (place.given.as_slice(), place.path.as_slice()),
            (&given[..], &["do".to_owned(), "reboot".to_owned()][..])
        );
    }
}
