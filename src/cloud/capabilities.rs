//! `ServiceCapabilities`: what a service showed of itself that makes later requests fit it.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Rows of a page that are asked for until a service shows that it gives others.
pub const DEFAULT_PAGE_SIZE: usize = 100;

/// Largest page that is ever asked for.
pub const MAX_PAGE_SIZE: usize = 1_000;

/// What a service showed of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCapabilities {
    /// Most rows of a page, where it was seen.
    pub page_limit: Option<usize>,
    /// Requests a second that the key may send, where the service tells.
    pub rate: Option<u32>,
    /// Where lists stand that do not stand under `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_key: Option<String>,
    /// Where objects stand that stand neither under `data` nor under the key of their endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_key: Option<String>,
}

impl ServiceCapabilities {
    /// Puts what a service has under a key of its own under `data`, where there is none.
    pub(super) fn unwrap_envelope(&self, json: &mut Json) {
        let Some(map) = json.as_object_mut().filter(|map| !map.contains_key("data")) else { return };
        let list = self.list_key.as_ref().filter(|key| map.get(*key).is_some_and(Json::is_array));
        let object = self.object_key.as_ref().filter(|key| map.get(*key).is_some_and(Json::is_object));
        if let Some(found) = list.or(object).and_then(|key| map.remove(key)) {
            map.insert("data".to_owned(), found);
        }
    }
}
