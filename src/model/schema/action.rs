//! `Action`: an operation that is not a change of declared state: reboot, restore, rotate, and every additional read.
//!
//! The tables declare its parameters, its side effects, its response and its waiting condition; the command line, its
//! help, the requests and the output are derived from them.

use super::service_run::RunSchema;
use super::{Effect, Endpoint, Envelope, Literal, Method, Provenance, Type};

/// An operation that is not a change of declared state: reboot, restore, rotate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// The name that the command line uses: `reboot`. Kinds with the same operation use the same name.
    pub name: &'static str,
    /// The request that the action sends.
    pub request: ActionRequest,
    /// One sentence for the help.
    pub summary: &'static str,
    /// The values that it needs in addition to the object.
    pub parameters: &'static [Parameter],
    /// Names of parameters of which at most one may be given; empty without such a restriction.
    pub exclusive: &'static [&'static str],
    /// Its side effects. A disruptive one requires confirmation.
    pub effects: &'static [Effect],
    /// It changes nothing, whatever its HTTP method: a query that is sent by POST.
    pub only_reads: bool,
    /// The form of the response.
    pub answer: ResponseShape,
    /// The condition under which it is finished.
    pub until: ActionCompletion,
    /// The history of the stack that owns the object records it.
    pub recorded: bool,
}

/// The request that an action sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionRequest {
    /// An endpoint of its own. If its path contains neither `{id}` nor `{parent}`, the action needs no object.
    Send(Endpoint),
    /// A call of the kind, by name: what an apply sends when the declared attribute changes.
    Call(&'static str),
    /// The creation of an object of another kind, outside of any configuration, that refers to this one.
    Create {
        /// The name of the other kind.
        kind: &'static str,
        /// The other kind's attribute that refers to this object.
        attribute: &'static str,
    },
    /// An action of an object of another kind that refers to this one: a machine's restore is its
    /// backup's. The object is named by the flag of its kind.
    Through {
        /// The name of the other kind's action.
        action: &'static str,
        /// The other kinds, and their attributes that refer to this object.
        from: &'static [(&'static str, &'static str)],
    },
}

/// One parameter of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The flag, without the leading dashes: `in-place`.
    pub name: &'static str,
    /// The field of the body or the query, or the `{name}` of the path.
    pub wire: &'static str,
    /// One sentence for the help.
    pub summary: &'static str,
    /// Its type. A boolean is a flag without a value; a list repeats its flag.
    pub ty: Type,
    /// Whether the user must give the parameter.
    pub need: ParameterPresence,
    /// The part of the request that carries it.
    pub place: ParameterLocation,
    /// It is a positional argument, after the address.
    pub positional: bool,
    /// Whether `@FILE` means the contents of a file, and `-` standard input.
    pub from_file: bool,
    /// The presence of the flag sends `false`: `--write` is `read_only: false`.
    pub inverted: bool,
    /// Additional side effects of the action when this parameter is given (and is not `false`).
    pub effects: &'static [Effect],
}

/// Whether a parameter must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterPresence {
    /// The user must give it.
    Required,
    /// The user may omit it; then the request does not carry it.
    Optional,
    /// The user may omit it; then the request carries this value.
    Default(Literal),
}

/// The part of a request that carries a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    /// A field of the JSON body.
    Body,
    /// A parameter of the query string.
    Query,
    /// A segment of the path, at `{wire}`.
    Path,
}

/// The form of an action's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseShape {
    /// Only the confirmation that it was done.
    Empty,
    /// An object of the kind: this one in its current state, or a new one.
    Object,
    /// One record. Where the endpoint returns a secret, only the fields named here are shown unless the user asks for
    /// more; a dot selects a field of a nested record. Where it returns none, all fields are shown.
    Record(&'static [&'static str]),
    /// A list of records: a table with these columns first. Where the endpoint returns a secret, it has only these.
    Rows(&'static [&'static str]),
    /// A growing list of records: a table that the user can follow, by this field of its records.
    Feed {
        /// The columns that the table shows first.
        columns: &'static [&'static str],
        /// The field that identifies a record.
        id: &'static str,
    },
    /// `{columns, rows, truncated}`: the result of a query.
    QueryResult,
    /// One document, in this field as a string, to be written to a file.
    Document {
        /// The field of the response that contains the document.
        field: &'static str,
        /// How it is merged into an existing file; `None` where it cannot be merged.
        merge: Option<DocumentMerge>,
    },
}

/// How a document is merged into an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentMerge {
    /// One cluster, user and context, by a name that the client chooses.
    Kubeconfig,
}

/// The condition under which an action is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionCompletion {
    /// As soon as the service has responded.
    OnResponse,
    /// When the object is ready, according to its kind's table. Until then, new records of this action of the
    /// kind (a `Feed`) are shown; `None` shows none.
    ObjectReady(Option<&'static str>),
    /// When the object to which one of these attributes refers is ready.
    LinkedObjectReady(&'static [&'static str]),
    /// When the object in the response is ready: a new one, or this one.
    ReturnedObjectReady,
    /// When the list no longer has the record that a path parameter names.
    RecordDeleted {
        /// The kind's action that lists such records.
        listed_by: &'static str,
        /// The path parameter that names the record.
        parameter: &'static str,
    },
    /// When the run in the response has ended; a failed end fails the action.
    RunFinished(&'static RunSchema),
}

impl Action {
    /// Returns an action without parameters and effects, which ends with the service's response.
    #[must_use]
    pub const fn new(name: &'static str, request: ActionRequest, summary: &'static str) -> Self {
        Self {
            name,
            request,
            summary,
            parameters: &[],
            exclusive: &[],
            effects: &[],
            only_reads: false,
            answer: ResponseShape::Empty,
            until: ActionCompletion::OnResponse,
            recorded: false,
        }
    }

    /// Returns a read that the specification documents; its response is a record unless set otherwise.
    #[must_use]
    pub const fn get(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut action =
            Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Get, path)), summary);
        action.answer = ResponseShape::Record(&[]);
        action.only_reads = true;
        action
    }

    /// Returns a POST action that the specification documents.
    #[must_use]
    pub const fn post(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Post, path)), summary)
    }

    /// Returns a PATCH action that the specification documents.
    #[must_use]
    pub const fn patch(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Patch, path)), summary)
    }

    /// Returns a DELETE action that the specification documents.
    #[must_use]
    pub const fn delete(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Delete, path)), summary)
    }

    /// Returns an action that sends the kind's call of this name. The attributes in that call are its parameters.
    #[must_use]
    pub const fn call(call: &'static str, summary: &'static str) -> Self {
        Self::new(call, ActionRequest::Call(call), summary).until(ActionCompletion::ObjectReady(None))
    }

    /// Returns an action that creates an object of another kind for this one. The other
    /// kind's attributes are its parameters.
    #[must_use]
    pub const fn make(kind: &'static str, attribute: &'static str, summary: &'static str) -> Self {
        Self::new(kind, ActionRequest::Create { kind, attribute }, summary)
            .until(ActionCompletion::ReturnedObjectReady)
            .answer(ResponseShape::Object)
    }

    /// Returns an action that another kind's object performs on this one: `from` lists those kinds, each with the
    /// attribute that refers to this object, and their action has the same `name`.
    #[must_use]
    pub const fn through(
        name: &'static str,
        from: &'static [(&'static str, &'static str)],
        summary: &'static str,
    ) -> Self {
        Self::new(name, ActionRequest::Through { action: name, from }, summary)
            .until(ActionCompletion::ObjectReady(None))
    }

    /// Marks its endpoint as assumed by the contract. It has no effect on an action without an endpoint of its own.
    #[must_use]
    pub const fn assumed(mut self) -> Self {
        if let ActionRequest::Send(mut endpoint) = self.request {
            endpoint.provenance = Provenance::Assumed;
            self.request = ActionRequest::Send(endpoint);
        }
        self
    }

    /// Marks the response as one that contains a secret. It has no effect on an action without an endpoint of its own.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        if let ActionRequest::Send(endpoint) = self.request {
            self.request = ActionRequest::Send(endpoint.secret());
        }
        self
    }

    /// Sets the envelope of the response. It has no effect on an action without an endpoint of its own.
    #[must_use]
    pub const fn envelope(mut self, envelope: Envelope) -> Self {
        if let ActionRequest::Send(endpoint) = self.request {
            self.request = ActionRequest::Send(endpoint.answers(envelope));
        }
        self
    }

    /// Sets the parameters of the action.
    #[must_use]
    pub const fn parameters(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    /// Makes these parameters mutually exclusive.
    #[must_use]
    pub const fn exclusive(mut self, names: &'static [&'static str]) -> Self {
        self.exclusive = names;
        self
    }

    /// Sets the side effects of the action.
    #[must_use]
    pub const fn effects(mut self, effects: &'static [Effect]) -> Self {
        self.effects = effects;
        self
    }

    /// Marks it as one that changes nothing, whatever its HTTP method.
    #[must_use]
    pub const fn only_reads(mut self) -> Self {
        self.only_reads = true;
        self
    }

    /// Sets the form of the response.
    #[must_use]
    pub const fn answer(mut self, answer: ResponseShape) -> Self {
        self.answer = answer;
        self
    }

    /// Sets the condition under which it is finished.
    #[must_use]
    pub const fn until(mut self, until: ActionCompletion) -> Self {
        self.until = until;
        self
    }

    /// Makes the stack's history record the action.
    #[must_use]
    pub const fn recorded(mut self) -> Self {
        self.recorded = true;
        self
    }

    /// Returns its own endpoint; `None` where the request is defined elsewhere in the tables.
    #[must_use]
    pub const fn endpoint(&self) -> Option<Endpoint> {
        match self.request {
            ActionRequest::Send(endpoint) => Some(endpoint),
            ActionRequest::Call(_) | ActionRequest::Create { .. } | ActionRequest::Through { .. } => None,
        }
    }

    /// Returns whether it acts on one object and not on the kind as a whole: an action without an endpoint of
    /// its own always does.
    #[must_use]
    pub fn needs_object(&self) -> bool {
        self.endpoint()
            .is_none_or(|endpoint| endpoint.path.split('/').any(|part| matches!(part, "{id}" | "{parent}")))
    }

    /// Returns the parameter with this flag, without dashes; `None` where the action has no such parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

impl Parameter {
    const fn new(name: &'static str, ty: Type, need: ParameterPresence) -> Self {
        Self {
            name,
            wire: name,
            summary: "",
            ty,
            need,
            place: ParameterLocation::Body,
            positional: false,
            from_file: false,
            inverted: false,
            effects: &[],
        }
    }

    /// Returns a parameter that the user must give, as a field of the body unless set otherwise.
    #[must_use]
    pub const fn required(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, ParameterPresence::Required)
    }

    /// Returns a parameter that the user may omit; then the request does not carry it.
    #[must_use]
    pub const fn optional(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, ParameterPresence::Optional)
    }

    /// Returns a parameter that is sent with this value when it is not given.
    #[must_use]
    pub const fn default(name: &'static str, ty: Type, literal: Literal) -> Self {
        Self::new(name, ty, ParameterPresence::Default(literal))
    }

    /// Returns a flag: its presence sends `true`, its absence `false`.
    #[must_use]
    pub const fn flag(name: &'static str) -> Self {
        Self::new(name, Type::Boolean, ParameterPresence::Default(Literal::Bool(false)))
    }

    /// Sets the name in the request: the field of the body or query, or the `{name}` in the path.
    #[must_use]
    pub const fn wire(mut self, wire: &'static str) -> Self {
        self.wire = wire;
        self
    }

    /// Sets the one sentence for the help.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// Places the parameter in the query string.
    #[must_use]
    pub const fn in_query(mut self) -> Self {
        self.place = ParameterLocation::Query;
        self
    }

    /// Places the parameter in the path.
    #[must_use]
    pub const fn in_path(mut self) -> Self {
        self.place = ParameterLocation::Path;
        self
    }

    /// Makes it a positional argument, after the address.
    #[must_use]
    pub const fn positional(mut self) -> Self {
        self.positional = true;
        self
    }

    /// Accepts `@FILE` and `-` for standard input as its value.
    #[must_use]
    pub const fn from_file(mut self) -> Self {
        self.from_file = true;
        self
    }

    /// Makes the flag send `false`, and its absence `true`.
    #[must_use]
    pub const fn inverted(mut self) -> Self {
        self.inverted = true;
        self
    }

    /// Sets the additional side effects of the action when this parameter is given and is not `false`.
    #[must_use]
    pub const fn effects(mut self, effects: &'static [Effect]) -> Self {
        self.effects = effects;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_needs_an_object_if_its_path_has_an_id() {
        let table = [
            (Action::post("a", "/api/v1/vms/{id}/reboot", ""), true),
            (Action::get("b", "/api/v1/apps/usage", ""), false),
            (Action::delete("c", "/api/v1/apps/previews/{preview}", ""), false),
            (Action::call("start", ""), true),
            (Action::make("backup", "vm", ""), true),
        ];
        for (action, needs) in table {
            assert_eq!(action.needs_object(), needs, "{}", action.name);
        }
    }

    #[test]
    fn flags_of_an_action_are_copied_to_its_endpoint() {
        let action = Action::post("a", "/x/{id}", "").secret().assumed().envelope(Envelope::Run);
        let endpoint = action.endpoint().unwrap();
        assert!(endpoint.secret && endpoint.provenance == Provenance::Assumed);
        assert_eq!(endpoint.envelope, Envelope::Run);
        assert_eq!(Action::call("start", "").secret().endpoint(), None);
    }
}
