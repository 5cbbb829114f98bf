//! `stead __complete`: prints candidates for a shell's completion script. It reads files only, and ignores errors in
//! them, because a message would disturb the command line.

use std::collections::BTreeSet;

use clap::Args;

use crate::cli::actions::registry;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::completion_candidates::{self, CompletionContext, CompletionSource};
use crate::cli::files::stack_files::{self, SharedRoot};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::settings::Settings;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::repository_walk;
use crate::editor::explain;
use crate::kinds::REGISTRY;
use crate::ledger::state::kept_secrets::VARIABLE_PREFIX;
use crate::model::address::{Address, Name};
use crate::report::text::escape;

/// Command-line arguments of `stead __complete`, which completion scripts run.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CompleteArgs {
    /// Index of the word at the cursor; the program itself is word 0
    pub at: usize,
    /// All words of the command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Line that makes the completion script offer files, too.
const FILES: &str = ":files";

/// Prints the candidates for a word, one per line, with a description after a tab. A candidate that would need
/// escaping is left out: a shell would insert it as it is.
pub(in crate::cli) fn run(
    session: &CommandContext,
    args: &CompleteArgs,
    mut program: clap::Command,
) -> Exit {
    program.build();
    let place = completion_candidates::completion_context(&program, &args.words, args.at);
    // Some shells split words at `=`.
    let typed = args.words.get(args.at).map_or("", |word| if word == "=" { "" } else { word });
    let mut rows = place.words.clone();
    rows.extend(stack_candidates(&session.settings, &place));
    let mut lines: Vec<String> = rows
        .into_iter()
        .filter(|(word, _)| word.starts_with(typed) && escape::escape_line(word) == word.as_str())
        .map(|(word, about)| format!("{word}\t{}\n", escape::escape_line(&about)))
        .collect();
    if place.wants == CompletionSource::File {
        lines.push(format!("{FILES}\n"));
    }
    session.ui.write_result(&lines.concat());
    Exit::Done
}

/// Returns the candidates that come from the stack and from the kinds' tables, each with a description,
/// which can be empty.
fn stack_candidates(settings: &Settings, place: &CompletionContext) -> Vec<(String, String)> {
    match place.wants {
        CompletionSource::Nothing | CompletionSource::File => Vec::new(),
        CompletionSource::Kind => {
            described_candidates(REGISTRY.kinds.iter().map(|kind| (kind.name, kind.summary)))
        }
        CompletionSource::Table => {
            REGISTRY.catalogs.iter().map(|table| (table.name.to_owned(), String::new())).collect()
        }
        CompletionSource::Subject => {
            let index = explain::build_index(&REGISTRY);
            let all = index.kinds.into_iter().chain(index.words).chain(index.functions).chain(index.codes);
            let inner = explain::inner_words().into_iter();
            described_candidates(all)
                .into_iter()
                .chain(inner.map(|(way, about)| (way, about.to_owned())))
                .collect()
        }
        CompletionSource::Output => {
            let names = names_in_block(&settings_from_line(settings, place), "outputs");
            names.into_iter().map(plain_candidate).collect()
        }
        CompletionSource::Environment => environment_names(&settings_from_line(settings, place))
            .into_iter()
            .map(plain_candidate)
            .collect(),
        CompletionSource::Unit => {
            unit_names(&settings_from_line(settings, place)).into_iter().map(plain_candidate).collect()
        }
        CompletionSource::Address => address_candidates(&settings_from_line(settings, place), place)
            .into_iter()
            .map(plain_candidate)
            .collect(),
    }
}

fn described_candidates<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    rows.map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
}

fn plain_candidate(name: String) -> (String, String) {
    (name, String::new())
}

/// Returns the settings with `-C` and `-e` of the line being completed.
fn settings_from_line(settings: &Settings, place: &CompletionContext) -> Settings {
    let given = |name: &str| place.given.iter().rev().find(|(id, _)| id == name).map(|(_, value)| value);
    let mut settings = settings.clone();
    if let Some(dir) = given("dir") {
        settings.dir = dir.into();
    }
    settings.env = given("env").map(Name::from).or(settings.env);
    settings
}

/// Returns the keys below a top-level keyword of the stack's files, even if other parts are invalid; empty if the
/// files cannot be read.
fn names_in_block(settings: &Settings, word: &str) -> BTreeSet<String> {
    let Ok(read) = stack_files::read_stack(&settings.dir) else { return BTreeSet::new() };
    let mut found = BTreeSet::new();
    for (id, source) in read.sources.iter() {
        let parsed =
            crate::config::syntax::parse_source::parse(id, source, &|word| REGISTRY.kind(word).is_some());
        let Some(Ok(document)) = parsed else { continue };
        let blocks = document.root.iter().filter(|entry| entry.key == word);
        let names = blocks.filter_map(|entry| entry.value.entries()).flatten();
        found.extend(names.map(|entry| entry.key.to_string()));
    }
    found
}

/// Returns the environments that the stack's files declare.
fn environment_names(settings: &Settings) -> BTreeSet<String> {
    names_in_block(settings, "environments")
}

/// Returns the names of the repository's stacks and of their units, as far as their headers can be read.
fn unit_names(settings: &Settings) -> BTreeSet<String> {
    let root = SharedRoot::find_root(&settings.dir, false).root;
    let mut found = BTreeSet::new();
    for stack in repository_walk::find_stacks(settings, &root) {
        let Some(header) = stack.header() else { continue };
        found.extend(header.environments.iter().map(|name| format!("{}/{name}", header.name)));
        found.insert(header.name.to_string());
    }
    found
}

/// Returns the stack's addresses, in the named environment or else in the first one; for an invalid stack, the
/// addresses that its files declare. For `secret`, only resources that have a secret, and secret variables.
fn address_candidates(settings: &Settings, place: &CompletionContext) -> BTreeSet<String> {
    let fits = kinds_with_action(place);
    let fits = |kind: &str| fits.as_ref().is_none_or(|kinds| kinds.contains(kind));
    let opened = LoadedStack::open(settings).or_else(|_| {
        // A stack can have no default environment; every environment has most of the addresses.
        let env = settings.env.clone().or_else(|| environment_names(settings).first().map(Name::from));
        LoadedStack::open(&Settings { env, ..settings.clone() })
    });
    if let Ok(project) = opened {
        let secrets = place.path.first().is_some_and(|first| first == "secret");
        let resources = project.stack.resources.values();
        let resources = resources
            .filter(|resource| fits(resource.kind.name) && (!secrets || resource.kind.shown_once.is_some()))
            .map(|resource| Address::as_str(&resource.address).to_owned());
        let variables = project
            .stack
            .deferred_secrets
            .keys()
            .filter(|_| secrets)
            .map(|name| format!("{VARIABLE_PREFIX}{name}"));
        return resources.chain(variables).collect();
    }
    let kinds = REGISTRY.top_level().filter(|kind| fits(kind.name));
    kinds
        .flat_map(|kind| {
            names_in_block(settings, kind.name).into_iter().map(|name| format!("{}.{name}", kind.name))
        })
        .collect()
}

/// Returns the kinds that have the action being completed; `None` for every command but `do`, and
/// for an unknown action.
fn kinds_with_action(place: &CompletionContext) -> Option<BTreeSet<&'static str>> {
    let [first, action] = place.path.as_slice() else { return None };
    let deeds = registry::actions_by_name(REGISTRY).remove(action.as_str()).filter(|_| first == "do")?;
    Some(deeds.iter().map(|deed| deed.kind.name).collect())
}
