//! Lists the actions by name, with the parameters of each, as the kinds' tables define them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::schema::{
    Action, ActionCompletion, ActionRequest, ApiCall, Attribute, Effect, Endpoint, Kind, Literal,
    Parameter, ParameterPresence, Presence, Registry, ResponseShape, Type, UpdateStrategy,
};

/// An action together with its kind. Methods that need other kinds take the registry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cli) struct KindAction {
    pub(in crate::cli) kind: &'static Kind,
    pub(in crate::cli) action: &'static Action,
}

/// Returns the actions of all kinds, grouped by name; within a group, in the order of the registry.
pub(in crate::cli) fn actions_by_name(registry: Registry) -> BTreeMap<&'static str, Vec<KindAction>> {
    let mut found: BTreeMap<&'static str, Vec<KindAction>> = BTreeMap::new();
    for kind in registry.kinds {
        for action in kind.actions {
            found.entry(action.name).or_default().push(KindAction { kind, action });
        }
    }
    found
}

impl KindAction {
    /// Returns the parameters of the action: first the attributes that its call or its creation sends, or the flags
    /// that select the source of a delegated action, then those in its table.
    pub(in crate::cli) fn parameters(self, registry: Registry) -> Vec<Parameter> {
        let mut found: Vec<Parameter> = match self.action.request {
            ActionRequest::Send(_) => Vec::new(),
            ActionRequest::Call(call) => of_call(self.kind, call),
            ActionRequest::Create { kind, attribute } => {
                registry.kind(kind).map(|kind| of_creation(kind, attribute)).unwrap_or_default()
            }
            ActionRequest::Through { from, .. } => {
                let need =
                    if from.len() == 1 { ParameterPresence::Required } else { ParameterPresence::Optional };
                let which = |kind: &'static Kind| {
                    let parameter = Parameter::required(kind.name, Type::Reference(kind.name));
                    Parameter { need, ..parameter.summary(kind.summary) }
                };
                let kinds = from.iter().filter_map(|(kind, _)| registry.kind(kind));
                let more =
                    self.delegated_actions(registry).into_iter().flat_map(|deed| deed.action.parameters);
                kinds.map(which).chain(more.copied()).collect()
            }
        };
        found.extend(self.action.parameters);
        found
    }

    /// Returns the effects that the action has regardless of its parameters, those of delegated actions included.
    pub(in crate::cli) fn effects(self, registry: Registry) -> BTreeSet<Effect> {
        let through = self.delegated_actions(registry).into_iter().flat_map(|deed| deed.action.effects);
        self.action.effects.iter().chain(through).copied().collect()
    }

    /// Returns the actions of other kinds that this action delegates to; empty if it sends a request of its own.
    pub(in crate::cli) fn delegated_actions(self, registry: Registry) -> Vec<KindAction> {
        let ActionRequest::Through { action, from } = self.action.request else { return Vec::new() };
        let kinds = from.iter().filter_map(|(kind, _)| registry.kind(kind));
        kinds.filter_map(|kind| Some(KindAction { kind, action: kind.action(action)? })).collect()
    }

    /// Returns whether the action can disrupt something, with at least one combination of parameters.
    pub(in crate::cli) fn can_disrupt(self, registry: Registry) -> bool {
        let parameters = self.parameters(registry);
        let given = parameters.iter().flat_map(|parameter| parameter.effects).copied();
        self.effects(registry).into_iter().chain(given).any(Effect::disrupts)
    }

    /// Returns the endpoint of the action, the first if it has several; `None` if the table names an endpoint
    /// that does not exist.
    pub(in crate::cli) fn endpoint(self, registry: Registry) -> Option<Endpoint> {
        match self.action.request {
            ActionRequest::Send(endpoint) => Some(endpoint),
            ActionRequest::Call(call) => self.kind.call(call).map(|call| call.endpoint),
            ActionRequest::Create { kind, .. } => registry.kind(kind).map(|kind| kind.api.create),
            ActionRequest::Through { .. } => self.delegated_actions(registry).first()?.endpoint(registry),
        }
    }

    /// Returns whether the response can hold a secret. A document always counts as one, such as a kubeconfig.
    pub(in crate::cli) fn is_secret(self, registry: Registry) -> bool {
        self.endpoint(registry).is_some_and(|endpoint| endpoint.secret)
            || matches!(self.action.answer, ResponseShape::Document { .. })
    }

    /// Returns whether the action has an effect to wait for after the response.
    pub(in crate::cli) fn needs_wait(self) -> bool {
        self.action.until != ActionCompletion::OnResponse
    }

    /// Returns the attribute that the action changes behind the configuration, so that the next apply can revert it;
    /// `None` if it changes no managed attribute.
    pub(in crate::cli) fn managed_attribute(self) -> Option<&'static Attribute> {
        let is_this = |call: &ApiCall| match self.action.request {
            ActionRequest::Call(name) => call.name == name,
            ActionRequest::Send(endpoint) => {
                (call.endpoint.method, call.endpoint.path) == (endpoint.method, endpoint.path)
            }
            ActionRequest::Create { .. } | ActionRequest::Through { .. } => false,
        };
        self.kind.attributes.iter().find(|attribute| match attribute.change {
            UpdateStrategy::Patch { call, .. } => is_this(call),
            UpdateStrategy::Switch(choices) => choices.iter().any(|(_, call)| is_this(call)),
            UpdateStrategy::Link { set, unset, .. } => is_this(set) || is_this(unset),
            UpdateStrategy::Upload { deliver, .. } => is_this(deliver),
            UpdateStrategy::Replace | UpdateStrategy::Never => false,
        })
    }
}

/// Returns the attributes that a call sends in its body. A single one is required: the call would
/// send nothing without it.
fn of_call(kind: &Kind, call: &str) -> Vec<Parameter> {
    let mut found: Vec<Parameter> = kind
        .attributes
        .iter()
        .filter_map(|attribute| match attribute.change {
            UpdateStrategy::Patch { call: its, body } if its.name == call => Some(
                Parameter::optional(attribute.name, attribute.ty).wire(body).summary(attribute.summary),
            ),
            UpdateStrategy::Link { set, body, .. } if set.name == call => Some(
                Parameter::required(attribute.name, attribute.ty).wire(body).summary(attribute.summary),
            ),
            _ => None,
        })
        .collect();
    if let [only] = &mut found[..] {
        only.need = ParameterPresence::Required;
    }
    found
}

/// Returns the parameters for the creation of a kind, without the attribute `but`, which the target object
/// determines. Secrets and optional references are omitted: the new object is created from exactly one object.
fn of_creation(kind: &Kind, but: &str) -> Vec<Parameter> {
    let taken = kind.attributes.iter().filter(|attribute| {
        attribute.name != but && attribute.at_creation && attribute.is_writable() && !attribute.secret
    });
    taken
        .filter_map(|attribute| {
            let need = match attribute.presence {
                // `name_it` generates a name if none was given.
                Presence::Required if attribute.name == "name" => ParameterPresence::Optional,
                Presence::Required => ParameterPresence::Required,
                Presence::Optional if matches!(attribute.ty, Type::Reference(_)) => return None,
                _ if attribute.ty == Type::Boolean => ParameterPresence::Default(Literal::Bool(false)),
                _ => ParameterPresence::Optional,
            };
            let parameter = Parameter::required(attribute.name, attribute.ty);
            Some(Parameter { need, ..parameter.wire(attribute.wire).summary(attribute.summary) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    #[test]
    fn parameters_and_effects_are_derived_from_the_tables() {
        let all = actions_by_name(REGISTRY);
        let deed = |name: &str, kind: &str| {
            *all[name].iter().find(|deed| deed.kind.name == kind).expect("an action")
        };
        let names =
            |deed: KindAction| -> Vec<&str> { deed.parameters(REGISTRY).iter().map(|p| p.name).collect() };
        assert_eq!(names(deed("restore", "database")), ["backup", "time", "in-place"]);
        assert!(names(deed("start", "vm")).is_empty());
        assert!(!deed("start", "vm").can_disrupt(REGISTRY));
        assert!(deed("stop", "vm").can_disrupt(REGISTRY));
        assert!(deed("restore", "database").can_disrupt(REGISTRY), "with --in-place");
        assert_eq!(deed("stop", "vm").managed_attribute().map(|attribute| attribute.name), Some("power"));
        assert_eq!(names(deed("restore", "vm")), ["backup", "snapshot"]);
        assert!(deed("restore", "vm").effects(REGISTRY).contains(&Effect::GoesBack));
        assert_eq!(deed("upgrade", "cluster").managed_attribute().map(|a| a.name), Some("version"));
        assert_eq!(names(deed("snapshot", "volume")), ["name"]);
        assert!(deed("connection", "database").is_secret(REGISTRY));
        assert!(!deed("backups", "database").is_secret(REGISTRY));
    }

    #[test]
    fn the_parameters_of_a_call_are_the_attributes_in_its_body() {
        let database = REGISTRY.kind("database").expect("a kind");
        let rename = of_call(database, "rename");
        assert_eq!((rename[0].name, rename[0].need), ("name", ParameterPresence::Required));
        assert_eq!(of_call(database, "scale").len(), 4);
        let schedule = REGISTRY.kind("backup_schedule").expect("a kind");
        let names: Vec<&str> = of_creation(schedule, "vm").iter().map(|p| p.name).collect();
        assert!(names.contains(&"frequency") && !names.contains(&"vm"), "{names:?}");
    }

    #[test]
    fn every_action_has_an_endpoint() {
        for deed in actions_by_name(REGISTRY).values().flatten() {
            assert!(deed.endpoint(REGISTRY).is_some(), "{} {}", deed.kind.name, deed.action.name);
        }
    }
}
