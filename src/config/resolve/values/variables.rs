//! Values of the stack's variables. In: declarations, flags, process environment, variable files, environments.
//! Out: each value, what set it, and where. No message shows a value from a confidential source, whatever its type.

use std::collections::BTreeMap;

use super::variable_declaration::{VariableDeclaration, read_declaration};
use super::variable_problems::{no_condition, none_of};
use crate::config::codes;
use crate::config::diagnostics::messages::{self, evaluation_problem};
use crate::config::input::files;
use crate::config::input::request::{LoadRequest, SecretAccess};
use crate::config::merge::blocks::NamedEntries;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{BoundVariables, EvaluationSite};
use crate::config::resolve::values::deferred_secrets::{is_deferred_variable, resolve_deferred_secret};
use crate::config::resolve::values::variable_declaration::variable_path;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, Scalar};
use crate::config::syntax::quoting;
use crate::config::types::mismatch::TypeMismatch;
use crate::config::types::variable_type::VariableType;
use crate::model::address::Name;
use crate::model::budget::BudgetExceeded;
use crate::model::cel::{CelValue, ExpressionScope, evaluate_program};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::{EvaluationError, Expression};
use crate::model::source::Span;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// Value of a variable, not checked against `one_of` and `check` yet, and its source.
struct SuppliedValue {
    /// The value, or why it does not have the variable's type.
    value: Result<Value, TypeMismatch>,
    /// Source of the value, as messages name it: `--var`, `environments.prod`, `default`.
    by: Name,
    /// Span of the value; `None` if it is not in a file.
    span: Option<Span>,
}

/// All sources of values besides the declarations.
pub(in crate::config) struct VariableSources<'d, 'r> {
    /// Flags, process environment and access to secrets. Its variable files are parsed, in the next field.
    pub(in crate::config) request: &'r LoadRequest,
    /// Variable files with their paths for messages, highest precedence first.
    pub(in crate::config) var_files: &'d [(Name, Document)],
    /// Values of the selected environment.
    pub(in crate::config) environment: &'d [DocumentEntry],
    /// Values of the other environments: only their names are checked.
    pub(in crate::config) others: Vec<(&'d Name, &'d [DocumentEntry])>,
}

/// Source name of a value from the command line.
const FLAG: &str = "--var";

/// Source name of a secret that is withheld from a run, or that a command does not use.
const NO_SUPPLIER: &str = "a source that this command does not read";

/// Returns every variable's value; `None` after a problem that was reported. A variable refers to no other.
pub(in crate::config) fn resolve_variables<'d>(
    evaluator: &Evaluator<'_, 'd>,
    declared: &NamedEntries<'d>,
    suppliers: &VariableSources<'d, '_>,
) -> BoundVariables {
    undeclared_values(evaluator.context, declared, suppliers);
    let mut bound = BoundVariables::default();
    let mut declarations = BTreeMap::new();
    for (name, entry) in declared {
        match read_declaration(evaluator, entry) {
            Some(declaration) => drop(declarations.insert(name, declaration)),
            None => drop(bound.expressions.insert(name.clone(), None)),
        }
    }
    for (name, declaration) in declarations {
        let value = resolve_variable(evaluator, name, &declaration, suppliers, &mut bound);
        // The value is stored in two forms, so it is charged twice.
        let span = declaration.entry.key_span;
        let fits = |value: &Value| {
            evaluator
                .context
                .report_exceeded(
                    charge_twice(evaluator.context, value),
                    span,
                    EvaluationSite::top_level(None),
                )
                .is_some()
        };
        let value = value.filter(fits);
        if let Some(value) = &value {
            bound.values.insert(name.clone(), value.clone());
        }
        bound.expressions.insert(name.clone(), value.map(Expression::Value));
    }
    bound
}

fn charge_twice(context: &ConfigContext<'_>, value: &Value) -> Result<(), BudgetExceeded> {
    context.budget.charge_value(value)?;
    context.budget.charge_value(value)
}

/// Returns the warning about a secret that is an argument of the command.
fn secret_argument(name: &Name, place: Span) -> Diagnostic {
    Diagnostic::warning(codes::SECRET_IN_FILE, "a secret is given on the command line")
                .with_label(place, "")
                .detail(
                    "Every user of the machine can read the arguments of a process, and shells store them in their history.",
                )
                .help(format!(
                    "give it by {}, a variable file or `from_file`",
                    environment_variable_name(name)
                ))
}

/// Returns the value of a variable, and adds its span and what set it to `bound`. `None` after a reported problem.
fn resolve_variable<'d>(
    evaluator: &Evaluator<'_, 'd>,
    name: &Name,
    declaration: &VariableDeclaration<'d>,
    suppliers: &VariableSources<'d, '_>,
    bound: &mut BoundVariables,
) -> Option<Value> {
    let Some(given) = find_given_value(evaluator, name, declaration, suppliers) else {
        evaluator.context.problems.push(missing_variable(name, declaration));
        return None;
    };
    let place = given.span.unwrap_or(declaration.entry.key_span);
    let value = match given.value {
        Ok(value) => value,
        Err(mistake) => {
            // The message of the mismatch contains the value.
            let mistake = if evaluator.context.var_files.contains(&place.source) {
                let detail = format!("It takes {}.", declaration.ty.name());
                TypeMismatch::new(mistake.code, mistake.summary, detail)
            } else {
                mistake
            };
            let mut problem = messages::mismatch_diagnostic(&mistake, place);
            problem.code = codes::VARIABLE_TYPE;
            problem.summary = "a variable's value has the wrong type".into();
            problem.detail = Some(format!("vars.{name}, set by {}: {}", given.by, mistake.detail));
            if given.span.is_none() {
                problem.fix = None;
            }
            evaluator.context.problems.push(problem);
            return None;
        }
    };
    if let Some(span) = given.span {
        bound.spans.insert(name.clone(), span);
    }
    if given.by != "default" {
        let origin = Name::new(format!("vars.{name}, set by {}", given.by));
        bound.origins.insert(name.clone(), origin);
    }
    // A `{ from_file: … }` contains the name of a file, not the secret itself.
    let nodes = declaration.default.into_iter().chain(suppliers.environment.iter().map(|e| &e.value));
    let mut texts = nodes.filter(|node| node.scalar().is_some());
    let in_files = texts.any(|node| Some(node.span) == given.span);
    let tells_nothing =
        |secret: &Secret| is_deferred_variable(evaluator, name, secret) || secret.expose() == Some("");
    let written = in_files && !matches!(&value, Value::Secret(secret) if tells_nothing(secret));
    if declaration.ty == VariableType::Secret
        && written
        && !evaluator.context.var_files.contains(&place.source)
    {
        evaluator.context.problems.push(
            Diagnostic::warning(codes::SECRET_IN_FILE, "a secret is written in a file of the stack")
                .with_label(place, "")
                .detail("Everyone who can read the files, or their history, can read it.")
                .help(format!(
                    "give it by {}, a variable file or `from_file`",
                    environment_variable_name(name)
                )),
        );
    }
    if declaration.ty == VariableType::Secret && given.by == FLAG {
        evaluator.context.problems.push(secret_argument(name, place));
    }
    let value = check_constraints(evaluator.context, name, declaration, value, &given.by, place)?;
    Some(with_name(evaluator, name, value))
}

/// Names a secret after its variable: plans identify expressions over it by that name, and not by its text.
fn with_name(evaluator: &Evaluator<'_, '_>, name: &Name, value: Value) -> Value {
    match value {
        Value::Secret(secret) => {
            Value::Secret(secret.named_after(&format!("vars.{}", variable_path(evaluator, name))))
        }
        value => value,
    }
}

/// Returns the value of a module's variable without an input: deferred, from a file, or the default. `None` if it
/// has none, and after a reported problem. A run that must not read secrets gets a withheld one.
pub(in crate::config) fn by_itself<'d>(
    evaluator: &Evaluator<'_, 'd>,
    name: &Name,
    declaration: &VariableDeclaration<'d>,
) -> Option<Value> {
    let is_elsewhere = declaration.deferred.is_some() || declaration.from_file.is_some();
    if evaluator.context.secret_access == SecretAccess::Denied
        && is_elsewhere
        && declaration.ty == VariableType::Secret
    {
        return Some(with_name(evaluator, name, Value::Secret(Secret::new_withheld())));
    }
    // The source decides whether messages may show the value: not if it comes from a file of its own.
    let (value, node, by) = match (declaration.deferred, declaration.from_file, declaration.default) {
        (Some(entry), ..) => {
            (resolve_deferred_secret(evaluator, name, declaration, entry), &entry.value, &*entry.key)
        }
        (_, Some(file), _) => {
            (secret_file(evaluator, &declaration.ty, &file.value), &file.value, "from_file")
        }
        (None, None, Some(node)) => (read_value(evaluator, name, declaration, node), node, "default"),
        (None, None, None) => return None,
    };
    match value {
        Ok(value) => {
            let value = check_constraints(evaluator.context, name, declaration, value, by, node.span)?;
            Some(with_name(evaluator, name, value))
        }
        Err(mistake) => {
            let mut problem = messages::mismatch_diagnostic(&mistake, node.span);
            problem.code = codes::VARIABLE_TYPE;
            evaluator.context.problems.push(problem);
            None
        }
    }
}

/// Returns the value of the strongest source: flag, process environment (an empty secret is none), variable file,
/// environment, deferred secret, `from_file`, default; `None` without any. A secret may be withheld instead.
fn find_given_value<'d>(
    evaluator: &Evaluator<'_, 'd>,
    name: &Name,
    declaration: &VariableDeclaration<'d>,
    suppliers: &VariableSources<'d, '_>,
) -> Option<SuppliedValue> {
    let ty = &declaration.ty;
    if let Some(text) = suppliers.request.vars.get(name) {
        return Some(SuppliedValue { value: ty.parse_value(text), by: FLAG.into(), span: None });
    }
    // No shell has a `-` in a variable's name.
    let plain = || Name::new(name.to_lowercase().replace('-', "_"));
    // CI systems set a missing secret to an empty text, and no real secret is empty.
    let empty = |text: &&Secret| *ty == VariableType::Secret && text.expose() == Some("");
    let from_process = &suppliers.request.env_vars;
    let named = from_process.get(name).or_else(|| from_process.get(&plain()));
    if let Some(text) = named.filter(|text| !empty(text)) {
        let by = Name::new(environment_variable_name(name));
        let value = ty.parse_value(text.expose().unwrap_or_default()).map_err(|mistake| {
            // A process environment variable may be confidential whatever its declared type.
            TypeMismatch { detail: format!("It takes {}.", ty.name()), fix: None, ..mistake }
        });
        return Some(SuppliedValue { value, by, span: None });
    }
    for (path, document) in suppliers.var_files {
        if let Some(entry) = document.root.iter().find(|entry| entry.key == *name) {
            // The source of a secret gives its exact text: nothing in it is parsed.
            let literal = *ty == VariableType::Secret && entry.value.scalar().is_some();
            let value = if literal {
                ty.read(&entry.value)
            } else {
                read_value(evaluator, name, declaration, &entry.value)
            };
            return Some(SuppliedValue { value, by: path.clone(), span: Some(entry.value.span) });
        }
    }
    if let Some(entry) = suppliers.environment.iter().find(|entry| entry.key == *name) {
        let by = Name::new(format!("environments.{}", evaluator.context.env));
        return Some(SuppliedValue {
            value: read_value(evaluator, name, declaration, &entry.value),
            by,
            span: Some(entry.value.span),
        });
    }
    if *ty == VariableType::Secret && evaluator.context.secret_access == SecretAccess::Denied {
        let value = Ok(Value::Secret(Secret::new_withheld()));
        return Some(SuppliedValue { value, by: NO_SUPPLIER.into(), span: None });
    }
    if let Some(entry) = declaration.deferred {
        let value = resolve_deferred_secret(evaluator, name, declaration, entry);
        return Some(SuppliedValue { value, by: entry.key.clone(), span: Some(entry.value.span) });
    }
    if let Some(from_file) = declaration.from_file {
        let value = secret_file(evaluator, ty, &from_file.value);
        return Some(SuppliedValue { value, by: "from_file".into(), span: Some(from_file.value.span) });
    }
    let Some(node) = declaration.default else {
        let is_optional =
            *ty == VariableType::Secret && evaluator.context.secret_access == SecretAccess::Optional;
        let value = || Ok(Value::Secret(Secret::new_withheld()));
        return is_optional.then(|| SuppliedValue { value: value(), by: NO_SUPPLIER.into(), span: None });
    };
    Some(SuppliedValue {
        value: read_value(evaluator, name, declaration, node),
        by: "default".into(),
        span: Some(node.span),
    })
}

/// Reads a value from a file; a secret may be a map with `from_file`, `generate` or `source`. An expression fails.
fn read_value<'d>(
    evaluator: &Evaluator<'_, 'd>,
    name: &Name,
    declaration: &VariableDeclaration<'d>,
    node: &'d Node,
) -> Result<Value, TypeMismatch> {
    let ty = &declaration.ty;
    if let (VariableType::Secret, NodeValue::Mapping(entries)) = (ty, &node.value)
        && let [entry] = entries.as_slice()
    {
        match entry.key.as_str() {
            "from_file" | "generate" | "source"
                if evaluator.context.secret_access == SecretAccess::Denied =>
            {
                return Ok(Value::Secret(Secret::new_withheld()));
            }
            "from_file" => return secret_file(evaluator, ty, &entry.value),
            "generate" | "source" => return resolve_deferred_secret(evaluator, name, declaration, entry),
            _ => {}
        }
    }
    let computed = |scalar: &Scalar| {
        let path = scalar.text.strip_prefix('$').filter(|_| *ty != VariableType::Secret);
        let root = path.and_then(|path| path.split('.').next()).unwrap_or_default();
        scalar.text.contains("${") || evaluator.context.is_root(root)
    };
    if node.scalar().is_some_and(computed) {
        return Err(TypeMismatch::wrong_type("a plain value", "an expression")
            .help("compute it in `locals`; variables are plain values"));
    }
    ty.read(node)
}

/// Reads a file without its final line ends, which editors add. A secret that the run may lack may be unreadable.
fn secret_file(
    evaluator: &Evaluator<'_, '_>,
    ty: &VariableType,
    node: &Node,
) -> Result<Value, TypeMismatch> {
    let path = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    match files::read_text(evaluator.files(), path) {
        Ok(text) if *ty == VariableType::Secret => {
            Ok(Value::Secret(Secret::new(text.trim_end_matches(['\r', '\n']))))
        }
        Ok(text) => ty.parse_value(text.trim_end_matches(['\r', '\n'])),
        Err(_)
            if *ty == VariableType::Secret && evaluator.context.secret_access == SecretAccess::Optional =>
        {
            Ok(Value::Secret(Secret::new_withheld()))
        }
        Err(why) => {
            Err(TypeMismatch::new(codes::CONFINED_PATH, "a file cannot be read", format!("{why}.")))
        }
    }
}

/// Checks a value against `one_of` and `check`. `None` if it is not allowed or the check fails, which is reported;
/// a `check` that is no condition is reported, and passes. `by` and `place` are the value's source and span.
pub(in crate::config) fn check_constraints<'d>(
    context: &ConfigContext<'d>,
    name: &Name,
    declaration: &VariableDeclaration<'d>,
    value: Value,
    by: &str,
    place: Span,
) -> Option<Value> {
    let failed = |detail: String| {
        Diagnostic::error(codes::VARIABLE_CHECK, "a variable's value is not allowed")
            .with_label(place, "")
            .detail(detail)
    };
    if matches!(&value, Value::Secret(secret) if secret.is_deferred()) {
        // A deferred secret is checked once its value is available.
        return Some(value);
    }
    let is_shown = !value.is_secret() && may_be_shown(context, by, place);
    let shown = quoting::shorten_for_message(&value.to_string());
    if !declaration.one_of.is_empty() && !declaration.one_of.contains(&value) {
        let by = format!("vars.{name}, set by {by},");
        let shown = is_shown.then_some(shown.as_str());
        context.problems.push(none_of(failed(by), &declaration.one_of, &value, shown));
        return None;
    }
    let Some(check) = declaration.check else { return Some(value) };
    let text = check.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
    let source = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    let program = source.map(|source| context.parse_program(source));
    let (Some(Ok(program)), Some(source)) = (program, source) else {
        context.problems.push(no_condition(check.span, None));
        return Some(value);
    };
    let mut scope = ExpressionScope { budget: Some(context.budget), ..ExpressionScope::default() };
    scope.roots.insert("self".into(), CelValue::from_borrowed(&value));
    scope.roots.insert("env".into(), CelValue::of_text(&context.env));
    scope.roots.insert("stack".into(), CelValue::of_text(&context.stack));
    let verdict = match evaluate_program(&program, &scope) {
        Ok(Value::Bool(verdict)) => Some(verdict),
        // A check over a secret yields a secret; only its truth value is used here.
        Ok(Value::Secret(Secret::Derived(derived))) => derived.expose().as_ref().and_then(Value::as_bool),
        Ok(other) => {
            context.problems.push(no_condition(check.span, Some(&other)));
            return Some(value);
        }
        // The error message may contain the value.
        Err(EvaluationError::Failed(_)) if !is_shown => {
            let problem = failed(format!("The `check` of vars.{name}, set by {by}, has no value."));
            context.problems.push(problem.with_label(check.span, "this check fails"));
            return None;
        }
        Err(error) => {
            context.report_problem(
                EvaluationSite::top_level(None),
                evaluation_problem(&error, check.span, Some(source)),
            );
            return None;
        }
    };
    if verdict != Some(true) {
        let problem = if is_shown {
            failed(format!("vars.{name}, set by {by}, is `{shown}`."))
        } else {
            failed(format!("vars.{name}, set by {by}, is not what its `check` allows."))
        };
        context.problems.push(problem.with_label(check.span, "this check fails"));
        return None;
    }
    Some(value)
}

/// Returns whether messages may show a value that is not secret: not if it comes from a variable file, the process
/// environment, `from_file` or a program, because CI systems keep confidential values there.
fn may_be_shown(context: &ConfigContext<'_>, by: &str, place: Span) -> bool {
    let is_open =
        ["default", "--var"].contains(&by) || ["environments.", "use."].iter().any(|of| by.starts_with(of));
    is_open && !context.var_files.contains(&place.source)
}

/// Reports values for undeclared variables, in every environment; those of the process may be for other stacks.
fn undeclared_values<'d>(
    context: &ConfigContext<'d>,
    declared: &NamedEntries<'d>,
    suppliers: &VariableSources<'d, '_>,
) {
    let problem = |name: &str, by: &str| {
        let problem = Diagnostic::error(codes::UNDECLARED_VARIABLE, "this variable is not declared")
            .detail(format!("{by} gives a value to `{name}`, and no `vars` block declares it."));
        match nearest_name(name, declared.keys().map(Name::as_str)) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help("declare it under `vars`, or leave the value out"),
        }
    };
    for name in suppliers.request.vars.keys().filter(|name| !declared.contains_key(*name)) {
        context.problems.push(problem(name, "--var"));
    }
    let files = suppliers
        .var_files
        .iter()
        .flat_map(|(path, document)| document.root.iter().map(move |entry| (path.to_string(), entry)));
    let environment = format!("environments.{}", context.env);
    let entries = files.chain(suppliers.environment.iter().map(|entry| (environment.clone(), entry)));
    let others = suppliers.others.iter().flat_map(|(name, vars)| {
        let by = Name::new(format!("environments.{name}"));
        vars.iter().map(move |entry| (by.to_string(), entry))
    });
    for (by, entry) in entries.chain(others).filter(|(_, entry)| !declared.contains_key(&entry.key)) {
        let problem = problem(&entry.key, &by).first_at(entry.key_span);
        // A line that is broken may begin with a secret.
        context.problems.push(if context.var_files.contains(&entry.key_span.source) {
            problem.detail(format!(
                "{by} gives a value, on this line, to a variable that no `vars` block declares."
            ))
        } else {
            problem
        });
    }
}

fn missing_variable(name: &Name, declaration: &VariableDeclaration<'_>) -> Diagnostic {
    let problem = Diagnostic::error(codes::MISSING_VARIABLE, "a variable has no value")
        .with_label(declaration.entry.key_span, "declared here without a default")
        .detail(format!("vars.{name} takes {}.", declaration.ty.name()));
    let variable = environment_variable_name(name);
    match declaration.ty {
        // Command lines are visible to all users of a machine.
        VariableType::Secret => problem.asks(name.clone()).help(format!(
            "give it by {variable}, or by a line `{name}: …` in a file of your own that `--var-file` names; `plan` and `apply` ask for it on a terminal; a flag would show it to every user who lists this machine's processes"
        )),
        _ => problem.help(format!(
            "give it in one of three ways: `--var {name}=…`, {variable}=…, or a line `{name}: …` in a file given by `--var-file`"
        )),
    }
}

/// Returns the name of the process environment variable that sets a variable.
fn environment_variable_name(name: &str) -> String {
    format!("STEAD_VAR_{}", name.to_uppercase().replace('-', "_"))
}
