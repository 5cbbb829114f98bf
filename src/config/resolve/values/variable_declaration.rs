//! Declarations of variables: the type, the sources of the value and its constraints. In: an entry of `vars`. Out:
//! a declaration whose keywords are compatible; the value is not resolved here.

use super::variable_problems::no_type;
use crate::config::codes;
use crate::config::diagnostics::messages;
use crate::config::keywords;
use crate::config::resolve::blocks::lifecycle::read_sink;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::stack::model::SecretSink;
use crate::config::syntax::document::{DocumentEntry, Node, named_entries};
use crate::config::syntax::quoting;
use crate::config::types::variable_type::VariableType;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Checks that a declaration with `generate` or `source` is a secret without `from_file`. `None` after a
/// problem that was reported.
pub(in crate::config) fn check_deferred<'d>(
    context: &ConfigContext<'d>,
    declaration: &VariableDeclaration<'d>,
) -> Option<()> {
    if let Some(entry) = declaration.deferred {
        let detail = format!("`{}` gives a secret.", entry.key);
        if declaration.ty != VariableType::Secret {
            return wrong_declaration(context, entry.key_span, &detail, "write `type: secret`");
        }
        if let Some(file) = declaration.from_file {
            let detail = format!("`{}` and `from_file` both define the source of the value.", entry.key);
            return wrong_declaration(context, file.key_span, &detail, "leave one of them out");
        }
    }
    Some(())
}

/// Declaration of a variable, as the files write it.
pub(in crate::config) struct VariableDeclaration<'d> {
    /// Its name and body.
    pub(in crate::config) entry: &'d DocumentEntry,
    /// The type; text if none is written.
    pub(in crate::config) ty: VariableType,
    pub(in crate::config) default: Option<&'d Node>,
    /// The only allowed values; empty allows all.
    pub(in crate::config) one_of: Vec<Value>,
    /// Condition over `self` that the value must fulfill.
    pub(in crate::config) check: Option<&'d Node>,
    /// The `from_file` entry: the file that contains the value.
    pub(in crate::config) from_file: Option<&'d DocumentEntry>,
    /// The `generate` or `source` entry of a deferred secret; `None` for any other variable.
    pub(in crate::config) deferred: Option<&'d DocumentEntry>,
    /// Where a generated secret is delivered; `None` if it is not.
    pub(in crate::config) deliver: Option<SecretSink>,
}

/// Reads a variable's declaration. `None` after a problem that was reported: the variable then counts as
/// declared, without a value.
pub(in crate::config) fn read_declaration<'d>(
    evaluator: &Evaluator<'_, 'd>,
    entry: &'d DocumentEntry,
) -> Option<VariableDeclaration<'d>> {
    let context = evaluator.context;
    let Some(keys) = named_entries(&entry.value) else {
        // In `size: int` a type is meant, in `size: 5` a default.
        let text = entry.value.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        let word = if VariableType::parse(text).is_some() { ("type", text) } else { ("default", "…") };
        let help = format!("write `{}: {{ {}: {} }}`", entry.key, word.0, word.1);
        return wrong_declaration(context, entry.value.span, "A declaration is a map.", &help);
    };
    let mut declaration = VariableDeclaration {
        entry,
        ty: VariableType::Text,
        default: None,
        one_of: Vec::new(),
        check: None,
        from_file: None,
        deferred: None,
        deliver: None,
    };
    let mut one_of = None;
    for key in keys {
        match key.key.as_str() {
            "type" => {
                let ty = key.value.scalar().and_then(|scalar| VariableType::parse(&scalar.text));
                let Some(ty) = ty else {
                    context.problems.push(no_type(&key.value));
                    return None;
                };
                declaration.ty = ty;
            }
            "default" => declaration.default = Some(&key.value),
            "one_of" => one_of = Some(&key.value),
            "check" => declaration.check = Some(&key.value),
            "from_file" => declaration.from_file = Some(key),
            "description" => check_description(context, &key.value)?,
            "generate" | "source" => declaration.deferred = Some(key),
            "deliver_secret" => {
                let address = Address::new("vars", &variable_path(evaluator, &entry.key));
                evaluator
                    .context
                    .sink_spans
                    .borrow_mut()
                    .insert(Name::new(address.as_str()), key.value.span);
                declaration.deliver = Some(read_sink(evaluator, key, EvaluationSite::top_level(None))?);
            }
            _ => {
                context.problems.push(messages::unknown_word(key, keywords::VARIABLE));
                return None;
            }
        }
    }
    if let (Some(_), Some(default)) = (declaration.from_file, declaration.default) {
        let help = "keep one of `from_file` and `default`";
        return wrong_declaration(context, default.span, "`from_file` gives the value already.", help);
    }
    if let Some(node) = one_of {
        declaration.one_of = read_one_of(context, &declaration.ty, node)?;
    }
    check_deferred(context, &declaration)?;
    Some(declaration)
}

fn check_description(context: &ConfigContext<'_>, node: &Node) -> Option<()> {
    if node.scalar().is_some() {
        return Some(());
    }
    let help = "describe the purpose of the variable";
    wrong_declaration(context, node.span, "A `description` is a text.", help)
}

/// Reports a wrong declaration. Always returns `None`, so that a caller can return the result.
pub(in crate::config) fn wrong_declaration<T>(
    context: &ConfigContext<'_>,
    span: Span,
    detail: &str,
    help: &str,
) -> Option<T> {
    context.problems.push(
        Diagnostic::error(codes::VARIABLE_DECLARATION, "a variable's declaration is wrong")
            .with_label(span, "")
            .detail(detail)
            .help(help),
    );
    None
}

/// Reads the values of `one_of` by the variable's type. `None` after a problem that was reported, here also for an
/// empty list, which would allow no value.
fn read_one_of(context: &ConfigContext<'_>, ty: &VariableType, node: &Node) -> Option<Vec<Value>> {
    match VariableType::List(Box::new(ty.clone())).read(node) {
        Ok(Value::List(words)) => {
            // Listed twice, one of the two is probably a mistake for another value.
            let twice = words.iter().enumerate().find(|(n, word)| words[..*n].contains(word));
            if let Some((_, word)) = twice {
                let detail =
                    format!("`one_of` lists `{}` twice.", quoting::shorten_for_message(&word.to_string()));
                return wrong_declaration(context, node.span, &detail, "list each value once");
            }
            if words.is_empty() {
                let help = "list the values that it takes, or remove the line";
                return wrong_declaration(
                    context,
                    node.span,
                    "`one_of` has no values, so no value is allowed.",
                    help,
                );
            }
            Some(words)
        }
        Ok(_) => Some(Vec::new()),
        Err(mistake) => {
            context.problems.push(messages::mismatch_diagnostic(&mistake, node.span));
            None
        }
    }
}

/// Returns whether a variable has a value without an input or a source of the request: a `default`,
/// `from_file`, `generate` or `source`.
pub(in crate::config) fn has_default(declaration: &VariableDeclaration<'_>) -> bool {
    declaration.deferred.is_some() || declaration.from_file.is_some() || declaration.default.is_some()
}

/// Returns the path of a variable across modules: its name after the prefix of its module instance.
pub(in crate::config) fn variable_path(evaluator: &Evaluator<'_, '_>, name: &Name) -> Name {
    match evaluator.scope.prefix.as_str() {
        "" => name.clone(),
        prefix => Name::new(format!("{prefix}.{name}")),
    }
}
