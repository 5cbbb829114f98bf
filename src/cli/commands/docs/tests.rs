//! Laws of the documentation: everything that the program has has a page, each page is linked, each link, command, flag
//! and variable in it exists, questions of new users are answered, and addresses stay.

#![allow(clippy::disallowed_methods, reason = "pages, questions and README are files")]

use std::collections::{BTreeMap, BTreeSet};

use clap::{CommandFactory, Parser};

use super::*;
use crate::cli::dispatch::command_line::Cli;
use crate::cli::process::settings::rows::SETTINGS;
use crate::editor::explain;
use crate::guide::document::{self, Block, Inline};
use crate::guide::explained::explain_address;
use crate::model::schema::Type;

fn library() -> Library {
    build_library(&Cli::command())
}

/// The text of a file of the repository.
fn read_file(path: &str) -> String {
    std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Fails if an address leads to no page, or to no heading of it.
#[track_caller]
fn assert_page(library: &Library, address: &str) {
    let (page, anchor) = match address.split_once('#') {
        Some((page, anchor)) => (page, Some(anchor)),
        None => (address, None),
    };
    let found = library.page(page).unwrap_or_else(|| panic!("no page {page}"));
    if let Some(anchor) = anchor {
        assert!(document::anchors(&found.content).any(|known| known == anchor), "{page} has no {anchor}");
    }
}

#[test]
fn every_page_is_linked_and_no_link_is_dead() {
    let problems = library().problems();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_subject_of_explain_has_its_page() {
    let library = library();
    let index = explain::build_index(&REGISTRY);
    let mut subjects: Vec<String> = index
        .kinds
        .iter()
        .chain(&index.words)
        .chain(&index.codes)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    subjects.extend(index.functions.iter().map(|(name, _)| format!("{name}()")));
    subjects.extend(explain::plan_codes());
    subjects.extend(explain::inner_words().into_iter().map(|(path, _)| path));
    for kind in REGISTRY.kinds {
        for attribute in kind.attributes {
            subjects.push(format!("{}.{}", kind.name, attribute.name));
            if let Type::Record(fields) = attribute.ty {
                subjects.extend(
                    fields.iter().map(|(part, _)| format!("{}.{}.{part}", kind.name, attribute.name)),
                );
            }
        }
    }
    assert!(subjects.len() > 600, "{}", subjects.len());
    for subject in subjects {
        let page = explain::explain_subject(&REGISTRY, &subject)
            .unwrap_or_else(|error| panic!("{subject}: {error:?}"));
        assert_page(&library, &explain_address(&page));
    }
}

#[test]
fn the_page_of_a_code_is_the_text_of_explain() {
    let library = library();
    for (code, _) in explain::build_index(&REGISTRY).codes {
        let explained = explain::explain_subject(&REGISTRY, code).unwrap();
        let page = library.page(&explain_address(&explained)).unwrap();
        assert_eq!(page.content, explain_document(&explained), "{code}");
    }
}

/// The names of the entries of a page.
fn entry_names(page: &Page) -> BTreeSet<String> {
    let entries = page.content.blocks.iter().filter_map(|block| match block {
        Block::Definitions(entries) => Some(entries),
        _ => None,
    });
    entries.flatten().map(|entry| entry.name.clone()).collect()
}

#[test]
fn every_command_and_flag_has_its_entry() {
    fn check(library: &Library, page: &str, command: &clap::Command) {
        let names = entry_names(library.page(page).unwrap());
        for argument in
            command.get_arguments().filter(|argument| !argument.is_hide_set() && !argument.is_global_set())
        {
            if let Some(long) = argument.get_long().filter(|long| *long != "help") {
                let flag = format!("--{long}");
                let is_named = |name: &String| name.split([' ', ',']).any(|word| word == flag);
                assert!(names.iter().any(is_named), "{page}: {flag}");
            }
        }
        for inner in command_pages::visible_commands(command) {
            check(library, page, inner);
        }
    }
    let (library, mut program) = (library(), Cli::command());
    program.build();
    let mut count = 0;
    for command in command_pages::visible_commands(&program) {
        check(&library, &command_pages::command_address(command.get_name()), command);
        count += 1;
    }
    assert!(count > 40, "{count}");
    let global = entry_names(library.page("reference/commands/global-options").unwrap());
    assert!(global.iter().any(|name| name.contains("--profile")), "{global:?}");
}

/// The pieces of inline code of each page, with the address of the page.
fn inline_code(library: &Library) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for page in library.pages() {
        document::visit_inlines(&page.content, &mut |inline| {
            if let Inline::Code(text) = inline {
                found.push((page.address.clone(), text.clone()));
            }
        });
    }
    found
}

/// Splits a command as a shell does, as far as pages need it.
fn shell_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Whether a command line is of the program. Words in capitals stand for any value, so only names are judged.
fn is_known_command(words: &[String]) -> Result<(), String> {
    let root = Cli::command();
    let mut command = &root;
    let mut is_value = false;
    for word in &words[1..] {
        let all = || command.get_arguments().chain(root.get_arguments());
        if let Some(flag) = word.strip_prefix("--") {
            let name = flag.split('=').next().unwrap_or_default();
            let known = all().find(|argument| argument.get_long() == Some(name));
            if !matches!(name, "" | "help" | "version") && known.is_none() {
                return Err(format!("{} has no flag --{name}", command.get_name()));
            }
            is_value = known.is_some_and(takes_value) && !flag.contains('=');
        } else if let Some(flag) = word.strip_prefix('-').filter(|flag| !flag.is_empty()) {
            let short = flag.chars().next();
            let known = all().find(|argument| argument.get_short() == short);
            if !matches!(short, Some('h' | 'V')) && known.is_none() {
                return Err(format!("{} has no flag -{flag}", command.get_name()));
            }
            is_value = known.is_some_and(takes_value) && flag.len() == 1;
        } else if std::mem::take(&mut is_value) {
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        } else if command.has_subcommands()
            && command.get_positionals().next().is_none()
            && is_lower_word(word)
        {
            return Err(format!("{} has no command {word}", command.get_name()));
        }
    }
    Ok(())
}

fn takes_value(argument: &clap::Arg) -> bool {
    matches!(argument.get_action(), clap::ArgAction::Set | clap::ArgAction::Append)
}

fn is_lower_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

#[test]
fn every_command_that_a_page_names_exists() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (page, text) in inline_code(&library()) {
        if let Some(rest) = text.strip_prefix("stead ") {
            count += 1;
            let words: Vec<_> = std::iter::once("stead".to_owned()).chain(shell_words(rest)).collect();
            if let Err(error) = is_known_command(&words) {
                wrong.push(format!("{page}: `{text}`: {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count}");
    assert!(is_known_command(&shell_words("stead plan --nope")).is_err());
    assert!(is_known_command(&shell_words("stead plann")).is_err());
    assert!(is_known_command(&shell_words("stead state migrat")).is_err());
    assert!(is_known_command(&shell_words("stead plan -z")).is_err());
    assert!(is_known_command(&shell_words("stead -e prod state migrate --to PLACE")).is_ok());
}

/// Every long flag of any command.
fn all_flags(command: &clap::Command, found: &mut BTreeSet<String>) {
    found.extend(command.get_arguments().filter_map(clap::Arg::get_long).map(str::to_owned));
    command.get_subcommands().for_each(|inner| all_flags(inner, found));
}

#[test]
fn every_flag_and_variable_that_a_page_names_exists() {
    let mut flags: BTreeSet<String> = ["help".to_owned(), "version".to_owned()].into();
    all_flags(&Cli::command(), &mut flags);
    let known: BTreeSet<&str> = SETTINGS.iter().filter_map(|row| row.variable).collect();
    // What programs of the user's see, and what only tests read.
    let others = ["STEAD_STACK", "STEAD_ENVIRONMENT", "STEAD_ADDRESS"];
    let of_tests = test_variables();
    let mut wrong = Vec::new();
    for (page, text) in inline_code(&library()) {
        let is_other_tool = page.starts_with("coming-from/");
        let is_of_cargo = ["--lib", "--test", "--bench"].iter().any(|flag| text.starts_with(flag));
        if let Some(flag) = text.strip_prefix("--").filter(|_| !is_other_tool && !is_of_cargo) {
            let name = flag.split(['=', ' ', '[']).next().unwrap_or_default();
            if !name.is_empty() && !flags.contains(name) {
                wrong.push(format!("{page}: `{text}`"));
            }
        }
        for word in text.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_') {
            let is_own = known.contains(word)
                || others.contains(&word)
                || word.starts_with("STEAD_VAR_")
                || word.starts_with("STEAD_HTTP_");
            if word.starts_with("STEAD_") && word != "STEAD_" && !is_own && !of_tests.contains(word) {
                wrong.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The variables that only tests read, as pages of explanation name them.
fn test_variables() -> BTreeSet<String> {
    let pattern = regex::Regex::new("STEAD_[A-Z_]+").unwrap();
    let texts =
        source_files("tests").into_iter().map(|path| std::fs::read_to_string(path).unwrap_or_default());
    texts
        .flat_map(|text| {
            pattern.find_iter(&text).map(|found| found.as_str().to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

/// The files below a folder of the repository that are Rust or CommonMark.
fn source_files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "md") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn every_page_that_a_message_names_exists() {
    let library = library();
    let pattern = regex::Regex::new(r"`stead docs ([a-z][a-z/-]*)`").unwrap();
    let mut named = 0;
    for path in source_files("src") {
        for found in pattern.captures_iter(&std::fs::read_to_string(&path).unwrap()) {
            named += 1;
            assert!(!library.find_topic(&found[1]).is_empty(), "{}: {}", path.display(), &found[0]);
        }
    }
    assert!(named > 1, "{named}");
}

#[test]
fn questions_of_new_users_are_answered_by_the_first_results() {
    let library = library();
    let index = SearchIndex::new(&library);
    let questions = read_file("tests/guide/questions.txt");
    let (mut asked, mut missed) = (0, Vec::new());
    for line in questions.lines().filter(|line| !line.starts_with('#')) {
        let (question, answers) = line.split_once(" | ").unwrap();
        let answers: Vec<&str> = answers.split(", ").collect();
        for answer in &answers {
            assert_page(&library, answer);
        }
        let found: Vec<&str> = index
            .search(question)
            .iter()
            .take(3)
            .map(|hit| library.pages()[hit.page].address.as_str())
            .collect();
        asked += 1;
        if !found.iter().any(|page| answers.contains(page)) {
            missed.push(format!("{question}: {found:?}, not {answers:?}"));
        }
    }
    assert_eq!(asked, 43);
    assert!(missed.len() <= 2, "{} of {asked} are not answered:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn addresses_of_pages_stay() {
    let path = "tests/golden/files/docs-addresses.txt";
    let now: BTreeSet<String> = library().pages().iter().map(|page| page.address.clone()).collect();
    if std::env::var_os("STEAD_BLESS_GOLDEN").is_some_and(|value| value == "1") {
        let all = now.iter().fold(String::new(), |all, address| all + address + "\n");
        std::fs::write(format!("{}/{path}", env!("CARGO_MANIFEST_DIR")), all).unwrap();
    }
    let before: BTreeSet<String> = read_file(path).lines().map(str::to_owned).collect();
    let gone: Vec<_> = before.difference(&now).collect();
    assert!(gone.is_empty(), "an address stays for good: {gone:?}");
    let new: Vec<_> = now.difference(&before).collect();
    assert!(new.is_empty(), "`STEAD_BLESS_GOLDEN=1 cargo test --lib docs` records new addresses: {new:?}");
}

#[test]
fn names_of_written_pages_are_unique() {
    let library = library();
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for page in library.pages().iter().filter(|page| page.section() != Section::Reference) {
        names.entry(page.name()).or_default().push(&page.address);
    }
    assert!(names.values().all(|addresses| addresses.len() == 1), "{names:?}");
    for (name, addresses) in names {
        assert_eq!(library.find_topic(name)[0].address, addresses[0], "{name}");
    }
}

/// The rows of the README's table of commands: name and purpose.
fn command_rows() -> String {
    let program = Cli::command();
    let rows = command_pages::visible_commands(&program);
    let row = |command: &clap::Command| {
        format!("| `{}` | {} |\n", command.get_name(), command.get_about().unwrap())
    };
    format!("| command | what it does |\n|---|---|\n{}", rows.map(row).collect::<String>())
}

#[test]
fn the_readme_has_the_table_of_all_commands() {
    let (begin, end) = ("<!-- commands -->\n", "<!-- /commands -->");
    let readme = read_file("README.md");
    let (before, rest) = readme.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let wanted = format!("{before}{begin}\n{}\n{end}{after}", command_rows());
    if std::env::var_os("STEAD_BLESS_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(format!("{}/README.md", env!("CARGO_MANIFEST_DIR")), &wanted).unwrap();
    }
    assert!(
        read_file("README.md") == wanted,
        "`STEAD_BLESS_GOLDEN=1 cargo test --lib docs` renews the table"
    );
}

#[test]
fn the_readme_is_short_and_its_links_lead_to_files() {
    let readme = read_file("README.md");
    assert!(readme.lines().count() <= 200, "{} lines", readme.lines().count());
    let pattern = regex::Regex::new(r"\]\(([^)#:]+)(#[^)]*)?\)").unwrap();
    let mut count = 0;
    for found in pattern.captures_iter(&readme) {
        let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), &found[1]);
        assert!(std::path::Path::new(&path).exists(), "README.md: {}", &found[1]);
        count += 1;
    }
    assert!(count > 10, "{count}");
    let commands = regex::Regex::new("`(stead [^`]+)`").unwrap();
    let mut named = 0;
    for found in commands.captures_iter(&readme) {
        is_known_command(&shell_words(&found[1])).unwrap();
        named += 1;
    }
    assert!(named > 5, "{named}");
}

#[test]
fn a_topic_that_is_no_page_is_searched_and_a_slip_is_corrected() {
    let library = library();
    assert_eq!(near_name(&library, "frist-stack"), Some("first-stack"));
    assert_eq!(near_name(&library, "reference/exit-code"), Some("reference/exit-codes"));
    let none = nothing_found(&library, "qqqqqqqqq");
    assert_eq!((none.exit, none.help), (Exit::Usage, vec!["`stead docs` lists the pages.".to_owned()]));
}

#[test]
fn the_command_line_of_docs_is_consistent() {
    for line in [
        "stead docs --serve --out x",
        "stead docs a --serve",
        "stead docs --port 1",
        "stead docs a --out x",
    ] {
        assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
    }
    for line in
        ["stead docs", "stead docs --serve --port 0", "stead docs rename a resource", "stead docs --out x"]
    {
        assert!(Cli::try_parse_from(line.split(' ')).is_ok(), "{line}");
    }
}

#[test]
fn the_settings_of_the_reference_are_valid() {
    let library = library();
    let blocks = &library.page("reference/settings").unwrap().content.blocks;
    let is_settings = |block: &&Block| matches!(block, Block::Code(code) if code.language == "toml");
    let Some(Block::Code(code)) = blocks.iter().find(is_settings) else { panic!("{blocks:?}") };
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("settings.toml"), &code.text).unwrap();
    let variables = [("STEAD_CONFIG_DIR".to_owned(), scratch.path().display().to_string())].into();
    stack_files::read_profiles(&variables).unwrap();
}

#[test]
fn code_is_never_wrapped() {
    for page in library().pages() {
        let text = terminal::render_page(&page.content, TextStyle::plain(40));
        let blocks = page.content.blocks.iter().filter_map(|block| match block {
            Block::Code(code) => Some(code),
            _ => None,
        });
        for line in blocks.flat_map(|code| code.text.lines()).filter(|line| line.is_ascii()) {
            assert!(text.lines().any(|shown| shown.trim() == line.trim()), "{}: {line}", page.address);
        }
    }
}
