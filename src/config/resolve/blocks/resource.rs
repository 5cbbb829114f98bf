//! Resolution of declared blocks to `Resource`s: every attribute is typed, every keyword is read. In: a range of
//! the index. Out: one resource for each instance. A wrong attribute is unknown and not absent, so that no rule
//! reports it as missing.

use std::ops::Range;

use super::allowed_exposures::read_allowed_exposures;
use super::attributes::replaced_by;
use crate::config::codes;
use crate::config::diagnostics::collector::InstanceContext;
use crate::config::diagnostics::hints::other_tools;
use crate::config::diagnostics::messages;
use crate::config::keywords;
use crate::config::resolve::blocks::attributes::resolve_attribute;
use crate::config::resolve::blocks::lifecycle::{
    deliver_secret, project_of, read_lifecycle, secret_has_a_place,
};
use crate::config::resolve::blocks::lifecycle_lists::{depends_on, ignored_for_nothing};
use crate::config::resolve::blocks::override_values::{not_written, override_values, replaced_in};
use crate::config::resolve::blocks::source_digest::replace_with_digest;
use crate::config::resolve::context::block_index::{BlockExpansion, DeclaredBlock, Each};
use crate::config::resolve::context::evaluator::{ConfigContext, Evaluator};
use crate::config::resolve::context::scope::EvaluationSite;
use crate::config::stack::model::{AttributeSetting, Lifecycle, Resource};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue, ScalarForm};
use crate::config::types::scalar;
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::Expression;
use crate::model::schema::{Attribute, Kind, KindScope, PROJECT, Presence, Type};
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// Nodes of the budget that a resource is charged, besides its address.
const RESOURCE_NODES: usize = 32;
/// Nodes of the budget that each entry of a resource's block is charged, besides its value.
const ATTRIBUTE_NODES: usize = 2;

/// Keyword of a map whose keys the schema does not fix: it removes the live keys which the map does not name.
const EXCLUSIVE: &str = keywords::MAP[0].name;

/// Resolves every instance of the blocks with these indices, in order, and adds them to `resources`. Broken blocks have
/// none: their problems were reported. Once the budget is exceeded, which is reported, the rest is left out.
pub(in crate::config) fn resolve_blocks(
    evaluator: &Evaluator<'_, '_>,
    blocks: Range<usize>,
    resources: &mut Vec<Resource>,
) {
    resources.reserve(blocks.len());
    for block in blocks.filter_map(|n| evaluator.blocks.block_at(n)) {
        for (address, key, each) in block.instances() {
            let cost = RESOURCE_NODES + ATTRIBUTE_NODES * block.body().len();
            let charged = evaluator
                .context
                .budget
                .charge_nodes(cost)
                .and_then(|()| evaluator.context.budget.charge_text(address.as_str().len()));
            if evaluator
                .context
                .report_exceeded(charged, block.entry.key_span, EvaluationSite::top_level(None))
                .is_none()
            {
                return;
            }
            resources.push(resolve_resource(evaluator, block, address, key, each));
        }
    }
}

fn resolve_resource<'d>(
    evaluator: &Evaluator<'_, 'd>,
    block: &DeclaredBlock<'d>,
    address: Address,
    key: Option<Name>,
    each: Option<&Each<'d>>,
) -> Resource {
    let mut resource = Resource {
        address,
        kind: block.kind,
        parent: block.parent.as_ref().map(|parent| parent.address.clone()),
        key,
        attributes: NameMap::with_capacity(block.body().len() + 1),
        lifecycle: Lifecycle::default(),
        depends_on: Vec::new(),
        project: None,
        deliver_secret: None,
        allowed_exposures: Vec::new(),
        span: block.entry.key_span,
    };
    let address = resource.address.clone();
    let key = resource.key.clone().or_else(|| each.map(|each| each.key.clone()));
    let instance = InstanceContext { address: &address, key: key.as_ref() };
    let site = EvaluationSite { each, instance: Some(instance), early: None };
    let mut written: Vec<&str> = Vec::with_capacity(block.body().len());
    let overrides = override_values(evaluator, block, &address);
    for entry in block.body() {
        written.push(&entry.key);
        let replaced = replaced_in(evaluator.context, entry, &address, &overrides);
        resolve_entry(evaluator, block, replaced.as_ref().unwrap_or(entry), site, &mut resource);
    }
    not_written(evaluator.context, block, &address, &overrides);
    complete_resource(evaluator, block, &written, site, &mut resource);
    if !written.contains(&"deliver_secret") {
        secret_has_a_place(evaluator.context, block, site);
    }
    ignored_for_nothing(evaluator.context, &resource, site);
    resource
}

fn resolve_entry<'d>(
    evaluator: &Evaluator<'_, 'd>,
    block: &DeclaredBlock<'d>,
    entry: &DocumentEntry,
    site: EvaluationSite<'_, 'd>,
    resource: &mut Resource,
) {
    let kind = block.kind;
    if let Some(attribute) = kind.attribute(&entry.key) {
        if !attribute.is_writable() {
            evaluator.context.report_problem(site, computed_attribute_problem(kind, entry));
            return;
        }
        let rest = without_exclusive(attribute, &entry.value);
        let exclusive = rest.as_ref().is_some_and(|(_, exclusive)| *exclusive);
        let value = rest.as_ref().map_or(&entry.value, |(rest, _)| rest);
        let resolved = resolve_attribute(evaluator, attribute, value, site);
        let resolved =
            resolved.map(|r| replace_with_digest(evaluator, attribute, r, entry.value.span, site));
        // A wrong attribute still counts as written, so that no rule reports it as missing.
        let unknown = || Expression::Value(Value::unknown(Vec::new()));
        let (resolved, directory) = resolved.unwrap_or_else(|| (unknown().into(), None));
        let span = entry.value.span;
        let setting = AttributeSetting {
            expression: mark_sensitive(attribute, resolved.expression),
            span,
            set_by: resolved.origin.or_else(|| replaced_by(evaluator.context, span)).map(Box::new),
            parts: resolved.parts,
            directory: directory.map(Box::new),
            exclusive,
            is_read: false,
        };
        resource.attributes.insert(entry.key.clone(), setting);
        return;
    }
    match entry.key.as_str() {
        "for_each" | "when" => {}
        "lifecycle" => resource.lifecycle = read_lifecycle(evaluator, kind, &entry.value, site),
        "allow_exposure" => {
            resource.allowed_exposures =
                read_allowed_exposures(evaluator.context, kind, &entry.value, site);
        }
        "depends_on" => resource.depends_on = depends_on(evaluator, &entry.value, site),
        "project" => resource.project = project_of(evaluator, block, entry, site),
        "deliver_secret" => {
            let address = Name::new(resource.address.as_str());
            evaluator.context.sink_spans.borrow_mut().insert(address, entry.value.span);
            resource.deliver_secret = deliver_secret(evaluator, kind, entry, site).map(Box::new);
        }
        other if evaluator.context.registry.child(kind.name, other).is_some() => {}
        _ => evaluator.context.report_problem(site, unknown_attribute(evaluator.context, kind, entry)),
    }
}

/// Sets the default name, and reports required attributes that are missing, unless the block has one with nearly
/// their name, which is reported instead. `written` holds the keys of the block.
fn complete_resource<'d>(
    evaluator: &Evaluator<'_, 'd>,
    block: &DeclaredBlock<'d>,
    written: &[&str],
    site: EvaluationSite<'_, 'd>,
    resource: &mut Resource,
) {
    let unknown: Vec<&str> =
        written.iter().copied().filter(|key| block.kind.attribute(key).is_none()).collect();
    for attribute in block.kind.attributes {
        let is_meant_by = |key: &&str| {
            let of_others = || other_tools::equivalent_attribute(key, &[attribute.name]);
            nearest_name(key, [attribute.name]).or_else(of_others).is_some()
        };
        if written.contains(&attribute.name) || unknown.iter().any(is_meant_by) {
            continue;
        }
        // The attribute exists as a block with too little indentation, which is reported there.
        let beside =
            || evaluator.blocks.get(evaluator.scoped_address(block.kind.name, attribute.name).as_str());
        if block.body().is_empty()
            && beside().is_some_and(|other| matches!(other.state, BlockExpansion::Broken))
        {
            continue;
        }
        if attribute.name == "name" && attribute.is_writable() {
            let name = default_name(evaluator, &block.entry.key, resource.key.as_ref());
            match scalar::check_value(Value::text(&name), &attribute.ty) {
                Ok(value) => {
                    let setting = AttributeSetting {
                        expression: value.into(),
                        span: block.entry.key_span,
                        set_by: None,
                        parts: None,
                        directory: None,
                        exclusive: false,
                        is_read: false,
                    };
                    resource.attributes.insert(Name::new_static("name"), setting);
                }
                Err(mistake) => {
                    let mut problem = messages::mismatch_diagnostic(&mistake, block.entry.key_span);
                    problem.detail = Some(format!("`name` defaults to `{name}`. {}", mistake.detail));
                    problem.fix = None;
                    evaluator.context.report_problem(site, problem.help("write a `name`"));
                }
            }
        } else if attribute.presence == Presence::Required {
            evaluator.context.report_problem(
                site,
                Diagnostic::error(codes::MISSING_ATTRIBUTE, "a required attribute is missing")
                    .with_label(block.entry.key_span, "")
                    .detail(format!(
                        "{} needs `{}`, {}. {}",
                        scalar::with_article(block.kind.name),
                        attribute.name,
                        scalar::type_name(&attribute.ty),
                        attribute.summary
                    ))
                    .help(format!("add `{}: …`", attribute.name)),
            );
        }
    }
}

/// Returns the default name of a resource: the block's name after the name prefix of its module (two instances of a
/// module would otherwise have equal names), followed by its key.
fn default_name(evaluator: &Evaluator<'_, '_>, name: &Name, key: Option<&Name>) -> String {
    let front = Some(&evaluator.scope.name_prefix).filter(|front| !front.is_empty());
    let parts = front.into_iter().chain([name]).chain(key).map(Name::as_str);
    parts.collect::<Vec<_>>().join("-")
}

fn unknown_attribute(context: &ConfigContext<'_>, kind: &Kind, entry: &DocumentEntry) -> Diagnostic {
    let attributes = kind.attributes.iter().filter(|attribute| attribute.is_writable()).map(|a| a.name);
    let collections =
        context.registry.children(kind.name).filter_map(|kind| kind.child_of().map(|(_, of)| of));
    let mut known: Vec<&str> =
        attributes.chain(collections).chain(keywords::word_names(keywords::BODY)).collect();
    known.sort_unstable();
    known.dedup();
    let problem = Diagnostic::error(codes::UNKNOWN_KEY, "this key is not known")
        .with_label(entry.key_span, "")
        .detail(format!("{} has no `{}`.", scalar::with_article(kind.name), entry.key));
    // `vpc_id` is the API's name of the attribute that the language calls `vpc`.
    let wire = kind.attributes.iter().find(|a| a.is_writable() && a.wire == entry.key).map(|a| a.name);
    if let Some(help) = other_tools::key_hint(&entry.key, &known) {
        return problem.help(help);
    }
    if let Some(words) = other_tools::lifecycle_hint(&entry.key) {
        return problem.help(format!("write `lifecycle: {{ {words} }}`"));
    }
    if let Some(name) = wire {
        return problem.help(format!("write `{name}`, which is its name here")).fix(entry.key_span, name);
    }
    if let Some(ours) = other_tools::equivalent_attribute(&entry.key, &known) {
        return problem.help(format!("write `{ours}`, which is its name here")).fix(entry.key_span, ours);
    }
    match nearest_name(&entry.key, known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")).fix(entry.key_span, near),
        None => problem.help(format!("keys are: {}", known.join(", "))),
    }
}

/// Returns the address of the stack's only project, to which resources without `project` belong. `None` if there is
/// no project or there are several; in the second case, resources that do not name theirs are reported.
pub(in crate::config) fn find_project(
    evaluator: &Evaluator<'_, '_>,
    resources: &[Resource],
) -> Option<Address> {
    let projects: Vec<&Resource> =
        resources.iter().filter(|resource| resource.kind.name == PROJECT).collect();
    if let [only] = projects.as_slice() {
        return Some(only.address.clone());
    }
    if projects.len() > 1 {
        for resource in
            resources.iter().filter(|one| one.kind.scope == KindScope::Project && one.project.is_none())
        {
            let said = evaluator
                .blocks
                .of_instance(&resource.address)
                .is_some_and(|block| block.get("project").is_some());
            if said {
                continue;
            }
            evaluator.context.problems.push_in(
                Some(InstanceContext { address: &resource.address, key: resource.key.as_ref() }),
                Diagnostic::error(codes::PROJECT, "a resource does not name its project")
                    .with_label(resource.span, "")
                    .detail("The stack has several projects.")
                    .help(format!("add `project: ${}`", projects[0].address)),
            );
        }
    }
    None
}

fn computed_attribute_problem(kind: &Kind, entry: &DocumentEntry) -> Diagnostic {
    Diagnostic::error(codes::COMPUTED, "only the service sets this attribute")
        .with_label(entry.key_span, "")
        .detail(format!("`{}` of a {} can be read by reference, but not set.", entry.key, kind.name))
        .help("remove the line")
}

/// Removes the keyword `exclusive` from a map: returns the other entries, and whether it is `true`. `None` if the
/// map does not have it. With a value in quotes it is an ordinary key.
fn without_exclusive(attribute: &Attribute, node: &Node) -> Option<(Node, bool)> {
    let (Type::Map(_), NodeValue::Mapping(entries)) = (&attribute.ty, &node.value) else { return None };
    let flag = |entry: &DocumentEntry| {
        let scalar = entry.value.scalar().filter(|_| entry.key == EXCLUSIVE)?;
        let bare = matches!(scalar.form, ScalarForm::Plain | ScalarForm::Boolean);
        scalar.text.parse::<bool>().ok().filter(|_| bare)
    };
    let (at, exclusive) = entries.iter().enumerate().find_map(|(at, entry)| Some((at, flag(entry)?)))?;
    let mut rest = entries.clone();
    rest.remove(at);
    Some((Node { value: NodeValue::Mapping(rest), ..node.clone() }, exclusive))
}

/// Makes the value of a secret attribute sensitive, so that no plan, ledger or message contains it. An expression
/// that waits becomes a string with an empty secret part, so that its value is sensitive once it is known.
fn mark_sensitive(attribute: &Attribute, expression: Expression) -> Expression {
    match expression {
        expression if !attribute.secret || expression.is_secret() => expression,
        Expression::Value(Value::Text(text)) => {
            Expression::Value(Value::Secret(Secret::new(text.as_str())))
        }
        Expression::Value(value) => Expression::Value(value),
        waiting => Expression::Text(vec![Value::Secret(Secret::new("")).into(), waiting]),
    }
}
