//! Tests of `load` over a registry of invented kinds: what a configuration resolves to, and the
//! message of every mistake.

#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    clippy::too_many_lines,
    reason = "tables of expected messages are long, and are written plainly"
)]

mod bad;
mod blocks;
mod declarations;
mod elsewhere;
mod expressions;
mod invented;
mod laws;
mod lists;
mod modules;
mod moves;
mod origins;
mod policies;
mod service;
mod set;
mod sources;
mod unused;
mod variables;
mod vocabulary;
mod words;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::load;
use crate::config::input::files::{DirectoryEntry, DirectoryEntryKind, Files};
use crate::config::input::request::LoadRequest;
use crate::config::stack::model::Stack;
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::expression::Expression;
use crate::model::schema::Registry;
use crate::model::source::{Source, Sources};
use crate::model::values::secret::Secret;

/// Header of the first file of every test, without which the stack has no name.
const HEAD: &str = "stead: 1\nstack: test\n";

/// Files in the stack's directory, besides the configuration: two texts and the source directory `app`.
pub(super) struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str() {
            Some("secret.txt" | "./secret.txt") => Ok(b"canary-file\n".to_vec()),
            Some("motd.txt") => Ok(b"hello".to_vec()),
            Some("app/main.py") => Ok(b"print()".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let listed = |name: &str, what| Ok(vec![DirectoryEntry { name: name.into(), what }]);
        match path.to_str() {
            Some("app") => listed("main.py", DirectoryEntryKind::File { size: 7, executable: false }),
            Some("app/odd") => listed("pipe", DirectoryEntryKind::Special),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Builder of a test's configuration: files, registry and request. `stack`, `resolved` and `problems` load it.
pub(super) struct Config {
    registry: Registry,
    files: Vec<(String, String)>,
    request: LoadRequest,
    repository: modules::Repository,
}

/// Returns a configuration with one YAML file: the header and `text`.
pub(super) fn yaml(text: &str) -> Config {
    Config {
        registry: invented::REGISTRY,
        files: vec![("a.stead.yaml".into(), format!("{HEAD}{text}"))],
        request: LoadRequest::default(),
        repository: modules::Repository::default(),
    }
}

impl Config {
    pub(super) fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Adds a file of the repository. The stack's directory is `stacks/shop` in it then, and `Disk` is not used.
    pub(super) fn shared(mut self, path: &str, text: &str) -> Self {
        self.repository.files.insert(path.into(), text.into());
        self
    }

    pub(super) fn without_yaml(mut self) -> Self {
        self.files.clear();
        self
    }

    /// Removes the header from the first file.
    pub(super) fn bare(mut self) -> Self {
        self.files[0].1 = self.files[0].1[HEAD.len()..].to_owned();
        self
    }

    pub(super) fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    pub(super) fn env(mut self, name: &str) -> Self {
        self.request.environment = Some(Name::new(name));
        self
    }

    pub(super) fn var(mut self, name: &str, text: &str) -> Self {
        self.request.vars.insert(Name::new(name), text.into());
        self
    }

    pub(super) fn env_var(mut self, name: &str, text: &str) -> Self {
        self.request.env_vars.insert(Name::new(name), Secret::new(text));
        self
    }

    /// Adds a variable file; the last one added has the highest precedence.
    pub(super) fn var_file(mut self, text: &str) -> Self {
        self.request.var_files.push((format!("vars{}.yaml", self.request.var_files.len()), text.into()));
        self
    }

    pub(super) fn request(mut self, change: impl FnOnce(&mut LoadRequest)) -> Self {
        change(&mut self.request);
        self
    }

    fn load(&self) -> (Option<Stack>, Vec<Diagnostic>, Sources) {
        let mut sources = Sources::default();
        for (path, text) in &self.files {
            sources.add(Source::new(path.clone(), text.as_str()));
        }
        let files: &dyn Files = if self.repository.files.is_empty() { &Disk } else { &self.repository };
        match load(self.registry, sources, &self.request, files) {
            Ok((stack, warnings)) => {
                let sources = stack.sources.clone();
                (Some(stack), warnings, sources)
            }
            Err(rejected) => (None, rejected.diagnostics, rejected.sources),
        }
    }

    /// Returns the stack; panics with the problems if there are errors.
    pub(super) fn stack(&self) -> Stack {
        let (stack, diagnostics, sources) = self.load();
        stack.unwrap_or_else(|| panic!("{}", shown(&diagnostics, &sources)))
    }

    /// Returns every resource and output, one in each line; panics if there are errors.
    pub(super) fn resolved(&self) -> String {
        let stack = self.stack();
        let mut lines = Vec::new();
        for resource in stack.resources.values() {
            let attributes: Vec<_> = resource
                .attributes
                .iter()
                .map(|(name, setting)| format!("{name}={}", expression(&setting.expression)))
                .collect();
            lines.push(format!("{} {}", resource.address, attributes.join(" ")));
        }
        for (name, output) in &stack.outputs {
            lines.push(format!("output {name}={}", expression(&output.expression)));
        }
        lines.join("\n")
    }

    /// Returns every problem, one in each line: `code line:column summary [labels] | detail | help |
    /// fix`; empty without any.
    pub(super) fn problems(&self) -> String {
        let (_, diagnostics, sources) = self.load();
        shown(&diagnostics, &sources)
    }
}

/// Returns a short form of an expression: `cel(source | bindings | objects waiting)` for one that waits.
pub(super) fn expression(expression: &Expression) -> String {
    let all = |parts: &[Expression]| parts.iter().map(self::expression).collect::<Vec<_>>().join(", ");
    match expression {
        Expression::Value(value) => value.to_string(),
        Expression::Reference(reference) => match &reference.attribute {
            Some(attribute) => format!("${}:{attribute}", reference.address),
            None => format!("${}", reference.address),
        },
        Expression::Text(parts) => format!("text({})", all(parts)),
        Expression::List(parts) => format!("list({})", all(parts)),
        Expression::Map(map) => {
            let parts: Vec<_> =
                map.iter().map(|(key, part)| format!("{key}: {}", self::expression(part))).collect();
            format!("map({})", parts.join(", "))
        }
        Expression::Cel(cel) => {
            let bindings: BTreeMap<_, _> =
                cel.bindings.iter().map(|(k, v)| (k.as_str(), v.to_string())).collect();
            let bindings: Vec<_> = bindings.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            let objects: Vec<_> = cel.objects.iter().map(ToString::to_string).collect();
            let waiting: Vec<_> = cel
                .waiting
                .iter()
                .map(|(path, part)| format!(" {path}={}", self::expression(part)))
                .collect();
            format!(
                "cel({} | {} | {}{})",
                cel.source,
                bindings.join(", "),
                objects.join(", "),
                waiting.concat()
            )
        }
    }
}

fn shown(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let line = |diagnostic: &Diagnostic| {
        let place = diagnostic.span().and_then(|span| sources.location_of(span));
        let place = place.map_or("-".to_owned(), |place| format!("{}:{}", place.line, place.column));
        let mut text = format!("{} {place} {}", diagnostic.code, diagnostic.summary);
        for label in &diagnostic.labels {
            if !label.text.is_empty() {
                let place = sources.location_of(label.span).unwrap();
                text.push_str(&format!(" [{}:{} {}]", place.line, place.column, label.text));
            }
        }
        for part in [&diagnostic.detail, &diagnostic.help].into_iter().flatten() {
            text.push_str(&format!(" | {part}"));
        }
        if let Some(fix) = &diagnostic.fix {
            let word = if fix.sure { "fix" } else { "fix, unsure" };
            text.push_str(&format!(" | {word}: {}", fix.replacement));
        }
        text
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}
