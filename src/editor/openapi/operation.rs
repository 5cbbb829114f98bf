//! `ApiOperation`: one HTTP method on one path, with its parameters, body and responses. Built from the endpoints of a
//! kind; uses of the same endpoint are merged.

use serde_json::{Map, Value, json};

use super::body::{self, BodySchema};
use super::schema_names::{HEALTH, creation_schema_name};
use super::{answer, shapes, types};
use crate::model::schema::{
    Action, CatalogShape, Endpoint, Kind, KindScope, Literal, Method, Parameter, ParameterLocation,
    ParameterPresence, Provenance, Registry,
};

/// Limit on the length of a path segment in characters.
const MAX_PATH_PARAMETER_CHARS: u64 = 255;

/// Where the body of an operation is defined.
#[derive(Debug, Clone, PartialEq)]
enum OperationBody {
    Empty,
    /// The create request of a kind, which has a named schema.
    Creation(Box<(String, BodySchema)>),
    Fields(BodySchema),
}

/// An operation: one HTTP method on one path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiOperation {
    pub(super) path: String,
    endpoint: Endpoint,
    id: String,
    tag: String,
    summary: String,
    parameters: Vec<Value>,
    sends: OperationBody,
    status: &'static str,
    answer: Value,
    needs_key: bool,
}

/// Returns the operations of a kind, the create operation first.
pub(super) fn of_kind(registry: &Registry, kind: &Kind) -> Vec<ApiOperation> {
    let new = |verb: &str, endpoint: Endpoint, summary: &str| {
        ApiOperation::for_endpoint(registry, kind, verb, endpoint, summary)
    };
    let mut all = lifecycle_operations(kind, new);
    all.extend(kind.calls().map(|call| {
        let mut change = new(call.name, call.endpoint, &format!("Changes: {}.", title_words(kind)));
        change.sends = OperationBody::fields(body::of_call(kind, call));
        change.answer = answer::object_answer(kind, &call.endpoint, true);
        change
    }));
    all.extend(kind.actions.iter().filter_map(|action| {
        let act = new(action.name, action.endpoint()?, action.summary);
        Some(act.with_action(kind, action))
    }));
    all.extend(kind.attributes.iter().filter_map(|attribute| {
        let summary = format!("Values that {} can be changed to.", attribute.name);
        let mut read = new(&format!("choices-of-{}", attribute.name), attribute.choices?, &summary);
        read.answer = answer::list_envelope(&json!({"type": "object", "required": ["id"]}));
        Some(read)
    }));
    all
}

/// Returns the create, list, read and delete operations of a kind.
fn lifecycle_operations(
    kind: &Kind,
    new: impl Fn(&str, Endpoint, &str) -> ApiOperation,
) -> Vec<ApiOperation> {
    let (name, api) = (title_words(kind), kind.api);
    let mut create = new("create", api.create, &format!("Makes: {name}."));
    create.sends = OperationBody::Creation(Box::new((creation_schema_name(kind), body::of_creation(kind))));
    create.answer = answer::creation_answer(kind);
    if api.create.method == Method::Post {
        create.status = "201";
    }
    let mut list = new("list", api.list, &format!("Lists: {name}."));
    if api.absent_when.is_some() {
        list.answer = answer::object_answer(kind, &api.list, true);
    } else {
        list.answer = answer::list_envelope(&answer::record_reference(kind));
        list.parameters.extend(page_parameters());
    }
    let read = api.read.map(|endpoint| {
        let mut read = new("read", endpoint, &format!("Shows: {name}."));
        read.answer = answer::object_answer(kind, &endpoint, true);
        read
    });
    let mut delete = new("delete", api.delete, &format!("Removes: {name}."));
    delete.sends = OperationBody::fields(body::of_deletion(kind));
    [Some(create), Some(list), read, Some(delete)].into_iter().flatten().collect()
}

/// Returns a kind's name as readable text.
fn title_words(kind: &Kind) -> String {
    kind.name.replace('_', " ")
}

impl ApiOperation {
    fn for_endpoint(
        registry: &Registry,
        kind: &Kind,
        verb: &str,
        endpoint: Endpoint,
        summary: &str,
    ) -> Self {
        let parent = kind.child_of().and_then(|(of, _)| registry.kind(of));
        let name = parent.map(|parent| format!("{}_id", parent.name));
        let mut parameters = Vec::new();
        let has = |part: &str| endpoint.path.split('/').any(|found| found == part);
        if let Some(name) = name.as_deref().filter(|_| has("{parent}")) {
            parameters.push(in_path(name, json!({"type": "string"})));
        }
        if has("{id}") {
            let named = kind.attribute(kind.api.id).map(|attribute| types::request_schema(&attribute.ty));
            parameters.push(in_path("id", named.unwrap_or_else(|| json!({"type": "string"}))));
        }
        let of_project =
            [Some(kind), parent].into_iter().flatten().any(|kind| kind.scope == KindScope::Project);
        let listed = endpoint == kind.api.list && kind.scope == KindScope::Project;
        if of_project && (endpoint.method.mutates() || listed) {
            let stated = kind.states_project && endpoint.method.mutates();
            let which = if stated { "ProjectStated" } else { "Project" };
            parameters.push(json!({"$ref": format!("#/components/parameters/{which}")}));
        }
        let path = name.map(|name| endpoint.path.replace("{parent}", &format!("{{{name}}}")));
        Self {
            path: path.unwrap_or_else(|| endpoint.path.to_owned()),
            endpoint,
            id: format!("{}_{}", kind.name, verb.replace('-', "_")),
            tag: kind.name.to_owned(),
            summary: summary.to_owned(),
            parameters,
            sends: OperationBody::Empty,
            status: "200",
            answer: answer::reference_to("Done"),
            needs_key: true,
        }
    }

    /// Returns a GET operation that belongs to no kind.
    pub(super) fn read(path: &'static str, tag: &str, summary: &str, answer: Value) -> Self {
        let words: Vec<_> = path.split(['/', '-']).filter(|word| !word.is_empty()).collect();
        Self {
            path: path.to_owned(),
            endpoint: Endpoint::documented(Method::Get, path),
            id: format!("read_{}", words.join("_")),
            tag: tag.to_owned(),
            summary: summary.to_owned(),
            parameters: Vec::new(),
            sends: OperationBody::Empty,
            status: "200",
            answer,
            needs_key: true,
        }
    }

    /// Marks the operation as one that needs no API key.
    pub(super) fn without_key(mut self) -> Self {
        self.needs_key = false;
        self
    }

    /// Adds the paging parameters to a catalog's operation, unless the catalog is a single record.
    pub(super) fn with_pages(self, shape: CatalogShape) -> Self {
        if shape == CatalogShape::Single { self } else { self.with_paging() }
    }

    /// Adds the paging parameters of a list.
    pub(super) fn with_paging(mut self) -> Self {
        self.parameters.extend(page_parameters());
        self
    }

    /// Adds the parameters, body and response of an action.
    fn with_action(mut self, kind: &Kind, action: &Action) -> Self {
        for parameter in action.parameters {
            match parameter.place {
                ParameterLocation::Path => {
                    self.parameters.push(in_path(parameter.wire, body::of_parameter(parameter)));
                }
                ParameterLocation::Query => self.parameters.push(in_query(parameter)),
                ParameterLocation::Body => {}
            }
        }
        self.sends = OperationBody::fields(body::of_action(action));
        self.answer = answer::of_action(kind, action, &self.endpoint);
        if self.endpoint.method == Method::Post {
            // Whether the action creates something is known from the record only, so the exact success status is not.
            self.status = "2XX";
        }
        self
    }

    /// Returns the HTTP method in lower case, as the key in a path object.
    pub(super) fn method(&self) -> String {
        self.endpoint.method.as_str().to_ascii_lowercase()
    }

    /// Combines the operation with another use of the same endpoint; id and summary of the first stay.
    pub(super) fn merge(mut self, other: Self) -> Self {
        for parameter in other.parameters {
            if !self.parameters.contains(&parameter) {
                self.parameters.push(parameter);
            }
        }
        self.sends = self.sends.merge(other.sends);
        if other.answer != answer::reference_to("Done") && other.status == "2XX" {
            (self.answer, self.status) = (other.answer, other.status);
        }
        self
    }

    /// Returns the possible error responses by status.
    fn refusals(&self) -> Map<String, Value> {
        let (method, path) = (self.endpoint.method, self.endpoint.path);
        let changes = method.mutates();
        let is_of_service = HEALTH.iter().any(|(known, _)| *known == path);
        let has = |place: &str| self.parameters.iter().any(|parameter| parameter["in"] == place);
        // The paging parameters and the project header are references to shared parameters.
        let has_shared = self.parameters.iter().any(|parameter| parameter.get("$ref").is_some());
        let refers = changes && (self.sends != OperationBody::Empty || has_shared);
        let asks_for_object =
            self.parameters.iter().any(|parameter| parameter["schema"]["format"] == "uuid");
        let special = shapes::REFUSALS.iter().filter(|(_, operations)| {
            operations.iter().any(|(verb, known)| {
                *verb == method && (*known == path || known.ends_with('/') && path.starts_with(known))
            })
        });
        let statuses = [
            ("400", changes || has("query") || has_shared),
            ("401", self.needs_key),
            ("403", self.needs_key),
            ("404", has("path") || refers || asks_for_object),
            ("409", changes),
            ("500", true),
            ("503", true),
        ];
        let statuses = statuses.into_iter().filter(|(_, may)| *may).map(|(status, _)| status);
        let statuses = statuses.chain(special.map(|(status, _)| *status));
        let refer = |name: &str| json!({"$ref": format!("#/components/responses/{name}")});
        let mut refusals: Map<_, _> =
            statuses.map(|status| (status.to_owned(), refer(&format!("Refused{status}")))).collect();
        if !is_of_service {
            refusals.insert("429".to_owned(), refer("Limited"));
        }
        refusals
    }

    /// Returns the operation object for the document.
    pub(super) fn into_json(self) -> Value {
        let mut responses = self.refusals();
        let (method, path) = (self.endpoint.method, self.endpoint.path);
        let object = answer::reference_to(&types::pascal_case(&self.tag));
        let answer = shapes::payload_of(method, path)
            .map_or(self.answer, |payload| answer::payload_schema(payload, &object));
        let content = json!({"application/json": {"schema": answer}});
        responses.insert(
            self.status.to_owned(),
            json!({"description": "The operation succeeded.", "content": content}),
        );
        let mut shown = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "responses": responses,
        });
        if !self.parameters.is_empty() {
            shown["parameters"] = json!(self.parameters);
        }
        if let Some(body) = self.sends.to_schema() {
            shown["requestBody"] = body;
        }
        if !self.needs_key {
            shown["security"] = json!([]);
        }
        if self.endpoint.provenance == Provenance::Assumed {
            shown["x-assumed"] = json!(true);
        }
        shown
    }
}

impl OperationBody {
    fn fields(body: BodySchema) -> Self {
        if body.is_empty() { Self::Empty } else { Self::Fields(body) }
    }

    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (own, Self::Empty) => own,
            (Self::Empty, other) => other,
            (own, other) => {
                let body = |sends| match sends {
                    Self::Empty => BodySchema::default(),
                    Self::Creation(named) => named.1,
                    Self::Fields(body) => body,
                };
                Self::Fields(body(own).merge(body(other)))
            }
        }
    }

    fn to_schema(&self) -> Option<Value> {
        let (schema, required) = match self {
            Self::Empty => return None,
            Self::Creation(named) => (answer::reference_to(&named.0), named.1.is_required()),
            Self::Fields(body) => (body.to_schema(), body.is_required()),
        };
        Some(json!({"required": required, "content": {"application/json": {"schema": schema}}}))
    }
}

/// Returns a path parameter. A string in a path is a single segment, and its maximum length is smaller than in a body.
fn in_path(name: &str, mut schema: Value) -> Value {
    let longest = schema["maxLength"].as_u64().unwrap_or(u64::MAX).min(MAX_PATH_PARAMETER_CHARS);
    schema["maxLength"] = json!(longest);
    schema["minLength"] = json!(1);
    let mut parameter = json!({"name": name, "in": "path", "required": true});
    parameter["schema"] = schema;
    parameter
}

fn in_query(parameter: &Parameter) -> Value {
    let mut schema = body::of_parameter(parameter);
    if let ParameterPresence::Default(Literal::Bool(value)) = parameter.need {
        schema["default"] = json!(value);
    }
    let required = parameter.need == ParameterPresence::Required;
    json!({"name": parameter.wire, "in": "query", "required": required, "schema": schema})
}

fn page_parameters() -> [Value; 2] {
    ["Limit", "Offset"].map(|name| json!({"$ref": format!("#/components/parameters/{name}")}))
}

/// Returns the shared parameters.
pub(super) fn shared_parameters() -> Value {
    json!({
        "Project": {
            "name": "X-Project-ID",
            "in": "header",
            "required": false,
            "description": "The project. A list is filtered by it; a change without it falls back to the \
                            account's default project.",
            "schema": {"type": "string", "format": "uuid"},
        },
        "ProjectStated": {
            "name": "X-Project-ID",
            "in": "header",
            "required": true,
            "description": "The project. A change without it is refused.",
            "schema": {"type": "string", "format": "uuid"},
        },
        "Limit": {
            "name": "limit",
            "in": "query",
            "description": "The maximum number of entries; the service may return fewer.",
            "schema": {"type": "integer", "minimum": 1, "default": 20},
        },
        "Offset": {
            "name": "offset",
            "in": "query",
            "description": "The number of entries to skip.",
            "schema": {"type": "integer", "minimum": 0, "default": 0},
        },
    })
}
