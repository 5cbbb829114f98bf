//! Records that run and end, of which the service keeps a list for each object: a deployment.

use serde_json::Value as Json;

use super::change::Changes;
use super::client::{Client, Mutation, ReadError};
use super::decode;
use super::exchange::Cloud;
use super::outcome::{Settled, called};
use super::path::fill;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::schema::{Action, Call, Kind, Run};
use crate::model::snapshot::ObjectKey;

/// Longest id of such a record that is believed.
const LONGEST_ID: usize = 128;

/// Records of the list that are looked at: the newest come first.
const LOOKED_AT: &str = "100";

impl<C: Cloud, K: Clock, R: Random> Changes<'_, C, K, R> {
    /// Sends one call that begins a record of its own, and returns its id besides, where the answer has
    /// one.
    pub async fn begin(
        &self,
        kind: &'static Kind,
        call: &'static Call,
        (object, project): (&ObjectKey, Option<&Name>),
        run: &Run,
        body: Json,
    ) -> (Mutation, Option<Name>) {
        let path = fill(call.endpoint.path, Some(&object.id), object.parent.as_deref());
        match self.mutate(call.endpoint, path, project, body).await {
            Settled::Ended(mutation) => (mutation, None),
            Settled::Success(json) => {
                let record = json.as_ref().and_then(|json| decode::payload(json, call.endpoint.envelope));
                let id = record.and_then(|record| text(record, run.id)).map(Name::new);
                (called(kind, call.endpoint, object, json.as_ref()), id)
            }
        }
    }
}

impl<C: Cloud, K: Clock, R: Random> Client<C, K, R> {
    /// Reads the status of a record of an object; `None` when its list does not show it.
    ///
    /// # Errors
    /// As `refresh`.
    pub async fn run_status(
        &self,
        kind: &'static Kind,
        object: &ObjectKey,
        run: &Run,
        id: &str,
    ) -> Result<Option<Name>, ReadError> {
        let Some(endpoint) = kind.action(run.listed_by).and_then(Action::endpoint) else {
            return Ok(None);
        };
        let fail = |reason| ReadError::Failed { request: format!("GET {}", endpoint.path), reason };
        let path = fill(endpoint.path, Some(&object.id), object.parent.as_deref());
        let path = path.map_err(|error| fail(error.to_string()))?;
        let (json, _) = self.read(&path, vec![("limit", LOOKED_AT.to_owned())], None).await?;
        let rows = decode::page(json).map_err(fail)?.rows;
        let found = rows.iter().find(|row| text(row, run.id) == Some(id));
        Ok(found.and_then(|row| text(row, run.status)).map(Name::new))
    }
}

fn text<'a>(record: &'a Json, field: &str) -> Option<&'a str> {
    record.get(field)?.as_str().filter(|text| !text.is_empty() && text.len() <= LONGEST_ID)
}
