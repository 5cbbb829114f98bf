//! Header of the stack and selection of this run's environment. In: merged entries, and the environment that was
//! requested. Out: the stack's name, its ledger policy, and the environment with its values. A wrong entry is
//! reported, and has its default.

use std::collections::BTreeSet;

use super::blocks::{MergedDocuments, NamedEntries, not_a_block};
use crate::config::codes;
use crate::config::diagnostics::collector::DiagnosticCollector;
use crate::config::keywords;
use crate::config::stack::model::{ConfirmationMode, Environment};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, named_entries};
use crate::model::address::{Name, is_legal_segment};
use crate::model::diagnostic::{Diagnostic, nearest_name};

/// Header of the stack: what can be read without an environment.
#[derive(Debug)]
pub(in crate::config) struct HeaderSettings {
    /// Name of the stack; empty if it has no valid one, which was reported.
    pub(in crate::config) name: Name,
    /// Whether the stack refuses the local ledger (`backend: required`).
    pub(in crate::config) backend_required: bool,
}

/// Reads `stead`, `stack` and `backend`, and reports what is missing or wrong. The name is empty then.
pub(in crate::config) fn resolve_header(
    merged: &MergedDocuments<'_>,
    problems: &DiagnosticCollector,
) -> HeaderSettings {
    for entry in &merged.stead {
        if entry.value.scalar().is_none_or(|scalar| scalar.text != "1") {
            problems.push(
                Diagnostic::error(codes::LANGUAGE_VERSION, "this version of the language is not known")
                    .with_label(entry.value.span, "")
                    .detail("This program reads version 1.")
                    .help("write `stead: 1`"),
            );
        }
    }
    if merged.stead.is_empty() {
        let problem =
            Diagnostic::error(codes::LANGUAGE_VERSION, "the stack does not declare its language version")
                .help("put `stead: 1` (KDL: `stead 1`) at the top of one file");
        problems.push(match merged.stack.first() {
            Some(stack) => problem.with_label(stack.key_span, "above this, for example"),
            None => problem,
        });
    }
    HeaderSettings {
        name: stack_name(merged, problems),
        backend_required: backend_required(merged, problems),
    }
}

fn stack_name(merged: &MergedDocuments<'_>, problems: &DiagnosticCollector) -> Name {
    let [first, others @ ..] = merged.stack.as_slice() else {
        problems.push(
            Diagnostic::error(codes::STACK_NAME, "the stack has no name")
                .help("put `stack: NAME` (KDL: `stack NAME`) into one file"),
        );
        return Name::default();
    };
    for other in others {
        problems.push(
            Diagnostic::error(codes::STACK_NAME, "the stack is named twice")
                .with_label(other.key_span, "named again here")
                .with_label(first.key_span, "named here first")
                .help("all stack files of a directory are one stack: keep one name"),
        );
    }
    match first.value.scalar() {
        Some(scalar) if is_legal_segment(&scalar.text) => scalar.text.clone(),
        _ => {
            problems.push(
                Diagnostic::error(codes::STACK_NAME, "this is not a valid name for a stack")
                    .with_label(first.value.span, "")
                    .detail("A stack's name holds a-z, 0-9, _ and - only.")
                    .help("write `stack: shop`, for example"),
            );
            Name::default()
        }
    }
}

fn backend_required(merged: &MergedDocuments<'_>, problems: &DiagnosticCollector) -> bool {
    let Some(entry) = merged.backend else { return false };
    let required = entry.value.scalar().is_some_and(|scalar| scalar.text == "required");
    if !required {
        problems.push(
            Diagnostic::error(codes::BACKEND_WORD, "`backend` takes one word: required")
                .with_label(entry.value.span, "")
                .detail(
                    "The settings or STEAD_BACKEND define where the ledger is stored; a stack cannot define it.",
                )
                .help("write `backend: required`, or remove the line"),
        );
    }
    required
}

/// Environment selected for this run. A stack without environments has the environment `default`, without values.
#[derive(Debug)]
pub(in crate::config) struct ChosenEnvironment<'d> {
    /// Its name, which is empty if none could be chosen, and how an apply to it is confirmed.
    pub(in crate::config) environment: Environment,
    /// Values of variables in this environment.
    pub(in crate::config) vars: &'d [DocumentEntry],
    /// Its overrides: each replaces the value at one path.
    pub(in crate::config) set: &'d [DocumentEntry],
}

/// Chooses the environment: the requested one, else the one marked `default`, else the only one. One that is requested
/// but not declared is reported, and has no values; if none can be chosen, which is reported, the name is empty.
pub(in crate::config) fn choose_environment<'d>(
    environments: &NamedEntries<'d>,
    asked: Option<&Name>,
    problems: &DiagnosticCollector,
) -> ChosenEnvironment<'d> {
    let defaults: Vec<&&DocumentEntry> =
        environments.values().filter(|entry| read_environment_block(entry, problems).is_default).collect();
    if let [first, second, ..] = defaults.as_slice() {
        problems.push(
            Diagnostic::error(codes::ENVIRONMENT_KEYS, "two environments are marked `default`")
                .with_label(second.key_span, "also marked")
                .with_label(first.key_span, "marked")
                .help("keep one `default: true`"),
        );
    }
    let found = match asked {
        // The name that messages and ledgers use for a stack without environments.
        Some(name) if environments.is_empty() && name == "default" => None,
        Some(name) => {
            // Never another environment instead: a misspelled `prod` must not apply to `staging`.
            let Some(entry) = environments.get(name) else {
                problems.push(unknown_environment(name, environments));
                return empty_environment(name.clone());
            };
            Some(*entry)
        }
        None => match (defaults.first(), environments.len()) {
            (Some(entry), _) => Some(**entry),
            (None, 0) => None,
            (None, 1) => environments.values().next().copied(),
            // None is guessed: an apply would change the wrong one.
            (None, _) => {
                problems.push(environment_not_chosen(environments));
                return empty_environment(Name::default());
            }
        },
    };
    let Some(entry) = found else { return empty_environment(Name::new_static("default")) };
    let block = read_environment_block(entry, problems);
    ChosenEnvironment {
        environment: Environment { name: entry.key.clone(), confirm: block.confirm },
        vars: block.vars,
        set: block.set,
    }
}

/// Returns the names of the environments in which an apply requires the user to type the environment's name.
pub(in crate::config) fn environments_confirmed_by_name(environments: &NamedEntries<'_>) -> BTreeSet<Name> {
    // The caller reads a header only; `load` reports what is wrong in an environment.
    let quiet = DiagnosticCollector::default();
    let typed = environments
        .values()
        .filter(|entry| read_environment_block(entry, &quiet).confirm == ConfirmationMode::TypeName);
    typed.map(|entry| entry.key.clone()).collect()
}

/// Returns the names and the variable values of the environments that are not selected. Problems with them are
/// reported when the environment is chosen.
pub(in crate::config) fn other_environment_vars<'d>(
    environments: &NamedEntries<'d>,
    chosen: &Name,
) -> Vec<(&'d Name, &'d [DocumentEntry])> {
    let others = environments.values().filter(|entry| entry.key != *chosen);
    let quiet = DiagnosticCollector::default();
    others.map(|entry| (&entry.key, read_environment_block(entry, &quiet).vars)).collect()
}

/// Returns the overrides of the environments that are not chosen.
pub(in crate::config) fn other_sets<'d>(
    environments: &NamedEntries<'d>,
    chosen: &Name,
) -> impl Iterator<Item = &'d DocumentEntry> {
    let others = environments.values().filter(move |entry| entry.key != *chosen);
    let quiet = DiagnosticCollector::default();
    others.flat_map(move |entry| read_environment_block(entry, &quiet).set)
}

/// Returns whether an environment sets no variable and overrides no value, so that only its name
/// could change a resource.
pub(in crate::config) fn is_plain(environment: &DocumentEntry) -> bool {
    let block = read_environment_block(environment, &DiagnosticCollector::default());
    block.vars.is_empty() && block.set.is_empty()
}

fn empty_environment<'d>(name: Name) -> ChosenEnvironment<'d> {
    ChosenEnvironment {
        environment: Environment { name, confirm: ConfirmationMode::YesOrNo },
        vars: &[],
        set: &[],
    }
}

fn unknown_environment(name: &Name, environments: &NamedEntries<'_>) -> Diagnostic {
    let problem = Diagnostic::error(codes::UNKNOWN_ENVIRONMENT, "this environment is not declared")
        .detail(format!("There is no environment `{name}`."));
    let names: Vec<&str> = environments.keys().map(Name::as_str).collect();
    let problem = match environments.values().next() {
        Some(first) => problem.with_label(first.key_span, "environments are declared here"),
        None => return problem.help("the stack declares no environments: leave `--env` out"),
    };
    let known = names.join(", ");
    match nearest_name(name, names) {
        Some(near) => problem.help(format!("did you mean `{near}`? Environments are: {known}")),
        None => problem.help(format!("environments are: {known}")),
    }
}

fn environment_not_chosen(environments: &NamedEntries<'_>) -> Diagnostic {
    let names: Vec<&str> = environments.keys().map(Name::as_str).collect();
    let problem = Diagnostic::error(codes::WHICH_ENVIRONMENT, "no environment is chosen")
        .detail(format!("The stack has several: {}.", names.join(", ")))
        .help("choose one with `--env NAME` or STEAD_ENV, or mark one with `default: true`");
    match environments.values().next() {
        Some(first) => problem.with_label(first.key_span, "environments are declared here"),
        None => problem,
    }
}

struct EnvironmentBlock<'d> {
    is_default: bool,
    confirm: ConfirmationMode,
    vars: &'d [DocumentEntry],
    set: &'d [DocumentEntry],
}

fn read_environment_block<'d>(
    environment: &'d DocumentEntry,
    problems: &DiagnosticCollector,
) -> EnvironmentBlock<'d> {
    let mut block =
        EnvironmentBlock { is_default: false, confirm: ConfirmationMode::YesOrNo, vars: &[], set: &[] };
    let Some(entries) = named_entries(&environment.value) else {
        problems.push(not_a_block(&environment.key, &environment.value));
        return block;
    };
    for entry in entries {
        match entry.key.as_str() {
            "default" => block.is_default = parse_flag(&entry.value, problems),
            "confirm" => match entry.value.scalar().map(|scalar| scalar.text.as_str()) {
                Some("typed") => block.confirm = ConfirmationMode::TypeName,
                Some("ask") => {}
                _ => problems.push(environment_problem(&entry.value, "`confirm` is `ask` or `typed`")),
            },
            "vars" => match named_entries(&entry.value) {
                Some(vars) => block.vars = vars,
                None => problems.push(not_a_block("vars", &entry.value)),
            },
            "set" => match named_entries(&entry.value) {
                Some(set) => block.set = set,
                None => problems.push(not_a_block("set", &entry.value)),
            },
            other => {
                let known = keywords::word_names(keywords::ENVIRONMENT);
                let problem =
                    Diagnostic::error(codes::ENVIRONMENT_KEYS, "an environment does not have this key")
                        .with_label(entry.key_span, "");
                problems.push(match nearest_name(other, known) {
                    Some(near) => problem.help(format!("did you mean `{near}`?")).fix(entry.key_span, near),
                    None => problem.help("an environment has `default`, `confirm`, `set` and `vars`; its own values are written under `vars`"),
                });
            }
        }
    }
    block
}

fn parse_flag(node: &Node, problems: &DiagnosticCollector) -> bool {
    match &node.value {
        NodeValue::Bare => true,
        NodeValue::Scalar(scalar) if scalar.text == "true" => true,
        NodeValue::Scalar(scalar) if scalar.text == "false" => false,
        _ => {
            problems.push(environment_problem(node, "`default` is `true` or `false`"));
            false
        }
    }
}

fn environment_problem(node: &Node, text: &str) -> Diagnostic {
    Diagnostic::error(codes::ENVIRONMENT_KEYS, "an environment's block is wrong")
        .with_label(node.span, "")
        .detail(format!("{text}."))
}
