//! `stead drift --accept PATH`: writes one live value into the configuration file that sets the attribute. In: the
//! drift of a stack and one of its paths. Out: one edited file, after a prompt. The edited stack is loaded before it
//! is written, so an edit never leaves an invalid file.

use std::path::PathBuf;

use crate::cli::command_context::CommandContext;
use crate::cli::files::stack_files::{self, StackFiles};
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cli::stack::project::LoadedStack;
use crate::cli::stack::rewrite_files::{self, FileRewrite};
use crate::config::edit::{ConfigLiteral, Edit, EditPath, EditableFile, apply_edits};
use crate::config::stack::model::{AttributeSetting, Resource};
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::nearest_name;
use crate::model::schema::Type;
use crate::model::source::{Source, Sources};
use crate::model::values::value::Value;
use crate::plan::model::change::{Drift, DriftClass};

/// Writes the live value of a path into the file that sets it; `wanted` is `ADDRESS.PATH`, `yes` skips the prompt.
///
/// # Errors
/// When the path has no drift, its value is secret or not written as a literal, or the file cannot be edited.
pub(super) async fn run(
    session: &CommandContext,
    project: &LoadedStack,
    drift: &[Drift],
    ledger: &Ledger,
    (wanted, yes): (&Name, bool),
) -> Result<Exit, CliFailure> {
    let found = find_drift(drift, wanted)?;
    let (resource, setting) = find_written_setting(project, found, wanted)?;
    let Some(path) = &found.path else { return Err(missing_object_failure(wanted)) };
    let live = live_literal(resource, path, &found.live, ledger).ok_or_else(|| {
        CliFailure::new(Exit::Failed, format!("the live value of {wanted} is a secret, or not known"))
            .help("Set it in the source from which the configuration reads it.")
    })?;
    let stack = stack_files::read_stack(&session.settings.dir)?;
    let Some(before) = source_of(project, setting, &stack.sources) else {
        return Err(CliFailure::new(
            Exit::OutOfDate,
            "the stack's files changed meanwhile; nothing was written",
        ));
    };
    let target = path.split('.').fold(EditPath::from_text(resource.address.as_str()), EditPath::with_key);
    let file = EditableFile { source: &before, registry: &REGISTRY };
    let after = apply_edits(&file, &[Edit::Set(target, live)])
        .map_err(|refusal| rewrite_files::edit_failure(&before, refusal))?;
    check_edited_stack(session, &stack.sources, &before, &after)?;
    let rewrite = FileRewrite { path: PathBuf::from(&before.path), before, after };
    if rewrite_files::write_rewrites(&session.ui, &[rewrite], yes).await? {
        session.ui.report_done(&format!("The configuration has the live value of {wanted} now."));
        session.next("plan", "shows that an apply no longer reverts it");
    }
    Ok(Exit::Done)
}

/// Returns the drift at a path that can be accepted: of an object that exists, with a value that the configuration
/// does not have yet.
fn find_drift<'d>(drift: &'d [Drift], wanted: &Name) -> Result<&'d Drift, CliFailure> {
    let name = |drift: &Drift| match &drift.path {
        Some(path) => format!("{}.{path}", drift.address),
        None => drift.address.to_string(),
    };
    let names: Vec<String> = drift.iter().map(name).collect();
    let Some(position) = names.iter().position(|name| name == wanted) else {
        let failure = CliFailure::new(Exit::Failed, format!("nothing drifted at {wanted}"));
        return Err(match nearest_name(wanted, names.iter().map(String::as_str)) {
            Some(near) => failure.help(format!("Did you mean {near}?")),
            None if names.is_empty() => failure.help("There is no drift at all."),
            None => failure.help(format!("Drifted: {}.", names.join(", "))),
        });
    };
    let found = &drift[position];
    match found.class {
        DriftClass::Gone => Err(missing_object_failure(wanted)),
        DriftClass::NotReadable => Err(CliFailure::new(
            Exit::Refused,
            format!("{wanted} has no live value: the API key may not read its project"),
        )),
        DriftClass::Accepted => Err(CliFailure::new(
            Exit::Failed,
            format!("the configuration has the live value of {wanted} already"),
        )),
        DriftClass::Ignored => {
            Err(CliFailure::new(Exit::Failed, format!("stead does not change {wanted} anyway"))
                .help("Its ignore_drift covers it."))
        }
        _ => Ok(found),
    }
}

fn missing_object_failure(wanted: &Name) -> CliFailure {
    CliFailure::new(Exit::Failed, format!("{wanted} has no live value: the object is gone"))
        .help("Remove its block, or let an apply recreate it.")
}

/// Returns the resource and the setting of its attribute, if a literal for this resource alone is written there; a
/// value that an expression, a block with instances or a directory sets is an error.
fn find_written_setting<'p>(
    project: &'p LoadedStack,
    drift: &Drift,
    wanted: &Name,
) -> Result<(&'p Resource, &'p AttributeSetting), CliFailure> {
    let attribute = drift.path.as_deref().unwrap_or_default().split('.').next().unwrap_or_default();
    let resource = project.stack.resources.get(&drift.address);
    let setting = resource.and_then(|resource| resource.attributes.get(attribute));
    let Some((resource, setting)) = resource.zip(setting) else {
        return Err(CliFailure::new(Exit::Failed, format!("{wanted} is not written in the configuration")));
    };
    let within = drift.path.as_deref().and_then(|path| path.split_once('.'));
    let origin = match within {
        Some((_, within)) => setting.part_origin(within).1,
        None => setting.decided_by(),
    };
    if let Some(origin) = origin {
        return Err(CliFailure::new(Exit::Failed, format!("{wanted} is set by {origin}"))
            .help("Change it there: a literal would replace the reference."));
    }
    if resource.key.is_some() {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("{wanted} is written once for every instance of its block"),
        )
        .help("Change it there by hand, for example by each.key."));
    }
    if setting.directory.is_some() {
        return Err(CliFailure::new(Exit::Failed, format!("{wanted} is the content of a directory")));
    }
    Ok((resource, setting))
}

/// Returns the literal to write: a reference if the live id belongs to an object of the stack. `None` if the value
/// is secret or unknown.
fn live_literal(resource: &Resource, path: &str, live: &Value, ledger: &Ledger) -> Option<ConfigLiteral> {
    let ty = resource.kind.attribute(path.split('.').next()?).map(|attribute| &attribute.ty);
    let referred = |kind: &str, value: &Value| {
        let id = value.as_text()?;
        let owned = ledger.entries.iter().find(|(_, entry)| {
            entry.kind == kind && entry.current.as_ref().is_some_and(|owned| owned.id == id)
        });
        owned.map(|(address, _): (&Address, _)| ConfigLiteral::text(format!("${address}")))
    };
    match (ty, live) {
        (Some(Type::Reference(kind)), value) => {
            referred(kind, value).or_else(|| ConfigLiteral::from_value(value))
        }
        (
            Some(Type::List(Type::Reference(kind)) | Type::Set { of: Type::Reference(kind), .. }),
            Value::List(items),
        ) => {
            let item = |item| referred(kind, item).or_else(|| ConfigLiteral::from_value(item));
            items.iter().map(item).collect::<Option<_>>().map(ConfigLiteral::List)
        }
        (_, value) => ConfigLiteral::from_value(value),
    }
}

/// Returns the file that an attribute is written in, with its present content on disk; `None` if the file changed
/// since the stack was loaded.
fn source_of(project: &LoadedStack, setting: &AttributeSetting, sources: &Sources) -> Option<Source> {
    let loaded = project.stack.sources.get(setting.span.source)?;
    let (_, now) = sources.iter().find(|(_, source)| source.path == loaded.path)?;
    // Secrets are redacted in the loaded text, but its length is unchanged, so a different length means another edit.
    (now.text.len() == loaded.text.len()).then(|| now.clone())
}

/// Checks that the stack loads with the new content of one file.
fn check_edited_stack(
    session: &CommandContext,
    sources: &Sources,
    before: &Source,
    after: &str,
) -> Result<(), CliFailure> {
    let mut new = Sources::default();
    for (_, source) in sources.iter() {
        let text = if source.path == before.path { after } else { &source.text };
        new.add(Source::new(source.path.as_str(), text));
    }
    LoadedStack::from_files(&session.settings, StackFiles { sources: new, diagnostics: Vec::new() })
        .map(drop)
}
