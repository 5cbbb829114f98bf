//! Reference pages of the commands, from the declaration of the command line, so that they agree with `--help`.

use clap::{Arg, ArgAction, Command};

use crate::guide::document::{Block, Definition, ExampleKind, Inline, PageContent, parse_backticks};
use crate::guide::library::Page;
use crate::guide::reference::index_page;

/// Address of the page of the flags that all commands accept.
const GLOBAL_FLAGS: &str = "reference/commands/global-options";

/// Returns the address of a command's page.
pub(super) fn command_address(name: &str) -> String {
    format!("reference/commands/{name}")
}

/// Returns the commands that a user sees.
pub(super) fn visible_commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// Returns a page for each command of the program, one for the flags of all commands, and their index.
pub(super) fn command_pages(program: &Command) -> Vec<Page> {
    let mut pages: Vec<Page> = visible_commands(program).map(command_page).collect();
    let mut entries: Vec<Definition> = visible_commands(program)
        .map(|command| {
            let name = command.get_name();
            Definition::linked(format!("stead {name}"), &command_address(name), &about(command))
        })
        .collect();
    entries.push(Definition::linked("global options", GLOBAL_FLAGS, "Flags that every command accepts."));
    pages.push(index_page(
        "reference/commands/index",
        "Commands",
        "Every command, with its flags and examples.",
        entries,
    ));
    pages.push(global_flags_page(program));
    pages
}

fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    if about.ends_with('.') { about } else { format!("{about}.") }
}

fn command_page(command: &Command) -> Page {
    let name = format!("stead {}", command.get_name());
    let mut blocks = Vec::new();
    push_command(&mut blocks, command, &name, 2);
    push_subcommands(&mut blocks, command, &name);
    let document = PageContent {
        title: name,
        summary: parse_backticks(&about(command)),
        keywords: "command flags options help".to_owned(),
        blocks,
    };
    Page::derived(&command_address(command.get_name()), document)
}

fn push_subcommands(blocks: &mut Vec<Block>, command: &Command, name: &str) {
    for inner in visible_commands(command) {
        let name = format!("{name} {}", inner.get_name());
        blocks.push(Block::heading(2, &name));
        blocks.push(Block::Paragraph(parse_backticks(&about(inner))));
        push_command(blocks, inner, &name, 3);
        push_subcommands(blocks, inner, &name);
    }
}

fn code(text: String) -> Block {
    Block::code("text", text, ExampleKind::Plain)
}

/// Adds usage, arguments, flags and examples of a command.
fn push_command(blocks: &mut Vec<Block>, command: &Command, name: &str, level: u8) {
    let usage = command.clone().bin_name(name).render_usage().to_string();
    blocks.push(code(usage.trim_start_matches("Usage: ").to_owned()));
    if let Some(long) = command.get_long_about().map(ToString::to_string)
        && long != about(command).trim_end_matches('.')
    {
        blocks.push(Block::Paragraph(parse_backticks(&long)));
    }
    let own =
        || command.get_arguments().filter(|argument| !argument.is_hide_set() && !argument.is_global_set());
    let positional: Vec<Definition> =
        own().filter(|argument| argument.is_positional()).map(argument_entry).collect();
    let is_flag = |argument: &&Arg| !argument.is_positional() && argument.get_id() != "help";
    let flags: Vec<Definition> = own().filter(is_flag).map(argument_entry).collect();
    let prefix = if level > 2 { format!("{name}: ") } else { String::new() };
    for (title, entries) in [("Arguments", positional), ("Flags", flags)] {
        if !entries.is_empty() {
            blocks.push(Block::heading(level, &format!("{prefix}{title}")));
            blocks.push(Block::Definitions(entries));
        }
    }
    if level == 2 {
        blocks.push(Block::Paragraph(vec![
            Inline::text("It also accepts the "),
            Inline::link(GLOBAL_FLAGS, "flags of all commands"),
            Inline::text("."),
        ]));
    }
    if let Some(after) = command.get_after_help() {
        push_after_help(blocks, &after.to_string(), level, &prefix);
    }
}

/// Adds the text after a command's help: paragraphs, and examples below a line that ends with a colon.
fn push_after_help(blocks: &mut Vec<Block>, text: &str, level: u8, prefix: &str) {
    for part in text.split("\n\n") {
        let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
        if first.starts_with("Example") && rest.is_empty() && !first.ends_with(':') {
            blocks.push(Block::Paragraph(parse_backticks(first)));
        } else if first.starts_with("Example") {
            blocks.push(Block::heading(level, &format!("{prefix}Examples")));
            blocks.push(code(unindent(rest)));
        } else if rest.lines().any(|line| line.starts_with("  ")) {
            blocks.push(Block::Paragraph(parse_backticks(first)));
            blocks.push(code(unindent(rest)));
        } else {
            blocks.push(Block::Paragraph(parse_backticks(&part.replace('\n', " "))));
        }
    }
}

/// Help text indents its code by two blanks; a code block has its own indentation.
fn unindent(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    lines.join("\n")
}

fn argument_entry(argument: &Arg) -> Definition {
    let values = || {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ")
    };
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let mut name = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => values(),
    };
    if takes_value && !argument.is_positional() {
        name = format!("{name} {}", values());
    }
    Definition { text: argument_text(argument, takes_value), ..Definition::new(name, "") }
}

fn argument_text(argument: &Arg, takes_value: bool) -> Vec<Inline> {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let mut text = parse_backticks(help.trim_end_matches('.'));
    text.push(Inline::text("."));
    let possible = argument.get_possible_values();
    if takes_value && !possible.is_empty() && !argument.is_hide_possible_values_set() {
        text.push(Inline::text(" Values: "));
        for (at, value) in possible.iter().filter(|value| !value.is_hide_set()).enumerate() {
            text.extend((at > 0).then(|| Inline::text("; ")));
            text.push(Inline::code(value.get_name()));
            if let Some(help) = value.get_help() {
                text.push(Inline::text(format!(" ({})", help.to_string().trim_end_matches('.'))));
            }
        }
        text.push(Inline::text("."));
    }
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !defaults.is_empty() && !argument.is_hide_default_value_set() {
        text.push(Inline::text(" Default: "));
        text.push(Inline::code(defaults.join(" ")));
        text.push(Inline::text("."));
    }
    text
}

fn global_flags_page(program: &Command) -> Page {
    let flags = program.get_arguments().filter(|argument| argument.is_global_set());
    let document = PageContent {
        title: "Flags of all commands".to_owned(),
        summary: vec![
            Inline::text("Flags that every command accepts. Most have a variable and a key, too: see "),
            Inline::link("reference/settings", "settings and environment variables"),
            Inline::text("."),
        ],
        keywords: String::new(),
        blocks: vec![Block::Definitions(flags.map(argument_entry).collect())],
    };
    Page::derived(GLOBAL_FLAGS, document)
}
