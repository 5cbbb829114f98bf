//! Values that are read but not managed: `data` (objects found by their attributes) and `stacks` (outputs
//! of other stacks). Both are references whose values are known after the live
//! objects and ledgers were read.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::config::diagnostics::collector::InstanceContext;
use crate::config::diagnostics::{codes, messages};
use crate::config::input::config_path::{ConfigPath, ConfigPathError};
use crate::config::keywords;
use crate::config::merge::blocks::{KindEntries, NamedEntries, not_a_block};
use crate::config::resolve::evaluator::Evaluator;
use crate::config::resolve::scope::{EvaluationSite, ResolvedValue};
use crate::config::stack::model::{DataLookup, OtherStack};
use crate::config::syntax::document::{DocumentEntry, Node, named_entries};
use crate::config::types::scalar;
use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::cel::{PathSegment, ReferencePath};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::{Expression, Reference};
use crate::model::schema::{Attribute, Kind, Type};
use crate::model::source::Span;
use crate::model::value::Value;

/// All data lookups and remote stack outputs.
#[derive(Default)]
pub(in crate::config) struct DataSources {
    /// Objects that are found by their attributes.
    pub(in crate::config) data: BTreeMap<Address, DataLookup>,
    /// Other stacks, by name.
    pub(in crate::config) stacks: BTreeMap<Name, OtherStack>,
    /// Referenced outputs of other stacks, each with the span of its first use.
    reads: RefCell<BTreeMap<Name, BTreeMap<Name, Span>>>,
}

impl DataSources {
    /// Returns the other stacks with the outputs that are read.
    pub(in crate::config) fn into_stacks(self) -> BTreeMap<Name, OtherStack> {
        let mut reads = self.reads.into_inner();
        let with = |(name, other): (Name, OtherStack)| {
            let reads = reads.remove(&name).unwrap_or_default();
            (name, OtherStack { reads, ..other })
        };
        self.stacks.into_iter().map(with).collect()
    }
}

impl<'d> Evaluator<'d> {
    /// Declares the lookups of a stack or module, so that references to them are known.
    pub(in crate::config) fn declare_data(&mut self, data: &KindEntries<'d>) {
        for (kind, entries) in data.values() {
            for (name, entry) in entries {
                let address = self.data_address(kind.name, name);
                let lookup = DataLookup { kind, fields: BTreeMap::new(), span: entry.key_span };
                self.externals.data.insert(address, lookup);
            }
        }
    }

    fn data_address(&self, kind: &str, name: &str) -> Address {
        Address::new("data", kind).join(name).in_module(&self.scope.prefix)
    }

    /// Resolves the attributes by which the lookups find objects.
    pub(in crate::config) fn resolve_data(&mut self, data: &KindEntries<'d>) {
        for (kind, entries) in data.values() {
            for (name, entry) in entries {
                let address = self.data_address(kind.name, name);
                let fields = self.resolve_lookup_fields(kind, &address, entry);
                if let Some(lookup) = self.externals.data.get_mut(&address) {
                    lookup.fields = fields;
                }
            }
        }
    }

    fn resolve_lookup_fields(
        &self,
        kind: &'static Kind,
        address: &Address,
        entry: &'d DocumentEntry,
    ) -> BTreeMap<Name, Expression> {
        let mut fields = BTreeMap::new();
        let Some(entries) = named_entries(&entry.value) else {
            self.problems.push(not_a_block(&entry.key, &entry.value));
            return fields;
        };
        let instance = InstanceContext { address, key: None };
        let frame = EvaluationSite { each: None, instance: Some(instance), early: Some("a lookup") };
        for field in entries {
            let Some(value) = self.resolve_lookup_field(kind, field, frame) else { continue };
            let plain = |value: &Value| !value.is_secret() && *value != Value::Null;
            if !value.expression.known_value().is_some_and(plain) {
                self.report_problem(
                    frame,
                    Diagnostic::error(
                        codes::DATA,
                        "the attributes of a lookup must be known before anything is read",
                    )
                    .with_label(field.value.span, "")
                    .detail(
                        "A lookup takes plain values: variables, locals and texts that are not secret.",
                    ),
                );
                continue;
            }
            fields.insert(field.key.clone(), value.expression);
        }
        if entries.is_empty() {
            self.report_problem(
                frame,
                Diagnostic::error(codes::DATA, "a lookup has no attributes to search by")
                    .with_label(entry.key_span, "")
                    .help("write the attributes to search by: `{ name: … }` or `{ id: … }`"),
            );
        }
        fields
    }

    /// Resolves one attribute that an object is found by.
    fn resolve_lookup_field(
        &self,
        kind: &'static Kind,
        field: &'d DocumentEntry,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<ResolvedValue> {
        if field.key == "id" || field.key == "project" {
            return self.resolve_untyped(&field.value, frame);
        }
        let attribute = kind.attribute(&field.key);
        let Some(attribute) = attribute.filter(|attribute| is_seen(attribute) && !attribute.secret) else {
            self.report_problem(frame, no_field(kind, field));
            return None;
        };
        match &attribute.ty {
            // Live objects contain ids, so the written value is compared with them unchanged.
            Type::Catalog(_) | Type::Reference(_) => self.resolve_untyped(&field.value, frame),
            ty => self.resolve_typed(ty, &field.value, frame),
        }
    }

    /// Declares the other stacks whose outputs are referenced.
    pub(in crate::config) fn declare_stacks(&mut self, stacks: &NamedEntries<'d>) {
        for (name, entry) in stacks {
            if let Some(other) = self.other_stack(entry) {
                self.externals.stacks.insert(name.clone(), other);
            }
        }
    }

    fn other_stack(&self, entry: &'d DocumentEntry) -> Option<OtherStack> {
        let wrong = |span: Span, detail: &str| {
            self.problems.push(
                Diagnostic::error(codes::STACKS, "this does not name another stack")
                    .with_label(span, "")
                    .detail(detail)
                    .help("write `stacks: { net: ../network }`, or `{ net: { source: ../network, env: prod } }`"),
            );
        };
        let text = |node: &Node| {
            node.scalar().map(|scalar| scalar.text.clone()).filter(|text| !text.contains('$'))
        };
        let mut directory = text(&entry.value);
        let mut environment = None;
        for key in entry.value.entries().unwrap_or_default() {
            match key.key.as_str() {
                "source" => directory = text(&key.value),
                "env" => {
                    environment = text(&key.value).filter(|name| is_legal_segment(name));
                    if environment.is_none() {
                        wrong(
                            key.value.span,
                            "`env` is the name of one of its environments, as a literal.",
                        );
                        return None;
                    }
                }
                _ => self.problems.push(messages::unknown_word(key, keywords::STACK)),
            }
        }
        let Some(directory) = directory else {
            wrong(entry.value.span, "It takes the directory of a stack, as a literal.");
            return None;
        };
        match ConfigPath::new(self.read.path_from_root()).join(&directory) {
            Ok(place) => Some(OtherStack {
                directory: Name::new(place.path().to_string_lossy()),
                shown: directory,
                environment,
                span: entry.value.span,
                reads: BTreeMap::new(),
            }),
            Err(ConfigPathError::Outside) => {
                wrong(
                    entry.value.span,
                    "The path is outside of the root directory for shared configuration; `--allow-outside` permits it.",
                );
                None
            }
            Err(ConfigPathError::NotPlain) => {
                wrong(entry.value.span, "It takes a relative path with `/` between its parts.");
                None
            }
        }
    }

    /// Resolves `$data.KIND.NAME…` and `$stacks.NAME.OUTPUT…`.
    pub(in crate::config) fn external_path(
        &self,
        root: &Name,
        steps: &[Name],
        path: &[Name],
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<ResolvedValue> {
        let (reference, used) = self.external_reference(root, steps, span, frame)?;
        if steps.len() > used {
            return self.deep_path(path, span, frame);
        }
        Some(Expression::Reference(reference).into())
    }

    /// Returns the reference for a path in an expression, and the path at which its value is bound.
    pub(in crate::config) fn resolve_external(
        &self,
        path: &ReferencePath,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<(Name, Reference)> {
        let steps: Vec<Name> = path
            .segments
            .iter()
            .map_while(|segment| match segment {
                PathSegment::Name(name) => Some(name.clone()),
                PathSegment::Computed(_) => None,
            })
            .collect();
        let (reference, used) = self.external_reference(&path.root, &steps, span, frame)?;
        let place = steps.iter().take(used).fold(path.root.to_string(), |place, step| place + "." + step);
        Some((Name::new(place), reference))
    }

    /// Returns the reference, and how many steps of the path it uses.
    fn external_reference(
        &self,
        root: &Name,
        steps: &[Name],
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<(Reference, usize)> {
        if !self.is_late(frame, if root == "data" { "looked up object" } else { "stack" }, span) {
            return None;
        }
        if root == "data" {
            let [kind, name, rest @ ..] = steps else {
                return self.report_incomplete_reference(
                    codes::DATA,
                    "a lookup",
                    "$data.KIND.NAME",
                    span,
                    frame,
                );
            };
            let address = self.data_address(kind, name);
            let prefix = &self.scope.prefix;
            let Some(lookup) = self.externals.data.get(&address) else {
                let known = self.externals.data.keys().filter_map(|address| address.strip_module(prefix));
                let written = address.strip_module(prefix).unwrap_or_default();
                self.undeclared_external(written, known, span, frame);
                return None;
            };
            let attribute = rest.first().cloned();
            if let Some(name) = attribute.as_ref() {
                if !self.has_attribute(lookup.kind, name, span, frame) {
                    return None;
                }
                if name != "id" && !lookup.kind.attribute(name).is_some_and(is_seen) {
                    self.report_problem(frame, not_seen(lookup.kind, name, span));
                    return None;
                }
            }
            let used = 2 + usize::from(attribute.is_some());
            return Some((Reference { address, attribute }, used));
        }
        let [name, output, ..] = steps else {
            return self.report_incomplete_reference(
                codes::STACKS,
                "an output of a stack",
                "$stacks.NAME.OUTPUT",
                span,
                frame,
            );
        };
        if !self.externals.stacks.contains_key(name) {
            let known: Vec<String> =
                self.externals.stacks.keys().map(|name| format!("stacks.{name}")).collect();
            let written = format!("stacks.{name}");
            self.undeclared_external(&written, known.iter().map(String::as_str), span, frame);
            return None;
        }
        let mut reads = self.externals.reads.borrow_mut();
        reads.entry(name.clone()).or_default().entry(output.clone()).or_insert(span);
        let address = Address::new("stacks", name);
        Some((Reference { address, attribute: Some(output.clone()) }, 2))
    }

    fn report_incomplete_reference<T>(
        &self,
        code: &'static str,
        what: &str,
        form: &str,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) -> Option<T> {
        self.report_problem(
            frame,
            Diagnostic::error(code, "a reference is incomplete")
                .with_label(span, "")
                .help(format!("name {what}: `{form}`")),
        );
        None
    }

    fn undeclared_external<'n>(
        &self,
        written: &str,
        known: impl Iterator<Item = &'n str>,
        span: Span,
        frame: EvaluationSite<'_, 'd>,
    ) {
        let problem = Diagnostic::error(codes::UNKNOWN_RESOURCE, "there is no lookup of this name")
            .with_label(span, "")
            .detail(format!("No block declares {written}."));
        self.report_problem(
            frame,
            match nearest_name(written, known) {
                Some(near) => problem.help(format!("did you mean `${near}`?")),
                None => problem.help("declare it under `data` or `stacks`"),
            },
        );
    }
}

/// Returns whether the service's lists contain an attribute: a data lookup reads nothing else.
fn is_seen(attribute: &Attribute) -> bool {
    attribute.listed && attribute.is_readable()
}

fn not_seen(kind: &Kind, name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::DATA, "a lookup cannot read this attribute")
        .with_label(span, "")
        .detail(format!(
            "When the service lists objects of kind {}, it does not return `{name}`.",
            kind.name
        ))
        .help(
            "pass the value as a variable, or read it from an output of the stack that manages the object",
        )
}

fn no_field(kind: &Kind, field: &DocumentEntry) -> Diagnostic {
    let known: Vec<&str> = kind
        .attributes
        .iter()
        .filter(|attribute| is_seen(attribute) && !attribute.secret)
        .map(|attribute| attribute.name)
        .chain(["id", "project"])
        .collect();
    let problem = Diagnostic::error(codes::DATA, "a lookup names an unknown attribute")
        .with_label(field.key_span, "")
        .detail(format!(
            "{} has no attribute `{}` to search by.",
            scalar::with_article(kind.name),
            field.key
        ));
    match nearest_name(&field.key, known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")).fix(field.key_span, near),
        None => problem.help(format!("it has: {}", known.join(", "))),
    }
}
