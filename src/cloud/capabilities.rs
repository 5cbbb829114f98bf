//! `ServiceCapabilities`: the capabilities that a service has shown, to which later requests are adapted.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Rows to request per page until a service shows that it returns fewer or more.
pub const DEFAULT_PAGE_SIZE: usize = 100;

/// Maximum page size that is ever requested.
pub const MAX_PAGE_SIZE: usize = 1_000;

/// The capabilities that a service has shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCapabilities {
    /// Maximum number of rows of a page; `None` until it was observed.
    pub page_limit: Option<usize>,
    /// Requests per second that the key may send; `None` until the service reports it.
    pub rate: Option<u32>,
    /// The key of lists that are not under `data`; `None` when no such key is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_key: Option<String>,
    /// The key of objects that are neither under `data` nor under the key of their endpoint; `None` when no
    /// such key is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_key: Option<String>,
}

impl ServiceCapabilities {
    /// Moves a payload under the service's own key to `data`, where there is none.
    pub(super) fn unwrap_envelope(&self, json: &mut Json) {
        let Some(map) = json.as_object_mut().filter(|map| !map.contains_key("data")) else { return };
        let list = self.list_key.as_ref().filter(|key| map.get(*key).is_some_and(Json::is_array));
        let object = self.object_key.as_ref().filter(|key| map.get(*key).is_some_and(Json::is_object));
        if let Some(found) = list.or(object).and_then(|key| map.remove(key)) {
            map.insert("data".to_owned(), found);
        }
    }
}
