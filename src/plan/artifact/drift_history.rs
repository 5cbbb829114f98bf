//! `DriftHistory`: the differences that earlier drift checks found, so that the next check can report since when one
//! exists, and which ones are resolved. Names and times only: no values. Pure; the caller stores the file.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The version of the file format.
const FORMAT_VERSION: u32 = 1;

/// The result of the last drift check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftHistory {
    version: u32,
    /// When the last check read the live objects.
    pub looked_at: Timestamp,
    /// The differences that the last check found, by key.
    seen: BTreeMap<String, RecordedDrift>,
}

/// One difference that a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDrift {
    /// The display name of the difference: address and attribute.
    pub name: String,
    /// When a check found it for the first time.
    pub first_seen: Timestamp,
}

/// A drift check compared with the one before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriftHistoryDiff {
    /// The time of the previous check; `None` if there was none, or its record is lost.
    pub last_look: Option<Timestamp>,
    /// The time of this check.
    pub now: Timestamp,
    /// The time when each present difference was first found, by key.
    since: BTreeMap<String, Timestamp>,
    /// Differences of the previous check that this one did not find.
    pub resolved: Vec<RecordedDrift>,
}

impl DriftHistoryDiff {
    /// Returns when a difference was first found; `None` if this check did not find it.
    #[must_use]
    pub fn first_seen(&self, key: &str) -> Option<Timestamp> {
        self.since.get(key).copied()
    }

    /// Returns whether this check is the first that found a difference. Without a previous check nothing counts
    /// as new, as it may be older than the record.
    #[must_use]
    pub fn is_new(&self, key: &str) -> bool {
        self.last_look.is_some() && self.first_seen(key) == Some(self.now)
    }

    /// Returns the comparison with the previous check, and the record for the next one. `there` are all
    /// differences that this check found: the key and the display name of each. A record of another format
    /// version counts as lost.
    #[must_use]
    pub fn new_with_history(
        before: Option<DriftHistory>,
        there: impl IntoIterator<Item = (String, String)>,
        now: Timestamp,
    ) -> (Self, DriftHistory) {
        let before = before.filter(|before| before.version == FORMAT_VERSION);
        let last_look = before.as_ref().map(|before| before.looked_at);
        let mut known = before.map(|before| before.seen).unwrap_or_default();
        let mut seen = BTreeMap::new();
        for (key, name) in there {
            // A clock that was set back must not make a difference look younger than the record.
            let first_seen = known.remove(&key).map_or(now, |seen| seen.first_seen.min(now));
            seen.insert(key, RecordedDrift { name, first_seen });
        }
        let since = seen.iter().map(|(key, seen)| (key.clone(), seen.first_seen)).collect();
        let memory = Self { last_look, now, since, resolved: known.into_values().collect() };
        (memory, DriftHistory { version: FORMAT_VERSION, looked_at: now, seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn there(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn persistent_drift_keeps_its_first_date_and_vanished_drift_is_resolved() {
        let (first, kept) = DriftHistoryDiff::new_with_history(None, there(&["a", "b"]), at(100));
        assert_eq!(first.last_look, None);
        assert!(!first.is_new("a"), "nobody knows what was there before the first look");
        let text = serde_json::to_string(&kept).unwrap();
        let kept: DriftHistory = serde_json::from_str(&text).unwrap();
        let (second, kept) = DriftHistoryDiff::new_with_history(Some(kept), there(&["b", "c"]), at(200));
        assert_eq!(second.first_seen("b"), Some(at(100)));
        assert_eq!(["b", "c"].map(|key| second.is_new(key)), [false, true]);
        assert_eq!(second.resolved, [RecordedDrift { name: "a".to_owned(), first_seen: at(100) }]);
        let (third, _) =
            DriftHistoryDiff::new_with_history(Some(kept.clone()), there(&["b", "c"]), at(300));
        assert!(third.resolved.is_empty() && !third.is_new("c"));
        let later = DriftHistory { version: 9, ..kept };
        assert_eq!(
            DriftHistoryDiff::new_with_history(Some(later), there(&["b"]), at(400)).0.last_look,
            None,
            "another form"
        );
    }
}
