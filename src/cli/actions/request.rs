//! Builds the request of an action from its table, its object and its parameters, and collects its effects. In: the
//! target and the flags of the command line. Out: a complete request. Reads live objects only where the request
//! depends on them, and sends no change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::parameters;
use super::registry::KindAction;
use super::target::{ActionScope, ActionTarget};
use crate::cli::actions::command_line::DoArgs;
use crate::cli::command_context::CommandContext;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::cloud::http::url_path::fill_all;
use crate::cloud::write::action_request::EndpointRequest;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::clock::Clock;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{
    ActionRequest, Effect, Endpoint, Kind, KindScope, Literal, Parameter, ParameterLocation, Type,
};
use crate::model::values::value::Value;

/// A complete request with its effects.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct PreparedAction {
    /// Method, path, query, project and body as they are sent.
    pub(in crate::cli) ask: EndpointRequest,
    /// Endpoint that the request was built from; it states how the response is decoded.
    pub(in crate::cli) endpoint: Endpoint,
    /// Whether the request can change anything. A `POST` that only reads does not.
    pub(in crate::cli) mutates: bool,
    /// Effects of the action with the parameters that were given.
    pub(in crate::cli) effects: BTreeSet<Effect>,
    /// Kind of the object in the response.
    pub(in crate::cli) answers: &'static Kind,
}

/// Parts of the request that are still being filled in: path, query and body.
#[derive(Default)]
struct RequestParameters {
    path: BTreeMap<&'static str, String>,
    query: Vec<(&'static str, String)>,
    body: Map<String, Json>,
}

impl RequestParameters {
    fn add_parameter(&mut self, parameter: &Parameter, value: Json) {
        let text = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match parameter.place {
            ParameterLocation::Path => drop(self.path.insert(parameter.wire, text())),
            ParameterLocation::Query => self.query.push((parameter.wire, text())),
            ParameterLocation::Body => drop(self.body.insert(parameter.wire.to_owned(), value)),
        }
    }
}

/// Builds the request of an action. Reads the live object if the request needs its project or its name.
///
/// # Errors
/// When a parameter is invalid, an object does not exist, or a live object or the project cannot be read.
pub(in crate::cli) async fn build_action_request(
    session: &CommandContext,
    ground: &ActionScope,
    deed: KindAction,
    target: &ActionTarget,
    args: &DoArgs,
) -> Result<PreparedAction, CliFailure> {
    let parameters = deed.parameters(REGISTRY);
    check_given(deed, &parameters, args)?;
    let wrong = |text: String| {
        CliFailure::new(Exit::Usage, text)
            .help(format!("stead do {} --help explains them.", deed.action.name))
    };
    let through = delegated_action(deed, args)?;
    let endpoint = through
        .map_or(deed, |(other, _)| other)
        .endpoint(REGISTRY)
        .ok_or_else(|| CliFailure::new(Exit::Failed, format!("{} has no endpoint", deed.action.name)))?;
    let resolve = |kind: &'static str, text: &str| ground.id_of(kind, text);
    let mut parts = RequestParameters::default();
    let mut effects = deed.effects(REGISTRY);
    for parameter in &parameters {
        let given = args.given.get(parameter.name).map(Vec::as_slice);
        let value = parameters::wire_value(parameter, given, &resolve).map_err(wrong)?;
        if let Some(value) = value {
            parts.add_parameter(parameter, value);
        }
        if given.is_some() {
            effects.extend(parameter.effects);
        }
    }
    let mutates = endpoint.method.mutates()
        && (!deed.action.only_reads || !given_effects(&parameters, args).is_empty());
    let live = read_live_object(ground, deed, target, mutates).await?;
    let (id, answers) = resolve_path_id(ground, deed, through, target, live.as_ref(), &mut parts).await?;
    let parent = target.key.as_ref().and_then(|key| key.parent.as_deref());
    let path = fill_all(endpoint.path, |name| match name {
        "id" => id.as_deref(),
        "parent" => parent,
        name => parts.path.get(name).map(String::as_str),
    });
    let path = path.map_err(|error| wrong(error.to_string()))?;
    let project =
        if mutates { request_project(session, ground, target, live.as_ref()).await? } else { None };
    let body = (!parts.body.is_empty() && endpoint.method.mutates()).then_some(Json::Object(parts.body));
    let ask = EndpointRequest { method: endpoint.method, path, query: parts.query, project, body };
    Ok(PreparedAction { ask, endpoint, mutates, effects, answers })
}

fn given_effects(parameters: &[Parameter], args: &DoArgs) -> BTreeSet<Effect> {
    let given = parameters.iter().filter(|parameter| args.given.contains_key(parameter.name));
    given.flat_map(|parameter| parameter.effects).copied().collect()
}

/// Returns the other kind's action that the parameters select, and its attribute that must refer to the object;
/// `None` if the action does not delegate.
///
/// # Errors
/// When the parameters do not name exactly one other object.
fn delegated_action(
    deed: KindAction,
    args: &DoArgs,
) -> Result<Option<(KindAction, &'static str)>, CliFailure> {
    let ActionRequest::Through { from, .. } = deed.action.request else { return Ok(None) };
    let all = deed.delegated_actions(REGISTRY);
    let named: Vec<(KindAction, &'static str)> = from
        .iter()
        .filter(|(kind, _)| args.given.contains_key(kind))
        .filter_map(|(kind, attribute)| {
            Some((*all.iter().find(|other| other.kind.name == *kind)?, *attribute))
        })
        .collect();
    let flags: Vec<String> = from.iter().map(|(kind, _)| format!("--{kind}")).collect();
    match named[..] {
        [one] => Ok(Some(one)),
        [] => Err(CliFailure::new(Exit::Usage, format!("{}: the source is missing", deed.action.name))
            .help(format!("Name it with {}.", flags.join(" or ")))),
        _ => Err(CliFailure::new(Exit::Usage, format!("only one of {} can be given", flags.join(", ")))),
    }
}

/// Refuses parameters that belong only to another kind's action of the same name; the command line accepts their union.
fn check_given(deed: KindAction, parameters: &[Parameter], args: &DoArgs) -> Result<(), CliFailure> {
    let known = |name: &&&'static str| parameters.iter().any(|parameter| parameter.name == **name);
    let Some(foreign) = args.given.keys().find(|name| !known(name)) else { return Ok(()) };
    let flags: Vec<String> = parameters.iter().map(parameters::parameter_syntax).collect();
    let failure = CliFailure::new(
        Exit::Usage,
        format!("{} of a {} takes no --{foreign}", deed.action.name, deed.kind.name),
    );
    Err(if flags.is_empty() {
        failure.help("It takes no arguments except the object.")
    } else {
        failure.help(format!("It takes {}.", flags.join(", ")))
    })
}

/// Reads the live object if the request depends on it: before a change of an object that is in no ledger, and before
/// a creation, whose name is derived from it. `None` if the request depends on none.
///
/// # Errors
/// When the object does not exist.
async fn read_live_object(
    ground: &ActionScope,
    deed: KindAction,
    target: &ActionTarget,
    mutates: bool,
) -> Result<Option<Object>, CliFailure> {
    let made = matches!(deed.action.request, ActionRequest::Create { .. });
    let Some(key) = target.key.as_ref().filter(|_| (mutates && target.project.is_none()) || made) else {
        return Ok(None);
    };
    let found = ground.client().get(key).await?;
    match found {
        Some(object) => Ok(Some(object)),
        None if target.address.is_some() => Err(CliFailure::new(
            Exit::Failed,
            format!("the object of {}, {}, is gone", target.display_name(), key.id),
        )
        .help("stead plan shows what an apply would do about it.")),
        None => Err(CliFailure::new(Exit::Failed, format!("there is no {} {}", key.kind, key.id))
            .help("List the unmanaged objects: stead ls --unmanaged")),
    }
}

/// Returns the id for the request path and the kind of the object in the response; adds the fields
/// that follow from the target.
async fn resolve_path_id(
    ground: &ActionScope,
    deed: KindAction,
    through: Option<(KindAction, &'static str)>,
    target: &ActionTarget,
    live: Option<&Object>,
    parts: &mut RequestParameters,
) -> Result<(Option<Name>, &'static Kind), CliFailure> {
    let id = target.key.as_ref().map(|key| key.id.clone());
    let other = |name: &str| REGISTRY.kind(name).unwrap_or(deed.kind);
    match deed.action.request {
        ActionRequest::Send(_) => Ok((id, deed.kind)),
        ActionRequest::Call(call) => {
            let fixed = deed.kind.call(call).map_or(&[][..], |call| call.fixed);
            parts.body.extend(fixed.iter().filter_map(wire_field));
            Ok((id, deed.kind))
        }
        ActionRequest::Create { kind, attribute } => {
            let kind = other(kind);
            if let (Some(link), Some(id)) = (kind.attribute(attribute), &id) {
                parts.body.insert(link.wire.to_owned(), Json::from(id.as_str()));
            }
            name_it(ground, kind, live, parts);
            Ok((id, kind))
        }
        ActionRequest::Through { .. } => {
            let Some((other, attribute)) = through else { return Ok((id, deed.kind)) };
            let named = parts.body.remove(other.kind.name).and_then(|id| id.as_str().map(Name::new));
            if let Some(named) = &named {
                check_link(ground, other.kind, attribute, named, target).await?;
            }
            Ok((named, deed.kind))
        }
    }
}

fn wire_field((field, literal): &(&'static str, Literal)) -> Option<(String, Json)> {
    Some(((*field).to_owned(), literal.value().to_wire()?))
}

/// Adds a name made of the object's name and the current time, if the kind has a name and the user gave none.
fn name_it(ground: &ActionScope, kind: &Kind, live: Option<&Object>, parts: &mut RequestParameters) {
    let Some(Type::Text { max, .. }) = kind.attribute("name").map(|attribute| attribute.ty) else { return };
    if parts.body.contains_key("name") {
        return;
    }
    let of = live.and_then(|object| object.attributes.get("name")).and_then(Value::as_text);
    let now = ground.client().clock().now().strftime("%Y%m%d-%H%M%S").to_string();
    let room = usize::from(max).saturating_sub(now.len() + 1);
    let of: String = of.unwrap_or(kind.name).chars().take(room).collect();
    parts.body.insert("name".to_owned(), Json::from(format!("{of}-{now}")));
}

/// Refuses a source object, such as a backup, that belongs to another object than the target: the action would
/// overwrite the target with foreign data. A source that names no owner is accepted.
async fn check_link(
    ground: &ActionScope,
    kind: &'static Kind,
    attribute: &'static str,
    id: &Name,
    target: &ActionTarget,
) -> Result<(), CliFailure> {
    let key = ObjectKey { kind: Name::new_static(kind.name), parent: None, id: id.clone() };
    let Some(object) = ground.client().get(&key).await? else {
        return Err(CliFailure::new(Exit::Failed, format!("there is no {} {id}", kind.name))
            .help(format!("stead ls --unmanaged --kind {} lists them.", kind.name)));
    };
    let of = object.attributes.get(attribute).and_then(Value::as_text);
    let wanted = target.key.as_ref().map(|key| key.id.as_str());
    if of.is_some() && of != wanted {
        return Err(CliFailure::new(
            Exit::Failed,
            format!("{} {id} is of another {}, {}", kind.name, target.kind.name, of.unwrap_or_default()),
        )
        .help("Nothing was sent."));
    }
    Ok(())
}

/// Returns the project for a mutating request: that of the object or of its parent, else that of the settings, else
/// the account's default; `None` for kinds that belong to the account.
///
/// # Errors
/// When the project of the settings does not exist, or the object's own cannot be determined.
async fn request_project(
    session: &CommandContext,
    ground: &ActionScope,
    target: &ActionTarget,
    live: Option<&Object>,
) -> Result<Option<Name>, CliFailure> {
    let known = target.project.clone().or_else(|| live.and_then(|object| object.project.clone()));
    if known.is_some() {
        return Ok(known);
    }
    let client = ground.client();
    if let Some(key) = target.key.as_ref().filter(|_| target.kind.states_project) {
        return client.project_of(key, None).await.map_err(|reason| {
            CliFailure::new(Exit::Failed, reason)
                .help("Use a key that can read the object's project, in its records or lists.")
        });
    }
    let parent = target.key.as_ref().and_then(|key| key.parent.clone()).zip(target.kind.child_of());
    if let Some((id, (kind, _))) = parent {
        let key = ObjectKey { kind: Name::new_static(kind), parent: None, id };
        if let Some(project) = client.get(&key).await?.and_then(|object| object.project) {
            return Ok(Some(project));
        }
    }
    if target.kind.scope == KindScope::Account {
        return Ok(None);
    }
    let named = session.settings.project.as_ref();
    match (client.resolve_named_project(named).await?, named) {
        (None, Some(named)) => Err(CliFailure::new(Exit::Usage, format!("there is no project `{named}`"))
            .help("Give a project's name or id with --project.")),
        (found, _) => Ok(found),
    }
}
