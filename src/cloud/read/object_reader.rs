//! `ObjectReader`: reads single objects by their ids, and names them and what they refer to by the one id that each is
//! known by. In: keys. Out: objects, or nothing on a 404 in the service's words. It holds what all reads of one client
//! share: the requests, the tables, the ids and projects that earlier answers showed, and how long lists lag behind.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use super::object_ids::{KnownIds, multi_id_references};
use crate::cloud::error::{OneTimeSecret, ReadError};
use crate::cloud::http::decode::{self, is_uuid};
use crate::cloud::http::message::Transport;
use crate::cloud::http::requests::Requests;
use crate::cloud::http::send;
use crate::cloud::http::url_path::fill_path;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Endpoint, Kind, Registry};
use crate::model::values::value::{Attributes, Value};

/// Assumed time by which lists lag behind, unless the caller sets another one.
const DEFAULT_LIST_LAG: Duration = Duration::from_secs(10);

/// What all reads of one client share.
pub(in crate::cloud) struct ObjectReader<C, K, R> {
    pub requests: Requests<C, K, R>,
    pub registry: Registry,
    /// The time by which a list may lag behind: an object that seems to be gone is checked again after it.
    pub lag: Cell<Duration>,
    /// The known ids of objects with several ids.
    pub ids: KnownIds,
    /// Projects of objects whose records do not state one.
    pub homes: RefCell<BTreeMap<ObjectKey, Name>>,
}

impl<C: Transport, K: Clock, R: Random> ObjectReader<C, K, R> {
    /// Returns a reader that has read nothing.
    pub fn new(requests: Requests<C, K, R>, registry: Registry) -> Self {
        Self {
            requests,
            registry,
            lag: Cell::new(DEFAULT_LIST_LAG),
            ids: KnownIds::default(),
            homes: RefCell::default(),
        }
    }

    /// Reads one object of a kind by its id; `None` is a 404.
    ///
    /// # Errors
    /// When the read is refused or has no usable answer, and when the answer describes another object.
    pub async fn read_by_id(
        &self,
        kind: &'static Kind,
        endpoint: Endpoint,
        key: &ObjectKey,
    ) -> Result<Option<Object>, ReadError> {
        let fail = |reason: String| ReadError::Failed { request: format!("GET {}", key.kind), reason };
        let path = fill_path(endpoint.path, Some(&key.id), key.parent.as_deref());
        let path = path.map_err(|error| fail(error.to_string()))?;
        let json = match send::read(&self.requests, &path, Vec::new(), None).await {
            Ok((json, _)) => json,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let fail = |reason: String| ReadError::Failed { request: format!("GET {path}"), reason };
        let record = decode::find_payload(&json, endpoint.envelope);
        let record = record.ok_or_else(|| fail("the answer holds no object".to_owned()))?;
        let mut object = decode::parse_object(kind, record, key.parent.as_ref(), true).map_err(&fail)?;
        let ids: Vec<Name> = decode::all_ids(kind, record).collect();
        self.ids.record_ids(kind, &object, &ids);
        self.ids.use_known_id(&mut object);
        let is_asked_for = object.id == key.id
            || ids.contains(&key.id)
            || self.ids.main_id(kind.name, &key.id).as_ref() == Some(&object.id);
        if !is_asked_for {
            return Err(fail("the answer describes another object".to_owned()));
        }
        self.resolve_references(kind, &mut object.attributes).await?;
        Ok(Some(object))
    }

    /// Reads the secret that an object's creation showed once, of a kind that shows it again; `None`
    /// when the kind does not, or the answer holds none.
    ///
    /// # Errors
    /// When the service cannot be read.
    pub async fn reveal_secret(
        &self,
        kind: &Kind,
        key: &ObjectKey,
    ) -> Result<Option<OneTimeSecret>, ReadError> {
        let Some(endpoint) = kind.reveal() else { return Ok(None) };
        let path = fill_path(endpoint.path, Some(&key.id), key.parent.as_deref());
        let path = path.map_err(|error| ReadError::Failed {
            request: format!("GET {}", key.kind),
            reason: error.to_string(),
        })?;
        let (json, _) = send::read(&self.requests, &path, Vec::new(), None).await?;
        let record = decode::find_payload(&json, endpoint.envelope).unwrap_or(&json);
        Ok(decode::shown_once(kind, record).map(OneTimeSecret))
    }

    /// Returns whether a GET of a child's parent returns 404.
    pub async fn parent_is_gone(&self, kind: &'static Kind, key: &ObjectKey) -> Result<bool, ReadError> {
        let Some(((of, _), id)) = kind.child_of().zip(key.parent.clone()) else { return Ok(false) };
        let parent = ObjectKey { kind: Name::new_static(of), parent: None, id };
        // A parent that is itself searched in a list would lead to an endless recursion.
        let kind = self.registry.kind(of);
        let Some((kind, endpoint)) = kind.and_then(|kind| Some((kind, kind.api.read?))) else {
            return Ok(false);
        };
        Ok(Box::pin(self.read_by_id(kind, endpoint, &parent)).await?.is_none())
    }

    /// Replaces each reference to an object that has several ids by the object's main id, which is looked up if no
    /// record has shown it. An attribute whose reference this credential cannot look up is removed:
    /// it counts as not shown.
    ///
    /// # Errors
    /// When a look-up fails for another reason than a refusal.
    pub async fn resolve_references(
        &self,
        kind: &'static Kind,
        attributes: &mut Attributes,
    ) -> Result<(), ReadError> {
        for (name, of) in multi_id_references(self.registry.kinds, kind) {
            let Some(id) = attributes.get(name).and_then(Value::as_text).map(Name::new) else { continue };
            match self.look_up(of, &id).await? {
                Some(main) => drop(attributes.insert(Name::new_static(name), Value::Text(main))),
                None => drop(attributes.remove(name)),
            }
        }
        Ok(())
    }

    /// Does the same with sent values, but keeps a reference that cannot be looked up.
    pub async fn name_references(&self, kind: &'static Kind, attributes: &mut Attributes) {
        let mut named = attributes.clone();
        if self.resolve_references(kind, &mut named).await.is_ok() {
            attributes.extend(named);
        }
    }

    /// Returns the main id of an object; `None` where this credential cannot read it.
    async fn look_up(&self, kind: &'static Kind, id: &Name) -> Result<Option<Name>, ReadError> {
        if let Some(main) = self.ids.main_id(kind.name, id) {
            return Ok(Some(main));
        }
        let asked = (Name::new_static(kind.name), id.clone());
        // The service itself uses the UUID as the id of an object.
        let endpoint = kind.api.read.filter(|_| !is_uuid(id) && !self.ids.is_unreadable(&asked));
        let Some(endpoint) = endpoint else { return Ok(is_uuid(id).then(|| id.clone())) };
        let key = ObjectKey { kind: asked.0.clone(), parent: None, id: id.clone() };
        match Box::pin(self.read_by_id(kind, endpoint, &key)).await {
            Ok(Some(object)) => Ok(Some(object.id)),
            // No object has this id, so it is not an alias of an existing object.
            Ok(None) => Ok(Some(id.clone())),
            Err(ReadError::Refused { .. }) => {
                self.ids.mark_unreadable(asked);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
