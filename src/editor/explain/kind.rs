//! Kinds and attributes: the tables as pages.

use serde::Serialize;

use crate::editor::facts;
use crate::model::schema::{
    Action, ActionRequest, Attribute, Endpoint, Kind, KindScope, Presence, Price, PriceFactor, PriceTerm,
    Provenance, Registry, RuleCheck, Type, UpdateStrategy,
};

/// What is known of a kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindPage {
    /// Its name.
    pub kind: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// How its blocks are written.
    pub written: String,
    /// To what an object belongs.
    pub belongs_to: String,
    /// What may be written, in the table's order.
    pub attributes: Vec<AttributeRow>,
    /// What only the service sets.
    pub computed: Vec<AttributeRow>,
    /// What stands inside of its blocks.
    pub children: Vec<ChildRow>,
    /// What it costs.
    pub price: Vec<String>,
    /// What a replacement does.
    pub replacement: String,
    /// What a deletion does besides.
    pub deletion: Vec<&'static str>,
    /// Seconds that creation, change and deletion usually take.
    pub seconds: [u32; 3],
    /// Its requests.
    pub requests: Vec<OperationRow>,
    /// What can be done to an object besides.
    pub actions: Vec<OperationRow>,
    /// The service's rules: code and sentence.
    pub rules: Vec<(&'static str, &'static str)>,
}

/// An attribute in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttributeRow {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// It must be written.
    pub required: bool,
    /// What the service begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// A change needs a new object.
    pub replaces: bool,
    /// One sentence.
    pub summary: &'static str,
}

/// A collection of children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChildRow {
    /// The key in the parent's block.
    pub collection: &'static str,
    /// Their kind.
    pub kind: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// A request, or an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperationRow {
    /// Its name.
    pub name: &'static str,
    /// What is sent; for an action without an endpoint of its own, what it is.
    pub request: String,
    /// The service's own document does not say it.
    pub assumed: bool,
    /// One sentence; empty for plain requests.
    pub summary: &'static str,
}

/// What is known of an attribute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttributePage {
    /// Its path: `app.autoscaling.min_replicas`.
    pub path: String,
    /// One sentence.
    pub summary: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Bounds of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<String>,
    /// Who sets it.
    pub presence: &'static str,
    /// What the service begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// What a change does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The calls that change it.
    pub calls: Vec<String>,
    /// Its field in requests.
    pub wire: &'static str,
    /// It is never shown.
    pub secret: bool,
    /// What of the price hangs on it.
    pub price: Vec<String>,
    /// Where its names are listed: a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed_by: Option<String>,
    /// The service's rules about it: code and sentence.
    pub rules: Vec<(&'static str, &'static str)>,
    /// The service's own document does not say it.
    pub assumed: bool,
}

/// Returns the page of a kind.
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

/// Returns the children that may stand in a kind's block: its own, and those of others.
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
        ActionRequest::Through { action, .. } => format!("{action} of what refers to it"),
    };
    let assumed = action.endpoint().is_some_and(|endpoint| endpoint.provenance == Provenance::Assumed);
    OperationRow { name: action.name, request, assumed, summary: action.summary }
}

/// Returns what a kind costs a month, a term a line.
fn price_lines(kind: &Kind) -> Vec<String> {
    match kind.price {
        Price::Free => vec!["nothing of its own".to_owned()],
        Price::Sum(terms) => terms.iter().map(describe_term).collect(),
    }
}

fn describe_term(term: &PriceTerm) -> String {
    let record = match term.chosen_by {
        Some(attribute) => format!("{} of its {attribute} ({})", term.field, term.table),
        None => format!("{} ({})", term.field, term.table),
    };
    let factors = term.factors.iter().map(|one| format!(" × {}", describe_factor(one)));
    std::iter::once(record).chain(factors).collect()
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

/// Returns the keys of an attribute that has parts.
pub(super) fn part_keys(attribute: &Attribute) -> Vec<&'static str> {
    match attribute.ty {
        Type::Record(fields) => fields.iter().map(|(name, _)| *name).collect(),
        _ => Vec::new(),
    }
}

/// Returns the page of an attribute, or of a part of one; `None` where it has no such part.
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

/// Tells whether a check names an attribute.
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
