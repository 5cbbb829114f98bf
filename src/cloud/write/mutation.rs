//! `MutationClient`: the mutating requests: creations, calls and deletions. Each passes a gate right before it is sent.

use std::time::Duration;

use serde_json::Value as Json;

use crate::cloud::error::MutationOutcome;
use crate::cloud::http::message::{HttpRequest, JsonBody, SentRequest, Transport};
use crate::cloud::http::response_class::{ResponseClass, called_object, created_object};
use crate::cloud::http::send::{self, SendPermit};
use crate::cloud::http::url_path::{UrlPathError, fill_path};
use crate::cloud::read::object_project::project_of;
use crate::cloud::read::object_reader::ObjectReader;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::ObjectKey;
use crate::model::schema::{ApiCall, Endpoint, Kind};

/// Timeout of a mutating request, connecting included.
pub(in crate::cloud) const MUTATION_DEADLINE: Duration = Duration::from_mins(1);

/// A client that may send mutating requests.
pub struct MutationClient<'c, C, K, R> {
    pub(in crate::cloud) reader: &'c ObjectReader<C, K, R>,
    pub(in crate::cloud) gate: SendPermit<'c>,
    /// Called when the rate limit refused a request: it is no longer in progress and waits for a retry.
    pub(in crate::cloud) back: &'c dyn Fn(),
    /// Called with each request that left.
    pub(in crate::cloud) seen: &'c dyn Fn(SentRequest),
}

impl<'c, C: Transport, K: Clock, R: Random> MutationClient<'c, C, K, R> {
    /// Sets a callback for each refusal by the rate limit, which is called before the request passes the gate again.
    #[must_use]
    pub fn telling_back(self, back: &'c dyn Fn()) -> Self {
        Self { back, ..self }
    }

    /// Sets a callback for each request that left, which is called when its answer has arrived or was lost.
    #[must_use]
    pub fn telling_sent(self, seen: &'c dyn Fn(SentRequest)) -> Self {
        Self { seen, ..self }
    }

    /// Sends one creation. A refusal by the rate limit had no effect, so it is sent again.
    pub async fn create(
        &self,
        kind: &'static Kind,
        parent: Option<&Name>,
        project: Option<&Name>,
        body: impl Into<JsonBody>,
    ) -> MutationOutcome {
        let path = fill_path(kind.api.create.path, None, parent.map(Name::as_str));
        match self.send_mutation(kind.api.create, path, project, body).await {
            ResponseClass::Failure(mutation) => mutation,
            ResponseClass::Success(json) => {
                self.with_main_ids(kind, created_object(kind, parent, json.as_ref())).await
            }
        }
    }

    /// Sends one call that changes an object. An empty `body` is sent as no body. A refusal by the rate limit had no
    /// effect, so it is sent again.
    pub async fn send_call(
        &self,
        kind: &'static Kind,
        call: &'static ApiCall,
        object: &ObjectKey,
        project: Option<&Name>,
        body: impl Into<JsonBody>,
    ) -> MutationOutcome {
        let project = match project_of(self.reader, object, project).await {
            Ok(project) => project,
            Err(reason) => return MutationOutcome::NotSent(reason),
        };
        let path = fill_path(call.endpoint.path, Some(&object.id), object.parent.as_deref());
        match self.send_mutation(call.endpoint, path, project.as_ref(), body).await {
            ResponseClass::Failure(mutation) => mutation,
            ResponseClass::Success(json) => {
                self.with_main_ids(kind, called_object(kind, call.endpoint, object, json.as_ref())).await
            }
        }
    }

    /// Replaces the ids in a response, and in its references, by main ids, as lists and reads by id do.
    async fn with_main_ids(&self, kind: &'static Kind, mutation: MutationOutcome) -> MutationOutcome {
        let MutationOutcome::Done(Some(mut object), secret) = mutation else { return mutation };
        self.reader.ids.use_known_id(&mut object);
        self.reader.name_references(kind, &mut object.attributes).await;
        MutationOutcome::Done(Some(object), secret)
    }

    /// Sends one deletion, with the kind's delete body. A refusal by the rate limit had no effect, so it is sent again.
    pub async fn delete(
        &self,
        kind: &'static Kind,
        object: &ObjectKey,
        project: Option<&Name>,
    ) -> MutationOutcome {
        let project = match project_of(self.reader, object, project).await {
            Ok(project) => project,
            Err(reason) => return MutationOutcome::NotSent(reason),
        };
        let path = fill_path(kind.api.delete.path, Some(&object.id), object.parent.as_deref());
        let fields = kind.api.delete_body.iter();
        let body =
            fields.filter_map(|(key, literal)| Some(((*key).to_owned(), literal.value().to_wire()?)));
        match self
            .send_mutation(kind.api.delete, path, project.as_ref(), Json::Object(body.collect()))
            .await
        {
            ResponseClass::Failure(mutation) => mutation,
            ResponseClass::Success(_) => MutationOutcome::Done(None, None),
        }
    }

    pub(in crate::cloud) async fn send_mutation(
        &self,
        endpoint: Endpoint,
        path: Result<String, UrlPathError>,
        project: Option<&Name>,
        body: impl Into<JsonBody>,
    ) -> ResponseClass {
        let path = match path {
            Ok(path) => path,
            Err(error) => return ResponseClass::Failure(MutationOutcome::NotSent(error.to_string())),
        };
        let JsonBody { json: body, secrets } = body.into();
        let empty = body.is_null() || body.as_object().is_some_and(serde_json::Map::is_empty);
        let request = HttpRequest {
            method: endpoint.method,
            path,
            query: Vec::new(),
            project: project.cloned(),
            body: (!empty).then_some(body),
            secrets,
            deadline: MUTATION_DEADLINE,
        };
        send::send_mutation(&self.reader.requests, &request, self.gate, (self.back, self.seen)).await
    }
}
