//! Secret sinks that are files: which paths are refused, and which sinks would overwrite each other. Pure.
//!
//! In: the sinks of a resolved stack, with the spans where they were written. Out: diagnostics. The invariant: two
//! secrets never share a target, in whatever spelling, and none is a file of the stack. Which other files are
//! refused, `input::sink_path` decides when a sink is read.

use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::input::sink_path::fold_path;
use crate::config::stack::model::{DeferredSecret, Resource, SecretOrigin, SecretSink, SinkUse};
use crate::model::address::{Address, Name};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Sources, Span};

/// Target of a secret sink that is a file, normalized: all spellings of one path have the same target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SinkTarget {
    /// Path of the file below the stack's directory, without `.` and in lower case.
    pub file: String,
    /// Name of the variable in an env file; `None` if the whole file is the secret.
    pub variable: Option<Name>,
}

/// Returns the target of a sink that is a file; `None` for a program.
#[must_use]
pub fn target_of(sink: &SecretSink) -> Option<SinkTarget> {
    let (path, variable) = match sink {
        SecretSink::File(path) => (path, None),
        SecretSink::EnvFile { path, variable } => (path, Some(variable.clone())),
        SecretSink::Program(_) => return None,
    };
    Some(SinkTarget { file: fold_path(path), variable })
}

/// Returns the text that a plan shows for a sink: its path or the program's name, never a secret.
#[must_use]
pub fn describe_sink(sink: &SecretSink) -> String {
    match sink {
        SecretSink::File(path) => path.clone(),
        SecretSink::EnvFile { path, variable } => format!("{path} as {variable}"),
        SecretSink::Program(name) => format!("the sink {name}"),
    }
}

impl SinkTarget {
    /// Returns the key under which a ledger records that the secret was delivered to this target. It is stored, so
    /// its form must not change.
    #[must_use]
    pub fn key(&self) -> Name {
        match &self.variable {
            None => Name::new(&self.file),
            // `#` separates the two parts unambiguously: no variable's name contains one.
            Some(variable) => Name::new(format!("{}#{variable}", self.file)),
        }
    }

    /// Returns whether delivering to both targets would lose one of the two secrets.
    fn collides_with(&self, other: &Self) -> bool {
        if self.file != other.file {
            let inside = |a: &str, b: &str| b.strip_prefix(a).is_some_and(|rest| rest.starts_with('/'));
            return inside(&self.file, &other.file) || inside(&other.file, &self.file);
        }
        // Two lines of one env file are two targets; a whole file leaves no line of it.
        match (&self.variable, &other.variable) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        }
    }
}

/// Index of targets by file, so that a collision is found without comparing all pairs.
#[derive(Default)]
struct SinkTargetIndex<'a>(BTreeMap<String, Vec<(&'a SinkUse, SinkTarget)>>);

impl<'a> SinkTargetIndex<'a> {
    fn add_use(&mut self, one: &'a SinkUse, target: SinkTarget) {
        self.0.entry(target.file.clone()).or_default().push((one, target));
    }

    /// Returns a sink that would overwrite the secret of `target`, or whose secret `target` would overwrite; `None`
    /// if both could be delivered.
    fn find_collision(&self, target: &SinkTarget) -> Option<&'a SinkUse> {
        let file = target.file.as_str();
        let above = file.match_indices('/').filter_map(|(at, _)| self.0.get(&file[..at]));
        // All paths inside `file` as a directory: they begin with its name and `/`, and `0`
        // is the character after `/`.
        let below = self.0.range(format!("{file}/")..format!("{file}0")).map(|(_, all)| all);
        let all = self.0.get(file).into_iter().chain(above).chain(below).flatten();
        all.into_iter().find(|(_, known)| known.collides_with(target)).map(|(one, _)| *one)
    }
}

/// Returns the sinks of a stack, those of resources before those of variables, each with the span
/// of its `deliver_secret` entry.
pub(in crate::config) fn sink_uses(
    resources: &[Resource],
    deferred: &BTreeMap<Name, DeferredSecret>,
    spans: &BTreeMap<Name, Span>,
) -> Vec<SinkUse> {
    let of_resources = resources.iter().filter_map(|resource| {
        let sink = resource.deliver_secret.as_deref()?.clone();
        let span = spans.get(resource.address.as_str()).copied().unwrap_or(resource.span);
        Some(SinkUse { address: Name::new(resource.address.as_str()), sink, span })
    });
    let of_variables = deferred.iter().filter_map(|(name, deferred)| {
        let SecretOrigin::Generated { deliver: Some(sink), .. } = &deferred.origin else { return None };
        let address = Name::new(Address::new("vars", name).as_str());
        let span = spans.get(&address).copied().unwrap_or(deferred.span);
        Some(SinkUse { address, sink: sink.clone(), span })
    });
    of_resources.chain(of_variables).collect()
}

/// Returns the problems with the sinks of one environment: two that share a target, and sinks that overwrite a file
/// that the stack was read from.
pub(in crate::config) fn check(uses: &[SinkUse], sources: &Sources) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let files: Vec<String> = sources.iter().map(|(_, source)| fold_path(&source.path)).collect();
    let mut targets = SinkTargetIndex::default();
    for one in uses {
        let Some(target) = target_of(&one.sink) else { continue };
        let is_source = |file: &&String| {
            file.strip_suffix(&target.file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        if let Some(file) = files.iter().find(is_source) {
            let detail = format!("`{file}` is read as a file of this stack, and would be overwritten.");
            found.push(
                Diagnostic::error(codes::CONFINED_PATH, "this path cannot be used")
                    .with_label(one.span, "")
                    .detail(detail)
                    .help("deliver the secret to a file of its own, such as `./secrets/NAME`"),
            );
        }
        if let Some(first) = targets.find_collision(&target) {
            let detail = format!(
                "`{}` and `{}` are both delivered to `{}`: one of the two secrets would be lost.",
                first.address,
                one.address,
                describe_sink(&one.sink)
            );
            let problem = shared_target(one.span, detail);
            found.push(if first.span == one.span {
                problem.help("with `for_each`, write `${each.key}` into the path")
            } else {
                problem
                    .with_label(first.span, "delivered here, too")
                    .help("give each secret a file of its own")
            });
        }
        targets.add_use(one, target);
    }
    found
}

/// Returns a problem for each sink of `environment` that shares a target with a sink of the environment `other`:
/// each has a ledger of its own, and they would overwrite each other's secrets.
#[must_use]
pub fn shared_with(own: &[SinkUse], environment: &str, other: &str, others: &[SinkUse]) -> Vec<Diagnostic> {
    let mut taken = SinkTargetIndex::default();
    for one in others {
        if let Some(target) = target_of(&one.sink) {
            taken.add_use(one, target);
        }
    }
    let collides =
        |one: &&SinkUse| target_of(&one.sink).is_some_and(|target| taken.find_collision(&target).is_some());
    let problem = |one: &SinkUse| {
        let detail = format!(
            "The environments `{environment}` and `{other}` both deliver the secret of `{}` to `{}`, and would \
             overwrite each other's.",
            one.address,
            describe_sink(&one.sink)
        );
        shared_target(one.span, detail)
            .help("write `${env}` into the path, such as `./secrets/${env}/NAME`")
    };
    own.iter().filter(collides).map(problem).collect()
}

fn shared_target(span: Span, detail: String) -> Diagnostic {
    Diagnostic::error(codes::DELIVER_SECRET, "two secrets have one target")
        .with_label(span, "")
        .detail(detail)
}

/// Returns the warning about a sink that git does not ignore; `line` is what to add to `file`, the ignore file.
#[must_use]
pub fn not_ignored(one: &SinkUse, file: &str, line: &str) -> Diagnostic {
    Diagnostic::warning(codes::DELIVER_SECRET, "git would commit a secret")
        .with_label(one.span, "")
        .detail(format!(
            "The secret of `{}` is delivered to `{}`, which git does not ignore.",
            one.address,
            describe_sink(&one.sink)
        ))
        .help(format!("add the line `{line}` to {file}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::SourceId;

    fn file(path: &str) -> SecretSink {
        SecretSink::File(path.to_owned())
    }

    fn line(path: &str, variable: &str) -> SecretSink {
        SecretSink::EnvFile { path: path.to_owned(), variable: variable.into() }
    }

    #[test]
    fn two_sinks_collide_where_one_secret_would_be_lost() {
        let collide =
            |a: &SecretSink, b: &SecretSink| target_of(a).unwrap().collides_with(&target_of(b).unwrap());
        for (a, b) in [
            (file("a"), file("./A")),
            (file("x//y"), file("x/./Y")),
            (file(".env"), line(".env", "A")),
            (line(".env", "A"), line("./.ENV", "A")),
            (file("x"), file("x/y")),
        ] {
            assert!(collide(&a, &b) && collide(&b, &a), "{a:?} {b:?}");
        }
        for (a, b) in
            [(file("a"), file("b")), (line(".env", "A"), line(".env", "B")), (file("x"), file("xy/z"))]
        {
            assert!(!collide(&a, &b) && !collide(&b, &a), "{a:?} {b:?}");
        }
        let span = Span { source: SourceId(0), start: 0, end: 0 };
        let uses: Vec<SinkUse> = ["x/y", "b", "x", "c/d/e", "c", "xy", "x-y"]
            .iter()
            .map(|path| SinkUse { address: Name::new(*path), sink: file(path), span })
            .collect();
        let found = check(&uses, &Sources::default());
        assert_eq!(found.len(), 2, "{found:?}");
        let key = |sink: &SecretSink| target_of(sink).unwrap().key();
        assert_ne!(key(&line("a", "B")), key(&file("a")));
    }
}
