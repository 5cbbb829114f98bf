//! One object by its key: by its id, or in its list where its kind has no by-id read.

use super::object_reader::ObjectReader;
use super::paging::{ListScope, list_consistently};
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::Kind;

/// Reads one object; `None` is a 404. A kind without a by-id read is looked up in its list. An object with
/// several ids is identified by the same one of them, whichever id the request names.
///
/// # Errors
/// When a read is refused or has no usable answer, and when the answer describes another object.
pub(in crate::cloud) async fn find_object<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    key: &ObjectKey,
) -> Result<Option<Object>, ReadError> {
    let fail = |reason: String| ReadError::Failed { request: format!("GET {}", key.kind), reason };
    let kind = reader.registry.kind(&key.kind).ok_or_else(|| fail("there is no such kind".to_owned()))?;
    match kind.api.read {
        Some(endpoint) => reader.read_by_id(kind, endpoint, key).await,
        None => find_in_list(reader, kind, key).await,
    }
}

/// Finds an object in its list. The children of a missing parent count as missing.
async fn find_in_list<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    kind: &'static Kind,
    key: &ObjectKey,
) -> Result<Option<Object>, ReadError> {
    match list_consistently(reader, &ListScope { kind, parent: key.parent.as_ref(), project: None }).await {
        Ok(objects) => Ok(objects.into_iter().find(|object| object.id == key.id)),
        Err(error) if error.is_not_found() && reader.parent_is_gone(kind, key).await? => Ok(None),
        Err(error) => Err(error),
    }
}
