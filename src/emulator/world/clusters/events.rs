//! `ClusterEventLog`: the events of a cluster. All events of an upgrade are recorded when it starts, each with its
//! future time, and become visible when the clock reaches that time.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::status_timeline::time_after;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/k8s/clusters/{id}/events", Access::Account, list_cluster_events)];

/// How many events to keep per cluster.
const MAX_EVENTS: usize = 200;

/// One event. (Shape assumed: the specification shows none.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterEvent {
    number: u64,
    at: Time,
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

/// A cluster's events, ordered by time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct ClusterEventLog {
    /// Number of events ever added.
    total: u64,
    kept: Vec<ClusterEvent>,
}

impl ClusterEventLog {
    /// Adds an event that occurs `seconds` from now.
    pub(in crate::emulator::world) fn add(
        &mut self,
        now: Time,
        seconds: i64,
        kind: &str,
        message: impl Into<String>,
    ) {
        self.total = self.total.wrapping_add(1);
        let at = time_after(now, seconds);
        let event = ClusterEvent { number: self.total, at, kind: kind.to_owned(), message: message.into() };
        let place = self.kept.partition_point(|earlier| earlier.at <= at);
        self.kept.insert(place, event);
        if self.kept.len() > MAX_EVENTS {
            self.kept.remove(0);
        }
    }

    /// Returns the events up to now, youngest first.
    fn events_until(&self, now: Time) -> Vec<&ClusterEvent> {
        self.kept.iter().rev().filter(|event| event.at <= now).collect()
    }
}

fn list_cluster_events(call: &mut Call<'_>) -> Reply {
    let record = call.find_cluster()?;
    let id = |number| seeded_rng::nth_uuid(record.id.as_u64_pair().1, number);
    let (id, cluster): (_, Uuid) = (id, record.id);
    call.list_of(&record.body.history.events_until(call.now), |fields, event| {
        fields.write_field("id", &id(event.number));
        fields.write_field("cluster_id", &cluster);
        fields.write_field("type", &event.kind);
        fields.write_field("message", &event.message);
        fields.write_field("created_at", &event.at);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn future_events_are_hidden_and_the_oldest_are_dropped_first() {
        let zero = Time::UNIX_EPOCH;
        let mut history = ClusterEventLog::default();
        history.add(zero, 60, "later", "");
        history.add(zero, 0, "now", "");
        history.add(time_after(zero, 30), 0, "between", "");
        let seen = |history: &ClusterEventLog, seconds| {
            let events = history.events_until(time_after(zero, seconds));
            events.iter().map(|event| event.kind.clone()).collect::<Vec<_>>()
        };
        assert_eq!(seen(&history, 59), ["between", "now"]);
        assert_eq!(seen(&history, 60), ["later", "between", "now"]);
        (0..MAX_EVENTS).for_each(|_| history.add(time_after(zero, 100), 0, "more", ""));
        assert_eq!(seen(&history, 100), vec!["more"; MAX_EVENTS]);
    }
}
