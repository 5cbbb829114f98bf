//! `secrets: { recipients: [age1…] }`: recipients to whom the ledger's kept secrets are encrypted.
//!
//! In: the block, and variables that are known by now. Out: the set of recipients, or the problems of the list. A
//! plugin's recipient, an SSH key and a private key are refused; a private key's line is never shown.

use std::collections::BTreeSet;

use crate::config::codes;
use crate::config::diagnostics::messages::unknown_word;
use crate::config::keywords;
use crate::config::merge::blocks::not_a_block;
use crate::config::resolve::context::evaluator::Evaluator;
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::stack::model::Recipients;
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, named_entries};
use crate::model::address::Name;
use crate::model::crypto::recipient::{MAX_RECIPIENTS, Recipient, RecipientError};
use crate::model::diagnostic::Diagnostic;
use crate::model::values::value::Value;

const EXAMPLE: &str =
    "write `secrets: { recipients: [age1…, age1…] }`; `stead secret keygen --out FILE` makes a pair";

/// Resolves the `secrets` block; each recipient counts once. `None` without a block, and after a problem that was
/// reported. A list of one is a warning.
pub(in crate::config) fn resolve_recipients<'d>(
    evaluator: &Evaluator<'_, 'd>,
    block: Option<&'d DocumentEntry>,
) -> Option<Recipients> {
    let block = block?;
    let Some(entries) = named_entries(&block.value) else {
        evaluator.context.problems.push(not_a_block(&block.key, &block.value).help(EXAMPLE));
        return None;
    };
    let mut list = None;
    for entry in entries {
        match entry.key.as_str() {
            "recipients" => list = Some(entry),
            _ => evaluator.context.problems.push(unknown_word(entry, keywords::SECRETS)),
        }
    }
    let list = list?;
    let items: &[Node] = match &list.value.value {
        NodeValue::Sequence(items) => items,
        NodeValue::Scalar(_) => std::slice::from_ref(&list.value),
        _ => &[],
    };
    let found: Option<Vec<Vec<Recipient>>> =
        items.iter().map(|item| resolve_recipient(evaluator, item)).collect();
    let names: BTreeSet<Name> = found?.iter().flatten().map(Recipient::name).collect();
    if names.is_empty() || names.len() > MAX_RECIPIENTS {
        let detail = format!(
            "Secrets in the ledger have 1 to {MAX_RECIPIENTS} recipients; this list has {}.",
            names.len()
        );
        evaluator.context.problems.push(
            Diagnostic::error(codes::RECIPIENTS, "this is not a list of recipients")
                .with_label(list.value.span, "")
                .detail(detail)
                .help(EXAMPLE),
        );
        return None;
    }
    if names.len() == 1 {
        evaluator.context.problems.push(
            Diagnostic::warning(
                codes::RECIPIENTS,
                "the secrets in the ledger have one recipient, and no backup",
            )
            .with_label(list.key_span, "")
            .detail("If its identity is lost, every secret in the ledger is lost.")
            .help("add a second recipient, and store its identity somewhere else"),
        );
    }
    Some(Recipients { names, span: list.key_span })
}

/// Resolves one item: a recipient, or a variable that contains one or a list of them. `None` after a
/// problem that was reported.
fn resolve_recipient<'d>(evaluator: &Evaluator<'_, 'd>, item: &'d Node) -> Option<Vec<Recipient>> {
    let early = Some("the list of recipients");
    let resolved = resolve_untyped(evaluator, item, EvaluationSite::top_level(early))?;
    let values = match resolved.expression.known_value() {
        Some(Value::List(values)) => values.clone(),
        Some(value) => vec![value.clone()],
        None => Vec::new(),
    };
    if values.is_empty() {
        evaluator.context.problems.push(
            recipients_problem("a recipient must be known while the configuration is loaded")
                .with_label(item.span, ""),
        );
        return None;
    }
    let parsed = values.iter().map(|value| {
        let Some(text) = value.as_text() else {
            let why = if value.is_secret() {
                "a recipient is public, and this is a secret"
            } else {
                "a recipient is a text"
            };
            return Err(Box::new(recipients_problem(why).with_label(item.span, "")));
        };
        // A snippet would show a private key.
        Recipient::parse(text).map_err(|error| {
            Box::new(match error {
                RecipientError::Identity => recipients_problem(&error.to_string())
                    .detail("Everyone who can read the file has the key: generate another one."),
                _ => recipients_problem(&error.to_string()).with_label(item.span, ""),
            })
        })
    });
    match parsed.collect::<Result<Vec<_>, _>>() {
        Ok(recipients) => Some(recipients),
        Err(problem) => {
            evaluator.context.problems.push(*problem);
            None
        }
    }
}

fn recipients_problem(why: &str) -> Diagnostic {
    Diagnostic::error(codes::RECIPIENTS, why).help(EXAMPLE)
}
