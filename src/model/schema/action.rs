//! `Action`: an operation that is not a change of state: reboot, restore, rotate, and every other read.
//!
//! What it asks for, what it does besides, what it answers and what is waited for are words of the
//! table: the command line, its help, the requests and the output derive from them.

use super::service_run::RunSchema;
use super::{Effect, Endpoint, Envelope, Literal, Method, Provenance, Type};

/// An operation that is not a change of state: reboot, restore, rotate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// The name: `reboot`. Kinds that can do the same use the same name.
    pub name: &'static str,
    /// What is sent.
    pub request: ActionRequest,
    /// One sentence.
    pub summary: &'static str,
    /// What it asks for besides the object.
    pub parameters: &'static [Parameter],
    /// Names of parameters of which at most one may be given.
    pub exclusive: &'static [&'static str],
    /// What it does besides. One that disrupts is asked about.
    pub effects: &'static [Effect],
    /// It changes nothing, whatever its verb: a query that is posted.
    pub only_reads: bool,
    /// What the answer is.
    pub answer: ResponseShape,
    /// When it is over.
    pub until: ActionCompletion,
    /// It leaves a line in the history of the stack that owns the object.
    pub recorded: bool,
}

/// What an action sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionRequest {
    /// An endpoint of its own. Without `{id}` and `{parent}` in its path it needs no object.
    Send(Endpoint),
    /// A call of the kind, by name: what an apply sends when the declared attribute changes.
    Call(&'static str),
    /// The creation of an object of another kind, outside of any configuration, that refers to this one.
    Create {
        /// The other kind.
        kind: &'static str,
        /// Its attribute that refers to this object.
        attribute: &'static str,
    },
    /// An action of an object of another kind that refers to this one: a machine's restore is its
    /// backup's. The object is named by the flag of its kind.
    Through {
        /// The other kinds' action.
        action: &'static str,
        /// The other kinds, and their attributes that refer to this object.
        from: &'static [(&'static str, &'static str)],
    },
}

/// One thing that an action asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The flag, without dashes: `in-place`.
    pub name: &'static str,
    /// The field of the body or the query, or the `{name}` of the path.
    pub wire: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Its type. A boolean is a flag that is there or not; a list repeats its flag.
    pub ty: Type,
    /// Whether it must be given.
    pub need: ParameterPresence,
    /// Where it travels.
    pub place: ParameterLocation,
    /// It is given by position, after the address.
    pub positional: bool,
    /// `@FILE` stands for a file's contents, `-` for standard input.
    pub from_file: bool,
    /// A flag that is there sends `false`: `--write` is `read_only: false`.
    pub inverted: bool,
    /// What the action does besides, when this is given (and is not `false`).
    pub effects: &'static [Effect],
}

/// Whether a parameter must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterPresence {
    /// It must.
    Required,
    /// It may; otherwise nothing is sent.
    Optional,
    /// It may; otherwise this is sent.
    Default(Literal),
}

/// Where a parameter travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    /// In the JSON body.
    Body,
    /// Behind the question mark.
    Query,
    /// In the path, at `{wire}`.
    Path,
}

/// What an action answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseShape {
    /// Nothing but the word that it was done.
    Empty,
    /// An object of the kind: this one as it is now, or a new one.
    Object,
    /// One record. Where the endpoint holds a secret, only the fields named here are shown unless more
    /// is asked for; a dot leads into a nested record. Empty without a secret: all fields.
    Record(&'static [&'static str]),
    /// Records in a list: a table with these columns first. As for `Record`, with a secret these alone.
    Rows(&'static [&'static str]),
    /// Records in a list that grows: a table that can be followed, by this field of its records.
    Feed {
        /// Columns that come first.
        columns: &'static [&'static str],
        /// The field that tells records apart.
        id: &'static str,
    },
    /// `{columns, rows, truncated}`: the result of a query.
    QueryResult,
    /// One text, in this field, for a file.
    Document {
        /// The field.
        field: &'static str,
        /// How it is merged into a file that is there; `None` where it cannot be.
        merge: Option<DocumentMerge>,
    },
}

/// How a document is merged into a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentMerge {
    /// One cluster, user and context, by a name that the client chooses.
    Kubeconfig,
}

/// When an action is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionCompletion {
    /// With its answer.
    OnResponse,
    /// When the object has settled, as its kind's table says. News of this action of the kind (a `Feed`)
    /// are told meanwhile.
    ObjectReady(Option<&'static str>),
    /// When the object has settled that one of these attributes refers to.
    LinkedObjectReady(&'static [&'static str]),
    /// When the object that the answer describes has settled: a new one, or this one.
    ReturnedObjectReady,
    /// When the record that a parameter of the path names is listed no more.
    RecordDeleted {
        /// The kind's action that lists such records.
        listed_by: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// When the record that it answers with has ended.
    RunFinished(&'static RunSchema),
}

impl Action {
    /// Returns an action.
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

    /// Returns a read that the specification names; its answer is a record until told otherwise.
    #[must_use]
    pub const fn get(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        let mut action =
            Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Get, path)), summary);
        action.answer = ResponseShape::Record(&[]);
        action.only_reads = true;
        action
    }

    /// Returns an action by POST that the specification names.
    #[must_use]
    pub const fn post(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Post, path)), summary)
    }

    /// Returns an action by PATCH that the specification names.
    #[must_use]
    pub const fn patch(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Patch, path)), summary)
    }

    /// Returns an action by DELETE that the specification names.
    #[must_use]
    pub const fn delete(name: &'static str, path: &'static str, summary: &'static str) -> Self {
        Self::new(name, ActionRequest::Send(Endpoint::documented(Method::Delete, path)), summary)
    }

    /// Returns an action that sends a call of the kind. Attributes that travel in it are its parameters.
    #[must_use]
    pub const fn call(call: &'static str, summary: &'static str) -> Self {
        Self::new(call, ActionRequest::Call(call), summary).until(ActionCompletion::ObjectReady(None))
    }

    /// Returns an action that makes an object of another kind for this one. The other kind's attributes
    /// are its parameters.
    #[must_use]
    pub const fn make(kind: &'static str, attribute: &'static str, summary: &'static str) -> Self {
        Self::new(kind, ActionRequest::Create { kind, attribute }, summary)
            .until(ActionCompletion::ReturnedObjectReady)
            .answer(ResponseShape::Object)
    }

    /// Returns an action that another kind's object does to this one.
    #[must_use]
    pub const fn through(
        name: &'static str,
        from: &'static [(&'static str, &'static str)],
        summary: &'static str,
    ) -> Self {
        Self::new(name, ActionRequest::Through { action: name, from }, summary)
            .until(ActionCompletion::ObjectReady(None))
    }

    /// Marks its endpoint as assumed by the contract.
    #[must_use]
    pub const fn assumed(mut self) -> Self {
        if let ActionRequest::Send(mut endpoint) = self.request {
            endpoint.provenance = Provenance::Assumed;
            self.request = ActionRequest::Send(endpoint);
        }
        self
    }

    /// Says that the answer holds a secret.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        if let ActionRequest::Send(endpoint) = self.request {
            self.request = ActionRequest::Send(endpoint.secret());
        }
        self
    }

    /// Sets the envelope of the answer.
    #[must_use]
    pub const fn envelope(mut self, envelope: Envelope) -> Self {
        if let ActionRequest::Send(endpoint) = self.request {
            self.request = ActionRequest::Send(endpoint.answers(envelope));
        }
        self
    }

    /// Sets what it asks for.
    #[must_use]
    pub const fn parameters(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    /// Lets at most one of these parameters be given.
    #[must_use]
    pub const fn exclusive(mut self, names: &'static [&'static str]) -> Self {
        self.exclusive = names;
        self
    }

    /// Says what it does besides.
    #[must_use]
    pub const fn effects(mut self, effects: &'static [Effect]) -> Self {
        self.effects = effects;
        self
    }

    /// Says that it changes nothing, whatever its verb.
    #[must_use]
    pub const fn only_reads(mut self) -> Self {
        self.only_reads = true;
        self
    }

    /// Sets what the answer is.
    #[must_use]
    pub const fn answer(mut self, answer: ResponseShape) -> Self {
        self.answer = answer;
        self
    }

    /// Sets when it is over.
    #[must_use]
    pub const fn until(mut self, until: ActionCompletion) -> Self {
        self.until = until;
        self
    }

    /// Lets it leave a line in the history.
    #[must_use]
    pub const fn recorded(mut self) -> Self {
        self.recorded = true;
        self
    }

    /// Returns its own endpoint; `None` where it sends something that stands elsewhere in the tables.
    #[must_use]
    pub const fn endpoint(&self) -> Option<Endpoint> {
        match self.request {
            ActionRequest::Send(endpoint) => Some(endpoint),
            ActionRequest::Call(_) | ActionRequest::Create { .. } | ActionRequest::Through { .. } => None,
        }
    }

    /// Tells whether it is done to an object, and not to the kind as a whole.
    #[must_use]
    pub fn needs_object(&self) -> bool {
        self.endpoint()
            .is_none_or(|endpoint| endpoint.path.split('/').any(|part| matches!(part, "{id}" | "{parent}")))
    }

    /// Returns a parameter by its flag.
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

    /// Returns a parameter that must be given.
    #[must_use]
    pub const fn required(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, ParameterPresence::Required)
    }

    /// Returns a parameter that may be given.
    #[must_use]
    pub const fn optional(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, ParameterPresence::Optional)
    }

    /// Returns a parameter that is sent with this value when it is not given.
    #[must_use]
    pub const fn default(name: &'static str, ty: Type, literal: Literal) -> Self {
        Self::new(name, ty, ParameterPresence::Default(literal))
    }

    /// Returns a flag: there it sends `true`, else `false`.
    #[must_use]
    pub const fn flag(name: &'static str) -> Self {
        Self::new(name, Type::Boolean, ParameterPresence::Default(Literal::Bool(false)))
    }

    /// Sets the field on the wire.
    #[must_use]
    pub const fn wire(mut self, wire: &'static str) -> Self {
        self.wire = wire;
        self
    }

    /// Sets the one sentence for people.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// Lets it travel in the query.
    #[must_use]
    pub const fn in_query(mut self) -> Self {
        self.place = ParameterLocation::Query;
        self
    }

    /// Lets it travel in the path.
    #[must_use]
    pub const fn in_path(mut self) -> Self {
        self.place = ParameterLocation::Path;
        self
    }

    /// Lets it be given by position, after the address.
    #[must_use]
    pub const fn positional(mut self) -> Self {
        self.positional = true;
        self
    }

    /// Lets a file or standard input stand for it.
    #[must_use]
    pub const fn from_file(mut self) -> Self {
        self.from_file = true;
        self
    }

    /// Lets the flag send `false`, and its absence `true`.
    #[must_use]
    pub const fn inverted(mut self) -> Self {
        self.inverted = true;
        self
    }

    /// Says what the action does besides, when this is given.
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
    fn what_needs_an_object_is_read_off_the_path() {
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
    fn marks_reach_the_endpoint() {
        let action = Action::post("a", "/x/{id}", "").secret().assumed().envelope(Envelope::Run);
        let endpoint = action.endpoint().unwrap();
        assert!(endpoint.secret && endpoint.provenance == Provenance::Assumed);
        assert_eq!(endpoint.envelope, Envelope::Run);
        assert_eq!(Action::call("start", "").secret().endpoint(), None);
    }
}
