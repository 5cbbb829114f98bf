//! Replacement of the path of a source directory by the digest of its content, which a plan compares. In: a path
//! below the stack's or the module's directory. Out: the digest, and the path from the stack's directory. No
//! directory that is uploaded contains the file of a secret sink.

use std::collections::BTreeSet;

use crate::config::codes;
use crate::config::input::config_path::ConfigPath;
use crate::config::input::source_dir::{self, SourceError, SourceTree};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, ResolvedValue};
use crate::config::stack::model::{Resource, SecretSink, SinkUse};
use crate::config::types::relative_path::path_refusal;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::schema::{Attribute, TextFormat, Type};
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Replaces the path of a directory by the digest of its content, and returns the path as well. The value of any
/// other attribute stays, with `None`. After a problem, which is reported, the value is unknown but still counts as
/// written, so that the mistake is reported once.
pub(in crate::config) fn replace_with_digest<'d>(
    evaluator: &Evaluator<'_, 'd>,
    attribute: &Attribute,
    resolved: ResolvedValue,
    span: Span,
    site: EvaluationSite<'_, 'd>,
) -> (ResolvedValue, Option<Name>) {
    if !matches!(attribute.ty, Type::Text { format: TextFormat::Directory, .. }) {
        return (resolved, None);
    }
    let Expression::Value(Value::Text(path)) = resolved.expression else {
        evaluator.context.report_problem(
            site,
            Diagnostic::error(
                codes::NOT_KNOWN_YET,
                "a directory must be known while the configuration is loaded",
            )
            .with_label(span, "")
            .detail(format!(
                "`{}` depends on a live object, or is a secret: its files cannot be compared.",
                attribute.name
            ))
            .help("write the path, or a variable that holds it"),
        );
        return (placeholder_value(), None);
    };
    let path = match path_of(evaluator, &path) {
        Ok(path) => path,
        Err(outside) => {
            evaluator.context.report_problem(site, (*outside).first_at(span));
            return (placeholder_value(), None);
        }
    };
    match digest_of(evaluator.context, &path) {
        Ok(digest) => {
            let expression = Expression::Value(Value::Text(digest));
            (ResolvedValue::new(expression, resolved.origin), Some(path))
        }
        Err(error) => {
            let problem = Diagnostic::error(codes::SOURCE_DIR, "these sources cannot be uploaded")
                .with_label(span, "")
                .detail(format!("{error}."));
            let problem = match error.help() {
                Some(help) => problem.help(help),
                None => problem,
            };
            evaluator.context.report_problem(site, problem);
            (placeholder_value(), None)
        }
    }
}

/// Reports secret sinks inside of uploaded source directories: the service would receive the secret,
/// and everyone with access to the sources there could read it.
pub(in crate::config) fn check_secret_boundaries(
    context: &ConfigContext<'_>,
    resources: &[Resource],
    sinks: &[SinkUse],
) {
    let sinks: Vec<(&SinkUse, &str)> = sinks
        .iter()
        .filter_map(|one| match &one.sink {
            SecretSink::File(path) | SecretSink::EnvFile { path, .. } => Some((one, path.as_str())),
            SecretSink::Program(_) => None,
        })
        .collect();
    if sinks.is_empty() {
        return;
    }
    let settings = resources.iter().flat_map(|resource| resource.attributes.values());
    let mut seen = BTreeSet::new();
    for (directory, setting) in settings.filter_map(|s| Some((s.directory.as_ref()?, s))) {
        if !seen.insert(directory) {
            continue;
        }
        // An unreadable directory was already reported.
        let holds = |path| SourceTree::would_hold(context.root_files, directory, path).unwrap_or(false);
        for (one, path) in sinks.iter().filter(|(_, path)| holds(path)) {
            context.problems.push(
                Diagnostic::error(codes::SOURCE_DIR, "these sources would contain a secret")
                    .with_label(setting.span, "")
                    .detail(format!(
                        "The secret of {} is delivered to `{path}`, which `{directory}` would upload.",
                        one.address
                    ))
                    .help("name the file in `.steadignore`, or deliver it elsewhere"),
            );
        }
    }
}

/// Returns a directory's path relative to the stack's directory: in a module, it is written relative to the module.
///
/// # Errors
/// When the module's directory is outside of the stack's: uploaded files must be below it. The diagnostic has no
/// span yet.
fn path_of(evaluator: &Evaluator<'_, '_>, path: &Name) -> Result<Name, Box<Diagnostic>> {
    if evaluator.scope.files.is_none() || path_refusal(path).is_some() {
        return Ok(path.clone());
    }
    let here = ConfigPath::new(evaluator.context.root_files.path_from_root());
    let way = evaluator.scope.directory.join(path).map(|place| place.seen_from(&here)).unwrap_or_default();
    if way.is_empty() || way.starts_with("..") {
        let problem = Diagnostic::error(codes::SOURCE_DIR, "these sources cannot be uploaded")
            .detail(
                "The module is outside of the stack's directory, and uploaded files must be below that directory.",
            )
            .help("put the sources, or the module, below the stack's directory");
        return Err(Box::new(problem));
    }
    Ok(Name::new(way))
}

/// Returns the digest of a directory; each is read once, also after an error.
fn digest_of(context: &ConfigContext<'_>, path: &Name) -> Result<Name, SourceError> {
    if let Some(known) = context.directories.borrow().get(path) {
        return known.clone();
    }
    let digest = SourceTree::read(context.root_files, path)
        .and_then(|tree| source_dir::directory_digest(context.root_files, tree));
    let digest = digest.map(Name::from);
    context.directories.borrow_mut().insert(path.clone(), digest.clone());
    digest
}

/// Returns the unknown value that replaces a value with a problem.
fn placeholder_value() -> ResolvedValue {
    Value::unknown(Vec::new()).into()
}
