//! Variables: their declarations, and the sources of their values.

use crate::model::cel::evaluate_program;
use std::collections::BTreeMap;

use super::variable_problems::{no_condition, no_type, none_of};
use super::variable_type::VariableType;
use crate::config::diagnostics::codes;
use crate::config::diagnostics::messages::{self, evaluation_problem};
use crate::config::input::files;
use crate::config::keywords;
use crate::config::merge::blocks::NamedEntries;
use crate::config::request::{LoadRequest, SecretAccess};
use crate::config::resolve::evaluator::Evaluator;
use crate::config::resolve::scope::EvaluationSite;
use crate::config::stack::model::SecretSink;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, Scalar, named_entries};
use crate::config::syntax::quoting;
use crate::config::types::mismatch::TypeMismatch;
use crate::model::address::{Address, Name};
use crate::model::budget::BudgetExceeded;
use crate::model::cel::{CelValue, ExpressionScope};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::{EvaluationError, Expression};
use crate::model::secret::Secret;
use crate::model::source::Span;
use crate::model::value::Value;

/// Declaration of a variable.
pub(in crate::config) struct VariableDeclaration<'d> {
    /// Its name and body.
    pub(in crate::config) entry: &'d DocumentEntry,
    pub(in crate::config) ty: VariableType,
    default: Option<&'d Node>,
    one_of: Vec<Value>,
    check: Option<&'d Node>,
    pub(in crate::config) from_file: Option<&'d DocumentEntry>,
    /// The `generate` or `source` entry of a deferred secret.
    pub(in crate::config) awaited: Option<&'d DocumentEntry>,
    /// Where a generated value is delivered.
    pub(in crate::config) deliver: Option<SecretSink>,
}

/// Value of a variable, and its source.
struct SuppliedValue {
    value: Result<Value, TypeMismatch>,
    /// Source of the value: `--var`, `environments.prod`.
    by: Name,
    /// Span of the value, if it is in a file.
    span: Option<Span>,
}

/// All sources of values besides the declarations.
pub(in crate::config) struct VariableSources<'d, 'r> {
    /// Flags, process environment, names of variable files.
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

impl<'d> Evaluator<'d> {
    /// Assigns a value to every variable.
    pub(in crate::config) fn resolve_variables(
        &mut self,
        declared: &NamedEntries<'d>,
        givers: &VariableSources<'d, '_>,
    ) {
        self.undeclared_values(declared, givers);
        let mut declarations = BTreeMap::new();
        for (name, entry) in declared {
            match self.read_declaration(entry) {
                Some(declaration) => drop(declarations.insert(name, declaration)),
                None => drop(self.scope.vars.insert(name.clone(), None)),
            }
        }
        for (name, declaration) in declarations {
            let value = self.resolve_variable(name, &declaration, givers);
            // The value is stored in two forms, so it is charged twice.
            let span = declaration.entry.key_span;
            let fits = |value: &Value| {
                self.report_exceeded(self.charge_twice(value), span, EvaluationSite::top_level(None))
                    .is_some()
            };
            let value = value.filter(fits);
            if let Some(value) = &value {
                self.scope.var_values.insert(name.clone(), value.clone());
            }
            self.scope.vars.insert(name.clone(), value.map(Expression::Value));
        }
    }

    fn charge_twice(&self, value: &Value) -> Result<(), BudgetExceeded> {
        self.budget.charge_value(value)?;
        self.budget.charge_value(value)
    }

    /// Parses a variable's declaration, and reports what is wrong.
    pub(in crate::config) fn read_declaration(
        &self,
        entry: &'d DocumentEntry,
    ) -> Option<VariableDeclaration<'d>> {
        let Some(keys) = named_entries(&entry.value) else {
            let text = entry.value.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
            let word =
                if VariableType::parse(text).is_some() { ("type", text) } else { ("default", "…") };
            let help = format!("write `{}: {{ {}: {} }}`", entry.key, word.0, word.1);
            return self.wrong_declaration(entry.value.span, "A declaration is a map.", &help);
        };
        let mut declaration = VariableDeclaration {
            entry,
            ty: VariableType::Text,
            default: None,
            one_of: Vec::new(),
            check: None,
            from_file: None,
            awaited: None,
            deliver: None,
        };
        let mut one_of = None;
        for key in keys {
            match key.key.as_str() {
                "type" => {
                    let ty = key.value.scalar().and_then(|scalar| VariableType::parse(&scalar.text));
                    let Some(ty) = ty else {
                        self.problems.push(no_type(&key.value));
                        return None;
                    };
                    declaration.ty = ty;
                }
                "default" => declaration.default = Some(&key.value),
                "one_of" => one_of = Some(&key.value),
                "check" => declaration.check = Some(&key.value),
                "from_file" => declaration.from_file = Some(key),
                "description" => {
                    let help = "describe the purpose of the variable";
                    if key.value.scalar().is_none() {
                        return self.wrong_declaration(key.value.span, "A `description` is a text.", help);
                    }
                }
                "generate" | "source" => declaration.awaited = Some(key),
                "deliver_secret" => {
                    let address = Address::new("vars", &self.variable_path(&entry.key));
                    self.sink_spans.borrow_mut().insert(Name::new(address.as_str()), key.value.span);
                    declaration.deliver = Some(self.read_sink(key, EvaluationSite::top_level(None))?);
                }
                _ => {
                    self.problems.push(messages::unknown_word(key, keywords::VARIABLE));
                    return None;
                }
            }
        }
        if let (Some(_), Some(default)) = (declaration.from_file, declaration.default) {
            let help = "keep one of `from_file` and `default`";
            return self.wrong_declaration(default.span, "`from_file` gives the value already.", help);
        }
        if let Some(node) = one_of {
            declaration.one_of = self.read_one_of(&declaration.ty, node)?;
        }
        self.soundly_awaited(&declaration)?;
        Some(declaration)
    }

    /// Reports a wrong declaration.
    pub(in crate::config) fn wrong_declaration<T>(
        &self,
        span: Span,
        detail: &str,
        help: &str,
    ) -> Option<T> {
        self.problems.push(
            Diagnostic::error(codes::VARIABLE_DECLARATION, "a variable's declaration is wrong")
                .with_label(span, "")
                .detail(detail)
                .help(help),
        );
        None
    }

    /// Reads the values of `one_of`.
    fn read_one_of(&self, ty: &VariableType, node: &Node) -> Option<Vec<Value>> {
        match VariableType::List(Box::new(ty.clone())).read(node) {
            Ok(Value::List(words)) => {
                let twice = words.iter().enumerate().find(|(n, word)| words[..*n].contains(word));
                if let Some((_, word)) = twice {
                    let detail = format!(
                        "`one_of` lists `{}` twice.",
                        quoting::shorten_for_message(&word.to_string())
                    );
                    return self.wrong_declaration(node.span, &detail, "list each value once");
                }
                if words.is_empty() {
                    let help = "list the values that it takes, or remove the line";
                    return self.wrong_declaration(
                        node.span,
                        "`one_of` has no values, so no value is allowed.",
                        help,
                    );
                }
                Some(words)
            }
            Ok(_) => Some(Vec::new()),
            Err(slip) => {
                self.problems.push(messages::mismatch_diagnostic(&slip, node.span));
                None
            }
        }
    }

    fn resolve_variable(
        &mut self,
        name: &Name,
        declaration: &VariableDeclaration<'d>,
        givers: &VariableSources<'d, '_>,
    ) -> Option<Value> {
        let Some(given) = self.find_given_value(name, declaration, givers) else {
            self.problems.push(missing_variable(name, declaration));
            return None;
        };
        let place = given.span.unwrap_or(declaration.entry.key_span);
        let value = match given.value {
            Ok(value) => value,
            Err(slip) => {
                let slip = if self.var_files.contains(&place.source) {
                    let detail = format!("It takes {}.", declaration.ty.name());
                    TypeMismatch::new(slip.code, slip.summary, detail)
                } else {
                    slip
                };
                let mut problem = messages::mismatch_diagnostic(&slip, place);
                problem.code = codes::VARIABLE_TYPE;
                problem.summary = "a variable's value has the wrong type".into();
                problem.detail = Some(format!("vars.{name}, set by {}: {}", given.by, slip.detail));
                if given.span.is_none() {
                    problem.fix = None;
                }
                self.problems.push(problem);
                return None;
            }
        };
        if let Some(span) = given.span {
            self.scope.var_places.insert(name.clone(), span);
        }
        if given.by != "default" {
            let origin = Name::new(format!("vars.{name}, set by {}", given.by));
            self.scope.var_origins.insert(name.clone(), origin);
        }
        // A `{ from_file: … }` contains the name of a file, not the secret itself.
        let nodes = declaration.default.into_iter().chain(givers.environment.iter().map(|e| &e.value));
        let mut texts = nodes.filter(|node| node.scalar().is_some());
        let in_files = texts.any(|node| Some(node.span) == given.span);
        let tells_nothing =
            |secret: &Secret| self.is_deferred_variable(name, secret) || secret.expose() == Some("");
        let written = in_files && !matches!(&value, Value::Secret(secret) if tells_nothing(secret));
        if declaration.ty == VariableType::Secret && written && !self.var_files.contains(&place.source) {
            self.problems.push(
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
            self.problems.push(
                Diagnostic::warning(codes::SECRET_IN_FILE, "a secret is given on the command line")
                    .with_label(place, "")
                    .detail("Every user of the machine can read the arguments of a process, and shells store them in their history.")
                    .help(format!("give it by {}, a variable file or `from_file`", environment_variable_name(name))),
            );
        }
        let value = self.check_constraints(name, declaration, value, &given.by, place)?;
        Some(self.with_name(name, value))
    }

    /// Names a secret after its variable, because plans identify expressions over it by that name.
    fn with_name(&self, name: &Name, value: Value) -> Value {
        match value {
            Value::Secret(secret) => {
                Value::Secret(secret.named_after(&format!("vars.{}", self.variable_path(name))))
            }
            value => value,
        }
    }

    /// Returns the value of a variable for which no source has a value.
    pub(in crate::config) fn by_itself(
        &self,
        name: &Name,
        declaration: &VariableDeclaration<'d>,
    ) -> Option<Value> {
        let elsewhere = declaration.awaited.is_some() || declaration.from_file.is_some();
        if self.secrets == SecretAccess::Denied && elsewhere && declaration.ty == VariableType::Secret {
            return Some(self.with_name(name, Value::Secret(Secret::new_withheld())));
        }
        let (value, node) = match (declaration.awaited, declaration.from_file, declaration.default) {
            (Some(entry), ..) => (self.resolve_deferred_secret(name, declaration, entry), &entry.value),
            (None, Some(file), _) => (self.secret_file(&declaration.ty, &file.value), &file.value),
            (None, None, Some(node)) => (self.read_value(name, declaration, node), node),
            (None, None, None) => return None,
        };
        match value {
            Ok(value) => {
                let value = self.check_constraints(name, declaration, value, "default", node.span)?;
                Some(self.with_name(name, value))
            }
            Err(slip) => {
                let mut problem = messages::mismatch_diagnostic(&slip, node.span);
                problem.code = codes::VARIABLE_TYPE;
                self.problems.push(problem);
                None
            }
        }
    }

    /// Returns whether a variable has a value when no source has one.
    pub(in crate::config) fn has_default(declaration: &VariableDeclaration<'d>) -> bool {
        declaration.awaited.is_some() || declaration.from_file.is_some() || declaration.default.is_some()
    }

    /// Returns the strongest value: flag, process environment, file, environment, default.
    fn find_given_value(
        &self,
        name: &Name,
        declaration: &VariableDeclaration<'d>,
        givers: &VariableSources<'d, '_>,
    ) -> Option<SuppliedValue> {
        let ty = &declaration.ty;
        if let Some(text) = givers.request.vars.get(name) {
            return Some(SuppliedValue { value: ty.parse_value(text), by: FLAG.into(), span: None });
        }
        // No shell has a `-` in a variable's name.
        let plain = || Name::new(name.to_lowercase().replace('-', "_"));
        // CI systems set a missing secret to an empty text, and no real secret is empty.
        let empty = |text: &&Secret| *ty == VariableType::Secret && text.expose() == Some("");
        let from_process = &givers.request.env_vars;
        let named = from_process.get(name).or_else(|| from_process.get(&plain()));
        if let Some(text) = named.filter(|text| !empty(text)) {
            let by = Name::new(environment_variable_name(name));
            let value = ty.parse_value(text.expose().unwrap_or_default()).map_err(|slip| {
                // A process environment variable may be confidential whatever its declared type.
                TypeMismatch { detail: format!("It takes {}.", ty.name()), fix: None, ..slip }
            });
            return Some(SuppliedValue { value, by, span: None });
        }
        for (path, document) in givers.var_files {
            if let Some(entry) = document.root.iter().find(|entry| entry.key == *name) {
                // Whoever gives a secret gives it is, whatever stands in it.
                let literal = *ty == VariableType::Secret && entry.value.scalar().is_some();
                let value = if literal {
                    ty.read(&entry.value)
                } else {
                    self.read_value(name, declaration, &entry.value)
                };
                return Some(SuppliedValue { value, by: path.clone(), span: Some(entry.value.span) });
            }
        }
        if let Some(entry) = givers.environment.iter().find(|entry| entry.key == *name) {
            let by = Name::new(format!("environments.{}", self.env));
            return Some(SuppliedValue {
                value: self.read_value(name, declaration, &entry.value),
                by,
                span: Some(entry.value.span),
            });
        }
        if *ty == VariableType::Secret && self.secrets == SecretAccess::Denied {
            let value = Ok(Value::Secret(Secret::new_withheld()));
            return Some(SuppliedValue { value, by: NO_SUPPLIER.into(), span: None });
        }
        if let Some(entry) = declaration.awaited {
            let value = self.resolve_deferred_secret(name, declaration, entry);
            return Some(SuppliedValue { value, by: entry.key.clone(), span: Some(entry.value.span) });
        }
        if let Some(from_file) = declaration.from_file {
            let value = self.secret_file(ty, &from_file.value);
            return Some(SuppliedValue { value, by: "from_file".into(), span: Some(from_file.value.span) });
        }
        let Some(node) = declaration.default else {
            let spared = *ty == VariableType::Secret && self.secrets == SecretAccess::Optional;
            let value = || Ok(Value::Secret(Secret::new_withheld()));
            return spared.then(|| SuppliedValue { value: value(), by: NO_SUPPLIER.into(), span: None });
        };
        Some(SuppliedValue {
            value: self.read_value(name, declaration, node),
            by: "default".into(),
            span: Some(node.span),
        })
    }

    /// Reads a value from a file of the configuration; a secret may name a file of its own.
    fn read_value(
        &self,
        name: &Name,
        declaration: &VariableDeclaration<'d>,
        node: &'d Node,
    ) -> Result<Value, TypeMismatch> {
        let ty = &declaration.ty;
        if let (VariableType::Secret, NodeValue::Mapping(entries)) = (ty, &node.value)
            && let [entry] = entries.as_slice()
        {
            match entry.key.as_str() {
                "from_file" | "generate" | "source" if self.secrets == SecretAccess::Denied => {
                    return Ok(Value::Secret(Secret::new_withheld()));
                }
                "from_file" => return self.secret_file(ty, &entry.value),
                "generate" | "source" => return self.resolve_deferred_secret(name, declaration, entry),
                _ => {}
            }
        }
        let computed = |scalar: &Scalar| {
            let path = scalar.text.strip_prefix('$').filter(|_| *ty != VariableType::Secret);
            let root = path.and_then(|path| path.split('.').next()).unwrap_or_default();
            scalar.text.contains("${") || self.is_root(root)
        };
        if node.scalar().is_some_and(computed) {
            return Err(TypeMismatch::wrong_type("a plain value", "an expression")
                .help("compute it in `locals`; variables are plain values"));
        }
        ty.read(node)
    }

    fn secret_file(&self, ty: &VariableType, node: &Node) -> Result<Value, TypeMismatch> {
        let path = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        match files::read_text(self.files(), path) {
            Ok(text) if *ty == VariableType::Secret => {
                Ok(Value::Secret(Secret::new(text.trim_end_matches(['\r', '\n']))))
            }
            Ok(text) => ty.parse_value(text.trim_end_matches(['\r', '\n'])),
            Err(_) if *ty == VariableType::Secret && self.secrets == SecretAccess::Optional => {
                Ok(Value::Secret(Secret::new_withheld()))
            }
            Err(why) => {
                Err(TypeMismatch::new(codes::CONFINED_PATH, "a file cannot be read", format!("{why}.")))
            }
        }
    }

    /// Checks a value against `one_of` and `check`.
    pub(in crate::config) fn check_constraints(
        &self,
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
        if matches!(&value, Value::Secret(secret) if secret.is_awaited()) {
            // A deferred secret is checked once its value is available.
            return Some(value);
        }
        let is_shown = !value.is_secret() && self.may_be_shown(by, place);
        let shown = quoting::shorten_for_message(&value.to_string());
        if !declaration.one_of.is_empty() && !declaration.one_of.contains(&value) {
            let by = format!("vars.{name}, set by {by},");
            let shown = is_shown.then_some(shown.as_str());
            self.problems.push(none_of(failed(by), &declaration.one_of, &value, shown));
            return None;
        }
        let Some(check) = declaration.check else { return Some(value) };
        let text = check.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        let source = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
        let program = source.map(|source| self.parse_program(source));
        let (Some(Ok(program)), Some(source)) = (program, source) else {
            self.problems.push(no_condition(check.span, None));
            return Some(value);
        };
        let mut scope = ExpressionScope { budget: Some(self.budget), ..ExpressionScope::default() };
        scope.roots.insert("self".into(), CelValue::from_borrowed(&value));
        scope.roots.insert("env".into(), CelValue::of_text(&self.env));
        scope.roots.insert("stack".into(), CelValue::of_text(&self.stack));
        let verdict = match evaluate_program(&program, &scope) {
            Ok(Value::Bool(verdict)) => Some(verdict),
            // A check over a secret yields a secret; only its truth value is used here.
            Ok(Value::Secret(Secret::Derived(derived))) => {
                derived.expose().as_ref().and_then(Value::as_bool)
            }
            Ok(other) => {
                self.problems.push(no_condition(check.span, Some(&other)));
                return Some(value);
            }
            // The error message may contain the value.
            Err(EvaluationError::Failed(_)) if !is_shown => {
                let problem = failed(format!("The `check` of vars.{name}, set by {by}, has no value."));
                self.problems.push(problem.with_label(check.span, "this check fails"));
                return None;
            }
            Err(error) => {
                self.report_problem(
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
            self.problems.push(problem.with_label(check.span, "this check fails"));
            return None;
        }
        Some(value)
    }

    /// Returns whether messages may show a value: not if it comes from a variable file, the process
    /// environment or a secret's own file.
    fn may_be_shown(&self, by: &str, place: Span) -> bool {
        let is_open = ["default", "--var"].contains(&by)
            || ["environments.", "use."].iter().any(|of| by.starts_with(of));
        is_open && !self.var_files.contains(&place.source)
    }

    /// Reports values for variables that are not declared.
    fn undeclared_values(&self, declared: &NamedEntries<'d>, givers: &VariableSources<'d, '_>) {
        let problem = |name: &str, by: &str| {
            let problem = Diagnostic::error(codes::UNDECLARED_VARIABLE, "this variable is not declared")
                .detail(format!("{by} gives a value to `{name}`, and no `vars` block declares it."));
            match nearest_name(name, declared.keys().map(Name::as_str)) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help("declare it under `vars`, or leave the value out"),
            }
        };
        for name in givers.request.vars.keys().filter(|name| !declared.contains_key(*name)) {
            self.problems.push(problem(name, "--var"));
        }
        let files = givers
            .var_files
            .iter()
            .flat_map(|(path, document)| document.root.iter().map(move |entry| (path.to_string(), entry)));
        let environment = format!("environments.{}", self.env);
        let entries = files.chain(givers.environment.iter().map(|entry| (environment.clone(), entry)));
        let others = givers.others.iter().flat_map(|(name, vars)| {
            let by = Name::new(format!("environments.{name}"));
            vars.iter().map(move |entry| (by.to_string(), entry))
        });
        for (by, entry) in entries.chain(others).filter(|(_, entry)| !declared.contains_key(&entry.key)) {
            let problem = problem(&entry.key, &by).first_at(entry.key_span);
            // A line that is broken may begin with a secret.
            self.problems.push(if self.var_files.contains(&entry.key_span.source) {
                problem.detail(format!(
                    "{by} gives a value, on this line, to a variable that no `vars` block declares."
                ))
            } else {
                problem
            });
        }
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
