//! Reference pages for kinds and attributes, generated from the schema tables.

use serde::Serialize;

use crate::editor::facts;
use crate::model::schema::{
    Action, ActionRequest, Attribute, Endpoint, Kind, KindScope, Presence, Price, PriceFactor, PriceTerm,
    Provenance, Registry, RuleCheck, Type, UpdateStrategy,
};

/// The reference page for a kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindPage {
    /// Name of the kind, such as `database`.
    pub kind: &'static str,
    /// What an object of the kind is, as a sentence.
    pub summary: &'static str,
    /// Syntax of the kind's blocks in YAML.
    pub written: String,
    /// What an object of the kind belongs to: a project, the account or a parent.
    pub belongs_to: String,
    /// Attributes that the configuration can set, in the table's order.
    pub attributes: Vec<AttributeRow>,
    /// Attributes that only the service sets.
    pub computed: Vec<AttributeRow>,
    /// Child collections that are allowed in its blocks.
    pub children: Vec<ChildRow>,
    /// Price of an object, one line per term.
    pub price: Vec<String>,
    /// What happens in a replacement.
    pub replacement: String,
    /// Other effects of a deletion; empty if there are none.
    pub deletion: Vec<&'static str>,
    /// Usual duration of create, update and delete, in seconds; 0 if it is done at once.
    pub seconds: [u32; 3],
    /// API requests for objects of the kind.
    pub requests: Vec<OperationRow>,
    /// One-off actions on an object of the kind.
    pub actions: Vec<OperationRow>,
    /// Rules of the service, as pairs of code and sentence.
    pub rules: Vec<(&'static str, &'static str)>,
}

/// A row in the list of attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttributeRow {
    /// Name of the attribute in the configuration.
    pub name: &'static str,
    /// Type of the attribute, readable.
    #[serde(rename = "type")]
    pub ty: String,
    /// Whether the configuration must set the attribute. `name` is never required: the block's own name is its default.
    pub required: bool,
    /// Initial value that the service sets, in the syntax of the language; `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether a change replaces the object.
    pub replaces: bool,
    /// What the attribute is, as a sentence.
    pub summary: &'static str,
}

/// A row in the list of child collections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChildRow {
    /// Key of the collection in the parent's block.
    pub collection: &'static str,
    /// Kind of the children.
    pub kind: &'static str,
    /// What one of the children is, as a sentence.
    pub summary: &'static str,
}

/// An API request or a one-off action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationRow {
    /// Name of the call or action.
    pub name: &'static str,
    /// HTTP method and path, or a description of an action without an endpoint of its own.
    pub request: String,
    /// Whether the endpoint is assumed, because the service's specification does not document it.
    pub assumed: bool,
    /// Summary of an action, as a sentence; empty for plain requests.
    pub summary: &'static str,
}

/// The reference page for an attribute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttributePage {
    /// Path of the attribute, such as `app.autoscaling.min_replicas`.
    pub path: String,
    /// What the attribute is, as a sentence; also on the page of a part.
    pub summary: &'static str,
    /// Type of the attribute, readable.
    #[serde(rename = "type")]
    pub ty: String,
    /// Limits of the value; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<String>,
    /// Whether the attribute is required, optional or set by the service.
    pub presence: &'static str,
    /// Initial value that the service sets, in the syntax of the language; `None` for a part, or if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Effect of a change; `None` if the configuration cannot set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// API requests that change the attribute; empty if none does.
    pub calls: Vec<String>,
    /// Name of the field in requests.
    pub wire: &'static str,
    /// Whether the value is never shown.
    pub secret: bool,
    /// Terms of the price that depend on the attribute; empty if none does.
    pub price: Vec<String>,
    /// Command that lists the attribute's possible names; `None` if they are not in the catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed_by: Option<String>,
    /// Rules of the service about the attribute, as pairs of code and sentence.
    pub rules: Vec<(&'static str, &'static str)>,
    /// Whether the attribute is assumed, because the service's specification does not document it.
    pub assumed: bool,
}

/// Returns the page for a kind.
pub(super) fn kind_page(registry: &Registry, kind: &'static Kind) -> KindPage {
    let (attributes, computed): (Vec<_>, Vec<_>) =
        kind.attributes.iter().partition(|attribute| attribute.is_writable());
    KindPage {
        kind: kind.name,
        summary: kind.summary,
        written: usage_syntax(kind),
        belongs_to: match kind.scope {
            KindScope::Account => "the account".to_owned(),
            KindScope::Project => "a project".to_owned(),
            KindScope::Child { of, .. } => format!("its {of}"),
        },
        attributes: attributes.into_iter().map(attribute_row).collect(),
        computed: computed.into_iter().map(attribute_row).collect(),
        children: child_rows(registry, kind),
        price: price_lines(kind),
        replacement: replacement_sentence(kind),
        deletion: kind.on_delete.iter().map(|effect| effect.text()).collect(),
        seconds: [kind.estimate.create, kind.estimate.update, kind.estimate.delete],
        requests: kind_operations(kind),
        actions: kind.actions.iter().map(action_operation).collect(),
        rules: kind.rules.iter().map(|rule| (rule.code, rule.says)).collect(),
    }
}

fn usage_syntax(kind: &Kind) -> String {
    match kind.child_of() {
        Some((of, collection)) => {
            let also = kind
                .also_in
                .map(|also| format!(", or {}: {{ NAME: {{ {}: {{ … }} }} }}", also.kind, also.key));
            format!("{of}: {{ NAME: {{ {collection}: {{ NAME: {{ … }} }} }} }}{}", also.unwrap_or_default())
        }
        None => format!("{}: {{ NAME: {{ … }} }}", kind.name),
    }
}

fn attribute_row(attribute: &Attribute) -> AttributeRow {
    AttributeRow {
        name: attribute.name,
        ty: facts::type_name(&attribute.ty),
        required: attribute.presence == Presence::Required && attribute.name != "name",
        default: facts::default_text(attribute),
        replaces: attribute.change == UpdateStrategy::Replace,
        summary: attribute.summary,
    }
}

/// Returns the child collections that are allowed in a kind's block: its own children,
/// and those of other kinds.
fn child_rows(registry: &Registry, kind: &Kind) -> Vec<ChildRow> {
    let also = registry.kinds.iter().filter_map(|child| {
        let also = child.also_in.filter(|also| also.kind == kind.name)?;
        Some(ChildRow { collection: also.key, kind: child.name, summary: child.summary })
    });
    registry.children(kind.name).filter_map(child_row).chain(also).collect()
}

fn child_row(kind: &'static Kind) -> Option<ChildRow> {
    let (_, collection) = kind.child_of()?;
    Some(ChildRow { collection, kind: kind.name, summary: kind.summary })
}

fn replacement_sentence(kind: &Kind) -> String {
    let effects = kind.on_replace.iter().map(|effect| format!("; {}", effect.text()));
    format!("{}{}.", facts::describe_replacement(kind), effects.collect::<String>())
}

fn kind_operations(kind: &'static Kind) -> Vec<OperationRow> {
    let api = kind.api;
    let mut found = vec![endpoint_operation("create", api.create)];
    found.extend(api.read.map(|read| endpoint_operation("read", read)));
    found.extend([endpoint_operation("list", api.list), endpoint_operation("delete", api.delete)]);
    found.extend(kind.calls().map(|call| endpoint_operation(call.name, call.endpoint)));
    found
}

fn endpoint_operation(name: &'static str, endpoint: Endpoint) -> OperationRow {
    let assumed = endpoint.provenance == Provenance::Assumed;
    OperationRow { name, request: format!("{} {}", endpoint.method, endpoint.path), assumed, summary: "" }
}

fn action_operation(action: &Action) -> OperationRow {
    let request = match action.request {
        ActionRequest::Send(endpoint) => format!("{} {}", endpoint.method, endpoint.path),
        ActionRequest::Call(call) => format!("the call {call}"),
        ActionRequest::Create { kind, .. } => format!("makes a {kind}"),
        ActionRequest::Through { action, .. } => format!("{action} of the object that refers to it"),
    };
    let assumed = action.endpoint().is_some_and(|endpoint| endpoint.provenance == Provenance::Assumed);
    OperationRow { name: action.name, request, assumed, summary: action.summary }
}

/// Returns the monthly price of a kind, one line per term.
fn price_lines(kind: &Kind) -> Vec<String> {
    match kind.price {
        Price::Free => vec!["no cost of its own".to_owned()],
        Price::Sum(terms) => terms.iter().map(describe_term).collect(),
    }
}

fn describe_term(term: &PriceTerm) -> String {
    let record = match term.chosen_by {
        Some(attribute) => format!("{} of its {attribute} ({})", term.field, term.table),
        None => format!("{} ({})", term.field, term.table),
    };
    let factors = term.factors.iter().map(|one| format!(" × {}", describe_factor(one)));
    let parts = term.implies.map(|part| format!(" × {}, of the {} `{}`", part.count, part.kind, part.name));
    std::iter::once(record).chain(factors).chain(parts).collect()
}

fn describe_factor(factor: &PriceFactor) -> String {
    match factor {
        PriceFactor::Count(attribute) => (*attribute).to_owned(),
        PriceFactor::Over { attribute, field } => format!("{attribute} over the {field} of the plan"),
        PriceFactor::PercentWhen { attribute, percent, except, .. } => {
            let others = except.iter().map(|(word, percent)| format!(", {word} {percent} %"));
            format!("{percent} %{} when {attribute}", others.collect::<String>())
        }
        PriceFactor::When { attribute, equals } => format!("1 when {attribute} is {equals}, else 0"),
        PriceFactor::Unless { attribute, values } => {
            format!("0 when {attribute} is {}", values.join(" or "))
        }
        PriceFactor::Instances { fixed, scaled, least } => format!("{fixed}, or {scaled}.{least}"),
    }
}

fn uses_attribute(factor: &PriceFactor, name: &str) -> bool {
    match factor {
        PriceFactor::Count(attribute)
        | PriceFactor::Over { attribute, .. }
        | PriceFactor::When { attribute, .. }
        | PriceFactor::Unless { attribute, .. } => *attribute == name,
        PriceFactor::PercentWhen { attribute, by, .. } => *attribute == name || *by == name,
        PriceFactor::Instances { fixed, scaled, .. } => *fixed == name || *scaled == name,
    }
}

/// Returns the keys of a record attribute, in the table's order; empty for other types.
pub(super) fn part_keys(attribute: &Attribute) -> Vec<&'static str> {
    match attribute.ty {
        Type::Record(fields) => fields.iter().map(|(name, _)| *name).collect(),
        _ => Vec::new(),
    }
}

/// Returns the page for an attribute or a part of it; `None` if there is no such part.
pub(super) fn attribute_page(
    kind: &'static Kind,
    attribute: &'static Attribute,
    rest: &[&str],
) -> Option<AttributePage> {
    let mut ty = &attribute.ty;
    let mut path = format!("{}.{}", kind.name, attribute.name);
    for step in rest {
        ty = match ty {
            Type::Record(fields) => fields.iter().find(|(name, _)| name == step).map(|(_, ty)| ty)?,
            Type::Map(of) => of,
            _ => return None,
        };
        path = format!("{path}.{step}");
    }
    let about = kind.rules.iter().filter(|rule| {
        rule.says.contains(attribute.name) || check_names_attribute(&rule.check, attribute.name)
    });
    let terms = match kind.price {
        Price::Free => &[],
        Price::Sum(terms) => terms,
    };
    let priced = terms.iter().filter(|term| {
        term.chosen_by == Some(attribute.name)
            || term.factors.iter().any(|one| uses_attribute(one, attribute.name))
    });
    Some(AttributePage {
        path,
        summary: attribute.summary,
        ty: facts::type_name(ty),
        limits: facts::describe_limits(ty),
        presence: match attribute.name {
            "name" if attribute.is_writable() => "may be written; otherwise it is the block's own name",
            _ => facts::describe_presence(attribute.presence),
        },
        default: facts::default_text(attribute).filter(|_| rest.is_empty()),
        change: facts::describe_change(attribute),
        calls: facts::wire_calls(attribute),
        wire: attribute.wire,
        secret: attribute.secret,
        price: priced.map(describe_term).collect(),
        listed_by: match attribute.ty {
            Type::Catalog(table) => Some(format!("stead catalog {table}")),
            _ => None,
        },
        rules: about.map(|rule| (rule.code, rule.says)).collect(),
        assumed: attribute.provenance == Provenance::Assumed,
    })
}

/// Returns whether a check refers to an attribute.
fn check_names_attribute(check: &RuleCheck, name: &str) -> bool {
    match check {
        RuleCheck::OnlyWith { attribute, other, .. }
        | RuleCheck::NeverWith { attribute, other, .. }
        | RuleCheck::RequiredWith { attribute, other, .. }
        | RuleCheck::Together { attribute, other } => *attribute == name || *other == name,
        RuleCheck::CatalogField { attribute, equals, .. } => *attribute == name || *equals == name,
        RuleCheck::CatalogForbids { attribute, forbidden, .. } => *attribute == name || *forbidden == name,
        RuleCheck::Unique { attributes }
        | RuleCheck::ExactlyOne { attributes }
        | RuleCheck::NotBoth { attributes }
        | RuleCheck::UniqueOverall { attributes } => attributes.contains(&name),
        RuleCheck::NoOverlap { attribute }
        | RuleCheck::OneOf { attribute, .. }
        | RuleCheck::NotOneOf { attribute, .. }
        | RuleCheck::Ordered { attribute, .. }
        | RuleCheck::SumAtLeast { attribute, .. }
        | RuleCheck::Is { attribute, .. }
        | RuleCheck::AtLeast { attribute, .. }
        | RuleCheck::PartOneOf { attribute, .. }
        | RuleCheck::Granted { attribute, .. }
        | RuleCheck::Future { attribute }
        | RuleCheck::Offered { attribute, .. } => *attribute == name,
        RuleCheck::NotWhile { other, .. } => *other == name,
        RuleCheck::AtMost { .. } | RuleCheck::NotUsed { .. } | RuleCheck::NotFilled => false,
    }
}
