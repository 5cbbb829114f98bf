//! References: resolution of `$path`, and diagnostics for paths that resolve to nothing.

use super::block_index::{Each, EachValue, PathStep, PathTarget};
use super::evaluator::Evaluator;
use super::scope::{EvaluationSite, LocalValue, ResolvedValue};
use crate::config::diagnostics::codes;
use crate::config::types::scalar;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::{Expression, Reference};
use crate::model::schema::Kind;
use crate::model::source::Span;
use crate::model::value::Value;

impl<'d> Evaluator<'d> {
    /// Resolves a reference such as `$a.b.c`.
    pub(in crate::config) fn resolve_path(
        &self,
        path: &[Name],
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<ResolvedValue> {
        let (root, steps) = path.split_first()?;
        match (root.as_str(), steps) {
            ("env", []) => Some(Value::Text(self.env.clone()).into()),
            ("stack", []) => Some(Value::Text(self.stack.clone()).into()),
            ("module", []) => Some(Value::Text(self.module_name_prefix(span, frame)?.clone()).into()),
            ("vars", [name, rest @ ..]) => {
                let resolved =
                    self.resolve_inside(self.variable_value(name, span, frame)?, path, rest, span, frame)?;
                Some(ResolvedValue { origin: self.value_origin("vars", name), ..resolved })
            }
            ("use", [name, rest @ ..]) => {
                let steps: Vec<Option<&Name>> = rest.iter().map(Some).collect();
                self.resolve_inside(self.module_output(name, &steps, span, frame)?, path, rest, span, frame)
            }
            ("data" | "stacks", steps) => self.external_path(root, steps, path, span, frame),
            ("locals", [name, rest @ ..]) => {
                let resolved =
                    self.resolve_inside(self.local_value(name, span, frame)?, path, rest, span, frame)?;
                Some(ResolvedValue { origin: self.value_origin("locals", name), ..resolved })
            }
            ("each", [name, rest @ ..]) => {
                self.resolve_inside(&self.resolve_each(name, span, frame)?, path, rest, span, frame)
            }
            ("vars" | "locals" | "each" | "env" | "stack" | "use", _) => {
                self.report_problem(
                    frame,
                    Diagnostic::error(codes::UNKNOWN_ROOT, "a reference has too few or too many parts")
                        .with_label(span, "")
                        .help("write `$vars.NAME`, `$locals.NAME`, `$use.MODULE.OUTPUT`, `$each.key`, `$each.value`, `$env`, `$module` or `$stack`"),
                );
                None
            }
            (root, _) => {
                let Some(kind) = self.registry.top_level().find(|kind| kind.name == root) else {
                    self.report_problem(frame, self.unknown_root(root, &path.join("."), span));
                    return None;
                };
                self.live_path(kind, path, span, frame)
            }
        }
    }

    /// Returns the name prefix of a module's resources; in the stack itself there
    /// is none, which is reported.
    pub(in crate::config) fn module_name_prefix(
        &self,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<&Name> {
        if self.scope.depth > 0 {
            return Some(&self.scope.front);
        }
        self.report_problem(
            frame,
            Diagnostic::error(codes::UNKNOWN_ROOT, "this name means nothing here")
                .with_label(span, "")
                .detail(
                    "`module` is the prefix of the names of a module's resources, and this is not a module.",
                )
                .help("write the name itself"),
        );
        None
    }

    /// Follows the rest of a path inside of a local or of `each.value`.
    fn resolve_inside(
        &self,
        base: &Expression,
        path: &[Name],
        rest: &[Name],
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<ResolvedValue> {
        if let (Expression::Reference(Reference { address, attribute: None }), [name]) = (base, rest) {
            // `$each.value.address`: an attribute of the resource to which `each.value` refers.
            let kind = self.kind_of(address)?;
            let reference = Reference { address: address.clone(), attribute: Some(name.clone()) };
            let known = self.has_attribute(kind, name, span, frame);
            return known.then(|| Expression::Reference(reference).into());
        }
        match follow_expression(base, rest) {
            Some(PathValue::Expression(part)) => {
                self.report_exceeded(part.charge(self.budget), span, frame)?;
                Some(part.clone().into())
            }
            Some(PathValue::Value(part)) => {
                self.report_exceeded(self.budget.charge_value(part), span, frame)?;
                Some(part.clone().into())
            }
            None => self.deep_path(path, span, frame),
        }
    }

    fn live_path(
        &self,
        kind: &'static Kind,
        path: &[Name],
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<ResolvedValue> {
        let steps: Vec<PathStep> = path[1..].iter().cloned().map(Some).collect();
        if !self.is_late(frame, kind.name, span) {
            return None;
        }
        let (addresses, all, kind, rest) = match self.index.follow_path(&self.registry, kind, &steps) {
            PathTarget::Objects { addresses, all, kind, rest } => {
                (addresses, all, kind, &path[1 + rest.min(steps.len())..])
            }
            PathTarget::Broken => return None,
            PathTarget::Absent(address) => {
                self.report_problem(frame, self.absent_resource(&address, span));
                return None;
            }
            PathTarget::NotFound(problem) => {
                self.dead_end(frame, *problem, &path[1..], span);
                return None;
            }
        };
        if all {
            let all = addresses.into_iter().map(|address| Reference { address, attribute: None });
            return Some(Expression::List(all.map(Expression::Reference).collect()).into());
        }
        let attribute = rest.first();
        if let Some(name) = attribute {
            if !self.has_attribute(kind, name, span, frame) {
                return None;
            }
            if rest.len() > 1 {
                return self.deep_path(path, span, frame);
            }
        }
        let address = addresses.into_iter().next()?;
        Some(Expression::Reference(Reference { address, attribute: attribute.cloned() }).into())
    }

    /// Returns whether live objects can be referenced here; reports it otherwise.
    pub(in crate::config) fn is_late(&self, frame: EvaluationSite<'_, 'd>, kind: &str, span: Span) -> bool {
        let Some(place) = frame.early else { return true };
        self.report_problem(
            frame,
            Diagnostic::error(codes::NOT_KNOWN_YET, "this must be known before any resource exists")
                .with_label(span, "")
                .detail(format!(
                    "{place} is evaluated while the configuration is loaded, and attributes of a {kind} are known only later."
                ))
                .help("use a variable, or a local that refers to no resource"),
        );
        false
    }

    /// Reports a path that does not resolve.
    pub(in crate::config) fn dead_end(
        &self,
        frame: EvaluationSite<'_, 'd>,
        mut problem: Diagnostic,
        path: &[Name],
        span: Span,
    ) {
        // A wrong instance key follows the block's name in the path.
        let detail = problem.detail.as_deref().unwrap_or_default();
        let key = path.iter().find(|name| detail.contains(&format!(" has no key `{name}`")));
        let place = key.or(path.first()).map_or(span, |name| self.part_within(span, name));
        problem = problem.first_at(place);
        if let (Some(help), true) = (&problem.help, place != span) {
            // The hint "did you mean `$kind.near`?" contains the right name.
            if let Some(near) =
                help.strip_prefix("did you mean `$").and_then(|rest| rest.split(['.', '`']).nth(1))
            {
                problem = problem.clone().fix(place, near);
            }
        }
        self.report_problem(frame, problem);
    }

    /// Returns the problem of a resource that this environment leaves out.
    pub(in crate::config) fn absent_resource(&self, address: &Address, span: Span) -> Diagnostic {
        let problem =
            Diagnostic::error(codes::ABSENT_RESOURCE, "this environment does not have the resource")
                .with_label(span, "")
                .detail(format!("The `when` of {address} is false in the environment {}.", self.env))
                .help(format!(
                    "guard it: `${{has({}) ? … : …}}`, or give this block the same `when`",
                    address.as_str()
                ));
        match self.index.of_instance(address) {
            Some(block) => {
                problem.with_label(block.entry.key_span, format!("{} is declared here", block.address))
            }
            None => problem,
        }
    }

    /// Returns whether a kind has an attribute, or a child collection, of a name; reports it otherwise.
    pub(in crate::config) fn has_attribute(
        &self,
        kind: &Kind,
        name: &Name,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> bool {
        let child = self.registry.child(kind.name, name).is_some();
        if name == "id" || kind.attribute(name).is_some() || child {
            return true;
        }
        let place = self.part_within(span, name);
        let problem =
            Diagnostic::error(codes::UNKNOWN_REFERENCED_ATTRIBUTE, "there is no attribute of this name")
                .with_label(place, "")
                .detail(format!("{} has no `{name}`.", scalar::with_article(kind.name)));
        let known = kind.attributes.iter().map(|attribute| attribute.name).chain(["id"]);
        self.report_problem(
            frame,
            match nearest_name(name, known) {
                Some(near) if place != span => {
                    problem.help(format!("did you mean `{near}`?")).fix(place, near)
                }
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            },
        );
        false
    }

    /// Returns the value of a variable; reports one that is not declared.
    pub(in crate::config) fn variable_value(
        &self,
        name: &Name,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<&Expression> {
        let Some(value) = self.scope.vars.get(name) else {
            let known = self.scope.vars.keys().map(Name::as_str);
            self.report_problem(
                frame,
                self.undeclared_name(codes::UNKNOWN_VARIABLE, "variable", name, known, span),
            );
            return None;
        };
        value.as_ref()
    }

    /// Returns the value of a local; reports one that is not declared.
    pub(in crate::config) fn local_value(
        &self,
        name: &Name,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<&Expression> {
        let Some(local) = self.scope.locals.get(name) else {
            let known = self.scope.locals.keys().map(Name::as_str);
            self.report_problem(
                frame,
                self.undeclared_name(codes::UNKNOWN_LOCAL, "local", name, known, span),
            );
            return None;
        };
        self.ready_value(&local.value, "resource that the local names", span, frame)
    }

    /// Returns a value that is available now; reports one that is only available later.
    pub(in crate::config) fn ready_value<'v>(
        &self,
        value: &'v LocalValue,
        what: &str,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<&'v Expression> {
        match value {
            LocalValue::Ready(expression) => Some(expression),
            LocalValue::Broken => None,
            LocalValue::Deferred => {
                let early = frame.early.or(Some("this"));
                self.is_late(EvaluationSite { early, ..frame }, what, span);
                None
            }
        }
    }

    fn undeclared_name<'n>(
        &self,
        code: &'static str,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
        span: Span,
    ) -> Diagnostic {
        let place = self.part_within(span, name);
        let problem = Diagnostic::error(code, format!("this {what} is not declared"))
            .with_label(place, "")
            .detail(format!("There is no {what} `{name}`."));
        match nearest_name(name, known) {
            Some(near) if place != span => problem.help(format!("did you mean `{near}`?")).fix(place, near),
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help(format!("declare it under `{what}s`").replace("variables", "vars")),
        }
    }

    /// Returns `each.key` or `each.value`.
    pub(in crate::config) fn resolve_each(
        &self,
        name: &str,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<Expression> {
        let Some(each) = frame.each else {
            self.report_problem(
                frame,
                Diagnostic::error(codes::NO_EACH, "`each` is used outside of `for_each`")
                    .with_label(span, "")
                    .help("give the block a `for_each`"),
            );
            return None;
        };
        match name {
            "key" => Some(Value::Text(each.key.clone()).into()),
            "value" => self.each_value(each, span, frame),
            _ => {
                self.report_problem(
                    frame,
                    Diagnostic::error(codes::NO_EACH, "`each` has `key` and `value` only")
                        .with_label(span, "")
                        .help("write `$each.key` for the instance's key, `$each.value` for its value"),
                );
                None
            }
        }
    }

    /// Returns the value of `each.value` as an expression.
    pub(in crate::config) fn each_value(
        &self,
        each: &Each<'d>,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<Expression> {
        match &each.value {
            EachValue::Known(value) => {
                self.report_exceeded(self.budget.charge_value(value), span, frame)?;
                Some(Expression::Value(value.clone()))
            }
            EachValue::Instance(address) => {
                Some(Expression::Reference(Reference { address: address.clone(), attribute: None }))
            }
            EachValue::Written(node) => self
                .resolve_untyped(node, EvaluationSite { each: None, ..frame })
                .map(|resolved| resolved.expression),
        }
    }

    /// Returns the kind of a reference's target.
    pub(in crate::config) fn kind_of(&self, address: &Address) -> Option<&'static Kind> {
        let looked_up = || self.externals.data.get(address).map(|lookup| lookup.kind);
        self.index.of_instance(address).map(|block| block.kind).or_else(looked_up)
    }

    /// Returns what decided the value of a variable or local, if that was not its own declaration.
    pub(in crate::config) fn value_origin(&self, root: &str, name: &Name) -> Option<Name> {
        match root {
            "vars" => self.scope.var_origins.get(name).cloned(),
            "locals" => self.scope.locals.get(name)?.origin.clone(),
            _ => None,
        }
    }
}

/// Result of following a path into an expression.
enum PathValue<'e> {
    Expression(&'e Expression),
    Value(&'e Value),
}

/// Follows a path into an expression; `None` if only CEL can evaluate it.
fn follow_expression<'e>(base: &'e Expression, path: &[Name]) -> Option<PathValue<'e>> {
    match (base, path.split_first()) {
        (base, None) => Some(PathValue::Expression(base)),
        (Expression::Value(value), Some(_)) => drill_value(value, path).map(PathValue::Value),
        (Expression::Map(map), Some((first, rest))) => follow_expression(map.get(first)?, rest),
        _ => None,
    }
}

fn drill_value<'v>(base: &'v Value, path: &[Name]) -> Option<&'v Value> {
    match (base, path.split_first()) {
        (value, None) => Some(value),
        (Value::Map(map), Some((first, rest))) => drill_value(map.get(first)?, rest),
        _ => None,
    }
}
