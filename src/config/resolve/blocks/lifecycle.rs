//! Keywords of a resource's block that are not attributes: `lifecycle`, `project`, `deliver_secret`. In: the entry.
//! Out: the setting; a wrong one is reported, and the strictest setting or the default takes its place.

use std::time::Duration;

use super::lifecycle_lists::lifecycle_problem;
use crate::config::codes;
use crate::config::diagnostics::hints::other_tools;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::input::sink_path::sink_path_refusal;
use crate::config::keywords;
use crate::config::resolve::blocks::lifecycle_lists::read_ignore_drift;
use crate::config::resolve::context::block_index::DeclaredBlock;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::resolve::names::kind_of;
use crate::config::resolve::text::resolve_text;
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::stack::model::{Lifecycle, OnRemove, SecretSink, Timeouts};
use crate::config::syntax::document::{DocumentEntry, Node, Scalar, named_entries};
use crate::config::types::relative_path::path_refusal;
use crate::model::address::Name;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::{Expression, Reference};
use crate::model::schema::{Kind, KindScope, PROJECT, ReplaceOrder};
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Returns the diagnostic of an unknown keyword in `lifecycle`, with the equivalent of another tool's keyword.
fn no_lifecycle_word(entry: &DocumentEntry) -> Diagnostic {
    let problem = Diagnostic::error(codes::UNKNOWN_KEY, "this key is not known")
        .with_label(entry.key_span, "")
        .detail(format!("`lifecycle` has no `{}`.", entry.key));
    if let Some(help) = other_tools::beside_lifecycle(&entry.key) {
        return problem.help(help);
    }
    match other_tools::lifecycle_hint(&entry.key) {
        Some(words) => problem.help(format!("write `{words}`")),
        None => unknown_word(entry, keywords::LIFECYCLE),
    }
}

/// Reads a `lifecycle` block. A wrong keyword is reported, and keeps its default.
pub(in crate::config) fn read_lifecycle<'d>(
    evaluator: &Evaluator<'_, 'd>,
    kind: &'static Kind,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> Lifecycle {
    let mut lifecycle = Lifecycle::default();
    let Some(entries) = named_entries(node) else {
        lifecycle_problem(
            evaluator.context,
            node.span,
            "`lifecycle` is a map.",
            "write `lifecycle: { protect: true }`",
            site,
        );
        return lifecycle;
    };
    for entry in entries {
        let value = &entry.value;
        match entry.key.as_str() {
            "protect" => {
                lifecycle.protect = read_condition(evaluator, &entry.key, value, site);
                lifecycle.protect_span = Some(entry.key_span);
            }
            "on_remove" => {
                let words = [("delete", OnRemove::Delete), ("keep", OnRemove::Keep)];
                lifecycle.on_remove =
                    read_choice(evaluator.context, value, &words, site).unwrap_or_default();
            }
            "replace" => {
                let words = [
                    ("create_first", ReplaceOrder::CreateFirst),
                    ("delete_first", ReplaceOrder::DeleteFirst),
                    ("never", ReplaceOrder::Never),
                ];
                lifecycle.replace = read_choice(evaluator.context, value, &words, site);
            }
            "ignore_drift" => {
                lifecycle.ignore_drift = read_ignore_drift(evaluator.context, kind, value, site);
            }
            "timeouts" => lifecycle.timeouts = read_timeouts(evaluator.context, value, site),
            // Ignored silently, it would promise a copy that the deletion does not make.
            "final_snapshot" if kind.final_copy.is_none() => {
                let detail = format!("The data of a {} cannot be copied before its deletion.", kind.name);
                lifecycle_problem(evaluator.context, entry.key_span, &detail, "remove the keyword", site);
            }
            "final_snapshot" => {
                lifecycle.final_snapshot = read_condition(evaluator, &entry.key, value, site);
            }
            _ => evaluator.context.report_problem(site, no_lifecycle_word(entry)),
        }
    }
    lifecycle
}

/// Reads a boolean keyword that may be an expression. A wrong value is reported and counts as true:
/// both keywords protect data.
fn read_condition<'d>(
    evaluator: &Evaluator<'_, 'd>,
    word: &str,
    node: &Node,
    site: EvaluationSite<'_, 'd>,
) -> bool {
    let why = if word == "protect" { "`protect`" } else { "`final_snapshot`" };
    let early = EvaluationSite { early: Some(why), ..site };
    // A plan must know whether a deletion is refused, so live objects cannot decide it.
    let Some(resolved) = resolve_untyped(evaluator, node, early) else { return true };
    if let Some(Value::Bool(holds)) = resolved.expression.known_value() {
        return *holds;
    }
    let help = format!("write `{word}: true`, or an expression such as `${{env == 'prod'}}`");
    lifecycle_problem(evaluator.context, node.span, &format!("`{word}` is true or false."), &help, site);
    true
}

fn read_choice<'d, T: Copy>(
    context: &ConfigContext<'d>,
    node: &Node,
    words: &[(&str, T)],
    site: EvaluationSite<'_, 'd>,
) -> Option<T> {
    let text = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Some(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let help = match nearest_name(text, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", known.join(", ")),
    };
    lifecycle_problem(context, node.span, &format!("It takes one of {}.", known.join(", ")), &help, site);
    None
}

/// Reads `timeouts`; one that is wrong or not written is `None`, and the kind's default applies.
fn read_timeouts<'d>(context: &ConfigContext<'d>, node: &Node, site: EvaluationSite<'_, 'd>) -> Timeouts {
    let mut timeouts = Timeouts::default();
    let Some(entries) = named_entries(node) else {
        lifecycle_problem(
            context,
            node.span,
            "`timeouts` is a map.",
            "write `timeouts: { create: 30m }`",
            site,
        );
        return timeouts;
    };
    for entry in entries {
        let place = match entry.key.as_str() {
            "create" => &mut timeouts.create,
            "update" => &mut timeouts.update,
            "delete" => &mut timeouts.delete,
            _ => {
                context.report_problem(site, unknown_word(entry, keywords::TIMEOUTS));
                continue;
            }
        };
        *place = entry.value.scalar().and_then(|scalar| parse_duration(&scalar.text));
        if place.is_none() {
            context.report_problem(site, no_duration(&entry.value));
        }
    }
    timeouts
}

/// Reads `project`: a reference to a project of this stack or to an output of another stack, or the name or id of a
/// project. An expression that waits is accepted unchecked. `None` after a problem that was reported.
pub(in crate::config) fn project_of<'d>(
    evaluator: &Evaluator<'_, 'd>,
    block: &DeclaredBlock<'_>,
    entry: &DocumentEntry,
    site: EvaluationSite<'_, 'd>,
) -> Option<Expression> {
    let wrong = |detail: String| {
        evaluator.context.report_problem(
            site,
            Diagnostic::error(codes::PROJECT, "this is not a project")
                .with_label(entry.value.span, "")
                .detail(detail)
                .help("write `project: $project.NAME`, or a project's name or id"),
        );
        None
    };
    if block.kind.scope != KindScope::Project {
        return wrong(format!("A {} belongs to no project, or to its parent's.", block.kind.name));
    }
    let expression = resolve_untyped(evaluator, &entry.value, site)?.expression;
    match &expression {
        Expression::Reference(Reference { address, attribute: None })
            if kind_of(evaluator, address).is_some_and(|kind| kind.name == PROJECT) =>
        {
            Some(expression)
        }
        Expression::Reference(Reference { address, attribute: Some(attribute) })
            // Whether an output of another stack is a project shows when its ledger is read.
            if address.root() == "stacks"
                || attribute == "id"
                    && kind_of(evaluator, address).is_some_and(|kind| kind.name == PROJECT) =>
        {
            Some(expression)
        }
        Expression::Value(Value::Text(text)) if !text.is_empty() => Some(expression),
        Expression::Cel(_) | Expression::Text(_) => Some(expression),
        _ => wrong("It takes a reference to a project, or a text.".into()),
    }
}

/// Reads the `deliver_secret` entry of a resource. `None` after a problem that was reported, here if the service
/// does not show a secret of this kind once.
pub(in crate::config) fn deliver_secret<'d>(
    evaluator: &Evaluator<'_, 'd>,
    kind: &Kind,
    entry: &DocumentEntry,
    site: EvaluationSite<'_, 'd>,
) -> Option<SecretSink> {
    if kind.shown_once.is_none() {
        return no_sink(
            evaluator.context,
            entry.key_span,
            format!("A {} has no secret to deliver.", kind.name),
            site,
        );
    }
    read_sink(evaluator, entry, site)
}

/// Reports a resource without `deliver_secret` whose secret would be lost: the service shows it only once, and the
/// ledger does not store it.
pub(in crate::config) fn secret_has_a_place<'d>(
    context: &ConfigContext<'d>,
    block: &DeclaredBlock<'d>,
    site: EvaluationSite<'_, 'd>,
) {
    let kind = block.kind;
    if kind.shown_once.is_none() || kind.reveal().is_some() || context.keeps_secrets {
        return;
    }
    let detail =
        format!("The service shows the secret of an {} once, in the response to its creation.", kind.name);
    context.report_problem(
        site,
        Diagnostic::error(codes::DELIVER_SECRET, "the target of its secret is not declared")
            .with_label(block.entry.key_span, "")
            .detail(detail)
            .help("write `deliver_secret: { file: ./secrets/NAME }`, `{ env_file: ./.env, variable: NAME }`, or `{ sink: NAME }` for a program from your own settings; or store it encrypted in the ledger: `secrets: { recipients: [age1…] }` at the top"),
    );
}

fn no_sink<'d, T>(
    context: &ConfigContext<'d>,
    span: Span,
    detail: String,
    site: EvaluationSite<'_, 'd>,
) -> Option<T> {
    context.report_problem(
        site,
        Diagnostic::error(codes::DELIVER_SECRET, "`deliver_secret` is wrong")
            .with_label(span, "")
            .detail(detail)
            .help("write `deliver_secret: { file: ./secrets/NAME }`, `{ env_file: ./.env, variable: NAME }`, or `{ sink: NAME }` for a program from your own settings"),
    );
    None
}

/// Reads a secret sink: a file, a line of an env file, or a program of the user's settings. `None` after a problem
/// that was reported. The path may be computed; it must stay below the stack's directory, and must not be a file
/// that a tool executes.
pub(in crate::config) fn read_sink<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entry: &DocumentEntry,
    site: EvaluationSite<'_, 'd>,
) -> Option<SecretSink> {
    // `Err` means that the problem was already reported.
    let text = |entry: &DocumentEntry| -> Result<Option<Name>, ()> {
        let Some(Scalar { text, .. }) = entry.value.scalar() else { return Ok(None) };
        let resolved = resolve_text(evaluator, text, entry.value.span, site).ok_or(())?;
        Ok(resolved.expression.known_value().and_then(Value::as_text).map(Name::new))
    };
    let (mut file, mut env_file, mut variable, mut sink) = (None, None, None, None);
    for entry in entry.value.entries().unwrap_or_default() {
        let place = match entry.key.as_str() {
            "file" => &mut file,
            "env_file" => &mut env_file,
            "variable" => &mut variable,
            "sink" => &mut sink,
            _ => {
                evaluator.context.report_problem(site, unknown_word(entry, keywords::DELIVER));
                return None;
            }
        };
        *place = text(entry).ok()?;
        let path = place.as_deref().filter(|_| entry.key.ends_with("file"));
        let why =
            path.and_then(|path| path_refusal(path).map(str::to_owned).or_else(|| sink_path_refusal(path)));
        if let Some(why) = why {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(codes::CONFINED_PATH, "this path cannot be used")
                    .with_label(entry.value.span, "")
                    .detail(format!("{why}.")),
            );
            return None;
        }
    }
    match (file, env_file, variable, sink) {
        (Some(file), None, None, None) => Some(SecretSink::File(file.to_string())),
        (None, Some(path), Some(variable), None) if is_variable(&variable) => {
            Some(SecretSink::EnvFile { path: path.to_string(), variable })
        }
        (None, None, None, Some(name)) if is_program_name(&name) => Some(SecretSink::Program(name)),
        _ => no_sink(
            evaluator.context,
            entry.value.span,
            "It takes `file` alone, `env_file` with a `variable`, or `sink` alone.".into(),
            site,
        ),
    }
}

fn is_variable(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the diagnostic of a value that is no duration such as `90s`, `30m` or `1h`, or is longer than a week.
fn no_duration(node: &Node) -> Diagnostic {
    let problem = Diagnostic::error(codes::DURATION, "this is not a duration")
        .with_label(node.span, "")
        .detail("A duration is a whole number and a unit: s, m or h, at most a week.");
    let text = node.scalar().map_or("", |scalar| scalar.text.as_str());
    if let Some(right) = other_tools::suggest_duration(text).filter(|right| parse_duration(right).is_some())
    {
        return problem.help(format!("write `{right}`")).fix(node.span, right);
    }
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return problem.help(format!("add the unit: `{text}s`, `{text}m` or `{text}h`"));
    }
    problem.help("write `90s`, `30m` or `1h`")
}

/// Parses a whole number with the unit `s`, `m` or `h`. `None` for any other text, for zero, and for more than a week.
fn parse_duration(text: &str) -> Option<Duration> {
    let (number, seconds) = match text.strip_suffix('s') {
        Some(number) => (number, 1),
        None => match text.strip_suffix('m') {
            Some(number) => (number, 60),
            None => (text.strip_suffix('h')?, 3600),
        },
    };
    let number: u64 = number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok())??;
    let total = number.checked_mul(seconds)?;
    // Zero would end every wait at once; more than a week is probably a wrong unit.
    (1..=7 * 24 * 3600).contains(&total).then(|| Duration::from_secs(total))
}

/// Returns whether a string is a legal name of a program in the user's settings: 1 to 64 of a-z, 0-9, `-` and `_`.
/// A stack names programs only, and never defines one: the author of its files could otherwise run commands.
pub(in crate::config) fn is_program_name(text: &str) -> bool {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    !text.is_empty() && text.len() <= 64 && text.bytes().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        for (text, seconds) in
            [("90s", Some(90)), ("30m", Some(1800)), ("1h", Some(3600)), ("168h", Some(604_800))]
        {
            assert_eq!(parse_duration(text).map(|d| d.as_secs()), seconds, "{text}");
        }
        for text in [
            "",
            "m",
            "0s",
            "30",
            "1d",
            "-5m",
            "1.5h",
            "169h",
            "99999999999999999999h",
            "18446744073709551615h",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
