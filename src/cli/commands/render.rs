//! `stead render`: shows the resolved configuration, and the source of each value. Reads files only: values that the
//! service computes are shown as expressions, secrets are redacted.

use clap::Args;

use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::config::stack::known_values::substitute_known_values;
use crate::config::stack::model::{AttributeSetting, Resource, Stack};
use crate::model::address::{Address, Name, is_in};
use crate::model::diagnostic::nearest_name;
use crate::model::expression::Expression;
use crate::model::source::{SourceLocation, Span};
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;
use crate::report::json;
use crate::report::views::resolved::{self, ConfigValue};

/// Command-line arguments of `stead render`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  stead render -e prod\n  stead render --why vm.web.a.plan\n  \
    stead render --output json")]
pub struct RenderArgs {
    /// Only this resource or value, with everything that set it: file, variable, environment, module
    #[arg(long, value_name = "PATH")]
    pub why: Option<String>,
}

/// The attribute that defaults to the block's own name.
const NAME: &str = "name";

/// Maximum number of paths that are compared for a suggestion.
const MAX_CANDIDATES: usize = 2000;

/// Shows the resolved configuration, or the sources of one value.
///
/// # Errors
/// When the stack has errors, or the path has no value.
pub(in crate::cli) fn run(session: &CommandContext, args: &RenderArgs) -> Result<Exit, CliFailure> {
    let project = session.open()?;
    let mut values = all_values(&project.stack);
    if let Some(path) = &args.why {
        values = values_at(&project.stack, &values, path.trim_start_matches('$'))?;
    }
    let ui = &session.ui;
    if ui.json {
        ui.write_result(&json::list_document("values", &resolved::resolved_table(&values)));
    } else if args.why.is_some() {
        ui.write_result(&resolved::provenance_page(&values, ui.style));
    } else {
        ui.write_result(&resolved::resolved_page(&values, ui.style));
    }
    Ok(Exit::Done)
}

/// Returns the values at a path: of a resource or attribute, of all instances of a block, of an entry of a map, of a
/// variable, local or output; at least one.
///
/// # Errors
/// When the path has no value.
fn values_at(stack: &Stack, values: &[ConfigValue], path: &str) -> Result<Vec<ConfigValue>, CliFailure> {
    let within: Vec<ConfigValue> =
        values.iter().filter(|value| is_in(&value.path, path)).cloned().collect();
    if !within.is_empty() {
        return Ok(within);
    }
    let mut found = Vec::new();
    for resource in stack.resources.values() {
        for (name, setting) in &resource.attributes {
            let own = format!("{}.{name}", resource.address);
            let of_block = resource.key.as_ref().and_then(|key| {
                let block = resource.address.as_str().strip_suffix(key.as_str())?;
                Some(format!("{block}{name}"))
            });
            for whole in [Some(own.as_str()), of_block.as_deref()].into_iter().flatten() {
                let Some(rest) = path.strip_prefix(whole) else { continue };
                found.extend(value_part(
                    stack,
                    resource_value(stack, resource, name, setting),
                    setting,
                    rest,
                ));
            }
        }
    }
    for (name, setting) in &stack.named {
        if let Some(rest) = path.strip_prefix(name.as_str()) {
            found.extend(value_part(stack, variable_or_local(stack, name, setting), setting, rest));
        }
    }
    let output = |value: &&ConfigValue| value.path.starts_with("outputs.");
    for value in values.iter().filter(output) {
        if let Some(rest) = path.strip_prefix(value.path.as_str()) {
            found.extend(follow_path(&value.value, rest).map(|inner| ConfigValue {
                path: path.to_owned(),
                value: inner.clone(),
                ..value.clone()
            }));
        }
    }
    if found.is_empty() { Err(nothing_at(path, values, stack)) } else { Ok(found) }
}

/// Returns the nested value at the rest of a path, with its own source location; `None` if there is none.
fn value_part(
    stack: &Stack,
    whole: ConfigValue,
    setting: &AttributeSetting,
    rest: &str,
) -> Option<ConfigValue> {
    let inner = follow_path(&whole.value, rest)?.clone();
    let within = rest.trim_start_matches('.');
    if within.is_empty() {
        return Some(whole);
    }
    let (span, by) = setting.part_origin(within);
    Some(ConfigValue {
        path: format!("{}.{within}", whole.path),
        value: inner,
        place: stack.sources.location_of(span),
        by: by.map(ToString::to_string),
        ..whole
    })
}

/// Follows the rest of a path, `.a.b`, into maps and lists; `None` if it leads nowhere.
fn follow_path<'v>(value: &'v Value, rest: &str) -> Option<&'v Value> {
    if rest.is_empty() {
        return Some(value);
    }
    let rest = rest.strip_prefix('.')?;
    match value {
        // A key can contain dots itself, so every key that the rest begins with is tried.
        Value::Map(map) => {
            map.iter().find_map(|(key, inner)| follow_path(inner, rest.strip_prefix(key.as_str())?))
        }
        Value::List(items) => {
            let (number, more) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
            follow_path(items.get(number.parse::<usize>().ok()?)?, more)
        }
        _ => None,
    }
}

/// Returns a variable or a local with its sources.
fn variable_or_local(stack: &Stack, name: &str, setting: &AttributeSetting) -> ConfigValue {
    let given = format!("{name}, ");
    let by = setting.set_by.as_ref().map(|by| by.strip_prefix(given.as_str()).unwrap_or(by).to_owned());
    ConfigValue {
        path: name.to_owned(),
        value: display_value(&substitute_known_values(stack, &setting.expression)),
        place: stack.sources.location_of(setting.span),
        by,
        default: false,
        calls: Vec::new(),
    }
}

fn nothing_at(path: &str, values: &[ConfigValue], stack: &Stack) -> CliFailure {
    let text = format!("no resource or value {path} in this stack");
    let known = values.iter().map(|value| value.path.as_str()).take(MAX_CANDIDATES);
    let addresses = values.iter().map(|value| value.path.rsplit_once('.').map_or("", |(path, _)| path));
    let named = stack.named.keys().map(Name::as_str);
    match nearest_name(path, known.chain(addresses.take(MAX_CANDIDATES)).chain(named)) {
        Some(near) => CliFailure::new(Exit::Usage, format!("{text}; did you mean {near}?")),
        None => CliFailure::new(Exit::Usage, text)
            .help("Name a resource, one of its attributes, a variable or a local: stead render lists the resources."),
    }
}

/// Returns all values of a stack: those of resources ordered by address, then the outputs.
fn all_values(stack: &Stack) -> Vec<ConfigValue> {
    let mut found = Vec::new();
    for resource in stack.resources.values() {
        for (name, setting) in &resource.attributes {
            found.push(resource_value(stack, resource, name, setting));
        }
    }
    for (name, output) in &stack.outputs {
        found.push(ConfigValue {
            path: format!("outputs.{name}"),
            value: display_value(&substitute_known_values(stack, &output.expression)),
            place: stack.sources.location_of(output.span),
            by: None,
            default: false,
            calls: Vec::new(),
        });
    }
    found
}

fn resource_value(
    stack: &Stack,
    resource: &Resource,
    name: &str,
    setting: &AttributeSetting,
) -> ConfigValue {
    ConfigValue {
        path: format!("{}.{name}", resource.address),
        value: display_value(&substitute_known_values(stack, &setting.expression)),
        place: stack.sources.location_of(setting.span),
        by: setting.decided_by().map(ToString::to_string),
        default: name == NAME && setting.span == resource.span,
        calls: module_calls(stack, &resource.address),
    }
}

/// Returns the module calls that a resource comes from, innermost first, each with its location;
/// empty outside of modules.
fn module_calls(stack: &Stack, address: &Address) -> Vec<(String, Option<SourceLocation>)> {
    let mut found = Vec::new();
    if stack.modules.is_empty() {
        return found;
    }
    let mut way = address.as_str();
    while let Some((outer, _)) = way.rsplit_once('.') {
        way = outer;
        if let Some(call) = stack.modules.get(way) {
            let place = |span: &Span| stack.sources.location_of(*span);
            found.push((way.to_owned(), place(call)));
        }
    }
    found
}

/// Returns a value for display: an unknown one as its expression, a secret one redacted.
pub(super) fn display_value(expression: &Expression) -> Value {
    match expression {
        Expression::Value(value) => value.clone(),
        // A secret in a list must not redact the other elements.
        Expression::List(parts) => Value::List(parts.iter().map(display_value).collect()),
        Expression::Map(map) => {
            Value::Map(map.iter().map(|(key, part)| (key.clone(), display_value(part))).collect())
        }
        waiting if waiting.is_secret() => Value::Secret(Secret::Fingerprint(None)),
        Expression::Reference(reference) => match &reference.attribute {
            Some(attribute) => Value::text(format!("${}.{attribute}", reference.address)),
            None => Value::text(format!("${}", reference.address)),
        },
        Expression::Text(parts) => {
            let parts = parts.iter().map(|part| match part {
                Expression::Value(value) => value.to_string(),
                part => match display_value(part).to_string() {
                    text if text.starts_with("${") => text,
                    text => format!("${{{}}}", text.trim_start_matches('$')),
                },
            });
            Value::text(parts.collect::<String>())
        }
        Expression::Cel(cel) => Value::text(format!("${{{}}}", cel.source)),
    }
}
