//! References and expressions: what a `$path` or a `${…}` means, as far as it is known now.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::codes;
use super::files;
use super::index::{Each, EachValue, Found, Step};
use super::resolver::{Frame, LocalValue, Nothing, Resolved, Resolver, evaluation_problem};
use crate::model::address::{Address, Name};
use crate::model::cel::{FILES, Item, Object, Path, Program, Scope, Segment, bind};
use crate::model::diagnostic::{Diagnostic, nearest};
use crate::model::expression::{Cel, EvaluationError, Expression, Reference};
use crate::model::schema::Kind;
use crate::model::source::Span;
use crate::model::value::{Attributes, Value};

/// What the paths of one expression lead to.
#[derive(Default)]
struct Named<'p> {
    objects: Vec<Address>,
    /// Maps that must be there even when they hold nothing: `vm`, `vm.web`.
    places: Vec<String>,
    absent: Vec<Address>,
    paths: Vec<&'p Path>,
    origin: Option<Name>,
}

impl<'d> Resolver<'d> {
    /// Resolves `$a.b.c`.
    pub(super) fn path(&self, path: &[Name], span: Span, frame: Frame<'_, 'd>) -> Option<Resolved> {
        let (root, steps) = path.split_first()?;
        let (base, used, origin) = match (root.as_str(), steps.first()) {
            ("env", None) => return Some(Value::Text(self.env.clone()).into()),
            ("stack", None) => return Some(Value::Text(self.stack.clone()).into()),
            ("vars", Some(name)) => {
                let value = self.variable(name, span, frame)?;
                (Expression::Value(value.clone()), 1, self.origin("vars", name))
            }
            ("locals", Some(name)) => {
                (self.local(name, span, frame)?.clone(), 1, self.origin("locals", name))
            }
            ("each", Some(name)) => (self.each(name, span, frame)?, 1, None),
            ("vars" | "locals" | "each" | "env" | "stack", _) => {
                self.problem(
                    frame,
                    Diagnostic::error(codes::UNKNOWN_ROOT, "a reference is incomplete or goes too far")
                        .at(span, "")
                        .help("write `$vars.NAME`, `$locals.NAME`, `$each.key`, `$each.value`, `$env` or `$stack`"),
                );
                return None;
            }
            (root, _) => match self.registry.top_level().find(|kind| kind.name == root) {
                Some(kind) => return self.live_path(kind, path, span, frame),
                None => {
                    self.problem(frame, self.unknown_root(root, &path.join("."), span));
                    return None;
                }
            },
        };
        let rest = &steps[used..];
        if let (Expression::Reference(Reference { address, attribute: None }), [name]) = (&base, rest) {
            // `$each.value.address`: an attribute of the resource that stands there.
            let kind = self.index.of_instance(address)?.kind;
            let reference = Reference { address: address.clone(), attribute: Some(name.clone()) };
            let expression = Expression::Reference(reference);
            return self.has_attribute(kind, name, span, frame).then_some(Resolved { expression, origin });
        }
        match drill(&base, rest) {
            Some(expression) => Some(Resolved { expression, origin }),
            None => self.deep_path(path, span, frame),
        }
    }

    fn live_path(
        &self,
        kind: &'static Kind,
        path: &[Name],
        span: Span,
        frame: Frame<'_, 'd>,
    ) -> Option<Resolved> {
        let steps: Vec<Step> = path[1..].iter().cloned().map(Some).collect();
        if !self.is_late(frame, kind.name, span) {
            return None;
        }
        let (addresses, all, kind, rest) = match self.index.find(&self.registry, kind, &steps) {
            Found::Objects { addresses, all, kind, rest } => {
                (addresses, all, kind, &path[1 + rest.min(steps.len())..])
            }
            Found::Broken => return None,
            Found::Absent(address) => {
                self.problem(frame, self.absent(&address, span));
                return None;
            }
            Found::Nowhere(problem) => {
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

    /// Tells whether live objects can be named here; else says so.
    fn is_late(&self, frame: Frame<'_, 'd>, kind: &str, span: Span) -> bool {
        let Some(place) = frame.early else { return true };
        self.problem(
            frame,
            Diagnostic::error(codes::NOT_KNOWN_YET, "this must be known before any resource exists")
                .at(span, "")
                .detail(format!(
                    "{place} is decided while loading, and attributes of a {kind} are known later."
                ))
                .help("decide it by a variable or a local that names no resource"),
        );
        false
    }

    fn dead_end(&self, frame: Frame<'_, 'd>, mut problem: Diagnostic, path: &[Name], span: Span) {
        let place = path.first().map_or(span, |name| self.part_within(span, name));
        problem = problem.first_at(place);
        if let (Some(help), true) = (&problem.help, place != span) {
            // "did you mean `$kind.near`?" carries the name that mends it.
            if let Some(near) =
                help.strip_prefix("did you mean `$").and_then(|rest| rest.split(['.', '`']).nth(1))
            {
                problem = problem.clone().fix(place, near);
            }
        }
        self.problem(frame, problem);
    }

    fn absent(&self, address: &Address, span: Span) -> Diagnostic {
        let problem = Diagnostic::error(codes::ABSENT_RESOURCE, "this environment leaves the resource out")
            .at(span, "")
            .detail(format!("The `when` of {address} is false in the environment {}.", self.env))
            .help(format!(
                "guard it: `${{has({}) ? … : …}}`, or give this block the same `when`",
                address.as_str()
            ));
        match self.index.of_instance(address) {
            Some(block) => problem.at(block.entry.key_span, format!("{} is declared here", block.address)),
            None => problem,
        }
    }

    fn has_attribute(&self, kind: &Kind, name: &Name, span: Span, frame: Frame<'_, 'd>) -> bool {
        let child = self.registry.child(kind.name, name).is_some();
        if name == "id" || kind.attribute(name).is_some() || child {
            return true;
        }
        let place = self.part_within(span, name);
        let problem =
            Diagnostic::error(codes::UNKNOWN_REFERENCED_ATTRIBUTE, "there is no attribute of this name")
                .at(place, "")
                .detail(format!("A {} has no `{name}`.", kind.name));
        let known = kind.attributes.iter().map(|attribute| attribute.name).chain(["id"]);
        self.problem(
            frame,
            match nearest(name, known) {
                Some(near) if place != span => {
                    problem.help(format!("did you mean `{near}`?")).fix(place, near)
                }
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            },
        );
        false
    }

    fn variable(&self, name: &Name, span: Span, frame: Frame<'_, 'd>) -> Option<&Value> {
        match self.vars.get(name) {
            Some(value) => value.as_ref(),
            None => {
                let known = self.vars.keys().map(Name::as_str);
                self.problem(
                    frame,
                    self.undeclared(codes::UNKNOWN_VARIABLE, "variable", name, known, span),
                );
                None
            }
        }
    }

    fn local(&self, name: &Name, span: Span, frame: Frame<'_, 'd>) -> Option<&Expression> {
        match self.locals.get(name) {
            Some(local) => match &local.value {
                LocalValue::Ready(expression) => Some(expression),
                LocalValue::Broken => None,
                LocalValue::Later => {
                    let early = frame.early.or(Some("this"));
                    self.is_late(Frame { early, ..frame }, "resource that the local names", span);
                    None
                }
            },
            None => {
                let known = self.locals.keys().map(Name::as_str);
                self.problem(frame, self.undeclared(codes::UNKNOWN_LOCAL, "local", name, known, span));
                None
            }
        }
    }

    fn undeclared<'n>(
        &self,
        code: &'static str,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
        span: Span,
    ) -> Diagnostic {
        let place = self.part_within(span, name);
        let problem = Diagnostic::error(code, format!("this {what} is not declared"))
            .at(place, "")
            .detail(format!("There is no {what} `{name}`."));
        match nearest(name, known) {
            Some(near) if place != span => problem.help(format!("did you mean `{near}`?")).fix(place, near),
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help(format!("declare it under `{what}s`").replace("variables", "vars")),
        }
    }

    fn each(&self, name: &str, span: Span, frame: Frame<'_, 'd>) -> Option<Expression> {
        let Some(each) = frame.each else {
            self.problem(
                frame,
                Diagnostic::error(codes::NO_EACH, "`each` is used outside of `for_each`")
                    .at(span, "")
                    .help("give the block a `for_each`"),
            );
            return None;
        };
        match name {
            "key" => Some(Value::Text(each.key.clone()).into()),
            "value" => self.each_value(each, frame),
            _ => {
                self.problem(
                    frame,
                    Diagnostic::error(codes::NO_EACH, "`each` has `key` and `value` only").at(span, ""),
                );
                None
            }
        }
    }

    fn each_value(&self, each: &Each<'d>, frame: Frame<'_, 'd>) -> Option<Expression> {
        match &each.value {
            EachValue::Known(value) => Some(Expression::Value(value.clone())),
            EachValue::Instance(address) => {
                Some(Expression::Reference(Reference { address: address.clone(), attribute: None }))
            }
            EachValue::Written(node) => {
                self.untyped(node, Frame { each: None, ..frame }).map(|resolved| resolved.expression)
            }
        }
    }

    fn origin(&self, root: &str, name: &Name) -> Option<Name> {
        match root {
            "vars" => self.var_origins.get(name).cloned(),
            _ => self.locals.get(name)?.origin.clone(),
        }
    }

    /// Resolves `${…}`: computed now when everything is known, else with only what it names bound.
    pub(super) fn cel(&self, source: &str, span: Span, frame: Frame<'_, 'd>) -> Option<Resolved> {
        let program = match self.program(source) {
            Ok(program) => program,
            Err(error) => {
                let place = self.within(span, source);
                let at = match error.offset {
                    Some(offset) if place != span => {
                        let start = (place.start + u32::try_from(offset).unwrap_or(0)).min(place.end);
                        Span { start, end: (start + 1).min(place.end).max(start), ..place }
                    }
                    _ => span,
                };
                self.problem(
                    frame,
                    Diagnostic::error(codes::SYNTAX, "an expression cannot be parsed")
                        .at(at, "")
                        .detail(format!("{}.", error.message))
                        .help("for the text itself, write `$${`"),
                );
                return None;
            }
        };
        if let Some(path) = program.as_path() {
            let names: Option<Vec<Name>> = std::iter::once(Some(path.root.clone()))
                .chain(path.segments.iter().map(|segment| match segment {
                    Segment::Name(name) => Some(name.clone()),
                    Segment::Computed(_) => None,
                }))
                .collect();
            if !self.is_root(&path.root) {
                self.problem(frame, self.unknown_root(&path.root, &format!("{{{source}}}"), span));
                return None;
            }
            if let Some(names) = names {
                return self.path(&names, span, frame);
            }
        }
        self.compute(&program, source, span, frame)
    }

    /// Computes a path that goes on inside of a value which only CEL can open.
    fn deep_path(&self, path: &[Name], span: Span, frame: Frame<'_, 'd>) -> Option<Resolved> {
        let source = as_cel(path);
        let program = self.program(&source).ok()?;
        self.compute(&program, &source, span, frame)
    }

    fn compute(
        &self,
        program: &Program,
        source: &str,
        span: Span,
        frame: Frame<'_, 'd>,
    ) -> Option<Resolved> {
        let paths = program.paths();
        let named = self.named(&paths, span, frame)?;
        let files = RefCell::new(BTreeMap::new());
        let read = |path: &str| {
            let text = files::read_text(self.read, path)?;
            files.borrow_mut().insert(Name::new(path), Value::text(&text));
            Ok(text)
        };
        let waiting = self.waiting(&named, span, frame)?;
        let outcome = self.evaluate(program, &named, &waiting, frame, &read);
        let origin = named.origin.clone();
        match outcome {
            Ok(value) if !value.is_unknown() => {
                Some(Resolved { expression: Expression::Value(value), origin })
            }
            Ok(_) => {
                let mut bindings = self.bindings(&named, &waiting, frame);
                let files = files.into_inner();
                if !files.is_empty() {
                    bindings.insert(Name::new_static(FILES), Value::Map(files));
                }
                let cel = Cel { source: source.to_owned(), bindings, objects: named.objects, waiting };
                Some(Resolved { expression: Expression::Cel(Arc::new(cel)), origin })
            }
            Err(error) => {
                let problem = match (&error, named.absent.first()) {
                    (EvaluationError::Failed(_), Some(address)) => self.absent(address, span),
                    _ => evaluation_problem(&error, span, Some(source)),
                };
                self.problem(frame, problem);
                None
            }
        }
    }

    /// Follows every path of an expression. `None` when one of them is a problem.
    fn named<'p>(&self, paths: &'p [Path], span: Span, frame: Frame<'_, 'd>) -> Option<Named<'p>> {
        let mut named = Named::default();
        let mut good = true;
        for path in paths {
            let first = path.segments.first().and_then(|segment| match segment {
                Segment::Name(name) => Some(name),
                Segment::Computed(_) => None,
            });
            match (path.root.as_str(), first) {
                ("env" | "stack", _) | ("vars" | "locals", None) => {}
                ("vars", Some(name)) => good &= self.variable(name, span, frame).is_some(),
                ("locals", Some(name)) => {
                    let base = self.local(name, span, frame).cloned();
                    good &= self.through(base, path, span, frame, &mut named);
                }
                ("each", first) => {
                    let base = self.each(first.map_or("key", Name::as_str), span, frame);
                    good &= self.through(base, path, span, frame, &mut named);
                }
                (root, _) => match self.registry.top_level().find(|kind| kind.name == root) {
                    Some(kind) => good &= self.live(kind, path, span, frame, &mut named),
                    None => {
                        let written = format!("{{{root}}}");
                        self.problem(frame, self.unknown_root(root, &written, span));
                        good = false;
                    }
                },
            }
            if let Some(name) = first.filter(|_| named.origin.is_none()) {
                named.origin = self.origin(&path.root, name);
            }
            named.paths.push(path);
        }
        named.objects.sort();
        named.objects.dedup();
        good.then_some(named)
    }

    /// Checks a path that goes through a local or `each.value`, which may be a resource itself.
    fn through(
        &self,
        base: Option<Expression>,
        path: &Path,
        span: Span,
        frame: Frame<'_, 'd>,
        named: &mut Named<'_>,
    ) -> bool {
        let Some(base) = base else { return false };
        let Expression::Reference(Reference { address, attribute: None }) = base else { return true };
        let kind = self.index.of_instance(&address).map(|block| block.kind);
        named.objects.push(address);
        match (kind, path.segments.get(1)) {
            (Some(kind), Some(Segment::Name(name))) => self.has_attribute(kind, name, span, frame),
            _ => true,
        }
    }

    fn live<'p>(
        &self,
        kind: &'static Kind,
        path: &'p Path,
        span: Span,
        frame: Frame<'_, 'd>,
        named: &mut Named<'p>,
    ) -> bool {
        if !self.is_late(frame, kind.name, span) {
            return false;
        }
        let steps: Vec<Step> = path.segments.iter().map(|segment| self.step(segment, frame)).collect();
        named.places.push(kind.name.to_owned());
        match self.index.find(&self.registry, kind, &steps) {
            Found::Objects { addresses, all, kind: found, rest } => {
                if all {
                    let block: Vec<&str> = steps.iter().flatten().map(Name::as_str).collect();
                    named.places.push(format!("{}.{}", kind.name, block.join(".")));
                }
                named.objects.extend(addresses);
                match steps.get(rest) {
                    Some(Some(attribute)) => self.has_attribute(found, attribute, span, frame),
                    _ => true,
                }
            }
            Found::Broken => false,
            Found::Absent(address) => {
                if !path.tested {
                    named.absent.push(address);
                }
                true
            }
            Found::Nowhere(problem) => {
                let names: Vec<Name> = steps.into_iter().flatten().collect();
                self.dead_end(frame, *problem, &names, span);
                false
            }
        }
    }

    /// Returns the name of a segment; a computed key is computed, when it names no live object.
    fn step(&self, segment: &Segment, frame: Frame<'_, 'd>) -> Step {
        let program = match segment {
            Segment::Name(name) => return Some(name.clone()),
            Segment::Computed(program) => program,
        };
        let named = Named::default();
        match self.evaluate(program, &named, &BTreeMap::new(), frame, &|_| Err(String::new())) {
            Ok(Value::Text(text)) => Some(text),
            Ok(Value::Integer(n)) => Some(Name::new(n.to_string())),
            _ => None,
        }
    }

    /// Returns the parts of the roots that wait for live objects themselves.
    fn waiting(
        &self,
        named: &Named<'_>,
        span: Span,
        frame: Frame<'_, 'd>,
    ) -> Option<BTreeMap<Name, Expression>> {
        let mut waiting = BTreeMap::new();
        for path in &named.paths {
            let expression = match (path.root.as_str(), path.segments.first(), frame.each) {
                ("locals", Some(Segment::Name(name)), _) => {
                    (format!("locals.{name}"), self.local(name, span, frame)?.clone())
                }
                ("each", Some(Segment::Name(name)), Some(each)) if name == "value" => {
                    ("each.value".to_owned(), self.each_value(each, frame)?)
                }
                _ => continue,
            };
            if expression.1.known().is_none() {
                waiting.insert(Name::new(expression.0), expression.1);
            }
        }
        Some(waiting)
    }

    fn evaluate(
        &self,
        program: &Program,
        named: &Named<'_>,
        waiting: &BTreeMap<Name, Expression>,
        frame: Frame<'_, 'd>,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Value, EvaluationError> {
        let values: Vec<(&Name, Value)> = waiting
            .iter()
            .map(|(path, part)| Ok((path, part.evaluate(&Nothing)?)))
            .collect::<Result<_, _>>()?;
        let objects: Vec<Object> = named
            .objects
            .iter()
            .map(|address| Object {
                address: address.clone(),
                attributes: Attributes::new(),
                complete: false,
            })
            .collect();
        let written = self.written_each(named, frame);
        let mut scope = Scope { read: Some(read), ..Scope::default() };
        let text = |text: &Name| Item::Scalar(Value::Text(text.clone()));
        scope.roots.insert("vars".into(), Item::of_map(&self.var_values));
        scope.roots.insert("locals".into(), Item::of_map(&self.local_values));
        scope.roots.insert("env".into(), text(&self.env));
        scope.roots.insert("stack".into(), text(&self.stack));
        for place in &named.places {
            if !scope.roots.contains_key(place.as_str()) {
                bind(&mut scope.roots, place.split('.'), Item::empty_map());
            }
        }
        for object in &objects {
            bind(&mut scope.roots, object.address.segments(), Item::Object(object));
        }
        if let Some(each) = frame.each {
            bind(&mut scope.roots, ["each", "key"].into_iter(), text(&each.key));
            let known = match &each.value {
                EachValue::Known(value) => Some(value),
                _ => written.as_ref(),
            };
            if let Some(value) = known {
                bind(&mut scope.roots, ["each", "value"].into_iter(), Item::of(value));
            }
        }
        for (path, value) in &values {
            bind(&mut scope.roots, path.split('.'), Item::of(value));
        }
        program.evaluate(&scope)
    }

    /// Returns a written `each.value` that is known and named.
    fn written_each(&self, named: &Named<'_>, frame: Frame<'_, 'd>) -> Option<Value> {
        let each = frame.each.filter(|each| matches!(each.value, EachValue::Written(_)))?;
        if !named.paths.iter().any(|path| path.root == "each") {
            return None;
        }
        match self.each_value(each, frame)? {
            Expression::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the known values that an expression names, and no more.
    fn bindings(
        &self,
        named: &Named<'_>,
        waiting: &BTreeMap<Name, Expression>,
        frame: Frame<'_, 'd>,
    ) -> BTreeMap<Name, Value> {
        let mut bindings = BTreeMap::new();
        for path in &named.paths {
            let names: Vec<&Name> = path
                .segments
                .iter()
                .map_while(|segment| match segment {
                    Segment::Name(name) => Some(name),
                    Segment::Computed(_) => None,
                })
                .collect();
            match path.root.as_str() {
                "vars" => graft(&mut bindings, &path.root, &self.var_values, &names),
                "locals" => graft(&mut bindings, &path.root, &self.local_values, &names),
                "env" => drop(bindings.insert(path.root.clone(), Value::Text(self.env.clone()))),
                "stack" => drop(bindings.insert(path.root.clone(), Value::Text(self.stack.clone()))),
                "each" => {
                    let Some(each) = frame.each else { continue };
                    let mut values = Attributes::from([("key".into(), Value::Text(each.key.clone()))]);
                    if let Some(Expression::Value(value)) = self.each_value(each, frame) {
                        values.insert("value".into(), value);
                    }
                    graft(&mut bindings, &path.root, &values, &names);
                }
                _ => {}
            }
        }
        // What waits is computed when it is there; nothing unknown is bound.
        for path in waiting.keys() {
            if let Some((root, name)) = path.split_once('.') {
                if let Some(Value::Map(map)) = bindings.get_mut(root) {
                    map.remove(name);
                }
            }
        }
        bindings
    }
}

/// Opens an expression along a path; `None` where only CEL can.
fn drill(base: &Expression, path: &[Name]) -> Option<Expression> {
    let Some((first, rest)) = path.split_first() else { return Some(base.clone()) };
    match base {
        Expression::Value(Value::Map(map)) => drill_value(map.get(first)?, rest).map(Expression::Value),
        Expression::Map(map) => drill(map.get(first)?, rest),
        _ => None,
    }
}

fn drill_value(base: &Value, path: &[Name]) -> Option<Value> {
    match (path.split_first(), base) {
        (None, value) => Some(value.clone()),
        (Some((first, rest)), Value::Map(map)) => drill_value(map.get(first)?, rest),
        _ => None,
    }
}

/// Words that CEL keeps for itself.
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

/// Writes a path as CEL; a part that is no name there stands as a key.
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

/// Copies the part of a map that a path names.
fn graft(into: &mut BTreeMap<Name, Value>, root: &Name, from: &Attributes, path: &[&Name]) {
    let place = into.entry(root.clone()).or_insert_with(|| Value::Map(BTreeMap::new()));
    let (Value::Map(place), Some((first, rest))) = (&mut *place, path.split_first()) else {
        *place = Value::Map(from.clone());
        return;
    };
    match from.get(*first) {
        Some(Value::Map(inner)) if !rest.is_empty() => graft(place, first, inner, rest),
        Some(value) => drop(place.insert((*first).clone(), value.clone())),
        None => {}
    }
}
