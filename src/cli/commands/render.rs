//! `stead render`: the resolved configuration, and what decided each value.

use crate::cli::args::Render;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::config::stack::{Resource, Setting, Stack};
use crate::model::address::Address;
use crate::model::diagnostic::nearest;
use crate::model::expression::Expression;
use crate::model::source::{Place, Span};
use crate::model::value::Value;
use crate::report::json;
use crate::report::resolved::{self, Resolved};

/// How many paths a suggestion is looked for among.
const MOST_CANDIDATES: usize = 2000;

/// Shows the resolved configuration, or what decided one value.
///
/// # Errors
/// When the stack has problems, or nothing is at the path.
pub(in crate::cli) fn run(session: &Session, args: &Render) -> Result<Exit, Failure> {
    let project = session.open()?;
    let mut values = values(&project.stack);
    if let Some(path) = &args.why {
        let path = path.trim_start_matches('$');
        let within = |value: &Resolved| {
            value.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if !values.iter().any(within) {
            return Err(nothing_at(path, &values));
        }
        values.retain(within);
    }
    let ui = &session.ui;
    if ui.json {
        ui.out(&json::list("values", &resolved::table(&values)));
    } else if args.why.is_some() {
        ui.out(&resolved::why(&values, ui.style));
    } else {
        ui.out(&resolved::page(&values, ui.style));
    }
    Ok(Exit::Done)
}

fn nothing_at(path: &str, values: &[Resolved]) -> Failure {
    let text = format!("no resource or value {path} in this stack");
    let known = values.iter().map(|value| value.path.as_str()).take(MOST_CANDIDATES);
    let addresses = values.iter().map(|value| value.path.rsplit_once('.').map_or("", |(path, _)| path));
    match nearest(path, known.chain(addresses.take(MOST_CANDIDATES))) {
        Some(near) => Failure::new(Exit::Usage, format!("{text}; did you mean {near}?")),
        None => Failure::new(Exit::Usage, text)
            .help("Name a resource or one of its attributes: stead render lists them all."),
    }
}

/// Returns every value of a stack, in the order of their addresses.
fn values(stack: &Stack) -> Vec<Resolved> {
    let mut found = Vec::new();
    for resource in stack.resources.values() {
        for (name, setting) in &resource.attributes {
            found.push(value(stack, resource, name, setting));
        }
    }
    for (name, output) in &stack.outputs {
        found.push(Resolved {
            path: format!("outputs.{name}"),
            value: shown(&output.expression),
            place: stack.sources.place(output.span),
            by: None,
            default: false,
            calls: Vec::new(),
        });
    }
    found
}

fn value(stack: &Stack, resource: &Resource, name: &str, setting: &Setting) -> Resolved {
    Resolved {
        path: format!("{}.{name}", resource.address),
        value: shown(&setting.expression),
        place: stack.sources.place(setting.span),
        by: setting.set_by.as_ref().map(ToString::to_string),
        default: setting.span == resource.span,
        calls: calls(stack, &resource.address),
    }
}

/// Returns the calls of modules that a resource comes from, innermost first.
fn calls(stack: &Stack, address: &Address) -> Vec<(String, Option<Place>)> {
    let mut found = Vec::new();
    if stack.modules.is_empty() {
        return found;
    }
    let mut way = address.as_str();
    while let Some((outer, _)) = way.rsplit_once('.') {
        way = outer;
        if let Some(call) = stack.modules.get(way) {
            let place = |span: &Span| stack.sources.place(*span);
            found.push((way.to_owned(), place(call)));
        }
    }
    found
}

/// Returns a value, or the text of what it waits for.
pub(super) fn shown(expression: &Expression) -> Value {
    match expression {
        Expression::Value(value) => value.clone(),
        waiting if waiting.is_secret() => Value::Secret(crate::model::secret::Secret::Sealed(None)),
        Expression::Reference(reference) => match &reference.attribute {
            Some(attribute) => Value::text(format!("${}.{attribute}", reference.address)),
            None => Value::text(format!("${}", reference.address)),
        },
        Expression::Text(parts) => {
            let parts = parts.iter().map(|part| match part {
                Expression::Value(value) => value.to_string(),
                part => match shown(part).to_string() {
                    text if text.starts_with("${") => text,
                    text => format!("${{{}}}", text.trim_start_matches('$')),
                },
            });
            Value::text(parts.collect::<String>())
        }
        Expression::List(parts) => Value::List(parts.iter().map(shown).collect()),
        Expression::Map(map) => {
            Value::Map(map.iter().map(|(key, part)| (key.clone(), shown(part))).collect())
        }
        Expression::Cel(cel) => Value::text(format!("${{{}}}", cel.source)),
    }
}
