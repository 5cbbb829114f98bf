//! Values that are read but not managed: `data` (objects found by their attributes) and `stacks` (outputs of other
//! stacks). In: the blocks. Out: what to read. References to both wait until the live objects and ledgers were
//! read; the attributes of a lookup must be known before.

use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::diagnostics::messages;
use crate::config::input::config_path::{ConfigPath, ConfigPathError};
use crate::config::keywords;
use crate::config::merge::blocks::{KindEntries, NamedEntries, not_a_block};
use crate::config::resolve::blocks::attributes::resolve_typed;
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::{EvaluationSite, ModuleScope, ResolvedValue};
use crate::config::resolve::external_references::{data_address, is_seen};
use crate::config::resolve::untyped_values::resolve_untyped;
use crate::config::stack::model::{DataLookup, OtherStack};
use crate::config::syntax::document::{DocumentEntry, Node, named_entries};
use crate::config::types::scalar;
use crate::model::address::{Address, Name, is_legal_segment};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Expression;
use crate::model::schema::{Kind, Type};
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Returns the lookups of a stack or module, by address, still without their attributes: references to them are
/// checked while blocks are resolved.
pub(in crate::config) fn declared_lookups(
    scope: &ModuleScope,
    data: &KindEntries<'_>,
) -> BTreeMap<Address, DataLookup> {
    let mut lookups = BTreeMap::new();
    for (kind, entries) in data.values() {
        for (name, entry) in entries {
            let lookup = DataLookup { kind, fields: BTreeMap::new(), span: entry.key_span };
            lookups.insert(data_address(scope, kind.name, name), lookup);
        }
    }
    lookups
}

/// Returns the lookups of a stack or module, by address, with the attributes by which they find objects. An
/// attribute with a problem is reported and left out.
pub(in crate::config) fn resolve_lookups<'d>(
    evaluator: &Evaluator<'_, 'd>,
    data: &KindEntries<'d>,
) -> BTreeMap<Address, DataLookup> {
    let mut lookups = BTreeMap::new();
    for (kind, entries) in data.values() {
        for (name, entry) in entries {
            let address = data_address(evaluator.scope, kind.name, name);
            let fields = resolve_lookup_fields(evaluator, kind, &address, entry);
            lookups.insert(address, DataLookup { kind, fields, span: entry.key_span });
        }
    }
    lookups
}

fn resolve_lookup_fields<'d>(
    evaluator: &Evaluator<'_, 'd>,
    kind: &'static Kind,
    address: &Address,
    entry: &'d DocumentEntry,
) -> BTreeMap<Name, Expression> {
    let mut fields = BTreeMap::new();
    let Some(entries) = named_entries(&entry.value) else {
        evaluator.context.problems.push(not_a_block(&entry.key, &entry.value));
        return fields;
    };
    let instance = InstanceContext { address, key: None };
    let site = EvaluationSite { each: None, instance: Some(instance), early: Some("a lookup") };
    // Its other fields may use `each`: that they may not is no second problem.
    if let Some(field) = entries.iter().find(|field| field.key == "for_each") {
        evaluator.context.report_problem(
            site,
            Diagnostic::error(codes::DATA, "a lookup has no `for_each`")
                .with_label(field.key_span, "")
                .detail("A lookup finds one object.")
                .help("write a lookup for each object"),
        );
        return fields;
    }
    for field in entries {
        let Some(value) = resolve_lookup_field(evaluator, kind, field, site) else { continue };
        // Messages and plans name the attributes of a lookup, so a secret cannot be one.
        let plain = |value: &Value| !value.is_secret() && *value != Value::Null;
        if !value.expression.known_value().is_some_and(plain) {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(
                    codes::DATA,
                    "the attributes of a lookup must be known before anything is read",
                )
                .with_label(field.value.span, "")
                .detail("A lookup takes plain values: variables, locals and texts that are not secret."),
            );
            continue;
        }
        fields.insert(field.key.clone(), value.expression);
    }
    // Without attributes the lookup would find every object of its kind.
    if entries.is_empty() {
        evaluator.context.report_problem(
            site,
            Diagnostic::error(codes::DATA, "a lookup has no attributes to search by")
                .with_label(entry.key_span, "")
                .help("write the attributes to search by: `{ name: … }` or `{ id: … }`"),
        );
    }
    fields
}

/// Resolves one attribute by which an object is found. `None` after a problem that was reported.
fn resolve_lookup_field<'d>(
    evaluator: &Evaluator<'_, 'd>,
    kind: &'static Kind,
    field: &'d DocumentEntry,
    site: EvaluationSite<'_, 'd>,
) -> Option<ResolvedValue> {
    if field.key == "id" || field.key == "project" {
        return resolve_untyped(evaluator, &field.value, site);
    }
    let attribute = kind.attribute(&field.key);
    let Some(attribute) = attribute.filter(|attribute| is_seen(attribute) && !attribute.secret) else {
        evaluator.context.report_problem(site, no_field(kind, field));
        return None;
    };
    match &attribute.ty {
        // Live objects contain ids, so the written value is compared with them unchanged.
        Type::Catalog(_) | Type::Reference(_) => resolve_untyped(evaluator, &field.value, site),
        ty => resolve_typed(evaluator, ty, &field.value, site),
    }
}

/// Returns the other stacks that the stack declares, by name; one with a problem is reported, and absent.
pub(in crate::config) fn declared_stacks(
    context: &ConfigContext<'_>,
    stacks: &NamedEntries<'_>,
) -> BTreeMap<Name, OtherStack> {
    let declared =
        |(name, entry): (&Name, &&DocumentEntry)| Some((name.clone(), other_stack(context, entry)?));
    stacks.iter().filter_map(declared).collect()
}

fn other_stack(context: &ConfigContext<'_>, entry: &DocumentEntry) -> Option<OtherStack> {
    let place = ConfigPath::new(context.root_files.path_from_root());
    for key in entry.value.entries().unwrap_or_default() {
        if !matches!(key.key.as_str(), "source" | "env") {
            context.problems.push(messages::unknown_word(key, keywords::STACK));
        }
    }
    written_stack(entry, &place).map_err(|problem| context.problems.push(*problem)).ok()
}

/// Returns the other stack that an entry names, in a stack whose directory is `place`; what is read of it is not known.
///
/// # Errors
/// A diagnostic if it names none.
pub(in crate::config) fn written_stack(
    entry: &DocumentEntry,
    place: &ConfigPath,
) -> Result<OtherStack, Box<Diagnostic>> {
    let wrong = |span: Span, detail: &str| {
        Box::new(
            Diagnostic::error(codes::STACKS, "this does not name another stack")
                .with_label(span, "")
                .detail(detail)
                .help(
                    "write `stacks: { net: ../network }`, or `{ net: { source: ../network, env: prod } }`",
                ),
        )
    };
    let text =
        |node: &Node| node.scalar().map(|scalar| scalar.text.clone()).filter(|text| !text.contains('$'));
    let mut directory = text(&entry.value);
    let mut environment = None;
    for key in entry.value.entries().unwrap_or_default() {
        match key.key.as_str() {
            "source" => directory = text(&key.value),
            "env" => {
                environment = text(&key.value).filter(|name| is_legal_segment(name));
                if environment.is_none() {
                    return Err(wrong(
                        key.value.span,
                        "`env` is the name of one of its environments, as a literal.",
                    ));
                }
            }
            _ => {}
        }
    }
    let Some(directory) = directory else {
        return Err(wrong(entry.value.span, "It takes the directory of a stack, as a literal."));
    };
    match place.join(&directory) {
        Ok(place) => Ok(OtherStack {
            directory: Name::new(place.path().to_string_lossy()),
            shown: directory,
            environment,
            span: entry.value.span,
            reads: BTreeMap::new(),
        }),
        Err(ConfigPathError::Outside) => Err(wrong(
            entry.value.span,
            "The path is outside of the root directory for shared configuration, the nearest with `.git`, else the stack's own; `git init` in the directory above both stacks makes it the root, and `--allow-outside` permits any path.",
        )),
        Err(ConfigPathError::NotPlain) => {
            Err(wrong(entry.value.span, "It takes a relative path with `/` between its parts."))
        }
    }
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
