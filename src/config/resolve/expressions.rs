//! Expressions: a `${…}` is computed if everything that it names is known. In: a parsed program and its site. Out:
//! a value, or an expression that is kept with the values that it names, until the live objects are known.

mod evaluation;

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use self::evaluation::{ExpressionPaths, bind_known_values, evaluate_in_scope};
use crate::config::codes;
use crate::config::diagnostics::hints::expression_syntax;
use crate::config::diagnostics::messages::evaluation_problem;
use crate::config::input::files;
use crate::config::resolve::context::block_index::{PathStep, PathTarget};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, ResolvedValue};
use crate::config::resolve::external_references::resolve_external;
use crate::config::resolve::names::{
    absent_resource, dead_end, each_value, has_attribute, is_late, kind_of, local_value,
    module_name_prefix, module_output, resolve_each, value_origin, variable_value,
};
use crate::model::address::Name;
use crate::model::address::name_map::NameMap;
use crate::model::cel::{CelProgram, FILES_BINDING, PathSegment, ReferencePath, SyntaxError};
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::{CelExpression, EvaluationError, Expression, Reference};
use crate::model::schema::Kind;
use crate::model::source::Span;
use crate::model::values::secret::Secret;
use crate::model::values::value::{Value, ValueMap};

/// Returns the problem of an expression that cannot be parsed, at the exact characters if the file contains the
/// expression as one plain scalar.
pub(in crate::config) fn syntax_problem(
    context: &ConfigContext<'_>,
    error: &SyntaxError,
    source: &str,
    span: Span,
) -> Diagnostic {
    let mistake = expression_syntax::explain_syntax_error(error, source);
    let problem = Diagnostic::error(codes::SYNTAX, "an expression cannot be read").help(mistake.help);
    let place = context.span_within(span, source);
    if place == span {
        // The file contains the expression with escapes or over several lines, so the offset
        // is given in the message.
        let detail = match source[..mistake.place.start].chars().count() {
            0 => mistake.detail,
            before => format!("After {before} characters of it: {}", mistake.detail),
        };
        return problem.with_label(span, "").detail(detail);
    }
    let at = |n| (place.start + u32::try_from(n).unwrap_or(0)).min(place.end);
    let at = Span { start: at(mistake.place.start), end: at(mistake.place.end), ..place };
    let problem = problem.with_label(at, "").detail(mistake.detail);
    match mistake.fix {
        Some(right) => problem.fix(at, right),
        None => problem,
    }
}

/// Computes a path that continues inside a value that only CEL can index. `None` after a problem that was reported.
pub(in crate::config) fn deep_path<'d>(
    evaluator: &Evaluator<'_, 'd>,
    path: &[Name],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let source = as_cel(path);
    let program = evaluator.context.parse_program(&source).ok()?;
    compute_program(evaluator, &program, &source, span, site)
}

/// Evaluates a program; one that depends on live objects becomes an expression with the values, the files and the
/// objects that it names. `None` after a problem that was reported.
pub(in crate::config) fn compute_program<'d>(
    evaluator: &Evaluator<'_, 'd>,
    program: &CelProgram,
    source: &str,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    let paths = program.paths();
    let named = resolve_named_paths(evaluator, &paths, span, site)?;
    let files = RefCell::new(ValueMap::new());
    let read = |path: &str| {
        let text = files::read_text(evaluator.files(), path)?;
        files.borrow_mut().insert(Name::new(path), Value::text(&text));
        Ok(text)
    };
    // Each object is stored twice: in the scope of the evaluation, and in the expression that waits for it.
    evaluator.context.report_exceeded(
        evaluator.context.budget.charge_nodes(2 * named.objects.len()),
        span,
        site,
    )?;
    let waiting = unknown_parts(evaluator, &named, span, site)?;
    let outcome = evaluate_in_scope(evaluator, program, (&named, &waiting), span, site, &read);
    let origin = named.origin.clone();
    match outcome {
        Ok(value) if !value.is_unknown() => Some(ResolvedValue::new(Expression::Value(value), origin)),
        Ok(_) => {
            let bindings = bind_known_values(evaluator, &named, span, site);
            let mut bindings = evaluator.context.report_exceeded(bindings, span, site)?;
            let files = files.into_inner();
            if !files.is_empty() {
                bindings.insert(Name::new_static(FILES_BINDING), Value::Map(files));
            }
            let cel = CelExpression {
                source: source.to_owned(),
                bindings,
                objects: named.objects,
                waiting,
                module: evaluator.scope.prefix.clone(),
            };
            Some(ResolvedValue::new(Expression::Cel(Arc::new(cel)), origin))
        }
        Err(error @ EvaluationError::Sensitive) => {
            evaluator.context.problems.push(evaluation_problem(&error, span, None));
            // Later uses continue with this value, so that the failure has no other observable effect.
            Some(ResolvedValue::new(Expression::Value(Value::Secret(Secret::new_undecided())), origin))
        }
        Err(error) => {
            let problem = match (&error, named.absent.first()) {
                (EvaluationError::Failed(_), Some(address)) => absent_resource(evaluator, address, span),
                _ => evaluation_problem(&error, span, Some(source)),
            };
            evaluator.context.report_problem(site, problem);
            None
        }
    }
}

/// Follows every path of an expression, also after the first problem, so that all are reported together.
/// `None` after a problem.
fn resolve_named_paths<'d, 'p>(
    evaluator: &Evaluator<'_, 'd>,
    paths: &'p [ReferencePath],
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<ExpressionPaths<'p>> {
    let mut named = ExpressionPaths::default();
    let mut good = true;
    for path in paths {
        let first = path.segments.first().and_then(|segment| match segment {
            PathSegment::Name(name) => Some(name),
            PathSegment::Computed(_) => None,
        });
        match (path.root.as_str(), first) {
            ("env" | "stack", _) | ("vars" | "locals" | "use", None) => {}
            ("module", None) => good &= module_name_prefix(evaluator, span, site).is_some(),
            ("vars", Some(name)) => {
                let base = variable_value(evaluator, name, span, site);
                good &= check_base_path(evaluator, base, path, span, site, &mut named);
            }
            ("use", Some(name)) => {
                let base = module_output(evaluator, name, &names_of(&path.segments[1..]), span, site);
                good &= check_base_path(evaluator, base, path, span, site, &mut named);
            }
            ("data" | "stacks", _) => {
                good &= resolve_external(evaluator, path, span, site).is_some();
            }
            ("locals", Some(name)) => {
                let base = local_value(evaluator, name, span, site);
                good &= check_base_path(evaluator, base, path, span, site, &mut named);
            }
            ("each", first) => {
                let base = resolve_each(evaluator, first.map_or("key", Name::as_str), span, site);
                good &= check_base_path(evaluator, base.as_ref(), path, span, site, &mut named);
            }
            (root, _) => {
                if let Some(kind) = evaluator.context.registry.top_level().find(|kind| kind.name == root) {
                    good &= check_live_path(evaluator, kind, path, span, site, &mut named);
                } else {
                    let written = format!("{{{root}}}");
                    evaluator.context.report_problem(site, evaluator.unknown_root(root, &written, span));
                    good = false;
                }
            }
        }
        if let Some(name) = first.filter(|_| named.origin.is_none()) {
            named.origin = value_origin(evaluator, &path.root, name);
        }
        named.paths.push(path);
    }
    // A plan stores the list, so its order must not depend on that of the paths.
    named.objects.sort();
    named.objects.dedup();
    good.then_some(named)
}

/// Checks a path through the value of a variable, a local, a module call or `each`, which may itself be a resource.
/// Returns whether the path is correct; `base` is `None` if its problem was already reported.
fn check_base_path<'d>(
    evaluator: &Evaluator<'_, 'd>,
    base: Option<&Expression>,
    path: &ReferencePath,
    span: Span,
    site: EvaluationSite<'_, 'd>,
    named: &mut ExpressionPaths<'_>,
) -> bool {
    let Some(base) = base else { return false };
    let (part, used) = narrow_to_part(base, path.segments.get(1..).unwrap_or_default());
    let Expression::Reference(Reference { address, attribute: None }) = part else { return true };
    let kind = kind_of(evaluator, address);
    named.objects.push(address.clone());
    match (kind, path.segments.get(1 + used)) {
        (Some(kind), Some(PathSegment::Name(name))) => {
            has_attribute(evaluator.context, kind, name, span, site)
        }
        _ => true,
    }
}

fn check_live_path<'d, 'p>(
    evaluator: &Evaluator<'_, 'd>,
    kind: &'static Kind,
    path: &'p ReferencePath,
    span: Span,
    site: EvaluationSite<'_, 'd>,
    named: &mut ExpressionPaths<'p>,
) -> bool {
    if !is_late(evaluator.context, site, kind.name, span) {
        return false;
    }
    let steps: Vec<PathStep> =
        path.segments.iter().map(|segment| segment_name(evaluator, segment, span, site)).collect();
    // A macro over all instances, such as `vm.all(…)`, must find a map even if no instance exists.
    named.places.push(kind.name.to_owned());
    match evaluator.blocks.follow_path(&evaluator.context.registry, kind, &steps) {
        PathTarget::Objects { addresses, all, kind: found, rest } => {
            if all {
                let block: Vec<&str> = steps.iter().flatten().map(Name::as_str).collect();
                named.places.push(format!("{}.{}", kind.name, block.join(".")));
            }
            named.objects.extend(addresses);
            match steps.get(rest) {
                Some(Some(attribute)) => has_attribute(evaluator.context, found, attribute, span, site),
                _ => true,
            }
        }
        PathTarget::Broken => false,
        PathTarget::Absent(address) => {
            // `has(vm.web)` asks whether the resource exists, so that its absence is no problem.
            if !path.tested {
                named.absent.push(address);
            }
            true
        }
        PathTarget::NotFound(problem) => {
            let names: Vec<Name> = steps.into_iter().flatten().collect();
            dead_end(evaluator.context, site, *problem, &names, span);
            false
        }
    }
}

/// Returns the name of a segment. `None` for a computed key that depends on a live object, or has no value.
fn segment_name<'d>(
    evaluator: &Evaluator<'_, 'd>,
    segment: &PathSegment,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> PathStep {
    let program = match segment {
        PathSegment::Name(name) => return Some(name.clone()),
        PathSegment::Computed(program) => program,
    };
    let named = ExpressionPaths::default();
    match evaluate_in_scope(evaluator, program, (&named, &NameMap::new()), span, site, &|_| {
        Err(String::new())
    }) {
        Ok(Value::Text(text)) => Some(text),
        Ok(Value::Integer(n)) => Some(Name::new(n.to_string())),
        _ => None,
    }
}

/// Returns the values that the expression names and that wait for live objects themselves, by path: `locals.url`.
/// Of a map, only the part that the path names. `None` after a problem that was reported.
fn unknown_parts<'d>(
    evaluator: &Evaluator<'_, 'd>,
    named: &ExpressionPaths<'_>,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> Option<NameMap<Expression>> {
    let mut waiting = NameMap::new();
    for path in &named.paths {
        if let "data" | "stacks" = path.root.as_str() {
            let (place, reference) = resolve_external(evaluator, path, span, site)?;
            waiting.insert(place, Expression::Reference(reference));
            continue;
        }
        let (root, base) = match (path.root.as_str(), path.segments.first(), site.each) {
            ("vars", Some(PathSegment::Name(name)), _) => {
                (format!("vars.{name}"), Cow::Borrowed(variable_value(evaluator, name, span, site)?))
            }
            ("use", Some(PathSegment::Name(name)), _) => {
                let steps = names_of(&path.segments[1..]);
                (format!("use.{name}"), Cow::Borrowed(module_output(evaluator, name, &steps, span, site)?))
            }
            ("locals", Some(PathSegment::Name(name)), _) => {
                (format!("locals.{name}"), Cow::Borrowed(local_value(evaluator, name, span, site)?))
            }
            ("each", Some(PathSegment::Name(name)), Some(each)) if name == "value" => {
                ("each.value".to_owned(), Cow::Owned(each_value(evaluator, each, span, site)?))
            }
            _ => continue,
        };
        let (part, used) = narrow_to_part(&base, &path.segments[1..]);
        if matches!(part, Expression::Value(_)) {
            continue;
        }
        let mut place = root;
        for segment in &path.segments[1..=used] {
            if let PathSegment::Name(name) = segment {
                place.push('.');
                place.push_str(name);
            }
        }
        evaluator.context.report_exceeded(part.charge(evaluator.context.budget), span, site)?;
        waiting.insert(Name::new(place), part.clone());
    }
    Some(waiting)
}

/// Returns the names of segments; `None` for a computed one.
fn names_of<'s>(segments: &'s [PathSegment]) -> Vec<Option<&'s Name>> {
    let name = |segment: &'s PathSegment| match segment {
        PathSegment::Name(name) => Some(name),
        PathSegment::Computed(_) => None,
    };
    segments.iter().map(name).collect()
}

/// Reserved words of CEL: `a.in` does not parse, `a["in"]` does.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Returns a path as CEL; a segment that is no CEL name is written as an index.
fn as_cel(path: &[Name]) -> String {
    let mut source = path.first().map(ToString::to_string).unwrap_or_default();
    for part in path.iter().skip(1) {
        let is_name = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !RESERVED.contains(&part.as_str());
        if is_name {
            source.push('.');
            source.push_str(part);
        } else {
            source.push_str("[\"");
            source.push_str(part);
            source.push_str("\"]");
        }
    }
    source
}

/// Follows a path into a map with unknown parts, so that only the referenced part is kept. Returns that part and
/// the number of segments that lead to it, 0 for the whole.
fn narrow_to_part<'e>(mut base: &'e Expression, path: &[PathSegment]) -> (&'e Expression, usize) {
    let mut used = 0;
    while let (Some(PathSegment::Name(name)), Expression::Map(map)) = (path.get(used), base) {
        // A dot in the name would be read as another segment.
        let Some(part) = map.get(name).filter(|_| !name.contains('.')) else { break };
        base = part;
        used += 1;
    }
    (base, used)
}
